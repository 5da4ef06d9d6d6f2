"""The parts of a curve whose smoothness is chosen: a line, steps and bends.

A curve is the sum of a line b_j l and of a curve g. With h_k the steps of l between neighboring
coefficients, d_k those of g, and e_k = l_k d_k + r_k d_{k+1} the bends of g, the penalty is

    b_j^2 / t_line + sum_k w_k d_k^2 / t + sum_k e_k^2 / t_bends,

with a variance for each part. So a curve can be a line (if t and t_bends are
small), smooth (if t is large), rough (if t_bends is large) or flat, and nothing changes if it is
reversed. The slope b_j is not a parameter: for given coefficients it is where the penalty is least.
With M the matrix of the last two sums in steps and D_1 a the steps of a curve with coefficients a,

    b_j = c h'M D_1 a,     c = 1 / (1 / t_line + h'M h),

and the penalty is (D_1 a - b_j h)'M (D_1 a) in a. The inverse of its matrix is D_1^{-1} (M^{-1} +
t_line h h') D_1^{-T}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.terms.embedding import bounded, reciprocals

__all__ = ["Parts"]


@dataclass(frozen=True, eq=False)
class Parts:
    """The lines and bends of all curves of a group; their steps have the variance of the group.

    Attributes
    ----------
    bends : ndarray of shape (n_features, size, 2)
        l_jk and r_jk, which multiply the steps k and k + 1; 0 where there is no bend.
    bend_variance : ndarray of shape (n_features,)
        t_bends.
    line : ndarray of shape (n_features, size)
        h_jk; 0 where there is no step.
    line_variance : ndarray of shape (n_features,)
        t_line.
    """

    bends: Floats
    bend_variance: Floats
    line: Floats
    line_variance: Floats

    @classmethod
    def between(cls, used: AnyArray, widths: Floats, variance: Floats) -> Parts:
        """Return the parts of curves whose steps are `used`, (n_features, size).

        `widths` (n_features, size) are those of the pieces over which the curves take their steps.
        A bend is the difference of the slopes of two pieces, divided by the square root of the
        distance between their centers, so that the sum of squares approximates the integral of the
        squared second derivative. The line rises by 1. `variance` (n_features,) is that of steps.
        """
        h = used * widths
        total = h.sum(axis=1, keepdims=True)
        h = np.divide(h, total, out=np.zeros_like(h), where=total > 0)
        slopes = np.divide(1.0, widths, out=np.zeros_like(widths), where=used)
        both = used[:, :-1] & used[:, 1:]
        distance = np.where(both, 0.5 * (widths[:, :-1] + widths[:, 1:]), 1.0)
        weight = both / np.sqrt(distance)
        bends = np.zeros((*used.shape, 2))
        bends[:, :-1, 0], bends[:, :-1, 1] = -weight * slopes[:, :-1], weight * slopes[:, 1:]
        return cls(bends, variance, h, used.sum(axis=1) * variance)

    def of_features(self, at: AnyArray) -> Parts:
        """Return the parts of the features at these positions."""
        return Parts(self.bends[at], self.bend_variance[at], self.line[at], self.line_variance[at])

    def with_variances(self, of_bends: Floats, of_line: Floats) -> Parts:
        """Return the parts with other variances."""
        return replace(self, bend_variance=bounded(of_bends), line_variance=bounded(of_line))

    def scaled(self, factor: float) -> Parts:
        """Return the parts with all variances multiplied by a factor."""
        return self.with_variances(factor * self.bend_variance, factor * self.line_variance)

    def bends_of(self, steps: Floats) -> Floats:
        """Return e of steps (..., n_features, size), in the same shape."""
        out = self.bends[..., 0] * steps
        out[..., :-1] += self.bends[:, :-1, 1] * steps[..., 1:]
        return np.asarray(out)

    @property
    def has_bends(self) -> AnyArray:
        """Whether there is a bend, (n_features, size)."""
        return np.asarray(self.bends[..., 0] != 0.0)

    def step_bands(self, precision: Floats) -> Floats:
        """Return the bands (n_features, size, 2) of M, given w_k / t (n_features, size)."""
        left, right = self.bends[..., 0], self.bends[..., 1]
        out = np.stack([left**2, left * right], axis=-1)
        out[:, 1:, 0] += right[:, :-1] ** 2
        out *= reciprocals(self.bend_variance)[:, None, None]
        out[..., 0] += precision
        return np.asarray(out)

    def bend_bands(self, held: int, most: float) -> Floats:
        """Return the bands (n_features, size, 3) of the matrix of bends in coefficients.

        Entry [j, k, p] is entry (k, k + p) of feature j's matrix, no larger than `most`; the first
        `held` coefficients are 0.
        """
        before, after = -self.bends[..., 0], self.bends[..., 1]
        here = -before - after
        out = np.zeros((*here.shape, 3))
        out[..., 0] = here**2
        out[:, :-1, 0] += before[:, 1:] ** 2
        out[:, 1:, 0] += after[:, :-1] ** 2
        out[..., 1] = here * after
        out[:, :-1, 1] += before[:, 1:] * here[:, 1:]
        out[:, :-1, 2] = before[:, 1:] * after[:, 1:]
        out[:, :held] = 0.0
        largest = max(1.0, float(np.abs(out).max(initial=0.0)))
        out *= np.minimum(reciprocals(self.bend_variance), most / largest)[:, None, None]
        return out

    def line_pull(self, precision: Floats) -> tuple[Floats, Floats]:
        """Return M h, (n_features, size), and c, (n_features,), given w_k / t of steps."""
        bands, h = self.step_bands(precision), self.line
        pull = bands[..., 0] * h
        pull[:, :-1] += bands[:, :-1, 1] * h[:, 1:]
        pull[:, 1:] += bands[:, :-1, 1] * h[:, :-1]
        of_line = reciprocals(self.line_variance)
        total = of_line + (self.line * pull).sum(axis=1)
        return pull, reciprocals(total) * (self.line_variance > 0)

    def slopes(self, steps: Floats, precision: Floats) -> Floats:
        """Return b_j of curves with these steps (..., n_features, size), (..., n_features)."""
        pull, c = self.line_pull(precision)
        return np.asarray(c * np.einsum("...jk,jk->...j", steps, pull))
