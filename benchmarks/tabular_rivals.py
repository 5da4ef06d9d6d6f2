"""One small adapter per rival on tables: fit(X, y), then probabilities(X) of the class 1.

All of them see the same float64 features and labels 0 and 1, and use one thread. Columns of two
values get a straight line, as every user would do; the others get a curve where a rival has curves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from splinear import AdditiveClassifier, AdditiveSVC, PathSearchCV
from splinear.terms import Spline

Array = npt.NDArray[Any]

FOLDS = 3  # of every choice by cross-validation
CHOICES_OF_C = [0.01, 0.1, 1.0, 10.0, 100.0]
CHOICES_OF_KNOTS = {"n_knots": [5, 10, 20], "knots": ["quantile", "uniform"]}


class Rival(Protocol):
    """What the benchmark asks of a rival."""

    def fit(self, X: Array, y: Array) -> None:
        """Learn from labels 0 and 1; this is what is timed."""

    def probabilities(self, X: Array) -> Array:
        """Return the probability of the label 1 for each row."""


class Estimator:
    """Any classifier of scikit-learn's kind."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> None:
        self.model.fit(X, y)

    def probabilities(self, X: Array) -> Array:
        probabilities: Array = self.model.predict_proba(X)[:, 1]
        return probabilities


class PyGam:
    """pyGAM's LogisticGAM: 20 splines per curve and the package's own penalty or its own search."""

    def __init__(self, search: bool) -> None:
        self.search = search

    def fit(self, X: Array, y: Array) -> None:
        from pygam import LogisticGAM, l, s
        from pygam.terms import TermList

        curved = is_curved(X)
        terms = [s(j) if curved[j] else l(j) for j in range(X.shape[1])]
        self.model = LogisticGAM(TermList(*terms))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # overflows on the way
            if self.search:
                self.model.gridsearch(X, y, progress=False)
            else:
                self.model.fit(X, y)

    def probabilities(self, X: Array) -> Array:
        probabilities: Array = self.model.predict_proba(X)
        return probabilities


def is_curved(X: Array) -> npt.NDArray[np.bool_]:
    """Tell the columns that have more than two values."""
    two_values = (X.min(axis=0) == X) | (X.max(axis=0) == X)
    curved: npt.NDArray[np.bool_] = ~two_values.all(axis=0)
    return curved


def splinear(C: float | None = None) -> Rival:
    """AdditiveClassifier."""
    return Estimator(AdditiveClassifier(C=C, random_state=0))


def splinear_search() -> Rival:
    """AdditiveClassifier with one C for all curves, chosen by log-loss over folds."""
    model = AdditiveClassifier(Spline(128, knots="quantile"), C=1.0, random_state=0)
    return Estimator(PathSearchCV(model, cv=FOLDS, scoring="neg_log_loss"))


def splinear_svc() -> Rival:
    """AdditiveSVC, a sigmoid fitted to its out-of-fold scores."""
    return Estimator(CalibratedClassifierCV(AdditiveSVC(random_state=0), cv=FOLDS, ensemble=False))


def linear() -> Any:
    """LogisticRegression on standardized columns."""
    return make_pipeline(StandardScaler(), _logistic_regression())


def splines() -> Any:
    """Cubic splines between quantiles, then LogisticRegression."""
    return make_pipeline(spline_features(), _logistic_regression())


def spline_features() -> Any:
    """Cubic splines between quantiles, and columns of two values as they are."""
    transformer = SplineTransformer(n_knots=10, knots="quantile", extrapolation="constant")
    return make_column_transformer((transformer, is_curved), remainder="passthrough")


def _logistic_regression() -> LogisticRegression:
    # Of its solvers the fastest by far where there are many more rows than columns.
    return LogisticRegression(solver="newton-cholesky")


def search(model: Any, **choices: list[Any]) -> Rival:
    """Choose parameters by log-loss over folds, then fit once more."""
    return Estimator(GridSearchCV(model, choices, cv=FOLDS, scoring="neg_log_loss"))


def explainable_boosting() -> Rival:
    """EBM without interactions, the additive form."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return Estimator(ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=0))


@dataclass(frozen=True)
class Entry:
    """A rival in the table: its name, how to make it, and the module it needs."""

    name: str
    make: Callable[[], Rival]
    module: str = "sklearn"

    @property
    def is_installed(self) -> bool:
        """Whether the module is there."""
        return find_spec(self.module) is not None


_BY_FOLDS = f"{FOLDS} folds"
_C = "logisticregression__C"
_KNOTS = {
    f"columntransformer__splinetransformer__{name}": choices
    for name, choices in CHOICES_OF_KNOTS.items()
}

RIVALS: dict[str, Entry] = {
    "splinear": Entry("AdditiveClassifier()", splinear),
    "search": Entry(f"AdditiveClassifier, 128 bins, C by {_BY_FOLDS}", splinear_search),
    "fixed": Entry("AdditiveClassifier(C=1.0)", lambda: splinear(C=1.0)),
    "svc": Entry("CalibratedClassifierCV(AdditiveSVC())", splinear_svc),
    "ebm": Entry("EBM, interactions=0", explainable_boosting, "interpret"),
    "pygam": Entry("pyGAM", lambda: PyGam(search=False), "pygam"),
    "pygam_search": Entry("pyGAM, gridsearch", lambda: PyGam(search=True), "pygam"),
    "splines": Entry("SplineTransformer + LogisticRegression", lambda: Estimator(splines())),
    "splines_search": Entry(
        "SplineTransformer + LogisticRegression, knots and C by " + _BY_FOLDS,
        lambda: search(splines(), **{_C: CHOICES_OF_C}, **_KNOTS),
    ),
    "linear": Entry("LogisticRegression, linear model", lambda: Estimator(linear())),
    "linear_search": Entry(
        "LogisticRegression, linear model, C by " + _BY_FOLDS,
        lambda: search(linear(), **{_C: CHOICES_OF_C}),
    ),
    "boosting": Entry(
        "HistGradientBoosting, with interactions",
        lambda: Estimator(HistGradientBoostingClassifier(random_state=0)),
    ),
}
