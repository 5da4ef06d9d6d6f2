"""The posterior of curves against a dense inverse of the penalized Hessian, built in NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.model.covariance import JointPosterior
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.layout import Layout
from splinear.model.score_variance import ScoreVariances
from splinear.solvers.reml import information
from splinear.terms import Category, Fourier, Linear, Spline

N = 300


def plain(seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).random((N, 3))
    X[:, 2] = 0.7 * X[:, 0] + 0.3 * X[:, 2]  # two curves that can stand in for each other
    return X


def mixed(seed: int) -> np.ndarray:
    """Numbers with gaps, a category with gaps, a wave, a slope, a constant."""
    random = np.random.default_rng(seed)
    X = np.column_stack([plain(seed), random.integers(0, 4, N), random.random((N, 2)), np.ones(N)])
    X[random.random(N) < 0.1, 0] = np.nan
    X[random.random(N) < 0.1, 3] = np.nan
    return X


TABLES = {"plain": plain, "mixed": mixed}
TERMS = {"plain": {}, "mixed": {3: Category(), 4: Fourier(3), 5: Linear()}}


def fitted(kind: str, table: str, C: float | None, n_bins: int = 8):
    """Fit a model whose curves are not thinned, on values and not on codes."""
    random = np.random.default_rng(1)
    X = TABLES[table](0)
    f = np.sin(6 * np.nan_to_num(X[:, 0])) + X[:, 1] + (X[:, 3] == 1 if table == "mixed" else 0)
    given = {"terms": TERMS[table], "C": C, "tol": 1e-8, "random_state": 0}
    weights = random.integers(1, 3, N).astype(float)
    if kind == "gaussian":
        model = AdditiveRegressor(Spline(n_bins), **given)
        return model.fit(X, 100 + 50 * (f + 0.3 * random.normal(size=N)), weights), X, weights
    y = f + random.logistic(size=N) > 1.0
    if kind == "softmax":
        y = y.astype(int) + (f + random.logistic(size=N) > 0.5)
    return AdditiveClassifier(Spline(n_bins), **given).fit(X, y, weights), X, weights


def design(layout: Layout, X: np.ndarray) -> np.ndarray:
    """Write out the scores as a linear function of the parameters, (n_rows, n_parameters)."""
    out = np.zeros((len(X), layout.n_parameters))
    for group, start in zip(layout.groups, layout.ends[:-1], strict=True):
        for k, j in enumerate(group.features):
            gap = np.isnan(X[:, j])
            x = np.where(gap, group.embedding.axes.lo[k], X[:, j])
            B = group.embedding.basis.evaluate(group.embedding.axes.argument_of(x, k))
            at = start + k * group.stride
            out[:, at : at + group.size] = np.where(gap[:, None], group.mean[k], B)
            if group.has_gaps:
                out[:, at + group.size] = gap
    return out


def dense_covariance(model, X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (H + S)^{-1} of all outputs, with 0 for what is not free; and the design.

    Outputs are one after the other, each its parameters and its intercept.
    """
    layout, n_outputs = model._model.layout, model._model.n_outputs
    B = np.column_stack([design(layout, X), np.ones(len(X))])
    scores = B @ np.vstack([model._model.parameters.T, model.intercept_])
    if isinstance(model, AdditiveRegressor):
        h = weights[:, None, None]
    elif n_outputs == 1:
        p = expit(scores[:, 0])
        h = (weights * p * (1 - p))[:, None, None]
    else:
        p = softmax(scores, axis=1)
        h = weights[:, None, None] * (
            p[:, :, None] * np.eye(n_outputs) - p[:, :, None] * p[:, None]
        )
    size = B.shape[1]
    H = np.einsum("ia,ikm,ib->kamb", B, h, B).reshape(n_outputs * size, n_outputs * size)
    S = np.zeros((size, size))
    S[:-1, :-1] = layout.stiffen(np.eye(size - 1))
    A = H + np.kron(np.eye(n_outputs), S)
    free = np.tile(np.append(layout.used, True), n_outputs)
    V = np.zeros_like(A)
    # What all classes have in common says nothing, and the intercepts of that are not penalized.
    V[np.ix_(free, free)] = np.linalg.pinv(A[np.ix_(free, free)], rcond=1e-13, hermitian=True)
    if n_outputs > 1:
        apart = np.kron(np.eye(n_outputs) - 1 / n_outputs, np.eye(size))
        V = apart @ V @ apart
    return V, B


