"""AdditiveSVC: the paper's classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from splinear._compat import StrOptions
from splinear._types import Constraints, Input, Terms
from splinear.estimators.classification import ClassEstimator
from splinear.estimators.dual import DUAL_PARAMETERS, DualTrainer
from splinear.estimators.reading import Given
from splinear.estimators.trainer import Recipe
from splinear.losses import Hinge, SquaredHinge
from splinear.objective.training_set import ClassWeight
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["AdditiveSVC"]

LOSSES = {loss.name: loss for loss in (Hinge, SquaredHinge)}


class AdditiveSVC(ClassEstimator):
    """Additive support vector classifier of the paper, trained as fast as a linear one.

    Learns f(x) = b + sum_k f_k(x) by minimizing::

        1/2 |w|^2 + 1/2 b^2 + C sum_i c_i loss(y_i (w'phi(x_i) + B b + o_i)),

    with c_i the weight of row i, o_i its offset (0 by default), and phi the embedding of the paper
    (section 3), in which an additive model is linear: for splines coef_k = s_k D_d^{-1} w_k, so
    that the first part is the penalty ``1/2 sum_k |D_d coef_k|^2 / s_k^2``. Dual coordinate descent
    computes the embedding on the fly and never stores it. With many rows per parameter, Newton's
    method is used instead where it is faster, to the same gap. With more than two classes, or
    several labels per row, each is trained against the rest. AdditiveSVC is to LinearSVC what
    AdditiveClassifier is to LogisticRegression: it is made for wide tables (histograms, images,
    text) and has no probabilities (:class:`sklearn.calibration.CalibratedClassifierCV` adds them).

    Parameters
    ----------
    curve : term or None, default=None
        The term of every numeric feature; see :mod:`splinear.terms`. None means `Spline()` with 10
        pieces of equal width, quantile knots for features with long tails, and a knot at each value
        of features with few distinct values. Dense tables of 200 columns or more get 40 pieces.
    terms : dict or None, default=None
        Terms for single features: maps a feature's name or position to a term, or to "drop".
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the margin m = y f(x), y being -1 or 1: max(0, 1 - m), or its square.
    C : float or None, default=None
        The weight of the losses: a larger C fits the data more closely. The paper's lambda is 1 /
        (C n_samples). None means to choose it first: some of the rows are trained on along a short
        path of C, as long as the losses of held-out rows fall. That costs about as much as the fit
        itself. :class:`~splinear.PathSearchCV` compares more values, in several folds.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C per class; "balanced" gives all classes the same total weight. With several
        labels per row, the classes are 0 and 1 for every label.
    fit_intercept : bool, default=True
        Whether to learn b.
    intercept_scaling : float, default=1.0
        B: the intercept is B times a penalized weight, so a larger B penalizes it less. At most
        1e8; even much smaller values take many passes.
    categorical_features, missing
        As in :class:`~splinear.AdditiveClassifier`.
    tol : float, default=1e-2
        Stop at this relative duality gap: the objective is then within this share of the optimum.
    max_iter : int, default=1000
        The maximum number of passes over the data. If they are not enough, a ConvergenceWarning
        says what gap was reached.
    time_limit, callback, max_memory, device, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveClassifier`; `n_jobs` classes are trained in parallel. On a
        GPU all classes are trained together, by Newton's method on a smoothed hinge, to the same
        gap.
    warm_start : bool, default=False
        Whether to start from the dual variables of the last fit, which are then kept (8 bytes per
        row and output), if the number of rows is the same.

    Attributes
    ----------
    classes_, terms_, intercept_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~splinear.AdditiveClassifier`.
    C_ : float
        The C of the model: chosen, or as given.
    n_iter_ : int
        The number of passes, or of steps where Newton's method is used; the maximum over outputs.
        Those along the path of C are not counted.
    dual_gap_ : float
        The relative duality gap reached on X itself; the maximum over outputs.
    certified_ : bool
        Whether `dual_gap_` is at most tol; if not, there was a ConvergenceWarning.
    objective_ : float
        The value of the objective above, summed over outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from splinear import AdditiveSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> AdditiveSVC(random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.9
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **ClassEstimator._parameter_constraints,
        **DUAL_PARAMETERS,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        C: float | None = None,
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        device: Literal["cpu", "cuda", "auto"] = "cpu",
        n_jobs: int | None = None,
        random_state: Input = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self) -> Recipe:
        return Recipe(LOSSES[self.loss](), self._trainer(self.C), self.class_weight)

    def _trainer(self, C: float | None) -> DualTrainer:
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return DualTrainer(C, bias, keep_duals=self.warm_start)

    def partial_fit(
        self,
        X: Input,
        y: Input,
        classes: Input = None,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        offset: Input = None,
    ) -> AdditiveSVC:
        """Learn from a chunk of rows, starting from the model of the chunks before.

        The first chunk fixes ranges, knots and levels, so it should be representative: later values
        outside its ranges count as the nearest end. Every chunk minimizes::

            1/2 |w - w_before|^2 + C sum_{i in chunk} c_i loss(y_i (f(x_i) + o_i)),

        where w are the weights of the embedding and o_i is the offset of a row: the new model stays
        close to the last one. With C=None, the first chunk chooses it, for the others as well.
        `dual_gap_` is relative to this objective plus ``|w_before|^2 / 2``, because the objective
        may be 0 at the optimum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur. Required in the first call.
        sample_weight, counts : array-like of shape (n_samples,), default=None
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            As in fit.

        Returns
        -------
        self
        """
        self._check_params()
        more = hasattr(self, "terms_")
        if not more and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        known = self.classes_ if more else np.unique(np.asarray(classes))
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise ValueError(f"classes must stay the same; got {classes!r} after {known!r}.")
        recipe = replace(self._recipe(), loss=LOSSES[self.loss](known))
        if more and self.C is None:
            recipe = replace(recipe, trainer=self._trainer(self.C_))
        return self._fit(Given(X, y, sample_weight, counts, offset=offset), recipe, more=more)
