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

    `raw` are the entries of its table that rows can reach, coefficients that are held included, and
    what a gap adds; `free` its parameters.

    Attributes
    ----------
    group : TermGroup
        Of this feature alone.
    output : int
        Among those of its problem.
    thinned : slice
        The places of its thinned functions among those of an output.
    H : ndarray of shape (n_raw, n_raw)
        The second derivatives of the losses.
    ties : ndarray of shape (n_raw,)
        By the table and the intercept.
    total : float
        By the intercept.
    P : ndarray of shape (n_raw, n_thinned)
        The thinned functions.
    to_raw : ndarray of shape (n_raw, n_free)
        From parameters to the table.
    parameters : ndarray of shape (stride,)
        The curve that was fitted.
    slopes : ndarray of shape (stride,)
        The first derivatives of the losses by its parameters.
    """

    group: TermGroup
    output: int
    thinned: slice
    H: Floats
    ties: Floats
    total: float
    P: Floats
    to_raw: Floats
    parameters: Floats
    slopes: Floats

    @classmethod
    def of(
        cls,
        group: TermGroup,
        output: int,
        thinned: slice,
        bands: Floats,
        ties: Floats,
        total: float,
        there: NDArray[np.bool_],
        basis: Floats | None,
        parameters: Floats,
        slopes: Floats,
    ) -> TermBlock:
        """Put the matrices together from what is kept of all terms."""
        free = group.used[0]
        identity = np.eye(group.stride)[:, None]  # (n_parameters, 1, stride)
        to_raw = group.tables(identity)[:, 0].T[np.ix_(there, free)]
        P = np.zeros((group.stride, 0))
        if basis is not None:
            P = np.zeros((group.stride, basis.shape[1] + group.has_gaps))
            P[: group.size, : basis.shape[1]] = basis
            if group.has_gaps:
                P[-1, -1] = 1.0
        P = P[there]
        P = P[:, np.any(P > 0, axis=0)]
        H = _dense(bands)[np.ix_(there, there)]
        return cls(group, output, thinned, H, ties[there], total, P, to_raw, parameters, slopes)

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
        return np.asarray(self.P.T @ self.H @ self.P)

    @cached_property
    def projection(self) -> Floats:
        """R_j, from parameters to thinned functions, (n_thinned, n_free)."""
        if self.P.shape[0] == self.P.shape[1]:
            return self.to_raw
        onto = np.linalg.pinv(self.own, hermitian=True) @ self.P.T @ self.H
        return np.asarray(onto @ self.to_raw)

    @cached_property
    def information(self) -> Floats:
        """H_j by parameters."""
        return np.asarray(self.to_raw.T @ self.H @ self.to_raw)

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
        u = self.to_raw.T @ self.ties
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
