"""Numbers, names and tables as text."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from splinear.tables.values import is_missing

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "aligned",
    "beside",
    "data_frame",
    "decimals_of",
    "digits_apart",
    "fixed",
    "number",
    "places_for",
    "printable",
    "shortened",
    "told_apart",
    "value_text",
]

LONGEST = 32  # characters of a name
DOTS = "\u2026"  # for what is left out
_MARKS = " /_-.,:;"  # between words
_MOST_DIGITS = 15  # of an integer that is written out
_LONG = 10_000  # from here on, thousands are separated
_ROUNDING = 1e-9  # of a logarithm
_SMALL = 1e-4  # columns of smaller numbers are written with exponents
_NOTHING = 5e-4  # of the largest number of a column: smaller ones are shown as 0


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a text, truncated to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + DOTS


def told_apart(texts: Sequence[str], most: int = LONGEST) -> list[str]:
    """Return texts of at most `most` characters, of which different ones stay different.

    Long texts are truncated at their ends; if that makes two of them equal, in the middle; and if
    that does too, what all long ones have in common is left out, on both sides. Where even that is
    not enough, they are numbered.
    """
    long = {text for text in texts if len(text) > most}
    n_different, common = len(set(texts)), os.path.commonprefix
    start = len(common(list(long)))
    end = len(common([text[start:][::-1] for text in long]))
    for way in (shortened, _without_middle, lambda text, m: _differing(text, m, start, end)):
        short = [way(text, most) if text in long else text for text in texts]
        if len(set(short)) == n_different:
            return short
    return _numbered(texts, most)


def _without_middle(text: str, most: int) -> str:
    tail = (most - 1) // 2
    return text[: most - 1 - tail] + DOTS + text[len(text) - tail :]


def _differing(text: str, most: int, start: int, end: int) -> str:
    """Return a text without its first `start` and last `end` characters, as far as room is short.

    The word in which the difference ends is kept, and that before the difference.
    """
    room = max(most - 2, 1)
    middle, after = text[start : len(text) - end], text[len(text) - end :]
    if len(middle) > room:
        return DOTS + _without_middle(middle, most - 1)
    middle += after[: min((k for mark in _MARKS if (k := after.find(mark)) >= 0), default=end)]
    middle = middle[:room]
    before = text[max(0, start - (room - len(middle))) : start]
    before = before[max(before.rfind(mark, 0, -1) for mark in _MARKS) + 1 :]
    left = DOTS if len(before) < start else ""
    return left + before + middle + DOTS


def _numbered(texts: Sequence[str], most: int) -> list[str]:
    """Return texts with a number behind those that cannot be told apart otherwise."""
    places = {text: k + 1 for k, text in enumerate(dict.fromkeys(texts))}
    room = max(most - len(f" ({len(places)})"), 2)
    return [text if len(text) <= most else f"{shortened(text, room)} ({places[text]})"
            for text in texts]  # fmt: skip


def printable(text: str) -> str:
    """Return a text with line breaks and other control characters replaced."""
    return "".join(c if c.isprintable() else "?" for c in text)


def number(value: float, digits: int = 4) -> str:
    """Return a number with few digits; integers are written out."""
    if float(value).is_integer() and abs(value) < 10**_MOST_DIGITS:
        return f"{int(value):,}" if abs(value) >= _LONG else str(int(value))
    if _LONG <= abs(value) < 10**_MOST_DIGITS:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def places_for(most: float) -> int:
    """Return the decimal places that show numbers up to `most` with three digits."""
    return int(np.clip(2 - np.floor(np.log10(max(abs(most), 1e-300))), 0, 12))


def decimals_of(step: float) -> int:
    """Return the decimal place of the last digit of a step of one or two digits, such as 2.5."""
    digits = float(f"{step:.3e}".split("e")[0])
    return -_exponent(step) + (not digits.is_integer())


def digits_apart(largest: float, step: float) -> int:
    """Return how many significant digits tell numbers up to `largest` apart, a step from another.

    At least 1, also if there is no step.
    """
    if not (0.0 < largest < math.inf and 0.0 < step < math.inf):
        return 1
    return max(1, 1 + _exponent(largest) + decimals_of(step))


def _exponent(size: float) -> int:
    return math.floor(math.log10(size) + _ROUNDING)


def fixed(value: float, places: int, *, plus: bool = False) -> str:
    """Return a number with this many decimal places, without a negative zero."""
    return f"{round(value, places) + 0.0:{'+' if plus else ''},.{places}f}"


def beside(value: float, most: float) -> str:
    """Return a number of a column in which `most` is the largest, which has three digits.

    Others have as many decimal places, so that a very small one is shown as 0.
    """
    if abs(most) >= _SMALL:
        return fixed(value, places_for(most))
    return f"{value:.3g}" if abs(value) >= _NOTHING * abs(most) else "0"


def value_text(value: object) -> str:
    """Return a value of a feature as text."""
    if is_missing(value):
        return "missing"
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number(float(value)) if is_number and np.isfinite(value) else str(value)  # type: ignore[arg-type, call-overload]


def aligned(rows: Sequence[Sequence[str]], is_text: Sequence[bool]) -> list[str]:
    """Return rows of cells as lines; columns of text are left-aligned."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(is_text))]
    return [
        "  ".join(
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, is_text, strict=True)
        ).rstrip()
        for row in rows
    ]


def data_frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Return a pandas DataFrame; raise an error that says how to install pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame needs pandas, which is not installed: pip install 'splinear[data]'"
        ) from error
    return pd.DataFrame(dict(columns))
