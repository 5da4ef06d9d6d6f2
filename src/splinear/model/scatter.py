"""The dispersion of a loss: one formula for rows, weights, copies and groups.

With c_i the weight of row i, g_i and h_i the first and second derivative of its loss with respect
to the score, U independent units u (rows, or groups of rows) and edf degrees of freedom of the
model, the dispersion is

    phi = sum_u (sum_{i in u} c_i g_i)^2 / sum_i c_i h_i * U / (U - edf).

It divides the losses wherever smoothness is chosen, and in bands, so that a constant factor in the
weights changes nothing. A likelihood is divided by the mean weight of its rows instead, times the
factor by which groups make the squares larger, the design effect: where all weights are equal,
there is nothing to estimate. The mean is sum_i c_i^2 h_i / sum_i c_i h_i, what the squares are
expected to be, or sum_i c_i^2 g_i^2 / sum_i c_i g_i^2 where that is larger: the weights of classes,
and others that depend on y, are the largest where the slopes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from splinear._types import Floats

__all__ = ["N_SUMS", "Scatter", "together"]

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Scatter:
    """Sums over rows from which the dispersion follows.

    Attributes
    ----------
    squares : float
        sum_u (sum_{i in u} c_i g_i)^2, added up over outputs.
    of_rows : float
        The same if every row is a unit.
    expected : float
        sum_i c_i^2 h_i.
    plain : float
        sum_i c_i g_i^2.
    curvature : float
        sum_i c_i h_i.
    n_units, n_rows : float
        The number of units and of rows, times the number of outputs.
    misfit : float
        Twice the sum of the losses.
    least : float
        The smallest dispersion: that of one event, for counts; otherwise 0.
    is_likelihood : bool
        Whether the squares are replaced by their expectation.
    """

    squares: float
    of_rows: float
    expected: float
    plain: float
    curvature: float
    n_units: float
    n_rows: float
    misfit: float
    least: float = 0.0
    is_likelihood: bool = False

    @classmethod
    def of(cls, sums: Floats, misfit: float, least: float, *, is_likelihood: bool) -> Scatter:
        """Return the scatter with these sums (N_SUMS,), in the order of the attributes."""
        named = dict(zip([one.name for one in fields(cls)], sums.tolist(), strict=False))
        return cls(**named, misfit=misfit, least=least, is_likelihood=is_likelihood)

    def dispersion(self, freedom: float) -> float:
        """Return phi for a model with this many degrees of freedom."""
        if not self.curvature > 0.0:
            return max(self.least, TINY)
        if self.is_likelihood:
            found = self._mean_weight * self._design_effect(freedom)
        else:
            found = self.squares / self.curvature * self.n_units / self.n_left(freedom)
        return max(found, self.least, TINY)

    @property
    def _mean_weight(self) -> float:
        expected = self.expected / self.curvature
        return max(expected, self.of_rows / self.plain) if self.plain > 0.0 else expected

    def residual_variance(self, freedom: float) -> float:
        """Return the weighted mean of squared residuals, for the squared error."""
        found = self.misfit / max(self.curvature, TINY)
        return found * self.n_units / self.n_left(freedom)

    def n_left(self, freedom: float) -> float:
        """Return the residual degrees of freedom."""
        return max(1.0, self.n_units - freedom)

    def _design_effect(self, freedom: float) -> float:
        """Return by how much groups increase the squares; 1 if every row is a unit."""
        if self.n_units == self.n_rows or not self.of_rows > 0.0:
            return 1.0
        of_units = self.squares * self.n_units / self.n_left(freedom)
        of_rows = self.of_rows * self.n_rows / max(1.0, self.n_rows - freedom)
        return max(1.0, of_units / of_rows)

    def in_units(self, unit: float) -> Scatter:
        """Return the scatter for targets multiplied by `unit`."""
        square = unit**2
        return replace(
            self,
            squares=square * self.squares,
            of_rows=square * self.of_rows,
            plain=square * self.plain,
            misfit=square * self.misfit,
            least=square * self.least,
        )

    def times(self, share: float) -> Scatter:
        """Return the scatter extrapolated from a sample to `share` times as many rows."""
        sums = {one.name: share * getattr(self, one.name) for one in fields(self)[: N_SUMS + 1]}
        return replace(self, **sums)


N_SUMS = 7  # number of sums over rows that Scatter.of takes


def together(parts: Sequence[Scatter]) -> Scatter:
    """Return the scatter of several problems that share a dispersion."""
    return reduce(_added, parts)


def _added(a: Scatter, b: Scatter) -> Scatter:
    names = [one.name for one in fields(a)[: N_SUMS + 1]]
    return replace(a, **{name: getattr(a, name) + getattr(b, name) for name in names})
