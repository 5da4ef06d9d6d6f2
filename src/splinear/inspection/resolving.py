"""Finds the additive model in an estimator, a pipeline or a search.

For a pipeline it is the last step, and columns are those that this step gets, with the names that
the steps before it return. For a search it is the `best_estimator_`. A threshold chosen by
scikit-learn changes classes and no score, so it is looked through as well. Wrappers that change
what is predicted are not: what was shown would not be what they say.
"""

from __future__ import annotations

from copy import copy
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from splinear._types import AnyArray, Input
from splinear.estimators.base import AdditiveEstimator

__all__ = ["FittedModel", "has_threshold", "resolve", "resolve_model"]

THRESHOLDS = ("TunedThresholdClassifierCV", "FixedThresholdClassifier")

# A fitted estimator of this package, or a pipeline or a search that ends in one.
FittedModel: TypeAlias = AdditiveEstimator | BaseEstimator


def resolve(model: FittedModel, X: Input) -> tuple[AdditiveEstimator, Input]:
    """Return the additive model, with names of its columns, and X transformed for it."""
    names: AnyArray | None = None
    while not isinstance(model, AdditiveEstimator):
        if isinstance(model, Pipeline):
            check_is_fitted(model)
            before, model = model[:-1], model.steps[-1][1]
            names = _names_after(before)
            X = X if X is None or not before.steps else before.transform(X)
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif type(model).__name__ in THRESHOLDS and hasattr(model, "estimator_"):
            model = model.estimator_
        elif type(model).__name__ == "FrozenEstimator":
            model = model.estimator
        else:
            raise TypeError(_refusal(model))
    check_is_fitted(model, "terms_")
    return _named(model, names), X


def has_threshold(model: object) -> bool:
    """Return whether classes are decided by a threshold that scikit-learn has chosen."""
    while not isinstance(model, AdditiveEstimator):
        if type(model).__name__ in THRESHOLDS:
            return True
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        else:
            model = getattr(model, "best_estimator_", None)
            if model is None:
                return False
    return False


def _refusal(model: object) -> str:
    """Return the message for an estimator that contains no additive model, or hides it."""
    kind = type(model).__name__
    if kind == "CalibratedClassifierCV":
        return (
            "CalibratedClassifierCV turns scores into probabilities after the model, so that its "
            "probabilities are not those of the curves. To look at the model, pass "
            "calibrated_classifiers_[0].estimator; with ensemble=True there is one for each fold, "
            "and the probabilities are their mean."
        )
    if kind == "TransformedTargetRegressor":
        return (
            "TransformedTargetRegressor transforms what the model predicts, so that contributions "
            "do not add up to its predictions. To look at the model, whose unit is that of the "
            "transformed target, pass regressor_."
        )
    if kind in THRESHOLDS:
        return f"This {kind} is not fitted yet: call fit first."
    return (
        "A fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR is needed, or "
        f"a pipeline or a search that ends in one; got {kind}."
    )


def resolve_model(model: FittedModel) -> AdditiveEstimator:
    """Return the additive model, with names of its columns."""
    return resolve(model, None)[0]


def _names_after(steps: Pipeline) -> AnyArray | None:
    """Return the names of the columns that steps produce; None if they are not known."""
    if not steps.steps:
        return None
    try:
        return np.asarray(steps.get_feature_names_out(), dtype=object)
    except (AttributeError, ValueError, NotFittedError):
        return None


def _named(model: AdditiveEstimator, names: AnyArray | None) -> AdditiveEstimator:
    """Return the model with names for columns that had none in fit."""
    if names is None or model.terms_.names is not None or len(names) != model.n_features_in_:
        return model
    out = copy(model)
    out.terms_ = model.terms_.named(names)
    return out
