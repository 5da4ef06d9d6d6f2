"""Checks at the boundary: once, before any work, with messages that name what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from splinear._compat import check_sample_weight
from splinear._types import AnyArray, Floats, Table
from splinear.tables.kinds import refuse_dates, refuse_text, without_objects
from splinear.tables.reading import as_dense, chunks_of
from splinear.tables.sparse import as_csr, is_sparse, ranges

__all__ = [
    "check_in_range",
    "check_source",
    "check_table",
    "check_weights",
    "column_ranges",
    "feature_label",
]


def feature_label(estimator: BaseEstimator, j: int) -> str:
    """Name feature j as a user knows it."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool, **options: Any) -> Any:
    """Validate X (and y, if given): 2-D, numeric, real, the columns of fit; not yet finite.

    float32, float64 and whole numbers stay as they are, without a copy. A sparse X is given by
    rows, in floats.
    """
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
        X = np.ma.filled(X.astype(np.float64), np.nan)
    refuse_dates(X)
    refuse_text(X, reset=reset)
    X = without_objects(X)
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        dtype="numeric",
        accept_sparse=("csr", "csc"),
        ensure_all_finite=False,
        **options,
    )
    if not is_sparse(X):
        return checked
    return (as_csr(checked[0]), checked[1]) if isinstance(checked, tuple) else as_csr(checked)


def check_source(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Validate a table in files: the columns of fit, found by name where they have names."""
    name = type(estimator).__name__
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if X.names is not None:
            estimator.feature_names_in_ = np.asarray(X.names, dtype=object)
    elif X.names is not None and hasattr(estimator, "feature_names_in_"):
        X = X.select(list(estimator.feature_names_in_))
    elif hasattr(X, "widened"):  # a format without columns that are 0 at its end
        X = X.widened(estimator.n_features_in_)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{X} has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X


def check_weights(sample_weight: Any, X: AnyArray) -> Floats | None:
    """Validate the rows' weights: None, or one finite number >= 0 per row, not all 0."""
    if sample_weight is None:
        return None
    weights: Floats = check_sample_weight(sample_weight, X, dtype=np.float64)
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise ValueError(
            "Negative values in data passed to `sample_weight`: "
            f"{weights[row]:g} for row {row}; weights must be at least 0."
        )
    if not np.any(weights > 0):
        raise ValueError("All entries of sample_weight are zero; there is nothing to learn from.")
    return weights


def column_ranges(
    estimator: BaseEstimator, X: Table, kept: AnyArray | None = None, *, gaps: bool = False
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return lowest and highest value of every column, and which have missing values.

    `kept` (n_rows,) marks the rows that count; None: all. Infinity is refused, and so is NaN unless
    `gaps`, naming the column. The ends of a column of gaps alone are NaN. Columns that the
    estimator drops may hold anything, and count as such.
    """
    n = X.shape[1]
    lo, hi, has_gap = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n, dtype=bool)
    with np.errstate(invalid="ignore"):
        for rows, piece in chunks_of(X):
            counted = piece if kept is None else piece[kept[rows]]
            if counted.shape[0]:
                least, most, missing = ranges(counted)
                lo, hi = np.fmin(lo, least), np.fmax(hi, most)
                has_gap |= missing
    dropped = list(getattr(getattr(estimator, "_columns", None), "dropped", ()))
    has_gap[dropped] = False
    empty = lo > hi
    empty[dropped] = True
    lo[empty], hi[empty] = np.nan, np.nan
    _check_finite(estimator, X, np.isinf(lo) | np.isinf(hi), "infinity")
    if not gaps:
        _check_finite(estimator, X, has_gap, "NaN")
    return lo, hi, has_gap


def check_in_range(
    estimator: BaseEstimator, values: AnyArray, j: int, lo: float, hi: float, first_row: int = 0
) -> None:
    """Refuse values (n,) of column j that lie outside [lo, hi]; they start at row `first_row`."""
    outside = (values < lo) | (values > hi)
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"Input X holds {values[row]} in {feature_label(estimator, j)}, row {first_row + row}, "
            f"outside its range of {lo} to {hi}, and extrapolation='error' refuses that. "
            "Use 'constant' or 'linear' to go on beyond the range."
        )


def _check_finite(estimator: BaseEstimator, X: Table, bad: NDArray[np.bool_], found: str) -> None:
    """Refuse NaN or infinity in columns that were found to have some."""
    if not bad.any():
        return
    wrong_in = np.isnan if found == "NaN" else np.isinf
    j = int(np.argmax(bad))
    row = next(
        rows.start + int(np.argmax(wrong))
        for rows, piece in chunks_of(X)
        if (wrong := wrong_in(as_dense(piece[:, [j]])[:, 0])).any()
    )
    more = int(bad.sum()) - 1
    others = f" and {more} other column{'s' if more > 1 else ''}" if more else ""
    raise ValueError(
        f"Input X contains {found} in {feature_label(estimator, j)} (first in row {row}){others}; "
        f"{type(estimator).__name__} needs finite numbers. {_advice(estimator, found)}"
    )


def _advice(estimator: BaseEstimator, found: str) -> str:
    """Say what to do about NaN or infinity."""
    has_choice = found == "NaN" and hasattr(estimator, "missing")
    other = "Use missing='level', or impute" if has_choice else "Impute"
    return f"{other} or drop them first, for example with sklearn.impute.SimpleImputer."
