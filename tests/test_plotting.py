import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.inspection import band, contributions, importances, knots, shape_function
from splinear.plotting import CurvesDisplay
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

MODELS = {
    "degree 0": AdditiveSVC(Spline(10, degree=0), C=1.0),
    "degree 1": AdditiveSVC(C=1.0),
    "degree 3": AdditiveSVC(Spline(10, degree=3), C=1.0),
    "quantile": AdditiveSVC(Spline(40, knots="quantile"), C=1.0),
    "Fourier": AdditiveSVC(Fourier(3), C=1.0),
    "Hermite": AdditiveSVC(Hermite(3), C=1.0),
    "linear": AdditiveSVC(Linear(), C=1.0),
    "default": AdditiveClassifier(),
}


@pytest.fixture(scope="module")
def frame():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8].assign(constant=7.0), y


@pytest.fixture(scope="module")
def model(frame):
    return AdditiveSVC(random_state=0, C=1.0).fit(*frame)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", MODELS)
def test_lines_are_the_shape_functions(name, frame):
    X, y = frame
    model = clone(MODELS[name]).set_params(random_state=0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X, figure=Figure(figsize=(12, 7)))
    top = np.argsort(-importances(model, X))[:6]
    assert len(display.axes_) == len(display.lines_) == len(display.figure_.axes) == 6
    for j, line, ax in zip(top, display.lines_, display.axes_, strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, shape_function(model, j, x, center=True, X=X)[1], atol=1e-9)
        assert (x[0], x[-1]) == (X.iloc[:, j].min(), X.iloc[:, j].max())
        assert ax.get_title(loc="left") == X.columns[j]
    if name in ("degree 0", "default"):
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


def test_uncentered_curves(model, frame):
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
    model = AdditiveSVC(Spline(5, degree=0, knots="uniform"), random_state=0, C=1.0).fit(*frame)
    curve = CurvesDisplay.from_estimator(model, frame[0], features=[0]).curves[0]
    assert curve.knots.size == 0
    heights = np.unique(model.terms_[0].coef[0].round(9))
    drawn = np.unique(shape_function(model, 0, curve.x)[1].round(9))
    np.testing.assert_array_equal(drawn, heights)
    rises = np.flatnonzero(np.diff(curve.f))
    assert np.diff(curve.x)[rises].max() < 1e-6 * np.ptp(curve.x)


def test_histogram_counts_every_row(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0] * 2.0)  # most rows out of range
    for curve in display.curves:
        assert curve.counts.sum() == len(frame[0])


@pytest.mark.parametrize(
    ("values", "n_cells"),
    [(np.arange(24), 24), (np.arange(72), 72), (np.arange(200), 100), ([0.5, 1, 3], 6)],
)
def test_cells_of_a_histogram_hold_as_many_grid_points_each(values, n_cells):
    x = np.repeat(np.asarray(values, dtype=float), 10)
    model = AdditiveSVC(random_state=0, C=1.0).fit(x[:, None], np.arange(len(x)) % 2)
    (curve,) = CurvesDisplay.from_estimator(model, x[:, None], figure=Figure()).curves
    assert len(curve.counts) == n_cells
    middle = (curve.edges[1:] + curve.edges[:-1]) / 2
    if n_cells == 100:  # of two values each
        assert (curve.counts == 20).all()
    else:
        np.testing.assert_allclose(middle[curve.counts > 0], values)
        assert set(curve.counts) <= {0.0, 10.0}


def test_cells_of_other_values_are_even():
    x = np.random.default_rng(0).normal(size=(300, 1))
    model = AdditiveSVC(random_state=0, C=1.0).fit(x, x[:, 0] > 0)
    (curve,) = CurvesDisplay.from_estimator(model, x, figure=Figure()).curves
    np.testing.assert_allclose(curve.edges, np.linspace(x.min(), x.max(), 41))
    np.testing.assert_array_equal(curve.counts, np.histogram(x, 40)[0])


def test_own_feature_and_class_names(frame):
    X, y = frame[0].to_numpy(), frame[1]
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    names = [f"feature number {j}, whose name is rather long" for j in range(9)]
    display = CurvesDisplay.from_estimator(
        model, X, features=[names[2]], feature_names=names, class_names=("bad", "good")
    )
    assert display.curves[0].name == names[2]
    title = display.axes_[0].get_title(loc="left")
    assert title.replace("\n", " ") == names[2]
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend[:2] == ["speaks for good", "speaks for bad"]


