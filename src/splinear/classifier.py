"""AdditiveClassifier: f(x) = b + sum_j f_j(x_j), every f_j a curve."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from splinear import _core
from splinear._reading import float_chunks
from splinear._types import AnyArray, Floats
from splinear._validation import (
    EMBEDDING_CONSTRAINTS,
    check_table,
    check_weights,
    column_ranges,
    draw_seed,
    fit_embedding,
    make_basis,
    positive,
)
from splinear.losses import LOSSES
from splinear.solvers import dual_cd
from splinear.solvers.problem import Problem, Stopping

__all__ = ["AdditiveClassifier"]


class AdditiveClassifier(ClassifierMixin, BaseEstimator):
    """Additive classifier, trained as fast as a linear one.

    Learns f(x) = b + sum_j f_j(x_j), every f_j a spline, Fourier or Hermite curve, by minimising

        1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + C sum_i c_i loss(y_i f(x_i))

    over the curves' coefficients coef_j (n_basis,) and the intercept. T = D_d^{-1} undoes the d-th
    differences of B-spline coefficients, so the first term penalises rough curves; for Fourier and
    Hermite curves T is diagonal and the term stands for the squared d-th derivative. It is the
    linear SVM on the embedding phi^d(x) of the paper (section 3), solved in the dual without
    ever storing that embedding.

    Parameters
    ----------
    basis : {"bspline", "fourier", "hermite"}, default="bspline"
        The family of curves.
    degree : int, default=1
        B-splines: the degree of the pieces, 0 to 3. Fourier: the number of frequencies. Hermite:
        the degree of the polynomial.
    n_bins : int, default=10
        B-splines: the number of pieces between a feature's lowest and highest training value, so
        that there are n_bins + degree coefficients. With knots="quantile" also the number of pieces
        of the warp, for every basis.
    penalty_order : int, default=1
        The order d of the penalty: 0, 1, 2, ... for B-splines; 1 or 2 for Fourier and Hermite.
        Order 0 shrinks the coefficients themselves, 1 their slope, 2 their curvature.
    knots : {"uniform", "quantile"}, default="uniform"
        Pieces of equal width, or of equally many training values.
    scale : {"unit", "native", "standard"}, default="unit"
        "unit" treats every feature as if it ran from 0 to 1; "native" lets features of wide range
        vary more, in their own units; "standard" (Hermite only) measures a feature in standard
        deviations from its mean instead of mapping its range to [-1, 1].
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the margin y f(x), y being -1 or 1.
    C : float, default=1.0
        The weight of the losses: larger fits closer. The paper's lambda is 1 / (C n_samples).
    class_weight : dict, "balanced" or None, default=None
        Multiplies C per class; "balanced" gives both classes the same total.
    fit_intercept : bool, default=True
        Whether to learn b.
    intercept_scaling : float, default=1.0
        B: the intercept is B times a penalised weight, so a larger B penalises it less.
    solver : {"auto", "dual_cd"}, default="auto"
        "auto" picks the solver; so far there is one, dual coordinate descent.
    tol : float, default=1e-2
        Stop at this relative duality gap: the objective is then within this share of the optimum.
    max_iter : int, default=1000
        The most passes over the data. A ConvergenceWarning says what gap was reached by then.
    n_jobs : int or None, default=None
        Threads for coding, certifying and scoring; None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of visits. The same number gives the same bits.
    verbose : int, default=0
        1 prints a line per pass.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features, n_basis)
        The coefficients in the basis: f_j(x) = coef_[0, j] @ B(x).
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Passes made.
    dual_gap_ : float
        The relative duality gap reached.
    objective_ : float
        The value of the function above.
    embedding_ : Embedding
        How features become curves: ranges, basis, penalty.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **EMBEDDING_CONSTRAINTS,
        "basis": [StrOptions({"bspline", "fourier", "hermite"})],
        "loss": [StrOptions(set(LOSSES))],
        "C": [positive()],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [positive()],
        "solver": [StrOptions({"auto", "dual_cd"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        basis: Literal["bspline", "fourier", "hermite"] = "bspline",
        degree: int = 1,
        n_bins: int = 10,
        penalty_order: int = 1,
        knots: Literal["uniform", "quantile"] = "uniform",
        scale: Literal["unit", "native", "standard"] = "unit",
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        C: float = 1.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: Literal["auto", "dual_cd"] = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.loss = loss
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveClassifier:
        """Learn the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers. float32 and float64 are read as they are, without a copy; other types
            in pieces (as a float64 copy where tol < 1e-3).
        y : array-like of shape (n_samples,)
            Two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row. A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self
        """
        self._validate_params()
        basis = make_basis(self.basis, self.degree, self.n_bins, self.penalty_order, self.scale)
        X, y = check_table(self, X, y=y, reset=True)
        weights = check_weights(sample_weight, X)
        kept = None if weights is None or np.all(weights > 0) else weights > 0
        problem = self._problem(y, weights, kept)
        self.embedding_ = fit_embedding(
            self,
            X,
            basis,
            kept=kept,
            penalty_order=self.penalty_order,
            knots=self.knots,
            scale=self.scale,
        )
        found = dual_cd.solve(X, self.embedding_, problem, self._stopping(len(X)))
        self.coef_ = found.coef[None]
        self.intercept_ = np.array([found.intercept])
        self.n_iter_ = found.n_iter
        self.dual_gap_ = found.gap
        self.objective_ = found.primal
        if not found.converged:
            warnings.warn(
                f"Stopped after {found.n_iter} passes at a relative duality gap of "
                f"{found.gap:.2g}; tol={self.tol:g} was asked for. Raise max_iter or tol, "
                "or lower C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Floats:
        """Compute f(x): positive for classes_[1].

        Values outside a feature's training range count as the nearest end of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        axes, basis = self.embedding_.axes.core(), self.embedding_.basis.core()
        out = np.empty(len(X))
        for rows, piece in float_chunks(X):
            out[rows] = _core.decision(
                basis, piece, axes, self.coef_[0], float(self.intercept_[0]), self._n_threads()
            )
        if np.isnan(out).any():  # that is how the core marks rows that are not finite
            column_ranges(self, X)
        return out

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row of X: classes_[1] where f(x) > 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        positive_class = (self.decision_function(X) > 0).astype(np.intp)
        labels: AnyArray = self.classes_[positive_class]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Squash the scores by the logistic function, as the paper does for MNIST.

        The result ranks as decision_function does; it is not calibrated. For probabilities that
        match frequencies, wrap the classifier in sklearn.calibration.CalibratedClassifierCV.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
        """
        p = expit(self.decision_function(X))
        return np.column_stack([1.0 - p, p])

    def _problem(self, y: AnyArray, weights: Floats | None, kept: AnyArray | None) -> Problem:
        """Find the two classes among the rows that count, and what each costs."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        counted = y if kept is None else y[kept]
        self.classes_ = np.unique(counted)
        if len(self.classes_) > 2 or kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: "
                f"{len(self.classes_)} classes were found in y."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes, but only one class was found: {self.classes_!r}."
            )
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=counted)
        signs = np.where(y == self.classes_[1], np.int8(1), np.int8(-1))
        return Problem(
            y=signs,
            loss=LOSSES[self.loss],
            cost_negative=self.C * float(by_class[0]),
            cost_positive=self.C * float(by_class[1]),
            weights=weights,
            bias=float(self.intercept_scaling) if self.fit_intercept else 0.0,
        )

    def _stopping(self, n_rows: int) -> Stopping:
        return Stopping(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            seed=draw_seed(self.random_state),
            n_threads=self._n_threads(),
            on_pass=_printer(n_rows) if self.verbose else None,
        )

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _printer(n_rows: int) -> Callable[[int, float, int], None]:
    def print_pass(n_iter: int, gap: float, n_active: int) -> None:
        print(f"pass {n_iter:4d}   gap {gap:9.2e}   active {n_active:,} of {n_rows:,} rows")

    return print_pass
