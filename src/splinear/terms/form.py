"""Shape constraints of a curve: monotone, convex or concave.

They are linear inequalities of the coefficients. A curve over pieces of equal width, with
increments d_k = a_{k+1} - a_k, is monotone if all d_k have the same sign, and convex or concave if
they are sorted. These conditions are sufficient, and also necessary, except for a monotone curve of
degree 3. For a curve of degree 1 with pieces of widths h_k, the slopes d_k / h_k must be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """The signs of a curve's slope and curvature: 1 (up), -1 (down) or 0 (unconstrained)."""

    monotone: int = 0
    curvature: int = 0

    def coordinates(self, widths: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return an invertible B (n + 1, n + 1), and which entries of z = B a must be >= 0.

        `widths` (n,) are the h_k. z_0 is a_0. Under a monotone constraint alone, the other z_k are
        the slopes. Under one of curvature they are the differences of neighboring slopes, and one
        slope: the one that is smallest in absolute value if the curve is monotone as well.
        """
        n, sign = len(widths), self.monotone or 1
        slopes = (np.eye(n, n + 1, k=1) - np.eye(n, n + 1)) / widths[:, None]
        B, bounded = np.eye(n + 1), np.arange(n + 1) > 0
        if not self.curvature:
            B[1:] = sign * slopes
        elif self.monotone == -self.curvature:
            B[1:-1], B[-1] = self.curvature * np.diff(slopes, axis=0), sign * slopes[-1]
        else:
            B[1], B[2:] = sign * slopes[0], self.curvature * np.diff(slopes, axis=0)
            bounded[1] = self.monotone != 0
        return B, bounded

    def pulled(self, gradient: Floats, widths: Floats) -> Floats:
        """Return B^{-T} g: the gradient in the coordinates z, for g (n + 1, m) in coefficients."""
        out = _summed(gradient[::-1])[::-1]  # in increments, each of which moves all later ones
        if not self.curvature:
            out[1:] *= self.monotone * widths[:, None]
            return out
        slopes, sign = out[1:] * widths[:, None], self.monotone or 1
        if self.monotone == -self.curvature:
            out[1:] = -self.curvature * _summed(slopes)
            out[-1] *= -self.curvature * sign
        else:
            out[1:] = self.curvature * _summed(slopes[::-1])[::-1]
            out[1] *= self.curvature * sign
        return out

    def snapped(self, coef: Floats, widths: Floats) -> Floats:
        """Return coefficients (..., n + 1) that have this form up to rounding, made exact."""
        slopes = np.diff(coef, axis=-1) / widths
        if self.curvature:
            slopes = self.curvature * np.maximum.accumulate(self.curvature * slopes, axis=-1)
        if self.monotone:
            slopes = self.monotone * np.maximum(self.monotone * slopes, 0.0)
        steps = np.concatenate([coef[..., :1], slopes * widths], axis=-1)
        return np.asarray(np.cumsum(steps, axis=-1))


def _summed(rows: Floats) -> Floats:
    """Return the cumulative sums of rows (n, m), faster than np.cumsum if m is large."""
    out = rows.copy()
    for k in range(1, len(out)):
        out[k] += out[k - 1]
    return out
