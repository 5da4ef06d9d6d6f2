"""Axes of curves that are zero at zero, so that the zeros of a sparse table can be skipped.

Basis functions that are not zero at zero have no coefficient (see the penalties). For B-splines the
axis starts at zero, and the others remain: for degree 1, hat functions from the second knot on; for
degree 0, bins after a first one that holds only zero. For Fourier and Hermite only the odd
functions remain, and the axis maps zero to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.penalties import DifferencePenalty
from splinear.tables.chunks import Chunk, as_sparse, csr_parts, least_nonzero
from splinear.tables.table import Table
from splinear.terms.axes import Axes
from splinear.terms.basis import Basis, BSplineBasis, FourierBasis
from splinear.terms.embedding import Embedding
from splinear.terms.knot_plan import KnotPlan, is_rule
from splinear.terms.knots import (
    BULK,
    FOR_QUANTILES,
    Sample,
    inward,
    is_narrow,
    quantile_knots,
    values_at,
)

__all__ = ["Nonzeros", "axes_from_zero", "axes_of_odd", "no_longer_than_linear"]

_AT_ONCE = 2**16  # values embedded per batch
TINY = float(np.nextafter(0.0, 1.0))

Label = Callable[[int], str]  # from a column's index to its name in messages


def axes_from_zero(
    X: Table,
    lo: Floats,
    hi: Floats,
    basis: Basis,
    plan: KnotPlan,
    label: Label,
    kept: AnyArray | None = None,
    weights: Floats | None = None,
) -> Axes:
    """Return the axes of X (n, n_features), dense or sparse, with ranges lo to hi.

    `kept` (n,) marks the rows with a positive weight, and `weights` (n,) holds the weights; both
    may be None.
    """
    if isinstance(basis, BSplineBasis):
        _refuse_negative(lo, label)
        return _spline_axes(X, lo, hi, basis, plan, label, kept, weights)
    for j, rule in enumerate(plan.rules):
        if not (is_rule(rule, "auto") or is_rule(rule, "uniform")):
            raise ValueError(
                f"knots of {label(j)}: curves that are zero at zero, as sparse X needs them, take "
                "knots with SplineEmbedding only; use knots='uniform'."
            )
    return axes_of_odd(lo, hi, basis)


def axes_of_odd(lo: Floats, hi: Floats, basis: Basis) -> Axes:
    """Return the axes of Fourier or Hermite curves that consist of odd functions only."""
    varies = lo < hi
    lo, hi = np.where(varies, np.minimum(lo, 0.0), lo), np.where(varies, np.maximum(hi, 0.0), hi)
    largest = np.where(varies, np.maximum(-lo, hi), 1.0)
    # sin(pi x) is 0 at x = 1 as well, but increases up to 1/2.
    end = 0.5 if isinstance(basis, FourierBasis) else 1.0
    return Axes(lo, hi, end * lo / largest, end * hi / largest)


def no_longer_than_linear(
    X: Table, embedding: Embedding, kept: AnyArray | None, weights: Floats | None
) -> Embedding:
    """Return an embedding whose columns have at most the mean square of the columns of X.

    s_j^2 becomes min(s_j^2, sum_i x_ij^2 / sum_i |T'B(x_ij)|^2), with the rows' weights. So columns
    count as if they ran from 0 to 1, unless their values are so small, as those of tf-idf, that a
    rare word would have a far larger effect than in a linear model.
    """
    own, embedded = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    axes = embedding.axes.core()
    for rows, piece in X.chunks():
        weight = np.ones(piece.shape[0]) if weights is None else weights[rows]
        if kept is not None:
            weight = weight * kept[rows]
        matrix = sparse.csr_array(piece)
        starts, features, values = csr_parts(matrix)
        of = np.repeat(weight, np.diff(starts))
        for first in range(0, len(values), _AT_ONCE):
            here = slice(first, first + _AT_ONCE)
            j, x = features[here], values[here].astype(np.float64)
            there = ~np.isnan(x)
            j, x, w = j[there], x[there], of[here][there]
            lengths = _squared_lengths(embedding, _core.sparse_arguments(j, x, axes))
            with np.errstate(over="ignore"):  # infinite sums leave s_j^2 as it is
                own += np.bincount(j, w * x**2, minlength=len(own))
            embedded += np.bincount(j, w * lengths, minlength=len(own))
    with np.errstate(over="ignore"):
        linear = np.divide(own, embedded, out=np.full_like(own, np.inf), where=embedded > 0)
    return embedding.with_variance(np.minimum(embedding.variance, linear))


def _squared_lengths(embedding: Embedding, arguments: Floats) -> Floats:
    """Return |T'B(t)|^2 for arguments t (n,) of curves that are zero at zero."""
    basis, penalty = embedding.basis, embedding.penalty
    is_ramp = isinstance(basis, BSplineBasis) and basis.degree == 1
    if is_ramp and isinstance(penalty, DifferencePenalty) and penalty.order == 1:
        whole = np.floor(arguments)  # T'B is 1 for every bin before that of t
        return np.asarray(whole + (arguments - whole) ** 2)
    phi = penalty.embed(basis.evaluate(arguments))
    return np.asarray((phi**2).sum(axis=1))


def _spline_axes(
    X: Table,
    lo: Floats,
    hi: Floats,
    basis: BSplineBasis,
    plan: KnotPlan,
    label: Label,
    kept: AnyArray | None,
    weights: Floats | None,
) -> Axes:
    n_bins = plan.n_bins.copy()
    if basis.degree <= 1:
        n_bins[_least(X, kept) == hi] = 1  # for a single value, one bin gives the same curve
    ends = plan.ranges(np.where(lo < hi, 0.0, lo), hi)
    knots = None
    if not all(is_rule(rule, "uniform") for rule in plan.rules):
        rows = FOR_QUANTILES.rows(X.shape[0], kept, int(X.values_per_row))
        weighed = None if weights is None else weights[rows]
        knots = _knots(Nonzeros.of(X.sample(rows), weighed), ends[1], plan, label)
    if basis.degree == 0:
        knots, n_bins = _with_bin_for_zero(knots, ends[1], n_bins), n_bins + 1
    return Axes.spanning(*ends, basis, knots, n_bins)


def _least(X: Table, kept: AnyArray | None) -> Floats:
    """Return the lowest non-zero of every column."""
    least = np.full(X.shape[1], np.inf)
    for rows, piece in X.chunks():
        counted = piece if kept is None else piece[kept[rows]]
        if counted.shape[0]:
            least = np.minimum(least, least_nonzero(counted))
    return least


def _refuse_negative(lo: Floats, label: Label) -> None:
    if np.any(lo < 0):
        j = int(np.argmax(lo < 0))
        raise ValueError(
            f"Input X contains {lo[j]:g} in {label(j)}; B-splines that are zero at zero, as sparse "
            "X needs them, are for numbers from 0 on. Use Hermite or Fourier curves, whose odd "
            "functions take both signs; or use the positive and the negative part of the column "
            "as two columns; or make X dense, by X.toarray() or, for a file, by "
            "Spline(through_zero=False)."
        )


def _knots(seen: Nonzeros, hi: Floats, plan: KnotPlan, label: Label) -> Floats | None:
    """Return the knots of every column, from zero on, with NaN after the last.

    The result is None if all columns are uniform. Quantiles and tails are those of the non-zeros.
    """
    by_quantiles = _by_quantiles(seen, hi, plan)
    given = {j: rule for j, rule in enumerate(plan.rules) if not isinstance(rule, str)}
    warped = by_quantiles.copy()
    warped[list(given)] = True
    if not warped.any():
        return None
    out = np.full((len(hi), int(plan.n_bins[warped].max()) + 1), np.nan)
    for j, rule in given.items():
        if rule[0] != 0:
            raise ValueError(
                f"knots of {label(j)}: the first is {rule[0]:g}; curves that are zero at zero, "
                "as sparse X needs them, have their first knot at 0."
            )
        out[j, : len(rule)] = rule
    # The highest value may be in a row that was not sampled.
    n_distinct = seen.n_distinct + (seen.quantile(1.0) < hi)
    few = by_quantiles & (n_distinct <= plan.n_bins)
    _knot_at_each(seen, few, out)
    last = np.count_nonzero(~np.isnan(out[few]), axis=1) - 1
    more = out[few, last] < hi[few]
    out[np.flatnonzero(few)[more], last[more] + 1] = hi[few][more]
    _place_quantiles(seen, by_quantiles & ~few, hi, plan, out)
    return out


def _place_quantiles(
    seen: Nonzeros, wanted: NDArray[np.bool_], hi: Floats, plan: KnotPlan, out: Floats
) -> None:
    """Set the quantile knots of columns that have more distinct values than pieces."""
    if not seen.is_weighted:
        for n_bins in map(int, np.unique(plan.n_bins[wanted])):
            columns = np.flatnonzero(wanted & (plan.n_bins == n_bins))
            out[columns, : n_bins + 1] = seen.knots(columns, hi, n_bins)
        return
    for j in map(int, np.flatnonzero(wanted)):
        values = quantile_knots(Sample(*seen.column(j)), 0.0, float(hi[j]), int(plan.n_bins[j]))
        out[j, : len(values)] = values


def _by_quantiles(seen: Nonzeros, hi: Floats, plan: KnotPlan) -> NDArray[np.bool_]:
    """Return whether each column's knots are placed by quantiles.

    This is as requested or, for "auto", if a column has a long tail or few distinct values
    (counts), each of which then has a knot.
    """
    some = np.diff(seen.starts) > 0
    bulk = [seen.quantile(share) for share in BULK]
    n_distinct = seen.n_distinct
    few = n_distinct <= plan.n_bins
    long_tail = is_narrow(bulk, 0.0, hi)
    asked = np.array([is_rule(rule, "quantile") for rule in plan.rules])
    open_ones = np.array([is_rule(rule, "auto") for rule in plan.rules])
    return np.asarray(some & (asked | (open_ones & (n_distinct > 1) & (few | long_tail))))


def _knot_at_each(seen: Nonzeros, wanted: NDArray[np.bool_], out: Floats) -> None:
    """Set knots at zero and at each distinct value of the wanted columns."""
    of = np.repeat(np.arange(len(wanted)), np.diff(seen.starts))
    chosen = np.flatnonzero(seen.is_new & wanted[of])
    column = of[chosen]
    first = np.searchsorted(column, np.arange(len(wanted)))
    out[wanted, 0] = 0.0
    out[column, 1 + np.arange(len(chosen)) - first[column]] = seen.values[chosen]


def _with_bin_for_zero(knots: Floats | None, hi: Floats, n_bins: NDArray[np.intp]) -> Floats:
    """Add a knot next to zero, so that the first bin of degree 0 holds only zero."""
    size = int(n_bins.max()) + 1
    out = np.full((len(hi), size + 1), np.nan)
    for j, end in enumerate(hi):
        if end <= TINY:  # no values beyond zero
            continue
        own = np.full(size, np.nan) if knots is None else knots[j]
        own = own[~np.isnan(own)]
        if not len(own):
            own = np.linspace(0.0, end, int(n_bins[j]) + 1)
        own = np.union1d(own, TINY)
        out[j, : len(own)] = own
    return out


@dataclass(frozen=True, eq=False)
class Nonzeros:
    """The non-zeros of a matrix, column by column, ascending within each.

    `starts` (n_features + 1,) holds where each column begins; `total` is the cumulative weight over
    all columns.
    """

    starts: NDArray[np.int64]
    values: Floats
    total: Floats
    is_weighted: bool = False

    @classmethod
    def of(cls, X: Chunk, weights: Floats | None) -> Nonzeros:
        """Return the non-zeros of X (n, n_features), dense or sparse, without missing values.

        Rows have weight 1 if `weights` is None.
        """
        rows = as_sparse(X).astype(np.float64, copy=True)
        rows.data[np.isnan(rows.data)] = 0.0
        rows.eliminate_zeros()
        order = np.argsort(rows.data)
        # A matrix with one row per value, in ascending order: its columns are sorted, which is
        # faster than lexsort.
        one_each = np.arange(len(order) + 1)
        shape = (len(order), rows.shape[1])
        ranked = sparse.csr_array((rows.data[order], rows.indices[order], one_each), shape=shape)
        columns = ranked.tocsc()
        total = np.arange(1.0, len(order) + 1)
        if weights is not None:
            of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            total = np.cumsum(weights[of[order[columns.indices]]])
        starts = columns.indptr.astype(np.int64)
        return cls(starts, columns.data, total, is_weighted=weights is not None)

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each value is the first of equal values in its column."""
        new = np.append(True, self.values[1:] != self.values[:-1])[: len(self.values)]
        new[self.starts[:-1][self.starts[:-1] < len(self.values)]] = True
        return new

    @property
    def n_distinct(self) -> NDArray[np.int64]:
        """Number of distinct non-zeros of every column, (n_features,)."""
        up_to = np.append(0, np.cumsum(self.is_new))
        return np.asarray(up_to[self.starts[1:]] - up_to[self.starts[:-1]])

    def quantile(self, share: float) -> Floats:
        """Return the weighted quantile of the non-zeros of every column, (n_features,).

        It is 0 for a column without non-zeros.
        """
        if not len(self.values):
            return np.zeros(len(self.starts) - 1)
        ends = np.append(0.0, self.total)[self.starts]
        wanted = ends[:-1] + share * np.diff(ends)
        last = np.maximum(self.starts[1:] - 1, 0)
        found = values_at(self.values, self.total, wanted, np.minimum(self.starts[:-1], last), last)
        return np.where(np.diff(self.starts) > 0, found, 0.0)

    def column(self, j: int) -> tuple[Floats, Floats]:
        """Return the values of one column and their cumulative weights within it."""
        here = slice(self.starts[j], self.starts[j + 1])
        before = self.total[self.starts[j] - 1] if self.starts[j] > 0 else 0.0
        return self.values[here], self.total[here] - before

    def knots(self, columns: NDArray[np.intp], hi: Floats, n_bins: int) -> Floats:
        """Return the `quantile_knots` of several columns over [0, hi] at once, one row each.

        Rows must have weight 1, and all columns more distinct values than n_bins.
        """
        first, n = self.starts[columns], np.diff(self.starts)[columns]
        number = np.cumsum(self.is_new) - 1  # index of each value among all distinct values
        distinct = self.values[self.is_new]
        last = distinct[number[first + n - 1]]
        n_inside = self.n_distinct[columns] - (last == hi[columns])
        n_half = (n_bins - 1) // 2
        shares = inward(np.arange(1, n_half + 1) / (n_half + 1))
        places = np.clip(np.ceil(n[:, None] * shares).astype(np.int64), 1, n[:, None]) - 1
        ranks = number[first[:, None] + places] - number[first][:, None]
        taken = np.diff(ranks, axis=1, prepend=-1) > 0  # without repetitions
        taken &= ranks < n_inside[:, None]
        ranks = np.sort(np.where(taken, ranks, np.iinfo(np.int64).max), axis=1)
        n_others = n_bins - 1 - taken.sum(axis=1)
        others = _spread(n_inside - taken.sum(axis=1), n_others, n_bins - 1)
        for k in range(n_half):  # skip the values that are taken already
            others += ranks[:, [k]] <= others
        all_ranks = np.concatenate([ranks, others], axis=1)
        is_there = np.concatenate([np.sort(~taken, axis=1) == 0, _first(n_others, n_bins - 1)], 1)
        at = np.minimum(number[first][:, None] + all_ranks * is_there, len(distinct) - 1)
        found = np.sort(np.where(is_there, distinct[at], np.inf), axis=1)[:, : n_bins - 1]
        return np.column_stack([np.zeros(len(columns)), found, hi[columns]])


def _first(n: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Return (len(n), size) booleans, of which row k is True in its first n[k] entries."""
    return np.asarray(np.arange(size) < n[:, None])


def _spread(n: NDArray[np.int64], n_chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return rows of n_chosen equally spaced integers below n; later entries are arbitrary."""
    steps = inward(np.arange(1, size + 1) / (n_chosen + 1.0)[:, None]) * (n + 1.0)[:, None]
    return np.asarray(np.floor(steps - 0.5), dtype=np.int64)
