"""Knots are placed where the values are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from splinear import AdditiveClassifier, SplineEmbedding
from splinear._knots import place_knots
from splinear.inspection import knots, shape_function


def placed(column, n_bins, rows=slice(None)):
    X = np.asarray(column, dtype=float)[:, None]
    seen = X[rows]
    (row,) = place_knots(X, rows, seen.min(axis=0), seen.max(axis=0), n_bins)
    return row[~np.isnan(row)]


@pytest.mark.parametrize("values", [[0, 1], [3, 7, 8, 20], [-1.5, 0, 0.25, 100, 1e6]])
def test_few_values_have_a_knot_each(values):
    column = np.random.default_rng(0).choice(values, 500)
    assert_array_equal(placed(column, 10), values)


def test_many_values_have_knots_where_rows_are():
    column = np.random.default_rng(0).normal(size=20_000)
    found = placed(column, 20)
    assert len(found) == 21
    assert (found[0], found[-1]) == (column.min(), column.max())
    assert_array_equal(found[1:-1], np.sort(found[1:-1]))
    assert np.isin(found, column).all()
    # All values differ, so both kinds of quantiles are shares of the rows.
    below = [np.mean(column < knot) for knot in found]
    assert np.diff(below).max() < 0.11


def test_a_long_tail_has_knots_too():
    """Quantiles of the rows alone would all be zero."""
    random = np.random.default_rng(0)
    column = np.where(random.random(10_000) < 0.95, 0.0, random.exponential(1e4, 10_000))
    found = placed(column, 16)
    assert np.count_nonzero(found > 0) >= 7


def test_rows_that_do_not_count_are_not_seen():
    column = np.array([0.0, 1.0, 2.0, 50.0])
    assert_array_equal(placed(column, 5, np.array([True, True, True, False])), [0, 1, 2])


def test_many_rows_are_sampled_but_the_ends_are_exact():
    column = np.arange(200_000.0)
    column[77] = 1e9
    found = placed(column, 8)
    assert found[-1] == 1e9
    assert found[0] == 0
    assert len(found) == 9
    assert_array_equal(found, placed(column, 8))


@pytest.mark.parametrize("degree", range(4))
def test_features_with_fewer_knots_than_others(degree):
    """A 0/1 column has one bin, whatever the others have; its curve is a step of that height."""
    random = np.random.default_rng(1)
    X = np.column_stack([random.normal(size=800), random.integers(0, 2, 800)])
    y = np.sin(2 * X[:, 0]) + 2 * X[:, 1] + random.normal(size=800) > 1
    model = AdditiveClassifier(knots="quantile", n_bins=12, degree=degree, random_state=0).fit(X, y)
    assert_array_equal(knots(model, 1), [0, 1])
    assert len(knots(model, 0)) == 13
    _, ends = shape_function(model, 1, grid=[-5, 0, 1, 5])
    assert ends[0] == ends[1] < ends[2] == ends[3]  # constant beyond the range
    parts = [shape_function(model, j, grid=X[:, j])[1] for j in range(2)]
    assert_allclose(model.decision_function(X), sum(parts) + model.intercept_[0])
    exact = AdditiveClassifier(
        knots="quantile", n_bins=12, degree=degree, random_state=0, tol=1e-4
    ).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-2)


def test_transformed_columns_stay_zero_beyond_the_last_knot():
    X = np.column_stack([np.linspace(0, 1, 50), np.arange(50) % 2])
    embedded = SplineEmbedding(n_bins=8, knots="quantile", penalty_order=0).fit_transform(X)
    second = embedded.toarray()[:, 9:]
    assert np.any(second[:, :2] > 0)
    assert_array_equal(second[:, 2:], 0)
