"""How the pages become a site: Sphinx reads Markdown by MyST; furo draws it."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "reference"))

import api_page  # noqa: E402  it lies beside the page that it writes

project = "suffice"
author = "The suffice contributors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
# an empty section is not an error: its first page comes with what it is about
suppress_warnings = ["toc.empty_glob", "misc.highlighting_failure"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "suffice"
html_show_copyright = False
html_copy_source = False

# written anew from the docstrings by every build, so that it cannot fall behind
(HERE / "reference" / "api.md").write_text(api_page.page(), "utf-8")
