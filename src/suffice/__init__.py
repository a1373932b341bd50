"""Learn models from what data owners are willing to release.

A release is a statistic of rows, passed through a mechanism, that carries its own guarantee. A
learner is a function of public data and releases, never of rows it was not given.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.accounting.ledger import Ledger as Ledger
    from suffice.auditing import audit as audit
    from suffice.core import laws as laws
    from suffice.core.bounds import Bound as Bound
    from suffice.core.bounds import Radius as Radius
    from suffice.core.column import Categorical as Categorical
    from suffice.core.column import Cross as Cross
    from suffice.core.column import Hashed as Hashed
    from suffice.core.column import Numeric as Numeric
    from suffice.core.fold import fold as fold
    from suffice.core.guarantees import ApproxDP as ApproxDP
    from suffice.core.guarantees import NotPrivate as NotPrivate
    from suffice.core.guarantees import PureDP as PureDP
    from suffice.core.guarantees import ZeroConcentratedDP as ZeroConcentratedDP
    from suffice.core.moments import Moments as Moments
    from suffice.core.recipe import Recipe as Recipe
    from suffice.core.request import Auto as Auto
    from suffice.core.units import Answer as Answer
    from suffice.core.units import FeatureOf as FeatureOf
    from suffice.core.units import LabelOf as LabelOf
    from suffice.core.units import RecordOf as RecordOf
    from suffice.learners.model import load_model as load_model
    from suffice.learners.model import save_model as save_model
    from suffice.learners.tuning import tune as tune
    from suffice.maths.linear_odd import LinearOdd as LinearOdd
    from suffice.mechanisms import Cube as Cube
    from suffice.mechanisms import Exact as Exact
    from suffice.mechanisms import Gaussian as Gaussian
    from suffice.mechanisms import L2Laplace as L2Laplace
    from suffice.mechanisms import Laplace as Laplace
    from suffice.owner import Owner as Owner
    from suffice.releases.release import Release as Release
    from suffice.releases.release import load as load
    from suffice.releases.seal import new_keys as new_keys
    from suffice.sources.csv import CSV as CSV
    from suffice.sources.duckdb import DuckDB as DuckDB
    from suffice.sources.feather import Feather as Feather
    from suffice.sources.feature import Features as Features
    from suffice.sources.join import Join as Join
    from suffice.sources.parquet import Parquet as Parquet
    from suffice.sources.table import Table as Table
    from suffice.statistics.mean_operator import MeanOperator as MeanOperator

_HOMES = {
    "ApproxDP": "core.guarantees",
    "Answer": "core.units",
    "Auto": "core.request",
    "Bound": "core.bounds",
    "CSV": "sources.csv",
    "Categorical": "core.column",
    "Cross": "core.column",
    "Cube": "mechanisms",
    "DuckDB": "sources.duckdb",
    "Exact": "mechanisms",
    "FeatureOf": "core.units",
    "Feather": "sources.feather",
    "Features": "sources.feature",
    "Gaussian": "mechanisms",
    "Hashed": "core.column",
    "Join": "sources.join",
    "L2Laplace": "mechanisms",
    "LabelOf": "core.units",
    "Laplace": "mechanisms",
    "Ledger": "accounting.ledger",
    "LinearOdd": "maths.linear_odd",
    "MeanOperator": "statistics.mean_operator",
    "Moments": "core.moments",
    "NotPrivate": "core.guarantees",
    "Numeric": "core.column",
    "Owner": "owner",
    "Parquet": "sources.parquet",
    "PureDP": "core.guarantees",
    "Radius": "core.bounds",
    "Recipe": "core.recipe",
    "RecordOf": "core.units",
    "Release": "releases.release",
    "Table": "sources.table",
    "ZeroConcentratedDP": "core.guarantees",
    "audit": "auditing",
    "fold": "core.fold",
    "load": "releases.release",
    "load_model": "learners.model",
    "new_keys": "releases.seal",
    "save_model": "learners.model",
    "tune": "learners.tuning",
}
_ROOMS = {
    "auditing": "auditing",
    "features": "features",
    "laws": "core.laws",
    "learners": "learners",
    "mechanisms": "mechanisms",
}

__all__ = [*sorted(_HOMES), *sorted(_ROOMS)]  # noqa: PLE0604  computed from the table above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import suffice` costs next to nothing."""
    if name in _ROOMS:
        return import_module(f"suffice.{_ROOMS[name]}")
    if name in _HOMES:
        found = getattr(import_module(f"suffice.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'suffice' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
