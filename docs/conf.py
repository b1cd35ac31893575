"""Sphinx configuration; `make docs` builds with warnings as errors."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from rectifact import __version__

project = "rectifact"
author = "The rectifact developers"
copyright = "2026, the rectifact developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["math.css", "pages.css"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"header_links_before_dropdown": 6}
html_sidebars = {"**": []}
html_title = f"rectifact {__version__}"
exclude_patterns = ["_build", "_templates", "examples"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}


def mathml(writer: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script and without the network."""
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", inline_renderers=(mathml, None), block_renderers=(mathml, None))
