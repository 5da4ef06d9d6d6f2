"""Varying coefficients against dense models of explicit columns z B(x)."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVR
from splinear.inspection import (
    base_value,
    contributions,
    standard_error,
    summary,
    surface,
    varying_band,
    varying_curve,
)
from splinear.model.additive import Model
from splinear.terms import Category, Linear, Pair, Spline, Varying


def table(n=300, seed=0):
    """A number x, a number z far from 0, and a category g; missing values in all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(0, 1, n),
            "z": rng.normal(50.0, 5.0, n),
            "g": rng.choice(np.array(list("abcd"), dtype=object), n),
        }
    )
    slope = np.where(X["g"] == "a", 0.5, -0.2) + np.sin(6 * X["x"])
    y = np.cos(4 * X["x"]) + 0.3 * (X["z"] - 50) * slope + rng.normal(0, 0.5, n)
    return X, y.to_numpy()


def with_gaps(X):
    X, rng = X.copy(), np.random.default_rng(1)
    for name in X:
        X.loc[rng.random(len(X)) < 0.1, name] = np.nan
    return X


def hats(x, knots):
    return np.stack([np.interp(x, knots, row) for row in np.eye(len(knots))], axis=1)


PAIRS = {"slope": ("x", "z"), "random slope": ("g", "z"), "curve per level": ("x", "g")}


def columns_of(name, X, n_bins):
    """The explicit columns of a term, one group per curve, and the penalty of each group."""
    knots = np.linspace(X["x"].min(), X["x"].max(), n_bins + 1)
    B = hats(X["x"].to_numpy(), knots)
    G = (X["g"].to_numpy()[:, None] == np.array(list("abcd"), dtype=object)).astype(float)
    z = X["z"].to_numpy()
    v = ((z - z.mean()) / z.std())[:, None]
    D = np.eye(n_bins + 1) - np.eye(n_bins + 1, k=-1)
    of_curve = D.T @ D * n_bins  # s^2 = 1 / n_bins
    if name == "slope":
        return [v * (B - B.mean(axis=0))], [of_curve]
    if name == "random slope":
        return [v * (G - G.mean(axis=0))], [np.eye(4)]
    parts = [g[:, None] * (B - B[g > 0].mean(axis=0)) for g in G.T]
    return parts, [of_curve] * 4


@pytest.mark.parametrize("name", PAIRS)
def test_fit_is_that_of_explicit_columns(name):
    X, y = table()
    n_bins, C = 6, 3.0
    curve = Spline(n_bins, knots="uniform")
    of = Category() if name == "random slope" else curve
    model = AdditiveRegressor(
        curve, C=C, terms={PAIRS[name]: Varying(of)}, tol=1e-13, random_state=0
    ).fit(X, y)
    groups, penalties = columns_of(name, X, n_bins)
    groups = [part - part.mean(axis=0) for part in groups]  # levels belong to the intercept
    D = np.eye(n_bins + 1) - np.eye(n_bins + 1, k=-1)
    for column in ("x", "z"):
        values = X[column].to_numpy()
        groups.append(hats(values, np.linspace(values.min(), values.max(), n_bins + 1)))
        penalties = [*penalties, D.T @ D * n_bins]
    groups.append((X["g"].to_numpy()[:, None] == np.array(list("abcd"))).astype(float))
    penalties = [*penalties, np.eye(4)]
    A = np.column_stack([np.ones(len(y)), *groups])
    S = np.zeros((A.shape[1],) * 2)
    start = 1
    for penalty in penalties:
        stop = start + len(penalty)
        S[start:stop, start:stop] = penalty / C
        start = stop
    coef = np.linalg.solve(A.T @ A + S, A.T @ y)
    assert model.certified_
    np.testing.assert_allclose(model.predict(X), A @ coef, rtol=0, atol=1e-6)
    residual = y - A @ coef
    objective = 0.5 * residual @ residual + 0.5 * coef @ S @ coef
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def log_evidence(model, X, y):
    """Minus the restricted log-likelihood of a fitted model's variances, from dense matrices."""
    layout = model._model.layout
    used = np.flatnonzero(layout.used)
    unit = np.eye(layout.n_parameters)[used]
    table = model._read_table(X)
    B = Model(layout, unit, np.zeros(len(used))).scores(table)
    A = np.column_stack([np.ones(len(y)), B])

    def criterion(layout):
        S = np.zeros((A.shape[1],) * 2)
        S[1:, 1:] = np.stack([layout.stiffen(row) for row in unit])[:, used]
        H = A.T @ A + S
        coef = np.linalg.solve(H, A.T @ y)
        residual = y - A @ coef
        least = residual @ residual + coef @ S @ coef
        logs = [np.linalg.slogdet(M)[1] for M in (H, S[1:, 1:])]
        return 0.5 * (len(y) - 1) * np.log(least) + 0.5 * (logs[0] - logs[1])

    return criterion


