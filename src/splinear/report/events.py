"""Rows that have an event or not, counted above thresholds of the score.

The event is the second of two classes, or the first if that is rare: what people look for is rare
more often than what they pass over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score

from splinear._types import Floats
from splinear.inspection.text import number, places_for
from splinear.report.numbers import Numbers, percent
from splinear.report.scoring import Scored

__all__ = ["TOP_SHARES", "Events", "events_of"]

TOP_SHARES = (0.01, 0.1)  # of the rows, those with the highest scores
_LISTED = (0.001, 0.01, 0.05, 0.1, 0.25)
_LEAST_ROWS = 10  # of the rows with the highest scores, to say how many events they hold
_STEPS = 80  # of the slider, by flagged rows and again by events


@dataclass(frozen=True, eq=False)
class Events:
    """How many rows with and without the event have at least each score.

    Attributes
    ----------
    name, other : str
        The class that is the event, and the other one.
    thresholds : ndarray of shape (n,)
        Descending, of few digits; the first is above all scores.
    hits, alarms : ndarray of shape (n,)
        The weight of rows with and without the event that score at least the threshold.
    n_events, n_others : float
        The weights of all rows with and without the event.
    own : int
        The threshold by which the model itself decides.
    recalls, precisions : ndarray
        Recall and precision at each score, the highest first.
    flagged : ndarray
        The share of rows that score at least each score.
    average_precision : float
    n_rows : int
    is_probability : bool
    """

    name: str
    other: str
    thresholds: Floats
    hits: Floats
    alarms: Floats
    n_events: float
    n_others: float
    own: int
    recalls: Floats
    precisions: Floats
    flagged: Floats
    average_precision: float
    n_rows: int
    is_probability: bool

    @property
    def share(self) -> float:
        """The share of rows with the event."""
        return self.n_events / (self.n_events + self.n_others)

    @property
    def cost_of_miss(self) -> str:
        """What a miss costs in false alarms, until the reader says: rows without per event."""
        return f"{float(f'{max(1.0, self.n_others / self.n_events):.1g}'):.0f}"

    def found_in_top(self, share: float) -> float | None:
        """Return the share of events among the rows with the highest scores; None if few rows.

        Of rows with equal scores, all are as likely to be among them.
        """
        if share * self.n_rows < _LEAST_ROWS:
            return None
        return float(np.interp(share, self.flagged, self.recalls))

    def table(self) -> Numbers:
        """Return precision, recall and lift at some thresholds."""
        total = self.n_events + self.n_others
        flagged = (self.hits + self.alarms) / total
        at = [int(np.searchsorted(flagged, share)) for share in _LISTED
              if share * self.n_rows >= _LEAST_ROWS]  # fmt: skip
        rows = []
        for k in sorted({*(min(k, len(flagged) - 1) for k in at), self.own}):
            hits, named = self.hits[k], self.hits[k] + self.alarms[k]
            precision = hits / named if named else np.nan
            rows.append(
                (
                    self.threshold_text(k) + (" (the model's own)" if k == self.own else ""),
                    percent(flagged[k]),
                    percent(hits / self.n_events),
                    percent(precision) if named else "\N{EN DASH}",
                    f"{precision / self.share:.1f}" if named else "\N{EN DASH}",
                )
            )
        head = ("threshold", "rows flagged", "recall", "precision", "lift")
        return Numbers(head, tuple(rows))

    def threshold_text(self, k: int) -> str:
        """Return a threshold as text."""
        return number(float(self.thresholds[k]))

    def data(self) -> Mapping[str, object]:
        """Return the data of the page's panel of thresholds."""
        return {
            "thresholds": self.thresholds.tolist(),
            "hits": self.hits.tolist(),
            "alarms": self.alarms.tolist(),
            "events": self.n_events,
            "others": self.n_others,
            "own": self.own,
        }


def events_of(scored: Scored) -> Events | None:
    """Return the counts for a model of two classes; None for others, and if rows are of one."""
    if scored.task != "binary":
        return None
    [k] = scored.positives
    is_it, score = scored.one_vs_rest(k)
    w = np.ones(len(score)) if scored.weights is None else scored.weights
    n_events, n_others = float(w[is_it].sum()), float(w[~is_it].sum())
    if not (n_events > 0.0 and n_others > 0.0):
        return None
    order = np.argsort(score, kind="stable")
    ascending, hit = score[order], np.where(is_it, w, 0.0)[order]
    # Of ascending scores: the weights of all rows from each one on, with and without the event.
    hits_from = np.append(np.cumsum(hit[::-1])[::-1], 0.0)
    all_from = np.append(np.cumsum(w[order][::-1])[::-1], 0.0)
    is_probability = scored.probability is not None
    middle = 0.5 if is_probability else 0.0
    thresholds = _thresholds(ascending, hits_from, all_from, middle, is_probability=is_probability)
    at = np.searchsorted(ascending, thresholds)
    first = np.append(np.flatnonzero(np.diff(ascending, prepend=-np.inf)), len(ascending))[::-1]
    named = np.maximum(all_from[first], 1e-300)
    return Events(
        name=scored.classes[k],
        other=scored.classes[1 - k],
        thresholds=thresholds,
        hits=hits_from[at],
        alarms=np.maximum(all_from[at] - hits_from[at], 0.0),
        n_events=n_events,
        n_others=n_others,
        own=int(np.flatnonzero(thresholds == middle)[0]),
        recalls=hits_from[first] / n_events,
        precisions=hits_from[first] / named,
        flagged=all_from[first] / all_from[0],
        average_precision=float(average_precision_score(is_it, score, sample_weight=w)),
        n_rows=len(score),
        is_probability=is_probability,
    )


def _thresholds(
    ascending: Floats, hits: Floats, all_: Floats, middle: float, *, is_probability: bool
) -> Floats:
    """Return thresholds of few digits, descending: many where few rows, or few events, differ."""
    n = len(ascending)
    ranks = n - np.geomspace(1, n, _STEPS)
    by_events = np.searchsorted(-hits, -np.linspace(hits[0], 0.0, _STEPS), side="right") - 1
    places = np.unique(np.clip(np.round([*ranks, *by_events]), 0, n - 1).astype(int))
    chosen = ascending[places]
    if is_probability:
        near = np.maximum(np.minimum(chosen, 1.0 - chosen), 1e-12)
        digits = 2 - np.floor(np.log10(near)).astype(int)
        rounded = [np.floor(x * 10.0**d) / 10.0**d for x, d in zip(chosen, digits, strict=True)]
        above = 1.0 if ascending[-1] < 1.0 else np.nextafter(1.0, 2.0)
    else:
        d = places_for(float(np.ptp(ascending)) or 1.0) + 1
        rounded = (np.floor(chosen * 10.0**d) / 10.0**d).tolist()
        above = float(np.ceil(ascending[-1] * 10.0**d) / 10.0**d + 10.0**-d)
    return np.unique([round(float(x), 15) for x in rounded] + [middle, above])[::-1]
