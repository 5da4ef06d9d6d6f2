"""Plan of a fit within `max_memory`: the estimator's side of splinear.objective.local.memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklearn.base import BaseEstimator

from splinear.model.layout import Layout
from splinear.objective.local.disk import code_bytes
from splinear.objective.local.memory import (
    ENTRY_BYTES,
    BytesPerRow,
    MemoryPlan,
    bytes_of,
    least_memory,
    plan_memory,
    say_bytes,
)
from splinear.tables.table import Table

__all__ = ["Workload", "plan_fit"]


@dataclass(frozen=True)
class Workload:
    """Memory needed by a fit: `need` bytes per row, for `width` problems in parallel."""

    n_outputs: int
    need: BytesPerRow
    width: int


def plan_fit(estimator: BaseEstimator, X: Table, layout: Layout, workload: Workload) -> MemoryPlan:
    """Return a plan that keeps within estimator.max_memory; raise if that is too small."""
    bound = bytes_of(estimator.max_memory)
    if bound is None:
        return MemoryPlan()
    n_rows = X.shape[0]
    row_bytes = float(sum(code_bytes(group) * group.n_features for group in layout.groups))
    takes_nonzeros = X.is_sparse
    if takes_nonzeros:
        row_bytes = ENTRY_BYTES * X.values_per_row
        starts_of_rows = BytesPerRow(shared=8)
        workload = replace(workload, need=workload.need + starts_of_rows)
    plan = plan_memory(bound, n_rows, row_bytes, workload.need, workload.width)
    if plan is None:
        least = least_memory(n_rows, row_bytes, workload.need)
        raise ValueError(
            f"max_memory={estimator.max_memory!r} is too small: {n_rows:,} rows and "
            f"{workload.n_outputs} output{'s' if workload.n_outputs > 1 else ''} need at least "
            f"{say_bytes(least)}."
        )
    return replace(plan, holds_values=plan.holds_values and not (X.is_on_disk or X.converts))
