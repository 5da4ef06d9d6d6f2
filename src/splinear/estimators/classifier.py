"""AdditiveClassifier: probabilities from curves whose smoothness is chosen from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal

import numpy as np

from splinear._compat import StrOptions
from splinear._types import Constraints, Floats, Input, Terms
from splinear.estimators.base import positive
from splinear.estimators.classification import ClassEstimator
from splinear.estimators.intervals import class_intervals
from splinear.estimators.newton import NewtonTrainer
from splinear.estimators.reading import Given
from splinear.estimators.trainer import Recipe
from splinear.losses import Logistic, Softmax
from splinear.objective.training_set import ClassWeight
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["AdditiveClassifier"]


class AdditiveClassifier(ClassEstimator):
    """Additive classifier with probabilities; the smoothness of each term comes from the data.

    Learns f(x) = b + sum_k f_k(x), where each f_k is the curve of a numeric feature, the effects of
    the levels of a category, or a surface over two features, by minimizing::

        sum_i c_i loss(y_i, f(x_i) + o_i) + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b, where c_i is the weight of row i and o_i its offset (0 by default).
    The loss is log(1 + exp(-y f)) for two classes, y being -1 or 1, and log sum_c exp f_c - f_y for
    more, where every class c has an f_c of its own. S_k penalizes rough curves (see the terms), and
    t_k, the variance of a term, is chosen from the data by restricted maximum likelihood (REML), or
    is C s_k^2 for a given C, with s_k the scale of the term. The intercept is not penalized.

    Parameters
    ----------
    curve : term or None, default=None
        The term of every numeric feature, for example `Spline(degree=3)` or `Linear()`; see
        :mod:`splinear.terms`. None means `Spline()`, with a number of pieces that suits the table.
    terms : dict or None, default=None
        Terms for single features: maps a feature's name or position to a term, or to "drop"; and a
        tuple of two features to `Pair()`.
    interactions : int, "auto" or list of pairs, default=0
        Surfaces over two features, in addition to their curves. An int is the number of surfaces,
        which go to the pairs with the most evidence; "auto" adds as many as lower the loss of rows
        that are held out for that, or none; a list names the pairs, each as two names or positions.
        X must be dense.
    C : float or None, default=None
        None: the smoothness of each term is chosen from the data. A number weighs the losses
        against the penalties of all terms: a larger C fits the data more closely.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of rows by class; "balanced" gives all classes the same total weight.
        If C is None, only their ratios matter.
        With several labels per row, the classes are 0 and 1 for every label.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories. "from_dtype": those of text or of a categorical type. An
        array: their positions, their names, or a mask. None: no feature.
    missing : {"level", "error"}, default="level"
        How NaN (or None) in X is treated. "level": a missing value adds the mean of the curve plus
        a deviation that is learned from the rows in which it is missing; if a feature had no
        missing values in fit, it adds the mean. "error": a missing value raises an error.
    tol : float, default=1e-3
        Stop when the objective is proven to be within this share of the optimum.
    max_iter : int, default=1000
        The maximum number of Newton steps of the last fit, in which the smoothness is known. If
        they are not enough, there is a ConvergenceWarning. Choosing the smoothness and pairs takes
        steps before, at most 40 per choice, which only `time_limit` and `callback` end early.
    time_limit : float or None, default=None
        Seconds of training after which to stop, keep what has been learned, and warn with a
        ConvergenceWarning.
    callback : callable or None, default=None
        Called after every step as callback(progress), with `progress.n_iter`, `.gap`, `.n_active`,
        `.n_rows`, `.label`, `.phase`, and in a search `.fold` and `.C`. Returning True stops the
        fit, as time_limit does. An exception raised by it (or Ctrl-C) also stops the fit, and is
        raised again once the model has been stored.
    warm_start : bool, default=False
        Whether to start from the curves of the last fit.
    max_memory : int, str or None, default=None
        The memory that fit may take beyond X and y: bytes, or a string such as "500MB" or "2GiB".
        If the coded values of X (2 bytes each) do not fit, they go to a temporary file.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where fit computes: "cuda" is an NVIDIA GPU, by CuPy (``pip install 'splinear[cuda]'``);
        "auto" is that GPU if there is one and it has kernels for all terms, and the processor
        otherwise. X and y may be in the memory of a GPU (CuPy, or any library with DLPack),
        whatever `device` is. The fitted model can be used on any machine. Predictions are made
        where X is.
    n_jobs : int or None, default=None
        The number of threads. None means 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines the random order of the rows, which affects the last digits of the result; in
        wide tables, also which rows decide how smooth the curves are. The same number gives the
        same model to the last bit. The order in which the rows are given does not matter, except
        in tables of more than four million values.
    verbose : int, default=0
        1 shows one line that is updated during the fit, on a terminal or in a notebook, and
        replaced by the result (passes, gap, seconds); a pipe or a file gets only the result. 2
        prints a line per step. Output goes to stderr (in a notebook, to stdout).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    terms_ : sequence of fitted terms
        One per feature that was not dropped, as `terms_[0]` or `terms_["age"]`: `coef` (n_outputs,
        size), `knots` or `levels`, `at_missing`, `mean`, `edf` (degrees of freedom) and
        `smoothness` (t_k); then the surfaces, which are `terms_.pairs`. Two classes have one
        output, whose score is positive for classes_[1]; otherwise there is one per class.
    intercept_ : ndarray of shape (n_outputs,)
    feature_importances_ : ndarray of shape (n_features,)
        The standard deviation of each feature's contributions over the training rows (weighted; the
        mean over outputs), plus half of that of each of its surfaces.
    n_iter_ : int
        The number of Newton steps, including the iterations of REML.
    dual_gap_ : float
        The relative duality gap on X itself: the objective is proven to be within this share of the
        optimum.
    certified_ : bool
        Whether `dual_gap_` is at most tol; if not, there was a ConvergenceWarning.
    objective_ : float
        The value of the objective above.
    pair_search_ : dict or None
        How many pairs of features were "looked_at", "found" and "kept", the "gain" (by how much
        surfaces lowered the loss of a held-out row, in the mean; only for interactions="auto"), and
        "why_none" were kept. None if no pairs were searched. Files of models do not have it.
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

    _loss: Logistic | Softmax

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
        return Recipe(Logistic(), NewtonTrainer(self.C), self.class_weight)

    def fit(
        self,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        groups: Input = None,
        offset: Input = None,
    ) -> AdditiveClassifier:
        """Learn the terms.

        Where smoothness is chosen, rows that equal each other in X and y far more often than chance
        explains are one observation, and a warning says so. (Files are not searched for them.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, text and missing values; arrays, data frames, sparse matrices. float32 and
            float64 are read as they are, without a copy. Or data on disk, read in chunks: a
            numpy.memmap, the name of a .npy, Parquet, CSV or LIBSVM file, a list of .npy or Parquet
            files, a folder of Parquet files, or a pyarrow.dataset.Dataset.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels per row, an indicator matrix of 0 and 1. With X in
            files also the name of a column of a Parquet or CSV file, a list of .npy files, or None
            for the labels of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss; rows of weight 0 are ignored. If
            C is None, a constant factor of all weights changes nothing.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for: the same as repeating the row.
        groups : array-like of shape (n_samples,), default=None
            Names the unit of each row, such as the customer whose months are rows. Rows of one unit
            are not independent: smoothness is chosen for units that were not seen.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the score of each row, which is added to f(x): one number for two
            classes, one per class or label otherwise. The predictions of a model are for an offset
            of 0 unless they get one.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit(Given(X, y, sample_weight, counts, groups, offset), self._recipe())

    def predict_proba(self, X: Input, *, offset: Input = None) -> Floats:
        """Compute the probabilities of the classes, or of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X, offset)
        return self._loss.probabilities(scores)

    def predict_log_proba(self, X: Input, *, offset: Input = None) -> Floats:
        """Compute the logarithms of predict_proba.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def predict_interval(self, X: Input, level: float = 0.95, *, offset: Input = None) -> Floats:
        """Compute intervals of the probabilities of the classes, or of the labels.

        They are computed from the posterior of all terms and intercepts, in which the log-odds of a
        class are normal (to first order, for more than two). The smoothness of the terms is treated
        as known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        level : float, default=0.95
            The probability that an interval contains the true value.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        intervals : ndarray of shape (n_samples, n_classes, 2)
            Lower and upper ends, in the order of predict_proba.
        """
        found = class_intervals(self, X, level, offset)
        if self._loss.task != "binary":
            return found
        return np.concatenate([1.0 - found[..., ::-1], found], axis=1)
