"""Choice of C and of the scaling, on training data only, the same way for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from splinear._types import AnyArray
from splinear.experiments.models import AS_THEY_ARE, TO_UNIT, Recipe
from splinear.experiments.results import Choice

__all__ = ["Grid", "choose", "chosen", "curves_grid", "linear_grid", "unit_only"]

Grid = Mapping[str, Sequence[float]]

# Straight lines want a larger C than curves, which have more functions to share the work.
LINEAR_GRID: Grid = {AS_THEY_ARE: (10.0, 30.0, 100.0, 300.0), TO_UNIT: (0.1, 0.3, 1.0, 3.0)}
CURVES_GRID: Grid = {AS_THEY_ARE: (0.1, 0.3, 1.0, 3.0), TO_UNIT: (0.003, 0.01, 0.03, 0.1, 0.3)}
QUICK_LINEAR_GRID: Grid = {AS_THEY_ARE: (30.0,), TO_UNIT: (0.3,)}
QUICK_CURVES_GRID: Grid = {AS_THEY_ARE: (1.0,), TO_UNIT: (0.03,)}


def linear_grid(quick: bool) -> Grid:
    """Return what is tried for linear models on the pedestrians."""
    return QUICK_LINEAR_GRID if quick else LINEAR_GRID


def curves_grid(quick: bool) -> Grid:
    """Return what is tried for additive models, and for the min kernel, on the pedestrians."""
    return QUICK_CURVES_GRID if quick else CURVES_GRID


def unit_only(grid: Grid) -> Grid:
    """Leave out features as they are, for models that the paper scales."""
    return {TO_UNIT: grid[TO_UNIT]}


def choose(
    recipe: Recipe,
    X: AnyArray,
    y: AnyArray,
    folds: Sequence[tuple[AnyArray, AnyArray]],
    grid: Grid,
    n_jobs: int,
) -> Choice:
    """Try every scaling and C, and keep the pair of highest mean accuracy over the folds.

    Parameters
    ----------
    recipe : Recipe
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    folds : sequence of (training rows, validation rows)
    grid : mapping
        The values of C to try for each scaling, ascending.
    n_jobs : int
        Fits at a time.

    Returns
    -------
    choice : Choice
        Of equals, the smallest C.
    """
    candidates = [(scaling, C) for scaling, values in grid.items() for C in values]
    tasks = [
        delayed(_accuracy)(recipe.make(C, scaling), X, y, train, test)
        for (scaling, C), (train, test) in product(candidates, folds)
    ]
    scores = Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(tasks)
    means = np.reshape(scores, (len(candidates), len(folds))).mean(axis=1)
    best = int(np.argmax(means))
    scaling, C = candidates[best]
    at_edge = C in (grid[scaling][0], grid[scaling][-1])
    return Choice(recipe.name, scaling, C, float(means[best]), at_edge, _words(grid))


def chosen(recipe: Recipe, choice: Choice) -> BaseEstimator:
    """Make the estimator with the parameters that were chosen."""
    return recipe.make(choice.C, choice.scaling)


def _words(grid: Grid) -> str:
    return "; ".join(f"{scaling}: {', '.join(f'{C:g}' for C in grid[scaling])}" for scaling in grid)


def _accuracy(
    model: BaseEstimator, X: AnyArray, y: AnyArray, train: AnyArray, test: AnyArray
) -> float:
    return 100 * float(model.fit(X[train], y[train]).score(X[test], y[test]))
