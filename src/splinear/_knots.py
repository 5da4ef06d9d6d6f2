"""Where the pieces of a curve meet: as the user says, or chosen from the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats

__all__ = ["MAX_BINS", "RULES", "KnotPlan"]

MAX_BINS = 32768  # the 16 bits of a code must hold the bin
RULES = ("uniform", "quantile")
_ENOUGH = 50_000  # rows from which quantiles are taken


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class KnotPlan:
    """How the axis of each feature is divided.

    `rules` has an entry a feature: "uniform", "quantile", or the knots themselves. `n_bins`
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
        rules = [_checked_rule(entry, label, j) for j, entry in enumerate(entries)]
        counts = _checked_counts(n_bins, n_features, label)
        for j, rule in enumerate(rules):
            if not isinstance(rule, str):
                counts[j] = len(rule) - 1
        return cls(rules, counts)

    def spread(self, widths: NDArray[np.intp]) -> KnotPlan:
        """Give the plan for features of several columns, `widths` being their numbers.

        Knots that are given are those of a feature's first column; the others hold 0 and 1.
        """
        if np.all(widths == 1):
            return self
        rules = [
            rule if k == 0 or isinstance(rule, str) else "uniform"
            for rule, width in zip(self.rules, widths, strict=True)
            for k in range(int(width))
        ]
        return KnotPlan(rules, np.repeat(self.n_bins, widths))

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

    def place(self, X: AnyArray, rows: Any, lo: Floats, hi: Floats) -> Floats | None:
        """Give the knots of every feature, shape (n_features, most knots), NaN after the last.

        A uniform feature has none; None if all are uniform. X (n, n_features) is looked at in
        `rows`, in 50,000 of them at most; `lo` and `hi` are its lowest and highest values.
        """
        warped = [
            j
            for j, rule in enumerate(self.rules)
            if not (isinstance(rule, str) and rule == "uniform")
        ]
        if not warped:
            return None
        chosen = _some(np.arange(len(X))[rows])
        out = np.full((X.shape[1], int(self.n_bins[warped].max()) + 1), np.nan)
        for j in warped:
            knots = self.rules[j]
            if isinstance(knots, str):
                values = X[chosen, j].astype(np.float64)
                knots = quantile_knots(values, lo[j], hi[j], int(self.n_bins[j]))
            out[j, : len(knots)] = knots
        return out


def _some(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(rows) <= _ENOUGH:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _ENOUGH, replace=False))


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
        return [entries.get(j, "uniform") for j in range(n_features)]
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


def _checked_rule(entry: Any, label: Callable[[int], str], j: int) -> str | Floats:
    """Give one feature's rule, or say why it is none."""
    if isinstance(entry, str):
        if entry in RULES:
            return entry
        raise _wrong(f"got {entry!r}", label(j))
    try:
        knots = np.array(entry, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong(f"got {entry!r}", label(j)) from None
    if knots.ndim != 1:
        raise _wrong(f"got {entry!r}", label(j))
    if not 2 <= len(knots) <= MAX_BINS + 1:
        raise _wrong(f"got {len(knots)} of them", label(j))
    if not np.isfinite(knots).all():
        at = int(np.argmin(np.isfinite(knots)))
        raise _wrong(f"got {knots[at]} in place {at}", label(j))
    if not np.all(knots[1:] > knots[:-1]):
        at = int(np.argmin(knots[1:] > knots[:-1]))
        raise _wrong(f"got {knots[at]} before {knots[at + 1]}", label(j))
    return knots


def _wrong(found: str, column: str) -> ValueError:
    return ValueError(
        f"knots of {column}: {found}; expected 'uniform', 'quantile', or a list of 2 to "
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


def quantile_knots(values: Floats, lo: float, hi: float, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots over [lo, hi], where the values are.

    A feature of few distinct values has a knot at each of them. Otherwise every second knot is a
    quantile of the rows, so that knots are where the data are, and the others are quantiles of the
    distinct values, so that a feature that is mostly zero, or has a long tail, has knots elsewhere
    too.
    """
    values = np.sort(values)
    distinct = values[np.append(True, values[1:] > values[:-1])]
    ends = np.array([lo, hi])  # of all rows, not only of those looked at
    distinct = np.unique(np.concatenate([ends, distinct]))
    if len(distinct) <= n_bins + 1:
        return distinct
    inner = n_bins - 1
    of_rows = _quantiles(values, inner // 2)
    of_values = _quantiles(distinct, inner - inner // 2)
    return np.unique(np.concatenate([ends, of_rows, of_values]))


def _quantiles(ascending: Floats, n: int) -> Floats:
    """Pick n values of the array, at equal distances between its ends."""
    places = np.arange(1, n + 1) * (len(ascending) - 1) / (n + 1)
    return ascending[np.round(places).astype(np.intp)]
