"""Settings of the documentation site; `python -m sphinx -W docs site` builds it."""

import os
import sys
from pathlib import Path

import warplearn

sys.path.insert(0, str(Path(__file__).parent))
import drawing
import reference

project = "warplearn"
author = "the warplearn developers"
project_copyright = "the warplearn developers"
version = release = warplearn.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
nitpicky = False  # types in docstrings are words for people

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Links to files of the repository that are not pages, such as ../examples/.
suppress_warnings = ["myst.strikethrough", "config.cache"]

autodoc_typehints = "none"  # the docstrings have them
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "ignore_pattern": r"^(?!plot_|torch_network)",  # other scripts are no examples
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "first_notebook_cell": None,
    "backreferences_dir": "api/examples",
    "doc_module": ("warplearn",),
    "plot_gallery": os.environ.get("WARPLEARN_GALLERY", "True"),
}

html_theme = "pydata_sphinx_theme"
html_title = "warplearn"
html_show_sourcelink = False
# Pages without pages below them have no use for a column of links to these.
html_sidebars = {page: [] for page in ("getting_started", "choosing", "tutorials", "changelog")}
toc_object_entries_show_parents = "hide"  # full names of methods do not fit beside the page
html_theme_options = {
    "logo": {"text": "warplearn"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


reference.write(Path(__file__).parent / "api")
drawing.write(Path(__file__).parent / "_static" / "draw.html")
