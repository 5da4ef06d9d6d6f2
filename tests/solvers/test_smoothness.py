"""Smoothness by REML: against the marginal likelihood itself, and what users see of it."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_diabetes, load_wine
from written_out import explicit

from splinear import AdditiveClassifier, AdditiveRegressor, inspection
from splinear.inspection import shape_function
from splinear.losses import Logistic, Softmax, SquaredError
from splinear.objective.blocks import penalized_bands
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.problem import Problem, Stopping
from splinear.objective.units import Units
from splinear.solvers.reml import choosing, smoothness, turns
from splinear.solvers.reml.posterior import PartsPosterior, posterior_variances
from splinear.solvers.reml.smoothness import choose_smoothness
from splinear.tables.opening import open_table
from splinear.terms import Category, Fourier, Hermite, Linear, Spline
from splinear.terms.basis import BSplineBasis

TERMS = {
    "curve": Spline(15),
    "quantile knots": Spline(15, knots="quantile"),
    "cubic, D_2": Spline(12, degree=3, penalty_order=2),
    "D_0": Spline(15, penalty_order=0),
    "degree 0": Spline(15, degree=0),
    "Fourier": Fourier(4),
    "Hermite": Hermite(4),
    "line": Linear(),
    "two levels": Category(),
    "twenty levels": Category(),
    "ordered levels": Category(ordered=True),
}
LEVELS = {"two levels": 2, "twenty levels": 20, "ordered levels": 8}
SETTINGS = {"random_state": 0}


def one_column(name, n=250, seed=1, noise=0.5):
    """A column for the term of this name, and a target that bends."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 1))
    n_levels = LEVELS.get(name)
    if n_levels is not None:
        X = np.floor(n_levels * X)
    y = np.sin(6 * X[:, 0]) + 0.5 * X[:, 0] + noise * random.normal(size=n)
    return X, {0: tuple(range(n_levels or 0))} if n_levels else {}, y


def chosen_for(X, layout, y, weights=None, **options):
    rows = TrainingRows.prepare(open_table(X), layout, exact=True, weights=weights)
    w = np.ones(len(y)) if weights is None else weights
    problem = Problem(
        y=np.ones(len(y), dtype=np.int8),
        loss=SquaredError(),
        cost_negative=1.0,
        cost_positive=1.0,
        targets=rows.place(y - np.average(y, weights=w)),
        weights=rows.place(w),
    )
    units = Units(counts=None if weights is None else rows.place(w))
    total = Separable(problem, units=units)
    options = {"settled": 1e-8} | options
    return choose_smoothness(rows, [total], Stopping(tol=1e-6), **options)


def deviance(phi, y, weights):
    """-2 log of the restricted likelihood of y ~ N(phi c + b, v / w), c ~ N(0, v I), b free.

    v is at its best; constants are left out.
    """
    A = np.column_stack([phi, np.ones(len(y))])
    S = np.diag(np.append(np.ones(phi.shape[1]), 0.0))
    H = A.T @ (weights[:, None] * A) + S
    c = np.linalg.solve(H, A.T @ (weights * y))
    rss = weights @ (y - A @ c) ** 2 + c @ S @ c
    return (weights.sum() - 1) * np.log(rss) + np.linalg.slogdet(H)[1]


def freedom(phi, weights):
    """The degrees of freedom of the columns of phi beside a free intercept."""
    A = np.column_stack([phi, np.ones(len(phi))])
    G = A.T @ (weights[:, None] * A)
    H = G + np.diag(np.append(np.ones(phi.shape[1]), 0.0))
    return np.trace(np.linalg.solve(H, G)) - 1


def unit_features(layout, X):
    """The embedding of a term of variance 1."""
    return explicit(layout.scaled(1.0 / layout.groups[0].embedding.variance[0]), X)


IN_PARTS = ("curve", "quantile knots", "cubic, D_2")  # curves with a line and bends


@pytest.fixture
def with_edges(monkeypatch):
    """Let few rows have edges, too."""
    monkeypatch.setattr(smoothness, "ROWS_FOR_EDGES", 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "pooled"),
    [
        (name, pooled)
        for name in TERMS
        for pooled in (False, True)
        if pooled or name not in IN_PARTS
    ],
)
def test_one_variance_maximizes_the_marginal_likelihood(
    name, pooled, weighted, laid_out, with_edges
):
    """The variance is the best of all; for the edge weights that were chosen, if there are any."""
    X, levels, y = one_column(name)
    weights = np.random.default_rng(2).integers(1, 4, len(y)) * 1.0 if weighted else None
    layout = laid_out(X, {0: TERMS[name]}, levels)
    found = chosen_for(X, layout, y, weights, pooled=pooled)
    (group,) = found.layout.groups
    assert (group.edges is not None) == (name == "degree 0" and not pooled)
    assert group.parts is None
    edges = np.ones(group.size) if group.edges is None else group.edges[0]
    phi, w = unit_features(layout, X) / np.sqrt(edges), np.ones(len(y))
    w = w if weights is None else weights
    t = group.embedding.variance[0]
    best = minimize_scalar(
        lambda log_t: deviance(phi * np.exp(log_t / 2), y, w),
        bounds=np.log(t) + np.array([-5, 5]),
        method="bounded",
        options={"xatol": 1e-7},
    )
    assert t == pytest.approx(np.exp(best.x), rel=1e-3)
    assert found.edf[0][0] == pytest.approx(freedom(phi * np.sqrt(t), w), rel=1e-3)


