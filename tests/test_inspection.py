import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor, SplineEmbedding, inspection
from splinear.inspection import contributions, importances, knots, shape_function, shape_functions

MODELS = {
    "degree 0": {"degree": 0},
    "degree 1, D_0": {"penalty_order": 0},
    "degree 1, D_1": {},
    "degree 2, D_2": {"degree": 2, "penalty_order": 2, "tol": 0.1},
    "degree 3": {"degree": 3, "scale": "native", "C": 0.01},
    "quantile": {"knots": "quantile"},
    "fourier": {"basis": "fourier", "degree": 3},
    "fourier, quantile": {"basis": "fourier", "degree": 2, "knots": "quantile"},
    "hermite": {"basis": "hermite", "degree": 4},
    "hermite, standard": {"basis": "hermite", "degree": 3, "scale": "standard", "tol": 0.1},
    "no intercept": {"fit_intercept": False},
}


@pytest.fixture(scope="module")
def frame():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[::2, :8].assign(constant=7.0)
    return X, y[::2]


@pytest.fixture(scope="module", params=MODELS, ids=str)
def any_model(request, frame):
    return AdditiveClassifier(random_state=0, **MODELS[request.param]).fit(*frame)


@pytest.fixture(scope="module")
def model(frame):
    return AdditiveClassifier(random_state=0).fit(*frame)


def test_contributions_sum_to_the_decision_function(any_model, frame):
    X, _ = frame
    parts = contributions(any_model, X)
    assert parts.shape == X.shape
    np.testing.assert_allclose(
        any_model.intercept_ + parts.sum(axis=1), any_model.decision_function(X), atol=1e-9
    )


def test_contributions_outside_the_training_range(any_model, frame):
    X = frame[0] * 3.0 - frame[0].mean()
    total = any_model.intercept_ + contributions(any_model, X).sum(axis=1)
    np.testing.assert_allclose(total, any_model.decision_function(X), atol=1e-9)


def test_shape_function_is_how_the_score_moves_with_one_feature(any_model, frame):
    X, _ = frame
    j = 3
    x, f = shape_function(any_model, j, n_points=31)
    rows = pd.concat([X.iloc[[5]]] * len(x), ignore_index=True)
    rows.iloc[:, j] = x
    scores = any_model.decision_function(rows)
    np.testing.assert_allclose(f - f[0], scores - scores[0], atol=1e-9)
    assert x[0] == X.iloc[:, j].min()
    assert x[-1] == X.iloc[:, j].max()


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


def test_centring_over_the_grid_and_over_the_rows(any_model, frame):
    X, _ = frame
    _, plain = shape_function(any_model, 1)
    _, over_grid = shape_function(any_model, 1, center=True)
    _, over_rows = shape_function(any_model, 1, center=True, X=X)
    assert abs(over_grid.mean()) < 1e-12
    np.testing.assert_allclose(plain - over_grid, plain.mean())
    np.testing.assert_allclose(plain - over_rows, contributions(any_model, X)[:, 1].mean())


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
    assert (found[:-1] > 0).all()


def test_constant_feature_has_a_zero_curve_and_no_knots(any_model):
    x, f = shape_function(any_model, "constant", n_points=4)
    np.testing.assert_array_equal(x, np.full(4, 7.0))
    np.testing.assert_array_equal(f, np.zeros(4))
    assert knots(any_model, "constant").size == 0


def test_curves_are_straight_between_knots(frame):
    for settings in ({}, {"knots": "quantile"}):
        model = AdditiveClassifier(random_state=0, n_bins=6, **settings).fit(*frame)
        places = knots(model, "mean area")
        assert places.shape == (7,)
        middle = (places[1:] + places[:-1]) / 2
        at_knots = shape_function(model, "mean area", places)[1]
        between = shape_function(model, "mean area", middle)[1]
        np.testing.assert_allclose(between, (at_knots[1:] + at_knots[:-1]) / 2, atol=1e-9)


def test_knots_of_curves_in_one_piece(frame):
    model = AdditiveClassifier(basis="hermite", degree=3, random_state=0).fit(*frame)
    assert knots(model, 0).size == 0


