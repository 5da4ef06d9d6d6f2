"""AdditiveClassifier: f(x) = b + sum_j f_j(x_j), every f_j a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from splinear._base import AdditiveModel, feasible, one_blas_thread, side_by_side
from splinear._columns import read_rows
from splinear._held_out import N_CALIBRATION_FOLDS, calibrate
from splinear._labels import ClassWeight, Labels
from splinear._types import AnyArray, Floats, KnotRules, Table
from splinear.calibration import sigmoid
from splinear.io import open_table
from splinear.losses import LOSSES, Logistic, Loss
from splinear.solvers.memory import Need
from splinear.solvers.path import newton_path
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable, Softmax, Sum
from splinear.solvers.watch import Progress

__all__ = ["AdditiveClassifier"]


class AdditiveClassifier(ClassifierMixin, AdditiveModel):
    """Additive classifier, trained as fast as a linear one.

    Learns f(x) = b + sum_j f_j(x_j), every f_j a spline, Fourier or Hermite curve, by minimising

        1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + C sum_i c_i loss(y_i f(x_i))

    over the curves' coefficients coef_j (n_basis,) and the intercept. T = D_d^{-1} undoes the d-th
    differences of B-spline coefficients, so the first term penalises rough curves; for Fourier and
    Hermite curves T is diagonal and the term stands for the squared d-th derivative. It is the
    linear model on the embedding phi^d(x) of the paper (section 3), trained without ever storing
    that embedding.

    More than two classes, or several labels a row, have one such f each: one against the rest, or
    all together under the softmax loss.

    Parameters
    ----------
    basis : {"bspline", "fourier", "hermite"}, default="bspline"
        The family of curves.
    degree : int, default=1
        B-splines: the degree of the pieces, 0 to 3. Fourier: the number of frequencies. Hermite:
        the degree of the polynomial.
    n_bins : int or sequence of int, default=10
        B-splines: the number of pieces between a feature's lowest and highest training value, so
        that there are n_bins + degree coefficients. With quantile knots also the number of pieces
        of the warp, for every basis. A sequence has one number a feature; `coef_` then has room for
        the most.
    penalty_order : int, default=1
        The order d of the penalty: 0, 1, 2, ... for B-splines; 1 or 2 for Fourier and Hermite.
        Order 0 shrinks the coefficients themselves, 1 their slope, 2 their curvature.
    knots : {"auto", "uniform", "quantile"}, sequence or dict, default="auto"
        "uniform" makes pieces of equal width. "quantile" puts knots where the values are: at each
        value if there are no more than n_bins + 1, else at quantiles, half of them of the rows and
        the others of the distinct values. A feature may then have fewer pieces than n_bins.
        "auto" makes pieces of equal width unless a feature has a long tail: if its 5 % and 95 %
        quantiles are closer together than a fifth of its range, its knots are those of "quantile",
        with more between them where there are not enough.
        A sequence has one entry a feature: one of these words, or the knots themselves, two or more
        numbers in ascending order, the first and last of which are the ends of the feature's range.
        A dict from column name or position to such an entry leaves the other features to "auto".
    scale : {"unit", "native", "standard"}, default="unit"
        "unit" treats every feature as if it ran from 0 to 1; "native" lets features of wide range
        vary more, in their own units; "standard" (Hermite only) measures a feature in standard
        deviations from its mean instead of mapping its range to [-1, 1].
    through_zero : bool or "auto", default="auto"
        Whether every curve is zero at zero, f_j(0) = 0, so that zeros of a sparse X cost nothing.
        "auto" does so if X is sparse. B-splines then start at zero, with the first function away
        from it, and take no negative values; with knots="auto" a column of few values has a knot at
        each. Of Fourier and Hermite only odd functions are left.
    extrapolation : {"constant", "linear", "error"}, default="constant"
        What a value outside a feature's range counts as in prediction: "constant", as the nearest
        end; "linear", on a straight line with the curve's slope at that end; "error" refuses it.
        The range is that of the training values, or of the knots where they are given. Training
        always counts it as the nearest end.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The loss of the margin y f(x), y being -1 or 1.
    multi_class : {"auto", "ovr", "softmax"}, default="auto"
        More than two classes: "ovr" trains each against the rest; "softmax" (loss="logistic" only)
        trains all together on the multinomial loss log sum_k exp f_k(x) - f_y(x), by Newton's
        method. "auto" is softmax for loss="logistic" unless solver="dual_cd", and one-vs-rest
        otherwise.
    C : float, default=1.0
        The weight of the losses: larger fits closer. The paper's lambda is 1 / (C n_samples).
    class_weight : dict, "balanced" or None, default=None
        Multiplies C per class; "balanced" gives all classes the same total. For several labels a
        row the classes are 0 and 1, of every label.
    fit_intercept : bool, default=True
        Whether to learn b.
    intercept_scaling : float, default=1.0
        B: the intercept is B times a penalised weight, so a larger B penalises it less.
    smoothness : {"C", "reml"}, default="C"
        How smooth the curves are: as the penalty and C say, alike for all features; or, for
        loss="logistic", each as the data ask for, by restricted maximum likelihood. C then plays
        no part.
    missing : {"error", "level"}, default="error"
        What NaN (or None) in X means: an error; or, in a feature that has some in fit, a value of
        its own, with a level that is learned.
    categorical : array-like of int, str or bool, default=None
        Features that are categories, by position, by name or as a mask. Columns of a data frame
        that hold text or categories are so anyway. Every level has a column of 0 and 1 in the
        model, named like "colour=red". Its effect is the step of that column's curve from 0 to 1,
        which D_1 shrinks towards zero as D_0 would shrink a coefficient of the level.
    unseen : {"ignore", "error"}, default="ignore"
        Levels at prediction that were not there in fit: they count as none, or are an error.
    calibration : {"sigmoid"} or None, default=None
        "sigmoid" calibrates the probabilities, after Platt: five more fits, each without a fifth of
        the rows, score the rows they have not seen, and p = 1 / (1 + exp(a f + b)) is fitted to
        these scores, with a and b for every output. Scores and predictions stay as they are.
    solver : {"auto", "dual_cd", "newton"}, default="auto"
        "dual_cd" is dual coordinate descent, for every loss; "newton" is Newton's method, for
        squared_hinge and logistic. "auto" is newton for these two where there are fewer than 2,500
        coefficients, so that a Hessian can be formed, and dual_cd otherwise.
    tol : float, default=1e-2
        Stop at this relative duality gap: the objective is then within this share of the optimum.
    max_iter : int, default=1000
        The most passes over the data (dual_cd) or steps (newton). A ConvergenceWarning says what
        gap was reached by then.
    time_limit : float or None, default=None
        Seconds of training after which to stop with what has been learned, and a
        ConvergenceWarning.
    callback : callable or None, default=None
        Called after every pass as callback(progress), with `progress.n_iter`, `.gap`, `.n_active`,
        `.n_rows` and `.label`. Returning True stops the fit, as time_limit does. What it raises
        (and Ctrl-C) stops the fit too, and goes on once the model has been stored.
    warm_start : bool, default=False
        Whether to start from the last fit: from its curves, or from its dual variables (which
        are then kept, 8 bytes a row and output) if the number of rows is the same.
    n_jobs : int or None, default=None
        Threads: classes are trained side by side, and what is left divides the work inside a fit
        and the scoring. None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of visits. The same number gives the same bits.
    verbose : int, default=0
        1 prints a line per pass.
    max_memory : int, str or None, default=None
        How much memory fit may take beyond X and y: bytes, or a text such as "500MB" or "2GiB".
        If X's codes, 2 bytes a value, do not fit they go to a temporary file, and training goes
        through it in blocks. See "Data larger than memory" in the user guide.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_outputs, n_columns, n_basis)
        The coefficients in the basis: f_j(x) = coef_[k, j] @ B(x) for output k. Without missing
        values and categories the columns are the features; otherwise see columns_. Two classes have
        one output, whose score is positive for classes_[1]; otherwise there is one a class.
    intercept_ : ndarray of shape (n_outputs,)
    degrees_of_freedom_ : ndarray of shape (n_columns,)
        Only with smoothness="reml": how much of its freedom each curve uses, summed over outputs.
    n_iter_ : int
        Passes or steps made; the most of any output.
    dual_gap_ : float
        The relative duality gap reached; the largest of any output. Where Newton's method ended
        with a step that promised little, it is that promise, relative to the objective.
    objective_ : float
        The value of the function above, summed over outputs.
    calibration_ : ndarray of shape (n_outputs, 2) or None
        a and b of every output; None if the probabilities are not calibrated.
    columns_ : Columns
        How features become columns of the model: feature j has `coef_[:, columns_.groups[j]]`.
        Their names are :func:`splinear.inspection.column_names`.
    embedding_ : Embedding
        How columns become curves: ranges, basis, penalty.
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
        **AdditiveModel._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge", "logistic"})],
        "multi_class": [StrOptions({"auto", "ovr", "softmax"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "calibration": [StrOptions({"sigmoid"}), None],
    }

    def __init__(
        self,
        *,
        basis: Literal["bspline", "fourier", "hermite"] = "bspline",
        degree: int = 1,
        n_bins: int | Sequence[int] = 10,
        penalty_order: int = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native", "standard"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
        extrapolation: Literal["constant", "linear", "error"] = "constant",
        loss: Literal["hinge", "squared_hinge", "logistic"] = "hinge",
        multi_class: Literal["auto", "ovr", "softmax"] = "auto",
        C: float = 1.0,
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        smoothness: Literal["C", "reml"] = "C",
        missing: Literal["error", "level"] = "error",
        categorical: Sequence[int | str | bool] | AnyArray | None = None,
        unseen: Literal["ignore", "error"] = "ignore",
        calibration: Literal["sigmoid"] | None = None,
        solver: Literal["auto", "dual_cd", "newton"] = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_memory: int | str | None = None,
    ) -> None:
        self.basis = basis
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero
        self.extrapolation = extrapolation
        self.loss = loss
        self.multi_class = multi_class
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.smoothness = smoothness
        self.missing = missing
        self.categorical = categorical
        self.unseen = unseen
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveClassifier:
        """Learn the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; or a table with missing values and categories, of which a float64
            matrix is made (see `missing` and `categorical`). float32 and float64 are read as they
            are, without a copy; other types in pieces (as a float64 copy where tol < 1e-3).
            Or data on disk, read in chunks: a numpy.memmap, the name of a .npy, Parquet or LIBSVM
            file, a list of .npy or Parquet files, a folder of Parquet files, or a
            pyarrow.dataset.Dataset.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels a row, an indicator matrix of 0 and 1. With X in
            files also the name of a Parquet column, a list of .npy files, or None for the labels
            of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row. A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y, weights, kept = read_rows(self, X, y, sample_weight, reset=True, multi_output=True)
        labels = self._read_target(y, kept)
        before = self._last_fit(X.shape[0], labels.n_outputs)
        self.embedding_ = self._learn_embedding(X, kept, weights)
        self._learn(self._rows(X, labels, weights, kept), labels, weights, kept, before)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> AdditiveClassifier:
        """Learn from a chunk of rows, starting from what was learned from those before.

        The first chunk fixes the ranges of the features (and quantile knots), so it should be
        representative: values beyond them count as the nearest end. Every chunk minimises

            1/2 |w - w_before|^2 + C sum_{i in chunk} c_i loss(y_i f(x_i)),

        w being the weights of the embedding: as close to the last model as the chunk allows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur. Needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._validate_params()
        if self.calibration is not None:
            raise ValueError(
                f"partial_fit cannot hold rows out for calibration={self.calibration!r}; use "
                "calibration=None, or fit with all rows."
            )
        first = not hasattr(self, "coef_")
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        X, y, weights, kept = read_rows(self, X, y, sample_weight, reset=first, multi_output=True)
        known = np.unique(np.asarray(classes)) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise ValueError(f"classes must stay the same; got {classes!r} after {known!r}.")
        labels = self._read_target(y, kept, known)
        before = None
        if first:
            self.embedding_ = self._learn_embedding(X, kept, weights)
        else:
            before = [
                Start(coef=coef, intercept=float(intercept), proximal=True)
                for coef, intercept in zip(self.coef_, self.intercept_, strict=True)
            ]
        self._learn(self._rows(X, labels, weights, kept), labels, weights, kept, before)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Compute the scores: for two classes positive for classes_[1], else highest for the best.

        Values outside a feature's range count as `extrapolation` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 0] if self._is_binary else scores

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row of X, or its labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self._scores(X)
        if self._multilabel:
            return (scores > 0).astype(np.int64)
        best = (scores[:, 0] > 0).astype(np.intp) if self._is_binary else scores.argmax(axis=1)
        labels: AnyArray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Turn the scores into probabilities.

        With calibration="sigmoid" each output has its own logistic curve, fitted to the scores of
        rows held out. Otherwise, for loss="logistic" they are the model's own: the logistic
        function of the score, or the softmax of all scores where the classes were trained together.
        The other losses have no probabilities of their own, and the logistic function squashes
        their scores, as in the paper: they rank as the scores do, but do not match frequencies.
        One-vs-rest and calibrated probabilities of several classes are divided by their sum.

        predict goes by the scores. The class of the highest probability may be another one if the
        probabilities are calibrated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        if self._softmax and self.calibration_ is None:
            together: Floats = softmax(scores, axis=1)
            return together
        p: Floats = expit(scores)
        if self.calibration_ is not None:
            p = sigmoid(scores, self.calibration_)
        if self._multilabel:
            return p
        if self._is_binary:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])

    def predict_log_proba(self, X: Any) -> Floats:
        """Compute the logarithms of predict_proba.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the share of rows that are predicted right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        y : array-like of shape (n_samples,) or (n_samples, n_labels), or None or text, as in fit
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
        """
        X, y = open_table(X, y)
        return float(super().score(X, y, sample_weight))

    # -- training --------------------------------------------------------------------------------

    def _read_target(
        self, y: AnyArray, kept: AnyArray | None, classes: AnyArray | None = None
    ) -> Labels:
        labels = Labels.read(_as_column(y), kept, classes)
        self._check_multi_class(labels)
        return labels

    def _check_multi_class(self, labels: Labels) -> None:
        """Settle how several classes are trained, or say why it cannot be."""
        self._check_smoothness()
        self._check_solver(self._make_loss())
        possible = self.loss == "logistic" and self.solver != "dual_cd"
        several = labels.n_outputs > 1 and not labels.multilabel
        if self.multi_class == "softmax":
            if not possible:
                raise ValueError(
                    "multi_class='softmax' needs loss='logistic' and solver='newton' or 'auto'; "
                    f"got loss={self.loss!r} and solver={self.solver!r}."
                )
            if labels.multilabel:
                raise ValueError("multi_class='softmax' is for one class a row; y holds several.")
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        self._softmax = several and possible and self.multi_class != "ovr"
        self.calibration_: Floats | None = None

    @property
    def _is_binary(self) -> bool:
        check_is_fitted(self)
        return len(self.classes_) == 2 and not self._multilabel

    def _rows(
        self, X: Table, labels: Labels, weights: Floats | None, kept: AnyArray | None
    ) -> TrainingRows:
        plan = self._plan_memory(X, labels.n_outputs, weights, together=self._softmax)
        return self._prepare(X, kept, self._draw_seed(), plan)

    def _need(self, n_outputs: int, *, weighted: bool) -> Need:
        need = super()._need(n_outputs, weighted=weighted)
        need += Need(shared=n_outputs if self._multilabel else 4 if len(self.classes_) > 127 else 1)
        if self.class_weight is not None and n_outputs > 1:
            need += Need(shared=16)
        if self.calibration is not None:  # scores of every fold, and weights that hold rows out
            need += Need(shared=(N_CALIBRATION_FOLDS + 2) * 8 * n_outputs + 32, each=16)
        return need

    def _make_loss(self) -> Loss:
        return LOSSES[self.loss]

    def _learn(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        before: list[Start] | None,
    ) -> None:
        stopping = self._stopping(rows)
        with one_blas_thread():
            if self.smoothness == "reml":
                rows, before = self._tune_outputs(rows, labels, weights, kept, stopping, before)
            [results] = self._train(rows, labels, weights, kept, stopping, before)
            if self.calibration is not None:
                self.calibration_ = calibrate(self, rows, labels, weights, kept, stopping)
        self._finish(rows, results, stopping.watch)

    def _width(self, rows: TrainingRows, labels: Labels, stopping: Stopping) -> int:
        """Give the number of outputs that are trained at a time."""
        most = min(labels.n_outputs, rows.plan.width)
        return 1 if self._softmax else min(stopping.n_threads, most)

    def _train(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        factors: Sequence[float] = (1.0,),
    ) -> list[list[Result]]:
        """Train all outputs with C times each of the factors; one list of results a factor.

        `weights` (n,) may be 0 for rows that were prepared; `kept` (n,) marks the others.
        """
        placed = self._placed_weights(rows, labels, weights, kept)
        if self._softmax:
            return self._together(rows, labels, placed, stopping, before, factors)
        width = self._width(rows, labels, stopping)
        inner = replace(stopping, n_threads=stopping.n_threads // width)
        costs = labels.class_weights(self.class_weight, kept)
        tasks = [
            partial(self._one, rows, labels, k, costs[k], placed, inner, before, factors)
            for k in range(labels.n_outputs)
        ]
        paths = side_by_side(tasks, width, stopping.watch)
        return [list(results) for results in zip(*paths, strict=False)]  # some may have stopped

    def _placed_weights(
        self, rows: TrainingRows, labels: Labels, weights: Floats | None, kept: AnyArray | None
    ) -> Floats | None:
        """Give the rows' weights, those of their classes included, in the order of training."""
        by_class = labels.row_weights(self.class_weight, kept)
        if by_class is not None:
            weights = by_class if weights is None else weights * by_class
        return None if weights is None else rows.place(weights)

    def _problem(
        self,
        rows: TrainingRows,
        labels: Labels,
        output: int,
        cost: Floats,
        weights: Floats | None,
    ) -> Problem:
        """Pose the problem of one output against the rest."""
        return Problem(
            y=rows.place(labels.signs(output)),
            loss=self._make_loss(),
            cost_negative=float(cost[0]),
            cost_positive=float(cost[1]),
            weights=weights,
            bias=self._bias,
        )

    def _one(
        self,
        rows: TrainingRows,
        labels: Labels,
        output: int,
        cost: Floats,
        weights: Floats | None,
        stopping: Stopping,
        before: list[Start] | None,
        factors: Sequence[float],
    ) -> list[Result]:
        """Train one output against the rest."""
        problem = self._problem(rows, labels, output, self._strength * cost, weights)
        start = None if before is None else feasible(before[output], rows, problem)
        watch = stopping.watch.of(labels.label(output))
        return self._follow(rows, problem, replace(stopping, watch=watch), start, factors)

    def _softmax_loss(
        self, rows: TrainingRows, labels: Labels, weights: Floats | None, C: float
    ) -> Softmax:
        cost = np.full(rows.n_rows, C) if weights is None else C * weights
        return Softmax(rows.place(labels.index), cost, labels.n_outputs)

    def _tune_outputs(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None,
    ) -> tuple[TrainingRows, list[Start]]:
        """Choose a smoothness for every feature, the same for all outputs."""
        placed = self._placed_weights(rows, labels, weights, kept)
        totals: list[Sum]
        if self._softmax:
            totals = [self._softmax_loss(rows, labels, placed, 1.0)]
        else:
            costs = labels.class_weights(self.class_weight, kept)
            totals = [
                Separable(self._problem(rows, labels, k, costs[k], placed), Logistic())
                for k in range(labels.n_outputs)
            ]
        rows, starts = self._tune(rows, totals, stopping)
        if self._softmax:
            coef, intercept = starts[0].coef, np.atleast_1d(starts[0].intercept)
            assert coef is not None
            starts = [Start(coef=c, intercept=b) for c, b in zip(coef, intercept, strict=True)]
        return rows, starts if before is None else before

    def _together(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        stopping: Stopping,
        before: list[Start] | None,
        factors: Sequence[float],
    ) -> list[list[Result]]:
        """Train all classes on the softmax loss."""

        def total(factor: float) -> Softmax:
            return self._softmax_loss(rows, labels, weights, factor * self._strength)

        start = None
        if before is not None:
            start = Start(
                coef=np.stack([b.coef for b in before if b.coef is not None]),
                intercept=np.array([b.intercept for b in before]),
                proximal=before[0].proximal,
            )
        return newton_path(rows, factors, total, stopping, self._bias, start)

    def _objective_of(self, results: Sequence[Result]) -> float:
        return results[0].primal if self._softmax else super()._objective_of(results)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _as_column(y: AnyArray) -> AnyArray:
    """Give a column of labels (n, 1) as (n,), with scikit-learn's warning."""
    return column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
