"""Longer steps of variances that would otherwise take many short turns in the same direction.

Each turn changes the logarithm of a variance by a share of the remaining way. For a term with
almost no effect this share is small, and its variance decreases slowly toward 0. So the step of a
term grows as long as its direction stays the same, and is a plain one again when the direction
reverses. If each step is r times the last one, a factor of 1 / (1 - r) would lead to the end at
once. A step is at most GROWTH times as long as the last one that did not go too far, so it
overshoots by at most GROWTH - 1 of the way: it ends where plain turns do.
"""

from __future__ import annotations

import numpy as np

from splinear._types import Floats

__all__ = ["LEAST", "MOST", "Pace"]

FIRST = 3  # turns without longer steps, because the models are still far from their optimum
GROWTH, LONGEST = 1.5, 8.0  # of the factor: per turn, and in total
LEAST, MOST = 1e-8, 1e8  # relative to the first guess; a curve of the smallest variance is flat


class Pace:
    """The factor by which the plain step of each variance, of curves and gaps, is lengthened."""

    def __init__(self) -> None:
        self._n_turns = 0
        self._factor, self._step = np.ones(0), np.zeros(0)

    def lengthened(self, now: Floats, wanted: Floats, first: Floats) -> Floats:
        """Return the variances after steps longer than those from `now` to `wanted`.

        They are within the bounds relative to the `first` guess.
        """
        counts = (now > 0.0) & (wanted > 0.0)
        step = np.log(np.divide(wanted, now, out=np.ones_like(now), where=counts))
        self._n_turns += 1
        if self._n_turns <= FIRST:
            self._factor, self._step = np.ones_like(step), step
            return wanted
        goes_on = step * self._step > 0.0
        self._factor = np.where(goes_on, np.minimum(GROWTH * self._factor, LONGEST), 1.0)
        self._step = step
        farther = wanted * np.exp((self._factor - 1.0) * step)
        return np.minimum(np.maximum(farther, LEAST * first), MOST * first)
