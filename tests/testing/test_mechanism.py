"""Ours keep every law; for each law an outsider that breaks it is refused by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import suffice as sf
from suffice.core import laws
from suffice.mechanisms import draw
from suffice.testing import LawBroken, check_mechanism

OURS = (
    sf.Laplace(epsilon=1.0),
    sf.L2Laplace(epsilon=0.5),
    sf.L2Laplace(epsilon=1.0, delta=1e-6),
    sf.Gaussian(epsilon=1.0, delta=0.01),
    sf.Cube(epsilon=2.0),
    sf.Exact(),
)


@pytest.mark.parametrize("mechanism", OURS, ids=str)
def test_ours_keep_every_law(mechanism):
    found = check_mechanism(mechanism, draws=4000, error=1e-6)
    assert found.fit > 1e-5
    assert found.worlds is None or found.worlds.epsilon <= mechanism.promise().epsilon


@pytest.mark.laws
@pytest.mark.parametrize("mechanism", OURS, ids=str)
def test_ours_keep_every_law_at_full_size(mechanism):
    check_mechanism(mechanism, draws=200_000)


@dataclass(frozen=True)
class Plain:
    """An outsider's Laplace mechanism, as it should be."""

    epsilon: float = 1.0

    def promise(self):
        return sf.PureDP(self.epsilon)

    def law(self, sensitivity, dimension, classes=2):
        blocks = 1 if classes == 2 else classes
        return laws.Laplace(Fraction(sensitivity.l1) / Fraction(self.epsilon), dimension * blocks)

    def also(self, sensitivity, law):
        return ()

    def perturb(self, total, law):
        return draw.added(total, law)


def test_an_outsider_that_keeps_the_laws_passes():
    check_mechanism(Plain(), draws=4000, error=1e-6)


def norm_two_for_norm_one(self, sensitivity, dimension, classes=2):
    return replace(Plain().law(sensitivity, dimension, classes), scale=Fraction(sensitivity.l2))


def floating(self, total, law):
    return total.ravel()[: law.dimension] + np.random.default_rng().laplace(
        scale=float(law.scale), size=law.dimension
    )


def seeded(self, total, law):
    noise = np.random.default_rng(0).laplace(scale=float(law.scale), size=law.dimension)
    return total.ravel()[: law.dimension] + np.rint(noise).astype(np.int64)


def quiet(self, total, law):
    return draw.added(total, replace(law, scale=law.scale * Fraction(4, 5)))


def truncated(self, total, law):
    """A tail that is cut off at three scales: outputs that one world alone can give."""
    most = int(3 * law.scale)
    noise = [max(-most, min(most, value)) for value in draw.noise(law)]
    return total.ravel()[: law.dimension] + np.array(noise, np.int64)


def even_noise(self, total, law):
    """Noise on a grid twice as coarse as that of the sums: parities stay."""
    return total.ravel()[: law.dimension] + 2 * (np.array(draw.noise(law), np.int64) // 2)


def writing(self, total, law):
    total += 1
    return draw.added(total, law)


def one_too_many(self, total, law):
    return np.append(draw.added(total, law), 0)


OUTSIDERS = {
    "law and sensitivity give what is promised": {"law": norm_two_for_norm_one},
    "what comes out is whole numbers": {"perturb": floating},
    "every draw is fresh": {"perturb": seeded},
    "the noise follows its law": {"perturb": quiet},
    r"the noise follows its law \((coordinate|length)": {"perturb": truncated},
    r"the noise follows its law \(lowest digit": {"perturb": even_noise},
    "the sum is left as it was": {"perturb": writing},
    "there are as many numbers as the law says": {"perturb": one_too_many},
    "without noise nothing is promised": {"law": lambda _s, _moved, d, k=2: laws.NoLaw(d * (k - 1))},
    "the promise is one of the known ones": {"promise": lambda _: 1.0},
    "the promise is stated before any row is touched": {"promise": lambda _: 1 / 0},
    "the law is one that a release can carry": {"law": lambda *_: "some noise"},
    "law and sensitivity give what": {"also": lambda *_: (sf.ZeroConcentratedDP(0.3),)},
}


@pytest.mark.parametrize("law", list(OUTSIDERS))
def test_an_outsider_that_breaks_a_law_is_refused_by_its_name(law):
    outsider = dataclass(frozen=True)(type("Wrong", (Plain,), OUTSIDERS[law]))
    with pytest.raises(LawBroken, match=f"^Broken law: {law}"):
        check_mechanism(outsider(), draws=4000)


def test_two_worlds_alone_refute_a_promise_that_the_law_was_bent_to_fit(monkeypatch):
    """The law says what the promise needs, and the noise is less; without the fit it is still seen."""
    monkeypatch.setattr("suffice.testing.mechanism._check_fit", lambda *_: 1.0)
    outsider = dataclass(frozen=True)(type("Quiet", (Plain,), {"perturb": quiet}))
    with pytest.raises(LawBroken, match=r"no event is likelier.*epsilon is at least 1\.\d+ at delta = 0"):
        check_mechanism(outsider(), draws=30_000, error=0.01)


def test_an_outsider_that_cannot_be_written_down_is_refused():
    class Mute(Plain):
        __dataclass_fields__ = property(lambda _: 1 / 0)

    with pytest.raises(LawBroken, match="a mechanism is a frozen dataclass"):
        check_mechanism(Mute(), draws=100)
