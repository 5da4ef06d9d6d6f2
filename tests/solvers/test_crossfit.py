"""Folds of rows, on which pairs of features are found and checked."""

import numpy as np
import pytest
from scipy.special import expit

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.estimators import newton
from splinear.solvers.pairs.crossfit import N_FOLDS, CrossFit
from splinear.terms import Spline

SMALL = {"curve": Spline(6), "interactions": "auto", "random_state": 0}


@pytest.fixture
def trained(monkeypatch):
    """Return the list of all CrossFits of the fits in a test."""
    made = []

    class Seen(CrossFit):
        @classmethod
        def train(cls, *args, **named):
            made.append(CrossFit.train(*args, **named))
            return made[-1]

    monkeypatch.setattr(newton, "CrossFit", Seen)
    return made


def crossed(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 3))
    return X, 4.0 * X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n)


def test_every_row_is_seen_by_a_model_that_was_trained_without_it(trained):
    X, y = crossed()
    AdditiveRegressor(**SMALL).fit(X, y)
    [found] = trained
    assert np.bincount(found.fold).tolist() == [100, 100, 100]
    for k, (part, [point]) in enumerate(zip(found.parts, found.points, strict=True)):
        weights = part.weighted.place_weights()
        np.testing.assert_array_equal(weights == 0.0, found.fold == k)
        slopes = point.total.gradient(point.F)
        assert np.all(slopes[:, found.fold == k] == 0.0)


@pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor])
def test_rows_of_a_group_are_in_one_fold(estimator, trained):
    X, y = crossed()
    groups = np.random.default_rng(1).integers(0, 40, 300)
    y = y > 0 if estimator is AdditiveClassifier else y
    estimator(**SMALL).fit(X, y, groups=groups)
    [found] = trained
    placed = found.data.weighted.place_units().groups
    folds = [np.unique(found.fold[placed == group]) for group in np.unique(placed)]
    assert all(len(own) == 1 for own in folds)
    assert np.bincount(np.concatenate(folds)).tolist() == [14, 13, 13]


def test_held_out_losses_are_those_of_groups(trained):
    X, y = crossed()
    groups = np.arange(300) // 5
    AdditiveRegressor(**SMALL).fit(X, y, groups=groups)
    [found] = trained
    placed = found.data.weighted.place_units().groups
    F = [point.F for point in found.points[0]]
    [total] = found.data.sums()
    each = total.each(F[0])
    expected = [each[placed == group].sum() for group in np.unique(placed[found.fold == 0])]
    np.testing.assert_allclose(found.losses(0, F), expected)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_there_may_be_few_groups(n_groups, trained):
    assert n_groups <= N_FOLDS
    X, y = crossed(90)
    model = AdditiveRegressor(**SMALL).fit(X, y, groups=np.arange(90) % n_groups)
    assert np.isfinite(model.predict(X)).all()
    assert not trained  # too few units for pairs


def test_derivatives_do_not_depend_on_the_unit_of_weights(trained):
    X, y = crossed()
    weights = np.random.default_rng(2).lognormal(size=300)
    gains = []
    for factor in (1.0, 64.0):
        for kind, own in ((AdditiveRegressor, y), (AdditiveClassifier, y > 0)):
            model = kind(**SMALL).fit(X, own, sample_weight=factor * weights)
            gains.append(model.pair_search_["gain"])
    assert gains[2:] == pytest.approx(gains[:2], rel=1e-3)
    for one, other in zip(trained[:2], trained[2:], strict=True):
        [(g, h)], [(g_other, h_other)] = one.derivatives(), other.derivatives()
        np.testing.assert_allclose(g_other, g, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(h_other, h, rtol=1e-3, atol=1e-3)
        assert (g**2).sum() == pytest.approx(h.sum(), rel=1e-9)


def test_a_panel_of_customers_has_no_pairs_of_its_own():
    """Months of one customer have one label; what tells customers apart is no interaction."""
    random = np.random.default_rng(0)
    Z = random.normal(size=(100, 4))
    label = random.random(100) < expit(Z[:, 0])
    X = np.repeat(Z, 12, axis=0) + 0.1 * random.normal(size=(1200, 4))
    model = AdditiveClassifier(**SMALL).fit(X, np.repeat(label, 12), groups=np.arange(1200) // 12)
    assert not model.terms_.pairs