def test_unnamed_features_and_lists(frame):
    X, y = frame[0].to_numpy(), frame[1]
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X.tolist(), features=[3])
    assert display.axes_[0].get_title(loc="left") == "x3"


def test_constant_feature_is_a_dot(model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], features=["constant"], figure=Figure())
    display.figure_.draw_without_rendering()
    (line,), (ax,) = display.lines_, display.axes_
    np.testing.assert_array_equal(line.get_data(), [[7.0], [0.0]])
    assert line.get_marker() == "o"
    assert ax.get_xticks().tolist() == [7.0]
    assert display.curves[0].counts.tolist() == [len(frame[0])]


def test_given_axes(model, frame):
    figure, axes = pyplot.subplots(2, 2)
    display = CurvesDisplay.from_estimator(model, frame[0], features=[0, 1, 2], ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes.ravel()[:3])
    assert not axes[1, 1].lines
    figure, ax = pyplot.subplots()
    assert CurvesDisplay(display.curves[:1]).plot(ax).axes_[0] is ax


@pytest.mark.parametrize(("n", "expected"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3))])
def test_rows_of_panels_are_about_equally_long(n, expected, model, frame):
    display = CurvesDisplay.from_estimator(model, frame[0], top=n)
    shape = display.axes_[0].get_subplotspec().get_gridspec()
    assert (shape.nrows, shape.ncols) == expected
    pyplot.close(display.figure_)


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
        ({"n_points": 0}, "n_points must be at least 1; got 0"),
        ({"top": 0}, "at least 1; got 0"),
        ({"n_cols": 0}, "at least 1; got 0"),
        ({"feature_names": ["a", "b"]}, "feature_names must have 9 entries.*got 2"),
        ({"class_names": ["a"]}, "class_names must have 2 entries; got 1"),
    ],
)
def test_bad_options(model, frame, options, message):
    with pytest.raises(ValueError, match=message):
        CurvesDisplay.from_estimator(model, frame[0], **options)


def test_one_text_is_no_list_of_features(model, frame):
    with pytest.raises(TypeError, match=r"got the text 'tenure'. Write \['tenure'\]"):
        CurvesDisplay.from_estimator(model, frame[0], features="tenure")


def legend_of(display):
    return [text.get_text() for text in display.figure_.legends[0].get_texts()]


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    names = data.target_names[data.target]
    return data.data, AdditiveSVC(random_state=0, C=1.0).fit(data.data, names)


def test_one_line_per_class(flowers):
    X, model = flowers
    display = CurvesDisplay.from_estimator(model, X, top=3, figure=Figure())
    top = np.argsort(-importances(model, X))[:3]
    assert display.lines_.shape == (3, 3)
    for j, lines in zip(top, display.lines_, strict=True):
        for label, line in zip(model.classes_, lines, strict=True):
            x, y = line.get_data()
            f = shape_function(model, j, x, center=True, X=X, target=label)[1]
            np.testing.assert_allclose(y, f, atol=1e-9)
    for ax in display.axes_:
        assert [t.get_text() for t in ax.texts] == ["setosa", "versicolor", "virginica"]
    assert "setosa" not in legend_of(display)
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


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveSVR])
def test_effects_in_regression(kind, frame):
    X, _ = frame
    model = kind(random_state=0).fit(X, X["mean area"] ** 0.5)
    display = CurvesDisplay.from_estimator(model, X, target_name="the width", figure=Figure())
    x, y = display.lines_[0].get_data()
    j = int(np.argmax(importances(model, X)))
    np.testing.assert_allclose(y, shape_function(model, j, x, center=True, X=X)[1], atol=1e-9)
    assert display.figure_.get_supylabel() == "effect on the width"
    assert legend_of(display)[:2] == ["raises the width", "lowers the width"]


