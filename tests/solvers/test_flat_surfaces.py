"""Surfaces that "auto" found, and that REML has flattened, are no part of the model."""

import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor, load, save
from splinear.estimators import newton
from splinear.inspection import summary
from splinear.solvers.pairs import pair_check
from splinear.solvers.pairs.pair_check import PairCheck
from splinear.solvers.reml import choosing
from splinear.terms import Pair

ESTIMATORS = [AdditiveRegressor, AdditiveClassifier]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS)
TOL = 1e-3


@pytest.fixture(autouse=True)
def only_reml_decides(monkeypatch):
    """All pairs that were found get surfaces, whatever held-out rows say, and REML settles them."""
    monkeypatch.setattr(PairCheck, "share", lambda *args: 1.0)
    monkeypatch.setattr(newton, "N_TURNS", 40)


def one_product(estimator, n=1_000, strength=2.0):
    """Return rows of six features, the first two of which interact."""
    random = np.random.default_rng(4)
    X = random.uniform(-1, 1, (n, 6))
    f = strength * X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
    y = f + 0.5 * random.normal(size=n)
    return X, y if estimator is AdditiveRegressor else y > 0


def fitted(estimator, X, y, interactions="auto", **params):
    return estimator(interactions=interactions, tol=TOL, random_state=0, **params).fit(X, y)


def pairs_of(model):
    return [pair.features for pair in model.terms_.pairs]


def edf_of(model):
    return {pair.features: float(np.sum(pair.edf)) for pair in model.terms_.pairs}


def score(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@by_name
def test_flat_surfaces_are_left_out(estimator, monkeypatch):
    X, y = one_product(estimator)
    model = fitted(estimator, X, y)
    monkeypatch.setattr(pair_check, "FLAT", 0.0)
    whole = fitted(estimator, X, y)
    expected = [pair for pair, edf in edf_of(whole).items() if edf > 0.1]
    assert pairs_of(model) == expected
    assert (0, 1) in expected
    assert len(expected) < len(pairs_of(whole))
    assert all(line.edf > 0.05 for line in summary(model).lines if "×" in line.feature)
    assert model.certified_
    assert model.objective_ == pytest.approx(whole.objective_, rel=TOL)
    f = score(whole, X)
    np.testing.assert_allclose(score(model, X), f, atol=0.01 * f.std())
    there = [term for term in whole.terms_ if len(term.features) == 1 or term.features in expected]
    assert [t.smoothness for t in model.terms_] == pytest.approx([t.smoothness for t in there])


@by_name
def test_what_the_user_asks_for_stays(estimator):
    """By name, or as a number of pairs."""
    X, y = one_product(estimator)
    found = pairs_of(fitted(estimator, X, y))
    other = next((j, k) for j in range(5) for k in range(j + 1, 6) if (j, k) not in found)
    named = fitted(estimator, X, y, terms={other[::-1]: Pair()})
    assert other in pairs_of(named)
    listed = fitted(estimator, X, y, interactions=[other, (0, 1)])
    assert set(pairs_of(listed)) == {other, (0, 1)}
    assert len(pairs_of(fitted(estimator, X, y, interactions=12))) == 12


def test_none_is_left(tmp_path):
    """The model is then that of curves alone."""
    random = np.random.default_rng(15)
    X = random.uniform(-1, 1, (600, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + random.normal(size=600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_check, "FLAT", 0.0)
        assert pairs_of(fitted(AdditiveRegressor, X, y))
        patch.setattr(pair_check, "FLAT", 5.0)
        model = fitted(AdditiveRegressor, X, y)
    curves = fitted(AdditiveRegressor, X, y, interactions=0)
    assert pairs_of(model) == []
    np.testing.assert_allclose(model.predict(X), curves.predict(X), atol=0.1)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


@by_name
def test_a_sample_leaves_out_only_what_is_flat_on_all_rows(estimator, monkeypatch):
    """More rows have more degrees of freedom."""
    X, y = one_product(estimator, n=12_000, strength=1.0)
    monkeypatch.setattr(choosing, "MOST_ROWS", 800)
    model = fitted(estimator, X, y)
    monkeypatch.setattr(pair_check, "FLAT", 0.0)
    whole = fitted(estimator, X, y)
    edf = edf_of(whole)
    dropped = set(edf) - set(pairs_of(model))
    assert dropped
    assert max(edf[pair] for pair in dropped) <= 0.1


def test_several_classes():
    X, y = one_product(AdditiveRegressor)
    model = fitted(AdditiveClassifier, X, np.digitize(y, [-0.5, 0.5]))
    assert (0, 1) in pairs_of(model)
    assert min(edf_of(model).values()) > 0.1
    assert len(pairs_of(model)) < 15
