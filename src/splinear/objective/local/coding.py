"""Conversion of the rows of X to 16-bit codes, and of codes to rows that the core reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splinear import _core
from splinear._types import AnyArray
from splinear.model.layout import Layout
from splinear.objective.local.disk import codes_on_disk
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import Order
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table
from splinear.terms.group import TermGroup

__all__ = ["code_rows", "copied_codes", "read_codes"]


def code_rows(
    X: Table, layout: Layout, order: Order, plan: MemoryPlan, n_threads: int
) -> list[_core.Codes]:
    """Return the codes of the rows of X in training order, one per group, in memory or files."""
    if plan.rows_per_block is not None:
        return codes_on_disk(
            X, order.of, order.n_rows, layout.groups, plan.rows_per_block, n_threads
        )
    codes = [_core.Codes(order.n_rows, g.n_features, g.grid) for g in layout.groups]
    axes = [group.embedding.axes.core() for group in layout.groups]
    for rows, piece in X.long_chunks():
        places = order.of(rows)
        for group, ax, out in zip(layout.groups, axes, codes, strict=True):
            out.fill(as_dense(piece), group.features.astype(np.int64), places, ax, n_threads)
    return codes


def read_codes(codes: Sequence[_core.Codes], layout: Layout) -> list[_core.Rows]:
    """Return the coded rows for the core, one object per group."""
    pairs = zip(layout.groups, codes, strict=True)
    return [_core.coded_rows(own, group.embedding.axes.core()) for group, own in pairs]


def copied_codes(array: AnyArray, group: TermGroup) -> _core.Codes:
    """Return codes as a copy of an array (n_rows, n_features)."""
    n = len(array)
    mapped = _core.Codes(np.ascontiguousarray(array), group.grid, max(n, 1))
    return mapped.some_rows(np.arange(n))  # a copy, because the core releases pages of maps
