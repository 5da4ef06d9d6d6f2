"""Importance sampling of rows."""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats

__all__ = ["sample_rows"]

EVENLY = 0.05  # of the mean of h, added to every h_i so that no row has probability 0


def sample_rows(h: Floats, n: int, in_order: bool, n_threads: int = 1) -> tuple[AnyArray, Floats]:
    """Return the indices of about n rows, and weights that make sums over them unbiased.

    Row i is taken with probability p_i = min(1, h_i / t), with t such that n rows are expected, and
    has the weight 1 / p_i. Because rows are in random order, it suffices to take those at which the
    cumulative sum of p passes an integer. If `in_order`, the first n rows are taken, all with the
    same weight. An h (n_outputs, n_rows) is summed over outputs.
    """
    h = h if h.ndim == 1 else h[0] if len(h) == 1 else h.sum(axis=0)
    if not in_order:
        numbers, weights = _core.sample_rows(np.ascontiguousarray(h), n, EVENLY, n_threads)
        if len(numbers):
            return numbers, weights
    return np.arange(n), np.full(n, len(h) / n)
