"""spec.toml: a request to an owner as a file that a person reads, edits and keeps.

`source`, `[statistic]` and `[mechanism]`; every `kind` is the Python name. Paths are meant from
the file's own folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import suffice as sf
from suffice.cli.data import opened
from suffice.cli.toml import document
from suffice.core.codec import decode, encode
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from suffice.core.protocols import Additive, Source

__all__ = ["STATE_ME", "Spec", "read", "recipe_table", "text"]

STATE_ME = "STATE ME"
"""What stands where a person must state something that no row may be asked for."""

_PARTS = ("source", "statistic", "mechanism")
_RECIPE = ("columns", "intercept", "origin")


@final
@dataclass(frozen=True, slots=True)
class Spec:
    """A request as it was read, and the folder from which its paths are meant."""

    source: str | Mapping[str, Any]
    statistic: Mapping[str, Any]
    mechanism: Mapping[str, Any]
    folder: Path

    def opened(self) -> Source:
        """The rows."""
        return opened(self.source)

    def made_statistic(self) -> sf.MeanOperator:
        """The statistic that is asked for."""
        given = dict(self.statistic)
        given["features"] = self._features(given)
        if isinstance(given.get("bound"), Mapping):
            given["bound"] = _bound(given["bound"])
        columns = (sf.Numeric, sf.Categorical, sf.Hashed, sf.Cross)
        kinds = (sf.MeanOperator, sf.Recipe, *columns, sf.Bound, sf.Radius)
        made: sf.MeanOperator = decode({"kind": "MeanOperator", **given}, kinds)
        return made

    def made_mechanism(self, **overrides: float | None) -> Additive | sf.Auto:
        """The mechanism that is asked for; a number given at the command line wins."""
        given = dict(self.mechanism)
        given |= {name: value for name, value in overrides.items() if value is not None}
        if "kind" not in given:
            raise InputError('[mechanism] needs a kind, such as kind = "L2Laplace".')
        made: Additive | sf.Auto = decode(given, (*sf.mechanisms.MECHANISMS, sf.Auto))
        return made

    def _features(self, given: dict[str, Any]) -> Any:
        """Names as they are; columns, inline or in a file of their own, as a recipe."""
        features = given.get("features")
        if isinstance(features, str):
            features = _toml(self.folder / features)
        elif isinstance(features, list) and any(isinstance(one, Mapping) for one in features):
            features = {"columns": features}
        if not isinstance(features, Mapping):
            return features
        beside = {name: given.pop(name) for name in ("origin", "intercept") if name in given}
        return {"kind": "Recipe", **beside, **features}


def read(path: Path) -> Spec:
    """The request in a file, or an InputError that names what is missing, unknown or left to state."""
    given = _toml(path)
    odd = sorted(set(given) - set(_PARTS))
    if odd:
        raise InputError(f"{str(path)!r} has {odd[0]!r}, and a spec has only: {', '.join(_PARTS)}.")
    absent = [name for name in _PARTS if name not in given]
    if absent:
        raise InputError(f"{str(path)!r} has no {absent[0]!r}. A spec has: {', '.join(_PARTS)}.")
    places = list(_open_places(given))
    if places:
        named = ", ".join(places[:6]) + (", ..." if len(places) > 6 else "")
        raise InputError(
            f"{str(path)!r} says {STATE_ME!r} in {len(places)} places. Only you can say what belongs there, "
            f"without looking at the rows: {named}."
        )
    tables = {name: given[name] for name in ("statistic", "mechanism")}
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{name!r} is a table, [{name}], and got {table!r}.")
    return Spec(given["source"], **tables, folder=path.parent)


def text(
    source: str | Mapping[str, Any],
    statistic: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    remarks: tuple[str, ...] = (),
) -> str:
    """The file's text, remarks first."""
    head = "".join(f"# {remark}\n" for remark in remarks)
    return head + document({"source": source, "statistic": statistic, "mechanism": mechanism})


def recipe_table(recipe: sf.Recipe) -> dict[str, Any]:
    """A recipe as entries of [statistic]: columns with the name first, and what is not at a default."""
    encoded = encode(recipe)
    table = {name: encoded[name] for name in _RECIPE if name in encoded}
    features = [_named_first(column) for column in table.pop("columns")]
    return {**table, "features": features}


def _named_first(column: dict[str, Any]) -> dict[str, Any]:
    return {name: column[name] for name in sorted(column, key=lambda name: name != "name")}


def _bound(given: Mapping[str, Any]) -> dict[str, Any]:
    """`public_quantile` is the radius that stands at that quantile of the public rows."""
    bound = {"kind": "Bound", **given}
    if "public_quantile" in bound and "radius" in bound:
        raise InputError("A bound has a radius or a public_quantile, and this one has both. Keep one.")
    if "public_quantile" in bound:
        quantile = bound.pop("public_quantile")
        bound["radius"] = {"kind": "Radius", "quantile": 1.0 if quantile == "max" else quantile}
    return bound


def _open_places(value: Any, where: str = "") -> Iterator[str]:
    if value == STATE_ME:
        yield where
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _open_places(item, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            called = item.get("name", at) if isinstance(item, Mapping) else at
            yield from _open_places(item, f"{where}[{called}]")


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} is not TOML: {error}.") from error
