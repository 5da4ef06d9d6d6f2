"""Platt's calibration, against scikit-learn's."""

import os

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss, log_loss

from splinear import AdditiveClassifier
from splinear.calibration import fit_sigmoid, sigmoid
from splinear.datasets import load_adult, load_credit_default


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_sigmoid_is_scikit_learns(scale, weighted):
    from sklearn.calibration import _sigmoid_calibration

    random = np.random.default_rng(0)
    scores = random.normal(size=500)
    positive = random.random(500) < expit(2 * scores - 1)
    weights = random.random(500) if weighted else None
    a, b = fit_sigmoid(scale * scores, positive, weights)
    expected = _sigmoid_calibration(scores, positive, sample_weight=weights)
    np.testing.assert_allclose([a * scale, b], expected, rtol=1e-3)  # theirs stops early
    p = sigmoid(scores[:, None], np.array([[a * scale, b]]))[:, 0]
    np.testing.assert_allclose(p, 1 / (1 + np.exp(a * scale * scores + b)))


def test_sigmoid_is_the_optimum():
    # At the optimum mean probability and mean target agree, and so do their products with f.
    scores = np.linspace(-3, 2, 101)
    positive = scores + np.sin(50 * scores) > 0
    p = sigmoid(scores[:, None], fit_sigmoid(scores, positive)[None])[:, 0]
    n = positive.sum()
    target = np.where(positive, (n + 1) / (n + 2), 1 / (101 - n + 2))
    assert abs((p - target).sum()) < 1e-6
    assert abs(((p - target) * scores).sum()) < 1e-6


@pytest.mark.parametrize("scores", [np.linspace(-1, 1, 40), np.zeros(40), np.full(40, 7.0)])
def test_sigmoid_stays_finite(scores):
    positive = np.arange(40) >= 20
    parameters = fit_sigmoid(scores, positive)
    assert np.isfinite(parameters).all()
    p = sigmoid(scores[:, None], parameters[None])[:, 0]
    assert np.all((p > 0) & (p < 1))
    np.testing.assert_allclose(p.mean(), 0.5, atol=1e-6)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_probabilities_are_scikit_learns(load, loss):
    X, y = load(return_X_y=True)
    # Every fold must see the ends of every feature, as ours all do.
    X = np.clip(X, np.quantile(X, 0.1, axis=0), np.quantile(X, 0.9, axis=0))
    params = {"loss": loss, "multi_class": "ovr", "tol": 1e-7, "random_state": 0}
    ours = AdditiveClassifier(calibration="sigmoid", **params).fit(X, y)
    plain = AdditiveClassifier(**params)
    theirs = CalibratedClassifierCV(plain, method="sigmoid", cv=5, ensemble=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    plain.fit(X, y)
    np.testing.assert_array_equal(ours.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))


@pytest.mark.skipif("SPLINEAR_DATA" not in os.environ, reason="needs SPLINEAR_DATA")
@pytest.mark.data
@pytest.mark.parametrize("load", [load_adult, load_credit_default])
def test_calibration_improves_the_probabilities_of_hinge(load):
    bunch = load()
    order = np.random.default_rng(0).permutation(len(bunch.data))[:8000]
    X, y = bunch.data[order], bunch.target[order] == bunch.target.max()
    found = {}
    for calibration in (None, "sigmoid"):
        model = AdditiveClassifier(calibration=calibration, random_state=0).fit(X[:5000], y[:5000])
        p = model.predict_proba(X[5000:])[:, 1]
        found[calibration] = np.array([log_loss(y[5000:], p), brier_score_loss(y[5000:], p)])
    assert np.all(found["sigmoid"] < 0.98 * found[None]), found


def test_softmax_scores_can_be_calibrated():
    X, y = load_wine(return_X_y=True)
    model = AdditiveClassifier(loss="logistic", calibration="sigmoid", random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    each = sigmoid(model.decision_function(X), model.calibration_)
    np.testing.assert_allclose(p, each / each.sum(axis=1, keepdims=True))
    assert model.calibration_.shape == (3, 2)


def test_several_labels_a_row():
    X, Y = make_multilabel_classification(400, 5, n_classes=3, random_state=0)
    model = AdditiveClassifier(calibration="sigmoid", random_state=0).fit(X, Y)
    p = model.predict_proba(X)
    assert p.shape == Y.shape
    # Over the training rows the mean probability is near the share of each label.
    np.testing.assert_allclose(p.mean(axis=0), Y.mean(axis=0), atol=0.05)


def test_threads_change_nothing():
    X, y = load_wine(return_X_y=True)
    one, two = (
        AdditiveClassifier(calibration="sigmoid", random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.calibration_, two.calibration_)


def test_weights_of_rows_count():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdditiveClassifier(calibration="sigmoid", random_state=0)
    rare = np.where(y == 1, 0.1, 1.0)
    even = model.fit(X, y).predict_proba(X)[:, 1].mean()
    assert model.fit(X, y, sample_weight=rare).predict_proba(X)[:, 1].mean() < even


def test_errors():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="'calibration' parameter"):
        AdditiveClassifier(calibration="isotonic").fit(X, y)
    with pytest.raises(ValueError, match=r"partial_fit .* calibration='sigmoid'"):
        AdditiveClassifier(calibration="sigmoid").partial_fit(X, y, classes=[0, 1])
    rare = np.zeros(len(y))
    rare[7] = 1
    with pytest.raises(ValueError, match=r"at least 2 rows of every class; class .*1.* has 1"):
        AdditiveClassifier(calibration="sigmoid").fit(X, rare)


def test_stopped_before_calibration():
    X, y = load_breast_cancer(return_X_y=True)

    def stop_in_a_fold(progress):
        return progress.fold == 1

    model = AdditiveClassifier(calibration="sigmoid", callback=stop_in_a_fold, random_state=0)
    with pytest.warns(ConvergenceWarning, match="before the probabilities were calibrated"):
        model.fit(X, y)
    assert model.calibration_ is None
    np.testing.assert_array_equal(
        model.predict_proba(X), AdditiveClassifier(random_state=0).fit(X, y).predict_proba(X)
    )
