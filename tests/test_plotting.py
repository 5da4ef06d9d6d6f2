import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import importances, knots, shape_function
from splinear.plotting import CurvesDisplay

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

SETTINGS = {
    "degree 0": {"degree": 0},
    "degree 1": {},
    "degree 3": {"degree": 3},
    "quantile": {"knots": "quantile", "n_bins": 40},
    "fourier": {"basis": "fourier", "degree": 3},
}


@pytest.fixture(scope="module")
def frame():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8].assign(constant=7.0), y


@pytest.fixture(scope="module")
def model(frame):
    return AdditiveClassifier(random_state=0).fit(*frame)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", SETTINGS)
def test_lines_are_the_shape_functions(name, frame):
    X, y = frame
    model = AdditiveClassifier(random_state=0, **SETTINGS[name]).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X, figure=Figure())
    top = np.argsort(-importances(model, X))[:6]
    assert len(display.axes_) == len(display.lines_) == len(display.figure_.axes) == 6
    for j, line, ax in zip(top, display.lines_, display.axes_, strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, shape_function(model, j, x, center=True, X=X)[1], atol=1e-9)
        assert (x[0], x[-1]) == (X.iloc[:, j].min(), X.iloc[:, j].max())
        assert ax.get_title(loc="left") == X.columns[j]
    display.figure_.draw_without_rendering()


def test_panels_share_one_scale_that_holds_every_curve(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0])
    limits = {ax.get_ylim() for ax in display.axes_}
    assert len(limits) == 1
    low, high = limits.pop()
    for line in display.lines_:
        assert low < line.get_ydata().min() <= line.get_ydata().max() < high


def test_corners_tell_the_share_of_importance(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=range(9))
    shares = importances(model, frame[0])
    shares = shares / shares.sum()
    corners = [ax.get_title(loc="right") for ax in display.axes_]
    assert corners == [f"{share:.0%}" for share in shares]


def test_chosen_features_by_index_and_name(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=["mean area", 0], n_cols=1)
    assert [curve.name for curve in display.curves] == ["mean area", "mean radius"]
    first, second = (ax.get_subplotspec().colspan.start for ax in display.axes_)
    assert first == second == 0


def test_uncentred_curves(model, frame):
    X, _ = frame
    display = CurvesDisplay.from_estimator(model, X, features=[4], center=False)
    x, y = display.lines_[0].get_data()
    np.testing.assert_allclose(y, shape_function(model, 4, x)[1], atol=1e-12)


def test_knots_are_marked_on_the_curve(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=["mean area"])
    np.testing.assert_array_equal(display.curves[0].knots, knots(model, "mean area"))
    marks = display.axes_[0].lines[-1]
    np.testing.assert_array_equal(marks.get_xdata(), knots(model, "mean area"))


def test_steps_are_upright_and_unmarked(frame):
    model = AdditiveClassifier(degree=0, n_bins=5, random_state=0).fit(*frame)
    curve = CurvesDisplay.from_estimator(model, frame[0], features=[0]).curves[0]
    assert curve.knots.size == 0
    heights = np.unique(model.coef_[0, 0].round(9))
    drawn = np.unique(shape_function(model, 0, curve.x)[1].round(9))
    np.testing.assert_array_equal(drawn, heights)
    rises = np.flatnonzero(np.diff(curve.f))
    assert np.diff(curve.x)[rises].max() < 1e-6 * np.ptp(curve.x)


def test_histogram_counts_every_row(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0] * 2.0)  # most rows out of range
    for curve in display.curves:
        assert curve.counts.sum() == len(frame[0])


def test_own_feature_and_class_names(frame):
    X, y = frame[0].to_numpy(), frame[1]
    model = AdditiveClassifier(random_state=0).fit(X, y)
    names = [f"feature number {j}, whose name is rather long" for j in range(9)]
    display = CurvesDisplay.from_estimator(
        model, X, features=[names[2]], feature_names=names, class_names=("bad", "good")
    )
    assert display.curves[0].name == names[2]
    assert len(display.axes_[0].get_title(loc="left")) <= 30
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend[:2] == ["speaks for good", "speaks for bad"]


