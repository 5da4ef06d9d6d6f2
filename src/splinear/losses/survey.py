"""Sums and extremes of y, from which losses know what predictions need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats

__all__ = ["Survey"]


@dataclass(frozen=True)
class Survey:
    """What a loss knows of y: surveys of parts of the rows add up.

    Attributes
    ----------
    weight, total : float
        The sums of the weights, and of the weights times y.
    least, most : float
        The extremes of y in rows with a positive weight.
    event : float
        The smallest positive product of y and the weight of one observation.
    squares : float
        The sum of the squared weights of all observations.
    """

    weight: float = 0.0
    total: float = 0.0
    least: float = np.inf
    most: float = -np.inf
    event: float = np.inf
    squares: float = 0.0

    @classmethod
    def of(
        cls,
        y: AnyArray,
        weights: Floats | None = None,
        kept: AnyArray | None = None,
        counts: Floats | None = None,
    ) -> Survey:
        """Return the survey of numbers y (n,).

        `weights` (n,) are those of all observations that a row stands for, of which there are
        `counts` (n,); `kept` (n,) marks the rows with a positive weight.
        """
        if weights is None:
            weight, total, events = float(len(y)), float(y.sum()), y
            squares = weight
        else:
            weight, total = float(weights.sum()), float(weights @ y)
            each = weights if counts is None else weights / np.maximum(counts, 1.0)
            events, squares = y * each, float(weights @ each)
        used = y if kept is None else y[kept]
        return cls(
            weight,
            total,
            least=float(used.min(initial=np.inf)),
            most=float(used.max(initial=-np.inf)),
            event=float(events[events > 0.0].min(initial=np.inf)),
            squares=squares,
        )

    def __add__(self, other: Survey) -> Survey:
        """Return the survey of both parts."""
        return Survey(
            self.weight + other.weight,
            self.total + other.total,
            min(self.least, other.least),
            max(self.most, other.most),
            min(self.event, other.event),
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The weighted mean of y."""
        return self.total / self.weight

    @property
    def n_effective(self) -> float:
        """The number of observations of equal weight whose mean is as accurate."""
        return self.weight / self.squares * self.weight if self.squares > 0.0 else 0.0
