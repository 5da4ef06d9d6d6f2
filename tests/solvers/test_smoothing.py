"""Hinge losses by few passes, against dual coordinate descent and against their own proof."""

from dataclasses import replace

import numpy as np
import pytest
from written_out import primal

from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import RowMargins
from splinear.objective.problem import Problem, Start, Stopping
from splinear.objective.watch import Watch
from splinear.solvers.hinge import dual_cd, smoothing
from splinear.tables.opening import open_table
from splinear.terms.basis import BSplineBasis

LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2)]
CLOSE = Stopping(tol=1e-3, max_iter=400)

by_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@pytest.fixture(scope="session")
def make(curves, mixed, on_code_grid):
    """Rows at values that codes hold exactly, and a problem: noisy, weighted."""

    def make(loss=LOSSES[0], *, n=600, p=4, seed=0, kind="curves", noise=0.4, **options):
        random = np.random.default_rng(seed)
        if kind == "mixed":
            X, layout = mixed(seed, n)
        else:
            X = random.normal(size=(n, p))
            layout = curves(X, BSplineBasis(1, 8), 1)
        X = on_code_grid(X, layout)
        filled = np.where(np.isnan(X), 1.5, X)
        signal = np.sin(2 * filled[:, 0]) + filled[:, 1] ** 2 + noise * random.normal(size=n)
        rows = TrainingRows.prepare(open_table(X), layout, seed=seed)
        y, defaults = np.where(signal > 1, 1, -1).astype(np.int8), {"cost_negative": 0.7}
        if isinstance(loss, EpsilonInsensitive):
            y, defaults["targets"] = np.ones(n, dtype=np.int8), rows.place(signal)
        else:
            y = rows.place(y)
        options = defaults | {"cost_positive": 1.5} | options
        return X, rows, Problem(y=y, loss=loss, **options)

    return make


def written_out(X, rows, problem, found):
    """P and the proven lower bound of a result, in NumPy."""
    y, cost = rows.restore(problem.y), rows.restore(problem.cost)
    targets = 0.0 if problem.targets is None else rows.restore(problem.targets)
    told = (X, y, cost, problem.bias, targets)
    documented = primal(rows.layout, problem.loss, found.coef, found.intercept, *told)
    parameters, theta_sums = found.coef, rows.sums(found.slopes[None])[0]
    F = rows.scores(parameters[None])[0] + found.intercept
    alpha = -problem.y * found.slopes
    low, high = problem.loss.range(problem.cost)
    assert ((alpha >= low - 1e-12) & (alpha <= high + 1e-12)).all()
    b = found.intercept / problem.bias if problem.bias else 0.0
    counts = problem.cost > 0
    losses = problem.cost @ problem.loss.of_margin(problem.margin(F))
    value = rows.layout.penalty_value(parameters) + 0.5 * b**2 + losses
    gain = 0.0 if problem.targets is None else alpha @ problem.targets
    dual = problem.loss.dual(alpha[counts], problem.cost[counts]).sum() + gain
    dual -= 0.5 * theta_sums @ rows.layout.soften(theta_sums)
    dual -= 0.5 * (problem.bias * found.slopes.sum()) ** 2
    assert value == pytest.approx(documented, rel=1e-5)
    return value, dual


def check(X, rows, problem, found, tol):
    """A result is as good as it says, and as dual coordinate descent finds."""
    value, dual = written_out(X, rows, problem, found)
    assert found.primal == pytest.approx(value, rel=1e-5)  # codes are summed in single precision
    assert found.dual == pytest.approx(dual, rel=1e-5, abs=1e-5 * value)
    assert value - dual <= (tol + 2e-5) * value
    assert found.converged
    best = dual_cd.solve(rows, problem, Stopping(tol=tol, max_iter=20_000))
    assert best.converged
    assert found.primal == pytest.approx(best.primal, rel=1.01 * tol)


@by_loss
@pytest.mark.parametrize("kind", ["curves", "mixed"])
def test_it_finds_what_dual_coordinate_descent_finds(make, loss, kind):
    X, rows, problem = make(loss, kind=kind)
    [found] = smoothing.solve(rows, RowMargins([problem]), CLOSE)
    check(X, rows, problem, found, CLOSE.tol)


@by_loss
@pytest.mark.parametrize("bias", [0.0, 0.3, 10.0])
def test_intercepts_are_penalized(make, loss, bias):
    X, rows, problem = make(loss, bias=bias, seed=1)
    [found] = smoothing.solve(rows, RowMargins([problem]), CLOSE)
    check(X, rows, problem, found, CLOSE.tol)
    assert (found.intercept == 0.0) == (bias == 0.0)


