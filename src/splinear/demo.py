"""The work behind ``splinear demo``: a small comparison on data that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.model_selection import StratifiedShuffleSplit

from splinear._types import AnyArray, Floats
from splinear.estimators.classifier import AdditiveClassifier
from splinear.estimators.svc import AdditiveSVC
from splinear.plotting import CurvesDisplay
from splinear.terms import Fourier, Hermite, Linear, Spline

__all__ = [
    "MODELS",
    "PICTURED",
    "Example",
    "Measured",
    "best_of",
    "evaluate",
    "load_data_sets",
    "make_models",
    "save_curves",
]

Classifier: TypeAlias = AdditiveSVC | AdditiveClassifier

# The same settings for every data set. Those with a C have C=1: nothing is tuned.
MODELS: Mapping[str, Classifier] = MappingProxyType(
    {
        "linear": AdditiveSVC(Linear(), C=1.0),
        "spline, D_0": AdditiveSVC(Spline(n_bins=10, penalty_order=0), C=1.0),
        "spline, D_1": AdditiveSVC(Spline(n_bins=10, penalty_order=1), C=1.0),
        "cubic spline, D_1": AdditiveSVC(Spline(n_bins=10, degree=3, penalty_order=1), C=1.0),
        "Fourier": AdditiveSVC(Fourier(4), C=1.0),
        "Hermite": AdditiveSVC(Hermite(4), C=1.0),
        "default": AdditiveClassifier(),
    }
)
PICTURED = "default"


@dataclass(frozen=True)
class Example:
    """Rows X (n_samples, n_features) of two classes y (n_samples,)."""

    name: str
    X: AnyArray
    y: AnyArray


@dataclass(frozen=True)
class Measured:
    """How one model did on one data set.

    Attributes
    ----------
    data_set, model : str
    accuracies : ndarray of shape (n_splits,)
        Share of the held-out rows that were classified correctly, split by split.
    seconds : float
        Median time of a fit.
    gap : float
        The largest relative duality gap at which a fit stopped.
    """

    data_set: str
    model: str
    accuracies: Floats
    seconds: float
    gap: float

    @property
    def accuracy(self) -> float:
        """Mean over the splits."""
        return float(self.accuracies.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation over the splits."""
        return float(self.accuracies.std())


def load_data_sets() -> list[Example]:
    """Load the data: two rings, handwritten digits (odd or even?), breast cancer."""
    rings, ring = make_circles(1000, noise=0.12, factor=0.6, random_state=0)
    digits, digit = load_digits(return_X_y=True)
    cancer, benign = load_breast_cancer(return_X_y=True)
    return [
        Example("two rings", rings, ring),
        Example("odd/even digits", digits, digit % 2),
        Example("breast cancer", cancer, benign),
    ]


def make_models(seed: int = 0) -> dict[str, Classifier]:
    """Make the models to compare, not yet fitted, by name."""
    return {name: clone(model).set_params(random_state=seed) for name, model in MODELS.items()}


def evaluate(
    name: str, model: Classifier, data: Example, n_splits: int = 10, seed: int = 0
) -> Measured:
    """Fit and test a model on `n_splits` random divisions of the data.

    Three quarters of the rows train and one quarter tests, with both classes in proportion. The
    same seed gives every model the same divisions.

    Parameters
    ----------
    name : str
        What to call the model.
    model : AdditiveSVC or AdditiveClassifier
        Cloned for every fit.
    data : Example
    n_splits : int, default=10
    seed : int, default=0

    Returns
    -------
    result : Measured
    """
    splits = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=seed)
    accuracies, seconds, gaps = [], [], []
    for train, test in splits.split(data.X, data.y):
        X, y = data.X[train], data.y[train]
        start = perf_counter()
        fitted = clone(model).fit(X, y)
        seconds.append(perf_counter() - start)
        accuracies.append(fitted.score(data.X[test], data.y[test]))
        gaps.append(fitted.dual_gap_)
    median = float(np.median(seconds))
    return Measured(data.name, name, np.array(accuracies), median, float(max(gaps)))


def best_of(results: Sequence[Measured]) -> dict[str, Measured]:
    """Return the result of highest mean accuracy for each data set."""
    best: dict[str, Measured] = {}
    for result in results:
        if result.data_set not in best or result.accuracy > best[result.data_set].accuracy:
            best[result.data_set] = result
    return best


def save_curves(path: Path, seed: int = 0) -> None:
    """Draw the curves of the model `PICTURED` on the breast cancer data into a file.

    Parameters
    ----------
    path : Path
        Its ending chooses the format.
    seed : int, default=0
    """
    from matplotlib.figure import Figure

    data = load_breast_cancer()
    model = make_models(seed)[PICTURED].fit(data.data, data.target)
    figure = Figure(figsize=(12, 7), dpi=100)  # of its own, so that no display is needed
    CurvesDisplay.from_estimator(
        model,
        data.data,
        feature_names=data.feature_names,
        class_names=data.target_names,
        figure=figure,
    )
    # By its title the command knows a picture of its own; JPEG and WebP have none.
    has_title = path.suffix.lower() in (".png", ".svg", ".pdf")
    figure.savefig(path, metadata={"Title": "splinear demo"} if has_title else None)
