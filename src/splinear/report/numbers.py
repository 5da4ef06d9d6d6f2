"""Tables of numbers on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from splinear.inspection.text import fixed

__all__ = ["Drawn", "Numbers", "signed"]


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
