"""Several classes: which are found, which are mistaken for which, and what to draw of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.inspection.text import number
from splinear.report.checks import Roc
from splinear.report.numbers import Numbers, percent
from splinear.report.scoring import Scored

__all__ = ["MANY", "Mistake", "class_table", "confusion_counts", "mistakes", "weakest"]

MANY = 10  # classes: of more than these, lines in one picture cannot be told apart
_WEAKEST = 6  # classes of many whose ROC curves are drawn
_GRID = 201  # points of the mean of ROC curves
MOST_ROWS = 200  # of a table of classes


@dataclass(frozen=True)
class Mistake:
    """Rows of one class that are taken for another: their weight, and their share of the class."""

    true: int
    predicted: int
    rows: float
    share: float


def confusion_counts(scored: Scored) -> Floats:
    """Return the weight of rows by true and predicted class, those of unknown classes left out."""
    n = len(scored.classes)
    known = scored.y >= 0
    w = np.ones(len(scored)) if scored.weights is None else scored.weights
    at = scored.y[known] * n + scored.prediction[known]
    return np.asarray(np.bincount(at, w[known], minlength=n * n).reshape(n, n))


def mistakes(scored: Scored) -> list[Mistake]:
    """Return the pairs of classes that are mistaken, the most frequent first."""
    counts = confusion_counts(scored)
    totals = counts.sum(axis=1)
    np.fill_diagonal(counts, 0.0)
    order = np.argsort(-counts, axis=None, kind="stable")[: np.count_nonzero(counts)]
    places = (divmod(int(at), len(counts)) for at in order)
    return [Mistake(i, j, float(counts[i, j]), float(counts[i, j] / totals[i])) for i, j in places]


def weakest(curves: list[Roc]) -> list[Roc]:
    """Return the curves of the classes with the smallest areas, and the mean of all curves."""
    chosen = sorted(curves, key=lambda curve: curve.area)[:_WEAKEST]
    wrongly = np.linspace(0.0, 1.0, _GRID)
    rightly = np.mean([_along(curve, wrongly) for curve in curves], axis=0)
    area = float(np.mean([curve.area for curve in curves]))
    return [*chosen, Roc(f"mean of all {len(curves)}", wrongly, rightly, area)]


def _along(curve: Roc, wrongly: Floats) -> Floats:
    """Return the curve at these places; where it rises steeply, its upper end."""
    last = np.append(np.diff(curve.wrongly) > 0.0, True)
    return np.asarray(np.interp(wrongly, curve.wrongly[last], curve.rightly[last]))


def class_table(scored: Scored, curves: list[Roc]) -> Numbers:
    """Return rows, recall, precision and area of each class, the lowest recall first."""
    w = np.ones(len(scored)) if scored.weights is None else scored.weights
    areas = {curve.name: f"{curve.area:.3f}" for curve in curves}
    taken: dict[int, Mistake] = {}
    is_single = scored.task in ("multiclass", "ordinal")
    if is_single:
        for found in mistakes(scored):
            taken.setdefault(found.true, found)
    lines: list[tuple[float, tuple[str, ...]]] = []
    for k, name in enumerate(scored.classes):
        is_it, called = _true_and_called(scored, k)
        rows, named, hits = (float(w[mask].sum()) for mask in (is_it, called, is_it & called))
        recall = hits / rows if rows else np.nan
        cells = [
            name,
            number(rows),
            percent(recall) if rows else "\N{EN DASH}",
            percent(hits / named) if named else "\N{EN DASH}",
            areas.get(name, "\N{EN DASH}"),
        ]
        if is_single:
            most = taken.get(k)
            cells.append(
                "" if most is None else f"{scored.classes[most.predicted]} ({percent(most.share)})"
            )
        lines.append((recall, tuple(cells)))
    lines.sort(key=lambda line: np.inf if np.isnan(line[0]) else line[0])
    head = ["class", "rows", "recall", "precision", "area under ROC"]
    head += ["most often taken for"] if is_single else []
    return Numbers(tuple(head), tuple(cells for _, cells in lines[:MOST_ROWS]))


def _true_and_called(scored: Scored, k: int) -> tuple[AnyArray, AnyArray]:
    """Return whether each row has class k, and whether the model says so."""
    is_it, _ = scored.one_vs_rest(k)
    if scored.task == "multilabel":
        return is_it, scored.prediction[:, k] == 1
    return is_it, scored.prediction == k
