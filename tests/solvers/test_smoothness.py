"""Smoothness by REML: against the marginal likelihood itself, and what users see of it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import shape_function

SETTINGS = {"n_bins": 20, "smoothness": "reml", "random_state": 0}


def rough_and_smooth(n=1500, seed=0):
    """One feature that wiggles, one that bends, one that does nothing, and a 0/1 one."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 4))
    X[:, 3] = X[:, 3] > 0
    signal = 1.5 * np.sin(9 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 3]
    return X, signal, random


def marginal_optimum(phi, y, bias):
    """The s^2 that makes y most likely under y ~ N(0, v (I + s^2 phi phi' + bias^2 11'))."""
    n = len(y)
    K = phi @ phi.T

    def deviance(log_s2):
        cov = np.eye(n) + np.exp(log_s2) * K + bias**2
        _, logdet = np.linalg.slogdet(cov)
        return n * np.log(y @ np.linalg.solve(cov, y)) + logdet  # v at its best

    return np.exp(minimize(lambda p: deviance(p[0]), [0.0], method="Nelder-Mead").x[0])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("frequency", [1.0, 4.0])
def test_one_curve_maximises_the_marginal_likelihood(order, frequency):
    random = np.random.default_rng(1)
    X = random.uniform(size=(300, 1))
    y = np.sin(frequency * 2 * np.pi * X[:, 0]) + 0.5 * random.normal(size=300)
    model = AdditiveRegressor(**SETTINGS, penalty_order=order, tol=1e-6).fit(X, y)
    plain = AdditiveRegressor(n_bins=20, penalty_order=order).fit(X, y)
    phi = plain.embedding_.transform(X) / np.sqrt(plain.embedding_.scale[0])
    best = marginal_optimum(phi, y - y.mean(), 1.0)
    # A factor of 1.5 in s^2 hardly moves a curve.
    assert abs(np.log(model.embedding_.scale[0] / best)) < np.log(1.5)


def test_freedom_goes_where_it_is_needed():
    X, signal, random = rough_and_smooth()
    y = random.random(len(X)) < expit(signal)
    model = AdditiveClassifier(loss="logistic", **SETTINGS).fit(X, y)
    wiggles, bends, nothing, binary = model.degrees_of_freedom_
    assert wiggles > 2 * bends > 0
    assert nothing < 0.5
    assert binary < 2.1
    _, flat = shape_function(model, 2)
    _, lively = shape_function(model, 0)
    assert np.ptp(flat) < 0.1 * np.ptp(lively)


def test_beats_one_strength_for_all():
    X, signal, random = rough_and_smooth(1000)
    noise = random.uniform(-1, 1, size=(len(X), 20))
    X = np.column_stack([X, noise])
    y = signal + random.normal(size=len(X))
    fresh, truth, more = rough_and_smooth(3000, seed=9)
    fresh = np.column_stack([fresh, more.uniform(-1, 1, size=(len(fresh), 20))])

    def error(model):
        return np.mean((model.fit(X, y).predict(fresh) - truth) ** 2)

    tuned = error(AdditiveRegressor(**SETTINGS))
    single = [error(AdditiveRegressor(n_bins=20, C=C)) for C in 10.0 ** np.arange(-3, 3)]
    assert tuned < 0.8 * min(single)


def test_strength_plays_no_part():
    X, signal, random = rough_and_smooth(800)
    y = random.random(len(X)) < expit(signal)
    scores = [
        AdditiveClassifier(loss="logistic", C=C, tol=1e-6, **SETTINGS)
        .fit(X, y)
        .decision_function(X)
        for C in (0.1, 10.0)
    ]
    # But for the intercept, whose penalty C still weighs.
    np.testing.assert_allclose(scores[0], scores[1], atol=0.02 * np.abs(scores[0]).max())


def test_weights_are_repeats():
    X, signal, random = rough_and_smooth(600)
    y = random.random(len(X)) < expit(signal)
    weights = random.integers(1, 4, len(X))
    weighted = AdditiveClassifier(loss="logistic", **SETTINGS).fit(X, y, weights)
    repeated = AdditiveClassifier(loss="logistic", **SETTINGS).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(
        weighted.degrees_of_freedom_, repeated.degrees_of_freedom_, rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_several_classes_share_their_smoothness(multi_class):
    X, signal, random = rough_and_smooth(1500)
    y = np.digitize(signal + 0.5 * random.normal(size=len(X)), [-0.7, 0.7])
    model = AdditiveClassifier(loss="logistic", multi_class=multi_class, **SETTINGS).fit(X, y)
    assert model.degrees_of_freedom_.shape == (4,)
    assert model.degrees_of_freedom_[0] > 5 * model.degrees_of_freedom_[2]
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("basis", ["fourier", "hermite"])
def test_other_bases(basis):
    X, signal, random = rough_and_smooth()
    y = signal + random.normal(size=len(X))
    model = AdditiveRegressor(basis=basis, degree=5, **(SETTINGS | {"n_bins": 10})).fit(X, y)
    assert model.degrees_of_freedom_[0] > 3
    assert model.degrees_of_freedom_[2] < 1
    assert model.score(X, y) > 0.2


def test_a_constant_column_has_no_freedom():
    X, signal, random = rough_and_smooth(400)
    X[:, 2] = 7.0
    model = AdditiveRegressor(**SETTINGS).fit(X, signal + random.normal(size=400))
    assert model.degrees_of_freedom_[2] == 0
    assert not model.coef_[0, 2].any()


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [(AdditiveClassifier, "hinge"), (AdditiveRegressor, "epsilon_insensitive")],
)
def test_needs_a_likelihood(estimator, loss):
    X, signal, _ = rough_and_smooth(50)
    with pytest.raises(ValueError, match=f"smoothness='reml' needs .* got loss='{loss}'"):
        estimator(loss=loss, smoothness="reml").fit(X, (signal > 0).astype(int))
