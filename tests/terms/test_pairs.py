"""Surfaces against dense matrices, and the identities that hold for them."""

from dataclasses import replace

import numpy as np
import pytest
from written_out import node_functions

from splinear import _core
from splinear.model.factoring import pair_variances
from splinear.model.layout import Layout
from splinear.objective.blocks import SurfaceBlocks
from splinear.objective.local.pair_rows import PairRows
from splinear.terms.pair_group import SHARED, Chain, PairGroup, surfaces

SHAPES = [(2, 2), (3, 2), (5, 4), (4, 4)]


def chain(feature, n_nodes):
    return Chain(feature, knots=np.arange(n_nodes, dtype=np.float64))


def make_group(shape, seed=0, *, edges=True):
    """Return two surfaces of random masses (some of them 0), variances and edge weights."""
    random = np.random.default_rng(seed)
    a, b, c = chain(0, shape[0]), chain(1, shape[1]), chain(2, shape[1])
    mass = random.integers(1, 5, (2, *shape)).astype(float)
    mass[0, -1, -1] = 0.0
    weights = random.uniform(0.5, 2.0, (2, shape[0] * shape[1])) if edges else None
    return replace(
        PairGroup.of(((a, b), (a, c))), mass=mass, variance=np.array([0.3, 4.0]), edges=weights
    )


@pytest.fixture(params=SHAPES, ids=str)
def group(request):
    return make_group(request.param)


def draw(group, *lead, seed=1):
    return np.random.default_rng(seed).normal(size=(*lead, *group.shape))


def free(group, values):
    return np.where(group.used, values, 0.0)


def matrix_of(function, group):
    """Return the matrices (n_pairs, size, size) of a linear function of parameters."""
    out = np.zeros((*group.shape, group.size))
    for k in range(group.size):
        unit = np.zeros(group.shape)
        unit[:, k] = 1.0
        out[:, :, k] = function(unit)
    return out


# -- parameters and tables -----------------------------------------------------------------------


def test_tables_are_centered(group):
    """The means along either feature, weighted by the rows at the nodes, are 0."""
    T = group.tables(draw(group, 3)).reshape(3, *group.mass.shape)
    np.testing.assert_allclose((T * group.mass).sum(axis=-1), 0.0, atol=1e-12)
    np.testing.assert_allclose((T * group.mass).sum(axis=-2), 0.0, atol=1e-12)


def test_tables_take_off_functions_of_one_feature(group):
    W = draw(group)
    taken = (W - group.tables(W)).reshape(group.mass.shape)
    np.testing.assert_allclose(np.diff(np.diff(taken, axis=1), axis=2), 0.0, atol=1e-12)


def test_gather_is_the_adjoint_of_tables(group):
    W, S = draw(group, 2), draw(group, 2, seed=2)
    np.testing.assert_allclose(np.vdot(group.tables(W), S), np.vdot(W, group.gather(S)))


def test_from_tables_undoes_tables(group):
    W = free(group, draw(group, 2))
    np.testing.assert_allclose(group.from_tables(group.tables(W)), W, atol=1e-12)


def test_scatter_undoes_gather(group):
    """Of sums that no function of one feature has a part in, as those of scatter() are."""
    r = free(group, draw(group, 2))
    S = group.scatter(r)
    grids = S.reshape(2, *group.mass.shape)
    np.testing.assert_allclose(grids.sum(axis=-1), 0.0, atol=1e-12)
    np.testing.assert_allclose(grids.sum(axis=-2), 0.0, atol=1e-12)
    np.testing.assert_allclose(free(group, group.gather(S)), r, atol=1e-12)
    np.testing.assert_allclose(
        np.vdot(S, draw(group, 2)), np.vdot(r, group.from_tables(draw(group, 2)))
    )


