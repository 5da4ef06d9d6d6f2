"""Turns that choose variances, made longer where many short ones would follow each other.

Each turn changes the logarithm of a variance by a share of what is missing. Where a term has nearly
nothing to say that share is small, and its variance creeps toward 0. So a term's step is made
longer and longer while it goes on in the same direction, and is a plain one again when it turns
back. With steps of which each is r times the last, a factor of 1 / (1 - r) would lead to the end at
once. A step is longer than the last one that did not lead too far by GROWTH at most, so it leads
too far by no more than GROWTH - 1 of the way: that ends where plain turns do.
"""

from __future__ import annotations

import numpy as np

from splinear._types import Floats

__all__ = ["LEAST", "MOST", "Pace"]

FIRST = 3  # turns that are left as they are: the models are not yet there
GROWTH, LONGEST = 1.5, 8.0  # of the factor, from turn to turn, and in all
LEAST, MOST = 1e-8, 1e8  # of the first guess: a curve of the least variance is flat


class Pace:
    """How many times a plain step each variance of curves and gaps is to go."""

    def __init__(self) -> None:
        self._n_turns = 0
        self._factor, self._step = np.ones(0), np.zeros(0)

    def lengthened(self, now: Floats, wanted: Floats, first: Floats) -> Floats:
        """Return the variances that longer steps than those from `now` to `wanted` lead to.

        No farther from the `first` guess than variances may be.
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
