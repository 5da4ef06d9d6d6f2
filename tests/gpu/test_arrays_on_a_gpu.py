"""X in the memory of a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.objective.gpu.finding import NoDeviceError, cuda_backend
from splinear.terms import Linear, Spline


@pytest.fixture(scope="module")
def cupy():
    try:
        cuda_backend("cuda")
    except (ImportError, NoDeviceError) as error:
        pytest.skip(f"no GPU: {error}")
    return pytest.importorskip("cupy")


def rows(n=3000, classes=2, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 7)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    scores = np.nan_to_num(X) @ rng.normal(size=(7, classes)) + rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_are_made_where_rows_lie(cupy, classes, dtype):
    X, y = rows(classes=classes, dtype=dtype)
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
    there = cupy.asarray(X)
    for name in ("decision_function", "predict_proba", "predict"):
        found, expected = getattr(model, name)(there), getattr(model, name)(X)
        assert isinstance(found, cupy.ndarray)
        assert found.shape == expected.shape
        if name == "predict":
            assert (found.get() == expected).mean() > 0.999
        else:
            np.testing.assert_allclose(found.get(), expected, atol=2e-5)
    fortran = cupy.asfortranarray(there)
    np.testing.assert_allclose(
        model.decision_function(fortran).get(), model.decision_function(X), atol=2e-5
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_offsets_may_lie_on_the_host_or_on_the_gpu(cupy, classes):
    X, y = rows(classes=classes, dtype=np.float64)
    offset = np.random.default_rng(1).normal(size=(len(X), classes) if classes > 2 else len(X))
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y, offset=cupy.asarray(offset))
    expected = model.decision_function(X, offset=offset)
    for own in (offset, cupy.asarray(offset)):
        found = model.decision_function(cupy.asarray(X), offset=own)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(found.get(), expected, atol=2e-5)


def test_classes_that_a_gpu_cannot_hold_are_on_the_host(cupy):
    X, y = rows(classes=3)
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    found = model.predict(cupy.asarray(X))
    assert isinstance(found, np.ndarray)
    assert (found == model.predict(X)).mean() > 0.999


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_means_are_on_the_gpu(cupy, loss):
    X, y = rows()
    model = AdditiveRegressor(loss=loss, C=1.0, random_state=0).fit(X, y + 1.0)
    found = model.predict(cupy.asarray(X))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), model.predict(X), rtol=2e-5)


def test_labels_are_on_the_gpu(cupy):
    X, y = rows(classes=3)
    labels = np.eye(3, dtype=int)[y]
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, labels)
    there = cupy.asarray(X)
    np.testing.assert_allclose(model.predict_proba(there).get(), model.predict_proba(X), atol=2e-5)
    assert (model.predict(there).get() == model.predict(X)).mean() > 0.999


def test_terms_that_the_host_adds(cupy):
    X, y = rows()
    X = np.nan_to_num(X)
    X[:, 2] = X[:, 2] > 0
    terms = {0: Linear(), 1: Spline(extrapolation="linear")}
    model = AdditiveRegressor(terms=terms, C=1.0, categorical_features=[2])
    model.fit(X[:2000], y[:2000])
    found = model.predict(cupy.asarray(3 * X))
    np.testing.assert_allclose(np.asarray(found.get()), model.predict(3 * X), atol=1e-4)


def test_fit_of_arrays_on_a_gpu(cupy):
    X, y = rows()
    here = AdditiveClassifier(device="cuda", random_state=0).fit(X, y)
    there = AdditiveClassifier(device="cuda", random_state=0)
    there.fit(cupy.asarray(X), cupy.asarray(y), sample_weight=cupy.ones(len(X)))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    on_cpu = AdditiveClassifier(random_state=0).fit(cupy.asarray(X), y)
    assert on_cpu.objective_ == pytest.approx(here.objective_, rel=2e-3)


def test_anything_with_dlpack(cupy):
    torch = pytest.importorskip("torch")
    X, y = rows()
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
    found = model.decision_function(torch.asarray(X, device="cuda"))
    np.testing.assert_allclose(cupy.asnumpy(found), model.decision_function(X), atol=2e-5)


def test_what_is_refused_is_named(cupy):
    X, y = rows()
    model = AdditiveClassifier(C=1.0, random_state=0).fit(X, y)
    X[5, 3] = np.inf
    with pytest.raises(ValueError, match=r"infinity in column 3 \(first in row 5\)"):
        model.predict(cupy.asarray(X))
    with pytest.raises(ValueError, match="2D array"):
        model.predict(cupy.asarray(X[0]))
    with pytest.raises(ValueError, match="7 features"):
        model.predict(cupy.asarray(X[:, :3]))