def test_some_surfaces_alone(group):
    one, W = group.of_features(np.array([1])), draw(group)
    np.testing.assert_array_equal(one.tables(W[1:]), group.tables(W)[1:])
    np.testing.assert_array_equal(one.stiffen(W[1:]), group.stiffen(W)[1:])
    np.testing.assert_array_equal(one.features, group.features[1:])


# -- the penalty ---------------------------------------------------------------------------------


def test_penalty_is_of_mixed_differences(group):
    W = free(group, draw(group, 2))
    expected = 0.0
    for W_of_output in W.reshape(2, *group.mass.shape):
        for p, grid in enumerate(W_of_output):
            weights = group.edges[p].reshape(grid.shape)
            for k in range(1, grid.shape[0]):
                for m in range(1, grid.shape[1]):
                    d = grid[k, m] - grid[k - 1, m] - grid[k, m - 1] + grid[k - 1, m - 1]
                    expected += 0.5 * weights[k, m] * d**2 / group.variance[p]
    np.testing.assert_allclose(penalty_value(group, W), expected)


def penalty_value(group, W):
    return 0.5 * np.vdot(W, group.stiffen(W))


def test_a_layout_asks_surfaces_as_it_asks_curves(group):
    layout, W = Layout((), 3, (group,)), draw(group, 2)
    flat, found = W.reshape(2, -1), np.ones((2, layout.n_parameters))
    np.testing.assert_array_equal(layout.stiffen(flat), group.stiffen(W).reshape(flat.shape))
    layout.add_stiffness(flat, found, 1)
    np.testing.assert_allclose(found, 1.0 + layout.stiffen(flat))
    np.testing.assert_allclose(layout.softness(flat), np.vdot(flat, layout.soften(flat)))


def test_soften_undoes_stiffen(group):
    W = free(group, draw(group, 2))
    np.testing.assert_allclose(group.soften(group.stiffen(W)), W, atol=1e-12)
    np.testing.assert_allclose(group.stiffen(group.soften(W)), W, atol=1e-10)


def held_group(shape):
    """Return two surfaces of which the second is held to a form, and has missing values."""
    group = make_group(shape)
    a, b = group.chains[1]
    a = Chain(a.feature, knots=a.knots[:-1], has_missing=True)
    return replace(group, chains=(group.chains[0], (a, b)), held=np.array([False, True]))


@pytest.mark.parametrize("shape", [(3, 2), (5, 4)])
def test_what_a_held_surface_shares_with_its_curve(shape):
    """The first column of W is free but for the node of missing values; no table changes by it."""
    group = held_group(shape)
    first = group.used.reshape(group.mass.shape)[:, :, 0]
    assert first.sum() == shape[0] - 2
    assert not first[0].any()
    W = free(group, draw(group, 2))
    np.testing.assert_allclose(group.soften(group.stiffen(W)), W, atol=1e-9)
    np.testing.assert_allclose(group.stiffen(group.soften(W)), W, atol=1e-9)
    f = np.append(np.arange(shape[0] - 1.0) ** 2, 0.0)  # of the feature
    more = W.reshape(2, *group.mass.shape).copy()
    more[:, 1] += f[:, None]
    more = more.reshape(W.shape)
    np.testing.assert_allclose(group.tables(more), group.tables(W), atol=1e-12)
    found = penalty_value(group, more[0]) - penalty_value(group, W[0])
    own = np.append(0.0, np.diff(f[:-1]))
    before = np.append(0.0, np.diff(W[0, 1].reshape(shape)[:-1, 0]))
    expected = 0.5 * SHARED * np.sum((before + own) ** 2 - before**2) / group.variance[1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_function_that_a_surface_has_of_its_first_feature():
    group, W = held_group((5, 4)), draw(held_group((5, 4)))
    taken = (W - group.tables(W)).reshape(group.mass.shape)[1]
    a = group.shared_functions(1) @ W[1]
    np.testing.assert_allclose(np.diff(taken, axis=0), np.diff(a)[:, None] * np.ones(4), atol=1e-12)


def test_functions_of_one_feature_are_free():
    group = make_group((5, 4))
    a, b = np.arange(5.0)[:, None] ** 2, np.array([3.0, -1.0, 0.5, 2.0])
    flat = np.tile((a + b).ravel(), (2, 1))
    np.testing.assert_allclose(group.differences(flat), 0.0, atol=1e-12)
    np.testing.assert_allclose(group.tables(flat), 0.0, atol=1e-12)


def test_the_kernel_is_a_product_of_min_kernels():
    """B S^{-1} B' at the nodes is min(k, k') min(l, l') times t, on the anchored parameters."""
    group = replace(make_group((5, 4), edges=False), variance=np.full(2, 0.7))
    K = matrix_of(group.soften, group)[0]
    k, m = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(4), indexing="ij"))
    expected = 0.7 * np.minimum.outer(k, k) * np.minimum.outer(m, m)
    np.testing.assert_allclose(K, expected, atol=1e-12)


