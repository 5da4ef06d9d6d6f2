"""Rows whose products are known, and coordinate descent on them."""

from __future__ import annotations

import numpy as np
import pytest
from test_backends import TERMS, groups_of

from splinear.devices import cuda_box, subspace
from splinear.devices import pool as pools
from splinear.devices.backend import AT_A_TIME
from splinear.devices.numpy_backend import NumPyBackend
from splinear.devices.pool import Pool
from splinear.model.layout import Layout
from splinear.solvers.hinge.box import Box


def pool_of(backend, name, gaps, bias=0.5):
    """Return a pool, its layout, and the rows."""
    groups, X = groups_of(TERMS[name], 3, gaps)
    cells = [backend.coded(group, len(X)) for group in groups]
    for own in cells:
        own.fill(backend.array(X), np.arange(len(X)))
    layout = Layout(tuple(groups), X.shape[1])
    return Pool(backend, cells, layout, bias), layout, cells


def products(layout, cells, numbers, bias):
    """Return K by the models of single rows."""
    n, out = cells[0].n_rows, []
    for i in numbers:
        R = np.zeros((1, n))
        R[0, i] = 1.0
        sums = layout.gather(layout.join([own.sums(R) for own in cells]))
        tables = layout.split(layout.tables(layout.soften(sums)))
        pairs = zip(cells, tables, strict=True)
        scores = sum(own.scores(np.ascontiguousarray(table)) for own, table in pairs)
        out.append(scores[0, numbers] + bias**2)
    return np.array(out)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", ["line", "warped", "cubic", "waves", "polynomials", "levels"])
def test_products_are_those_of_single_rows(backend, name, gaps):
    pool, layout, cells = pool_of(backend, name, gaps)
    *_, slow_cells = pool_of(NumPyBackend(), name, gaps)
    for mine, other in zip(cells, slow_cells, strict=True):
        other.coded[:] = mine.codes()
    numbers = np.array([3, 7, 20, 21, 50])
    expected = products(layout, slow_cells, numbers, 0.5)
    pool.hold(numbers[:2])
    pool.hold(numbers)
    assert np.array_equal(pool.numbers, numbers)
    found = backend.numpy(pool._products)
    close = {"numpy": 1e-12, "core": 1e-6}.get(backend.name, 2e-3)
    np.testing.assert_allclose(found, expected, atol=close * np.abs(expected).max())


@pytest.mark.parametrize("gaps", [False, True])
def test_sums_of_rows_that_count(backend, gaps):
    pool, layout, cells = pool_of(backend, "line", gaps)
    b = np.zeros((3, cells[0].n_rows))
    assert not pool.sums(b).any()
    b[:, [4, 7, 60]] = np.random.default_rng(0).normal(size=(3, 3))
    b[1, 7] = 0.0
    tables = [backend.numpy(own.sums(backend.array(b))) for own in cells]
    expected = layout.gather(layout.join(tables))
    np.testing.assert_allclose(pool.sums(b), expected, atol=1e-5 * np.abs(expected).max())


def test_a_full_pool_begins_anew(backend, monkeypatch):
    monkeypatch.setattr(pools, "MOST_ROWS", 10)
    pool, *_ = pool_of(backend, "line", gaps=False)
    pool.hold(np.arange(8))
    pool.hold(np.arange(2, 9))
    assert np.array_equal(pool.numbers, np.arange(9))
    before = backend.numpy(pool._products)
    pool.hold(np.arange(3, 13))
    assert np.array_equal(pool.numbers, np.arange(3, 13))
    same = backend.numpy(pool._products)[:6, :6]
    np.testing.assert_allclose(same, before[3:, 3:], rtol=1e-5)


def boxes(kind, n_outputs, n):
    rng = np.random.default_rng(0)
    y = np.where(rng.random((n_outputs, n)) < 0.3, 1.0, -1.0)
    none, cost = np.zeros(y.shape), rng.integers(0, 3, y.shape).astype(float)
    if kind == "targets":
        return Box(rng.normal(size=y.shape), -cost, cost, none, 0.2)
    if kind == "squares":
        far = np.where(cost > 0, np.inf, 0.0)
        low, high = np.where(y < 0, -far, 0.0), np.where(y > 0, far, 0.0)
        return Box(y, low, high, np.where(cost > 0, 0.5, 0.0), 0.0)
    return Box(y, np.minimum(y * cost, 0.0), np.maximum(y * cost, 0.0), none, 0.0)


