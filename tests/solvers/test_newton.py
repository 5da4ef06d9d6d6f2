"""Newton's method against other minimizers, and against its own certificate."""

from dataclasses import replace

import numpy as np
import pytest
from preparing import prepare, with_means
from scipy.optimize import minimize
from scipy.special import entr, log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from written_out import explicit, primal, weights_of

from splinear.losses import Gamma, Logistic, Poisson, Softmax, SquaredError
from splinear.objective import whole_hessian
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Problem, Start, Stopping
from splinear.objective.step import Step
from splinear.objective.watch import Watch
from splinear.solvers import newton
from splinear.solvers.hinge import dual_cd
from splinear.tables.opening import open_table
from splinear.terms import Category, Spline
from splinear.terms.basis import BSplineBasis, FourierBasis, HermiteBasis

BASES = [BSplineBasis(r, n) for r, n in [(0, 7), (1, 5), (2, 4), (3, 6)]]
BASES += [FourierBasis(2), HermiteBasis(3)]
COMPILED = [Logistic(), SquaredError()]  # for dual coordinate descent
LOSSES = [*COMPILED, Poisson(), Gamma()]
TIGHT = Stopping(tol=1e-10, max_iter=200)

by_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
by_basis = pytest.mark.parametrize("basis", BASES, ids=repr)
by_kind = pytest.mark.parametrize("basis", [BASES[1], "mixed"], ids=repr)
both_ways = pytest.mark.parametrize("way", ["dense", "banded"])


@pytest.fixture(scope="session")
def make_problem(curves, mixed, on_code_grid):
    """Curves of one basis, or terms of all kinds with gaps (basis="mixed"), and a problem."""

    def make(loss, basis=BASES[1], *, seed=0, n=100, p=4, order=1, native=False, **options):
        random = np.random.default_rng(seed)
        if basis == "mixed":
            X, layout = mixed(seed, n)
            X = on_code_grid(X, layout)
        else:
            X = random.normal(size=(n, p))
            layout = curves(X, basis, order, native=native)
        filled = np.where(np.isnan(X), 1.5, X)
        signal = np.sin(2 * filled[:, 0]) + filled[:, 1] ** 2 + 0.5 * random.normal(size=n)
        defaults = {"cost_negative": 0.7, "cost_positive": 1.5}
        y = np.where(signal > 1, 1, -1).astype(np.int8)
        if not isinstance(loss, Logistic):
            sign = -1 if isinstance(loss, Gamma) else 1
            y, defaults["targets"] = np.full(n, sign, dtype=np.int8), sign * signal
        return X, layout, Problem(y=y, loss=loss, **(defaults | options))

    return make


def solve(X, layout, problem, stopping=TIGHT, start=None, way="auto", exact=None):
    made, placed = prepare(X, layout, problem, stopping, exact=exact)
    total = Separable(placed)
    return newton.solve(made, total, stopping, start, preconditioner=way)[0]


def by_scipy(X, layout, problem):
    """The least value of 1/2 |w|^2 + losses of w'phi + b, by L-BFGS; b is not penalized."""
    phi = np.column_stack([explicit(layout, X), np.ones(len(X))])

    def value_and_gradient(w):
        m = problem.margin(phi @ w)
        penalized = np.append(w[:-1], 0.0)
        value = 0.5 * penalized @ penalized + problem.cost @ problem.loss.of_margin(m)
        slopes = problem.cost * problem.y * problem.loss.derivatives(m)[0]
        return value, penalized + phi.T @ slopes

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(phi.shape[1])
    return minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)


def value_of(found, X, layout, problem):
    targets = 0.0 if problem.targets is None else problem.targets
    coef, intercept = found.coef, found.intercept
    return primal(layout, problem.loss, coef, intercept, X, problem.y, problem.cost, None, targets)


@by_loss
@pytest.mark.parametrize("basis", [*BASES, "mixed"], ids=repr)
@both_ways
def test_equals_scipy_on_the_explicit_embedding(basis, loss, way, make_problem):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    X, layout, problem = make_problem(loss, basis, weights=weights)
    found = solve(X, layout, problem, way=way)
    layout = with_means(X, layout, problem)
    other = by_scipy(X, layout, problem)
    assert found.converged
    assert found.primal == pytest.approx(other.fun, rel=1e-8)
    assert found.primal == pytest.approx(value_of(found, X, layout, problem), rel=1e-10)
    np.testing.assert_allclose(weights_of(layout, found.coef), other.x[:-1], atol=1e-3)
    assert found.intercept == pytest.approx(other.x[-1], abs=1e-3)