def basis_of(group, X):
    """The B-splines that are used, their line, and the matrix of their steps, all written out."""
    used = group.used[0, : group.size]
    B = group.embedding.basis.evaluate(group.embedding.axes.argument_of(X[:, 0], 0))[:, used]
    D = np.eye(used.sum()) - np.eye(used.sum(), k=-1)  # from the first coefficient, which is 0
    return B, np.cumsum(group.parts.line[0, used]), D, used


def bends_matrix(group, used):
    """The rows l_k d_k + r_k d_{k+1} in steps."""
    left, right = group.parts.bends[0, used].T
    return np.diag(left) + np.diag(right[:-1], 1)


def prior_of(group, variances):
    """The matrix of steps' penalty, and the variance of the line, at variances of all parts."""
    _, _, _, used = basis_of(group, np.zeros((1, 1)))
    t, of_bends, of_line = variances
    weights = group.edge_weights[0, used] / t
    E = bends_matrix(group, used)
    return np.diag(weights) + E.T @ E / of_bends, of_line


def variances_of(group):
    parts = group.parts
    return np.array([group.embedding.variance[0], parts.bend_variance[0], parts.line_variance[0]])


def deviance_of_parts(group, X, y, weights, logs):
    """`deviance` at the logarithms of the variances of steps, bends and line."""
    B, line, D, _ = basis_of(group, X)
    M, of_line = prior_of(group, np.exp(logs))
    phi = B @ np.linalg.solve(D, np.linalg.inv(np.linalg.cholesky(M)).T)
    return deviance(np.column_stack([phi, np.sqrt(of_line) * (B @ line)]), y, weights)


def dense_measures(group, X, h, noise=1.0):
    """Posterior of a curve's parts, from the joint matrix of curve, line and intercept.

    Degrees of freedom of steps, bends and line, Var of the steps, and the coefficients' covariance.
    """
    B, line, D, used = basis_of(group, X)
    M, of_line = prior_of(group, variances_of(group))
    n = B.shape[1]
    A = np.column_stack([B, B @ line, np.ones(len(X))])
    S = np.zeros((n + 2, n + 2))
    S[:n, :n], S[n, n] = D.T @ M @ D, 1.0 / max(of_line, 1e-12)
    V = np.linalg.inv(A.T @ (h[:, None] * A) + S)
    steps, before = D @ V[:n, :n] @ D.T, np.linalg.inv(M)
    t, of_bends, _ = variances_of(group)
    E, w = bends_matrix(group, used), group.edge_weights[0, used]
    free = [
        float(np.sum(w * np.diagonal(before - steps)) / t),
        float(np.trace(E @ (before - steps) @ E.T) / of_bends),
        float(1.0 - V[n, n] / of_line) if of_line > 0 else 0.0,
    ]
    return np.array(free), np.diagonal(steps), V


def split(group, theta, X):
    """The steps without the line's, the bends and the slope of a curve, where they cost least."""
    _, line, D, used = basis_of(group, X)
    M, of_line = prior_of(group, variances_of(group))
    d, h = D @ theta[: group.size][used], D @ line
    slope = h @ M @ d / (1.0 / of_line + h @ M @ h)
    return d - slope * h, bends_matrix(group, used) @ (d - slope * h), slope


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", IN_PARTS)
def test_line_steps_and_bends_maximize_the_marginal_likelihood(
    name, weighted, laid_out, with_edges
):
    """No other three variances nearby are more likely."""
    X, levels, y = one_column(name)
    weights = np.random.default_rng(2).integers(1, 4, len(y)) * 1.0 if weighted else None
    found = chosen_for(X, laid_out(X, {0: TERMS[name]}, levels), y, weights)
    (group,) = found.layout.groups
    assert group.edges is not None
    w = np.ones(len(y)) if weights is None else weights
    of_all = partial(deviance_of_parts, group, X, y, w)
    has_line = group.parts.line_variance[0] > 0
    assert has_line == (name != "cubic, D_2")
    at = np.log(np.maximum(variances_of(group), 1e-300))
    if not has_line:
        of_three, at = of_all, at[:2]

        def of_all(logs):
            return of_three(np.append(logs, -700.0))

    bounds, options = [(one - 3.0, one + 3.0) for one in at], {"xatol": 1e-4, "fatol": 1e-9}
    best = minimize(of_all, at, method="Nelder-Mead", bounds=bounds, options=options)
    assert of_all(at) - best.fun < 1e-4
    residual = y - np.average(y, weights=w)
    B, _, _, used = basis_of(group, X)
    model = B @ found.starts[0].coef[0][used] + found.starts[0].intercept
    noise = w @ (residual - model) ** 2 / (w.sum() - found.edf[0][0] - 1)
    free, _, _ = dense_measures(group, X, w)
    assert noise > 0
    assert found.edf[0][0] == pytest.approx(free.sum(), rel=1e-3)


