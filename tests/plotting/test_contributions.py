import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.inspection import explain
from splinear.plotting import ContributionsDisplay

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.uniform(-1, 1, (400, 12)), columns=[f"feature {k}" for k in range(12)])
    X["place"] = random.choice(["a town with a very long name, indeed a long one", "x"], 400)
    return X, X.to_numpy()[:, :12].astype(float) @ np.arange(12) + random.normal(size=400)


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return AdditiveClassifier(interactions=[(0, 1)], random_state=0).fit(X, y > 0)


def texts_of(display):
    return [text for text in display.ax_.texts if text.get_text()]


def boxes_of(figure, texts):
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in texts]


def overlaps(boxes):
    return [(a, b) for k, a in enumerate(boxes) for b in boxes[k + 1 :] if a.overlaps(b)]


def test_bars_begin_where_the_last_one_ended(model, table):
    display = ContributionsDisplay.from_estimator(model, table[0].head(5), row=3)
    found = explain(model, table[0].head(5))
    at = found.base_value
    for bar in display.bars_:
        start, width = bar.get_x(), bar.get_width()
        assert start == pytest.approx(at, abs=1e-12)
        at = start + width
    assert at == pytest.approx(found.score[3], abs=1e-12)
    widths = [bar.get_width() for bar in display.bars_]
    order = np.argsort(-np.abs(found.contribution[3]))
    np.testing.assert_allclose(widths[:8], found.contribution[3][order[:8]])
    assert widths[8] == pytest.approx(found.contribution[3][order[8:]].sum())


def test_whiskers_are_standard_errors(model, table):
    display = ContributionsDisplay.from_estimator(model, table[0].head(1), top=20)
    found = explain(model, table[0].head(1))
    segments = display.whiskers_.get_segments()
    reach = [(ends[1, 0] - ends[0, 0]) / 2 for ends in segments]
    order = np.argsort(-np.abs(found.contribution[0]))
    errors = found.standard_error[0][order]
    np.testing.assert_allclose(reach[:-1], errors[~np.isnan(errors)], rtol=1e-9)
    assert reach[-1] == pytest.approx(found.score_error[0])
    assert "one standard error" in display.ax_.get_xlabel()


def arrows_of(display):
    """The places of arrows at the ends of the axis, left and right."""
    lines = display.ax_.lines
    return [
        [(x, y) for line in lines if line.get_marker() == marker for x, y in line.get_xydata()]
        for marker in "<>"
    ]


def test_whiskers_beyond_the_axis_end_in_arrows(model, table):
    explanation = explain(model, table[0].head(1))
    assert arrows_of(explanation.plot(0)) == [[], []]

    unsure = replace(explanation, standard_error=explanation.standard_error * 100)
    display = unsure.plot(0)
    ends = display.ax_.get_xlim()
    segments = display.whiskers_.get_segments()
    expected = [
        [s[0, 1] for s in segments if s[0, 0] < ends[0]],
        [s[0, 1] for s in segments if s[1, 0] > ends[1]],
    ]
    assert len(expected[0]) > 3
    for end, marks, rows in zip(ends, arrows_of(display), expected, strict=True):
        assert marks == [(end, row) for row in rows]


def test_the_score_of_a_regression_is_named(table):
    X, y = table
    for loss, unit in (("squared_error", "the target"), ("gamma", "log of the target")):
        model = AdditiveRegressor(loss=loss, C=1.0).fit(X, np.exp(y / 20))
        found = explain(model, X.head(1))
        assert f"The score is the {unit.removeprefix('the ')}." in str(found)
        assert found.plot(0).ax_.get_xlabel().startswith(unit)


def test_without_a_posterior_there_are_no_whiskers(table):
    X, y = table
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, y > 0)
    display = ContributionsDisplay.from_estimator(model, X.head(1))
    assert display.whiskers_ is None
    assert display.ax_.get_xlabel() == "margin of True"
    assert not display.ax_.child_axes


def test_names_values_and_numbers_do_not_overlap(model, table):
    for row in range(4):
        for size in ((9, 7), (6, 5)):
            figure = Figure(figsize=size)
            display = ContributionsDisplay.from_estimator(
                model, table[0].head(4), row=row, figure=figure
            )
            FigureCanvasAgg(figure).draw()
            boxes = boxes_of(figure, texts_of(display))
            assert overlaps(boxes) == []
            whole = figure.bbox
            assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in boxes)


