"""SVG elements, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from splinear._types import Floats

__all__ = ["Picture", "cell_path", "closed_path", "element", "path_of", "text", "thinned"]

_TOLERANCE = 0.2  # pixels that a simplified line may be off


def element(name: str, content: str = "", **attributes: str | float) -> str:
    """Return an element; `class_` sets its class, and a_b its attribute a-b."""
    parts = [
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    ]
    head = f"<{name}{''.join(parts)}"
    return f"{head}>{content}</{name}>" if content else f"{head}/>"


def text(words: str, x: float, y: float, *, full: str | None = None, **attributes: str) -> str:
    """Return a text element; `full` is the unabbreviated text, shown as a tooltip."""
    title = "" if full is None or full == words else element("title", escape(full))
    return element("text", title + escape(words), x=x, y=y, **attributes)


def _value(value: str | float) -> str:
    return escape(value, quote=True) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    """Return a coordinate to a tenth of a pixel, in few characters."""
    out = f"{value:.1f}"
    out = out[:-2] if out.endswith(".0") else out.replace("0.", ".", 1) if abs(value) < 1 else out
    return "0" if out in ("-0", "-.0", ".0") else out


def path_of(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> str:
    """Return a line through points, without those that make no visible difference."""
    return _path(thinned(np.column_stack([x, y]).astype(np.float64)))


def closed_path(x: Floats, lower: Floats, upper: Floats) -> str:
    """Return the area between two lines."""
    there, back = np.column_stack([x, upper]), np.column_stack([x[::-1], lower[::-1]])
    return _path(np.concatenate([thinned(there), thinned(back)])) + "z"


def _path(points: Floats) -> str:
    """Return a line in relative coordinates, which take fewer characters."""
    tenths = np.round(10 * points).astype(int)
    start = " ".join(_number(value / 10) for value in tenths[0].tolist())
    steps = [_number(value / 10) for value in np.diff(tenths, axis=0).ravel().tolist()]
    joined = "".join(step if step[0] == "-" else f" {step}" for step in steps).strip()
    return f"M{start}l{joined}" if joined else f"M{start}"


def cell_path(cells: Iterable[tuple[float, float, float, float]]) -> str:
    """Return rectangles (x, y, width, height) as one path."""
    return "".join(
        f"M{_number(x)} {_number(y)}h{_number(w)}v{_number(h)}h{_number(-w)}z"
        for x, y, w, h in cells
    )


def thinned(points: Floats) -> Floats:
    """Return the points (n, 2) of a line without those that lie on it anyway."""
    kept = np.zeros(len(points), dtype=bool)
    kept[[0, -1]] = True
    open_ = [(0, len(points) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        off = _distances(points[first + 1 : last], points[first], points[last])
        farthest = int(np.argmax(off))
        if off[farthest] > _TOLERANCE:
            at = first + 1 + farthest
            kept[at] = True
            open_ += [(first, at), (at, last)]
    return points[kept]


def _distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """Return how far points are from a straight line."""
    way = end - start
    length = float(np.hypot(*way))
    beside = points - start
    if length == 0.0:
        return np.asarray(np.hypot(beside[:, 0], beside[:, 1]))
    return np.asarray(np.abs(way[0] * beside[:, 1] - way[1] * beside[:, 0]) / length)


class Picture:
    """A drawing area, in pixels, that grows part by part."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def add(self, *parts: str) -> None:
        """Add elements, which lie above all that are there."""
        self._parts += parts

    def rendered(self, words: str, kind: str = "") -> str:
        """Return the picture; `words` describe it for screen readers."""
        box = f"0 0 {_number(self.width)} {_number(self.height)}"
        return element(
            "svg",
            "".join(self._parts),
            class_=f"picture {kind}".strip(),
            viewBox=box,
            role="img",
            aria_label=words,
        )