@pytest.mark.parametrize("least_gain", [1e-3, 1e-4, 1e-5])
def test_turns_that_gain_little_evidence_are_left_out(least_gain, laid_out, monkeypatch):
    """Without them the marginal likelihood is as good up to the gain that was asked for."""
    monkeypatch.setattr(smoothness, "LEAST_TURNS", 1)
    X, _, y = one_column("curve", n=400)
    layout = laid_out(X, {0: TERMS["curve"]})
    early, late = (chosen_for(X, layout, y, least_gain=gain) for gain in (least_gain, 0.0))
    assert early.n_turns < late.n_turns
    missed = [
        deviance_of_parts(group, X, y, np.ones(len(y)), np.log(variances_of(group)))
        for found in (early, late)
        for group in found.layout.groups
    ]
    assert -1e-6 <= missed[0] - missed[1] <= 2.0 * least_gain * len(y)


@pytest.mark.parametrize("curve", [Spline(20, 3, 2, "uniform"), Spline(20, 1, 2, "uniform")])
def test_a_curve_is_fitted_like_its_mirror_image(curve):
    random = np.random.default_rng(0)
    x = random.uniform(size=(200, 1))
    y = 3.0 * np.exp(-4.0 * x[:, 0]) + 0.4 * random.normal(size=200)
    at = np.linspace(0.0, 1.0, 50)[:, None]
    found = AdditiveRegressor(curve, **SETTINGS).fit(x, y).predict(at)
    mirrored = AdditiveRegressor(curve, **SETTINGS).fit(-x, y).predict(-at)
    assert np.abs(found - mirrored).max() < 1e-6 * np.ptp(found)


def mirrored_tables(seed, n=300):
    """A table with ties, and numbers, two classes and three classes that depend on it."""
    random = np.random.default_rng(seed)
    X = np.column_stack(
        [
            random.normal(size=n),
            random.gamma(0.7, size=n).round(2),
            random.normal(size=n).round(1),
            random.poisson(3, n).astype(float),
            random.exponential(size=n),
        ]
    )
    signal = np.sin(2.0 * X[:, 0]) + np.log(0.1 + X[:, 1]) + 0.1 * X[:, 3]
    noisy = signal + random.logistic(size=n)
    return X, (noisy, (noisy > 0.0).astype(int), np.digitize(noisy, [-1.0, 0.5]))


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_arguments_fit_a_table_like_its_mirror_image(seed, has_missing):
    """To the accuracy of sums over codes, which are in single precision."""
    X, targets = mirrored_tables(seed)
    if has_missing:
        X[np.random.default_rng(9).random(X.shape) < 0.1] = np.nan
    for y, estimator in zip(
        targets, (AdditiveRegressor, AdditiveClassifier, AdditiveClassifier), strict=True
    ):
        model, mirrored = estimator(**SETTINGS).fit(X, y), estimator(**SETTINGS).fit(-X, y)
        if estimator is AdditiveRegressor:
            scores, other = model.predict(X), mirrored.predict(-X)
        else:
            scores, other = model.decision_function(X), mirrored.decision_function(-X)
        assert np.abs(scores - other).max() < 2e-5 * np.ptp(scores)


# mgcv 1.8-41: x and noise as below, h = 1/20, knots seq(-3 h, 1 + 3 h, h), then
# gam(y ~ s(x, bs = "ps", k = 23, m = c(2, 2)), method = "REML"): edf without the intercept, sig2
# and predictions at 0, .1, ..., 1.
OF_MGCV = [
    15.62562,
    0.0026279111,
    -0.019779044,
    1.1486607,
    1.8464358,
    1.9525475,
    1.3401229,
    0.29349108,
    -0.89429807,
    -1.7416669,
    -1.9749469,
    -1.5633571,
    -0.58623685,
]


