"""What must hold of every fitted model, and how low its objective can be made by others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, rel_entr, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_sample_weight
from written_out import explicit, scores

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
from splinear.tables.chunks import as_dense
from splinear.terms.group import TermGroup
from splinear.terms.varying_group import VaryingGroup

MOST_COLUMNS = 400  # of an embedding that is written out
LOG_LINK = ("poisson", "gamma", "tweedie", "negative_binomial")


@dataclass
class Problem:
    """A sum of losses and a penalty, written out: phi (n, d), targets (n, k), costs (n,)."""

    phi: np.ndarray
    targets: np.ndarray  # -1 and 1, numbers, or 0 and 1 per class (softmax)
    costs: np.ndarray  # (n, k), or (n, 1)
    kind: str
    bias: float | None  # None: the intercept is free
    epsilon: float = 0.0
    center: float = 0.0  # which the intercept is on top of
    offset: np.ndarray | float = 0.0  # added to scores, (n, k)
    shape: float = 0.0  # power of a Tweedie deviance, or theta of a negative binomial one

    def losses(self, F: np.ndarray) -> float:
        """The weighted losses of scores (n, k)."""
        return float((self.costs * self.each(F)).sum())

    @property
    def flat(self) -> float:
        """A good intercept without curves where the mean is exp(f), 0 for other losses."""
        if self.kind not in LOG_LINK:
            return 0.0
        mean = np.average(self.targets[:, 0], weights=self.costs[:, 0])
        known = np.exp(self.offset) * np.ones_like(self.targets)
        return float(np.log(mean / np.average(known[:, 0], weights=self.costs[:, 0])))

    def each(self, F: np.ndarray) -> np.ndarray:
        """The losses of scores (n, k), less their offset."""
        F = F + self.offset
        m = self.targets * F
        if self.kind == "hinge":
            each = np.maximum(0.0, 1.0 - m)
        elif self.kind == "squared_hinge":
            each = np.maximum(0.0, 1.0 - m) ** 2
        elif self.kind == "logistic":
            each = np.logaddexp(0.0, -m)
        elif self.kind == "softmax":
            each = -(self.targets * log_softmax(F, axis=1)).sum(axis=1, keepdims=True)
        elif self.kind in LOG_LINK:
            each = half_deviance(self.kind, self.targets, F, self.shape)[0]
        elif self.kind == "epsilon":
            each = np.maximum(0.0, np.abs(F - self.targets) - self.epsilon)
        else:
            each = 0.5 * (F - self.targets) ** 2
        return each


def half_deviance(
    kind: str, y: np.ndarray, F: np.ndarray, shape: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return half the deviances of means exp(F), and their derivatives by F."""
    if kind == "tweedie":
        a, b = 2.0 - shape, shape - 1.0
        m = np.clip(F - np.log(np.where(y > 0, y, 1.0)), -600.0, 600.0)
        value = y**a * (np.expm1(a * m) / a + np.expm1(-b * m) / b)
        slope = y**a * (np.exp(a * m) - np.exp(-b * m))
        mu = np.exp(np.minimum(a * F, 600.0))
        return np.where(y > 0, value, mu / a), np.where(y > 0, slope, mu)
    if kind == "negative_binomial":
        q, logit = y / (y + shape), F - np.log(shape)
        p, rest = expit(logit), expit(-logit)
        divergence = rel_entr(q, p) - q + p + rel_entr(shape / (y + shape), rest)
        return (y + shape) * (divergence - shape / (y + shape) + rest), (y + shape) * p - y
    F = np.clip(F, -700.0 if kind == "gamma" else -np.inf, 600.0)
    if kind == "poisson":
        m = F - np.log(np.where(y > 0, y, 1.0))
        return np.where(y > 0, y * (np.expm1(m) - m), np.exp(F)), np.exp(F) - y
    m = np.minimum(np.log(y) - F, 600.0)
    return np.expm1(m) - m, -np.expm1(m)


