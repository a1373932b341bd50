"""What a channel must fulfil: a guarantee that follows from its law, draws that follow the law, no bias."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import stats

from suffice.core.codec import canonical
from suffice.core.guarantees import Guarantee, NotPrivate, PureDP
from suffice.testing.law import must, trying

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.protocols import Channel

__all__ = ["Passed", "check_channel"]

_EXACT = 1e-9
_PASS = 1e-6
_DEVIATIONS = 6.0


@final
@dataclass(frozen=True, slots=True)
class Passed:
    """What was seen: the largest log-ratio between two truths, and the smallest p-value of counted draws."""

    epsilon: float
    fit: float


def check_channel(channel: Channel, truths: Any = None, *, means: Any = None, draws: int = 20_000) -> Passed:
    """Raise LawBroken unless the channel keeps every law.

    `truths` are the truths to try, by default those that the channel lists; between them lie the
    log-ratios that are compared with the guarantee, so they must hold the extreme ones. `means` is what
    `unbias` must have as its mean for each: by default the truth itself, or for labels 1 at their place.
    A channel that lists its `answers()` is checked exactly. Any other is checked on `draws` draws,
    and a sound one fails with probability below 1e-6.
    """
    promise = _check_guarantee(channel)
    tried, expected = _tried(channel, truths, means)
    listed = getattr(channel, "answers", None)
    if listed is None:
        return _check_drawn(channel, promise, tried, expected, draws)
    law = _law(channel, tried, listed())
    seen = _check_ratio(law, promise)
    estimates = np.asarray(channel.unbias(_array(listed()))).reshape(law.shape[1], -1)
    away = float(np.abs(law @ estimates - expected).max())
    must(
        away < _EXACT, "the mean of unbias given a truth is what the truth stands for", f"It is {away:g} off."
    )
    return Passed(seen, _check_fit(channel, tried, listed(), law, draws))


def _check_guarantee(channel: Any) -> Any:
    with trying("a guarantee is stated before any truth is seen", "guarantee()"):
        given = channel.guarantee()
    must(isinstance(given, Guarantee), "the guarantee is a Guarantee", f"It is a {type(given).__name__}.")
    must(channel.guarantee() == given, "the guarantee stays what it is", "Two calls differ.")
    with trying("a channel is a frozen dataclass that can be written down", "encoding it"):
        must(canonical(channel), "a channel is written down in words", "It encodes to nothing.")
    return given.promise


def _tried(channel: Any, truths: Any, means: Any) -> tuple[list[Any], NDArray[np.float64]]:
    """The truths to try, and a row of expected means for each."""
    listed = getattr(channel, "truths", None)
    must(truths is not None or listed is not None, "there are truths to try", "Give truths=.")
    tried = list(listed() if truths is None and listed is not None else truths)
    must(len(tried) > 1, "two truths at least are tried", f"There are {len(tried)}.")
    if means is not None:
        return tried, np.asarray(means, dtype=np.float64).reshape(len(tried), -1)
    if listed is not None:
        labels = list(listed())
        return tried, np.eye(len(labels))[[labels.index(one) for one in tried]]
    return tried, np.asarray(tried, dtype=np.float64).reshape(len(tried), -1)


def _array(values: Any) -> NDArray[Any]:
    return np.asarray(values)


def _repeated(truth: Any, count: int) -> NDArray[Any]:
    one = np.asarray(truth)
    return np.broadcast_to(one, (count, *one.shape))


def _law(channel: Any, tried: list[Any], answers: Any) -> NDArray[np.float64]:
    """The probability of every answer given every truth."""
    said = _array(answers)
    with trying("log_density takes answers and truths of equal number", "log_density"):
        law = np.exp([channel.log_density(said, _repeated(truth, len(said))) for truth in tried])
    sums = np.abs(law.sum(axis=1) - 1).max()
    must(sums < _EXACT, "the probabilities of all answers add up to 1", f"They are {sums:g} off.")
    return np.asarray(law)


def _check_ratio(law: NDArray[np.float64], promise: Any) -> float:
    """No answer is likelier under one truth than the guarantee allows."""
    possible = law[:, law.any(axis=0)]
    with np.errstate(divide="ignore"):
        seen = float(np.log(possible.max(axis=0) / possible.min(axis=0)).max())
    if isinstance(promise, PureDP):
        law_ = "no answer is likelier under one truth than the guarantee allows"
        must(seen <= promise.epsilon + _EXACT, law_, f"The log-ratio is {seen:.12g}, and {promise} is said.")
    if math.isinf(seen):
        must(isinstance(promise, NotPrivate), "an answer that rules out a truth is not private", str(promise))
    return seen


def _check_fit(channel: Any, tried: list[Any], answers: Any, law: NDArray[np.float64], draws: int) -> float:
    """Counts of answers against their probabilities; a failure needs a second sample."""
    worst = 1.0
    for truth, row in zip(tried, law, strict=True):
        p = _fit(channel, truth, answers, row, draws)
        if p <= _PASS:
            p = _fit(channel, truth, answers, row, 4 * draws)
        must(p > _PASS, "draws follow the law", f"Two samples given {truth!r} had p below {_PASS:g}.")
        worst = min(worst, p)
    return worst


def _fit(channel: Any, truth: Any, answers: Any, law: NDArray[np.float64], draws: int) -> float:
    places = {_key(one): at for at, one in enumerate(_array(answers).tolist())}
    with trying("randomise takes many truths at once", "randomise"):
        drawn = np.asarray(channel.randomise(_repeated(truth, draws)))
    seen = np.zeros(len(law))
    for one in drawn.tolist():
        must(_key(one) in places, "an answer is one of the listed ones", f"It is {one!r}.")
        seen[places[_key(one)]] += 1
    must(not seen[law == 0].any(), "what is impossible does not happen", f"Given {truth!r} it did.")
    often = law * draws >= 5
    left, rest = seen[~often].sum(), law[~often].sum() * draws
    told, wanted = (seen[often], law[often] * draws)
    if rest > 0:
        told, wanted = np.append(told, left), np.append(wanted, rest)
    return 1.0 if len(told) < 2 else float(stats.chisquare(told, wanted * (draws / wanted.sum())).pvalue)


def _key(answer: Any) -> Any:
    return tuple(map(_key, answer)) if isinstance(answer, list) else answer


def _check_drawn(
    channel: Any, promise: Any, tried: list[Any], expected: NDArray[np.float64], draws: int
) -> Passed:
    """A density on draws: its ratios, its mass where others draw, and the mean of the estimates."""
    seen = 0.0
    with trying("randomise takes many truths at once", "randomise"):
        drawn = [np.asarray(channel.randomise(_repeated(truth, draws))) for truth in tried]
    for here, answers in enumerate(drawn):
        own = channel.log_density(answers, _repeated(tried[here], draws))
        for there, other in enumerate(tried):
            ratio = np.asarray(channel.log_density(answers, _repeated(other, draws)) - own)
            seen = max(seen, float(np.abs(ratio).max()))
            if there != here and isinstance(promise, PureDP):
                must(
                    seen <= promise.epsilon + _EXACT,
                    "no answer is likelier under one truth than the guarantee allows",
                    f"The log-ratio is {seen:.12g}, and {promise} is said.",
                )
                _near(np.exp(ratio), 1.0, "draws follow the density: ratios have the mean 1")
        estimates = np.asarray(channel.unbias(answers)).reshape(draws, -1)
        for column, mean in zip(estimates.T, expected[here], strict=True):
            _near(column, float(mean), "the mean of unbias given a truth is what the truth stands for")
    return Passed(seen, 1.0)


def _near(values: NDArray[np.float64], mean: float, law: str) -> None:
    error = float(values.std()) / math.sqrt(len(values)) + 1e-12
    away = abs(float(values.mean()) - mean)
    must(away <= _DEVIATIONS * error, law, f"The mean is {away / error:.1f} standard errors off {mean:g}.")
