"""Quantiles of several levels: a fit per level, and one of all levels where these would cross."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from splinear.estimators.trainer import Trained
from splinear.losses import Quantile
from splinear.objective.problem import Result, Start, Stopping
from splinear.objective.training_set import TrainingSet
from splinear.solvers.crossing import refuse_terms, uncrossed

__all__ = ["fit_levels", "without_slopes"]

Fit = Callable[[TrainingSet, Stopping, "list[Start] | None"], Trained]


def fit_levels(
    fit: Fit,
    data: TrainingSet,
    stopping: Stopping,
    starts: Sequence[Start] | None,
    *,
    has_pairs: bool,
) -> Trained:
    """Train every level, and all of them together if their models cross somewhere.

    `fit` trains a set with the surrogate of one level; its results have slopes.
    """
    loss = data.loss
    assert isinstance(loss, Quantile)
    if not data.rows.is_here:
        raise ValueError(
            "Several levels of a quantile are fitted by rows in this process, not on a GPU or on "
            "Dask workers. Fit one model per level, Quantile(level), where they may cross."
        )
    if has_pairs:
        raise ValueError(
            "Several levels of a quantile have no surfaces over pairs of features. Set "
            "interactions=0 and leave pairs out of `terms`, or fit one model per level."
        )
    refuse_terms(data.rows.layout)
    found: list[Trained] = []
    for k, level in enumerate(loss.alone()):
        own = data.with_loss(level.surrogate())
        watch = stopping.watch.of(loss.label(k))
        begin = None if starts is None else list(starts[k : k + 1])
        found.append(fit(own, replace(stopping, watch=watch), begin))
    order = loss.ascending.tolist()
    ascending = [found[k] for k in order]
    together = uncrossed(
        data.rows,
        [one.data.sums()[0] for one in ascending],
        [one.layout for one in ascending],
        [one.data.centered(one.results)[0] for one in ascending],
        stopping,
    )
    results = [one.results[0] for one in found]
    if together is not None:
        for k, one in zip(order, together, strict=True):
            [results[k]] = found[k].data.restored([one])
    edfs = [one.edf for one in found if one.edf is not None]
    return replace(
        found[0],
        data=data,
        results=without_slopes(results),
        edf=[np.sum(each, axis=0) for each in zip(*edfs, strict=True)] if edfs else None,
        n_turns=max(one.n_turns for one in found),
        settled=all(one.settled for one in found),
        information=[own for one in found for own in one.information],
        layouts=[one.layout for one in found] if edfs else (),
    )


def without_slopes(results: Sequence[Result]) -> list[Result]:
    """Return results without the slopes that proved their gap, which are as long as the rows."""
    return [replace(own, slopes=None) for own in results]
