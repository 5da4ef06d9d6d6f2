"""Longer steps of variances that would otherwise take many short turns in the same direction.

Each turn changes the logarithm of a variance by a share of the remaining way. For a term with
almost no effect this share is small, and its variance decreases slowly toward 0. So a plain step is
multiplied by a factor. If a change of the logarithm by m makes the plain step shorter by m r, the
end is 1 / r plain steps away (the secant method, for each variance by itself). As terms depend on
each other and models follow their variances only nearly, the factor is limited: it grows by GROWTH
per turn, as long as the direction stays the same.
"""

from __future__ import annotations

import numpy as np

from splinear._types import Floats

__all__ = ["LEAST", "MOST", "Pace"]

FIRST = 3  # turns without longer steps, because the models are still far from their optimum
GROWTH = 2.0  # of the factor, per turn: 3 ends no earlier, 1.5 takes a quarter more turns
SHORTEST, LONGEST = 0.5, 8.0  # of the factor; 16 overshoots, so that spambase takes 3 turns more
LEAST, MOST = 1e-8, 1e8  # relative to the first guess; a curve of the smallest variance is flat


class Pace:
    """The factor by which the plain step of each variance, of curves and gaps, is lengthened."""

    def __init__(self) -> None:
        self._n_turns = 0
        self._factor, self._step, self._before = np.ones(0), np.zeros(0), np.ones(0)

    def lengthened(self, now: Floats, wanted: Floats, first: Floats) -> Floats:
        """Return the variances after steps longer than those from `now` to `wanted`.

        They are within the bounds relative to the `first` guess.
        """
        counts = (now > 0.0) & (wanted > 0.0)
        step = np.log(np.divide(wanted, now, out=np.ones_like(now), where=counts))
        self._n_turns += 1
        if self._n_turns <= FIRST:
            self._factor, self._step, self._before = np.ones_like(step), step, now
            return wanted
        moved = np.log(np.divide(now, self._before, out=np.ones_like(now), where=counts))
        shorter = self._step - step
        to_end = np.divide(
            moved, shorter, out=np.full_like(step, np.inf), where=moved * shorter > 0
        )
        goes_on = step * self._step > 0.0
        most = np.where(goes_on, np.minimum(GROWTH * self._factor, LONGEST), 1.0)
        self._factor = np.maximum(np.minimum(to_end, most), SHORTEST)
        self._step, self._before = step, now
        farther = wanted * np.exp((self._factor - 1.0) * step)
        return np.minimum(np.maximum(farther, LEAST * first), MOST * first)
