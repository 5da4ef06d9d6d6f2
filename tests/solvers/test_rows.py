"""The training rows in the core: scores, sums and Hessians against the basis written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from written_out import scores

from splinear import _core
from splinear.model.information import Thinned, can_be_thinned
from splinear.model.layout import Layout
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import Order
from splinear.objective.local.training_rows import TrainingRows
from splinear.tables.opening import open_table
from splinear.terms import Category, Spline

ROUNDING = {False: 1e-5, True: 1e-9}  # codes are summed in single precision
both_forms = pytest.mark.parametrize("exact", [False, True], ids=["codes", "values"])


@pytest.fixture(scope="module")
def table_and_layout(mixed: Callable, on_code_grid: Callable) -> tuple[np.ndarray, Layout]:
    """All kinds of terms, at values that codes hold exactly."""
    X, layout = mixed(3)
    return on_code_grid(X, layout), layout


def functions(layout: Layout, X: np.ndarray) -> np.ndarray:
    """B(x) of every row in the order of tables, (n_rows, n_parameters): at a gap a 1 at its end."""
    columns = []
    for group in layout.groups:
        for k, j in enumerate(group.features):
            gap = np.isnan(X[:, j])
            x = np.where(gap, group.embedding.axes.lo[k], X[:, j])
            B = group.embedding.basis.evaluate(group.embedding.axes.argument_of(x, k))
            columns.append(np.where(gap[:, None], 0.0, B))
            if group.has_gaps:
                columns.append(gap[:, None].astype(float))
    return np.hstack(columns)


@both_forms
def test_products_at_once(table_and_layout: tuple[np.ndarray, Layout], exact: bool) -> None:
    """Scores, their level and sums are those of separate passes, on any number of threads."""
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    random = np.random.default_rng(7)
    theta, h = random.normal(size=(1, layout.n_parameters)), random.random((1, len(X)))
    found, level, sums = rows.curved(theta, h)
    F = rows.scores(theta)
    assert level == pytest.approx(-np.vdot(h, F) / h.sum(), rel=1e-10)
    assert_allclose(found, F + level, rtol=1e-12, atol=1e-12)
    expected = rows.sums(h * (F + level))
    assert_allclose(sums, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    for one, many in zip((found, level, sums), rows.curved(theta, h, 3), strict=True):
        assert_array_equal(one, many)


@both_forms
@pytest.mark.parametrize("n_threads", [1, 3])
def test_scores_and_sums(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool, n_threads: int
) -> None:
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact, n_threads=n_threads)
    assert rows.is_coded != exact
    random = np.random.default_rng(0)
    theta = random.normal(size=(2, layout.n_parameters))
    R = random.normal(size=(2, len(X)))
    found = rows.scores(theta, n_threads)
    for k in range(2):
        expected = scores(rows.layout, theta[k], 0.0, X)
        assert_allclose(
            rows.restore(found[k]), expected, rtol=ROUNDING[exact], atol=ROUNDING[exact]
        )
    placed = np.stack([rows.place(r) for r in R])
    sums = rows.sums(placed, n_threads)
    expected = rows.layout.gather(R @ functions(layout, X))
    assert_allclose(sums, expected, rtol=ROUNDING[exact], atol=ROUNDING[exact])
    assert np.vdot(placed, found) == pytest.approx(np.vdot(sums, theta), rel=ROUNDING[exact])


@pytest.mark.parametrize("n_threads", [1, 3, 16])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_the_upper_half_of_a_matrix(n: int, n_threads: int) -> None:
    matrix = np.arange(float(n * n)).reshape(n, n)
    assert_array_equal(_core.upper_half(matrix, n_threads), matrix[np.triu_indices(n)])


def test_an_order_is_the_same_however_long_the_numbers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = np.arange(1000) % 3 > 0
    found = Order.draw(1000, kept, 7)
    monkeypatch.setattr("splinear.objective.local.order._FEW", 0)
    again = Order.draw(1000, kept, 7)
    assert found.places.dtype == again.places.dtype == np.uint32
    assert_array_equal(found.places, again.places)
    assert sorted(found.of(slice(0, 1000))[kept]) == list(range(kept.sum()))


@both_forms
@pytest.mark.parametrize("n_rows", [100, 900])
def test_sums_over_few_rows_are_divided_by_features(
    laid_out: Callable[..., Layout], exact: bool, n_rows: int
) -> None:
    """Where there are fewer pieces of rows than threads; some columns have gaps."""
    random = np.random.default_rng(3)
    X = random.normal(size=(n_rows, 70))
    X[:, ::3] = np.where(random.random((n_rows, 24)) < 0.1, np.nan, X[:, ::3])
    layout = laid_out(X, {})
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    R = random.normal(size=(1, n_rows)) * (random.random(n_rows) < 0.7)
    one = rows.raw_sums(R, 1)
    expected = rows.restore(R[0]) @ functions(layout, X)
    # Codes are rounded, too: a value moves by up to 1/8192 of a bin.
    tolerance = 1e-9 if exact else 0.05
    assert_allclose(one[0], expected, rtol=tolerance, atol=tolerance)
    for n_threads in (2, 3, 16):
        assert_array_equal(rows.raw_sums(R, n_threads), one)


@both_forms
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_of_the_hessian(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool, n_threads: int
) -> None:
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    H = np.random.default_rng(1).random((2, len(X)))
    found, B = rows.blocks(np.stack([rows.place(h) for h in H]), n_threads), functions(layout, X)
    for h, of_groups in zip(H, found, strict=True):
        dense = B.T @ (h[:, None] * B)
        for group, blocks, first in zip(layout.groups, of_groups, layout.ends[:-1], strict=True):
            assert blocks.shape == (*group.shape, group.embedding.basis.support)
            for j in range(group.n_features):
                at = slice(first + j * group.stride, first + (j + 1) * group.stride)
                for p in range(min(blocks.shape[2], group.stride)):
                    expected = np.diagonal(dense[at, at], p)
                    here = blocks[j, : group.stride - p, p]
                    assert_allclose(here, expected, rtol=ROUNDING[exact], atol=ROUNDING[exact])


@both_forms
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_whole_hessian_of_the_first_rows(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool, n_threads: int
) -> None:
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    n = 70
    h = np.random.default_rng(2).random(n)
    places = np.full(layout.n_parameters, -1, dtype=np.int64)
    kept = np.flatnonzero(np.random.default_rng(3).random(layout.n_parameters) < 0.7)
    places[kept] = np.arange(len(kept))
    size = len(kept) + 1
    H = _core.hessian_some(rows.groups, places, size, h, 2.0, n_threads).reshape(size, size)
    order = rows.place(np.arange(len(X)))[:n]
    B = np.zeros((n, size))
    B[:, :-1] = functions(layout, X[order])[:, kept]
    B[:, -1] = 2.0
    assert_allclose(H, B.T @ (h[:, None] * B), rtol=ROUNDING[exact], atol=ROUNDING[exact])


@both_forms
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_hessian_of_columns_that_few_rows_count_in(
    laid_out: Callable[..., Layout], exact: bool, n_threads: int
) -> None:
    """Zeros and ones without a function at zero, levels of which one has no place, and curves."""
    random = np.random.default_rng(0)
    n = 20_000  # more than are read at a time
    rates = np.array([0.0005, 0.01, 0.1, 0.24, 0.26, 0.6])
    flags = (random.random((n, len(rates))) < rates).astype(float)
    level = np.where(random.random(n) < 0.9, 0, random.integers(1, 4, n))
    X = np.column_stack([flags, level, random.normal(size=n)])
    terms = {j: Spline(1) for j in range(len(rates))} | {6: Category(), 7: Spline(5)}
    layout = laid_out(X, terms, {6: tuple("abcd")})
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    used = np.ones(layout.n_parameters, dtype=bool)
    for group, own in zip(layout.groups, layout.split(used), strict=True):
        own[:, 0] = group.features[0] == 7
    places = np.where(used, np.cumsum(used) - 1, -1).astype(np.int64)
    h, size = random.random(n), int(used.sum()) + 1
    H = _core.hessian_some(rows.groups, places, size, rows.place(h), 2.0, n_threads)
    B = np.column_stack([functions(layout, X)[:, used], np.full(n, 2.0)])
    expected = B.T @ (h[:, None] * B)
    tolerance = ROUNDING[exact]
    assert_allclose(H.reshape(size, size), expected, rtol=tolerance, atol=tolerance * np.sqrt(n))


@both_forms
@pytest.mark.parametrize("factor", [1, 2, 3, 7])
def test_the_hessian_of_thinned_curves(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool, factor: int
) -> None:
    """Curves with one coefficient in a few, on straight lines between them, are curves too."""
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    factors = tuple(factor if can_be_thinned(group) else 1 for group in layout.groups)
    thinned = Thinned(layout, factors)
    h = np.random.default_rng(2).random(len(X))
    every = np.arange(len(thinned.places), dtype=np.int64)
    size = len(every) + 1
    H = _core.hessian_thinned(
        rows.groups, np.array(factors, dtype=np.int64), every, size, rows.place(h), 2.0, 2
    )
    B, columns = functions(layout, X), []
    for g, (group, start) in enumerate(zip(layout.groups, layout.ends[:-1], strict=True)):
        for j in range(group.n_features):
            at = start + j * group.stride
            columns.append(B[:, at : at + group.size] @ thinned.basis(g))
            if group.has_gaps:
                columns.append(B[:, [at + group.size]])
    B = np.column_stack([*columns, np.full(len(X), 2.0)])
    expected = B.T @ (h[:, None] * B)
    found = H.reshape(size, size)
    assert_allclose(found, expected, rtol=ROUNDING[exact], atol=ROUNDING[exact])
    assert factor == 1 or size < layout.n_parameters + 1


@both_forms
def test_the_first_rows_alone(table_and_layout: tuple[np.ndarray, Layout], exact: bool) -> None:
    X, layout = table_and_layout
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact)
    some = rows.first(40)
    theta = np.random.default_rng(5).normal(size=(1, layout.n_parameters))
    assert some.n_rows == 40
    assert_array_equal(some.scores(theta)[0], rows.scores(theta)[0, :40])
    assert_array_equal(some.place(np.arange(len(X))), rows.place(np.arange(len(X)))[:40])
    assert rows.first(1000) is rows


@both_forms
def test_rows_that_do_not_count_are_left_out(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool
) -> None:
    X, layout = table_and_layout
    kept = np.random.default_rng(6).random(len(X)) < 0.6
    rows = TrainingRows.prepare(open_table(X), layout, exact=exact, kept=kept, seed=5)
    alone = TrainingRows.prepare(open_table(X[kept]), layout, exact=exact, seed=5)
    theta = np.random.default_rng(7).normal(size=(1, layout.n_parameters))
    assert rows.n_rows == kept.sum()
    assert_array_equal(rows.scores(theta), alone.scores(theta))
    placed = rows.place(np.arange(len(X)))
    assert sorted(placed.tolist()) == np.flatnonzero(kept).tolist()
    assert_array_equal(rows.restore(placed), np.where(kept, np.arange(len(X)), 0))


@both_forms
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_curves_with_gaps(
    table_and_layout: tuple[np.ndarray, Layout], exact: bool, weighted: bool
) -> None:
    """m_j over the rows that have a value, by their weights, and the share of those that do not."""
    X, layout = table_and_layout
    weights = np.random.default_rng(8).integers(1, 4, len(X)) * 1.0 if weighted else None
    w = np.ones(len(X)) if weights is None else weights
    groups = TrainingRows.prepare(open_table(X), layout, exact=exact, weights=weights).layout.groups
    B = layout.split(functions(layout, X))
    for group, values in zip(groups, B, strict=True):
        if not group.has_gaps:
            assert not group.mean.any()
            continue
        for j in range(group.n_features):
            there = values[:, j, -1] == 0
            if there.any():
                expected = np.average(values[there, j, :-1], axis=0, weights=w[there])
                assert_allclose(group.mean[j], expected, rtol=ROUNDING[exact], atol=1e-7)
            share = w[~there].sum() / w.sum()
            assert group.gap_share[j] == pytest.approx(share, rel=ROUNDING[exact])


@pytest.mark.parametrize("n_levels", [300, 65_534, 65_535, 70_000])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_levels_in_16_and_32_bits(
    laid_out: Callable, n_levels: int, gaps: bool, on_disk: bool
) -> None:
    random = np.random.default_rng(n_levels)
    X = np.column_stack([random.integers(0, n_levels, 500), random.normal(size=500)])
    X[:2, 0] = [0, n_levels - 1]
    if gaps:
        X[random.random(X.shape) < 0.1] = np.nan
    layout = laid_out(X, {0: Category(), 1: Spline(6)}, {0: tuple(range(n_levels))})
    plan = MemoryPlan(rows_per_block=64) if on_disk else None
    rows = TrainingRows.prepare(open_table(X), layout, plan=plan)
    theta = random.normal(size=(1, layout.n_parameters))
    table = rows.layout.tables(theta)[0]
    code = np.where(np.isnan(X[:, 0]), n_levels, X[:, 0]).astype(int)
    curve = rows.layout.with_groups(rows.layout.groups[1:])
    f = scores(curve, theta[0, rows.layout.ends[1] :], 0.0, X)
    found = rows.restore(rows.scores(theta)[0])
    assert_allclose(found, table[code] + f, atol=1e-3)  # 16 bits divide the curve's axis
    r = random.normal(size=500)
    sums = rows.raw_sums(rows.place(r)[None])[0]
    by_level = np.bincount(code, r, minlength=n_levels + gaps)
    assert_allclose(sums[: n_levels + gaps], by_level, atol=ROUNDING[False])


def test_codes_on_disk_are_those_in_memory(table_and_layout: tuple[np.ndarray, Layout]) -> None:
    X, layout = table_and_layout
    theta = np.random.default_rng(9).normal(size=(1, layout.n_parameters))
    rows = [
        TrainingRows.prepare(open_table(X), layout, plan=MemoryPlan(rows_per_block=n))
        for n in (None, 16, 150, 4096)
    ]
    for other in rows[1:]:
        assert_array_equal(other.scores(theta), rows[0].scores(theta))
        for one, two in zip(other.layout.groups, rows[0].layout.groups, strict=True):
            assert_allclose(one.mean, two.mean, rtol=1e-12)
