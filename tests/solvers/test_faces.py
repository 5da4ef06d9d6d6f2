"""Newton's method for curves that are held to a form, against SciPy on the explicit embedding."""

import numpy as np
import pytest
from preparing import place
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from written_out import explicit

from splinear import AdditiveRegressor
from splinear.losses import Logistic, Softmax, SquaredError
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.objective import Objective
from splinear.objective.problem import Problem, Start, Stopping
from splinear.solvers import newton
from splinear.tables.opening import open_table
from splinear.terms import Category, Spline

TIGHT = Stopping(tol=1e-7, max_iter=200)
SIGN = {None: 0, "increasing": 1, "decreasing": -1, "convex": 1, "concave": -1}
SHAPES = [
    {"monotone": "increasing"},
    {"monotone": "decreasing"},
    {"curvature": "convex"},
    {"curvature": "concave"},
    {"monotone": "increasing", "curvature": "convex"},
    {"monotone": "increasing", "curvature": "concave"},
    {"monotone": "decreasing", "curvature": "convex"},
    {"monotone": "decreasing", "curvature": "concave"},
]
BASES = [
    {"degree": 1, "penalty_order": 1, "knots": "quantile"},
    {"degree": 1, "penalty_order": 2, "knots": [-3.0, -1.0, -0.9, 0.0, 0.2, 1.5, 3.0]},
    {"degree": 1, "penalty_order": 0, "knots": "uniform"},
    {"degree": 2, "penalty_order": 2, "knots": "uniform"},
    {"degree": 3, "penalty_order": 1, "knots": "uniform"},
]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: " ".join(s.values()))
both_ways = pytest.mark.parametrize("way", ["dense", "banded"])


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(3)
    X = random.normal(size=(150, 3)).clip(-3, 3)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] + 0.5 * random.normal(size=150)
    return X, signal


def layout_of(X, terms, C=3.0):
    """The layout of terms, one per column, as an estimator makes it."""
    model = AdditiveRegressor(terms=terms, C=C, tol=0.9).fit(X, np.arange(len(X)))
    return model._model.layout


def inequalities(group, k, shape):
    """What coefficients of one curve must obey, written down anew; (n, size) with n >= 0 rows."""
    embedding, rows = group.embedding, []
    knots = embedding.axes.knots_of(k)
    n = int(embedding.n_used[k])
    h = np.diff(knots) if knots is not None and embedding.basis.degree == 1 else np.ones(n - 1)
    slope = np.zeros((n - 1, embedding.basis.size))
    for i in range(n - 1):
        slope[i, i], slope[i, i + 1] = -1 / h[i], 1 / h[i]
    if sign := SIGN[shape.get("monotone")]:
        rows.extend(sign * slope)
    if sign := SIGN[shape.get("curvature")]:
        rows.extend(sign * (slope[1:] - slope[:-1]))
    return np.array(rows).reshape(-1, embedding.basis.size)


def constraints(layout, shapes):
    """The same for the weights w of the explicit embedding of all terms."""
    blocks, start = [], 0
    n = sum(group.n_features * group.stride for group in layout.groups)
    for group in layout.groups:
        for k, j in enumerate(group.features):
            if j in shapes:
                A = inequalities(group, k, shapes[j])
                T = group.embedding.penalty.integrate(np.eye(group.size)).T
                wide = np.zeros((len(A), n))
                wide[:, start : start + group.size] = A @ T * np.sqrt(group.embedding.variance[k])
                blocks.append(wide)
            start += group.stride
    return np.concatenate(blocks)


def by_scipy(phi, A, losses, n_outputs=1):
    """The least 1/2 |w|^2 + losses(scores) with A w >= 0 for every output, b being free, by SLSQP.

    losses(F) returns the sum and its derivatives, F being (n_outputs, n).
    """
    n = phi.shape[1]

    def value(x):
        W = x.reshape(n_outputs, n + 1)
        total, slopes = losses(W[:, :-1] @ phi.T + W[:, -1:])
        gradient = np.column_stack([W[:, :-1] + slopes @ phi, slopes.sum(axis=1)])
        return 0.5 * (W[:, :-1] ** 2).sum() + total, gradient.ravel()

    wide = np.kron(np.eye(n_outputs), np.column_stack([A, np.zeros(len(A))]))
    inside = {"type": "ineq", "fun": lambda x: wide @ x, "jac": lambda x: wide}
    start, options = np.zeros(n_outputs * (n + 1)), {"maxiter": 2000, "ftol": 1e-13}
    found = minimize(value, start, jac=True, method="SLSQP", constraints=[inside], options=options)
    assert (wide @ found.x).min() > -1e-6
    return found.fun


def losses_of(problem, loss):
    def losses(F):
        m = problem.margin(F[0])
        slopes = problem.cost * problem.y * loss.derivatives(m)[0]
        return problem.cost @ loss.of_margin(m), slopes[None]

    return losses


def problem_of(signal, loss):
    n = len(signal)
    if isinstance(loss, SquaredError):
        return Problem(np.ones(n, dtype=np.int8), loss, 0.7, 1.5, targets=signal)
    return Problem(np.where(signal > 1, 1, -1).astype(np.int8), loss, 0.7, 1.5)


