"""The site: every Markdown page of the project and a reference made from the docstrings.

The source folder is the project's root, so that pages can link to results of benchmarks and to the
files at the root as they do when read in place. ``make docs`` builds it; warnings are errors.
"""

from __future__ import annotations

import parentage

project = "parentage"
author = "The parentage developers"
release = version = parentage.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "benchmarks/results/*.md"]
exclude_patterns = ["docs/site", "**/__pycache__"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the changelog and results begin with their own levels

autodoc_typehints = "none"  # the numpy docstrings say it in words
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False

html_theme = "sphinx_book_theme"
html_title = "parentage"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "show_navbar_depth": 1,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": False,
    "navbar_persistent": [],  # the sidebar has the search box
}
copyright = "the parentage developers, MIT licence"  # noqa: A001  # Sphinx reads this name
