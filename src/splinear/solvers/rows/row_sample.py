"""A sample of rows that stands for all of them."""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats

__all__ = ["sample_rows"]

EVENLY = 0.05  # of the mean, which is added to what a row adds to the Hessian


def sample_rows(h: Floats, n: int, in_order: bool, n_threads: int = 1) -> tuple[AnyArray, Floats]:
    """Return the numbers of about n rows, and weights by which sums over them stand for all.

    Row i is taken with probability p_i = min(1, h_i / t), such that n are expected, and weighs
    1 / p_i. As rows are in random order, those are taken at which the sum of p passes a whole
    number. If `in_order`, all rows are as probable, and the first are taken. Of h (n_outputs, n)
    the sums over outputs count.
    """
    h = h if h.ndim == 1 else h[0] if len(h) == 1 else h.sum(axis=0)
    if not in_order:
        numbers, weights = _core.sample_rows(np.ascontiguousarray(h), n, EVENLY, n_threads)
        if len(numbers):
            return numbers, weights
    return np.arange(n), np.full(n, len(h) / n)
