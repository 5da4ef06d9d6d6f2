"""Checks at the boundary: once, before any work, with messages that name what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from splinear._knots import MAX_BINS, RULES, KnotPlan
from splinear._reading import as_dense, chunks_of, column_of, float_chunks, left_out_zeros
from splinear._sparse import as_csr, is_sparse, ranges
from splinear._types import AnyArray, Floats, Table
from splinear._zero import axes_from_zero
from splinear.axes import Axes
from splinear.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis
from splinear.embedding import Embedding

__all__ = [
    "EMBEDDING_CONSTRAINTS",
    "check_in_range",
    "check_source",
    "check_table",
    "check_weights",
    "column_label",
    "draw_seed",
    "feature_label",
    "fit_embedding",
    "goes_through_zero",
    "make_basis",
    "plan_knots",
    "text_columns",
]

MAX_HERMITE = 150  # from 169 on, n n! is beyond the largest double

EMBEDDING_CONSTRAINTS: dict[str, list[Any]] = {
    "degree": [Interval(Integral, 0, None, closed="left")],
    "n_bins": [Interval(Integral, 1, MAX_BINS, closed="both"), "array-like"],
    "penalty_order": [Interval(Integral, 0, None, closed="left")],
    "knots": [StrOptions(set(RULES)), "array-like", dict],
    "through_zero": [StrOptions({"auto"}), "boolean"],
    "scale": [StrOptions({"unit", "native", "standard"})],
}


def make_basis(
    basis: str,
    degree: int,
    n_bins: int,
    penalty_order: int,
    scale: str,
    *,
    through_zero: bool = False,
) -> Basis:
    """Turn the names and numbers of a constructor into a basis, or say why they do not fit."""
    if scale == "standard" and basis != "hermite":
        raise ValueError(
            "scale='standard' is for basis='hermite' only; "
            f"basis={basis!r} takes 'unit' or 'native'."
        )
    if basis == "bspline":
        if degree > 3:
            raise ValueError(f"degree must be 0, 1, 2 or 3 for basis='bspline'; got {degree}.")
        bin_for_zero = through_zero and degree == 0
        return BSplineBasis(int(degree), int(n_bins) + bin_for_zero)
    if degree < 1:
        raise ValueError(f"degree must be at least 1 for basis={basis!r}; got {degree}.")
    if penalty_order not in (1, 2):
        raise ValueError(
            f"penalty_order must be 1 or 2 for basis={basis!r}; got {penalty_order}. "
            "Other orders are for basis='bspline'."
        )
    if basis == "fourier":
        return FourierBasis(int(degree))
    if degree > MAX_HERMITE:
        raise ValueError(f"degree must be at most {MAX_HERMITE} for basis='hermite'; got {degree}.")
    return HermiteBasis(int(degree))


def column_label(estimator: BaseEstimator, column: int) -> str:
    """Name the user's feature that a column of the model belongs to."""
    columns = getattr(estimator, "columns_", None)
    return feature_label(estimator, column if columns is None else columns.feature_of(column))


