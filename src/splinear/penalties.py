"""Invertible penalties: differences, diagonal weights, and general matrices.

The paper penalizes the differences of neighboring coefficients, 1/2 |D_d a|^2, with square
matrices: D_1 has 1 on the diagonal and -1 below it, and D_d = D_1^d. Because they are invertible,
they can be absorbed into the features: with a = D_d^{-1} w the penalty is 1/2 |w|^2, and the
features are phi^d(x) = D_d^{-T} phi(x). Multiplication by D_1^{-1} is a cumulative sum from the
left, and by D_1^{-T} one from the right, so training needs no matrices; those here are for study
and tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats

__all__ = [
    "MAX_ORDER",
    "DiagonalPenalty",
    "DifferencePenalty",
    "MatrixPenalty",
    "difference_inverse",
    "difference_inverse_transpose",
    "difference_matrix",
    "smoothing_matrix",
]

# The condition number of D_d grows like n^d: for order 10 and 100 coefficients it is 1e16, which
# leaves no digit of a double.
MAX_ORDER = 10


def difference_matrix(n: int, order: int) -> Floats:
    """D_d, shape (n, n): lower triangular, ones on the diagonal.

    Examples
    --------
    >>> from splinear.penalties import difference_matrix
    >>> difference_matrix(3, 1)
    array([[ 1.,  0.,  0.],
           [-1.,  1.,  0.],
           [ 0., -1.,  1.]])
    >>> difference_matrix(3, 2)
    array([[ 1.,  0.,  0.],
           [-2.,  1.,  0.],
           [ 1., -2.,  1.]])
    """
    first: Floats = np.eye(n) - np.eye(n, k=-1)
    power: Floats = np.linalg.matrix_power(first, order)
    return power


def difference_inverse(n: int, order: int) -> Floats:
    """D_d^{-1}, shape (n, n): lower triangular, all entries integers.

    Examples
    --------
    >>> from splinear.penalties import difference_inverse
    >>> difference_inverse(3, 1)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    power: Floats = np.linalg.matrix_power(np.tril(np.ones((n, n))), order)
    return power


def difference_inverse_transpose(n: int, order: int) -> Floats:
    """D_d^{-T}, shape (n, n): ones for d = 1 and j - i + 1 for d = 2, on and above the diagonal.

    Examples
    --------
    >>> from splinear.penalties import difference_inverse_transpose
    >>> difference_inverse_transpose(3, 2)
    array([[1., 2., 3.],
           [0., 1., 2.],
           [0., 0., 1.]])
    """
    return difference_inverse(n, order).T


def smoothing_matrix(n: int, order: int) -> Floats:
    """L_d = D_d^{-1} D_d^{-T}, shape (n, n): what a step on phi^d does to the coefficients.

    Examples
    --------
    >>> from splinear.penalties import smoothing_matrix
    >>> smoothing_matrix(3, 1)
    array([[1., 1., 1.],
           [1., 2., 2.],
           [1., 2., 3.]])
    """
    inverse = difference_inverse(n, order)
    return inverse @ inverse.T


@dataclass(frozen=True)
class DifferencePenalty:
    """The penalty ``1/2 |D_d a|^2`` on `size` coefficients a, by running sums along the last axis.

    The map T of the penalty is D_d^{-1}: coefficients are T w, the embedding is T' phi(x). The
    first `held` coefficients are fixed at zero; D_d then applies to the others, and all maps return
    zeros in their places.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.penalties import DifferencePenalty
    >>> penalty = DifferencePenalty(order=1, size=4)
    >>> penalty.difference(np.array([1.0, 1.0, 3.0, 3.0]))  # steps from neighbor to neighbor
    array([1., 0., 2., 0.])
    """

    order: int
    size: int
    held: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.order <= MAX_ORDER:
            raise ValueError(f"The order of differences is 0 to {MAX_ORDER}; got {self.order}.")

    def embed(self, a: Floats) -> Floats:
        """D_d^{-T} a: the paper's step A, d times."""
        a = a[..., self.held :]
        for _ in range(self.order):
            a = np.cumsum(a[..., ::-1], axis=-1)[..., ::-1]
        return self._behind_held(a)

    def integrate(self, a: Floats) -> Floats:
        """D_d^{-1} a: the paper's step B, d times."""
        a = a[..., self.held :]
        for _ in range(self.order):
            a = np.cumsum(a, axis=-1)
        return self._behind_held(a)

    def smooth(self, a: Floats) -> Floats:
        """L_d a, in 2 d n additions for every vector."""
        return self.integrate(self.embed(a))

    def difference(self, a: Floats) -> Floats:
        """D_d a."""
        a = a[..., self.held :]
        for _ in range(self.order):
            before, a = a, np.empty_like(a)
            a[..., :1] = before[..., :1]
            np.subtract(before[..., 1:], before[..., :-1], out=a[..., 1:])
        return self._behind_held(a)

    def difference_transpose(self, a: Floats) -> Floats:
        """D_d' a."""
        a = a[..., self.held :]
        for _ in range(self.order):
            before, a = a, np.empty_like(a)
            a[..., -1:] = before[..., -1:]
            np.subtract(before[..., :-1], before[..., 1:], out=a[..., :-1])
        return self._behind_held(a)

    def _behind_held(self, a: Floats) -> Floats:
        """Return a with zeros for the `held` coefficients in front."""
        if self.held == 0:
            return a
        return np.concatenate([np.zeros((*a.shape[:-1], self.held)), a], axis=-1)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which coefficients are not held at zero, shape (size,)."""
        return np.arange(self.size) >= self.held

    def stiffness_bands(self, weights: Floats) -> Floats:
        """Bands of D_d' W D_d, shape (n, size, bandwidth + 1), for weights W (n, size) per feature.

        Entry [j, k, p] is entry (k, k + p) of feature j's matrix. A weight of 0 removes its row of
        D_d.
        """
        out = np.zeros((*weights.shape, self.bandwidth + 1))
        signs = np.array([(-1.0) ** i * comb(self.order, i) for i in range(self.order + 1)])
        for p in range(self.bandwidth + 1):
            for q in range(p, min(self.order, self.size - 1) + 1):
                n = self.size - q
                out[:, :n, p] += signs[q] * signs[q - p] * weights[:, q:]
        out[:, : self.held] = 0.0
        return out

    @property
    def bandwidth(self) -> int:
        """Diagonals of D_d' D_d above the main one."""
        return min(self.order, self.size - 1)

    def core(self, support: int) -> _core.Penalty:
        """Return the compiled twin; `support` functions of the basis are non-zero at once."""
        return _compiled(self.order, self.size, support, self.held)