@pytest.mark.parametrize("loss", COMPILED, ids=repr)
@by_basis
def test_equals_dual_coordinate_descent(basis, loss, make_problem):
    """Which penalizes the intercept: its optimum lies above, by no more than that penalty."""
    X, layout, problem = make_problem(loss, basis, seed=1, native=loss is LOSSES[0], bias=3.0)
    found = solve(X, layout, problem)
    stopping = Stopping(tol=1e-8, max_iter=100_000)
    other = dual_cd.solve(*prepare(X, layout, problem, stopping), stopping)
    assert found.converged
    assert other.converged
    assert found.primal <= other.primal * (1 + 1e-9)
    assert other.primal <= (found.primal + 0.5 * (found.intercept / 3.0) ** 2) * (1 + 1e-7)
    assert other.primal == pytest.approx(found.primal, rel=2e-2)


@pytest.mark.parametrize("order", [0, 2, 3])
@both_ways
def test_penalties_of_any_order(order, way, make_problem):
    X, layout, problem = make_problem(Logistic(), BSplineBasis(2, 7), order=order)
    found = solve(X, layout, problem, way=way)
    # The higher the order, the worse is the condition of the explicit problem for L-BFGS.
    assert found.primal == pytest.approx(by_scipy(X, layout, problem).fun, rel=1e-6)
    assert found.converged


@by_loss
@both_ways
def test_edges_that_weigh_single_steps(loss, way, make_problem):
    """A step of weight w is a feature divided by its root."""
    X, layout, problem = make_problem(loss, seed=3)
    (group,) = layout.groups
    edges = np.random.default_rng(0).uniform(0.2, 5.0, size=(group.n_features, group.size))
    stiff = layout.with_groups(
        [group.with_variance(group.embedding.variance, group.missing_variance, edges)]
    )
    found = solve(X, stiff, problem, way=way)
    phi = explicit(layout, X) / np.sqrt(edges.ravel())

    def value_and_gradient(w):
        m = problem.margin(phi @ w[:-1] + w[-1])
        slopes = problem.cost * problem.y * loss.derivatives(m)[0]
        value = 0.5 * w[:-1] @ w[:-1] + problem.cost @ loss.of_margin(m)
        return value, np.append(w[:-1] + phi.T @ slopes, slopes.sum())

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(phi.shape[1] + 1)
    other = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    assert found.primal == pytest.approx(other.fun, rel=1e-8)


# -- categories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["codes", "values"])
@pytest.mark.parametrize("n_levels", [60_000, 70_000])
@by_loss
def test_levels_that_no_row_has_change_nothing(loss, n_levels, form, laid_out):
    """With codes of 16 and of 32 bits, and far more coefficients than rows."""
    random = np.random.default_rng(n_levels)
    common = np.append(random.choice(n_levels, 11, replace=False), n_levels - 1)
    X = np.column_stack([random.choice(common, 300), random.normal(size=300)]).astype(float)
    signal = np.sin(3 * X[:, 1]) + X[:, 0] % 3 + 0.3 * random.normal(size=300)
    X[random.random(300) < 0.2, 0] = np.nan
    there = ~np.isnan(X[:, 0])
    levels, index = np.unique(X[there, 0], return_inverse=True)
    few = X.copy()
    few[there, 0] = index
    is_regression = not isinstance(loss, Logistic)
    y = np.ones(300) if is_regression else np.where(signal > 1, 1, -1)
    targets = signal if is_regression else None
    problem = Problem(y.astype(np.int8), loss, 1.0, 1.0, targets=targets)
    terms = {0: Category(), 1: Spline(6)}
    found, expected = (
        solve(
            table,
            laid_out(table, terms, {0: tuple(range(n))}),
            problem,
            Stopping(tol=1e-8),
            exact=form == "values",
        )
        for table, n in ((X, n_levels), (few, len(levels)))
    )
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-7)
    effects, others = found.coef[:n_levels], expected.coef[: len(levels)]
    np.testing.assert_allclose(effects[levels.astype(int)], others, atol=1e-3)
    np.testing.assert_allclose(np.delete(effects, levels.astype(int)), 0.0, atol=1e-6)
    assert found.coef[n_levels] == pytest.approx(expected.coef[len(levels)], abs=1e-3)  # the gap