def test_unnamed_features_and_lists(frame):
    X, y = frame[0].to_numpy(), frame[1]
    model = AdditiveClassifier(random_state=0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X.tolist(), features=[3])
    assert display.axes_[0].get_title(loc="left") == "x3"


def test_constant_feature_can_be_drawn(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=["constant"], figure=Figure())
    display.figure_.draw_without_rendering()
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [0.0])


def test_given_axes(model, frame):
    figure, axes = pyplot.subplots(2, 2)
    display = CurvesDisplay.from_estimator(model, frame[0], features=[0, 1, 2], axes=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes.ravel()[:3])
    assert not axes[1, 1].lines
    figure, ax = pyplot.subplots()
    assert CurvesDisplay(display.curves[:1]).plot(ax).axes_[0] is ax


def test_plot_can_be_called_again(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=[0, 1])
    first = display.figure_
    assert display.plot(n_cols=1) is display
    assert display.figure_ is not first
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), first.axes[0].lines[1].get_xdata())


def test_drawing_leaves_global_settings_alone(model, frame):
    before = mpl.rcParams.copy()
    CurvesDisplay.from_estimator(model, frame[0])
    assert mpl.rcParams == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["mean aera"]}, "Did you mean 'mean area'"),
        ({"features": [12]}, "no feature 12"),
        ({"features": []}, "at least one feature"),
        ({"top": 0}, "at least 1; got 0"),
        ({"n_cols": 0}, "at least 1; got 0"),
        ({"feature_names": ["a", "b"]}, "feature_names must have 9 entries.*got 2"),
        ({"class_names": ["a"]}, "class_names must have 2 entries; got 1"),
    ],
)
def test_bad_options(model, frame, options, message):
    with pytest.raises(ValueError, match=message):
        CurvesDisplay.from_estimator(model, frame[0], **options)


def legend_of(display):
    return [text.get_text() for text in display.figure_.legends[0].get_texts()]


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    names = data.target_names[data.target]
    return data.data, AdditiveClassifier(random_state=0).fit(data.data, names)


def test_a_line_a_class(flowers):
    X, model = flowers
    display = CurvesDisplay.from_estimator(model, X, top=3, figure=Figure())
    top = np.argsort(-importances(model, X))[:3]
    assert display.lines_.shape == (3, 3)
    for j, lines in zip(top, display.lines_, strict=True):
        for label, line in zip(model.classes_, lines, strict=True):
            x, y = line.get_data()
            f = shape_function(model, j, x, center=True, X=X, target=label)[1]
            np.testing.assert_allclose(y, f, atol=1e-9)
    assert legend_of(display)[:3] == ["setosa", "versicolor", "virginica"]
    assert len({line.get_color() for line in display.lines_[0]}) == 3
    display.figure_.draw_without_rendering()


def test_one_class_of_several(flowers):
    X, model = flowers
    display = CurvesDisplay.from_estimator(
        model, X, target="virginica", class_names=["S", "Ve", "Vi"], figure=Figure()
    )
    assert display.lines_.shape == (4,)
    x, y = display.lines_[0].get_data()
    j = int(np.argmax(importances(model, X, target="virginica")))
    f = shape_function(model, j, x, center=True, X=X, target="virginica")[1]
    np.testing.assert_allclose(y, f, atol=1e-9)
    assert legend_of(display)[:2] == ["speaks for Vi", "speaks against Vi"]


