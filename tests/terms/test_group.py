"""A group of terms: parameters and tables, and the penalty, against matrices written out."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from written_out import explicit, scores

from splinear.model.layout import Layout
from splinear.objective.blocks import penalized_bands
from splinear.objective.local.training_rows import TrainingRows
from splinear.penalties import DiagonalPenalty, DifferencePenalty, difference_matrix
from splinear.tables.opening import open_table
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import TermGroup, split_by

N_GROUPS = 10  # of the table of all kinds of terms
every_group = pytest.mark.parametrize("which", range(N_GROUPS))
with_gaps = pytest.mark.parametrize("which", [1, 2, 4, 5, 7])


@pytest.fixture(scope="module")
def table_and_layout(mixed: Callable) -> tuple[np.ndarray, Layout]:
    """Terms of all kinds that know the means of their rows."""
    X, layout = mixed(0)
    assert len(layout.groups) == N_GROUPS
    return X, TrainingRows.prepare(open_table(X), layout, exact=True).layout


@pytest.fixture
def group(table_and_layout: tuple[np.ndarray, Layout], which: int) -> TermGroup:
    return table_and_layout[1].groups[which]


def drawn(group: TermGroup, seed: int = 0, *more: int) -> np.ndarray:
    """Random parameters, also in the places that are not used."""
    return np.random.default_rng(seed).normal(size=(*more, *group.shape))


def penalty_value(group: TermGroup, theta: np.ndarray) -> float:
    return 0.5 * float(np.vdot(theta, group.stiffen(theta)))


def map_of(group: TermGroup) -> np.ndarray:
    """T^{-1}, the map of the penalty: differences, or a division by weights."""
    penalty = group.embedding.penalty
    if isinstance(penalty, DiagonalPenalty):
        return np.diag(1 / penalty.weights)
    return difference_matrix(penalty.size, penalty.order)


def stiffness(group: TermGroup, j: int, edges: np.ndarray | None = None) -> np.ndarray:
    """The matrix of feature j's penalty, in the parameters that are used."""
    inverse, n = map_of(group), group.size
    used = group.used[j]
    w = used[:n] * (1.0 if edges is None else edges[j])
    out = np.zeros((group.stride, group.stride))
    if group.embedding.variance[j] > 0:
        out[:n, :n] = inverse.T @ np.diag(w) @ inverse / group.embedding.variance[j]
    if group.has_gaps and group.missing_variance[j] > 0:
        out[n, n] = 1 / group.missing_variance[j]
    return out * np.outer(used, used)


def some_edges(group: TermGroup) -> np.ndarray:
    return np.random.default_rng(9).uniform(0.2, 5.0, size=(group.n_features, group.size))


# -- parameters and tables -----------------------------------------------------------------------


@every_group
def test_tables_and_gather_are_adjoint(group: TermGroup) -> None:
    theta, R = drawn(group, 0, 3), drawn(group, 1, 3)
    assert_allclose(np.vdot(group.tables(theta), R), np.vdot(theta, group.gather(R)), rtol=1e-12)


@with_gaps
def test_a_gap_is_the_mean_of_the_curve_and_a_deviation(group: TermGroup) -> None:
    theta = drawn(group)
    tables = group.tables(theta)
    for j in range(group.n_features):
        coef, deviation = theta[j, :-1], theta[j, -1]
        assert tables[j, -1] == pytest.approx(group.mean[j] @ coef + deviation, rel=1e-12)
    assert_array_equal(tables[:, :-1], theta[:, :-1])
    assert_array_equal(group.with_gap_values(theta), tables)


@pytest.mark.parametrize("which", [0, 3, 6, 8, 9])
def test_without_gaps_the_mean_stands_for_one(group: TermGroup) -> None:
    group = replace(group, mean=np.random.default_rng(2).random((group.n_features, group.size)))
    theta = drawn(group, 0, 2)
    assert group.tables(theta) is theta
    assert group.gather(theta) is theta
    found = group.with_gap_values(theta)
    assert_array_equal(found[..., :-1], theta)
    expected = [[theta[o, j] @ group.mean[j] for j in range(group.n_features)] for o in range(2)]
    assert_allclose(found[..., -1], expected, rtol=1e-12)


