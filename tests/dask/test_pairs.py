"""Surfaces over pairs of features, of rows that workers hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from dask_clusters import LONG, a_cluster

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.terms import Pair, Varying

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

from splinear.dask import (  # noqa: E402
    DaskAdditiveClassifier,
    DaskAdditiveRegressor,
    DaskAdditiveSVC,
    fitting,
    storing,
)
from splinear.dask.passes import RemoteRows  # noqa: E402
from splinear.solvers.pairs import crossfit, interactions  # noqa: E402
from splinear.solvers.pairs.pair_check import PairCheck  # noqa: E402

pytestmark = pytest.mark.dask


def table(n=1_500, seed=0):
    """Return numbers, gaps and a category; two features that only say something together."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.uniform(-1, 1, (n, 4)), columns=list("abcd"))
    frame["level"] = pd.Categorical(random.choice(["x", "y", "z"], n))
    f = 3 * frame["a"] * frame["b"] + frame["c"] + np.where(frame["level"] == "x", frame["d"], 0)
    frame.loc[random.random(n) < 0.05, "b"] = np.nan
    return frame, f.to_numpy(), random


def divided(frame, ends=(1, 600, 601)):
    starts, stops = [0, *ends], [*ends, len(frame)]
    parts = [frame.iloc[a:b] for a, b in zip(starts, stops, strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def check_same(found, local, X) -> None:
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=local.tol)
    names = [[term.features for term in one.terms_] for one in (found, local)]
    assert names[0] == names[1]
    for own, other in zip(found.terms_, local.terms_, strict=True):
        # REML settles degrees of freedom, to 1 % or .1; small variances may differ by more.
        np.testing.assert_allclose(own.edf, other.edf, rtol=0.02, atol=0.1)
    np.testing.assert_allclose(
        found.feature_importances_, local.feature_importances_, rtol=0.05, atol=1e-3
    )


@pytest.mark.parametrize(
    "params",
    [
        {"interactions": 2},
        {"interactions": "auto"},  # held-out rows decide, and are the same as in a local fit
        pytest.param({"interactions": [("a", "b")], "C": 1.0}, marks=LONG),
        pytest.param({"terms": {("d", "level"): Pair(n_bins=5)}}, marks=LONG),
    ],
    ids=repr,
)
def test_classes(client, params):
    X, f, random = table()
    y = f + random.logistic(size=len(f)) > 0
    given = divided(X.assign(y=y))
    found = DaskAdditiveClassifier(random_state=0, **params)
    found.fit(given.drop(columns="y"), given["y"])
    local = AdditiveClassifier(random_state=0, **params).fit(X, y)
    check_same(found, local, X)
    np.testing.assert_allclose(found.predict_proba(X), local.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("seed", [16, 28])
def test_flat_surfaces_are_left_out(client, seed, monkeypatch):
    """Some of those that are found, whatever held-out rows say.

    The surface that stays is weak: a gap of 1e-3 leaves 31 % of its importance open.
    """
    monkeypatch.setattr(PairCheck, "share", lambda *_: 1.0)
    monkeypatch.setattr(crossfit, "TOL", 1e-6)
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (600, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + random.normal(size=600)
    exact = {"interactions": "auto", "tol": 1e-5, "random_state": 0}
    found = DaskAdditiveRegressor(**exact)
    found.fit(da.from_array(X, chunks=(250, 3)), da.from_array(y, chunks=250))
    local = AdditiveRegressor(**exact).fit(X, y)
    assert len(local.terms_.pairs) == 1 < local.pair_search_["found"]
    check_same(found, local, X)
    np.testing.assert_allclose(found.predict(X), local.predict(X), atol=1e-3)


@LONG
def test_several_classes(client):
    X, f, random = table()
    y = np.digitize(f + random.logistic(size=len(f)), [-1.0, 1.0])
    given = divided(X.assign(y=y))
    found = DaskAdditiveClassifier(interactions=1, random_state=0)
    found.fit(given.drop(columns="y"), given["y"])
    local = AdditiveClassifier(interactions=1, random_state=0).fit(X, y)
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=2 * local.tol)


@pytest.mark.parametrize("C", [None, pytest.param(1.0, marks=LONG)])
def test_varying_coefficients(client, C):
    X, f, random = table()
    y = f + random.normal(size=len(f))
    given = divided(X.assign(y=y))
    terms = {("b", "a"): Varying(), ("level", "d"): Varying(), ("c", "level"): Varying()}
    found = DaskAdditiveRegressor(C=C, terms=terms, random_state=0)
    found.fit(given.drop(columns="y"), given["y"])
    local = AdditiveRegressor(C=C, terms=terms, random_state=0).fit(X, y)
    check_same(found, local, X)
    np.testing.assert_allclose(found.predict(X), local.predict(X), atol=0.05)


def test_regression_with_weights(client):
    X, f, random = table()
    y, w = f + random.normal(size=len(f)), random.integers(0, 3, len(f)).astype(float)
    given = divided(X.assign(y=y, w=w))
    # Choosing the smoothness ends earlier for a larger tol, here .16 degrees of freedom apart.
    exact = {"interactions": [("a", "b")], "tol": 1e-5, "random_state": 0}
    found = DaskAdditiveRegressor(**exact)
    found.fit(given.drop(columns=["y", "w"]), given["y"], given["w"])
    local = AdditiveRegressor(**exact).fit(X, y, w)
    check_same(found, local, X)
    np.testing.assert_allclose(found.predict(X), local.predict(X), atol=0.01)


@LONG
def test_a_tolerance_below_the_rounding_of_codes(client):
    X, f, random = table(800)
    y = f + random.normal(size=len(f))
    given = divided(X.assign(y=y))
    params = {"interactions": [("a", "b")], "C": 1.0, "tol": 1e-7, "random_state": 0}
    found = DaskAdditiveRegressor(**params).fit(given.drop(columns="y"), given["y"])
    local = AdditiveRegressor(**params).fit(X, y)
    assert found.certified_
    assert found.objective_ == pytest.approx(local.objective_, rel=1e-6)


def test_grids_of_all_rows_where_the_sample_is_small(client, monkeypatch):
    """The sample is too small to tell which pairs matter; all rows are not."""
    random = np.random.default_rng(3)
    X = random.uniform(-1, 1, (8_000, 6))
    y = 1.2 * X[:, 2] * X[:, 4] + X[:, 0] + random.logistic(size=len(X)) > 0
    monkeypatch.setattr(fitting, "SAMPLE", 400)
    monkeypatch.setattr(fitting, "enough_rows", lambda levels: 300)
    asked, grids = [], RemoteRows.grids
    monkeypatch.setattr(RemoteRows, "grids", lambda *args: asked.append(1) or grids(*args))
    found = DaskAdditiveClassifier(interactions=1, random_state=0)
    found.fit(da.from_array(X, chunks=(2_000, 6)), da.from_array(y, chunks=2_000))
    assert asked
    assert found.certified_
    assert found.terms_[-1].features == (2, 4)


@pytest.mark.parametrize("kind", [DaskAdditiveClassifier, DaskAdditiveRegressor])
def test_grids_say_what_the_core_says(client, monkeypatch, kind):
    """Where the rows that are here are all rows, and all are seen by one model."""
    X, f, random = table(1_000)
    y = f + random.normal(size=len(f))
    y = y > 0 if kind is DaskAdditiveClassifier else y
    given, found = divided(X.assign(y=y)), {}
    of_core, of_grids = interactions.Interactions._evidence, interactions.grid_evidence

    def by_one_model(asked, crossed, chains, *rest):
        alike = replace(crossed, points=[crossed.points[0]] * len(crossed.points))
        return found.setdefault("core", of_core(asked, alike, [chains[0]] * len(chains), *rest))

    monkeypatch.setattr(interactions.Interactions, "_evidence", by_one_model)
    monkeypatch.setattr(
        interactions, "grid_evidence", lambda *args: found.setdefault("grids", of_grids(*args))
    )
    for by_grids in (False, True):
        monkeypatch.setattr(interactions, "is_worth_a_pass", lambda *_, own=by_grids: own)
        kind(interactions=1, random_state=0).fit(given.drop(columns="y"), given["y"])
    assert len(found["core"]) == 10
    np.testing.assert_allclose(found["grids"], found["core"], rtol=1e-6, atol=1e-6)


@LONG
def test_parts_without_room_in_memory_change_no_bit(monkeypatch, tmp_path):
    X, f, random = table()
    y = f + random.logistic(size=len(f)) > 0
    scores = []
    for full in (0.4, 0.0):
        monkeypatch.setattr(storing, "FULL", full)
        with a_cluster(2, processes=False, memory_limit="4GB", local_directory=str(tmp_path)):
            given = divided(X.assign(y=y))
            found = DaskAdditiveClassifier(interactions=1, random_state=0)
            found.fit(given.drop(columns="y"), given["y"])
        scores.append(found.to_local().decision_function(X))
    np.testing.assert_array_equal(*scores)


def test_svc_has_none(client):
    X, f, _ = table(200)
    given = divided(X.assign(y=f > 0), [100])
    with pytest.raises(ValueError, match="no surfaces over pairs"):
        DaskAdditiveSVC(terms={("a", "b"): Pair()}, C=1.0).fit(given.drop(columns="y"), given["y"])
