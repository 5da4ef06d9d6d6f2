"""Spline: the paper's B-spline curve under a difference penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from splinear._compat import Interval, StrOptions
from splinear._types import AnyArray, Constraints, Floats
from splinear.penalties import MAX_ORDER
from splinear.terms.axes import Axes
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.basis import BSplineBasis
from splinear.terms.embedding import Embedding
from splinear.terms.form import Form
from splinear.terms.group import Extrapolation, TermGroup, size_class, split_by
from splinear.terms.knot_plan import MAX_BINS, RULES, KnotPlan, checked_rule
from splinear.terms.knots import (
    FOR_COUNTS,
    FOR_QUANTILES,
    Sample,
    all_spread_knots,
    ascending,
    filled,
    has_long_tail,
    n_distinct,
    quantile_knots,
    samples,
    spread_knots,
    suspects,
    tail_knots,
    with_ends,
)
from splinear.terms.through_zero import axes_from_zero, no_longer_than_linear

__all__ = ["Division", "Spline"]

WAYS = {"increasing": 1, "decreasing": -1}
BENDS = {"convex": 1, "concave": -1}
EQUAL = ("auto", "uniform")  # rules that can give pieces of equal width
MOST_HELD = 64  # default number of pieces under shape constraints, at most: docs/shapes.md


@dataclass(eq=False)
class Division:
    """The ranges, numbers of bins and knots of some features.

    Knots are None for pieces of equal width. `by_value` marks the features with a knot at every
    value in the sample. `n_wanted` is the number of bins asked for.
    """

    lo: Floats
    hi: Floats
    n_bins: NDArray[np.intp]
    knots: list[Floats | None]
    by_value: NDArray[np.bool_]
    n_wanted: int

    def set_knots(self, k: int, knots: Floats, seen: Sample | None = None) -> None:
        """Set the knots of a feature and, unless it is constant between them, its range."""
        lo, hi = np.clip([self.lo[k], self.hi[k]], knots[0], knots[-1])
        if not lo < hi:
            self.lo[k], self.hi[k] = lo, hi
            return
        self.lo[k], self.hi[k] = knots[0], knots[-1]
        self.n_bins[k] = len(knots) - 1
        self.by_value[k] = (
            seen is not None
            and len(seen.distinct) <= len(knots)
            and bool(np.isin(seen.distinct, knots).all())
        )
        self.knots[k] = knots if len(knots) > 2 else None

    def set_many(self, at: NDArray[np.intp], knots: Floats) -> None:
        """Set the knots and ranges of some features, one row each, with NaN after the last.

        `by_value` stays False for them.
        """
        n_knots = np.count_nonzero(~np.isnan(knots), axis=1)
        self.lo[at], self.hi[at] = knots[:, 0], knots[np.arange(len(at)), n_knots - 1]
        self.n_bins[at] = n_knots - 1
        for k, n, row in zip(at.tolist(), n_knots.tolist(), knots, strict=True):
            self.knots[k] = row[:n] if n > 2 else None

    def size_class(self, degree: int) -> AnyArray:
        """Return the size class of each feature's table; the wanted size is a class of its own."""
        classes = size_class(self.n_bins + degree)
        return np.where(self.n_bins == self.n_wanted, -1, classes)

    def knot_table(self, at: NDArray[np.intp]) -> Floats | None:
        """Return the knots of some features, one row each, with NaN after the last.

        The result is None if all pieces have equal width.
        """
        placed = [self.knots[k] for k in at]
        if all(knots is None for knots in placed):
            return None
        out = np.full((len(at), int(self.n_bins[at].max()) + 1), np.nan)
        for row, knots in zip(out, placed, strict=True):
            if knots is not None:
                row[: len(knots)] = knots
        return out


