"""AdditiveClassifier: probabilities from curves, each as smooth as the data ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from splinear._compat import StrOptions
from splinear._types import AnyArray, Floats, Table
from splinear.solvers.choosing import choose, final_edf
from splinear.solvers.losses import Logistic
from splinear.solvers.memory import Need
from splinear.solvers.path import newton_path
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable, Softmax, Sum
from splinear.solvers.smoothness import Smoothness
from splinear.solvers.watch import Progress
from splinear.tables.opening import open_table
from splinear.terms.base import Advice, Term
from splinear.training.advice import advise_smooth
from splinear.training.estimator import AdditiveEstimator
from splinear.training.labels import ClassWeight, Labels
from splinear.training.memory import Demand
from splinear.training.parameters import positive
from splinear.training.running import one_blas_thread, side_by_side
from splinear.training.table import read_rows

__all__ = ["AdditiveClassifier"]


class AdditiveClassifier(ClassifierMixin, AdditiveEstimator):
    """Additive classifier with probabilities, every curve as smooth as the data ask for.

    Learns f(x) = b + sum_k f_k(x), each f_k the curve of a feature of numbers or the effects of a
    category's levels, by minimising

        sum_i c_i loss(y_i, f(x_i)) + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b. The loss is log(1 + exp(-y f)) for two classes, y being -1 or 1,
    and log sum_c exp f_c - f_y for more, where every class c has an f_c of its own. S_k penalises
    rough curves (see the terms), and t_k, the variance of a term, comes from the data by restricted
    maximum likelihood (REML), or is C s_k^2 for a given C. The intercept is not penalised.

    Parameters
    ----------
    curve : term or None, default=None
        The term of every feature of numbers, for example `Spline(degree=3)` or `Linear()`; see
        :mod:`splinear.terms`. None is `Spline()`, with as many pieces as are good for the table.
    terms : dict or None, default=None
        Terms of single features: from a feature's name or position to a term, or to "drop".
    C : float or None, default=None
        None: the data choose how smooth each term is. A number weighs the losses, alike for all
        terms: larger fits closer.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of rows by class; "balanced" gives all classes the same total. For
        several labels per row the classes are 0 and 1, of every label.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories: those of text or of a categorical type; or features by
        position, by name or as a mask; or none.
    missing : {"level", "error"}, default="level"
        What NaN (or None) in X means. "level": a value of its own, which counts as the curve's mean
        plus what is learned from the rows that have it. A feature that had none in fit counts as
        its mean. "error" refuses it.
    tol : float, default=1e-3
        How close to the optimum the objective is to be, relative to itself.
    max_iter : int, default=1000
        The most Newton steps. A ConvergenceWarning says if they were not enough.
    time_limit : float or None, default=None
        Seconds of training after which to stop with what has been learned, and a
        ConvergenceWarning.
    callback : callable or None, default=None
        Called after every step as callback(progress), with `progress.n_iter`, `.gap`, `.n_active`,
        `.n_rows` and `.label`. Returning True stops the fit, as time_limit does. What it raises
        (and Ctrl-C) stops the fit too, and is raised once the model has been stored.
    warm_start : bool, default=False
        Whether to start from the curves of the last fit.
    max_memory : int, str or None, default=None
        How much memory fit may take beyond X and y: bytes, or a text such as "500MB" or "2GiB".
        If X's codes, 2 bytes per value, do not fit they go to a temporary file.
    n_jobs : int or None, default=None
        Threads. None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of rows, and so the last digits. The same number gives the same bits.
    verbose : int, default=0
        1 prints a line per step.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    terms_ : sequence of fitted terms
        One per feature that was not dropped: `coef` (n_outputs, size), `knots` or `levels`, `gap`,
        `mean`, `edf` (degrees of freedom) and `smoothness` (t_k). Two classes have one output,
        whose score is positive for classes_[1]; otherwise there is one per class.
    intercept_ : ndarray of shape (n_outputs,)
    feature_importances_ : ndarray of shape (n_features,)
        The standard deviation of each feature's contributions over the training rows (weighted; the
        mean over outputs).
    n_iter_ : int
        Newton steps, turns of REML included.
    dual_gap_ : float
        The relative duality gap: the objective is proven to be within this share of the optimum.
    certified_ : bool
        Whether that proof is within tol; if not, a ConvergenceWarning says so.
    objective_ : float
        The value of the function above.
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
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0.]])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **AdditiveEstimator._parameter_constraints,
        "C": [positive(), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: dict[Any, Any] | None = None,
        C: float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: Any = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.curve = curve
        self.terms = terms
        self.C = C
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.warm_start = warm_start
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveClassifier:
        """Learn the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, text and missing values; arrays, data frames, sparse matrices. float32 and
            float64 are read as they are, without a copy. Or data on disk, read in chunks: a
            numpy.memmap, the name of a .npy, Parquet or LIBSVM file, a list of .npy or Parquet
            files, a folder of Parquet files, or a pyarrow.dataset.Dataset.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels per row, an indicator matrix of 0 and 1. With X in
            files also the name of a Parquet column, a list of .npy files, or None for the labels
            of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row. A row of weight 2 counts as two rows, one of 0 as none.

        Returns
        -------
        self
        """
        self._check_params()
        work = self._fresh()
        data = read_rows(work, X, y, sample_weight, multi_output=True)
        labels = work._read_target(data.y, data.kept)
        layout = work._lay_out(data)
        before = self._last_fit(layout, labels.n_outputs, data.table.shape[0])
        demand = work._demand(labels, weighted=data.weights is not None)
        rows = work._prepare(data, layout, work._plan_memory(data, layout, demand, 1))
        stopping = work._stopping(rows)
        results, settled = work._learn(rows, labels, data.weights, data.kept, stopping, before)
        self._adopt(work)
        self._end(results, stopping.watch, settled=settled)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Compute the scores: for two classes positive for classes_[1], else highest for the best.

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
        """Compute the probabilities of the classes, or of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        if self._multilabel:
            return np.asarray(expit(scores))
        if self._is_binary:
            return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
        return np.asarray(softmax(scores, axis=1))

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
        """Return the share of rows that are predicted right.

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

    def _advice(self, table: Table) -> Advice:
        return advise_smooth(table, chosen=self.C is None)

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Labels:
        labels = Labels.read(y, kept)
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        return labels

    @property
    def _is_binary(self) -> bool:
        return len(self.classes_) == 2 and not self._multilabel

    def _demand(self, labels: Labels, *, weighted: bool) -> Demand:
        need = self._need(labels.n_outputs, weighted=weighted)
        by_class = self.class_weight is not None and labels.n_outputs > 1
        need += Need(shared=labels.bytes_per_row + (16 if by_class else 0))
        together = 1 if labels.multilabel else labels.n_outputs
        return Demand(labels.n_outputs, need, newton=True, together=together)

    def _learn(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None,
    ) -> tuple[list[Result], bool]:
        """Train and store; also tell whether smoothness was settled before something stopped it."""
        with one_blas_thread():
            edf, n_turns, settled = None, 0, True
            if self.C is None:
                chosen = self._choose(rows, labels, weights, kept, stopping)
                rows = rows.with_layout(chosen.layout)
                edf, n_turns = chosen.edf, chosen.n_turns
                settled = stopping.watch.reason is None
                stopping = replace(stopping, watch=stopping.watch.after(n_turns))
                if before is None:
                    before = _starts_of(chosen)
            [results] = self._train(rows, labels, weights, kept, stopping, before)
            if self.C is None and settled:
                totals = self._totals(rows, labels, weights, kept)
                edf = final_edf(chosen, rows, totals, results, stopping.n_threads)
            self._finish(self._scaled(rows), results, weights, edf=edf, n_turns=n_turns)
        return results, settled

    def _scaled(self, rows: TrainingRows) -> TrainingRows:
        """Return the rows with the variances of a fixed C."""
        return rows if self.C is None else rows.with_layout(rows.layout.scaled(self.C))

    def _choose(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
    ) -> Smoothness:
        """Choose the variance of every term, the same for all outputs."""
        return choose(
            rows,
            lambda some: self._totals(some, labels, weights, kept),
            stopping,
            lambda some: some.weight(weights),
        )

    def _totals(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
    ) -> list[Sum]:
        """Return the sums of losses: one for all classes, or one per label."""
        by_class = labels.row_weights(self.class_weight, kept)
        if by_class is not None:
            weights = by_class if weights is None else weights * by_class
        placed = None if weights is None else rows.place(weights)
        if labels.n_outputs > 1 and not labels.multilabel:
            cost = np.ones(rows.n_rows) if placed is None else placed
            return [Softmax(rows.place(labels.index), cost, labels.n_outputs)]
        costs = labels.class_weights(self.class_weight, kept)
        return [
            Separable(_problem(rows, labels, k, costs[k], placed), Logistic())
            for k in range(labels.n_outputs)
        ]

    def _train(
        self,
        rows: TrainingRows,
        labels: Labels,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        Cs: Sequence[float] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn, None: that of the estimator; results per C."""
        strengths = [1.0 if self.C is None else float(self.C)] if Cs is None else list(Cs)
        totals = self._totals(rows, labels, weights, kept)
        starts: list[Start | None] = [None] * len(totals)
        if before is not None:
            starts = list(before) if labels.multilabel else [_joined(before)]
        tasks = [
            partial(newton_path, rows, total, strengths, stopping, start)
            for total, start in zip(totals, starts, strict=True)
        ]
        paths = side_by_side(tasks, 1, stopping.watch)
        some = zip(*paths, strict=False)  # some may have stopped
        return [[found for results in of_C for found in results] for of_C in some]

    def _objective_of(self, results: Sequence[Result]) -> float:
        together = not self._multilabel
        return results[0].primal if together else super()._objective_of(results)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _problem(
    rows: TrainingRows, labels: Labels, output: int, cost: Floats, weights: Floats | None
) -> Problem:
    """Pose the problem of one output against the rest."""
    return Problem(
        y=rows.place(labels.signs(output)),
        loss=Logistic(),
        cost_negative=float(cost[0]),
        cost_positive=float(cost[1]),
        weights=weights,
    )


def _joined(starts: Sequence[Start]) -> Start:
    """Return one start for all outputs."""
    return Start(
        coef=np.stack([start.coef for start in starts if start.coef is not None]),
        intercept=np.array([float(start.intercept) for start in starts]),
    )


def _starts_of(chosen: Smoothness) -> list[Start]:
    """Return one start per output."""
    return [
        Start(coef=coef, intercept=float(b))
        for start in chosen.starts
        if start.coef is not None
        for coef, b in zip(start.coef, np.atleast_1d(start.intercept), strict=True)
    ]
