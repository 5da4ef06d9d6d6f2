"""Where the pieces of a curve meet: as the user says, or chosen from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table

__all__ = [
    "Sample",
    "all_spread_knots",
    "ascending",
    "filled",
    "has_long_tail",
    "is_narrow",
    "n_distinct",
    "quantile_knots",
    "samples",
    "spread_knots",
    "suspects",
    "tail_knots",
    "values_at",
    "with_ends",
]


@dataclass(frozen=True)
class SampleSize:
    """How many rows are looked at: `most`, or down to `least` so that no more than `values` are."""

    least: int
    most: int
    values: int

    def rows(self, n_rows: int, kept: AnyArray | None, n_columns: int) -> NDArray[np.intp]:
        """Draw some of the rows that count, all or those `kept`, in their order.

        They are the same every time.
        """
        n = min(self.most, max(self.least, self.values // max(1, n_columns)))
        n_counted = n_rows if kept is None else int(np.count_nonzero(kept))
        drawn = np.arange(min(n, n_counted))
        if n < n_counted:
            is_drawn = np.zeros(n_counted, dtype=bool)
            is_drawn[np.random.default_rng(0).choice(n_counted, n, replace=False)] = True
            drawn = np.flatnonzero(is_drawn)
        return drawn if kept is None else np.flatnonzero(kept)[drawn]


FOR_COUNTS = SampleSize(least=500, most=500, values=0)
FOR_TAILS = SampleSize(least=2_000, most=10_000, values=1_000_000)
FOR_QUANTILES = SampleSize(least=5_000, most=50_000, values=5_000_000)

BULK = (0.05, 0.95)  # between these quantiles lie most rows of a feature;
NARROW = 0.2  # it has a long tail if they are closer together than this share of its range


def samples(
    X: Table,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    weights: Floats | None,
    most_bytes: int = 2**26,
    n_threads: int = 1,
) -> Iterator[tuple[int, Sample]]:
    """Yield the values of some columns in some rows, with the place of each among `columns`.

    Many columns at a time, to read X in order; of files, which are read once for all of these, as
    many as `most_bytes` hold. Missing values are left out.
    """
    if weights is None:
        for start, block in ascending(X, rows, columns, most_bytes, n_threads):
            for k, column in enumerate(block):
                yield start + k, Sample.in_order(column)
        return
    weight = weights[rows]
    for at in _together(X, rows, columns, most_bytes):
        values = as_dense(X.sample(rows, columns[at]))
        for k, column in enumerate(np.ascontiguousarray(values.T)):
            yield at.start + k, Sample.of(column, weight)


def ascending(
    X: Table,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    most_bytes: int = 2**26,
    n_threads: int = 1,
) -> Iterator[tuple[int, AnyArray]]:
    """Yield the same of rows that weigh 1 each, many columns at once: one row each, NaN last.

    As the numbers they are: that takes half the time.
    """
    for at in _together(X, rows, columns, most_bytes):
        yield at.start, X.in_order(rows, columns[at], n_threads)


def _together(
    X: Table, rows: NDArray[np.intp], columns: NDArray[np.intp], most_bytes: int
) -> list[slice]:
    """Return which columns are read at a time."""
    width = max(1, most_bytes // (8 * max(1, len(rows)))) if X.is_on_disk else 256
    return [slice(start, start + width) for start in range(0, len(columns), width)]


def n_distinct(ascending: AnyArray) -> NDArray[np.intp]:
    """Return how many values there are in each row of (n_columns, n), NaN last and not counted.

    At least 1, as if a column of missing values had one.
    """
    return np.asarray(1 + (ascending[:, 1:] > ascending[:, :-1]).sum(axis=1), dtype=np.intp)


def suspects(
    X: Table,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    few: int,
    lo: Floats,
    hi: Floats,
    n_threads: int = 1,
) -> NDArray[np.intp]:
    """Return the places among `columns` of those that may have few values or a long tail.

    Also of those with gaps; `lo` and `hi` are their ends. The others have neither, in these rows:
    of a wide table most columns, which need not be put in order.
    """
    if X.is_on_disk or X.is_sparse:
        return np.arange(len(columns))
    found = [np.empty(0, dtype=np.intp)]
    for at in _together(X, rows, columns, 0):
        values = X.window(rows, columns[at])
        found.append(
            at.start + _core.suspect_columns(*values, lo[at], hi[at], *BULK, NARROW, few, n_threads)
        )
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Sample:
    """Values of a feature in ascending order, and the weight of the rows up to each."""

    values: Floats
    total: Floats

    @classmethod
    def of(cls, values: AnyArray, weights: Floats | None) -> Sample:
        """Put values (n,) of rows that weigh something, 1 each if `weights` is None, in order.

        Missing ones are left out.
        """
        x = values.astype(np.float64)
        there = ~np.isnan(x)
        if not there.all():
            x, weights = x[there], None if weights is None else weights[there]
        if weights is None:
            return cls.in_order(np.sort(x))
        order = np.argsort(x, kind="stable")
        return cls(x[order], np.cumsum(weights[order]))

    @classmethod
    def in_order(cls, ascending: AnyArray) -> Sample:
        """Take ascending values (n,), NaN behind them, of rows that weigh 1 each."""
        n = int(np.searchsorted(ascending, np.nan))  # sorted behind all numbers
        return cls(ascending[:n].astype(np.float64), np.arange(1.0, n + 1))

    def quantiles(self, shares: AnyArray) -> Floats:
        """Return the smallest values that the shares (n,) of the weight do not exceed.

        They are values of the sample, and the same for a row of weight 2 as for two rows.
        """
        if not len(self.values):
            return np.zeros(len(shares))
        last = len(self.values) - 1
        return values_at(self.values, self.total, shares * self.total[-1], 0, last)

    @cached_property
    def distinct(self) -> Floats:
        """The values without repetitions."""
        if not len(self.values):
            return self.values
        return without_repetitions(self.values)


def values_at(
    values: Floats, total: Floats, wanted: Floats, first: AnyArray | int, last: AnyArray | int
) -> Floats:
    """Return the smallest values up to which rows weigh as much as wanted: weighted quantiles.

    `total` is the weight up to and with each value, in the order of the values; those returned have
    places from `first` to `last`.
    """
    places = np.clip(np.searchsorted(total, wanted), first, last)
    found: Floats = values[places]
    return found


def has_long_tail(seen: Sample, lo: float, hi: float) -> bool:
    """Return whether most rows of a feature over [lo, hi] lie in a small part of its range.

    Pieces of equal width would then be wasted on the few others. Of two values none is a tail.
    """
    inside = np.searchsorted(seen.values, hi) - np.searchsorted(seen.values, lo, side="right")
    if inside <= 0:
        return False
    return bool(is_narrow(seen.quantiles(np.array(BULK)), lo, hi))


def is_narrow(bulk: Sequence[Floats] | Floats, lo: Floats | float, hi: Floats | float) -> AnyArray:
    """Return whether the quantiles `BULK` of features over [lo, hi] are close together."""
    start, end = bulk
    return np.asarray(0.5 * end - 0.5 * start < NARROW * (0.5 * hi - 0.5 * lo))  # no overflow


def quantile_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots over [lo, hi], where the values are.

    A feature of few distinct values has a knot at each of them. Otherwise half the knots are
    quantiles of the rows, so that knots are where the data are, and the others are quantiles of the
    other distinct values, so that a feature that is mostly zero, or has a long tail, has knots
    elsewhere too. Where quantiles of the rows repeat each other, the others are the more.
    """
    distinct = with_ends(seen.distinct, lo, hi)
    if len(distinct) <= n_bins + 1:
        return distinct
    n_inner = n_bins - 1
    shares = np.arange(1, n_inner // 2 + 1) / (n_inner // 2 + 1)
    of_rows = without_repetitions(seen.quantiles(shares))
    of_rows = of_rows[(of_rows != lo) & (of_rows != hi)]
    others = _without(distinct[1:-1], of_rows)
    n_others = n_inner - len(of_rows)
    places = np.arange(1, n_others + 1) * (len(others) + 1) / (n_others + 1)
    return np.sort(
        np.concatenate([[lo, hi], of_rows, others[np.floor(places - 0.5).astype(np.intp)]])
    )


def spread_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots over [lo, hi]: where rows are, and everywhere else.

    A feature of few distinct values has a knot at each of them. Otherwise a third of the knots are
    quantiles of the rows, a third are equal steps, each at the next value that occurs, and the
    others are quantiles of the other distinct values.
    """
    distinct = with_ends(seen.distinct, lo, hi)
    if len(distinct) <= n_bins + 1 or n_bins < 6:
        return quantile_knots(seen, lo, hi, n_bins)
    third = n_bins // 3
    of_rows = seen.quantiles(np.arange(1, third) / third)
    share = np.linspace(0.0, 1.0, third + 1)
    at = np.searchsorted(distinct, lo * (1.0 - share) + hi * share)
    steps = distinct[np.minimum(at, len(distinct) - 1)]
    knots = np.unique(np.concatenate([[lo, hi], of_rows, steps]))
    others = _without(distinct, knots)
    n = min(n_bins + 1 - len(knots), len(others))
    places = (np.arange(n) + 0.5) * len(others) / max(n, 1)
    return np.union1d(knots, others[places.astype(np.intp)])


def all_spread_knots(
    block: AnyArray, lo: Floats, hi: Floats, n_bins: int, n_threads: int = 1
) -> Floats:
    """Place the `spread_knots` of features with more distinct values than knots; NaN behind them.

    `block` holds the values of one feature per row, ascending, NaN last. The others, and all if
    n_bins < 6, have NaN alone.
    """
    found: Floats = _core.spread_knots(_as_floats(block), lo, hi, n_bins, n_threads)
    return found


def tail_knots(block: AnyArray, lo: Floats, hi: Floats, n_bins: int, n_threads: int = 1) -> Floats:
    """Place knots of the features that have a long tail; NaN behind them, and for the others.

    `block` holds the values of one feature per row, ascending, NaN last. It is `has_long_tail`,
    `quantile_knots` and `filled` of each of them.
    """
    block = _as_floats(block)
    found: Floats = _core.tail_knots(block, lo, hi, n_bins, *BULK, NARROW, n_threads)
    return found


def _as_floats(block: AnyArray) -> AnyArray:
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)


def with_ends(distinct: Floats, lo: float, hi: float) -> Floats:
    """Return ascending values, with both ends among them: those of all rows, seen or not."""
    for end in (lo, hi):
        at = int(np.searchsorted(distinct, end))
        if at == len(distinct) or distinct[at] != end:
            distinct = np.concatenate([distinct[:at], [end], distinct[at:]])
    return distinct


def without_repetitions(ascending: Floats) -> Floats:
    """Return ascending numbers, each once; np.unique would sort them, for thousands of columns."""
    is_new = np.ones(len(ascending), dtype=bool)
    np.greater(ascending[1:], ascending[:-1], out=is_new[1:])
    found: Floats = ascending[is_new]
    return found


def _without(distinct: Floats, few: Floats) -> Floats:
    """Return ascending values without a few of them; those may not all be there."""
    at = np.minimum(np.searchsorted(distinct, few), len(distinct) - 1)
    left = np.ones(len(distinct), dtype=bool)
    left[at[distinct[at] == few]] = False
    return distinct[left]


def filled(knots: Floats, n_bins: int, dtype: npt.DTypeLike = np.float64) -> Floats:
    """Divide pieces until there are n_bins of them: all features alike is fast in the core.

    New knots are numbers of the column's type, which the core scores fast. There may be no such
    number between two neighbors; then there are fewer.
    """
    n_cells = len(knots) - 1
    parts = np.full(n_cells, n_bins // n_cells)
    parts[: n_bins % n_cells] += 1
    cell = np.repeat(np.arange(n_cells), parts)
    share = (np.arange(n_bins) - np.repeat(np.cumsum(parts) - parts, parts)) / parts[cell]
    inside = knots[cell] * (1 - share) + knots[cell + 1] * share
    if dtype == np.float32:
        inside = inside.astype(dtype).astype(np.float64)
    return np.unique(np.append(inside, knots[-1]))
