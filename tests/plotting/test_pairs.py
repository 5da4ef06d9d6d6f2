"""Pictures of surfaces, alone and among curves."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import band, importances, surface, term_names
from splinear.plotting import CurvesDisplay, PairDisplay
from splinear.terms import Category, Pair

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

PAIRS = [("a", "b"), ("a", "level"), ("gap", "kind"), ("flag", "level"), ("b", "gap")]
LEVELS = ["low", "middle", "high"]


@pytest.fixture(scope="module")
def table():
    """Make a table whose target depends on pairs; there are no rows with a > 0.4 and b > 0.4."""
    random = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame(
        {
            "a": random.uniform(-1, 1, n),
            "b": random.uniform(-1, 1, n),
            "gap": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)),
            "flag": random.integers(0, 2, n).astype(float),
            "level": pd.Categorical(random.choice(LEVELS, n), LEVELS, ordered=True),
            "kind": random.choice(["u", "v", None], n, p=[0.5, 0.4, 0.1]),
        }
    )
    X.loc[(X["a"] > 0.4) & (X["b"] > 0.4), "b"] *= -1
    y = (
        2 * X["a"] * X["b"]
        + X["a"] * (X["level"] == "middle")
        + (X["kind"] == "u") * X["gap"].isna()
    )
    y += X["flag"] * (X["level"] == "low") + 0.1 * random.normal(size=n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model(table):
    terms = {"level": Category(ordered=True)}
    return AdditiveRegressor(terms=terms, interactions=PAIRS, random_state=0).fit(*table)


def draw(model, table, features=None, **options):
    display = PairDisplay.from_estimator(model, table[0], features, figure=Figure(), **options)
    display.figure_.draw_without_rendering()
    return display


def middles(edges):
    return (edges[1:] + edges[:-1]) / 2


def labels_of(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize("features", [("a", "b"), ("b", "a")])
def test_the_heat_map_is_the_surface(model, table, features):
    display = draw(model, table, features, n_points=30)
    X, edges = table[0], display.mesh_.get_coordinates()
    x, z = middles(edges[0, :, 0]), middles(edges[:, 0, 1])
    for name, grid, ends in zip(features, (x, z), (edges[0, :, 0], edges[:, 0, 1]), strict=True):
        assert len(grid) == 30
        assert (ends[0], ends[-1]) == (X[name].min(), X[name].max())
    f = surface(model, features, (x, z))[2]
    np.testing.assert_allclose(display.mesh_.get_array(), f.T, atol=1e-12)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == features
    assert display.surface.name == f"{features[0]} × {features[1]}"


def test_colors_are_symmetric_and_those_of_curves(model, table):
    display = draw(model, table, ("a", "b"))
    low, high = display.mesh_.get_clim()
    assert low == -high
    colors = display.mesh_.get_cmap()
    assert colors(0.0)[:3] == pytest.approx(to_rgb("#D55E00"))
    assert colors(0.5)[:3] == pytest.approx((1.0, 1.0, 1.0), abs=0.01)
    assert colors(1.0)[:3] == pytest.approx(to_rgb("#0072B2"))


def test_nearly_all_rows_are_within_the_scale_of_colors(model, table):
    display = draw(model, table, ("a", "b"))
    X = table[0].to_numpy()[:, :2].astype(float)
    (pair,) = [p for p in model.terms_.pairs if p.features == (0, 1)]
    added = np.abs(pair.evaluate(X[:, 0], X[:, 1])[:, 0])
    high = display.mesh_.get_clim()[1]
    assert high == pytest.approx(np.quantile(added, 0.995), rel=0.05)


def test_what_has_no_rows_nearby_fades(model, table):
    display = draw(model, table, ("a", "b"))
    alpha, z = display.mesh_.get_alpha(), display.surface.z.values
    empty = np.ix_(z > 0.5, display.surface.x.values > 0.5)
    assert alpha[empty].max() < 0.1
    assert np.delete(alpha, np.flatnonzero(z > 0.4), axis=0).mean() > 0.85
    assert any("no rows nearby" in text.get_text() for text in display.ax_.texts)
    lines = np.concatenate([part for parts in display.contours_.allsegs for part in parts])
    assert not (lines > 0.5).all(axis=1).any()
    other = table[0].assign(a=-0.9, b=0.9)
    alpha = draw(model, (other, None), ("a", "b")).mesh_.get_alpha()
    assert alpha[-6, 5] > 0.99
    assert (alpha > 0.5).mean() < 0.02


def test_support_is_the_number_of_rows_near_each_cell(model, table):
    n, found = 20, draw(model, table, ("a", "b"), n_points=20).surface
    reach = 1.6 / np.sqrt(len(table[0]))
    cells = [
        np.histogram(table[0].iloc[i, [0]], found.x.edges)[0].argmax() * n
        + np.histogram(table[0].iloc[i, [1]], found.z.edges)[0].argmax()
        for i in range(len(table[0]))
    ]
    for j, k in [(0, 0), (3, 17), (10, 10), (19, 19), (15, 2)]:
        near = 0.0
        for cell in cells:
            apart = np.array([j - cell // n, k - cell % n]) / n / reach
            near += np.prod(np.maximum(0.0, 1.0 - apart**2) ** 2)
        assert found.support[j, k] == pytest.approx(1.0 - np.exp(-near))


def test_margins_count_the_rows(model, table):
    X, _ = table
    display = draw(model, table, ("a", "b"))
    above, beside = display.margins_
    heights = np.array([bar.get_height() for bar in above.patches])
    ends = np.array([bar.get_x() for bar in above.patches] + [X["a"].max()])
    np.testing.assert_allclose(heights, np.histogram(X["a"], ends)[0])
    assert sum(bar.get_width() for bar in beside.patches) == len(X)
    assert above.get_xlim() == display.ax_.get_xlim()
    assert beside.get_ylim() == display.ax_.get_ylim()


def test_levels_are_cells(model, table):
    X, _ = table
    display = draw(model, table, ("a", "level"))
    assert display.contours_ is None
    assert labels_of(display.ax_.yaxis) == LEVELS  # ordered: in their own order
    f = surface(model, ("a", "level"), (display.surface.x.values, LEVELS))[2]
    np.testing.assert_allclose(display.mesh_.get_array(), f.T, atol=1e-12)
    bars = [bar.get_width() for bar in display.margins_[1].patches]
    assert bars == X["level"].value_counts()[LEVELS].tolist()


def test_missing_values_are_set_apart(model, table):
    X, _ = table
    display = draw(model, table, ("gap", "kind"))
    assert labels_of(display.ax_.xaxis)[-1] == labels_of(display.ax_.yaxis)[-1] == "missing"
    drawn = display.mesh_.get_array()
    assert drawn.mask[-2].all()
    assert drawn.mask[:, -2].all()
    assert drawn.mask.sum() == sum(drawn.shape) - 1
    kinds = [*display.surface.z.levels, None]
    assert set(kinds) == {"u", "v", None}
    f = surface(model, ("gap", "kind"), (display.surface.x.values, kinds))[2]
    np.testing.assert_allclose(drawn[:, -1].compressed(), f[-1], atol=1e-12)
    np.testing.assert_allclose(drawn[-1].compressed(), f[:, -1], atol=1e-12)
    above, beside = ([b.get_bbox() for b in ax.patches] for ax in display.margins_)
    assert above[-1].height == X["gap"].isna().sum()
    assert beside[-1].width == X["kind"].isna().sum()
    assert above[-1].x0 > X["gap"].max()


def test_few_values_of_a_number_are_cells_with_their_heights(model, table):
    display = draw(model, table, ("flag", "level"))
    assert labels_of(display.ax_.xaxis) == ["0", "1"]
    f = surface(model, ("flag", "level"), ([0.0, 1.0], LEVELS))[2]
    np.testing.assert_allclose(display.mesh_.get_array(), f.T, atol=1e-12)
    written = [text.get_text().replace("−", "-") for text in display.ax_.texts]
    np.testing.assert_allclose(list(map(float, written)), f.ravel(), atol=0.006)
    between = table[0].assign(flag=0.5)
    assert not draw(model, (between, None), ("flag", "level")).surface.x.levels


@pytest.mark.parametrize("kind", [bool, "boolean", "arrow", float], ids=str)
def test_booleans_are_called_false_and_true(kind):
    """As they are in panels of their own; a number that is 0 or 1 remains a number."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"on": random.random(200) < 0.4, "off": random.random(200) < 0.4})
    y = X["on"] ^ X["off"]
    X = pa.Table.from_pandas(X) if kind == "arrow" else X.astype(kind)
    model = AdditiveRegressor(interactions=[("on", "off")]).fit(X, y.astype(float))
    expected = ["0", "1"] if kind is float else ["False", "True"]
    alone = PairDisplay.from_estimator(model, X, ("off", "on"), figure=Figure())
    panels = CurvesDisplay.from_estimator(model, X, features=["on", ("on", "off")], figure=Figure())
    assert labels_of(panels.axes_[0].xaxis) == expected
    for ax in (alone.ax_, panels.axes_[1]):
        assert labels_of(ax.xaxis) == labels_of(ax.yaxis) == expected


