"""MNIST as the paper's experiments use it: features, and one digit against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline
from splinear.experiments.models import Fit, Recipe, fit

from splinear._types import AnyArray
from splinear.datasets import load_mnist
from splinear.features import GradientPyramid

__all__ = ["Digits", "OneVsRest", "load", "one_vs_rest", "to_bytes"]

QUICK_TRAIN, QUICK_TEST = 1000, 500


@dataclass(frozen=True)
class Digits:
    """Features (n, 2172) and digits (n,) of the training and the test images."""

    X_train: AnyArray
    y_train: AnyArray
    X_test: AnyArray
    y_test: AnyArray


def load(data_home: str | None, quick: bool) -> Digits:
    """Read the images and compute their features."""
    bunch = load_mnist(data_home)
    train, test = np.flatnonzero(~bunch.is_test), np.flatnonzero(bunch.is_test)
    if quick:
        train, test = train[:QUICK_TRAIN], test[:QUICK_TEST]
    pyramid = GradientPyramid.mnist()
    parts = (pyramid.fit_transform(bunch.images[rows]) for rows in (train, test))
    X_train, X_test = parts
    return Digits(X_train, bunch.target[train], X_test, bunch.target[test])


def to_bytes(train: AnyArray, *others: AnyArray) -> list[AnyArray]:
    """Map each column's range in `train` to 0..255 and round; others are clipped to it."""
    low, high = train.min(axis=0), train.max(axis=0)
    step = np.where(high > low, high - low, 1) / 255
    return [np.rint(np.clip((X - low) / step, 0, 255)).astype(np.float32) for X in (train, *others)]


class OneVsRest(ClassifierMixin, BaseEstimator):
    """One binary classifier a digit; scores pass through a logistic, and the highest one wins.

    Parameters
    ----------
    model : estimator
        A binary classifier with a `decision_function`.
    n_jobs : int, default=1
        Digits that are trained at a time, each on one thread.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    fits_ : list of Fit
    seconds_ : float
        Time for all of them together.
    """

    def __init__(self, model: Any, n_jobs: int = 1) -> None:
        self.model = model
        self.n_jobs = n_jobs

    def fit(self, X: AnyArray, y: AnyArray) -> OneVsRest:
        """Train each digit against the rest."""
        self.classes_ = np.unique(y)
        start = perf_counter()
        self.fits_: list[Fit] = Parallel(self.n_jobs, prefer="threads", require="sharedmem")(
            delayed(fit)(self.model, X, y == digit) for digit in self.classes_
        )
        self.seconds_ = perf_counter() - start
        return self

    def predict(self, X: AnyArray) -> AnyArray:
        """Give the digit of every row."""
        scores = np.stack([expit(done.model.decision_function(X)) for done in self.fits_], axis=1)
        labels: AnyArray = self.classes_[scores.argmax(axis=1)]
        return labels

    @property
    def mean_seconds(self) -> float:
        """Mean time of training one digit."""
        return float(np.mean([done.seconds for done in self.fits_]))

    @property
    def at_limit(self) -> bool:
        """Whether any digit stopped at its limit of passes."""
        return any(done.at_limit for done in self.fits_)


def one_vs_rest(recipe: Recipe, n_jobs: int = 1) -> Recipe:
    """Turn a recipe for two classes into one for ten. Features are scaled once, for all digits."""

    def make(C: float, scaling: str) -> Any:
        model = recipe.make(C, scaling)
        if not isinstance(model, Pipeline):
            return OneVsRest(model, n_jobs)
        *before, last = (step for _, step in model.steps)
        return make_pipeline(*before, OneVsRest(last, n_jobs))

    return Recipe(recipe.name, make)
