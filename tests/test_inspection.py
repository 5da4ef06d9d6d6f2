import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    SplineEmbedding,
    inspection,
)
from splinear.inspection import (
    adding,
    base_value,
    contributions,
    importances,
    knots,
    shape_function,
    shape_functions,
)
from splinear.model import fitted
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

MODELS = {
    "degree 0": AdditiveSVC(Spline(10, degree=0), C=1.0),
    "degree 1, D_0": AdditiveSVC(Spline(10, penalty_order=0), C=1.0),
    "degree 1, D_1": AdditiveSVC(Spline(10), C=1.0),
    "degree 2, D_2": AdditiveSVC(Spline(10, degree=2, penalty_order=2), tol=0.1, C=1.0),
    "degree 3": AdditiveSVC(Spline(10, degree=3, scale="native"), C=0.01),
    "quantile": AdditiveSVC(Spline(10, knots="quantile"), C=1.0),
    "Fourier": AdditiveSVC(Fourier(3), C=1.0),
    "Fourier, period": AdditiveSVC(
        Fourier(2), terms={"mean area": Fourier(2, period=300.0)}, C=1.0
    ),
    "Hermite": AdditiveSVC(Hermite(4), C=1.0),
    "Hermite, standard": AdditiveSVC(Hermite(3, scale="standard"), tol=0.1, C=1.0),
    "linear": AdditiveSVC(Linear(), C=1.0),
    "no intercept": AdditiveSVC(Spline(10), fit_intercept=False, C=1.0),
    "logistic": AdditiveClassifier(C=1.0),
    "default": AdditiveClassifier(),
}


@pytest.fixture(scope="module")
def frame():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[::2, :8].assign(constant=7.0)
    return X, y[::2]


@pytest.fixture(scope="module", params=MODELS, ids=str)
def any_model(request, frame):
    return clone(MODELS[request.param]).set_params(random_state=0).fit(*frame)


@pytest.fixture(scope="module")
def model(frame):
    return AdditiveSVC(random_state=0, C=1.0).fit(*frame)


def test_contributions_sum_to_the_decision_function(any_model, frame):
    X, _ = frame
    for rows in (X, X * 3.0 - X.mean()):  # and outside the training range
        scores = any_model.decision_function(rows)
        parts = contributions(any_model, rows)
        assert parts.shape == X.shape
        np.testing.assert_allclose(base_value(any_model) + parts.sum(axis=1), scores, atol=1e-9)
        plain = contributions(any_model, rows, center=False)
        np.testing.assert_allclose(any_model.intercept_ + plain.sum(axis=1), scores, atol=1e-9)


def test_contributions_are_centered_over_the_training_rows(any_model, frame):
    X, _ = frame
    parts = contributions(any_model, X)
    np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-4 * np.abs(parts).max())
    plain = contributions(any_model, X, center=False)
    np.testing.assert_allclose(np.ptp(plain - parts, axis=0), 0.0, atol=1e-9)


def test_the_base_value_is_the_mean_score_of_the_training_rows(any_model, frame):
    X, _ = frame
    scores = any_model.decision_function(X)
    base = base_value(any_model)
    assert isinstance(base, float)
    assert base == pytest.approx(scores.mean(), abs=1e-3 * np.abs(scores).max())


def test_shape_function_is_how_the_score_moves_with_one_feature(any_model, frame):
    X, _ = frame
    for j in (2, 3):
        x, f = shape_function(any_model, j, n_points=31)
        rows = pd.concat([X.iloc[[5]]] * len(x), ignore_index=True)
        rows.iloc[:, j] = x
        scores = any_model.decision_function(rows)
        np.testing.assert_allclose(f - f[0], scores - scores[0], atol=1e-9)
    x, _ = shape_function(any_model, 2)
    assert (x[0], x[-1]) == (X.iloc[:, 2].min(), X.iloc[:, 2].max())