def dense_from_bands(group, bands):
    out = np.zeros((*group.shape, group.size))
    for p, distance in enumerate(group.band_distances):
        at = np.arange(group.size - distance)
        out[:, at, at + distance] += bands[:, at, p]
        if distance:
            out[:, at + distance, at] += bands[:, at, p]
    return out


def penalty_matrix(group):
    """Return E' diag(w / t) E over all nodes, E taking mixed differences."""
    E = matrix_of(group.differences, group)
    return np.einsum("pdk,pd,pdl->pkl", E, group.precision, E)


def test_penalty_bands_are_those_of_the_matrix(group):
    found = dense_from_bands(group, group.penalty_bands())
    np.testing.assert_allclose(found, penalty_matrix(group), atol=1e-12)


def test_without_a_variance_there_is_no_surface():
    group = replace(make_group((4, 3)), variance=np.array([0.0, 2.0]))
    assert not group.used[0].any()
    assert not group.precision[0].any()
    W = draw(group)
    assert np.isfinite(group.soften(W)).all()
    assert not group.stiffen(W)[0].any()


# -- rows ----------------------------------------------------------------------------------------


def rows_of(group, n=300, seed=3):
    """Return rows on the chains of a group, some of them nowhere, and their table."""
    random = np.random.default_rng(seed)
    m1, m2 = group.n_nodes
    table = random.uniform(-0.3, 1.3, (n, 3)) * np.array([m1 - 1, m2 - 1, m2 - 1])
    table[::7] = np.round(table[::7])
    table[::11, 1] = np.nan
    chains = tuple({id(c): c for pair in group.chains for c in pair}.values())
    positions = np.stack([c.positions(table[:, c.feature]) for c in chains])
    return PairRows(chains, positions, (group,)), table


def test_rows_against_the_dense_design(group):
    rows, table = rows_of(group)
    B = np.stack([node_functions(group, k, table) for k in range(2)])  # (n_pairs, n, size)
    random = np.random.default_rng(4)
    tables, r = random.normal(size=(3, 2 * group.size)), random.normal(size=(3, len(table)))
    scores = np.einsum("pis,ops->oi", B, tables.reshape(3, *group.shape))
    sums = np.einsum("pis,oi->ops", B, r).reshape(3, -1)
    # Sums of 300 numbers, in another order.
    np.testing.assert_allclose(rows.scores(tables, 1), scores, atol=1e-12)
    np.testing.assert_allclose(rows.sums(r, 1), sums, atol=1e-12)
    for found, h in zip(rows.blocks(r, 1), r, strict=True):
        expected = np.einsum("pis,i,pit->pst", B, h, B)
        np.testing.assert_allclose(dense_from_bands(group, found[0]), expected, atol=1e-12)


def test_the_first_rows_and_some_rows(group):
    rows, _ = rows_of(group)
    tables = np.random.default_rng(5).normal(size=(2, 2 * group.size))
    some = np.array([5, 2, 2, 280])
    whole = rows.scores(tables, 1)
    np.testing.assert_array_equal(rows.first(40).scores(tables, 1), whole[:, :40])
    np.testing.assert_array_equal(rows.some(some).scores(tables, 1), whole[:, some])


