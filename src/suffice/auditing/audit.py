"""The audit of a statistic with a mechanism: neighbours are executed, noise is drawn, coins are guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from suffice.accounting.composition import approx_of_zcdp
from suffice.auditing import one_run, two_world
from suffice.auditing.labels import recover_labels
from suffice.auditing.neighbour import neighbours
from suffice.auditing.row import generic, made
from suffice.auditing.score import SCORES, scores
from suffice.core.errors import InputError
from suffice.core.fold import fold
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace
from suffice.core.randomness import octets
from suffice.core.request import Auto
from suffice.mechanisms.choice import best
from suffice.sources.frame import is_source
from suffice.sources.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise
    from suffice.core.laws import Law
    from suffice.core.protocols import Additive, Resolved, Statistic
    from suffice.core.units import Unit

__all__ = ["Finding", "audit"]

_FEWEST = 400
_ZCDP_DELTA = 1e-6
_LESS_NOISE = (0.95, 0.9, 0.8)
_MOST_RECOVERED = 24
_MOST_PAIRS = 400
_AT_ONCE = 4096
_NEARLY = 0.97
_LEAD = 0.1
_NATURAL: dict[type, str] = {Laplace: "1-norm", L2Laplace: "2-norm", Cube: "max norm", Gaussian: "projection"}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit found. A bound below the claim proves nothing but that this attack did not refute it.

    `measured` is a lower bound on epsilon at the claim's delta; it exceeds the true epsilon with
    probability at most `error`. `power` says how probably the same audit would have refuted the claim
    had the noise been 0.95, 0.9 or 0.8 times as large. `broken` lists what was found wrong without
    statistics, and `recovered` how many labels of how many were read back from an exact sum.
    """

    claimed: Promise
    epsilon: float | None
    delta: float
    measured: float
    attack: str
    canaries: int
    guesses: int
    correct: int
    error: float
    power: tuple[tuple[float, float], ...] = ()
    broken: tuple[str, ...] = ()
    recovered: tuple[int, int] | None = None

    @property
    def falsified(self) -> bool:
        """Whether the claim is refuted: by the bound, or by something plainly wrong."""
        return bool(self.broken) or (self.epsilon is not None and self.measured > self.epsilon)

    def sentence(self) -> str:
        """The finding in plain words."""
        measured = (
            f"at least epsilon = {self.measured:.3g} was measured ({self.correct} of {self.guesses} guesses "
            f"about {self.canaries} canaries were right, by {self.attack}; error {self.error:g})"
        )
        if self.epsilon is None:
            back = (
                "" if self.recovered is None else " of {1} labels {0} were read back;".format(*self.recovered)
            )
            return f"Nothing is claimed:{back} {measured}."
        wrong = "".join(f" {one}" for one in self.broken)
        if self.falsified:
            return f"Falsified: {self.claimed} is claimed, and {measured}.{wrong}"
        power = ", ".join(f"{chance:.2g} against noise times {factor:g}" for factor, chance in self.power)
        return f"Not falsified: {self.claimed} is claimed, and {measured}. The power was {power}."


