"""Quantiles: the pinball loss, its surrogates, and several levels that never cross."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from written_out import explicit

import splinear
from splinear import AdditiveRegressor, PathSearchCV, report
from splinear.export import to_json, to_onnx, to_sql
from splinear.inspection import base_value, contributions, explain, shape_function, summary
from splinear.losses import Quantile
from splinear.losses.quantile import SmoothedQuantile
from splinear.losses.survey import Survey
from splinear.terms import Fourier, Linear, Spline

UNIFORM = Spline(8, knots="uniform")
LEVELS = (0.1, 0.5, 0.9)


def noisy(n=300, seed=0):
    """The scale of the noise depends on the second feature; the third does not matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, np.sin(3.0 * X[:, 0]) + (0.5 + 0.4 * X[:, 1]) * rng.normal(size=n)


def truth(X, level):
    return np.sin(3.0 * X[:, 0]) + (0.5 + 0.4 * X[:, 1]) * norm.ppf(level)


def model_of(level, **given):
    curve = given.pop("curve", UNIFORM)
    return AdditiveRegressor(curve, loss=Quantile(level), random_state=0, **given)


# -- oracles ---------------------------------------------------------------------------------------


def least(Q, c, G, h):
    """Return min 1/2 x'Q x + c'x subject to G x <= h, by a primal-dual interior point method."""
    x, s, z = np.zeros(len(c)), np.maximum(h, 1.0), np.ones(len(h))
    for _ in range(200):
        gradient, off = Q @ x + c + G.T @ z, G @ x + s - h
        mu = s @ z / len(h)
        if mu < 1e-11 and np.abs(gradient).max() < 1e-9 and np.abs(off).max() < 1e-9:
            break
        H = Q + (G.T * (z / s)) @ G + 1e-13 * np.eye(len(c))
        r = z - 0.1 * mu / s
        dx = np.linalg.solve(H, -(gradient + G.T @ ((z * off) / s - r)))
        ds = -off - G @ dx
        dz = -r - z / s * ds
        t = [np.min(-v[d < 0] / d[d < 0], initial=np.inf) for v, d in ((s, ds), (z, dz))]
        t = min(1.0, 0.995 * min(t))
        x, s, z = x + t * dx, s + t * ds, z + t * dz
    return 0.5 * x @ Q @ x + c @ x


def problem(phi, y, cost, levels):
    """Return Q, c, G, h of 1/2 |w|^2 + sum of cost times pinball, with x = (w, b, losses), ..."""
    n, p = phi.shape
    k, size = len(levels), p + 1 + n
    Q, c = np.zeros((k * size,) * 2), np.zeros(k * size)
    G, h = np.zeros((2 * k * n, k * size)), np.zeros(2 * k * n)
    F = np.column_stack([phi, np.ones(n)])
    for j, q in enumerate(levels):
        at, rows = j * size, 2 * j * n
        Q[range(at, at + p), range(at, at + p)] = 1.0
        c[at + p + 1 : at + size] = cost
        for slope in (q, q - 1.0):  # loss >= slope (y - f)
            G[rows : rows + n, at : at + p + 1] = -slope * F
            G[range(rows, rows + n), range(at + p + 1, at + size)] = -1.0
            h[rows : rows + n] = -slope * y
            rows += n
    return Q, c, G, h


