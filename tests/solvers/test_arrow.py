"""The preconditioner by blocks, beside the matrix that it is the inverse of."""

import numpy as np
import pytest

from splinear.solvers.newton.arrow import Arrow
from splinear.solvers.newton.banded import penalized_bands
from splinear.solvers.newton.iterate import Space
from splinear.solvers.rows.training_rows import TrainingRows
from splinear.tables.opening import open_table


def dense_of(bands):
    """Return the symmetric matrices (n, m, m) whose entries (k, k + p) are bands[:, k, p]."""
    n, m, n_bands = bands.shape
    out = np.zeros((n, m, m))
    for p in range(n_bands):
        for k in range(m - p):
            out[:, k, k + p] = out[:, k + p, k] = bands[:, k, p]
    return out


def whole_matrix(space, blocks, ties, s):
    """Return the matrix of tables and the intercept, whose curves know nothing of each other."""
    layout, n = space.layout, space.layout.n_of_curves
    u = np.where(layout.used, ties, 0.0)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = np.outer(u, u) / s
    A[:n, n], A[n, :n], A[n, n] = u, u, s
    start = 0
    for group, own, tied in zip(layout.groups, blocks, layout.split(u), strict=True):
        bands = penalized_bands(group, own, 1)
        for j, M in enumerate(dense_of(bands)):
            if group.has_level and group.embedding.penalty.bandwidth > 0:
                M = M + s * np.outer(group.level_weights[j], group.level_weights[j])
            at = slice(start, start + group.stride)
            A[at, at] += M - np.outer(tied[j], tied[j]) / s
            start += group.stride
    return A


@pytest.fixture(scope="module")
def posed(mixed):
    """Return a space of terms of all kinds, second derivatives of its rows, and their blocks."""
    X, layout = mixed(5, 300)
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    space, h = Space(rows, 1, 1), np.random.default_rng(0).uniform(0.1, 1.0, (1, rows.n_rows))
    [blocks] = space.blocks(h)
    [ties] = space.ties(h, [blocks])
    return space, blocks, ties, float(h.sum())


def test_it_is_the_inverse(posed):
    space, blocks, ties, s = posed
    layout, used = space.layout, np.append(space.layout.used, True)
    r = np.random.default_rng(1).normal(size=(3, layout.n_parameters + 1)) * used
    found = Arrow(space, blocks, ties, s).solve(r)
    A = whole_matrix(space, blocks, ties, s)
    for own, given in zip(found, r, strict=True):
        in_tables = np.append(np.where(layout.used, layout.scatter(given[:-1]), 0.0), given[-1])
        x = np.linalg.solve(A, in_tables)
        expected = np.append(np.where(layout.used, layout.from_tables(x[:-1]), 0.0), x[-1])
        np.testing.assert_allclose(own, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_curves_alone_have_no_intercept(posed):
    space, blocks, ties, s = posed
    arrow = Arrow(space, blocks, ties, s)
    r = np.random.default_rng(2).normal(size=(2, space.layout.n_of_curves))
    padded = np.column_stack([r, np.zeros(2)])
    np.testing.assert_array_equal(arrow.solve_curves(r), arrow.solve(padded)[:, :-1])


def test_threads_change_no_bit(posed):
    space, blocks, ties, s = posed
    r = np.random.default_rng(3).normal(size=(1, space.layout.n_parameters + 1))
    one = Arrow(space, blocks, ties, s).solve(r)
    many = Arrow(Space(space.rows, 1, 4), blocks, ties, s).solve(r)
    np.testing.assert_array_equal(one, many)


def test_blocks_that_rounding_has_made_singular_are_factored(posed):
    """Their diagonals grow until they can be."""
    space, blocks, ties, s = posed
    huge = [1e30 * own for own in blocks]
    found = Arrow(space, huge, 1e30 * ties, 1e30 * s).solve(np.ones((1, len(space.used) + 1)))
    assert np.isfinite(found).all()
