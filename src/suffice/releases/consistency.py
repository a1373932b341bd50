"""What must hold between the parts of a release, checked whenever one is made or read."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.errors import InputError
from suffice.core.guarantees import NotPrivate, PureDP
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace, Law, NoLaw

if TYPE_CHECKING:
    import pyarrow as pa

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Guarantee
    from suffice.core.witness import Witness
    from suffice.releases.release import Grid, Release

__all__ = ["check"]

_MOST = 1 << 62
_MOST_ABOUT = 12


def check(release: Release) -> None:
    """Refuse, as InputError, what no release can be."""
    if not re.fullmatch(r"\w{1,100}", release.kind):
        raise InputError(f"A release's kind is one word, and got {release.kind[:60]!r}.")
    _check_values(release)
    _check_plain(release.about, _MOST_ABOUT)
    _check_numbers(release.grid, release.sensitivity, release.witness)
    _check_law(release.law)
    _check_promise(release.guarantee, release.law, release.sensitivity)
    _check_channel(release)


def _check_values(release: Release) -> None:
    values, names = release.values, release.names
    if release.answers is not None:
        _check_answers(release.answers)
        if values.size:
            raise InputError("A release holds values or answers, and got both.")
        return
    if values.dtype not in (np.int64, np.float64) or values.ndim not in {1, 2} or not values.size:
        raise InputError(
            "The values of a release are one or two dimensions of int64 or float64, "
            f"and got {values.ndim} of {values.dtype}, {values.size} in all."
        )
    if values.shape[-1] != len(names):
        raise InputError(f"{values.shape[-1]} values in a row have {len(names)} names.")
    if not np.isfinite(values).all():
        raise InputError("The values of a release must be finite.")


def _check_answers(answers: pa.Table) -> None:
    kinds = {str(kind) for kind in answers.schema.types}
    if not kinds <= {"string", "bool", "int64", "double"} or not answers.num_columns:
        raise InputError(f"Answers travel as text, booleans, int64 and float64, and got {sorted(kinds)}.")
    if any(column.null_count for column in answers.columns):
        raise InputError("Answers travel without missing values.")


def _check_plain(value: Any, depth: int) -> None:
    """`about` holds names, text, numbers, and mappings and tuples of them."""
    if depth == 0:
        raise InputError("about= is nested too deep to travel.")
    if isinstance(value, dict):
        if "kind" in value or not all(isinstance(name, str) for name in value):
            raise InputError("The names in about= are text, and 'kind' is not among them.")
        inside = list(value.values())
    elif isinstance(value, tuple):
        inside = list(value)
    elif (
        value is None
        or isinstance(value, str | bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return
    else:
        raise InputError(f"about= holds a {type(value).__name__}, which cannot travel.")
    for item in inside:
        _check_plain(item, depth - 1)


def _check_numbers(grid: Grid | None, sensitivity: Sensitivity | None, witness: Witness | None) -> None:
    if grid is not None and not (0 <= grid.bits < 64 and (grid.radius is None or 0 < grid.radius < _MOST)):
        raise InputError(f"A grid has 0 to 63 bits and a radius above 0, and got {grid}.")
    if sensitivity is not None and min(sensitivity.l1, sensitivity.l2, sensitivity.linf) < 0:
        raise InputError(f"A sensitivity cannot be negative: {sensitivity}.")
    if witness is not None and (
        witness.count < 0 or not re.fullmatch(r"([0-9a-f]{32})?", witness.fingerprint)
    ):
        raise InputError(
            f"A witness has a count from 0 up and 32 hexadecimal digits, and got {witness.count}."
        )


def _check_law(law: Law | None) -> None:
    if law is None:
        return
    width = law.stddev if isinstance(law, Gaussian) else getattr(law, "scale", 1)
    if not 0 < width < _MOST:
        raise InputError("A law of noise has a scale above 0, in grid units.")
    if not 0 < getattr(law, "dimension", 1) < _MOST or getattr(law, "classes", 2) < 2:
        raise InputError(f"A law of noise has a dimension above 0 and two classes or more, and got {law}.")


def _check_promise(guarantee: Guarantee, law: Law | None, sensitivity: Sensitivity | None) -> None:
    """No release says more than its noise gives: no privacy without noise, no epsilon below Δ/scale."""
    promises = (guarantee.promise, *guarantee.also)
    private = [one for one in promises if not isinstance(one, NotPrivate)]
    if private and isinstance(law, NoLaw):
        raise InputError("Without noise there is no promise but NotPrivate.")
    if private and law is None and sensitivity is not None:
        raise InputError("A noisy sum carries the law of its noise.")
    if law is None or sensitivity is None:
        return
    given = _epsilon(law, sensitivity)
    for one in private:
        if isinstance(one, PureDP) and given is not None and given > Fraction(one.epsilon):
            raise InputError(
                f"The noise of this release gives epsilon = {float(given):g}, and it says {one}."
            )


def _check_channel(release: Release) -> None:
    """Answers say no more than their channel keeps, whose own guarantee is computed from its law."""
    if release.channel is None:
        return
    if release.answers is None:
        raise InputError("A channel belongs to randomised answers, and there are none.")
    keeps, says = release.channel.guarantee().promise, release.guarantee.promise
    if isinstance(keeps, NotPrivate) and not isinstance(says, NotPrivate):
        raise InputError(f"The channel keeps no promise, and the release says {says}.")
    if isinstance(keeps, PureDP) and isinstance(says, PureDP) and says.epsilon < keeps.epsilon:
        raise InputError(f"The channel of these answers keeps {keeps}, and the release says {says}.")


def _epsilon(law: Law, sensitivity: Sensitivity) -> Fraction | float | None:
    """The pure epsilon of this noise for this sensitivity, exactly; None for a law without a closed form."""
    if isinstance(law, Laplace):
        return Fraction(sensitivity.l1) / law.scale
    if isinstance(law, L2Laplace):
        return Fraction(sensitivity.l2) / law.scale
    if isinstance(law, Cube):
        return Fraction(sensitivity.linf) / law.scale
    return math.inf if isinstance(law, Gaussian) else None
