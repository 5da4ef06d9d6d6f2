"""The embedding phi^d in which an additive model is linear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.penalties import DifferencePenalty, Penalty
from splinear.tables.chunks import csr_parts
from splinear.terms.axes import Axes
from splinear.terms.basis import Basis, BSplineBasis

__all__ = ["Embedding", "bounded", "reciprocals"]

_ENTRIES_AT_ONCE = 2**18  # non-zeros of a sparse matrix embedded per batch
_LEAST, _MOST = 2.0**-1022, 2.0**1022  # bounds of s^2, so that 1 / s^2 is finite


def bounded(scale: Floats) -> Floats:
    """Return variances s^2 clipped so that 1 / s^2 is finite; 0, for no curve, stays 0."""
    return np.where(scale > 0, np.minimum(np.maximum(scale, _LEAST), _MOST), 0.0)


def reciprocals(scale: Floats) -> Floats:
    """Return 1 / scale, and 0 where scale is 0."""
    return np.asarray(np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0))


@dataclass(frozen=True, eq=False)
class Embedding:
    """The embedding phi^d(x), the concatenation over features j of s_j T' B(x_j).

    B is the basis and T the map of the penalty (D_d^{-1} for B-splines). A linear function with
    weights w of phi^d(x) is an additive function of x, f(x) = sum_j coef_j' B(x_j) with coef_j =
    s_j T w_j, and its penalty is 1/2 |w|^2 = 1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 (section 3 of the
    paper).

    `variance` holds s_j^2, shape (n_features,); it is 0 for a constant feature, which has no curve.
    If `through_zero`, every curve is zero at zero: phi^d(0) = 0, and sparse rows stay sparse.
    """

    axes: Axes
    basis: Basis
    penalty: Penalty
    variance: Floats
    through_zero: bool = False

    @classmethod
    def of(
        cls, axes: Axes, basis: Basis, order: int, *, native: bool, through_zero: bool = False
    ) -> Embedding:
        """Return an embedding with native or unit scaling and a penalty of the given order.

        If `through_zero`, the axes must start at zero (B-splines) or map zero to zero (others).
        """
        variance = basis.variance(axes.length, axes.width if native else 1.0)
        penalty = basis.penalty(order, through_zero=through_zero)
        return cls(
            axes, basis, penalty, bounded(np.where(axes.varies, variance, 0.0)), through_zero
        )

    def without_level(self) -> Embedding:
        """Return the embedding with its first coefficient fixed at 0, for use with an intercept.

        This affects B-splines under differences only; other curves contain no constant.
        """
        if not isinstance(self.penalty, DifferencePenalty) or self.penalty.bandwidth == 0:
            return self
        assert isinstance(self.basis, BSplineBasis)
        order = self.penalty.order
        penalty = self.basis.penalty(order, through_zero=self.through_zero, held=1)
        return replace(self, penalty=penalty)

    def with_variance(self, variance: Floats) -> Embedding:
        """Return the embedding with other s_j^2."""
        other = replace(self, variance=bounded(variance))
        if np.array_equal(other.variance > 0, self.variance > 0):
            vars(other).update(n_used=self.n_used, used=self.used)  # both stay the same
        return other

    def of_features(self, at: AnyArray) -> Embedding:
        """Return the embedding of the features at these positions."""
        return replace(self, axes=self.axes.of_features(at), variance=self.variance[at])

    @property
    def n_features(self) -> int:
        """Number of features of x."""
        return self.axes.n_features

    @cached_property
    def n_reached(self) -> NDArray[np.int64]:
        """Number of coefficients within each feature's range, (n_features,)."""
        size = np.full(self.axes.n_features, self.basis.size)
        if isinstance(self.basis, BSplineBasis):
            size = self.axes.length.astype(np.int64) + self.basis.degree
            if self.basis.degree == 0:  # the right end has a bin of its own if there is room
                size = np.minimum(size + 1, self.basis.size)
        return size

    @cached_property
    def n_used(self) -> NDArray[np.int64]:
        """Number of coefficients in use, (n_features,): n_reached, or 0 for a constant feature."""
        return np.where(self.variance > 0, self.n_reached, 0)

    def places(self) -> _core.TablePlaces:
        """Return the places of the tables of coefficients in range, for sparse rows."""
        return _core.TablePlaces(np.maximum(self.n_reached, 1))

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each coefficient is free and within its feature's range, (n_features, size)."""
        reached = np.arange(self.basis.size) < self.n_used[:, None]
        return np.asarray(reached & self.penalty.free)

    @property
    def is_sparse(self) -> bool:
        """Whether most entries of phi^d(x) are zero: B-splines under D_0."""
        return (
            isinstance(self.basis, BSplineBasis)
            and isinstance(self.penalty, DifferencePenalty)
            and self.penalty.order == 0
        )

    def transform(self, X: AnyArray, dtype: DTypeLike = np.float64) -> AnyArray:
        """Return phi^d of the rows of X as a dense array, (n, n_features * basis.size)."""
        out = np.empty((len(X), self.n_features, self.basis.size), dtype=dtype)
        root = np.sqrt(self.variance)
        for j in range(self.n_features):
            argument = self.axes.argument_of(X[:, j], j)
            out[:, j] = root[j] * self.penalty.embed(self.basis.evaluate(argument))
        return out.reshape(len(X), -1)

    def transform_sparse(self, X: AnyArray, dtype: DTypeLike = np.float64) -> sparse.csr_array:
        """Return phi^0 of the rows of X, (n, n_features * basis.size), for B-splines under D_0."""
        assert isinstance(self.basis, BSplineBasis)
        shape = (len(X), self.n_features, self.basis.support)
        index = np.empty(shape, dtype=np.int32)
        values = np.empty(shape, dtype=dtype)
        root = np.sqrt(self.variance)
        for j in range(self.n_features):
            bins, weights = self.basis.local(self.axes.argument_of(X[:, j], j))
            functions = bins[:, None] + np.arange(self.basis.support)
            index[:, j] = j * self.basis.size + functions
            values[:, j] = root[j] * weights * self.penalty.free[functions]
        per_row = self.n_features * self.basis.support
        starts = _narrow(np.arange(len(X) + 1) * per_row)
        columns = self.n_features * self.basis.size
        out = sparse.csr_array((values.ravel(), index.ravel(), starts), shape=(len(X), columns))
        out.eliminate_zeros()
        return out

    def transform_nonzeros(
        self, X: sparse.csr_array, dtype: DTypeLike = np.float64
    ) -> sparse.csr_array:
        """Return phi^d of a CSR matrix X, (n, n_features * basis.size), if phi^d(0) = 0."""
        assert self.through_zero
        starts, features, values = csr_parts(X)
        size, pieces = self.basis.size, []
        rows = max(1, _ENTRIES_AT_ONCE // max(1, len(values) // max(1, len(starts) - 1)))
        for first in range(0, len(starts) - 1, rows):
            last = min(first + rows, len(starts) - 1)
            here = slice(starts[first], starts[last])
            arguments = _core.sparse_arguments(features[here], values[here], self.axes.core())
            phi = self.penalty.embed(self.basis.evaluate(arguments))
            phi *= np.sqrt(self.variance)[features[here], None]
            columns = features[here, None].astype(np.int64) * size + np.arange(size)
            pieces.append(
                sparse.csr_array(
                    (
                        phi.astype(dtype).ravel(),
                        columns.ravel(),
                        (starts[first : last + 1] - starts[first]) * size,
                    ),
                    shape=(last - first, self.n_features * size),
                )
            )
            pieces[-1].eliminate_zeros()
        out = sparse.csr_array(sparse.vstack(pieces, format="csr"))
        out.indices, out.indptr = (_narrow(a) for a in (out.indices, out.indptr))
        return out

    def at_zero(self, coef: Floats) -> Floats:
        """Return f_j(0), (..., n_features), of curves coef (..., n_features, basis.size)."""
        zeros = self.basis.evaluate(self.axes.argument(np.zeros((1, self.n_features)))[0])
        return np.asarray(np.sum(coef * zeros, axis=-1))

    def coefficients(self, w: Floats) -> Floats:
        """Return coef_j = s_j T w_j, (n_features, basis.size), for weights w of phi^d."""
        per_feature = w.reshape(self.n_features, self.basis.size)
        return np.sqrt(self.variance)[:, None] * self.penalty.integrate(per_feature)

    def weights(self, coef: Floats) -> Floats:
        """Return w_j = T^{-1} coef_j / s_j, (n_features, basis.size); 0 for constant features."""
        root = np.where(self.variance > 0, np.sqrt(self.variance), np.inf)
        return self.penalty.difference(coef) / root[:, None]

    def continuation(self, values: AnyArray, j: int, coef: Floats) -> Floats:
        """Return what linear extrapolation adds to the curves of feature j, (n, ...).

        It is 0 for values (n,) inside the range; beyond its ends, the curves coef (..., basis.size)
        continue with their slopes there.
        """
        out = np.zeros((len(values), *coef.shape[:-1]))
        steps = self.axes.beyond(values, j)
        outside = np.flatnonzero(np.abs(steps) > 0)  # False for NaN
        first, last = self.axes.first[j], self.axes.last[j]
        # Just inside, because an end may be a knot after which the basis continues.
        ends = np.array([np.nextafter(first, last), np.nextafter(last, first)])
        slopes = self.basis.derivative(ends) @ coef.T
        with np.errstate(over="ignore"):
            out[outside] = (slopes[(steps[outside] > 0).astype(np.intp)].T * steps[outside]).T
        return out

    def names(self, features: AnyArray) -> list[str]:
        """Return names of the columns of phi^d."""
        return [f"{feature}_{suffix}" for feature in features for suffix in self.basis.names()]


def _narrow(index: AnyArray) -> AnyArray:
    """Return indices as 32-bit integers if they fit, because LIBLINEAR takes no others."""
    fits = not len(index) or index.max() <= np.iinfo(np.int32).max
    return index.astype(np.int32) if fits else index
