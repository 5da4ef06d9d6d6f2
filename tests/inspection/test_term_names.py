import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from splinear import AdditiveClassifier
from splinear.inspection import base_value, contributions, importances, surface, term_names


@pytest.fixture(scope="module")
def table():
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (400, 3)), columns=["a", "b", "c"])
    return X, (X["a"] * X["b"] > 0).to_numpy()


@pytest.fixture(scope="module")
def model(table):
    pairs = [("b", "a"), ("b", "c")]
    return AdditiveClassifier(interactions=pairs, random_state=0).fit(*table)


def test_names_are_those_of_the_columns_of_contributions(model, table):
    X, _ = table
    names = term_names(model)
    assert names == ["a", "b", "c", "a × b", "b × c"]
    parts = pd.DataFrame(contributions(model, X), columns=names)
    for pair in model.terms_.pairs:
        f = pair.evaluate(*(X.to_numpy()[:, j] for j in pair.features))[:, 0]
        np.testing.assert_allclose(parts[pair.name], f, atol=1e-12)
    np.testing.assert_allclose(parts.std(ddof=0), importances(model, X, by="term"), atol=1e-12)


def test_a_model_of_curves_has_the_names_of_its_features(table):
    X, y = table
    model = AdditiveClassifier(random_state=0).fit(X.to_numpy(), y)
    assert term_names(model) == ["x0", "x1", "x2"]


def test_contributions_of_surfaces_to_sparse_rows(table):
    X, y = table[0].to_numpy(), table[1]
    model = AdditiveClassifier(interactions=[(0, 1)], random_state=0).fit(X, y)
    rows = csr_array(np.where(X > 0.5, 0.0, X))
    parts = contributions(model, rows)
    np.testing.assert_allclose(parts, contributions(model, rows.toarray()), atol=1e-12)
    score = base_value(model) + parts.sum(axis=1)
    np.testing.assert_allclose(score, model.decision_function(rows), atol=1e-9)
    both = importances(model, rows), importances(model, rows.toarray())
    np.testing.assert_allclose(*both, atol=1e-12)


@pytest.mark.parametrize("features", ["ab", ("a",), ["a", "b", "c"], 1])
def test_a_surface_has_two_features(model, features):
    with pytest.raises(TypeError, match=r"two features, as in \(0, 1\); got"):
        surface(model, features)
