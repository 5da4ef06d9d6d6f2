"""Bands, standard errors and p-values of models with surfaces, as users see them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import band, standard_error, summary, surface
from splinear.terms import Pair, Spline

PAIRS = [(0, 2), (1, 3)]


def make(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + 2 * X[:, 0] * X[:, 2], random


@pytest.fixture(scope="module")
def regressor():
    X, f, random = make()
    y = f + 0.5 * random.normal(size=len(f))
    return AdditiveRegressor(interactions=PAIRS, random_state=0).fit(X, y), X, f


@pytest.fixture(scope="module")
def of_three_classes():
    X, f, random = make()
    y = (f + random.logistic(size=len(f)) > 0).astype(int) + (f + random.logistic(size=len(f)) > 1)
    return AdditiveClassifier(interactions=PAIRS, random_state=0).fit(X, y), X


def test_a_band_is_around_the_surface(regressor):
    model, _, _ = regressor
    x, z, lower, upper = band(model, (0, 2), n_points=20)
    of = surface(model, (0, 2), n_points=20)
    assert_array_equal(x, of[0])
    assert_array_equal(z, of[1])
    assert_allclose((lower + upper) / 2, of[2], atol=1e-12)
    assert (lower < upper).all()
    turned = band(model, (2, 0), n_points=20)
    assert_allclose(turned.lower, lower.T)
    some = band(model, (0, 2), grid=(x[::5], None), n_points=20)
    assert_allclose(some.upper, upper[::5])


def test_the_truth_is_inside_and_zero_is_not(regressor):
    """2 x z, less what functions of one feature say of it; the other surface is nothing."""
    model, _, _ = regressor
    pair = model.terms_.of_pair(0, 2)
    table = 2 * np.outer(*(chain.knots for chain in pair.chains))
    centered = replace(pair, table=pair.group.tables(table.reshape(1, -1)))
    for kind, least in (("pointwise", 0.9), ("simultaneous", 0.999)):
        x, z, lower, upper = band(model, (0, 2), kind=kind, n_points=20)
        truth = centered.evaluate(np.repeat(x, 20), np.tile(z, 20)).reshape(20, 20)
        assert np.mean((lower <= truth) & (truth <= upper)) > least
    assert np.mean((lower > 0) | (upper < 0)) > 0.3
    _, _, lower, upper = band(model, (1, 3))
    assert np.mean((lower <= 0) & (upper >= 0)) > 0.95


def test_simultaneous_bands_contain_pointwise_ones(regressor, of_three_classes):
    for model in (regressor[0], of_three_classes[0]):
        one = band(model, (0, 2), n_points=10)
        all_of_it = band(model, (0, 2), kind="simultaneous", n_points=10)
        ratio = (all_of_it.upper - all_of_it.lower) / (one.upper - one.lower)
        assert_allclose(ratio - ratio[0, 0], 0.0, atol=1e-9)  # of an output, as wide everywhere
        assert 1.3 < ratio.min() <= ratio.max() < 2.5
    with pytest.raises(ValueError, match="kind must be"):
        band(regressor[0], (0, 2), kind="both")


def test_classes(of_three_classes):
    model, X = of_three_classes
    whole = band(model, (0, 2), n_points=10)
    assert whole.lower.shape == (10, 10, 3)
    for k in range(3):
        assert_allclose(band(model, (0, 2), n_points=10, target=k).upper, whole.upper[:, :, k])
    assert standard_error(model, X[:5]).shape == (5, 3)
    assert (model.predict_interval(X[:5])[..., 1] <= 1.0).all()
    strong, weak = (line for line in summary(model).lines if line.term == "Pair")
    assert strong.p_value < 1e-6 < 1e-3 < weak.p_value <= 1.0


def test_two_classes_as_softmax_know_what_two_classes_know():
    """With the same smoothness: a class of a softmax of two has half of the log-odds."""
    X, f, random = make()
    y = (f + random.logistic(size=len(f)) > 0).astype(int)
    given = {"interactions": PAIRS, "tol": 1e-6, "random_state": 0}
    two = AdditiveClassifier(C=2.0, **given).fit(X, y)
    # A third class of next to no weight.
    weights = np.append(np.ones(len(y)), 1e-9)
    three = AdditiveClassifier(C=1.0, **given).fit(
        np.vstack([X, X[:1]]), np.append(y, 2), sample_weight=weights
    )
    one, other = band(two, (0, 2), n_points=10), band(three, (0, 2), n_points=10)
    widths = (one.upper - one.lower), (other.upper - other.lower)[:, :, 1]
    assert np.median(widths[1] / widths[0]) == pytest.approx(0.5, rel=0.02)
    assert_allclose(widths[1] / widths[0], 0.5, rtol=0.2)  # kappa is from other draws


def test_summary_of_pairs(regressor):
    model, _, _ = regressor
    strong, weak = (line for line in summary(model).lines if line.term == "Pair")
    assert strong.p_value < 1e-10
    assert weak.p_value > 1e-3
    assert strong.edf == pytest.approx(model.terms_.of_pair(0, 2).edf, rel=0.05)
    fixed = AdditiveRegressor(interactions=PAIRS, C=1.0).fit(*regressor[1:])
    assert all(line.edf > 0 for line in summary(fixed).lines if line.term == "Pair")


def test_categories_gaps_and_unknown_levels():
    random, n = np.random.default_rng(0), 1000
    X = pd.DataFrame({"x": random.random(n), "level": random.choice(["a", "b", "c"], n)})
    X["z"] = random.choice(["u", "v"], n, p=[0.95, 0.05])
    y = (X["level"] == "b") * (2 * X["x"] - 1) + random.normal(size=n)
    X.loc[::9, "x"] = np.nan
    pairs = {("x", "level"): Pair(n_bins=6), ("level", "z"): Pair()}
    model = AdditiveRegressor(terms=pairs, random_state=0).fit(X, y)
    _, levels, lower, upper = band(model, ("x", "level"), grid=([0.1, np.nan], None))
    assert levels.tolist() == ["a", "b", "c"]
    assert lower.shape == (2, 3)
    assert (lower < upper).all()
    _, _, lower, upper = band(model, ("level", "z"), grid=(["a", "b"], ["u", "v"]))
    assert (upper - lower)[:, 1].min() > (upper - lower)[:, 0].max()  # fewer rows
    _, _, lower, upper = band(model, ("level", "z"), grid=(["another"], ["u"]))
    assert_array_equal(lower, upper)  # it adds nothing
    assert np.isfinite(model.predict_interval(X)).all()


def test_intervals_are_wider_with_surfaces(regressor):
    """And are not changed by files."""
    model, X, f = regressor
    lower, upper = model.predict_interval(X).T
    assert 0.85 < np.mean((lower <= f) & (f <= upper)) <= 1.0  # .95 in the mean over many sets
    alone = AdditiveRegressor(random_state=0).fit(X, f)
    assert len(alone._posteriors[0].information.pair_blocks[0]) == 0
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X)[:, 0], lower)


def test_what_has_no_surface(regressor):
    with pytest.raises(ValueError, match="no surface"):
        band(regressor[0], (0, 1))


def test_surfaces_of_curves_that_are_held():
    """What such a surface shares with its curve is no part of its degrees of freedom."""
    X, f, random = make()
    y = f + 3 * X[:, 0] + 0.5 * random.normal(size=len(f))
    held = {0: Spline(16, monotone="increasing")}
    model = AdditiveRegressor(terms=held, interactions=[(0, 2)], random_state=0).fit(X, y)
    free = AdditiveRegressor(Spline(16), interactions=[(0, 2)], random_state=0).fit(X, y)
    edf = [next(li.edf for li in summary(m).lines if li.term == "Pair") for m in (model, free)]
    assert edf[0] == pytest.approx(edf[1], rel=0.3)
    assert_allclose(standard_error(model, X), standard_error(free, X), rtol=0.5)
