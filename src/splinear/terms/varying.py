"""Varying: a slope, or a curve, that depends on another feature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from splinear._compat import InvalidParameterError
from splinear._types import Constraints, Floats
from splinear.terms.axes import Axes, standardized
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.basis import BSplineBasis
from splinear.terms.category import Category
from splinear.terms.group import Extrapolation, TermGroup
from splinear.terms.pair_group import Chain
from splinear.terms.spline import Spline
from splinear.terms.varying_group import VaryingGroup

__all__ = ["Varying"]

MOST_CURVES = 1_000  # of a category `by`: every two of its levels take a number


class Varying(Term):
    """A varying coefficient: a slope, or a curve, that depends on another feature.

    It is given for two features, ``terms={(of, by): Varying()}``, and stands beside the terms that
    each of them has alone:

    - `of` and `by` are numbers, x and z: z f(x), a slope of z that varies with x;
    - `of` is a category and `by` a number: a slope of z per level, a random slope;
    - `of` is a number and `by` a category: a curve of x per level.

    All of it is relative to the features' own terms: the mean slope of z is part of the term of z,
    the mean of a level's curve is part of the effect of the level, and what the curves of all
    levels have in common is left to the curve of x where that is smoother. A number `by` is
    centered, so that the curve of x is that at the mean of z, and it has the standard deviation 1
    in the penalty, so that neither its unit nor its origin matters.

    Beyond the training range of either number the nearest value in it counts. A missing `by` counts
    as the mean if it is a number, and as a level if it is a category. A missing `of` has a slope of
    its own, and a level of `of` or `by` that did not occur in fit adds nothing.

    Parameters
    ----------
    curve : Spline, Category or None, default=None
        The functions f of `of`, with their penalty: a ``Spline`` of degree 1 without a shape
        constraint, or a ``Category``. None means the default of the estimator for such a feature.
        Where smoothness is chosen from the data, f has variances of its own; curves per level share
        them.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from splinear import AdditiveRegressor
    >>> from splinear.terms import Varying
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.uniform(20, 80, 500), "dose": rng.uniform(0, 10, 500)})
    >>> y = X["dose"] * np.sin(X["age"] / 20) + rng.normal(0, 0.1, 500)
    >>> model = AdditiveRegressor(terms={("age", "dose"): Varying()}).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.999
    """

    _parameter_constraints: Constraints = {"curve": [Spline, Category, None]}  # noqa: RUF012

    def __init__(self, curve: Spline | Category | None = None) -> None:
        self.curve = curve

    def check(self) -> None:
        """Check the parameters."""
        super().check()
        curve = self.curve
        if curve is None:
            return
        curve.check()
        if isinstance(curve, Category):
            return
        if curve.degree != 1 or curve.form is not None:
            raise InvalidParameterError(
                "Varying(curve=...) takes a Spline of degree 1 without `monotone` and `curvature`; "
                f"got {curve!r}."
            )
        if curve.extrapolation in ("linear", "error") or curve.through_zero is True:
            raise InvalidParameterError(
                "Varying(curve=...) takes a Spline that is constant beyond the training range, and "
                f"need not be zero at zero; got {curve!r}."
            )

    def check_columns(self, of: int, by: int, data: ColumnData) -> None:
        """Check the kinds of the columns `of` and `by`."""
        is_category = of in data.levels
        if is_category and by in data.levels:
            raise ValueError(
                f"Varying needs a number: {data.label(of)} and {data.label(by)} are categories. "
                "Use Pair()."
            )
        if len(data.levels.get(by, ())) > MOST_CURVES:
            raise ValueError(
                f"{data.label(by)} has {len(data.levels[by]):,} levels, and Varying has a curve "
                f"for each of at most {MOST_CURVES:,}. Use Pair(), which joins levels of similar "
                "effects."
            )
        if self.curve is not None and isinstance(self.curve, Category) != is_category:
            what = "text or categories" if is_category else "numbers"
            raise ValueError(
                f"{data.label(of)} holds {what}, and cannot have {self.curve!r}. The curve of "
                "Varying is that of the first of its two features."
            )

    def place_two(self, of: int, by: int, data: ColumnData, advice: Advice) -> VaryingGroup | None:
        """Return the term of the columns `of` and `by`; None if either has a single value."""
        curve = self.curve
        if curve is None:
            # Smooth: bends alone, and knots at equal distances unless there is a long tail.
            order = 2 if advice.without_level else 1
            curve = Category() if of in data.levels else Spline(penalty_order=order)
            advice = replace(advice, quantiles=False)
        [group] = curve.place(np.array([of], dtype=np.intp), data, advice)
        group = replace(group, extrapolation=Extrapolation.CONSTANT)
        by_chain, values = _of_levels(by, data) if by in data.levels else _of_number(by, data)
        if not group.embedding.used.any() or len(values) < 2 or not values.any():
            return None
        curves = group.of_features(np.zeros(values.shape[1], dtype=np.intp))
        return VaryingGroup.between((_chain_of(group), by_chain), curves, values)


def _chain_of(group: TermGroup) -> Chain:
    """Return the nodes at which the functions of a group of one feature are 1."""
    [feature] = group.features.tolist()
    if group.levels is not None:
        nodes = np.arange(len(group.levels[0]))
        return Chain(feature, node_of_level=nodes, has_missing=group.has_gaps)
    return Chain(feature, knots=group.embedding.axes.edges_of(0), has_missing=group.has_gaps)


def _of_levels(by: int, data: ColumnData) -> tuple[Chain, Floats]:
    """Return the levels of a category as nodes, with a function for each."""
    nodes = np.arange(len(data.levels[by]))
    chain = Chain(by, node_of_level=nodes, has_missing=bool(data.has_gap[by]))
    return chain, np.eye(chain.n_nodes)


def _of_number(by: int, data: ColumnData) -> tuple[Chain, Floats]:
    """Return the ends of a number's range as nodes, and its standardized values there."""
    lo, hi = data.ranges([by])
    basis, has_missing = BSplineBasis(1, 1), bool(data.has_gap[by])
    chain = Chain(by, knots=np.concatenate([lo, hi]), has_missing=has_missing)
    if not lo < hi:
        return chain, np.zeros((chain.n_nodes, 1))
    whole = Axes.spanning(lo, hi, basis)
    axes = standardized(data.table, np.array([by]), data.kept, whole, data.weights)
    ends = np.concatenate([axes.first, axes.last])
    return chain, np.append(ends, np.zeros(int(has_missing)))[:, None]  # a missing z is the mean
