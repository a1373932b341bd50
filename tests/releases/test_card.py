"""The card says what is protected and what is not, and nothing in a file can steer what shows it."""

from __future__ import annotations

from fractions import Fraction
from html.parser import HTMLParser

import pytest

from suffice.core.column import Numeric
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP
from suffice.core.laws import Laplace, NoLaw
from suffice.core.recipe import Recipe
from suffice.core.units import LabelOf
from tests.releases.example import release, several


def test_the_card_says_what_is_protected_how_strongly_and_what_is_not():
    card = release().card()
    for words in (
        "the value of 'bought' in any one row",
        "at most 1.65 times (epsilon = 0.5)",
        "Not protected: all else: feature rows",
        "the reader knows the feature rows",
        "round Laplace, scale 4000 in the 2-norm",
        "moves the sum by at most 4474 in the 1-norm, 2000 in the 2-norm",
        "1048576 units to one; the radius is 1000 units",
        "100, fingerprint abab",
        "7f3a",
        "age, region=north",
        "the 0.95 quantile over the public rows",
        "not verified",
    ):
        assert words in card


def test_the_noise_is_measured_against_the_longest_row():
    # the length of round Laplace noise in 5 dimensions is Gamma(5): its mean square is 5·6 scales squared
    assert f"{4000 * 30**0.5 / 1000:.3g} times the longest row" in release().card()


def test_the_card_of_an_unprotected_release_says_that_there_is_no_guarantee():
    made = release(NoLaw(5), NotPrivate("plain rados"))
    assert "protects nothing: no privacy guarantee (plain rados)" in made.card()
    assert "Not protected: everything: there is no privacy guarantee" in made.card()
    assert "none: the values are exact" in made.card()


@pytest.mark.parametrize("name", list(several()))
def test_every_release_has_a_card_of_lines_and_one_of_html(name):
    made = several()[name]
    assert str(made.guarantee.promise) in repr(made)
    assert all(line.isprintable() for line in made.card().split("\n"))
    assert made._repr_html_().startswith("<table>")


def test_a_promise_in_fractions_is_printed_as_a_number():
    exact = Laplace(Fraction(10**9), 5)
    assert "(epsilon = 0.5)" in release(exact, PureDP(Fraction(1, 2))).card()
    assert "epsilon = 0.5, delta = 0.25" in repr(release(exact, ApproxDP(Fraction(1, 2), Fraction(1, 4))))


HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\n\r\u202e"


def hostile():
    recipe = Recipe((Numeric(HOSTILE),))
    return release(
        recipe=recipe,
        unit=LabelOf(HOSTILE),
        made_by=HOSTILE,
        law=NoLaw(2),
        promise=NotPrivate(HOSTILE),
        witness=None,
        about={HOSTILE: HOSTILE, "classes": (HOSTILE, 1)},
    )


class Tags(HTMLParser):
    seen: set

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.seen.update(f"@{name}" for name, _ in attrs)


def test_nothing_in_a_file_steers_a_terminal_or_a_page():
    made = hostile()
    for shown in (made.card(), repr(made), made._repr_html_()):
        assert all(one.isprintable() or one == "\n" for one in shown)
    assert len(made.card().split("\n")) == len(
        release(NoLaw(5), NotPrivate("x"), witness=None).card().split("\n")
    )
    tags = Tags()
    tags.seen = set()
    tags.feed(made._repr_html_())
    assert tags.seen == {"table", "caption", "tbody", "tr", "th", "td", "@scope", "@style"}
