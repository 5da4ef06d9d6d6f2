"""The same optimum as LIBLINEAR finds on the explicit embedding, for every model, on real data."""

import os
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from splinear import AdditiveClassifier
from splinear.datasets import load_adult, load_daimler
from splinear.features import GradientPyramid
from splinear.losses import LOSSES
from splinear.objective import primal

MODELS = [
    {"basis": "bspline", "degree": degree, "penalty_order": order, "n_bins": n_bins}
    for degree in range(4)
    for order, n_bins in [(0, 10), (1, 10), (2, 6), (3, 4)]
] + [
    {"basis": basis, "degree": degree, "penalty_order": order}
    for basis in ("fourier", "hermite")
    for degree in (1, 2, 4)
    for order in (1, 2)
]
DATA = [
    "breast_cancer",
    pytest.param("daimler", marks=pytest.mark.data),
    pytest.param("adult", marks=pytest.mark.data),
]


def _name(model):
    order = model["penalty_order"]
    return f"{model['basis']}{model['degree']}-D{order}"


@pytest.fixture(scope="module", params=DATA)
def real_data(request):
    """A few hundred rows: tight optima of stiff problems (D_3) take LIBLINEAR long on more."""
    if request.param == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X[:300], np.where(y[:300] > 0, 1, -1)
    if "SPLINEAR_DATA" not in os.environ:
        pytest.skip("SPLINEAR_DATA is not set")
    if request.param == "adult":
        adult = load_adult()
        rows = np.random.default_rng(0).choice(len(adult.data), 150, replace=False)
        return adult.data[rows], np.where(adult.target[rows] > 0, 1, -1)
    daimler = load_daimler()
    rows = np.random.default_rng(0).choice(np.flatnonzero(daimler.subset == "1"), 300, False)
    pyramid = GradientPyramid.daimler().fit_transform(daimler.images[rows])
    return pyramid[:, ::8], np.where(daimler.target[rows] > 0, 1, -1)


def _liblinear(phi, y, loss, C, bias=1.0, tol=1e-8):
    with warnings.catch_warnings():
        # LIBLINEAR rarely meets so tight a tolerance; where it stops early its objective is
        # higher, which the comparison below allows for.
        warnings.simplefilter("ignore")
        model = LinearSVC(
            loss=loss, C=C, tol=tol, max_iter=100_000, intercept_scaling=bias, random_state=0
        ).fit(phi, y)
    w, b = model.coef_[0], model.intercept_[0]
    objective = 0.5 * w @ w + 0.5 * (b / bias) ** 2
    objective += C * np.sum(LOSSES[loss].value(y * (phi @ w + b)))
    return objective, phi @ w + b


@pytest.mark.parametrize("model", MODELS, ids=_name)
def test_same_optimum_as_liblinear(model, real_data):
    X, y = real_data
    # The gap bounds the squared distance of the weights, and embeddings grow with the order.
    tol = 1e-7 if model["penalty_order"] < 2 else 1e-9
    ours = AdditiveClassifier(**model, C=0.1, tol=tol, max_iter=50_000, random_state=0).fit(X, y)
    phi = ours.embedding_.transform(X)
    theirs, scores = _liblinear(phi, y, "hinge", 0.1)
    mine = primal(ours.embedding_, LOSSES["hinge"], ours.coef_[0], ours.intercept_[0], X, y, 0.1)
    assert mine <= theirs * (1 + 1e-4)
    assert ours.objective_ == pytest.approx(mine, rel=1e-9)
    assert theirs >= ours.objective_ * (1 - ours.dual_gap_) * (1 - 1e-9)  # the dual bounds it
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=1e-2)


@pytest.mark.parametrize("order", [0, 1])
def test_squared_hinge_has_the_same_optimum(order, real_data):
    X, y = real_data
    ours = AdditiveClassifier(
        loss="squared_hinge", penalty_order=order, tol=1e-7, max_iter=20_000, random_state=0
    ).fit(X, y)
    phi = ours.embedding_.transform(X)
    theirs, scores = _liblinear(phi, y, "squared_hinge", 1.0)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=1e-2)


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("bias", [1.0, 3.0])
def test_logistic_has_the_same_optimum(solver, order, bias, real_data):
    X, y = real_data
    ours = AdditiveClassifier(
        loss="logistic",
        solver=solver,
        penalty_order=order,
        intercept_scaling=bias,
        tol=1e-7,
        max_iter=20_000,
        random_state=0,
    ).fit(X, y)
    phi = ours.embedding_.transform(X)
    # LIBLINEAR's logistic regression penalises the intercept, as we do.
    other = LogisticRegression(
        C=1.0, solver="liblinear", intercept_scaling=bias, tol=1e-8, max_iter=10_000
    ).fit(phi, y)
    w, b = other.coef_[0], other.intercept_[0]
    theirs = 0.5 * w @ w + 0.5 * (b / bias) ** 2
    theirs += np.sum(LOSSES["logistic"].value(y * (phi @ w + b)))
    assert ours.objective_ == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(phi), atol=1e-3)


def test_squared_hinge_by_newton_has_the_same_optimum(real_data):
    X, y = real_data
    ours = AdditiveClassifier(loss="squared_hinge", solver="newton", tol=1e-9).fit(X, y)
    phi = ours.embedding_.transform(X)
    theirs, scores = _liblinear(phi, y, "squared_hinge", 1.0)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=1e-2)


@pytest.mark.parametrize("bias", [0.5, 3.0])
def test_intercept_scaling_is_liblinears(bias):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y > 0, 1, -1)
    ours = AdditiveClassifier(intercept_scaling=bias, tol=1e-7, random_state=0).fit(X, y)
    theirs, scores = _liblinear(ours.embedding_.transform(X), y, "hinge", 1.0, bias)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=1e-2)
