"""One term of one output: its own information, and the prior that its penalty stands for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.group import TermGroup

__all__ = ["TermBlock"]


@dataclass(frozen=True, eq=False)
class TermBlock:
    """Matrices of one term.

    By `raw`, the entries of its table that rows can reach, coefficients that are held included, and
    what a gap adds; or by its free parameters.

    Attributes
    ----------
    group : TermGroup
        Of this feature alone.
    output : int
        Among those of its problem.
    thinned : slice
        The places of its thinned functions among those of an output.
    bands : ndarray of shape (stride, support)
        The second derivatives of the losses by the table.
    ties : ndarray of shape (stride,)
        By the table and the intercept.
    total : float
        By the intercept.
    reached : ndarray of shape (stride,)
        Which entries of the table rows can reach.
    basis : ndarray of shape (size, n_thinned) or None
        The thinned functions, but for that of a gap; None: there are none.
    parameters : ndarray of shape (stride,)
        The curve that was fitted.
    slopes : ndarray of shape (stride,)
        The first derivatives of the losses by its parameters.
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
        """The second derivatives of the losses, (n_raw, n_raw)."""
        return _dense(self.bands)[np.ix_(self.reached, self.reached)]

    @cached_property
    def _to_raw(self) -> Floats:
        """From parameters to the table, (n_raw, n_free)."""
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
        """The second derivatives by parameters and the intercept, (n_free,)."""
        return np.asarray(self._to_raw.T @ self.ties[self.reached])

    @property
    def free_parameters(self) -> Floats:
        """Those of the curve that was fitted, (n_free,)."""
        return np.asarray(self.parameters[self.group.used[0]])

    @property
    def feature(self) -> int:
        """The column of X."""
        return int(self.group.features[0])

    @cached_property
    def own(self) -> Floats:
        """C_j: the information on the thinned functions."""
        return np.asarray(self._functions.T @ self._hessian @ self._functions)

    @cached_property
    def projection(self) -> Floats:
        """R_j, from parameters to thinned functions, (n_thinned, n_free)."""
        if self._functions.shape[0] == self._functions.shape[1]:
            return self._to_raw
        onto = np.linalg.pinv(self.own, hermitian=True) @ self._functions.T @ self._hessian
        return np.asarray(onto @ self._to_raw)

    @cached_property
    def information(self) -> Floats:
        """H_j by parameters."""
        return np.asarray(self._to_raw.T @ self._hessian @ self._to_raw)

    @cached_property
    def prior(self) -> Floats:
        """L with L L' = S^{-1}, (n_free, n_free)."""
        return self._prior(self.group)

    @cached_property
    def fixed_prior(self) -> Floats:
        """L of a penalty that no data have chosen: a variance of 1 over all steps together."""
        group, variance = self.group, np.array([1.0 / max(1, int(self.group.used[0].sum()))])
        return self._prior(group.with_variance(variance, np.ones(1)))

    def _prior(self, group: TermGroup) -> Floats:
        free, size = self.group.used[0], group.size
        weights = group.edge_weights[0]
        root = np.divide(
            group.embedding.variance[0], weights, out=np.zeros(size), where=weights > 0
        )
        out = np.zeros((group.stride, group.stride))
        out[:size, :size] = group.embedding.penalty.integrate(np.diag(np.sqrt(root))).T
        if group.has_gaps:
            out[-1, -1] = np.sqrt(group.missing_variance[0])
        return out[np.ix_(free, free)]

    @cached_property
    def seen(self) -> Floats:
        """E_j = R_j (H_j + S_j)^{-1} R_j': what is unknown of the thinned functions, alone."""
        L = self.prior
        A = np.eye(len(L)) + L.T @ self.information @ L
        Y = self.projection @ L
        return np.asarray(Y @ np.linalg.solve(A, Y.T))

    def left(self, shared: Floats) -> Floats:
        """Return J_j: the information that is not the other terms' as well."""
        R = self.projection
        return np.asarray(self.information - R.T @ shared @ R)

    @property
    def known(self) -> Floats:
        """J_j if all other terms were known, and the intercept not."""
        u = self.free_ties
        return np.asarray(self.information - np.outer(u, u) / max(self.total, np.finfo(float).tiny))

    def posterior(self, J: Floats, n_classes: int) -> CurvePosterior:
        """Return that of the curve, given the information on it alone."""
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
        """Return L^{-1} of the curve that was fitted, (n_free,)."""
        group = self.group
        stiffness, of_gap = group._stiffness
        out = np.zeros(group.stride)
        coef = np.where(group.used[0, : group.size], self.parameters[: group.size], 0.0)
        out[: group.size] = np.sqrt(stiffness[0]) * group.embedding.penalty.difference(coef)
        if group.has_gaps:
            out[-1] = np.sqrt(of_gap[0]) * self.parameters[-1]
        return np.asarray(out[group.used[0]])


def _dense(bands: Floats) -> Floats:
    """Return the symmetric matrix whose entries (k, k + p) are bands[k, p]."""
    n = len(bands)
    out = np.zeros((n, n))
    for p in range(min(n, bands.shape[1])):
        at = np.arange(n - p)
        out[at, at + p] = out[at + p, at] = bands[: n - p, p]
    return out
