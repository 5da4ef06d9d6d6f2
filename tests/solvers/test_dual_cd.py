"""The core's dual coordinate descent against a slow one, and against its own certificate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from splinear.axes import Axes
from splinear.basis import BSplineBasis, FourierBasis, HermiteBasis
from splinear.embedding import Embedding
from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredError, SquaredHinge
from splinear.objective import primal, scores
from splinear.solvers import dual_cd, oracle, rows
from splinear.solvers.problem import Problem, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.watch import Watch

BASES = [BSplineBasis(r, n) for r, n in [(0, 7), (1, 5), (2, 4), (3, 6)]]
BASES += [FourierBasis(2), HermiteBasis(3)]
LOSSES = [Hinge(), SquaredHinge(), Logistic(), SquaredError(), EpsilonInsensitive(0.2)]
REGRESSION = (SquaredError, EpsilonInsensitive)


def make_problem(
    seed=0, n=90, p=4, basis=BASES[1], order=1, native=False, loss=LOSSES[0], **options
):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=n) > 1, 1, -1)
    y[:2] = [-1, 1]
    axes = Axes.spanning(X.min(axis=0), X.max(axis=0), basis)
    embedding = Embedding.of(axes, basis, order, native=native)
    defaults = {"cost_negative": 1.0, "cost_positive": 1.0}
    if isinstance(loss, REGRESSION):
        defaults["targets"] = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=n)
        y = np.ones(n)
    return X, embedding, Problem(y=y.astype(np.int8), loss=loss, **(defaults | options))


def prepare(X, embedding, problem, stopping):
    """The rows and the problem in the order of training."""
    made = TrainingRows.prepare(
        X, embedding, tol=stopping.tol, seed=stopping.seed, n_threads=stopping.n_threads
    )
    placed = {
        name: None if getattr(problem, name) is None else made.place(getattr(problem, name))
        for name in ("y", "weights", "targets")
    }
    return made, replace(problem, **placed)


def solve(X, embedding, problem, stopping, start=None):
    made, placed = prepare(X, embedding, problem, stopping)
    return dual_cd.solve(made, placed, stopping, start, keep_alpha=True)


def value_of(found, X, embedding, problem):
    targets = 0.0 if problem.targets is None else problem.targets
    return primal(
        embedding,
        problem.loss,
        found.coef,
        found.intercept,
        X,
        problem.y,
        problem.cost,
        problem.bias,
        targets,
    )


def on_code_grid(X, embedding):
    """The values that the 16-bit codes of X stand for."""
    axes, steps = embedding.axes, embedding.basis.grid().steps
    span = axes.last - axes.first
    share = (axes.argument(X) - axes.first) / span
    if isinstance(embedding.basis, BSplineBasis) and embedding.basis.degree == 0:
        share = np.minimum(np.floor(share * steps), steps - 1) / steps
    else:
        share = np.round(share * steps) / steps
    return axes.lo + share * (axes.hi - axes.lo)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("native", [False, True])
def test_equals_the_oracle(basis, loss, native):
    X, embedding, problem = make_problem(basis=basis, loss=loss, native=native)
    fast = solve(X, embedding, problem, Stopping(tol=1e-9, max_iter=50_000))
    slow = oracle.solve(X, embedding, problem, Stopping(tol=1e-6, max_iter=6000))
    assert slow.gap <= 1e-5
    assert fast.converged
    assert slow.dual <= fast.primal * (1 + 1e-9)
    assert fast.primal <= slow.primal * (1 + 1e-8)
    curves = embedding.basis.evaluate(np.linspace(*embedding.basis.domain, 9))
    # The gap bounds the squared distance of the weights: 1e-6 in the one is 1e-3 in the other.
    np.testing.assert_allclose(curves @ fast.coef.T, curves @ slow.coef.T, atol=2e-2)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_codes_of_16_bits_suffice(basis, monkeypatch):
    """The optimum on coded rows is the optimum on the rows, within a tenth of what is asked."""
    X, embedding, problem = make_problem(6, 500, basis=basis)
    stopping = Stopping(tol=1e-6, max_iter=20_000)
    exact = solve(X, embedding, problem, stopping)
    monkeypatch.setattr(rows, "CODES_SUFFICE", 0.0)
    coded = solve(X, embedding, problem, stopping)
    value = value_of(coded, X, embedding, problem)
    assert value == pytest.approx(exact.primal, rel=1e-4)
    if basis.degree > 0:  # degree 0 sees the bin alone, which a code holds exactly
        assert np.any(coded.coef != exact.coef)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_certificate_is_true(basis, loss, tol):
    X, embedding, problem = make_problem(1, 200, basis=basis, loss=loss, cost_positive=2.5)
    X = on_code_grid(X, embedding)
    found = solve(X, embedding, problem, Stopping(tol=tol, max_iter=50_000))
    assert found.converged
    assert found.gap <= tol
    assert (found.primal - found.dual) / found.primal == pytest.approx(found.gap, abs=1e-12)
    value = value_of(found, X, embedding, problem)
    single = tol >= rows.CODES_SUFFICE  # then the tables may be in single precision
    assert value == pytest.approx(found.primal, rel=1e-5 if single else 1e-9)
    tight = solve(X, embedding, problem, Stopping(tol=1e-10, max_iter=100_000))
    assert found.dual <= tight.primal * (1 + 1e-9)
    assert found.primal <= tight.primal / (1 - tol)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 200), p=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_optimality_conditions(seed, n, p):
    """At the optimum w = sum_i a_i y_i phi_i for some a that the margins allow."""
    X, embedding, problem = make_problem(seed, n, p)
    X = on_code_grid(X, embedding)
    found = solve(X, embedding, problem, Stopping(tol=1e-11, max_iter=100_000))
    phi = np.column_stack([embedding.transform(X), np.ones(n)])
    w = np.append(embedding.weights(found.coef).ravel(), found.intercept)
    margins = problem.y * (phi @ w)
    lowest = np.where(margins < 1 - 1e-4, 1.0, 0.0)
    highest = np.where(margins > 1 + 1e-4, 0.0, 1.0)
    signed = phi * problem.y[:, None]
    fitted = lsq_linear(signed.T, w, bounds=(lowest - 1e-12, highest + 1e-12), tol=1e-12)
    np.testing.assert_allclose(signed.T @ fitted.x, w, atol=1e-2 * max(1.0, np.abs(w).max()))


def test_weights_are_repeats():
    X, embedding, problem = make_problem(2, 60)
    repeats = np.random.default_rng(0).integers(0, 4, 60)
    repeats[:2] = 1
    weighted = Problem(problem.y, problem.loss, 1.0, 1.0, weights=repeats.astype(float))
    repeated = Problem(np.repeat(problem.y, repeats), problem.loss, 1.0, 1.0)
    stopping = Stopping(tol=1e-12, max_iter=100_000)
    one = solve(X, embedding, weighted, stopping)
    two = solve(np.repeat(X, repeats, axis=0), embedding, repeated, stopping)
    assert one.primal == pytest.approx(two.primal, rel=1e-8)


def test_no_intercept():
    X, embedding, problem = make_problem(bias=0.0)
    found = solve(X, embedding, problem, Stopping(tol=1e-6))
    assert found.intercept == 0.0
    slow = oracle.solve(X, embedding, problem, Stopping(tol=1e-6, max_iter=3000))
    assert found.primal == pytest.approx(slow.primal, rel=1e-4)


def test_threads_change_nothing():
    X, embedding, problem = make_problem(3, 9000, 5)
    results = [
        solve(X, embedding, problem, Stopping(tol=1e-3, n_threads=threads)) for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].coef, other.coef)
        assert (results[0].gap, results[0].n_iter) == (other.gap, other.n_iter)


def test_stops_at_max_iter_and_says_so():
    X, embedding, problem = make_problem(4, 300, cost_positive=100.0, cost_negative=100.0)
    found = solve(X, embedding, problem, Stopping(tol=1e-12, max_iter=3))
    assert found.n_iter == 3
    assert not found.converged
    assert found.gap > 1e-12


def test_gaps_reported_on_the_way_shrink():
    seen = []
    X, embedding, problem = make_problem(5, 2000)
    stopping = Stopping(tol=1e-4, max_iter=5000, watch=Watch(tell=seen.append))
    found = solve(X, embedding, problem, stopping)
    gaps, active = [p.gap for p in seen], [p.n_active for p in seen]
    assert [p.n_iter for p in seen] == list(range(1, found.n_iter + 1))
    assert gaps[-1] < 0.01 * gaps[0]
    assert max(active) <= 2000
    assert active[-1] < 2000  # some rows were set aside


def test_an_error_in_the_callback_stops_the_fit_and_is_kept():
    def fail(progress):
        raise RuntimeError(f"enough after {progress.n_iter}")

    X, embedding, problem = make_problem(4, 300, cost_positive=100.0)
    watch = Watch(tell=fail)
    found = solve(X, embedding, problem, Stopping(tol=1e-9, watch=watch))
    assert str(watch.error) == "enough after 1"
    assert found.n_iter == 1
    assert found.primal == pytest.approx(value_of(found, X, embedding, problem), rel=1e-9)


def test_the_callback_and_the_clock_may_stop_it():
    X, embedding, problem = make_problem(4, 300, cost_positive=100.0)
    watch = Watch(tell=lambda progress: progress.n_iter == 2)
    assert solve(X, embedding, problem, Stopping(tol=1e-9, watch=watch)).n_iter == 2
    assert watch.reason == "callback"
    watch = Watch(deadline=0.0)
    assert solve(X, embedding, problem, Stopping(tol=1e-9, watch=watch)).n_iter == 1
    assert watch.reason == "time_limit"


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_every_point_of_a_path_is_a_cold_fit(basis, loss):
    X, embedding, problem = make_problem(7, 300, basis=basis, loss=loss)
    stopping = Stopping(tol=1e-6, max_iter=50_000)
    made, placed = prepare(X, embedding, problem, stopping)
    factors = [0.01, 0.1, 1.0, 0.3]
    path = dual_cd.follow_path(made, placed, stopping, factors)
    for factor, found in zip(factors, path, strict=True):
        scaled = replace(problem, cost_negative=factor, cost_positive=factor)
        cold = solve(X, embedding, scaled, stopping)
        assert found.converged
        assert found.primal == pytest.approx(cold.primal, rel=1e-6)
        assert found.primal == pytest.approx(value_of(found, X, embedding, scaled), rel=1e-9)


def test_a_path_that_is_stopped_is_shorter():
    X, embedding, problem = make_problem(7, 300)
    stopping = Stopping(tol=1e-9, watch=Watch(tell=lambda progress: True))
    made, placed = prepare(X, embedding, problem, stopping)
    assert len(dual_cd.follow_path(made, placed, stopping, [1.0, 2.0])) == 1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_starts_from_dual_variables(loss):
    X, embedding, problem = make_problem(8, 300, loss=loss)
    stopping = Stopping(tol=1e-8, max_iter=50_000)
    cold = solve(X, embedding, problem, stopping)
    again = solve(X, embedding, problem, stopping, Start(alpha=cold.alpha))
    assert again.n_iter == 0
    assert again.primal == pytest.approx(cold.primal, rel=1e-9)
    np.testing.assert_allclose(again.coef, cold.coef, atol=1e-9 * np.abs(cold.coef).max())


@pytest.mark.parametrize("loss", [SquaredError(), EpsilonInsensitive(0.2)], ids=repr)
def test_stays_close_to_an_earlier_model(loss):
    """With w_0 the penalty is 1/2 |w - w_0|^2: the same as fitting what w_0 leaves over."""
    X, embedding, problem = make_problem(9, 200, loss=loss)
    stopping = Stopping(tol=1e-9, max_iter=50_000)
    random = np.random.default_rng(0)
    coef = 0.1 * random.normal(size=(embedding.n_features, embedding.basis.size))
    near = solve(X, embedding, problem, stopping, Start(coef=coef, intercept=0.7, proximal=True))
    left = problem.targets - scores(embedding, coef, 0.7, X)
    rest = solve(X, embedding, replace(problem, targets=left), stopping)
    assert near.primal == pytest.approx(rest.primal, rel=1e-7)
    np.testing.assert_allclose(near.coef, rest.coef + coef, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_of_weight_zero_do_not_count(loss):
    X, embedding, problem = make_problem(10, 200, loss=loss)
    kept = np.random.default_rng(1).random(200) < 0.7
    stopping = Stopping(tol=1e-8, max_iter=50_000)
    weighted = solve(X, embedding, replace(problem, weights=kept * 1.0), stopping)
    targets = None if problem.targets is None else problem.targets[kept]
    fewer = replace(problem, y=problem.y[kept], targets=targets)
    alone = solve(X[kept], embedding, fewer, stopping)
    assert weighted.primal == pytest.approx(alone.primal, rel=1e-7)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32, ">f8"])
def test_reads_every_type_as_its_values(dtype):
    random = np.random.default_rng(0)
    X = random.integers(0, 100, size=(300, 5))
    y = np.where(X[:, 0] > 50, 1, -1).astype(np.int8)
    basis = BSplineBasis(1, 8)
    embedding = Embedding.of(
        Axes.spanning(X.min(axis=0) * 1.0, X.max(axis=0) * 1.0, basis), basis, 1, native=False
    )
    problem = Problem(y, Hinge(), 1.0, 1.0)
    expected = solve(X.astype(float), embedding, problem, Stopping())
    found = solve(X.astype(dtype), embedding, problem, Stopping())
    np.testing.assert_array_equal(found.coef, expected.coef)
