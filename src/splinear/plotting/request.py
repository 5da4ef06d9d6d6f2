"""What a user asks of a picture: names and words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splinear._types import Floats
from splinear.inspection.naming import feature_names, score_unit
from splinear.model.fitted import FittedPair
from splinear.plotting.drawing import LINES, Words
from splinear.training.estimator import AdditiveEstimator
from splinear.training.regression import RegressionEstimator

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
) -> Words:
    """Say what the curves and surfaces of a model mean."""
    if isinstance(estimator, RegressionEstimator):
        axis = f"effect on {score_unit(estimator, target_name)}"
        return Words(f"raises {target_name}", f"lowers {target_name}", axis=axis)
    labels = estimator.classes_.tolist()
    names = [str(name) for name in (labels if class_names is None else class_names)]
    if len(names) != len(labels):
        raise ValueError(f"class_names must have {len(labels)} entries; got {len(names)}.")
    if len(estimator.intercept_) == 1:
        return Words(f"speaks for {names[1]}", f"speaks for {names[0]}")
    if target in labels:
        name = names[labels.index(target)]
        return Words(f"speaks for {name}", f"speaks against {name}")
    if target is None and len(labels) > len(LINES):
        raise ValueError(
            f"{len(labels)} classes are too many for one panel, which has at most {len(LINES)} "
            f"lines; choose one by target, for example target={labels[0]!r}."
        )
    return Words(lines=tuple(names))


def shares_of(deviations: Floats) -> Floats:
    """Return every term's part of the sum of all importances."""
    return np.asarray(deviations / max(float(deviations.sum()), np.finfo(np.float64).tiny))


def horizontal_of(pair: FittedPair) -> int:
    """Return the feature for the horizontal axis, where the user did not say: levels are rows."""
    first_is_category, second_is_category = (levels is not None for levels in pair.levels)
    return pair.features[int(first_is_category and not second_is_category)]
