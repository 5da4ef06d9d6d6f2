"""Measures of a model's quality on test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import metrics

from splinear._types import AnyArray, Floats
from splinear.inspection.text import number
from splinear.losses.base import Loss
from splinear.report.events import TOP_SHARES, Events
from splinear.report.numbers import percent
from splinear.report.scoring import Scored

__all__ = ["Measure", "measure"]


@dataclass(frozen=True)
class Measure:
    """A measure, and its baseline: that of the best constant prediction.

    Attributes
    ----------
    name, value, baseline : str
    hint : str
        A short explanation.
    """

    name: str
    value: str
    baseline: str
    hint: str


def measure(scored: Scored, events: Events | None) -> list[Measure]:
    """Return the measures for a kind of model, the most informative first."""
    if scored.task == "regression":
        return _of_numbers(scored)
    if scored.task == "multilabel":
        return _of_labels(scored)
    return _of_classes(scored, events)


def _of_numbers(scored: Scored) -> list[Measure]:
    y, w, predicted = scored.y, scored.weights, scored.prediction
    base = np.full(len(y), np.average(y, weights=w))
    found: list[Measure] = []
    if not scored.loss.predicts_mean:
        below = percent(float(np.average(y <= predicted, weights=w)))
        hint = "of the targets are at most as large as predicted"
        return [*_deviances(y, predicted, w, scored.loss), Measure("Share below", below, "", hint)]
    if scored.loss.power != 0.0:
        found += _deviances(y, predicted, w, scored.loss)
    elif len(y) > 1 and np.ptp(y) > 0:
        r2 = metrics.r2_score(y, predicted, sample_weight=w)
        found.append(Measure("R²", f"{r2:.3f}", "0", "share of the variance explained"))
    for name, error, hint in (
        ("Root mean squared error", metrics.root_mean_squared_error, "in units of the target"),
        ("Mean absolute error", metrics.mean_absolute_error, "in units of the target"),
    ):
        values = [number(float(error(y, p, sample_weight=w))) for p in (predicted, base)]
        found.append(Measure(name, values[0], values[1], hint))
    return found


def _deviances(y: Floats, predicted: Floats, w: Floats | None, loss: Loss) -> list[Measure]:
    y, weights = loss.read(y)[1], np.ones(len(y)) if w is None else w
    best = np.full(len(y), loss.constant_score(y, weights))
    both = [
        2.0 * float(np.average(loss.value(y, f), weights=weights))
        for f in (loss.scores_of(predicted), best)
    ]
    name = f"{loss.title} deviance"
    found = [Measure(name, number(both[0]), number(both[1]), "lower is better")]
    if both[1] > 0:
        share = 1.0 - both[0] / both[1]
        found.insert(0, Measure("D²", f"{share:.3f}", "0", "share of the deviance explained"))
    return found


def _of_classes(scored: Scored, events: Events | None) -> list[Measure]:
    y, w = scored.y, scored.weights
    shares = np.array([scored.share_of(k) for k in range(len(scored.classes))])
    right = float(metrics.accuracy_score(y, scored.prediction, sample_weight=w))
    usual = float(shares.max())
    if not scored.is_rare or events is None:
        accuracy = Measure("Accuracy", f"{right:.1%}", f"{usual:.1%}", "rows classified correctly")
        found = [*_areas(scored), accuracy]
        if events is not None:
            found += _of_events(events, usual=int(np.argmax(shares)) in scored.positives)
        if scored.task == "ordinal":
            found += _of_levels(scored, shares)
        return found + _of_probabilities(scored, shares)
    hint = f"says little here: {percent(usual)} of the rows are {events.other}"
    accuracy = Measure("Accuracy", percent(right), percent(usual), hint)
    found = [*_areas(scored), *_of_events(events, usual=False), *_of_tops(events)]
    return [*found, *_of_probabilities(scored, shares), accuracy]


def _of_events(events: Events, *, usual: bool) -> list[Measure]:
    """Return average precision, precision and recall; `usual`: most rows are events."""
    hits, named = events.hits[events.own], events.hits[events.own] + events.alarms[events.own]
    share = percent(events.share)
    decided = f"at the model's own threshold, {events.threshold_text(events.own)}"
    nothing = "\N{EN DASH}"  # no row is called an event
    return [
        Measure(
            "Average precision",
            f"{events.average_precision:.3f}",
            f"{events.share:.3g}",
            "mean precision over all recalls",
        ),
        Measure(
            "Precision",
            percent(hits / named) if named else nothing,
            share if usual else nothing,
            f"of the rows called {events.name}, those that are; {decided}",
        ),
        Measure(
            "Recall",
            percent(hits / events.n_events),
            "100%" if usual else "0%",
            f"of the rows that are {events.name}, those called so; {decided}",
        ),
    ]


def _of_tops(events: Events) -> list[Measure]:
    """Return how many times as many events are among the rows with the highest scores."""
    out = []
    for share in TOP_SHARES:
        found = events.found_in_top(share)
        if found is not None:
            hint = f"times as many {events.name} as among all rows: {found:.0%} of them"
            lift = f"{found / share:.1f}"
            out.append(Measure(f"Lift in the top {share:.0%}", lift, "1", hint))
    return out


def _areas(scored: Scored) -> list[Measure]:
    """Return the area under the ROC curve, averaged over classes if there are several."""
    areas = [
        metrics.roc_auc_score(is_it, score, sample_weight=scored.weights)
        for is_it, score in (scored.one_vs_rest(k) for k in scored.positives)
        if 0 < is_it.sum() < len(is_it)
    ]
    if not areas:
        return []
    several = len(scored.positives) > 1
    name = "Mean area under ROC" if several else "Area under ROC"
    hint = "each class against the rest" if several else "pairs of rows ranked correctly"
    return [Measure(name, f"{np.mean(areas):.3f}", "0.5", hint)]


def _of_probabilities(scored: Scored, shares: Floats) -> list[Measure]:
    p, known = scored.probability, scored.y >= 0  # classes may be new in the test rows
    if p is None or not known.any():
        return []
    w = None if scored.weights is None else scored.weights[known]
    truth = np.eye(len(scored.classes))[scored.y[known].astype(int)]
    base = np.tile(shares, (len(truth), 1))

    def log_loss(q: Floats) -> float:
        chosen = np.clip((q * truth).sum(axis=1), np.finfo(float).tiny, 1.0)
        return float(np.average(-np.log(chosen), weights=w))

    def brier(q: Floats) -> float:
        half = 2.0 if len(scored.classes) == 2 else 1.0
        return float(np.average(((q - truth) ** 2).sum(axis=1) / half, weights=w))

    return [
        _compared("Log-loss", log_loss, p[known], base, "lower is better"),
        _compared("Brier score", brier, p[known], base, "lower is better"),
    ]


def _of_levels(scored: Scored, shares: Floats) -> list[Measure]:
    """Return measures by which a level that is far off costs more than a neighboring one."""
    p, known = scored.probability, scored.y >= 0
    if p is None or not known.any():
        return []
    y, w = scored.y[known], None if scored.weights is None else scored.weights[known]
    up_to = y[:, None] <= np.arange(len(shares) - 1)

    def ranked(q: Floats) -> float:
        off = np.cumsum(q, axis=1)[:, :-1] - up_to
        return float(np.average((off**2).sum(axis=1), weights=w))

    def levels_off(q: Floats) -> float:
        median = (np.cumsum(q, axis=1)[:, :-1] < 0.5).sum(axis=1)
        return float(np.average(np.abs(median - y), weights=w))

    base = np.tile(shares, (len(y), 1))
    return [
        _compared("Ranked probability score", ranked, p[known], base, "lower is better"),
        _compared("Levels off", levels_off, p[known], base, "of the median level, in the mean"),
    ]


def _compared(
    name: str, of: Callable[[AnyArray], float], p: AnyArray, base: AnyArray, hint: str
) -> Measure:
    return Measure(name, f"{of(p):.4f}", f"{of(base):.4f}", hint)


def _of_labels(scored: Scored) -> list[Measure]:
    y, w = scored.y, scored.weights
    right = (y == scored.prediction).mean(axis=1)
    all_right = (y == scored.prediction).all(axis=1)
    usual = np.average(y, axis=0, weights=w) > 0.5
    base, base_all = (y == usual).mean(axis=1), (y == usual).all(axis=1)
    return [
        *_areas(scored),
        Measure(
            "Labels right",
            f"{np.average(right, weights=w):.1%}",
            f"{np.average(base, weights=w):.1%}",
            "of all labels of all rows",
        ),
        Measure(
            "Rows all right",
            f"{np.average(all_right, weights=w):.1%}",
            f"{np.average(base_all, weights=w):.1%}",
            "rows with every label right",
        ),
    ]
