"""Steps in one call of the core, beside conjugate gradients by passes over the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from splinear.losses import Logistic, SquaredError
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable
from splinear.objective.model import conjugate_gradients
from splinear.objective.objective import Objective
from splinear.objective.problem import Problem
from splinear.objective.space import Space
from splinear.objective.step import Aim
from splinear.objective.watch import Watch
from splinear.solvers.newton import Chooser
from splinear.tables.opening import open_table

N_ROWS = 400


@pytest.fixture(scope="module", params=["free", "held"])
def points(mixed, request):
    """Return points with terms of all kinds, of one loss each, and free or penalized intercepts."""
    X, layout = mixed(5, N_ROWS)
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    targets = np.random.default_rng(0).normal(size=N_ROWS)
    y = np.where(targets > 0.0, 1, -1).astype(np.int8)
    bias = None if request.param == "free" else 2.0

    def at(loss, n_threads=1):
        problem = Problem(y, loss, 1.0, 1.0, bias=1.0)
        if isinstance(loss, SquaredError):
            problem = replace(problem, y=np.ones_like(y), targets=targets)
        total, space = Separable(problem, bias=bias), Space(rows, 1, n_threads, bias)
        theta = 0.1 * np.random.default_rng(1).normal(size=space.zeros().shape)
        theta[0, :-1] *= space.used
        return Objective(space, total).at(theta)

    return at


def both(at, radius=np.inf, accuracy=1e-4, gap=0.0, n=N_ROWS):
    """Return the step by the core and that by products, and the model."""
    chooser = Chooser(at, "banded")
    chooser.n_product = n
    model, aim = chooser.model(at), Aim(accuracy, gap, at.total.is_quadratic)
    found = model.least(at.gradient, radius, Watch(), aim)
    expected = conjugate_gradients(model, at.gradient, radius, Watch(), aim)
    return found, expected, model


def is_same(found, expected):
    size = np.abs(expected.vector).max()
    np.testing.assert_allclose(found.vector, expected.vector, rtol=1e-6, atol=1e-7 * size)
    assert (found.n_products, found.at_edge) == (expected.n_products, expected.at_edge)
    for name in ("decrease", "length", "left"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-6)
    assert (found.scores is None) == (expected.scores is None)
    if found.scores is not None:
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), SquaredError()], ids=["logistic", "squared"])
def test_it_is_what_products_lead_to(points, loss):
    at = points(loss)
    found, expected, model = both(at, gap=1e-6 * at.value)
    is_same(found, expected)
    assert found.n_products > 3
    assert found.scores.shape == (1, N_ROWS)
    left = at.gradient + model.times(found.vector.copy())[1]
    assert np.abs(left[:, :-1]).max() < 0.01 * np.abs(at.gradient[:, :-1]).max()


def test_the_edge_of_a_region(points):
    at = points(Logistic())
    whole, *_ = both(at)
    found, expected, _ = both(at, radius=0.3 * whole.length)
    is_same(found, expected)
    assert found.at_edge
    assert found.length == pytest.approx(0.3 * whole.length)


def test_the_gap_of_the_model_ends_it(points):
    at = points(Logistic())
    for gap in (1e-3, 1.0):
        found, expected, _ = both(at, accuracy=0.5, gap=gap * at.value)
        is_same(found, expected)


def test_a_sample_of_the_rows(points):
    found, expected, model = both(points(Logistic()), n=150)
    assert not model.is_whole
    is_same(found, expected)


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_threads_change_no_bit(points, n_threads):
    one, *_ = both(points(Logistic()))
    many, *_ = both(points(Logistic(), n_threads))
    np.testing.assert_array_equal(many.vector, one.vector)
    np.testing.assert_array_equal(many.scores, one.scores)
    assert (many.decrease, many.left, many.length) == (one.decrease, one.left, one.length)


class Impatient(Watch):
    """Stops a fit as soon as it is asked, or raises."""

    raises = False

    def poll(self) -> bool:
        if self.raises:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("raises", [False, True])
def test_it_can_be_stopped(mixed, raises):
    """The core asks a few times a second, and after a product at the earliest."""
    X, layout = mixed(5, N_ROWS)
    rows = TrainingRows.prepare(open_table(np.tile(X, (300, 1))), layout)
    y = np.tile(np.array([1, -1], dtype=np.int8), rows.n_rows // 2)
    total = Separable(Problem(y, Logistic(), 1.0, 1.0, bias=1.0))
    space = Space(rows, 1, 1)
    at = Objective(space, total).zero()
    chooser = Chooser(at, "banded")
    chooser.n_product = rows.n_rows
    model, aim, watch = chooser.model(at), Aim(0.0, 0.0, False), Impatient()
    watch.raises = raises
    if raises:
        with pytest.raises(KeyboardInterrupt):
            model.least(at.gradient, np.inf, watch, aim)
        return
    whole = model.least(at.gradient, np.inf, Watch(), aim)
    assert 1 <= model.least(at.gradient, np.inf, watch, aim).n_products < whole.n_products
