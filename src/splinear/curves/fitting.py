"""Embeddings from the parameters of a transformer and the columns of a table."""

from __future__ import annotations

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from splinear._compat import Interval, StrOptions
from splinear._types import AnyArray, Constraints, Floats
from splinear.curves.axes import Axes, standardized
from splinear.curves.basis import (
    MAX_FREQUENCIES,
    MAX_HERMITE,
    Basis,
    BSplineBasis,
    FourierBasis,
    HermiteBasis,
)
from splinear.curves.embedding import Embedding
from splinear.curves.knot_plan import MAX_BINS, RULES, KnotPlan
from splinear.curves.through_zero import axes_from_zero
from splinear.penalties import MAX_ORDER
from splinear.tables.checks import column_ranges, feature_label
from splinear.tables.table import Table

__all__ = [
    "EMBEDDING_CONSTRAINTS",
    "fit_embedding",
    "goes_through_zero",
    "make_basis",
    "plan_knots",
]

EMBEDDING_CONSTRAINTS: Constraints = {
    "degree": [Interval(Integral, 0, MAX_FREQUENCIES, closed="both")],
    "n_bins": [Interval(Integral, 1, MAX_BINS, closed="both"), "array-like"],
    "penalty_order": [Interval(Integral, 0, MAX_ORDER, closed="both")],
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


def plan_knots(estimator: BaseEstimator) -> KnotPlan:
    """Read the parameters `knots` and `n_bins` of a transformer that knows its columns."""
    return KnotPlan.read(
        estimator.knots,
        estimator.n_bins,
        estimator.n_features_in_,
        getattr(estimator, "feature_names_in_", None),
        partial(feature_label, estimator),
    )


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
    """Learn every column's axis from X, and scale and penalize its curve as asked.

    `kept` (n_rows,) marks the rows that count, None: all; `weights` (n_rows,) say how much.
    """
    lo, hi, _ = column_ranges(estimator, X, kept)
    order, native = int(penalty_order), scale == "native"
    if through_zero:
        if scale == "standard":
            raise ValueError(
                "scale='standard' moves zero, but sparse X needs curves that are zero at zero; use "
                "scale='unit' or 'native'."
            )
        label = partial(feature_label, estimator)
        axes = axes_from_zero(X, lo, hi, basis, plan, label, kept, weights)
        return Embedding.of(axes, basis, order, native=native, through_zero=True)
    knots = plan.place(X, lo, hi, kept, weights)
    axes = Axes.spanning(*plan.ranges(lo, hi), basis, knots, plan.n_bins)
    if scale == "standard":
        axes = standardized(X, np.arange(X.shape[1]), kept, axes)
    return Embedding.of(axes, basis, order, native=native)


def goes_through_zero(estimator: BaseEstimator, X: Table) -> bool:
    """Settle whether the curves are zero at zero: as asked, or if X is sparse."""
    wanted = estimator.through_zero
    if wanted == "auto":
        return X.is_sparse
    if X.is_sparse and not wanted:
        raise ValueError(
            "through_zero=False needs a dense X, as zeros then count; got a sparse one. Use "
            "through_zero='auto' or True, or X.toarray()."
        )
    return bool(wanted)
