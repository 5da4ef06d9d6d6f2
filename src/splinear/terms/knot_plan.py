"""The plan of knots that the parameters `knots` and `n_bins` of a transformer ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from splinear._lookup import column_position, is_whole
from splinear._types import AnyArray, Floats, KnotRules
from splinear.tables.table import Table
from splinear.terms.knots import (
    FOR_QUANTILES,
    FOR_TAILS,
    filled,
    has_long_tail,
    quantile_knots,
    samples,
)

__all__ = ["MAX_BINS", "RULES", "KnotPlan", "checked_rule", "is_rule"]

MAX_BINS = 32768  # the bin must fit into a 16-bit code


RULES = ("auto", "uniform", "quantile")


@dataclass(frozen=True, eq=False)
class KnotPlan:
    """How the axis of each feature is divided into pieces.

    `rules` has one per feature: "auto", "uniform", "quantile", or the knots themselves. `n_bins`
    (n_features,) is the number of pieces; for quantile knots, the largest number.
    """

    rules: Sequence[str | Floats]
    n_bins: NDArray[np.intp]

    @classmethod
    def read(
        cls,
        knots: KnotRules,
        n_bins: int | Sequence[int],
        n_features: int,
        names: AnyArray | None,
        label: Callable[[int], str],
    ) -> KnotPlan:
        """Check the parameters `knots` and `n_bins` against the columns, named by label(j)."""
        entries = _one_each(knots, n_features, names)
        rules = [checked_rule(entry, label(j)) for j, entry in enumerate(entries)]
        counts = _checked_counts(n_bins, n_features, label)
        for j, rule in enumerate(rules):
            if not isinstance(rule, str):
                counts[j] = len(rule) - 1
        return cls(rules, counts)

    @property
    def most_bins(self) -> int:
        """The largest number of pieces, which the basis needs."""
        return int(self.n_bins.max())

    def ranges(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """Return the ends of each axis: those of given knots, or else of the data.

        A feature that is constant when clipped to its knots stays constant.
        """
        lo, hi = lo.copy(), hi.copy()
        for j, rule in enumerate(self.rules):
            if not isinstance(rule, str):
                lo[j], hi[j] = np.clip([lo[j], hi[j]], rule[0], rule[-1])
                if lo[j] < hi[j]:
                    lo[j], hi[j] = rule[0], rule[-1]
        return lo, hi

    def place(self, X: Table, lo: Floats, hi: Floats) -> Floats | None:
        """Return the knots of every feature, (n_features, max_knots), with NaN after the last.

        A uniform feature has NaN only; the result is None if all features are uniform. Knots are
        computed from samples of the rows of X (`FOR_TAILS`, `FOR_QUANTILES`); `lo` and `hi` are the
        lowest and highest values of all rows.
        """
        rules = self._settled(X, lo, hi)
        warped = [j for j, rule in enumerate(rules) if not is_rule(rule, "uniform")]
        if not warped:
            return None
        out = np.full((X.shape[1], int(self.n_bins[warped].max()) + 1), np.nan)
        by_quantiles = [j for j in warped if is_rule(rules[j], "quantile")]
        for j in set(warped) - set(by_quantiles):
            out[j, : len(rules[j])] = rules[j]
        some = FOR_QUANTILES.rows(X.shape[0], None, len(by_quantiles))
        for k, seen in samples(X, some, np.array(by_quantiles, dtype=np.intp), None):
            j = by_quantiles[k]
            knots = quantile_knots(seen, lo[j], hi[j], int(self.n_bins[j]))
            if is_rule(self.rules[j], "auto"):
                knots = filled(knots, int(self.n_bins[j]), X.dtype)
            out[j, : len(knots)] = knots
        return out

    def _settled(self, X: Table, lo: Floats, hi: Floats) -> list[str | Floats]:
        """Return the rules, with "auto" replaced by "uniform" or "quantile"."""
        rules = list(self.rules)
        open_ones = [j for j, rule in enumerate(rules) if is_rule(rule, "auto")]
        if not open_ones:
            return rules
        some = FOR_TAILS.rows(X.shape[0], None, len(open_ones))
        for k, seen in samples(X, some, np.array(open_ones, dtype=np.intp), None):
            j = open_ones[k]
            rules[j] = "quantile" if has_long_tail(seen, lo[j], hi[j]) else "uniform"
        return rules


def is_rule(rule: str | Floats, name: str) -> bool:
    """Return whether a rule has this name, and does not consist of given knots."""
    return isinstance(rule, str) and rule == name


def _one_each(knots: KnotRules, n_features: int, names: AnyArray | None) -> Sequence[object]:
    """Return one entry of `knots` per feature."""
    if isinstance(knots, str):
        return [knots] * n_features
    if isinstance(knots, Mapping):
        entries: dict[int, object] = {}
        for column, entry in knots.items():
            refusal = f"knots names column {column!r}, which is not there"
            j = column_position(column, n_features, names, refusal)
            if j in entries:
                raise ValueError(f"knots names column {j} twice, by its name and by its position.")
            entries[j] = entry
        return [entries.get(j, "auto") for j in range(n_features)]
    if len(knots) != n_features:
        raise ValueError(
            f"knots must have one entry per feature, {n_features} in all; got {len(knots)}. "
            "For knots of some features only, use a dict from column to knots."
        )
    return list(knots)


def checked_rule(entry: object, where: str) -> str | Floats:
    """Return the checked rule of one feature; `where` names the feature in errors."""
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


def _checked_counts(
    n_bins: int | Sequence[int], n_features: int, label: Callable[[int], str]
) -> NDArray[np.intp]:
    """Return the checked number of bins of each feature."""
    if isinstance(n_bins, int | Integral):
        return np.full(n_features, int(n_bins), dtype=np.intp)
    counts = list(n_bins)
    if len(counts) != n_features:
        raise ValueError(
            "n_bins must be a whole number, or a list of one per feature, "
            f"{n_features} in all; got {len(counts)}."
        )
    for j, count in enumerate(counts):
        if not is_whole(count) or not 1 <= count <= MAX_BINS:
            raise ValueError(
                f"n_bins of {label(j)}: got {count!r}; "
                f"expected a whole number from 1 to {MAX_BINS}."
            )
    return np.array(counts, dtype=np.intp)
