"""Real bugs, each put back by patching one function of the shipped code, and the cheapest gate for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.accounting import engine, ledger
from suffice.auditing import one_run
from suffice.auditing.row import made
from suffice.core import fold as folding
from suffice.core import randomness
from suffice.core.bounds import Sensitivity
from suffice.core.errors import BudgetExceeded, InputError, UnboundedSensitivity
from suffice.core.recipe import Recipe
from suffice.maths.kernels import Column
from suffice.mechanisms import draw, laplace
from suffice.statistics import encoder
from suffice.statistics.label import Classes
from suffice.statistics.mean_operator import MeanOperator
from suffice.statistics.mean_sum import MeanSum
from suffice.statistics.person_counts import PersonCounts
from suffice.testing import check_mechanism, check_statistic
from tests.accounting import spender, test_power
from tests.laws import test_attack, test_fold, test_neighbour, test_randomness
from tests.laws.replay import Bench, differences

LABEL = sf.LabelOf("y")
RECORD = sf.RecordOf("replace")
MU = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(2, 1.0))
ROWS = {
    "a": [0.5, 3.0, -2.0, 0.4, 1.0, 0.0],
    "b": [0.3, 0.0, 1.0, 2.0, -1.0, 5.0],
    "y": [True, False, True, False, True, False],
    "who": [1, 1, 2, 3, 4, 5],
}


def statistic_is_lawful(_folder, unit=LABEL, statistic=MU):
    """G1, G2, G3: `suffice.testing.check_statistic`."""
    check_statistic(statistic, sf.Table(made(statistic, unit), name="rows"), unit, pairs=60)


def record_statistic_is_lawful(folder):
    """The same, where the whole record is protected."""
    statistic_is_lawful(folder, RECORD)


def neighbours_stay_within(_folder, unit=LABEL):
    """G3: executed neighbours move the sum by no more than the declared sensitivity."""
    bad, _ = test_neighbour.violations(150, unit, 3)
    assert bad == 0, f"{bad} of 150 neighbours move the sum further than was declared"


def replaced_records_stay_within(folder):
    """G3 for a replaced record."""
    neighbours_stay_within(folder, RECORD)


def replay_is_quiet(folder, units=("replaced record",)):
    """G4: with the noise frozen a neighbour changes nothing but values."""
    patch = pytest.MonkeyPatch()
    try:
        bad, first = differences(Bench(folder), patch, 4, 1, units=units, paths=("release",), per_table=4)
    finally:
        patch.undo()
    assert bad == 0, first[:300]


def replay_of_added_records_is_quiet(folder):
    """G4 where the number of rows is protected."""
    replay_is_quiet(folder, ("added or removed record",))


def mechanism_is_lawful(_folder):
    """G5, G6, G7: `suffice.testing.check_mechanism`."""
    check_mechanism(sf.Laplace(epsilon=1.0), draws=3000, error=1e-6)


def one_run_stays_below(_folder):
    """G8: 30,000 canaries in one run; a right mechanism fails once in a million runs."""
    score = test_attack.audited(30_000)
    measured = one_run.epsilon_lower_bound(score.canaries, score.guesses, score.correct, error=1e-6)
    assert measured <= 1, f"at least epsilon = {measured:.3f} is measured, and 1 was promised"


def noise_is_fresh(_folder):
    """G9: draws differ, whatever is seeded."""
    found = [test_randomness.seeded(place) for place in range(6)]
    assert len(set(found)) == 6, "two draws are the same"


def book(folder, unit=LABEL):
    return sf.Ledger.create(Path(folder) / "owner.db", dataset="d", unit=unit, budget=sf.PureDP(1.0))


def asking_again_gives_the_same_bytes(folder):
    """G13, G14: one key has one release."""
    owner = sf.Owner(sf.Table(ROWS, name="rows"), ledger=book(folder))
    first, again = (owner.release(MU, sf.L2Laplace(epsilon=0.5)).to_bytes() for _ in range(2))
    assert first == again, "the same request gave two releases"


def the_budget_holds(folder):
    """G13: four threads are granted what fits, and no more."""
    purse, granted = book(folder), []

    def spend(name):
        for number in range(5):
            try:
                purse.charge(f"{name}/{number}", b"", sf.PureDP(0.125), summary="race")
                granted.append(number)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=spend, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 8, f"{len(granted)} charges were granted on a budget for 8"


def power_loss_takes_nothing_back(folder):
    """G15: thirty losses of power under the shipped statements."""
    patch = pytest.MonkeyPatch()
    try:
        disk = test_power.losses_of(folder, patch, 30, engine._PRAGMAS)
    finally:
        patch.undo()
    bad = test_power.lost(disk, folder, 30)
    assert bad == 0, f"{bad} of 30 losses of power took back what was acknowledged"


def no_number_is_refused(_folder):
    """G3: a value that is no number is refused and never summed."""
    rows = ROWS | {"a": [0.5, float("nan"), -2.0, 0.4, 1.0, 0.0]}
    try:
        sf.fold(MU.resolve(sf.Table(rows), LABEL), sf.Table(rows))
    except InputError:
        return
    raise AssertionError("a row without a number was summed")


def a_crowd_of_one_is_refused(folder):
    """G3: a person has no more rows than the unit says."""
    owner = sf.Owner(
        sf.Table(ROWS | {"who": [1] * 6}, name="rows"),
        ledger=book(folder, sf.LabelOf("y", person="who", at_most=5)),
    )
    try:
        owner.release(MU, sf.L2Laplace(epsilon=0.5))
    except UnboundedSensitivity:
        return
    raise AssertionError("six rows of one person were released under a unit of five")


def fragments_count_once(_folder):
    """G2: a fragment that a retry delivers twice is counted once."""
    test_fold.test_a_fragment_that_is_delivered_twice_is_counted_once.hypothesis.inner_test([1, 2, 3], [1])


# ---------------------------------------------------------------- the bugs


def porous(total, law):
    return total.ravel() + np.random.default_rng().laplace(scale=float(law.scale), size=law.dimension)


def never_stored(_self, _charge, release):
    return release


def read_check_write(db, key, price, account, fields):
    return spender.read_check_write(db, key, price, account, fields)


def standardised(self, source, unit, *, workers=1, progress=None):
    recipe = Recipe.learn(source, columns=list(self.features))
    given = replace(recipe, origin="given")
    return RESOLVE(MeanOperator(given, self.label, bound=self.bound), source, unit)


def radius_of_rows(self, source, unit, coder, *_how):
    rows = [batch for part in source.fragments(("b",)) for batch in part.batches()]
    return 1000 + int(sum(abs(value) for batch in rows for value in batch.column("b").to_pylist()))


def classes_of_rows(self, source, unit, *, workers=1, progress=None):
    settled = RESOLVE(self, source, unit)
    found = {
        v for part in source.fragments((self.label,)) for b in part.batches() for v in b.column(0).to_pylist()
    }
    return replace(settled, classes=Classes(self.label, tuple(sorted(found))))


def exact_count(self, state, unit):
    facts = FACTS(self, state, unit)
    return replace(facts, about=facts.about | {"count": state.count})


def zero_for_nothing(encoded):
    return [Column(np.nan_to_num(one.values)) for one in encoded if one.source != "intercept"]


def relation_mixed_up(self, unit, public=None):
    """Replaced records are charged as if one were only removed."""
    moved = SENSITIVITY(self, unit, public)
    return Sensitivity(*(-(-one // 2) for one in (moved.l1, moved.l2, moved.linf)))


def law_of_the_other_norm(self, sensitivity, dimension, classes=2):
    return replace(LAPLACE(self, sensitivity, dimension, classes), scale=Fraction(sensitivity.l2))


def every_delivery(statistic, _source, _expected, results):
    return sum((state for _, (_, state) in results), statistic.init())


RESOLVE, FACTS, SENSITIVITY = MeanOperator.resolve, MeanSum.facts, MeanSum.sensitivity
LAPLACE = laplace.Laplace.law


@dataclass(frozen=True)
class Bug:
    """A bug that was real somewhere: where it is put back, and the gate that must see it."""

    story: str
    where: object
    name: str
    mutant: object
    gate: Callable[[Path], None]


BUGS = {
    "noise × 0.8": Bug(
        "a scale computed with a wrong constant", draw, "noise", test_attack.quieter(0.8), one_run_stays_below
    ),
    "NumPy's Laplace": Bug(
        "noise in floating point (Mironov 2012; open in diffprivlib)",
        laplace,
        "added",
        porous,
        mechanism_is_lawful,
    ),
    "a fixed seed": Bug(
        "a generator that can be seeded, or was",
        randomness.os,
        "urandom",
        lambda count: np.random.default_rng(0).bytes(count),
        noise_is_fresh,
    ),
    "fresh noise on retry": Bug(
        "a retry that draws again under the old charge",
        ledger.Ledger,
        "store",
        never_stored,
        asking_again_gives_the_same_bytes,
    ),
    "read, check, write": Bug(
        "a budget that is looked at before it is changed",
        ledger,
        "_spend",
        read_check_write,
        the_budget_holds,
    ),
    "WAL and NORMAL": Bug(
        "a journal mode that loses acknowledged commits",
        engine,
        "_PRAGMAS",
        test_power.with_mode("WAL", "NORMAL"),
        power_loss_takes_nothing_back,
    ),
    "private standardisation": Bug(
        "centres and scales from the rows that are to be protected",
        MeanOperator,
        "resolve",
        standardised,
        record_statistic_is_lawful,
    ),
    "inferred bounds": Bug(
        "a clip bound from protected rows", MeanOperator, "_radius", radius_of_rows, replay_is_quiet
    ),
    "inferred categories": Bug(
        "classes from the labels that occur", MeanOperator, "resolve", classes_of_rows, statistic_is_lawful
    ),
    "exact count in the header": Bug(
        "the number of rows in clear where it is protected",
        MeanSum,
        "facts",
        exact_count,
        replay_of_added_records_is_quiet,
    ),
    "NaN injection": Bug(
        "a value that is no number slips past the bounds",
        encoder,
        "_columns",
        zero_for_nothing,
        no_number_is_refused,
    ),
    "one person, many rows": Bug(
        "a unit of one row where a person has several",
        PersonCounts,
        "check",
        lambda *_: None,
        a_crowd_of_one_is_refused,
    ),
    "the lower bound twice": Bug(
        "sensitivity from low - low (diffprivlib's linear regression)",
        MeanSum,
        "sensitivity",
        lambda *_: Sensitivity(1, 1, 1),
        neighbours_stay_within,
    ),
    "L2 for L1": Bug(
        "Laplace noise scaled by a 2-norm (as theorem 9 was printed)",
        laplace.Laplace,
        "law",
        law_of_the_other_norm,
        mechanism_is_lawful,
    ),
    "relation mix-up": Bug(
        "the sensitivity of add/remove for replaced records",
        MeanSum,
        "sensitivity",
        relation_mixed_up,
        replaced_records_stay_within,
    ),
    "a fragment counted twice": Bug(
        "a retried task delivers again (Spark; Janus)",
        folding,
        "_merged",
        every_delivery,
        fragments_count_once,
    ),
}