def test_too_few_axes(model, frame):
    figure, axes = pyplot.subplots(1, 2)
    with pytest.raises(ValueError, match="3 curves need as many axes; got 2"):
        CurvesDisplay.from_estimator(model, frame[0], features=[0, 1, 2], ax=axes)
    free = figure.add_axes([0, 0, 1, 1])  # not a part of a grid that could be divided
    with pytest.raises(ValueError, match="2 curves need as many axes; got 1"):
        CurvesDisplay.from_estimator(model, frame[0], features=[0, 1], ax=free)


def test_one_given_ax_is_divided_among_several_curves(model, frame):
    figure, (left, right) = pyplot.subplots(1, 2)
    display = CurvesDisplay.from_estimator(
        model, frame[0], features=[0, 1, 2, 3], n_cols=2, ax=right
    )
    assert display.figure_ is figure
    assert len(display.axes_) == 4
    whole = right.get_position()
    for ax in display.axes_:
        part = ax.get_position()
        assert whole.x0 <= part.x0 < part.x1 <= whole.x1 + 1e-9
        assert whole.y0 <= part.y0 < part.y1 <= whole.y1 + 1e-9
    assert not right.axison
    assert left.axison
    assert [bool(ax.get_ylabel()) for ax in display.axes_] == [True, False, True, False]


def test_panels_that_are_given_name_their_unit(model, frame):
    _, axes = pyplot.subplots(1, 2)
    CurvesDisplay.from_estimator(model, frame[0], features=[0, 1], ax=axes)
    assert [ax.get_ylabel() for ax in axes] == ["effect on the margin of 1", ""]