def changed(layout, of_bends, of_steps):
    """The layout with other variances of the varying coefficient."""
    [group] = layout.pairs
    curve, parts = group.curve, group.curve.parts
    if parts is not None:
        parts = parts.with_variances(of_bends * parts.bend_variance, parts.line_variance)
    curve = curve.with_variance(
        of_steps * curve.embedding.variance, curve.missing_variance, curve.edges, parts
    )
    return layout.with_pairs([group.with_curve(curve)])


@pytest.mark.parametrize(
    ("name", "curve"), [("slope", None), ("slope", Spline(12)), ("random slope", None)]
)
def test_variances_maximize_the_restricted_likelihood(name, curve):
    """To within a twentieth of a unit of it; the straight part of a smooth slope is left free."""
    X, y = table(400)
    terms = {PAIRS[name]: Varying(curve), "z": Linear()}
    model = AdditiveRegressor(
        Spline(12, penalty_order=2, knots="uniform"), terms=terms, random_state=0
    ).fit(X, y)
    criterion, layout = log_evidence(model, X, y), model._model.layout
    chosen = criterion(layout)
    for by in (0.1, 1 / 1.5, 1.5, 10.0):
        assert criterion(changed(layout, by, 1.0)) > chosen - 0.05
        if curve is not None or name == "random slope":
            assert criterion(changed(layout, 1.0, by)) > chosen - 0.05
    assert criterion(changed(layout, 1e-6, 1e-6)) > chosen + 5.0


@pytest.mark.parametrize("C", [1.0, None])
@pytest.mark.parametrize("name", ["slope", "random slope"])
def test_unit_and_origin_of_z_do_not_matter(name, C):
    X, y = table()
    model = AdditiveRegressor(C=C, terms={PAIRS[name]: Varying()}, tol=1e-8, random_state=0)
    expected = model.fit(X, y).predict(X)
    for scale, shift in ((1e-3, 0.0), (-7.0, 1e3)):
        other = X.assign(z=scale * X["z"] + shift)
        found = model.fit(other, y).predict(other)
        # Turned, knots are other numbers; rows are trained on in single precision.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.ptp(expected))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("C", [1.0, None])
def test_contributions_add_up_and_have_mean_zero(name, C):
    X, y = table()
    X = with_gaps(X)
    model = AdditiveRegressor(C=C, terms={PAIRS[name]: Varying()}, random_state=0).fit(X, y)
    assert model.certified_
    parts = contributions(model, X)
    np.testing.assert_allclose(parts.sum(axis=1) + base_value(model), model.predict(X), atol=1e-9)
    np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(parts[:, -1].std(), model.terms_[-1].deviation, rtol=1e-4)
    assert model.terms_[-1].kind == "Varying"
    assert "Varying" in str(summary(model))


def test_the_term_is_the_slope_times_z():
    X, y = table()
    model = AdditiveRegressor(terms={("x", "z"): Varying()}, random_state=0).fit(X, y)
    x, slope = varying_curve(model, ("x", "z"), grid=X["x"])
    centered = (X["z"] - X["z"].mean()).to_numpy()
    expected = slope * centered
    found = contributions(model, X)[:, -1]
    np.testing.assert_allclose(found, expected - expected.mean(), atol=1e-6)
    assert abs(slope.mean()) < 1e-6
    assert np.array_equal(x, X["x"])
    # A line between the ends of the range of z, and constant beyond.
    at = [0.0, *np.quantile(X["z"], [0.0, 0.3, 1.0]), 1e3]
    _, z, f = surface(model, ("x", "z"), ([0.2, 0.8], at))
    np.testing.assert_allclose(f[:, 0], f[:, 1], atol=1e-12)
    np.testing.assert_allclose(f[:, -1], f[:, -2], atol=1e-12)
    steps = np.diff(f[:, 1:4]) / np.diff(z[1:4])
    _, slope = varying_curve(model, ("x", "z"), grid=[0.2, 0.8])
    np.testing.assert_allclose(steps, np.column_stack([slope, slope]), atol=1e-9)