def test_the_grid_of_a_periodic_curve_is_its_period(frame):
    curve = {"mean area": Fourier(2, period=300.0)}
    model = AdditiveSVC(terms=curve, random_state=0, C=1.0).fit(*frame)
    x, f = shape_function(model, "mean area", n_points=61)
    np.testing.assert_allclose(x, np.linspace(0, 300, 61))
    assert f[0] == pytest.approx(f[-1], abs=1e-9)
    _, later = shape_function(model, "mean area", grid=x + 600.0)
    np.testing.assert_allclose(later, f, atol=1e-9)


def test_shape_function_by_index_name_and_numpy_integer_agree(model):
    by_index = shape_function(model, 2)
    for feature in ("mean perimeter", np.int64(2)):
        for expected, found in zip(by_index, shape_function(model, feature), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert by_index[0].shape == by_index[1].shape == (200,)


def test_values_beyond_the_ends_take_the_ends_value(model):
    x, f = shape_function(model, 0, grid=[-1e6, 0.0, 1e6])
    ends = shape_function(model, 0, n_points=2)[1]
    np.testing.assert_array_equal(x, [-1e6, 0.0, 1e6])
    np.testing.assert_allclose(f, ends[[0, 0, 1]], atol=1e-12)


def test_centering_over_the_training_rows_and_over_others(any_model, frame):
    X, _ = frame
    _, plain = shape_function(any_model, 1)
    _, centered = shape_function(any_model, 1, center=True)
    _, over_some = shape_function(any_model, 1, center=True, X=X[:50])
    parts = contributions(any_model, X, center=False)[:, 1]
    np.testing.assert_allclose(plain - centered, parts.mean(), atol=1e-4 * np.ptp(plain))
    np.testing.assert_allclose(plain - over_some, parts[:50].mean(), atol=1e-9)


def test_shape_functions_are_the_single_ones(any_model, frame):
    X, _ = frame
    x, f = shape_functions(any_model, n_points=17, center=True, X=X)
    assert x.shape == f.shape == (X.shape[1], 17)
    for j in range(X.shape[1]):
        alone = shape_function(any_model, j, n_points=17, center=True, X=X)
        np.testing.assert_array_equal((x[j], f[j]), alone)


def test_shape_functions_of_some_features_in_the_order_asked(model):
    x, f = shape_functions(model, ["mean area", 0], n_points=5)
    np.testing.assert_array_equal((x[0], f[0]), shape_function(model, 3, n_points=5))
    np.testing.assert_array_equal((x[1], f[1]), shape_function(model, 0, n_points=5))


def test_importances_are_standard_deviations_of_contributions(any_model, frame):
    X, _ = frame
    found = importances(any_model, X)
    np.testing.assert_allclose(found, contributions(any_model, X).std(axis=0), atol=1e-12)
    assert found[-1] == 0.0  # the constant column
    assert (found[:-1] > 0).any()
    np.testing.assert_allclose(found, any_model.feature_importances_, atol=1e-4 * found.max())


def test_constant_feature_has_a_zero_curve_and_no_knots(any_model):
    x, f = shape_function(any_model, "constant", n_points=4)
    np.testing.assert_array_equal(x, np.full(4, 7.0))
    np.testing.assert_array_equal(f, np.zeros(4))
    assert knots(any_model, "constant").size == 0


def test_curves_are_straight_between_knots(frame):
    for rule in ("auto", "quantile"):
        model = AdditiveSVC(Spline(6, knots=rule), random_state=0, C=1.0).fit(*frame)
        places = knots(model, "mean area")
        assert places.shape == (7,)
        middle = (places[1:] + places[:-1]) / 2
        at_knots = shape_function(model, "mean area", places)[1]
        between = shape_function(model, "mean area", middle)[1]
        np.testing.assert_allclose(between, (at_knots[1:] + at_knots[:-1]) / 2, atol=1e-9)


def test_knots_of_curves_in_one_piece(frame):
    for curve in (Hermite(3), Fourier(3), Linear()):
        model = AdditiveSVC(curve, random_state=0, C=1.0).fit(*frame)
        assert knots(model, 0).size == 0


def test_contributions_are_the_curves_at_the_values(any_model, frame):
    X, _ = frame
    parts = contributions(any_model, X, center=False)
    for j in range(X.shape[1]):
        _, f = shape_function(any_model, j, grid=X.iloc[:, j])
        np.testing.assert_allclose(parts[:, j], f, atol=1e-9)


def test_blocks_join_without_a_seam(model, monkeypatch):
    _, whole = shape_function(model, 0)
    monkeypatch.setattr(fitted, "BLOCK", 10)
    np.testing.assert_allclose(shape_function(model, 0)[1], whole, atol=1e-12)


def test_wide_ranges_do_not_overflow():
    X = np.array([[-1e308], [-5e307], [5e307], [1e308]])
    model = AdditiveSVC(Spline(2), random_state=0, C=1.0).fit(X, [0, 0, 1, 1])
    x, f = shape_function(model, 0, n_points=5)
    np.testing.assert_allclose(x, np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * 1e308)
    assert np.isfinite(f).all()
    np.testing.assert_allclose(knots(model, 0), [-1e308, 0.0, 1e308])


def test_unnamed_features(frame):
    X, y = frame
    model = AdditiveSVC(random_state=0, C=1.0).fit(X.to_numpy(), y)
    assert inspection.feature_names(model)[:2] == ["x0", "x1"]
    with pytest.raises(ValueError, match=r"no feature 'mean area': X has no column names.*0 to 8"):
        shape_function(model, "mean area")


def test_a_name_that_does_not_exist(model):
    with pytest.raises(ValueError, match=r"no feature 'mean aera'. Did you mean 'mean area'\?"):
        shape_function(model, "mean aera")
    with pytest.raises(ValueError, match=r"no feature 'zzz'. X has 'mean radius', "):
        shape_function(model, "zzz")


@pytest.mark.parametrize("feature", [-1, 9])
def test_a_number_that_does_not_exist(model, feature):
    with pytest.raises(ValueError, match=f"no feature {feature}: .* position from 0 to 8"):
        shape_function(model, feature)


@pytest.mark.parametrize("feature", [1.0, None, True, [0]])
def test_neither_a_number_nor_a_name(model, feature):
    with pytest.raises(TypeError, match="feature must be a whole number or a column name"):
        shape_function(model, feature)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_points": 0}, "n_points must be at least 1; got 0"),
        ({"grid": []}, "at least one number"),
        ({"grid": [[1.0]]}, r"got shape \(1, 1\)"),
        ({"grid": [np.inf]}, "finite"),
    ],
)
def test_bad_grids(model, options, message):
    with pytest.raises(ValueError, match=message):
        shape_function(model, 0, **options)


