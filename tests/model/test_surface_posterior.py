"""The posterior of surfaces against dense matrices, built in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.special import expit, softmax

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.model import surface_posterior
from splinear.model.additive import Model
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.score_variance import ScoreVariances
from splinear.model.surface_posterior import SurfacePosterior
from splinear.terms import Pair, Spline

N = 400


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X, whose last column has gaps, and scores with a product in them."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (N, 4))
    X[:, 1] = 0.5 * X[:, 0] + 0.5 * X[:, 1]
    f = X[:, 0] + 2 * X[:, 0] * X[:, 2] + X[:, 1] * (X[:, 3] > 0)
    X[random.random(N) < 0.1, 3] = np.nan
    return X, f


def fitted(kind: str, C: float | None = None):
    """Fit a model of two surfaces, on values and not on codes."""
    random, (X, f) = np.random.default_rng(1), data()
    pairs = {(0, 2): Pair(n_bins=5), (1, 3): Pair(n_bins=4)}
    given = {"terms": pairs, "C": C, "tol": 1e-8, "random_state": 0}
    weights = random.integers(1, 3, N).astype(float)
    if kind == "gaussian":
        y = 100 + 50 * (f + 0.5 * random.normal(size=N))
        return AdditiveRegressor(Spline(8), **given).fit(X, y, weights), X, y, weights
    y = (f + random.logistic(size=N) > 0).astype(int)
    if kind == "softmax":
        y += f + random.logistic(size=N) > 0.5
    return AdditiveClassifier(Spline(8), **given).fit(X, y, weights), X, y, weights


def node_functions(pair, X: np.ndarray) -> np.ndarray:
    """Return the values of all products of hats in the rows, (n_rows, size)."""
    hats = []
    for chain in pair.group.chains[0]:
        at = chain.positions(X[:, chain.feature])[:, None].astype(float)
        hats.append(np.maximum(0.0, 1.0 - np.abs(at - np.arange(chain.n_nodes))))
    return np.einsum("ik,il->ikl", *hats).reshape(len(X), -1)


class Dense:
    """H, S and the centering P of one surface of one output."""

    def __init__(self, model, pair, X: np.ndarray, weights: np.ndarray, output: int) -> None:
        scores = model._scores(X)
        if isinstance(model, AdditiveRegressor):
            h = weights
        elif scores.shape[1] == 1:
            h = weights * expit(scores[:, 0]) * expit(-scores[:, 0])
        else:  # every class a count of its own
            h = weights * softmax(scores, axis=1)[:, output]
        self.B, group = node_functions(pair, X), pair.group
        self.h, self.H = h, self.B.T @ (h[:, None] * self.B)
        m1, m2 = group.n_nodes
        D = np.kron(np.diff(np.eye(m1), axis=0), np.diff(np.eye(m2), axis=0))
        w = group.precision.reshape(m1, m2)[1:, 1:].ravel()
        self.S = D.T @ (w[:, None] * D)
        # The weighted least squares fit by functions of one feature is taken off.
        of_first, of_second = np.repeat(np.eye(m1), m2, axis=0), np.tile(np.eye(m2), (m1, 1))
        self.K = K = np.hstack([of_first, of_second])
        mass = self.B.T @ weights
        self.P = np.eye(m1 * m2) - K @ np.linalg.pinv(K.T @ (mass[:, None] * K)) @ (K.T * mass)
        A = self.H + self.S
        self.V = np.linalg.inv(A + 1e-9 * np.diag(A).mean() * np.eye(len(A)))

    @property
    def left(self) -> np.ndarray:
        """J: the information that is left if functions of one feature follow freely."""
        HK = self.H @ self.K
        return self.H - HK @ np.linalg.pinv(self.K.T @ HK) @ HK.T

    def covariance(self, kappa: float) -> np.ndarray:
        middle = self.V @ (self.H + kappa * self.S) @ self.V
        return self.P @ middle @ self.P.T


CASES = [(kind, C) for kind in ("gaussian", "logistic", "softmax") for C in (None, 2.0)]


def each(kind: str, C: float | None):
    """Yield the posteriors of all surfaces, and the dense matrices of each."""
    model, X, _, weights = fitted(kind, C)
    [joint] = model._posteriors
    assert len(model.terms_.pairs) == 2
    for pair in model.terms_.pairs:
        for output in range(len(model.intercept_)):
            found = joint.surface(pair.features, output)
            yield X, pair, found, Dense(model, pair, X, weights, output)


@pytest.mark.parametrize(("kind", "C"), CASES)
def test_variances_are_those_of_the_dense_inverse(kind, C):
    for X, pair, found, dense in each(kind, C):
        for kappa in (1.0, 0.3):
            found.__dict__["kappa"] = kappa
            found.__dict__.pop("covariances", None)
            V = found.noise * dense.covariance(kappa)
            expected = np.einsum("ia,ab,ib->i", dense.B, V, dense.B)
            x, z = (X[:, chain.feature] for chain in pair.group.chains[0])
            assert_allclose(found.variances(x, z), expected, rtol=2e-4, atol=1e-6 * expected.max())
            assert expected.min() >= 0


@pytest.mark.parametrize(("kind", "C"), CASES)
def test_degrees_of_freedom_and_kappa(kind, C, monkeypatch):
    """By the eigenvalues mu of H against S, functions of one feature being left out."""
    monkeypatch.setattr(surface_posterior, "N_DRAWS", 20_000)
    for _, _, found, dense in each(kind, C):
        J = dense.left
        free = found.group.used[0]
        mu, A = eigh(J[np.ix_(free, free)], dense.S[np.ix_(free, free)])
        mu = np.maximum(mu, 0.0)
        s = 1.0 / (1.0 + mu)
        assert found.edf == pytest.approx((1.0 - s).sum(), rel=1e-4)
        W = found.group.from_tables(found.table[None])[0][free]
        b = s * (1.0 + s) * np.linalg.solve(A, W)
        noise = (mu * s * (1.0 + s) * s) ** 2
        kappa = float((mu * b**2 / found.noise - noise).sum() / (mu * s**2).sum())
        kappa = (3.0 + found.edf * np.clip(kappa, 0.0, 2.0)) / (3.0 + found.edf)
        assert found.kappa == pytest.approx(kappa, abs=0.02)


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_draws_have_the_covariance(kind):
    normal = np.random.default_rng(0)
    for _, _, found, dense in each(kind, None):
        draws = found.draws(normal.standard_normal((40_000, found.group.size)))
        expected = found.noise * dense.covariance(found.kappa)
        assert_allclose(draws.T @ draws / len(draws), expected, atol=0.03 * np.diag(expected).max())


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_the_score_is_that_of_a_flat_surface(kind):
    """Working residuals without the surface, less their regression on functions of one feature."""
    model, X, y, weights = fitted(kind)
    mean = model.predict(X) if kind == "gaussian" else model.predict_proba(X)[:, 1]
    for pair in model.terms_.pairs:
        dense = Dense(model, pair, X, weights, 0)
        found = model._posteriors[0].surface(pair.features, 0)
        z = weights * (y - mean) / dense.h + dense.B @ pair.table[0]
        root, BK = np.sqrt(dense.h), dense.B @ dense.K
        fit = np.linalg.lstsq(root[:, None] * BK, root * z, rcond=None)[0]
        U = dense.B.T @ (dense.h * (z - BK @ fit))
        m1, m2 = pair.group.n_nodes
        L = np.kron(np.tri(m1)[:, 1:], np.tri(m2)[:, 1:])
        expected = L.T @ U
        assert_allclose(found.score, expected, atol=1e-5 * np.abs(expected).max())
        values = np.linalg.eigvalsh(L.T @ dense.left @ L)
        assert_allclose(found.score_variances, np.maximum(values, 0), atol=1e-6 * values.max())


def test_neighboring_steps_are_joined():
    for m in (2, 8, 9, 10, 24):
        steps = surface_posterior._few_steps(m)
        assert steps.shape == (m, min(m - 1, 8))
        assert (np.diff(steps, axis=0) >= 0).all()
        assert_allclose(steps[0], 0.0)
        assert_allclose(steps[-1], 1.0)


@pytest.mark.parametrize("kind", ["gaussian", "logistic", "softmax"])
def test_variances_of_scores_add_those_of_surfaces(kind):
    model, X, _, _ = fitted(kind)
    [joint] = model._posteriors
    n = len(model.intercept_)
    weights = np.tile(np.eye(n)[0] - (1 / n if n > 1 else 0.0), (N, 1))
    of = ScoreVariances(joint)
    found, expected = of.of(model._read_table(X), weights), np.zeros(N)
    for pair in model.terms_.pairs:
        for k in range(n):
            own = joint.surface(pair.features, k)
            x, z = (X[:, chain.feature] for chain in pair.group.chains[0])
            expected += weights[0, k] ** 2 * own.variances(x, z)
    of.surfaces = []
    assert_allclose(found, of.of(model._read_table(X), weights) + expected)
    assert (expected > 0).all()


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_errors_of_scores_are_near_those_of_the_joint_posterior(kind, monkeypatch):
    """Of all curves and surfaces at once, by the inverse of their whole Hessian."""
    model, X, _, weights = fitted(kind)
    layout, table = model._model.layout, model._read_table(X)
    n, used = layout.n_parameters, np.append(layout.used, True)
    B = np.column_stack([Model(layout, np.eye(n), np.zeros(n)).scores(table), np.ones(N)])[:, used]
    S = np.zeros((n + 1, n + 1))
    S[:-1, :-1] = layout.stiffen(np.eye(n))
    h = Dense(model, model.terms_.pairs[0], X, weights, 0).h
    V = np.linalg.inv(B.T @ (h[:, None] * B) + S[np.ix_(used, used)])
    [joint] = model._posteriors
    expected = np.sqrt(joint.noise * np.einsum("ia,ab,ib->i", B, V, B))
    monkeypatch.setattr(CurvePosterior, "kappa", 1.0)
    monkeypatch.setattr(SurfacePosterior, "kappa", 1.0)
    of = ScoreVariances(joint)
    found = np.sqrt(of.of(table, np.ones((N, 1)))) / expected
    of.surfaces = []
    without = np.sqrt(of.of(table, np.ones((N, 1)))) / expected
    assert 0.85 < found.min() <= found.max() < 1.25
    assert np.median(found) == pytest.approx(1.0, abs=0.03)
    assert np.median(without) < 0.8
