"""The core's dual coordinate descent against a slow one, and against its own certificate."""

import warnings
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preparing import prepare, with_means
from scipy.optimize import lsq_linear, minimize
from sklearn.svm import LinearSVC
from written_out import explicit, primal, scores, weights_of

from splinear import _core
from splinear.losses import EpsilonInsensitive, Hinge, Logistic, SquaredError, SquaredHinge
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.problem import Problem, Start, Stopping
from splinear.objective.watch import Watch
from splinear.solvers.hinge import dual_cd
from splinear.terms import Category, Spline
from splinear.terms.basis import BSplineBasis, FourierBasis, HermiteBasis

BASES = [BSplineBasis(r, n) for r, n in [(0, 7), (1, 5), (2, 4), (3, 6)]]
BASES += [FourierBasis(2), HermiteBasis(3)]
LOSSES = [Hinge(), SquaredHinge(), Logistic(), SquaredError(), EpsilonInsensitive(0.2)]
REGRESSION = (SquaredError, EpsilonInsensitive)
TIGHT = Stopping(tol=1e-9, max_iter=50_000)
SMALL = {"cost_negative": 0.2, "cost_positive": 0.3}  # costs for which a slow solver is fast


def posed(signal, loss, noise, **options):
    """The problem of learning a signal, or on which side of 1 it is."""
    y = np.where(signal + noise > 1, 1, -1)
    y[:2] = [-1, 1]
    defaults = {"cost_negative": 1.0, "cost_positive": 1.0}
    if isinstance(loss, REGRESSION):
        defaults["targets"], y = signal + noise, np.ones(len(signal))
    return Problem(y=y.astype(np.int8), loss=loss, **(defaults | options))


@pytest.fixture(scope="session")
def make_problem(curves):
    """Curves of one basis over all columns, and a problem for them."""

    def make(seed=0, n=90, p=4, basis=BASES[1], order=1, native=False, loss=LOSSES[0], **options):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, p))
        noise = 0.3 * random.normal(size=n)
        problem = posed(np.sin(2 * X[:, 0]) + X[:, 1] ** 2, loss, noise, **options)
        return X, curves(X, basis, order, native=native), problem

    return make


@pytest.fixture(scope="session")
def make_mixed(mixed, on_code_grid):
    """Terms of all kinds with gaps, at values that codes hold exactly, and a problem for them."""

    def make(seed=0, n=90, loss=LOSSES[0], *, n_levels=7, **options):
        X, layout = mixed(seed, n, n_levels=n_levels)
        X = on_code_grid(X, layout)
        random = np.random.default_rng(seed + 1)
        filled = np.where(np.isnan(X), 1.5, X)
        signal = np.sin(2 * filled[:, 0]) + filled[:, 1] + 0.7 * (filled[:, 4] % 3) - filled[:, 8]
        return X, layout, posed(signal, loss, 0.3 * random.normal(size=n), **options)

    return make


def solve(X, layout, problem, stopping, start=None, plan=None, exact=None):
    made, placed = prepare(X, layout, problem, stopping, plan, exact)
    return dual_cd.solve(made, placed, stopping, start, keep_alpha=True)


def value_of(found, X, layout, problem):
    targets = 0.0 if problem.targets is None else problem.targets
    return primal(
        layout,
        problem.loss,
        found.coef,
        found.intercept,
        X,
        problem.y,
        problem.cost,
        problem.bias,
        targets,
    )


