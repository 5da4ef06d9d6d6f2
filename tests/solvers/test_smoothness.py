"""Smoothness by REML: against the marginal likelihood itself, and what users see of it."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_diabetes
from written_out import explicit

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.curves.basis import BSplineBasis
from splinear.inspection import shape_function
from splinear.solvers.newton.banded import penalized_bands
from splinear.solvers.problems.loss_sums import Separable
from splinear.solvers.problems.losses import Logistic, SquaredError
from splinear.solvers.problems.problem import Problem, Stopping
from splinear.solvers.problems.softmax import Softmax
from splinear.solvers.problems.units import Units
from splinear.solvers.reml import choosing, smoothness, turns
from splinear.solvers.reml.posterior import posterior_variances
from splinear.solvers.reml.smoothness import choose_smoothness
from splinear.solvers.rows.training_rows import TrainingRows
from splinear.tables.opening import open_table
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

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
    total = Separable(problem, SquaredError(), units=units)
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_one_curve_maximizes_the_marginal_likelihood(name, pooled, weighted, laid_out):
    """The variance is the best of all; for the edge weights that were chosen, if there are any."""
    X, levels, y = one_column(name)
    weights = np.random.default_rng(2).integers(1, 4, len(y)) * 1.0 if weighted else None
    layout = laid_out(X, {0: TERMS[name]}, levels)
    found = chosen_for(X, layout, y, weights, pooled=pooled)
    (group,) = found.layout.groups
    has_edges = name in ("curve", "quantile knots", "degree 0") and not pooled
    assert (group.edges is not None) == has_edges
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


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("name", ["cubic, D_2", "Fourier", "two levels", "twenty levels"])
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
    """t = sum_k w_k d_k^2 / e with the posterior of NumPy, summed over outputs."""
    X, _, y = one_column("curve", 500, noise=1.0)
    layout = laid_out(X, {0: TERMS["curve"]})
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    labels = np.digitize(y, [0.3] if n_classes == 2 else [-0.3, 0.8])
    if n_classes == 2:
        signs = rows.place((2 * labels - 1).astype(np.int8))
        total = Separable(Problem(signs, Logistic(), 1.0, 1.0), Logistic())
    else:
        total = Softmax(rows.place(labels), np.ones(len(y)), 3)
    found = choose_smoothness(rows, [total], Stopping(tol=1e-6), settled=1e-7)
    (group,), (start,) = found.layout.groups, found.starts
    t, edges = group.embedding.variance[0], group.edges[0]
    F = rows.scores(start.coef) + np.reshape(start.intercept, (-1, 1))
    phi = unit_features(layout, X) / np.sqrt(edges)
    squares = free = 0.0
    for theta, h in zip(start.coef, total.curvature(F).diagonal, strict=True):
        squares += np.sum(edges * group.embedding.penalty.difference(theta) ** 2)
        free += freedom(phi * np.sqrt(t), rows.restore(h))
    assert free == pytest.approx(found.edf[0][0], rel=1e-3)
    assert t == pytest.approx(squares / free, rel=5e-3)


def test_edge_weights_are_those_that_increments_ask_for(laid_out):
    """w_k = 1 / sqrt(E_k + mean E), of mean 1, with E_k = d_k^2 + Var(d_k), written out."""
    X, _, y = one_column("curve")
    layout = laid_out(X, {0: TERMS["curve"]})
    found = chosen_for(X, layout, y)
    (group,), (start,) = found.layout.groups, found.starts
    t, edges = group.embedding.variance[0], group.edges[0]
    phi = unit_features(layout, X) * np.sqrt(t / edges)
    A = np.column_stack([phi, np.ones(len(y))])
    H = A.T @ A + np.diag(np.append(np.ones(phi.shape[1]), 0.0))
    variance = np.diagonal(np.linalg.inv(H))[:-1] * t / edges
    steps = group.embedding.penalty.difference(start.coef[0])
    centered = y - y.mean()
    residual = centered - (A @ np.append(steps / np.sqrt(t / edges), start.intercept))
    noise = residual @ residual / (len(y) - found.edf[0][0] - 1)
    E = steps**2 / noise + variance
    w = 1 / np.sqrt(E + E.mean())
    np.testing.assert_allclose(edges, w / w.mean(), rtol=1e-3)


def many_terms(n, n_columns, seed=0):
    """Two waves, a step, a column that repeats another one in part, and others that say nothing."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, n_columns))
    X[:, 1] = np.round(X[:, 0] + 0.3 * random.normal(size=n), 1)
    return X, 2.0 * np.sin(8.0 * X[:, 0]) + X[:, 1] ** 2 + 3.0 * (X[:, 3] > 0.6), random


@pytest.mark.parametrize(("n", "n_columns"), [(1500, 5), (6000, 5), (3000, 20)])
@pytest.mark.parametrize("loss", [SquaredError(), Logistic()], ids=repr)
def test_turns_end_when_no_degree_of_freedom_moves(loss, n, n_columns, laid_out, monkeypatch):
    """Not a turn too early: a run that goes on until nothing changes ends within the tolerance.

    One turn more, at the smoothness that was chosen, moves nothing by more either. With 20 columns
    a turn is a step by products, with 5 it is solved for.
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
    total = Separable(Problem(y, loss, 1.0, 1.0, targets=targets), loss)
    found = choose_smoothness(rows, [total], Stopping())
    assert smoothness.LEAST_TURNS <= found.n_turns < 25
    once_more = choose_smoothness(rows, [total], Stopping(), begin=found, max_turns=1)
    monkeypatch.setattr(smoothness, "SETTLED_LOSSES", 1e-9)
    until_still = choose_smoothness(rows, [total], Stopping(), settled=1e-6, max_turns=150)
    assert until_still.n_turns > found.n_turns
    (end,) = until_still.edf
    most = smoothness.SETTLED * np.maximum(end, smoothness.LEAST_FREEDOM)
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
    """Of the differences, with the intercept integrated out; a gap is not tied to its curve."""
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
            gap = random.random(n) < 0.3
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
        M = (S + B[:, j].T @ B[:, j] - np.outer(u[j], u[j]))[np.ix_(at, at)]
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


def test_several_labels_share_their_smoothness():
    X, signal, random = rough_and_smooth(800)
    noisy = signal[:, None] + 0.5 * random.normal(size=(800, 2))
    model = AdditiveClassifier(**SETTINGS).fit(X, (noisy > [0.0, 0.5]).astype(int))
    alone = AdditiveClassifier(**SETTINGS).fit(X, noisy[:, 0] > 0)
    assert freedoms(model)[0] > 1.5 * freedoms(alone)[0]  # of both labels
    assert model.terms_[0].smoothness == pytest.approx(alone.terms_[0].smoothness, rel=0.8)


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