CASES = [
    (kind, table, C)
    for kind in ("gaussian", "logistic", "softmax")
    for table in TABLES
    for C in (None, 2.0)
]


@pytest.mark.parametrize(("kind", "table", "C"), CASES)
def test_the_covariance_is_the_inverse_of_the_penalized_hessian(kind, table, C):
    model, X, weights = fitted(kind, table, C)
    V, _ = dense_covariance(model, X, weights)
    [posterior] = model._posteriors
    assert posterior.is_joint
    layout = model._model.layout
    size = layout.n_parameters + 1
    for output in range(model._model.n_outputs):
        for group, start in zip(layout.groups, layout.ends[:-1], strict=True):
            for k, j in enumerate(group.features):
                at = slice(*(output * size + start + group.stride * np.array([k, k + 1])))
                curve = posterior.curve(int(j), output)
                if curve is None:
                    assert not group.used[k].any()
                    continue
                found = (curve.directions.T / (1.0 + curve.mu)) @ curve.directions
                # Intercepts are held by a part in 10^7, and a common one by the pseudo-inverse.
                assert_allclose(found, V[at, at], rtol=1e-4, atol=1e-4 * V[at, at].max())
                estimate = curve.directions.T @ curve.z
                expected = np.where(
                    group.used[k],
                    model._model.parameters[output, start:][
                        k * group.stride : (k + 1) * group.stride
                    ],
                    0.0,
                )
                assert_allclose(estimate, expected, atol=1e-7 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize(("kind", "table", "C"), CASES)
def test_variances_of_scores(kind, table, C, monkeypatch):
    model, X, weights = fitted(kind, table, C)
    V, B = dense_covariance(model, X, weights)
    [posterior] = model._posteriors
    monkeypatch.setattr(CurvePosterior, "kappa", 1.0)
    n_outputs = model._model.n_outputs
    of = ScoreVariances(posterior)
    for output in range(n_outputs):
        weight = np.eye(n_outputs)[output] - (1 / n_outputs if n_outputs > 1 else 0.0)
        found = of.of(model._read_table(X), np.tile(weight, (N, 1)))
        size = B.shape[1]
        own = V[output * size : (output + 1) * size, output * size : (output + 1) * size]
        expected = posterior.noise * np.einsum("ia,ab,ib->i", B, own, B)
        assert_allclose(found, expected, rtol=2e-5)


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_less_bias_is_less_variance(kind, monkeypatch):
    """With kappa = 0 there is the variance of the estimate left: V H V."""
    model, X, weights = fitted(kind, "plain", None)
    V, B = dense_covariance(model, X, weights)
    layout = model._model.layout
    S = np.zeros_like(V)
    S[:-1, :-1] = layout.stiffen(np.eye(len(V) - 1))
    [posterior] = model._posteriors
    monkeypatch.setattr(CurvePosterior, "kappa", 0.0)
    found = ScoreVariances(posterior).of(model._read_table(X), np.ones((N, 1)))
    expected = posterior.noise * np.einsum("ia,ab,ib->i", B, V - V @ S @ V, B)
    assert_allclose(found, expected, rtol=1e-4)
    curve = posterior.curve(0, 0)
    assert (curve.variances < posterior.noise / (1.0 + curve.mu)).all()


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_noise_and_degrees_of_freedom(kind):
    model, X, weights = fitted(kind, "plain", 2.0)
    V, _ = dense_covariance(model, X, weights)
    [posterior] = model._posteriors
    S = np.zeros_like(V)
    S[:-1, :-1] = model._model.layout.stiffen(np.eye(len(V) - 1))
    n_free = int(model._model.layout.used.sum()) + 1
    assert posterior.freedom == pytest.approx(n_free - np.trace(V @ S), rel=1e-6)
    if kind == "logistic":  # the expected squares of slopes over curvatures
        p = model.predict_proba(X)[:, 1]
        h = weights * p * (1.0 - p)
        assert posterior.noise == pytest.approx((weights @ h) / h.sum(), rel=1e-5)
        return
    y = 100 + 50 * (np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * _residuals(np.random.default_rng(1)))
    r, n_left = y - model.predict(X), len(y) - posterior.freedom
    expected = np.sum((weights * r) ** 2) / weights.sum() * len(y) / n_left
    assert posterior.noise == pytest.approx(expected, rel=1e-6)
    of_rows = weights @ r**2 / weights.sum() * len(y) / n_left
    assert posterior.residual_variance == pytest.approx(of_rows, rel=1e-6)


def _residuals(random: np.random.Generator) -> np.ndarray:
    random.integers(1, 3, N)  # the weights come first
    return random.normal(size=N)


def standard_errors(posterior: JointPosterior, model, X, j: int) -> np.ndarray:
    """Those of a centered curve, the prior's bias included."""
    curve, term = posterior.curve(j, 0), model.terms_.of_feature(j)
    directions = term.with_parameters(curve.directions)
    values = directions.evaluate(X[:, j]) - directions.mean
    return np.sqrt(values**2 @ (posterior.noise / (1.0 + curve.mu)))


def test_terms_without_a_covariance_have_degrees_of_freedom():
    """Too large for bands; but the noise is what is left beside them, too."""
    random = np.random.default_rng(0)
    shop, n = random.integers(0, 2500, 10_000), 10_000
    X = np.column_stack([shop, random.random(n)])
    y = random.normal(size=2500)[shop] + X[:, 1] + random.normal(size=n)
    fine = Spline(2_100, knots="uniform")
    for terms in ({0: Category()}, {0: Category(), 1: fine}):
        model = AdditiveRegressor(terms=terms, random_state=0).fit(X, y)
        (joint,) = model._posteriors
        assert joint.freedom == pytest.approx(1.0 + sum(t.edf for t in model.terms_), rel=0.01)
        assert joint.residual_variance == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_thinned_curves_hang_together_nearly_as_whole_ones(kind):
    model, X, weights = fitted(kind, "plain", None, n_bins=60)
    [posterior] = model._posteriors
    assert max(posterior.information.factors) == 4
    V, B = dense_covariance(model, X, weights)
    layout = model._model.layout
    [group] = layout.groups
    for k, j in enumerate(group.features):
        own = np.zeros_like(B)
        at = slice(k * group.stride, (k + 1) * group.stride)
        own[:, at] = B[:, at] - np.average(B[:, at], axis=0, weights=weights)
        expected = np.sqrt(posterior.noise * np.einsum("ia,ab,ib->i", own, V, own))
        found = standard_errors(posterior, model, X, int(j))
        assert_allclose(found, expected, rtol=0.08)  # what straight lines cannot follow


def test_some_rows_say_how_terms_hang_together(monkeypatch):
    """Blocks are from all rows; with fewer rows for the others, errors stay about the same."""
    whole, X, _ = fitted("logistic", "plain", None)
    monkeypatch.setattr(information, "LEAST_ROWS", 200)
    monkeypatch.setattr(information, "MOST_ROWS", 200)
    some, _, _ = fitted("logistic", "plain", None)
    assert some._posteriors[0].information.is_sampled
    assert not whole._posteriors[0].information.is_sampled
    for j in range(3):
        expected = standard_errors(whole._posteriors[0], whole, X, j)
        found = standard_errors(some._posteriors[0], some, X, j)
        assert_allclose(found, expected, rtol=0.15)
        assert (found > 0).all()


def test_too_many_terms_are_taken_one_by_one(monkeypatch):
    monkeypatch.setattr(information, "MOST_COUPLED", 10)
    model, X, weights = fitted("logistic", "plain", None)
    [posterior] = model._posteriors
    assert not posterior.is_joint
    layout, B = model._model.layout, design(model._model.layout, X)
    p = model.predict_proba(X)[:, 1]
    h = weights * p * (1 - p)
    S = layout.stiffen(np.eye(layout.n_parameters))
    [group] = layout.groups
    free = group.used[0]
    own = np.column_stack([B[:, : group.stride][:, free], np.ones(N)])
    A = own.T @ (h[:, None] * own)
    A[:-1, :-1] += S[: group.stride, : group.stride][np.ix_(free, free)]
    curve = posterior.curve(int(group.features[0]), 0)
    found = ((curve.directions.T / (1.0 + curve.mu)) @ curve.directions)[np.ix_(free, free)]
    assert_allclose(found, np.linalg.inv(A)[:-1, :-1], rtol=1e-5, atol=1e-9)
    assert (ScoreVariances(posterior).of(model._read_table(X), np.ones((N, 1))) > 0).all()


def test_what_is_computed_is_not_pickled():
    model, X, _ = fitted("gaussian", "plain", None)
    before = pickle.dumps(model)
    first = model.predict_interval(X)
    assert len(pickle.dumps(model)) < 1.1 * len(before)
    assert_array_equal(pickle.loads(before).predict_interval(X), first)
