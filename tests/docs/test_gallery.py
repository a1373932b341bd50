"""Each figure of the gallery is drawn by a script, is stored, and shows what the script shows."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from suffice.maths.linear_odd import LOSSES
from tests.docs.pages import ROOT

FIGURES = ROOT / "docs" / "figures"
SCRIPTS = sorted(FIGURES.glob("*.py"))
LOSS_TITLES = {"logistic", "square", "Matsushita", "modified Huber", "unhinged"}


def words(path) -> list[str]:
    """Return the texts of a drawing, in order; tick labels, which may differ by version, left out."""
    found = re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text("utf-8"))
    return [text for text in found if not re.fullmatch(r"[−\d.]+", text)]


def test_every_figure_has_a_script_and_a_place():
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    drawings = sorted(FIGURES.glob("*.svg"))
    assert [drawing.stem for drawing in drawings] == [script.stem for script in SCRIPTS]
    assert all(f"figures/{drawing.name}" in page for drawing in drawings)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_stored_figure_is_what_its_script_draws(script, tmp_path):
    run = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert words(tmp_path / f"{script.stem}.svg") == words(FIGURES / f"{script.stem}.svg")


def test_the_titles_of_the_losses_state_their_coefficients():
    titles = [word for word in words(FIGURES / "losses.svg") if ", a = " in word]
    stated = dict(title.rsplit(", a = ", 1) for title in titles)
    assert set(stated) > LOSS_TITLES
    for title, a in stated.items():
        name = title.lower().replace(" ", "_") if title in LOSS_TITLES else "perceptron"
        assert LOSSES[name].a == float(a)
