"""Colors and styles that all pictures share."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = [
    "AS_IT_IS",
    "DOWN",
    "FAINT",
    "INK",
    "LINES",
    "MUTED",
    "UP",
    "Style",
    "line_style",
    "room",
]

Style: TypeAlias = dict[str, Any]  # keywords for matplotlib

# Okabe and Ito's blue and vermilion stay apart for every common kind of color vision.
UP = "#0072B2"
DOWN = "#D55E00"
INK = "#22262B"
MUTED = "#7A828C"
FAINT = "#C9CED6"

# One per class, after Okabe and Ito; from the sixth on dashed as well.
LINES = (UP, DOWN, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#A89B00", "#7B4A1E", MUTED)

AS_IT_IS: Style = {"parse_math": False}  # of names, in which a dollar is a dollar


def line_style(k: int) -> Style:
    """Color and dashes of line k."""
    return {"color": LINES[k], "lw": 2.0, "ls": "-" if k < 5 else (0, (3.5, 1.2))}


def room(value: float) -> float:
    """Return the width of the panel of a feature that has one value."""
    return max(1.0, 0.2 * abs(value))
