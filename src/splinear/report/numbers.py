"""Numbers as the page writes them, alone and in tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from splinear.inspection.text import fixed

__all__ = ["Drawn", "Numbers", "signed"]


@dataclass(frozen=True)
class Numbers:
    """A table."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


# Pictures with their captions, the same as numbers, and notes.
Drawn: TypeAlias = tuple[list[tuple[str, str]], Numbers, list[str]]


def signed(value: float, places: int) -> str:
    """Return what is added, with its sign; zero has none."""
    text = fixed(float(value), places, plus=True).replace("-", "\N{MINUS SIGN}")
    return text if text.strip("+0.,") else text.lstrip("+")
