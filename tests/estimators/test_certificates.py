"""`objective_`, `dual_gap_` and `certified_` are about X itself, not about X as codes round it."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from model_checks import objective_of, pose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Result, Start, Stopping
from splinear.solvers.hinge import one_problem, ways
from splinear.solvers.proofs import certificate
from splinear.solvers.proofs.certificate import certify_problem, certify_sum, solve_and_certify

COSTS = [1e-2, 1.0, 1e2, 1e4, 1e6, 1e8]
MODELS = {
    "hinge": AdditiveSVC(max_iter=300, C=1.0),
    "squared hinge": AdditiveSVC(loss="squared_hinge", max_iter=300, C=1.0),
    "epsilon": AdditiveSVR(max_iter=300, C=1.0),
    "logistic": AdditiveClassifier(),
    "softmax": AdditiveClassifier(),
    "squared error": AdditiveRegressor(),
}


@pytest.fixture(scope="module")
def numbers():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6))
    return X, np.sin(2 * X).sum(axis=1) + 0.3 * random.normal(size=150)


def table_of(X, form):
    """The numbers as an array, as a sparse matrix, or as a frame with gaps and categories."""
    if form == "dense":
        return X
    if form == "sparse":
        return sparse.csr_array(np.where(X > 0.2, X, 0.0))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.loc[::7, "b"] = np.nan
    frame["level"] = np.digitize(X[:, 5], [-1.0, 0.3, 0.9]).astype(str)
    return frame


def target_of(kind, signal):
    if kind in ("epsilon", "squared error"):
        return signal
    return np.digitize(signal, [-1.0, 1.0]) if kind == "softmax" else (signal > 0).astype(int)


def fit(model, X, y, weights=None):
    """Whether it converged; the model says how far it got."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weights)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert model.certified_ == (not caught)
    return not caught


@pytest.mark.parametrize("form", ["dense", "sparse", "frame"])
@pytest.mark.parametrize("kind", MODELS)
def test_the_objective_is_that_of_numpy(kind, form, numbers):
    """For every loss, table and cost, with weights; where it warns as well."""
    values, signal = numbers
    X, y = table_of(values, form), target_of(kind, signal)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for C in COSTS:
        model = MODELS[kind].set_params(C=C, random_state=0)
        fit(model, X, y, weights)
        expected = objective_of(model, pose(model, X, y, weights), X)
        assert model.objective_ == pytest.approx(expected, rel=1e-7), C


@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared error"])
def test_the_objective_of_surfaces_is_that_of_numpy(kind, numbers):
    """Rows stand on surfaces in single precision, which must not matter here."""
    values, signal = numbers
    X, y = table_of(values, "frame"), target_of(kind, signal)
    for C in (1.0, 1e2, 1e4):
        model = MODELS[kind].set_params(C=C, random_state=0, interactions=[(0, 1), (2, 6)])
        fit(model, X, y)
        expected = objective_of(model, pose(model, X, y, None), X)
        assert model.objective_ == pytest.approx(expected, rel=1e-9), C
    model.set_params(interactions=0)


def noted(monkeypatch, module, name):
    """Return a list of what a function of a module is given and returns."""
    calls, function = [], getattr(module, name)

    def note(*given):
        calls.append((given, function(*given)))
        return calls[-1][1]

    monkeypatch.setattr(module, name, note)
    return calls


@pytest.mark.parametrize("form", ["dense", "sparse", "frame"])
@pytest.mark.parametrize("kind", ["hinge", "squared hinge", "epsilon"])
def test_the_gap_is_that_of_numpy(kind, form, numbers, monkeypatch):
    """P - D, D being the dual objective of the embedding of X, written out."""
    calls = noted(monkeypatch, one_problem, certify_problem.__name__)
    monkeypatch.setattr(ways, "suits_newton", lambda *_: False)
    values, signal = numbers
    X, y = table_of(values, form), target_of(kind, signal)
    for C in COSTS[:5]:
        model = MODELS[kind].set_params(C=C, random_state=0)
        fit(model, X, y)
        (rows, problem, *_), found = calls[-1]
        posed = pose(model, X, y, None)
        alpha = rows.restore(found.alpha)
        signs = rows.restore(problem.y)
        w = posed.phi.T @ (alpha * signs)
        own = problem.loss.dual(alpha, np.full(len(y), C))
        targets = posed.targets[:, 0] if kind == "epsilon" else 0.0
        dual = float((own + alpha * targets).sum())
        dual -= 0.5 * float(w @ w) + 0.5 * (posed.bias * float(alpha @ signs)) ** 2
        primal = objective_of(model, posed, X)
        assert model.dual_gap_ == pytest.approx((primal - dual) / primal, rel=1e-4, abs=1e-9), C


