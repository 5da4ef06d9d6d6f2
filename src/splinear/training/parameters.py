"""Helpers for the parameters of estimators."""

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
    """Return a seed for the core; an integer `random_state` always gives the same one."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def positive(kind: type = Real) -> Interval:
    """Return scikit-learn's constraint for a number greater than zero."""
    return Interval(kind, 0, None, closed="neither")