# -- certificates --------------------------------------------------------------------------------


@by_loss
@by_kind
@both_ways
def test_certificate_is_the_duality_gap(loss, basis, way, make_problem):
    """P - D, by NumPy, of a model that is far from the optimum."""
    X, layout, problem = make_problem(loss, basis, seed=2)
    layout = with_means(X, layout)
    stopping = Stopping(tol=1e-9, max_iter=0)  # after a step its promise may be less
    start = Start(coef=np.full(layout.n_parameters, 0.4), intercept=-0.3)
    found = solve(X, layout, problem, stopping, start, way)
    phi, w = explicit(layout, X), weights_of(layout, found.coef)
    m = problem.margin(phi @ w + found.intercept)
    value = 0.5 * w @ w + problem.cost @ loss.of_margin(m)
    alpha = -problem.cost * loss.derivatives(m)[0]
    # The intercept is at its best, so the dual variables are feasible: they sum to zero.
    assert abs(alpha @ problem.y) <= 1e-8 * np.abs(alpha).sum()
    dual = np.sum(loss.dual(alpha, problem.cost)) - 0.5 * np.sum((phi.T @ (alpha * problem.y)) ** 2)
    dual += 0.0 if problem.targets is None else alpha @ problem.targets
    assert found.primal == pytest.approx(value, rel=1e-9)
    assert found.gap * value == pytest.approx(value - dual, rel=1e-5, abs=1e-10 * value)
    assert found.primal - found.dual == pytest.approx(found.gap * value, abs=1e-10 * value)
    assert found.gap > 1e-6
    assert not found.converged
    assert not found.certified


@by_loss
@by_kind
@both_ways
def test_the_gap_bounds_what_is_left_to_gain(loss, basis, way, make_problem):
    """P - P* <= gap after every step, with P and the gap by NumPy and P* by SciPy."""
    X, layout, problem = make_problem(loss, basis, seed=4, cost_negative=5.0, cost_positive=5.0)
    layout = with_means(X, layout)
    least = by_scipy(X, layout, problem).fun
    phi = explicit(layout, X)
    for max_iter in range(5):
        found = solve(X, layout, problem, Stopping(tol=1e-12, max_iter=max_iter), way=way)
        w = weights_of(layout, found.coef)
        m = problem.margin(phi @ w + found.intercept)
        alpha = -problem.cost * loss.derivatives(m)[0]
        value = 0.5 * w @ w + problem.cost @ loss.of_margin(m)
        dual = np.sum(loss.dual(alpha, problem.cost))
        dual -= 0.5 * np.sum((phi.T @ (alpha * problem.y)) ** 2)
        dual += 0.0 if problem.targets is None else alpha @ problem.targets
        assert dual <= least * (1 + 1e-8)
        assert value - least <= found.gap * value + 1e-8 * value
        assert found.gap == pytest.approx((value - dual) / value, rel=1e-4, abs=1e-9)
        assert found.certified == (found.gap <= 1e-12)


@by_loss
@both_ways
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_the_gap_is_true(loss, way, tol, make_problem):
    """What is left to gain is less than tol, by certificate or promise."""
    X, layout, problem = make_problem(loss, seed=13, n=500, cost_negative=50, cost_positive=50)
    rough = solve(X, layout, problem, Stopping(tol=tol, max_iter=200), way=way)
    fine = solve(X, layout, problem, way=way)
    assert rough.converged
    assert rough.certified == (rough.gap <= tol)
    assert rough.primal - fine.primal <= tol * rough.primal


