"""The user's table as the table of numbers that terms read.

Numbers stay as they are, missing values become NaN, and a category becomes the number of its level:
one column per feature, whatever it holds. A table that needs none of that is not copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.tables.reading import (
    Source,
    column_of,
    factor,
    numbers,
    raw_pieces,
)

__all__ = ["Columns"]

UNSEEN = -1.0  # instead of the number of a level; a gap is NaN
MOST_AT_ONCE = 2**24  # values of the table; a larger one is made in pieces, while it is read
MANY_LEVELS = 50  # fewer are no identifier, however few the rows

Label = Callable[[int], str]  # how the user knows a feature


@dataclass(frozen=True)
class Columns:
    """How the user's features become numbers.

    Attributes
    ----------
    n_features : int
    levels : dict of int to tuple
        The levels of the features that are categories, in order.
    strict : frozenset of int
        Categories whose unseen levels are refused.
    periods : dict of int to float
        Features that are taken modulo a period.
    dropped : frozenset of int
        Features that take no part, whatever they hold.
    zero_based : bool or None
        Whether the indices of the LIBSVM file that fit was given begin with 0; None: there was
        none.
    """

    n_features: int
    levels: dict[int, tuple[Any, ...]]
    strict: frozenset[int] = frozenset()
    periods: dict[int, float] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    zero_based: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the user's table serves as it is."""
        return not self.levels and not self.periods

    @property
    def categorical(self) -> list[int]:
        """The features that are categories."""
        return sorted(self.levels)

    def numbers_of(self, j: int, values: Any, label: Label, first_row: int = 0) -> AnyArray:
        """Return feature j's values as numbers, (n,); the first is in row `first_row`."""
        if j in self.levels:
            return self._codes(j, values, label, first_row)
        x = numbers(values, label(j))
        if j not in self.periods:
            return x
        with np.errstate(invalid="ignore"):  # infinity is refused later
            return np.where(np.isinf(x), x, x % self.periods[j])

    def _codes(self, j: int, values: Any, label: Label, first_row: int) -> Floats:
        distinct, rows = factor(values)
        place = {level: float(k) for k, level in enumerate(self.levels[j])}
        found = [place.get(value, UNSEEN) for value in distinct]
        codes = np.array([*found, np.nan])[rows]  # missing values are row -1 of the factor
        if UNSEEN in found:
            self._mention_unseen(j, distinct, found, codes, label, first_row)
        return codes

    def _mention_unseen(
        self,
        j: int,
        distinct: list[Any],
        found: list[float],
        codes: Floats,
        label: Label,
        first_row: int,
    ) -> None:
        """Refuse unseen levels if the term says so; warn if they are not of the type of fit."""
        example = distinct[found.index(UNSEEN)]
        if j in self.strict:
            row = first_row + int(np.argmax(codes == UNSEEN))
            raise ValueError(
                f"Input X contains {example!r} in {label(j)} (first in row {row}), which was not "
                f"there in fit; its levels are {_shown(self.levels[j])}. With "
                "Category(unseen='ignore') it would count as the mean over the training rows."
            )
        in_fit = {isinstance(level, str) for level in self.levels[j]}
        if len(in_fit) == 1 and isinstance(example, str) not in in_fit:
            kinds = {True: "text", False: "not text"}
            warnings.warn(
                f"{label(j)} holds {example!r}, which is {kinds[isinstance(example, str)]}, but "
                f"its levels in fit are {kinds[in_fit.pop()]}: {_shown(self.levels[j])}. Such "
                "values count as levels that were not there in fit; convert them first.",
                UserWarning,
                stacklevel=2,
            )

    def counted(self, X: Source) -> Any:
        """Return a table in files whose indices are counted from where those of fit were."""
        return X.counted_from(self.zero_based) if hasattr(X, "counted_from") else X

    def apply(self, X: Any, label: Label, first_row: int = 0) -> Any:
        """Return the table of numbers of a piece of X; X itself where nothing is to be done."""
        if self.is_plain:
            return X
        out = np.empty((len(X), self.n_features), _float_type(X))
        for j in range(self.n_features):
            out[:, j] = self.numbers_of(j, column_of(X, j), label, first_row)
        return out


def _shown(levels: tuple[Any, ...]) -> str:
    rest = f", ... ({len(levels):,} in all)" if len(levels) > 10 else ""
    return ", ".join(map(repr, levels[:10])) + rest


@dataclass(frozen=True, eq=False)
class InColumns:
    """The rows of a table in files, or of a large one, as numbers: a Source."""

    table: Any
    columns: Columns
    label: Label
    names = None

    def __len__(self) -> int:
        return len(self.table)

    def __str__(self) -> str:
        return str(self.table)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), self.columns.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the chunks."""
        in_frames = self.columns.categorical and hasattr(self.table, "frames")
        return np.dtype(np.float64) if in_frames else _float_type(self.table)

    def chunks(self, n_rows: int) -> Iterator[AnyArray]:
        """Yield all rows in order, at most n_rows at a time."""
        as_frames = bool(self.columns.categorical)
        for rows, piece in raw_pieces(self.table, n_rows, as_frames=as_frames):
            yield self.columns.apply(piece, self.label, rows.start)


def _float_type(X: Any) -> np.dtype[Any]:
    """Return the type of the numbers made of X: that of an array of float32, else float64."""
    single = getattr(X, "dtype", None) == np.float32
    return np.dtype(np.float32 if single else np.float64)


# -- what estimators call -------------------------------------------------------------------------


# -- learning columns -----------------------------------------------------------------------------


@dataclass
class Seen:
    """The distinct values of a categorical feature, in the pieces of a table so far."""

    label: str
    values: dict[Any, None] = field(default_factory=dict)
    floats: bool = False
    ordered: tuple[Any, ...] | None = None

    def add(self, values: Any, kept: Any) -> None:
        """Look at a piece of the column, in the rows that count."""
        try:
            distinct, rows = factor(values)
        except TypeError as error:  # lists, for example; in the words of float()
            raise TypeError(
                f"X must hold numbers or categories in {self.label}: an argument must be a string "
                f"or a real number ({error})."
            ) from error
        counted = rows[kept]
        self.values |= dict.fromkeys(distinct[k] for k in np.unique(counted[counted >= 0]))
        # Whole numbers are floats in a piece with missing values, and so they are in all.
        self.floats |= getattr(getattr(values, "dtype", None), "kind", "") == "f"
        categories = getattr(getattr(values, "dtype", None), "categories", None)
        if categories is not None and getattr(values.dtype, "ordered", False):
            self.ordered = tuple(categories.tolist())

    def warn_of_identifiers(self, n_rows: int) -> None:
        """Warn of a feature of which most rows have a level of their own."""
        n = len(self.values)
        if n > MANY_LEVELS and 2 * n > n_rows:
            warnings.warn(
                f"{self.label} has {n:,} levels in {n_rows:,} rows: an identifier, or numbers read "
                "as text? Leave it out, or convert it to numbers.",
                UserWarning,
                stacklevel=2,
            )

    def levels(self) -> tuple[Any, ...]:
        """Return the levels in order."""
        levels = [float(v) if self.floats and isinstance(v, int) else v for v in self.values]
        if self.ordered is not None and all(level in self.ordered for level in levels):
            there = set(levels)
            return tuple(level for level in self.ordered if level in there)
        try:
            return tuple(sorted(levels))
        except TypeError:  # of several types
            return tuple(sorted(levels, key=str))
