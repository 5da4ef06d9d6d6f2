"""What a model sends to a device for predictions stays there, and never becomes stale."""

from __future__ import annotations

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.estimators.gpu import scores_on
from splinear.objective.gpu.numpy_backend import NumPyBackend
from splinear.terms import Category, Spline


class Counting(NumPyBackend):
    """Notes what is sent, and to which of several devices."""

    def __init__(self):
        self.device = 0
        self.sent = []

    @property
    def place(self):
        return self.device

    def curves(self, group, tables):
        found = super().curves(group, tables)
        self.sent.append(weakref.ref(found))
        return found


def rows(gaps=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 3] = rng.integers(3, size=200)
    if gaps:
        X[::7, 0] = np.nan
    return X, (X[:, 1] + np.sin(X[:, 2]) > 0).astype(int)


@pytest.fixture
def fitted():
    X, y = rows()
    return AdditiveSVC(Spline(9), C=0.1).fit(X[:, :3], y), X[:, :3], y


@pytest.mark.parametrize("gaps", [False, True])
def test_scores_are_those_of_the_host(gaps):
    X, y = rows(gaps)
    model = AdditiveClassifier(Spline(9), terms={3: Category()}, C=1.0).fit(X, y)
    X[5, 1] = np.nan  # where there was none in training
    found = scores_on(Counting(), model._model, X)
    np.testing.assert_allclose(found[:, 0], model.decision_function(X), atol=1e-12)


def test_terms_are_sent_once(fitted):
    (model, X, _), backend = fitted, Counting()
    first = scores_on(backend, model._model, X)
    again = scores_on(backend, model._model, X[:50])
    assert len(backend.sent) == len(model._model.layout.groups)
    np.testing.assert_array_equal(again, first[:50])


def test_another_fit_sends_its_own(fitted):
    (model, X, y), backend = fitted, Counting()
    scores_on(backend, model._model, X)
    n = len(backend.sent)
    model.fit(X, 1 - y)
    found = scores_on(backend, model._model, X)
    assert len(backend.sent) == 2 * n
    np.testing.assert_allclose(found[:, 0], model.decision_function(X), atol=1e-12)


def test_every_device_has_its_own(fitted):
    (model, X, _), backend = fitted, Counting()
    for device in (0, 1, 0, 1):
        backend.device = device
        scores_on(backend, model._model, X)
    assert len(backend.sent) == 2 * len(model._model.layout.groups)


@pytest.mark.parametrize("copied", [deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_carry_nothing(fitted, copied):
    (model, X, _), backend = fitted, Counting()
    length = len(pickle.dumps(model))
    scores_on(backend, model._model, X)
    n, other = len(backend.sent), copied(model)
    assert len(pickle.dumps(model)) == length
    scores_on(backend, other._model, X)
    assert len(backend.sent) == 2 * n


def test_what_was_sent_goes_with_the_model():
    X, y = rows()
    model, backend = AdditiveSVC(Spline(9), C=0.1).fit(X[:, :3], y), Counting()
    scores_on(backend, model._model, X[:, :3])
    assert all(ref() is not None for ref in backend.sent)
    model.fit(X[:, :3], y)
    gc.collect()
    assert all(ref() is None for ref in backend.sent)


def test_large_models_are_sent_every_time(fitted, monkeypatch):
    (model, X, _), backend = fitted, Counting()
    monkeypatch.setattr("splinear.model.additive.MOST_KEPT", 3)
    for _ in range(2):
        scores_on(backend, model._model, X)
    assert len(backend.sent) == 2 * len(model._model.layout.groups)


def test_threads_share_what_was_sent(fitted):
    (model, X, _), backend = fitted, Counting()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: scores_on(backend, model._model, X), range(40)))
    for scores in found:
        np.testing.assert_array_equal(scores, found[0])
    gc.collect()
    assert sum(ref() is not None for ref in backend.sent) == len(model._model.layout.groups)