def assert_equals_the_oracle(X, layout, problem):
    fast = solve(X, layout, problem, TIGHT)
    layout = with_means(X, layout, problem)
    slow = oracle.solve(X, layout, problem, Stopping(tol=1e-5, max_iter=600))
    assert fast.converged
    assert slow.gap <= 1e-3
    assert slow.dual <= fast.primal * (1 + 1e-9)
    assert fast.primal <= slow.primal * (1 + 1e-8)
    assert fast.primal == pytest.approx(value_of(fast, X, layout, problem), rel=1e-9)
    # The gap bounds the squared distance of the weights: 1/2 |w - w*|^2 <= gap * primal.
    reach = np.sqrt(2 * (slow.gap + 1e-9) * slow.primal)
    ours, theirs = weights_of(layout, fast.coef), weights_of(layout, slow.coef)
    assert np.linalg.norm(ours - theirs) <= 1.5 * reach


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_equals_the_oracle(basis, loss, make_problem):
    native = isinstance(loss, SquaredHinge)
    X, layout, problem = make_problem(n=60, basis=basis, loss=loss, native=native, **SMALL)
    assert_equals_the_oracle(X, layout, problem)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gaps_and_levels_equal_the_oracle(loss, make_mixed):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    X, layout, problem = make_mixed(n=60, loss=loss, weights=weights, bias=1.3, **SMALL)
    assert np.isnan(X).sum() > 50
    assert_equals_the_oracle(X, layout, problem)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), SquaredError()], ids=repr)
def test_gaps_and_levels_equal_scipy(loss, make_mixed):
    """The least value of 1/2 |w|^2 + losses on the explicit features, by L-BFGS."""
    X, layout, problem = make_mixed(2, 100, loss, cost_negative=0.6, bias=0.7)
    found = solve(X, layout, problem, TIGHT)
    layout = with_means(X, layout)
    phi = np.column_stack([explicit(layout, X), np.full(len(X), problem.bias)])

    def slope(m):
        is_hinge = isinstance(loss, SquaredHinge)
        return -2.0 * np.maximum(0.0, 1.0 - m) if is_hinge else loss.derivatives(m)[0]

    def value_and_gradient(w):
        m = problem.margin(phi @ w)
        slopes = problem.cost * problem.y * slope(m)
        return 0.5 * w @ w + problem.cost @ loss.of_margin(m), w + phi.T @ slopes

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-8}
    start = np.zeros(phi.shape[1])
    other = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    assert found.primal == pytest.approx(other.fun, rel=1e-8)
    w = np.append(weights_of(layout, found.coef), found.intercept / problem.bias)
    np.testing.assert_allclose(w, other.x, atol=2e-3)


