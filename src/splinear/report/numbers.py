"""Numbers as the page writes them."""

from __future__ import annotations

from splinear.inspection.text import fixed

__all__ = ["signed"]


def signed(value: float, places: int) -> str:
    """Return what is added, with its sign; zero has none."""
    text = fixed(float(value), places, plus=True).replace("-", "\N{MINUS SIGN}")
    return text if text.strip("+0.,") else text.lstrip("+")
