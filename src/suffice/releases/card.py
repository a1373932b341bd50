"""A release in plain words, as text and as HTML: what is protected, how strongly, and what is not."""

from __future__ import annotations

import html as markup
import math
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.bounds import Radius
from suffice.core.guarantees import NotPrivate
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace, Law, NoLaw
from suffice.core.moments import Isotropic

if TYPE_CHECKING:
    from suffice.core.bounds import Bound
    from suffice.releases.release import Release

__all__ = ["html", "line", "text"]

_WIDTH = 14
_MOST_NAMES = 8


def line(release: Release) -> str:
    """One line."""
    return _safe(
        f"<Release of {release.kind}: {_size(release)}, {release.guarantee.promise}, {_seal(release)}>"
    )


def text(release: Release, beside: tuple[str, ...] = ()) -> str:
    """The card for a terminal; nothing in it can steer one. `beside` has what the ledger paid besides."""
    head, rows = _headline(release), [*_rows(release), *(("Beside it", one) for one in beside)]
    return "\n".join(
        [_safe(head), *(f"  {_safe(name) + ':':<{_WIDTH}} {_safe(value)}" for name, value in rows)]
    )


def html(release: Release, beside: tuple[str, ...] = ()) -> str:
    """The card for a page: no script, no style sheet, no link, every value escaped."""
    rows = [*_rows(release), *(("Beside it", one) for one in beside)]
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left;vertical-align:top">{_escaped(name)}</th>'
        f'<td style="text-align:left">{_escaped(value)}</td></tr>'
        for name, value in rows
    )
    head = f'<caption style="text-align:left;font-weight:bold">{_escaped(_headline(release))}</caption>'
    return f"<table>{head}<tbody>{cells}</tbody></table>"


def _headline(release: Release) -> str:
    return f"Release of {release.kind}: {_size(release)}, made by {release.made_by}"


def _size(release: Release) -> str:
    if release.answers is not None:
        return f"{release.answers.num_rows} answers"
    return " x ".join(map(str, release.values.shape)) + " values"


def _rows(release: Release) -> list[tuple[str, str]]:
    """What the card says, a name and a sentence at a time."""
    guarantee = release.guarantee
    rows = [("Protected", guarantee.sentence()), ("Not protected", _unprotected(release))]
    rows += [("Assumed", one) for one in guarantee.assumes]
    if guarantee.also:
        rows.append(("Also promised", "; ".join(map(str, guarantee.also))))
    rows += [("Noise", _noise(release)), ("Values of", _named(release))]
    rows += [(str(name), _about(item)) for name, item in sorted(release.about.items())]
    if release.bound is not None:
        rows.append(("Bound", _bound(release.bound)))
    if release.grid is not None:
        radius = "" if release.grid.radius is None else f"; the radius is {release.grid.radius} units"
        rows.append(("Grid", f"{2**release.grid.bits} units to one{radius}"))
    if release.sensitivity is not None:
        one = release.sensitivity
        norms = f"{one.l1} in the 1-norm, {one.l2} in the 2-norm, {one.linf} in the max norm"
        rows.append(("Sensitivity", f"one change moves the sum by at most {norms}, in grid units"))
    if release.witness is not None:
        print_ = f", fingerprint {release.witness.fingerprint}" if release.witness.fingerprint else ""
        rows.append(("Rows", f"{release.witness.count}{print_}"))
    rows.append(("Charge", "none" if release.receipt is None else release.receipt.charge))
    return [*rows, ("Format", str(release.format)), ("Seal", _seal(release))]


def _unprotected(release: Release) -> str:
    guarantee = release.guarantee
    if isinstance(guarantee.promise, NotPrivate):
        return "everything: there is no privacy guarantee"
    common = "what holds of people in general, which is what a statistic is for"
    if guarantee.unit.rows_are_public:
        return f"all else: feature rows and which rows are present, which count as known; and {common}"
    return f"{common}; and anything beyond one such change"


def _noise(release: Release) -> str:
    """The law, and how long a typical draw is beside one row at the bound."""
    law = release.law
    if release.channel is not None:
        return f"on every answer, by {release.channel!r}"
    if law is None:
        return "no law of noise on the values"
    if isinstance(law, NoLaw):
        return "none: the values are exact"
    length = _length(law)
    sentence = f"{_law(law)}; a typical draw is {length:.4g} grid units long"
    if release.grid is None or release.grid.radius is None:
        return sentence
    sentence += f", that is {length / release.grid.radius:.3g} times the longest row"
    if release.witness is None or not release.witness.count:
        return sentence
    return f"{sentence}, in a sum over {release.witness.count} rows"


def _law(law: Law) -> str:
    if isinstance(law, Gaussian):
        return f"normal, standard deviation {float(law.stddev):.4g} on every coordinate"
    if isinstance(law, Laplace):
        return f"Laplace, scale {float(law.scale):.4g} on every coordinate"
    if isinstance(law, L2Laplace):
        return f"round Laplace, scale {float(law.scale):.4g} in the 2-norm"
    if isinstance(law, Cube):
        return f"cube, scale {float(law.scale):.4g} in the max norm"
    return type(law).__name__


def _length(law: Law) -> float:
    """The root mean square of the Euclidean length."""
    spread = law.covariance()
    if isinstance(spread, Isotropic):
        return math.sqrt(spread.variance) * math.sqrt(spread.dimension)
    return math.sqrt(float(np.trace(spread.dense())))


def _named(release: Release) -> str:
    names = release.names if release.answers is None else tuple(release.answers.column_names)
    shown = ", ".join(" x ".join(one) if isinstance(one, tuple) else one for one in names[:_MOST_NAMES])
    return shown + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")


def _about(item: object) -> str:
    if isinstance(item, dict):
        return "; ".join(f"{name}: {_about(inner)}" for name, inner in sorted(item.items()))
    return ", ".join(map(_about, item)) if isinstance(item, tuple) else str(item)


def _bound(bound: Bound) -> str:
    if not isinstance(bound.radius, Radius):
        radius = f"{bound.radius:g}"
    elif bound.radius.quantile == 1:
        radius = "that of the longest public row"
    else:
        radius = f"the {bound.radius.quantile:g} quantile over the public rows"
    return f"rows are shortened to a length in norm {bound.norm} of at most {radius}"


def _seal(release: Release) -> str:
    if not release.verified_by:
        return "not verified"
    return "holds, by key " + ", ".join(one[:16] for one in release.verified_by)


def _safe(value: str) -> str:
    """Text in which whatever could move a cursor or turn the reading direction is spelled out."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in value)


def _escaped(value: str) -> str:
    return markup.escape(_safe(value), quote=True)
