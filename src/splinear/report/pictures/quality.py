"""Pictures of a model's quality on test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.inspection.text import number, shortened, told_apart
from splinear.report.checks import Calibration, Residuals, Roc
from splinear.report.pictures.axes import Axis, bottom_axis, left_axis
from splinear.report.pictures.svg import Picture, cell_path, closed_path, element, path_of, text

__all__ = [
    "draw_calibration",
    "draw_confusion",
    "draw_mistakes",
    "draw_precision",
    "draw_residual_histogram",
    "draw_residuals",
    "draw_roc",
]

SIZE, LEFT, TOP, BOTTOM, RIGHT = 360.0, 52.0, 14.0, 296.0, 348.0


def _frame(across: Axis, up: Axis, below: str, beside: str) -> Picture:
    picture = Picture(SIZE, BOTTOM + 40)
    y = (TOP + BOTTOM) / 2
    picture.add(
        left_axis(up, across.start, RIGHT),
        bottom_axis(across, BOTTOM, grid_top=TOP),
        text(below, (across.start + RIGHT) / 2, BOTTOM + 35, text_anchor="middle", class_="side"),
        text(beside, 12, y, text_anchor="middle", class_="side", transform=f"rotate(-90 12 {y})"),
    )
    return picture


def _left_of(up: Axis) -> float:
    """Return where a picture begins, to the right of the labels of its vertical axis."""
    ticks = up.ticks(6)
    return max(LEFT, 28.0 + 5.8 * max((len(up.label(tick, ticks)) for tick in ticks), default=0))


def _class(k: int, n: int) -> str:
    return f"line c{k % 10}" if n > 1 else "line"


def draw_roc(curves: Sequence[Roc], words: str) -> str:
    """Return a picture of ROC curves."""
    across, up = Axis(0.0, 1.0, LEFT, RIGHT), Axis(0.0, 1.0, BOTTOM, TOP)
    picture = _frame(across, up, "false positives, share of the negatives",
                     "true positives, share of the positives")  # fmt: skip
    picture.add(element("path", d=f"M{LEFT} {BOTTOM}L{RIGHT} {TOP}", class_="chance"))
    for k, curve in enumerate(curves):
        d = path_of(across(curve.wrongly), up(curve.rightly))
        picture.add(element("path", d=d, class_=_class(k, len(curves))))
    if len(curves) == 1:
        at = f"area {curves[0].area:.3f}"
        picture.add(text(at, RIGHT - 10, BOTTOM - 12, text_anchor="end", class_="value"))
    return picture.rendered(words, "square")


def draw_precision(recalls: Floats, precisions: Floats, share: float, words: str) -> str:
    """Return the curve of precision over recall; `share` is the precision of a random choice."""
    there = recalls > 0.0
    highest = min(1.0, 1.1 * max(float(precisions[there].max(initial=0.0)), share))
    across, up = Axis(0.0, 1.0, LEFT, RIGHT), Axis(0.0, highest, BOTTOM, TOP)
    picture = _frame(across, up, "recall, share of the events found",
                     "precision, share of events in what is flagged")  # fmt: skip
    y = up.at(share)
    picture.add(element("path", d=f"M{LEFT} {y:.1f}H{RIGHT}", class_="chance"))
    d = path_of(across(recalls[there]), up(precisions[there]))
    picture.add(element("path", d=d, class_="line"))
    return picture.rendered(words, "square")


def _log_axes(curve: Calibration) -> tuple[float, float]:
    """Return the ends of logarithmic axes for rare events."""
    both = np.concatenate([curve.predicted, curve.observed, curve.upper])
    lowest = max(float(both[both > 0.0].min()), 1e-9)
    return lowest / 1.6, min(1.0, 1.6 * float(both.max()))


def draw_calibration(
    curves: Sequence[Calibration], words: str, *, is_share: bool, is_rare: bool = False
) -> str:
    """Return a calibration plot: observed over predicted means, on logarithmic axes if rare."""
    lo, hi, bend = 0.0, 1.0, None
    if is_rare:
        lo, hi = _log_axes(curves[0])
        bend = 1e-4 * lo  # so small that there is nothing but the logarithmic part
    if not is_share:
        both = np.concatenate([curves[0].predicted, curves[0].lower, curves[0].upper])
        room = 0.04 * max(float(np.ptp(both)), 1e-300)
        lo, hi = float(both.min()) - room, float(both.max()) + room
    up = Axis(lo, hi, BOTTOM, TOP, bend)
    left = _left_of(up)
    across = Axis(lo, hi, left, RIGHT, bend)
    words_x = "predicted probability" if is_share else "predicted, mean of each group"
    words_y = "observed share" if is_share else "observed, mean of each group"
    picture = _frame(across, up, words_x, words_y)
    picture.add(element("path", d=f"M{left} {BOTTOM}L{RIGHT} {TOP}", class_="chance"))
    for k, curve in enumerate(curves):
        x, y = across(curve.predicted), up(np.clip(curve.observed, lo, hi))
        if len(curves) == 1:
            low, high = up(np.clip(curve.lower, lo, hi)), up(np.clip(curve.upper, lo, hi))
            d = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(x, low, high, strict=True))
            picture.add(element("path", d=d, class_="whisker"))
        picture.add(element("path", d=path_of(x, y), class_=_class(k, len(curves))))
        kind = f"dot c{k % 10}" if len(curves) > 1 else "dot"
        radius = 2.4 if len(curves) > 1 else 3.4
        for a, b, share in zip(x, y, curve.observed.tolist(), strict=True):
            ring = f"{kind} ring" if is_rare and share == 0.0 else kind
            picture.add(element("circle", cx=float(a), cy=float(b), r=radius, class_=ring))
    return picture.rendered(words, "square")


def draw_residuals(found: Residuals, words: str, target: str) -> str:
    """Return a picture of the median residual, with bands of 50 % and 90 % of them."""
    x, q = found.predicted, found.quantiles
    if len(x) == 1:
        x, q = np.array([x[0] - 0.5, x[0] + 0.5]), np.repeat(q, 2, axis=0)
    reach = max(float(np.abs(q).max()), 1e-300) * 1.05
    up = Axis(-reach, reach, BOTTOM, TOP)
    across = Axis(float(x[0]), float(x[-1]), _left_of(up), RIGHT)
    picture = _frame(across, up, shortened(f"predicted {target}", 48), "observed − predicted")
    pixels = across(x)
    for low, high in ((0, 4), (1, 3)):
        d = closed_path(pixels, up(q[:, low]), up(q[:, high]))
        picture.add(element("path", d=d, class_="band"))
    picture.add(element("path", d=path_of(pixels, up(q[:, 2])), class_="line"))
    return picture.rendered(words, "square")


def draw_residual_histogram(found: Residuals, words: str) -> str:
    """Return a histogram of residuals."""
    across = Axis(float(found.edges[0]), float(found.edges[-1]), LEFT, RIGHT)
    up = Axis(0.0, max(float(found.shares.max()), 1e-300) * 1.05, BOTTOM, TOP)
    picture = _frame(across, up, "observed − predicted", "share of rows")
    x, top = across(found.edges), up(found.shares)
    cells = [
        (float(a) + 0.5, float(t), float(b - a) - 1.0, BOTTOM - float(t))
        for a, b, t in zip(x[:-1], x[1:], top, strict=True)
    ]
    picture.add(element("path", d=cell_path(cells), class_="bar up"))
    picture.add(element("path", d=f"M{across.at(0):.1f} {TOP}V{BOTTOM}", class_="zero"))
    return picture.rendered(words, "square")


def draw_confusion(shares: AnyArray, names: Sequence[str], words: str) -> str:
    """Return a picture of the confusion matrix."""
    n, left, top = len(names), 96.0, 74.0 if len(names) > 5 else 40.0
    cell = (RIGHT - left) / n
    picture = Picture(SIZE, top + cell * n + 12)
    turned = n > 5
    above = told_apart(names, 9 if turned else max(3, int(cell / 6.5)))
    beside = told_apart(names, 11)
    for k, name in enumerate(names):
        x = left + cell * (k + 0.5)
        turn = f"rotate({-40 if turned else 0} {x:.1f} {top - 6:.1f})"
        anchor = "start" if turned else "middle"
        picture.add(text(above[k], x, top - 6, full=name, transform=turn, text_anchor=anchor))
        y = top + cell * (k + 0.5) + 3.5
        picture.add(text(beside[k], left - 6, y, full=name, text_anchor="end"))
    y = top + cell * n / 2
    turn = f"rotate(-90 12 {y:.1f})"
    picture.add(text("true", 12, y, text_anchor="middle", class_="side", transform=turn))
    picture.add(text("predicted", (left + RIGHT) / 2, 11, text_anchor="middle", class_="side"))
    for i in range(n):
        for j in range(n):
            share = float(shares[i, j])
            step = int(np.ceil(6 * share - 1e-9)) if share >= 0.005 else 0
            kind = f"heat {'p' if i == j else 'n'}{step}" if step else "heat z0"
            box = (left + cell * j + 0.5, top + cell * i + 0.5, cell - 1, cell - 1)
            picture.add(element("path", d=cell_path([box]), class_=kind))
            if share >= 0.005:
                label = f"{100 * share:.0f}"
                tone = "strong" if step >= 4 else "value"
                x, y = left + cell * (j + 0.5), top + cell * (i + 0.5) + 3.5
                picture.add(text(label, x, y, text_anchor="middle", class_=tone))
    return picture.rendered(words, "square")


def draw_mistakes(bars: Sequence[tuple[str, float, float]], words: str) -> str:
    """Return bars with names, as long as a number of rows; and the share of each, in percent."""
    row, left, right, top = 20.0, 150.0, 300.0, 24.0
    picture = Picture(SIZE, top + row * len(bars) + 6)
    picture.add(
        text("true \N{RIGHTWARDS ARROW} predicted", left - 8, 12, text_anchor="end", class_="side"),
        text("rows, and share of the true class", SIZE - 4, 12, text_anchor="end", class_="unit"),
    )
    most = max(rows for _, rows, _ in bars)
    short = told_apart([name for name, _, _ in bars], 23)
    for k, (name, rows, share) in enumerate(bars):
        y, width = top + row * k, (right - left) * rows / most
        label = f"{number(rows)} ({share:.0%})"
        picture.add(
            text(short[k], left - 8, y + 13, full=name, text_anchor="end", class_="level"),
            element("path", d=cell_path([(left, y + 4, width, row - 7)]), class_="bar down"),
            text(label, left + width + 5, y + 13, class_="value"),
        )
    return picture.rendered(words, "square")