@by_loss
@by_kind
@both_ways
def test_the_intercept_is_free(loss, basis, way, make_problem):
    """The gradient by b is zero, and b takes what a constant in the targets adds."""
    X, layout, problem = make_problem(loss, basis, seed=14)
    found = solve(X, layout, problem, way=way)
    layout = with_means(X, layout)
    f = explicit(layout, X) @ weights_of(layout, found.coef)
    slopes = problem.cost * problem.y * loss.derivatives(problem.margin(f + found.intercept))[0]
    assert abs(slopes.sum()) <= 1e-7 * np.abs(slopes).sum()
    if problem.targets is not None:
        targets = problem.targets + 1e4 * problem.y
        higher = solve(X, layout, replace(problem, targets=targets), way=way)
        assert higher.intercept == pytest.approx(found.intercept + 1e4, rel=1e-8)
        np.testing.assert_allclose(higher.coef, found.coef, atol=1e-4)


# -- several classes -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def multinomial(make_problem):
    def make(seed=3, n=200, n_classes=4, basis=BASES[1]):
        X, layout, _ = make_problem(Logistic(), basis, seed=seed, n=n)
        filled = np.where(np.isnan(X), 1.5, X)
        signal = filled[:, 0] + 0.5 * filled[:, 1] ** 2
        edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
        cost = np.random.default_rng(seed).uniform(0.2, 2.0, n)
        return X, with_means(X, layout), np.searchsorted(edges, signal), cost

    return make


def solve_softmax(X, layout, labels, cost, stopping=TIGHT, start=None):
    made = TrainingRows.prepare(open_table(X), layout, exact=stopping.tol < 1e-3)
    total = Summed(Softmax(np.arange(labels.max() + 1)), made.place(labels), made.place(cost))
    return newton.solve(made, total, stopping, start)


@pytest.mark.parametrize("basis", [*BASES, "mixed"], ids=repr)
def test_softmax_equals_scikit_learn(basis, multinomial):
    X, layout, labels, cost = multinomial(basis=basis)
    found = solve_softmax(X, layout, labels, cost)
    phi = explicit(with_means(X, layout), X)
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    other.fit(phi, labels, sample_weight=cost)
    log_p = other.predict_log_proba(phi)
    value = 0.5 * np.sum(other.coef_**2) - cost @ log_p[np.arange(len(X)), labels]
    assert found[0].converged
    assert found[0].primal == pytest.approx(value, rel=1e-7)
    W = np.stack([weights_of(layout, one.coef) for one in found])
    b = np.array([one.intercept for one in found])
    # The same number for all classes changes nothing.
    np.testing.assert_allclose(b - b.mean(), other.intercept_ - other.intercept_.mean(), atol=2e-3)
    np.testing.assert_allclose(phi @ W.T, phi @ other.coef_.T, atol=2e-3)


@by_kind
def test_certificate_of_the_softmax(basis, multinomial):
    X, layout, labels, cost = multinomial(basis=basis)
    phi, at = explicit(with_means(X, layout), X), np.arange(len(X))
    best = solve_softmax(X, layout, labels, cost)[0].primal
    for max_iter in range(3):
        found = solve_softmax(X, layout, labels, cost, Stopping(tol=1e-12, max_iter=max_iter))
        W = np.stack([weights_of(layout, one.coef) for one in found])
        p = softmax(phi @ W.T + [one.intercept for one in found], axis=1)
        value = 0.5 * np.sum(W**2) - cost @ np.log(p[at, labels])
        alpha = -cost[:, None] * p
        alpha[at, labels] += cost
        assert np.abs(alpha.sum(axis=0)).max() <= 1e-8 * cost.sum()  # feasible
        dual = cost @ entr(p).sum(axis=1) - 0.5 * np.sum((alpha.T @ phi) ** 2)
        assert found[0].gap * value == pytest.approx(value - dual, rel=1e-6)
        assert value - best <= found[0].gap * value * (1 + 1e-9)
    assert found[0].gap > 1e-12


# -- the best intercepts -------------------------------------------------------------------------