def test_curves_of_levels():
    X, y = table()
    model = AdditiveRegressor(terms={("x", "g"): Varying()}, random_state=0).fit(X, y)
    _, f = varying_curve(model, ("x", "g"), grid=X["x"])
    level = np.searchsorted(list("abcd"), X["g"].to_numpy().astype(str))
    own = f[np.arange(len(X)), level]
    np.testing.assert_allclose(contributions(model, X)[:, -1], own, atol=1e-6)
    for k in range(4):
        assert abs(own[level == k].mean()) < 1e-6


def test_missing_and_unseen_values():
    X, y = table()
    X = with_gaps(X)
    terms = {("x", "z"): Varying(), ("g", "z"): Varying(), ("x", "g"): Varying()}
    model = AdditiveRegressor(terms=terms, random_state=0).fit(X, y)
    mean = X["z"].mean()
    _, _, f = surface(model, ("x", "z"), ([0.1, np.nan], [np.nan, mean]))
    np.testing.assert_allclose(f[:, 0], f[:, 1], atol=1e-6)
    _, slope = varying_curve(model, ("g", "z"))
    assert slope.shape == (5,)
    assert varying_curve(model, ("x", "g"), n_points=7)[1].shape == (7, 5)
    new = X[:3].assign(g="never seen")
    parts = contributions(model, new)
    names = [term.name for term in model.terms_.pairs]
    for name in names:
        if "g" in name:
            assert not parts[:, 3 + names.index(name)].any()


def test_a_weight_of_two_is_two_rows():
    X, y = table(200)
    w = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    model = AdditiveRegressor(
        Spline(6, knots="uniform"), C=1.0, terms={("x", "z"): Varying()}, tol=1e-10, random_state=0
    )
    ends = X[w > 0]
    found = model.fit(X, y, sample_weight=w).predict(ends)
    at = np.repeat(np.arange(len(X)), w.astype(int))
    expected = model.fit(X.iloc[at], y[at]).predict(ends)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_bands_cover_the_slope():
    """On average over 20 tables; a band of the wrong scale would be far from it."""
    inside, x = [], np.linspace(0.02, 0.98, 25)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.uniform(0, 1, 300), rng.normal(0, 1, 300)])
        y = X[:, 1] * np.sin(5 * X[:, 0]) + rng.normal(0, 0.7, 300)
        model = AdditiveRegressor(terms={(0, 1): Varying(), 1: Linear()}, random_state=0).fit(X, y)
        _, lower, upper = varying_band(model, (0, 1), grid=x)
        truth = np.sin(5 * x) - np.sin(5 * X[:, 0]).mean()
        inside.append(((lower < truth) & (truth < upper)).mean())
        assert (standard_error(model, X) > 0).all()
    assert 0.9 < np.mean(inside) < 0.995


def test_draws_have_the_variances_of_the_nodes():
    X, y = table()
    model = AdditiveRegressor(terms={("x", "z"): Varying()}, random_state=0).fit(X, y)
    [joint] = model._posteriors
    posterior = joint.surface((0, 1), 0)
    normal = np.random.default_rng(0).standard_normal((4_000, posterior.group.size))
    found = posterior.draws(normal).var(axis=0)
    np.testing.assert_allclose(found, posterior.node_variances, rtol=0.2, atol=1e-9)
    assert posterior.edf == pytest.approx(model.terms_[-1].edf, rel=0.05)


@pytest.mark.parametrize("C", [0.3, None])
def test_three_classes(C):
    X, y = table()
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = AdditiveClassifier(C=C, terms={("x", "z"): Varying()}, random_state=0).fit(X, classes)
    assert model.certified_
    assert varying_curve(model, ("x", "z"), n_points=5)[1].shape == (5, 3)
    assert varying_band(model, ("x", "z"), n_points=5, target=1).lower.shape == (5,)
    assert model.score(X, classes) > 0.6


