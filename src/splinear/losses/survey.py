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
    """

    weight: float = 0.0
    total: float = 0.0
    least: float = np.inf
    most: float = -np.inf
    event: float = np.inf

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
        else:
            weight, total = float(weights.sum()), float(weights @ y)
            events = y * (weights if counts is None else weights / np.maximum(counts, 1.0))
        used = y if kept is None else y[kept]
        return cls(
            weight,
            total,
            least=float(used.min(initial=np.inf)),
            most=float(used.max(initial=-np.inf)),
            event=float(events[events > 0.0].min(initial=np.inf)),
        )

    def __add__(self, other: Survey) -> Survey:
        """Return the survey of both parts."""
        return Survey(
            self.weight + other.weight,
            self.total + other.total,
            min(self.least, other.least),
            max(self.most, other.most),
            min(self.event, other.event),
        )

    @property
    def mean(self) -> float:
        """The weighted mean of y."""
        return self.total / self.weight
