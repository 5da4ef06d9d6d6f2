"""The additive model as a linear one: what all estimators and transformers share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import AnyArray, Floats
from splinear.axes import Axes
from splinear.basis import Basis, BSplineBasis
from splinear.penalties import DifferencePenalty, Penalty

__all__ = ["Embedding"]


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class Embedding:
    """phi^d(x), the concatenation over features j of s_j T' B(x_j).

    B is the basis and T the map of the penalty (D_d^{-1} for B-splines). A linear function w of it
    is an additive function of x: f(x) = sum_j coef_j' B(x_j) with coef_j = s_j T w_j, and its
    penalty is 1/2 |w|^2 = 1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 (paper, section 3).

    `scale` holds s_j^2, shape (n_features,); it is 0 for a constant feature, which has no curve.
    """

    axes: Axes
    basis: Basis
    penalty: Penalty
    scale: Floats

    @classmethod
    def of(cls, axes: Axes, basis: Basis, order: int, *, native: bool) -> Embedding:
        """Put the pieces together: native or unit scaling, penalty of the given order."""
        scale = basis.scale(axes.length, axes.width if native else 1.0)
        return cls(axes, basis, basis.penalty(order), np.where(axes.varies, scale, 0.0))

    @property
    def n_features(self) -> int:
        """Number of features of x."""
        return self.axes.n_features

    @property
    def n_used(self) -> NDArray[np.intp]:
        """Coefficients that each feature can reach; 0 for a constant feature."""
        size = np.full(self.n_features, self.basis.size)
        if isinstance(self.basis, BSplineBasis):
            size = self.axes.length.astype(np.intp) + self.basis.degree
            if self.basis.degree == 0:  # the right end has a bin of its own, if there is room
                size = np.minimum(size + 1, self.basis.size)
        return np.where(self.scale > 0, size, 0)

    @property
    def stiffnesses(self) -> dict[int, Floats]:
        """The penalty's matrix for every number of coefficients that occurs in n_used."""
        return {int(m): self.penalty.stiffness(int(m)) for m in np.unique(self.n_used)}

    @property
    def is_sparse(self) -> bool:
        """Whether most entries of phi^d(x) are zero: B-splines under D_0."""
        return (
            isinstance(self.basis, BSplineBasis)
            and isinstance(self.penalty, DifferencePenalty)
            and self.penalty.order == 0
        )

    def transform(self, X: AnyArray, dtype: type[np.floating] = np.float64) -> AnyArray:
        """phi^d of the rows of X, shape (n, n_features * basis.size), as a dense array."""
        out = np.empty((len(X), self.n_features, self.basis.size), dtype=dtype)
        root = np.sqrt(self.scale)
        for j in range(self.n_features):
            argument = self.axes.argument_of(X[:, j], j)
            out[:, j] = root[j] * self.penalty.embed(self.basis.evaluate(argument))
        return out.reshape(len(X), -1)

    def transform_sparse(
        self, X: AnyArray, dtype: type[np.floating] = np.float64
    ) -> sparse.csr_array:
        """phi^0 of the rows of X, shape (n, n_features * basis.size), for B-splines under D_0."""
        assert isinstance(self.basis, BSplineBasis)
        shape = (len(X), self.n_features, self.basis.support)
        index = np.empty(shape, dtype=np.int32)
        values = np.empty(shape, dtype=dtype)
        root = np.sqrt(self.scale)
        for j in range(self.n_features):
            bins, weights = self.basis.local(self.axes.argument_of(X[:, j], j))
            index[:, j] = (j * self.basis.size + bins)[:, None] + np.arange(self.basis.support)
            values[:, j] = root[j] * weights
        per_row = self.n_features * self.basis.support
        # LIBLINEAR and others take indices of 32 bits only.
        small = len(X) * per_row <= np.iinfo(np.int32).max
        starts = np.arange(len(X) + 1, dtype=np.int32 if small else np.int64) * per_row
        columns = self.n_features * self.basis.size
        out = sparse.csr_array((values.ravel(), index.ravel(), starts), shape=(len(X), columns))
        out.eliminate_zeros()
        return out

    def coefficients(self, w: Floats) -> Floats:
        """coef_j = s_j T w_j, shape (n_features, basis.size), of the weights w of phi^d."""
        per_feature = w.reshape(self.n_features, self.basis.size)
        return np.sqrt(self.scale)[:, None] * self.penalty.integrate(per_feature)

    def weights(self, coef: Floats) -> Floats:
        """w_j = T^{-1} coef_j / s_j, shape (n_features, basis.size); 0 for constant features."""
        root = np.where(self.scale > 0, np.sqrt(self.scale), np.inf)
        return self.penalty.difference(coef) / root[:, None]

    def continuation(self, values: AnyArray, j: int, coef: Floats) -> Floats:
        """Give what straight lines beyond the ends of its range add to the curves of feature j.

        `values` (n,) and coef (..., basis.size) give (n, ...); 0 inside the range. The lines have
        the curves' slopes at the ends.
        """
        out = np.zeros((len(values), *coef.shape[:-1]))
        steps = self.axes.beyond(values, j)
        outside = np.flatnonzero(steps)
        first, last = self.axes.first[j], self.axes.last[j]
        # Just inside: an end may be a knot behind which the basis goes on.
        ends = np.array([np.nextafter(first, last), np.nextafter(last, first)])
        slopes = self.basis.derivative(ends) @ coef.T
        with np.errstate(over="ignore"):
            out[outside] = (slopes[(steps[outside] > 0).astype(np.intp)].T * steps[outside]).T
        return out

    def names(self, features: AnyArray) -> list[str]:
        """Names for the columns of phi^d."""
        return [f"{feature}_{suffix}" for feature in features for suffix in self.basis.names()]