def weights_of(given: Mapping[str, Any], n: int) -> np.ndarray:
    """Return the weights of rows, with their counts, that `fit` was given."""
    w = np.ones(n)
    for name in ("sample_weight", "counts"):
        if given.get(name) is not None:
            w = w * given[name]
    return w


def pose(model: Any, X: Any, y: np.ndarray, given: Mapping[str, Any]) -> Problem:
    """Write out the problem that a model was trained for."""
    w, offset = weights_of(given, len(y)), given.get("offset")
    table = as_dense(model._read_table(X).whole())
    layout, n = model._model.layout, len(y)
    o: Any = 0.0 if offset is None else offset.reshape(n, -1)
    phi = explicit(layout, table)[:, layout.used]  # others are held at 0
    if phi.shape[1] == 0:  # there is nothing but an intercept
        phi = np.zeros((n, 1))
    if isinstance(model, AdditiveRegressor):
        kind, known = model.loss_.name.removesuffix("_error"), model.loss_.parameters()
        shape = float(next(iter(known.values()), 0.0))
        return Problem(phi, y.reshape(-1, 1), w[:, None], kind, None, offset=o, shape=shape)
    if isinstance(model, AdditiveSVR):
        bias = model.intercept_scaling if model.fit_intercept else 0.0
        left = y if offset is None else y - offset
        center = float(np.average(left, weights=w)) if model.fit_intercept else 0.0
        targets, costs = (left - center).reshape(-1, 1), model.C * w[:, None]
        return Problem(phi, targets, costs, "epsilon", bias, model.epsilon, center)
    targets, costs = _sides(model, y, w, given.get("counts"))
    if isinstance(model, AdditiveSVC):
        bias = model.intercept_scaling if model.fit_intercept else 0.0
        return Problem(phi, targets, model.C * costs, model.loss, bias, offset=o)
    if y.ndim == 1 and len(model.classes_) > 2:
        return Problem(phi, (targets > 0).astype(float), costs, "softmax", None, offset=o)
    return Problem(phi, targets, costs, "logistic", None, offset=o)


