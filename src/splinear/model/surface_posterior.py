"""The posterior of one surface, from its own block of the Hessian.

With H the Hessian of the losses with respect to the values at the nodes and S that of the penalty,
the values have the covariance phi V, V = (H + S)^{-1}, where functions of one feature are free.
These do not belong to the surface: with P the centering (see PairGroup), its covariance is phi P V
P'. Other terms count as known. As for curves (see `curve_posterior`), the squared bias expected
under the prior is multiplied by kappa, so that the covariance is

    phi P V (H + kappa S) V P' = phi (P V P' - (1 - kappa) P V S V P').

All matrices are banded. Of V only the entries inside the band are computed, and V S V is the
derivative of -(H + c S)^{-1} with respect to c at c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpbtrs

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.curve_posterior import tempered_kappa
from splinear.model.factoring import factored_surfaces, pair_variances
from splinear.terms.pair_group import PairGroup

__all__ = ["SurfacePosterior"]

STEP = 0.01  # of c, in numerical derivatives
N_DRAWS, SEED = 50, 20130207  # draws of noise for the estimate of kappa
MOST_STEPS = 8  # per feature, for the fixed prior in the test of a flat surface


@dataclass(eq=False)
class SurfacePosterior:
    """The posterior of one surface of one output.

    Attributes
    ----------
    group : PairGroup
        A group of this surface only.
    bands : ndarray of shape (size, 5)
        The bands of H.
    table : ndarray of shape (size,)
        The fitted surface.
    slopes : ndarray of shape (size,)
        The gradient of the losses with respect to the table.
    noise : float
        phi.
    """

    group: PairGroup
    bands: Floats
    table: Floats
    slopes: Floats
    noise: float

    @cached_property
    def edf(self) -> float:
        """Effective degrees of freedom."""
        return self._freedom(1.0)

    def _freedom(self, c: float) -> float:
        """Return the effective degrees of freedom with the penalty multiplied by c."""
        group = self.group
        share = 1.0 - c * group.precision * pair_variances(group, self.bands[None], c)
        return float(np.clip(share, 0.0, 1.0)[group.used].sum())

    @cached_property
    def kappa(self) -> float:
        """The estimated squared bias, relative to its expectation under the prior."""
        expected = (self._freedom(1.0 - STEP) - self._freedom(1.0 + STEP)) / (2.0 * STEP)
        if not expected > 0.0 or not self.noise > 0.0:
            return 1.0
        factor = self._factor(1.0)
        of_noise = factored_surfaces(self.group, self.bands[None], 0.0)
        draws = np.random.default_rng(SEED).standard_normal((self.group.size, N_DRAWS))
        draws = _solved(factor, _lower_times(of_noise, draws))
        found = self._bias(factor, self.table[:, None])[0] / self.noise
        found -= float(self._bias(factor, draws).mean())
        return tempered_kappa(found / expected, self.edf)

    def _bias(self, factor: Floats, tables: Floats) -> Floats:
        """Return b'H b, (n,), for the bias b of tables (size, n), estimated by smoothing again."""
        stiff = self.group.penalty_bands()[0]
        once = _solved(factor, self._times(stiff, tables))
        both = once + _solved(factor, self._times(stiff, once))
        return np.asarray((both * self._times(self.bands, both)).sum(axis=0))

    # -- variances -------------------------------------------------------------------------------

    @cached_property
    def covariances(self) -> Floats:
        """The bands of the covariance of the values at the nodes, (size, 5)."""
        now, less, more = (self._centered(c) for c in (1.0, 1.0 - STEP, 1.0 + STEP))
        slope = (more - less) / (2.0 * STEP)
        return np.asarray(self.noise * (now + (1.0 - self.kappa) * slope))

    @property
    def node_variances(self) -> Floats:
        """The variances of the values at the nodes, (size,)."""
        return np.asarray(self.covariances[:, 0])

    def _centered(self, c: float) -> Floats:
        """Return the bands of P V P', (size, 5), with the penalty multiplied by c."""
        factor, m1, size = self._factor(c), self.group.n_nodes[0], self.group.size
        V = _core.band_inverse(np.ascontiguousarray(factor))
        _, [M] = self.group.centering()
        half = _solved(factor, M.T)  # V M'
        whole = M @ half
        row, column = np.divmod(np.arange(size), self.group.n_nodes[1])
        column += m1
        out = np.zeros((size, len(self.group.band_distances)))
        for p, distance in enumerate(self.group.band_distances):
            i, k = np.arange(size - distance), np.arange(distance, size)
            shared = half[k, row[i]] + half[k, column[i]] + half[i, row[k]] + half[i, column[k]]
            both = whole[row[i], row[k]] + whole[row[i], column[k]]
            both += whole[column[i], row[k]] + whole[column[i], column[k]]
            out[i, p] = V[distance, i] - shared + both
        return out

    def variances(self, x: AnyArray, z: AnyArray) -> Floats:
        """Return the variances (n,) at values of the two features, in the order of its chains.

        The variance is 0 at values where the surface is 0 by definition, such as unseen levels.
        """
        (first, second), (m1, m2) = self.group.chains[0], self.group.n_nodes
        p, q = first.positions(x).astype(np.float64), second.positions(z).astype(np.float64)
        known = (p >= 0) & (q >= 0)
        row = np.clip(p.astype(np.intp), 0, m1 - 2)
        column = np.clip(q.astype(np.intp), 0, m2 - 2)
        a, b = np.where(known, p - row, 0.0), np.where(known, q - column, 0.0)
        node, C = row * m2 + column, self.covariances
        w00, w01, w10, w11 = (1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b
        out = w00**2 * C[node, 0] + w01**2 * C[node + 1, 0]
        out += w10**2 * C[node + m2, 0] + w11**2 * C[node + m2 + 1, 0]
        out += 2.0 * (w00 * w01 * C[node, 1] + w10 * w11 * C[node + m2, 1])
        out += 2.0 * (w01 * w10 * C[node + 1, 2] + w00 * w11 * C[node, 4])
        out += 2.0 * (w00 * w10 * C[node, 3] + w01 * w11 * C[node + 1, 3])
        return np.where(known, np.maximum(out, 0.0), 0.0)

    def draws(self, normal: Floats) -> Floats:
        """Turn standard normal numbers (n, size) into centered posterior draws, (n, size)."""
        stiff = factored_surfaces(self.group, self.bands[None], self.kappa)
        found = _solved(self._factor(1.0), _lower_times(stiff, normal.T))
        return np.asarray(np.sqrt(self.noise) * self.group.tables(found.T[:, None])[:, 0])

    # -- is it flat? -----------------------------------------------------------------------------

    @cached_property
    def score(self) -> Floats:
        """L_0'U, with U the negative gradient of the losses with respect to a flat surface.

        Functions of one feature are at their optimum there. L_0 L_0' is the covariance of a fixed
        prior, of few steps along either feature.
        """
        U = self._times(self.bands, self.table[:, None])[:, 0] - self.slopes
        L, (K, HK, inverse) = self._steps, self._of_one
        return np.asarray(L.T @ U - (HK.T @ L).T @ (inverse @ (K.T @ U)))

    @cached_property
    def score_variances(self) -> Floats:
        """The eigenvalues of the score's covariance over phi, if the surface is flat."""
        L, (_, HK, inverse) = self._steps, self._of_one
        shared = HK.T @ L
        J = L.T @ self._times(self.bands, L) - shared.T @ inverse @ shared
        return np.asarray(np.maximum(np.linalg.eigvalsh((J + J.T) / 2.0), 0.0))

    @cached_property
    def _of_one(self) -> tuple[Floats, Floats, Floats]:
        """K, the functions of one feature, with H K and the inverse of K'H K."""
        K, _ = self.group.centering()
        HK = self._times(self.bands, K)
        return K, HK, np.asarray(np.linalg.pinv(K.T @ HK, rcond=1e-10, hermitian=True))

    @property
    def _steps(self) -> Floats:
        """L_0, products of steps along both features, (size, n)."""
        m1, m2 = self.group.n_nodes
        return np.asarray(np.kron(_few_steps(m1), _few_steps(m2)), dtype=np.float64)

    # -- banded matrices -------------------------------------------------------------------------

    def _factor(self, c: float) -> Floats:
        return factored_surfaces(self.group, self.bands[None], c)

    def _times(self, bands: Floats, X: Floats) -> Floats:
        """Return the product of a matrix with bands (size, 5) and X (size, n)."""
        out = np.zeros_like(X)
        for p, distance in enumerate(self.group.band_distances):
            n = len(X) - distance
            out[:n] += bands[:n, p, None] * X[distance:]
            if distance > 0:
                out[distance:] += bands[:n, p, None] * X[:n]
        return out


def _few_steps(m: int) -> Floats:
    """Return step functions over m nodes, (m, n), averaged in groups if there are many."""
    steps = np.tri(m)[:, 1:]
    parts = np.array_split(np.arange(m - 1), min(m - 1, MOST_STEPS))
    return np.column_stack([steps[:, part].mean(axis=1) for part in parts])


def _solved(factor: Floats, X: Floats) -> Floats:
    return np.asarray(dpbtrs(factor, X, lower=1)[0])


def _lower_times(factor: Floats, X: Floats) -> Floats:
    """Return the product of a lower band matrix (n_bands, size) and X (size, n)."""
    out = factor[0][:, None] * X
    for p in range(1, len(factor)):
        out[p:] += factor[p, : len(X) - p, None] * X[: len(X) - p]
    return np.asarray(out)
