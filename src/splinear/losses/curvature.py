"""Second derivatives of a sum of losses with respect to the scores of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from splinear import _per_row as per_row
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats

__all__ = ["Coupled", "Curvature", "Diagonal", "Profiled", "cuts_matrix", "inverse_of"]


class Curvature(Protocol):
    """Second derivatives of a sum of losses."""

    @property
    def diagonal(self) -> Floats:
        """The diagonal, (n_outputs, n_rows)."""
        ...

    @property
    def independent(self) -> Floats:
        """The diagonal (n_outputs, n_rows) of a curvature in which outputs are independent.

        It has the same information on differences of outputs. Classes count as if each were a
        Poisson count.
        """
        ...

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        ...

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        ...

    def level(self, V: Floats) -> Floats:
        """Return the constants (n_outputs,) to add to V such that times(V) sums to 0 over rows."""
        ...

    def total(self) -> Floats:
        """Return the second derivatives with respect to a constant added to each output's scores.

        They are (n_outputs, n_outputs), summed over rows.
        """
        ...

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal of each output."""
        ...

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Second derivatives of a sum that does not couple outputs."""

    diagonal: Floats
    n_threads: int = 1

    @cached_property
    def _totals(self) -> Floats:
        totals: Floats = self.diagonal.sum(axis=1)
        return np.maximum(totals, np.finfo(float).tiny)

    @property
    def independent(self) -> Floats:
        """The diagonal itself."""
        return self.diagonal

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        return np.asarray(self.diagonal[k] if k == m else np.zeros(self.diagonal.shape[1]))

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        return self.diagonal * V

    def level(self, V: Floats) -> Floats:
        """Return the constants to add to V such that times(V) sums to 0 over rows."""
        return np.asarray(-np.einsum("ki,ki->k", self.diagonal, V) / self._totals)

    def total(self) -> Floats:
        """Return the sums over rows, as a diagonal matrix."""
        return np.diag(self.diagonal.sum(axis=1))

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal."""
        return replace(self, diagonal=per_row.raised(self.diagonal, extra, self.n_threads))

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        return Diagonal(per_row.taken(self.diagonal, numbers, self.n_threads) * weights)