def test_of_many_levels_the_most_frequent_by_effect():
    random = np.random.default_rng(0)
    level = random.choice(30, 3000, p=np.arange(1, 31) / 465)
    X = pd.DataFrame({"x": random.normal(size=3000), "level": [f"level {k}" for k in level]})
    terms = {("x", "level"): Pair(n_bins=40)}
    y = level % 7 + X["x"] * (level % 2)
    model = AdditiveRegressor(terms=terms, random_state=0).fit(X, y)
    shown = draw(model, (X, y)).surface.z
    assert (len(shown.levels), shown.n_hidden) == (20, 10)
    counts = X["level"].value_counts()
    assert counts[list(shown.levels)].min() >= counts.drop(list(shown.levels)).max()
    effects = [int(name.split()[1]) % 7 for name in shown.levels]
    assert (np.diff(effects) >= 0).all()
    panels = CurvesDisplay.from_estimator(model, X, features=[("x", "level")], figure=Figure())
    assert panels.axes_[0].get_ylabel() == "level (12 of 30)"


def test_the_pair_that_matters_most(model, table):
    X, _ = table
    shares = importances(model, X, by="term")
    best = int(np.argmax(shares[6:])) + 6
    display = draw(model, table)
    assert display.surface.name == term_names(model)[best]
    share = shares[best] / shares.sum()
    assert display.surface.share == pytest.approx(share)
    assert display.margins_[0].get_title(loc="right") == f"{share:.0%}"


