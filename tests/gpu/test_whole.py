"""Hessians that are factored where the rows are, against those of the core."""

from __future__ import annotations

import numpy as np
import pytest

from splinear import AdditiveClassifier
from splinear.objective import model as quadratic
from splinear.objective.gpu import steps, whole
from splinear.terms import Category, Spline


@pytest.fixture(params=[True, False], ids=["by a matrix", "by passes"])
def products(request, monkeypatch):
    """Count the products with the Hessian, by how they were preconditioned.

    Steps are made by products with a matrix, or by passes over the rows.
    """
    counts = {}
    if not request.param:
        monkeypatch.setattr(whole, "MOST_ENTRIES", 1)
    for kind in (quadratic.Banded, quadratic.Dense, quadratic.Inverted):
        plain, counts[kind.__name__] = kind.precondition, 0

        def counted(self, theta, plain=plain, name=kind.__name__):
            counts[name] += 1
            return plain(self, theta)

        monkeypatch.setattr(kind, "precondition", counted)
    there = steps.DesignSteps.preconditioned

    def noted(self, residual):
        assert request.param
        counts["Inverted"] += 1
        return there(self, residual)

    monkeypatch.setattr(steps.DesignSteps, "preconditioned", noted)
    return counts


def classes(n=2500, p=6, k=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]  # what blocks alone know nothing of
    scores = np.sin(2 * X) @ rng.normal(size=(p, k)) + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def test_classes_take_few_products(on_backend, products):
    X, y = classes()
    model = AdditiveClassifier(C=0.3, device="cuda", random_state=0, tol=1e-4).fit(X, y)
    assert model.certified_
    assert products["Inverted"] > 0 == products["Banded"]
    of_inverse = products["Inverted"]
    here = AdditiveClassifier(C=0.3, random_state=0, tol=1e-4).fit(X, y)
    assert model.objective_ == pytest.approx(here.objective_, rel=2e-4)
    assert of_inverse < 40


def test_gaps_and_levels(on_backend, products):
    X, y = classes()
    X[::7, 2] = np.nan
    X[:, 5] = np.digitize(X[:, 5], [-1, 0, 1])
    made = {
        "terms": {5: Category(), 3: Spline(n_bins=6, degree=3)},
        "random_state": 0,
        "tol": 1e-4,
        "C": 0.5,
    }
    there = AdditiveClassifier(device="cuda", **made).fit(X, y)
    assert there.certified_
    assert 0 < products["Inverted"] < 60
    here = AdditiveClassifier(**made).fit(X, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-4)


def test_the_same_bits_twice_for_classes(on_backend):
    X, y = classes(1200)
    fits = [AdditiveClassifier(device="cuda", random_state=0).fit(X, y) for _ in range(2)]
    assert np.array_equal(*(model.decision_function(X) for model in fits))


def test_what_classes_have_in_common_is_zero(on_backend):
    X, y = classes(900)
    model = AdditiveClassifier(C=0.3, device="cuda", random_state=0).fit(X, y)
    for term in model.terms_:
        assert np.abs(term.coef.sum(axis=0)).max() < 1e-6 * np.abs(term.coef).max()


def test_matrices_that_cannot_be_factored_leave_it_to_blocks(on_backend, products, monkeypatch):
    plain = type(on_backend).inverse_factors
    monkeypatch.setattr(
        type(on_backend), "inverse_factors", lambda self, H: plain(self, H) * np.nan
    )
    X, y = classes(900)
    model = AdditiveClassifier(C=0.3, device="cuda", random_state=0).fit(X, y)
    assert model.certified_
    assert products["Banded"] > 0
