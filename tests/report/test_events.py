"""Rare events: precision, recall, lift, calibration on logarithmic axes, and thresholds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pages import EVIL, check_structure, shown, written
from sklearn import metrics

from splinear import AdditiveClassifier, AdditiveSVC

pytest.importorskip("jinja2")


def rare_rows(n: int, names: tuple[str, str] = ("no", "yes")) -> tuple[pd.DataFrame, np.ndarray]:
    """About one event in thirty rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    chance = 1 / (1 + np.exp(6.0 - 2.5 * X["a"] - X["b"]))
    return X, np.where(rng.random(n) < chance, names[1], names[0])


@pytest.fixture(scope="module")
def rare() -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = rare_rows(12_000)
    return AdditiveClassifier(random_state=0).fit(X[:6000], y[:6000]), X[6000:], y[6000:]


def test_measures_of_rare_events(rare: Any, tmp_path: Path) -> None:
    model, X, y = rare
    page = written(tmp_path, model, X, y)[1]
    p, is_it = model.predict_proba(X)[:, 1], y == "yes"
    assert is_it.mean() < 0.06
    average = metrics.average_precision_score(is_it, p)
    assert shown(page, "Average precision") == f"{average:.3f}"
    called = model.predict(X) == "yes"
    assert shown(page, "Recall") == f"{(called & is_it).sum() / is_it.sum():.1%}"
    assert shown(page, "Precision") == f"{(called & is_it).sum() / called.sum():.1%}"
    top = np.argsort(-p)[:60]
    assert shown(page, "Lift in the top 1%") == f"{is_it[top].mean() / is_it.mean():.1f}"
    words = page.words
    assert "Curves are about" not in words
    assert words.index("Average precision") < words.index("Accuracy")
    assert "says little here" in words


def test_rows_that_weigh_two_are_two_rows(rare: Any, tmp_path: Path) -> None:
    model, X, y = rare
    rng = np.random.default_rng(1)
    w = rng.integers(1, 3, len(y))
    twice = np.repeat(np.arange(len(y)), w)
    weighted = written(tmp_path, model, X, y, sample_weight=w)[1]
    repeated = written(tmp_path, model, X.iloc[twice], y[twice])[1]
    for name in ("Average precision", "Precision", "Recall", "Lift in the top 10%"):
        assert shown(weighted, name) == shown(repeated, name)
    for name in ("events", "others"):
        assert weighted.data["events"][name] == repeated.data["events"][name]


@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveSVC])
def test_thresholds_count_what_they_flag(kind: Any, rare: Any, tmp_path: Path) -> None:
    _, X, y = rare
    model = kind(random_state=0, **({"C": 1.0} if kind is AdditiveSVC else {})).fit(X, y)
    data = written(tmp_path, model, X, y)[1].data["events"]
    has = hasattr(model, "predict_proba")
    score = model.predict_proba(X)[:, 1] if has else model.decision_function(X)
    is_it = y == "yes"
    assert (np.diff(data["thresholds"]) < 0).all()
    for at, hits, alarms in zip(data["thresholds"], data["hits"], data["alarms"], strict=True):
        assert hits == (is_it & (score >= at)).sum()
        assert alarms == (~is_it & (score >= at)).sum()
    assert (data["hits"][0], data["alarms"][0]) == (0, 0)
    assert data["hits"][-1] == data["events"] == is_it.sum()
    assert data["thresholds"][data["own"]] == (0.5 if has else 0.0)
    assert 30 < len(data["thresholds"]) < 200
    # Nobody is told by a threshold: they are not the scores of rows.
    assert not np.isin(data["thresholds"], score).any()


def test_the_rare_class_is_the_event_whatever_its_place(tmp_path: Path) -> None:
    X, y = rare_rows(6000, ("ordinary", "fraud"))
    model = AdditiveClassifier(random_state=0).fit(X, y)
    page = written(tmp_path, model, X, y)[1]
    is_it = y == "fraud"
    p = model.predict_proba(X)[:, 0]
    average = metrics.average_precision_score(is_it, p)
    assert shown(page, "Average precision") == f"{average:.3f}"
    assert "Positive: fraud." in page.words
    assert "Curves are about ordinary: what they add to it they take from fraud." in page.words
    assert page.data["events"]["events"] == is_it.sum()
    svc = AdditiveSVC(C=1.0, random_state=0).fit(X, y)
    average = metrics.average_precision_score(is_it, -svc.decision_function(X))
    assert shown(written(tmp_path, svc, X, y)[1], "Average precision") == f"{average:.3f}"


def test_groups_of_calibration_have_events(rare: Any, tmp_path: Path) -> None:
    model, X, y = rare
    text, page = written(tmp_path, model, X, y)
    check_structure(text, page)
    table = text[text.index('Numbers<span class="hidden"> of Calibration') :]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table[: table.index("</table>")])
    cells = [re.findall(r"[\d.]+(?=%)", row) for row in rows]
    assert len(cells) >= 5
    assert all(float(observed) > 0.0 for _, observed, *_ in cells)
    assert "Axes are logarithmic" in page.words


def test_many_events_have_plain_axes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600)})
    y = np.where(X["a"] + rng.normal(size=600) > 0, EVIL, "</b>")
    page = written(tmp_path, AdditiveClassifier(random_state=0).fit(X, y), X, y)[1]
    assert "logarithmic" not in page.words
    assert "Lift" not in page.words
    assert "Where to draw the line" in page.words
    assert f"of the rows flagged, those that are {EVIL}" in page.words


def test_no_thresholds_without_both_classes(rare: Any, tmp_path: Path) -> None:
    model, X, y = rare
    for arguments in ((), (X,), (X[y == "no"], y[y == "no"])):
        page = written(tmp_path, model, *arguments)[1]
        assert "Where to draw the line" not in page.words
        assert page.data["events"] is None
