"""Standard errors of sums over answers that come in people, clusters and strata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["covariance"]


def covariance(
    influence: NDArray[np.float64],
    cluster: NDArray[np.intp],
    stratum: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """The covariance of column sums of `influence`, whose rows are independent between clusters.

    In each stratum of n clusters: n / (n - 1) times the sum of squares of the clusters' totals about
    their mean. Without strata there is one. A cluster lies in one stratum.
    """
    groups, place = np.unique(cluster, return_inverse=True)
    totals = np.zeros((groups.size, influence.shape[1]))
    np.add.at(totals, place, influence)
    strata = np.zeros(groups.size, dtype=np.intp)
    if stratum is not None:
        strata[place] = stratum
        if (strata[place] != stratum).any():
            raise InputError("A cluster (or a person) lies in two strata. Give clusters within strata.")
    found = np.zeros((influence.shape[1], influence.shape[1]))
    for at in np.unique(strata):
        mine = totals[strata == at]
        if len(mine) < 2:
            raise InputError(
                "A stratum has one cluster, which says nothing of how clusters differ. Join it with another."
            )
        centred = mine - mine.mean(axis=0)
        found += len(mine) / (len(mine) - 1) * centred.T @ centred
    return found
