"""The preconditioner by blocks, beside the matrix that it is the inverse of."""

import numpy as np
import pytest

from splinear.objective.blocks import Arrow
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.space import Space
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
    """Return the matrix of parameters and the intercept; curves know nothing of each other."""
    layout, n = space.layout, space.layout.n_of_curves
    A = np.zeros((n + 1, n + 1))
    A[n, n], start = s, 0
    for group, own, tied in zip(layout.groups, blocks, layout.split(ties), strict=True):
        penalty, losses = dense_of(group.penalty_bands), dense_of(own)
        for j in range(group.n_features):
            # Values of tables as functions of the parameters: a gap's contains the curve's mean.
            T = np.eye(group.stride)
            if group.has_gaps:
                T[-1, :-1] = group.mean[j]
            M, u = penalty[j] + T.T @ losses[j] @ T, T.T @ tied[j]
            if group.has_level and group.embedding.penalty.bandwidth > 0:
                M = M + s * np.outer(group.level_weights[j], group.level_weights[j])
            at = slice(start, start + group.stride)
            A[at, at], A[at, n], A[n, at] = M, u, u
            start += group.stride
    # Coordinates in which the intercept is measured at the mean of all curves.
    ties_between = np.outer(A[:n, n], A[n, :n]) / s
    start = 0
    for group in layout.groups:
        for _ in range(group.n_features):
            at = slice(start, start + group.stride)
            ties_between[at, at] = 0.0
            start += group.stride
    A[:n, :n] += ties_between
    free = np.append(layout.used[:n], True)
    A[~free], A[:, ~free] = 0.0, 0.0
    A[~free, ~free] = 1.0
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


@pytest.mark.parametrize("of_gaps", [1.0, 1e-10, 0.0])
def test_it_is_the_inverse(posed, of_gaps):
    """Also if the deviations of gaps are nearly fixed at 0, or are."""
    space, blocks, ties, s = posed
    groups = [
        group.with_variance(group.embedding.variance, of_gaps * group.missing_variance, group.edges)
        for group in space.layout.groups
    ]
    space = space.over(space.rows.with_layout(space.layout.with_groups(groups)))
    used = np.append(space.layout.used, True)
    r = np.random.default_rng(1).normal(size=(3, space.layout.n_parameters + 1)) * used
    found = Arrow(space, blocks, ties, s).solve(r)
    A = whole_matrix(space, blocks, ties, s)
    for own, given in zip(found, r, strict=True):
        expected = np.linalg.solve(A, given)
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
