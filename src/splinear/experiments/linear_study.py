"""Why the linear model is nearer to the splines than in the paper: by C, and by features."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from splinear._types import AnyArray
from splinear.experiments.bench import Bench
from splinear.experiments.choosing import Grid, choose, chosen, curves_grid, linear_grid, unit_only
from splinear.experiments.daimler import Daimler, six_runs
from splinear.experiments.models import AS_THEY_ARE, TO_UNIT, additive, linear, spline
from splinear.experiments.results import Choice, Column, Measured, Row, Table

__all__ = ["tables"]

WIDE_GRID: Grid = {AS_THEY_ARE: (1.0, 10.0, 30.0, 100.0), TO_UNIT: (0.01, 0.1, 0.3, 1.0)}
FEATURES: dict[str, dict[str, object]] = {
    "as in the tables": {},
    "L2 instead of L1 per level": {"norm": "l2"},
    "signed orientations": {"signed": True},
    "Gaussian smoothing of 1 pixel": {"smoothing": 1.0},
}


def tables(bench: Bench, choice: Choice) -> list[Table]:
    """Make the two tables.

    Parameters
    ----------
    bench : Bench
    choice : Choice
        What was chosen for the linear model; it is marked.
    """
    return [_by_strength(bench, choice), _by_features(bench)]


def _by_strength(bench: Bench, choice: Choice) -> Table:
    bench.report("linear model by C")
    grid = linear_grid(True) if bench.quick else WIDE_GRID
    settings = [(scaling, C) for scaling, values in grid.items() for C in values]
    means = Parallel(n_jobs=bench.n_workers, prefer="threads", require="sharedmem")(
        delayed(_mean)(bench.daimler, bench.daimler.X, linear().make(C, scaling))
        for scaling, C in settings
    )
    rows = [
        Row(
            f"C = {C:g}, features {scaling}"
            + (" (chosen)" if (C, scaling) == (choice.C, choice.scaling) else ""),
            [Measured(mean)],
        )
        for (scaling, C), mean in zip(settings, means, strict=True)
    ]
    return Table(
        "The linear model by C and scaling", "linear model", [Column("mean accuracy", "%")], rows
    )


def _by_features(bench: Bench) -> Table:
    columns = [Column("linear", "%"), Column("spline D_1, 10 bins", "%"), Column("difference", "%")]
    rows = [_features_row(bench, name) for name in list(FEATURES)[: 2 if bench.quick else None]]
    return Table(
        "Mean accuracy by features; C chosen for each, features mapped to [0, 1]",
        "features",
        columns,
        rows,
    )


def _features_row(bench: Bench, name: str) -> Row:
    bench.report(f"features: {name}")
    data = bench.daimler
    X = data.features(**FEATURES[name])
    curves = additive("spline", spline(10, degree=1, order=1))
    rates = []
    for recipe, grid in ((linear(), linear_grid), (curves, curves_grid)):
        tried = unit_only(grid(bench.quick))
        choice = choose(recipe, X, data.y, data.folds, tried, bench.n_workers)
        rates.append(_mean(data, X, chosen(recipe, choice)))
    straight, curved = rates
    return Row(name, [Measured(straight), Measured(curved), Measured(curved - straight)])


def _mean(data: Daimler, X: AnyArray, model: BaseEstimator) -> float:
    accuracies, _ = six_runs(data, X, model)
    return float(np.mean(accuracies))