@by_loss
@pytest.mark.parametrize("offset", [-30.0, 0.0, 5.0])
def test_best_shift_equals_scipy(loss, offset, make_problem):
    _, _, problem = make_problem(loss, seed=15)
    F = offset + 2.0 * np.random.default_rng(0).normal(size=(1, 100))
    total = Separable(problem)
    (shift,) = total.best_shift(F)
    other = minimize(
        lambda b: (total.value(F + b[0]), total.gradient(F + b[0]).sum(axis=1)),
        [-offset],
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10},
    )
    assert shift == pytest.approx(other.x[0], abs=1e-6)
    assert abs(total.gradient(F + shift).sum()) <= 1e-8 * np.abs(total.gradient(F)).sum()


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("spread", [0.0, 1.0, 10.0])
def test_best_shift_of_the_softmax_equals_scipy(n_classes, spread):
    random = np.random.default_rng(n_classes)
    labels, cost = random.integers(0, n_classes, 200), random.uniform(0.1, 2.0, 200)
    F = spread * random.normal(size=(n_classes, 1)) + random.normal(size=(n_classes, 200))
    total = Summed(Softmax(np.arange(n_classes)), labels, cost)
    shift = total.best_shift(F)

    def value(b):
        return -cost @ log_softmax(F + b[:, None], axis=0)[labels, np.arange(200)]

    other = minimize(value, -F.mean(axis=1), method="BFGS", options={"gtol": 1e-5})
    assert shift.mean() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(shift, other.x - other.x.mean(), atol=1e-4)
    assert np.abs(total.gradient(F + shift[:, None]).sum(axis=1)).max() <= 1e-8 * cost.sum()


def test_a_class_without_rows_ends_far_away_and_not_at_infinity():
    labels, cost = np.zeros(50, dtype=np.intp), np.ones(50)
    labels[:20] = 1
    shift = Summed(Softmax(np.arange(3)), labels, cost).best_shift(np.zeros((3, 50)))
    assert np.isfinite(shift).all()
    assert shift[2] < min(shift[:2]) - 25
    assert shift[1] - shift[0] == pytest.approx(np.log(20 / 30), abs=1e-6)


# -- starts, weights, threads --------------------------------------------------------------------


@by_loss
@by_kind
@both_ways
def test_a_start_changes_the_way_and_not_the_end(loss, basis, way, make_problem):
    X, layout, problem = make_problem(loss, basis, seed=5)
    cold = solve(X, layout, problem, way=way)
    start = Start(coef=cold.coef, intercept=cold.intercept)
    again = solve(X, layout, problem, start=start, way=way)
    assert again.n_iter == 0
    far = Start(coef=np.full_like(cold.coef, 3.0), intercept=-5.0)
    found = solve(X, layout, problem, start=far, way=way)
    assert found.primal == pytest.approx(cold.primal, rel=1e-9)


@by_loss
@by_basis
@both_ways
def test_a_constant_feature_has_no_curve(basis, loss, way, make_problem, curves):
    X, _, problem = make_problem(loss, basis, seed=6)
    wider = np.insert(X, 2, 5.0, axis=1)
    found = [solve(table, curves(table, basis), problem, way=way) for table in (X, wider)]
    assert found[1].primal == pytest.approx(found[0].primal, rel=1e-9)
    coef = found[1].coef.reshape(5, -1)
    np.testing.assert_array_equal(coef[2], 0.0)
    np.testing.assert_allclose(np.delete(coef, 2, axis=0).ravel(), found[0].coef, atol=1e-4)


@by_loss
@by_kind
@both_ways
def test_weights_are_repeats(loss, basis, way, make_problem):
    X, layout, problem = make_problem(loss, basis, seed=7)
    repeats = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = solve(X, layout, replace(problem, weights=repeats.astype(float)), way=way)
    targets = None if problem.targets is None else np.repeat(problem.targets, repeats)
    repeated = replace(problem, y=np.repeat(problem.y, repeats), targets=targets)
    other = solve(np.repeat(X, repeats, axis=0), layout, repeated, way=way)
    assert weighted.primal == pytest.approx(other.primal, rel=1e-9)
    np.testing.assert_allclose(weighted.coef, other.coef, atol=1e-3)


@by_loss
@pytest.mark.parametrize("basis", [BASES[1], "mixed"], ids=repr)
@both_ways
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_threads_change_nothing_but_rounding(loss, basis, way, tol, make_problem):
    X, layout, problem = make_problem(loss, basis, seed=8, n=3000)
    found = [
        solve(X, layout, problem, Stopping(tol=tol, n_threads=threads), way=way)
        for threads in (1, 3)
    ]
    assert found[0].n_iter == found[1].n_iter
    np.testing.assert_allclose(found[0].coef, found[1].coef, rtol=1e-9, atol=1e-12)


