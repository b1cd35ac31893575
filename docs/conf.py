"""Sphinx configuration; `make docs` builds with warnings as errors."""

from rectifact import __version__

project = "rectifact"
author = "The rectifact developers"
copyright = "2026, the rectifact developers"
release = version = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
html_theme = "pydata_sphinx_theme"
html_sidebars = {"**": []}
html_title = f"rectifact {__version__}"
exclude_patterns = ["_build"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