def test_weights_count_as_rows_do(make):
    X, rows, problem = make(seed=2)
    random = np.random.default_rng(2)
    problem = replace(problem, weights=random.integers(0, 4, rows.n_rows).astype(float))
    [found] = smoothing.solve(rows, RowMargins([problem]), CLOSE)
    check(X, rows, problem, found, CLOSE.tol)
    kept = np.flatnonzero(problem.weights)
    again = np.repeat(kept, problem.weights[kept].astype(int))
    repeated = replace(problem.some(again), weights=None)
    [other] = smoothing.solve(rows.some(again), RowMargins([repeated]), CLOSE)
    assert other.primal == pytest.approx(found.primal, rel=2 * CLOSE.tol)


UGLY = {
    "one class heavy": {"cost_positive": 1000.0},
    "C tiny": {"cost_negative": 1e-8, "cost_positive": 1e-8},
    "C huge": {"cost_negative": 1e3, "cost_positive": 1e3},
    "one class alone": {"cost_negative": 0.0},
}


@pytest.mark.parametrize("name", UGLY)
@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_ugly_costs(make, name, loss):
    X, rows, problem = make(loss, seed=3, **UGLY[name])
    stopping = replace(CLOSE, tol=1e-2)
    [found] = smoothing.solve(rows, RowMargins([problem]), stopping)
    check(X, rows, problem, found, stopping.tol)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_separable_rows(make, loss):
    X, rows, problem = make(loss, seed=4, n=300, p=30, noise=0.0, cost_positive=100.0)
    stopping = replace(CLOSE, tol=1e-2)
    [found] = smoothing.solve(rows, RowMargins([problem]), stopping)
    check(X, rows, problem, found, stopping.tol)


def test_columns_that_are_constant(curves):
    random = np.random.default_rng(5)
    X = np.column_stack([random.random(500), np.ones(500), random.random(500)])
    rows = TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 8), 1))
    y = rows.place(np.where(X[:, 0] + 0.2 * random.normal(size=500) > 0.5, 1, -1).astype(np.int8))
    problem = Problem(y, Hinge(), 1.0, 1.0)
    [found] = smoothing.solve(rows, RowMargins([problem]), CLOSE)
    check(X, rows, problem, found, CLOSE.tol)


def test_several_outputs_advance_together(make):
    """Each has its own width and its own end, and gets what it gets alone."""
    _, rows, problem = make(seed=6, n=900)
    random = np.random.default_rng(6)
    other = replace(problem, y=random.choice(np.array([-1, 1], dtype=np.int8), rows.n_rows))
    easy = problem.scaled(1e-3)
    problems = [problem, other, easy]
    together = smoothing.solve(rows, RowMargins(problems), CLOSE)
    for one, found in zip(problems, together, strict=True):
        assert found.converged
        [alone] = smoothing.solve(rows, RowMargins([one]), CLOSE)
        assert found.primal == pytest.approx(alone.primal, rel=2 * CLOSE.tol)


def test_passes_are_few(make, monkeypatch):
    """A long table takes about a dozen passes over all rows."""
    _, rows, problem = make(n=40_000, seed=7)
    n_passes = {"table_scores": 0, "raw_sums": 0, "blocks": 0}
    for name in n_passes:
        plain = getattr(TrainingRows, name)

        def counted(self, *args, name=name, plain=plain, **kwargs):
            n_passes[name] += self.n_rows / rows.n_rows
            return plain(self, *args, **kwargs)

        monkeypatch.setattr(TrainingRows, name, counted)
    [found] = smoothing.solve(rows, RowMargins([problem]), Stopping(tol=1e-2))
    assert found.converged
    assert sum(n_passes.values()) < 40


def test_starts_help(make):
    _, rows, problem = make(seed=8)
    [found] = smoothing.solve(rows, RowMargins([problem]), CLOSE)
    start = Start(found.coef, found.intercept)
    [again] = smoothing.solve(rows, RowMargins([problem]), CLOSE, start)
    assert again.converged
    assert again.n_iter < found.n_iter


def test_a_callback_stops_it(make):
    _, rows, problem = make(seed=9)
    seen = []
    watch = Watch(tell=lambda progress: seen.append(progress) or len(seen) == 2)
    [found] = smoothing.solve(rows, RowMargins([problem]), replace(CLOSE, watch=watch))
    assert found.n_iter == 2
    assert not found.converged
    assert np.isfinite(found.primal)


def test_other_losses_are_refused(make):
    _, rows, problem = make(seed=10)
    total = RowMargins([replace(problem, loss=Logistic())])
    with pytest.raises(TypeError, match="smoothed form"):
        smoothing.solve(rows, total, CLOSE)
