"""Newton's method against other minimisers, and against its own certificate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import entr, softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from splinear.axes import Axes
from splinear.basis import BSplineBasis, FourierBasis, HermiteBasis
from splinear.embedding import Embedding
from splinear.losses import Logistic, SquaredError, SquaredHinge
from splinear.solvers import dual_cd, newton
from splinear.solvers.problem import Problem, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable, Softmax
from splinear.solvers.watch import Watch

BASES = [BSplineBasis(r, n) for r, n in [(0, 7), (1, 5), (2, 4), (3, 6)]]
BASES += [FourierBasis(2), HermiteBasis(3)]
LOSSES = [SquaredHinge(), Logistic(), SquaredError()]
TIGHT = Stopping(tol=1e-10, max_iter=200)

by_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
by_basis = pytest.mark.parametrize("basis", BASES, ids=repr)
both_ways = pytest.mark.parametrize("way", ["dense", "banded"])


@pytest.fixture(autouse=True)
def _one_thread_for_blas():
    """Threads for matrices of this size cost more than they bring, by far on a busy machine."""
    with threadpool_limits(1, user_api="blas"):
        yield


def make_problem(loss, basis=BASES[1], *, seed=0, n=100, p=4, order=1, native=False, **options):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * random.normal(size=n)
    axes = Axes.spanning(X.min(axis=0), X.max(axis=0), basis)
    embedding = Embedding.of(axes, basis, order, native=native)
    defaults = {"cost_negative": 0.7, "cost_positive": 1.5, "bias": 1.3}
    y = np.where(signal > 1, 1, -1).astype(np.int8)
    if isinstance(loss, SquaredError):
        y, defaults["targets"] = np.ones(n, dtype=np.int8), signal
    return X, embedding, Problem(y=y, loss=loss, **(defaults | options))


def place(X, embedding, problem, stopping):
    """The rows and the problem in the order of training."""
    rows = TrainingRows.prepare(X, embedding, tol=stopping.tol, n_threads=stopping.n_threads)
    placed = {
        name: None if getattr(problem, name) is None else rows.place(getattr(problem, name))
        for name in ("y", "weights", "targets")
    }
    return rows, replace(problem, **placed)


def solve(X, embedding, problem, stopping=TIGHT, start=None, way="auto"):
    rows, placed = place(X, embedding, problem, stopping)
    total = Separable(placed, placed.loss)
    return newton.solve(rows, total, stopping, problem.bias, start, preconditioner=way)[0]


def features(X, embedding, bias):
    return np.column_stack([embedding.transform(X), np.full(len(X), bias)])


def weights_of(embedding, coef, intercept, bias):
    return np.append(embedding.weights(coef).ravel(), intercept / bias)


def by_scipy(X, embedding, problem, centre=0.0):
    """The least value of 1/2 |w - centre|^2 + losses on the explicit features, by L-BFGS."""
    phi = features(X, embedding, problem.bias)

    def value_and_gradient(w):
        m = problem.margin(phi @ w)
        value = 0.5 * np.sum((w - centre) ** 2) + problem.cost @ problem.loss.value(m)
        slopes = problem.cost * problem.y * problem.loss.slope(m)
        return value, w - centre + phi.T @ slopes

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(phi.shape[1])
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return found.fun


@by_loss
@by_basis
@both_ways
def test_equals_scipy_on_the_explicit_embedding(basis, loss, way):
    X, embedding, problem = make_problem(loss, basis)
    found = solve(X, embedding, problem, way=way)
    assert found.converged
    assert found.primal == pytest.approx(by_scipy(X, embedding, problem), rel=1e-8)


@by_loss
@by_basis
@pytest.mark.parametrize("native", [False, True])
def test_equals_dual_coordinate_descent(basis, loss, native):
    X, embedding, problem = make_problem(loss, basis, seed=1, native=native)
    found = solve(X, embedding, problem)
    stopping = Stopping(tol=1e-7, max_iter=50_000)
    other = dual_cd.solve(*place(X, embedding, problem, stopping), stopping)
    assert found.converged
    assert other.converged
    assert found.primal == pytest.approx(other.primal, rel=1e-6)


@pytest.mark.parametrize("order", [0, 2, 3])
@both_ways
def test_penalties_of_any_order(order, way):
    X, embedding, problem = make_problem(Logistic(), BSplineBasis(2, 7), order=order)
    found = solve(X, embedding, problem, way=way)
    # The higher the order, the worse is the condition of the explicit problem for L-BFGS.
    assert found.primal == pytest.approx(by_scipy(X, embedding, problem), rel=1e-6)
    assert found.converged


@by_loss
@both_ways
def test_certificate_is_the_duality_gap(loss, way):
    """P - D, by NumPy, of a model that is far from the optimum."""
    X, embedding, problem = make_problem(loss, seed=2)
    stopping = Stopping(tol=1e-9, max_iter=0)  # after a step its promise may be less
    start = Start(coef=np.full((4, 6), 0.4), intercept=-0.3)
    found = solve(X, embedding, problem, stopping, start, way)
    phi = features(X, embedding, problem.bias)
    w = weights_of(embedding, found.coef, found.intercept, problem.bias)
    m = problem.margin(phi @ w)
    primal = 0.5 * w @ w + problem.cost @ loss.value(m)
    alpha = -problem.cost * loss.slope(m)
    dual = np.sum(loss.dual(alpha, problem.cost)) - 0.5 * np.sum((phi.T @ (alpha * problem.y)) ** 2)
    dual += 0.0 if problem.targets is None else alpha @ problem.targets
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert found.gap * primal == pytest.approx(primal - dual, rel=1e-5, abs=1e-10 * primal)
    assert found.primal - found.dual == pytest.approx(found.gap * primal, abs=1e-10 * primal)
    assert found.gap > 1e-6
    assert not found.converged


@by_loss
@both_ways
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_the_gap_is_true(loss, way, tol):
    """What is left to gain is less than the gap, certificate or promise, says."""
    X, embedding, problem = make_problem(loss, seed=13, n=500, cost_negative=50, cost_positive=50)
    rough = solve(X, embedding, problem, Stopping(tol=tol, max_iter=200), way=way)
    fine = solve(X, embedding, problem, way=way)
    assert rough.converged
    assert rough.gap <= tol
    assert rough.primal - fine.primal <= tol * rough.primal


def multinomial(seed=3, n=200, n_classes=4, basis=BASES[1]):
    X, embedding, _ = make_problem(Logistic(), basis, seed=seed, n=n)
    edges = np.quantile(X[:, 0] + 0.5 * X[:, 1] ** 2, np.linspace(0, 1, n_classes + 1)[1:-1])
    labels = np.searchsorted(edges, X[:, 0] + 0.5 * X[:, 1] ** 2)
    cost = np.random.default_rng(seed).uniform(0.2, 2.0, n)
    return X, embedding, labels, cost


def solve_softmax(X, embedding, labels, cost, stopping=TIGHT, start=None, bias=1.0):
    rows = TrainingRows.prepare(X, embedding, tol=stopping.tol)
    total = Softmax(rows.place(labels), rows.place(cost), int(labels.max()) + 1)
    return newton.solve(rows, total, stopping, bias, start)


@by_basis
def test_softmax_equals_scikit_learn(basis):
    X, embedding, labels, cost = multinomial(basis=basis)
    found = solve_softmax(X, embedding, labels, cost, bias=0.8)
    phi = features(X, embedding, 0.8)  # the intercept is a column, and penalised like all others
    other = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    other.fit(phi, labels, sample_weight=cost)
    log_p = other.predict_log_proba(phi)
    value = 0.5 * np.sum(other.coef_**2) - cost @ log_p[np.arange(len(X)), labels]
    assert found[0].converged
    assert found[0].primal == pytest.approx(value, rel=1e-7)
    W = np.stack([weights_of(embedding, one.coef, one.intercept, 0.8) for one in found])
    np.testing.assert_allclose(phi @ W.T, phi @ other.coef_.T, atol=1e-3)


def test_certificate_of_the_softmax():
    X, embedding, labels, cost = multinomial()
    found = solve_softmax(X, embedding, labels, cost, Stopping(tol=1e-9, max_iter=0))
    phi = features(X, embedding, 1.0)
    W = np.stack([weights_of(embedding, one.coef, one.intercept, 1.0) for one in found])
    p = softmax(phi @ W.T, axis=1)
    rows = np.arange(len(X))
    primal = 0.5 * np.sum(W**2) - cost @ np.log(p[rows, labels])
    alpha = -cost[:, None] * p
    alpha[rows, labels] += cost
    dual = cost @ entr(p).sum(axis=1) - 0.5 * np.sum((alpha.T @ phi) ** 2)
    assert found[0].gap > 1e-6
    assert found[0].gap * primal == pytest.approx(primal - dual, rel=1e-6)


@by_loss
@both_ways
def test_stays_close_to_an_earlier_model(loss, way):
    X, embedding, problem = make_problem(loss, seed=4)
    coef = 0.3 * np.random.default_rng(0).normal(size=(4, 6))
    start = Start(coef=coef, intercept=0.7, proximal=True)
    found = solve(X, embedding, problem, TIGHT, start, way)
    centre = weights_of(embedding, coef, 0.7, problem.bias)
    assert found.primal == pytest.approx(by_scipy(X, embedding, problem, centre), rel=1e-8)


@by_loss
@both_ways
def test_a_start_changes_the_way_and_not_the_end(loss, way):
    X, embedding, problem = make_problem(loss, seed=5)
    cold = solve(X, embedding, problem, way=way)
    start = Start(coef=cold.coef, intercept=cold.intercept)
    again = solve(X, embedding, problem, start=start, way=way)
    assert again.n_iter == 0
    far = Start(coef=np.full_like(cold.coef, 3.0), intercept=-5.0)
    found = solve(X, embedding, problem, start=far, way=way)
    assert found.primal == pytest.approx(cold.primal, rel=1e-9)


@by_loss
@by_basis
@both_ways
def test_a_constant_feature_has_no_curve(basis, loss, way):
    X, _, problem = make_problem(loss, basis, seed=6)
    wider = np.insert(X, 2, 5.0, axis=1)
    found = []
    for table in (X, wider):
        axes = Axes.spanning(table.min(axis=0), table.max(axis=0), basis)
        embedding = Embedding.of(axes, basis, 1, native=False)
        found.append(solve(table, embedding, problem, way=way))
    assert found[1].primal == pytest.approx(found[0].primal, rel=1e-9)
    np.testing.assert_array_equal(found[1].coef[2], 0.0)
    np.testing.assert_allclose(np.delete(found[1].coef, 2, axis=0), found[0].coef, atol=1e-4)


@by_loss
@both_ways
def test_weights_are_repeats(loss, way):
    X, embedding, problem = make_problem(loss, seed=7)
    repeats = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = solve(X, embedding, replace(problem, weights=repeats.astype(float)), way=way)
    targets = None if problem.targets is None else np.repeat(problem.targets, repeats)
    repeated = replace(problem, y=np.repeat(problem.y, repeats), targets=targets)
    other = solve(np.repeat(X, repeats, axis=0), embedding, repeated, way=way)
    assert weighted.primal == pytest.approx(other.primal, rel=1e-9)


@by_loss
@both_ways
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_threads_change_nothing_but_rounding(loss, way, tol):
    X, embedding, problem = make_problem(loss, seed=8, n=9000)
    found = [
        solve(X, embedding, problem, Stopping(tol=tol, n_threads=threads), way=way)
        for threads in (1, 3)
    ]
    assert found[0].n_iter == found[1].n_iter
    np.testing.assert_allclose(found[0].coef, found[1].coef, rtol=1e-9, atol=1e-12)


@both_ways
def test_no_intercept(way):
    X, embedding, problem = make_problem(Logistic(), bias=0.0)
    found = solve(X, embedding, problem, way=way)
    assert found.intercept == 0.0
    assert found.primal == pytest.approx(by_scipy(X, embedding, problem), rel=1e-8)


@both_ways
def test_costs_from_tiny_to_huge(way):
    """A large cost asks for many steps, some of them too long for the quadratic model."""
    for cost in (1e-6, 1e4):
        X, embedding, problem = make_problem(
            Logistic(), seed=9, cost_negative=cost, cost_positive=cost
        )
        found = solve(X, embedding, problem, Stopping(tol=1e-8, max_iter=200), way=way)
        assert found.converged
        assert found.primal == pytest.approx(by_scipy(X, embedding, problem), rel=1e-6)


@by_loss
def test_a_sample_of_rows_preconditions(loss, monkeypatch):
    """The optimum is that of all rows, however few the Hessian was formed from."""
    X, embedding, problem = make_problem(loss, seed=12, n=400)
    monkeypatch.setattr(newton, "ROWS_PER_COEFFICIENT", 2)
    sampled = solve(X, embedding, problem, way="dense")
    assert sampled.primal == pytest.approx(solve(X, embedding, problem, way="banded").primal)
    assert sampled.converged


def test_the_dense_way_is_for_few_coefficients(monkeypatch):
    made = []
    real = newton._Dense

    def watched(*arguments):
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(newton, "_Dense", watched)
    X, embedding, problem = make_problem(SquaredError())
    solve(X, embedding, problem)
    assert made
    made.clear()
    monkeypatch.setattr(newton, "MAX_DENSE", 7)
    assert not newton.forms_hessian(embedding)
    solve(X, embedding, problem)
    assert not made


@both_ways
def test_stops_at_max_iter_and_says_so(way):
    X, embedding, problem = make_problem(Logistic(), seed=10)
    found = solve(X, embedding, problem, Stopping(tol=1e-12, max_iter=2), way=way)
    assert found.n_iter == 2
    assert not found.converged


@both_ways
def test_the_callback_and_the_clock_may_stop_it(way):
    X, embedding, problem = make_problem(Logistic(), seed=10)
    seen = []
    watch = Watch(tell=lambda progress: seen.append(progress) or progress.n_iter == 2)
    found = solve(X, embedding, problem, Stopping(tol=1e-12, watch=watch), way=way)
    assert [progress.n_iter for progress in seen] == [1, 2]
    assert seen[-1].gap == found.gap
    assert (found.n_iter, found.converged, watch.reason) == (2, False, "callback")
    watch = Watch(deadline=0.0)
    found = solve(X, embedding, problem, Stopping(tol=1e-12, watch=watch), way=way)
    assert found.n_iter <= 1
    assert watch.reason == "time_limit"


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_an_error_in_the_callback_stops_it_and_is_kept(kind):
    def fail(progress):
        raise kind

    X, embedding, problem = make_problem(Logistic(), seed=10)
    watch = Watch(tell=fail)
    found = solve(X, embedding, problem, Stopping(tol=1e-12, watch=watch))
    assert isinstance(watch.error, kind)
    assert found.n_iter == 1
    w = weights_of(embedding, found.coef, found.intercept, problem.bias)
    margin = problem.margin(features(X, embedding, problem.bias) @ w)
    value = 0.5 * w @ w + problem.cost @ problem.loss.value(margin)
    assert found.primal == pytest.approx(value, rel=1e-9)
