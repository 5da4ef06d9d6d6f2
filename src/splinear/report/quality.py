"""The part of the page on a model's quality: measures and pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear.inspection.text import number
from splinear.report.checks import (
    Calibration,
    Roc,
    calibration,
    calibration_of_all,
    residuals,
    roc,
)
from splinear.report.classes import (
    MANY,
    MOST_ROWS,
    class_table,
    confusion_counts,
    mistakes,
    weakest,
)
from splinear.report.events import Events, events_of
from splinear.report.measures import Measure, measure
from splinear.report.numbers import Numbers, percent
from splinear.report.pictures.quality import (
    draw_calibration,
    draw_confusion,
    draw_mistakes,
    draw_precision,
    draw_residual_histogram,
    draw_residuals,
    draw_roc,
)
from splinear.report.scoring import Scored

__all__ = ["Figure", "Quality", "assess"]

MOST_CLASSES = 12  # in a confusion matrix
MOST_MISTAKES, MOST_LISTED = 14, 60  # pairs of classes, in a picture and in its table
_ROC_PLACES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Figure:
    """A picture, and the same as a table; a table alone if `svg` is empty."""

    title: str
    caption: str
    svg: str
    numbers: Numbers | None


@dataclass(frozen=True)
class Quality:
    """The measures and pictures of a model's quality.

    Attributes
    ----------
    measures : list of Measure
    pictures : list of Figure
    legend : list of (name, text)
        Legend of the lines in pictures, if there are several.
    is_regression : bool
    events : Events or None
        What the panel of thresholds is about, if there are two classes.
    """

    measures: list[Measure]
    pictures: list[Figure]
    legend: list[tuple[str, str]]
    is_regression: bool
    events: Events | None = None


def assess(scored: Scored, target_name: str) -> Quality:
    """Return the measures and pictures for scored rows."""
    if scored.task == "regression":
        return Quality(measure(scored, None), _of_numbers(scored, target_name), [], True)
    curves, events = roc(scored), events_of(scored)
    drawn = weakest(curves) if len(curves) > MANY else curves
    legend = [(curve.name, f"area {curve.area:.3f}") for curve in drawn]
    return Quality(
        measure(scored, events),
        _of_classes(scored, curves, drawn, events),
        legend if len(drawn) > 1 else [],
        False,
        events,
    )


def _of_classes(
    scored: Scored, curves: list[Roc], drawn: list[Roc], events: Events | None
) -> list[Figure]:
    out = []
    if curves:
        out.append(_roc(curves, drawn))
    if events is not None:
        out.append(_precision(events))
    out += _calibration(scored)
    n = len(scored.classes)
    if scored.task != "multilabel" and n >= 2:
        out += [_confusion(scored)] if n <= MOST_CLASSES else _mistakes(scored)
    if n > 2:
        out.append(_class_by_class(scored, curves))
    return out


def _roc(curves: list[Roc], drawn: list[Roc]) -> Figure:
    if drawn is curves:
        several = len(curves) > 1
        caption = "Each class against the rest." if several else f"Positive: {curves[0].name}."
    else:
        areas = sorted(curve.area for curve in curves)[len(drawn) - 1 :]
        caption = (
            f"Each class against the rest: the {len(drawn) - 1} of {len(curves)} classes with the "
            f"smallest areas, and the mean. The other {len(areas)}, with areas from "
            f"{areas[0]:.3f} to {areas[-1]:.3f}, are in the table."
        )
    words = ", ".join(f"{curve.name} {curve.area:.3f}" for curve in drawn)
    return Figure(
        "ROC curve", caption, draw_roc(drawn, f"ROC curves. Areas: {words}."), _roc_table(curves)
    )


def _calibration(scored: Scored) -> list[Figure]:
    is_many = len(scored.positives) > MANY
    found = calibration_of_all(scored) if is_many else calibration(scored)
    if not found:
        return []
    caption = "Groups of rows with similar probabilities; the diagonal is perfect calibration."
    if scored.is_rare:
        caption += (
            f" In each group about as many {found[0].name} are expected. Axes are logarithmic; a "
            "ring at the lower edge is a group without any."
        )
    if is_many and scored.task == "multilabel":
        caption += f" All {len(scored.positives)} labels together; single ones are not shown."
    elif is_many:
        caption += (
            f" Of {len(scored.positives)} classes, for each row the one predicted: its probability,"
            " and how often it is right. Single classes are not shown."
        )
    words = "Calibration: the share of rows observed, by predicted probability."
    svg = draw_calibration(found, words, is_share=True, is_rare=scored.is_rare)
    return [Figure("Calibration", caption, svg, _calibration_table(found, is_share=True))]


def _precision(events: Events) -> Figure:
    caption = (
        f"As the threshold falls, more of the {events.name} are found (recall), and fewer of the "
        f"rows flagged are {events.name} (precision). Dashes: flagged at random."
    )
    words = f"Precision by recall. Average precision: {events.average_precision:.3f}."
    svg = draw_precision(events.recalls, events.precisions, events.share, words)
    return Figure("Precision and recall", caption, svg, events.table())


def _mistakes(scored: Scored) -> list[Figure]:
    """Return the pairs of many classes that are mistaken most often."""
    found, names = mistakes(scored), scored.classes
    if not found:
        return []
    shown, listed = found[:MOST_MISTAKES], found[:MOST_LISTED]
    total = sum(each.rows for each in found)
    is_all = len(listed) == len(found)
    rest = "all" if is_all else f"the first {len(listed)}; the rest is left out"
    caption = (
        f"A matrix of {len(names)} classes would not be legible. These {len(shown)} of "
        f"{len(found):,} pairs of a true and a predicted class are the most frequent mistakes, "
        f"{sum(each.rows for each in shown) / total:.0%} of all. The table has {rest}."
    )
    rows = tuple(
        (names[m.true], names[m.predicted], number(m.rows), percent(m.share)) for m in listed
    )
    pairs = [f"{names[m.true]} \N{RIGHTWARDS ARROW} {names[m.predicted]}" for m in shown]
    bars = [(pair, m.rows, m.share) for pair, m in zip(pairs, shown, strict=True)]
    words = "Bars: how many rows of a class were taken for another. The table has the numbers."
    head = ("true", "predicted", "rows", "of the true class")
    return [
        Figure(
            "Classes mistaken most often", caption, draw_mistakes(bars, words), Numbers(head, rows)
        )
    ]


def _class_by_class(scored: Scored, curves: list[Roc]) -> Figure:
    n = len(scored.classes)
    what = "labels" if scored.task == "multilabel" else "classes"
    caption = f"All {n} {what}, the lowest recall first."
    if n > MOST_ROWS:
        caption = f"The {MOST_ROWS} of {n:,} {what} with the lowest recall; the rest is left out."
    return Figure("Class by class", caption, "", class_table(scored, curves))


def _confusion(scored: Scored) -> Figure:
    counts, names = confusion_counts(scored), scored.classes
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    rows = tuple(
        (name, *(f"{share:.1%}" for share in row)) for name, row in zip(names, shares, strict=True)
    )
    return Figure(
        "True and predicted classes",
        "Percentages of the rows of each true class that were predicted as each class.",
        draw_confusion(shares, names, "Percentages of predicted classes by true class."),
        Numbers(("true \\ predicted", *names), rows),
    )


def _roc_table(curves: list[Roc]) -> Numbers:
    head = ("class", "area", *(f"at {place:.0%}" for place in _ROC_PLACES))
    rows = []
    for curve in curves:
        heights = np.interp(_ROC_PLACES, curve.wrongly, curve.rightly)
        rows.append((curve.name, f"{curve.area:.3f}", *(f"{height:.1%}" for height in heights)))
    return Numbers(head, tuple(rows))


def _calibration_table(found: list[Calibration], *, is_share: bool) -> Numbers:
    several = len(found) > 1
    head = (*(["class"] if several else []), "predicted", "observed", "95 % interval", "rows")

    def text(value: float) -> str:
        return percent(value) if is_share else number(value)

    rows = []
    for curve in found:
        columns = (curve.predicted, curve.observed, curve.lower, curve.upper, curve.n_rows)
        for p, o, low, high, n in zip(*columns, strict=True):
            cells = (text(p), text(o), f"{text(low)} to {text(high)}", f"{n:,}")
            rows.append((*([curve.name] if several else []), *cells))
    return Numbers(head, tuple(rows))


def _of_numbers(scored: Scored, target_name: str) -> list[Figure]:
    left = residuals(scored)
    table = tuple(
        (number(float(p)), *(number(float(value)) for value in row))
        for p, row in zip(left.predicted, left.quantiles, strict=True)
    )
    out = []
    if scored.loss.predicts_mean:
        [groups] = calibration(scored)
        out.append(
            Figure(
                "Observed and predicted",
                "Groups of rows with similar predictions, with 95 % intervals of the means.",
                draw_calibration([groups], "Means observed, by means predicted.", is_share=False),
                _calibration_table([groups], is_share=False),
            )
        )
    return [
        *out,
        Figure(
            "Residuals by prediction",
            "The line is the median; bands hold half and nine tenths of the rows.",
            draw_residuals(left, "Quantiles of residuals, by prediction.", target_name),
            Numbers(("predicted", "5 %", "25 %", "median", "75 %", "95 %"), table),
        ),
        Figure(
            "Residuals",
            "All rows, but for the outermost hundredth.",
            draw_residual_histogram(left, "Histogram of residuals."),
            None,
        ),
    ]
