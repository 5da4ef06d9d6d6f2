"""AdditiveClassifier: probabilities from curves, each as smooth as the data ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal

import numpy as np

from splinear._compat import StrOptions
from splinear._types import Constraints, Floats, Input, Terms
from splinear.solvers.losses import Logistic
from splinear.solvers.watch import Progress
from splinear.terms.base import Term
from splinear.training.classification import ClassEstimator
from splinear.training.intervals import class_intervals
from splinear.training.newton import NewtonTrainer
from splinear.training.outputs.class_reader import ClassReader
from splinear.training.outputs.class_weights import ClassWeight
from splinear.training.outputs.classes import Binary, Softmax
from splinear.training.outputs.labels import MultiLabel
from splinear.training.parameters import positive
from splinear.training.trainer import Recipe

__all__ = ["AdditiveClassifier"]


class AdditiveClassifier(ClassEstimator):
    """Additive classifier with probabilities, every curve as smooth as the data ask for.

    Learns f(x) = b + sum_k f_k(x), each f_k the curve of a feature of numbers, the effects of a
    category's levels or a surface over two features, by minimizing::

        sum_i c_i loss(y_i, f(x_i)) + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b. The loss is log(1 + exp(-y f)) for two classes, y being -1 or 1,
    and log sum_c exp f_c - f_y for more, where every class c has an f_c of its own. S_k penalizes
    rough curves (see the terms), and t_k, the variance of a term, comes from the data by restricted
    maximum likelihood (REML), or is C s_k^2 for a given C. The intercept is not penalized.

    Parameters
    ----------
    curve : term or None, default=None
        The term of every feature of numbers, for example `Spline(degree=3)` or `Linear()`; see
        :mod:`splinear.terms`. None is `Spline()`, with as many pieces as are good for the table.
    terms : dict or None, default=None
        Terms of single features: from a feature's name or position to a term, or to "drop"; and of
        pairs, from a tuple of two features to `Pair()`.
    interactions : int, "auto" or list of pairs, default=0
        Surfaces over two features, beside their curves: so many, those for which the curves leave
        most evidence; as many as the evidence pays for; or those listed, each as two names or
        positions. Surfaces are for dense tables.
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
        `.n_rows`, `.label`, `.phase`, and in a search `.fold` and `.C`. Returning True stops the
        fit, as time_limit does. What it raises (and Ctrl-C) stops the fit too, and is raised once
        the model has been stored.
    warm_start : bool, default=False
        Whether to start from the curves of the last fit.
    max_memory : int, str or None, default=None
        How much memory fit may take beyond X and y: bytes, or a text such as "500MB" or "2GiB".
        If X's codes, 2 bytes per value, do not fit they go to a temporary file.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where fit computes: "cuda" is an NVIDIA GPU, by CuPy (``pip install 'splinear[cuda]'``), and
        "auto" that GPU if there is one and it has kernels for all terms, else the processor. X and
        y may lie in a GPU's memory (CuPy, or anything with DLPack), whatever `device` is. The model
        is the same object, for any machine. Predictions are made where X lies.
    n_jobs : int or None, default=None
        Threads. None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of rows, and so the last digits. The same number gives the same bits.
    verbose : int, default=0
        1 keeps one line up to date on a terminal or in a notebook, and replaces it by what came
        out (passes, gap, seconds); a pipe or a file gets that alone. 2 prints a line per step. All
        of it goes to stderr (in a notebook, to stdout).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    terms_ : sequence of fitted terms
        One per feature that was not dropped: `coef` (n_outputs, size), `knots` or `levels`,
        `at_missing`, `mean`, `edf` (degrees of freedom) and `smoothness` (t_k); then the surfaces,
        which are `terms_.pairs`. Two classes have one output, whose score is positive for
        classes_[1]; otherwise there is one per class.
    intercept_ : ndarray of shape (n_outputs,)
    feature_importances_ : ndarray of shape (n_features,)
        The standard deviation of each feature's contributions over the training rows (weighted; the
        mean over outputs), and half of that of each of its surfaces.
    n_iter_ : int
        Newton steps, turns of REML included.
    dual_gap_ : float
        The relative duality gap on X itself: the objective is proven to be within this share of the
        optimum.
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

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **ClassEstimator._parameter_constraints,
        "interactions": ["array-like", Integral, StrOptions({"auto"})],
        "C": [positive(), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    _outputs: Binary | Softmax | MultiLabel

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        C: float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
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
        self.interactions = interactions
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
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self) -> Recipe:
        reader = ClassReader(self.class_weight, coupled=True)
        return Recipe(reader, NewtonTrainer(Logistic(), self.C))

    def predict_proba(self, X: Input) -> Floats:
        """Compute the probabilities of the classes, or of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        return self._outputs.probabilities(scores)

    def predict_log_proba(self, X: Input) -> Floats:
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

    def predict_interval(self, X: Input, level: float = 0.95) -> Floats:
        """Compute intervals of the probabilities of the classes, or of the labels.

        They follow from the posterior of all terms and intercepts, in which the log-odds of a
        class are normal (to first order, for more than two). How smooth the terms are counts as
        known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        level : float, default=0.95
            The probability of an interval.

        Returns
        -------
        intervals : ndarray of shape (n_samples, n_classes, 2)
            Lower and upper ends, in the order of predict_proba.
        """
        found = class_intervals(self, X, level)
        if not isinstance(self._outputs, Binary):
            return found
        return np.concatenate([1.0 - found[..., ::-1], found], axis=1)
