"""Fits on workers that are threads of this process, against local fits."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from dask_clusters import LONG, a_cluster
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.terms import Category, Fourier, Hermite, Spline

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

from dask import bag, delayed  # noqa: E402
from distributed import Client  # noqa: E402

from splinear.dask import DaskAdditiveClassifier, DaskAdditiveRegressor, fitting, storing  # noqa: E402

pytestmark = pytest.mark.dask


def divided(frame: pd.DataFrame, y, ends: list[int]):
    """Return X and y of Dask, with partitions that end there."""
    whole = frame.assign(y=y)
    starts = [0, *ends]
    parts = [whole.iloc[a:b] for a, b in zip(starts, [*ends, len(whole)], strict=True)]
    both = dd.from_map(lambda part: part, parts, meta=whole.iloc[:0])
    return both.drop(columns="y"), both["y"]


def check_same(distributed_fit, local, X, rel: float = 1e-5) -> None:
    """Compare models whose rows, and so whose knots and smoothness, are the same."""
    assert distributed_fit.certified_
    assert distributed_fit.objective_ == pytest.approx(local.objective_, rel=rel)
    assert distributed_fit.dual_gap_ <= local.tol
    for own, other in zip(distributed_fit.terms_, local.terms_, strict=True):
        np.testing.assert_array_equal(own.knots, other.knots)
        np.testing.assert_allclose(own.smoothness, other.smoothness, rtol=1e-3)
        assert own.edf == pytest.approx(other.edf, rel=1e-3)
    np.testing.assert_allclose(
        distributed_fit.feature_importances_, local.feature_importances_, rtol=1e-2, atol=1e-4
    )


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param([], marks=LONG),
        pytest.param([300, 500], marks=LONG),
        [1, 1, 300, 301, 500, 700],
    ],
)
def test_a_frame_with_gaps_text_and_categories(client, frame, ends):
    X, y = frame
    model = DaskAdditiveClassifier(random_state=0, client=client).fit(*divided(X, y, ends))
    local = AdditiveClassifier(random_state=0).fit(X, y)
    check_same(model, local, X)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X), atol=1e-6)


def test_which_features_are_booleans_is_kept(client):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=400), "is_new": rng.random(400) < 0.4})
    there = DaskAdditiveClassifier(client=client).fit(
        *divided(X, X["is_new"] ^ (X["x"] > 1), [150])
    )
    assert there.to_local()._columns.booleans == {1}


def test_y_of_another_frame_is_taken_in_order(client, frame):
    """Whatever the indices are: those of Parquet files begin with 0 in every partition."""
    X, y = frame
    again = X.set_index(np.arange(len(X)) % 7)
    dX, dy = divided(again, y, [450])[0], divided(X[::-1], y, [450])[1]
    model = DaskAdditiveClassifier(random_state=0).fit(dX, dy)
    check_same(model, AdditiveClassifier(random_state=0).fit(X, y), X)


@LONG
def test_partitions_of_one_class_and_of_one_level(client, frame):
    X, y = frame
    order = np.lexsort((X["text"].fillna("").to_numpy(), y))
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    model = DaskAdditiveClassifier(random_state=0).fit(*divided(X, y, [100, 200, 600]))
    local = AdditiveClassifier(random_state=0).fit(X, y)
    check_same(model, local, X)


def test_weights_count_as_rows_and_zero_as_none(client, frame):
    X, y = frame
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(np.float64)
    weights[:200] = 0.0  # a partition of which nothing counts
    both = X.assign(w=weights)
    dX, dy = divided(both, y, [200, 500])
    model = DaskAdditiveClassifier(random_state=0, class_weight="balanced")
    model.fit(dX.drop(columns="w"), dy, dX["w"])
    local = AdditiveClassifier(random_state=0, class_weight="balanced").fit(X, y, weights)
    check_same(model, local, X)


@pytest.mark.parametrize(
    "loss",
    ["squared_error", pytest.param("poisson", marks=LONG), pytest.param("gamma", marks=LONG)],
)
def test_regression(client, loss):
    random = np.random.default_rng(2)
    X = random.normal(size=(1_500, 3))
    mean = np.exp(0.5 * np.sin(2 * X[:, 0]) + 0.3 * X[:, 1])
    y = {
        "squared_error": mean + random.normal(size=len(X)),
        "poisson": random.poisson(mean).astype(np.float64),
        "gamma": mean * random.gamma(4.0, size=len(X)),
    }[loss]
    if loss == "poisson":
        y[:200] = 0.0  # a partition without counts
    model = DaskAdditiveRegressor(loss=loss, random_state=0)
    chunks = (200, 500, 800)
    model.fit(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=(chunks,)))
    local = AdditiveRegressor(loss=loss, random_state=0).fit(X, y)
    check_same(model, local, X, rel=1e-3)
    np.testing.assert_allclose(model.predict(X), local.predict(X), rtol=0.05, atol=0.05)


@LONG
def test_several_classes_and_a_given_cost(client):
    random = np.random.default_rng(3)
    X = random.normal(size=(1_200, 4)).astype(np.float32)
    y = np.digitize(X[:, 0] ** 2 + X[:, 1] + random.normal(size=len(X)), [0.0, 1.5])
    dX, dy = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=400)
    for C in (None, 0.1):
        model = DaskAdditiveClassifier(random_state=0, C=C).fit(dX, dy)
        local = AdditiveClassifier(random_state=0, C=C).fit(X, y)
        assert model.certified_
        assert model.objective_ == pytest.approx(local.objective_, rel=1e-3)
        np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X), atol=0.02)


@LONG
def test_terms_of_all_kinds(client, frame):
    X, y = frame
    terms = {
        "x": Hermite(4),
        "z": Spline(degree=3, penalty_order=2),
        "few": Fourier(period=4.0),
        "text": "drop",
        "category": Category(ordered=True),
    }
    model = DaskAdditiveClassifier(terms=terms, random_state=0).fit(*divided(X, y, [450]))
    local = AdditiveClassifier(terms=terms, random_state=0).fit(X, y)
    check_same(model, local, X)


@LONG
def test_curves_that_are_held_to_a_form(client, frame):
    X, y = frame
    X = X[["x", "z"]]
    terms = {"z": Spline(monotone="increasing")}
    model = DaskAdditiveClassifier(terms=terms, random_state=0).fit(*divided(X, y, [450]))
    local = AdditiveClassifier(terms=terms, random_state=0).fit(X, y)
    check_same(model, local, X, rel=1e-3)


def test_passes_over_all_rows_where_the_sample_is_small(client, monkeypatch):
    """Products with the Hessian go through all rows, where those of the sample do not suffice."""
    random = np.random.default_rng(4)
    X = random.normal(size=(3_000, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(size=len(X)) > 0
    monkeypatch.setattr(fitting, "SAMPLE", 200)
    monkeypatch.setattr(fitting, "enough_rows", lambda levels: 150)
    model = DaskAdditiveClassifier(C=10.0, tol=1e-4, random_state=0)
    model.fit(da.from_array(X, chunks=(1_000, 3)), da.from_array(y, chunks=1_000))
    assert model.certified_
    knots = {j: Spline(knots=model.terms_[j].knots) for j in range(3)}
    local = AdditiveClassifier(C=10.0, tol=1e-4, random_state=0, terms=knots).fit(X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-4)


@LONG
def test_the_number_of_workers_and_runs_changes_no_bit(client, frame):
    X, y = frame
    found = [
        DaskAdditiveClassifier(random_state=0).fit(*divided(X, y, [300, 500])) for _ in range(2)
    ]
    np.testing.assert_array_equal(found[0].predict_proba(X), found[1].predict_proba(X))


def test_predictions_are_lazy(client, frame):
    X, y = frame
    dX, dy = divided(X, y, [300, 300])
    model = DaskAdditiveClassifier(random_state=0).fit(dX, dy)
    local = model.to_local()
    assert type(local) is AdditiveClassifier
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, name)(dX)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(local, name)(X))
    array = DaskAdditiveClassifier(random_state=0).fit(dX[["x", "z"]].to_dask_array(True), dy)
    rows = da.from_array(X[["x", "z"]].to_numpy(), chunks=(300, 1))
    probabilities = array.predict_proba(rows)
    assert probabilities.shape == (800, 2)
    np.testing.assert_array_equal(
        probabilities.compute(), array.to_local().predict_proba(rows.compute())
    )


def test_other_columns_are_refused_at_the_call(client, frame):
    """Not when somebody computes the predictions."""
    X, y = frame
    dX, dy = divided(X, y, [300])
    model = DaskAdditiveClassifier(random_state=0).fit(dX[["x", "z"]], dy)
    for wrong in (dX[["x"]], dX[["z", "x"]], dX[["x", "few"]]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(wrong)
    rows = da.from_array(X[["x", "few"]].to_numpy(), chunks=(400, 2))
    model = DaskAdditiveClassifier(random_state=0).fit(rows, y == "yes")
    with pytest.raises(ValueError, match="has 1 features, but"):
        model.predict_proba(rows[:, :1])
    with pytest.raises(TypeError, match=r"one of shape \(800,\)"):
        model.decision_function(rows[:, 0])


def test_a_regression_without_noise_goes_on_with_x(client):
    """Codes are too coarse to prove what is asked for."""
    random = np.random.default_rng(0)
    X = random.normal(size=(4_000, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    rows, target = da.from_array(X, chunks=(1_000, 2)), da.from_array(y, chunks=1_000)
    model = DaskAdditiveRegressor(random_state=0).fit(rows, target)
    assert model.certified_
    assert model.dual_gap_ <= 1e-3
    local = AdditiveRegressor(random_state=0).fit(X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-3)


def test_parts_without_room_in_memory_change_no_bit(frame, monkeypatch, tmp_path):
    """They are in files, and what was computed from X itself is, too."""
    X, y = frame
    target = (y == "yes") * 1.0
    found = []
    for share in (0.4, 0.0):
        monkeypatch.setattr(storing, "FULL", share)
        folder = tmp_path / str(share)
        with a_cluster(2, processes=False, memory_limit="4GB", local_directory=str(folder)):
            dX, dy = divided(X, target, [100, 300])
            for kind in (DaskAdditiveClassifier, DaskAdditiveRegressor):
                model = kind(C=1.0, tol=1e-5, random_state=0).fit(dX, dy)
                found.append(model.to_local().predict(X))
            del model
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    assert not list(tmp_path.rglob("splinear-*"))


def test_targets_that_are_computed_from_x(client, caplog):
    """Both are made of the same tasks."""
    numbers = da.arange(900, chunks=300)[:, None]
    X = da.sin(numbers * np.array([[0.7, 1.3]]))
    y = X[:, 0] + da.cos(numbers[:, 0]) > 0
    model = DaskAdditiveClassifier(random_state=0).fit(X, y)
    assert model.certified_
    assert "run_spec" not in caplog.text


def test_parquet(client, frame, tmp_path):
    X, y = frame
    for k, rows in enumerate((slice(0, 300), slice(300, None))):
        X.assign(y=y).iloc[rows].to_parquet(tmp_path / f"{k}.parquet")
    read = dd.read_parquet(tmp_path)
    model = DaskAdditiveClassifier(random_state=0).fit(read.drop(columns="y"), read["y"])
    check_same(model, AdditiveClassifier(random_state=0).fit(X, y), X)


def test_pickles_and_clones(client, frame):
    X, y = frame
    model = DaskAdditiveClassifier(random_state=0, client=client).fit(*divided(X, y, []))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).client is client


def test_progress_and_limits(client, frame):
    X, y = frame
    told = []
    model = DaskAdditiveClassifier(C=1.0, callback=told.append, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        model.fit(*divided(X, y, [400]))
    assert {progress.n_rows for progress in told} == {len(X)}
    assert not model.certified_


def test_clients_that_are_none(client, frame):
    dX, dy = divided(*frame, [400])
    with pytest.raises(TypeError, match=r"as Client\(cluster\).*got a LocalCluster"):
        DaskAdditiveClassifier(client=client.cluster).fit(dX, dy)
    with Client(client.cluster, set_as_default=False) as closed:
        pass
    with pytest.raises(ValueError, match="client is closed"):
        DaskAdditiveClassifier(client=closed).fit(dX, dy)
    with client.as_current(), pytest.raises(NotFittedError):
        DaskAdditiveClassifier().predict(dX)


def test_no_client_at_all(monkeypatch):
    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr("splinear.dask.estimator.default_client", no_client)
    X = da.zeros((4, 1), chunks=2)
    with pytest.raises(ValueError, match=r"needs a client of Dask.*distributed\.Client\(\)"):
        DaskAdditiveClassifier().fit(X, X[:, 0])


def test_y_that_is_a_frame_of_one_column(client, frame):
    X, y = frame
    dX, dy = divided(X, y, [400])
    expected = DaskAdditiveClassifier(random_state=0).fit(dX, dy)
    for column in (dy.to_frame(), divided(X[::-1], y, [400])[1].to_frame()):
        found = DaskAdditiveClassifier(random_state=0).fit(dX, column)
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        assert found.score(dX, column) == expected.score(dX, dy)
    with pytest.raises(ValueError, match="y must have one column; it has 2"):
        DaskAdditiveClassifier().fit(dX, dX[["x", "z"]])


@pytest.mark.parametrize("kind", ["int8", "object", "datetime64[ns]", "U3"])
def test_classes_are_of_the_type_of_y(client, frame, kind):
    X, y = frame
    X, y = X[["x", "z"]].to_numpy(), (y if kind in ("object", "U3") else y == "yes").astype(kind)
    model = DaskAdditiveClassifier(C=1.0, random_state=0)
    model.fit(da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=300))
    local = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
    assert model.classes_.dtype == local.classes_.dtype
    assert model.classes_.tolist() == local.classes_.tolist()
    lazy = model.predict(da.from_array(X, chunks=(300, 2)))
    assert lazy.dtype == local.predict(X).dtype
    np.testing.assert_array_equal(lazy.compute(), local.predict(X))


@pytest.mark.parametrize("first", [300, 400])
def test_classes_of_several_types_are_refused(client, frame, first):
    """Whether a partition has both or not."""
    X, y = frame
    mixed = y.astype(object)
    mixed[:first] = (y[:first] == "yes").astype(int).tolist()
    rows = da.from_array(X[["x", "z"]].to_numpy(), chunks=(400, 2))
    with pytest.raises(ValueError, match="Unknown label type"):
        DaskAdditiveClassifier().fit(rows, da.from_array(mixed, chunks=400))


def test_an_array_of_objects_with_text(client, frame):
    X, y = frame
    rows = da.from_array(X.to_numpy(object), chunks=(300, 5))
    model = DaskAdditiveClassifier(random_state=0).fit(rows, da.from_array(y, chunks=300))
    local = AdditiveClassifier(random_state=0).fit(X.to_numpy(object), y)
    check_same(model, local, X)


def test_refusals(client, frame):
    X, y = frame
    dX, dy = divided(X, y, [400])
    fit = DaskAdditiveClassifier().fit
    with pytest.raises(TypeError, match=r"dask\.array"):
        fit(X, y)
    with pytest.raises(TypeError, match="got a Delayed"):
        fit(delayed(X), y)
    for wrong in (delayed(y), bag.from_sequence(y, npartitions=2)):
        with pytest.raises(TypeError, match="y must be a collection of Dask"):
            fit(dX, wrong)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        fit(dX[[]], dy)
    with pytest.raises(ValueError, match="2 partitions, but y has 1"):
        fit(dX, da.from_array((y == "yes").astype(int), chunks=-1))
    with pytest.raises(ValueError, match="only one class"):
        fit(dX, divided(X, np.full(len(y), "yes"), [400])[1])
    with pytest.raises(ValueError, match=r"NaN.*in partition 1"):
        fit(dX, divided(X, np.where(np.arange(len(y)) == 600, None, y), [400])[1])
    with pytest.raises(ValueError, match="infinity in column 'x'"):
        fit(divided(X.assign(x=np.inf), y, [400])[0], dy)
    with pytest.raises(ValueError, match="NaN in column 'z'"):
        DaskAdditiveClassifier(missing="error").fit(dX, dy)
    with pytest.raises(ValueError, match="max_memory"):
        DaskAdditiveClassifier(max_memory="1GB").fit(dX, dy)
    with pytest.raises(ValueError, match="no rows, or none with a weight"):
        fit(dX.iloc[:, :].loc[dX["x"] > 99], dy.loc[dX["x"] > 99])