@every_group
def test_means_are_those_of_the_rows(
    table_and_layout: tuple[np.ndarray, Layout], which: int
) -> None:
    X, layout = table_and_layout
    group = layout.groups[which]
    theta = drawn(group, 3)
    for j, feature in enumerate(group.features):
        one = group.of_features(np.array([j]))
        if not group.has_gaps:  # then fit sets the mean at its end
            basis, axes = group.embedding.basis, group.embedding.axes
            B = basis.evaluate(axes.argument_of(X[:, feature], j))
            one = replace(one, mean=B.mean(axis=0, keepdims=True))
        f = scores(Layout((one,), X.shape[1]), theta[j], 0.0, X)
        assert one.means(theta[[j]])[0] == pytest.approx(f.mean(), rel=1e-10, abs=1e-12)


@every_group
def test_some_features_of_a_group(group: TermGroup) -> None:
    group = replace(group, edges=some_edges(group))
    theta = drawn(group, 4)
    for j in range(group.n_features):
        one = group.of_features(np.array([j]))
        assert one.features.tolist() == [group.features[j]]
        assert one.shape == (1, group.stride)
        assert_array_equal(one.used[0], group.used[j])
        assert_array_equal(one.tables(theta[[j]])[0], group.tables(theta)[j])
        assert_allclose(one.stiffen(theta[[j]])[0], group.stiffen(theta)[j], rtol=1e-14)
        assert (one.levels is None) == (group.levels is None)


def test_used_parameters_are_those_that_rows_can_reach(
    table_and_layout: tuple[np.ndarray, Layout],
) -> None:
    """A parameter that has a variance and moves a score is used, and no other."""
    X, layout = table_and_layout
    moved = np.array([scores(layout, e, 0.0, X).any() for e in np.eye(layout.n_parameters)])
    for group, part in zip(layout.groups, layout.split(moved), strict=True):
        varies = np.repeat(group.embedding.variance[:, None] > 0, group.stride, axis=1)
        if group.has_gaps:
            varies[:, -1] = group.missing_variance > 0
        assert_array_equal(group.used, part & varies)


# -- the penalty ---------------------------------------------------------------------------------