CASES = {
    "plain": {},
    "weights": {"sample_weight": np.random.default_rng(1).uniform(0.2, 3.0, 120)},
    "counts": {"counts": np.random.default_rng(2).integers(1, 4, 120)},
    "offset": {"offset": np.random.default_rng(3).normal(size=120)},
    "missing": {},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_objective_is_that_of_a_quadratic_program(level, case):
    X, y = noisy(120)
    fit, C = CASES[case], 2.0
    if case == "missing":
        X[::5, 1] = np.nan
    model = model_of(level, C=C, tol=1e-7).fit(X, y, **fit)
    assert model.certified_
    cost = C * fit.get("sample_weight", fit.get("counts", np.ones(120)))
    phi = explicit(model._model.layout, X) / np.sqrt(C)  # variances are C s^2
    expected = least(*problem(phi, y - fit.get("offset", 0.0), cost, [level])) / C
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


def test_a_weak_penalty_leads_to_the_linear_program():
    X, y = noisy(150)
    model = model_of(0.7, C=1e6, tol=1e-5).fit(X, y)
    phi = explicit(model._model.layout, X) / 1e3
    n, p = phi.shape
    found = linprog(
        np.r_[np.zeros(p + 1), np.full(n, 0.7), np.full(n, 0.3)],
        A_eq=np.hstack([phi, np.ones((n, 1)), np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * (p + 1) + [(0, None)] * (2 * n),
    )
    own = n * mean_pinball_loss(y, model.predict(X), alpha=0.7)
    assert own == pytest.approx(found.fun, rel=1e-3)
    assert own >= found.fun * (1.0 - 1e-9)


def test_several_levels_are_those_of_a_quadratic_program():
    """Models of the levels alone would cross: these objectives are lower."""
    X, y = noisy(60)
    X, C, levels = X[:, :2], 5.0, (0.25, 0.5, 0.75)
    model = model_of(levels, C=C, tol=1e-6, curve=Spline(4, knots="uniform")).fit(X, y)
    assert model.certified_
    layout = model._model.layout
    phi = explicit(layout, X) / np.sqrt(C)
    Q, c, G, h = problem(phi, y, np.full(60, C), levels)
    alone = sum(least(*problem(phi, y, np.full(60, C), [q])) for q in levels) / C
    # The values of the curves at their knots, less variables that are their least ones.
    edges = [np.linspace(X[:, j].min(), X[:, j].max(), 5) for j in range(2)]
    at = [explicit(layout, np.column_stack([e, e])) / np.sqrt(C) for e in edges]
    size, p = phi.shape[1] + 1 + 60, phi.shape[1]
    n_x, more = len(c), []
    for a in range(2):
        total = np.zeros(n_x + 4)
        total[[a * size + p, (a + 1) * size + p]] = 1.0, -1.0
        for j in range(2):
            own = slice(j * p // 2, (j + 1) * p // 2)
            for row in at[j][:, own]:
                one = np.zeros(n_x + 4)
                one[a * size : a * size + p][own] = row
                one[(a + 1) * size : (a + 1) * size + p][own] = -row
                one[n_x + 2 * a + j] = 1.0
                more.append(one)
            total[n_x + 2 * a + j] = -1.0
        more.append(total)
    G = np.vstack([np.pad(G, [(0, 0), (0, 4)]), more])
    h, c, Q = np.r_[h, np.zeros(len(more))], np.r_[c, np.zeros(4)], np.pad(Q, (0, 4))
    expected = least(Q, c, G, h) / C
    assert expected > alone * 1.001
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


# -- the loss and its surrogate --------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.05, 0.5, 0.8])
def test_the_loss_is_that_of_scikit_learn(level):
    rng = np.random.default_rng(0)
    y, f, w = rng.normal(size=50), rng.normal(size=50), rng.uniform(size=50)
    loss = Quantile(level)
    expected = mean_pinball_loss(y, f, alpha=level)
    assert loss.value(y, f).mean() == pytest.approx(expected, rel=1e-12)
    assert loss.quality(y, f, w) == d2_pinball_score(y, f, sample_weight=w, alpha=level)
    shift = loss.shift(y, f, w)
    for other in (shift - 0.05, shift + 0.05):
        assert w @ loss.value(y, f + shift) <= w @ loss.value(y, f + other)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.8])
def test_surrogates_are_smooth_and_their_slopes_feasible(level):
    y, f = np.zeros(101), np.linspace(-3.0, 3.0, 101)
    smooth, h = SmoothedQuantile(level, 0.2), 1e-5
    rise = (smooth.value(y, f + h) - smooth.value(y, f - h)) / (2 * h)
    assert_allclose(smooth.slope(y, f), rise, atol=1e-8)
    bend = (smooth.slope(y, f + h) - smooth.slope(y, f - h)) / (2 * h)
    assert_allclose(smooth.curvature(y, f), bend, atol=1e-7)
    value, slope, curvature = smooth.evaluate(y, f[None], np.full(101, 2.0))
    assert_allclose(value, 2.0 * smooth.value(y, f), rtol=1e-12)
    assert_allclose(slope[0], 2.0 * smooth.slope(y, f), rtol=1e-9, atol=1e-12)
    assert_allclose(curvature.diagonal[0], 2.0 * smooth.curvature(y, f), rtol=1e-9)
    above = smooth.value(y, f) - Quantile(level).value(y, f)
    assert above.min() >= 0.0
    assert above.max() == pytest.approx(0.2 * np.log(2.0))
    # As a slope of the pinball loss: |y - f| times the share of the kernel beyond, by quadrature.
    gap = Quantile(level).gap(y, f[None], smooth.slope(y, f)[None])
    assert_allclose(gap, np.abs(f) / (1.0 + np.exp(np.abs(f) / 0.2)), rtol=1e-9)
    assert np.isinf(Quantile(level).gap(y, f[None], np.full((1, 101), 1.0 - level + 1e-6))).all()
    cautious = smooth.cautious(y, f[None], np.ones(101)).diagonal[0]
    there = np.abs(f) > 0.2  # parabolas that touch at f and -f lie above everywhere
    for g in (-1.0, 0.0, 0.3, 2.0):
        own = smooth.value(y, f) + smooth.slope(y, f) * (g - f) + 0.5 * cautious * (g - f) ** 2
        assert np.all(own[there] >= smooth.value(y, np.full(101, g))[there] - 1e-12)


def test_the_gap_of_a_surrogate_is_a_relative_entropy():
    y, f = np.zeros(7), np.linspace(-1.0, 1.0, 7)
    smooth = SmoothedQuantile(0.3, 0.5)
    R = np.full((1, 7), 0.2)  # its slope at the score below
    at = 0.5 * np.log(0.5 / 0.5) * np.ones(7)
    expected = smooth.value(y, f) - smooth.value(y, at) - R[0] * (f - at)
    assert_allclose(smooth.gap(y, f[None], R), expected, atol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan, "0.5", True, [0.1, 0.1], [], [0.5, 2.0]])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(ValueError, match="needs a level between 0 and 1"):
        Quantile(level)


def test_surveys_add_up_to_the_number_of_observations():
    y, w = np.arange(6.0), np.array([1.0, 1.0, 2.0, 2.0, 2.0, 0.0])
    parts = Survey.of(y[:2], w[:2]) + Survey.of(y[2:], w[2:])
    assert parts.n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    counts = np.array([1.0, 2.0, 3.0])
    assert Survey.of(y[:3], counts, counts=counts).n_effective == pytest.approx(6.0)


# -- fits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_shares_below_predictions_are_the_level_on_rows_not_seen(level):
    """The noise is larger on one side. The standard error of a share of 5,000 rows is 0.004 to
    0.007, and the quantile of the 3,000 training rows has one of up to 0.009.
    """
    X, y = noisy(3000)
    model = AdditiveRegressor(loss=Quantile(level), random_state=0).fit(X, y)
    assert model.certified_
    new, at = noisy(5000, seed=1)
    predicted = model.predict(new)
    assert np.mean(at < predicted) == pytest.approx(level, abs=0.025)
    for half in (new[:, 1] < 0.0, new[:, 1] > 0.0):
        assert np.mean(at[half] < predicted[half]) == pytest.approx(level, abs=0.04)
    assert np.sqrt(np.mean((predicted - truth(new, level)) ** 2)) < 0.1


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("y_of", ["ties", "heavy tails", "no noise", "0 and 1"])
@pytest.mark.parametrize("C", [None, 1.0])
def test_hard_targets_are_certified(y_of, C, tol):
    X, y = noisy(200)
    y = {
        "ties": np.floor(3.0 * np.maximum(y, 0.0)),
        "heavy tails": X[:, 0] + np.random.default_rng(5).standard_cauchy(200),
        "no noise": X[:, 0],
        "0 and 1": (y > 0.0).astype(float),
    }[y_of]
    if tol < 1e-3 and C is None and y_of == "no noise":
        pytest.skip("the objective is 0 up to rounding")
    model = model_of(0.7, C=C, tol=tol).fit(X, y)
    assert model.certified_
    assert model.dual_gap_ <= tol


def test_the_unit_of_y_does_not_matter():
    X, y = noisy(400)
    expected = model_of(0.8).fit(X, y).predict(X)
    for unit, shift in ((1e-6, 0.0), (1e5, 0.0), (1.0, 1e6)):
        found = model_of(0.8).fit(X, unit * y + shift).predict(X)
        assert_allclose((found - shift) / unit, expected, atol=0.02)


def test_a_table_with_more_features_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), rng.normal(size=40)
    for C in (None, 1.0):
        assert model_of(0.5, C=C).fit(X, y).certified_