def test_without_matplotlib(model, frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'splinear\[plot\]'"):
        CurvesDisplay.from_estimator(model, frame[0])


@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
@pytest.mark.parametrize("several", [False, True])
def test_a_continuation_is_dotted_where_it_is_asked_for(extrapolation, several):
    X, y = load_iris(return_X_y=True)
    y = y if several else y == 2
    model = AdditiveSVC(Spline(10, extrapolation=extrapolation), random_state=0, C=1.0).fit(X, y)
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
        curve = Spline(10, degree=degree, extrapolation="error")
        model = AdditiveSVC(curve, random_state=0, C=1.0).fit(X, y)
        CurvesDisplay.from_estimator(model, X, top=9)


def test_sparse_tables_and_files(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    X = random.poisson(np.where(y[:, None], [0.9, 0.1, 0.3], [0.2, 0.5, 0.3])).astype(float)
    model = AdditiveSVC(random_state=0, C=1.0).fit(csr_array(X), y)
    np.save(tmp_path / "X.npy", X)
    dump_svmlight_file(X, y, str(tmp_path / "X.svm"), zero_based=False)
    expected = CurvesDisplay.from_estimator(model, X, figure=Figure())
    for table in (csr_array(X), tmp_path / "X.npy", tmp_path / "X.svm"):
        display = CurvesDisplay.from_estimator(model, table, figure=Figure())
        for ours, theirs in zip(display.curves, expected.curves, strict=True):
            np.testing.assert_allclose(ours.f, theirs.f, atol=1e-12)
            assert ours.name == theirs.name
        display.figure_.draw_without_rendering()


# -- categories, gaps, dropped features ------------------------------------------------------------

GRADES = ["never", "rarely", "often", "always"]


@pytest.fixture(scope="module")
def customers():
    """Make a table of numbers, gaps and categories, with two classes and one column of names."""
    random = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "name": [f"customer {i}" for i in range(n)],
            "tenure": random.integers(0, 72, n),
            "charges": np.where(random.random(n) < 0.2, np.nan, random.lognormal(3, 0.5, n)),
            "payment": random.choice(["card", "bank", "mail", None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "calls": pd.Categorical(random.choice(GRADES, n), GRADES, ordered=True),
            "town": random.choice([f"town {k:02}" for k in range(30)], n),
            "fixed": np.where(random.random(n) < 0.3, np.nan, 5.0),
            "empty": np.nan,
            "hour": random.integers(0, 96, n),
        }
    )
    signal = 2 * np.exp(-X["tenure"] / 15) + X["charges"].isna() + 1.5 * X["payment"].isna()
    signal += (X["calls"] == "rarely") + X["fixed"].isna() + np.sin(X["hour"] / 12 * np.pi)
    return X, (signal + random.logistic(size=n) > 1.5).to_numpy().astype(int)


@pytest.fixture(scope="module")
def churn(customers):
    terms = {"name": "drop", "calls": Category(ordered=True), "hour": Fourier(2, period=24)}
    return AdditiveClassifier(terms=terms, random_state=0).fit(*customers)


def panel(model, X, feature, **options):
    display = CurvesDisplay.from_estimator(model, X, features=[feature], figure=Figure(), **options)
    return display.curves[0], display.axes_[0], display


def test_levels_in_the_order_of_their_effects(churn, customers):
    X, _ = customers
    curve, ax, display = panel(churn, X, "payment")
    levels, f = shape_function(churn, "payment", center=True, X=X)
    names = ["missing" if level is None else level for level in levels]
    order = np.argsort(f)
    assert curve.levels == tuple(names[k] for k in order)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(curve.levels)
    heights = [bar.get_height() for bar in display.lines_[0]]
    np.testing.assert_allclose(heights, f[order], atol=1e-12)
    counts = X["payment"].fillna("missing").value_counts()
    np.testing.assert_array_equal(curve.counts, counts[list(curve.levels)])
    assert curve.f_missing is None
    assert curve.n_hidden == 0


def test_levels_of_an_ordered_category_in_their_own_order(churn, customers):
    X, _ = customers
    curve, *_ = panel(churn, X, "calls")
    assert curve.levels == tuple(GRADES)
    np.testing.assert_allclose(curve.f, shape_function(churn, "calls", center=True, X=X)[1])


def test_of_many_levels_those_that_matter_most(churn, customers):
    X, _ = customers
    curve, ax, _ = panel(churn, X, "town")
    levels, f = shape_function(churn, "town", center=True, X=X)
    squares = pd.Series(f**2, levels) * X["town"].value_counts()
    assert set(curve.levels) == set(squares.nlargest(12).index)
    assert curve.n_hidden == 18
    assert (np.diff(curve.f) >= 0).all()
    assert ax.get_xlabel() == "12 of 30 levels: those that matter most"
    assert {label.get_text().replace("\n", " ") for label in ax.get_xticklabels()} == set(
        curve.levels
    )


def test_of_thousands_of_levels_those_that_matter_most():
    random = np.random.default_rng(0)
    level = np.append(np.arange(2000), random.integers(0, 60, 18_000))
    effect = np.zeros(2000)
    effect[50:60] = [3.0, -3.0] * 5  # frequent, but not the most frequent
    frame = pd.DataFrame({"shop": [f"shop {k:04}" for k in level], "x": random.normal(size=20_000)})
    y = effect[level] + 0.1 * random.normal(size=20_000)
    model = AdditiveRegressor(categorical_features=["shop"], random_state=0).fit(frame, y)
    curve, ax, _ = panel(model, frame, "shop")
    assert {f"shop {k:04}" for k in range(50, 60)} <= set(curve.levels)
    assert np.sort(curve.f)[[0, -1]] == pytest.approx([-3.0, 3.0], abs=0.2)
    assert ax.get_xlabel() == "12 of 2,000 levels: those that matter most"
    unseen = frame.assign(shop="none of them")  # no rows at all: by effect alone
    assert {f"shop {k:04}" for k in range(50, 60)} <= set(panel(model, unseen, "shop")[0].levels)


def test_a_level_that_fit_has_not_seen_is_not_counted(churn, customers):
    X, _ = customers
    other = X.assign(payment=X["payment"].replace("mail", "cash"))
    curve, *_ = panel(churn, other, "payment")
    assert curve.counts[curve.levels.index("mail")] == 0
    assert curve.counts.sum() == (other["payment"] != "cash").sum()


def test_a_gap_is_a_diamond_beside_the_curve(churn, customers):
    X, _ = customers
    curve, ax, display = panel(churn, X, "charges")
    (gap,) = shape_function(churn, "charges", grid=[np.nan], center=True, X=X)[1]
    assert curve.f_missing == pytest.approx(gap)
    assert curve.n_missing == X["charges"].isna().sum()
    assert curve.counts.sum() == X["charges"].notna().sum()
    (diamond,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert diamond.get_ydata() == pytest.approx([gap])
    assert diamond.get_xdata()[0] > X["charges"].max()
    assert "value missing" in legend_of(display)
    low, high = ax.get_ylim()
    assert low < gap < high
    _, _, without = panel(churn, X, "tenure")
    assert "value missing" not in legend_of(without)


def test_curves_are_centered_with_their_gaps(churn, customers):
    X, _ = customers
    curve, *_ = panel(churn, X, "charges")
    parts = contributions(churn, X, center=False)[:, X.columns.get_loc("charges")]
    _, plain = shape_function(churn, "charges", grid=curve.x)
    np.testing.assert_allclose(curve.f, plain - parts.mean(), atol=1e-9)


def test_one_value_and_gaps(churn, customers):
    X, _ = customers
    curve, ax, display = panel(churn, X, "fixed")
    assert curve.x.tolist() == [5.0]
    assert ax.get_xticks().tolist() == [5.0]
    assert curve.f_missing > curve.f[0]
    share = X["fixed"].isna().mean()
    mean = share * curve.f_missing + (1 - share) * curve.f[0]
    assert mean == pytest.approx(0.0, abs=1e-9)
    assert display.lines_[0].get_marker() == "o"


def test_gaps_alone(churn, customers):
    X, _ = customers
    curve, ax, display = panel(churn, X, "empty")
    assert curve.f.tolist() == [0.0]
    assert curve.f_missing == 0.0
    assert curve.counts.sum() == 0
    assert ax.get_xticks().tolist() == []
    assert display.lines_[0].get_marker() in ("", "None")


def test_a_period_is_shown_once_and_counts_all_rows(churn, customers):
    X, _ = customers
    curve, *_ = panel(churn, X, "hour")
    assert (curve.x[0], curve.x[-1]) == (0.0, 24.0)
    hours = np.bincount(X["hour"] % 24, minlength=24)
    at = ((curve.edges[1:] + curve.edges[:-1]) / 2).round().astype(int)
    np.testing.assert_array_equal(curve.counts[at < 24], hours[at[at < 24]])


def test_a_dropped_feature_has_no_panel(churn, customers):
    X, _ = customers
    with pytest.raises(ValueError, match="'name' was dropped by `terms`: it has no curve"):
        panel(churn, X, "name")
    display = CurvesDisplay.from_estimator(churn, X, top=20, figure=Figure())
    assert {curve.name for curve in display.curves} == set(X.columns) - {"name"}
    display.figure_.draw_without_rendering()


def test_several_classes_with_categories_and_gaps(customers):
    X, y = customers
    labels = np.array(["a", "b", "c"])[y + (X["calls"] == "always")]
    model = AdditiveSVC(terms={"name": "drop"}, random_state=0, C=1.0).fit(X, labels)
    display = CurvesDisplay.from_estimator(model, X, top=8, figure=Figure())
    display.figure_.draw_without_rendering()
    assert display.lines_.shape == (8, 3)
    (towns,) = [curve for curve in display.curves if curve.name == "town"]
    steepest = np.argmax(np.ptp(towns.f, axis=0))
    assert (np.diff(towns.f[:, steepest]) >= 0).all()
    (charges,) = [k for k, curve in enumerate(display.curves) if curve.name == "charges"]
    _, gaps = shape_function(model, "charges", grid=[np.nan], center=True, X=X)
    diamonds = [ln for ln in display.axes_[charges].lines if ln.get_marker() == "D"]
    np.testing.assert_allclose([ln.get_ydata()[0] for ln in diamonds], gaps[0])


def test_categories_in_files_and_other_frames(churn, customers, tmp_path):
    polars = pytest.importorskip("polars")
    X, _ = customers
    X.to_parquet(tmp_path / "X.parquet")
    expected = CurvesDisplay.from_estimator(churn, X, top=8, figure=Figure())
    for table in (tmp_path / "X.parquet", polars.from_pandas(X)):
        display = CurvesDisplay.from_estimator(churn, table, top=8, figure=Figure())
        for ours, theirs in zip(display.curves, expected.curves, strict=True):
            assert (ours.name, ours.levels) == (theirs.name, theirs.levels)
            np.testing.assert_allclose(ours.f, theirs.f, atol=1e-12)
            np.testing.assert_array_equal(ours.counts, theirs.counts)


@pytest.mark.parametrize("width", [5, 8, 12, 16])
def test_a_legend_of_six_entries_has_rows_of_one_length_within_the_figure(churn, customers, width):
    X, y = customers
    terms = {"name": "drop", "tenure": Spline(8, extrapolation="linear")}
    model = AdditiveSVC(terms=terms, random_state=0, C=1.0).fit(X, y)
    beyond = X.assign(tenure=X["tenure"] * 2)
    figure = Figure(figsize=(width, 7))
    display = CurvesDisplay.from_estimator(
        model, beyond, features=["tenure", "charges", "calls"], figure=figure
    )
    assert len(legend_of(display)) == 6
    figure.draw_without_rendering()
    legend = display.figure_.legends[0]
    assert legend._ncols == {5: 2, 8: 3, 12: 6, 16: 6}[width]
    assert legend.get_window_extent().x0 > 0.0


AWKWARD = r"$\frac{a$"


def shown(figure):
    """All texts of a picture, after it has been drawn; none with a dollar is a formula."""
    figure.canvas.draw()
    texts = figure.findobj(mpl.text.Text)
    assert not [text for text in texts if "$" in text.get_text() and text.get_parse_math()]
    return {text.get_text() for text in texts}


@pytest.mark.parametrize("name", [AWKWARD, "$x$", r"a\$b", "100 $", "_hidden", "{x}", "<&>"])
def test_names_are_text_wherever_they_come_from(name):
    """A dollar is a dollar: names of columns, levels, classes and targets are no formulas."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.normal(size=60), "level": random.choice([name, "b"], 60)})
    several = np.array([name, "b", "c"])[np.digitize(X[name], [-0.5, 0.5])]
    two = np.where(X[name] > 0, name, "b")
    for y in (several, two):
        model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
        texts = shown(CurvesDisplay.from_estimator(model, X).figure_)
        assert {name, name if len(set(y)) > 2 else f"speaks for {name}"} <= texts
    line = AdditiveRegressor(C=1.0, random_state=0).fit(X, X[name])
    texts = shown(CurvesDisplay.from_estimator(line, X, target_name=name).figure_)
    assert {f"effect on {name}", f"raises {name}", name, "b"} <= texts
    panels = pyplot.figure().subplots(1, 2)
    assert name in shown(CurvesDisplay.from_estimator(line, X, ax=panels).figure_)


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_bands_are_shaded(kind, frame):
    X, y = frame
    model = AdditiveClassifier(random_state=0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X, band=kind, figure=Figure())
    for curve, ax in zip(display.curves, display.axes_, strict=True):
        shown = [part for part in ax.collections if part.get_zorder() == 2.5]
        assert len(shown) == 1
        x, lower, upper = band(model, curve.name, kind=kind, grid=curve.x)
        np.testing.assert_allclose(curve.half, (upper - lower) / 2, rtol=1e-9)
        [outline] = shown[0].get_paths()
        _, f = shape_function(model, curve.name, x, center=True, X=X)
        assert outline.vertices[:, 1].max() == pytest.approx((f + curve.half).max())
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert "95% band" in legend


def test_no_bands_where_none_are_wanted_or_known(frame, model):
    X, y = frame
    fitted = AdditiveClassifier(random_state=0).fit(X, y)
    for display in (
        CurvesDisplay.from_estimator(model, X, figure=Figure()),
        CurvesDisplay.from_estimator(fitted, X, band=None, figure=Figure()),
    ):
        assert all(curve.half is None for curve in display.curves)
        legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
        assert "95% band" not in legend
    with pytest.raises(ValueError, match="kind must be"):
        CurvesDisplay.from_estimator(fitted, X, band="both", figure=Figure())


def test_levels_and_gaps_have_bars():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.random(300), "level": random.choice(["a", "b"], 300)})
    X.iloc[::7, 0] = np.nan
    y = (X["level"] == "b") + random.normal(size=300)
    model = AdditiveRegressor(random_state=0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X, figure=Figure())
    by_name = {curve.name: curve for curve in display.curves}
    _, lower, upper = band(model, "level")
    np.testing.assert_allclose(sorted(by_name["level"].half), sorted((upper - lower) / 2))
    _, lower, upper = band(model, "x", grid=[np.nan])
    np.testing.assert_allclose(by_name["x"].half_missing, (upper - lower)[0] / 2)
