"""Sphinx configuration: MyST pages; the reference pages are written from the code by `reference_pages.py`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference_pages  # noqa: E402  (beside this file)

from contact_mpc.version import __version__  # noqa: E402

project = "contact_mpc"
author = "contact_mpc developers"
copyright = f"2026, {author}"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"contact_mpc {release}"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
nitpicky = False

reference_pages.write_all(HERE / "reference")