def test_a_category_is_along_the_vertical_axis_unless_asked(table):
    X, y = table
    X = X[["level", "a"]]
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, y)
    assert draw(model, (X, y)).ax_.get_ylabel() == "level"
    assert draw(model, (X, y), ("level", "a")).ax_.get_xlabel() == "level"


def test_a_long_tail_is_cut_off():
    random = np.random.default_rng(0)
    X = np.column_stack([random.uniform(size=2000), random.uniform(size=2000)])
    X[:3, 0] = 50.0
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, X[:, 0] * X[:, 1])
    display = draw(model, (X, None), (0, 1))
    assert display.ax_.get_xlim()[1] == pytest.approx(1.0, abs=0.02)
    share = (X[:, 0] > display.ax_.get_xlim()[1]).mean()
    assert display.ax_.get_xlabel() == f"x0 ({share:.1%} of rows beyond)"
    assert draw(model, (X, None), (1, 0)).ax_.get_xlim()[1] == X[:, 1].max()


def test_an_axis_of_many_magnitudes_is_logarithmic():
    random = np.random.default_rng(0)
    X = np.column_stack([np.exp(random.normal(10, 1.3, 2000)), random.uniform(size=2000)])
    X[::50, 0] = np.nan
    y = np.nan_to_num(np.log(X[:, 0])) * X[:, 1]
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, y)
    display = draw(model, (X, None), (0, 1))
    side, there = display.surface.x, X[~np.isnan(X[:, 0]), 0]
    assert display.ax_.get_xlabel() == "x0 (log scale)"
    assert side.ends == pytest.approx((there.min(), there.max()))
    np.testing.assert_allclose(np.diff(side.edges), side.edges[1] - side.edges[0])
    assert side.counts.sum() == len(there)
    places = side.places(X[:, 0])
    expected = np.searchsorted(np.exp(side.edges[1:-1]), there, side="right")
    np.testing.assert_array_equal(places[~np.isnan(X[:, 0])], expected)
    at = [
        np.log(float(text.get_text().replace("k", "e3").replace("M", "e6")))
        for text in display.ax_.get_xticklabels()[:-1]
    ]
    np.testing.assert_allclose(display.ax_.get_xticks()[:-1], at)
    assert display.ax_.get_xticklabels()[-1].get_text() == "missing"
    x, z = side.values[3], display.surface.z.values[5]
    here = model.terms_.pairs[0].evaluate(np.array([x]), np.array([z]))
    assert display.surface.f[3, 5] == pytest.approx(float(here[0, 0]))


