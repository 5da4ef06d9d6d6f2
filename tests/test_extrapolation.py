"""Beyond a feature's range: constant, a straight line, or an error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from splinear import (
    AdditiveClassifier,
    AdditiveClassifierCV,
    AdditiveRegressor,
    AdditiveRegressorCV,
)
from splinear.axes import Axes
from splinear.basis import BSplineBasis
from splinear.inspection import contributions, importances, shape_function

SETTINGS = {
    **{f"degree {degree}": {"degree": degree} for degree in range(4)},
    "quantile": {"degree": 1, "knots": "quantile"},
    "cubic quantile": {"degree": 3, "knots": "quantile", "n_bins": 6},
    "given": {"degree": 2, "knots": [[-1, 0, 1.5], "uniform", "quantile"], "n_bins": [9, 3, 7]},
    "fewer bins": {"degree": 1, "n_bins": [3, 10, 2]},
    "fourier": {"basis": "fourier", "degree": 3},
    "hermite": {"basis": "hermite", "degree": 4},
    "standard": {"basis": "hermite", "degree": 4, "scale": "standard"},
    "hermite quantile": {"basis": "hermite", "degree": 3, "knots": "quantile"},
    "native": {"scale": "native"},
}
OUTSIDE = np.array([-40.0, -9.0, -5.5, 6.0, 11.0, 70.0])


@pytest.fixture(scope="module")
def rows():
    """Three columns within (-5, 5), three classes."""
    random = np.random.default_rng(5)
    X = np.clip(random.normal(size=(500, 3)), -4, 4) * [1.0, 0.5, 1.2]
    signal = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 2] ** 2 - 1])
    return X, (signal + 0.3 * random.normal(size=signal.shape)).argmax(axis=1)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request, rows):
    settings = SETTINGS[request.param]
    return AdditiveClassifier(extrapolation="linear", random_state=0, **settings).fit(*rows)


def slope(model, j, end, inwards):
    """Of the curves of column j at one end, by their values there and a little inside."""
    step = 1e-7 * inwards * (model.embedding_.axes.hi[j] - model.embedding_.axes.lo[j])
    _, (at, beside) = shape_function(model, j, grid=[end, end + step])
    return at, (beside - at) / step


def test_goes_on_with_the_slope_of_the_end(model):
    axes = model.embedding_.axes
    for j in range(3):
        _, f = shape_function(model, j, grid=OUTSIDE)
        for end, inwards, here in ((axes.lo[j], 1, slice(0, 3)), (axes.hi[j], -1, slice(3, 6))):
            at, steep = slope(model, j, end, inwards)
            if model.embedding_.basis == BSplineBasis(0, 10):
                steep = 0 * steep
            expected = at + np.outer(OUTSIDE[here] - end, steep)
            assert_allclose(f[here], expected, rtol=1e-4, atol=1e-5 * np.abs(f).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_sums_of_the_curves(model, rows, dtype):
    X = (2 * rows[0]).astype(dtype)  # part of it outside, not the same part in all columns
    X[:100] /= 2
    curves = [shape_function(model, j, grid=X[:, j])[1] for j in range(3)]
    scores = model.decision_function(X)
    assert_allclose(scores, sum(curves) + model.intercept_, rtol=1e-4, atol=1e-4)
    assert_allclose(scores, contributions(model, X).sum(axis=1) + model.intercept_, atol=1e-4)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


def test_nothing_changes_inside(model, rows):
    X, y = rows
    inside = np.clip(X, model.embedding_.axes.lo, model.embedding_.axes.hi)
    same = clone(model).set_params(extrapolation="constant").fit(X, y)
    assert_array_equal(same.coef_, model.coef_)
    assert_array_equal(same.decision_function(inside), model.decision_function(inside))
    strict = clone(model).set_params(extrapolation="error").fit(X, y)
    assert_array_equal(strict.decision_function(inside), model.decision_function(inside))


def test_pieces_of_a_large_table_agree(rows, monkeypatch):
    """Whole numbers are read in pieces, each with rows outside of its own."""
    X = np.round(10 * rows[0]).astype(np.int32)
    model = AdditiveClassifier(extrapolation="linear", random_state=0).fit(X, rows[1])
    scores = model.decision_function(3 * X)
    monkeypatch.setattr("splinear._reading._COPIED_PIECE", 3 * 7)
    assert_allclose(model.decision_function(3 * X), scores, rtol=1e-12)
    model.set_params(extrapolation="error")
    row = int(np.argmax((3 * X[:, 0] < X[:, 0].min()) | (3 * X[:, 0] > X[:, 0].max())))
    table = X.copy()
    table[row:, 0] *= 3
    with pytest.raises(ValueError, match=rf"holds {table[row, 0]}\.0 in column 0, row {row}, out"):
        model.decision_function(table)


def test_an_error_names_column_value_row_and_range(rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = AdditiveClassifier(extrapolation="error", random_state=0).fit(frame, y)
    model.predict(frame)
    lo, hi = X[:, 1].min(), X[:, 1].max()
    frame.loc[17, "b"] = 12.5
    expected = rf"holds 12.5 in column 'b', row 17, outside its range of {lo} to {hi}"
    for ask in (
        model.decision_function,
        model.predict,
        lambda X: contributions(model, X),
        lambda X: importances(model, X),
    ):
        with pytest.raises(ValueError, match=expected):
            ask(frame)
    with pytest.raises(ValueError, match=r"holds -9\.0 in column 'b', row 1"):
        shape_function(model, "b", grid=[0.0, -9.0])
    frame.loc[17, "b"] = np.nan
    with pytest.raises(ValueError, match="NaN in column 'b'"):
        model.predict(frame)


def test_regression_goes_straight_on():
    """A straight line stays one."""
    x = np.linspace(0, 1, 200)[:, None]
    model = AdditiveRegressor(C=1e4, penalty_order=2, extrapolation="linear").fit(x, 3 * x[:, 0])
    assert_allclose(model.predict([[-2.0], [0.5], [4.0]]), [-6.0, 1.5, 12.0], atol=0.01)


@pytest.mark.parametrize("search", [AdditiveClassifierCV, AdditiveRegressorCV])
def test_searches_take_it_too(rows, search):
    X, y = rows[0], (rows[1] == 1).astype(int)
    model = search(Cs=[0.1, 1.0], cv=2, extrapolation="linear").fit(X, y)
    far, farther = model._scores(np.array([[0.0, 50.0, 0.0], [0.0, 100.0, 0.0]]))
    near = model._scores(np.array([[0.0, 0.0, 0.0]]))[0]
    assert np.abs(far - near) > 1
    at_end = model._scores(np.array([[0.0, X[:, 1].max(), 0.0]]))[0]
    assert_allclose(
        (farther - at_end) / (far - at_end), (100 - X[:, 1].max()) / (50 - X[:, 1].max())
    )


def test_a_constant_column_adds_nothing(rows):
    X = np.column_stack([rows[0], np.full(len(rows[0]), 3.0)])
    model = AdditiveClassifier(extrapolation="linear", random_state=0).fit(X, rows[1])
    moved = X.copy()
    moved[:, 3] = 1e300
    assert_array_equal(model.decision_function(moved), model.decision_function(X))
    with pytest.raises(ValueError, match=r"in column 3, row 0, outside its range of 3\.0 to 3\.0"):
        model.set_params(extrapolation="error").predict(moved)


def test_unknown_words_are_refused(rows):
    with pytest.raises(ValueError, match="'extrapolation' parameter"):
        AdditiveClassifier(extrapolation="flat").fit(*rows)


@pytest.mark.parametrize("width", [1.0, 1e-300, 1e300, 1e-310])
def test_far_away_stays_finite(width):
    axes = Axes.spanning(np.array([0.0]), np.array([width]), BSplineBasis(1, 4))
    largest = np.finfo(np.float64).max
    steps = axes.beyond(np.array([-largest, -width, 0.0, width, 2 * width, largest]), 0)
    assert np.isfinite(steps).all()
    assert_allclose(steps[1:-1], [-4, 0, 0, 4])
    assert steps[0] <= -4
    assert steps[-1] >= 4
