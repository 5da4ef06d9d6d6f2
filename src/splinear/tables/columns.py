"""Conversion of the user's table to the table of numbers that terms are evaluated on.

Numbers stay as they are, missing values become NaN, and a category becomes the index of its level:
always one column per feature. A table that needs no conversion is not copied.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from splinear._caching import cached_property
from splinear._lookup import shown
from splinear._types import AnyArray, Floats
from splinear._warning import warn
from splinear.tables.chunks import Chunk
from splinear.tables.lenient import read_number
from splinear.tables.table import ColumnNumbers, Table, View
from splinear.tables.values import Values, factor, is_missing, numbers, ordered

__all__ = ["Columns", "Levels", "NumberTable", "Seen", "level_hints"]

UNSEEN = -1.0  # code of a level that did not occur in fit; a missing value is NaN

Label: TypeAlias = Callable[[int], str]  # from a feature's index to its name in messages
Levels: TypeAlias = tuple[object, ...]
MANY_LEVELS = 50  # a feature with fewer levels is never taken for an identifier
FEW_NUMBERS = 10  # so many different numbers make a column one of numbers
MOSTLY = 0.9  # share of the rows that must be numbers
NAMED = 3  # other values, or groups of similar levels, that are named
CODE = re.compile(r"\s*0\d")  # such as 01234; see `splinear.tables.codes`


@dataclass(frozen=True)
class Columns:
    """How each feature of the user's table is converted to numbers.

    Attributes
    ----------
    n_features : int
    levels : dict of int to tuple
        The sorted levels of each categorical feature.
    strict : frozenset of int
        Categorical features for which an unseen level raises an error.
    periods : dict of int to float
        The periods of features that are taken modulo a period.
    dropped : frozenset of int
        Features that are ignored, whatever they hold.
    zero_based : bool or None
        Whether the indices of the LIBSVM file passed to fit begin with 0; None if X was not a
        LIBSVM file.
    takes_gaps : bool
        Whether missing values are allowed.
    n_rows : int
        Number of training rows with a positive weight.
    counts : dict of int to tuple of int
        Number of these rows per level; after partial_fit, those of the first call.
    booleans : frozenset of int
        Features that hold True and False, as numbers.
    """

    n_features: int
    levels: dict[int, Levels]
    strict: frozenset[int] = frozenset()
    periods: dict[int, float] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    zero_based: bool | None = None
    takes_gaps: bool = True
    n_rows: int = 0
    counts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    booleans: frozenset[int] = frozenset()

    def after(self, n_rows: int) -> Columns:
        """Return a copy for a model that was trained on `n_rows` further rows."""
        return replace(self, n_rows=self.n_rows + n_rows)

    @property
    def is_plain(self) -> bool:
        """Whether the user's table can be used without conversion."""
        return not self.levels and not self.periods

    @property
    def categorical(self) -> list[int]:
        """The indices of the categorical features, sorted."""
        return sorted(self.levels)

    @cached_property
    def of_text(self) -> list[int]:
        """The indices of the categorical features whose levels are text."""
        return [j for j in self.categorical if any(isinstance(x, str) for x in self.levels[j][:1])]

    def numbers_of(self, j: int, values: Values, label: Label, first_row: int = 0) -> AnyArray:
        """Return the values of feature j as numbers, (n,); the first is in row `first_row`."""
        if j in self.levels:
            return self._codes(j, values, label, first_row)
        x = numbers(values, label(j))
        if j not in self.periods:
            return x
        with np.errstate(invalid="ignore"):  # infinity raises an error later
            return np.where(np.isinf(x), x, x % self.periods[j])

    @cached_property
    def _places(self) -> dict[int, dict[object, float]]:
        """For each categorical feature, the index of each level."""
        return {
            j: {level: float(k) for k, level in enumerate(levels)}
            for j, levels in self.levels.items()
        }

    def _codes(self, j: int, values: Values, label: Label, first_row: int) -> Floats:
        place = self._places[j]
        if isinstance(values, np.ndarray):
            listed = values.tolist()
            found = [np.nan if is_missing(value) else place.get(value, UNSEEN) for value in listed]
            codes = np.array(found)
        else:
            distinct, rows = factor(values)
            found = [place.get(value, UNSEEN) for value in distinct]
            codes = np.array([*found, np.nan])[rows]  # `factor` codes missing values by -1
        if UNSEEN in found:
            self._mention_unseen(j, values, int(np.argmax(codes == UNSEEN)), label, first_row)
        return codes

    def _mention_unseen(
        self, j: int, values: Values, at: int, label: Label, first_row: int
    ) -> None:
        """Raise if the term refuses unseen levels; warn if they are not of the type seen in fit."""
        (example,), _ = factor(values[at : at + 1])
        if j in self.strict:
            raise ValueError(
                f"Input X contains {example!r} in {label(j)} (first in row {first_row + at}), "
                f"which did not occur in fit; its levels are {shown(map(repr, self.levels[j]))}. "
                "With Category(unseen='ignore') it would count as the mean over the training rows."
            )
        in_fit = {isinstance(level, str) for level in self.levels[j]}
        if len(in_fit) == 1 and isinstance(example, str) not in in_fit:
            kinds = {True: "text", False: "not text"}
            warn(
                f"{label(j)} holds {example!r}, which is {kinds[isinstance(example, str)]}, but "
                f"its levels in fit are {kinds[in_fit.pop()]}: "
                f"{shown(map(repr, self.levels[j]))}. Such values count as levels that did not "
                "occur in fit; convert them first.",
                UserWarning,
            )