@dataclass(frozen=True, eq=False)
class Coupled:
    """The matrices c_i (diag(p_i) - p_i p_i') + extra_i I of all rows, p_i probabilities."""

    probabilities: Floats
    cost: Floats
    extra: Floats | None = None

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal, (n_outputs, n_rows)."""
        p = self.probabilities
        out = self.cost * p * (1.0 - p)
        return out if self.extra is None else out + self.extra

    @property
    def independent(self) -> Floats:
        """The diagonal of a curvature in which outputs are independent."""
        out = self.cost * self.probabilities
        return out if self.extra is None else out + self.extra

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to scores of outputs k and m, (n_rows,)."""
        p = self.probabilities
        return np.asarray(self.diagonal[k] if k == m else -self.cost * p[k] * p[m])

    def times(self, V: Floats) -> Floats:
        """Return the product with V (n_outputs, n_rows)."""
        p = self.probabilities
        mean = np.einsum("ki,ki->i", p, V)
        product: Floats = self.cost * p * (V - mean)
        if self.extra is not None:
            product += self.extra * V
        return product

    def level(self, V: Floats) -> Floats:
        """Return the constants to add to V such that times(V) sums to 0 over rows."""
        return -np.asarray(self._of_levels @ self.times(V).sum(axis=1))

    @cached_property
    def _of_levels(self) -> Floats:
        # A pseudoinverse, because a constant common to all classes has no effect.
        return np.asarray(np.linalg.pinv(self.total(), rcond=1e-12, hermitian=True))

    def total(self) -> Floats:
        """Return the second derivatives with respect to constants added to the scores."""
        weighted = self.cost * self.probabilities
        H = np.diag(weighted.sum(axis=1)) - weighted @ self.probabilities.T
        if self.extra is not None:
            H = H + self.extra.sum() * np.eye(len(H))
        return np.asarray(H, dtype=np.float64)

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal."""
        before = 0.0 if self.extra is None else self.extra
        return Coupled(self.probabilities, self.cost, before + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        extra = None if self.extra is None else self.extra[numbers] * weights
        p, cost = self.probabilities[:, numbers], self.cost[numbers] * weights
        return Coupled(p, cost, extra)


@dataclass(frozen=True, eq=False)
class Profiled:
    """Second derivatives of a sum of one output whose cut points follow the scores.

    Row i is tied to the cut points below and above its level, by springs of the strengths `lower`
    and `upper`, and the cut points are tied to each other by the `barrier` between them. So there
    is a matrix diag(h) - E M^{-1} E', with h = lower + upper, E the springs of all rows (n_rows,
    n_cuts), and M the second derivatives with respect to the cut points. For a constant it is 0.

    Attributes
    ----------
    number : ndarray of shape (n_rows,)
        The position of each row's level.
    lower, upper : ndarray of shape (n_rows,)
        0 for the lowest and for the highest level.
    barrier : ndarray of shape (n_levels - 2,)
    n_levels : int
    extra : ndarray of shape (n_rows,) or None
        What is added to the diagonal.
    """

    number: AnyArray
    lower: Floats
    upper: Floats
    barrier: Floats
    n_levels: int
    extra: Floats | None = None

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal for fixed cut points, (1, n_rows)."""
        h = self.lower + self.upper
        return np.asarray(h if self.extra is None else h + self.extra)[None]

    @property
    def independent(self) -> Floats:
        """The diagonal itself."""
        return self.diagonal

    def between(self, k: int, m: int) -> Floats:
        """Return the diagonal (n_rows,)."""
        del k, m
        return np.asarray(self.diagonal[0])

    def times(self, V: Floats) -> Floats:
        """Return the product with V (1, n_rows)."""
        return self.less(V, inverse_of(self.at_all_cuts, self.barrier) @ self.at_cuts(V))

    def less(self, V: Floats, pulled: Floats) -> Floats:
        """Return the product with V less that of E with `pulled` (n_cuts,)."""
        v, ends = V[0], np.concatenate([[0.0], pulled, [0.0]])
        out = (self.lower + self.upper) * v
        out -= self.lower * ends[self.number] + self.upper * ends[self.number + 1]
        return np.asarray(out if self.extra is None else out + self.extra * v)[None]

    def at_cuts(self, V: Floats) -> Floats:
        """Return E'v for V (1, n_rows), (n_cuts,)."""
        n, v = self.n_levels, V[0]
        of_upper = np.bincount(self.number, self.upper * v, n)[:-1]
        return np.asarray(of_upper + np.bincount(self.number, self.lower * v, n)[1:])

    @cached_property
    def at_all_cuts(self) -> Floats:
        """The strengths of all springs at each cut point, (n_cuts,)."""
        return self.at_cuts(np.ones((1, len(self.lower))))

    def springs(self, k: int) -> Floats:
        """Return the strengths with which the rows are tied to cut point k, (n_rows,)."""
        out = np.where(self.number == k, self.upper, 0.0)
        return np.asarray(np.where(self.number == k + 1, self.lower, out))

    @property
    def of_cuts(self) -> Floats:
        """M, the second derivatives with respect to the cut points."""
        return cuts_matrix(self.at_all_cuts, self.barrier)

    def level(self, V: Floats) -> Floats:
        """Return the constants (1,) to add to V such that times(V) sums to 0 over rows.

        Without `extra` all constants do, and this one centers V.
        """
        along, in_all = self.level_sums(V)
        return np.array([-along / max(in_all, np.finfo(float).tiny)])

    def level_sums(self, V: Floats) -> Floats:
        """Return the sums over rows of which `level` is the ratio, (2,)."""
        h = self.diagonal[0] if self.extra is None else self.extra
        return np.array([float(h @ V[0]), float(h.sum())])

    def total(self) -> Floats:
        """Return the second derivatives with respect to a constant added to the scores, (1, 1)."""
        return np.array([[0.0 if self.extra is None else float(self.extra.sum())]])

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with extra (n_rows,) added to the diagonal."""
        return replace(self, extra=extra if self.extra is None else self.extra + extra)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the rows at these indices, multiplied by weights."""
        return replace(
            self,
            number=self.number[numbers],
            lower=self.lower[numbers] * weights,
            upper=self.upper[numbers] * weights,
            extra=None if self.extra is None else self.extra[numbers] * weights,
        )


def cuts_matrix(springs: Floats, barrier: Floats) -> Floats:
    """Return second derivatives with respect to cut points, given springs and what is between."""
    M, n = np.diag(springs).astype(np.float64), len(barrier)
    at = np.arange(n)
    M[at, at] += barrier
    M[at + 1, at + 1] += barrier
    M[at, at + 1] -= barrier
    M[at + 1, at] -= barrier
    return M


def inverse_of(springs: Floats, barrier: Floats) -> Floats:
    """Return the inverse of `cuts_matrix`, by way of the first cut point and the widths after it.

    Of these, one that is tiny keeps its digits. Without any curvature it is 0.
    """
    n = len(springs)
    if n == 0:
        return np.zeros((0, 0))
    at = np.arange(n)
    H = np.cumsum(springs[::-1])[::-1][np.maximum(at[:, None], at)]
    H[at[1:], at[1:]] += barrier
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(H), np.finfo(float).tiny))
    inner = np.linalg.pinv(H * scale[:, None] * scale, rcond=1e-14, hermitian=True)
    # Sums of widths are cut points.
    half = np.cumsum(inner * scale[:, None] * scale, axis=0)
    return np.asarray(np.cumsum(half, axis=1))
