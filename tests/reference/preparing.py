"""Rows and problems in the order of training."""

from dataclasses import replace

from splinear.objective.local.training_rows import TrainingRows
from splinear.tables.opening import open_table


def prepare(X, layout, problem, stopping, plan=None, exact=None):
    """Return the rows, and the problem in their order; exact ones for a small tolerance."""
    rows = TrainingRows.prepare(
        open_table(X),
        layout,
        exact=stopping.tol < 1e-3 if exact is None else exact,
        seed=stopping.seed,
        n_threads=stopping.n_threads,
        weights=problem.weights,
        plan=plan,
    )
    return rows, place(rows, problem)


def place(rows, problem):
    """Return a problem in the order of the rows."""
    placed = {
        name: None if getattr(problem, name) is None else rows.place(getattr(problem, name))
        for name in ("y", "weights", "targets")
    }
    return replace(problem, **placed)


def with_means(X, layout, problem=None):
    """Return the layout as the rows make it: with the means of curves that have gaps."""
    weights = None if problem is None else problem.weights
    return TrainingRows.prepare(open_table(X), layout, exact=True, weights=weights).layout
