"""Sphinx configuration; `make docs` builds with warnings as errors."""

from rectifact import __version__

project = "rectifact"
author = "The rectifact developers"
copyright = "2026, the rectifact developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"header_links_before_dropdown": 6}
html_sidebars = {"**": []}
html_title = f"rectifact {__version__}"
exclude_patterns = ["_build", "examples"]
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