def _sides(
    model: Any, y: np.ndarray, w: np.ndarray, counts: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return -1 and 1 per output, and the weights of rows with those of classes."""
    if y.ndim == 2:
        costs = np.stack([_class_weights(model, column, w, counts) for column in y.T], axis=1)
        return 2.0 * y - 1.0, w[:, None] * costs
    costs = w[:, None] * _class_weights(model, y, w, counts)[:, None]
    if len(model.classes_) == 2:
        return np.where(y == model.classes_[1], 1.0, -1.0)[:, None], costs
    return np.where(y[:, None] == model.classes_, 1.0, -1.0), costs


def _class_weights(
    model: Any, y: np.ndarray, w: np.ndarray, counts: np.ndarray | None
) -> np.ndarray:
    """Return the weights of the rows' classes; "balanced" counts repeats."""
    if model.class_weight is None:
        return np.ones(len(y))
    kept, out = np.flatnonzero(w > 0), np.ones(len(y))
    rows = kept if counts is None else np.repeat(kept, counts[kept])
    out[rows] = compute_sample_weight(model.class_weight, y[rows])
    return out


def objective_of(model: Any, problem: Problem, X: Any) -> float:
    """Compute the objective in NumPy from the model's terms and X itself."""
    found, table = model._model, as_dense(model._read_table(X).whole())
    intercept = found.intercept - problem.center
    pairs = zip(found.parameters, intercept, strict=True)
    F = np.stack([scores(found.layout, flat, b, table) for flat, b in pairs], axis=1)
    layouts = found.layouts or [found.layout] * len(found.parameters)  # labels have one each
    both = zip(layouts, found.parameters, strict=True)
    value = sum(layout.penalty_value(flat) for layout, flat in both)
    if problem.bias:
        value += 0.5 * float(((intercept / problem.bias) ** 2).sum())
    return value + problem.losses(F)


# -- other ways to the optimum ---------------------------------------------------------------------


def reached_by_others(problem: Problem, rows: np.ndarray) -> float:
    """Return the objective that LIBLINEAR or SciPy reach on the rows that count; an upper bound."""
    some = Problem(
        problem.phi[rows],
        problem.targets[rows],
        problem.costs[rows],
        problem.kind,
        problem.bias,
        problem.epsilon,
        offset=problem.offset[rows] if isinstance(problem.offset, np.ndarray) else 0.0,
        shape=problem.shape,
    )
    if problem.kind in ("hinge", "squared_hinge") and isinstance(problem.offset, np.ndarray):
        return np.inf  # LIBLINEAR takes none
    if problem.kind in ("hinge", "squared_hinge", "epsilon"):
        return sum(_liblinear(some, k) for k in range(some.targets.shape[1]))
    return _smooth(some)


def _liblinear(problem: Problem, k: int) -> float:
    y, costs = problem.targets[:, k], problem.costs[:, min(k, problem.costs.shape[1] - 1)]
    unit = float(costs.max(initial=0.0))
    common: dict[str, Any] = {
        "C": unit,
        "tol": 1e-6,
        "max_iter": 5_000,
        "fit_intercept": bool(problem.bias),
        "intercept_scaling": problem.bias or 1.0,
        "random_state": 0,
    }
    if problem.kind == "epsilon":
        line = LinearSVR(epsilon=problem.epsilon, loss="epsilon_insensitive", dual=True, **common)
    elif len(set(y.tolist())) < 2:
        return np.inf
    else:
        line = LinearSVC(loss=problem.kind, dual=True, **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        line.fit(problem.phi, y, sample_weight=costs / unit)
    w, b = line.coef_.ravel(), float(np.ravel(line.intercept_)[0]) if problem.bias else 0.0
    one = Problem(problem.phi, y[:, None], costs[:, None], problem.kind, None, problem.epsilon)
    of_bias = 0.5 * (b / problem.bias) ** 2 if problem.bias else 0.0
    return 0.5 * float(w @ w) + of_bias + one.losses((problem.phi @ w + b)[:, None])


def _smooth(problem: Problem) -> float:
    """Minimize by L-BFGS, or exactly if the losses are squares."""
    n, k = problem.targets.shape
    A = np.column_stack([problem.phi, np.ones(n)])
    ridge = np.append(np.ones(A.shape[1] - 1), 0.0)
    if problem.kind == "squared":
        root = np.sqrt(problem.costs)
        stacked = np.vstack([root * A, np.diag(np.sqrt(ridge))])
        left = problem.targets - problem.offset
        right = np.append((root * left).ravel(), np.zeros(len(ridge)))
        best = np.linalg.lstsq(stacked, right, rcond=None)[0][:, None]
        return 0.5 * float(ridge @ best.ravel() ** 2) + problem.losses(A @ best)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(A.shape[1], k)
        F = A @ W + problem.offset
        if problem.kind in LOG_LINK:
            each = half_deviance(problem.kind, problem.targets, F, problem.shape)[1]
            slope = problem.costs * each
        elif problem.kind == "softmax":
            slope = problem.costs * (softmax(F, axis=1) - problem.targets)
        else:
            m = problem.targets * F
            slope = problem.costs * (-problem.targets * np.exp(-np.logaddexp(0.0, m)))
        penalty = 0.5 * float((ridge[:, None] * W**2).sum())
        return penalty + problem.losses(A @ W), (A.T @ slope + ridge[:, None] * W).ravel()

    options = {"maxiter": 2000, "maxfun": 5000, "ftol": 1e-14, "gtol": 1e-12}
    start = np.zeros(A.shape[1] * k)
    start[-k:] = problem.flat
    return float(minimize(value, start, jac=True, method="L-BFGS-B", options=options).fun)


# -- what must hold --------------------------------------------------------------------------------


def check_predictions(model: Any, X: Any, n: int, y: np.ndarray) -> np.ndarray:
    """Predictions are there for all rows, finite, and of known classes; return the scores."""
    predicted = model.predict(X)
    assert predicted.shape == (n, *y.shape[1:])
    if isinstance(model, (AdditiveRegressor, AdditiveSVR)):
        assert np.isfinite(predicted).all(), "predictions are not finite"
        return predicted
    assert np.isin(predicted, model.classes_ if y.ndim == 1 else [0, 1]).all()
    found = model.decision_function(X)
    assert found.shape[0] == n
    assert np.isfinite(found).all(), "scores are not finite"
    if isinstance(model, AdditiveClassifier):
        p = model.predict_proba(X)
        assert ((p >= 0) & (p <= 1)).all()
        if y.ndim == 1:
            np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    return found


def check_numbers(model: Any, *, warned: bool) -> None:
    """No silent NaN: terms are finite, and a gap that is not a number comes with a warning."""
    assert all(np.isfinite(term.coef).all() for term in model.terms_), "a coefficient is not finite"
    for term in model.terms_.curves:
        assert np.isfinite(term.at_missing).all(), "the value of a gap is not finite"
    assert np.isfinite(model.intercept_).all(), "the intercept is not finite"
    assert np.isfinite(model.feature_importances_).all(), "an importance is not finite"
    if not (np.isfinite(model.objective_) and np.isfinite(model.dual_gap_)):
        assert not model.certified_
        assert warned, f"objective {model.objective_}, gap {model.dual_gap_}, and no warning"
    if model.certified_:
        assert model.dual_gap_ <= model.tol


def rounding_of_center(problem: Problem, intercept: np.ndarray) -> float:
    """What the penalty of an intercept may differ by, if two means of y differ in their last bits.

    The penalized intercept is on top of the mean, which is rounded by as much as y has digits.
    """
    if not problem.center:
        return 0.0
    step = 8.0 * np.spacing(np.abs(problem.targets + problem.center).max())
    return float(step * (np.abs(intercept - problem.center).max() + step) / problem.bias**2)


def has_parts(curve: TermGroup) -> bool:
    """Return whether curves have more than one variance each."""
    return curve.edges is not None or curve.parts is not None


def check_objective(
    model: Any, X: Any, y: np.ndarray, given: Mapping[str, Any], *, warned: bool
) -> None:
    """`objective_` is what NumPy computes; what claims to be converged, nobody makes much lower.

    And no model is worse than one without curves, warned of or not, beyond what it is certified
    to be from the optimum.
    """
    if model._model.layout.n_parameters > MOST_COLUMNS:
        return
    problem = pose(model, X, y, given)
    value = objective_of(model, problem, X)
    at_zero = problem.losses(np.full_like(problem.targets, problem.flat, dtype=float))
    rounding = 1e-13 * at_zero + 1e-300  # what is left beside 1 in a double
    rounding += rounding_of_center(problem, model.intercept_)
    if problem.kind in LOG_LINK:  # half the deviance of a mean that differs by some last bits
        rounding += 1e-29 * float((problem.costs * np.maximum(problem.targets, 1.0)).sum())
    assert abs(value - model.objective_) <= 1e-6 * abs(value) + rounding, (
        f"objective_ is {model.objective_:.6g}, NumPy says {value:.6g}"
    )
    proven = model.dual_gap_ if model.certified_ else 0.0
    assert value * (1.0 - proven) <= (1.0 + 1e-6) * at_zero + rounding, (
        f"{value:.6g} with, {at_zero:.6g} without curves"
    )
    allowed = max(1e-6, 2.0 * model.tol) * abs(value) + rounding
    layout = model._model.layout
    curves = [*layout.groups, *(g.curve for g in layout.pairs if isinstance(g, VaryingGroup))]
    # `explicit` writes out curves with one variance each.
    if warned or model._model.layouts or any(has_parts(curve) for curve in curves):
        return
    kept = np.flatnonzero(weights_of(given, len(y)) > 0)
    best = reached_by_others(problem, kept)
    assert not value > best + allowed, (
        f"claims tol={model.tol:g} at {value:.6g}, but {best:.6g} can be reached"
    )
