"""The embedding of a transformer, from its parameters and the columns of a table."""

from __future__ import annotations

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from splinear._compat import Interval, StrOptions
from splinear._types import Constraints
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

__all__ = ["EMBEDDING_CONSTRAINTS", "fit_embedding"]

EMBEDDING_CONSTRAINTS: Constraints = {
    "degree": [Interval(Integral, 0, MAX_FREQUENCIES, closed="both")],
    "n_bins": [Interval(Integral, 1, MAX_BINS, closed="both"), "array-like"],
    "penalty_order": [Interval(Integral, 0, MAX_ORDER, closed="both")],
    "knots": [StrOptions(set(RULES)), "array-like", dict],
    "through_zero": [StrOptions({"auto"}), "boolean"],
    "scale": [StrOptions({"unit", "native", "standard"})],
}


def fit_embedding(transformer: BaseEstimator, X: Table) -> Embedding:
    """Return the embedding of X for the parameters of a transformer."""
    label = partial(feature_label, transformer)
    names = getattr(transformer, "feature_names_in_", None)
    plan = KnotPlan.read(transformer.knots, transformer.n_bins, X.shape[1], names, label)
    through_zero = _goes_through_zero(transformer.through_zero, X)
    basis = _make_basis(transformer, plan.most_bins, through_zero=through_zero)
    lo, hi, _ = column_ranges(transformer, X)
    order, native = int(transformer.penalty_order), transformer.scale == "native"
    if through_zero:
        if transformer.scale == "standard":
            raise ValueError(
                "scale='standard' moves zero, but sparse X needs curves that are zero at zero; use "
                "scale='unit' or 'native'."
            )
        axes = axes_from_zero(X, lo, hi, basis, plan, label)
        return Embedding.of(axes, basis, order, native=native, through_zero=True)
    knots = plan.place(X, lo, hi)
    axes = Axes.spanning(*plan.ranges(lo, hi), basis, knots, plan.n_bins)
    if transformer.scale == "standard":
        axes = standardized(X, np.arange(X.shape[1]), None, axes)
    return Embedding.of(axes, basis, order, native=native)


def _goes_through_zero(wanted: bool | str, X: Table) -> bool:
    """Return whether curves are zero at zero: as `wanted`, or for "auto" if X is sparse."""
    if wanted == "auto":
        return X.is_sparse
    if X.is_sparse and not wanted:
        raise ValueError(
            "through_zero=False needs a dense X, as zeros then count; got a sparse one. Use "
            "through_zero='auto' or True, or X.toarray()."
        )
    return bool(wanted)


def _make_basis(transformer: BaseEstimator, n_bins: int, *, through_zero: bool) -> Basis:
    """Return the basis that the parameters ask for; raise if they do not fit together."""
    kind, degree, order = type(transformer).__name__, transformer.degree, transformer.penalty_order
    family = transformer._family
    if transformer.scale == "standard" and family is not HermiteBasis:
        raise ValueError(
            f"scale='standard' is for HermiteEmbedding only; {kind} takes 'unit' or 'native'."
        )
    if family is BSplineBasis:
        if degree > 3:
            raise ValueError(f"degree must be 0, 1, 2 or 3 for {kind}; got {degree}.")
        bin_for_zero = through_zero and degree == 0
        return BSplineBasis(int(degree), int(n_bins) + bin_for_zero)
    if degree < 1:
        raise ValueError(f"degree must be at least 1 for {kind}; got {degree}.")
    if order not in (1, 2):
        raise ValueError(
            f"penalty_order must be 1 or 2 for {kind}; got {order}. Other orders are for "
            "SplineEmbedding."
        )
    if family is FourierBasis:
        return FourierBasis(int(degree))
    if degree > MAX_HERMITE:
        raise ValueError(f"degree must be at most {MAX_HERMITE} for {kind}; got {degree}.")
    return HermiteBasis(int(degree))
