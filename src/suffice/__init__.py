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
    from suffice.channels import CoordinateRelease as CoordinateRelease
    from suffice.channels import Crosswise as Crosswise
    from suffice.channels import Disguised as Disguised
    from suffice.channels import DuchiL2 as DuchiL2
    from suffice.channels import DuchiLinf as DuchiLinf
    from suffice.channels import Flip as Flip
    from suffice.channels import ForcedResponse as ForcedResponse
    from suffice.channels import GaussianSpread as GaussianSpread
    from suffice.channels import ItemCount as ItemCount
    from suffice.channels import Kuk as Kuk
    from suffice.channels import Matrix as Matrix
    from suffice.channels import OptimisedUnary as OptimisedUnary
    from suffice.channels import PerValue as PerValue
    from suffice.channels import PrivUnit as PrivUnit
    from suffice.channels import RandomizedResponse as RandomizedResponse
    from suffice.channels import SubsetSelection as SubsetSelection
    from suffice.channels import SymmetricUnary as SymmetricUnary
    from suffice.channels import Together as Together
    from suffice.channels import Triangular as Triangular
    from suffice.channels import UnrelatedQuestion as UnrelatedQuestion
    from suffice.channels import Warner as Warner
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
    from suffice.statistics.labels import Labels as Labels
    from suffice.statistics.mean_operator import MeanOperator as MeanOperator
    from suffice.surveys.form import Survey as Survey

_HOMES = {
    "Answer": "core.units",
    "ApproxDP": "core.guarantees",
    "Auto": "core.request",
    "Bound": "core.bounds",
    "CSV": "sources.csv",
    "Categorical": "core.column",
    "CoordinateRelease": "channels",
    "Cross": "core.column",
    "Crosswise": "channels",
    "Cube": "mechanisms",
    "Disguised": "channels",
    "DuchiL2": "channels",
    "DuchiLinf": "channels",
    "DuckDB": "sources.duckdb",
    "Exact": "mechanisms",
    "Feather": "sources.feather",
    "FeatureOf": "core.units",
    "Features": "sources.feature",
    "Flip": "channels",
    "ForcedResponse": "channels",
    "Gaussian": "mechanisms",
    "GaussianSpread": "channels",
    "Hashed": "core.column",
    "ItemCount": "channels",
    "Join": "sources.join",
    "Kuk": "channels",
    "L2Laplace": "mechanisms",
    "LabelOf": "core.units",
    "Labels": "statistics.labels",
    "Laplace": "mechanisms",
    "Ledger": "accounting.ledger",
    "LinearOdd": "maths.linear_odd",
    "Matrix": "channels",
    "MeanOperator": "statistics.mean_operator",
    "Moments": "core.moments",
    "NotPrivate": "core.guarantees",
    "Numeric": "core.column",
    "OptimisedUnary": "channels",
    "Owner": "owner",
    "Parquet": "sources.parquet",
    "PerValue": "channels",
    "PrivUnit": "channels",
    "PureDP": "core.guarantees",
    "Radius": "core.bounds",
    "RandomizedResponse": "channels",
    "Recipe": "core.recipe",
    "RecordOf": "core.units",
    "Release": "releases.release",
    "SubsetSelection": "channels",
    "Survey": "surveys.form",
    "SymmetricUnary": "channels",
    "Table": "sources.table",
    "Together": "channels",
    "Triangular": "channels",
    "UnrelatedQuestion": "channels",
    "Warner": "channels",
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
    "channels": "channels",
    "features": "features",
    "laws": "core.laws",
    "learners": "learners",
    "mechanisms": "mechanisms",
    "surveys": "surveys",
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
