"""Knots chosen from the data, and the samples of rows they are chosen from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table

__all__ = [
    "Sample",
    "all_spread_knots",
    "ascending",
    "filled",
    "has_long_tail",
    "inward",
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
    """The size of a sample: `most` rows, or as few as `least` to stay below `values` values."""

    least: int
    most: int
    values: int

    def rows(self, n_rows: int, kept: AnyArray | None, n_columns: int) -> NDArray[np.intp]:
        """Return the sorted indices of a random sample of all rows, or of those in `kept`.

        The sample is the same in every call.
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

# A feature has a long tail if the quantiles BULK are closer together than this share of its range.
BULK = (0.05, 0.95)
NARROW = 0.2
NARROW_OF_WIDE = 0.1  # in wide tables, such as features of images
INWARD = 1e-9  # of a whole; see inward()


def samples(
    X: Table,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    weights: Floats | None,
    most_bytes: int = 2**26,
    n_threads: int = 1,
) -> Iterator[tuple[int, Sample]]:
    """Yield the position of each column in `columns`, and a sample of its values in `rows`.

    Columns are read in blocks, to read X in order; from files, which are read once per block, as
    many as `most_bytes` hold. Missing values are left out.
    """
    if weights is None:
        for start, block in ascending(X, rows, columns, most_bytes, n_threads):
            for k, column in enumerate(block):
                yield start + k, Sample.of_sorted(column)
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
    """Yield blocks of sorted columns: the position of the first, and (n_columns, n_rows) values.

    NaN comes last. Values keep their data type, which takes half the time.
    """
    for at in _together(X, rows, columns, most_bytes):
        yield at.start, X.sorted_columns(rows, columns[at], n_threads)