@lru_cache(maxsize=64)
def _compiled(order: int, size: int, support: int, held: int) -> _core.Penalty:
    """Return the twin of a penalty of differences, cached for groups with other variances."""
    return _core.difference_penalty(order, size, support, held)


@dataclass(frozen=True, eq=False)
class DiagonalPenalty:
    """``1/2 sum_k (a_k / weight_k)^2``: the penalty of a basis with orthogonal derivatives.

    The map T of the penalty is diag(weights). The methods are those of DifferencePenalty. A weight
    of 0 holds its coefficient at zero.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.penalties import DiagonalPenalty
    >>> DiagonalPenalty(np.array([1.0, 0.5])).difference(np.array([1.0, 1.0]))
    array([1., 2.])
    """

    weights: Floats

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self.weights)

    def embed(self, a: Floats) -> Floats:
        """T' a."""
        return a * self.weights

    def integrate(self, a: Floats) -> Floats:
        """T a."""
        return a * self.weights

    def smooth(self, a: Floats) -> Floats:
        """T T' a."""
        return a * self.weights**2

    def difference(self, a: Floats) -> Floats:
        """T^{-1} a."""
        return np.divide(a, self.weights, out=np.zeros_like(a), where=self.free)

    def difference_transpose(self, a: Floats) -> Floats:
        """T^{-T} a."""
        return self.difference(a)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which coefficients are not held at zero, shape (size,)."""
        return self.weights > 0

    def stiffness_bands(self, weights: Floats) -> Floats:
        """Bands of T^{-T} W T^{-1}, shape (n, size, 1), for weights W (n, size) per feature."""
        diagonal = self.difference(self.difference(np.ones(self.size)))
        return (weights * diagonal)[:, :, None]

    @property
    def bandwidth(self) -> int:
        """Diagonals of T^{-T} T^{-1} above the main one."""
        return 0

    def core(self, support: int) -> _core.Penalty:
        """Return the compiled twin; all functions are non-zero at once."""
        del support
        return _core.diagonal_penalty(np.ascontiguousarray(self.weights, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class MatrixPenalty:
    """The penalty ``1/2 |D a|^2`` for any invertible matrix D (size, size).

    The map T of the penalty is D^{-1}. The methods are those of DifferencePenalty; they take size^2
    operations per vector.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.penalties import MatrixPenalty
    >>> penalty = MatrixPenalty(np.array([[1.0, 0.0], [-1.0, 1.0]]))  # D_1, written out
    >>> penalty.difference(np.array([2.0, 5.0]))
    array([2., 3.])
    """

    matrix: Floats

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self.matrix)

    @cached_property
    def _map(self) -> Floats:
        """T."""
        return np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)

    def embed(self, a: Floats) -> Floats:
        """T' a."""
        return a @ self._map

    def integrate(self, a: Floats) -> Floats:
        """T a."""
        return a @ self._map.T

    def smooth(self, a: Floats) -> Floats:
        """T T' a."""
        return self.integrate(self.embed(a))

    def difference(self, a: Floats) -> Floats:
        """D a."""
        return a @ self.matrix.T

    def difference_transpose(self, a: Floats) -> Floats:
        """D' a."""
        return a @ self.matrix

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which coefficients are not held at zero, shape (size,): all."""
        return np.ones(self.size, dtype=np.bool_)

    def stiffness_bands(self, weights: Floats) -> Floats:
        """Bands of D' W D, shape (n, size, bandwidth + 1), for weights W (n, size) per feature."""
        out = np.zeros((*weights.shape, self.bandwidth + 1))
        for p in range(self.bandwidth + 1):
            n = self.size - p
            out[:, :n, p] = weights @ (self.matrix[:, :n] * self.matrix[:, p:])
        return out

    @cached_property
    def bandwidth(self) -> int:
        """Diagonals of D' D above the main one."""
        row, column = np.nonzero(self.matrix.T @ self.matrix)
        return int(np.max(column - row, initial=0))

    def core(self, support: int) -> _core.Penalty:
        """Return the compiled twin."""
        del support
        matrix = np.ascontiguousarray(self.matrix, dtype=np.float64)
        return _core.matrix_penalty(np.ascontiguousarray(self._map), matrix)


Penalty = DifferencePenalty | DiagonalPenalty | MatrixPenalty
