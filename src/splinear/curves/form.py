"""The forms that a curve may be held to: rising or falling, convex or concave.

A curve of degree r over equal pieces is held to a form by inequalities of its coefficients. With
increments d_k = a_{k+1} - a_k it is monotone if these have one sign, and convex or concave if they
are in order. Both are needed, and not only enough, but for a monotone curve of degree 3. Where the
pieces of a curve of degree 1 have widths h_k, it is the slopes d_k / h_k that must be in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """Which way a curve goes, and which way it bends: 1 (up), -1 (down) or 0 (any)."""

    monotone: int = 0
    curvature: int = 0

    def coordinates(self, widths: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return B (n + 1, n + 1), invertible, and which of z = B a are >= 0 for a of this form.

        `widths` (n,) are the h_k. z_0 is a_0, and z_k the k-th increment or, of slopes that are to
        be in order, what the k-th is more than the one before; they have one sign if the first
        has it, or the last, which is then z_n.
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
        """Return B^{-T} g of gradients (n + 1, ...) by coefficients: those by the coordinates z."""
        out = _summed(gradient[::-1])[::-1]  # by the increments, each of which moves all behind it
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
        """Return coefficients (..., n + 1) that are of this form but for rounding, without that."""
        slopes = np.diff(coef, axis=-1) / widths
        if self.curvature:
            slopes = self.curvature * np.maximum.accumulate(self.curvature * slopes, axis=-1)
        if self.monotone:
            slopes = self.monotone * np.maximum(self.monotone * slopes, 0.0)
        steps = np.concatenate([coef[..., :1], slopes * widths], axis=-1)
        return np.asarray(np.cumsum(steps, axis=-1))


def _summed(rows: Floats) -> Floats:
    """Return the running sums of rows (n, m): np.cumsum, but faster where m is large."""
    out = rows.copy()
    for k in range(1, len(out)):
        out[k] += out[k - 1]
    return out
