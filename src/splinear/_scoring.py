"""Scores of a fitted model: of arrays, sparse matrices and files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from splinear import _core
from splinear._reading import csr_chunks, float_chunks, left_out_zeros
from splinear._sparse import csr_parts
from splinear._types import AnyArray, Floats, Table
from splinear._validation import check_in_range, column_ranges

__all__ = ["scores"]


def scores(model: BaseEstimator, X: Table, n_threads: int) -> Floats:
    """f(x) of every output for the rows of X, in the columns of the model: (n, n_outputs)."""
    out = np.empty((X.shape[0], len(model.coef_)))
    if left_out_zeros(X):
        for rows, piece in csr_chunks(X):
            out[rows] = _sparse_scores(model, piece, rows.start, n_threads)
    else:
        axes, basis = model.embedding_.axes.core(), model.embedding_.basis.core()
        for rows, piece in float_chunks(X):
            out[rows] = _core.decision(basis, piece, axes, model.coef_, model.intercept_, n_threads)
            if model.extrapolation != "constant":
                _go_beyond(model, piece, rows.start, out[rows])
    if np.isnan(out).any():  # that is how the core marks rows that are not finite
        column_ranges(model, X)
    return out


def _sparse_scores(model: BaseEstimator, X: Any, first_row: int, n_threads: int) -> Floats:
    """Score a CSR matrix, whose rows begin with number `first_row` of a table."""
    embedding, intercept = model.embedding_, model.intercept_
    at_zero = np.empty((0, 0))
    if not embedding.through_zero:
        at_zero = embedding.at_zero(model.coef_)
        intercept = intercept + at_zero.sum(axis=1)
    starts, features, values = csr_parts(X)
    out: Floats = _core.decision_sparse(
        embedding.basis.core(),
        starts,
        features,
        values,
        embedding.axes.core(),
        model.coef_,
        at_zero,
        intercept,
        n_threads,
    )
    if model.extrapolation != "constant":
        lo, hi = embedding.axes.lo[features], embedding.axes.hi[features]
        for j in map(int, np.unique(features[(values < lo) | (values > hi)])):
            _continue_curve(model, X[:, [j]].toarray().ravel(), j, first_row, out)
    return out


def _go_beyond(model: BaseEstimator, piece: AnyArray, first_row: int, out: Floats) -> None:
    """Add to the scores of a piece of X what its values outside the ranges ask for."""
    axes = model.embedding_.axes
    with np.errstate(invalid="ignore"):
        outside = (piece.min(axis=0) < axes.lo) | (piece.max(axis=0) > axes.hi)
    for j in map(int, np.flatnonzero(outside)):
        _continue_curve(model, piece[:, j], j, first_row, out)


def _continue_curve(
    model: BaseEstimator, values: AnyArray, j: int, first_row: int, out: Floats
) -> None:
    """Add to the scores what a straight line beyond the range of column j adds, or refuse it."""
    if model.extrapolation == "error":
        check_in_range(model, values, j, model.embedding_.axes, first_row)
    out += model.embedding_.continuation(values, j, model.coef_[:, j])
