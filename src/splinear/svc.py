"""AdditiveSVC: the paper's classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from splinear._compat import StrOptions
from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.solvers.losses import LOSSES
from splinear.solvers.memory import Need
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.watch import Progress
from splinear.tables.opening import open_table
from splinear.terms.base import Term
from splinear.training.dual import DualEstimator, follow_problems
from splinear.training.labels import ClassWeight, Labels
from splinear.training.memory import Demand
from splinear.training.table import TrainingTable, read_rows

__all__ = ["AdditiveSVC"]


class AdditiveSVC(ClassifierMixin, DualEstimator):
    """The additive support vector classifier of the paper, trained as fast as a linear one.

    Learns f(x) = b + sum_k f_k(x) by minimising

        1/2 |w|^2 + 1/2 b^2 + C sum_i c_i loss(y_i (w'phi(x_i) + B b)),

    with phi the embedding of the paper (section 3), in which an additive model is linear: for
    splines coef_k = s_k D_d^{-1} w_k, so that the first part is the penalty
    1/2 sum_k |D_d coef_k|^2 / s_k^2. Dual coordinate descent computes the embedding on the fly and
    never stores it. More than two classes, or several labels per row, are trained one against the
    rest. Beside LinearSVC it is what AdditiveClassifier is beside LogisticRegression: for wide
    tables (histograms, images, text), and without probabilities
    (:class:`sklearn.calibration.CalibratedClassifierCV` adds them).

    Parameters
    ----------
    curve : term or None, default=None
        The term of every feature of numbers; see :mod:`splinear.terms`. None is `Spline()` with 10
        pieces of equal width, quantile knots for features with long tails, and a knot at each value
        of features that have few.
    terms : dict or None, default=None
        Terms of single features: from a feature's name or position to a term, or to "drop".
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the margin m = y f(x), y being -1 or 1: max(0, 1 - m), or its square.
    C : float, default=1.0
        The weight of the losses: larger fits closer. The paper's lambda is 1 / (C n_samples).
    class_weight : dict, "balanced" or None, default=None
        Multiplies C per class; "balanced" gives all classes the same total. For several labels per
        row the classes are 0 and 1, of every label.
    fit_intercept : bool, default=True
        Whether to learn b.
    intercept_scaling : float, default=1.0
        B: the intercept is B times a penalised weight, so a larger B penalises it less.
        At most 1e8; far smaller ones already take many passes.
    categorical_features, missing
        As in AdditiveClassifier.
    tol : float, default=1e-2
        Stop at this relative duality gap: the objective is then within this share of the optimum.
    max_iter : int, default=1000
        The most passes over the data. A ConvergenceWarning says what gap was reached by then.
    time_limit, callback, max_memory, n_jobs, random_state, verbose
        As in AdditiveClassifier; classes are trained side by side.
    warm_start : bool, default=False
        Whether to start from the dual variables of the last fit, which are then kept (8 bytes per
        row and output), if the number of rows is the same.

    Attributes
    ----------
    classes_, terms_, intercept_, feature_importances_, n_features_in_, feature_names_in_
        As in AdditiveClassifier.
    n_iter_ : int
        Passes made; the most of any output.
    dual_gap_ : float
        The relative duality gap reached; the largest of any output.
    certified_ : bool
        Whether it is within tol.
    objective_ : float
        The value of the function above, summed over outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from splinear import AdditiveSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> AdditiveSVC(random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.9
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **DualEstimator._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: dict[Any, Any] | None = None,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        C: float = 1.0,
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        categorical_features: Any = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-2,
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
        self.loss = loss
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveSVC:
        """Learn the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels per row, an indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row. A row of weight 2 counts as two rows, one of weight 0 as none.

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
        return self._fit(work, data, labels, layout, before)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> AdditiveSVC:
        """Learn from a chunk of rows, starting from what was learned from those before.

        The first chunk fixes ranges, knots and levels, so it should be representative: values
        beyond count as the nearest end. Every chunk minimises

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
        self._check_params()
        first = not hasattr(self, "terms_")
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        known = np.unique(np.asarray(classes)) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise ValueError(f"classes must stay the same; got {classes!r} after {known!r}.")
        work = self._fresh() if first else self._again()
        columns = None if first else self._columns
        data = read_rows(work, X, y, sample_weight, columns=columns, multi_output=True)
        labels = work._read_target(data.y, data.kept, known)
        if first:
            return self._fit(work, data, labels, work._lay_out(data), None)
        work._check_finite(data)
        return self._fit(work, data, labels, self._model.layout, self._before())

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

    def _read_target(
        self, y: AnyArray, kept: AnyArray | None, classes: AnyArray | None = None
    ) -> Labels:
        labels = Labels.read(y, kept, classes)
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        return labels

    @property
    def _is_binary(self) -> bool:
        return len(self.classes_) == 2 and not self._multilabel

    def _fit(
        self,
        work: AdditiveSVC,
        data: TrainingTable,
        labels: Labels,
        layout: Layout,
        before: list[Start] | None,
    ) -> AdditiveSVC:
        """Train `work`, and take over what it has learned."""
        need = work._need(labels.n_outputs, weighted=data.weights is not None)
        by_class = self.class_weight is not None and labels.n_outputs > 1
        need += Need(shared=labels.bytes_per_row + (16 if by_class else 0))
        demand = Demand(labels.n_outputs, need, newton=False)
        width = min(self._n_threads(), labels.n_outputs)
        rows = work._prepare(data, layout, work._plan_memory(data, layout, demand, width))
        stopping = work._stopping(rows)
        [results] = work._train(rows, labels, data.weights, data.kept, stopping, before)
        work._finish(rows, results, data.weights)
        work._keep_alpha(rows, results)
        self._adopt(work)
        self._end(results, stopping.watch)
        return self

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
        by_class = labels.row_weights(self.class_weight, kept)
        if by_class is not None:
            weights = by_class if weights is None else weights * by_class
        placed = None if weights is None else rows.place(weights)
        costs = labels.class_weights(self.class_weight, kept)

        def problem_of(k: int) -> Problem:
            return Problem(
                y=rows.place(labels.signs(k)),
                loss=LOSSES[self.loss],
                cost_negative=float(costs[k, 0]),
                cost_positive=float(costs[k, 1]),
                weights=placed,
                bias=self._bias,
            )

        return follow_problems(
            rows,
            problem_of,
            [labels.label(k) for k in range(labels.n_outputs)],
            stopping,
            before,
            [self.C] if Cs is None else Cs,
            keep_alpha=self.warm_start,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
