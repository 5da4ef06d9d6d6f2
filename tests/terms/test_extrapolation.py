"""Beyond a feature's range: constant, a straight line, or an error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR, PathSearchCV
from splinear.inspection import contributions, importances, shape_function
from splinear.terms import Category, Fourier, Hermite, Linear, Spline
from splinear.terms.axes import Axes
from splinear.terms.basis import BSplineBasis

CURVES = {
    **{f"degree {degree}": [{"degree": degree}] * 3 for degree in range(4)},
    "quantile": [{"degree": 1, "knots": "quantile"}] * 3,
    "cubic quantile": [{"degree": 3, "knots": "quantile", "n_bins": 6}] * 3,
    "given": [
        {"degree": 2, "knots": [-1, 0, 1.5]},
        {"degree": 2, "knots": "uniform", "n_bins": 3},
        {"degree": 2, "knots": "quantile", "n_bins": 7},
    ],
    "fewer bins": [{"n_bins": 3}, {"n_bins": 10}, {"n_bins": 2}],
    "native": [{"scale": "native"}] * 3,
}
OUTSIDE = np.array([-40.0, -9.0, -5.5, 6.0, 11.0, 70.0])


@pytest.fixture(scope="module")
def rows():
    """Three columns within (-5, 5), three classes."""
    random = np.random.default_rng(5)
    X = np.clip(random.normal(size=(500, 3)), -4, 4) * [1.0, 0.5, 1.2]
    signal = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 2] ** 2 - 1])
    return X, (signal + 0.3 * random.normal(size=signal.shape)).argmax(axis=1)


def terms_of(name, extrapolation):
    if name == "line":  # always goes on
        return {j: Linear() for j in range(3)}
    return {
        j: Spline(extrapolation=extrapolation, **settings)
        for j, settings in enumerate(CURVES[name])
    }


@pytest.fixture(scope="module", params=[*CURVES, "line"], ids=str)
def model(request, rows):
    return AdditiveSVC(terms=terms_of(request.param, "linear"), random_state=0, C=1.0).fit(*rows)


def slope(model, j, end, inward):
    """Of the curves of column j at one end, by their values there and a little inside."""
    term = model.terms_[j]
    step = 1e-7 * inward * (term.hi - term.lo)
    _, (at, beside) = shape_function(model, j, grid=[end, end + step])
    return at, (beside - at) / step


def test_goes_on_with_the_slope_of_the_end(model):
    for j in range(3):
        term = model.terms_[j]
        _, f = shape_function(model, j, grid=OUTSIDE)
        for end, inward, here in ((term.lo, 1, slice(0, 3)), (term.hi, -1, slice(3, 6))):
            at, steep = slope(model, j, end, inward)
            if term.kind == "Spline" and term.group.embedding.basis.degree == 0:
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
    parts = contributions(model, X, center=False)
    assert_allclose(scores, parts.sum(axis=1) + model.intercept_, atol=1e-4)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("name", CURVES)
def test_nothing_changes_inside(name, rows):
    X, y = rows
    model = AdditiveSVC(terms=terms_of(name, "linear"), random_state=0, C=1.0).fit(X, y)
    inside = np.clip(X, [t.lo for t in model.terms_], [t.hi for t in model.terms_])
    for other in ("constant", "error"):
        same = AdditiveSVC(terms=terms_of(name, other), random_state=0, C=1.0).fit(X, y)
        assert_array_equal(same._model.parameters, model._model.parameters)
        assert_array_equal(same.decision_function(inside), model.decision_function(inside))


def test_the_way_on_is_that_of_fit(rows):
    """Parameters that change after a fit change no prediction."""
    X, y = rows
    model = AdditiveSVC(Spline(10, extrapolation="linear"), random_state=0, C=1.0).fit(X, y)
    far = model.decision_function(3 * X)
    model.set_params(curve__extrapolation="error")
    assert_array_equal(model.decision_function(3 * X), far)
    with pytest.raises(ValueError, match="outside its range"):
        model.fit(X, y).decision_function(3 * X)


@pytest.mark.parametrize("curve", [Fourier(3), Hermite(4), Hermite(4, scale="standard")], ids=str)
def test_other_curves_stay_where_they_end(rows, curve):
    X, y = rows
    model = AdditiveSVC(curve, random_state=0, C=1.0).fit(X, y)
    clipped = np.clip(3 * X, X.min(axis=0), X.max(axis=0))
    assert_array_equal(model.decision_function(3 * X), model.decision_function(clipped))


def test_pieces_of_a_large_table_agree(rows, monkeypatch):
    """Whole numbers are read in pieces, each with rows outside of its own."""
    X = np.round(10 * rows[0]).astype(np.int32)
    model = AdditiveSVC(Spline(10, extrapolation="linear"), random_state=0, C=1.0).fit(X, rows[1])
    scores = model.decision_function(3 * X)
    strict = AdditiveSVC(Spline(10, extrapolation="error"), random_state=0, C=1.0).fit(X, rows[1])
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 3 * 7)
    assert_allclose(model.decision_function(3 * X), scores, rtol=1e-12)
    row = int(np.argmax((3 * X[:, 0] < X[:, 0].min()) | (3 * X[:, 0] > X[:, 0].max())))
    table = X.copy()
    table[row:, 0] *= 3
    with pytest.raises(ValueError, match=rf"holds {table[row, 0]}\.0 in column 0, row {row}, out"):
        strict.decision_function(table)


def test_an_error_names_column_value_row_and_range(rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X.copy(), columns=["a", "b", "c"])
    terms = {"b": Spline(10, extrapolation="error")}
    model = AdditiveSVC(terms=terms, missing="error", random_state=0, C=1.0).fit(frame, y)
    model.predict(frame)
    frame["a"] *= 5  # goes on as it likes
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


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "error"])
def test_gaps_lie_in_no_direction(rows, extrapolation):
    """A missing value is neither inside nor outside; with gaps in fit and without."""
    X, y = rows
    for with_gaps in (False, True):
        table = X.copy()
        if with_gaps:
            table[::7, 1] = np.nan
        model = AdditiveSVC(Spline(10, extrapolation=extrapolation), random_state=0, C=1.0).fit(
            table, y
        )
        missing = X.copy()
        missing[:, 1] = np.nan
        parts = [model.terms_[j].evaluate(missing[:, j]) for j in range(3)]
        assert_allclose(parts[1], np.tile(model.terms_[1].at_missing, (len(X), 1)))
        assert_allclose(model.decision_function(missing), sum(parts) + model.intercept_, atol=1e-9)


def test_gaps_beside_values_outside_of_a_sparse_table():
    random = np.random.default_rng(0)
    X = np.abs(random.normal(size=(60, 2)))
    X[::7, 0] = np.nan
    model = AdditiveSVC(Spline(extrapolation="linear"), random_state=0, C=1.0)
    model.fit(csr_array(X), random.integers(0, 2, 60))
    X[1, 0] = 50.0
    found = model.decision_function(csr_array(X))
    assert_allclose(found, model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert np.isfinite(found).all()


def test_regression_goes_straight_on():
    """A straight line stays one."""
    x = np.linspace(0, 1, 200)[:, None]
    curve = Spline(10, penalty_order=2, extrapolation="linear")
    for model in (AdditiveRegressor(curve, C=1e4), AdditiveRegressor(Linear(), C=1e4)):
        model.fit(x, 3 * x[:, 0])
        assert_allclose(model.predict([[-2.0], [0.5], [4.0]]), [-6.0, 1.5, 12.0], atol=0.01)


@pytest.mark.parametrize(
    "estimator",
    [AdditiveSVC(C=1.0), AdditiveClassifier(C=1.0), AdditiveRegressor(C=1.0), AdditiveSVR(C=1.0)],
    ids=str,
)
def test_searches_take_it_too(rows, estimator):
    X, y = rows[0], (rows[1] == 1).astype(int)
    curve = Spline(10, penalty_order=2, extrapolation="linear")
    estimator = clone(estimator).set_params(curve=curve, random_state=0)
    search = PathSearchCV(estimator, Cs=[1.0, 10.0], cv=2).fit(X, y)
    model = search.best_estimator_
    far, farther = model._scores(np.array([[0.0, 50.0, 0.0], [0.0, 100.0, 0.0]]))
    near = model._scores(np.array([[0.0, 0.0, 0.0]]))[0]
    assert np.abs(far - near) > 0.5
    at_end = model._scores(np.array([[0.0, X[:, 1].max(), 0.0]]))[0]
    assert_allclose(
        (farther - at_end) / (far - at_end), (100 - X[:, 1].max()) / (50 - X[:, 1].max())
    )


def test_a_constant_column_adds_nothing(rows):
    X = np.column_stack([rows[0], np.full(len(rows[0]), 3.0)])
    moved = X.copy()
    moved[:, 3] = 1e300
    model = AdditiveSVC(Spline(10, extrapolation="linear"), random_state=0, C=1.0).fit(X, rows[1])
    assert_array_equal(model.decision_function(moved), model.decision_function(X))
    strict = AdditiveSVC(Spline(10, extrapolation="error"), random_state=0, C=1.0).fit(X, rows[1])
    with pytest.raises(ValueError, match=r"in column 3, row 0, outside its range of 3\.0 to 3\.0"):
        strict.predict(moved)


def test_a_level_beyond_the_last_is_unseen_and_not_outside(rows):
    X, y = rows[0].copy(), rows[1]
    X[:, 1] = np.digitize(X[:, 1], [-0.3, 0.3])
    curve = Spline(10, extrapolation="error")
    model = AdditiveSVC(curve, terms={1: Category()}, random_state=0, C=1.0).fit(X, y)
    moved = X.copy()
    moved[:, 1] = 17
    term = model.terms_[1]
    change = model.decision_function(moved) - model.decision_function(X)
    expected = term.mean - term.coef[:, X[:, 1].astype(int)].T
    assert_allclose(change, expected, atol=1e-9)


def test_unknown_words_are_refused(rows):
    with pytest.raises(ValueError, match="'extrapolation' parameter"):
        AdditiveSVC(Spline(extrapolation="flat"), C=1.0).fit(*rows)


@pytest.mark.parametrize("width", [1.0, 1e-300, 1e300, 1e-310])
def test_far_away_stays_finite(width):
    axes = Axes.spanning(np.array([0.0]), np.array([width]), BSplineBasis(1, 4))
    largest = np.finfo(np.float64).max
    steps = axes.beyond(np.array([-largest, -width, 0.0, width, 2 * width, largest]), 0)
    assert np.isfinite(steps).all()
    assert_allclose(steps[1:-1], [-4, 0, 0, 4])
    assert steps[0] <= -4
    assert steps[-1] >= 4
