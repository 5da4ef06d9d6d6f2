"""What Newton's method claims is so: against another minimizer, for penalties from weak to none."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import expit, log_softmax, xlogy
from sklearn.exceptions import ConvergenceWarning
from written_out import explicit

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.losses import Gamma, Logistic, Poisson, Softmax, SquaredError
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable, Summed
from splinear.objective.objective import Objective
from splinear.objective.problem import Problem, Stopping
from splinear.solvers import newton
from splinear.tables.opening import open_table
from splinear.terms import Spline
from splinear.terms.basis import BSplineBasis

LOG_LINK = {"poisson": Poisson(), "gamma": Gamma()}
KINDS = ["squared error", "separable", "logistic", "softmax", *LOG_LINK]
by_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def data():
    """Three columns, one of them a thousand times as wide; targets of every kind."""
    random = np.random.default_rng(0)
    X, noise = random.normal(size=(300, 3)), random.normal(size=300)
    X[:, 1] *= 1000.0
    X[:, 2] = X[:, 2].round(1)
    targets = {
        "squared error": np.sin(2.0 * X[:, 0]) + noise,
        "separable": X[:, 0] > 0,
        "logistic": X[:, 0] ** 2 + noise > 1,
        "softmax": np.digitize(X[:, 0] + 0.5 * noise, [-0.5, 0.7]),
        "poisson": random.poisson(np.exp(np.sin(2.0 * X[:, 0]))),
        "gamma": np.exp(np.sin(2.0 * X[:, 0]) + noise),
    }
    return X, targets


def fit(kind, X, y, **options):
    """The fitted model, and whether it warned that it had not converged."""
    kind_of = AdditiveClassifier
    if kind == "squared error" or kind in LOG_LINK:
        kind_of, options["loss"] = AdditiveRegressor, kind.replace(" ", "_")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind_of(random_state=0, **options).fit(X, y)
    assert all(one.category is ConvergenceWarning for one in caught)
    return model, bool(caught)


def half_deviance(kind, y, f):
    """The same of a log link, as the deviances are written in books."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if kind == "poisson":
            each, slope, bend = xlogy(y, y) - y * f - y + np.exp(f), np.exp(f) - y, np.exp(f)
        else:
            ratio = y * np.exp(-f)
            each, slope, bend = ratio - 1 - np.log(y) + f, 1 - ratio, ratio
    return each.sum(), slope[:, None], np.sqrt(bend)[:, None, None]


def losses_of(kind, y):
    """Return value, gradient (n, k) and roots (n, k, r) of the Hessians at scores (n, k)."""
    if kind == "squared error":
        return lambda F: (0.5 * np.sum((F[:, 0] - y) ** 2), F - y[:, None], np.ones((len(y), 1, 1)))
    if kind in LOG_LINK:
        return lambda F: half_deviance(kind, y, F[:, 0])
    if kind != "softmax":
        sign = np.where(y, 1.0, -1.0)

        def logistic(F):
            m = sign * F[:, 0]
            root = np.sqrt(expit(m) * expit(-m))
            return np.logaddexp(0, -m).sum(), (-sign * expit(-m))[:, None], root[:, None, None]

        return logistic
    there = np.eye(3)[y]

    def softmax(F):
        logs = log_softmax(F, axis=1)
        p = np.exp(logs)
        root = np.sqrt(p)
        roots = root[:, :, None] * np.eye(3) - p[:, :, None] * root[:, None, :]
        return -np.sum(logs * there), p - there, roots

    return softmax


def least(phi, losses, n_outputs):
    """min 1/2 |w|^2 + losses, by Newton's method on the explicit embedding.

    Steps are least squares problems, of half the digits' condition; a line search does the rest.
    """
    Z = np.column_stack([phi, np.ones(len(phi))])
    w = np.zeros((Z.shape[1], n_outputs))
    penalized = np.ones_like(w)
    penalized[-1] = 0.0
    ridge = np.diag(penalized.ravel())[penalized.ravel() > 0]

    def value_at(w):
        return 0.5 * np.sum((penalized * w) ** 2) + losses(Z @ w)[0]

    value = value_at(w)
    for _ in range(200):
        _, slopes, roots = losses(Z @ w)
        gradient = (Z.T @ slopes + penalized * w).ravel()
        A = np.vstack([np.einsum("nm,nkr->nrmk", Z, roots).reshape(-1, w.size), ridge])
        half = np.linalg.lstsq(A.T, -gradient, rcond=1e-15)[0]
        step = np.linalg.lstsq(A, half, rcond=1e-15)[0]
        t, decrease = 1.0, -gradient @ step
        if decrease < 1e-11 * value:
            break
        while (
            t > 1e-12 and not value_at(w + t * step.reshape(w.shape)) < value - 1e-4 * t * decrease
        ):
            t /= 2.0
        if t <= 1e-12:
            break
        w = w + t * step.reshape(w.shape)
        value = value_at(w)
    return value


