"""Small helpers for the parameters of estimators."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from splinear._compat import Interval
from splinear._types import Input

__all__ = [
    "draw_seed",
    "positive",
]


def draw_seed(random_state: Input) -> int:
    """Draw a seed for the core; the same for the same whole number."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def positive(kind: type = Real) -> Interval:
    """Return the constraint of a number greater than zero."""
    return Interval(kind, 0, None, closed="neither")
