"""Steps by the Hessian of a sample, where functions are reached by rows that it has not."""

from __future__ import annotations

import numpy as np
import pytest

from splinear.losses import Logistic
from splinear.objective.calibration import Calibration
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable
from splinear.objective.model import Part
from splinear.objective.objective import Objective
from splinear.objective.problem import Problem, Stopping
from splinear.solvers import newton
from splinear.tables.opening import open_table
from splinear.terms.basis import BSplineBasis

DEGREES = [0, 1, 2, 3]


class FarRows:
    """Rows that are elsewhere, but for the first few."""

    is_here = False

    def __init__(self, rows: TrainingRows, n_sampled: int) -> None:
        self.rows, self.n_sampled = rows, n_sampled

    def __getattr__(self, name: str) -> object:
        return getattr(self.rows, name)

    def with_layout(self, layout):
        return FarRows(self.rows.with_layout(layout), self.n_sampled)

    def sampled(self, curvature, n, n_threads=1):
        n = min(n, self.n_sampled)
        weights = np.full(n, self.rows.n_rows / n)
        return self.rows.first(n), curvature.some(np.arange(n), weights)


def posed(X, layout, y, n_sampled):
    """Return rows and a sum of logistic losses."""
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    problem = Problem(rows.place(np.where(y, 1, -1).astype(np.int8)), Logistic(), 1.0, 1.0)
    return FarRows(rows, n_sampled), Separable(problem)


@pytest.mark.parametrize("degree", DEGREES)
def test_the_diagonal_is_at_least_that_of_all_rows_and_no_direction_is_negative(degree, curves):
    random = np.random.default_rng(degree)
    X = random.standard_cauchy((500, 3)).clip(-30, 30)
    rows = TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(degree, 12)), exact=True)
    h = random.random((1, 500))
    [whole] = rows.blocks(h)[0]
    [some] = rows.first(50).blocks(10.0 * np.ascontiguousarray(h[:, :50]))[0]
    calibration = Calibration.between(rows.layout, [[some]], [[whole]])
    [[both]] = calibration.added([[some]])
    assert (both[:, :, 0] >= np.maximum(some, whole)[:, :, 0] * (1.0 - 1e-12)).all()
    [added] = calibration.matrices(0)
    least = -1e-12 * whole.max()
    assert np.linalg.eigvalsh(added).min() >= least
    np.testing.assert_allclose(added.sum(axis=2), 0.0, atol=-least)  # nothing of levels


def test_passes_and_the_whole_matrix_agree(mixed, on_code_grid):
    """Of curves, categories and gaps."""
    X, layout = mixed(0, 300)
    X = on_code_grid(X, layout)
    rows, total = posed(X, layout, X[:, 0] > np.nanmedian(X[:, 0]), 40)
    at = Objective.of(rows, total, 1).begin()
    models = [newton.Chooser(at, way).model(at) for way in ("banded", "dense")]
    assert [type(model).__name__ for model in models] == ["Banded", "Dense"]
    assert any(own.any() for own in models[0].calibration.blocks[0])
    direction = np.random.default_rng(1).normal(size=at.theta.shape)
    direction = at.space.leveled(direction * np.append(at.space.used, 1.0))
    _, product = models[0].times(direction)
    _, other = models[1].times(direction)
    np.testing.assert_allclose(other, product, atol=1e-9 * np.abs(product).max())


@pytest.mark.parametrize("way", ["banded", "dense"])
def test_a_sample_will_do_where_it_does_not_reach_the_tails(way, curves, monkeypatch):
    """Its steps would be far too long there, if it were taken for all that is known."""
    random = np.random.default_rng(0)
    n, n_sampled = 40_000, 4_000
    X = random.uniform(-2.0, 2.0, size=(n, 3))
    X[:, 0] = np.where(random.random(n) < 6e-3, random.uniform(2.0, 8.0, n), X[:, 0])
    layout = curves(X, BSplineBasis(1, 24), 1).scaled(100.0)
    y = random.random(n) < 1 / (1 + np.exp(-np.sin(2 * X).sum(axis=1)))
    rows, total = posed(X, layout, y, n_sampled)
    reached = rows.first(n_sampled).blocks(np.ones((1, n_sampled)))[0][0][0, :, 0]
    assert reached.min() < 0.1 < 1.0 < rows.blocks(np.ones((1, n)))[0][0][0, :, 0].min()
    stopping = Stopping(tol=1e-3)

    def rows_of_products() -> list[int]:
        states = list(newton.descend(Objective.of(rows, total, 1).begin(), stopping, way))
        assert states[-1].is_converged(stopping.tol)
        return [state.n_product for state in states[1:]]

    found = rows_of_products()
    assert set(found) == {n_sampled}
    assert len(found) <= 8
    monkeypatch.setattr(Part, "calibration", None)
    assert n in rows_of_products()