def value(K, box, b):
    each = 0.5 * b * (b @ K + box.ridge * b) - box.targets * b + box.shrinkage * np.abs(b)
    return each.sum(axis=1)


@pytest.mark.parametrize("kind", ["signs", "squares", "targets"])
@pytest.mark.parametrize(("n_outputs", "n"), [(1, 50), (3, 300), (17, 140)])
def test_descent_is_that_of_numpy(backend, kind, n_outputs, n):
    same_descent(backend, kind, n_outputs, n)


def same_descent(backend, kind, n_outputs, n):
    A = np.random.default_rng(1).normal(size=(n, 40))
    K, box = A @ A.T / 40, boxes(kind, n_outputs, n)
    b = np.zeros((n_outputs, n))
    there = box.mapped(backend.array)
    single = backend.array(K.astype(np.float32) if backend.name == "cuda" else K)
    last = value(K, box, b)
    for _ in range(3):
        gradient = b @ K + box.ridge * b - box.targets
        mine = backend.boxed(single, there, backend.array(b), backend.array(gradient))
        mine.descend(2)
        found, after = backend.numpy(mine.b), backend.numpy(mine.gradient)
        plain = NumPyBackend().boxed(K, box, b, gradient)
        plain.descend(2)
        slow, told = plain.b, plain.gradient
        if n <= AT_A_TIME:
            np.testing.assert_allclose(found, slow, atol=2e-3)
            np.testing.assert_allclose(after, told, atol=2e-2)
        else:  # a row more or less that moves, by rounding, and others are gone through together
            here = value(K, box, found)
            np.testing.assert_allclose(here, value(K, box, slow), rtol=0.05)
            np.testing.assert_allclose(
                after, found @ K + box.ridge * found - box.targets, atol=2e-2
            )
        np.testing.assert_allclose(told, slow @ K + box.ridge * slow - box.targets, atol=1e-9)
        assert np.all((found >= box.low) & (found <= box.high))
        b, now = slow, value(K, box, slow)
        assert np.all(now <= last)
        last = now
    before = box.violation(np.zeros_like(b), -box.targets).max()
    assert box.violation(b, b @ K + box.ridge * b - box.targets).max() < 0.5 * before


@pytest.mark.parametrize("kind", ["signs", "squares", "targets"])
def test_violations_are_those_of_a_box(backend, kind):
    same_violations(backend, kind)


def same_violations(backend, kind, n_outputs=3, n=300):
    """Compare the largest violation with that of `Box.violation`, whichever row has it."""
    rng, box = np.random.default_rng(2), boxes(kind, n_outputs, n)
    b = np.clip(rng.integers(-2, 3, (n_outputs, n)).astype(float), box.low, box.high)
    gradient = rng.normal(size=b.shape).astype(np.float32).astype(np.float64)
    gradient[:, ::7] = 0.0
    K, there = backend.array(np.eye(n, dtype=np.float32)), box.mapped(backend.array)
    for _ in range(20):
        expected = box.violation(b, gradient)
        assert expected.max() > 0.0
        found = backend.boxed(K, there, backend.array(b), backend.array(gradient)).violation()
        assert found == pytest.approx(expected.max(), rel=1e-6)
        gradient[expected == expected.max()] = 0.0
        gradient[:, ::7] = 0.0


@pytest.mark.parametrize("kind", ["signs", "squares", "targets"])
@pytest.mark.parametrize(("n_outputs", "n"), [(1, 40), (3, 90), (17, 70)])
def test_steps_of_what_is_free(backend, kind, n_outputs, n):
    same_steps(backend, kind, n_outputs, n)


