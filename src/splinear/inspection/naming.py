"""Features and outputs as a user names them."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.utils.validation import check_is_fitted

from splinear._lookup import column_position, is_whole
from splinear.model.fitted import FittedPair
from splinear.training.estimator import AdditiveEstimator
from splinear.training.regression import RegressionEstimator

__all__ = [
    "check_model",
    "feature_index",
    "feature_names",
    "one_output",
    "output_of",
    "pair_of",
    "score_name",
    "term_names",
]


def feature_names(model: AdditiveEstimator) -> list[str]:
    """Return the column names the model was fitted on, or x0, x1, ... where it had none.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR

    Returns
    -------
    names : list of str
    """
    check_model(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def term_names(model: AdditiveEstimator) -> list[str]:
    """Return the names of all that adds to a score: of every feature, then of every surface.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR

    Returns
    -------
    names : list of str of length n_features + n_pairs
        Those of the columns of :func:`contributions`, and of `importances(..., by="term")`. The
        name of a surface is those of its two features, with a cross between.
    """
    return feature_names(model) + [pair.name for pair in model.terms_.pairs]


def feature_index(
    model: AdditiveEstimator, feature: int | str, names: Sequence[str] | None = None
) -> int:
    """Find a feature's position from its position or its name.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
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
    """
    check_model(model)
    if not isinstance(feature, str) and not is_whole(feature):
        raise TypeError(
            f"feature must be a whole number or a column name; got {feature!r} "
            f"of type {type(feature).__name__}."
        )
    known = getattr(model, "feature_names_in_", None) if names is None else names
    return column_position(feature, model.n_features_in_, known, f"There is no feature {feature!r}")


def pair_of(
    model: AdditiveEstimator, features: object, names: Sequence[str] | None = None
) -> tuple[int, int, FittedPair]:
    """Find the surface of two features, and their positions in the order given."""
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


def check_model(model: object) -> None:
    """Refuse what has no terms, and what has none yet."""
    if isinstance(getattr(model, "best_estimator_", None), AdditiveEstimator):
        raise TypeError("A fitted estimator is needed; of a search, pass `best_estimator_`.")
    if not isinstance(model, AdditiveEstimator):
        raise TypeError(
            "A fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR is needed; "
            f"got {type(model).__name__}. "
            "Of a pipeline, pass the last step, and X as that step sees it."
        )
    check_is_fitted(model, "terms_")


def score_name(model: RegressionEstimator, target: str) -> str:
    """Name what the score of a regression is of: the target, or "log of" it by a log link."""
    check_model(model)
    return model._outputs.unit(target)


def output_of(model: AdditiveEstimator, target: object) -> int | slice:
    """Find the output that a target stands for; all of them for None, if there are several."""
    if target is None:
        return slice(None) if len(model.intercept_) > 1 else 0
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ValueError(f"target is for classifiers; {type(model).__name__} has one output.")
    known: list[object] = classes.tolist()[-1:] if len(model.intercept_) == 1 else classes.tolist()
    if target in known:
        return known.index(target)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    if len(known) == 1:
        raise ValueError(
            f"target={target!r}, but a model of two classes has the curves of {shown} only."
        )
    raise ValueError(f"There is no target {target!r}. The classes are {shown}.")


def one_output(model: AdditiveEstimator, target: object, reason: str) -> int:
    """Find the output that a target stands for, where there must be one of several."""
    output = output_of(model, target)
    if isinstance(output, int):
        return output
    known: list[object] = model.classes_.tolist()
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    raise ValueError(
        f"target must be given {reason} and the model has several outputs: one of {shown}."
    )