def audit(
    statistic: Statistic,
    mechanism: Additive | Auto,
    *,
    unit: Unit,
    rows: object = None,
    canaries: int = 100_000,
    error: float = 1e-3,
) -> Finding:
    """Attack the statistic released through the mechanism, on rows of your own or made from its recipe.

    Two tables that differ by the unit are summed, the pair that moves the sum furthest is taken, and
    each of `canaries` releases is of the one or the other by the toss of a coin. An attacker who knows
    both tables guesses the coins; which attack and how boldly is settled on a quarter of the releases and
    judged on the rest, by the one-run bound of Steinke, Nasr and Jagielski (docs/proofs/audit.md).
    """
    if canaries < _FEWEST:
        raise InputError(
            f"canaries= is {_FEWEST} or more, and got {canaries!r}; 100,000 notice 5 % less noise."
        )
    table = made(statistic, unit) if rows is None else _table(rows)
    world = _worst(statistic, mechanism, table, unit)
    epsilon, delta = _claim(world.mechanism.promise())
    factors = (1.0,) if epsilon is None else (1.0, *_LESS_NOISE)
    coins = np.unpackbits(np.frombuffer(octets(-(-canaries // 8)), np.uint8))[:canaries] * np.int8(
        2
    ) - np.int8(1)
    seen, kind = _attacked(world, coins, factors)
    natural = _NATURAL.get(type(world.law), "2-norm")
    found = [_round(coins, values, natural, delta, error) for values in seen]
    own = generic(statistic, unit) if rows is None else table.slice(0, _MOST_RECOVERED)
    return Finding(
        claimed=world.mechanism.promise(),
        epsilon=epsilon,
        delta=delta,
        measured=found[0].measured,
        attack=found[0].attack,
        canaries=found[0].score.canaries,
        guesses=found[0].score.guesses,
        correct=found[0].score.correct,
        error=error,
        power=() if epsilon is None else _powers(found[1:], epsilon, delta, error),
        broken=(*world.broken, *_wrong_kind(kind)),
        recovered=_recovered(statistic, world, own, unit) if epsilon is None else None,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """Two exact sums that differ by one protected change, and the noise that is to hide which it is."""

    here: NDArray[np.int64]
    there: NDArray[np.int64]
    mechanism: Additive
    law: Law
    broken: tuple[str, ...]

    def shown(self, total: NDArray[np.int64]) -> NDArray[Any]:
        """One release of this sum."""
        return np.asarray(self.mechanism.perturb(total, self.law)).ravel()


def _table(rows: object) -> pa.Table:
    if is_source(rows):
        found = [batch for part in rows.fragments(rows.schema.names) for batch in part.batches()]
        return pa.Table.from_batches(found, rows.schema)
    (fragment,) = Table(rows).fragments(Table(rows).schema.names)
    return pa.Table.from_batches(list(fragment.batches()))


def _worst(statistic: Statistic, mechanism: Additive | Auto, table: pa.Table, unit: Unit) -> _World:
    """The neighbour that moves the sum furthest, measured in what was declared."""
    settled, total, declared = _summed(statistic, table, unit)
    chosen = best(mechanism, declared, *settled.shape)[0] if isinstance(mechanism, Auto) else mechanism
    law = chosen.law(declared, *settled.shape)
    moves: list[tuple[tuple[float, float], NDArray[np.int64]]] = []
    broken: dict[str, None] = {}
    for at, other in enumerate(neighbours(table, unit)):
        if at >= _MOST_PAIRS:
            break
        resettled, moved, again = _summed(statistic, other, unit)
        if (resettled.shape, again) != (settled.shape, declared):
            broken["The scale of the noise follows from protected values: it differs between neighbours."] = (
                None
            )
        if moved.shape != total.shape:
            broken["The number of coordinates differs between neighbours."] = None
            continue
        moves.append((_share(moved - total, declared, law), moved))
    reach = max((share for (share, _), _ in moves), default=0.0)
    if reach <= 0:
        raise InputError(
            "No neighbour of these rows moves the sum. Give rows that the bound does not flatten."
        )
    if reach > 1 + 1e-12:
        broken[f"A neighbour moves the sum {reach:.4g} times as far as its declared sensitivity."] = None
    near = [(shows, at) for at, ((share, shows), _) in enumerate(moves) if share > _NEARLY * reach]
    return _World(total, moves[max(near)[1]][1], chosen, law, tuple(broken))


def _summed(
    statistic: Statistic, table: pa.Table, unit: Unit
) -> tuple[Resolved, NDArray[np.int64], Sensitivity]:
    source = Table(table, name="audit")
    settled = statistic.resolve(source, unit)
    state = fold(settled, source)
    return settled, settled.finalise(state).ravel(), settled.sensitivity(unit, state)


def _share(move: NDArray[np.int64], declared: Sensitivity, law: Law) -> tuple[float, float]:
    """How far a move reaches in the norm of the law, as a share of the sensitivity, and how easily it shows.

    Independent noise hides a move along one coordinate least, noise on cubes one along all.
    """
    exact = [abs(int(value)) for value in move]
    l1, l2, linf = sum(exact), math.sqrt(sum(value * value for value in exact)), max(exact)
    if isinstance(law, Laplace):
        return l1 / declared.l1, linf / max(l1, 1)
    if isinstance(law, Cube):
        return linf / declared.linf, l1 / max(linf, 1)
    return l2 / declared.l2, linf / max(l2, 1)


def _claim(promise: Promise) -> tuple[float | None, float]:
    """The (epsilon, delta) that a promise comes to."""
    if isinstance(promise, NotPrivate):
        return None, 0.0
    if isinstance(promise, PureDP):
        return float(promise.epsilon), 0.0
    if isinstance(promise, ApproxDP):
        return float(promise.epsilon), float(promise.delta)
    return float(approx_of_zcdp(Fraction(promise.rho), Fraction(_ZCDP_DELTA))), _ZCDP_DELTA


@final
@dataclass(frozen=True, slots=True)
class _Round:
    """What one way of attacking reached: guesses in one run, or one event in two worlds."""

    measured: float
    attack: str
    score: one_run.Score
    event: two_world.TwoWorlds | None = None

    def power(self, epsilon: float, delta: float, error: float) -> float:
        """How probably it would refute (epsilon, delta) again."""
        if self.event is not None:
            return two_world.power(self.event, epsilon)
        return one_run.power(self.score, epsilon=epsilon, delta=delta, error=error)


def _powers(
    rounds: list[_Round], epsilon: float, delta: float, error: float
) -> tuple[tuple[float, float], ...]:
    chances = (one.power(epsilon, delta, error) for one in rounds)
    return tuple(zip(_LESS_NOISE, chances, strict=True))


def _attacked(
    world: _World, coins: NDArray[np.int8], factors: tuple[float, ...]
) -> tuple[list[dict[str, NDArray[np.float64]]], np.dtype[Any]]:
    """A release for each coin, scored as it is and with less noise; a few thousand of them at a time."""
    parts: list[list[dict[str, NDArray[np.float64]]]] = [[] for _ in factors]
    kind = np.dtype(np.int64)
    for at in range(0, len(coins), _AT_ONCE):
        part = coins[at : at + _AT_ONCE]
        noisy = np.stack([world.shown(world.there if coin > 0 else world.here) for coin in part])
        kind, width = noisy.dtype, noisy.shape[1]
        here, there = world.here[:width], world.there[:width]
        exact = np.where(part[:, None] > 0, there, here)
        for factor, into in zip(factors, parts, strict=True):
            less = noisy if factor == 1 else exact + np.rint(factor * (noisy - exact))
            into.append(scores(less, here, there))
    return [{name: np.concatenate([one[name] for one in into]) for name in SCORES} for into in parts], kind


def _round(
    coins: NDArray[np.int8],
    values: dict[str, NDArray[np.float64]],
    natural: str,
    delta: float,
    error: float,
) -> _Round:
    """The attack that does best on a quarter of the releases, played on the others.

    The log-likelihood ratio of the stated law has a lead, lest another one wins by luck.
    For delta above zero the two-world test is tried, too; it is sharper there, and each has half the error.
    """
    train, share = len(coins) // 4, error if delta == 0 else error / 2
    rules = {name: one_run.rule_for(coins[:train], values[name][:train]) for name in SCORES}
    name = max(rules, key=lambda one: rules[one][0] + _LEAD * (one == natural))
    score = one_run.guessed(coins[train:], values[name][train:], rules[name][1])
    bound = one_run.epsilon_lower_bound(
        score.canaries, score.guesses, score.correct, delta=delta, error=share
    )
    if delta == 0:
        return _Round(bound, f"{name} in one run", score)
    size = min(int((coins < 0).sum()), int((coins > 0).sum()))
    worlds = [{one: seen[coins == side][:size] for one, seen in values.items()} for side in (-1, 1)]
    event = two_world.two_worlds(*worlds, delta=delta, error=share)
    if event.epsilon <= bound:
        return _Round(bound, f"{name} in one run", score)
    told = one_run.Score(2 * event.draws, event.likely + event.rare, event.likely)
    return _Round(event.epsilon, f"{event.event.score} in two worlds", told, event)


def _wrong_kind(kind: np.dtype[Any]) -> tuple[str, ...]:
    """What is plainly wrong with the numbers that came out."""
    if kind.kind == "i":
        return ()
    return (f"The mechanism returns {kind}, and not whole numbers of grid units.",)


def _recovered(statistic: Statistic, world: _World, table: pa.Table, unit: Unit) -> tuple[int, int] | None:
    """How many labels of how many an exact sum of two classes gives back, the share of each row known."""
    label, classes = getattr(statistic, "label", None), getattr(statistic, "classes", None) or (False, True)
    if label is None or len(classes) != 2:
        return None
    part = table
    low, high = (
        [_alone(statistic, part.slice(row, 1), label, value, unit) for row in range(part.num_rows)]
        for value in classes
    )
    half = (np.array(high) - np.array(low)) / 2
    total = world.shown(_summed(statistic, part, unit)[1])
    found = recover_labels(half, total - (np.array(high) + np.array(low)).sum(axis=0) / 2)
    truth = np.array([1 if value == classes[1] else -1 for value in part.column(label).to_pylist()])
    known = [at for at in range(len(truth)) if len(found) and len(set(found[:, at].tolist())) == 1]
    return sum(bool(found[0, at] == truth[at]) for at in known), len(truth)


def _alone(statistic: Statistic, row: pa.Table, label: str, value: Any, unit: Unit) -> NDArray[np.int64]:
    place = row.schema.get_field_index(label)
    one = row.set_column(place, row.schema.field(place), pa.array([value], row.schema.field(place).type))
    return _summed(statistic, one, unit)[1]