def test_whole_numbers_have_a_cell_each():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(3, 15, 500), random.uniform(size=500)])
    model = AdditiveRegressor(C=1.0, interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    display = draw(model, (X, None), (0, 1))
    np.testing.assert_array_equal(display.surface.x.values, np.arange(3.0, 15.0))
    low, high = display.ax_.get_xlim()
    ticks = [tick for tick in display.ax_.get_xticks() if low <= tick <= high]
    assert ticks == [round(tick) for tick in ticks]
    assert display.surface.supported.mean() > 0.9


@pytest.fixture(scope="module")
def discrete():
    """Make a table with a strong pair of discrete features, and weak pairs of others."""
    random = np.random.default_rng(0)
    n = 800
    X = pd.DataFrame(
        {
            "color": random.choice(["red", "green", "blue"], n),
            "sold": random.random(n) < 0.4,
            "rooms": random.integers(1, 9, n),
            "rent": random.choice([200.0, 250.0, 310.0, 400.0, 480.0, 555.0, 640.0, 1000.0], n),
            "size": random.uniform(size=n),
            "age": random.uniform(size=n),
        }
    )
    y = (X["color"].eq("red") & X["sold"]) + 0.4 * X["sold"] * (X["rooms"] > 4)
    y += 0.02 * X["size"] * X["age"] + 1e-3 * X["rent"] * X["sold"] + 0.1 * random.normal(size=n)
    return X, y.to_numpy()


def test_discrete_features_have_cells_in_all_pictures(discrete):
    X, y = discrete
    pairs = [("color", "sold"), ("sold", "rooms"), ("sold", "rent"), ("size", "rooms")]
    model = AdditiveRegressor(C=1.0, interactions=pairs, random_state=0).fit(X, y)
    panels = CurvesDisplay.from_estimator(model, X, features=pairs, n_points=5, figure=Figure())
    n_cells = {"color": 3, "sold": 2, "rooms": 8, "rent": 8, "size": 100}
    for pair, panel in zip(pairs, panels.curves, strict=True):
        alone = draw(model, discrete, pair)
        sides = alone.surface.x, alone.surface.z
        assert [len(side.values) for side in sides] == [n_cells[name] for name in pair]
        assert [side.is_discrete for side in sides] == [name != "size" for name in pair]
        assert alone.contours_ is None
        for ours, side in zip((panel.x, panel.z), sides, strict=True):
            assert ours.levels == side.levels
            if side.is_discrete:
                np.testing.assert_array_equal(ours.values, side.values)
    assert panels.curves[2].z.levels == ("200", "250", "310", "400", "480", "555", "640", "1000")
    assert len(panels.axes_[0].texts) == 6  # a number in every cell
    assert not panels.axes_[1].texts


def test_all_surfaces_of_a_figure_have_one_scale_of_colors(discrete):
    X, y = discrete
    pairs = [("color", "sold"), ("size", "age")]
    model = AdditiveRegressor(interactions=pairs, random_state=0).fit(X, y)
    figure = Figure()
    panels = CurvesDisplay.from_estimator(model, X, features=[*pairs, "size"], figure=figure)
    strong, weak = panels.curves[:2]
    assert strong.height > 20 * weak.height
    assert {mesh.get_clim() for mesh in panels.lines_[:2]} == {(-strong.height, strong.height)}
    bars = [mesh.colorbar for mesh in panels.lines_[:2]]
    assert bars[0].extend == bars[1].extend
    np.testing.assert_array_equal(*[bar.ax.get_yticks() for bar in bars])


def test_displays_that_are_given_a_limit_share_a_scale_of_colors(model, table):
    figure = Figure()
    pairs = [pair.features for pair in model.terms_.pairs[:2]]
    axes = np.atleast_1d(figure.subplots(1, 2))
    alone = [
        PairDisplay.from_estimator(model, table[0], pair, ax=ax)
        for pair, ax in zip(pairs, axes, strict=True)
    ]
    limit = max(display.limit_ for display in alone)
    for display in alone:
        assert display.mesh_.get_clim() == (-display.limit_, display.limit_)
        again = PairDisplay(display.surface, display.words).plot(figure=Figure(), limit=limit)
        assert again.mesh_.get_clim() == (-limit, limit)
        ticks = again.color_bar_.get_ticks()
        assert ticks.max() > 0.5 * limit
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="limit must be a finite number above 0"):
            alone[0].plot(figure=Figure(), limit=wrong)