def check(layout, found, shapes, best, *, tol=1e-4):
    """The optimum, a true certificate, and no violation."""
    assert found.converged
    assert found.primal <= best + tol * abs(best)
    assert found.dual <= best + 1e-6 * abs(best)  # SciPy's own tolerance
    for group, part in zip(layout.groups, layout.split(found.coef), strict=True):
        for k, j in enumerate(group.features):
            if j in shapes:
                A = inequalities(group, k, shapes[j])
                assert (A @ part[k, : group.size]).min() > -1e-9


@by_shape
@both_ways
@pytest.mark.parametrize("loss", [Logistic(), SquaredError()], ids=repr)
def test_equals_scipy(shape, loss, way, data):
    X, signal = data
    for number, basis in enumerate(BASES):
        held = Spline(n_bins=6, **basis, **shape)
        shapes = {0: shape, 1: shape}
        layout = layout_of(X, {0: held, 1: held, 2: Spline(n_bins=4)}, C=10.0 ** (number - 2))
        rows = TrainingRows.prepare(open_table(X), layout, exact=True)
        problem = problem_of(signal, loss)
        total = Separable(place(rows, problem))
        [found] = newton.solve(rows, total, TIGHT, preconditioner=way)
        best = by_scipy(explicit(layout, X), constraints(layout, shapes), losses_of(problem, loss))
        check(layout, found, shapes, best)


@both_ways
def test_gaps_categories_and_features_of_different_sizes(way, data):
    X, signal = data
    X = X.copy()
    X[::7, 0] = np.nan
    X[:, 1] = np.round(X[:, 1])
    X = np.column_stack([X, np.arange(len(X)) % 3, np.ones(len(X))])
    shape = {"monotone": "increasing"}
    held = Spline(knots="quantile", n_bins=9, **shape)
    layout = layout_of(X, {0: held, 1: held, 2: Spline(n_bins=3), 3: Category(), 4: held})
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    problem = problem_of(signal, SquaredError())
    total = Separable(place(rows, problem))
    [found] = newton.solve(rows, total, TIGHT, preconditioner=way)
    shapes = {0: shape, 1: shape}
    losses = losses_of(problem, SquaredError())
    best = by_scipy(explicit(layout, X), constraints(layout, shapes), losses)
    check(layout, found, shapes, best)
    free = newton.solve(rows.with_layout(rows.layout.without_forms()), total, TIGHT)[0]
    assert free.primal < found.primal


@both_ways
def test_several_classes(way, data):
    X, signal = data
    labels, cost = np.digitize(signal, [0.0, 1.5]), np.ones(len(signal))
    shape = {"monotone": "increasing", "curvature": "concave"}
    held = Spline(n_bins=4, **shape)
    layout = layout_of(X, {0: held, 1: held, 2: Spline(n_bins=3)})
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    results = newton.solve(
        rows, Summed(Softmax(np.arange(3)), rows.place(labels), cost), TIGHT, preconditioner=way
    )

    def losses(F):
        slopes = softmax(F, axis=0)
        slopes[labels, np.arange(len(labels))] -= 1.0
        return -log_softmax(F, axis=0)[labels, np.arange(len(labels))].sum(), slopes

    shapes = {0: shape, 1: shape}
    best = by_scipy(explicit(layout, X), constraints(layout, shapes), losses, n_outputs=3)
    for found in results:
        check(layout, found, shapes, best)


@both_ways
def test_starts_outside_the_cone_are_brought_inside(way, data):
    X, signal = data
    held = Spline(n_bins=8, monotone="decreasing")
    layout = layout_of(X, {0: held, 1: held, 2: held}, C=10.0)
    rows = TrainingRows.prepare(open_table(X), layout, exact=True)
    problem = problem_of(signal, Logistic())
    total = Separable(place(rows, problem))
    [free] = newton.solve(rows.with_layout(layout.without_forms()), total, TIGHT)
    assert layout.cone.slack(free.coef[None]).min() < -0.1
    start = Start(coef=free.coef, intercept=free.intercept)
    [found] = newton.solve(rows, total, TIGHT, start, preconditioner=way)
    [cold] = newton.solve(rows, total, TIGHT, preconditioner=way)
    assert found.converged
    assert layout.cone.slack(found.coef[None]).min() >= 0.0
    np.testing.assert_allclose(found.primal, cold.primal, rtol=1e-6)


def test_every_gap_on_the_way_is_true(data):
    """Loose tolerances, weak and strong penalties: the optimum is never below what was proven."""
    X, signal = data
    shape = {"curvature": "convex"}
    held, problem = Spline(n_bins=6, **shape), problem_of(signal, Logistic())
    for C in (1e-2, 1.0, 1e3):
        layout = layout_of(X, {0: held, 1: held, 2: held}, C=C)
        rows = TrainingRows.prepare(open_table(X), layout, exact=True)
        total = Separable(place(rows, problem))
        A = constraints(layout, dict.fromkeys(range(3), shape))
        best = by_scipy(explicit(layout, X), A, losses_of(problem, Logistic()))
        first = Objective.of(rows, total, 1).begin()
        gaps = [(at.value, at.gap) for at in newton.descend(first, TIGHT, "banded")]
        assert len(gaps) > 1
        for value, gap in gaps:
            assert value - gap <= best * (1 + 1e-6)