@both_ways
def test_costs_from_tiny_to_huge(way, make_problem):
    """A large cost asks for many steps, some of them too long for the quadratic model."""
    for cost in (1e-6, 1e4):
        X, layout, problem = make_problem(
            Logistic(), seed=9, cost_negative=cost, cost_positive=cost
        )
        found = solve(X, layout, problem, Stopping(tol=1e-8, max_iter=200), way=way)
        assert found.converged
        assert found.primal == pytest.approx(by_scipy(X, layout, problem).fun, rel=1e-6)


@by_loss
@pytest.mark.parametrize("basis", [BASES[1], "mixed"], ids=repr)
def test_a_sample_of_rows_preconditions(loss, basis, make_problem, monkeypatch):
    """The optimum is that of all rows, however few the Hessian was formed from."""
    X, layout, problem = make_problem(loss, basis, seed=12, n=400)
    monkeypatch.setattr(newton, "ROWS_PER_COEFFICIENT", 2)
    sampled = solve(X, layout, problem, way="dense")
    assert sampled.primal == pytest.approx(solve(X, layout, problem, way="banded").primal)
    assert sampled.converged


@by_loss
@pytest.mark.parametrize("basis", [BASES[1], "mixed"], ids=repr)
@both_ways
def test_products_may_go_through_a_sample(loss, basis, way, make_problem, monkeypatch):
    """At first; near the optimum all rows count."""
    X, layout, problem = make_problem(loss, basis, seed=17, n=300)
    whole = solve(X, layout, problem, way=way)
    monkeypatch.setattr(newton, "FIRST_SAMPLE", 60)
    monkeypatch.setattr(newton, "ROWS_PER_COEFFICIENT", 1)
    sampled = solve(X, layout, problem, way=way)
    assert sampled.converged
    assert sampled.certified
    assert sampled.primal == pytest.approx(whole.primal, rel=1e-9)


@by_kind
def test_the_dense_hessian_is_exact_for_one_output(basis, make_problem):
    """Of a quadratic function one step finds the minimum."""
    X, layout, problem = make_problem(SquaredError(), basis, seed=16)
    found = solve(X, layout, problem, Stopping(tol=1e-9), way="dense")
    assert found.n_iter == 1
    assert found.certified


@pytest.mark.parametrize("exact", [False, True])
def test_a_sum_of_squares_of_few_columns_takes_few_products(exact, curves, monkeypatch):
    """Also of many rows, nearly without noise, and with functions that few of them reach."""
    random = np.random.default_rng(1)
    X = random.normal(size=(40_000, 5))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 1e-4 * random.normal(size=len(X))
    layout = curves(X, BSplineBasis(1, 50), 1, native=False).scaled(1e6)
    ones = np.ones(len(X), dtype=np.int8)
    problem = Problem(ones, SquaredError(), 1.0, 1.0, targets=y - y.mean())
    products = []
    monkeypatch.setattr(newton.Chooser, "note", lambda _, n: products.append(n))
    found = solve(X, layout, problem, Stopping(tol=1e-3, max_iter=50), exact=exact)
    assert found.converged
    assert sum(products) <= 3


def test_the_dense_way_is_for_few_coefficients(make_problem, monkeypatch):
    made = []
    real = newton.Dense

    def watched(*arguments):
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(newton, "Dense", watched)
    X, layout, problem = make_problem(SquaredError())
    solve(X, layout, problem)
    assert made
    made.clear()
    monkeypatch.setattr(whole_hessian, "MAX_DENSE", 7)
    assert not whole_hessian.forms_hessian(layout)
    solve(X, layout, problem)
    assert not made


# -- paths ---------------------------------------------------------------------------------------


