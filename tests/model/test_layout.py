"""All terms of a model: flat vectors of parameters, and what they say of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from written_out import explicit, primal, scores

from splinear.losses import Hinge, Logistic
from splinear.model.additive import Model
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.moments import moments
from splinear.tables.opening import open_table

MAPS = ["tables", "gather", "stiffen", "soften", "extended"]


@pytest.fixture(scope="module")
def table_and_layout(mixed: Callable) -> tuple[np.ndarray, Layout]:
    X, layout = mixed(1)
    return X, TrainingRows.prepare(open_table(X), layout, exact=True).layout


@pytest.fixture(scope="module")
def layout(table_and_layout: tuple[np.ndarray, Layout]) -> Layout:
    return table_and_layout[1]


def drawn(layout: Layout, *more: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*more, layout.n_parameters))


@pytest.mark.parametrize("more", [(), (3,), (2, 3)])
def test_split_and_join_are_inverse(layout: Layout, more: tuple[int, ...]) -> None:
    flat = drawn(layout, *more)
    parts = layout.split(flat)
    assert [part.shape for part in parts] == [(*more, *group.shape) for group in layout.groups]
    assert_array_equal(layout.join(parts), flat)


def test_groups_stand_one_after_the_other(layout: Layout) -> None:
    sizes = [group.n_features * group.stride for group in layout.groups]
    assert layout.n_parameters == sum(sizes)
    assert layout.ends.tolist() == np.cumsum([0, *sizes]).tolist()
    flat = np.arange(layout.n_parameters)
    parts = layout.split(flat)
    assert [part.flat[0] for part in parts] == layout.ends[:-1].tolist()
    parts[2][0, 0] = -1  # a view
    assert flat[layout.ends[2]] == -1
    assert_array_equal(layout.used, np.concatenate([g.used.ravel() for g in layout.groups]))


def test_every_column_has_one_term(layout: Layout) -> None:
    features = np.concatenate([group.features for group in layout.groups])
    assert sorted(features.tolist()) == list(range(layout.n_columns))


@pytest.mark.parametrize("name", MAPS)
def test_maps_go_group_by_group(layout: Layout, name: str) -> None:
    flat = drawn(layout, 2)
    found = layout.split(getattr(layout, name)(flat))
    for group, part, out in zip(layout.groups, layout.split(flat), found, strict=True):
        assert_array_equal(out, getattr(group, name)(part))


def test_tables_and_gather_are_adjoint(layout: Layout) -> None:
    theta, R = drawn(layout), drawn(layout, seed=1)
    assert np.vdot(layout.tables(theta), R) == pytest.approx(np.vdot(theta, layout.gather(R)))


def test_stiffen_is_the_gradient_of_the_penalty(layout: Layout) -> None:
    """By central differences, which are exact for a quadratic function."""
    theta = np.where(layout.used, drawn(layout), 0.0)
    h = 1e-3
    slopes = [
        (layout.penalty_value(theta + h * e) - layout.penalty_value(theta - h * e)) / (2 * h)
        for e in np.eye(layout.n_parameters)
    ]
    gradient = layout.stiffen(theta)
    assert_allclose(np.where(layout.used, slopes, 0.0), gradient, atol=1e-6 * max(gradient))


def test_stiffness_is_added_in_place(layout: Layout) -> None:
    theta, found = drawn(layout, 2), drawn(layout, 2, seed=1)
    expected = found + layout.stiffen(theta)
    layout.add_stiffness(theta, found, 2)
    assert_allclose(found, expected, rtol=1e-14)


def test_penalties_add_up(layout: Layout) -> None:
    theta = drawn(layout, 2)
    parts = zip(layout.groups, layout.split(theta), strict=True)
    expected = sum(0.5 * np.vdot(part, group.stiffen(part)) for group, part in parts)
    assert layout.penalty_value(theta) == pytest.approx(expected, rel=1e-14)
    assert layout.scaled(2.0).penalty_value(theta) == pytest.approx(expected / 2, rel=1e-12)


def test_a_layout_without_groups() -> None:
    empty = Layout((), 3)
    assert empty.n_parameters == 0
    assert empty.used.shape == (0,)
    assert empty.split(np.zeros(0)) == []
    for name in MAPS:
        assert getattr(empty, name)(np.zeros((2, 0))).shape == (2, 0)
    assert empty.penalty_value(np.zeros(0)) == 0
    assert_array_equal(scores(empty, np.zeros(0), 0.5, np.zeros((4, 3))), 0.5)


# -- what parameters say of rows -----------------------------------------------------------------


def by_hand(layout: Layout, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
    """f(x) row by row and term by term, from the functions of each basis."""
    total = np.zeros(len(X))
    for group, part in zip(layout.groups, layout.split(theta), strict=True):
        for k, j in enumerate(group.features):
            coef = part[k, : group.size]
            for i, x in enumerate(X[:, j]):
                if np.isnan(x):
                    total[i] += group.mean[k] @ coef + (part[k, -1] if group.has_gaps else 0.0)
                else:
                    t = group.embedding.axes.argument_of(np.array([x]), k)
                    total[i] += coef @ group.embedding.basis.evaluate(t)[0]
    return total


def test_scores_are_those_by_hand(table_and_layout: tuple[np.ndarray, Layout]) -> None:
    X, layout = table_and_layout
    theta = drawn(layout, seed=2)
    expected = by_hand(layout, theta, X)
    assert_allclose(scores(layout, theta, 0.0, X), expected, rtol=1e-11, atol=1e-11)
    model = Model(layout, theta[None], np.zeros(1))
    assert_allclose(model.scores(open_table(X))[:, 0], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_models_score_several_outputs_on_threads(
    table_and_layout: tuple[np.ndarray, Layout], dtype: type, order: str
) -> None:
    X, layout = table_and_layout
    model = Model(layout, drawn(layout, 3, seed=3), np.array([1.0, -2.0, 0.0]))
    outputs = zip(model.parameters, model.intercept, strict=True)
    expected = [scores(layout, theta, b, X) for theta, b in outputs]
    tolerance = 1e-11 if dtype == np.float64 else 2e-5
    for n_threads in (1, 2):
        table = open_table(np.asarray(X, dtype=dtype, order=order))
        found = model.scores(table, n_threads)
        assert_allclose(found, np.transpose(expected), rtol=tolerance, atol=tolerance * 10)


def test_gaps_and_levels_that_fit_has_not_seen_count_as_the_mean(mixed: Callable) -> None:
    X, layout = mixed(2, gaps=False)
    theta = drawn(layout, 1, seed=4)
    layout, _ = moments(TrainingRows.prepare(open_table(X), layout, exact=True), theta, None, 1)
    model = Model(layout, theta, np.zeros(1))
    base = model.scores(open_table(X))[:, 0]
    for group, part in zip(layout.groups, layout.split(theta), strict=True):
        for k, j in enumerate(group.features):
            basis, axes = group.embedding.basis, group.embedding.axes
            f = basis.evaluate(axes.argument_of(X[:, j], k)) @ part[0, k]
            changed = X.copy()
            changed[:, j] = np.nan
            expected = base - f + f.mean()
            assert_allclose(model.scores(open_table(changed))[:, 0], expected, rtol=1e-9, atol=1e-9)
            if group.levels is not None:
                changed[:, j] = -1
                assert_allclose(
                    model.scores(open_table(changed))[:, 0], expected, rtol=1e-9, atol=1e-9
                )
    assert_allclose(model.means.sum(), base.mean(), rtol=1e-9)


def test_infinite_values_give_no_score(table_and_layout: tuple[np.ndarray, Layout]) -> None:
    X, layout = table_and_layout
    X = X.copy()
    X[3, 0], X[5, 2] = np.inf, -np.inf
    found = Model(layout, drawn(layout, 1), np.zeros(1)).scores(open_table(X))[:, 0]
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 5]


@pytest.mark.parametrize("bias", [None, 0.0, 1.0, 2.5])
def test_the_primal_is_that_of_the_explicit_embedding(
    table_and_layout: tuple[np.ndarray, Layout], bias: float | None
) -> None:
    """1/2 |w|^2 + 1/2 b^2 + losses of w'phi + B b, if w has no part that phi cannot see."""
    X, layout = table_and_layout
    phi = explicit(layout, X)
    random = np.random.default_rng(5)
    w = phi.T @ random.normal(size=len(X))
    theta = layout.soften(roots(layout, w))
    y, cost = np.where(random.random(len(X)) < 0.5, -1, 1), random.random(len(X))
    intercept = 0.0 if bias == 0 else 0.3
    for loss in (Hinge(), Logistic()):
        value = 0.5 * w @ w + cost @ loss.of_margin(y * (phi @ w + intercept))
        value += 0.5 * (intercept / bias) ** 2 if bias else 0.0
        found = primal(layout, loss, theta, intercept, X, y, cost, bias)
        assert found == pytest.approx(value, rel=1e-9)


def roots(layout: Layout, w: np.ndarray) -> np.ndarray:
    """T^{-T} w / s, whose softened version is s T w: coefficients of the weights w."""
    parts = []
    for group, part in zip(layout.groups, layout.split(w), strict=True):
        out, penalty = np.zeros_like(part), group.embedding.penalty
        root = np.where(group.embedding.variance > 0, np.sqrt(group.embedding.variance), np.inf)
        out[:, : group.size] = penalty.difference_transpose(part[:, : group.size]) / root[:, None]
        if group.has_gaps:
            gap_root = np.where(group.missing_variance > 0, np.sqrt(group.missing_variance), np.inf)
            out[:, -1] = part[:, -1] / gap_root
        parts.append(out)
    return layout.join(parts)