@pytest.mark.parametrize("form", ["dense", "sparse", "frame"])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_the_gap_of_least_squares_is_that_of_numpy(form, C, numbers, monkeypatch):
    """P - D with a free intercept: the dual variables of all rows sum to zero."""
    calls = noted(monkeypatch, certificate, certify_sum.__name__)
    values, y = numbers
    X = table_of(values, form)
    model = AdditiveRegressor(C=C, random_state=0)
    fit(model, X, y)
    (rows, total, results, _), _ = calls[-1]
    R = rows.restore(results[0].slopes)
    assert abs(R.sum()) <= 1e-9 * np.abs(R).sum()
    posed = pose(model, X, y, None)
    targets = rows.restore(total.problem.targets)
    unit = np.ptp(y) / np.ptp(targets)  # in which the solver sees the target
    dual = -float(R @ targets + 0.5 * R @ R) - 0.5 * float(np.sum((posed.phi.T @ R) ** 2))
    primal = objective_of(model, posed, X)
    # R sums to zero but for rounding, which our gap has times the intercept.
    intercept = (model.intercept_[0] - (y - unit * targets).mean()) / unit
    dual += intercept * float(R.sum())
    assert model.dual_gap_ == pytest.approx(1.0 - dual * unit**2 / primal, rel=1e-7, abs=1e-12)


def few_rows():
    """As many rows as curves have coefficients: they go through nearly all points."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 30))
    return X, np.sin(X).sum(axis=1) + 0.3 * random.normal(size=200)


def test_few_rows_and_a_large_cost(monkeypatch):
    """On codes a gap of 6e-4 was claimed where that of X was 0.57; it takes no training on X."""
    X, y = few_rows()
    model = AdditiveSVR(C=1e4, random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr(TrainingRows, "exactly", None)
        assert fit(model, X, y)
    assert model.dual_gap_ <= model.tol
    better = AdditiveSVR(C=1e4, tol=1e-4, max_iter=100_000, random_state=0)
    assert fit(better, X, y)
    assert model.objective_ <= better.objective_ / (1.0 - model.tol)


@pytest.mark.parametrize(
    ("refines", "costs", "asked"),
    [
        (False, [1e-3, 1e-3], [9.5e-3, 8e-3]),  # more closely, by what rounding costs and a half
        (False, [9e-3], [9.5e-3, 1e-2]),  # more than they can make up for
        (True, [9e-3, 0.0], [9.5e-3, 9.5e-3]),
        (True, [9e-3, 2e-3, 0.0], [9.5e-3, 9.5e-3, 9.5e-3]),
        (True, [9e-3, 9e-3], [9.5e-3, 9.5e-3, 1e-2]),  # there is nothing to gain
        (True, [9e-3, 6e-3, 4e-3, 2e-3], [9.5e-3, 9.5e-3, 9.5e-3, 9.5e-3, 1e-2]),
    ],
)
def test_rounding_is_made_up_for_on_codes(refines, costs, asked):
    """Codes whose gaps are some `costs` below those on X, which is for what they cannot make up."""
    calls = []

    def solve(rows, stopping, last):
        assert (last is None) == (not calls)
        calls.append((rows.is_coded, stopping.tol))
        own = {"primal": 1.0, "dual": 1.0, "n_iter": 1, "converged": True, "alpha": np.zeros(1)}
        return [Result(coef=np.zeros(1), intercept=0.0, gap=stopping.tol, **own)]

    def certify(results):
        gap = results[0].gap + (costs[len(calls) - 1] if calls[-1][0] else 0.0)
        return [replace(results[0], gap=gap, certified=gap <= 1e-2)]

    x = SimpleNamespace(is_coded=False, plan=MemoryPlan())
    codes = SimpleNamespace(is_coded=True, plan=MemoryPlan(), exactly=lambda: x)
    stopping = Stopping(tol=1e-2)
    [last] = solve_and_certify(codes, stopping, solve, certify, lambda _: None, refines=refines)
    assert last.certified
    assert [tol for _, tol in calls] == pytest.approx(asked)
    assert [is_coded for is_coded, _ in calls] == [tol < 1e-2 for tol in asked]


def found(primal, gap, *, certified=False):
    return Result(np.zeros(1), 0.0, primal, 0.0, gap, 5, certified, certified)


@pytest.mark.parametrize(
    ("of_codes", "of_X", "kept"),
    [
        (found(1e200, 0.5), found(1.0, 0.9), 1),
        (found(1.0, 0.9), found(1e200, 0.5), 0),
        (found(1.0, 0.9), found(1.0, 0.5), 1),
        (found(1.0, 0.9), found(1.0 + 1e-4, 1e-3, certified=True), 1),
        (found(np.nan, np.nan), found(1.0, 0.9), 1),
        (found(1.0, 0.9), found(np.nan, np.nan), 0),
        (found(1e3, 0.9), found(1e2, 0.9), 2),
        (found(np.nan, np.nan), found(np.inf, np.nan), 2),
    ],
)
def test_the_lower_objective_is_kept(of_codes, of_X, kept):
    """Of a model of codes, one of X itself, and a flat one; X begins where X is lowest."""
    flat, models, begun = found(50.0, 1.0), [of_codes, of_X], []

    def solve(rows, stopping, last):
        begun.append(None if last is None else last[0].primal)
        return [models[len(begun) - 1]]

    rows = SimpleNamespace(is_coded=False, plan=SimpleNamespace(holds_values=True))
    rows.exactly = lambda: rows
    [best] = solve_and_certify(
        rows,
        Stopping(tol=1e-2),
        solve,
        lambda results: results,
        lambda worse: None if flat.primal >= worse else [flat],
    )
    assert best.primal == (of_codes, of_X, flat)[kept].primal
    assert best.n_iter == (10 if kept == 1 else 5)
    assert begun == [None, of_codes.primal if of_codes.primal < flat.primal else flat.primal]


@pytest.mark.parametrize("kind", ["gamma", "epsilon", "partial"])
def test_no_model_is_worse_than_a_flat_one(kind, monkeypatch):
    """Where codes are all there is, and the objective of X is beyond that of no curves."""
    monkeypatch.setattr(TrainingRows, "exactly", lambda rows: rows)
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 10))
    y = np.exp(3.0 * random.normal(size=60))
    model = AdditiveSVR(C=1e12, max_iter=300, random_state=0)
    if kind == "gamma":
        model = AdditiveRegressor(loss="gamma", C=1e16, max_iter=20, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    if kind == "partial":
        before = model.predict(X)
        with pytest.warns(ConvergenceWarning):
            model.partial_fit(X, y)
        assert np.abs(model.predict(X) - y).sum() <= np.abs(before - y).sum() + 60 * model.epsilon
        return
    posed = pose(model, X, y, None)
    value = objective_of(model, posed, X)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert value <= posed.losses(np.full_like(posed.targets, posed.flat)) * (1.0 + 1e-9)


def test_codes_that_are_too_coarse_are_named(monkeypatch):
    """Where X cannot be trained on, nor rounding made up for, the warning says what to do."""
    monkeypatch.setattr(TrainingRows, "exactly", lambda rows: rows)
    monkeypatch.setattr(
        one_problem,
        "stand_in",
        lambda rows, problem, start, found, n_threads: (problem, Start(alpha=found.alpha)),
    )
    X, y = few_rows()
    model = AdditiveSVR(C=1e4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="too far from the codes .* Raise tol, or lower C"):
        model.fit(X, y)
    assert not model.certified_
    assert model.dual_gap_ > model.tol


def test_an_optimum_of_overflow_size_comes_with_a_warning_or_the_truth():
    """Costs of 1e13: what is said is what NumPy computes, or there is a warning."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    y = X[:, 0] + 1e8 * random.normal(size=30)
    model = AdditiveRegressor(C=1e13, random_state=0)
    fit(model, X, y, np.full(30, 1e10))
    expected = objective_of(model, pose(model, X, y, np.full(30, 1e10)), X)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("when", [1, 2])
