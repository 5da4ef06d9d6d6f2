"""What a fit needs within `max_memory`: the estimator's side of splinear.solvers.memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklearn.base import BaseEstimator

from splinear._reading import Source, left_out_zeros, values_per_row
from splinear._types import Table
from splinear.solvers.memory import (
    CODE_BYTES,
    ENTRY_BYTES,
    NEED_DUAL,
    NEED_NEWTON,
    MemoryPlan,
    Need,
    bytes_of,
    least_memory,
    plan_memory,
    say_bytes,
)
from splinear.solvers.rows import CODES_SUFFICE

__all__ = ["Demand", "plan_fit"]


@dataclass(frozen=True)
class Demand:
    """What is to be trained, and what each row needs for it beside the solver's own.

    `together`: all outputs are one problem, for Newton's method. `has_choice`: if there is no room
    for Newton's method, dual coordinate descent will do.
    """

    n_outputs: int
    need: Need
    solver: str
    together: bool
    has_choice: bool

    def total(self, solver: str) -> Need:
        """Add what the solver needs."""
        newton = NEED_NEWTON * (self.n_outputs if self.together else 1)
        return self.need + (newton if solver == "newton" else NEED_DUAL)


def plan_fit(estimator: BaseEstimator, X: Table, demand: Demand, width: int) -> MemoryPlan:
    """Keep within estimator.max_memory, or say why it is too small."""
    bound, solver = bytes_of(estimator.max_memory), demand.solver
    if bound is None:
        return MemoryPlan()
    n_rows, row_bytes = X.shape[0], CODE_BYTES * float(X.shape[1])
    takes_nonzeros = left_out_zeros(X) and estimator.through_zero_
    if takes_nonzeros:
        row_bytes = ENTRY_BYTES * values_per_row(X)
        demand = replace(demand, need=demand.need + Need(shared=8))  # where a row's begin
    plan = plan_memory(bound, n_rows, row_bytes, demand.total(solver), width)
    if plan is None and solver == "newton" and demand.has_choice:
        solver = "dual_cd"
        plan = plan_memory(bound, n_rows, row_bytes, demand.total(solver), width)
    if plan is None:
        least = least_memory(n_rows, row_bytes, demand.total(solver))
        raise ValueError(
            f"max_memory={estimator.max_memory!r} is too small: {n_rows:,} rows and "
            f"{demand.n_outputs} output{'s' if demand.n_outputs > 1 else ''} need at least "
            f"{say_bytes(least)} with solver={solver!r}."
        )
    on_disk = plan.rows_per_block is not None or isinstance(X, Source)
    if estimator.tol < CODES_SUFFICE and on_disk and not takes_nonzeros:
        raise ValueError(
            f"tol={estimator.tol:g} is below {CODES_SUFFICE:g}, so that training reads X itself, "
            f"in full precision and again and again; with max_memory={estimator.max_memory!r} X "
            "stays on disk. Raise tol or max_memory."
        )
    return replace(plan, newton=solver == "newton")
