"""Base class of terms, and the data and defaults that they are placed with.

A term is a small scikit-learn estimator without a public fit. It says what one feature adds to the
score: which functions, under which penalty. Its method `place` returns
:class:`~splinear.terms.group.TermGroup` objects for columns of a table, which hold ranges, knots
and levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splinear._compat import NamedOnce
from splinear._types import AnyArray, Constraints, Floats
from splinear.tables.table import Table
from splinear.terms.embedding import Embedding
from splinear.terms.group import Extrapolation, TermGroup, split_by
from splinear.terms.knots import NARROW

__all__ = ["LEAST_BINS", "Advice", "ColumnData", "Term", "curve_groups"]

LEAST_BINS = 16  # smallest default in wide tables


@dataclass(frozen=True)
class Advice:
    """An estimator's choice for `n_bins=None`, `knots="auto"` and `n_frequencies=None`.

    Attributes
    ----------
    n_bins : int
        Number of pieces for a feature with many values.
    quantiles : bool
        Whether knots are placed by quantiles for all features, or only for those with long tails.
    few : int
        A feature with at most this many distinct values has a knot at each of them; 0 to disable.
    without_level : bool
        Whether the first coefficient of curves under differences is fixed at 0, because the
        intercept can take their level.
    most_coefficients : int or None
        Largest number of coefficients of all curves of a term together. If there would be more,
        features get fewer pieces, but at least `LEAST_BINS`. None for no limit.
    extrapolation : Extrapolation
        For `extrapolation="auto"`.
    n_frequencies : int
        Number of frequencies of a feature with many values.
    narrow : float
        A feature has a long tail if most rows are in a smaller share of its range.
    """

    n_bins: int
    quantiles: bool
    few: int = 33
    without_level: bool = False
    most_coefficients: int | None = None
    extrapolation: Extrapolation = Extrapolation.CONSTANT
    n_frequencies: int = 3
    narrow: float = NARROW

    def shared_by(self, n_values: NDArray[np.intp]) -> Advice:
        """Return the advice for features with these numbers of distinct values (n_features,).

        A feature has a piece between any two neighboring values, but at most `n_bins`.
        """
        if self.most_coefficients is None:
            return self
        n_bins, most = self.n_bins, self.most_coefficients
        while n_bins > LEAST_BINS and np.minimum(n_values - 1, n_bins).sum() > most:
            n_bins -= 1
        return replace(self, n_bins=n_bins, few=min(self.few, n_bins + 1))


@dataclass(frozen=True, eq=False)
class ColumnData:
    """The columns of a table, with what terms need to know about them.

    Attributes
    ----------
    table : Table of shape (n_rows, n_features)
        Numbers as they are, levels of categories as integers, missing values as NaN.
    lo, hi : ndarray of shape (n_features,)
        Lowest and highest value; NaN where all are missing.
    has_gap : ndarray of shape (n_features,)
        Whether each feature has missing values in rows with a positive weight.
    levels : dict of int to tuple
        The levels of each categorical feature.
    kept : ndarray of shape (n_rows,) or None
        Whether each row has a positive weight; None if all have one.
    weights : ndarray of shape (n_rows,) or None
    through_zero : bool
        Whether X is sparse, so that curves should be zero at zero.
    most_bytes : int
        Bytes of an X in files that may be read at once.
    n_threads : int
        Number of threads for reading columns.
    label : callable
        label(j) is the name of feature j in messages.
    """

    table: Table
    lo: Floats
    hi: Floats
    has_gap: NDArray[np.bool_]
    levels: dict[int, tuple[object, ...]]
    kept: AnyArray | None
    weights: Floats | None
    through_zero: bool
    label: Callable[[int], str]
    most_bytes: int = 2**26
    n_threads: int = 1

    def ranges(self, features: Sequence[int] | AnyArray) -> tuple[Floats, Floats]:
        """Return the lowest and highest values of some features; 0 if all values are missing."""
        at = np.asarray(features, dtype=np.intp)
        lo, hi = self.lo[at].copy(), self.hi[at].copy()
        empty = ~np.isfinite(lo)
        lo[empty], hi[empty] = 0.0, 0.0
        return lo, hi


def curve_groups(
    kind: str,
    features: NDArray[np.intp],
    data: ColumnData,
    embedding: Embedding,
    *,
    extrapolation: Extrapolation = Extrapolation.CONSTANT,
    periods: Floats | None = None,
) -> list[TermGroup]:
    """Return the curves of some features as groups, with and without missing values.

    The variance g_j of a missing value's deviation is s_j^2.
    """
    groups = []
    for at in split_by(data.has_gap[features][:, None]):
        here, has_gap = embedding.of_features(at), data.has_gap[features[at]]
        groups.append(
            TermGroup.of(
                kind,
                features[at],
                here,
                bool(has_gap.any()),
                np.where(has_gap, here.variance, 0.0),
                extrapolation=extrapolation,
                periods=None if periods is None else periods[at],
            )
        )
    return groups


class Term(NamedOnce):
    """Base of the terms.

    A subclass has constructor parameters, `_parameter_constraints` as in scikit-learn, and `place`.
    A new kind of term is one such class.

    Examples
    --------
    >>> from splinear.terms import Spline, Term
    >>> isinstance(Spline(), Term)
    True
    >>> Spline(n_bins=20).get_params()["n_bins"]
    20
    """

    _parameter_constraints: Constraints = {}  # noqa: RUF012 (scikit-learn's own form)

    def check(self) -> None:
        """Check the parameters; raise an error that names the parameter and what is expected."""
        self._validate_params()

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return this term for some features, as groups of one shape each."""
        raise NotImplementedError