def by_liblinear(phi, problem, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it rarely meets so tight a tolerance
        model = LinearSVC(
            loss=loss,
            tol=1e-9,
            max_iter=200_000,
            intercept_scaling=problem.bias,
            dual=True,
            random_state=0,
        ).fit(phi, problem.y, problem.cost)
    w, b = model.coef_[0], model.intercept_[0]
    losses = problem.loss.of_margin(problem.y * (phi @ w + b))
    return 0.5 * w @ w + 0.5 * (b / problem.bias) ** 2 + problem.cost @ losses, w, b


@pytest.mark.parametrize("form", ["codes", "values"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("instructions", _core.instruction_sets())
def test_gaps_and_levels_equal_liblinear(instructions, loss, form, make_mixed, monkeypatch):
    """The same objective to 1e-4, the same weights; with every instruction set."""
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    kind = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}[loss]
    X, layout, problem = make_mixed(3, 150, kind, cost_positive=1.5, bias=1.2)
    # Codes are summed in single precision, whose rounding the certificate keeps out.
    stopping = Stopping(tol=1e-5 if form == "codes" else 1e-8, max_iter=50_000)
    found = solve(X, layout, problem, stopping, exact=form == "values")
    layout = with_means(X, layout)
    theirs, w, b = by_liblinear(explicit(layout, X), problem, loss)
    assert found.converged
    assert found.primal == pytest.approx(theirs, rel=1e-4)
    assert found.primal == pytest.approx(value_of(found, X, layout, problem), rel=1e-5)
    np.testing.assert_allclose(weights_of(layout, found.coef), w, atol=2e-2)
    assert found.intercept == pytest.approx(b, abs=2e-2)


# -- categories ----------------------------------------------------------------------------------


def many_levels(laid_out, n_levels, n=300, *, ordered, gaps):
    random = np.random.default_rng(n_levels)
    common = random.choice(n_levels, 12, replace=False)
    X = np.column_stack([random.choice(common, n), random.normal(size=n)]).astype(float)
    signal = np.sin(3 * X[:, 1]) + X[:, 0] % 3
    if gaps:
        X[random.random(n) < 0.2, 0] = np.nan
    terms = {0: Category(ordered=ordered), 1: Spline(6)}
    layout = laid_out(X, terms, {0: tuple(range(n_levels))})
    return X, layout, posed(signal, Hinge(), 0.3 * random.normal(size=n))


@pytest.mark.parametrize("form", ["codes", "values"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_levels", [60_000, 70_000])
def test_levels_that_no_row_has_change_nothing(n_levels, gaps, form, laid_out):
    """With codes of 16 and of 32 bits: the same as if only the levels in use were known."""
    X, layout, problem = many_levels(laid_out, n_levels, ordered=False, gaps=gaps)
    there = ~np.isnan(X[:, 0])
    levels, index = np.unique(X[there, 0], return_inverse=True)
    few = X.copy()
    few[there, 0] = index
    small = laid_out(few, {0: Category(), 1: Spline(6)}, {0: tuple(range(len(levels)))})
    stopping = Stopping(tol=1e-6, max_iter=50_000)
    found, expected = (
        solve(*case, stopping, exact=form == "values")
        for case in ((X, layout, problem), (few, small, problem))
    )
    assert found.primal == pytest.approx(expected.primal, rel=1e-5)
    effects, others = layout.split(found.coef)[0][0], small.split(expected.coef)[0][0]
    np.testing.assert_allclose(effects[levels.astype(int)], others[: len(levels)], atol=1e-2)
    np.testing.assert_allclose(effects[n_levels:], others[len(levels) :], atol=1e-2)  # the gap
    assert np.count_nonzero(effects[:n_levels]) <= len(levels)


@pytest.mark.parametrize("form", ["codes", "values"])
@pytest.mark.parametrize(("n_levels", "gaps"), [(1000, False), (1000, True), (66_000, True)])
def test_ordered_levels_equal_liblinear(n_levels, gaps, form, laid_out):
    X, layout, problem = many_levels(laid_out, n_levels, n=40, ordered=True, gaps=gaps)
    X[:, 0] %= 7  # a few steps from the first level, but for one row
    X[-1, 0] = n_levels - 1
    stopping = Stopping(tol=1e-6, max_iter=50_000)
    found = solve(X, layout, problem, stopping, exact=form == "values")
    layout = with_means(X, layout)
    theirs, _, _ = by_liblinear(merged(explicit(layout, X)), problem, "hinge")
    assert found.primal == pytest.approx(theirs, rel=1e-4)
    if form == "values":
        value = value_of(found, X, layout, problem)
        assert found.primal == pytest.approx(value, rel=1e-9)


def merged(phi):
    """Features with the same products, without columns that repeat each other or are zero."""
    unique, counts = np.unique(phi[:, np.any(phi != 0, axis=0)], axis=1, return_counts=True)
    return unique * np.sqrt(counts)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_codes_on_disk_give_the_same_optimum(loss, make_mixed):
    X, layout, problem = make_mixed(4, 600, loss)
    stopping = Stopping(tol=1e-3, max_iter=20_000)
    in_memory = solve(X, layout, problem, stopping)
    on_disk = solve(X, layout, problem, stopping, plan=MemoryPlan(rows_per_block=100))
    assert on_disk.converged
    assert on_disk.primal == pytest.approx(in_memory.primal, rel=1e-3)
    layout = with_means(X, layout)
    assert on_disk.primal == pytest.approx(value_of(on_disk, X, layout, problem), rel=2e-5)


# -- codes and certificates ----------------------------------------------------------------------


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_codes_of_16_bits_suffice(basis, make_problem):
    """The optimum on coded rows is the optimum on the rows, within a tenth of what is asked."""
    X, layout, problem = make_problem(6, 500, basis=basis)
    stopping = Stopping(tol=1e-6, max_iter=20_000)
    exact = solve(X, layout, problem, stopping)
    coded = solve(X, layout, problem, stopping, exact=False)
    value = value_of(coded, X, layout, problem)
    assert value == pytest.approx(exact.primal, rel=1e-4)
    if basis.degree > 0:  # degree 0 sees the bin alone, which a code holds exactly
        assert np.any(coded.coef != exact.coef)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", [*BASES, "mixed"], ids=repr)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_certificate_is_true(basis, loss, tol, make_problem, make_mixed, on_code_grid):
    if basis == "mixed":
        X, layout, problem = make_mixed(1, 200, loss, cost_positive=2.5)
        layout = with_means(X, layout)
    else:
        X, layout, problem = make_problem(1, 200, basis=basis, loss=loss, cost_positive=2.5)
        X = on_code_grid(X, layout)
    found = solve(X, layout, problem, Stopping(tol=tol, max_iter=50_000))
    assert found.converged
    assert found.certified
    assert found.gap <= tol
    assert (found.primal - found.dual) / found.primal == pytest.approx(found.gap, abs=1e-12)
    value = value_of(found, X, layout, problem)
    single = tol >= 1e-3  # then the tables may be in single precision
    assert value == pytest.approx(found.primal, rel=1e-5 if single else 1e-9)
    tight = solve(X, layout, problem, Stopping(tol=1e-10, max_iter=100_000))
    assert found.dual <= tight.primal * (1 + 1e-9)
    assert found.primal <= tight.primal / (1 - tol)


@pytest.fixture(scope="session")
def easy(curves):
    """Rows that can be told apart, most of them far from where the classes meet."""
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 6))
    signal = X[:, 0] + np.sin(X[:, 1])
    apart = np.abs(signal) > 0.2
    X, signal = X[apart], signal[apart]

    def make(basis, order):
        problem = posed(signal + 1, Hinge(), 0.0, cost_negative=50.0, cost_positive=50.0)
        return X, curves(X, basis, order), problem

    return make


@pytest.mark.parametrize(
    ("basis", "order", "from_model"),
    [
        (BSplineBasis(1, 8), 1, False),
        (BSplineBasis(1, 8), 1, True),
        (BSplineBasis(3, 8), 2, True),
    ],
)
def test_a_model_may_be_longer_than_its_dual_variables_say(basis, order, from_model, easy):
    """In about every other order of the rows: the others leave nothing to stretch."""
    X, layout, problem = easy(basis, order)
    start = None
    if from_model:
        coef = 0.01 * np.random.default_rng(1).normal(size=layout.n_parameters)
        start = Start(coef=coef, intercept=0.1, proximal=True)
    for seed in range(20):
        stopping = Stopping(tol=3e-2, max_iter=1000, seed=seed)
        if stretch_of(*prepare(X, layout, problem, stopping), stopping, start) > 1.0 + 1e-5:
            return
    pytest.fail("no model was longer")


def stretch_of(made, placed, stopping, start):
    """How much longer a model is than its dual variables say; check that it is true anyway."""
    layout = made.layout
    found = dual_cd.solve(made, placed, stopping, start, keep_alpha=True)
    tight = dual_cd.solve(made, placed, replace(stopping, tol=1e-4), start)
    slopes = (placed.y * found.alpha)[None]
    w = layout.soften(made.sums(slopes, 1))[0] + (0.0 if start is None else start.coef)
    stretch = found.coef @ w / (w @ w)
    np.testing.assert_allclose(found.coef, stretch * w, atol=1e-4 * np.abs(w).max())
    assert found.certified
    assert tight.dual * (1 - 1e-6) <= found.primal <= tight.primal / (1 - found.gap)
    assert found.dual <= tight.primal * (1 + 1e-6)
    if start is None:
        F = made.scores(found.coef[None], 1)[0] + found.intercept
        losses = placed.cost @ placed.loss.of_margin(placed.margin(F))
        b = found.intercept / placed.bias
        norm = found.coef @ layout.stiffen(found.coef[None])[0] + b**2
        assert found.primal == pytest.approx(0.5 * norm + losses, rel=1e-4)
    return stretch


@given(seed=st.integers(0, 10_000), n=st.integers(2, 200), p=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_optimality_conditions(make_problem, on_code_grid, seed, n, p):
    """At the optimum w = sum_i a_i y_i phi_i for some a that the margins allow."""
    X, layout, problem = make_problem(seed, n, p)
    X = on_code_grid(X, layout)
    assert_optimal(X, layout, problem)


@pytest.mark.parametrize("seed", range(4))
def test_optimality_conditions_with_gaps_and_levels(make_mixed, seed):
    X, layout, problem = make_mixed(seed, 80)
    assert_optimal(X, with_means(X, layout), problem)


def assert_optimal(X, layout, problem):
    found = solve(X, layout, problem, Stopping(tol=1e-11, max_iter=100_000))
    phi = np.column_stack([explicit(layout, X), np.ones(len(X))])
    w = np.append(weights_of(layout, found.coef), found.intercept)
    margins = problem.y * (phi @ w)
    lowest = np.where(margins < 1 - 1e-4, 1.0, 0.0)
    highest = np.where(margins > 1 + 1e-4, 0.0, 1.0)
    signed = phi * problem.y[:, None]
    bounds = lowest - 1e-12, highest + 1e-12
    # The default method may not end within its iterations, more often so in older versions.
    fitted = lsq_linear(signed.T, w, bounds, method="bvls", tol=1e-12)
    np.testing.assert_allclose(signed.T @ fitted.x, w, atol=1e-2 * max(1.0, np.abs(w).max()))


@pytest.mark.parametrize("kind", ["curves", "mixed"])
def test_weights_are_repeats(kind, make_problem, make_mixed):
    make = make_problem if kind == "curves" else make_mixed
    X, layout, problem = make(2, 60)
    repeats = np.random.default_rng(0).integers(0, 4, 60)
    repeats[:2] = 1
    weighted = replace(problem, weights=repeats.astype(float))
    repeated = replace(problem, y=np.repeat(problem.y, repeats))
    stopping = Stopping(tol=1e-12, max_iter=100_000)
    one = solve(X, layout, weighted, stopping)
    two = solve(np.repeat(X, repeats, axis=0), layout, repeated, stopping)
    assert one.primal == pytest.approx(two.primal, rel=1e-8)


def test_no_intercept(make_problem):
    X, layout, problem = make_problem(bias=0.0)
    found = solve(X, layout, problem, Stopping(tol=1e-6))
    assert found.intercept == 0.0
    slow = oracle.solve(X, layout, problem, Stopping(tol=1e-6, max_iter=3000))
    assert found.primal == pytest.approx(slow.primal, rel=1e-4)


@pytest.mark.parametrize("kind", ["curves", "mixed"])
@pytest.mark.parametrize("tol", [1e-3, 1e-4], ids=["codes", "values"])
def test_threads_change_nothing(kind, tol, make_problem, make_mixed):
    X, layout, problem = make_problem(3, 9000, 5) if kind == "curves" else make_mixed(3, 9000)
    results = [
        solve(X, layout, problem, Stopping(tol=tol, n_threads=threads)) for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].coef, other.coef)
        assert (results[0].gap, results[0].n_iter) == (other.gap, other.n_iter)


# -- how a fit ends ------------------------------------------------------------------------------


def test_stops_at_max_iter_and_says_so(make_problem):
    X, layout, problem = make_problem(4, 300, cost_positive=100.0, cost_negative=100.0)
    found = solve(X, layout, problem, Stopping(tol=1e-12, max_iter=3))
    assert found.n_iter == 3
    assert not found.converged
    assert not found.certified
    assert found.gap > 1e-12


def test_gaps_reported_on_the_way_shrink(make_problem):
    seen = []
    X, layout, problem = make_problem(5, 2000)
    stopping = Stopping(tol=1e-4, max_iter=5000, watch=Watch(tell=seen.append))
    found = solve(X, layout, problem, stopping)
    gaps, active = [p.gap for p in seen], [p.n_active for p in seen]
    assert [p.n_iter for p in seen] == list(range(1, found.n_iter + 1))
    assert gaps[-1] < 0.01 * gaps[0]
    assert max(active) <= 2000
    assert active[-1] < 2000  # some rows were set aside


def test_an_error_in_the_callback_stops_the_fit_and_is_kept(make_problem):
    def fail(progress):
        raise RuntimeError(f"enough after {progress.n_iter}")

    X, layout, problem = make_problem(4, 300, cost_positive=100.0)
    watch = Watch(tell=fail)
    found = solve(X, layout, problem, Stopping(tol=1e-9, watch=watch))
    assert str(watch.error) == "enough after 1"
    assert found.n_iter == 1
    assert found.primal == pytest.approx(value_of(found, X, layout, problem), rel=1e-9)


def test_the_callback_and_the_clock_may_stop_it(make_problem):
    X, layout, problem = make_problem(4, 300, cost_positive=100.0)
    watch = Watch(tell=lambda progress: progress.n_iter == 2)
    assert solve(X, layout, problem, Stopping(tol=1e-9, watch=watch)).n_iter == 2
    assert watch.reason == "callback"
    watch = Watch(deadline=0.0)
    assert solve(X, layout, problem, Stopping(tol=1e-9, watch=watch)).n_iter == 1
    assert watch.reason == "time_limit"


# -- paths and starts ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("basis", [*BASES, "mixed"], ids=repr)
def test_every_point_of_a_path_is_a_cold_fit(basis, loss, make_problem, make_mixed):
    if basis == "mixed":
        X, layout, problem = make_mixed(7, 300, loss)
        layout = with_means(X, layout)
    else:
        X, layout, problem = make_problem(7, 300, basis=basis, loss=loss)
    stopping = Stopping(tol=1e-6, max_iter=50_000)
    made, placed = prepare(X, layout, problem, stopping)
    Cs = [0.01, 0.1, 1.0, 0.3]
    path = dual_cd.follow_path(made, placed, stopping, Cs)
    for C, found in zip(Cs, path, strict=True):
        scaled = replace(problem, cost_negative=C, cost_positive=C)
        cold = solve(X, layout, scaled, stopping)
        assert found.converged
        assert found.primal == pytest.approx(cold.primal, rel=1e-6)
        assert found.primal == pytest.approx(value_of(found, X, layout, scaled), rel=1e-9)


def test_squared_norms_are_checked(make_problem):
    X, layout, problem = make_problem(3, 50)
    made, placed = prepare(X, layout, problem, Stopping())
    wrong = np.ones(49, dtype=np.float32)
    with pytest.raises(ValueError, match="squared norms"):
        _core.train(
            made.groups, placed.loss.core(), placed.core(1.0, wrong),
            _core.DualOptions(tol=0.1, max_iter=1, seed=0, n_threads=1, keep_alpha=False),
            _core.DualStart(alpha=None, coef=None, intercept=0.0), [1.0], Watch(),
        )  # fmt: skip


def test_a_path_that_is_stopped_is_shorter(make_problem):
    X, layout, problem = make_problem(7, 300)
    stopping = Stopping(tol=1e-9, watch=Watch(tell=lambda progress: True))
    made, placed = prepare(X, layout, problem, stopping)
    assert len(dual_cd.follow_path(made, placed, stopping, [1.0, 2.0])) == 1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", ["curves", "mixed"])
def test_starts_from_dual_variables(kind, loss, make_problem, make_mixed):
    make = make_problem if kind == "curves" else make_mixed
    X, layout, problem = make(8, 300, loss=loss)
    stopping = Stopping(tol=1e-8, max_iter=50_000)
    cold = solve(X, layout, problem, stopping)
    again = solve(X, layout, problem, stopping, Start(alpha=cold.alpha))
    assert again.n_iter == 0
    assert again.primal == pytest.approx(cold.primal, rel=1e-9)
    np.testing.assert_allclose(again.coef, cold.coef, atol=1e-9 * np.abs(cold.coef).max())


@pytest.mark.parametrize("loss", [SquaredError(), EpsilonInsensitive(0.2)], ids=repr)
@pytest.mark.parametrize("kind", ["curves", "mixed"])
def test_stays_close_to_an_earlier_model(kind, loss, make_problem, make_mixed):
    """With w_0 the penalty is 1/2 |w - w_0|^2: the same as fitting what w_0 leaves over."""
    X, layout, problem = (make_problem if kind == "curves" else make_mixed)(9, 200, loss=loss)
    layout = with_means(X, layout)
    random = np.random.default_rng(0)
    coef = np.where(layout.used, 0.1 * random.normal(size=layout.n_parameters), 0.0)
    near = solve(X, layout, problem, TIGHT, Start(coef=coef, intercept=0.7, proximal=True))
    left = problem.targets - scores(layout, coef, 0.7, X)
    rest = solve(X, layout, replace(problem, targets=left), TIGHT)
    assert near.primal == pytest.approx(rest.primal, rel=1e-7)
    np.testing.assert_allclose(near.coef, rest.coef + coef, atol=1e-3)
    assert near.intercept == pytest.approx(rest.intercept + 0.7, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_of_weight_zero_do_not_count(loss, make_problem):
    X, layout, problem = make_problem(10, 200, loss=loss)
    kept = np.random.default_rng(1).random(200) < 0.7
    stopping = Stopping(tol=1e-8, max_iter=50_000)
    weighted = solve(X, layout, replace(problem, weights=kept * 1.0), stopping)
    targets = None if problem.targets is None else problem.targets[kept]
    fewer = replace(problem, y=problem.y[kept], targets=targets)
    alone = solve(X[kept], layout, fewer, stopping)
    assert weighted.primal == pytest.approx(alone.primal, rel=1e-7)


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1e9, 1e300])
def test_native_units_of_any_size(factor, curves):
    """Embeddings times r and costs divided by r^2: the same model in other units."""
    random = np.random.default_rng(11)
    X = random.normal(size=(150, 3))
    problem = posed(X[:, 0] + X[:, 1] ** 2, Hinge(), 0.3 * random.normal(size=150), bias=0.0)
    stopping = Stopping(tol=1e-6, max_iter=20_000)
    plain = solve(X, curves(X, BASES[1], native=True), problem, stopping)
    far = X * factor
    scaled = replace(problem, cost_negative=1 / factor, cost_positive=1 / factor)
    found = solve(far, curves(far, BASES[1], native=True), scaled, stopping)
    assert found.primal * factor == pytest.approx(plain.primal, rel=1e-5)
    np.testing.assert_allclose(found.coef, plain.coef, atol=2e-2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32, ">f8"])
def test_reads_every_type_as_its_values(dtype, curves):
    random = np.random.default_rng(0)
    X = random.integers(0, 100, size=(300, 5))
    y = np.where(X[:, 0] > 50, 1, -1).astype(np.int8)
    layout = curves(X, BSplineBasis(1, 8))
    problem = Problem(y, Hinge(), 1.0, 1.0)
    expected = solve(X.astype(float), layout, problem, Stopping())
    found = solve(X.astype(dtype), layout, problem, Stopping())
    np.testing.assert_array_equal(found.coef, expected.coef)