def feature_label(estimator: BaseEstimator, j: int) -> str:
    """Name feature j as a user knows it."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def plan_knots(estimator: BaseEstimator) -> KnotPlan:
    """Read the parameters `knots` and `n_bins` of an estimator that knows its columns.

    They are about the user's features; the plan is about the columns of the model.
    """
    plan = KnotPlan.read(
        estimator.knots,
        estimator.n_bins,
        estimator.n_features_in_,
        getattr(estimator, "feature_names_in_", None),
        partial(feature_label, estimator),
    )
    columns = getattr(estimator, "columns_", None)
    return plan if columns is None else plan.spread(np.diff(columns.starts))


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool, **options: Any) -> Any:
    """Validate X (and y, if given): 2-D, numeric, real, the columns of fit; not yet finite.

    float32, float64 and whole numbers stay as they are, without a copy. A sparse X is given by
    rows, in floats.
    """
    _refuse_text(X)
    _refuse_dates(X)
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
    text_columns(X)  # refuses dates, for example
    return X


def _refuse_text(X: Any) -> None:
    """Point at the columns of a data frame that hold no numbers."""
    text = [str(X.columns[j]) for j in text_columns(X)]
    if text:
        raise ValueError(
            f"X must be numeric, but these columns hold text or categories: {', '.join(text)}. "
            "Encode them first, for example with sklearn.preprocessing.OneHotEncoder."
        )


def _refuse_dates(X: Any) -> None:
    """Point at the columns of a data frame that hold dates or times."""
    dates = [str(X.columns[j]) for j, dtype in _dtypes(X) if dtype.startswith(("date", "time"))]
    if dates:
        raise ValueError(
            f"X must be numeric, but these columns hold dates or times: {', '.join(dates)}. Give "
            "numbers instead, for example days since a fixed day, or the month."
        )


def text_columns(X: Any) -> list[int]:
    """Find the columns of a data frame, or of a file, that hold text or categories."""
    if hasattr(X, "text_columns"):
        found: list[int] = X.text_columns()
        return found
    return [j for j, dtype in _dtypes(X) if _is_text(column_of(X, j), dtype)]


def _dtypes(X: Any) -> list[tuple[int, str]]:
    """Name the type of every column of a data frame; nothing for all else."""
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        return []
    return [(j, str(dtype)) for j, dtype in enumerate(X.dtypes)]


def _is_text(values: Any, dtype: str) -> bool:
    if dtype == "object":
        try:
            np.asarray(values).astype(np.float64)
        except (TypeError, ValueError):
            return True
        return False
    kinds = ("category", "str", "String", "Categ", "Enum", "large_string", "dictionary")
    return dtype.startswith(kinds) and not dtype.startswith("struct")


def check_weights(sample_weight: Any, X: AnyArray) -> Floats | None:
    """Validate the rows' weights: None, or one finite number >= 0 per row, not all 0."""
    if sample_weight is None:
        return None
    weights: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64)
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
    estimator: BaseEstimator, X: Table, kept: AnyArray | None = None
) -> tuple[Floats, Floats]:
    """Give lowest and highest value of every column; refuse NaN and infinity, naming the column.

    `kept` (n_rows,) marks the rows that count; None: all.
    """
    lo, hi = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    with np.errstate(invalid="ignore"):
        for rows, piece in chunks_of(X):
            counted = piece if kept is None else piece[kept[rows]]
            if counted.shape[0]:
                least, most = ranges(counted)
                lo, hi = np.minimum(lo, least), np.maximum(hi, most)
    _check_finite(estimator, X, lo, hi)
    return lo, hi


def _check_finite(estimator: BaseEstimator, X: Table, lo: Floats, hi: Floats) -> None:
    """Refuse NaN and infinity, given the columns' lowest and highest values."""
    bad = ~(np.isfinite(lo) & np.isfinite(hi))
    if not bad.any():
        return
    j = int(np.argmax(bad))
    row, value = next(
        (rows.start + int(np.argmax(wrong)), column[np.argmax(wrong)])
        for rows, piece in chunks_of(X)
        if (wrong := ~np.isfinite(column := as_dense(piece[:, [j]])[:, 0])).any()
    )
    found = "NaN" if np.isnan(value) else "infinity"
    more = int(bad.sum()) - 1
    others = f" and {more} other column{'s' if more > 1 else ''}" if more else ""
    raise ValueError(
        f"Input X contains {found} in {column_label(estimator, j)} (first in row {row}){others}; "
        f"{type(estimator).__name__} needs finite numbers. {_advice(estimator, X, found)}"
    )