def test_values_beyond_the_range_count_at_its_ends(model, table):
    X, _ = table
    beyond = X.assign(a=X["a"] * 10)
    side = draw(model, (beyond, None), ("a", "b")).surface.x
    assert (side.edges[0], side.edges[-1]) == (X["a"].min(), X["a"].max())
    assert side.counts.sum() == len(X)


def test_words_say_what_colors_mean(model, table):
    display = draw(model, table, ("a", "b"), target_name="the price")
    assert display.color_bar_.ax.get_ylabel() == "effect on the price"
    words = {text.get_text() for text in display.color_bar_.ax.texts}
    assert words == {"raises the price", "lowers the price"}
    X, y = table
    two = AdditiveClassifier(C=1.0, interactions=[(0, 1)], random_state=0).fit(X, y > 0)
    display = draw(two, table, class_names=["no", "yes"])
    assert display.color_bar_.ax.get_ylabel() == "effect on the log-odds of yes"
    words = {text.get_text() for text in display.color_bar_.ax.texts}
    assert words == {"speaks for yes", "speaks for no"}


@pytest.fixture(scope="module")
def classes(table):
    X, y = table
    labels = np.array(["p", "q", "r"])[np.digitize(y, [-0.3, 0.3])]
    return AdditiveClassifier(C=1.0, interactions=[(0, 1)], random_state=0).fit(X, labels)


def test_several_classes(classes, table):
    X, _ = table
    message = "target must be given if a surface is drawn .* one of 'p', 'q', 'r'"
    with pytest.raises(ValueError, match=message):
        PairDisplay.from_estimator(classes, X, (0, 1))
    each = CurvesDisplay.from_estimator(classes, X, features=[0, (0, 1)], figure=Figure())
    assert [panel.name for panel in each.curves] == ["a", "a × b: p", "a × b: q", "a × b: r"]
    display = draw(classes, table, (0, 1), target="q")
    s = display.surface
    f = surface(classes, (0, 1), (s.x.values, s.z.values), target="q")[2]
    np.testing.assert_allclose(s.f, f, atol=1e-12)
    words = {text.get_text() for text in display.color_bar_.ax.texts}
    assert words == {"speaks for q", "speaks against q"}
    lines = CurvesDisplay.from_estimator(classes, X, top=7, figure=Figure())
    assert lines.lines_.shape == (6, 3)  # curves alone
    one = CurvesDisplay.from_estimator(classes, X, top=7, target="q", figure=Figure())
    assert one.lines_.shape == (7,)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"features": ("a", "gap")}, ValueError, "no surface of 'a' and 'gap'. Surfaces: 'a × b'"),
        ({"features": ("a", "bb")}, ValueError, "no feature 'bb'"),
        ({"features": "ab"}, TypeError, r"two features, as in \(0, 1\); got 'ab'"),
        ({"features": ()}, TypeError, "two features"),
        ({"n_points": 0}, ValueError, "n_points must be at least 1; got 0"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must have 6 entries"),
        ({"target": 1}, ValueError, "target is for classifiers"),
    ],
)
def test_bad_options(model, table, options, error, message):
    with pytest.raises(error, match=message):
        PairDisplay.from_estimator(model, table[0], **options)


