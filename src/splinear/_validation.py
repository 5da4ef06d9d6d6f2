"""Checks at the boundary: once, before any work, with messages that name what is wrong."""

from __future__ import annotations

from datetime import date, time, timedelta
from functools import partial
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from splinear._knots import MAX_BINS, RULES, KnotPlan
from splinear._reading import (
    as_dense,
    chunks_of,
    column_of,
    is_frame,
    is_missing,
    left_out_zeros,
    numbers,
)
from splinear._sparse import as_csr, is_sparse, ranges
from splinear._types import AnyArray, Floats, Table
from splinear._zero import axes_from_zero
from splinear.axes import Axes, standardised
from splinear.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis
from splinear.embedding import Embedding

__all__ = [
    "EMBEDDING_CONSTRAINTS",
    "check_in_range",
    "check_source",
    "check_table",
    "check_weights",
    "draw_seed",
    "feature_label",
    "fit_embedding",
    "goes_through_zero",
    "make_basis",
    "plan_knots",
    "refuse_dates",
    "text_columns",
]

NUMBERS = (Number, np.number, np.bool_, date, time, timedelta)  # dates are refused elsewhere
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


def feature_label(estimator: BaseEstimator, j: int) -> str:
    """Name feature j as a user knows it."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def plan_knots(estimator: BaseEstimator) -> KnotPlan:
    """Read the parameters `knots` and `n_bins` of a transformer that knows its columns."""
    return KnotPlan.read(
        estimator.knots,
        estimator.n_bins,
        estimator.n_features_in_,
        getattr(estimator, "feature_names_in_", None),
        partial(feature_label, estimator),
    )


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool, **options: Any) -> Any:
    """Validate X (and y, if given): 2-D, numeric, real, the columns of fit; not yet finite.

    float32, float64 and whole numbers stay as they are, without a copy. A sparse X is given by
    rows, in floats.
    """
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
        X = np.ma.filled(X.astype(np.float64), np.nan)
    refuse_dates(X)
    _refuse_text(X, reset=reset)
    X = _without_objects(X)
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


def _refuse_text(X: Any, *, reset: bool) -> None:
    """Point at the columns that hold no numbers."""
    columns = text_columns(X)
    if isinstance(X, np.ndarray) and X.dtype == object:  # what is not even text, NumPy refuses
        columns = [j for j in columns if any(isinstance(value, str) for value in X[:, j])]
    text = [_name_of(X, j) for j in columns]
    if text and not reset:
        raise ValueError(
            f"X must be numeric, as it was in fit, but these columns hold text or categories: "
            f"{', '.join(text)}. Convert them to numbers."
        )
    if text:
        raise ValueError(
            f"X must be numeric, but these columns hold text or categories: {', '.join(text)}. "
            "Encode them first, for example with sklearn.preprocessing.OneHotEncoder; the additive "
            "estimators take them as they are with categorical_features='from_dtype'."
        )


def _without_objects(X: Any) -> Any:
    """Read the columns of objects of a pandas data frame, all of them numbers, as floats."""
    objects = [j for j, dtype in _dtypes(X) if dtype == "object"]
    if not objects or not hasattr(X, "iloc"):
        return X
    X = X.copy(deep=False)
    for j in objects:
        X.isetitem(j, numbers(column_of(X, j), f"column {_name_of(X, j)!r}"))
    return X


def _name_of(X: Any, j: int) -> str:
    return str(X.columns[j]) if hasattr(X, "columns") else f"column {j}"


def refuse_dates(X: Any) -> None:
    """Point at the columns that hold dates, times, periods or intervals."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        dates = [f"column {j}" for j in range(X.shape[1] if X.ndim == 2 else 1)]
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        dates = [f"column {j}" for j in range(X.shape[1]) if _holds_dates(X[:, j])]
    else:
        dates = [
            str(X.columns[j])
            for j, dtype in _dtypes(X)
            if dtype.lower().startswith(("date", "time", "period", "interval", "duration"))
            or (dtype == "object" and _holds_dates(np.asarray(column_of(X, j), dtype=object)))
        ]
    if dates:
        shown = ", ".join(dates[:10])
        raise ValueError(
            "X must hold numbers or categories, but these columns hold dates, times or intervals: "
            f"{shown}. Give numbers instead, for example days since a fixed day, the month, the "
            "hour or the middle of an interval; or text, to have categories."
        )


def _holds_dates(values: AnyArray) -> bool:
    kinds = (date, time, timedelta, np.datetime64, np.timedelta64)
    return any(
        isinstance(value, kinds) or type(value).__name__ == "Period"  # of pandas
        for value in values.tolist()
    )


def text_columns(X: Any) -> list[int]:
    """Find the columns of a data frame, an array of objects or a file that hold text."""
    if hasattr(X, "text_columns"):
        found: list[int] = X.text_columns()
        return found
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "US" and X.ndim == 2:
            return list(range(X.shape[1]))
        if X.dtype != object or X.ndim != 2:
            return []
        return [j for j in range(X.shape[1]) if _is_text(X[:, j], "object")]
    return [j for j, dtype in _dtypes(X) if _is_text(column_of(X, j), dtype)]


def _dtypes(X: Any) -> list[tuple[int, str]]:
    """Name the type of every column of a data frame; nothing for all else."""
    if not is_frame(X):
        return []
    return [(j, str(dtype)) for j, dtype in enumerate(X.dtypes)]


def _is_text(values: Any, dtype: str) -> bool:
    if dtype == "object":
        found = np.asarray(values, dtype=object).tolist()
        if any(isinstance(value, str) for value in found):
            return True
        return any(not isinstance(value, NUMBERS) and not is_missing(value) for value in found)
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
    lo, hi, _ = column_ranges(estimator, X, kept)
    order, native = int(penalty_order), scale == "native"
    if through_zero:
        if scale == "standard":
            raise ValueError(
                "scale='standard' moves zero, but curves that are zero at zero, as sparse X needs "
                "them, keep it in its place; use scale='unit' or 'native'."
            )
        label = partial(feature_label, estimator)
        axes = axes_from_zero(X, lo, hi, basis, plan, label, kept, weights)
        return Embedding.of(axes, basis, order, native=native, through_zero=True)
    knots = plan.place(X, lo, hi, kept, weights)
    axes = Axes.spanning(*plan.ranges(lo, hi), basis, knots, plan.n_bins)
    if scale == "standard":
        axes = standardised(X, np.arange(X.shape[1]), kept, axes)
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


def draw_seed(random_state: Any) -> int:
    """Draw a seed for the core; the same for the same whole number."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def positive(kind: type = Real) -> Interval:
    """Give the constraint of a number greater than zero."""
    return Interval(kind, 0, None, closed="neither")