@every_group
def test_stiffen_is_the_matrix_written_out(group: TermGroup) -> None:
    theta = drawn(group, 5) * group.used
    for edges in (None, some_edges(group)):
        found = replace(group, edges=edges).stiffen(theta)
        for j in range(group.n_features):
            expected = stiffness(group, j, edges) @ theta[j]
            assert_allclose(found[j], expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@every_group
def test_soften_undoes_stiffen(group: TermGroup) -> None:
    theta = drawn(group, 6, 2) * group.used
    for edges in (None, some_edges(group)):
        one = replace(group, edges=edges)
        assert_allclose(one.soften(one.stiffen(theta)), theta, rtol=1e-9, atol=1e-9)
        assert_allclose(one.stiffen(one.soften(theta)), theta, rtol=1e-9, atol=1e-9)


@every_group
def test_softness_is_that_of_what_is_softened(group: TermGroup) -> None:
    gradient = drawn(group, 9, 2) * group.used
    for edges in (None, some_edges(group)):
        one = replace(group, edges=edges)
        expected = np.vdot(gradient, one.soften(gradient))
        assert_allclose(one.softness(gradient), expected, rtol=1e-10)


@every_group
def test_distances_are_those_of_the_matrix(group: TermGroup) -> None:
    theta, sums = drawn(group, 7) * group.used, drawn(group, 8) * group.used
    for edges in (None, some_edges(group)):
        one = replace(group, edges=edges)
        pull = one.stiffen(theta)
        value, distance = one.distance(theta, sums)
        assert_allclose(value, np.vdot(theta, pull), rtol=1e-9)
        assert_allclose(distance, np.vdot(pull + sums, one.soften(pull + sums)), rtol=1e-9)


@every_group
def test_taking_levels_off_leaves_the_least_penalty(
    table_and_layout: tuple[np.ndarray, Layout], which: int
) -> None:
    """Scores change by a constant; and no other constants would make the penalty less."""
    X, layout = table_and_layout
    group = replace(layout.groups[which], edges=some_edges(layout.groups[which]))
    if not group.has_level:
        assert not group.embedding.basis.is_partition
        return
    before = drawn(group, 8, 1) * group.used
    after = before.copy()
    level = group.take_level(after)
    alone = Layout((group,), X.shape[1])
    changed = scores(alone, before.ravel(), 0.0, X) - scores(alone, after.ravel(), 0.0, X)
    assert_allclose(changed, np.full(len(X), level[0]), atol=1e-10)
    least = penalty_value(group, after)
    ones = np.zeros(group.shape)
    ones[:, : group.size] = group.embedding.used
    for j, shift in np.ndindex(group.n_features, 2):
        other = after.copy()
        other[0, j] += (0.1 - 0.2 * shift) * ones[j]
        assert penalty_value(group, other) >= least
    slopes = group.without_slope(drawn(group, 9, 2))
    assert_allclose((slopes * ones).sum(axis=-1), 0.0, atol=1e-10)


@every_group
def test_what_is_not_used_takes_no_part(group: TermGroup) -> None:
    theta = drawn(group, 7)
    assert_array_equal(group.stiffen(theta)[~group.used], 0.0)
    assert_array_equal(group.soften(theta)[~group.used], 0.0)


@every_group
def test_penalty_is_half_the_square_of_the_weights(
    table_and_layout: tuple[np.ndarray, Layout], which: int
) -> None:
    """w'phi(x) is f(x), and 1/2 |w|^2 its penalty; phi is written out by `explicit`."""
    X, layout = table_and_layout
    group = layout.groups[which]
    alone = Layout((group,), layout.n_columns)
    w = drawn(group, 8) * group.used
    theta = np.zeros_like(w)
    for j in range(group.n_features):
        coef = np.linalg.solve(map_of(group), w[j, : group.size])
        theta[j, : group.size] = np.sqrt(group.embedding.variance[j]) * coef
        if group.has_gaps:
            theta[j, -1] = np.sqrt(group.missing_variance[j]) * w[j, -1]
    theta = np.where(group.used, theta, 0.0)
    assert penalty_value(group, theta) == pytest.approx(0.5 * np.sum(w**2), rel=1e-10)
    f = scores(alone, theta.ravel(), 0.0, X)
    assert_allclose(f, explicit(alone, X) @ w.ravel(), rtol=1e-9, atol=1e-9)


def test_edges_weigh_single_steps(curves: Callable) -> None:
    """1/2 sum_k w_k (step_k)^2 / s^2 by hand; where a weight is 0 a step costs nothing."""
    (plain,) = curves(np.array([[0.0], [3.0]]), BSplineBasis(1, 3)).groups
    group = replace(plain, edges=np.array([[2.0, 1.0, 0.0, 5.0]]))
    coef = np.array([[1.0, 4.0, -2.0, -1.0]])  # steps 1, 3, -6, 1; s^2 = 1/3
    assert penalty_value(group, coef) == pytest.approx(0.5 * 3 * (2 * 1 + 9 + 0 + 5), rel=1e-14)
    jump = coef + np.array([0.0, 0.0, 7.0, 7.0])
    assert penalty_value(group, jump) == pytest.approx(penalty_value(group, coef), rel=1e-14)
    assert_array_equal(group.edge_weights, [[2.0, 1.0, 0.0, 5.0]])


@pytest.mark.parametrize("held", [0, 1, 3])
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_bands_of_difference_penalties_are_the_matrix(size: int, order: int, held: int) -> None:
    """D_d' W D_d, D_d being that of the coefficients that are not held at zero."""
    if held > size:
        return
    penalty = DifferencePenalty(order, size, held)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=(3, size))
    weights[:, :held] = 0.0
    weights[1, -1] = 0.0
    D = np.zeros((size, size))
    D[held:, held:] = difference_matrix(size - held, order)
    found = penalty.stiffness_bands(weights)
    assert found.shape == (3, size, penalty.bandwidth + 1)
    for bands, w in zip(found, weights, strict=True):
        dense = D.T @ np.diag(w) @ D
        for p in range(size):
            expected = np.diagonal(dense, p)
            here = bands[: size - p, p] if p <= penalty.bandwidth else np.zeros(size - p)
            assert_allclose(here, expected, rtol=1e-13, atol=1e-13)