# -- several outputs, and regression ---------------------------------------------------------------


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return X, AdditiveSVC(random_state=0, C=1.0).fit(X, names)


@pytest.fixture(scope="module")
def together(flowers):
    X, model = flowers
    return X, AdditiveClassifier(random_state=0).fit(X, model.predict(X))


@pytest.fixture(scope="module")
def tagged(frame):
    X, y = frame
    labels = np.column_stack([y, X["mean area"] > X["mean area"].median()])
    return X, AdditiveSVC(random_state=0, C=1.0).fit(X, labels)


@pytest.mark.parametrize("data", ["flowers", "together", "tagged"])
def test_contributions_of_all_outputs_sum_to_the_scores(data, request):
    X, model = request.getfixturevalue(data)
    parts, base = contributions(model, X), base_value(model)
    assert parts.shape == (*X.shape, len(model.classes_))
    assert base.shape == (len(model.classes_),)
    scores = model.decision_function(X)
    np.testing.assert_allclose(base + parts.sum(axis=1), scores, atol=1e-9)
    np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-4 * np.abs(parts).max())
    plain = contributions(model, X, center=False)
    np.testing.assert_allclose(model.intercept_ + plain.sum(axis=1), scores, atol=1e-9)


@pytest.mark.parametrize("data", ["flowers", "together", "tagged"])
def test_a_target_chooses_one_output(data, request):
    X, model = request.getfixturevalue(data)
    x, f = shape_function(model, 2, center=True, X=X)
    several = shape_functions(model, n_points=9)[1]
    assert f.shape == (200, len(model.classes_))
    assert several.shape == (X.shape[1], 9, len(model.classes_))
    for k, label in enumerate(model.classes_):
        np.testing.assert_allclose(
            contributions(model, X, target=label), contributions(model, X)[..., k], atol=1e-12
        )
        assert base_value(model, target=label) == base_value(model)[k]
        alone = shape_function(model, 2, center=True, X=X, target=label)
        np.testing.assert_array_equal(alone[0], x)
        np.testing.assert_allclose(alone[1], f[:, k], atol=1e-12)
        one = shape_functions(model, n_points=9, target=label)[1]
        np.testing.assert_allclose(one, several[..., k], atol=1e-12)