class NumberTable(View):
    """A view of a table, converted to the numbers that terms are evaluated on.

    Parameters
    ----------
    table : Table
    how : Columns
    label : callable
        label(j) is the name of feature j in messages.
    """

    converts = True

    def __init__(self, table: Table, how: Columns, label: Label) -> None:
        super().__init__(table)
        self.how, self.label = how, label

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return np.dtype(np.float64) if self.how.levels else self.table.dtype

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        wanted = range(self.shape[1]) if columns is None else columns
        for rows, data in self.table.columns(wanted):
            out = np.empty((rows.stop - rows.start, len(wanted)), self.dtype)
            for k, j in enumerate(map(int, wanted)):
                out[:, k] = self.how.numbers_of(j, data[k], self.label, rows.start)
            yield rows, out


@dataclass
class Seen:
    """The distinct values of a categorical feature in the chunks read so far."""

    label: str
    values: dict[object, int] = field(default_factory=dict)  # the number of rows of each
    ordered: Levels | None = None

    def add(self, values: Values, kept: AnyArray | slice, counts: Floats | None = None) -> None:
        """Add a chunk of the column; `kept` selects the rows with a positive weight.

        `counts` (n,) says how many rows each stands for, if that is not one.
        """
        try:
            distinct, rows = factor(values)
        except TypeError as error:  # unhashable, such as lists; the message is like that of float()
            raise TypeError(
                f"X must hold numbers or categories in {self.label}: an argument must be a string "
                f"or a real number ({error})."
            ) from error
        counted = rows[kept]
        each = None if counts is None else counts[kept][counted >= 0]
        found = np.bincount(counted[counted >= 0], each, minlength=len(distinct))
        for k in np.flatnonzero(found):
            self.values[distinct[k]] = self.values.get(distinct[k], 0) + int(found[k])
        in_order = ordered(values)
        self.ordered = self.ordered if in_order is None else in_order

    def warn_of_levels(self, n_rows: int) -> None:
        """Warn if the levels look like identifiers or numbers, or like each other."""
        for hint in level_hints(self.label, self.values, n_rows):
            warn(hint)

    def levels(self) -> Levels:
        """Return the levels in the order of an ordered categorical type, or else sorted."""
        levels = list(self.values)
        if self.ordered is not None and all(level in self.ordered for level in levels):
            there = set(levels)
            return tuple(level for level in self.ordered if level in there)
        try:
            return tuple(sorted(levels))  # type: ignore[type-var]
        except TypeError:  # of several types
            return tuple(sorted(levels, key=str))


def level_hints(label: str, counts: Mapping[object, int], n_rows: int) -> Iterator[str]:
    """Yield hints on a category, given the number of rows of each level."""
    numbers = _hint_of_numbers(label, counts)
    n = len(counts)
    if numbers is not None:
        yield numbers
    elif n > MANY_LEVELS and 2 * n > n_rows:
        yield (
            f"{label} has {n:,} levels in {n_rows:,} rows: an identifier, or numbers read as text? "
            "Leave it out, or convert it to numbers."
        )
    else:
        yield from _hint_of_likeness(label, counts)


def _hint_of_numbers(label: str, counts: Mapping[object, int]) -> str | None:
    """Return a hint if nearly all rows hold numbers, and not codes, as text."""
    texts = [level for level in counts if isinstance(level, str)]
    if len(texts) < FEW_NUMBERS or any(map(CODE.match, texts)):
        return None
    others = [text for text in texts if math.isnan(read_number(text))]
    total, n_others = sum(counts.values()), sum(counts[text] for text in others)
    if len(texts) - len(others) < FEW_NUMBERS or total - n_others < MOSTLY * total:
        return None
    if not others and all(text.strip().isdigit() for text in texts):
        return None  # numbers of shops, for example, which somebody has made text
    if not others:
        found = f"all {total:,} values are numbers, written as text"
    else:
        others.sort(key=lambda text: -counts[text])
        more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
        named = ", ".join(repr(text) for text in others[:NAMED])
        found = (
            f"{total - n_others:,} of {total:,} values are numbers; the others are {named}{more}"
        )
    return (
        f"{label} is read as categories, but {found}. Read it as numbers, the others as missing: "
        "--number on the command line, CsvFile(path, numbers=[...]), or pandas.to_numeric(..., "
        "errors='coerce')."
    )


def _hint_of_likeness(label: str, counts: Mapping[object, int]) -> Iterator[str]:
    """Yield a hint if levels differ by case, by blanks or by type only."""
    alike: dict[str, list[object]] = defaultdict(list)
    for level in counts:
        alike[" ".join(str(level).split()).casefold()].append(level)
    groups = [levels for levels in alike.values() if len(levels) > 1]
    if groups:
        named = "; ".join(shown(sorted(map(repr, levels))) for levels in groups[:NAMED])
        more = f"; and {len(groups) - NAMED:,} more" if len(groups) > NAMED else ""
        yield (
            f"{label} has levels that differ by case, blanks or type only: {named}{more}. Each has "
            "an effect of its own; write them in one way if they are the same."
        )