@by_kind
@pytest.mark.parametrize("scale", ["unit", "native"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_what_claims_to_be_converged_is(kind, scale, order, tol, data):
    X, targets = data
    curve = Spline(6, scale=scale, penalty_order=order)
    for C in (1e2, 1e4, 1e6, 1e8, 1e10):
        model, warned = fit(kind, X, targets[kind], curve=curve, C=C, tol=tol)
        assert warned == (not model.certified_)
        assert model.certified_ == (model.dual_gap_ <= tol)
        phi = explicit(model._model.layout, X)
        other = least(phi, losses_of(kind, targets[kind]), 3 if kind == "softmax" else 1)
        if model.certified_:
            assert model.objective_ <= other * (1 + 2 * tol)
        # A tolerance of 1e-3 lets codes round X.
        assert other >= model.objective_ * (1 - model.dual_gap_ - tol)
        largest = 1e6 if tol == 1e-3 else 1e4
        if scale == "unit" and largest >= C:
            assert model.certified_


def test_two_columns_and_a_label_that_one_of_them_decides():
    """Once "converged" at 1e11 after two steps."""
    X = np.random.default_rng(0).normal(size=(1000, 2))
    objectives = []
    for C in (1e6, 1e8, 1e10):
        model, warned = fit("separable", X, X[:, 0] > 0, C=C)
        assert model.certified_
        assert not warned
        objectives.append(model.objective_)
    assert objectives[0] > 10 * objectives[1] > 100 * objectives[2]


@by_kind
def test_an_unreachable_tolerance_ends_with_a_warning(kind, data):
    """Rounding ends progress; so does the fit, soon, with what is known."""
    X, targets = data
    model, warned = fit(kind, X, targets[kind], C=1e10, tol=1e-40)
    assert warned
    assert not model.certified_
    assert model.n_iter_ < 200
    assert np.isfinite(model.dual_gap_)


# -- the proof -------------------------------------------------------------------------------------


def sums(random, n=40):
    """Sums of losses of all kinds, with rows that do not count."""
    weights = np.where(random.random(n) < 0.2, 0.0, random.uniform(0.5, 2.0, n))
    y = np.where(random.random(n) < 0.5, -1, 1).astype(np.int8)
    ones = np.ones(n, dtype=np.int8)
    of_targets = Problem(ones, SquaredError(), 1.0, 1.0, weights, random.normal(size=n))
    return [
        Separable(of_targets),
        Separable(Problem(y, Logistic(), 0.7, 1.5, weights)),
        Separable(Problem(ones, Poisson(), 1.0, 1.0, weights, random.normal(size=n))),
        Separable(Problem(-ones, Gamma(), 1.0, 1.0, weights, random.normal(size=n))),
        Summed(Softmax(np.arange(3)), random.integers(0, 3, n), weights),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_of_losses_is_that_of_a_conjugate(seed):
    """L(F) + L*(R) >= sum(R F) for any F; it is equal where R is the derivative."""
    random = np.random.default_rng(seed)
    for total in sums(random):
        F, G = (random.normal(size=(total.n_outputs, 40)) for _ in range(2))
        R = total.gradient(F)
        assert total.gap(F, R) == pytest.approx(0.0, abs=1e-12)
        # By definition: L*(R) = sum(R F) - L(F).
        expected = total.value(G) + np.sum(R * F) - total.value(F) - np.sum(R * G)
        assert total.gap(G, R) == pytest.approx(expected, abs=1e-11)
        assert expected > 0


def test_dual_variables_out_of_bounds_prove_nothing():
    random = np.random.default_rng(0)
    quadratic, *others = sums(random)
    for total in others:
        F = random.normal(size=(total.n_outputs, 40))
        assert total.gap(F, -total.gradient(F)) == np.inf
    F = random.normal(size=(1, 40))
    assert quadratic.gap(F, -quadratic.gradient(F)) < np.inf


def test_a_step_proves_more_than_the_gradient_at_its_end(curves):
    """With a weak penalty the gradient's own gap may still be above the tolerance.

    Whether it is, rounding decides; so tolerances are tried that lie below gaps met on the way.
    """
    n_by_step = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.normal(size=(400, 3))
        y = X[:, 0] + random.normal(size=400) > 0
        layout = curves(X, BSplineBasis(1, 8)).scaled(1e2)
        rows = TrainingRows.prepare(open_table(X), layout, exact=True)
        problem = Problem(rows.place(np.where(y, 1, -1).astype(np.int8)), Logistic(), 1.0, 1.0)
        first = Objective.of(rows, Separable(problem), 1).begin()
        best = least(explicit(layout, X), losses_of("logistic", y), 1)
        for at in newton.descend(first, Stopping(tol=1e-8, max_iter=100)):
            for share in (0.5, 0.8):
                tol = share * at.relative_gap
                *_, last = newton.descend(first, Stopping(tol=tol, max_iter=100))
                assert last.is_converged(tol)
                assert last.value - best <= last.gap + 1e-6 * best
                n_by_step += last.space.gap(last.gradient, last.theta) > tol * last.value
    assert n_by_step > 0


# -- numbers that are too large --------------------------------------------------------------------


@by_kind
@pytest.mark.parametrize("C", [1e14, 1e16, 1e100, 1e300])
def test_no_penalty_to_speak_of(kind, C, data):
    """Once a LinAlgError, or a NaN that counted as converged."""
    X, targets = data
    model, warned = fit(kind, X, targets[kind], C=C)
    assert warned == (not model.certified_)
    assert np.isfinite([model.objective_, model.dual_gap_, *model.intercept_]).all()
    assert all(np.isfinite(term.coef).all() for term in model.terms_)
    usual, _ = fit(kind, X, targets[kind], C=1e4)
    assert model.score(X, targets[kind]) >= usual.score(X, targets[kind]) - 0.05


@pytest.mark.parametrize("C", [None, 1.0])
@pytest.mark.parametrize("power", [-1000, -520, -130, 40, 110])
def test_the_unit_of_targets_changes_nothing(power, C, data):
    X, targets = data
    y = targets["squared error"]
    one, _ = fit("squared error", X, y, C=C)
    other, warned = fit("squared error", X, 2.0**power * y, C=C)
    assert not warned
    assert other.dual_gap_ == one.dual_gap_
    np.testing.assert_allclose(2.0**-power * other.predict(X), one.predict(X), rtol=1e-12)


@pytest.mark.parametrize("C", [None, 1.0])
def test_targets_and_weights_that_are_too_large(C, data):
    X, targets = data
    with pytest.raises(ValueError, match=r"Targets of up to 3\..e\+40 are too large"):
        fit("squared error", X, 1e40 * targets["squared error"], C=C)
    with pytest.raises(
        ValueError, match=r"sample_weight adds up to inf, and must not exceed 1e\+30"
    ):
        AdditiveClassifier(C=C).fit(X, targets["logistic"], sample_weight=np.full(300, 1e307))


def test_weights_of_classes_that_are_too_large(data):
    X, targets = data
    model = AdditiveClassifier(C=1.0, class_weight={0: 1e307, 1: 1e307})
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="losses is not finite"),
    ):
        model.fit(X, targets["logistic"] > 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_large_targets_of_absolute_errors(data):
    X, targets = data
    with pytest.raises(ValueError, match=r"Targets of up to 3\..e\+40 are too large"):
        AdditiveSVR(C=1.0).fit(X, 1e40 * targets["squared error"])
    model = AdditiveSVR(random_state=0, C=1.0).fit(X, 1e36 * targets["squared error"])
    assert np.isfinite([model.objective_, model.dual_gap_, *model.predict(X)]).all()
    assert model.certified_ == (model.dual_gap_ <= model.tol)


# -- starts ----------------------------------------------------------------------------------------


@by_kind
def test_a_start_from_far_away(kind, data):
    """It may be far worse than none; the intercepts must follow it all the same."""
    X, targets = data
    model, _ = fit(kind, X, targets[kind], C=1.0, warm_start=True)
    best = model.objective_
    n_iter = model.n_iter_
    for offset in (500.0, -1e6):
        model._model.parameters[:] += offset
        model.fit(X, targets[kind])
        assert model.certified_
        assert model.objective_ == pytest.approx(best, rel=2e-3)
        assert model.n_iter_ <= 1.2 * n_iter + 1


@by_kind
@pytest.mark.parametrize("C", [1e-3, 1e-1, 1.0])
def test_a_warm_start_takes_no_more_steps(kind, C, data):
    X, targets = data
    y = targets[kind]
    for factor in (10, 100, 1e3, 1e4, 1e6):
        for first, then in ((C, factor * C), (factor * C, C)):
            cold, _ = fit(kind, X, y, C=then)
            warm, _ = fit(kind, X, y, C=first, warm_start=True)
            warm.set_params(C=then).fit(X, y)
            assert warm.n_iter_ <= 1.2 * cold.n_iter_ + 1
            assert warm.certified_ >= cold.certified_
            assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)


@pytest.mark.parametrize(
    "make",
    [AdditiveSVC, partial(AdditiveSVC, loss="squared_hinge"), AdditiveSVR],
    ids=["hinge", "squared hinge", "epsilon"],
)
@pytest.mark.parametrize("C", [1e-5, 1e-3, 1e-1])
def test_a_warm_start_of_dual_variables_takes_few_more_passes(make, C, data):
    X, targets = data
    y = targets["squared error"] if make is AdditiveSVR else targets["logistic"]
    for factor in (10, 100, 1e3, 1e4, 1e6):
        if factor * C > 100.0:  # more than 1000 passes, warm or cold
            continue
        for first, then in ((C, factor * C), (factor * C, C)):
            cold = make(C=then, random_state=0).fit(X, y)
            warm = make(C=first, warm_start=True, random_state=0).fit(X, y)
            warm.set_params(C=then).fit(X, y)
            assert warm.n_iter_ <= 1.2 * cold.n_iter_ + 1
            assert warm.certified_
            assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-2)
