"""Many classes: what is drawn of them, what is left out, and that the page says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported_models import CASES, fitted, rows
from pages import EVIL, Page, check_structure, written
from sklearn import metrics

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.report.checks import Roc
from splinear.report.classes import weakest

pytest.importorskip("jinja2")

N = 15


@pytest.fixture(scope="module")
def many() -> tuple[Any, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(N, 4)), rng.integers(0, N, 2400)
    X = pd.DataFrame(centers[y] + 0.6 * rng.normal(size=(2400, 4)), columns=list("abcd"))
    X.loc[(y % 3 == 0) & (rng.random(2400) < 0.4), "a"] = np.nan  # which tells of the class
    names = np.array([*(f"class {k}" for k in range(N - 1)), EVIL])
    return (
        AdditiveClassifier(random_state=0).fit(X[:1200], names[y[:1200]]),
        X[1200:],
        names[y[1200:]],
    )


def tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of each table, by its caption; without its head."""
    found = {}
    for title, body in re.findall(
        r'<caption class="hidden">(.*?)</caption>.*?<tbody>(.*?)</tbody>', text, re.DOTALL
    ):
        lines = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
        found[title] = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
    return found


def test_classes_that_are_mistaken_most_often(many: Any, tmp_path: Path) -> None:
    model, X, y = many
    text, page = written(tmp_path, model, X, y)
    check_structure(text, page)
    counts = metrics.confusion_matrix(y, model.predict(X), labels=model.classes_)
    np.fill_diagonal(counts, 0)
    cells = tables(text)["Classes mistaken most often"]
    assert [int(row[2]) for row in cells] == sorted(counts[counts > 0], reverse=True)[:60]
    assert "True and predicted classes" not in page.words
    known = [name.replace("<", "&lt;").replace(">", "&gt;") for name in model.classes_]
    for true, predicted, n, _ in cells:
        assert counts[known.index(true), known.index(predicted)] == int(n)
    n_pairs = np.count_nonzero(counts)
    share = np.sort(counts, axis=None)[::-1][:14].sum() / counts.sum()
    assert f"These 14 of {n_pairs} pairs" in page.words
    assert f"{share:.0%} of all" in page.words


def test_each_class_has_a_line(many: Any, tmp_path: Path) -> None:
    model, X, y = many
    w = np.random.default_rng(0).integers(1, 4, len(y))
    cells = tables(written(tmp_path, model, X, y, sample_weight=w)[0])["Class by class"]
    assert len(cells) == N
    predicted = model.predict(X)
    recalls = []
    for name, n, recall, precision, area, _ in cells:
        own = EVIL if name.startswith("&lt;") else name
        k, options = model.classes_.tolist().index(own), {"labels": [own], "sample_weight": w}
        recalls.append(metrics.recall_score(y, predicted, average="macro", **options))
        assert int(n) == w[y == own].sum()
        assert recall == f"{recalls[-1]:.1%}"
        assert (
            precision == f"{metrics.precision_score(y, predicted, average='macro', **options):.1%}"
        )
        p = model.predict_proba(X)[:, k]
        assert area == f"{metrics.roc_auc_score(y == own, p, sample_weight=w):.3f}"
    assert recalls == sorted(recalls)


def test_of_many_classes_some_are_drawn_and_the_rest_is_told(many: Any, tmp_path: Path) -> None:
    model, X, y = many
    text, page = written(tmp_path, model, X, y)
    legend = text[text.index('<ul class="legend">') :]
    legend = legend[: legend.index("</ul>")]
    p = model.predict_proba(X)
    areas = [metrics.roc_auc_score(y == own, p[:, k]) for k, own in enumerate(model.classes_)]
    assert re.findall(r"area ([\d.]+)", legend) == [
        f"{area:.3f}" for area in [*sorted(areas)[:6], np.mean(areas)]
    ]
    assert f"the 6 of {N} classes with the smallest areas, and the mean" in page.words
    assert f"The other {N - 6}, with areas from" in page.words
    assert len(tables(text)["ROC curve"]) == N
    calibrated = tables(text)["Calibration"]
    assert sum(int(row[-1].replace(",", "")) for row in calibrated) == len(y)
    right = model.predict(X) == y
    order = np.argsort(p.max(axis=1), kind="stable")
    n_last = int(calibrated[-1][-1])
    assert calibrated[-1][1] == f"{right[order][-n_last:].mean():.1%}"
    assert "Single classes are not shown" in page.words
    assert "the 10 for which it matters most are drawn" in page.words


