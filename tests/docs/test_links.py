"""Every link from one page to another leads somewhere."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, pages

LINK = re.compile(r"\]\((?!\w+://|#|mailto:)([^)\s#]+)(?:#[^)\s]*)?\)")
CODE = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
PAGES = [page for page in pages() if page.exists() and page.name != "api.md"]  # which the build makes


def lost(page) -> list[str]:
    """Return the targets of a page that do not exist; what stands in a block of code is no link."""
    text = CODE.sub("", page.read_text("utf-8"))
    return [target for target in LINK.findall(text) if not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page):
    assert lost(page) == []


def test_a_lost_page_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[](nowhere.md) [](page.md#head) [x](https://example.org)\n```text\n[](a.md)\n```\n", "utf-8"
    )
    assert lost(page) == ["nowhere.md"]
