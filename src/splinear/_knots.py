"""Where the pieces of a curve meet: as the user says, or chosen from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear._reading import as_dense, is_on_disk, some_rows
from splinear._sparse import is_sparse
from splinear._types import AnyArray, Floats, Table

__all__ = [
    "MAX_BINS",
    "RULES",
    "KnotPlan",
    "Sample",
    "checked_rule",
    "filled",
    "has_long_tail",
    "is_rule",
    "quantile_knots",
    "samples",
    "spread_knots",
    "suspects",
]


@dataclass(frozen=True)
class Look:
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
            drawn = np.sort(np.random.default_rng(0).choice(n_counted, n, replace=False))
        return drawn if kept is None else np.flatnonzero(kept)[drawn]


FOR_TAILS = Look(least=2_000, most=10_000, values=1_000_000)
FOR_QUANTILES = Look(least=5_000, most=50_000, values=5_000_000)

MAX_BINS = 32768  # the 16 bits of a code must hold the bin
RULES = ("auto", "uniform", "quantile")
BULK = (0.05, 0.95)  # between these quantiles lie most rows of a feature;
NARROW = 0.2  # it has a long tail if they are closer together than this share of its range


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class KnotPlan:
    """How the axis of each feature is divided.

    `rules` has one per feature: "auto", "uniform", "quantile", or the knots themselves. `n_bins`
    (n_features,) is the number of pieces; of quantile knots, the most there may be.
    """

    rules: Sequence[str | Floats]
    n_bins: NDArray[np.intp]

    @classmethod
    def read(
        cls,
        knots: Any,
        n_bins: Any,
        n_features: int,
        names: AnyArray | None,
        label: Callable[[int], str],
    ) -> KnotPlan:
        """Check the parameters `knots` and `n_bins` against the columns; label(j) names one."""
        entries = _one_each(knots, n_features, names)
        rules = [checked_rule(entry, label(j)) for j, entry in enumerate(entries)]
        counts = _checked_counts(n_bins, n_features, label)
        for j, rule in enumerate(rules):
            if not isinstance(rule, str):
                counts[j] = len(rule) - 1
        return cls(rules, counts)

    @property
    def most_bins(self) -> int:
        """The number of pieces that a basis needs for all features."""
        return int(self.n_bins.max())

    def ranges(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """Give the ends of each axis: those of the knots where they are given, else of the data.

        A feature whose values are all one, seen from between the knots, stays a constant.
        """
        lo, hi = lo.copy(), hi.copy()
        for j, rule in enumerate(self.rules):
            if not isinstance(rule, str):
                lo[j], hi[j] = np.clip([lo[j], hi[j]], rule[0], rule[-1])
                if lo[j] < hi[j]:
                    lo[j], hi[j] = rule[0], rule[-1]
        return lo, hi

    def place(
        self,
        X: Table,
        lo: Floats,
        hi: Floats,
        kept: AnyArray | None = None,
        weights: Floats | None = None,
    ) -> Floats | None:
        """Give the knots of every feature, shape (n_features, most knots), NaN after the last.

        A uniform feature has none; None if all are uniform. X (n, n_features) is looked at in
        the rows `kept`, all if None; `lo` and `hi` are its lowest and highest values. A row of
        weight 2 counts as two rows: exactly, if there are no more rows than are looked at
        (`FOR_TAILS`, `FOR_QUANTILES`); with more, a row is as likely as any other to be among
        those, whatever it weighs.
        """
        rules = self._settled(X, lo, hi, kept, weights)
        warped = [j for j, rule in enumerate(rules) if not is_rule(rule, "uniform")]
        if not warped:
            return None
        out = np.full((X.shape[1], int(self.n_bins[warped].max()) + 1), np.nan)
        by_quantiles = [j for j in warped if is_rule(rules[j], "quantile")]
        for j in set(warped) - set(by_quantiles):
            out[j, : len(rules[j])] = rules[j]
        some = FOR_QUANTILES.rows(len(X), kept, len(by_quantiles))
        for k, seen in samples(X, some, np.array(by_quantiles, dtype=np.intp), weights):
            j = by_quantiles[k]
            knots = quantile_knots(seen, lo[j], hi[j], int(self.n_bins[j]))
            if is_rule(self.rules[j], "auto"):
                knots = filled(knots, int(self.n_bins[j]), X.dtype)
            out[j, : len(knots)] = knots
        return out

    def _settled(
        self,
        X: Table,
        lo: Floats,
        hi: Floats,
        kept: AnyArray | None,
        weights: Floats | None,
    ) -> list[str | Floats]:
        """Give the rules with "uniform" or "quantile" in the place of "auto"."""
        rules = list(self.rules)
        open_ones = [j for j, rule in enumerate(rules) if is_rule(rule, "auto")]
        if not open_ones:
            return rules
        some = FOR_TAILS.rows(len(X), kept, len(open_ones))
        for k, seen in samples(X, some, np.array(open_ones, dtype=np.intp), weights):
            j = open_ones[k]
            rules[j] = "quantile" if has_long_tail(seen, lo[j], hi[j]) else "uniform"
        return rules


def is_rule(rule: str | Floats, name: str) -> bool:
    """Tell whether a feature's rule is the one of this name, and not knots that were given."""
    return isinstance(rule, str) and rule == name


