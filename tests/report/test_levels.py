"""Ordered levels on the page: measures that know of the order, and the panel's data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pages import Page, check_structure, shown, written

from splinear import AdditiveOrdinal

pytest.importorskip("jinja2")

NAMES = ["poor", "fair", "good", "great"]


@pytest.fixture(scope="module")
def graded() -> tuple[Any, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 1500), "b": rng.choice(["u", "v"], 1500)})
    latent = 2.0 * np.sin(2.0 * X["a"]) + (X["b"] == "v") + rng.logistic(size=1500)
    y = np.array(NAMES)[np.digitize(latent, [-1.0, 0.5, 2.0])]
    model = AdditiveOrdinal(levels=NAMES, random_state=0).fit(X[:1000], y[:1000])
    return model, X[1000:], y[1000:]


@pytest.fixture(scope="module")
def page(graded: Any, tmp_path_factory: Any) -> Page:
    text, page = written(tmp_path_factory.mktemp("page"), *graded, target_name="grade")
    check_structure(text, page)
    return page


def test_measures(graded: Any, page: Page) -> None:
    model, X, y = graded
    P, code = model.predict_proba(X), np.array([NAMES.index(name) for name in y])
    assert shown(page, "Accuracy") == f"{model.score(X, y):.1%}"
    ranked = model.ranked_probability_score(X, y)
    assert shown(page, "Ranked probability score") == f"{ranked:.4f}"
    median = np.array([NAMES.index(name) for name in model.predict_quantile(X)])
    assert shown(page, "Levels off") == f"{np.abs(median - code).mean():.4f}"
    log_loss = -np.log(P[np.arange(len(y)), code]).mean()
    assert shown(page, "Log-loss") == f"{log_loss:.4f}"


def test_words(page: Page) -> None:
    assert "AdditiveOrdinal: 4 levels" in page.words
    assert "predicts which of 4 ordered levels grade has" in page.words
    assert "poor, fair, good, great 4 ordered levels; cut points:" in page.words
    assert "latent scale of grade" in page.words


def test_the_panel_has_the_cut_points(graded: Any, page: Page, tmp_path: Path) -> None:
    model, X, y = graded
    assert page.data["cuts"] == model.cut_points_.tolist()
    assert page.data["classes"] == NAMES
    assert page.data["outputs"] == ["grade"]
    text, other = written(tmp_path, model, X, y, sample_weight=np.ones(len(y)))
    check_structure(text, other)
