"""Second derivatives of a sum of losses with respect to the scores of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from splinear import _per_row as per_row
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats

__all__ = ["Coupled", "Curvature", "Diagonal"]


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