def samples(
    X: Table, rows: NDArray[np.intp], columns: NDArray[np.intp], weights: Floats | None
) -> Iterator[tuple[int, Sample]]:
    """Yield the values of some columns in some rows, with the place of each among `columns`.

    Many columns at a time, to read X in order. Missing values are left out.
    """
    weight = None if weights is None else weights[rows]
    if is_on_disk(X):
        X, rows = as_dense(some_rows(X, rows)), np.arange(len(rows))
    for start in range(0, len(columns), 256):
        some = columns[start : start + 256]
        values = as_dense(X[rows][:, some]) if is_sparse(X) else X[np.ix_(rows, some)]
        for k, column in enumerate(np.ascontiguousarray(values.T)):
            yield start + k, Sample.of(column, weight)


def suspects(
    X: Table, rows: NDArray[np.intp], columns: NDArray[np.intp], few: int, lo: Floats, hi: Floats
) -> NDArray[np.bool_]:
    """Tell which columns may have few values or a long tail; `lo` and `hi` are theirs.

    Many columns at a time, and a look at fewer rows than `samples` takes: of a wide table most
    columns are neither, and need no more.
    """
    out = np.ones(len(columns), dtype=bool)
    if is_on_disk(X) or is_sparse(X):
        return out
    for start in range(0, len(columns), 256):
        at = slice(start, start + 256)
        values = np.sort(X[np.ix_(rows, columns[at])].T, axis=1)  # NaN last
        n_distinct = 1 + (values[:, 1:] > values[:, :-1]).sum(axis=1)
        first, last = (values[:, int(share * (len(rows) - 1))] for share in BULK)
        bulk = 0.5 * last.astype(np.float64) - 0.5 * first.astype(np.float64)
        spread = bulk >= 2.0 * NARROW * (0.5 * hi[at] - 0.5 * lo[at])  # False for NaN
        out[at] = (n_distinct <= few) | ~spread | np.isnan(values[:, -1])
    return out


# -- what a user may say -------------------------------------------------------------------------


def _one_each(knots: Any, n_features: int, names: AnyArray | None) -> Sequence[Any]:
    """Give one entry a feature."""
    if isinstance(knots, str):
        return [knots] * n_features
    if isinstance(knots, Mapping):
        known = {} if names is None else {str(name): j for j, name in enumerate(names)}
        entries: dict[int, Any] = {}
        for column, entry in knots.items():
            j = _position(column, n_features, known)
            if j in entries:
                raise ValueError(f"knots names column {j} twice, by its name and by its position.")
            entries[j] = entry
        return [entries.get(j, "auto") for j in range(n_features)]
    if len(knots) != n_features:
        raise ValueError(
            f"knots must have one entry per feature, {n_features} in all; got {len(knots)}. "
            "To give only some features knots, use a dict from column to knots."
        )
    return list(knots)


def _position(column: Any, n_features: int, known: Mapping[str, int]) -> int:
    if isinstance(column, str):
        if column in known:
            return known[column]
        has = "X has no column names, so give positions"
        if known:
            has = "X has " + ", ".join(map(repr, list(known)[:10]))
            has += ", ..." if len(known) > 10 else ""
        raise ValueError(f"knots names column {column!r}, which is not there: {has}.")
    whole = isinstance(column, Integral) and not isinstance(column, bool)
    if not whole or not 0 <= column < n_features:
        raise ValueError(
            f"knots names column {column!r}, which is not there: "
            f"expected a column name or a position from 0 to {n_features - 1}."
        )
    return int(column)


