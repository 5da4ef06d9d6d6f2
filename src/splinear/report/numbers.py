"""Tables of numbers on the page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from splinear.inspection.text import fixed

__all__ = ["Drawn", "Numbers", "factor", "percent", "signed"]


@dataclass(frozen=True)
class Numbers:
    """A table of text and numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


# Pictures with captions, their numbers as a table, and notes.
Drawn: TypeAlias = tuple[list[tuple[str, str]], Numbers, list[str]]


def signed(value: float, places: int) -> str:
    """Return a number with its sign; zero has none."""
    text = fixed(float(value), places, plus=True).replace("-", "\N{MINUS SIGN}")
    return text if text.strip("+0.,") else text.lstrip("+")


def factor(logarithm: float) -> str:
    """Return the factor that a term of a model of logarithms multiplies predictions by."""
    value = math.exp(min(logarithm, 700.0))
    text = f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"
    return f"\N{MULTIPLICATION SIGN}{text}"


def percent(share: float) -> str:
    """Return a share in percent, with two digits where it is near 0 or 1."""
    nearest = min(share, 1.0 - share)
    places = 1
    if 0.0 < nearest < 0.01:
        places = min(6, 1 - math.floor(math.log10(100.0 * nearest)))
    return f"{share:.{places}%}"