@pytest.mark.parametrize("data", ["flowers", "together", "tagged"])
def test_importances_are_the_mean_over_outputs(data, request):
    X, model = request.getfixturevalue(data)
    each = [importances(model, X, target=label) for label in model.classes_]
    np.testing.assert_allclose(each, contributions(model, X).std(axis=0).T, atol=1e-12)
    np.testing.assert_allclose(importances(model, X), np.mean(each, axis=0))


def test_two_classes_have_the_curves_of_the_second(model, frame):
    X, _ = frame
    np.testing.assert_array_equal(contributions(model, X, target=1), contributions(model, X))
    assert base_value(model, target=1) == base_value(model)
    for function in (contributions, importances):
        with pytest.raises(ValueError, match=r"target=0, but .* two classes has the curves of 1"):
            function(model, X, target=0)


def test_a_target_that_does_not_exist(flowers, tagged):
    with pytest.raises(
        ValueError, match=r"no target 'rose'. The classes are 'setosa', 'versicolor', 'virginica'"
    ):
        shape_function(flowers[1], 0, target="rose")
    with pytest.raises(ValueError, match=r"no target 2. The classes are 0, 1\."):
        importances(*tagged[::-1], target=2)


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveSVR])
def test_contributions_to_a_prediction(kind, frame):
    X, _ = frame
    model = kind(random_state=0).fit(X, X["mean area"] ** 0.5)
    total = base_value(model) + contributions(model, X).sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X), atol=1e-9)
    assert shape_function(model, "mean area")[1].shape == (200,)
    with pytest.raises(ValueError, match=f"target is for classifiers; {kind.__name__} has one"):
        contributions(model, X, target=1)
    with pytest.raises(ValueError, match="target is for classifiers"):
        base_value(model, target=1)


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveClassifier])
def test_the_means_are_those_of_plain_least_squares_and_logistic_regression(kind, frame):
    """A free intercept makes the mean prediction the mean of y: of the base value, if linear."""
    X, y = frame
    model = kind(tol=1e-8, random_state=0).fit(X, y)
    if kind is AdditiveRegressor:
        assert base_value(model) == pytest.approx(y.mean(), abs=1e-4)
    else:
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-4)


def test_bad_rows(model, frame):
    X = frame[0].copy()
    X.iloc[3, 2] = np.inf
    strict = AdditiveSVC(missing="error", random_state=0, C=1.0).fit(*frame)
    gap = X.replace(np.inf, np.nan)
    for function in (contributions, importances):
        with pytest.raises(ValueError, match="infinity in column 'mean perimeter'"):
            function(model, X)
        with pytest.raises(ValueError, match="NaN in column 'mean perimeter'"):
            function(strict, gap)
        assert np.isfinite(function(model, gap)).all()
        with pytest.raises(ValueError, match="feature names should match"):
            function(model, frame[0].iloc[:, :3])
    with pytest.raises(ValueError, match="grid must hold finite numbers"):
        shape_function(strict, 0, grid=[np.nan])


