"""Surfaces over pairs of features where a device holds the rows: passes, detection, whole fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pairs_compared import (
    both,
    pairs_of,
    placed,
    same_evidence,
    same_passes,
    same_passes_of_the_largest,
    same_positions,
    same_predictions,
)

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.estimators.gpu import scores_on
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.solvers.pairs import crossfit, interactions
from splinear.solvers.pairs.pair_check import PairCheck
from splinear.terms import Pair, Spline, Varying

# -- passes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_rows_stand(backend, dtype, exact):
    same_positions(backend, dtype, exact)


@pytest.mark.parametrize(("n_outputs", "exact"), [(1, False), (19, False), (3, True)])
def test_passes_are_those_of_numpy(backend, n_outputs, exact):
    mine, slow = placed(backend, exact), placed(NumPyBackend(), exact)
    same_passes(backend, mine, slow, n_outputs)
    if n_outputs == 1:
        same_passes(backend, mine.first(111), slow.first(111), n_outputs)


def test_the_finest_surface(backend):
    same_passes_of_the_largest(backend)


def test_many_rows(backend):
    """More than a block of threads takes."""
    same_passes(backend, placed(backend, n=9000), placed(NumPyBackend(), n=9000), 1)


def test_a_surface_that_shared_memory_has_no_room_for(backend, monkeypatch):
    if hasattr(backend, "shared_bytes"):
        monkeypatch.setattr(backend, "shared_bytes", 1000)
    same_passes(backend, placed(backend), placed(NumPyBackend()), 1)


def test_sums_are_the_same_bits_every_time(backend):
    surfaces, rng = placed(backend, n=5000), np.random.default_rng(0)
    R = backend.array(rng.normal(size=(1, 5000)))
    here = backend.numpy
    first, blocks = here(surfaces.sums(R)), here(surfaces.blocks(R))
    for _ in range(5):
        assert np.array_equal(first, here(surfaces.sums(R)))
        assert np.array_equal(blocks, here(surfaces.blocks(R)))


def test_sums_of_what_is_not_finite_are_not_numbers(backend):
    surfaces = placed(backend, n=100)
    R = np.ones((2, 100))
    R[1, 3] = np.nan
    found = backend.numpy(surfaces.sums(backend.array(R)))
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1]).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_evidence(backend, n_outputs):
    same_evidence(backend, n_outputs)


# -- fits -----------------------------------------------------------------------------------------


def table(n=1200, seed=0):
    """Return numbers, gaps, few values and a category; features that say something together."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1, 1, (n, 4)), columns=list("abcd"))
    frame["few"] = rng.integers(0, 3, n).astype(float)
    frame["level"] = pd.Categorical(rng.choice(["x", "y", "z"], n))
    f = 3 * frame["a"] * frame["b"] + frame["c"] + frame["few"] * frame["d"]
    f += 2 * np.where(frame["level"] == "x", frame["d"], 0)
    frame.loc[rng.random(n) < 0.05, "b"] = np.nan
    return frame, f.to_numpy(), rng


def same(here, there, X, tol):
    assert there.certified_
    assert pairs_of(there) == pairs_of(here)
    assert there.objective_ == pytest.approx(here.objective_, rel=2 * tol)
    np.testing.assert_allclose(
        there.feature_importances_, here.feature_importances_, rtol=0.1, atol=0.02
    )
    f, g = ((m.predict if hasattr(m, "loss") else m.decision_function)(X) for m in (here, there))
    assert np.abs(f - g).max() < 0.05 * np.abs(f).max()


@pytest.fixture(autouse=True)
def finely_trained(monkeypatch):
    """Models that find pairs are only compared with each other, and trained roughly."""
    monkeypatch.setattr(crossfit, "TOL", 1e-7)


SMALL = {"curve": Spline(n_bins=8), "random_state": 0, "tol": 1e-3}


@pytest.mark.parametrize(
    "asked",
    [
        {"interactions": 2},
        {"interactions": "auto", "C": 1.0},
        {"interactions": [("a", "b"), ("level", "d"), ("few", "d")], "C": 0.3},
        {"terms": {("d", "level"): Pair(n_bins=5)}, "interactions": 1},
    ],
    ids=repr,
)
def test_classes(on_backend, asked, monkeypatch):
    monkeypatch.setattr(crossfit, "TOL", 1e-6)  # two pairs have nearly the same evidence
    X, f, rng = table()
    y = f + rng.logistic(size=len(f)) > 0
    here, there = both(AdditiveClassifier(**SMALL, **asked), X, y)
    assert pairs_of(here)
    same(here, there, X, 1e-3)


