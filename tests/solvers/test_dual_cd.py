"""The core's dual coordinate descent against a slow one, and against its own certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from splinear.axes import Axes
from splinear.basis import BSplineBasis, FourierBasis, HermiteBasis
from splinear.embedding import Embedding
from splinear.losses import Hinge, SquaredHinge
from splinear.objective import primal
from splinear.solvers import dual_cd, oracle
from splinear.solvers.problem import Problem, Stopping

BASES = [BSplineBasis(r, n) for r, n in [(0, 7), (1, 5), (2, 4), (3, 6)]]
BASES += [FourierBasis(2), HermiteBasis(3)]
LOSSES = [Hinge, SquaredHinge]


def make_problem(seed=0, n=90, p=4, basis=BASES[1], order=1, native=False, loss=Hinge, **options):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=n) > 1, 1, -1)
    y[:2] = [-1, 1]
    axes = Axes.spanning(X.min(axis=0), X.max(axis=0), basis)
    embedding = Embedding.of(axes, basis, order, native=native)
    defaults = {"cost_negative": 1.0, "cost_positive": 1.0}
    return X, embedding, Problem(y=y.astype(np.int8), loss=loss, **(defaults | options))


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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("native", [False, True])
def test_equals_the_oracle(basis, loss, native):
    X, embedding, problem = make_problem(basis=basis, loss=loss, native=native)
    fast = dual_cd.solve(X, embedding, problem, Stopping(tol=1e-9, max_iter=50_000))
    slow = oracle.solve(X, embedding, problem, Stopping(tol=1e-6, max_iter=3000))
    assert slow.converged
    assert fast.converged
    assert fast.primal == pytest.approx(slow.primal, rel=2e-6)
    curves = embedding.basis.evaluate(np.linspace(*embedding.basis.domain, 9))
    # The gap bounds the squared distance of the weights: 1e-6 in the one is 1e-3 in the other.
    np.testing.assert_allclose(curves @ fast.coef.T, curves @ slow.coef.T, atol=2e-2)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_codes_of_16_bits_suffice(basis, monkeypatch):
    """The optimum on coded rows is the optimum on the rows, within a tenth of what is asked."""
    X, embedding, problem = make_problem(6, 500, basis=basis)
    stopping = Stopping(tol=1e-6, max_iter=20_000)
    exact = dual_cd.solve(X, embedding, problem, stopping)
    monkeypatch.setattr(dual_cd, "CODES_SUFFICE", 0.0)
    coded = dual_cd.solve(X, embedding, problem, stopping)
    value = primal(embedding, Hinge, coded.coef, coded.intercept, X, problem.y, problem.cost)
    assert value == pytest.approx(exact.primal, rel=1e-4)
    if basis.degree > 0:  # degree 0 sees the bin alone, which a code holds exactly
        assert np.any(coded.coef != exact.coef)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_certificate_is_true(basis, loss, tol):
    X, embedding, problem = make_problem(1, 200, basis=basis, loss=loss, cost_positive=2.5)
    X = on_code_grid(X, embedding)
    found = dual_cd.solve(X, embedding, problem, Stopping(tol=tol, max_iter=50_000))
    assert found.converged
    assert found.gap <= tol
    assert (found.primal - found.dual) / found.primal == pytest.approx(found.gap, abs=1e-12)
    value = primal(
        embedding, loss, found.coef, found.intercept, X, problem.y, problem.cost, problem.bias
    )
    single = tol >= dual_cd.CODES_SUFFICE  # then the tables may be in single precision
    assert value == pytest.approx(found.primal, rel=1e-5 if single else 1e-9)
    tight = dual_cd.solve(X, embedding, problem, Stopping(tol=1e-10, max_iter=100_000))
    assert found.dual <= tight.primal * (1 + 1e-9)
    assert found.primal <= tight.primal / (1 - tol)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 200), p=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_optimality_conditions(seed, n, p):
    """At the optimum w = sum_i a_i y_i phi_i for some a that the margins allow."""
    X, embedding, problem = make_problem(seed, n, p)
    X = on_code_grid(X, embedding)
    found = dual_cd.solve(X, embedding, problem, Stopping(tol=1e-11, max_iter=100_000))
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
    weighted = Problem(problem.y, Hinge, 1.0, 1.0, weights=repeats.astype(float))
    repeated = Problem(np.repeat(problem.y, repeats), Hinge, 1.0, 1.0)
    stopping = Stopping(tol=1e-12, max_iter=100_000)
    one = dual_cd.solve(X, embedding, weighted, stopping)
    two = dual_cd.solve(np.repeat(X, repeats, axis=0), embedding, repeated, stopping)
    assert one.primal == pytest.approx(two.primal, rel=1e-8)


def test_no_intercept():
    X, embedding, problem = make_problem(bias=0.0)
    found = dual_cd.solve(X, embedding, problem, Stopping(tol=1e-6))
    assert found.intercept == 0.0
    slow = oracle.solve(X, embedding, problem, Stopping(tol=1e-6, max_iter=3000))
    assert found.primal == pytest.approx(slow.primal, rel=1e-4)


def test_threads_change_nothing():
    X, embedding, problem = make_problem(3, 9000, 5)
    results = [
        dual_cd.solve(X, embedding, problem, Stopping(tol=1e-3, n_threads=threads))
        for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].coef, other.coef)
        assert (results[0].gap, results[0].n_iter) == (other.gap, other.n_iter)


def test_stops_at_max_iter_and_says_so():
    X, embedding, problem = make_problem(4, 300, cost_positive=100.0, cost_negative=100.0)
    found = dual_cd.solve(X, embedding, problem, Stopping(tol=1e-12, max_iter=3))
    assert found.n_iter == 3
    assert not found.converged
    assert found.gap > 1e-12


def test_gaps_reported_on_the_way_shrink():
    seen = []
    X, embedding, problem = make_problem(5, 2000)
    stopping = Stopping(tol=1e-4, max_iter=5000, on_pass=lambda *news: seen.append(news))
    found = dual_cd.solve(X, embedding, problem, stopping)
    passes, gaps, active = zip(*seen, strict=True)
    assert passes == tuple(range(1, found.n_iter + 1))
    assert gaps[-1] < 0.01 * gaps[0]
    assert max(active) <= 2000
    assert active[-1] < 2000  # some rows were set aside


def test_an_error_in_the_callback_stops_the_fit():
    def fail(*news):
        raise RuntimeError(f"enough after {news[0]}")

    X, embedding, problem = make_problem()
    with pytest.raises(RuntimeError, match="enough after 1"):
        dual_cd.solve(X, embedding, problem, Stopping(on_pass=fail))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32, ">f8"])
def test_reads_every_type_as_its_values(dtype):
    random = np.random.default_rng(0)
    X = random.integers(0, 100, size=(300, 5))
    y = np.where(X[:, 0] > 50, 1, -1).astype(np.int8)
    basis = BSplineBasis(1, 8)
    embedding = Embedding.of(
        Axes.spanning(X.min(axis=0) * 1.0, X.max(axis=0) * 1.0, basis), basis, 1, native=False
    )
    problem = Problem(y, Hinge, 1.0, 1.0)
    expected = dual_cd.solve(X.astype(float), embedding, problem, Stopping())
    found = dual_cd.solve(X.astype(dtype), embedding, problem, Stopping())
    np.testing.assert_array_equal(found.coef, expected.coef)
