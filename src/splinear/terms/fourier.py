"""Fourier: periodic curves."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from splinear._compat import Interval, StrOptions
from splinear._types import Constraints
from splinear.terms.axes import Axes
from splinear.terms.base import Advice, ColumnData, Term, curve_groups
from splinear.terms.basis import MAX_FREQUENCIES, FourierBasis
from splinear.terms.embedding import Embedding
from splinear.terms.group import TermGroup, split_by
from splinear.terms.knots import FOR_COUNTS, ascending, n_distinct
from splinear.terms.through_zero import axes_of_odd

__all__ = ["Fourier"]

FEWEST = 3  # frequencies by default


class Fourier(Term):
    """A periodic curve: a sum of sines and cosines.

    f(x) = sum_n a_n cos(n pi u) + b_n sin(n pi u), with u in [-1, 1] the position of x in the
    period. The penalty weighs frequency n by n^(2d) / s^2, so that the d-th derivative is small
    (the paper's table 1).

    Parameters
    ----------
    n_frequencies : int or None, default=None
        The number of frequencies, at most 250. None means 3 where one `C` is for all terms, and on
        sparse tables. Where smoothness is chosen from the data (`C=None` in AdditiveClassifier and
        AdditiveRegressor), those that are not needed are shrunk to nothing, and None means 12 (8
        unless device="cpu"), but at most half as many as the feature has different values.
    penalty_order : {1, 2}, default=1
        The order d of the penalty: 1 shrinks slopes, 2 curvature.
    period : float or None, default=None
        The length after which the curve repeats, in units of the feature: 24 for hours, 7 for days
        of the week, 365.25 for days of the year. Values are taken modulo the period, in training
        and in prediction. None means the training range; values outside of it then count as its
        nearest end.
    scale : {"unit", "native"}, default="unit"
        s^2 is 1, or the length of the period in the feature's own units.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.terms import Fourier
    >>> hour = np.linspace(0, 23, 200)[:, None]
    >>> y = np.sin(np.pi * hour[:, 0] / 12)
    >>> model = AdditiveRegressor(Fourier(period=24)).fit(hour, y)
    >>> model.predict([[6.0], [30.0]]).round(2)  # six o'clock, today and tomorrow
    array([1., 1.])
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "n_frequencies": [Interval(Integral, 1, MAX_FREQUENCIES, closed="both"), None],
        "penalty_order": [Interval(Integral, 1, 2, closed="both")],
        "period": [Interval(Real, 0, None, closed="neither"), None],
        "scale": [StrOptions({"unit", "native"})],
    }

    def __init__(
        self,
        n_frequencies: int | None = None,
        penalty_order: int = 1,
        period: float | None = None,
        scale: Literal["unit", "native"] = "unit",
    ) -> None:
        self.n_frequencies = n_frequencies
        self.penalty_order = penalty_order
        self.period = period
        self.scale = scale

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return curves for some features, as groups of one shape each."""
        if self.n_frequencies is not None or advice.n_frequencies <= FEWEST:
            n = int(self.n_frequencies or advice.n_frequencies)
            return self._group(features, np.full(len(features), n), data)
        found = self._enough(features, data, advice.n_frequencies)
        places = split_by(found[:, None])
        return [group for at in places for group in self._group(features[at], found[at], data)]

    def _enough(self, features: NDArray[np.intp], data: ColumnData, most: int) -> NDArray[np.intp]:
        """Return the default number of frequencies: more would agree at all values of a feature."""
        rows = FOR_COUNTS.rows(data.table.shape[0], data.kept, len(features))
        out = np.full(len(features), most)
        for start, block in ascending(data.table, rows, features, data.most_bytes, data.n_threads):
            out[start : start + len(block)] = n_distinct(block) // 2
        return np.asarray(np.clip(out, FEWEST, most))

    def _group(
        self, features: NDArray[np.intp], n_frequencies: NDArray[np.intp], data: ColumnData
    ) -> list[TermGroup]:
        """Return curves that have the same number of frequencies."""
        basis = FourierBasis(int(n_frequencies[0]))
        lo, hi = data.ranges(features)
        periods = None
        if self.period is not None:
            varies = lo < hi  # the table holds values modulo the period
            lo, hi = np.where(varies, 0.0, lo), np.where(varies, float(self.period), hi)
            periods = np.full(len(features), float(self.period))
        axes = axes_of_odd(lo, hi, basis) if data.through_zero else Axes.spanning(lo, hi, basis)
        order, native = int(self.penalty_order), self.scale == "native"
        embedding = Embedding.of(axes, basis, order, native=native, through_zero=data.through_zero)
        return curve_groups("Fourier", features, data, embedding, periods=periods)
