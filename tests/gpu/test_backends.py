"""Passes of every backend against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr, log_softmax, softmax

from splinear import AdditiveClassifier
from splinear.objective.gpu import cuda_matrices
from splinear.objective.gpu.numpy_backend import NumPyBackend
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


@pytest.mark.parametrize("m", [40, 37])
def test_matrices_and_their_factors(backend, m, monkeypatch):
    same_matrices(backend, m)
    monkeypatch.setattr(cuda_matrices, "AT_ONCE", 2 * 300 * 40)  # of three outputs two at a time
    same_matrices(backend, m)


def same_matrices(backend, m):
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(300, m)).astype(np.float32), 100.0 * rng.random((3, 300))
    H = backend.grams(backend.array(A), backend.array(w))
    exact = np.stack([A.T @ (own[:, None] * A) for own in w])
    unit = np.sqrt(np.einsum("kii->ki", exact))
    off = (backend.numpy(H) - exact) / (unit[:, :, None] * unit[:, None, :])
    assert np.abs(off).max() < 2e-3
    factors = backend.numpy(backend.inverse_factors(H))
    inverse = np.einsum("kji,kjl->kil", np.tril(factors), np.tril(factors))
    np.testing.assert_allclose(inverse @ backend.numpy(H), [np.eye(m)] * 3, atol=1e-6)
    assert np.array_equal(factors, np.tril(factors))
    for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-4)):
        v = rng.normal(size=(3, m)).astype(dtype)
        found = backend.twice(backend.array(factors.astype(dtype)), backend.array(v))
        expected = np.einsum("kij,kj->ki", inverse, v)
        np.testing.assert_allclose(backend.numpy(found), expected, atol=close)
    bad = backend.inverse_factors(backend.array(-exact))
    assert not np.isfinite(backend.numpy(bad)).all(axis=(1, 2)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 64, 65, 200])
def test_factors_of_several_matrices(backend, m, dtype):
    same_factors(backend, m, dtype)


def same_factors(backend, m, dtype=np.float64):
    A = np.random.default_rng(m).normal(size=(3, m + 5, m))
    H = (np.swapaxes(A, 1, 2) @ A + m * np.eye(m)).astype(dtype)
    found = backend.numpy(backend.inverse_factors(backend.array(H)))
    expected = NumPyBackend().inverse_factors(H.astype(np.float64))
    close = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, expected, atol=close * np.abs(expected).max())
    assert np.array_equal(found, np.tril(found))
    H[1] *= -1.0
    found = backend.numpy(backend.inverse_factors(backend.array(H)))
    assert np.isfinite(found).all(axis=(1, 2)).tolist() == [True, False, True]
    assert not np.isfinite(found[1, -1]).all()  # by which it is seen


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
        scores, to = slow.scores(tables), backend.array(np.ones((n_outputs, mine.n_rows)))
        close(backend.numpy(mine.scores(tables)), scores, tol)
        assert mine.scores(tables, to) is to
        close(backend.numpy(to), 1.0 + scores, tol)
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
    same_shift(backend, n_outputs)
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
        expected = cost * p * (V - (p * V).sum(axis=0))
        np.testing.assert_allclose(found, expected, atol=close)
        extra = rng.random(n)
        given = map(backend.array, (p, cost, V, extra))
        found = backend.numpy(backend.class_bends(*given))
        np.testing.assert_allclose(found, expected + extra * V, atol=close)
    for more in (None, extra):
        given = (None if own is None else backend.array(own) for own in (p, cost, more))
        found = backend.numpy(backend.class_diagonals(*given))
        own = 0.0 if more is None else more
        np.testing.assert_allclose(found, cost * p * (1.0 - p) + own, rtol=1e-12)
    same_cautious_costs(backend, p, logs, labels, cost)
    same_divergence(backend, F, logs, labels, cost)


def same_cautious_costs(backend, p, logs, labels, cost):
    """Where labels are unlikely, the largest second derivative is that of a parabola's above."""
    at = np.arange(len(cost))
    own = logs[labels, at]
    found = backend.numpy(backend.cautious_costs(*map(backend.array, (p, own, cost))))
    rest = np.where(np.arange(len(p))[:, None] == labels, -np.inf, logs)
    m = np.minimum(own - np.logaddexp.reduce(rest, axis=0), np.log(1e9))
    bends = (p * (1.0 - p)).max(axis=0)
    wanted = np.maximum(bends, (0.5 - 1.0 / (1.0 + np.exp(m))) / m)
    wrong = m < -1.0
    assert wrong.any()
    assert not wrong.all()
    assert np.array_equal(found[~wrong], cost[~wrong])
    sure = wrong & (bends > 1e-9)
    np.testing.assert_allclose((found * bends)[sure], (cost * wanted)[sure], rtol=1e-6)
    assert np.isfinite(found).all()


def same_divergence(backend, F, logs, labels, cost):
    rng, (n_outputs, n) = np.random.default_rng(2), F.shape
    at, sent = np.arange(n), backend.array(labels)
    q = rng.dirichlet(np.ones(n_outputs), size=n).T
    q[:, ::5] = np.eye(n_outputs)[:, labels[::5]]  # entropy 0
    R = cost * q
    R[labels, at] -= cost
    expected = float((cost * (-entr(q) - q * logs).sum(axis=0)).sum())

    def measured(R, cost):
        return backend.class_divergence(*map(backend.array, (F, R)), sent, cost, 1e-6)

    there = backend.array(cost)
    assert measured(R, there) == pytest.approx(expected, rel=1e-12)
    free = np.where(at == 3, 0.0, cost)  # a row that does not count
    R[:, 3] = 0.0
    assert np.isfinite(measured(R, backend.array(free)))
    less, more = R.copy(), R.copy()
    less[:2, 7] += cost[7] * np.array([-3.0, 3.0])  # below 0
    more[0, 7] += 0.01 * cost[7]  # more than 1 in all
    assert measured(less, there) == measured(more, there) == np.inf


def same_shift(backend, n_outputs, n=900):
    """The best shift makes the sums of probabilities those of classes, far away or close by."""
    rng = np.random.default_rng(3)
    cost, labels = rng.random(n), rng.permutation(np.arange(n) % n_outputs)
    of_classes = np.bincount(labels, cost)
    for spread, far in ((0.0, 0.0), (1.0, 5.0), (3.0, 0.01)):
        F = spread * rng.normal(size=(n_outputs, n)) + far * rng.normal(size=(n_outputs, 1))
        found = backend.class_shift(backend.array(F), backend.array(cost), of_classes)
        in_all = softmax(F + found[:, None], axis=0) @ cost
        np.testing.assert_allclose(in_all, of_classes, rtol=1e-8)
        assert found.mean() == pytest.approx(0.0, abs=1e-12)
    of_classes[:2] = 0.0, of_classes[:2].sum()  # a class without rows would go to infinity
    found = backend.class_shift(backend.array(F), backend.array(cost), of_classes)
    assert np.isfinite(found).all()
    assert found[0] < -8.0
    none = backend.class_shift(backend.array(F), backend.array(np.zeros(n)), 0.0 * of_classes)
    np.testing.assert_allclose(none, 0.0, atol=1e-12)


def same_moments(backend, n_outputs, n=900):
    rng = np.random.default_rng(0)
    F, shift, cost = 30 * rng.normal(size=(n_outputs, n)), rng.normal(size=n_outputs), rng.random(n)
    found = backend.class_moments(backend.array(F), shift, backend.array(cost))
    p = softmax(F + shift[:, None], axis=0)
    expected = np.column_stack([(cost * p) @ p.T, (cost * p).sum(axis=1)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
