"""The embedding: an additive function of x is a linear function of phi^d(x)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from written_out import explicit, primal, scores

from splinear.losses import Hinge
from splinear.objective.local.training_rows import TrainingRows
from splinear.penalties import difference_matrix
from splinear.tables.opening import open_table
from splinear.terms.axes import Axes
from splinear.terms.basis import Basis, BSplineBasis, FourierBasis
from splinear.terms.embedding import Embedding


def drawn(n: int = 30) -> np.ndarray:
    """Three features of different widths, the second of them constant."""
    return np.random.default_rng(0).normal([0.0, 4.0, -7.0], [1.0, 0.0, 20.0], size=(n, 3))


def embedding_of(X: np.ndarray, basis: Basis, order: int = 1, native: bool = False) -> Embedding:
    axes = Axes.spanning(X.min(axis=0), X.max(axis=0), basis)
    return Embedding.of(axes, basis, order, native=native)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_linear_in_phi_is_additive_in_x(
    basis: Basis, order: int, native: bool, curves: Callable
) -> None:
    X = drawn()
    embedding, layout = (
        embedding_of(X, basis, order, native),
        curves(X, basis, order, native=native),
    )
    w = np.random.default_rng(1).normal(size=3 * basis.size)
    f = scores(layout, embedding.coefficients(w).ravel(), 0.5, X)
    assert_allclose(f, embedding.transform(X) @ w + 0.5, rtol=1e-11, atol=1e-11)
    assert_allclose(explicit(layout, X), embedding.transform(X), rtol=1e-13)


def test_some_features(basis: Basis) -> None:
    X, at = drawn(), np.array([2, 0])
    phi = embedding_of(X, basis).transform(X).reshape(len(X), 3, basis.size)
    some = embedding_of(X, basis).of_features(at)
    assert_array_equal(some.transform(X[:, at]).reshape(len(X), 2, basis.size), phi[:, at])


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_weights_undo_coefficients(basis: Basis, order: int, native: bool) -> None:
    embedding = embedding_of(drawn(), basis, order, native)
    w = np.random.default_rng(2).normal(size=(3, basis.size))
    coef = embedding.coefficients(w.ravel())
    w[1] = 0.0  # a constant feature has no curve
    assert_array_equal(coef[1], 0.0)
    assert_allclose(embedding.weights(coef), w, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("order", range(4))
def test_without_a_level_a_curve_starts_at_zero(bspline: BSplineBasis, order: int) -> None:
    """And is penalized by its differences alone; D_0 has no level to give away."""
    X = drawn()
    whole = embedding_of(X, bspline, order)
    found = whole.without_level()
    if order == 0 or bspline.size == 1:
        assert found is whole
        return
    w = np.random.default_rng(3).normal(size=(3, bspline.size))
    coef = found.coefficients(w.ravel())
    assert_array_equal(coef[:, 0], 0.0)
    assert_array_equal(found.used, whole.used & (np.arange(bspline.size) > 0))
    # The others are those of a curve of one function less.
    D = difference_matrix(bspline.size - 1, order)
    expected = np.sqrt(whole.variance)[:, None] * np.linalg.solve(D, w[:, 1:].T).T
    assert_allclose(coef[:, 1:], expected, rtol=1e-9, atol=1e-9)


def test_scale_of_a_bin() -> None:
    """s^2 is the width of a bin: 1 / n where features count as [0, 1], else in their own units."""
    X, basis = drawn(), BSplineBasis(1, 8)
    width = np.ptp(X, axis=0)
    assert_allclose(embedding_of(X, basis).variance, [1 / 8, 0, 1 / 8])
    assert_allclose(embedding_of(X, basis, native=True).variance, width / 8)
    assert_allclose(embedding_of(X, FourierBasis(2), native=True).variance, width)
    assert_allclose(embedding_of(X, FourierBasis(2)).variance, [1, 0, 1])


def test_phi_is_written_out_for_degree_one() -> None:
    """phi^0 and phi^1 at 0.7 of a bin past the third knot of five, by hand."""
    X = np.array([[0.0], [5.0], [2.7]])
    root = np.sqrt(1 / 5)
    order0, order1, order2 = (embedding_of(X, BSplineBasis(1, 5), d).transform(X) for d in range(3))
    assert_allclose(order0[2], root * np.array([0, 0, 0.3, 0.7, 0, 0]), atol=1e-15)
    assert_allclose(order1[2], root * np.array([1, 1, 1, 0.7, 0, 0]), atol=1e-15)
    assert_allclose(order2[2], root * np.array([3.7, 2.7, 1.7, 0.7, 0, 0]), atol=1e-14)


def test_sparse_is_the_dense_one(bspline: BSplineBasis) -> None:
    X = drawn()
    embedding = embedding_of(X, bspline, 0)
    assert embedding.is_sparse
    phi = embedding.transform_sparse(X)
    assert phi.format == "csr"
    assert_array_equal(phi.toarray(), embedding.transform(X))
    assert (phi.data != 0).all()
    assert phi.nnz <= 2 * len(X) * bspline.support  # nothing is stored for the constant feature


def test_only_bsplines_under_order_zero_are_sparse(basis: Basis) -> None:
    assert not embedding_of(drawn(), basis, 1).is_sparse


def test_names_go_with_the_columns(basis: Basis) -> None:
    X = drawn()
    embedding = embedding_of(X, basis)
    names = embedding.names(np.array(["a", "b", "c"], dtype=object))
    assert len(names) == len(set(names)) == embedding.transform(X).shape[1]
    assert names[basis.size] == f"b_{basis.names()[0]}"


def test_primal_by_hand(curves: Callable) -> None:
    """One feature, two bins of degree 1 under D_1: squared steps / (2 s^2), and the losses."""
    X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    layout, cost = curves(X, BSplineBasis(1, 2)), np.array([3.0, 5.0])
    coef = np.array([1.0, 3.0, -1.0])  # steps 1, 2, -4; s^2 = 1/2
    losses = 3 * max(0, 1 + (1.0 + 0.5)) + 5 * max(0, 1 - (-1.0 + 0.5))
    value = primal(layout, Hinge(), coef, 0.5, X, y, cost, bias=2.0)
    assert value == pytest.approx(0.5 * 21 * 2 + 0.5 * 0.25**2 + losses, rel=1e-14)
    free = primal(layout, Hinge(), coef, 0.5, X, y, cost, bias=None)  # the intercept costs nothing
    assert free == pytest.approx(0.5 * 21 * 2 + losses, rel=1e-14)


def test_primal_with_a_gap_by_hand(curves: Callable) -> None:
    """A gap costs its deviation, and counts as the mean of the curve and that deviation."""
    X, y = np.array([[0.0], [2.0], [2.0], [np.nan]]), np.array([-1.0, 1.0, 1.0, 1.0])
    layout = TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 2)), exact=True).layout
    theta = np.array([1.0, 3.0, -1.0, 0.2])  # mean of the curve: (1 - 1 - 1) / 3; g = s^2 = 1/2
    f = np.array([1.0, -1.0, -1.0, -1 / 3 + 0.2])
    assert_allclose(scores(layout, theta, 0.0, X), f, rtol=1e-14)
    value = primal(layout, Hinge(), theta, 0.0, X, y, 1.0, bias=None)
    assert value == pytest.approx(0.5 * (21 + 0.2**2) * 2 + np.maximum(0, 1 - y * f).sum())
