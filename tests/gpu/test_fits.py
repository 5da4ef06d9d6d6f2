"""Fits whose rows are on a device, against those of the processor."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning

import splinear
from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.losses import NegativeBinomial, Quantile, Tweedie
from splinear.terms import Fourier, Spline


def blobs(n=3000, classes=2, seed=0):
    return make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=classes, random_state=seed, flip_y=0.1
    )


def both(model, X, y, **fit):
    here = model.set_params(device="cpu").fit(X, y, **fit)
    there = splinear.__dict__[type(model).__name__](**model.get_params(deep=False))
    return here, there.set_params(device="cuda").fit(X, y, **fit)


def same(here, there, X, tol):
    assert there.certified_
    assert there.objective_ == pytest.approx(here.objective_, rel=2 * tol)
    np.testing.assert_allclose(
        there.feature_importances_, here.feature_importances_, rtol=0.1, atol=0.02
    )


@pytest.mark.parametrize("C", [0.1, None])
def test_two_classes(on_backend, C):
    X, y = blobs()
    model = AdditiveClassifier(C=C, tol=1e-3, random_state=0)
    here, there = both(model, X, y)
    same(here, there, X, 1e-3)
    p, q = here.predict_proba(X), there.predict_proba(X)
    assert np.abs(p - q).max() < 0.02


@pytest.mark.parametrize("C", [0.1, None])
def test_several_classes(on_backend, C):
    X, y = blobs(1500, classes=3)
    here, there = both(AdditiveClassifier(C=C, tol=1e-3, random_state=0), X, y)
    same(here, there, X, 1e-3)


@pytest.mark.parametrize(
    "loss",
    ["squared_error", "poisson", Tweedie(1.4), NegativeBinomial(), Quantile(0.8)],
    ids=str,
)
def test_numbers(on_backend, loss):
    X, y = make_regression(1500, 6, noise=20.0, random_state=0)
    y = y if loss == "squared_error" else np.random.default_rng(0).poisson(np.exp(y / 200))
    here, there = both(AdditiveRegressor(loss=loss, tol=1e-3, random_state=0), X, y)
    same(here, there, X, 1e-3)


def test_several_quantiles_are_refused(on_backend):
    X, y = make_regression(300, 3, noise=20.0, random_state=0)
    model = AdditiveRegressor(loss=Quantile([0.1, 0.9]), device="cuda")
    with pytest.raises(ValueError, match="not on a GPU"):
        model.fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_hinges(on_backend, loss, classes):
    X, y = blobs(1200, classes=classes)
    here, there = both(AdditiveSVC(loss=loss, C=0.1, tol=1e-3, random_state=0), X, y)
    same(here, there, X, 1e-3)
    assert there.n_iter_ < 60


def digits(n=4000, p=40, classes=3):
    """Return a wide table whose classes can be told apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    scores = np.sin(2 * X) @ rng.normal(size=(p, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("n", "tol"), [(300, 1e-2), (2000, 1e-2)])
def test_wide_tables_whose_classes_can_be_told_apart(on_backend, loss, n, tol):
    """Few rows support such a model: smoothing takes more steps, to the same certificate."""
    X, y = digits(n)
    here, there = both(AdditiveSVC(loss=loss, C=1.0, tol=tol, random_state=0), X, y)
    same(here, there, X, tol)


def test_rows_that_can_be_told_apart_under_a_large_cost(on_backend):
    """Where few rows matter, small tolerances are out of reach for smoothing, which warns."""
    X, y = blobs(100)
    model = AdditiveSVC(C=100.0, tol=1e-6, max_iter=20, random_state=0, device="cuda")
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert not model.certified_
    here = AdditiveSVC(C=100.0, tol=1e-4, random_state=0).fit(X, y)
    assert here.objective_ * (1 - 1e-4) <= model.objective_
    assert model.objective_ * (1 - model.dual_gap_) <= here.objective_


def test_wide_tables_within_a_time_limit(on_backend):
    X, y = digits(4000)
    model = AdditiveSVC(device="cuda", tol=1e-4, random_state=0, time_limit=1e-9, C=1.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert not model.certified_
    assert model.n_iter_ == 1
    assert np.isfinite(model.dual_gap_)


def test_hinges_of_numbers(on_backend):
    X, y = make_regression(800, 6, noise=20.0, random_state=0)
    here, there = both(AdditiveSVR(epsilon=1.0, C=0.1, tol=1e-4, random_state=0), X, y)
    same(here, there, X, 1e-4)


def test_weights_gaps_text_and_a_form(on_backend):
    X, y = blobs(2000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame.loc[rng.random(2000) < 0.2, "a"] = np.nan
    frame["b"] = np.where(X[:, 1] > 0, "high", "low")
    w = rng.integers(0, 3, 2000).astype(float)
    terms = {"c": Spline(monotone="increasing"), "d": Fourier()}
    model = AdditiveClassifier(terms=terms, C=0.3, tol=1e-2, random_state=0)
    here, there = both(model, frame, y, sample_weight=w)
    same(here, there, frame, 1e-2)


def test_a_small_tolerance_is_reached_on_values(on_backend):
    X, y = blobs(800)
    here, there = both(AdditiveClassifier(C=1.0, tol=1e-6, random_state=0), X, y)
    same(here, there, X, 1e-6)


def test_the_same_bits_twice(on_backend):
    X, y = blobs(800)
    fits = [AdditiveClassifier(device="cuda", random_state=0).fit(X, y) for _ in range(2)]
    scores = [model.decision_function(X) for model in fits]
    assert np.array_equal(*scores)


def test_a_fitted_model_needs_no_device(on_backend, monkeypatch, tmp_path):
    X, y = blobs(600)
    model = AdditiveClassifier(device="cuda", C=1.0, random_state=0).fit(X, y)
    scores = model.decision_function(X)

    def none(device):
        raise AssertionError(device)

    monkeypatch.setattr("splinear.estimators.gpu.cuda_backend", none)
    splinear.save(model, tmp_path / "model.splinear")
    loaded = splinear.load(tmp_path / "model.splinear")
    assert loaded.device == "cuda"
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.decision_function(X), scores)


def test_what_a_device_has_no_kernels_for(on_backend):
    X, y = blobs(300)
    with pytest.raises(ValueError, match="no max_memory"):
        AdditiveClassifier(device="cuda", max_memory="1GB").fit(X, y)
    model = AdditiveSVC(device="cuda", C=1.0).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="no Spline with monotone"):
        AdditiveSVC(Spline(monotone="increasing"), device="cuda", C=1.0).fit(X, y)
    rising = Spline(monotone="increasing")
    model = AdditiveSVC(rising, loss="squared_hinge", device="auto", random_state=0, C=1.0).fit(
        X, y
    )
    here = AdditiveSVC(rising, loss="squared_hinge", random_state=0, C=1.0).fit(X, y)
    assert model.objective_ == here.objective_


@pytest.mark.parametrize("n", [100, 3000])
def test_warm_starts_after_a_fit_on_the_processor(on_backend, n):
    """Dual variables, which the processor has left, are no help on a device."""
    X, y = blobs(n)
    model = AdditiveSVC(Spline(8), C=0.1, warm_start=True, random_state=0).fit(X, y)
    here = model.objective_
    model.set_params(device="cuda").fit(X, y)
    assert model.certified_
    assert model.objective_ == pytest.approx(here, rel=2e-2)
    n_iter = model.n_iter_
    assert model.fit(X, y).n_iter_ <= n_iter
