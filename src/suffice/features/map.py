"""Transformers learned from public rows, and the feature tables that they write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.validation import check_is_fitted

from suffice.core.errors import InputError
from suffice.features.spectral import SpectralMap
from suffice.features.table import FeatureTable, as_keys
from suffice.features.vector import Vectors, as_source
from suffice.sources.frame import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from suffice.core.fold import Progress

__all__ = ["FeatureMap", "Kind", "transformer"]

Kind: TypeAlias = Literal["columns", "spectral", "pca", "fourier", "nystroem", "splines", "kmeans"]
_KINDS = ("columns", "spectral", "pca", "fourier", "nystroem", "splines", "kmeans")
_SEEN = 2000


class FeatureMap(BaseEstimator):
    """Families of coordinates learned together from the public columns of a table, labels unseen.

    Rows of mixed types become vectors first (`Vectors`): numbers standardised, levels one-hot, list
    columns as they are. `maps` names each family: a scikit-learn transformer of such vectors, or the
    word for one: "columns" (the vectors themselves), "spectral", "pca", "fourier", "nystroem",
    "splines", "kmeans". The transformer is never shown a label.

    `table` gives the rows that the map was learned from and new ones the same coordinates by the same
    call; a fitted row has in a neighbour graph the place it was given there.
    """

    def __init__(
        self,
        maps: Mapping[str, Any] | Sequence[str] = ("spectral", "columns"),
        *,
        columns: Sequence[str] | None = None,
        standardise: bool = True,
        random_state: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.maps = maps
        self.columns = columns
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, *, key: str | None = None) -> Self:
        """Learn from public rows: a source or a frame. The column `key` is left out of the vectors."""
        source = as_source(X)
        names = self.columns
        if names is None:
            names = [name for name in source.schema.names if name != key]
        self.vectors_ = Vectors.learn(source, names, standardise=self.standardise)
        rows = self.vectors_.apply(source)
        self.fitted_ = {}
        for family, asked in self._families().items():
            if not family or family[-1].isdigit():
                raise InputError(f"The name of a family ends in no digit, and got {family!r}.")
            self.fitted_[family] = _fitted(asked, rows, self.random_state, self.progress)
        self.rows_ = len(rows)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The coordinates of these rows, family after family."""
        check_is_fitted(self, "fitted_")
        rows = self.vectors_.apply(X)
        parts = [rows if one is None else np.asarray(one.transform(rows)) for one in self.fitted_.values()]
        return np.concatenate([_dense(part) for part in parts], axis=1)

    def table(self, X: Any, *, key: str, provenance: str | None = None) -> FeatureTable:
        """The feature table of these rows; `provenance` adds a sentence to what the map says of itself."""
        values = self.transform(X)
        names, smoothness = self._names(values.shape[1])
        keys = pa.chunked_array([batch.column(key) for batch in batches(X, (key,))])
        told = self._provenance() if provenance is None else f"{provenance}; {self._provenance()}"
        return FeatureTable(key, as_keys(keys), names, values, smoothness, told)

    def _families(self) -> dict[str, Any]:
        maps = self.maps
        return {name: name for name in maps} if isinstance(maps, list | tuple) else dict(maps)  # type: ignore[arg-type]

    def _names(self, width: int) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
        names: list[str] = []
        smoothness: list[float | None] = []
        for family, one in self.fitted_.items():
            count = len(self.vectors_.names) if one is None else len(one.get_feature_names_out())
            names += [f"{family}{at}" for at in range(count)]
            known = getattr(one, "eigenvalues_", None)
            smoothness += [None] * count if known is None else [float(value) for value in known]
        if len(names) != width:
            raise InputError(f"The transformers name {len(names)} coordinates and make {width}.")
        return tuple(names), tuple(smoothness)

    def _provenance(self) -> str:
        made = [
            f"{family}: {'the columns themselves' if one is None else ' '.join(repr(one).split())}"
            for family, one in self.fitted_.items()
        ]
        listed = ", ".join(self.vectors_.columns[:20]) + (", ..." if len(self.vectors_.columns) > 20 else "")
        return f"learned without labels from {self.rows_} public rows of {listed}; " + "; ".join(made)


def transformer(kind: Kind | str, rows: NDArray[np.float32], *, seed: int = 0) -> Any:
    """The transformer that a word stands for, its width of kernel set by these rows; None for "columns"."""
    if kind not in _KINDS:
        raise InputError(f"A family is a transformer or one of {', '.join(_KINDS)}, and got {kind!r}.")
    count, width = rows.shape
    gamma = 1.0 / max(_spread(rows, seed), 1e-12)
    made: dict[str, Callable[[], Any]] = {
        "spectral": lambda: SpectralMap(random_state=seed),
        "pca": lambda: PCA(min(100, width, count), random_state=seed),
        "fourier": lambda: RBFSampler(gamma=gamma, n_components=1500, random_state=seed),
        "nystroem": lambda: Nystroem(gamma=gamma, n_components=min(500, count), random_state=seed),
        "splines": lambda: SplineTransformer(n_knots=6, knots="quantile", include_bias=False),
        "kmeans": lambda: KMeans(min(100, count), n_init=1, random_state=seed),
    }
    return made[kind]() if kind in made else None


def _fitted(asked: Any, rows: NDArray[np.float32], seed: int, progress: Progress | None) -> Any:
    one: Any = transformer(asked, rows, seed=seed) if isinstance(asked, str) else clone(asked)
    if isinstance(one, SpectralMap):
        one.progress = progress
        return one.fit(rows)
    return None if one is None else one.fit(rows)


def _spread(rows: NDArray[np.float32], seed: int) -> float:
    """The median squared distance of two rows."""
    chosen = np.random.default_rng(seed).integers(0, len(rows), (2, _SEEN))
    return float(np.median(np.square(rows[chosen[0]] - rows[chosen[1]]).sum(axis=1)))


def _dense(part: Any) -> NDArray[np.float32]:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float32)