def test_classes_that_cannot_be_drawn(flowers):
    X, model = flowers
    with pytest.raises(ValueError, match=r"no target 'rose'. The classes are 'setosa'"):
        CurvesDisplay.from_estimator(model, X, target="rose")
    with pytest.raises(ValueError, match="class_names must have 3 entries; got 2"):
        CurvesDisplay.from_estimator(model, X, class_names=["a", "b"])
    many = AdditiveClassifier(random_state=0).fit(X, np.arange(len(X)) % 11)
    with pytest.raises(ValueError, match=r"11 classes are too many .* for example target=0"):
        CurvesDisplay.from_estimator(many, X)
    assert CurvesDisplay.from_estimator(many, X, target=3).lines_.shape == (4,)


def test_effects_in_regression(frame):
    X, _ = frame
    model = AdditiveRegressor().fit(X, X["mean area"] ** 0.5)
    display = CurvesDisplay.from_estimator(model, X, target_name="the width", figure=Figure())
    x, y = display.lines_[0].get_data()
    j = int(np.argmax(importances(model, X)))
    np.testing.assert_allclose(y, shape_function(model, j, x, center=True, X=X)[1], atol=1e-9)
    assert display.figure_.get_supylabel() == "effect on the width"
    assert legend_of(display)[:2] == ["raises the width", "lowers the width"]


def test_too_few_axes(model, frame):
    _, ax = pyplot.subplots()
    with pytest.raises(ValueError, match="2 curves need as many axes; got 1"):
        CurvesDisplay.from_estimator(model, frame[0], features=[0, 1], axes=ax)


def test_without_matplotlib(model, frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'splinear\[plot\]'"):
        CurvesDisplay.from_estimator(model, frame[0])


@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
@pytest.mark.parametrize("several", [False, True])
def test_a_continuation_is_dotted_where_it_is_asked_for(extrapolation, several):
    X, y = load_iris(return_X_y=True)
    y = y if several else y == 2
    model = AdditiveClassifier(extrapolation=extrapolation, random_state=0).fit(X, y)
    beyond = X.copy()
    beyond[0, 0] = 12.0
    for table, dotted in ((X, False), (beyond, extrapolation == "linear")):
        display = CurvesDisplay.from_estimator(model, table, features=[0, 1], center=False)
        for line in display.lines_.ravel():
            assert line.get_xdata().max() <= X.max()
        first, second = ([ln for ln in ax.lines if ln.get_ls() == ":"] for ax in display.axes_)
        assert len(first) == dotted * (3 if several else 1)
        assert not second
        for k, line in enumerate(first):
            target = k if several else None
            x, f = line.get_data()
            np.testing.assert_allclose(x[[0, -1]], [X[:, 0].max(), 12.0])
            np.testing.assert_allclose(f, shape_function(model, 0, grid=x, target=target)[1])
        words = [text.get_text() for text in display.figure_.legends[0].texts]
        assert ("straight beyond" in words) == dotted


def test_models_that_refuse_values_outside_can_be_drawn(frame):
    X, y = frame
    for degree in (0, 1):
        model = AdditiveClassifier(extrapolation="error", degree=degree, random_state=0).fit(X, y)
        CurvesDisplay.from_estimator(model, X, top=9)


def test_sparse_tables_and_files(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    X = random.poisson(np.where(y[:, None], [0.9, 0.1, 0.3], [0.2, 0.5, 0.3])).astype(float)
    model = AdditiveClassifier(random_state=0).fit(csr_array(X), y)
    np.save(tmp_path / "X.npy", X)
    dump_svmlight_file(X, y, str(tmp_path / "X.svm"), zero_based=False)
    expected = CurvesDisplay.from_estimator(model, X, figure=Figure())
    for table in (csr_array(X), tmp_path / "X.npy", tmp_path / "X.svm"):
        display = CurvesDisplay.from_estimator(model, table, figure=Figure())
        for ours, theirs in zip(display.curves, expected.curves, strict=True):
            np.testing.assert_allclose(ours.f, theirs.f, atol=1e-12)
            assert ours.name == theirs.name
        display.figure_.draw_without_rendering()
