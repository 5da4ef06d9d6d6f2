"""Hermite: polynomials of low degree. Linear: those of degree 1."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from splinear._compat import Interval, StrOptions
from splinear._types import Constraints
from splinear.terms.axes import Axes, standardized
from splinear.terms.base import Advice, ColumnData, Term, curve_groups
from splinear.terms.basis import MAX_HERMITE, HermiteBasis
from splinear.terms.embedding import Embedding
from splinear.terms.group import Extrapolation, TermGroup
from splinear.terms.through_zero import axes_of_odd

__all__ = ["Hermite", "Linear"]


class Hermite(Term):
    """A polynomial of low degree, written in the probabilists' Hermite polynomials.

    f(x) = sum_n a_n H_n(u), n = 1, ..., degree, with u the position of x on [-1, 1]. The penalty
    weighs H_n by n n! (d = 1) or n (n - 1) n! (d = 2), after the paper's table 1.

    Parameters
    ----------
    degree : int, default=3
        The degree of the polynomial, at most 150.
    penalty_order : {1, 2}, default=1
        The order d of the penalty: 1 shrinks slopes, 2 curvature.
    scale : {"unit", "native", "standard"}, default="unit"
        s^2 is 1, or the width of the range in the feature's own units ("native"). "standard"
        measures x in standard deviations from its mean instead of mapping its range to [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.terms import Hermite
    >>> x = np.linspace(-1, 1, 100)[:, None]
    >>> model = AdditiveRegressor(Hermite(degree=2)).fit(x, x[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "degree": [Interval(Integral, 1, MAX_HERMITE, closed="both")],
        "penalty_order": [Interval(Integral, 1, 2, closed="both")],
        "scale": [StrOptions({"unit", "native", "standard"})],
    }

    def __init__(
        self,
        degree: int = 3,
        penalty_order: int = 1,
        scale: Literal["unit", "native", "standard"] = "unit",
    ) -> None:
        self.degree = degree
        self.penalty_order = penalty_order
        self.scale = scale

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return curves for some features, as groups of one shape each."""
        del advice
        basis = HermiteBasis(int(self.degree))
        return _place("Hermite", features, data, basis, int(self.penalty_order), self.scale)


class Linear(Term):
    """A straight line: one slope, f(x) = a u with u the position of x on [-1, 1].

    The line continues outside the training range. The penalty is 1/2 a^2.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.terms import Linear
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> model = AdditiveRegressor(Linear()).fit(x, 3 * x[:, 0])
    >>> model.predict([[2.0]]).round(2)  # the line continues beyond the training range
    array([6.])
    """

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return lines for some features, as groups of one shape each."""
        del advice
        return _place("Linear", features, data, HermiteBasis(1), 1, "unit", Extrapolation.LINEAR)


def _place(
    kind: str,
    features: NDArray[np.intp],
    data: ColumnData,
    basis: HermiteBasis,
    order: int,
    scale: str,
    extrapolation: Extrapolation = Extrapolation.CONSTANT,
) -> list[TermGroup]:
    lo, hi = data.ranges(features)
    if data.through_zero:
        if scale == "standard":
            raise ValueError(
                "Hermite(scale='standard') moves zero, but sparse X needs curves that are zero at "
                "zero; use scale='unit' or 'native'."
            )
        axes = axes_of_odd(lo, hi, basis)
    else:
        axes = Axes.spanning(lo, hi, basis)
    if scale == "standard":
        axes = standardized(data.table, features, data.kept, axes, data.weights)
    embedding = Embedding.of(
        axes, basis, order, native=scale == "native", through_zero=data.through_zero
    )
    return curve_groups(kind, features, data, embedding, extrapolation=extrapolation)
