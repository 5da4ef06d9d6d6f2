"""Offsets: a known part of the scores, in fit and in predictions."""

from __future__ import annotations

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracle import solve
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from written_out import explicit

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
    report,
)
from splinear.inspection import base_value, contributions, explain, standard_error
from splinear.losses import EpsilonInsensitive, Hinge, Loss
from splinear.objective.problem import Problem, Stopping
from splinear.terms import Category, Linear, Spline

SMALL = {"curve": Spline(8), "tol": 1e-8, "random_state": 0}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def target_of(kind: str, score: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return targets (n,) or (n, n_labels) for scores (n, n_outputs)."""
    n, one = len(score), score[:, 0]
    if kind in ("squared_error", "epsilon_insensitive", "own"):
        return one + 0.5 * random.normal(size=n)
    if kind == "poisson":
        return random.poisson(np.exp(one)).astype(float)
    if kind == "gamma":
        return np.exp(one) * random.gamma(3.0, 1.0 / 3.0, n)
    if kind in ("logistic", "hinge", "squared_hinge"):
        return (random.random(n) < expit(one)).astype(int)
    if kind in ("softmax", "one_vs_rest"):
        return (score + random.gumbel(size=score.shape)).argmax(axis=1)
    assert kind == "labels"
    return (random.random(score.shape) < expit(score)).astype(int)


class OwnLoss(Loss):
    """log cosh(f - y): a loss of a user, with nothing but its derivatives."""

    convex = True

    def value(self, y, f):
        return np.logaddexp(f - y, y - f) - np.log(2.0)

    def slope(self, y, f):
        return np.tanh(f - y)

    def curvature(self, y, f):
        return 1.0 / np.cosh(np.clip(f - y, -300, 300)) ** 2


def model_of(kind: str, **params):
    given = SMALL | params
    if kind in ("squared_error", "poisson", "gamma"):
        return AdditiveRegressor(loss=kind, **given)
    if kind in ("hinge", "squared_hinge"):
        return AdditiveSVC(loss=kind, **given)
    if kind == "one_vs_rest":
        return AdditiveSVC(**given)
    if kind == "epsilon_insensitive":
        return AdditiveSVR(**given)
    return AdditiveClassifier(**given)


N_OUTPUTS = {"softmax": 3, "labels": 2, "one_vs_rest": 3}
SMOOTH = ["squared_error", "poisson", "gamma", "logistic", "softmax", "labels"]
MARGINS = ["hinge", "squared_hinge", "epsilon_insensitive", "one_vs_rest"]


def drawn(kind: str, n: int = 250, seed: int = 0):
    """Return X, y and offsets that matter: (n,), or (n, n_outputs) for several outputs."""
    random = np.random.default_rng(seed)
    X, n_outputs = random.normal(size=(n, 2)), N_OUTPUTS.get(kind, 1)
    curves = [np.sin(2 * X[:, 0]), 0.5 * X[:, 1], -0.5 * X[:, 0]][:n_outputs]
    offset = random.normal(size=(n, n_outputs))
    y = target_of(kind, np.column_stack(curves) + offset, random)
    return X, y, offset[:, 0] if n_outputs == 1 else offset


def scores(model, X, offset=None) -> np.ndarray:
    return model._scores(X, offset)


# -- the function that is minimized, written out ---------------------------------------------------


def losses_and_slopes(kind: str, y: np.ndarray, f: np.ndarray):
    """Return the sum of the losses of scores f (n, n_outputs), and its derivatives."""
    one = f[:, 0]
    if kind == "squared_error":
        return 0.5 * np.sum((one - y) ** 2), (one - y)[:, None]
    if kind == "poisson":
        logs = np.where(y > 0, y * np.log(np.maximum(y, 1.0)), 0.0)
        return np.sum(logs - y * one - y + np.exp(one)), (np.exp(one) - y)[:, None]
    if kind == "gamma":
        ratio = y * np.exp(-one)
        return np.sum(ratio - 1.0 - np.log(ratio)), (1.0 - ratio)[:, None]
    if kind == "squared_hinge":
        s = 2 * y - 1
        short = np.maximum(0.0, 1.0 - s * one)
        return np.sum(short**2), (-2.0 * s * short)[:, None]
    indicator = np.eye(f.shape[1])[y] if kind == "softmax" else y.reshape(len(y), -1)
    if kind == "softmax":
        return np.sum(logsumexp(f, axis=1) - (indicator * f).sum(axis=1)), softmax(
            f, axis=1
        ) - indicator
    assert kind in ("logistic", "labels")
    return np.sum(np.logaddexp(0.0, f) - indicator * f), expit(f) - indicator


def least(kind: str, model, X, y, offset, C: float) -> float:
    """Return the minimum, found by L-BFGS on the explicit embedding."""
    layout, o = model._model.layout, offset.reshape(len(X), -1)
    bias = kind == "squared_hinge"
    phi = np.column_stack([explicit(layout, X), np.ones(len(X))])
    penalized = np.ones(phi.shape[1])
    penalized[-1] = bias
    # The layout of AdditiveClassifier and AdditiveRegressor has the variances for this C.
    factor = C if bias else 1.0

    def objective(w):
        W = w.reshape(o.shape[1], -1)
        value, slopes = losses_and_slopes(kind, y, phi @ W.T + o)
        gradient = factor * slopes.T @ phi + penalized * W
        return factor * value + 0.5 * np.sum(penalized * W**2), gradient.ravel()

    start = np.zeros(o.shape[1] * phi.shape[1])
    how = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    return float(minimize(objective, start, jac=True, method="L-BFGS-B", options=how).fun)


@pytest.mark.parametrize("C", [0.05, 3.0])
@pytest.mark.parametrize("kind", [*SMOOTH, "squared_hinge"])
def test_the_minimum_is_that_of_the_written_out_objective(kind, C):
    X, y, offset = drawn(kind)
    model = model_of(kind, C=C, tol=1e-7).fit(X, y, offset=offset)
    assert model.certified_
    lowest = least(kind, model, X, y, offset, C)
    assert model.objective_ == pytest.approx(lowest, rel=3e-6)
    without = least(kind, model, X, y, np.zeros_like(offset), C)
    assert abs(without / lowest - 1.0) > 0.01


@pytest.mark.parametrize("kind", ["squared_error", "poisson", "logistic", "softmax"])
def test_missing_values_beside_an_offset(kind):
    X, y, offset = drawn(kind)
    X[::7, 0] = np.nan
    X[3::5, 1] = np.nan
    model = model_of(kind, C=1.0, tol=1e-7).fit(X, y, offset=offset)
    assert model.certified_
    lowest = least(kind, model, X, y, offset, 1.0)
    assert model.objective_ == pytest.approx(lowest, rel=3e-6)


@pytest.mark.parametrize("size", [10.0, 150.0])
@pytest.mark.parametrize("kind", ["logistic", "softmax", "labels"])
def test_offsets_that_decide_nearly_all_rows_and_often_wrongly(kind, size):
    X, y, offset = drawn(kind)
    y, offset = np.random.default_rng(5).permutation(y), size * offset
    model = model_of(kind, C=1.0, tol=1e-5).fit(X, y, offset=offset)
    assert model.certified_
    lowest = least(kind, model, X, y, offset, 1.0)
    assert model.objective_ == pytest.approx(lowest, rel=2e-5)


@pytest.mark.parametrize("kind", ["hinge", "epsilon_insensitive", "one_vs_rest"])
def test_the_objective_of_margins_is_that_of_a_slow_oracle(kind):
    """And is recomputed from the terms, with margins y (f + offset), or f + offset - y."""
    C = 0.5
    X, y, offset = drawn(kind, 150)
    model = model_of(kind, C=C, tol=1e-6).fit(X, y, offset=offset)
    layout, stopping = model._model.layout, Stopping(tol=1e-6, max_iter=4000)
    primal = dual = recomputed = 0.0
    for k in range(len(model.intercept_)):
        own = offset if offset.ndim == 1 else offset[:, k]
        f = scores(model, X, offset)[:, k]
        if kind == "epsilon_insensitive":
            center = float(np.mean(y - own))
            loss, sign, target = EpsilonInsensitive(0.1), np.ones(len(y)), y - own - center
            losses = np.maximum(0.0, np.abs(f - y) - 0.1)
        else:
            center, loss = 0.0, Hinge()
            sign = np.where(y == (1 if kind == "hinge" else k), 1, -1)
            target, losses = -sign * own, np.maximum(0.0, 1.0 - sign * f)
        problem = Problem(sign.astype(np.int8), loss, C, C, targets=target.astype(float))
        found = solve(X, layout, problem, stopping)
        primal, dual = primal + found.primal, dual + found.dual
        penalty = layout.penalty_value(model._model.parameters[k])
        recomputed += penalty + 0.5 * (model.intercept_[k] - center) ** 2 + C * losses.sum()
    assert dual * (1 - 1e-9) <= model.objective_ <= primal * (1 + 2e-6)
    assert recomputed == pytest.approx(model.objective_, rel=1e-9)


def test_the_loss_of_a_user_takes_an_offset():
    X, y, offset = drawn("own", 300)
    given = {**SMALL, "C": 1.0}
    one = AdditiveRegressor(**given)
    one._recipe = partial(_recipe_of, one, OwnLoss())
    one.fit(X, y, offset=offset)
    other = AdditiveRegressor(**given)
    other._recipe = partial(_recipe_of, other, OwnLoss())
    other.fit(X, y - offset)
    np.testing.assert_allclose(scores(one, X), scores(other, X), **CLOSE)
    assert one.certified_


def _recipe_of(model, loss):
    from dataclasses import replace

    return replace(AdditiveRegressor._recipe(model), loss=loss)


# -- what an offset means --------------------------------------------------------------------------


@pytest.mark.parametrize("C", [None, 1.0])
def test_a_poisson_offset_is_an_exposure(C):
    """The likelihood of counts with offset log t is that of rates with weight t.

    Knots are uniform, because those at quantiles follow the weights.
    """
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    t = 50.0 * random.lognormal(size=400)
    counts = random.poisson(t * np.exp(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] - 2.0))
    model = partial(
        AdditiveRegressor,
        Spline(12, knots="uniform"),
        loss="poisson",
        C=C,
        tol=1e-8,
        random_state=0,
    )
    rates = model().fit(X, counts / t, sample_weight=t)
    offsets = model().fit(X, counts, offset=np.log(t))
    np.testing.assert_allclose(offsets.predict(X), rates.predict(X), rtol=1e-6)
    np.testing.assert_allclose(offsets.predict_interval(X), rates.predict_interval(X), rtol=1e-5)
    assert offsets.objective_ == pytest.approx(rates.objective_, rel=1e-6)
    for a, b in zip(offsets.terms_, rates.terms_, strict=True):
        np.testing.assert_allclose(a.coef, b.coef, atol=1e-6)
        if C is None:
            assert a.edf == pytest.approx(b.edf, abs=1e-4)
    np.testing.assert_allclose(
        offsets.predict(X, offset=np.log(t)), t * offsets.predict(X), rtol=1e-12
    )
    own = offsets.score(X, counts, offset=np.log(t))
    assert own > offsets.score(X, counts) + 0.2


@pytest.mark.parametrize("params", [{}, {"C": 2.0}, {"interactions": 1}, {"interactions": "auto"}])
def test_a_squared_error_with_an_offset_is_one_of_y_less_the_offset(params):
    X, y, offset = drawn("squared_error", 400)
    offset = 1e4 + 30.0 * offset
    one = model_of("squared_error", tol=1e-4, **params).fit(X, y + offset, offset=offset)
    other = model_of("squared_error", tol=1e-4, **params).fit(X, (y + offset) - offset)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_allclose(one.predict(X, offset=offset), other.predict(X) + offset, rtol=1e-12)
    for kind in ("mean", "observation"):
        found = one.predict_interval(X, kind=kind, offset=offset) - offset[:, None]
        np.testing.assert_allclose(found, other.predict_interval(X, kind=kind), atol=1e-8)
    assert one.objective_ == other.objective_


@pytest.mark.parametrize("C", [None, 0.5])
def test_support_vector_regression_with_an_offset_is_that_of_y_less_the_offset(C):
    X, y, offset = drawn("epsilon_insensitive", 300)
    one = AdditiveSVR(Spline(8), C=C, random_state=0).fit(X, y, offset=100 * offset)
    other = AdditiveSVR(Spline(8), C=C, random_state=0).fit(X, y - 100 * offset)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.C_ == other.C_


@pytest.mark.parametrize("size", [7.5, 600.0])
@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("kind", SMOOTH)
def test_a_constant_offset_moves_the_intercept_only(kind, C, size):
    X, y, offset = drawn(kind)
    shift = size + np.arange(float(np.prod(offset.shape[1:]))).reshape(offset.shape[1:])
    one = model_of(kind, C=C).fit(X, y, offset=np.zeros_like(offset))
    other = model_of(kind, C=C).fit(X, y, offset=np.zeros_like(offset) + shift)
    plain = model_of(kind, C=C).fit(X, y)
    moved = one.intercept_ - other.intercept_
    expected = np.broadcast_to(shift, moved.shape)
    if kind == "softmax":  # a constant of all classes means nothing
        moved, expected = moved - moved.mean(), expected - expected.mean()
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    for a, b, c in zip(one.terms_, other.terms_, plain.terms_, strict=True):
        np.testing.assert_allclose(b.coef, a.coef, atol=1e-5)
        np.testing.assert_allclose(a.coef, c.coef, atol=1e-8)
    np.testing.assert_allclose(
        scores(other, X, np.zeros_like(offset) + shift).argmax(axis=1),
        scores(one, X).argmax(axis=1),
    )


@pytest.mark.parametrize("kind", SMOOTH)
def test_nothing_is_left_to_learn_with_the_scores_of_a_first_model_as_offset(kind):
    """Smoothness is chosen, so that what the first fit leaves is noise."""
    X, y, offset = drawn(kind, 400)
    first = model_of(kind).fit(X, y, offset=offset)
    so_far = scores(first, X, offset)
    if kind == "logistic":
        np.testing.assert_array_equal(first.decision_function(X, offset=offset), so_far[:, 0])
    second = model_of(kind).fit(X, y, offset=so_far if offset.ndim == 2 else so_far[:, 0])
    assert np.ptp(scores(first, X)) > 1.0
    assert np.abs(scores(second, X)).max() < 0.02


def test_a_linear_model_of_statsmodels_with_an_offset():
    """GLM with an offset on the explicit embedding, penalized as the terms are for a given C."""
    sm = pytest.importorskip("statsmodels.api")
    X, y, offset = drawn("poisson", 300)
    model = model_of("poisson", C=1.0).fit(X, y, offset=offset)
    phi = np.column_stack([np.ones(len(X)), explicit(model._model.layout, X)])
    glm = sm.GLM(y, phi, family=sm.families.Poisson(), offset=offset)
    # fit_regularized minimizes -loglike / n + alpha |w|^2 / 2.
    alpha = np.r_[0.0, np.full(phi.shape[1] - 1, 1.0 / len(X))]
    ridge = glm.fit_regularized(alpha=alpha, L1_wt=0.0)
    mean = np.exp(phi @ ridge.params + offset)
    np.testing.assert_allclose(model.predict(X, offset=offset), mean, rtol=2e-3)


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*SMOOTH, *MARGINS])
def test_predictions_are_those_of_the_scores_with_the_offset(kind):
    X, y, offset = drawn(kind)
    model = model_of(kind, tol=1e-3, C=1.0).fit(X, y, offset=offset)
    f = scores(model, X) + offset.reshape(len(X), -1)
    if hasattr(model, "classes_"):
        expected = f[:, 0] if f.shape[1] == 1 else f
        np.testing.assert_allclose(model.decision_function(X, offset=offset), expected)
        predicted = model.predict(X, offset=offset)
        by_hand = f > 0 if kind == "labels" else f[:, 0] > 0 if f.shape[1] == 1 else f.argmax(1)
        np.testing.assert_array_equal(predicted, by_hand)
        share = np.mean((predicted == y).reshape(len(y), -1).all(axis=1))
        assert model.score(X, y, offset=offset) == pytest.approx(share)
    else:
        mean = np.exp(f[:, 0]) if kind in ("poisson", "gamma") else f[:, 0]
        np.testing.assert_allclose(model.predict(X, offset=offset), mean)
        weights = np.random.default_rng(1).random(len(X))
        assert model.score(X, y, weights, offset=offset) == pytest.approx(
            model._loss.quality(y, mean, weights)
        )
    if hasattr(model, "predict_proba"):
        p = {"softmax": softmax(f, axis=1), "labels": expit(f)}.get(kind)
        p = np.column_stack([expit(-f), expit(f)]) if p is None else p
        np.testing.assert_allclose(model.predict_proba(X, offset=offset), p)
        np.testing.assert_allclose(model.predict_log_proba(X, offset=offset), np.log(p))
        ends = model.predict_interval(X, offset=offset)
        assert np.all((ends[..., 0] < p) & (p < ends[..., 1]))
        assert np.abs(ends - model.predict_interval(X)).max() > 0.1


def test_intervals_move_with_the_offset():
    X, y, offset = drawn("poisson")
    model = model_of("poisson").fit(X, y, offset=offset)
    found = model.predict_interval(X, offset=offset)
    np.testing.assert_allclose(found, np.exp(offset)[:, None] * model.predict_interval(X))


# -- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared_error", "logistic", "softmax", "hinge"])
def test_the_order_of_rows_and_rows_without_weight_do_not_matter(kind):
    X, y, offset = drawn(kind)
    one = model_of(kind, C=1.0, tol=1e-6).fit(X, y, offset=offset)
    order = np.random.default_rng(3).permutation(len(X))
    other = model_of(kind, C=1.0, tol=1e-6).fit(X[order], y[order], offset=offset[order])
    np.testing.assert_allclose(scores(other, X), scores(one, X), rtol=1e-2, atol=1e-2)
    more = np.concatenate([offset, 50.0 + offset[:20]])
    weights = np.r_[np.ones(len(X)), np.zeros(20)]
    padded = model_of(kind, C=1.0, tol=1e-6).fit(
        np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]]), weights, offset=more
    )
    np.testing.assert_allclose(scores(padded, X), scores(one, X), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("kind", SMOOTH)
def test_counts_are_repeated_rows_with_their_offset(kind):
    X, y, offset = drawn(kind, 150)
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    one = model_of(kind, C=1.0).fit(X, y, counts=counts, offset=offset)
    repeated = np.repeat(np.arange(len(X)), counts)
    other = model_of(kind, C=1.0).fit(
        X[repeated], y[repeated], counts=np.ones(len(repeated)), offset=offset[repeated]
    )
    np.testing.assert_allclose(scores(other, X), scores(one, X), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", ["poisson", "softmax"])
def test_rows_with_different_offsets_are_no_copies(kind):
    X, y, offset = drawn(kind, 120)
    twice = np.tile(np.arange(len(X)), 2)
    with pytest.warns(UserWarning, match="equal another row in X and y"):
        merged = model_of(kind).fit(X[twice], y[twice], offset=offset[twice])
    one = model_of(kind).fit(X, y, offset=offset)
    np.testing.assert_allclose(scores(merged, X), scores(one, X), rtol=1e-3, atol=1e-3)
    apart = offset[twice]
    apart[len(X) :] += 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_of(kind).fit(X[twice], y[twice], offset=apart)


def test_missing_values_categories_sparse_rows_and_shapes():
    random = np.random.default_rng(0)
    X, y, offset = drawn("logistic", 400)
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    frame = pd.DataFrame({"a": gaps[:, 0], "b": random.choice(["x", "y"], 400)})
    for table, model in (
        (frame, AdditiveClassifier(Spline(6), random_state=0)),
        (sparse.csr_array(np.abs(X) * (X > 0)), AdditiveClassifier(Spline(6), random_state=0)),
        (X, AdditiveClassifier(Spline(6, monotone="increasing"), random_state=0)),
        (X, AdditiveClassifier(terms={0: Category()}, C=1.0, random_state=0)),
    ):
        table = np.round(table) if model.terms else table
        one = model.fit(table, y, offset=offset)
        loss = np.logaddexp(0.0, -(2 * y - 1) * one.decision_function(table, offset=offset))
        alone = np.logaddexp(0.0, -(2 * y - 1) * offset)
        assert one.certified_
        assert loss.mean() < alone.mean()
        moved = clone(model).fit(table, y, offset=offset + 3.0)
        np.testing.assert_allclose(moved.intercept_, one.intercept_ - 3.0, atol=1e-3)


@pytest.mark.parametrize("interactions", [1, "auto", [(0, 1)]])
def test_surfaces_are_found_beside_an_offset(interactions):
    """An interaction that the offset holds is not found; the one that is left is."""
    random = np.random.default_rng(0)
    X = random.uniform(-1.5, 1.5, size=(2000, 4))
    truth, offset = 0.7 * X[:, 0] * X[:, 1], 1.5 * X[:, 2] * X[:, 3]
    y = random.poisson(np.exp(truth + offset)).astype(float)
    model = AdditiveRegressor(Spline(8), loss="poisson", interactions=interactions, random_state=0)
    pairs = [pair.features for pair in model.fit(X, y, offset=offset).terms_.pairs]
    assert (0, 1) in pairs
    assert (2, 3) not in pairs
    error = np.sqrt(np.mean((np.log(model.predict(X)) - truth) ** 2))
    assert error < 0.35 * np.std(truth)
    without = clone(model).fit(X, y)
    assert interactions == [(0, 1)] or (2, 3) in [pair.features for pair in without.terms_.pairs]


@pytest.mark.parametrize("kind", ["squared_error", "logistic", "softmax", "one_vs_rest"])
def test_a_warm_start_with_an_offset_ends_where_a_cold_one_does(kind):
    X, y, offset = drawn(kind)
    warm = model_of(kind, C=1.0, tol=1e-5, warm_start=True).fit(X, y, offset=offset)
    again = model_of(kind, C=1.0, tol=1e-5).fit(X, y, offset=offset)
    before = warm.n_iter_
    warm.fit(X, y, offset=offset)
    assert warm.n_iter_ <= before
    assert warm.objective_ == pytest.approx(again.objective_, rel=3e-5)


@pytest.mark.parametrize("kind", ["hinge", "epsilon_insensitive"])
def test_partial_fit_takes_the_offsets_of_a_chunk(kind):
    X, y, offset = drawn(kind, 300)
    how = {"classes": [0, 1]} if kind == "hinge" else {}
    one = model_of(kind, C=1.0, tol=1e-6).partial_fit(X, y, offset=offset, **how)
    whole = model_of(kind, C=1.0, tol=1e-6).fit(X, y, offset=offset)
    np.testing.assert_allclose(scores(one, X), scores(whole, X), atol=2e-2)
    moved = one.partial_fit(X, y, offset=offset)
    without = model_of(kind, C=1.0, tol=1e-6).partial_fit(X, y, offset=offset, **how)
    without.partial_fit(X, y)
    assert np.abs(scores(moved, X) - scores(without, X)).max() > 0.1


@pytest.mark.parametrize("kind", ["poisson", "softmax"])
def test_files_are_trained_on_as_tables_in_memory(kind, tmp_path):
    X, y, offset = drawn(kind, 300)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    np.save(tmp_path / "rows.npy", X)
    here = model_of(kind).fit(frame, y, offset=offset)
    expected = here.predict(frame, offset=offset)
    for name, target in (("rows.csv", "y"), ("rows.parquet", "y"), ("rows.npy", y)):
        path = tmp_path / name
        model = model_of(kind).fit(path, target, offset=offset)
        np.testing.assert_allclose(model.predict(path, offset=offset), expected, rtol=1e-6)
        share = here.score(frame, y, offset=offset)
        assert model.score(path, target, offset=offset) == pytest.approx(share, abs=1e-6)
    given = {"C": 1.0, "tol": 1e-3}
    here = model_of(kind, **given).fit(X, y, offset=offset)
    bounded = model_of(kind, **given, max_memory="1MB")
    bounded.fit(tmp_path / "rows.npy", y, offset=offset)
    np.testing.assert_allclose(scores(bounded, X), scores(here, X), atol=0.02)


def test_contributions_add_up_to_the_score_less_the_offset():
    X, y, offset = drawn("poisson")
    model = model_of("poisson").fit(X, y, offset=offset)
    with_offset = np.log(model.predict(X, offset=offset))
    parts = base_value(model) + contributions(model, X).sum(axis=1)
    np.testing.assert_allclose(parts, with_offset - offset, atol=1e-10)
    np.testing.assert_allclose(explain(model, X).score, with_offset - offset, atol=1e-10)


def test_standard_errors_know_the_offset():
    """An exposure ten times as long has ten times as many events."""
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 1))
    errors = []
    for exposure in (1.0, 10.0):
        y = random.poisson(exposure * np.exp(0.5 * X[:, 0] - 1.5))
        model = AdditiveRegressor(Linear(), loss="poisson", C=1e3, random_state=0)
        model.fit(X, y, offset=np.full(800, np.log(exposure)))
        errors.append(standard_error(model, X))
    assert np.median(errors[0] / errors[1]) == pytest.approx(np.sqrt(10.0), rel=0.15)


def test_a_page_measures_test_rows_with_their_offset(tmp_path):
    X, y, offset = drawn("logistic", 400)
    model = model_of("logistic").fit(X, y, offset=offset)
    for own in (offset, None):
        report.write(model, tmp_path / "m.html", X, y, offset=own)
        page = (tmp_path / "m.html").read_text(encoding="utf-8")
        accuracy = float(re.search(r"Accuracy</span> <strong>([\d.]+)%", page)[1])
        assert accuracy == pytest.approx(100 * model.score(X, y, offset=own), abs=0.051)
        assert ("with their offsets" in page) == (own is not None)
    with pytest.raises(ValueError, match="offset belong to test rows: give X_test"):
        report.write(model, tmp_path / "m.html", offset=offset)


# -- searches and metadata -------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "neg_mean_poisson_deviance"])
def test_a_path_scores_held_out_rows_with_their_offset(scoring):
    X, y, offset = drawn("poisson", 300)
    model = AdditiveRegressor(Spline(6), loss="poisson", tol=1e-6, random_state=0)
    folds = [(np.arange(150, 300), np.arange(150)), (np.arange(150), np.arange(150, 300))]
    search = PathSearchCV(model, Cs=[0.1, 3.0], cv=folds, scoring=scoring)
    search.fit(X, y, offset=offset)
    # Knots come from all rows, so the fold is a fit with weights of 0.
    for k, (train, test) in enumerate(folds):
        weights = np.isin(np.arange(300), train).astype(float)
        for at, C in enumerate(search.Cs_):
            alone = AdditiveRegressor(
                terms=_same_terms(search), loss="poisson", C=C, tol=1e-6, random_state=0
            ).fit(X, y, weights, offset=offset)
            mean = alone.predict(X[test], offset=offset[test])
            deviance = 2 * np.mean(
                np.where(y[test] > 0, y[test] * np.log(np.maximum(y[test], 1) / mean), 0)
                - y[test]
                + mean
            )
            if scoring is None:
                null = np.full(150, y[test].mean())
                base = 2 * np.mean(
                    np.where(y[test] > 0, y[test] * np.log(np.maximum(y[test], 1) / null), 0)
                )
                expected = 1.0 - deviance / base
            else:
                expected = -deviance
            found = search.cv_results_[f"split{k}_test_score"][at]
            assert found == pytest.approx(expected, rel=1e-3)
    mean = search.predict(X, offset=offset)
    np.testing.assert_allclose(mean, search.predict(X) * np.exp(offset))
    assert search.score(X, y, offset=offset) > search.score(X, y) + 0.1 * (scoring is None)


def _same_terms(search):
    """Return the terms with the knots of a search."""
    return {k: Spline(knots=term.knots) for k, term in enumerate(search.best_estimator_.terms_)}


def test_a_search_of_classes_takes_an_offset_per_class():
    X, y, offset = drawn("softmax", 300)
    search = PathSearchCV(AdditiveClassifier(Spline(6), random_state=0), Cs=4, cv=3)
    search.fit(X, y, offset=offset)
    assert search.score(X, y, offset=offset) > search.score(X, y) + 0.05
    np.testing.assert_array_equal(
        search.predict_proba(X, offset=offset).argmax(axis=1), search.predict(X, offset=offset)
    )
    np.testing.assert_allclose(
        softmax(search.decision_function(X, offset=offset), axis=1),
        np.exp(search.predict_log_proba(X, offset=offset)),
    )


def test_offsets_are_routed_as_metadata():
    X, y, offset = drawn("poisson", 300)
    with config_context(enable_metadata_routing=True):
        model = AdditiveRegressor(Spline(6), loss="poisson", C=1.0, random_state=0)
        model.set_fit_request(offset=True).set_predict_request(offset=True)
        model.set_score_request(offset=True)
        routed = make_pipeline(StandardScaler(), model).fit(X, y, offset=offset)
        given = cross_validate(model, X, y, params={"offset": offset}, cv=3)["test_score"]
        search = PathSearchCV(model, Cs=2, cv=2).set_fit_request(offset=True)
        make_pipeline(StandardScaler(), search).fit(X, y, offset=offset)
        predicted = routed.predict(X, offset=offset)
    alone = AdditiveRegressor(Spline(6), loss="poisson", C=1.0, random_state=0)
    alone.fit(StandardScaler().fit_transform(X), y, offset=offset)
    mean = alone.predict(StandardScaler().fit_transform(X), offset=offset)
    np.testing.assert_allclose(predicted, mean)
    without = cross_validate(alone, X, y, cv=3)["test_score"]
    assert given.mean() > without.mean() + 0.2


# -- what is accepted ------------------------------------------------------------------------------


def test_offsets_in_many_forms():
    X, y, offset = drawn("poisson")
    model = model_of("poisson", C=1.0, tol=1e-3)
    expected = model.fit(X, y, offset=offset).predict(X, offset=offset)
    forms = [
        offset.tolist(),
        offset[:, None],
        pd.Series(offset, index=np.arange(len(X))[::-1]),
        pd.Series(offset).astype("Float64"),
        pd.DataFrame({"log_t": offset}),
        pl.Series(offset),
        pl.DataFrame({"log_t": offset}),
        np.ma.MaskedArray(offset, np.zeros(len(X))),
        offset.astype(object),
    ]
    for form in forms:
        np.testing.assert_array_equal(
            model.fit(X, y, offset=form).predict(X, offset=form), expected
        )
    whole = np.round(offset).astype(np.int64)
    expected = model.fit(X, y, offset=whole.astype(float)).predict(X)
    for form in (whole, pd.Series(whole), whole.astype(np.float32)):
        np.testing.assert_array_equal(model.fit(X, y, offset=form).predict(X), expected)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(9), r"offset must have one number per row, shape \(10,\); got shape \(9,\)"),
        (np.zeros((10, 2)), r"one number per row, shape \(10,\); got shape \(10, 2\)"),
        (0.5, r"offset must have one number per row, shape \(10,\); got shape \(\)"),
        (np.where(np.arange(10) == 3, np.nan, 0.0), r"offset contains NaN \(first in row 3\)"),
        (np.where(np.arange(10) == 4, np.inf, 0.0), r"offset contains infinity \(first in row 4\)"),
        ([None, *range(9)], r"offset contains NaN \(first in row 0\)"),
        (pd.array([1, None, *range(8)], dtype="Int64"), r"offset contains NaN \(first in row 1\)"),
        (np.ma.MaskedArray(np.zeros(10), np.arange(10) == 5), r"NaN \(first in row 5\)"),
        (np.full(10, 1e31), r"offset must be at most 1e\+30 in absolute value"),
        (["a"] * 10, "offset must hold numbers; got 'a'"),
        (np.zeros(10, dtype=complex), "offset must hold numbers"),
        (np.zeros(10, dtype="M8[D]"), "offset must hold numbers"),
    ],
)
def test_wrong_offsets_are_refused(offset, message):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    for model in (AdditiveRegressor(C=1.0), AdditiveSVR(C=1.0)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, offset=offset)
        fitted = model.fit(X, y)
        for method in (fitted.predict, partial(fitted.score, y=y)):
            with pytest.raises(ValueError, match=message):
                method(X, offset=offset)


def test_a_missing_offset_is_refused_in_rows_without_weight_too():
    """As a missing y is."""
    X, y, offset = drawn("squared_error")
    offset[3] = np.nan
    weights = np.ones(len(X))
    weights[3] = 0.0
    with pytest.raises(ValueError, match="first in row 3"):
        model_of("squared_error").fit(X, y, weights, offset=offset)


@pytest.mark.parametrize("kind", ["softmax", "labels", "one_vs_rest"])
def test_several_scores_need_a_column_each(kind):
    X, y, offset = drawn(kind)
    n = offset.shape[1]
    message = rf"one column for each of the {n} scores of a row, shape \(250, {n}\); got shape"
    for wrong in (offset[:, 0], offset[:, 1:], offset[:, [0]]):
        with pytest.raises(ValueError, match=message):
            model_of(kind).fit(X, y, offset=wrong)
    frame = pd.DataFrame(offset, columns=list("abc")[:n])
    one = model_of(kind, C=1.0, tol=1e-3).fit(X, y, offset=frame)
    other = model_of(kind, C=1.0, tol=1e-3).fit(X, y, offset=offset)
    np.testing.assert_array_equal(one.predict(X, offset=frame), other.predict(X, offset=offset))