@by_loss
@by_kind
def test_every_point_of_a_path_is_a_cold_fit(loss, basis, make_problem):
    """Variances times C; the losses times it, and all divided by it, are the same."""
    X, layout, problem = make_problem(loss, basis, seed=18)
    made, placed = prepare(X, layout, problem, TIGHT)
    Cs = [0.01, 0.1, 1.0, 0.3, 0.3]
    path = newton.follow_path(made, Separable(placed), Cs, TIGHT)
    for C, (found,) in zip(Cs, path, strict=True):
        cold = solve(X, layout.scaled(C), problem)
        assert found.primal == pytest.approx(cold.primal, rel=1e-9)
        np.testing.assert_allclose(found.coef, cold.coef, atol=1e-3)
        scaled = problem.scaled(C)
        other = by_scipy(X, with_means(X, layout), scaled)
        assert found.primal * C == pytest.approx(other.fun, rel=1e-7)


def test_a_path_of_several_outputs(multinomial):
    X, layout, labels, cost = multinomial()
    made = TrainingRows.prepare(open_table(X), layout, exact=True)
    total = Summed(Softmax(np.arange(4)), made.place(labels), made.place(cost))
    for C, found in zip(
        [0.1, 2.0], newton.follow_path(made, total, [0.1, 2.0], TIGHT), strict=True
    ):
        cold = solve_softmax(X, layout.scaled(C), labels, cost)
        assert len(found) == 4
        assert found[0].primal == pytest.approx(cold[0].primal, rel=1e-9)


def test_a_path_that_is_stopped_is_shorter(make_problem):
    X, layout, problem = make_problem(Logistic(), seed=10)
    watch = Watch(tell=lambda progress: True)
    stopping = Stopping(tol=1e-12, watch=watch)
    made, placed = prepare(X, layout, problem, stopping)
    assert len(newton.follow_path(made, Separable(placed), [1.0, 2.0], stopping)) == 1


# -- how a fit ends ------------------------------------------------------------------------------


@both_ways
def test_stops_at_max_iter_and_says_so(way, make_problem):
    X, layout, problem = make_problem(Logistic(), seed=10)
    found = solve(X, layout, problem, Stopping(tol=1e-12, max_iter=2), way=way)
    assert found.n_iter == 2
    assert not found.converged


@both_ways
def test_the_callback_and_the_clock_may_stop_it(way, make_problem):
    X, layout, problem = make_problem(Logistic(), seed=10)
    seen = []
    watch = Watch(tell=lambda progress: seen.append(progress) or progress.n_iter == 2)
    found = solve(X, layout, problem, Stopping(tol=1e-12, watch=watch), way=way)
    assert [progress.n_iter for progress in seen] == [1, 2]
    assert seen[-1].gap == found.gap
    assert (found.n_iter, found.converged, watch.reason) == (2, False, "callback")
    watch = Watch(deadline=0.0)
    found = solve(X, layout, problem, Stopping(tol=1e-12, watch=watch), way=way)
    assert found.n_iter <= 1
    assert watch.reason == "time_limit"


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_an_error_in_the_callback_stops_it_and_is_kept(kind, make_problem):
    def fail(progress):
        raise kind

    X, layout, problem = make_problem(Logistic(), seed=10)
    watch = Watch(tell=fail)
    found = solve(X, layout, problem, Stopping(tol=1e-12, watch=watch))
    assert isinstance(watch.error, kind)
    assert found.n_iter == 1
    assert found.primal == pytest.approx(value_of(found, X, layout, problem), rel=1e-9)


def test_a_step_that_led_astray_raises_the_curvature_of_the_rows_that_did(curves):
    """Two rows are sure and would be carried to the wrong side; the model cannot see that."""
    total = Separable(Problem(np.ones(60), Logistic(), 1.0, 1.0))
    F, D = np.full((1, 60), 30.0), np.zeros((1, 60))
    D[0, :2] = -60.0
    X = np.linspace(0.0, 1.0, 60)[:, None]
    rows = TrainingRows.prepare(open_table(X), curves(X, BSplineBasis(1, 3)), exact=True)
    objective = Objective.of(rows, total, 1)
    point = Point(objective, objective.space.zeros(), F, free=False)
    raised = point.raised(Step(objective.space.zeros(), D))
    assert (raised.extra[:2] > 0).all()
    assert (raised.extra[2:] == 0).all()
    rise = total.each(F + D) - total.each(F)
    slope = (total.gradient(F) * D).sum(axis=0)
    said = slope + 0.5 * (raised.step_curvature.times(D) * D).sum(axis=0)
    np.testing.assert_allclose(said[:2], rise[:2], rtol=1e-6)
