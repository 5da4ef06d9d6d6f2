"""A description of a model for other languages, as plain numbers.

A model is an intercept per output and a list of terms. A term is one of

- `CurveTerm`, a function of a number in pieces, each a polynomial;
- `WaveTerm`, a sum of sines and cosines;
- `CategoryTerm`, a number per level;
- `SurfaceTerm`, a table over two features, bilinear between its nodes.

Exports translate these and need nothing else. All numbers are in double precision, and their sums
are the estimator's scores up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear._caching import cached_property
from splinear._types import Floats

__all__ = [
    "CategoryTerm",
    "CurveTerm",
    "Feature",
    "ModelPieces",
    "OrderedLevels",
    "Outside",
    "Pieces",
    "SurfaceAxis",
    "SurfaceTerm",
    "TermPieces",
    "WaveTerm",
]

Outside: TypeAlias = Literal["constant", "linear", "error"]
Levels: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Feature:
    """A column of X.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "dropped"}
    levels : tuple or None
        The levels of a category, in the order of its values.
    """

    name: str
    kind: Literal["number", "category", "dropped"]
    levels: Levels | None = None

    @property
    def holds_text(self) -> bool:
        """Whether the levels are text.

        Raises
        ------
        TypeError
            If levels are of several types, or neither text nor numbers.
        """
        kinds = {type(level) for level in self.levels or ()}
        text = {issubclass(kind, str) for kind in kinds}
        if len(text) > 1 or not all(issubclass(kind, bool | int | float | str) for kind in kinds):
            raise TypeError(
                f"The levels of {self.name!r} must be all text or all numbers to be a column "
                f"elsewhere; got types {', '.join(sorted(kind.__name__ for kind in kinds))}."
            )
        return True in text


@dataclass(frozen=True, eq=False)
class Pieces:
    """A piecewise polynomial on the whole axis.

    Piece k is for starts[k - 1] <= x < starts[k]; the first has no start and the last no end. In
    it, f(x) = sum_p coef[:, k, p] u^p with u = (x - origin[k]) / width[k].

    Attributes
    ----------
    starts : ndarray of shape (n_pieces - 1,)
        In ascending order.
    origin, width : ndarray of shape (n_pieces,)
    coef : ndarray of shape (n_outputs, n_pieces, n_powers)
        NaN where the estimator raises an error.
    """

    starts: Floats
    origin: Floats
    width: Floats
    coef: Floats


@dataclass(frozen=True, eq=False)
class CurveTerm:
    """A piecewise polynomial of a number.

    For knots[k] <= x < knots[k + 1] it is sum_p coef[:, k, p] u^p, with u from 0 to 1 the position
    of x between the two knots; at the last knot it is `at_end`. With a single knot it is `at_end`
    everywhere.

    Attributes
    ----------
    feature : int
        The column of X.
    name, kind : str
        The feature's name and the class of the term.
    knots : ndarray of shape (n_knots,)
        Strictly ascending.
    coef : ndarray of shape (n_outputs, n_knots - 1, n_powers)
    at_end : ndarray of shape (n_outputs,)
    outside : {"constant", "linear", "error"}
        How the curve continues below the first knot and above the last: with the value there, as a
        straight line with the slope there, or with an error.
    missing : ndarray of shape (n_outputs,) or None
        The contribution of a missing value; None if it raises an error.
    mean : ndarray of shape (n_outputs,)
        The mean over the training rows.
    """

    feature: int
    name: str
    kind: str
    knots: Floats
    coef: Floats
    at_end: Floats
    outside: Outside
    missing: Floats | None
    mean: Floats

    @property
    def degree(self) -> int:
        """The degree of the polynomials."""
        return int(self.coef.shape[2]) - 1

    @cached_property
    def values(self) -> Floats | None:
        """The values at the knots, (n_outputs, n_knots), if the curve is linear; else None."""
        if self.degree > 1:
            return None
        ends = self.coef.sum(axis=2)
        values = np.column_stack([self.coef[:, :, 0], self.at_end])
        joined = np.abs(ends - values[:, 1:]) <= 1e-14 * np.abs(values).max(initial=0.0)
        return values if bool(joined.all()) else None

    @cached_property
    def pieces(self) -> Pieces:
        """The curve as polynomials on the whole axis, including values outside the knots."""
        n_outputs, _, n_powers = self.coef.shape
        widths = np.diff(self.knots)
        slopes = self._slopes()
        outer = np.zeros((2, n_outputs, max(n_powers, 2)))
        outer[0, :, 0] = self.coef[:, 0, 0] if len(widths) else self.at_end
        outer[1, :, 0] = self.at_end
        outer[:, :, 1] = slopes
        outer = outer[:, :, : n_powers if not slopes.any() else None]
        inner = np.zeros((n_outputs, len(widths), outer.shape[2]))
        inner[:, :, :n_powers] = self.coef
        coef = np.concatenate([outer[0][:, None], inner, outer[1][:, None]], axis=1)
        starts = self.knots
        ends = widths if self.outside == "linear" and len(widths) else np.ones(1)
        width = np.concatenate([ends[:1], widths, ends[-1:]])
        origin = np.concatenate([self.knots[:1], self.knots])
        if self.outside != "error":
            return Pieces(starts, origin, width, coef)
        refused = np.full((n_outputs, 1, coef.shape[2]), np.nan)
        beyond = np.nextafter(self.knots[-1:], np.inf)
        return Pieces(
            np.append(starts, beyond),
            np.append(origin, beyond),
            np.append(width, 1.0),
            np.concatenate([refused, coef[:, 1:], refused], axis=1),
        )

    def _slopes(self) -> Floats:
        """Return the slopes outside the knots, per piece at that end, (2, n_outputs)."""
        if not self.coef.shape[1] or not self.degree or self.outside != "linear":
            return np.zeros((2, len(self.at_end)))
        powers = np.arange(1.0, self.degree + 1)
        return np.stack([self.coef[:, 0, 1], self.coef[:, -1, 1:] @ powers])


@dataclass(frozen=True, eq=False)
class WaveTerm:
    """A sum of sines and cosines, sum_n a_n cos(n pi u) + b_n sin(n pi u), n = 1, 2, ...

    u is linear in x, from `first` at lo to `last` at hi; x is clipped to [lo, hi]. With a period, x
    is first taken modulo the period, as a number from 0 to the period.

    Attributes
    ----------
    feature : int
        The column of X.
    name, kind : str
        The feature's name and the class of the term.
    lo, hi, first, last : float
    period : float or None
    cosines, sines : ndarray of shape (n_outputs, n_frequencies)
        The coefficients a and b.
    missing, mean
        As of `CurveTerm`.
    """

    feature: int
    name: str
    kind: str
    lo: float
    hi: float
    first: float
    last: float
    period: float | None
    cosines: Floats
    sines: Floats
    missing: Floats | None
    mean: Floats

    @cached_property
    def place(self) -> CurveTerm:
        """The position u as a curve of x, or of x modulo the period."""
        return _line(
            self.feature, self.name, np.array([self.lo, self.hi]), [self.first, self.last], None
        )


@dataclass(frozen=True, eq=False)
class CategoryTerm:
    """A number per level.

    Attributes
    ----------
    feature : int
        The column of X.
    name, kind : str
        The feature's name and the class of the term.
    levels : tuple
    values : ndarray of shape (n_outputs, n_levels)
    unseen : ndarray of shape (n_outputs,) or None
        The effect of a level that did not occur in fit; None if it raises an error.
    missing, mean
        As of `CurveTerm`.
    """

    feature: int
    name: str
    kind: str
    levels: Levels
    values: Floats
    unseen: Floats | None
    missing: Floats | None
    mean: Floats


@dataclass(frozen=True, eq=False)
class SurfaceAxis:
    """The position of a feature on an axis of a surface, whose nodes are 0, 1, ....

    The position of a number is k at knots[k], and interpolated linearly in between; beyond the
    first or last knot it is that of the knot. The position of a level is its node. Values without a
    position contribute 0.

    Attributes
    ----------
    feature : int
        The column of X.
    name : str
    knots : ndarray of shape (n_knots,) or None
        The knots of a number.
    levels : tuple or None
        The levels of a category.
    nodes : ndarray of shape (n_levels,) or None
        The node of every level.
    missing : int or None
        The node of missing values; None if they have none.
    period : float or None
        The period that a number is first taken modulo, as in `WaveTerm`.
    """

    feature: int
    name: str
    knots: Floats | None
    levels: Levels | None
    nodes: NDArray[np.intp] | None
    missing: int | None
    period: float | None

    @cached_property
    def key(self) -> tuple[object, ...]:
        """A key that is equal only for equal axes."""
        arrays = (a if a is None else a.tobytes() for a in (self.knots, self.nodes))
        return self.feature, self.missing, self.period, *arrays

    @cached_property
    def place(self) -> CurveTerm:
        """The position of a number as a curve; -1 for a missing one without a node."""
        assert self.knots is not None
        missing = np.array([-1.0 if self.missing is None else float(self.missing)])
        return _line(self.feature, self.name, self.knots, range(len(self.knots)), missing)


@dataclass(frozen=True, eq=False)
class SurfaceTerm:
    """A table over two features, bilinear between its nodes.

    Attributes
    ----------
    features : tuple of int
        The two columns of X.
    name, kind : str
    axes : tuple of SurfaceAxis
    values : ndarray of shape (n_outputs, n_first, n_second)
        Values at the nodes.
    mean : ndarray of shape (n_outputs,)
        The mean over the training rows.
    """

    features: tuple[int, int]
    name: str
    kind: str
    axes: tuple[SurfaceAxis, SurfaceAxis]
    values: Floats
    mean: Floats


def _line(
    feature: int, name: str, knots: Floats, values: Sequence[float], missing: Floats | None
) -> CurveTerm:
    """Return a piecewise linear curve of one output through values (n_knots,)."""
    at = np.array(values, dtype=np.float64)
    coef = np.column_stack([at[:-1], np.diff(at)])[None]
    return CurveTerm(
        feature=feature,
        name=name,
        kind="Place",
        knots=knots,
        coef=coef if len(at) > 1 else np.zeros((1, 0, 1)),
        at_end=at[-1:],
        outside="constant",
        missing=missing,
        mean=np.zeros(1),
    )


TermPieces: TypeAlias = CurveTerm | WaveTerm | CategoryTerm | SurfaceTerm


@dataclass(frozen=True, eq=False)
class OrderedLevels:
    """How ordered levels follow from the score f: P(y <= level k) = expit(cut_points[k] - f).

    Attributes
    ----------
    cut_points : ndarray of shape (n_levels - 1,)
        In ascending order.
    modes : tuple of int
        The levels that are the most probable ones for some scores, in ascending order.
    starts : tuple of float
        The scores from which on the second, the third, ... of them is.
    """

    cut_points: Floats
    modes: tuple[int, ...]
    starts: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ModelPieces:
    """A fitted model: score = intercept + the sum of all terms, for each output.

    Attributes
    ----------
    estimator : str
        The name of its class.
    task : {"regression", "binary", "multiclass", "multilabel", "ordinal"}
        What is predicted from the scores: a number; classes[1] if the score is above 0, and
        classes[0] otherwise; the class with the highest score, the first of equal ones; every label
        whose score is above 0; or the most probable level.
    link : {"identity", "log", "logistic", "softmax", "ordinal"} or None
        The inverse link turns scores into means or probabilities; None if there are none.
    classes : tuple or None
        The classes, or the indices of the labels; None in regression. For ordered levels, from the
        lowest to the highest.
    features : tuple of Feature
        The columns of X.
    intercept : ndarray of shape (n_outputs,)
    terms : tuple
        Curves in the order of the columns, then surfaces.
    levels : tuple of float or None
        Those of several quantiles, one per output; otherwise None.
    grades : OrderedLevels or None
        How ordered levels follow from the score.
    """

    estimator: str
    task: Literal["regression", "binary", "multiclass", "multilabel", "ordinal"]
    link: Literal["identity", "log", "logistic", "softmax", "ordinal"] | None
    classes: tuple[object, ...] | None
    features: tuple[Feature, ...]
    intercept: Floats
    terms: tuple[TermPieces, ...]
    levels: tuple[float, ...] | None = None
    grades: OrderedLevels | None = None

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.intercept)

    @property
    def base(self) -> Floats:
        """The score if every term has its mean, (n_outputs,)."""
        return np.asarray(self.intercept + sum(term.mean for term in self.terms))
