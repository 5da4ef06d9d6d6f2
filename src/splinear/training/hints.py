"""Hints on columns of text that probably should be read in another way."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from splinear._lookup import shown
from splinear.tables.lenient import read_number

__all__ = ["level_hints"]

MANY_LEVELS = 50  # a feature with fewer levels is never taken for an identifier
FEW_NUMBERS = 10  # so many different numbers make a column one of numbers
MOSTLY = 0.9  # share of the rows that must be numbers
NAMED = 3  # other values, or groups of similar levels, that are named
CODE = re.compile(r"\s*0\d")  # such as 01234; see `splinear.tables.codes`


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
