"""Uncoded training rows for the core, one object per group: values or non-zeros."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.model.scoring import group_columns
from splinear.objective.local.disk import entries_on_disk
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import Order
from splinear.tables.chunks import Chunk, as_dense, as_sparse, csr_parts
from splinear.tables.table import Table

__all__ = ["nonzero_parts", "takes_nonzeros", "value_parts"]


def takes_nonzeros(X: Table, layout: Layout) -> bool:
    """Return whether only the non-zeros of rows are trained on."""
    return X.is_sparse and all(group.embedding.through_zero for group in layout.groups)


def value_parts(
    chunk: Chunk, layout: Layout, numbers: AnyArray, nonzeros: bool
) -> list[_core.Rows]:
    """Return the rows `numbers` of a chunk in full precision, as values or as non-zeros."""
    if nonzeros:
        return [_entries(as_sparse(chunk), group, numbers, exact=True) for group in layout.groups]
    array = as_dense(chunk)
    return [
        _core.value_rows(
            array, group.features.astype(np.int64), group.embedding.axes.core(), numbers
        )
        for group in layout.groups
    ]


def _entries(
    matrix: sparse.csr_array, group: TermGroup, numbers: AnyArray, *, exact: bool
) -> _core.Rows:
    here, embedding = csr_parts(group_columns(matrix, group)), group.embedding
    return _core.sparse_rows(*here, embedding.axes.core(), numbers, embedding.places(), exact)


def nonzero_parts(X: Table, layout: Layout, order: Order, plan: MemoryPlan) -> list[_core.Rows]:
    """Return the non-zeros of all rows in single precision, in memory or in files."""
    if plan.rows_per_block is not None:
        return [
            entries_on_disk(X, order.of, order.n_rows, group, plan.rows_per_block)
            for group in layout.groups
        ]
    numbers, matrix = order.place(np.arange(X.shape[0])), as_sparse(X.whole())
    return [_entries(matrix, group, numbers, exact=False) for group in layout.groups]