def test_what_is_written(model, table):
    display = ContributionsDisplay.from_estimator(model, table[0].head(2), class_names=["n", "p"])
    texts = {text.get_text() for text in texts_of(display)}
    reasons = display.reasons
    assert {"base value", "score", "6 other terms"} <= texts
    assert {reason.term for reason in reasons.terms} <= texts
    assert display.ax_.get_title(loc="left") == reasons.headline
    assert display.ax_.get_xlabel().startswith("log-odds of p")
    (top,) = display.ax_.child_axes
    assert top.get_xlabel() == "probability of p"
    shares = [float(label.get_text()) for label in top.get_xticklabels()]
    np.testing.assert_allclose(np.log(np.divide(shares, np.subtract(1, shares))), top.get_xticks())


@pytest.mark.parametrize("strength", [0.03, 0.3, 3.0])
def test_probabilities_are_marked_however_narrow_the_axis(strength, table):
    X = table[0].iloc[:, :3]
    y = strength * X.iloc[:, 0] - 2 + np.random.default_rng(1).logistic(size=len(X)) > 0
    model = AdditiveClassifier(C=0.1, random_state=0).fit(X, y)
    for row in range(4):
        figure = Figure(figsize=(6, 5))
        display = ContributionsDisplay.from_estimator(model, X, row=row, figure=figure)
        (top,) = display.ax_.child_axes
        FigureCanvasAgg(figure).draw()
        inside = [label for label in top.get_xticklabels() if label.get_text()]
        assert 3 <= len(inside) <= 11
        assert overlaps(boxes_of(figure, inside)) == []


@pytest.mark.parametrize("loss", ["gamma", "poisson"])
def test_under_a_log_link_the_upper_axis_has_means(loss, table):
    X, y = table
    model = AdditiveRegressor(C=1.0, loss=loss).fit(X, np.ceil(np.exp(y / 10.0)))
    display = ContributionsDisplay.from_estimator(model, X, 3, target_name="cost")
    [top] = display.ax_.child_axes
    assert top.get_xlabel() == "mean of cost"
    marks = np.array([float(text.get_text()) for text in top.get_xticklabels()])
    np.testing.assert_allclose(np.exp(top.get_xticks()), marks)
    low, high = np.exp(display.ax_.get_xlim())
    assert len(marks) >= 3
    assert low <= marks.min() < marks.max() <= high
    assert np.exp(display.reasons.score) == pytest.approx(model.predict(X)[3])
    assert display.reasons.mean_of == "cost"


def test_several_classes_and_numbers(table):
    X, y = table
    three = np.array(["p", "q", "r"])[np.digitize(y, [-3, 3])]
    model = AdditiveClassifier(random_state=0).fit(X, three)
    display = ContributionsDisplay.from_estimator(model, X.head(3), row=1)
    best = model.predict(X.head(2))[1]
    assert display.ax_.get_xlabel().startswith(f"relative log-odds of {best}")
    assert not display.ax_.child_axes  # softmax: no probability belongs to a score alone
    other = ContributionsDisplay.from_estimator(model, X.head(3), row=1, target="q")
    assert other.ax_.get_xlabel().startswith("relative log-odds of q")
    number = AdditiveRegressor(random_state=0).fit(X, y)
    display = ContributionsDisplay.from_estimator(number, X.head(1), target_name="price")
    assert display.ax_.get_xlabel().startswith("price")


def test_the_convention_of_displays(model, table):
    figure, (left, right) = pyplot.subplots(1, 2)
    display = explain(model, table[0].head(2)).plot(1, ax=right)
    assert isinstance(display, ContributionsDisplay)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.patches
    assert display.plot() is display
    assert display.figure_ is not figure
    again = ContributionsDisplay(display.reasons).plot(left)
    assert len(again.bars_) == len(display.bars_)


def test_a_pipeline(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), AdditiveRegressor(random_state=0))
    pipeline.fit(X.iloc[:, :12], y)
    display = ContributionsDisplay.from_estimator(pipeline, X.iloc[:2, :12])
    assert display.reasons.terms[0].term.startswith("feature ")
    assert display.reasons.score == pytest.approx(pipeline.predict(X.iloc[:1, :12])[0])


@pytest.mark.parametrize("name", [r"$\frac{a$", "$x$", "_hidden", "{x}", "<&>"])
def test_names_are_text(name):
    X = pd.DataFrame({name: np.arange(80.0), "level": [name, "b"] * 40})
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, np.array([name, "c"] * 40))
    display = ContributionsDisplay.from_estimator(model, X, row=-1, target=None)
    display.figure_.canvas.draw()
    found = display.figure_.findobj(mpl.text.Text)
    assert not [text for text in found if "$" in text.get_text() and text.get_parse_math()]
    assert name in {text.get_text() for text in found}


def test_without_matplotlib(model, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'splinear\[plot\]'"):
        ContributionsDisplay.from_estimator(model, table[0].head(1))
    with pytest.raises(ImportError, match=r"pip install 'splinear\[plot\]'"):
        explain(model, table[0].head(1)).plot()
