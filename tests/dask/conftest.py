"""Clusters, and rows that the tests share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    from dask_clusters import a_cluster

    with a_cluster(2, processes=False) as client:
        yield client


@pytest.fixture(scope="session")
def frame() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, gaps, text of rare levels, and two classes."""
    random = np.random.default_rng(0)
    n = 800
    levels = np.array(["a", "b", "c", "rare"])
    frame = pd.DataFrame(
        {
            "x": random.normal(size=n),
            "z": random.exponential(size=n),
            "few": random.integers(0, 4, n).astype(np.float64),
            "text": levels[np.minimum(random.integers(0, 40, n) // 12, 3)],
        }
    )
    frame["category"] = pd.Categorical(random.choice(["low", "high"], n))
    score = np.sin(2 * frame["x"]) + 0.7 * frame["z"] - 0.7 + (frame["text"] == "b")
    score += frame["category"] == "low"
    frame.loc[random.random(n) < 0.1, "z"] = np.nan
    frame.loc[random.random(n) < 0.05, "text"] = None
    y = np.where(random.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    return frame, y