class Spline(Term):
    """A curve of polynomial pieces under a penalty that keeps it smooth.

    f(x) = coef' B(x), with B the n_bins + degree B-splines of the given degree over the feature's
    training range. The penalty is ``1/2 |D_d coef|^2 / s^2``: D_0 is the identity and shrinks the
    coefficients themselves, D_1 takes differences of neighbors and shrinks slopes, D_2 takes
    differences of these and shrinks curvature.

    Parameters
    ----------
    n_bins : int or None, default=None
        The number of pieces. None lets the estimator choose: many where smoothness is chosen from
        the data, fewer on wide tables, at most 64 for curves with `monotone` or `curvature`, and,
        with knots="auto", one between any two neighboring values of a feature with few distinct
        values.
    degree : int, default=1
        The degree of the pieces, 0 to 3.
    penalty_order : int, default=1
        The order d of the penalty, 0 to 10.
    knots : {"auto", "uniform", "quantile"} or sequence of float, default="auto"
        Where pieces meet. "uniform" gives them equal width. "quantile" puts a knot at each value if
        there are no more than n_bins + 1 distinct values, and otherwise at quantiles, half of them
        of the rows and half of the distinct values. "auto" lets the estimator choose: where
        smoothness is chosen from the data, a third of the knots are quantiles of the rows, a third
        are equal steps, and the others are quantiles of the remaining values; otherwise pieces have
        equal width, unless a feature has a long tail. A sequence gives the knots themselves, two or
        more ascending numbers; the first and the last are the ends of the range. Pieces of degree 2
        or 3 and unequal width meet with a kink: their slopes differ by the ratio of their widths.
        "uniform" avoids this.
    monotone : {"increasing", "decreasing"} or None, default=None
        "increasing": the curve may not fall; "decreasing": it may not rise. This is a constraint of
        the fit, not a correction afterward. If the feature has surfaces, the constraint applies to
        the sum of the curve and its surfaces.
    curvature : {"convex", "concave"} or None, default=None
        Which way the curve may bend, over the training range; beyond it only with
        extrapolation="linear". Needs a degree of at least 1, and pieces of equal width for degrees
        2 and 3, which knots="auto" then chooses.
    extrapolation : {"auto", "constant", "linear", "error"}, default="auto"
        How a value outside the training range is treated in prediction. "constant": as the nearest
        end of the range. "linear": the curve continues as a straight line with its slope at that
        end. "error": it raises an error. "auto": "linear" where smoothness is chosen from 20 to
        1,000 rows, whose range new rows often leave, and "constant" otherwise.
    scale : {"unit", "native"}, default="unit"
        s^2 is 1 / n_bins ("unit": every feature counts as if it ran from 0 to 1), or the width of a
        bin in the feature's own units ("native"). It matters under a fixed C. In a sparse table
        "unit" also bounds the mean square of a column's embedding by that of the column itself, so
        that rare words with small weights stay small.
    through_zero : bool or "auto", default="auto"
        Whether the curve is zero at zero. "auto" means True if X is sparse, where zeros then cost
        nothing, and False otherwise. Such curves accept no negative values.

    Examples
    --------
    >>> from splinear import AdditiveClassifier
    >>> from splinear.terms import Spline
    >>> AdditiveClassifier(Spline(degree=3, penalty_order=2), terms={"age": Spline(n_bins=5)})
    AdditiveClassifier(curve=Spline(degree=3, penalty_order=2),
                       terms={'age': Spline(n_bins=5)})
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "n_bins": [Interval(Integral, 1, MAX_BINS, closed="both"), None],
        "degree": [Interval(Integral, 0, 3, closed="both")],
        "penalty_order": [Interval(Integral, 0, MAX_ORDER, closed="both")],
        "knots": [StrOptions(set(RULES)), "array-like"],
        "monotone": [StrOptions(set(WAYS)), None],
        "curvature": [StrOptions(set(BENDS)), None],
        "extrapolation": [StrOptions({how.value for how in Extrapolation} | {"auto"})],
        "scale": [StrOptions({"unit", "native"})],
        "through_zero": [StrOptions({"auto"}), "boolean"],
    }

    def __init__(
        self,
        n_bins: int | None = None,
        degree: int = 1,
        penalty_order: int = 1,
        knots: Literal["auto", "uniform", "quantile"] | Sequence[float] | Floats = "auto",
        monotone: Literal["increasing", "decreasing"] | None = None,
        curvature: Literal["convex", "concave"] | None = None,
        extrapolation: Literal["auto", "constant", "linear", "error"] = "auto",
        scale: Literal["unit", "native"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
    ) -> None:
        self.n_bins = n_bins
        self.degree = degree
        self.penalty_order = penalty_order
        self.knots = knots
        self.monotone = monotone
        self.curvature = curvature
        self.extrapolation = extrapolation
        self.scale = scale
        self.through_zero = through_zero

    def check(self) -> None:
        """Check the parameters."""
        super().check()
        if not isinstance(self.knots, str):
            checked_rule(self.knots, "Spline")
        if self.curvature is None:
            return
        if self.degree == 0:
            raise ValueError(
                f"Spline(curvature={self.curvature!r}) needs a degree of 1 or more; got degree=0, "
                "a step function."
            )
        if self.degree > 1 and not (isinstance(self.knots, str) and self.knots in EQUAL):
            raise ValueError(
                f"Spline(curvature={self.curvature!r}, degree={self.degree}) needs pieces of equal "
                f"width; got knots={self.knots!r}. Use knots='uniform', or degree=1."
            )

    @property
    def form(self) -> Form | None:
        """The shape constraint of the curve; None if there is none."""
        if self.monotone is None and self.curvature is None:
            return None
        way = 0 if self.monotone is None else WAYS[self.monotone]
        return Form(way, 0 if self.curvature is None else BENDS[self.curvature])

    @property
    def _rule(self) -> str | Sequence[float] | Floats:
        """The rule for knots: equal pieces under a constraint of curvature with degree 2 or 3."""
        return "uniform" if self.curvature is not None and self.degree > 1 else self.knots

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return curves for some features, as groups of one shape each."""
        if data.through_zero and self.through_zero is False:
            raise ValueError(
                "Spline(through_zero=False) needs a dense X, as zeros then count; got a sparse "
                "one. Use through_zero='auto', or X.toarray()."
            )
        if data.through_zero or self.through_zero is True:
            return self._from_zero(features, data, advice)
        return self._over_range(features, data, advice)

    # -- curves over the training range ----------------------------------------------------------

    def _over_range(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        pieces = self._pieces(features, data, advice)
        apart = pieces.by_value & (self.degree == 0)
        keys = np.stack([pieces.size_class(self.degree), data.has_gap[features], apart], axis=1)
        return [self._group(features, data, pieces, at, advice) for at in split_by(keys)]

    def _pieces(self, features: NDArray[np.intp], data: ColumnData, advice: Advice) -> Division:
        """Return how each feature's range is divided."""
        lo, hi = data.ranges(features)
        advice, n = self._suited(advice, features, data), len(features)
        n_bins, by_value = np.full(n, advice.n_bins), np.zeros(n, dtype=bool)
        pieces = Division(lo, hi, n_bins, [None] * n, by_value, advice.n_bins)
        if not isinstance(self._rule, str):
            given = np.asarray(self._rule, dtype=np.float64)  # already checked
            for k in range(len(features)):
                pieces.set_knots(k, given)
        elif self._rule != "uniform":
            varies = np.flatnonzero(lo < hi)
            rows = FOR_QUANTILES.rows(data.table.shape[0], data.kept, n)
            if self._rule == "auto" and data.weights is None:
                self._divide_all(pieces, varies, features, rows, data, advice)
                return pieces
            for k, seen in self._samples(data, features[varies], rows):
                self._divide(pieces, int(varies[k]), seen, advice, data)
        return pieces

    def _divide_all(
        self,
        pieces: Division,
        at: NDArray[np.intp],
        features: NDArray[np.intp],
        rows: NDArray[np.intp],
        data: ColumnData,
        advice: Advice,
    ) -> None:
        """Place the knots of the features at `at`: together, except those with few values."""
        few = advice.few
        find: Callable[..., Floats] = partial(tail_knots, narrow=advice.narrow)
        if advice.quantiles:
            find = all_spread_knots
        else:
            ends = pieces.lo[at], pieces.hi[at]
            at = at[
                suspects(data.table, rows, features[at], few, *ends, data.n_threads, advice.narrow)
            ]
        blocks = ascending(data.table, rows, features[at], data.most_bytes, data.n_threads)
        for start, block in blocks:
            some = at[start : start + len(block)]
            lo, hi = pieces.lo[some], pieces.hi[some]
            found = find(block, lo, hi, pieces.n_wanted, data.n_threads)
            has_none = np.isnan(found[:, 0])
            apart = has_none if advice.quantiles else _has_few(block, few)
            for k in np.flatnonzero(apart):
                self._divide(pieces, int(some[k]), Sample.of_sorted(block[k]), advice, data)
            placed = ~apart & ~has_none
            pieces.set_many(some[placed], found[placed])

    def _suited(self, advice: Advice, features: NDArray[np.intp], data: ColumnData) -> Advice:
        """Return the advice for these features, with the user's n_bins and the shape constraint."""
        if self.n_bins is not None:
            return replace(advice, n_bins=int(self.n_bins), few=0)
        advice = self._shared(advice, features, data)
        if self.form is None:  # constrained curves need fewer pieces
            return advice
        few = min(advice.few, MOST_HELD + 1)
        return replace(advice, n_bins=min(advice.n_bins, MOST_HELD), few=few)

    def _shared(self, advice: Advice, features: NDArray[np.intp], data: ColumnData) -> Advice:
        """Return the advice with as many bins as the limit on coefficients allows.

        If the limit may be exceeded, distinct values are counted in a sample of rows, because a 0/1
        column takes only one coefficient.
        """
        most, n = advice.most_coefficients, len(features)
        if most is None or n * advice.n_bins <= most or not isinstance(self._rule, str):
            return advice
        n_values = np.full(n, advice.n_bins + 1)
        if self._rule != "uniform":  # uniform knots do not depend on the values
            rows = FOR_COUNTS.rows(data.table.shape[0], data.kept, n)
            for start, block in ascending(
                data.table, rows, features, data.most_bytes, data.n_threads
            ):
                n_values[start : start + len(block)] = n_distinct(block)
        return advice.shared_by(n_values)

    def _samples(
        self, data: ColumnData, features: NDArray[np.intp], rows: NDArray[np.intp]
    ) -> Iterator[tuple[int, Sample]]:
        """Yield the samples of some features in some rows."""
        return samples(data.table, rows, features, data.weights, data.most_bytes, data.n_threads)

    def _divide(
        self, pieces: Division, k: int, seen: Sample, advice: Advice, data: ColumnData
    ) -> None:
        """Place the knots of one feature, given a sample of its values."""
        lo, hi, n_bins = pieces.lo[k], pieces.hi[k], pieces.n_wanted
        if self._rule == "quantile":
            return pieces.set_knots(k, quantile_knots(seen, lo, hi, n_bins), seen)
        few = advice.few
        if few and len(distinct := seen.distinct) <= few:
            distinct = with_ends(distinct, lo, hi)
            if len(distinct) <= few:
                return pieces.set_knots(k, distinct, seen)
        if advice.quantiles:
            return pieces.set_knots(k, spread_knots(seen, lo, hi, n_bins), seen)
        if has_long_tail(seen, lo, hi, advice.narrow):
            knots = quantile_knots(seen, lo, hi, n_bins)
            pieces.set_knots(k, filled(knots, n_bins, data.table.dtype))
        return None

    def _group(
        self,
        features: NDArray[np.intp],
        data: ColumnData,
        pieces: Division,
        at: NDArray[np.intp],
        advice: Advice,
    ) -> TermGroup:
        n_bins = int(pieces.n_bins[at].max())
        if self.degree == 0 and pieces.by_value[at].all():
            n_bins += 1  # a bin for the last value, at the end of the last piece
        basis = BSplineBasis(int(self.degree), n_bins)
        lo, hi = pieces.lo[at], pieces.hi[at]
        axes = Axes.spanning(lo, hi, basis, pieces.knot_table(at), pieces.n_bins[at])
        native = self.scale == "native"
        embedding = Embedding.of(axes, basis, int(self.penalty_order), native=native)
        if advice.without_level:
            embedding = embedding.without_level()
        return self._finished(features[at], data, embedding, advice.extrapolation)

    def _finished(
        self,
        features: NDArray[np.intp],
        data: ColumnData,
        embedding: Embedding,
        advised: Extrapolation = Extrapolation.CONSTANT,
    ) -> TermGroup:
        # The deviation of a gap has the variance of one bin's step, also for a constant column with
        # gaps, which has no bins; a column with gaps only has no deviation.
        one_step = embedding.basis.variance(embedding.axes.length, 1.0)
        missing_variance = np.where(embedding.variance > 0, embedding.variance, one_step)
        missing_variance = np.where(
            data.has_gap[features] & np.isfinite(data.lo[features]), missing_variance, 0
        )
        return TermGroup.of(
            "Spline",
            features,
            embedding,
            bool(data.has_gap[features].any()),
            np.asarray(missing_variance, dtype=np.float64),
            extrapolation=advised
            if self.extrapolation == "auto"
            else Extrapolation(self.extrapolation),
            form=self.form,
        )

    # -- curves that are zero at zero ------------------------------------------------------------

    def _from_zero(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        if (
            (form := self.form) is not None
            and self.degree > 1
            and form.monotone * form.curvature < 0
        ):
            raise ValueError(
                f"A curve of degree {self.degree} that is zero at zero begins flat, and cannot be "
                f"{self.monotone} and {self.curvature}. Use degree=1."
            )
        n_bins = self._suited(advice, features, data).n_bins
        rule = checked_rule(self._rule, data.label(int(features[0])))
        if not isinstance(rule, str):
            n_bins = len(rule) - 1
        empty = np.all(np.stack(data.ranges(features)) == 0.0, axis=0)
        if not isinstance(rule, str) or 2 * np.count_nonzero(empty) <= len(features):
            return self._divided(features, data, rule, n_bins)
        # Hashed text has mostly columns of zeros, whose curves are zero and need only one piece.
        rest = [] if empty.all() else self._divided(features[~empty], data, rule, n_bins)
        return [*rest, *self._divided(features[empty], data, rule, 1)]

    def _divided(
        self, features: NDArray[np.intp], data: ColumnData, rule: str | Floats, n_bins: int
    ) -> list[TermGroup]:
        """Return curves that are zero at zero, with at most `n_bins` pieces."""
        table, (lo, hi) = data.table.select(features), data.ranges(features)
        plan = KnotPlan([rule] * len(features), np.full(len(features), n_bins))
        basis = BSplineBasis(int(self.degree), n_bins + (self.degree == 0))

        def label(k: int) -> str:
            return data.label(int(features[k]))

        axes = axes_from_zero(table, lo, hi, basis, plan, label, data.kept, data.weights)
        native = self.scale == "native"
        order = int(self.penalty_order)
        embedding = Embedding.of(axes, basis, order, native=native, through_zero=True)
        if not native:
            embedding = no_longer_than_linear(table, embedding, data.kept, data.weights)
        split = split_by(data.has_gap[features][:, None])
        return [self._finished(features[at], data, embedding.of_features(at)) for at in split]


def _has_few(block: AnyArray, few: int) -> NDArray[np.bool_]:
    """Return whether each row of ascending values has at most `few` distinct ones."""
    if few == 0:
        return np.zeros(len(block), dtype=bool)
    return np.asarray(n_distinct(block) <= few)