def _advice(estimator: BaseEstimator, X: Table, found: str) -> str:
    """Say what to do about NaN or infinity."""
    policy = getattr(estimator, "missing", None) if found == "NaN" else None
    if policy == "level" and left_out_zeros(X):
        return "Missing values have no level in sparse X; give a column of 0 and 1 for them."
    if policy == "level":
        return "There were no missing values in fit, so that this feature has no level for them."
    other = "Use missing='level', or impute" if policy == "error" else "Impute"
    return f"{other} or drop them first, for example with sklearn.impute.SimpleImputer."


def fit_embedding(
    estimator: BaseEstimator,
    X: Table,
    basis: Basis,
    *,
    plan: KnotPlan,
    penalty_order: int,
    scale: str,
    through_zero: bool = False,
    kept: AnyArray | None = None,
    weights: Floats | None = None,
) -> Embedding:
    """Learn every column's axis from X, and scale and penalise its curve as asked.

    `kept` (n_rows,) marks the rows that count, None: all; `weights` (n_rows,) say how much.
    """
    lo, hi = column_ranges(estimator, X, kept)
    order, native = int(penalty_order), scale == "native"
    if through_zero:
        if scale == "standard":
            raise ValueError(
                "scale='standard' moves zero, but curves that are zero at zero, as sparse X needs "
                "them, keep it in its place; use scale='unit' or 'native'."
            )
        label = partial(column_label, estimator)
        axes = axes_from_zero(X, lo, hi, basis, plan, label, kept, weights)
        return Embedding.of(axes, basis, order, native=native, through_zero=True)
    knots = plan.place(X, lo, hi, kept, weights)
    axes = Axes.spanning(*plan.ranges(lo, hi), basis, knots, plan.n_bins)
    if scale == "standard":
        axes = _standardised(X, kept, axes)
    return Embedding.of(axes, basis, order, native=native)


def goes_through_zero(estimator: BaseEstimator, X: Any) -> bool:
    """Settle whether the curves are zero at zero: as asked, or if X is sparse."""
    wanted = estimator.through_zero
    if wanted == "auto":
        return left_out_zeros(X)
    if is_sparse(X) and not wanted:
        raise ValueError(
            "through_zero=False needs a dense X, as zeros then count; got a sparse one. Use "
            "through_zero='auto' or True, or X.toarray()."
        )
    return bool(wanted)


def check_in_range(
    estimator: BaseEstimator, values: AnyArray, j: int, axes: Axes, first_row: int = 0
) -> None:
    """Refuse values (n,) of column j that lie outside its range; they start at row `first_row`."""
    lo, hi = axes.lo[j], axes.hi[j]
    outside = (values < lo) | (values > hi)
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"Input X holds {values[row]} in {column_label(estimator, j)}, row {first_row + row}, "
            f"outside its range of {lo} to {hi}, and extrapolation='error' refuses that. "
            "Use 'constant' or 'linear' to go on beyond the range."
        )


def _standardised(X: Table, kept: AnyArray | None, axes: Axes) -> Axes:
    """Let each axis run over the column's values in standard deviations from its mean."""
    # Measured on [first, last], where no square of a value can overflow or vanish.
    straight = replace(axes, knots=None)

    def mean_of(function: Callable[[Floats], Floats]) -> Floats:
        total, n = np.zeros(axes.n_features), 0
        for rows, piece in float_chunks(X):
            counted = piece if kept is None else piece[kept[rows]]
            # A column of its own in memory is summed as accurately as it can be.
            total += function(straight.argument(counted)).T.copy().sum(axis=1)
            n += len(counted)
        return total / n

    mean = mean_of(lambda place: place)
    std = np.sqrt(mean_of(lambda place: (place - mean) ** 2))
    first, last, j = axes.first.copy(), axes.last.copy(), axes.varies
    first[j], last[j] = (first[j] - mean[j]) / std[j], (last[j] - mean[j]) / std[j]
    return replace(axes, first=first, last=last)


def draw_seed(random_state: Any) -> int:
    """Draw a seed for the core; the same for the same whole number."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def positive(kind: type = Real) -> Interval:
    """Give the constraint of a number greater than zero."""
    return Interval(kind, 0, None, closed="neither")
