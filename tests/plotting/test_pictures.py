"""What can be measured of pictures: texts that do not meet, marks, labels, axes."""

import itertools
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, report
from splinear.inspection import explain, shape_function
from splinear.plotting import CurvesDisplay, PairDisplay
from splinear.plotting.fitting import cut, spread, wrapped
from splinear.plotting.scales import Scale, choose_scale, compact, height_marks, value_names
from splinear.terms import Spline

mpl.use("Agg")

from matplotlib.figure import Figure
from matplotlib.text import Annotation

REGIONS = [
    "North Rhine-Westphalia",
    "Mecklenburg-Western Pomerania",
    "Baden-Wuerttemberg",
    "Saxony",
]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame(
        {
            "member": random.random(n) < 0.4,
            "children": random.integers(0, 2, n),
            "rooms": random.integers(1, 9, n),
            "the age of the customer in years, at the end of the year": random.integers(18, 90, n),
            "income": np.exp(random.normal(10, 1.2, n)),
            "balance": random.standard_t(1.5, n) * 500,
            "wealth": np.where(random.random(n) < 0.8, 0, np.exp(random.normal(8, 2, n))),
            "contract": random.choice(["monthly", "one year", "two years, cancelable"], n),
            "region": random.choice(REGIONS, n),
            "gap": np.where(random.random(n) < 0.2, np.nan, np.exp(random.normal(0, 1.5, n))),
        }
    )
    score = X["member"] + 0.3 * X["rooms"] + 0.5 * np.log(X["income"]) + (X["region"] == "Saxony")
    return X, (score - score.mean()).to_numpy() + random.logistic(size=n)


@pytest.fixture(scope="module")
def model(table):
    return AdditiveClassifier(C=1.0, random_state=0).fit(table[0], table[1] > 0)


@pytest.fixture(scope="module")
def ten(table):
    X, y = table
    labels = np.digitize(y, np.quantile(y, np.arange(0.1, 1.0, 0.1)))
    names = np.array([f"class {k}" for k in range(10)])
    columns = ["rooms", "income", "children", "contract"]
    model = AdditiveClassifier(C=1.0, interactions=[(0, 1)], random_state=0)
    return X[columns], model.fit(X[columns], names[labels])