def test_cubic_splines_under_bends_are_those_of_mgcv():
    """The slope has a variance beside; where the signal is strong that hardly matters."""
    random = np.random.default_rng(0)
    x = random.uniform(size=200)
    x[:2] = 0.0, 1.0
    y = 2.0 * np.sin(6.0 * x) + 0.05 * random.normal(size=200)
    model = AdditiveRegressor(Spline(20, 3, 2, "uniform"), tol=1e-8, random_state=0)
    found = model.fit(x[:, None], y).predict(np.linspace(0.0, 1.0, 11)[:, None])
    edf, _, *expected = OF_MGCV
    assert model.terms_[0].edf == pytest.approx(edf, rel=1e-3)
    assert np.abs(found - expected).max() < 1e-3 * np.ptp(expected)


def test_posterior_of_parts_is_that_of_the_joint_matrix(laid_out):
    """Steps without those of the line, bends and slopes, with the intercept integrated out."""
    random = np.random.default_rng(3)
    X = random.uniform(size=(80, 1)) ** 2
    laid = laid_out(X, {0: Spline(9, knots="quantile")})
    layout = chosen_for(X, laid, np.sin(9 * X[:, 0])).layout
    for variances in ([1.0, 0.1, 3.0], [1e-4, 1e-3, 10.0], [10.0, 1e-5, 1e-3]):
        (group,) = layout.with_variances(np.array(variances), [None]).groups
        B, _, _, used = basis_of(group, X)
        h = random.uniform(0.2, 1.0, len(X))
        whole = np.zeros((len(X), group.stride))
        whole[:, : group.size] = group.embedding.basis.evaluate(
            group.embedding.axes.argument_of(X[:, 0], 0)
        )
        products = whole.T @ (h[:, None] * whole)
        bands = [np.append(np.diagonal(products, p), np.zeros(p)) for p in range(2)]
        u = np.where(group.used, h @ whole / np.sqrt(h.sum()), 0.0)
        found = PartsPosterior.of(group, np.stack(bands, axis=1)[None], u)
        _, steps, V = dense_measures(group, X, h)
        n, E = B.shape[1], bends_matrix(group, used)
        D = np.eye(n) - np.eye(n, k=-1)
        np.testing.assert_allclose(found.steps[0, : group.size][used], steps, rtol=1e-7)
        np.testing.assert_allclose(found.line_shares, 1.0 - V[n, n] / variances[2], atol=1e-9)
        bends = np.diagonal(E @ D @ V[:n, :n] @ D.T @ E.T)
        np.testing.assert_allclose(found.bends[0, used], bends, rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("name", ["D_0", "Fourier", "two levels", "twenty levels"])
def test_gaps_have_a_variance_of_their_own(name, share, laid_out):
    """Both variances against the best pair; how a gap is tied to its curve is left out."""
    X, levels, y = one_column(name, 400)
    gap = np.random.default_rng(3).random(400) < share
    y[gap] += 1.0 - np.sin(6 * X[gap, 0])
    X[gap] = np.nan
    layout = TrainingRows.prepare(
        open_table(X), laid_out(X, {0: TERMS[name]}, levels), exact=True
    ).layout
    (group,) = chosen_for(X, layout, y).layout.groups
    (first,) = layout.groups
    variances = np.append(np.full(first.size, first.embedding.variance[0]), first.missing_variance)
    phi = explicit(layout, X) / np.sqrt(variances)

    def of_both(logs):
        roots = np.exp(np.append(np.full(first.size, logs[0]), logs[1]) / 2)
        return deviance(phi * roots, y, np.ones(len(y)))

    found = np.log([group.embedding.variance[0], group.missing_variance[0]])
    best = minimize(of_both, found, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-8})
    # One deviation says little of its variance: a factor of 1.5 hardly makes it less likely.
    np.testing.assert_allclose(found, best.x, atol=np.log(1.5))
    assert of_both(found) - best.fun < 0.1