def test_what_has_no_curves(frame):
    X, y = frame
    with pytest.raises(NotFittedError):
        shape_function(AdditiveClassifier(), 0)
    with pytest.raises(NotFittedError):
        base_value(AdditiveSVC(C=1.0))
    others = (
        LogisticRegression(max_iter=5000).fit(StandardScaler().fit_transform(X), y),
        SplineEmbedding().fit(X),
    )
    for other in others:
        with pytest.raises(TypeError, match=f"got {type(other).__name__}"):
            importances(other, X)


# -- categories, gaps, dropped features, weights ---------------------------------------------------

DROPPED = {"note": "drop", "unused": "drop"}
ON_MIXED = {
    "default": AdditiveClassifier(terms=DROPPED),
    "fixed C": AdditiveClassifier(Spline(8, degree=3), terms=DROPPED, C=1.0),
    "SVC": AdditiveSVC(terms=DROPPED | {"grade": Category(ordered=True)}, C=1.0),
    "regression": AdditiveRegressor(terms=DROPPED),
    "SVR": AdditiveSVR(Hermite(3), terms=DROPPED | {"rooms": Linear()}, C=1.0),
}


def mixed_rows(n=300, seed=0):
    """Make numbers with and without gaps, categories with and without, and columns of nothing."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.uniform(18, 80, n),
            "income": np.where(random.random(n) < 0.2, np.nan, random.lognormal(3, 1, n)),
            "rooms": random.integers(1, 5, n),
            "city": random.choice(["Rome", "Oslo", "Bern", None], n, p=[0.3, 0.3, 0.3, 0.1]),
            "grade": pd.Categorical(
                random.choice(["low", "mid", "high"], n), ["low", "mid", "high"]
            ),
            "constant": 3.0,
            "empty": np.nan,
            "note": [f"text {i}" for i in range(n)],
            "unused": random.normal(size=n),
        }
    )
    signal = np.sin(X["age"] / 8) + 1.5 * (X["city"] == "Rome") + X["income"].isna()
    y = signal + 0.5 * random.normal(size=n) > 0.7
    return X, y.to_numpy().astype(int), random.integers(0, 4, n)


@pytest.fixture(scope="module", params=ON_MIXED, ids=str)
def on_mixed(request):
    """A model of weighted rows, those rows, their weights, and rows with things not seen there."""
    X, y, w = mixed_rows()
    model = clone(ON_MIXED[request.param]).set_params(random_state=0).fit(X, y, w)
    other = mixed_rows(60, seed=1)[0]
    other["grade"] = other["grade"].astype(object)
    other.loc[:9, "city"] = "Lima"
    other.loc[10:19, "age"] = np.nan
    other.loc[15:24, "grade"] = None
    other.loc[25:29, ["constant", "empty"]] = [5.0, 1.0]
    return model, X, w, other


def scores_of(model, X):
    classifies = hasattr(model, "decision_function")
    return model.decision_function(X) if classifies else model.predict(X)


def test_mixed_contributions_sum_to_the_score(on_mixed):
    model, X, _, other = on_mixed
    for rows in (X, other):
        parts, plain = contributions(model, rows), contributions(model, rows, center=False)
        scores = scores_of(model, rows)
        np.testing.assert_allclose(base_value(model) + parts.sum(axis=1), scores, atol=1e-9)
        np.testing.assert_allclose(model.intercept_ + plain.sum(axis=1), scores, atol=1e-9)


def test_mixed_contributions_are_centered_by_weight(on_mixed):
    model, X, w, _ = on_mixed
    parts = contributions(model, X)
    largest = np.abs(parts).max()
    np.testing.assert_allclose(np.average(parts, axis=0, weights=w), 0, atol=1e-4 * largest)
    assert np.abs(parts.mean(axis=0)).max() > 1e-3 * largest  # the weights do matter
    deviations = np.sqrt(np.average(parts**2, axis=0, weights=w))
    np.testing.assert_allclose(model.feature_importances_, deviations, atol=1e-4 * largest)


def test_features_without_a_curve_add_nothing(on_mixed):
    model, X, _, other = on_mixed
    nothing = [X.columns.get_loc(name) for name in ("constant", "empty", "note", "unused")]
    for rows in (X, other):
        assert not contributions(model, rows)[:, nothing].any()
        assert not importances(model, rows)[nothing].any()
    for j in nothing:
        x, f = shape_function(model, j, n_points=3)
        assert x.shape == f.shape == (3,)
        assert not f.any()
        assert knots(model, j).size == 0


def test_a_value_moves_the_score_by_the_difference_of_its_contributions(on_mixed):
    model, X, _, other = on_mixed
    row, parts = X.iloc[[4]], contributions(model, other)
    for name in ("age", "income", "rooms", "city", "grade"):
        j = X.columns.get_loc(name)
        rows = pd.concat([row.astype(object)] * len(other), ignore_index=True)
        rows[name] = other[name].to_numpy()
        rows = rows.astype(
            {c: X[c].dtype for c in ("age", "income", "rooms", "unused") if c != name}
        )
        moved = scores_of(model, rows) - scores_of(model, row)
        own = contributions(model, row)[0, j]
        np.testing.assert_allclose(parts[:, j] - own, moved, atol=1e-9, err_msg=name)


def test_what_was_not_seen_in_fit_counts_as_the_mean(on_mixed):
    model, X, _, other = on_mixed
    parts, plain = contributions(model, other), contributions(model, other, center=False)
    age, city, grade = (X.columns.get_loc(name) for name in ("age", "city", "grade"))
    np.testing.assert_allclose(parts[10:20, age], 0.0, atol=1e-9)
    np.testing.assert_allclose(parts[15:25, grade], 0.0, atol=1e-9)
    # A city not seen has the mean of the cities, those of rows without one left out.
    known = X["city"].notna().to_numpy()
    _, _, w = mixed_rows()
    seen = contributions(model, X, center=False)[known, city]
    mean = np.average(seen, weights=w[known])
    np.testing.assert_allclose(plain[:10, city], mean, atol=1e-6)


def test_levels_and_their_effects(on_mixed):
    model, X, _, _ = on_mixed
    levels, f = shape_function(model, "city")
    assert levels.tolist() == ["Bern", "Oslo", "Rome", None]
    parts = contributions(model, X, center=False)[:, X.columns.get_loc("city")]
    for level, effect in zip(levels, f, strict=True):
        here = X["city"].isna() if level is None else X["city"] == level
        np.testing.assert_allclose(parts[here], effect, atol=1e-12)
    asked, effects = shape_function(model, "city", grid=["Rome", None, "Lima"])
    assert asked.tolist() == ["Rome", None, "Lima"]
    np.testing.assert_array_equal(effects[:2], f[[2, 3]])
    assert knots(model, "city").size == 0
    grades, _ = shape_function(model, "grade")
    assert set(grades) == {"low", "mid", "high"}
    with pytest.raises(ValueError, match="'city' is a category and has no curve"):
        shape_functions(model)
    x, _ = shape_functions(model, ["age", "rooms"])
    assert x.shape == (2, 200)


def test_bad_lists_of_levels(on_mixed):
    model, *_ = on_mixed
    with pytest.raises(TypeError, match=r"grid must be a list of levels; got the text 'Rome'"):
        shape_function(model, "city", grid="Rome")
    with pytest.raises(ValueError, match="grid must be a list of at least one level"):
        shape_function(model, "city", grid=[])


def test_the_value_of_a_gap(on_mixed):
    model, X, w, _ = on_mixed
    parts = contributions(model, X, center=False)
    j = X.columns.get_loc("income")
    gap = X["income"].isna().to_numpy()
    (value,) = shape_function(model, "income", grid=[np.nan])[1]
    np.testing.assert_allclose(parts[gap, j], value, atol=1e-12)
    np.testing.assert_allclose(model.terms_[1].at_missing, value, atol=1e-12)
    (centered,) = shape_function(model, "income", grid=[np.nan], center=True)[1]
    mean = np.average(parts[:, j], weights=w)
    assert centered == pytest.approx(value - mean, abs=1e-4 * np.abs(parts).max())


def test_several_classes_with_categories_and_gaps():
    X, y, w = mixed_rows()
    labels = np.array(["none", "one", "two"])[y + (X["grade"] == "high")]
    for kind in (AdditiveClassifier, AdditiveSVC):
        model = kind(terms=DROPPED, random_state=0).fit(X, labels, w)
        parts = contributions(model, X)
        assert parts.shape == (*X.shape, 3)
        total = base_value(model) + parts.sum(axis=1)
        np.testing.assert_allclose(total, model.decision_function(X), atol=1e-9)
        means = np.average(parts, axis=0, weights=w)
        np.testing.assert_allclose(means, 0, atol=1e-4 * np.abs(parts).max())
        _, f = shape_function(model, "city")
        assert f.shape == (4, 3)
        _, two = shape_function(model, "city", target="two")
        np.testing.assert_array_equal(two, f[:, 2])


def test_one_text_is_no_list_of_features(model):
    with pytest.raises(TypeError, match=r"got the text 'tenure'. Write \['tenure'\]"):
        shape_functions(model, "tenure")


# -- sparse tables ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 300)
    X = random.poisson(np.array([[0.2, 1.0, 0.3], [1.0, 0.2, 0.3], [0.3, 0.3, 1.5]])[y]) * 1.0
    X[::9, 1] = np.nan
    return X, y


@pytest.mark.parametrize("curve", [None, Fourier(2), Hermite(3), Spline(5, degree=2)], ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_sparse_contributions(curve, several, counts):
    X, y = counts
    y = y if several else (y == 1).astype(int)
    model = AdditiveSVC(curve, random_state=0, C=1.0).fit(csr_array(X), y)
    scores = model.decision_function(csr_array(X))
    parts = contributions(model, csr_array(X))
    assert isinstance(parts, np.ndarray)
    total = base_value(model) + parts.sum(axis=1)
    np.testing.assert_allclose(total, scores, atol=1e-9)
    np.testing.assert_allclose(total, model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(parts.mean(axis=0), 0, atol=1e-4 * np.abs(parts).max())
    np.testing.assert_allclose(contributions(model, X), parts, atol=1e-12)
    for label in model.classes_ if several else [1]:
        plain = contributions(model, csr_array(X), center=False, target=label)
        assert isinstance(plain, csr_array)
        assert plain.nnz == np.count_nonzero(X)
        dense = contributions(model, X, center=False, target=label)
        np.testing.assert_allclose(plain.toarray(), dense, atol=1e-12)
    found = importances(model, csr_array(X))
    np.testing.assert_allclose(found, importances(model, X), atol=1e-12)
    np.testing.assert_allclose(found, model.feature_importances_, atol=1e-4 * found.max())


def test_sparse_blocks_join_without_a_seam(counts, monkeypatch):
    X, y = counts
    model = AdditiveSVC(random_state=0, C=1.0).fit(csr_array(X), y)
    whole = contributions(model, csr_array(X), target=1, center=False)
    monkeypatch.setattr(adding, "BLOCK", 10)
    again = contributions(model, csr_array(X), target=1, center=False)
    np.testing.assert_allclose(again.toarray(), whole.toarray(), atol=1e-12)


def test_sparse_contributions_of_all_outputs_need_a_target(counts):
    X, y = counts
    model = AdditiveSVC(random_state=0, C=1.0).fit(csr_array(X), y)
    with pytest.raises(ValueError, match=r"target must be given if X is sparse.*0, 1, 2"):
        contributions(model, csr_array(X), center=False)
