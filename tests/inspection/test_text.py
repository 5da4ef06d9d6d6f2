"""Names in tables and pictures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor, report
from splinear.inspection import explain, summary
from splinear.inspection.text import beside, decimals_of, digits_apart, shortened, told_apart

PREFIX = "a name that begins as all the others do, number "


@pytest.mark.parametrize("most", [3, 4, 9, 12, 32])
def test_names_that_differ_at_their_ends(most: int) -> None:
    names = [f"{PREFIX}{k}" for k in range(9)] + ["x"]
    short = told_apart(names, most)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) == most
    assert short[-1] == "x"


@pytest.mark.parametrize("most", [9, 14, 26])
def test_names_that_differ_in_their_middles(most: int) -> None:
    words = ("shoes", "hats", "coats", "gloves")
    names = [f"https://www.example.com/shop/{word}/index-of-all-products.html" for word in words]
    short = told_apart(names, most)
    assert max(map(len, short)) <= most
    assert all(word in text for word, text in zip(words, short, strict=True))


def test_names_that_differ_in_two_places_are_numbered() -> None:
    names = [f"{40 * 'a'}{x}{40 * 'b'}{z}{40 * 'c'}" for x in "uv" for z in "xyz"]
    short = told_apart([*names, names[0]], 12)
    assert len(set(short)) == 6
    assert max(map(len, short)) <= 12
    assert short[0] == short[-1]


def test_names_that_differ_before_keep_their_beginnings() -> None:
    names = ["one that is too long", "another that is too long", "short"]
    assert told_apart(names, 10) == [shortened(name, 10) for name in names]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([0.512, 0.0213, 6e-06, 0.0], ["0.512", "0.021", "0.000", "0.000"]),
        ([12_345.6, -981.5, -0.2], ["12,346", "-982", "0"]),
        ([9.87e-6, -1.4e-7, 3e-15], ["9.87e-06", "-1.4e-07", "0"]),
        ([0.0, 0.0], ["0", "0"]),
    ],
)
def test_numbers_of_a_column_are_comparable(column: list[float], expected: list[str]) -> None:
    assert [beside(value, max(map(abs, column))) for value in column] == expected


@pytest.mark.parametrize(
    ("largest", "step", "digits", "decimals"),
    [
        (10.0, 2.0, 2, 0),
        (10.0, 2.5, 3, 1),
        (1000.3, 0.1, 5, 1),
        (12_000.0, 2000.0, 2, -3),
        (12_500.0, 2500.0, 3, -2),
        (0.3, 0.1, 1, 1),  # although 0.3 is a little less than that
        (1.0, 1e-12, 13, 12),
        (5.0, 100.0, 1, -2),
    ],
)
def test_digits_that_tell_marks_apart(
    largest: float, step: float, digits: int, decimals: int
) -> None:
    assert digits_apart(largest, step) == digits
    assert decimals_of(step) == decimals


@pytest.mark.parametrize(("largest", "step"), [(0.0, 1.0), (1.0, 0.0), (1.0, np.inf)])
def test_one_digit_where_there_is_no_step(largest: float, step: float) -> None:
    assert digits_apart(largest, step) == 1


def test_importances_in_tables_have_no_exponents() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(400, 3)), columns=list("abc"))
    model = AdditiveRegressor().fit(X, 1000 * X["a"] + random.normal(size=400))
    assert 0.0 < model.feature_importances_.min() < 1e-4
    assert len(re.findall(r"\de[-+]\d", str(summary(model)))) == 1  # <1e-16


def test_long_names_of_classes_differ_beside_lines() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from splinear.plotting import CurvesDisplay

    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(300, 1)), np.array([f"{PREFIX}{k}" for k in range(3)])
    model = AdditiveClassifier().fit(X, names[np.digitize(X[:, 0], [-0.5, 0.5])])
    figure = CurvesDisplay.from_estimator(model, X, figure=Figure()).figure_
    words = [text.get_text() for text in figure.axes[0].findobj(Annotation)]
    assert [sum(word.endswith(str(k)) for word in words) for k in range(3)] == [1, 1, 1]


def test_long_names_differ_in_tables_and_on_a_page(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            f"{PREFIX}1": rng.normal(size=300),
            f"{PREFIX}2": rng.choice([f"{PREFIX}{k}" for k in range(3)], 300),
        }
    )
    y = [f"{PREFIX}{k}" for k in rng.integers(0, 3, 300)]
    names = list(X)
    model = AdditiveClassifier(interactions=[tuple(names)]).fit(X, y)
    for table in (str(summary(model)), str(explain(model, X[:1]))):
        assert {f"number {k}" for k in (1, 2)} <= set(re.findall(r"number \d", table))
    report.write(model, tmp_path / "page.html", X, y)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    pictures = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.S))
    cut = re.findall(r">([^<>]*\u2026[^<>]*)<", pictures)
    assert cut
    assert all(re.search(r"\d$", name) for name in cut)