def test_missing_values_of_the_classes_that_are_drawn(many: Any, tmp_path: Path) -> None:
    """The marks at "missing" belong to the classes drawn, not to the first ones."""
    model, X, _ = many
    text = written(tmp_path, model, X)[0]
    card = text[text.index("<h3>a</h3>") :]
    card = card[: card.index("</svg>", card.index('class="picture'))]
    marks = re.findall(r'd="M[\d.]+ ([\d.]+)l5 5l-5 5l-5 -5z"', card)
    term = model.terms_.of_feature(0)
    f = term.evaluate(np.linspace(term.lo, term.hi, 400))
    widest = np.sort(np.argsort(-np.ptp(f, axis=0))[:10])
    expected = (term.evaluate(np.array([np.nan])) - term.mean)[0, widest]
    assert len(marks) == 10
    assert np.corrcoef(np.array(marks, dtype=float), expected)[0, 1] < -0.999


def test_three_classes_keep_their_matrix(tmp_path: Path) -> None:
    model, X = fitted("three classes"), rows("three classes", 200)
    page: Page = written(tmp_path, model, X, CASES["three classes"].target(X))[1]
    assert "True and predicted classes" in page.words
    assert "Class by class" in page.words
    assert "mistaken most often" not in page.words


def test_many_margins_and_many_labels(many: Any, tmp_path: Path) -> None:
    _, X, y = many
    svc = AdditiveSVC(C=1.0, random_state=0).fit(X, y)
    text, page = written(tmp_path, svc, X, y)
    check_structure(text, page)
    assert "Classes mistaken most often" in page.words
    assert "Calibration" not in page.words
    few = X[:500]
    labels = np.column_stack([few["b"] > t for t in np.linspace(-1, 1, 12)]).astype(int)
    model = AdditiveClassifier(random_state=0).fit(few, labels)
    text, page = written(tmp_path, model, few, labels)
    check_structure(text, page)
    assert "All 12 labels together" in page.words
    assert len(tables(text)["Class by class"]) == 12


def test_nothing_is_mistaken(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 13
    X = pd.DataFrame({"a": 10.0 * y + rng.random(600)})
    model = AdditiveClassifier(random_state=0).fit(X, y)
    right = model.predict(X) == y
    page = written(tmp_path, model, X[right], y[right])[1]
    assert "mistaken most often" not in page.words
    assert "Class by class" in page.words


def test_the_weakest_classes_are_not_those_with_a_few_rows() -> None:
    """Their areas are luck: that of a single row is anything from 0 to 1."""
    ends = np.array([0.0, 1.0])
    curves = [Roc(f"c{k}", ends, ends, 0.5 + 0.01 * k, 100) for k in range(12)]
    few = [Roc("one row", ends, ends, 0.1, 1), Roc("nine rows", ends, ends, 0.2, 9)]
    *drawn, mean = weakest([*few, *curves])
    assert [curve.name for curve in drawn] == [f"c{k}" for k in range(6)]
    assert mean.name == "mean of all 14"
    assert [curve.name for curve in weakest(few)[:-1]] == ["one row", "nine rows"]


def test_classes_with_a_few_test_rows_are_told(many: Any, tmp_path: Path) -> None:
    model, X, y = many
    rare = np.flatnonzero(y == "class 3")[3:]
    kept = np.setdiff1d(np.arange(len(y)), rare)
    _, page = written(tmp_path, model, X.iloc[kept], y[kept])
    said = f"the 6 of {N - 1} classes of 10 rows or more with the smallest areas, and the mean. "
    assert f"{said}The other {N - 6}, with areas from" in page.words