def test_levels_are_random_effects():
    """The same as a mixed model with a random intercept per level."""
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    random = np.random.default_rng(4)
    levels = random.integers(0, 30, 400)
    y = random.normal(size=30)[levels] + 0.8 * random.normal(size=400)
    theirs = mixed.MixedLM(y, np.ones((400, 1)), groups=levels).fit(reml=True)
    X = levels[:, None].astype(float)
    model = AdditiveRegressor(categorical_features=[0], tol=1e-8, random_state=0).fit(X, y)
    (term,) = model.terms_
    assert term.smoothness == pytest.approx(np.ravel(theirs.cov_re)[0] / theirs.scale, rel=0.02)
    assert model.intercept_[0] == pytest.approx(theirs.fe_params[0], abs=1e-3)
    effects = [np.ravel(theirs.random_effects[level])[0] for level in range(30)]
    np.testing.assert_allclose(term.coef[0], effects, atol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_other_likelihoods_settle_where_the_equation_holds(n_classes, laid_out):
    """Each variance is sum of squares / e with the posterior of NumPy, summed over outputs."""
    X, _, y = one_column("curve", 500, noise=1.0)
    layout = laid_out(X, {0: TERMS["curve"]})
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    labels = np.digitize(y, [0.3] if n_classes == 2 else [-0.3, 0.8])
    if n_classes == 2:
        signs = rows.place((2 * labels - 1).astype(np.int8))
        total = Separable(Problem(signs, Logistic(), 1.0, 1.0))
    else:
        total = Summed(Softmax(np.arange(3)), rows.place(labels), np.ones(len(y)))
    found = choose_smoothness(rows, [total], Stopping(tol=1e-6), settled=1e-7)
    (group,), (start,) = found.layout.groups, found.starts
    F = rows.scores(start.coef) + np.reshape(start.intercept, (-1, 1))
    squares = free = 0.0
    for theta, h in zip(start.coef, total.curvature(F).diagonal, strict=True):
        steps, bends, slope = split(group, theta, X)
        w = group.edge_weights[0, group.used[0]]
        squares = squares + np.array([w @ steps**2, bends @ bends, slope**2])
        free = free + dense_measures(group, X, rows.restore(h))[0]
    assert free.sum() == pytest.approx(found.edf[0][0], rel=1e-3)
    counts = free > 0.01  # a part that has nearly vanished still moves, without any effect
    assert counts.any()
    np.testing.assert_allclose(variances_of(group)[counts], (squares / free)[counts], rtol=0.02)


def test_edge_weights_are_those_that_steps_ask_for(laid_out, with_edges):
    """w_k = 1 / sqrt(E_k + mean E), of mean 1, with E_k = d_k^2 + Var(d_k), written out."""
    X, _, y = one_column("curve")
    found = chosen_for(X, laid_out(X, {0: TERMS["curve"]}), y)
    (group,), (start,) = found.layout.groups, found.starts
    B, _, _, used = basis_of(group, X)
    residual = y - y.mean() - B @ start.coef[0][used] - start.intercept
    noise = residual @ residual / (len(y) - found.edf[0][0] - 1)
    steps, _, _ = split(group, start.coef[0], X)
    E = steps**2 / noise + dense_measures(group, X, np.ones(len(y)))[1]
    w = 1 / np.sqrt(E + E.mean())
    np.testing.assert_allclose(group.edges[0][used], w / w.mean(), rtol=1e-2)


def many_terms(n, n_columns, seed=0):
    """Two waves, a step, a column that repeats another one in part, and others that say nothing."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, n_columns))
    X[:, 1] = np.round(X[:, 0] + 0.3 * random.normal(size=n), 1)
    return X, 2.0 * np.sin(8.0 * X[:, 0]) + X[:, 1] ** 2 + 3.0 * (X[:, 3] > 0.6), random


@pytest.mark.parametrize(("n", "n_columns"), [(1500, 5), (6000, 5), (3000, 20)])
@pytest.mark.parametrize("loss", [SquaredError(), Logistic()], ids=repr)
def test_turns_end_when_no_degree_of_freedom_moves(loss, n, n_columns, laid_out, monkeypatch):
    """Not much too early: a run that goes on until nothing changes ends within 3 % of all curves.

    The rule asks for 1 %, and estimates what is to come from the last two changes. One turn more,
    at the smoothness that was chosen, moves nothing by more either. With 20 columns a turn is a
    step by products, with 5 it is solved for.
    """
    X, signal, random = many_terms(n, n_columns)
    rows = TrainingRows.prepare(
        open_table(X), laid_out(X, dict.fromkeys(range(n_columns), Spline(60)), {})
    )
    ones, y, targets = np.ones(n, dtype=np.int8), np.ones(n, dtype=np.int8), None
    if isinstance(loss, SquaredError):
        noisy = signal + random.normal(size=n)
        targets = rows.place(noisy - noisy.mean())
    else:
        is_one = signal + random.logistic(size=n) > np.median(signal)
        y = rows.place(np.where(is_one, ones, -ones))
    total = Separable(Problem(y, loss, 1.0, 1.0, targets=targets))
    found = choose_smoothness(rows, [total], Stopping())
    assert smoothness.LEAST_TURNS <= found.n_turns < 25
    once_more = choose_smoothness(rows, [total], Stopping(), begin=found, max_turns=1)
    monkeypatch.setattr(smoothness, "SETTLED_LOSSES", 1e-9)
    until_still = choose_smoothness(rows, [total], Stopping(), settled=1e-6, max_turns=150)
    assert until_still.n_turns > found.n_turns
    (end,) = until_still.edf
    most = 3.0 * smoothness.SETTLED * np.maximum(end, smoothness.LEAST_FREEDOM)
    assert (np.abs(found.edf[0] - end) <= most).all()
    assert (np.abs(once_more.edf[0] - end) <= most).all()


@pytest.mark.parametrize("weight", [1e12, 1e20, 1e30])
def test_one_row_of_great_weight_leaves_variances_that_are_positive(weight, curves):
    """Between two knots it adds a matrix of rank one, beside which rounding loses the penalty."""
    X = np.linspace(0.0, 1.0, 50)[:, None]
    (group,) = curves(X, BSplineBasis(1, 10)).groups
    B = group.embedding.basis.evaluate(
        group.embedding.axes.argument_of(np.array([0.03, 0.337, 0.71]), 0)
    )

    def variances(of_row):
        M = B.T @ (np.array([1.0, of_row, 1.0])[:, None] * B)
        blocks = np.stack([np.append(np.diagonal(M, p), [0.0] * p) for p in range(2)], axis=1)
        with np.errstate(all="raise"):
            return posterior_variances(group, blocks[None], np.zeros(group.shape))[0]

    found, far = variances(weight), np.abs(np.arange(group.stride) - 3.5) > 2  # from the row
    assert np.isfinite(found).all()
    assert (found > 0.0).all()
    np.testing.assert_allclose(found[far], variances(1e6)[far], rtol=0.05)


@pytest.mark.parametrize("which", range(10))
def test_posterior_variances_are_those_of_the_matrix(which, mixed):
    """Of the differences, with the intercept integrated out; a gap is its curve's mean and more."""
    X, layout = mixed(5)
    group = TrainingRows.prepare(open_table(X), layout, exact=True).layout.groups[which]
    random = np.random.default_rng(6)
    n, used = 40, group.used
    blocks = np.zeros((*group.shape, group.embedding.basis.support))
    B = np.zeros((n, *group.shape))
    for j in range(group.n_features):
        ends = group.embedding.axes.first[j], group.embedding.axes.last[j]
        B[:, j, : group.size] = group.embedding.basis.evaluate(random.uniform(*ends, n))
        if group.has_gaps:
            gap = random.random(n) < 0.3 * group.used[j, -1]
            B[gap, j, : group.size], B[gap, j, -1] = 0.0, 1.0
        products = B[:, j].T @ B[:, j]
        for p in range(blocks.shape[2]):
            blocks[j, : group.stride - p, p] = np.diagonal(products, p)
    u = np.where(used, B.sum(axis=0) / np.sqrt(n), 0.0)
    found = posterior_variances(group, blocks.copy(), u)
    bands = penalized_bands(group, np.zeros_like(blocks), 1)
    for j in range(group.n_features):
        at = np.flatnonzero(used[j])
        S = sum(np.diag(bands[j, : group.stride - p, p], p) for p in range(bands.shape[2]))
        S = S + np.triu(S, 1).T
        values = B[:, j].copy()
        if group.has_gaps:  # as many are the curve's mean, and a deviation of their own
            there = values[:, -1] == 0.0
            values[~there, : group.size] = values[there, : group.size].mean(axis=0)
        centered = values - values.mean(axis=0)
        M = (S + centered.T @ centered)[np.ix_(at, at)]
        inverse = np.eye(group.stride)
        inverse[: group.size, : group.size] = group.embedding.penalty.difference(
            np.eye(group.size)
        ).T
        D = inverse[np.ix_(at, at)]
        expected = np.diagonal(D @ np.linalg.inv(M) @ D.T) if len(at) else []
        np.testing.assert_allclose(found[j, at], expected, rtol=1e-6)
        assert not found[j, ~used[j]].any()


# -- what users see ------------------------------------------------------------------------------


def rough_and_smooth(n=1500, seed=0):
    """One feature that wiggles, one that bends, one that does nothing, and a 0/1 one."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 4))
    X[:, 3] = X[:, 3] > 0
    signal = 1.5 * np.sin(9 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 3]
    return X, signal, random


def go_on_until_still(monkeypatch):
    """Let turns go on until nothing moves."""
    monkeypatch.setattr(choosing, "SETTLED", 1e-6)
    monkeypatch.setattr(choosing, "MAX_TURNS", 1000)
    monkeypatch.setattr(smoothness, "SETTLED_LOSSES", 1e-6)


def freedoms(model):
    return np.array([term.edf for term in model.terms_])


def test_freedom_goes_where_it_is_needed():
    X, signal, random = rough_and_smooth()
    y = random.random(len(X)) < expit(signal)
    model = AdditiveClassifier(**SETTINGS).fit(X, y)
    wiggles, bends, nothing, binary = freedoms(model)
    assert wiggles > 2 * bends > 0
    assert nothing < 0.6
    assert binary < 1.1
    _, flat = shape_function(model, 2)
    _, lively = shape_function(model, 0)
    assert np.ptp(flat) < 0.1 * np.ptp(lively)


@pytest.mark.parametrize("as_many", [0, np.inf])
def test_few_rows_choose_as_much_freedom_with_or_without_a_factor(as_many, monkeypatch):
    """Also where columns say nearly the same, for which steps by products are easily too rough."""
    X, y = load_diabetes(return_X_y=True)
    monkeypatch.setattr(turns, "AS_MANY", as_many)
    model = AdditiveRegressor(**SETTINGS).fit(X, y)
    monkeypatch.setattr(turns, "AS_MANY", np.inf)
    go_on_until_still(monkeypatch)
    still = AdditiveRegressor(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(freedoms(model), freedoms(still), atol=0.1)


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
    curve = Spline(20)
    single = [error(AdditiveRegressor(curve, C=C)) for C in 10.0 ** np.arange(-3, 3)]
    assert tuned < 0.8 * min(single)


ESTIMATORS = [
    (AdditiveRegressor, lambda y: y),
    (AdditiveClassifier, lambda y: y > 0.3),
    (AdditiveClassifier, lambda y: np.digitize(y, [-0.3, 0.8])),
]


@pytest.mark.parametrize(("estimator", "target"), ESTIMATORS)
def test_a_count_of_two_is_two_rows(estimator, target, monkeypatch):
    """In knots, variances, the noise, degrees of freedom and importances.

    Turns go on until nothing moves: which of them is the last otherwise depends on rounding.
    """
    go_on_until_still(monkeypatch)
    random = np.random.default_rng(7)
    X, signal, _ = rough_and_smooth(400)
    X[:, 1] = random.lognormal(size=400)
    y = target(signal + 0.5 * random.normal(size=400))
    X[random.random(400) < 0.2, 2] = np.nan
    weights = random.integers(0, 4, 400)
    options = {"tol": 1e-8, "categorical_features": [3], "random_state": 0}
    options["terms"] = {0: Hermite(20, scale="standard")}
    one = estimator(**options).fit(X, y, counts=weights)
    again = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    two = estimator(**options).fit(*again, counts=np.ones(weights.sum()))
    for a, b in zip(one.terms_, two.terms_, strict=True):
        np.testing.assert_array_equal(a.knots, b.knots)
        axes = a.group.embedding.axes, b.group.embedding.axes
        assert axes[0].first[0] == pytest.approx(axes[1].first[0], rel=1e-12)
        assert a.smoothness == pytest.approx(b.smoothness, rel=1e-3)
        assert a.edf == pytest.approx(b.edf, rel=1e-3)
        np.testing.assert_allclose(a.coef, b.coef, rtol=1e-3, atol=3e-4)
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-4)
    np.testing.assert_allclose(one.feature_importances_, two.feature_importances_, atol=1e-4)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 1e4])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_units_of_the_target_do_not_matter(factor, shift):
    X, signal, random = rough_and_smooth(500)
    y = signal + random.normal(size=500)
    model = AdditiveRegressor(tol=1e-8, **SETTINGS).fit(X, y)
    other = AdditiveRegressor(tol=1e-8, **SETTINGS).fit(X, factor * y + factor * shift)
    np.testing.assert_allclose(freedoms(other), freedoms(model), rtol=1e-5)
    np.testing.assert_allclose(other.predict(X) / factor - shift, model.predict(X), atol=1e-6)


def test_several_classes_share_their_smoothness():
    X, signal, random = rough_and_smooth(1500)
    y = np.digitize(signal + 0.5 * random.normal(size=len(X)), [-0.7, 0.7])
    model = AdditiveClassifier(**SETTINGS).fit(X, y)
    assert freedoms(model).shape == (4,)
    assert freedoms(model)[0] > 5 * freedoms(model)[2]
    assert model.score(X, y) > 0.6


def unlike_labels(has_missing, n=800):
    """Two labels, of which one depends on the first feature and the other on the second."""
    X, _, random = rough_and_smooth(n)
    signals = np.stack([2.0 * np.sin(9.0 * X[:, 0]), 2.0 * X[:, 1]], axis=1)
    labels = (signals + random.logistic(size=(n, 2)) > 0.0).astype(int)
    if has_missing:
        X[random.random(X.shape) < 0.1] = np.nan
    return X, labels


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_labels_are_fitted_as_if_alone(has_missing, weight):
    """Smoothness, curves, degrees of freedom, bands and tests of curves: they are unrelated."""
    X, labels = unlike_labels(has_missing)
    model = AdditiveClassifier(class_weight=weight, **SETTINGS).fit(X, labels)
    alone = [AdditiveClassifier(class_weight=weight, **SETTINGS).fit(X, y) for y in labels.T]
    own = np.stack([one.predict_proba(X)[:, 1] for one in alone], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), own, atol=1e-9)
    np.testing.assert_allclose(freedoms(model), sum(map(freedoms, alone)), rtol=1e-9)
    assert model.terms_[0].smoothness.shape == (2,)
    bands = [inspection.band(one, 0, n_points=20) for one in (model, *alone)]
    for k in range(2):
        for j in range(4):
            smoothness = alone[k].terms_[j].smoothness
            assert model.terms_[j].smoothness[k] == pytest.approx(smoothness, rel=1e-9)
        np.testing.assert_allclose(bands[0].upper[:, k], bands[1 + k].upper, rtol=1e-6)


def test_surfaces_of_labels_have_a_smoothness_each():
    """The pairs are found for all labels together."""
    X, _ = unlike_labels(False, 3000)
    random = np.random.default_rng(1)
    signals = np.stack([3.0 * X[:, 0] * X[:, 1], 2.0 * X[:, 2]], axis=1)
    labels = (signals + random.logistic(size=signals.shape) > 0.0).astype(int)
    model = AdditiveClassifier(interactions=1, **SETTINGS).fit(X, labels)
    (surface,) = model.terms_.pairs
    assert surface.features == (0, 1)
    assert surface.smoothness[0] > 10.0 * surface.smoothness[1]


@pytest.mark.parametrize("curve", [Fourier(5), Hermite(5)], ids=str)
def test_other_bases(curve):
    X, signal, random = rough_and_smooth()
    y = signal + random.normal(size=len(X))
    model = AdditiveRegressor(curve, **SETTINGS).fit(X, y)
    assert freedoms(model)[0] > 3
    assert freedoms(model)[2] < 1
    assert model.score(X, y) > 0.2


def test_a_constant_column_has_no_freedom():
    X, signal, random = rough_and_smooth(400)
    X[:, 2] = 7.0
    model = AdditiveRegressor(**SETTINGS).fit(X, signal + random.normal(size=400))
    assert freedoms(model)[2] == 0
    assert model.terms_[2].smoothness == 0
    assert not model.terms_[2].coef.any()


def test_few_gaps_count_as_the_mean_and_many_as_what_they_are():
    """A gap that says nothing is drawn to the mean; one that says something, the more it is so."""
    X, signal, random = rough_and_smooth(1000)
    gap = random.random(1000) < 0.3
    X[gap, 1] = np.nan
    nothing = np.where(gap, 1.5 * np.sin(9 * X[:, 0]) + 0.5 * X[:, 3], signal)
    noise = 0.5 * random.normal(size=1000)
    model = AdditiveRegressor(**SETTINGS).fit(X, nothing + noise)
    term = model.terms_[1]
    at_values = term.evaluate(X[~gap, 1]).mean()
    assert term.at_missing[0] == pytest.approx(at_values, abs=0.1)
    shifted = AdditiveRegressor(**SETTINGS).fit(X, nothing + noise + 2.0 * gap)
    term = shifted.terms_[1]
    assert term.at_missing[0] - term.evaluate(X[~gap, 1]).mean() == pytest.approx(2.0, abs=0.2)


def with_one_far_off():
    """A row that is far away from all others in one column."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = random.random(2000) < expit(np.sin(2 * X[:, 0]) - X[:, 1])
    X[0] = 40.0
    return X, y


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (AdditiveRegressor, lambda: load_diabetes(return_X_y=True)),
        (AdditiveClassifier, lambda: load_wine(return_X_y=True)),
        (AdditiveClassifier, with_one_far_off),
    ],
    ids=["diabetes", "three classes", "one row far off"],
)
def test_the_order_of_rows_and_the_units_of_columns_change_little(kind, rows):
    X, y = rows()
    model = kind(**SETTINGS)

    def scores(X, y, at):
        model.fit(X, y)
        found = model.decision_function(at) if hasattr(model, "decision_function") else None
        return model.predict(at) if found is None else found

    expected = scores(X, y, X)
    spread = expected.std(axis=0).max()
    other = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(scores(X[other], y[other], X), expected, atol=0.02 * spread)
    units = 3.7 * X + 11.0
    np.testing.assert_allclose(scores(units, y, units), expected, atol=0.02 * spread)


def test_steps_of_variances_end_soon():
    """Plain steps that go 5, 30 and 90 % of the remaining way take 160 turns to 1e-3."""
    share, end = np.array([0.05, 0.3, 0.9]), np.array([-3.0, 2.0, 1.0])
    now, first, pace, n_turns = np.ones(3), np.ones(3), smoothness.Pace(), 0
    while np.abs(np.log(now) - end).max() > 1e-3:
        n_turns += 1
        now = pace.lengthened(now, now * np.exp(share * (end - np.log(now))), first)
    assert n_turns <= 20
