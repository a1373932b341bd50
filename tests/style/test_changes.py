"""The changelog says first what concerns privacy, and each fragment knows its section."""

from __future__ import annotations

import re

from tests.style.house import ROOT, project

SECTIONS = ("privacy", "added", "changed", "fixed", "removed")


def releases() -> dict[str, list[str]]:
    """Return the sections of each version of the changelog, in their order."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {
        name: [word.lower() for word in re.findall(r"^### (\w+)$", body, re.MULTILINE)]
        for name, body in zip(versions[::2], versions[1::2], strict=True)
    }


def test_each_version_has_its_sections_in_order_and_privacy_first():
    for name, sections in releases().items():
        assert sections == [word for word in SECTIONS if word in sections], name
        assert sections[0] == "privacy", name


def test_the_version_that_is_built_is_the_newest_of_the_changelog():
    assert next(iter(releases())).split()[0] == project()["project"]["version"]


def test_a_fragment_is_named_for_its_section_and_says_something():
    fragments = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    pattern = rf"[a-z0-9-]+\.({'|'.join(SECTIONS)})\.md"
    assert [path.name for path in fragments if not re.fullmatch(pattern, path.name)] == []
    assert [path.name for path in fragments if len(path.read_text("utf-8").split()) < 3] == []