def test_a_model_without_surfaces(table):
    X, y = table
    curves = AdditiveRegressor(C=1.0, random_state=0).fit(X, y)
    for features in (None, ("a", "b")):
        with pytest.raises(ValueError, match=r"no surface.*see `interactions`"):
            PairDisplay.from_estimator(curves, X, features)


def test_without_matplotlib(model, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'splinear\[plot\]'"):
        PairDisplay.from_estimator(model, table[0])


def test_given_axes(model, table):
    figure, (left, right) = pyplot.subplots(1, 2)
    display = PairDisplay.from_estimator(model, table[0], ("a", "b"), ax=right)
    assert display.figure_ is figure
    assert display.bounding_ax_ is right
    assert not left.child_axes
    figure.draw_without_rendering()
    inside = right.get_position()
    for ax in (display.ax_, *display.margins_):
        assert inside.x0 - 1e-9 <= ax.get_position().x0 <= ax.get_position().x1 <= inside.x1 + 1e-9
    again = display.plot()
    assert again is display
    assert display.figure_ is not figure


# -- surfaces among curves -------------------------------------------------------------------------


def test_panels_are_the_most_important_terms(model, table):
    X, _ = table
    shares = importances(model, X, by="term")
    display = CurvesDisplay.from_estimator(model, X, top=8, figure=Figure(figsize=(12, 9)))
    display.figure_.draw_without_rendering()
    order = np.argsort(-shares, kind="stable")[:8]
    names, numbers = term_names(model), {"a", "b", "gap", "flag"}
    for at, curve, ax, drawn in zip(
        order, display.curves, display.axes_, display.lines_, strict=True
    ):
        assert set(curve.name.split(" × ")) == set(names[at].split(" × "))
        assert isinstance(drawn, QuadMesh) == (at >= 6)
        assert ax.get_title(loc="right") == f"{shares[at] / shares.sum():.0%}"
        if at >= 6:
            assert curve.x.name in numbers
    heat = [line for line in display.lines_ if isinstance(line, QuadMesh)]
    assert 0 < len(heat) < 8
    assert len({mesh.get_clim() for mesh in heat}) == 1
    curves = [ax for ax, at in zip(display.axes_, order, strict=True) if at < 6]
    assert len({ax.get_ylim() for ax in curves}) == 1
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert {"where the data lie", "no rows nearby"} <= set(legend)


def test_chosen_surfaces_in_the_order_of_their_features(model, table):
    X, _ = table
    features = ["b", ("b", "a"), (0, 4)]
    display = CurvesDisplay.from_estimator(model, X, features=features, figure=Figure())
    assert [curve.name for curve in display.curves] == ["b", "b × a", "a × level"]
    assert [ax.get_xlabel() for ax in display.axes_] == ["", "b", "a"]
    alone = draw(model, table, ("b", "a"))
    np.testing.assert_allclose(display.lines_[1].get_array(), alone.mesh_.get_array())
    with pytest.raises(ValueError, match="no surface of 'a' and 'gap'"):
        CurvesDisplay.from_estimator(model, X, features=[("a", "gap")])
    with pytest.raises(TypeError, match="two features"):
        CurvesDisplay.from_estimator(model, X, features=[("a", "b", "gap")])


def test_surfaces_alone_and_on_given_axes(model, table):
    X, _ = table
    _, axes = pyplot.subplots(1, 3)
    display = CurvesDisplay.from_estimator(
        model, X, features=[("a", "b"), ("gap", "kind")], ax=axes, target_name="it"
    )
    assert list(display.axes_) == list(axes[:2])
    bars = [ax.child_axes[0].get_ylabel() for ax in display.axes_]
    assert bars == ["effect on it"] * 2
    legend = CurvesDisplay(display.curves).plot(figure=Figure()).figure_.legends[0]
    assert "where the data lie" not in {text.get_text() for text in legend.get_texts()}


def test_a_grid_in_a_given_ax_names_its_unit_beside_the_curves(model, table):
    _, ax = pyplot.subplots()
    display = CurvesDisplay.from_estimator(
        model, table[0], features=["a", "b", ("a", "b")], ax=ax, target_name="it"
    )
    assert [ax.get_ylabel() for ax in display.axes_] == ["effect on it", "", "b"]
    assert display.lines_[2].colorbar.ax.get_ylabel() == ""


def test_tick_labels_of_curves_stand_once_per_row(model, table):
    X, _ = table
    features = [("a", "b"), "a", "b", "gap", "flag"]
    display = CurvesDisplay.from_estimator(model, X, features=features, figure=Figure(), n_cols=3)
    display.figure_.draw_without_rendering()
    shown = [
        any(t.label1.get_visible() for t in ax.yaxis.get_major_ticks()) for ax in display.axes_
    ]
    assert shown == [True, True, False, True, False]


@pytest.mark.parametrize("name", [r"$\frac{a$", "$x$", r"a\$b", "_hidden", "{x}", "<&>"])
def test_names_are_text_wherever_they_come_from(name):
    random = np.random.default_rng(0)
    level = random.choice([name, "b", None], 200)
    X = pd.DataFrame({name: random.normal(size=200), "level": level})
    model = AdditiveRegressor(C=1.0, interactions=[(0, 1)], random_state=0)
    model.fit(X, X[name] * (level == name))
    alone = PairDisplay.from_estimator(model, X, target_name=name)
    among = CurvesDisplay.from_estimator(model, X, target_name=name)
    for figure in (alone.figure_, among.figure_):
        figure.canvas.draw()
        texts = figure.findobj(mpl.text.Text)
        assert not [text for text in texts if "$" in text.get_text() and text.get_parse_math()]
        shown = {text.get_text() for text in texts}
        assert {name, f"{name} × level", f"effect on {name}", f"raises {name}"} <= shown


def test_one_value_and_gaps(table):
    X = table[0][["a"]].assign(fixed=np.where(table[0]["gap"].isna(), np.nan, 5.0))
    y = X["a"] * X["fixed"].isna()
    model = AdditiveRegressor(interactions=[(0, 1)], random_state=0).fit(X, y)
    display = draw(model, (X, y), ("a", "fixed"))
    assert labels_of(display.ax_.yaxis) == ["5", "missing"]
    f = surface(model, ("a", "fixed"), (display.surface.x.values, [5.0, np.nan]))[2]
    np.testing.assert_allclose(display.surface.f, f, atol=1e-12)


def test_where_the_band_contains_zero_is_hatched(model, table):
    """Only where rows lie near, and only between numbers."""
    display = PairDisplay.from_estimator(model, table[0], ("b", "a"), n_points=40)
    shown = display.surface
    x, z = shown.x.values, shown.z.values
    _, _, lower, upper = band(model, ("b", "a"), grid=(x, z))
    np.testing.assert_array_equal(shown.unclear, (lower <= 0) & (upper >= 0))
    np.testing.assert_array_equal(shown.hatched, shown.unclear & shown.supported)
    assert 0.01 < shown.hatched.mean() < 0.9
    assert any("hatched" in text.get_text() for text in display.ax_.texts)
    hatches = [h for c in display.ax_.collections for h in getattr(c, "hatches", [])]
    assert any(hatches)
    of_levels = PairDisplay.from_estimator(model, table[0], ("flag", "level"))
    assert not of_levels.surface.hatched.any()
    assert not any("hatched" in text.get_text() for text in of_levels.ax_.texts)