def same_steps(backend, kind, n_outputs, n):
    """Newton steps stay in the box, lead down, and, with sweeps, to the solution."""
    A = np.random.default_rng(1).normal(size=(n, 40))
    K, box = A @ A.T / 40 + 0.1 * np.eye(n), boxes(kind, n_outputs, n)
    is_single = backend.name == "cuda"
    close, here = (1e-4 if is_single else 1e-9), backend.numpy
    b, gradient = np.zeros((n_outputs, n)), -box.targets
    for _ in range(12):
        plain = NumPyBackend().boxed(K, box, b, gradient)
        plain.descend(1)
        last, free = value(K, box, plain.b), (plain.b > box.low) & (plain.b < box.high)
        K_there = backend.array(K.astype(np.float32) if is_single else K)
        given = (backend.array(plain.b), backend.array(plain.gradient))
        mine = backend.boxed(K_there, box.mapped(backend.array), *given)
        mine.step_free()
        plain.step_free()
        b, gradient = here(mine.b), here(mine.gradient)
        assert np.array_equal(b[~free], plain.b[~free].astype(b.dtype))
        assert np.all(value(K, box, b) <= last + close)
        np.testing.assert_allclose(value(K, box, b), value(K, box, plain.b), rtol=1e-2, atol=close)
        assert np.all((b >= box.low) & (b <= box.high))
        exact = b @ K + box.ridge * b - box.targets
        np.testing.assert_allclose(gradient, exact, atol=close * max(1.0, np.abs(b).max()))
        now = box.violation(b, gradient).max()
        assert mine.violation() == pytest.approx(now, rel=1e-3, abs=1e-6)
        gradient = exact
    # Sweeps alone would have far to go.
    assert box.violation(b, gradient).max() < (1e-3 if is_single else 1e-5)


def test_steps_without_digits_in_single_precision(backend):
    """Rows that are the same but for rounding: their matrix has no factors in single precision."""
    n, rng = 60, np.random.default_rng(0)
    A = rng.normal(size=(n, 3))
    K = A @ A.T
    K[:, 1::2], K[1::2] = K[:, ::2], K[::2]  # pairs of equal rows
    K[range(1, n, 2), range(1, n, 2)] -= 1e-5 * K.max()  # not quite
    box = boxes("signs", 2, n)
    b = 0.5 * (box.low + box.high)
    gradient, last = b @ K - box.targets, value(K, box, b)
    given = map(backend.array, (b, gradient))
    mine = backend.boxed(backend.array(K.astype(np.float32)), box.mapped(backend.array), *given)
    mine.step_free()
    assert mine.violation() >= 0.0
    found = backend.numpy(mine.b)
    assert np.isfinite(found).all()
    assert np.all((found >= box.low) & (found <= box.high))
    assert np.all(value(K, box, found) <= last + 1e-3)


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
    same_factors_of_sizes(backend, H, expected, close)
    H[1] *= -1.0
    found = backend.numpy(backend.inverse_factors(backend.array(H)))
    assert np.isfinite(found).all(axis=(1, 2)).tolist() == [True, False, True]
    assert not np.isfinite(found[1, -1]).all()  # by which it is seen


def same_factors_of_sizes(backend, H, whole, close):
    """Rows behind a matrix' own are those of the unit matrix, and change nothing before them."""
    n, m, _ = H.shape
    sizes = np.linspace(m // 3, m, n).astype(np.int64)
    H, expected = H.copy(), whole.copy()
    for own, to, size in zip(H, expected, sizes, strict=True):
        for one in (own, to):
            one[size:], one[:, size:] = 0.0, 0.0
            one[range(size, m), range(size, m)] = 1.0
    found = backend.numpy(backend.inverse_factors(backend.array(H), backend.array(sizes)))
    np.testing.assert_allclose(found, expected, atol=close * np.abs(expected).max())
    assert np.array_equal(found, np.tril(found))


def test_steps_that_cannot_be_made(backend, monkeypatch):
    box, K = boxes("signs", 2, 20).mapped(backend.array), -np.eye(20, dtype=np.float32)
    b = 0.5 * (box.low + box.high)
    for own, most in ((K, subspace.MOST_FREE), (-K, 1)):
        monkeypatch.setattr(subspace, "MOST_FREE", most)
        monkeypatch.setattr(cuda_box, "MOST_FREE", most)
        mine = backend.boxed(backend.array(own), box, b, b)
        mine.step_free()
        mine.violation()
        assert np.array_equal(backend.numpy(mine.b), backend.numpy(b))
