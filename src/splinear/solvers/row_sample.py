"""A sample of rows that stands for all of them."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats

__all__ = ["sample_rows"]

EVENLY = 0.05  # of the mean, which is added to what a row adds to the Hessian


def sample_rows(h: Floats, n: int, in_order: bool) -> tuple[AnyArray, Floats]:
    """Return the numbers of about n rows, and weights by which sums over them stand for all.

    Row i is taken with probability p_i = min(1, h_i / t), such that n are expected, and weighs
    1 / p_i. As rows are in random order, those are taken at which the sum of p passes a whole
    number. If `in_order`, all rows are as probable, and the first are taken.
    """
    if in_order or not h.sum() > 0.0:
        return np.arange(n), np.full(n, len(h) / n)
    h = h + EVENLY * h.mean()
    surely, n_sure = np.zeros(len(h), dtype=bool), -1
    while int(surely.sum()) > n_sure:
        n_sure = int(surely.sum())
        t = h[~surely].sum() / max(n - n_sure, 1)
        surely |= h >= t
    p = np.where(surely, 1.0, h / t if t > 0.0 else 0.0)
    passed = np.floor(np.cumsum(p) + 0.5)
    numbers = np.flatnonzero(np.diff(passed, prepend=0.0) > 0.0)
    return numbers, 1.0 / p[numbers]
