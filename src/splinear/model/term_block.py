"""The information matrices and the prior of one term of one output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.model.curve_posterior import CurvePosterior
from splinear.terms.group import TermGroup

__all__ = ["TermBlock"]


@dataclass(frozen=True, eq=False)
class TermBlock:
    """The matrices of one term.

    They are over its `raw` entries (the entries of its table that scores can depend on, fixed ones
    and that of gaps included) or over its free parameters.

    Attributes
    ----------
    group : TermGroup
        A group of this feature only.
    output : int
        Its index among the outputs of its problem.
    thinned : slice
        The indices of its thinned functions among those of an output.
    bands : ndarray of shape (stride, support)
        The bands of the Hessian of the losses with respect to the table.
    ties : ndarray of shape (stride,)
        Mixed derivatives with respect to the table and the intercept.
    total : float
        Second derivative with respect to the intercept.
    reached : ndarray of shape (stride,)
        Whether scores can depend on each entry of the table.
    basis : ndarray of shape (size, n_thinned) or None
        The thinned functions, without that of gaps; None if there are none.
    parameters : ndarray of shape (stride,)
        The fitted curve.
    slopes : ndarray of shape (stride,)
        The gradient of the losses with respect to the parameters.
    """

    group: TermGroup
    output: int
    thinned: slice
    bands: Floats
    ties: Floats
    total: float
    reached: NDArray[np.bool_]
    basis: Floats | None
    parameters: Floats
    slopes: Floats

    @cached_property
    def _hessian(self) -> Floats:
        """The Hessian of the losses, (n_raw, n_raw)."""
        return _dense(self.bands)[np.ix_(self.reached, self.reached)]

    @cached_property
    def _to_raw(self) -> Floats:
        """The matrix that maps free parameters to the table, (n_raw, n_free)."""
        identity = np.eye(self.group.stride)[:, None]  # (n_parameters, 1, stride)
        tables = self.group.tables(identity)[:, 0].T
        return np.asarray(tables[np.ix_(self.reached, self.group.used[0])])

    @cached_property
    def _functions(self) -> Floats:
        """The thinned functions, (n_raw, n_thinned)."""
        group, basis = self.group, self.basis
        if basis is None:
            return np.zeros((int(self.reached.sum()), 0))
        P = np.zeros((group.stride, basis.shape[1] + group.has_gaps))
        P[: group.size, : basis.shape[1]] = basis
        if group.has_gaps:
            P[-1, -1] = 1.0
        P = P[self.reached]
        return np.asarray(P[:, np.any(P > 0, axis=0)])

    @cached_property
    def free_ties(self) -> Floats:
        """The mixed derivatives with respect to parameters and the intercept, (n_free,)."""
        return np.asarray(self._to_raw.T @ self.ties[self.reached])

    @property
    def free_parameters(self) -> Floats:
        """The free parameters of the fitted curve, (n_free,)."""
        return np.asarray(self.parameters[self.group.used[0]])

    @property
    def feature(self) -> int:
        """The column of X."""
        return int(self.group.features[0])

    @cached_property
    def own(self) -> Floats:
        """C_j, the information on the thinned functions, (n_thinned, n_thinned)."""
        return np.asarray(self._functions.T @ self._hessian @ self._functions)

    @cached_property
    def projection(self) -> Floats:
        """R_j, which maps parameters to thinned functions, (n_thinned, n_free)."""
        if self._functions.shape[0] == self._functions.shape[1]:
            return self._to_raw
        onto = np.linalg.pinv(self.own, hermitian=True) @ self._functions.T @ self._hessian
        return np.asarray(onto @ self._to_raw)

    @cached_property
    def information(self) -> Floats:
        """H_j with respect to the free parameters, (n_free, n_free)."""
        return np.asarray(self._to_raw.T @ self._hessian @ self._to_raw)

    @cached_property
    def prior(self) -> Floats:
        """L with L L' = S^{-1}, (n_free, n_free)."""
        return self._prior(self.group)

    @cached_property
    def fixed_prior(self) -> Floats:
        """L of a prior that does not depend on the data: the variances of all steps sum to 1."""
        group, variance = self.group, np.array([1.0 / max(1, int(self.group.used[0].sum()))])
        return self._prior(group.with_variance(variance, np.ones(1)))

    def _prior(self, group: TermGroup) -> Floats:
        free, size = self.group.used[0], group.size
        used = group.used[0, :size]
        of_differences = np.zeros((size, size))
        of_differences[np.ix_(used, used)] = _root(group)
        out = np.zeros((group.stride, group.stride))
        out[:size, :size] = group.embedding.penalty.integrate(of_differences.T).T
        if group.has_gaps:
            out[-1, -1] = np.sqrt(group.missing_variance[0])
        return out[np.ix_(free, free)]

    @cached_property
    def seen(self) -> Floats:
        """E_j = R_j (H_j + S_j)^{-1} R_j', the thinned functions' covariance given other terms."""
        L = self.prior
        A = np.eye(len(L)) + L.T @ self.information @ L
        Y = self.projection @ L
        return np.asarray(Y @ np.linalg.solve(A, Y.T))

    def left(self, shared: Floats) -> Floats:
        """Return J_j, the information on this term with the other terms integrated out."""
        R = self.projection
        return np.asarray(self.information - R.T @ shared @ R)

    @property
    def known(self) -> Floats:
        """J_j given all other terms, with only the intercept integrated out."""
        u = self.free_ties
        return np.asarray(self.information - np.outer(u, u) / max(self.total, np.finfo(float).tiny))

    def posterior(self, J: Floats, n_classes: int) -> CurvePosterior:
        """Return the posterior of the curve for information J."""
        L, free = self.prior, self.group.used[0]
        return CurvePosterior.of(
            J,
            L,
            self.fixed_prior,
            self._whitened(),
            self.free_parameters,
            -self.slopes[free],
            free,
            n_classes,
        )

    def _whitened(self) -> Floats:
        """Return L^{-1} times the fitted curve's parameters, (n_free,)."""
        group = self.group
        used = group.used[0, : group.size]
        out = np.zeros(group.stride)
        coef = np.where(used, self.parameters[: group.size], 0.0)
        differences = group.embedding.penalty.difference(coef)[used]
        out[: group.size][used] = solve_triangular(_root(group), differences, lower=True)
        if group.has_gaps:
            out[-1] = np.sqrt(group._stiffness[1][0]) * self.parameters[-1]
        return np.asarray(out[group.used[0]])


def _root(group: TermGroup) -> Floats:
    """Return the lower triangular L with L L' the covariance of the used differences."""
    size, parts = group.size, group.parts
    used, precision = group.used[0, :size], group.precision[0, :size]
    if parts is None:
        return np.diag(1.0 / np.sqrt(precision[used]))
    M = _dense(parts.step_bands(precision[None])[0])[np.ix_(used, used)]
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    line = np.sqrt(parts.line_variance[0]) * parts.line[0, used]
    _, upper = np.linalg.qr(np.vstack([inverse, line]))
    return np.asarray(upper.T)


def _dense(bands: Floats) -> Floats:
    """Return the symmetric matrix whose entries (k, k + p) are bands[k, p]."""
    n = len(bands)
    out = np.zeros((n, n))
    for p in range(min(n, bands.shape[1])):
        at = np.arange(n - p)
        out[at, at + p] = out[at + p, at] = bands[: n - p, p]
    return out
