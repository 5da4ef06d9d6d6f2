"""Fits that once took forever end after few passes; passes are counted, not seconds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR

MOST = 200  # passes of Newton's method and of the choice of smoothness, each


def passes(model, X, y) -> int:
    """Fit a model, and return how often its callback was called; more than a limit is an error."""
    seen = []

    def count(progress) -> None:
        seen.append(progress.n_iter)
        assert len(seen) < 10 * MOST, "endless"

    model = model.set_params(callback=count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert np.isfinite(np.asarray(model.predict(X), dtype=float)).all()
    return len(seen)


def rows(n=300):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2], random


@pytest.mark.parametrize("interactions", ["auto", 3])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (AdditiveClassifier(), [0, 1, 0]),
        (AdditiveClassifier(), [0, 1, 2]),
        (AdditiveRegressor(), [1.0, 2.0, 3.0]),
        (AdditiveRegressor(loss="poisson"), [0.0, 2.0, 1.0]),
        (AdditiveRegressor(loss="gamma"), [1.0, 2.0, 9.0]),
    ],
)
def test_three_rows_of_huge_values(model, y, interactions):
    X = np.array([[1e299, -1e299, 3.0], [2e299, 1e299, 1.0], [-1e299, 5e298, 2.0]])
    model = clone(model).set_params(interactions=interactions, max_iter=5, random_state=0)
    assert passes(model, X, y) < MOST


@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(),
        AdditiveClassifier(C=1.0),
        AdditiveClassifier(interactions=2),
        AdditiveRegressor(),
        AdditiveRegressor(loss="poisson"),
        AdditiveRegressor(loss="gamma"),
        AdditiveSVC(loss="squared_hinge"),
    ],
    ids=str,
)
def test_a_tolerance_that_no_number_reaches(model):
    X, f, _ = rows()
    y = np.exp(0.3 * f) if isinstance(model, AdditiveRegressor) else f > 0
    model = clone(model).set_params(tol=1e-300, random_state=0)
    assert passes(model, X, y) < MOST
    assert model.dual_gap_ < 1e-6  # other machines round otherwise


@pytest.mark.parametrize("model", [AdditiveSVC(), AdditiveSVC(C=1.0), AdditiveSVR(C=1.0)], ids=str)
def test_a_tolerance_that_dual_coordinate_descent_never_reaches(model):
    X, f, _ = rows()
    y = f if isinstance(model, AdditiveSVR) else f > 0
    model = clone(model).set_params(tol=1e-300, max_iter=150, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 150 passes"):
        model.fit(X, y)
    assert model.n_iter_ == 150


@pytest.mark.parametrize("interactions", [0, 2, "auto"])
def test_counts_of_a_hundred_million(interactions):
    X, f, random = rows()
    y = random.poisson(1e8 * np.exp(0.3 * f)).astype(float)
    model = AdditiveRegressor(loss="poisson", interactions=interactions, random_state=0)
    assert passes(model, X, y) < MOST
    assert model.certified_
    assert model.score(X, y) > (0.9 if interactions == 2 else 0.4)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_more_passes_over_rows_that_are_separable(C):
    X, _, _ = rows(1000)
    y = X[:, 0] > 0
    model = AdditiveSVC(C=C, random_state=0).fit(X, y)
    assert model.certified_
    for _ in range(3):
        model.partial_fit(X, y)
        assert model.n_iter_ < 100
        assert model.certified_