@pytest.mark.parametrize("module", [one_problem, certificate])
def test_ctrl_c_while_it_is_certified_leaves_a_model(module, when, monkeypatch, numbers):
    """Of rounded rows, or of X itself; without a certificate if there was none before."""
    is_dual = module is one_problem
    name = (certify_problem if is_dual else certify_sum).__name__
    calls, function = [], getattr(module, name)

    def press(*given):
        calls.append(given)
        if len(calls) == when:
            raise KeyboardInterrupt
        return function(*given)

    monkeypatch.setattr(module, name, press)
    X, y = few_rows()
    model = AdditiveSVR(C=1e4, random_state=0) if is_dual else AdditiveRegressor(C=1e8)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(calls) == when
    assert not model.certified_
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("refines", [False, True])
def test_ctrl_c_before_the_first_step_of_a_second_fit_leaves_the_first(refines):
    calls = []

    def solve(rows, stopping, last):
        calls.append(rows)
        if last is not None:
            raise KeyboardInterrupt
        return [replace(found(1.0, 1e-3), alpha=np.zeros(1))]

    x = SimpleNamespace(is_coded=False, plan=MemoryPlan())
    codes = SimpleNamespace(is_coded=True, plan=MemoryPlan(), exactly=lambda: x)
    stopping = Stopping(tol=1e-2)
    first = found(1.0, 0.5)
    got = solve_and_certify(
        codes, stopping, solve, lambda _: [first], lambda _: None, refines=refines
    )
    assert [(one.primal, one.gap) for one in got] == [(1.0, 0.5)]
    assert len(calls) == 2
    assert isinstance(stopping.watch.error, KeyboardInterrupt)


@pytest.mark.parametrize(("seed", "share"), [(0, 0.1), (1, 0.1), (2, 0.5)])
def test_labels_that_one_column_with_gaps_determines_are_certified(seed, share):
    """The deviations of gaps are then nearly fixed, beside a curve that is nearly free."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(2000, 20))
    y = X[:, 0] > 0
    X[random.random(X.shape) < share] = np.nan
    model = AdditiveClassifier(max_iter=80).fit(X, y)
    assert model.certified_
    assert model.score(X, y) > 0.98 - 0.5 * share
