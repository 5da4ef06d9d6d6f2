import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.demo import MODELS, best_of, evaluate, load_data_sets, make_models, save_curves
from splinear.inspection import shape_function


@pytest.fixture(scope="module")
def data():
    return {data.name: data for data in load_data_sets()}


def results_on(data, *names, n_splits=3):
    models = make_models()
    return [evaluate(name, models[name], data, n_splits) for name in names]


def test_data_sets_have_two_classes(data):
    assert len(data) == 3
    for one in data.values():
        assert len(one.X) == len(one.y)
        assert len(np.unique(one.y)) == 2


def test_models_are_what_they_are_called():
    *named, default = make_models(seed=3).values()
    assert default.get_params() == AdditiveClassifier(random_state=3).get_params()
    kinds = ["Linear", "Spline", "Spline", "Spline", "Fourier", "Hermite"]
    assert [type(model.curve).__name__ for model in named] == kinds
    for model in named:
        expected = AdditiveSVC(model.curve, random_state=3, C=1.0)
        assert model.get_params() == expected.get_params()
    orders = [(model.curve.degree, model.curve.penalty_order) for model in named[1:4]]
    assert orders == [(1, 0), (1, 1), (3, 1)]


def test_the_linear_model_is_straight(data):
    one = data["breast cancer"]
    model = make_models()["linear"].fit(one.X, one.y)
    _, f = shape_function(model, 0, n_points=50)
    np.testing.assert_allclose(np.diff(f, 2), 0.0, atol=1e-9)
    assert abs(f[-1] - f[0]) > 0.1


def test_splines_beat_the_linear_model_on_digits(data):
    linear, spline = results_on(data["odd/even digits"], "linear", "spline, D_1", n_splits=5)
    assert (spline.accuracies > linear.accuracies).all()
    assert spline.accuracy > linear.accuracy + 0.01


def test_every_curved_model_separates_the_rings(data):
    linear, *curved = results_on(data["two rings"], *MODELS)
    assert linear.accuracy < 0.6
    assert all(result.accuracy > 0.85 for result in curved)


def test_results_are_complete_and_repeatable(data):
    first, again = (results_on(data["breast cancer"], "Hermite")[0] for _ in range(2))
    np.testing.assert_array_equal(first.accuracies, again.accuracies)
    assert first.accuracies.shape == (3,)
    assert first.accuracy == first.accuracies.mean()
    assert first.deviation == first.accuracies.std()
    assert first.seconds > 0
    assert 0 <= first.gap <= 0.01
    assert (first.data_set, first.model) == ("breast cancer", "Hermite")


def test_best_of_names_one_result_for_each_data_set(data):
    results = results_on(data["two rings"], "linear", "spline, D_1")
    results += results_on(data["breast cancer"], "linear")
    assert best_of(results) == {"two rings": results[1], "breast cancer": results[2]}


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_curves_are_saved(tmp_path, ending):
    path = tmp_path / f"curves.{ending}"
    save_curves(path)
    start = path.read_bytes()[:100]
    assert start.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
