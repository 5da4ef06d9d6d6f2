"""Bands, standard errors, intervals, p-values and summaries as users see them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.inspection import (
    band,
    base_value,
    concurvity,
    contributions,
    shape_function,
    standard_error,
    summary,
)
from splinear.inspection.summary import upper_tail
from splinear.model import covariance
from splinear.terms import Linear, Spline

LARGE = 1e8  # a C under which a penalty is nothing


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(diabetes):
    return AdditiveRegressor(random_state=0).fit(*diabetes)


def straight(n=200, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    X[:, 2] += X[:, 0]
    return X, X @ [1.0, -0.5, 0.0] + random.normal(size=n)


def test_slopes_have_the_errors_of_least_squares():
    sm = pytest.importorskip("statsmodels.api")
    X, y = straight()
    model = AdditiveRegressor(Linear(), C=LARGE, tol=1e-8).fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    for j in range(3):
        x, lower, upper = band(model, j, level=0.9)
        half = stats.t.ppf(0.95, len(y) - 4) * theirs.bse[j + 1] * np.abs(x - X[:, j].mean())
        assert_allclose((upper - lower) / 2, half, rtol=1e-4, atol=1e-8)
    rows = theirs.get_prediction(sm.add_constant(X)).summary_frame(alpha=0.1)
    expected = rows[["mean_ci_lower", "mean_ci_upper"]]
    assert_allclose(model.predict_interval(X, 0.9), expected, rtol=1e-4, atol=1e-4)
    expected = rows[["obs_ci_lower", "obs_ci_upper"]]
    assert_allclose(model.predict_interval(X, 0.9, "observation"), expected, rtol=1e-4, atol=1e-4)


def test_slopes_have_the_errors_of_logistic_regression():
    sm = pytest.importorskip("statsmodels.api")
    X, y = straight(seed=1)
    model = AdditiveClassifier(Linear(), C=LARGE, tol=1e-8).fit(X, y > 0)
    theirs = sm.Logit((y > 0).astype(float), sm.add_constant(X)).fit(disp=0)
    for j in range(3):
        x, lower, upper = band(model, j)
        half = stats.norm.ppf(0.975) * theirs.bse[j + 1] * np.abs(x - X[:, j].mean())
        assert_allclose((upper - lower) / 2, half, rtol=1e-3, atol=1e-8)
    design = sm.add_constant(X)
    errors = np.sqrt(np.einsum("ia,ab,ib->i", design, theirs.cov_params(), design))
    assert_allclose(standard_error(model, X), errors, rtol=1e-3)


def test_a_curve_is_about_as_well_known_as_in_another_gam():
    """statsmodels has another basis, another penalty and another choice of smoothness."""
    gam = pytest.importorskip("statsmodels.gam.api")
    random = np.random.default_rng(0)
    X = random.random((600, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * random.normal(size=600)
    splines = gam.BSplines(X, df=[12, 12], degree=[3, 3])
    theirs = gam.GLMGam(y, exog=np.ones((600, 1)), smoother=splines, alpha=[1.0, 1.0])
    theirs = theirs.fit()
    _, error = theirs.partial_values(0)
    own = AdditiveRegressor(random_state=0).fit(X, y)
    _, lower, upper = band(own, 0, grid=X[:, 0])
    inner = (X[:, 0] > 0.1) & (X[:, 0] < 0.9)
    ratio = (upper - lower)[inner] / (2 * 1.96 * error[inner])
    assert 0.6 < np.median(ratio) < 1.5  # theirs has more degrees of freedom


def test_a_band_is_around_the_centered_curve(model):
    x, lower, upper = band(model, "bmi")
    grid, f = shape_function(model, "bmi", center=True)
    assert_array_equal(x, grid)
    assert_allclose((lower + upper) / 2, f, atol=1e-9)
    assert (lower < upper).all()
    same = band(model, "bmi", x[::10])  # the grid comes third, as in shape_function
    assert_allclose(same.lower, lower[::10])


def test_simultaneous_bands_contain_pointwise_ones(model):
    for name in ("bmi", "s5", "sex"):
        _, lower, upper = band(model, name)
        _, all_lower, all_upper = band(model, name, kind="simultaneous")
        assert (all_lower <= lower).all()
        assert (all_upper >= upper).all()
    one_step = band(model, "sex"), band(model, "sex", kind="simultaneous")
    assert_allclose(*(b.upper - b.lower for b in one_step), rtol=0.1)  # one number is unknown


def test_a_simultaneous_band_holds_95_of_100_curves(model):
    """Of curves drawn from the posterior, by another generator."""
    x, lower, upper = band(model, "bmi", kind="simultaneous")
    curve, term = model._posteriors[0].curve(2, 0), model.terms_.of_feature(2)
    directions = term.with_parameters(curve.directions)
    values = directions.evaluate(x) - directions.mean
    draws = np.random.default_rng(1).normal(size=(4000, len(curve.mu))) * np.sqrt(curve.variances)
    inside = np.abs(draws @ values.T) <= (upper - lower) / 2
    assert 0.94 < inside.all(axis=1).mean() < 0.975  # of Student's t, so a little more


def test_same_bits(diabetes, model):
    again = AdditiveRegressor(random_state=0).fit(*diabetes)
    for kind in ("pointwise", "simultaneous"):
        bands = [band(fit, 2, level=0.9, kind=kind) for fit in (model, again)]
        for first, second in zip(*bands, strict=True):
            assert_array_equal(first, second)


def test_higher_levels_are_wider(model):
    widths = [
        np.ptp(band(model, "bmi", level=level)[1:], axis=0).mean() for level in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)
    for level in (0.0, 1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="level must be"):
            band(model, "bmi", level=level)
    with pytest.raises(ValueError, match="kind must be"):
        band(model, "bmi", kind="both")
    with pytest.raises(ValueError, match="kind must be"):
        model.predict_interval(load_diabetes().data, kind="both")


@pytest.mark.parametrize("estimator", [AdditiveSVC(C=1.0), AdditiveSVR(C=1.0)])
def test_without_a_likelihood_there_are_no_bands(estimator):
    X, y = straight()
    estimator.fit(X, y > 0 if isinstance(estimator, AdditiveSVC) else y)
    name = type(estimator).__name__
    for ask in (
        lambda: band(estimator, 0),
        lambda: standard_error(estimator, X),
        lambda: summary(estimator),
        lambda: concurvity(estimator),
    ):
        with pytest.raises(TypeError, match=f"{name} has no likelihood"):
            ask()
    assert not hasattr(estimator, "predict_interval")
    with pytest.raises(NotFittedError):
        band(type(estimator)(), 0)


@pytest.mark.parametrize("estimator", [AdditiveClassifier(), AdditiveRegressor()])
def test_before_a_fit_nothing_is_known(estimator):
    X, _ = straight()
    with pytest.raises(NotFittedError):
        estimator.predict_interval(X)
    with pytest.raises(NotFittedError):
        summary(estimator)


def test_categories_gaps_and_dropped_features():
    random = np.random.default_rng(0)
    n = 800
    level = random.choice(["a", "b", "$\\frac{a$", "rare"], n, p=[0.5, 0.3, 0.195, 0.005])
    X = pd.DataFrame({"<b>x\n</b>": random.random(n), "level": level, "unused": random.random(n)})
    y = 2.0 * (X["level"] == "b") + X["<b>x\n</b>"] + random.normal(size=n)
    X.iloc[::9, 0] = np.nan
    X.loc[X.index[::50], "level"] = None
    model = AdditiveRegressor(terms={"unused": "drop"}, random_state=0).fit(X, y)
    x, lower, upper = band(model, "level")
    assert x.tolist() == [*sorted(set(level)), None]
    width = dict(zip(x, upper - lower, strict=True))
    assert width["rare"] > width["b"] > width["a"] > 0
    _, lower, upper = band(model, 0, grid=[0.5, np.nan])
    assert (lower < upper).all()
    _, lower, upper = band(model, "unused")
    assert_array_equal(lower, upper)
    table = summary(model)
    text = str(table)
    assert len(text.splitlines()) == 4 + 2
    assert "<b>x?</b>" in text
    assert "&lt;b&gt;x" in table._repr_html_()
    assert "<b>" not in table._repr_html_()
    assert np.isfinite(model.predict_interval(X)).all()
    assert np.isnan(concurvity(model)[2])


def test_sparse_rows():
    random = np.random.default_rng(0)
    X = sparse.random(500, 6, density=0.3, random_state=0, format="csr")
    y = (X.toarray() @ random.normal(size=6) + 0.3 * random.normal(size=500)) > 0
    model = AdditiveClassifier(random_state=0).fit(X, y)
    _, lower, upper = band(model, 0, grid=[0.0, 0.3, 0.9])
    assert (lower < upper).all()
    errors = standard_error(model, X)
    assert_allclose(errors, standard_error(model, X.toarray()), rtol=1e-6)
    assert model.predict_interval(X).shape == (500, 2, 2)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = AdditiveClassifier(random_state=0).fit(X, y)
    _, lower, _ = band(model, 3)
    assert lower.shape == (200, 3)
    _, own, _ = band(model, 3, target=1)
    assert_array_equal(own, lower[:, 1])
    intervals, p = model.predict_interval(X), model.predict_proba(X)
    assert (intervals[..., 0] <= p).all()
    assert (p <= intervals[..., 1]).all()
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    several = AdditiveClassifier(random_state=0).fit(X, labels)
    alone = AdditiveClassifier(random_state=0).fit(X, labels[:, 1])
    assert several.predict_interval(X).shape == (150, 2, 2)
    assert several.predict_interval(X)[..., 1].max() <= 1.0
    assert standard_error(several, X).shape == (150, 2)
    assert standard_error(alone, X).shape == (150,)


def test_two_classes():
    X, y = straight()
    model = AdditiveClassifier(random_state=0).fit(X, np.where(y > 0, "yes", "no"))
    intervals, p = model.predict_interval(X, 0.8), model.predict_proba(X)
    assert ((intervals[..., 0] < p) & (p < intervals[..., 1])).all()
    assert_allclose(intervals[:, 0], 1 - intervals[:, 1, ::-1])
    z, f = stats.norm.ppf(0.9), model.decision_function(X)
    reach = z * standard_error(model, X)
    assert_allclose(intervals[:, 1, 0], 1 / (1 + np.exp(reach - f)))


def test_scores_are_best_known_in_the_middle(model, diabetes):
    X, _ = diabetes
    errors = standard_error(model, X)
    parts = contributions(model, X)
    assert_allclose(base_value(model) + parts.sum(axis=1), model.predict(X))
    far = np.abs((X - X.mean()) / X.std()).max(axis=1)
    assert np.corrcoef(errors, far)[0, 1] > 0.3


def test_summary(model):
    table = summary(model)
    frame = table.to_frame()
    assert frame.shape == (10, 8)
    assert set(frame["feature"].tolist()[:2]) == {"bmi", "s5"}  # about as important
    assert frame["importance"].is_monotonic_decreasing
    assert (frame["p_value"].between(0, 1)).all()
    by_name = frame.set_index("feature")
    assert by_name.loc["bmi", "p_value"] < 1e-6
    assert by_name.loc["s4", "p_value"] > 0.05
    assert by_name.loc["sex", "edf"] <= 1.0
    assert "bmi" in str(table)
    assert "<table>" in table._repr_html_()
    assert repr(table) == str(table)


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_degrees_of_freedom_of_several_classes(C):
    """Only differences of classes count: three have two slopes per feature, and two intercepts."""
    X, y = straight(90)
    model = AdditiveClassifier(Linear(), C=C, tol=1e-8).fit(X, np.digitize(y, [-1.0, 1.0]))
    found, p, n_terms = summary(model), model.predict_proba(X), X.shape[1]
    units = [t.evaluate(X[:, t.features[0]])[:, 0] / t.coef[0, 0] for t in model.terms_]
    Z = np.column_stack([np.ones(len(X)), *units])
    curvature = np.eye(3) * p[:, :, None] - p[:, :, None] * p[:, None, :]
    H = np.einsum("ikl,ia,ib->kalb", curvature, Z, Z).reshape(3 * len(Z.T), -1)
    penalty = np.tile([0.0, *(1.0 / term.smoothness for term in model.terms_)], 3)
    influence = np.diag(np.linalg.pinv(H + np.diag(penalty), rcond=1e-12) @ H).reshape(3, -1)
    edf = {line.feature: line.edf for line in found.lines}
    expected = influence.sum(axis=0)
    assert_allclose([edf[f"x{j}"] for j in range(n_terms)], expected[1:], rtol=1e-3)
    assert found.title.endswith(f"{expected.sum():.1f} degrees of freedom")
    assert influence.sum() <= 2 * (1 + n_terms) + 1e-6


def test_concurvity_tells_which_terms_can_stand_in_for_others():
    random = np.random.default_rng(0)
    X = random.random((1000, 3))
    X[:, 1] = X[:, 0] + 0.05 * random.random(1000)
    y = np.sin(6 * X[:, 0]) + X[:, 1] + X[:, 2] + 0.3 * random.normal(size=1000)
    found = concurvity(AdditiveRegressor(random_state=0).fit(X, y))
    assert (found[:2] > 0.8).all()
    assert found[2] < 0.2


def test_p_values_of_a_slope_are_those_of_least_squares():
    sm = pytest.importorskip("statsmodels.api")
    X, y = straight(60)
    model = AdditiveRegressor(Linear(), C=LARGE, tol=1e-8).fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    found = summary(model).to_frame().set_index("feature")["p_value"]
    # The saddlepoint is off by some percent for a single chi-square.
    assert_allclose([found[f"x{j}"] for j in range(3)], theirs.pvalues[1:], rtol=0.1, atol=1e-12)


@pytest.mark.parametrize("q", [0.5, 3.0, 4.9, 5.0, 20.0])
def test_tails_of_quadratic_forms(q):
    weights = np.array([2.0, 1.0, 1.0, 0.5, 0.5])
    draws = np.random.default_rng(0).chisquare(1, (400_000, 5)) @ weights
    assert upper_tail(q, weights, np.ones(5)) == pytest.approx(np.mean(draws > q), abs=0.01)
    assert upper_tail(q, np.ones(1), np.full(1, 5.0)) == pytest.approx(
        stats.chi2.sf(q, 5), rel=0.01
    )
    f = upper_tail(0.0, np.array([1.0, -q / 50]), np.array([1.0, 50.0]))
    assert f == pytest.approx(stats.f.sf(q, 1, 50), rel=0.1)


def test_p_values_of_noise_are_uniform():
    """Over 100 data sets; benchmarks/bands.py has 500, of several losses."""
    found = []
    for seed in range(100):
        random = np.random.default_rng(seed)
        X = random.random((200, 3))
        y = np.sin(6 * X[:, 0]) + 0.5 * random.normal(size=200)
        fit = AdditiveRegressor(Spline(16), random_state=0).fit(X, y)
        found += summary(fit).to_frame().set_index("feature")["p_value"][["x1", "x2"]].tolist()
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_coverage():
    """Over 30 data sets; benchmarks/bands.py has 500."""
    shares = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        X = random.random((400, 2))
        truth = np.sin(6 * X[:, 0])
        fit = AdditiveRegressor(random_state=0).fit(X, truth + 0.5 * random.normal(size=400))
        _, lower, upper = band(fit, 0, grid=X[:, 0])
        centered = truth - truth.mean()
        shares.append(np.mean((lower <= centered) & (centered <= upper)))
    assert 0.9 < np.mean(shares) < 0.985


def test_very_many_levels_have_no_band(monkeypatch):
    monkeypatch.setattr(covariance, "MOST_PARAMETERS", 10)
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.integers(0, 3, 300), "code": random.integers(0, 30, 300)})
    X["code"] = X["code"].astype(str)
    model = AdditiveRegressor(random_state=0).fit(X, random.normal(size=300) + X["x"])
    assert (band(model, "x").lower <= band(model, "x").upper).all()
    with pytest.raises(ValueError, match="'code' has more than"):
        band(model, "code")
    with pytest.raises(ValueError, match="has more than"):
        model.predict_interval(X)
    frame = summary(model).to_frame().set_index("feature")
    assert np.isnan(frame.loc["code", "p_value"])
    assert np.isfinite(frame.loc["x", "p_value"])


def test_levels_that_a_sample_of_the_rows_does_not_have():
    """How terms hang together is seen in some of the rows; a rare level may have none there."""
    random, n = np.random.default_rng(0), 20_000
    level = random.choice(["a", "b"], n).astype(object)
    level[random.choice(n, 12, replace=False)] = [f"rare {k}" for k in range(12)]
    X = pd.DataFrame({"x": random.normal(size=n), "level": level})
    y = random.random(n) < 1 / (1 + np.exp(-X["x"] - (level == "a")))
    model = AdditiveClassifier(random_state=0).fit(X, y)
    table = summary(model).to_frame()
    assert (table["p_value"] < 1e-6).all()
    assert table["concurvity"].between(0.0, 0.1).all()
    assert np.isfinite(standard_error(model, X[:100])).all()