@pytest.mark.parametrize("seed", [15, 16, 21])
def test_flat_surfaces_are_left_out(on_backend, seed, monkeypatch):
    """None is left, or some, whatever held-out rows say."""
    monkeypatch.setattr(PairCheck, "share", lambda *_: 1.0)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (600, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + rng.normal(size=600)
    here, there = both(AdditiveRegressor(interactions="auto", random_state=0), X, y)
    same(here, there, X, 1e-3)


@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
def test_evidence_is_that_of_the_processor(on_backend, kind, monkeypatch):
    """Of every pair, not only of those that are taken; in some of the rows."""
    X, f, rng = table()
    y = f + rng.normal(size=len(f))
    y = y > 0 if kind is AdditiveClassifier else y
    seen, evidence = [], interactions.Interactions._evidence
    monkeypatch.setattr(
        interactions.Interactions,
        "_evidence",
        lambda *args: seen.append(evidence(*args)) or seen[-1],
    )
    monkeypatch.setattr(crossfit, "TOL", 1e-8)
    monkeypatch.setattr(interactions, "MOST_ROWS", 700)
    monkeypatch.setattr(interactions, "LEAST_ROWS", 500)
    both(kind(**SMALL | {"tol": 1e-6}, interactions=1, C=0.3), X, y)
    assert len(seen[0]) == 15
    np.testing.assert_allclose(seen[1], seen[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("C", [None, 0.3])
def test_varying_coefficients(on_backend, C):
    X, f, rng = table()
    terms = {("b", "a"): Varying(), ("level", "d"): Varying(), ("c", "level"): Varying()}
    model = AdditiveRegressor(**SMALL, C=C, terms=terms)
    here, there = both(model, X, f + rng.normal(size=len(f)))
    same(here, there, X, 1e-3)


def test_regression_with_weights(on_backend):
    X, f, rng = table()
    y, w = f + rng.normal(size=len(f)), rng.integers(0, 3, len(f)).astype(float)
    here, there = both(AdditiveRegressor(**SMALL, interactions=2), X, y, sample_weight=w)
    same(here, there, X, 1e-3)
    assert [own.smoothness for own in there.terms_] == pytest.approx(
        [own.smoothness for own in here.terms_], rel=0.05, abs=1e-6
    )


@pytest.mark.parametrize("C", [None, 0.3])
def test_several_classes(on_backend, C):
    X, f, rng = table(800)
    y = np.digitize(f + rng.logistic(size=len(f)), [-1.0, 1.0])
    here, there = both(AdditiveClassifier(**SMALL, interactions=1, C=C), X, y)
    same(here, there, X, 1e-3)


def test_counts(on_backend):
    X, f, rng = table(800)
    y = rng.poisson(np.exp(0.5 * f))
    model = AdditiveRegressor(**SMALL, loss="poisson", interactions=1)
    here, there = both(model, X, y)
    assert there.certified_
    assert pairs_of(there) == pairs_of(here)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-3)


def test_a_surface_of_a_curve_that_rises(on_backend):
    X, f, rng = table(800)
    y = f + rng.logistic(size=len(f)) > 0
    terms = {"c": Spline(n_bins=6, monotone="increasing")}
    model = AdditiveClassifier(**SMALL, terms=terms, interactions=[("c", "a")], C=0.3)
    same(*both(model, X, y), X, 1e-3)


def test_a_tolerance_below_the_rounding_of_codes(on_backend):
    X, f, rng = table(500)
    y = f + rng.normal(size=len(f))
    model = AdditiveRegressor(Spline(8), interactions=[("a", "b")], C=1.0, tol=1e-7, random_state=0)
    same(*both(model, X, y), X, 1e-7)


def test_the_same_bits_twice(on_backend):
    X, f, rng = table(600)
    y = f + rng.logistic(size=len(f)) > 0
    fits = [AdditiveClassifier(**SMALL, interactions=2, device="cuda").fit(X, y) for _ in range(2)]
    assert np.array_equal(*(model.decision_function(X) for model in fits))


def test_rows_that_are_sent_in_pieces(on_backend, monkeypatch):
    X, f, rng = table(600)
    y = f + rng.logistic(size=len(f)) > 0
    made = {**SMALL, "interactions": [("a", "b")], "C": 0.5, "device": "cuda"}
    whole = AdditiveClassifier(**made).fit(X, y)
    monkeypatch.setattr("splinear.objective.gpu.rows.ROOM", 1e30)
    monkeypatch.setattr(on_backend, "free_bytes", lambda: 2**20)
    for name in ("READ_AT_ONCE", "COPIED_AT_ONCE"):
        monkeypatch.setattr(f"splinear.tables.table.{name}", 700)
    pieces = AdditiveClassifier(**made).fit(X, y)
    assert pieces.objective_ == pytest.approx(whole.objective_, rel=1e-6)


def test_positions_of_some_rows_at_a_time(on_backend, monkeypatch):
    X, f, rng = table(600)
    y = f + rng.logistic(size=len(f)) > 0
    made = {**SMALL, "interactions": [("a", "b")], "C": 0.5, "device": "cuda"}
    whole = AdditiveClassifier(**made).fit(X, y)
    monkeypatch.setattr("splinear.objective.gpu.rows.EXACTLY", 170)
    some = AdditiveClassifier(**made).fit(X, y)
    assert some.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = AdditiveRegressor(Spline(5), interactions=[(0, 1)], C=1.0, random_state=0)
    model.fit(X, X[:, 0] * X[:, 1])
    monkeypatch.setattr("splinear.estimators.gpu.AT_ONCE", 200)
    found = scores_on(on_backend, model._model, on_backend.array(X))
    np.testing.assert_allclose(on_backend.numpy(found)[:, 0], model.predict(X), atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions(backend, classes):
    same_predictions(backend, classes)


def test_hinges_have_none(on_backend):
    X, f, _ = table(200)
    with pytest.raises(ValueError, match=r"AdditiveSVC has no surfaces .*AdditiveClassifier"):
        AdditiveSVC(terms={("a", "b"): Pair()}, device="cuda", C=1.0).fit(X, f > 0)


def test_arrays_on_a_gpu():
    """Of X that lies there, the same is found."""
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 5)).astype(np.float32)
    X[::13, 2] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 2]) * X[:, 4] + 0.2 * X[:, 0], [-0.1, 0.1])
    here = AdditiveClassifier(**SMALL, interactions=1).fit(X, y)
    there = AdditiveClassifier(**SMALL, interactions=1, device="cuda")
    there.fit(cupy.asfortranarray(cupy.asarray(X)), cupy.asarray(y))
    assert pairs_of(there) == pairs_of(here) == [(2, 4)]
    found = there.predict_proba(cupy.asarray(X))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), there.predict_proba(X), atol=1e-4)