def _together(
    X: Table, rows: NDArray[np.intp], columns: NDArray[np.intp], most_bytes: int
) -> list[slice]:
    """Return the blocks of columns that are read together."""
    width = max(1, most_bytes // (8 * max(1, len(rows)))) if X.is_on_disk else 256
    return [slice(start, start + width) for start in range(0, len(columns), width)]


def n_distinct(ascending: AnyArray) -> NDArray[np.intp]:
    """Return the number of distinct values in each row of (n_columns, n), NaN not counted.

    Rows are ascending with NaN last. The number is at least 1, also if all values are missing.
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
    narrow: float = NARROW,
) -> NDArray[np.intp]:
    """Return the positions in `columns` of those that may have few values, a long tail or gaps.

    `lo` and `hi` are the columns' ranges. The other columns, which are most of a wide table, need
    not be sorted.
    """
    if X.is_on_disk or X.is_sparse:
        return np.arange(len(columns))
    found = [np.empty(0, dtype=np.intp)]
    for at in _together(X, rows, columns, 0):
        values = X.window(rows, columns[at])
        found.append(
            at.start + _core.suspect_columns(*values, lo[at], hi[at], *BULK, narrow, few, n_threads)
        )
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Sample:
    """Ascending values of a feature, and the cumulative weight of their rows."""

    values: Floats
    total: Floats

    @classmethod
    def of(cls, values: AnyArray, weights: Floats | None) -> Sample:
        """Sort values (n,) of rows with positive weights, 1 each if `weights` is None.

        Missing values are left out.
        """
        x = values.astype(np.float64)
        there = ~np.isnan(x)
        if not there.all():
            x, weights = x[there], None if weights is None else weights[there]
        if weights is None:
            return cls.of_sorted(np.sort(x))
        order = np.argsort(x)  # among equal values any order will do, and this is far faster
        return cls(x[order], np.cumsum(weights[order]))

    @classmethod
    def of_sorted(cls, ascending: AnyArray) -> Sample:
        """Return the sample of ascending values (n,), NaN last, of rows of weight 1."""
        n = int(np.searchsorted(ascending, np.nan))  # NaN is sorted after all numbers
        return cls(ascending[:n].astype(np.float64), np.arange(1.0, n + 1))

    def quantiles(self, shares: AnyArray) -> Floats:
        """Return weighted quantiles for shares (n,): the smallest value with at least that weight.

        If exactly that weight is up to a value, the quantile is this value or the next, whichever
        is nearer to the median, so that a mirrored column has mirrored quantiles. They are values
        of the sample. A row of weight 2 has the effect of two rows of weight 1.
        """
        if not len(self.values):
            return np.zeros(len(shares))
        last = len(self.values) - 1
        return values_at(self.values, self.total, inward(shares) * self.total[-1], 0, last)

    @cached_property
    def distinct(self) -> Floats:
        """The distinct values, ascending."""
        if not len(self.values):
            return self.values
        return without_repetitions(self.values)


def values_at(
    values: Floats, total: Floats, wanted: Floats, first: AnyArray | int, last: AnyArray | int
) -> Floats:
    """Return the smallest values whose cumulative weight `total` reaches the weights `wanted`.

    Only values at the positions from `first` to `last` are returned.
    """
    places = np.clip(np.searchsorted(total, wanted), first, last)
    found: Floats = values[places]
    return found


def has_long_tail(seen: Sample, lo: float, hi: float, narrow: float = NARROW) -> bool:
    """Return whether most rows of a feature are in a small part of its range [lo, hi].

    Pieces of equal width would then be wasted on the few other rows. A feature with only two values
    has no tail.
    """
    inside = np.searchsorted(seen.values, hi) - np.searchsorted(seen.values, lo, side="right")
    if inside <= 0:
        return False
    return bool(is_narrow(seen.quantiles(np.array(BULK)), lo, hi, narrow))


def is_narrow(
    bulk: Sequence[Floats] | Floats,
    lo: Floats | float,
    hi: Floats | float,
    narrow: float = NARROW,
) -> AnyArray:
    """Return whether the quantiles BULK of features with the range [lo, hi] are close together."""
    start, end = bulk
    return np.asarray(0.5 * end - 0.5 * start < narrow * (0.5 * hi - 0.5 * lo))  # no overflow


def inward(shares: AnyArray) -> Floats:
    """Return shares of a whole, moved toward one half by more than rounding errors.

    Between two values that fit equally well, the one nearer to the middle is then chosen, so that
    the knots of a mirrored column are mirrored.
    """
    return np.where(shares < 0.5, shares + INWARD, shares - INWARD)


def quantile_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Return at most n_bins + 1 knots over [lo, hi], placed by quantiles.

    A feature with few distinct values has a knot at each of them. Otherwise half of the knots are
    quantiles of the rows, so that knots are where the data are, and the others are quantiles of the
    remaining distinct values, so that a feature that is mostly zero, or has a long tail, has knots
    elsewhere too. The latter are more than half if quantiles of the rows coincide.
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
    places = inward(np.arange(1, n_others + 1) / (n_others + 1)) * (len(others) + 1)
    return np.sort(
        np.concatenate([[lo, hi], of_rows, others[np.floor(places - 0.5).astype(np.intp)]])
    )


def spread_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Return at most n_bins + 1 knots over [lo, hi], placed by quantiles and equal steps.

    A feature with few distinct values has a knot at each of them. Otherwise a third of the knots
    are quantiles of the rows, a third are equal steps, each moved to the nearest value that occurs,
    and the others are quantiles of the remaining distinct values. A mirrored feature has mirrored
    knots.
    """
    distinct = with_ends(seen.distinct, lo, hi)
    if len(distinct) <= n_bins + 1 or n_bins < 6:
        return quantile_knots(seen, lo, hi, n_bins)
    third = n_bins // 3 | 1  # odd: in the middle, two values may be equally near
    of_rows = seen.quantiles(np.arange(1, third) / third)
    share = inward(np.linspace(0.0, 1.0, third + 1))
    wanted = lo * (1.0 - share) + hi * share
    at = np.clip(np.searchsorted(distinct, wanted), 1, len(distinct) - 1)
    below, above = distinct[at - 1], distinct[at]
    steps = np.where(wanted < 0.5 * below + 0.5 * above, below, above)
    knots = np.unique(np.concatenate([[lo, hi], of_rows, steps]))
    others = _without(distinct, knots)
    n = min(n_bins + 1 - len(knots), len(others))
    places = inward((np.arange(n) + 0.5) / max(n, 1)) * len(others)
    chosen = others[places.astype(np.intp)]
    if n % 2 == 1 and len(others) % 2 == 0:
        chosen[n // 2] = _between(others[len(others) // 2 - 1], others[len(others) // 2])
    return np.union1d(knots, chosen)


def _between(a: float, b: float) -> float:
    """Return the middle of two numbers, in single precision if they are."""
    middle = 0.5 * a + 0.5 * b
    with np.errstate(over="ignore"):
        single = np.array([a, b, middle], dtype=np.float32).astype(np.float64)
    return float(single[2] if (single[:2] == [a, b]).all() else middle)


def all_spread_knots(
    block: AnyArray, lo: Floats, hi: Floats, n_bins: int, n_threads: int = 1
) -> Floats:
    """Return the `spread_knots` of many features, one row each, with NaN after the last knot.

    `block` holds the ascending values of one feature per row, NaN last. Features with no more
    distinct values than knots, and all features if n_bins < 6, have NaN only.
    """
    found: Floats = _core.spread_knots(_as_floats(block), lo, hi, n_bins, n_threads)
    return found


def tail_knots(
    block: AnyArray,
    lo: Floats,
    hi: Floats,
    n_bins: int,
    n_threads: int = 1,
    narrow: float = NARROW,
) -> Floats:
    """Return knots of the features that have a long tail, one row each, with NaN after the last.

    `block` holds the ascending values of one feature per row, NaN last. The other features have NaN
    only. It combines `has_long_tail`, `quantile_knots` and `filled`.
    """
    block = _as_floats(block)
    found: Floats = _core.tail_knots(block, lo, hi, n_bins, *BULK, narrow, n_threads)
    return found


def _as_floats(block: AnyArray) -> AnyArray:
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)


def with_ends(distinct: Floats, lo: float, hi: float) -> Floats:
    """Return ascending values with lo and hi included, which may not be in the sample."""
    for end in (lo, hi):
        at = int(np.searchsorted(distinct, end))
        if at == len(distinct) or distinct[at] != end:
            distinct = np.concatenate([distinct[:at], [end], distinct[at:]])
    return distinct


def without_repetitions(ascending: Floats) -> Floats:
    """Return the distinct values of ascending numbers, faster than np.unique, which sorts."""
    is_new = np.ones(len(ascending), dtype=bool)
    np.greater(ascending[1:], ascending[:-1], out=is_new[1:])
    found: Floats = ascending[is_new]
    return found


def _without(distinct: Floats, few: Floats) -> Floats:
    """Return the ascending values `distinct` without those in `few`."""
    at = np.minimum(np.searchsorted(distinct, few), len(distinct) - 1)
    left = np.ones(len(distinct), dtype=bool)
    left[at[distinct[at] == few]] = False
    return distinct[left]


def filled(knots: Floats, n_bins: int, dtype: npt.DTypeLike = np.float64) -> Floats:
    """Return knots with pieces subdivided until there are n_bins of them.

    The core is fast if all features have equally many pieces. New knots have the column's data
    type, which the core scores fast; there are fewer if no such number is between two neighbors.
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