def checked_rule(entry: Any, where: str) -> str | Floats:
    """Return one feature's rule, or say why it is none; `where` names the feature."""
    if isinstance(entry, str):
        if entry in RULES:
            return entry
        raise _wrong(f"got {entry!r}", where)
    try:
        knots = np.array(entry, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong(f"got {entry!r}", where) from None
    if knots.ndim != 1:
        raise _wrong(f"got {entry!r}", where)
    if not 2 <= len(knots) <= MAX_BINS + 1:
        raise _wrong(f"got {len(knots)} of them", where)
    if not np.isfinite(knots).all():
        at = int(np.argmin(np.isfinite(knots)))
        raise _wrong(f"got {knots[at]} in place {at}", where)
    if not np.all(knots[1:] > knots[:-1]):
        at = int(np.argmin(knots[1:] > knots[:-1]))
        raise _wrong(f"got {knots[at]} before {knots[at + 1]}", where)
    return knots


def _wrong(found: str, column: str) -> ValueError:
    return ValueError(
        f"knots of {column}: {found}; expected 'auto', 'uniform', 'quantile', or a list of 2 to "
        f"{MAX_BINS + 1} finite numbers in ascending order, no two of them equal."
    )


def _checked_counts(n_bins: Any, n_features: int, label: Callable[[int], str]) -> NDArray[np.intp]:
    """Give the number of bins of each feature, or say why it is none."""
    if isinstance(n_bins, Integral):
        return np.full(n_features, int(n_bins), dtype=np.intp)
    counts = list(n_bins)
    if len(counts) != n_features:
        raise ValueError(
            "n_bins must be a whole number, or a list of one per feature, "
            f"{n_features} in all; got {len(counts)}."
        )
    for j, count in enumerate(counts):
        whole = isinstance(count, Integral) and not isinstance(count, bool)
        if not whole or not 1 <= count <= MAX_BINS:
            raise ValueError(
                f"n_bins of {label(j)}: got {count!r}; "
                f"expected a whole number from 1 to {MAX_BINS}."
            )
    return np.array(counts, dtype=np.intp)


# -- knots from the data -------------------------------------------------------------------------


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
            return cls(np.sort(x), np.arange(1.0, len(x) + 1))
        order = np.argsort(x, kind="stable")
        return cls(x[order], np.cumsum(weights[order]))

    def quantiles(self, shares: AnyArray) -> Floats:
        """Give the smallest values that the shares (n,) of the weight do not exceed.

        They are values of the sample, and the same for a row of weight 2 as for two rows.
        """
        if not len(self.values):
            return np.zeros(len(shares))
        places = np.searchsorted(self.total, shares * self.total[-1])
        found: Floats = self.values[np.minimum(places, len(self.values) - 1)]
        return found

    @property
    def distinct(self) -> Floats:
        """The values without repetitions."""
        if not len(self.values):
            return self.values
        found: Floats = self.values[np.append(True, self.values[1:] > self.values[:-1])]
        return found


def has_long_tail(seen: Sample, lo: float, hi: float) -> bool:
    """Tell whether most rows of a feature over [lo, hi] lie in a small part of its range.

    Pieces of equal width would then be wasted on the few others. Of two values none is a tail.
    """
    if np.all((seen.values == lo) | (seen.values == hi)):
        return False
    start, end = 0.5 * seen.quantiles(np.array(BULK))  # halves, lest a difference overflow
    return bool(end - start < NARROW * (0.5 * hi - 0.5 * lo))


def quantile_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots over [lo, hi], where the values are.

    A feature of few distinct values has a knot at each of them. Otherwise half the knots are
    quantiles of the rows, so that knots are where the data are, and the others are quantiles of the
    other distinct values, so that a feature that is mostly zero, or has a long tail, has knots
    elsewhere too. Where quantiles of the rows repeat each other, the others are the more.
    """
    ends = np.array([lo, hi])  # of all rows, not only of those looked at
    distinct = np.union1d(ends, seen.distinct)
    if len(distinct) <= n_bins + 1:
        return distinct
    n_inner = n_bins - 1
    shares = np.arange(1, n_inner // 2 + 1) / (n_inner // 2 + 1)
    of_rows = np.setdiff1d(seen.quantiles(shares), ends)
    others = np.setdiff1d(distinct[1:-1], of_rows, assume_unique=True)
    n_others = n_inner - len(of_rows)
    places = np.arange(1, n_others + 1) * (len(others) + 1) / (n_others + 1)
    return np.sort(np.concatenate([ends, of_rows, others[np.floor(places - 0.5).astype(np.intp)]]))


def spread_knots(seen: Sample, lo: float, hi: float, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots over [lo, hi]: where rows are, and everywhere else.

    A feature of few distinct values has a knot at each of them. Otherwise a third of the knots are
    quantiles of the rows, a third are equal steps, each at the next value that occurs, and the
    others are quantiles of the other distinct values.
    """
    distinct = np.union1d([lo, hi], seen.distinct)
    if len(distinct) <= n_bins + 1 or n_bins < 6:
        return quantile_knots(seen, lo, hi, n_bins)
    third = n_bins // 3
    of_rows = seen.quantiles(np.arange(1, third) / third)
    share = np.linspace(0.0, 1.0, third + 1)
    at = np.searchsorted(distinct, lo * (1.0 - share) + hi * share)
    steps = distinct[np.minimum(at, len(distinct) - 1)]
    knots = np.unique(np.concatenate([[lo, hi], of_rows, steps]))
    others = np.setdiff1d(distinct, knots, assume_unique=True)
    n = min(n_bins + 1 - len(knots), len(others))
    places = (np.arange(n) + 0.5) * len(others) / max(n, 1)
    return np.union1d(knots, others[places.astype(np.intp)])


def filled(knots: Floats, n_bins: int, dtype: Any = np.float64) -> Floats:
    """Divide pieces until there are n_bins of them: all features alike is fast in the core.

    New knots are numbers of the column's type, which the core scores fast. There may be no such
    number between two neighbours; then there are fewer.
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
