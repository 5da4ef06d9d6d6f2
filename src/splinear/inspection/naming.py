"""Features and outputs by name: lookups, and names for display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from splinear._lookup import column_position, is_whole
from splinear._types import Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.reading import read_as_given
from splinear.estimators.regression import RegressionEstimator
from splinear.inspection.resolving import FittedModel, resolve_model
from splinear.model.fitted import FittedPair

__all__ = [
    "Output",
    "boolean_features",
    "check_listed",
    "feature_index",
    "feature_names",
    "labels_of",
    "mean_of",
    "names_of_classes",
    "one_output",
    "output_of",
    "pair_of",
    "score_unit",
    "term_names",
]

Output: TypeAlias = int | slice | list[int]  # one output, all of several, or some of them


def feature_names(model: FittedModel) -> list[str]:
    """Return the column names the model was fitted on, or x0, x1, ... where it had none.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import feature_names
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> feature_names(model)[:3]
    ['age', 'sex', 'bmi']
    """
    model = resolve_model(model)
    names = model.terms_.names
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def term_names(model: FittedModel) -> list[str]:
    """Return the names of all features, followed by those of all surfaces.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.

    Returns
    -------
    names : list of str of length n_features + n_pairs
        The names of the columns of :func:`contributions`, and of `importances(..., by="term")`. The
        name of a surface consists of the names of its two features, with a cross between them.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import term_names
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    >>> term_names(model)
    ['x0', 'x1', 'x0 × x1']
    """
    model = resolve_model(model)
    return feature_names(model) + [pair.name for pair in model.terms_.pairs]


def feature_index(
    model: FittedModel, feature: int | str, names: Sequence[str] | None = None
) -> int:
    """Find a feature's position from its position or its name.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    feature : int or str
    names : sequence of str of length n_features, default=None
        Names to search instead of those the model was fitted on.

    Returns
    -------
    j : int
        From 0 to n_features - 1.

    Raises
    ------
    ValueError
        If there is no such feature; the message names it and says what exists.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import feature_index
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> feature_index(model, "bmi")
    2
    """
    model = resolve_model(model)
    if not isinstance(feature, str) and not is_whole(feature):
        raise TypeError(
            f"feature must be a whole number or a column name; got {feature!r} "
            f"of type {type(feature).__name__}."
        )
    known = model.terms_.names if names is None else names
    return column_position(feature, model.n_features_in_, known, f"There is no feature {feature!r}")


def check_listed(features: object) -> None:
    """Raise if a single name is given instead of a list, because a str is a sequence too."""
    if isinstance(features, str):
        raise TypeError(
            f"features must be a list of names or positions; got the text {features!r}. Write "
            f"[{features!r}]."
        )


def pair_of(
    model: AdditiveEstimator, features: object, names: Sequence[str] | None = None
) -> tuple[int, int, FittedPair]:
    """Return the positions of two features, in the order given, and their surface."""
    if not isinstance(features, tuple | list) or len(features) != 2:
        raise TypeError(f"A surface has two features, as in (0, 1); got {features!r}.")
    j, k = (feature_index(model, feature, names) for feature in features)
    pair = model.terms_.of_pair(j, k)
    if pair is None:
        known = ", ".join(repr(each.name) for each in model.terms_.pairs[:10])
        raise ValueError(
            f"There is no surface of {features[0]!r} and {features[1]!r}. "
            + (f"Surfaces: {known}." if known else "The model has none; see `interactions`.")
        )
    return j, k, pair


def boolean_features(model: AdditiveEstimator, X: Input) -> frozenset[int]:
    """Return the positions of features that hold True and False in X, or did in fit."""
    of_fit = model._columns.booleans
    return of_fit if X is None else of_fit | read_as_given(model, X, model._columns).booleans


def names_of_classes(
    model: AdditiveEstimator, class_names: Sequence[str] | None
) -> dict[object, str]:
    """Return the name of each class, the user's or its label; empty for a number.

    Several quantiles of a number have the names of their levels.
    """
    labels = labels_of(model)
    if isinstance(model, RegressionEstimator):
        return {level: f"quantile {level:.4g}" for level in labels}
    names = list(map(str, labels if class_names is None else class_names))
    if len(names) != len(labels):
        raise ValueError(f"class_names must have {len(labels)} entries; got {len(names)}.")
    return dict(zip(labels, names, strict=True))


def labels_of(model: AdditiveEstimator) -> list[Any]:
    """Return the classes, or the levels of several quantiles; none if a number is predicted."""
    if isinstance(model, RegressionEstimator):
        n = len(model.intercept_)
        return [] if n == 1 else [model._loss.label(k) for k in range(n)]
    labels: list[Any] = model.classes_.tolist()
    return labels


def score_unit(model: AdditiveEstimator, name: str) -> str:
    """Return a name for the score, given the name of the target or class.

    In regression it is the target, or its logarithm; for ordered levels, the latent scale of the
    target. In classification it is the log-odds of a class, relative to the geometric mean of all
    classes if there are more than two, or a margin.
    """
    return model._loss.score_name(name)


def mean_of(model: AdditiveEstimator, name: str) -> str:
    """Return the name of the target if scores are logarithms of its mean; otherwise nothing."""
    return name if model._loss.link == "log" else ""


def output_of(model: AdditiveEstimator, target: object) -> Output:
    """Return the index of a target's output, or the indices of a list of targets.

    For None it is a slice of all outputs if there are several.
    """
    if target is None:
        return slice(None) if len(model.intercept_) > 1 else 0
    if not isinstance(target, list | tuple | np.ndarray):
        return _place_of(model, target)
    if not len(target):
        raise ValueError("target is an empty list: name at least one class.")
    return [_place_of(model, each) for each in target]


def _place_of(model: AdditiveEstimator, target: object) -> int:
    labels = labels_of(model)
    if not labels:
        raise ValueError(f"target is for classifiers; {type(model).__name__} has one output.")
    if model._loss.task == "ordinal":
        raise ValueError(f"target={target!r}, but one score is that of all levels; leave it out.")
    known = labels[-1:] if len(model.intercept_) == 1 else labels
    if target in known:
        return known.index(target)
    shown = _listed(known)
    if len(known) == 1:
        raise ValueError(
            f"target={target!r}, but a model of two classes has the curves of {shown} only."
        )
    what = "levels" if isinstance(model, RegressionEstimator) else "classes"
    raise ValueError(f"There is no target {target!r}. The {what} are {shown}.")


def _listed(classes: list[object]) -> str:
    return ", ".join(map(repr, classes[:20])) + (", ..." if len(classes) > 20 else "")


def one_output(model: AdditiveEstimator, target: object, reason: str) -> int:
    """Return the index of a target's output; raise unless it is a single one."""
    output = output_of(model, target)
    if isinstance(output, int):
        return output
    if isinstance(output, list) and len(output) == 1:
        return output[0]
    raise ValueError(
        f"target must be given {reason} and the model has several outputs: one of "
        f"{_listed(labels_of(model))}."
    )
