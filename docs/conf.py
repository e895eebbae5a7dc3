"""How Sphinx makes the site: ``python3 dev.py docs``, or ``python -m sphinx -W docs build/site``."""

from __future__ import annotations

import re
from pathlib import Path

_ABOUT = (Path(__file__).parents[1] / "nnxmigrate" / "version.py").read_text(encoding="utf-8")

project = "nnxmigrate"
author = "The nnxmigrate authors"
release = version = re.findall(r'^__version__ = "(.*)"$', _ABOUT, re.MULTILINE)[0]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
suppress_warnings = ["toc.not_included"]  # the rules' pages: their index and the search lead there
html_theme = "sphinx_book_theme"  # that of the documentation of Flax and JAX
html_title = "nnxmigrate"
html_theme_options = {
    "navbar_persistent": [],  # the search is at the side already
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "use_download_button": False,
}
html_copy_source = False