def test_bands_of_diagonal_penalties_are_the_matrix() -> None:
    penalty, weights = DiagonalPenalty(np.array([0.5, 0.0, 2.0])), np.array([[1.0, 1.0, 3.0]])
    assert_allclose(penalty.stiffness_bands(weights)[..., 0], [[4.0, 0.0, 0.75]])


@every_group
def test_bands_of_a_group_are_its_penalty(group: TermGroup) -> None:
    """What Newton's method adds to its blocks, against the penalty of unit vectors."""
    for edges in (None, some_edges(group)):
        one = replace(group, edges=edges)
        support = group.embedding.basis.support
        bands = penalized_bands(one, np.zeros((*group.shape, support)), 1)
        bands[:, :, 0] -= ~group.used  # ones, so that they can be factored
        for j in range(group.n_features):
            dense = stiffness(group, j, edges)
            n_bands = bands.shape[2]
            largest = max(1.0, np.abs(dense).max())
            for p in range(group.stride):
                here = bands[j, : group.stride - p, p] if p < n_bands else 0.0
                assert_allclose(here, np.diagonal(dense, p), rtol=1e-12, atol=1e-12 * largest)


@every_group
def test_copies_do_without_compiled_twins(group: TermGroup) -> None:
    theta = drawn(group, 11)
    expected = group.stiffen(theta)
    copied = pickle.loads(pickle.dumps(group))
    assert "core_penalty" in vars(group)
    assert "core_penalty" not in vars(copied)
    assert_array_equal(copied.stiffen(theta), expected)


@every_group
def test_going_on_behind_the_last_coefficient_costs_nothing(group: TermGroup) -> None:
    theta = np.where(group.used, drawn(group, 10), 0.0)
    longer = group.extended(theta)
    assert_array_equal(np.where(group.used, longer, 0.0), theta)
    whole = replace(
        group,
        embedding=replace(group.embedding, axes=replace(group.embedding.axes, last=ends(group))),
    )
    assert penalty_value(whole, longer) == pytest.approx(penalty_value(group, theta), rel=1e-10)


def ends(group: TermGroup) -> np.ndarray:
    """The ends of axes that take all of the basis."""
    if not isinstance(group.embedding.basis, BSplineBasis):
        return group.embedding.axes.last
    return np.full(group.n_features, float(group.embedding.basis.n_bins))


@every_group
@pytest.mark.parametrize("variance", [1e-307, 5e-324])
def test_bands_are_numbers_for_the_least_variances(group: TermGroup, variance: float) -> None:
    least = np.where(group.embedding.variance > 0, variance, 0.0)
    with np.errstate(over="ignore"):  # the inverse of the second
        bands = group.with_variance(least, group.missing_variance).penalty_bands
    assert np.isfinite(bands).all()
    assert np.abs(bands[:, : group.size]).max() == pytest.approx(1e300, rel=0.999)


@every_group
def test_variances_divide_the_penalty(group: TermGroup) -> None:
    theta = drawn(group, 11)
    value = penalty_value(group, theta)
    assert penalty_value(group.scaled(4.0), theta) == pytest.approx(value / 4, rel=1e-12)
    other = group.with_variance(2.0 * group.embedding.variance, 8.0 * group.missing_variance)
    curves_only = theta.copy()
    if group.has_gaps:
        curves_only[:, -1] = 0.0
    of_curves = penalty_value(group, curves_only)
    expected = of_curves / 2 + (value - of_curves) / 8
    assert penalty_value(other, theta) == pytest.approx(expected, rel=1e-10)


def test_levels_are_diagonal_and_ordered_ones_are_not(
    table_and_layout: tuple[np.ndarray, Layout],
) -> None:
    groups = table_and_layout[1].groups
    diagonal = [group.is_diagonal for group in groups]
    assert [g.kind for g, yes in zip(groups, diagonal, strict=True) if yes] == [
        "Spline",  # degree 0 under D_0
        "Category",
        "Linear",
    ]


def test_split_by_keeps_the_order_of_first_places() -> None:
    keys = np.array([[3, 1], [0, 0], [3, 1], [3, 0], [0, 0]])
    assert [at.tolist() for at in split_by(keys)] == [[0, 2], [1, 4], [3]]
