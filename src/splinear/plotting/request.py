"""What a user asks of a picture: names and words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splinear._types import Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.regression import RegressionEstimator
from splinear.inspection.naming import (
    feature_names,
    mean_of,
    names_of_classes,
    output_of,
    score_unit,
)
from splinear.model.fitted import FittedPair
from splinear.plotting.curve import Words
from splinear.plotting.style import LINES

__all__ = [
    "at_least_one",
    "checked_names",
    "horizontal_of",
    "require_matplotlib",
    "shares_of",
    "words_of",
]


def require_matplotlib() -> None:
    """Say how to install matplotlib, where it is not."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib, which is not installed: pip install 'splinear[plot]'"
        ) from error


def at_least_one(n: int) -> int:
    """Refuse to draw nothing."""
    if n < 1:
        raise ValueError(f"top and n_cols must be at least 1; got {n}.")
    return n


def checked_names(estimator: AdditiveEstimator, names: Sequence[str] | None) -> list[str]:
    """Return the names of all features, the model's own by default."""
    known = feature_names(estimator)
    if names is None:
        return known
    if len(names) != len(known):
        raise ValueError(
            f"feature_names must have {len(known)} entries, one per feature; got {len(names)}."
        )
    return [str(name) for name in names]


def words_of(
    estimator: AdditiveEstimator,
    target: object,
    class_names: Sequence[str] | None,
    target_name: str,
    n_hidden: int = 0,
) -> Words:
    """Say what the curves and surfaces of a model mean; `n_hidden` classes are not drawn."""
    if isinstance(estimator, RegressionEstimator) and len(estimator.intercept_) == 1:
        mean = mean_of(estimator, target_name)
        axis = f"factor on the mean of {mean}" if mean else f"effect on {target_name}"
        up, down = f"raises {target_name}", f"lowers {target_name}"
        return Words(up, down, axis=axis, is_factor=bool(mean))
    if estimator._loss.task == "ordinal":
        up, down = f"raises {target_name}", f"lowers {target_name}"
        return Words(up, down, axis=_effect(estimator, target_name))
    names = list(names_of_classes(estimator, class_names).values())
    output = output_of(estimator, target)
    if isinstance(output, int):
        two = len(estimator.intercept_) == 1 and len(names) == 2
        name = names[1 if two else output]
        against = f"speaks for {names[0]}" if two else f"speaks against {name}"
        return Words(f"speaks for {name}", against, axis=_effect(estimator, name))
    chosen = [names[-1]] if len(estimator.intercept_) == 1 else _some(names, output)
    if len(chosen) > len(LINES):
        raise ValueError(
            f"target names {len(chosen)} classes, but a panel has at most {len(LINES)} lines: name "
            f"fewer, or none for the {len(LINES)} classes that matter most."
        )
    is_number = isinstance(estimator, RegressionEstimator)
    axis = _effect(estimator, f"quantiles of {target_name}" if is_number else "each class")
    return Words(lines=tuple(chosen), axis=axis, n_hidden=n_hidden)


def _effect(estimator: AdditiveEstimator, name: str) -> str:
    return f"effect on the {score_unit(estimator, name)}"


def _some(names: list[str], output: slice | list[int]) -> list[str]:
    return names[output] if isinstance(output, slice) else [names[k] for k in output]


def shares_of(deviations: Floats) -> Floats:
    """Return every term's part of the sum of all importances."""
    return np.asarray(deviations / max(float(deviations.sum()), np.finfo(np.float64).tiny))


def horizontal_of(pair: FittedPair) -> int:
    """Return the feature for the horizontal axis, where the user did not say: levels are rows."""
    first_is_category, second_is_category = (levels is not None for levels in pair.levels)
    return pair.features[int(first_is_category and not second_is_category)]
