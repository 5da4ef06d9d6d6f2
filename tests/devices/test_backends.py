"""Passes of every backend against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from splinear import AdditiveClassifier
from splinear.devices.numpy_backend import NumPyBackend
from splinear.terms import Category, Fourier, Hermite, Linear, Spline

N = 700
TERMS = {
    "line": Spline(n_bins=7, knots="uniform"),
    "warped": Spline(n_bins=12, knots="quantile"),
    "steps": Spline(n_bins=6, degree=0, knots="uniform"),
    "parabolas": Spline(n_bins=5, degree=2, knots="uniform"),
    "cubic": Spline(n_bins=9, degree=3, knots="uniform"),
    "waves": Fourier(n_frequencies=3),
    "polynomials": Hermite(degree=3),
    "slope": Linear(),
    "levels": Category(),
    "many bins": Spline(n_bins=3000, knots="uniform"),
}


def groups_of(term, n_features, gaps, dtype=np.float64):
    """Return the groups of a fit, and X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, n_features)).astype(dtype)
    if isinstance(term, Category):
        X = rng.integers(0, 9, size=(N, n_features)).astype(dtype)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 2, N)
    categorical = list(range(n_features)) if isinstance(term, Category) else None
    curve = None if isinstance(term, Category) else term
    model = AdditiveClassifier(
        curve, C=1.0, categorical_features=categorical, max_iter=1, tol=0.5
    ).fit(X, y)
    return model._model.layout.groups, X


CASES = [
    (name, n_features, gaps)
    for name in TERMS
    for n_features, gaps in [(3, False), (3, True)]
    if not (gaps and name == "many bins")
]


@pytest.mark.parametrize(("name", "n_features", "gaps"), [("line", 3, True), ("cubic", 2, False)])
def test_functions_as_a_matrix(backend, name, n_features, gaps):
    groups, X = groups_of(TERMS[name], n_features, gaps)
    for group in groups:
        rng = np.random.default_rng(0)
        maps = rng.normal(size=(*group.shape, 5))
        mine, slow = backend.coded(group, N), NumPyBackend().coded(group, N)
        mine.fill(backend.array(X), np.arange(N))
        slow.fill(X, np.arange(N))
        slow.coded[:] = mine.codes()
        found = backend.numpy(mine.expanded(maps))
        np.testing.assert_allclose(found, slow.expanded(maps), atol=1e-5)


def test_matrices_and_their_factors(backend):
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(300, 40)).astype(np.float32), 100.0 * rng.random((3, 300))
    H = backend.grams(backend.array(A), backend.array(w))
    exact = np.stack([A.T @ (own[:, None] * A) for own in w])
    unit = np.sqrt(np.einsum("kii->ki", exact))
    off = (backend.numpy(H) - exact) / (unit[:, :, None] * unit[:, None, :])
    assert np.abs(off).max() < 2e-3
    factors = backend.numpy(backend.inverse_factors(H))
    inverse = np.einsum("kji,kjl->kil", np.tril(factors), np.tril(factors))
    np.testing.assert_allclose(inverse @ backend.numpy(H), [np.eye(40)] * 3, atol=1e-6)
    assert np.array_equal(factors, np.tril(factors))
    bad = backend.inverse_factors(backend.array(-exact))
    assert not np.isfinite(backend.numpy(bad)).all(axis=(1, 2)).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "n_features", "gaps"), [*CASES, ("line", 45, True)])
def test_passes_are_those_of_numpy(backend, name, n_features, gaps, dtype):
    groups, X = groups_of(TERMS[name], n_features, gaps, dtype)
    places = np.random.default_rng(1).permutation(N)
    for group in groups:
        mine, slow = backend.coded(group, N), NumPyBackend().coded(group, N)
        for part in np.array_split(np.arange(N), 3):
            mine.fill(backend.array(X[part]), places[part])
            slow.fill(X[part], places[part])
        assert np.abs(mine.codes().astype(int) - slow.codes()).max() <= 1
        slow.coded[:] = mine.codes()
        same_passes(backend, mine, slow, group, 1e-5)
        same_passes(backend, mine.first(100), slow.first(100), group, 1e-5)
        some = np.arange(5, 300, 3)
        same_passes(backend, mine.some(some), slow.some(some), group, 1e-5)
        exact = backend.valued(group, backend.array(X))
        same_passes(backend, exact, NumPyBackend().valued(group, X), group, 1e-9)


def same_passes(backend, mine, slow, group, tol):
    rng = np.random.default_rng(2)
    for n_outputs in (1, 3):
        tables = rng.normal(size=(n_outputs, *group.shape))
        close(backend.numpy(mine.scores(tables)), slow.scores(tables), tol)
        R = rng.normal(size=(n_outputs, mine.n_rows))
        close(backend.numpy(mine.sums(backend.array(R))), slow.sums(R), tol)
        if group.size < 1000:
            close(backend.numpy(mine.blocks(backend.array(R))), slow.blocks(R), tol)


def close(found, expected, tol):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tol * max(1.0, np.abs(expected).max())


def test_sums_are_the_same_bits_every_time(backend):
    groups, X = groups_of(TERMS["line"], 40, gaps=False)
    (group,) = groups
    cells = backend.coded(group, N)
    cells.fill(backend.array(X), np.arange(N))
    R = backend.array(np.random.default_rng(0).normal(size=(4, N)))
    first = backend.numpy(cells.sums(R))
    assert all(np.array_equal(first, backend.numpy(cells.sums(R))) for _ in range(5))
    tables = np.random.default_rng(1).normal(size=(4, *group.shape))
    scores = backend.numpy(cells.scores(tables))
    assert np.array_equal(scores, backend.numpy(cells.scores(tables)))


@pytest.mark.parametrize("n_outputs", [2, 7, 11])
def test_sums_of_probabilities(backend, n_outputs):
    same_moments(backend, n_outputs)
    same_classes(backend, n_outputs)


def same_classes(backend, n_outputs, n=300):
    rng = np.random.default_rng(1)
    F, labels, cost = (
        30 * rng.normal(size=(n_outputs, n)),
        rng.integers(n_outputs, size=n),
        rng.random(n),
    )
    there, p, logs = backend.array(F), softmax(F, axis=0), log_softmax(F, axis=0)
    own = logs[labels, np.arange(n)]
    for minus in (False, True):
        expected = p - minus * (np.arange(n_outputs)[:, None] == labels)
        found = map(backend.numpy, backend.classes(there, backend.array(labels), minus=minus))
        for mine, other in zip(found, (expected, own), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)
    for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-5)):
        V = rng.normal(size=F.shape).astype(dtype)
        given = map(backend.array, (p, cost, V))
        found = backend.numpy(backend.class_bends(*given))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, cost * p * (V - (p * V).sum(axis=0)), atol=close)


def same_moments(backend, n_outputs, n=900):
    rng = np.random.default_rng(0)
    F, shift, cost = 30 * rng.normal(size=(n_outputs, n)), rng.normal(size=n_outputs), rng.random(n)
    found = backend.class_moments(backend.array(F), shift, backend.array(cost))
    p = softmax(F + shift[:, None], axis=0)
    expected = np.column_stack([(cost * p) @ p.T, (cost * p).sum(axis=1)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