def test_beside_pairs_that_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 4))
    y = X[:, 0] * X[:, 1] + 3 * np.sin(3 * X[:, 2]) * X[:, 3] + rng.normal(0, 0.3, 800)
    model = AdditiveRegressor(terms={(2, 3): Varying()}, interactions="auto", random_state=0)
    model.fit(X, y)
    found = {pair.features: pair.kind for pair in model.terms_.pairs}
    assert found[2, 3] == "Varying"
    assert found[0, 1] == "Pair"
    assert model.score(X, y) > 0.95


def test_many_levels():
    """More than there is a covariance for."""
    rng = np.random.default_rng(0)
    g = rng.integers(0, 3_000, 9_000)
    X = pd.DataFrame({"g": pd.Categorical(g), "z": rng.normal(size=9_000)})
    slopes = rng.normal(size=3_000)
    y = slopes[g] * X["z"] + rng.normal(0, 0.1, 9_000)
    model = AdditiveRegressor(terms={("g", "z"): Varying()}, random_state=0).fit(X, y)
    assert model.certified_
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="more than 2,000 levels"):
        standard_error(model, X[:5])
    with pytest.raises(ValueError, match="too many for a band"):
        varying_band(model, ("g", "z"))


def test_too_many_curves():
    g = np.arange(2_100) % 1_050
    X = pd.DataFrame({"x": np.linspace(0, 1, 2_100), "g": pd.Categorical(g)})
    with pytest.raises(ValueError, match=r"1,050 levels.* at most 1,000"):
        AdditiveRegressor(terms={("x", "g"): Varying()}).fit(X, X["x"])


def test_a_feature_with_a_single_value_has_no_varying_coefficient():
    X, y = table(100)
    for name in ("x", "z"):
        model = AdditiveRegressor(terms={("x", "z"): Varying()}, random_state=0)
        assert not model.fit(X.assign(**{name: 1.0}), y).terms_.pairs


WRONG = {
    "one feature": ({"x": Varying()}, "Varying is for two features"),
    "a class": ({("x", "z"): Varying}, "call it: Varying\\(\\)"),
    "twice": ({("x", "x"): Varying()}, "two different features"),
    "not there": ({("x", "w"): Varying()}, "not there"),
    "both ways": ({("x", "z"): Varying(), ("z", "x"): Varying()}, "twice"),
    "two categories": ({("g", "h"): Varying()}, "needs a number"),
    "a curve of text": ({("g", "z"): Varying(Spline())}, "holds text"),
    "levels of numbers": ({("x", "z"): Varying(Category())}, "holds numbers"),
    "a degree": ({("x", "z"): Varying(Spline(degree=3))}, "degree 1"),
    "a shape": ({("x", "z"): Varying(Spline(monotone="increasing"))}, "degree 1"),
    "a line beyond": ({("x", "z"): Varying(Spline(extrapolation="linear"))}, "constant beyond"),
    "a dropped one": ({("x", "z"): Varying(), "z": "drop"}, "dropped"),
    "a shape of its own": (
        {("x", "z"): Varying(), "z": Spline(monotone="increasing")},
        "cannot satisfy the form",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_had(what):
    terms, message = WRONG[what]
    X, y = table(50)
    X["h"] = X["g"]
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(terms=terms).fit(X, y)


def test_where_there_is_none():
    X, y = table(60)
    numbers = X[["x", "z"]].to_numpy()
    terms = {(0, 1): Varying()}
    with pytest.raises(ValueError, match="terms has a Varying"):
        AdditiveRegressor(terms=terms, interactions=[(0, 1)]).fit(numbers, y)
    with pytest.raises(ValueError, match="need a dense X"):
        AdditiveRegressor(terms=terms).fit(sparse.csr_array(numbers), y)
    with pytest.raises(ValueError, match="no surfaces over pairs"):
        AdditiveSVR(terms=terms, C=1.0).fit(numbers, y)
    with pytest.raises(ValueError, match="curve: Varying is for two"):
        AdditiveRegressor(curve=Varying()).fit(numbers, y)
    model = AdditiveRegressor(terms={(0, 1): Pair(2)}).fit(numbers, y)
    with pytest.raises(ValueError, match="is a surface"):
        varying_curve(model, (0, 1))
    model = AdditiveRegressor(terms=terms).fit(numbers, y)
    with pytest.raises(ValueError, match="are \\(of, by\\)"):
        varying_curve(model, (1, 0))