def test_blocks_join_without_a_seam(model, frame, monkeypatch):
    whole = contributions(model, frame[0])
    monkeypatch.setattr(inspection, "_BLOCK", 10)
    np.testing.assert_allclose(contributions(model, frame[0]), whole, atol=1e-12)


def test_wide_ranges_do_not_overflow():
    X = np.array([[-1e308], [-5e307], [5e307], [1e308]])
    model = AdditiveClassifier(n_bins=2, random_state=0).fit(X, [0, 0, 1, 1])
    x, f = shape_function(model, 0, n_points=5)
    np.testing.assert_allclose(x, np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * 1e308)
    assert np.isfinite(f).all()
    np.testing.assert_allclose(knots(model, 0), [-1e308, 0.0, 1e308])


def test_unnamed_features(frame):
    X, y = frame
    model = AdditiveClassifier(random_state=0).fit(X.to_numpy(), y)
    assert inspection.feature_names(model)[:2] == ["x0", "x1"]
    with pytest.raises(ValueError, match=r"no feature 'mean area'.*without column names.*0 to 8"):
        shape_function(model, "mean area")


def test_a_name_that_does_not_exist(model):
    with pytest.raises(ValueError, match=r"no feature 'mean aera'. Did you mean 'mean area'\?"):
        shape_function(model, "mean aera")
    with pytest.raises(ValueError, match=r"no feature 'zzz'. The features are 'mean radius', "):
        shape_function(model, "zzz")


@pytest.mark.parametrize("feature", [-1, 9])
def test_a_number_that_does_not_exist(model, feature):
    with pytest.raises(ValueError, match=f"no feature {feature}: they run from 0 to 8"):
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
        ({"grid": [np.nan]}, "finite"),
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
    return X, AdditiveClassifier(random_state=0).fit(X, names)


@pytest.fixture(scope="module")
def together(flowers):
    X, model = flowers
    return X, AdditiveClassifier(loss="logistic", random_state=0).fit(X, model.predict(X))


@pytest.fixture(scope="module")
def tagged(frame):
    X, y = frame
    labels = np.column_stack([y, X["mean area"] > X["mean area"].median()])
    return X, AdditiveClassifier(random_state=0).fit(X, labels)


@pytest.mark.parametrize("data", ["flowers", "together", "tagged"])
def test_contributions_of_all_outputs_sum_to_the_scores(data, request):
    X, model = request.getfixturevalue(data)
    parts = contributions(model, X)
    assert parts.shape == (*X.shape, len(model.classes_))
    total = model.intercept_ + parts.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(X), atol=1e-9)


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
    with pytest.raises(ValueError, match=r"target=0, but .* two classes has the curves of 1"):
        contributions(model, X, target=0)


def test_a_target_that_does_not_exist(flowers, tagged):
    with pytest.raises(
        ValueError, match=r"no target 'rose'. The classes are 'setosa', 'versicolor', 'virginica'"
    ):
        shape_function(flowers[1], 0, target="rose")
    with pytest.raises(ValueError, match=r"no target 2. The classes are 0, 1\."):
        importances(*tagged[::-1], target=2)


def test_contributions_to_a_prediction(frame):
    X, _ = frame
    model = AdditiveRegressor().fit(X, X["mean area"] ** 0.5)
    total = model.intercept_ + contributions(model, X).sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X), atol=1e-9)
    assert shape_function(model, "mean area")[1].shape == (200,)
    with pytest.raises(ValueError, match="target is for classifiers; AdditiveRegressor has one"):
        contributions(model, X, target=1)


def test_bad_rows(model, frame):
    X = frame[0].copy()
    X.iloc[3, 2] = np.nan
    for function in (contributions, importances):
        with pytest.raises(ValueError, match="NaN in column 'mean perimeter'"):
            function(model, X)
        with pytest.raises(ValueError, match="feature names should match"):
            function(model, frame[0].iloc[:, :3])


def test_what_has_no_curves(frame):
    X, y = frame
    with pytest.raises(NotFittedError):
        shape_function(AdditiveClassifier(), 0)
    others = (
        make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0)).fit(X, y),
        LogisticRegression(max_iter=5000).fit(StandardScaler().fit_transform(X), y),
        SplineEmbedding().fit(X),
    )
    for other in others:
        with pytest.raises(TypeError, match=f"got {type(other).__name__}"):
            importances(other, X)