def test_threads_change_no_bit():
    group = make_group((5, 4))
    rows, _ = rows_of(group, n=9000)
    random = np.random.default_rng(6)
    tables, r = random.normal(size=(2, 2 * group.size)), random.normal(size=(2, 9000))
    for n_threads in (2, 7):
        np.testing.assert_array_equal(rows.scores(tables, n_threads), rows.scores(tables, 1))
        np.testing.assert_array_equal(rows.sums(r, n_threads), rows.sums(r, 1))
        for one, other in zip(rows.blocks(r, n_threads), rows.blocks(r, 1), strict=True):
            np.testing.assert_array_equal(one[0], other[0])


# -- the posterior -------------------------------------------------------------------------------


def weighted_blocks(group):
    rows, table = rows_of(group)
    h = np.random.default_rng(7).uniform(0.1, 1.0, (1, len(table)))
    return rows.blocks(h, 1)[0]


def test_variances_are_those_of_the_dense_inverse(group):
    """E M^{-1} E', functions of one feature being free in M.

    M has no inverse without a ridge on these; the pseudo-inverse takes them out altogether.
    """
    [blocks] = weighted_blocks(group)
    M = dense_from_bands(group, blocks) + penalty_matrix(group)
    E = matrix_of(group.differences, group)
    expected = np.einsum("pdk,pkl,pdl->pd", E, np.linalg.pinv(M, rcond=1e-12, hermitian=True), E)
    # The ridge is 1e-9 of the diagonal.
    found = pair_variances(group, blocks)
    np.testing.assert_allclose(found, free(group, expected), rtol=1e-5, atol=1e-12)
    assert (found[group.used] <= 1.0 / group.precision[group.used] + 1e-9).all()


def test_variances_without_rows_are_those_of_the_prior(group):
    blocks = np.zeros((*group.shape, 5))
    found = pair_variances(group, blocks)
    expected = np.divide(1.0, group.precision, out=np.zeros(group.shape), where=group.used)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_preconditioner_is_symmetric_and_positive(group):
    layout = Layout((), 3, (group,))
    solver = SurfaceBlocks(layout, weighted_blocks(group))
    P = np.stack([solver.solve(unit) for unit in np.eye(layout.n_parameters)])
    np.testing.assert_allclose(P, P.T, atol=1e-9 * np.abs(P).max())
    used = layout.used
    assert np.linalg.eigvalsh(P[np.ix_(used, used)]).min() > 0
    assert not P[~used].any()


def test_the_preconditioner_is_the_inverse_with_free_margins(group):
    """It solves for one surface together with any functions of its two features."""
    [blocks] = weighted_blocks(group)
    M = dense_from_bands(group, blocks) + penalty_matrix(group)
    r = free(group, draw(group))
    found = SurfaceBlocks(Layout((), 3, (group,)), [blocks]).solve(r.ravel()).reshape(group.shape)
    inverse = np.linalg.pinv(M, rcond=1e-12, hermitian=True)
    expected = group.from_tables(np.einsum("pkl,pl->pk", inverse, group.scatter(r)))
    np.testing.assert_allclose(found, free(group, expected), rtol=1e-5, atol=1e-7)


def test_the_compiled_twin_takes_surfaces_of_any_shape():
    first, second = make_group((5, 4)), make_group((3, 2))
    chains = [*first.chains[0], *second.chains[0]]
    positions = np.zeros((4, 2), dtype=np.float32)
    core = surfaces(positions, chains, (first.of_features([0]), second.of_features([0])))
    assert isinstance(core, _core.Surfaces)
    tables = np.arange(26.0)[None]
    np.testing.assert_array_equal(core.score(tables, 1), [[20.0, 20.0]])  # of nodes 0 and 20
