"""The diagonal blocks of the Hessian with their penalty: banded matrices, one per feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cholesky_banded
from scipy.linalg.lapack import dpbtrs, dpttrf, dpttrs

from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.group import TermGroup

__all__ = ["BandFactor", "factored", "penalized_bands"]


@dataclass(frozen=True, eq=False)
class BandFactor:
    """The factor of a banded matrix; a tridiagonal one has pivots instead, which take less time."""

    upper: Floats  # (n_bands, n), or `pivots` and what stands below them
    is_tridiagonal: bool = False

    @classmethod
    def of(cls, upper: Floats) -> BandFactor:
        """Factor a matrix in LAPACK's upper form."""
        if upper.shape[0] != 2 or upper.shape[1] < 2:
            return cls(cholesky_banded(upper))
        pivots, below, failed = dpttrf(upper[1], upper[0, 1:])
        if failed:
            raise LinAlgError("the matrix is not positive definite")
        return cls(np.stack([np.append(0.0, below), pivots]), is_tridiagonal=True)

    def solve(self, r: Floats) -> Floats:
        """Multiply r (n,) or (n, n_columns) by the inverse."""
        if self.is_tridiagonal:
            columns = r.reshape(len(r), -1)
            return np.asarray(dpttrs(self.upper[1], self.upper[0, 1:], columns)[0]).reshape(r.shape)
        return np.asarray(dpbtrs(self.upper, r)[0])


def factored(group: TermGroup, blocks: Floats, of_level: float) -> BandFactor:
    """Factor the blocks plus the penalty of one group, an upper banded matrix.

    A curve has no level, which is the intercept's: to be moved as a whole costs it `of_level`.
    """
    used, bands = group.used, penalized_bands(group, blocks)
    bands[:, :, 0] += ~used  # ones, so that it can be factored
    n_bands = bands.shape[2]
    if group.has_level and group.embedding.penalty.bandwidth > 0:
        weights = group.level_weights  # 0 but for the first ones, as many as the penalty has bands
        for p in range(n_bands):
            pairs = weights[:, : group.stride - p] * weights[:, p:]
            bands[:, : group.stride - p, p] += of_level * pairs
    upper = np.zeros((n_bands, used.size))
    for p in range(n_bands):
        flat = bands[:, :, p].ravel()
        upper[n_bands - 1 - p, p:] = flat[: len(flat) - p]
    return factor_with(BandFactor.of, upper, upper[-1])


def penalized_bands(group: TermGroup, blocks: Floats) -> Floats:
    """Add the penalty to blocks (n_features, stride, support), 0 where a parameter is not used.

    The bands are (n_features, stride, n_bands): entry [j, k, p] stands at (k, k + p) of the matrix
    of feature j. A gap is not tied to its curve here.
    """
    used, support, bands = group.used, blocks.shape[2], group.penalty_bands
    n_bands = min(group.size, max(support, bands.shape[2]))
    out = np.zeros((*group.shape, n_bands))
    for p in range(min(support, n_bands)):  # both coefficients must take part
        both = used[:, p:] & used[:, : group.stride - p]
        out[:, : group.stride - p, p] = np.where(both, blocks[:, : group.stride - p, p], 0.0)
    out[:, :, : bands.shape[2]] += bands
    return out
