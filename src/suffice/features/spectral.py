"""Eigenvectors of the neighbour graph: the smoothest functions on public rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from suffice.core.errors import InputError
from suffice.features.eigen import leading
from suffice.features.neighbour import nearest, scales, softened
from suffice.features.vector import Vectors

if TYPE_CHECKING:
    from suffice.core.fold import Progress

__all__ = ["SpectralMap"]

Array: TypeAlias = NDArray[np.float64]

_FAINT = 0.05
_BLOCK = 1 << 12


class SpectralMap(TransformerMixin, BaseEstimator):
    """The leading eigenvectors of the neighbour graph of public rows, and their extension to new rows.

    Rows are turned to their principal components. Each is joined to its nearest neighbours with the
    weight exp(-d²/(s·s')), s being the distance of a row to the farthest of them; the eigenvectors of
    D^-½WD^-½ of largest eigenvalue, divided by the root of the degree and given mean 0 and variance 1,
    are the coordinates. A new row gets the weighted mean of its neighbours divided by the eigenvalue,
    which for a fitted row is its own coordinate. Identical rows are one node that counts as often as it
    occurs. No labels are asked for, so none can leak.

    Parameters
    ----------
    n_components : int
        How many coordinates, at most a fifth of the distinct rows.
    neighbours : int
        How many neighbours each row is joined to.
    principal : int
        How many principal components distances are taken in.
    standardise : bool
        Whether numbers in the columns of a frame are divided by their standard deviation. Arrays are
        taken as they are.
    exact : int
        Up to so many distinct rows all are nodes of the graph.
    landmarks : int
        Beyond, so many of them are, chosen by a hash of their values; the others are new rows to it.
    random_state : int
        Where the iteration for eigenvectors starts and which rows are landmarks.
    progress : callable or None
        Called with the rows whose neighbours are known and the rows in all.

    Attributes
    ----------
    eigenvalues_ : one per coordinate, largest first.
    nodes_ : how many rows the graph has.
    """

    def __init__(
        self,
        n_components: int = 400,
        *,
        neighbours: int = 10,
        principal: int = 50,
        standardise: bool = True,
        exact: int = 100_000,
        landmarks: int = 50_000,
        random_state: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.n_components = n_components
        self.neighbours = neighbours
        self.principal = principal
        self.standardise = standardise
        self.exact = exact
        self.landmarks = landmarks
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any) -> Self:
        """Build the graph of these rows and find its leading eigenvectors."""
        self.vectors_ = None if isinstance(X, np.ndarray) else Vectors.learn(X, standardise=self.standardise)
        rows = self._rows(X)
        marks = _marks(rows, self.random_state)
        known, first, times = np.unique(marks, return_index=True, return_counts=True)
        self.n_features_in_ = rows.shape[1]
        distinct, counts = rows[first], times.astype(np.float64)
        self.centre_, self.axes_ = _principal(distinct, counts, self.principal)
        if len(distinct) > self.exact:
            most = self.landmarks
            known, distinct, counts = known[:most], distinct[:most], counts[:most]
        self._known, self._counts = known, counts
        self._base = self._turned(distinct)
        self._build()
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The coordinates of these rows; a row of the graph has those it has there."""
        check_is_fitted(self, "eigenvalues_")
        rows = self._rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise InputError(
                f"The map was learned from rows of {self.n_features_in_} numbers, and these have "
                f"{rows.shape[1]}."
            )
        marks = _marks(rows, self.random_state)
        places = np.minimum(np.searchsorted(self._known, marks), len(self._known) - 1)
        met = self._known[places] == marks
        out = np.empty((len(rows), len(self.eigenvalues_)), np.float32)
        out[met] = self._nodes[places[met]]
        out[~met] = self._extended(rows[~met])
        return out

    def fit_transform(self, X: Any) -> NDArray[np.float32]:
        """The coordinates of the rows that the graph is made of."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """spectral0, spectral1, ... from the smoothest on."""
        check_is_fitted(self, "eigenvalues_")
        return np.array([f"spectral{at}" for at in range(len(self.eigenvalues_))], dtype=object)

    @property
    def nodes_(self) -> int:
        """How many rows the graph has."""
        return len(self._known)

    def _rows(self, X: Any) -> NDArray[np.float32]:
        if self.vectors_ is not None:
            return self.vectors_.apply(X)
        rows = np.asarray(X, dtype=np.float32)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InputError("The rows are a two-dimensional array of finite numbers, or a frame.")
        return np.ascontiguousarray(rows) + np.float32(0.0)  # -0 becomes 0, as it is the same number

    def _turned(self, rows: NDArray[np.float32]) -> Array:
        parts = [
            (rows[at : at + _BLOCK].astype(np.float64) - self.centre_) @ self.axes_
            for at in range(0, len(rows), _BLOCK)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.axes_.shape[1]))

    def _build(self) -> None:
        nodes, counts = len(self._base), self._counts
        places, squares = nearest(
            self._base, self._base, self.neighbours, itself=True, progress=self.progress
        )
        self._scale, _ = scales(squares)
        weights = softened(squares, self._scale, self._scale[places]) * counts[:, None] * counts[places]
        ends = np.repeat(np.arange(nodes), self.neighbours), places.ravel()
        graph = sparse.csr_matrix((weights.ravel(), ends), (nodes, nodes))
        graph = graph.maximum(graph.T).tocsr()
        root = np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-300))
        around = sparse.diags(1.0 / root)
        values, vectors = self._leading((around @ graph @ around).tocsr(), root)
        share = counts / counts.sum()
        vectors = vectors / root[:, None]
        vectors -= share @ vectors
        vectors /= np.sqrt(share @ np.square(vectors))
        vectors *= np.sign(np.where(np.abs(skew := share @ vectors**3) > 1e-9, skew, 1.0))
        self.eigenvalues_, self._nodes = values, vectors.astype(np.float32)

    def _leading(self, operator: Any, root: Array) -> tuple[Array, Array]:
        """The largest eigenvalues after the trivial one, those that an extension may be divided by."""
        nodes = operator.shape[0]
        wanted = max(1, min(self.n_components, nodes // 5))
        values, vectors = leading(operator, wanted + 1, seed=self.random_state)
        trivial = root / np.linalg.norm(root)
        flat = int(np.argmax(np.abs(trivial @ vectors)))
        kept = np.flatnonzero((np.arange(len(values)) != flat) & (values > _FAINT))
        if not len(kept):
            raise InputError("The neighbour graph has no smooth function. Use more rows or more neighbours.")
        return values[kept], vectors[:, kept]

    def _extended(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if not len(rows):
            return np.zeros((0, len(self.eigenvalues_)), np.float32)
        turned = self._turned(rows)
        places, squares = nearest(turned, self._base, self.neighbours, progress=self.progress)
        own, _ = scales(squares)
        weights = softened(squares, own, self._scale[places], relative=True) * self._counts[places]
        weights /= weights.sum(axis=1, keepdims=True)
        out = np.empty((len(rows), len(self.eigenvalues_)), np.float32)
        for at in range(0, len(rows), _BLOCK):
            near, share = places[at : at + _BLOCK], weights[at : at + _BLOCK]
            mean = sum(share[:, [j]] * self._nodes[near[:, j]] for j in range(self.neighbours))
            out[at : at + _BLOCK] = mean / self.eigenvalues_
        return out


def _marks(rows: NDArray[np.float32], seed: int) -> NDArray[np.uint64]:
    """A digest of each row's values: equal rows have equal ones, and their order is no one's."""
    salt = int(seed).to_bytes(8, "little", signed=True)
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8, salt=salt).digest() for row in rows)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _principal(rows: NDArray[np.float32], counts: Array, most: int) -> tuple[Array, Array]:
    """The mean, and the axes along which the rows vary most."""
    centre = counts @ rows / counts.sum()
    scatter = np.zeros((rows.shape[1], rows.shape[1]))
    for at in range(0, len(rows), _BLOCK):
        block = rows[at : at + _BLOCK] - centre
        scatter += (block.T * counts[at : at + _BLOCK]) @ block
    values, vectors = np.linalg.eigh(scatter)
    kept = values[::-1][:most] > 1e-12 * max(float(values[-1]), 1e-300)
    return centre, np.ascontiguousarray(vectors[:, ::-1][:, :most][:, kept])
