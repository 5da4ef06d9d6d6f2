"""Conversion of fitted estimators to pieces."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from splinear._types import Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.export.curves import read_curve
from splinear.export.pieces import (
    CategoryTerm,
    Feature,
    ModelPieces,
    OrderedLevels,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
)
from splinear.inspection.naming import feature_names, labels_of
from splinear.losses import Ordinal
from splinear.losses.base import Link, Loss, Task
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.terms.pair_group import Chain

__all__ = ["read_model", "task_and_link"]


def read_model(model: AdditiveEstimator) -> ModelPieces:
    """Return the pieces of a fitted estimator.

    Raises
    ------
    TypeError
        If it is not an additive estimator, but for example a pipeline.
    """
    _check(model)
    task, link = task_and_link(model)
    classes = None if task == "regression" else tuple(model.classes_.tolist())
    names = feature_names(model)
    terms: list[TermPieces] = [_read_term(model, term) for term in model.terms_.curves]
    terms += [_read_surface(model, pair, names) for pair in model.terms_.pairs]
    return ModelPieces(
        estimator=type(model).__name__,
        task=task,
        link=link,
        classes=classes,
        features=tuple(_feature(model, j, name) for j, name in enumerate(names)),
        intercept=np.asarray(model.intercept_, dtype=np.float64),
        terms=tuple(terms),
        levels=tuple(labels_of(model))
        if task == "regression" and model._loss.n_outputs > 1
        else None,
        grades=_ordered_levels(model._loss),
    )


def _ordered_levels(loss: Loss) -> OrderedLevels | None:
    if not isinstance(loss, Ordinal) or loss.cut_points is None:
        return None
    return OrderedLevels(loss.cut_points, *loss.modes)


def _check(model: object) -> None:
    if not isinstance(model, AdditiveEstimator):
        raise TypeError(
            "A fitted AdditiveClassifier, AdditiveOrdinal, AdditiveSVC, AdditiveRegressor or "
            f"AdditiveSVR is needed; got {type(model).__name__}. Of a pipeline, pass the last "
            "step; of a search, `best_estimator_`."
        )
    check_is_fitted(model, "terms_")


def task_and_link(model: AdditiveEstimator) -> tuple[Task, Link | None]:
    """Return what a model predicts, and the link from its means or probabilities to scores."""
    return model._loss.task, model._loss.link


def _feature(model: AdditiveEstimator, j: int, name: str) -> Feature:
    columns = model._columns
    if j in columns.dropped:
        return Feature(name, "dropped")
    if j in columns.levels:
        return Feature(name, "category", columns.levels[j])
    return Feature(name, "number")


def _read_term(model: AdditiveEstimator, term: FittedTerm) -> TermPieces:
    missing = term.at_missing if model._columns.takes_gaps else None
    if term.levels is None:
        return read_curve(term, missing)
    refused = term.features[0] in model._columns.strict
    return CategoryTerm(
        feature=term.features[0],
        name=term.name,
        kind=term.kind,
        levels=term.levels,
        values=term.coef,
        unseen=None if refused else _mean_of_levels(term),
        missing=missing,
        mean=term.mean,
    )


def _mean_of_levels(term: FittedTerm) -> Floats:
    """Return the effect of a level that did not occur in fit: the mean, (n_outputs,)."""
    return np.asarray(term.table @ term.group.mean[0])


def _read_surface(model: AdditiveEstimator, pair: FittedPair, names: list[str]) -> SurfaceTerm:
    (first, second), periods = pair.chains, model._columns.periods
    return SurfaceTerm(
        features=pair.features,
        name=pair.name,
        kind=pair.kind,
        axes=(
            _axis(first, names[first.feature], pair.levels[0], periods.get(first.feature)),
            _axis(second, names[second.feature], pair.levels[1], periods.get(second.feature)),
        ),
        values=pair.coef,
        mean=pair.mean,
    )


def _axis(
    chain: Chain, name: str, levels: tuple[object, ...] | None, period: float | None
) -> SurfaceAxis:
    return SurfaceAxis(
        feature=chain.feature,
        name=name,
        knots=chain.knots,
        levels=None if chain.knots is not None else levels,
        nodes=chain.node_of_level,
        missing=chain.n_values if chain.has_missing else None,
        period=period,
    )