def drawn(model, X, size=None, **options):
    n = len(options.get("features", ())) or options.get("top", 6)
    size = size or (12, 3.0 * (-(-n // 3)) + 1)
    display = CurvesDisplay.from_estimator(model, X, figure=Figure(figsize=size), **options)
    mpl.backends.backend_agg.FigureCanvasAgg(display.figure_).draw()
    return display


def panel(model, X, feature, **options):
    display = drawn(model, X, features=[feature], size=(5, 4), **options)
    return display.curves[0], display.axes_[0], display


def box(text):
    return text.get_window_extent().shrunk(0.98, 0.9)


def marks_of(axis):
    """The labels of an axis that are drawn: those of marks within its limits."""
    low, high = sorted(axis.get_view_interval())
    marks = axis.get_major_ticks()
    return [mark.label1 for mark in marks if low <= mark.get_loc() <= high]


def texts_of(figure):
    """All texts that are seen, but those at an angle, whose boxes hold more than they do."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for ax in figure.axes:
        found += [ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        found += [*marks_of(ax.xaxis), *marks_of(ax.yaxis)]
    return [t for t in found if t.get_text() and t.get_visible() and t.get_rotation() in (0, 90)]


def meetings(figure):
    seen = [(text.get_text(), box(text)) for text in texts_of(figure)]
    return [
        (a, b)
        for k, (a, first) in enumerate(seen)
        for b, second in seen[k + 1 :]
        if first.overlaps(second)
    ]


@pytest.mark.parametrize("n_cols", [2, 3, 4])
def test_titles_do_not_run_into_numbers(model, table, n_cols):
    X, _ = table
    display = drawn(model, X, top=10, size=(4 * n_cols, 14), n_cols=n_cols)
    for ax, curve in zip(display.axes_, display.curves, strict=True):
        left, right = (box(t) for t in (ax._left_title, ax._right_title))
        assert left.x1 < right.x0
        shown = ax.get_title(loc="left").replace("\n", " ")
        assert shown == curve.name or shown.endswith("…")
    assert meetings(display.figure_) == []


def test_a_long_title_takes_two_lines_before_it_is_cut(model, table):
    X, _ = table
    _, wide, _ = panel(model, X, 3)
    assert wide.get_title(loc="left").count("\n") == 1
    assert "…" not in wide.get_title(loc="left")
    display = drawn(model, X, features=[3], size=(2.5, 3))
    assert display.axes_[0].get_title(loc="left").endswith("…")


def test_levels_have_their_whole_names_where_there_is_room(model, table):
    X, _ = table
    curve, ax, display = panel(model, X, "contract")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert [label.replace("\n", " ") for label in labels] == list(curve.levels)
    assert any("\n" in label for label in labels)
    assert meetings(display.figure_) == []
    for size in ((5, 4), (3.5, 4)):
        ax = drawn(model, X, features=["region"], size=size).axes_[0]
        for label in ax.get_xticklabels():
            name = label.get_text().replace("\n", " ")
            assert name.replace("- ", "-") in REGIONS or len(name) > 20


def test_levels_at_an_angle_do_not_meet(model, table):
    X, _ = table
    ax = drawn(model, X, features=["region"] * 6, size=(12, 7)).axes_[0]
    labels = ax.get_xticklabels()
    assert {label.get_rotation() for label in labels} == {40.0}
    apart = np.diff([label.get_transform().transform(label.get_position())[0] for label in labels])
    tall = 9 / 72 * ax.figure.dpi * (1 + max(label.get_text().count("\n") for label in labels))
    assert (apart * np.sin(np.radians(40)) > tall).all()


@pytest.mark.parametrize(
    "name",
    ["The department of transportation and infrastructure, office {}",
     "https://www.example.com/shop/{}/index-of-all-products.html"],
    ids=["ends", "middles"],
)  # fmt: skip
def test_long_names_of_levels_stay_distinct(name):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"place": [name.format(k) for k in random.integers(10, 19, 300)]})
    model = AdditiveRegressor(C=1.0).fit(X, random.normal(size=300))
    _, ax, _ = panel(model, X, "place")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert len(set(labels)) == X["place"].nunique() == 9
    assert max(map(len, labels)) <= 26


@pytest.mark.parametrize(
    ("feature", "levels"), [("member", ("False", "True")), ("children", ("0", "1"))]
)
def test_two_values_are_bars(model, table, feature, levels):
    X, _ = table
    curve, ax, display = panel(model, X, feature)
    assert curve.levels == levels
    assert [label.get_text() for label in ax.get_xticklabels()] == list(levels)
    f = shape_function(model, feature, [0.0, 1.0], center=True, X=X)[1]
    np.testing.assert_allclose([bar.get_height() for bar in display.lines_[0]], f, atol=1e-12)
    np.testing.assert_array_equal(curve.counts, X[feature].astype(int).value_counts().sort_index())
    assert curve.half.shape == (2,)


def test_booleans_are_bars_also_if_they_were_constant():
    X = pd.DataFrame({"on": [True] * 30, "gaps": [True, None, True] * 10, "none": [None] * 30})
    X = X.astype({"gaps": "boolean", "none": "boolean"})
    model = AdditiveRegressor().fit(X, np.arange(30.0))
    for rows in (X, X.assign(on=False)):
        curves = drawn(model, rows, features=list(X)).curves
        assert [curve.levels for curve in curves] == [("True",), ("True", "missing"), ()]


def test_whole_numbers_have_whole_marks_and_a_bar_each(model, table):
    X, _ = table
    for feature in ("rooms", 3):
        curve, ax, _ = panel(model, X, feature)
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        assert ticks == [round(tick) for tick in ticks]
        middles = (curve.edges[1:] + curve.edges[:-1]) / 2
        values, counts = np.unique(
            X.iloc[:, X.columns.get_indexer([curve.name])[0]], return_counts=True
        )
        np.testing.assert_allclose(middles, np.arange(values[0], values[-1] + 1))
        np.testing.assert_array_equal(curve.counts[curve.counts > 0], counts)


@pytest.mark.parametrize(
    ("feature", "note"),
    [
        ("income", "log scale"),
        ("gap", "log scale"),
        ("balance", "log scale beyond ±100"),
        ("wealth", "log scale beyond "),
        ("rooms", ""),
    ],
)
def test_long_tails_have_an_axis_that_says_so(model, table, feature, note):
    X, _ = table
    curve, ax, display = panel(model, X, feature)
    assert ax.get_xlabel().startswith(note)
    assert bool(ax.get_xlabel()) == bool(note)
    x = X[feature].dropna().to_numpy()
    at = ax.transData.transform(np.column_stack([np.quantile(x, [0.1, 0.9]), [0.0, 0.0]]))[:, 0]
    if feature != "wealth":  # most of which is 0
        assert (at[1] - at[0]) / ax.bbox.width > 0.2
    low, high = ax.get_xlim()
    assert low <= x.min() <= x.max() <= high
    assert 3 <= sum(low <= tick <= high for tick in ax.get_xticks()) <= 9
    assert curve.counts.sum() == len(x)
    line = display.lines_[0]
    expected = shape_function(model, feature, line.get_xdata(), center=True, X=X)[1]
    np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-9)
    assert meetings(display.figure_) == []


@pytest.mark.parametrize("curve", [None, Spline(degree=0)])
def test_a_range_of_fifty_magnitudes(curve):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.lognormal(60, 20, 300)})
    y = np.log(X["x"]) + random.normal(size=300)
    model = AdditiveRegressor(curve, random_state=0).fit(X, y)
    display = drawn(model, X, size=(4, 3))
    x = display.lines_[0].get_xdata()
    assert (x.min(), x.max()) == (X["x"].min(), X["x"].max())
    assert display.axes_[0].get_xlabel() == "log scale"
    assert meetings(display.figure_) == []


@pytest.mark.parametrize("scale", [Scale(), Scale("log"), Scale("asinh", 10.0)])
def test_scales_and_their_inverses(scale):
    x = np.array([0.01, 0.5, 3.0, 1e3, 1e6])
    np.testing.assert_allclose(scale.inverse(scale.forward(x)), x)
    steps = scale.steps(0.01, 1e6, 9)
    assert (steps[0], steps[-1]) == (0.01, 1e6)
    np.testing.assert_allclose(np.diff(scale.forward(steps)), np.ptp(scale.forward(x)) / 8)
    assert scale.forward(scale.beyond(1.0, 100.0, 0.5)) == pytest.approx(
        1.5 * scale.forward(100.0) - 0.5 * scale.forward(1.0)
    )


def test_which_axis():
    random = np.random.default_rng(0)
    for values, kind in (
        (random.normal(size=1000), "linear"),
        (random.uniform(size=1000), "linear"),
        (random.exponential(size=1000), "linear"),
        (np.exp(random.normal(0, 2, 1000)), "log"),
        (random.standard_cauchy(1000), "asinh"),
        (np.where(random.random(1000) < 0.9, 0.0, np.exp(random.normal(5, 2, 1000))), "asinh"),
        (np.zeros(10), "linear"),
        (np.array([0.0, 1e300]), "linear"),
        (np.empty(0), "linear"),
    ):
        lo, hi = (values.min(), values.max()) if len(values) else (0.0, 1.0)
        assert choose_scale(values, lo, hi).kind == kind


@pytest.mark.parametrize(
    ("x", "text"), [(25000, "25k"), (-1.5e6, "−1.5M"), (2000, "2000"), (0.02, "0.02"), (0, "0")]
)
def test_numbers_beside_axes(x, text):
    assert compact(x) == text


@pytest.mark.parametrize(
    ("lo", "width"),
    [
        *itertools.product([0.0, 1990.0, 1e6, 20_240_101.0, 1.7e9], [0.01, 10.0, 5e4]),
        (1.7e12, 10.0),
        (1.7e12, 5e4),
    ],
)
def test_marks_differ_and_do_not_overlap(lo, width):
    x = lo + width * np.random.default_rng(0).uniform(size=(300, 1))
    fit = AdditiveRegressor().fit(x, np.random.default_rng(1).normal(size=300))
    figure = CurvesDisplay.from_estimator(fit, x).figure_
    figure.draw_without_rendering()
    axis = figure.axes[0].xaxis
    left, right = axis.get_view_interval()
    labels = [t.label1 for t in axis.get_major_ticks() if left <= t.get_loc() <= right]
    words = [label.get_text() for label in labels]
    assert len(set(words)) == len(words) >= 2
    boxes = [label.get_window_extent() for label in labels]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    for label, word in zip(labels, words, strict=True):
        unit = {"G": 1e9, "M": 1e6, "k": 1e3}.get(word[-1], 1.0)
        said = unit * float(word.rstrip("GMk").replace("\N{MINUS SIGN}", "-"))
        assert said == pytest.approx(label.get_position()[0], abs=0.001 * width)


def test_the_axis_names_its_unit(model, table, ten):
    X, y = table
    X = X[["rooms", "income"]]
    two = y > 0
    for fit, unit in (
        (AdditiveClassifier(C=1.0).fit(X, two), "effect on the log-odds of True"),
        (AdditiveSVC(C=1.0).fit(X, two), "effect on the margin of True"),
        (AdditiveRegressor(C=1.0).fit(X, y), "effect on the rent"),
        (AdditiveRegressor(C=1.0, loss="gamma").fit(X, expit(y)), "factor on the mean of the rent"),
    ):
        display = drawn(fit, X, target_name="the rent")
        assert display.figure_.get_supylabel() == unit
    table, several = ten
    assert drawn(several, table).figure_.get_supylabel() == (
        "effect on the relative log-odds of each class"
    )
    one = drawn(several, table, target="class 3")
    assert one.figure_.get_supylabel() == "effect on the relative log-odds of class 3"


def test_ten_classes_are_named_at_their_lines(ten):
    X, model = ten
    display = drawn(model, X, features=["rooms", "income"], n_cols=2, size=(10, 4))
    for ax, lines in zip(display.axes_, display.lines_, strict=True):
        names = ax.texts
        assert [text.get_text() for text in names] == model.classes_.tolist()
        assert [text.get_color() for text in names] == [line.get_color() for line in lines]
        boxes = [box(text) for text in names]
        assert all(b.x0 >= ax.bbox.x1 for b in boxes)
        assert not [1 for k, a in enumerate(boxes) for b in boxes[k + 1 :] if a.overlaps(b)]
        ends = [line.get_ydata()[-1] for line in lines]
        order = np.argsort(ends)
        heights = np.array([b.y0 for b in boxes])[order]
        assert (np.diff(heights) > 0).all()
    assert len({(line.get_color(), line.get_linestyle()) for line in display.lines_[0]}) == 10
    assert meetings(display.figure_) == []


def test_flat_lines_are_not_named():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=300), "noise": random.normal(size=300), "one": 1.0})
    y = np.array(list("abcdef"))[np.digitize(X["x"], [-1.5, -0.5, 0.0, 0.5, 1.5])]
    model = AdditiveClassifier(random_state=0).fit(X, y)
    display = CurvesDisplay.from_estimator(model, X, features=list(X), figure=Figure())
    named = [len(ax.findobj(Annotation)) for ax in display.axes_]
    assert named == [6, 0, 0]


def test_some_classes_with_bands_and_surfaces(ten):
    X, model = ten
    display = drawn(model, X, features=["rooms", "contract", (0, 1)], target=["class 7", "class 2"])
    assert [panel.name for panel in display.curves] == [
        "rooms", "contract", "rooms × income: class 7", "rooms × income: class 2",
    ]  # fmt: skip
    for k, label in enumerate(("class 7", "class 2")):
        x, y = display.lines_[0, k].get_data()
        f = shape_function(model, "rooms", x, center=True, X=X, target=label)[1]
        np.testing.assert_allclose(y, f, atol=1e-9)
        assert len(display.lines_[1, k]) == 3
    assert display.curves[0].half.shape == display.curves[0].f.shape
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend[:2] == ["class 7", "class 2"]
    assert drawn(model, X, features=["rooms"]).curves[0].half is None  # ten bands are too many


@pytest.fixture(scope="module")
def letters():
    """Make a table with 26 classes, and a column that tells the last of them from all others."""
    random = np.random.default_rng(0)
    label = random.integers(0, 26, 3000)
    X = pd.DataFrame(
        {
            "x": np.sin(2.0 * label) + random.normal(size=3000),
            "last": np.maximum(label - 15, 0) + random.normal(size=3000),
            "kind": random.choice(["u", "v"], 3000),
        }
    )
    names = np.array([chr(ord("A") + k) for k in range(26)])
    return X, AdditiveClassifier(C=1.0, random_state=0).fit(X, names[label])


@pytest.mark.parametrize("features", [["x"], ["last"], ["x", "last", "kind"]], ids=str)
def test_of_many_classes_those_that_matter_most(letters, features):
    X, model = letters
    display = drawn(model, X, features=features)
    ranges = 0.0
    for name in features:
        ranges = ranges + np.ptp(shape_function(model, name)[1], axis=0)
    expected = model.classes_[np.sort(np.argsort(-ranges)[:10])].tolist()
    assert list(display.words.lines) == expected
    assert display.lines_.shape == (len(features), 10)
    [legend] = display.figure_.legends
    assert legend.get_title().get_text() == "10 of 26 classes: those that matter most"
    for k, label in enumerate(expected):
        f = shape_function(model, features[0], display.curves[0].x, center=True, X=X, target=label)
        np.testing.assert_allclose(display.curves[0].f[:, k], f[1], atol=1e-9)
    assert meetings(display.figure_) == []


def test_the_report_draws_the_same_classes(letters, tmp_path):
    X, model = letters
    report.write(model, tmp_path / "page.html", X, top=1)
    page = (tmp_path / "page.html").read_text()
    assert "Of 26 classes, the 10 for which it matters most are drawn." in page
    drawn = re.findall(r'<text [^>]*class="name[^>]*>([A-Z])<', page)
    lines = CurvesDisplay.from_estimator(model, X, top=1, figure=Figure()).words.lines
    assert sorted(drawn) == sorted(lines)


def test_classes_that_are_left_out_are_said_on_given_axes_too(letters):
    X, model = letters
    ax = Figure().subplots()
    CurvesDisplay.from_estimator(model, X, features=["x"], ax=ax)
    title = ax.get_title(loc="left").replace("\n", " ")
    assert title == "x (10 of 26 classes: those that matter most)"


def test_classes_that_the_user_names_are_not_left_out(letters):
    X, model = letters
    names = model.classes_.tolist()
    with pytest.raises(ValueError, match=r"target names 11 classes, but .* at most 10 lines"):
        CurvesDisplay.from_estimator(model, X, target=names[:11])
    display = drawn(model, X, features=["x"], target=["Z", "B"])
    assert display.words.lines == ("Z", "B")
    assert display.figure_.legends[0].get_title().get_text() == ""


@pytest.mark.parametrize("size", [None, (4, 4), (5, 4), (12, 4)])
def test_one_panel_of_many_classes_has_room_beside_its_legend(letters, size):
    X, model = letters
    figure = Figure(figsize=size) if size else None
    display = CurvesDisplay.from_estimator(model, X, features=["kind"], figure=figure)
    figure = display.figure_
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    panel = display.axes_[0].get_window_extent()
    assert panel.height > 0.45 * figure.bbox.height
    assert panel.width > 0.3 * figure.bbox.width
    assert not legend.overlaps(panel)
    assert meetings(figure) == []


def test_each_panel_may_have_its_own_scale(model, table):
    X, _ = table
    display = drawn(model, X, features=["rooms", "gap"], share_y=False)
    assert len({ax.get_ylim() for ax in display.axes_}) == 2
    for ax in display.axes_:
        assert any(tick.label1.get_visible() for tick in ax.yaxis.get_major_ticks())


def test_what_few_rows_have_does_not_flatten_all_else():
    random = np.random.default_rng(0)
    X = random.uniform(size=(2000, 2))
    y = np.sin(6 * X[:, 0]) + random.normal(0, 0.1, 2000)
    X[:4, 1], y[:4] = 1.5, 100.0
    model = AdditiveRegressor(random_state=0).fit(X, y)
    display = drawn(model, X, size=(9, 4))
    assert max(curve.f.max() for curve in display.curves) > 20
    assert display.axes_[0].get_ylim()[1] < 10


# -- factors and money -----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["gamma", "poisson"])
def log_link(request):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"power": random.uniform(-1, 1, 1500), "urban": random.random(1500) < 0.5})
    X["age"] = random.uniform(-1, 1, 1500)
    mean = 50.0 * np.exp(X["power"] + 0.3 * X["urban"] + 0.4 * X["power"] * X["age"])
    y = random.gamma(5.0, mean / 5.0) if request.param == "gamma" else random.poisson(mean)
    pairs = [("power", "age"), ("power", "urban")]
    return X, AdditiveRegressor(C=1.0, loss=request.param, interactions=pairs).fit(X, y)


def factors(texts):
    assert all(text[0] == "×" for text in texts)
    return np.array([float(text[1:].replace("k", "e3")) for text in texts])


def test_effects_under_a_log_link_are_marked_as_factors(log_link):
    X, model = log_link
    display = drawn(model, X, features=["power", ("power", "age")], target_name="cost")
    curve = display.curves[0]
    f = shape_function(model, "power", curve.x, center=True, X=X)[1]
    np.testing.assert_allclose(curve.f, f, atol=1e-9)  # the data are not changed
    ax = display.axes_[0]
    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert {"×0.5", "×1", "×2"} <= set(texts)
    np.testing.assert_allclose(np.exp(ax.get_yticks()), factors(texts))
    assert display.figure_.get_supylabel() == "factor on the mean of cost"
    bar = display.lines_[1].colorbar
    texts = [label.get_text() for label in bar.ax.get_yticklabels()]
    np.testing.assert_allclose(np.exp(bar.get_ticks()), factors(texts), rtol=1e-2)
    assert len(set(texts)) == len(texts) >= 3


def test_surfaces_under_a_log_link_are_marked_as_factors(log_link):
    X, model = log_link
    display = PairDisplay.from_estimator(
        model, X, ("power", "age"), target_name="cost", figure=Figure()
    )
    assert display.color_bar_.ax.get_ylabel() == "factor on the mean of cost"
    lines = {text.get_text() for text in display.contours_.labelTexts}
    assert "×1" in lines
    factors(lines)


def test_ordinary_effects_have_no_factors(model, table):
    display = drawn(model, table[0], features=["rooms"])
    assert not any("×" in label.get_text() for label in display.axes_[0].get_yticklabels())


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.45, 2.1, ["×0.5", "×1", "×2"]),
        (0.15, 6.0, ["×0.2", "×0.5", "×1", "×2", "×5"]),
        (0.85, 1.18, ["×0.85", "×0.9", "×0.95", "×1", "×1.05", "×1.1", "×1.15"]),
        (0.996, 1.005, ["×0.996", "×0.998", "×1", "×1.002", "×1.004"]),
        (0.002, 600.0, ["×0.01", "×0.1", "×1", "×10", "×100"]),
        (1e-9, 1e9, ["×1e−09", "×1e−06", "×0.001", "×1", "×1000", "×1M", "×1G"]),
    ],
)
def test_marks_of_factors(low, high, expected):
    places, texts = height_marks(np.log(low), np.log(high), is_factor=True)
    assert texts == expected
    np.testing.assert_allclose(places[texts.index("×1")], 0.0, atol=1e-12)


def test_marks_of_factors_beyond_all_numbers():
    places, texts = height_marks(-5000.0, 5000.0, is_factor=True)
    assert "×1" in texts
    assert 3 <= len(texts) <= 7
    assert np.isfinite(places).all()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10_000.0, 28_250.0, 125_000.5], ["10,000", "28,250", "125,000"]),
        ([0.0, 2_825_000.0], ["0", "2,825,000"]),
        ([10_000.25, 10_000.5], ["10,000.25", "10,000.5"]),
        ([-0.5, 0.123456], ["−0.5", "0.1235"]),
        ([0.12345, 0.12346], ["0.12345", "0.12346"]),
    ],
)
def test_values_are_written_out(values, names):
    assert value_names(values) == names


def test_money_has_no_exponents():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": random.uniform(1e4, 1e5, 500),
            "band": random.choice([10_000.0, 28_250.0, 125_000.0], 500),
            "tax": random.choice([0.0, 28_250.0], 500),
        }
    )
    y = 3.0 * X["income"] + X["band"] + X["tax"] + X["income"] * X["band"] / 1e5
    pairs = [("income", "band"), ("band", "tax")]
    model = AdditiveRegressor(C=1.0, interactions=pairs).fit(X, y)
    display = drawn(model, X, features=["income", "tax", *pairs], n_cols=2, size=(9, 7))
    alone = PairDisplay.from_estimator(model, X, pairs[1], figure=Figure())
    reasons = explain(model, X[:1]).plot()
    for figure in (display.figure_, alone.figure_, reasons.figure_):
        figure.draw_without_rendering()
        texts = [text.get_text() for text in texts_of(figure)]
        assert not [text for text in texts if re.search(r"\de[+\d]|\d{5}", text)]
    assert display.curves[1].levels == ("0", "28,250")
    assert alone.surface.x.levels == ("10,000", "28,250", "125,000")
    marks = [label.get_text() for label in marks_of(reasons.ax_.xaxis)]
    assert all(re.fullmatch(r"\d+(\.\d+)?k", text) for text in marks)


# -- pieces ----------------------------------------------------------------------------------------


def test_texts_are_wrapped_or_cut():
    def fits(text):
        return len(text) <= 8

    assert wrapped("short", fits, 2) == "short"
    assert wrapped("one two three", fits, 2) == "one two\nthree"
    assert wrapped("hyphen-ated", fits, 2) == "hyphen-\nated"
    assert wrapped("unbreakable", fits, 2) is None
    assert wrapped("one two three four", fits, 2) is None
    assert cut("unbreakable", fits) == "unbreak…"
    assert cut("fits", fits) == "fits"
    assert cut("x" * 9, lambda _: False) == "…"


def test_places_are_spread():
    random = np.random.default_rng(0)
    for _ in range(50):
        at = random.uniform(0, 100, 10)
        places = spread(at, 8.0, 0.0, 100.0)
        assert np.diff(np.sort(places)).min() > 8.0 - 1e-9
        assert (np.argsort(places) == np.argsort(at)).all()
        assert places.min() >= 0
        assert places.max() <= 100
    np.testing.assert_array_equal(spread(np.array([1.0, 50.0]), 8.0, 0.0, 100.0), [1.0, 50.0])