def test_surfaces_shapes_groups_and_starts():
    X, y = noisy(600)
    y = y + X[:, 0] * X[:, 2]
    pair = model_of(0.5, interactions=[(0, 2)]).fit(X, y)
    assert pair.certified_
    assert pair.score(X, y) > model_of(0.5).fit(X, y).score(X, y) + 0.05
    rising = model_of(0.5, terms={0: Spline(monotone="increasing")}).fit(X, y)
    assert rising.certified_
    assert np.all(np.diff(shape_function(rising, 0)[1]) >= -1e-12)
    assert model_of(0.5).fit(X, y, groups=np.arange(600) // 3).certified_
    again = model_of(0.5, C=1.0, warm_start=True).fit(X, y)
    first = again.n_iter_
    assert again.fit(X, y).n_iter_ <= first
    search = PathSearchCV(model_of(0.5), Cs=[1e-3, 1.0, 1e3], cv=2).fit(X, y)
    assert search.best_score_ > 0.2


def test_bands_and_p_values_are_those_of_the_noise():
    """20 tests of a feature without effect, at a level of 0.05."""
    p_values, covered = [], []
    for seed in range(20):
        X, y = noisy(300, seed)
        model = model_of(0.7).fit(X, y)
        p_values += [line.p_value for line in summary(model).lines if line.feature == "x2"]
        low, high = model.predict_interval(X).T
        covered.append(np.mean((low < truth(X, 0.7)) & (truth(X, 0.7) < high)))
    assert np.mean(np.array(p_values) < 0.05) <= 0.2
    assert 0.8 < np.mean(covered) < 0.99


def test_a_report_tells_the_share_below(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    X, y = noisy(400)
    model = model_of(0.9).fit(X, y)
    report.write(model, tmp_path / "model.html", X, y)
    page = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "Quantile (level 0.9)" in page
    assert "Share below" in page
    assert "Means observed" not in page


# -- several levels --------------------------------------------------------------------------------


def far_away(n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, n_features)) * 10.0 ** rng.uniform(-2, 6, (3000, 1))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("C", [None, 3.0])
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_levels_never_cross(C, degree):
    """Noise in few rows: models of single levels cross."""
    X, y = noisy(150)
    X[::6, 1] = np.nan
    curve = Spline(10, degree=degree, penalty_order=max(1, degree - 1))
    model = model_of(LEVELS, C=C, curve=curve).fit(X, y)
    assert model.certified_
    with warnings.catch_warnings():  # of missing values where there were none
        warnings.simplefilter("ignore")
        scores = model._scores(far_away(3))
    assert np.diff(scores, axis=1).min() >= 0.0
    alone = [model_of(q, C=C, curve=curve).fit(X, y)._scores(far_away(3)) for q in LEVELS]
    if degree < 3:
        assert np.diff(np.hstack(alone), axis=1).min() < 0.0
    assert 0.02 < np.mean(y < model.predict(X)[:, 0]) < 0.2


def test_levels_that_do_not_cross_are_those_of_single_models():
    X, y = noisy(1500)
    X, order = X[:, :1], [2, 0, 1]
    levels = [LEVELS[k] for k in order]
    model = model_of(levels, C=0.1).fit(X, y)
    alone = [model_of(q, C=0.1).fit(X, y) for q in levels]
    assert_allclose(model.predict(X), np.column_stack([one.predict(X) for one in alone]))
    assert model.objective_ == pytest.approx(sum(one.objective_ for one in alone))
    assert model.score(X, y) == pytest.approx(np.mean([one.score(X, y) for one in alone]))


def test_levels_of_categories_offsets_and_weights():
    X, y = noisy(300)
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": X[:, 0], "b": rng.choice(list("uvwxyz"), 300)})
    offset, weights = rng.normal(size=300), rng.uniform(0.5, 2.0, 300)
    model = AdditiveRegressor(loss=Quantile(LEVELS), random_state=0)
    model.fit(frame, y + offset, weights, offset=offset)
    assert model.certified_
    found = model.predict(frame, offset=offset)
    assert np.diff(found, axis=1).min() >= 0.0
    assert_allclose(found, model.predict(frame) + offset[:, None])
    new = pd.DataFrame({"a": [0.1, np.nan], "b": ["unknown", None]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.diff(model.predict(new), axis=1).min() >= 0.0


def test_terms_of_levels_add_up_and_are_exported(tmp_path):
    X, y = noisy(300)
    model = model_of([0.9, 0.1]).fit(X, y)
    parts = contributions(model, X)
    assert_allclose(parts.sum(axis=1) + base_value(model), model.predict(X), atol=1e-12)
    assert_allclose(shape_function(model, 0, target=0.1)[1], shape_function(model, 0)[1][:, 1])
    assert "quantile 0.9" in str(explain(model, X[:1], target=0.9).reasons())
    with pytest.raises(ValueError, match=r"The levels are 0\.9, 0\.1"):
        shape_function(model, 0, target=0.5)
    assert '"levels": [0.9, 0.1]' in to_json(model, indent=None)
    assert '"prediction_0.9"' in to_sql(model, "rows")
    splinear.save(model, tmp_path / "model.splinear")
    loaded = splinear.load(tmp_path / "model.splinear")
    assert loaded.loss_ == Quantile([0.9, 0.1])
    assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-12)
    onnx = pytest.importorskip("onnx.reference", reason="onnx is not installed")
    graph = to_onnx(model, dtype="float64")
    given = {graph.graph.input[0].name: X}
    assert_allclose(onnx.ReferenceEvaluator(graph).run(None, given)[0], model.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"curve": Linear()}, "the model has Linear"),
        ({"curve": Fourier()}, "the model has Fourier"),
        ({"curve": Spline(extrapolation="linear")}, "Spline with linear extrapolation"),
        ({"terms": {0: Spline(monotone="increasing")}}, "shape constraints"),
        ({"interactions": [(0, 1)]}, "no surfaces over pairs"),
    ],
)
def test_what_could_cross_is_refused(given, words):
    X, y = noisy(100)
    with pytest.raises(ValueError, match=words):
        model_of(LEVELS, **given).fit(X, y)


def test_what_is_for_one_level_says_so(tmp_path):
    X, y = noisy(200)
    model = model_of(LEVELS, C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="predict_interval is for one quantile"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="predicts several quantiles"):
        report.write(model, tmp_path / "model.html")
    with pytest.raises(ValueError, match="give the loss a single level"):
        PathSearchCV(model_of(LEVELS), Cs=[1.0], cv=2).fit(X, y)


def test_a_fit_that_is_stopped_does_not_cross():
    X, y = noisy(150)
    model = model_of(LEVELS, C=100.0, max_iter=2)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert not model.certified_
    assert np.diff(model._scores(far_away(3)), axis=1).min() >= 0.0


def test_targets_that_are_all_equal_have_equal_quantiles():
    X, _ = noisy(100)
    model = model_of(LEVELS, C=1.0).fit(X, np.full(100, 7.1))
    assert model.certified_
    assert_allclose(model.predict(X), 7.1, rtol=1e-12)
