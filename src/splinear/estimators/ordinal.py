"""AdditiveOrdinal: ordered levels from curves whose smoothness is chosen from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal, NoReturn

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._compat import StrOptions
from splinear._types import AnyArray, Constraints, Floats, Input, Terms
from splinear.estimators.base import positive
from splinear.estimators.classification import ClassEstimator
from splinear.estimators.intervals import level_intervals
from splinear.estimators.newton import NewtonTrainer
from splinear.estimators.reading import Given
from splinear.estimators.trainer import Recipe
from splinear.losses import Ordinal
from splinear.objective.training_set import ClassWeight
from splinear.objective.watch import Progress
from splinear.tables.opening import open_table, open_target
from splinear.terms.base import Term

__all__ = ["AdditiveOrdinal"]


class AdditiveOrdinal(ClassEstimator):
    """Additive model of ordered levels, such as grades, stages or answers on a scale.

    Learns f(x) = sum_k f_k(x), a position on a latent scale, and the cut points c_0 < c_1 < ...
    between the levels on that scale. They give the probability of a level up to the k-th::

        P(y <= k) = 1 / (1 + exp(f(x) - c_k))

    (cumulative logits, or proportional odds): where f is higher by 1, the odds of a level above any
    cut point are e times as large. f_k is the curve of a numeric feature, the effects of the levels
    of a category, or a surface over two features. Minimizes::

        sum_i w_i -log P(y_i) + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and the cut points, where w_i is the weight of row i. S_k penalizes rough
    curves (see the terms), and t_k, the variance of a term, is chosen from the data by restricted
    maximum likelihood (REML), or is C s_k^2 for a given C, with s_k the scale of the term. The cut
    points are not penalized.

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
    levels : array-like or None, default=None
        The levels of y, from the lowest to the highest. None: the order of y's type, if that is an
        ordered categorical one of pandas or an enumeration of polars, and otherwise ascending
        order. Text in alphabetical order causes a warning. Levels without rows are left out.
    C : float or None, default=None
        None: the smoothness of each term is chosen from the data. A number weighs the losses
        against the penalties of all terms: a larger C fits the data more closely.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of rows by level; "balanced" gives all levels the same total weight,
        and so moves the probabilities away from how often levels occur. If C is None, only their
        ratios matter.
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
        The levels that have rows, from the lowest to the highest.
    cut_points_ : ndarray of shape (n_classes - 1,)
        The cut points between neighboring levels on the scale of f, in ascending order.
    loss_ : Ordinal
        The loss, with the cut points.
    terms_ : sequence of fitted terms
        One per feature that was not dropped, as `terms_[0]` or `terms_["age"]`: `coef` (1, size),
        `knots` or `levels`, `at_missing`, `mean`, `edf` (degrees of freedom) and `smoothness`
        (t_k); then the surfaces, which are `terms_.pairs`.
    intercept_ : ndarray of shape (1,)
        0: the cut points take its place.
    feature_importances_ : ndarray of shape (n_features,)
        The standard deviation of each feature's contributions over the training rows (weighted),
        plus half of that of each of its surfaces.
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
    >>> import numpy as np
    >>> from splinear import AdditiveOrdinal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (1000, 1))
    >>> latent = 3 * np.sin(X[:, 0]) + rng.logistic(size=1000)
    >>> y = np.array(["low", "middle", "high"])[np.digitize(latent, [-1, 1])]
    >>> model = AdditiveOrdinal(levels=["low", "middle", "high"], random_state=0).fit(X, y)
    >>> model.predict([[-1.5], [0.0], [1.5]])
    array(['low', 'middle', 'high'], dtype='<U6')
    >>> model.predict_proba([[-1.5], [1.5]]).round(1)
    array([[0.9, 0.1, 0. ],
           [0. , 0.1, 0.9]])
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **{k: own for k, own in ClassEstimator._parameter_constraints.items() if k != "device"},
        "interactions": ["array-like", Integral, StrOptions({"auto"})],
        "levels": ["array-like", None],
        "C": [positive(), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    _loss: Ordinal

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        levels: Input = None,
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
        n_jobs: int | None = None,
        random_state: Input = None,
        verbose: int = 0,
    ) -> None:
        self.curve = curve
        self.terms = terms
        self.interactions = interactions
        self.levels = levels
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

    def _recipe(self) -> Recipe:
        return Recipe(Ordinal(_levels(self.levels)), NewtonTrainer(self.C), self.class_weight)

    @property
    def loss_(self) -> Ordinal:
        """The loss of the fitted model, with its cut points."""
        check_is_fitted(self, "terms_")
        return self._loss

    @property
    def cut_points_(self) -> Floats:
        """The cut points between neighboring levels, in ascending order."""
        check_is_fitted(self, "terms_")
        assert self._loss.cut_points is not None
        return self._loss.cut_points

    def fit(
        self,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        groups: Input = None,
        offset: Input = None,
    ) -> AdditiveOrdinal:
        """Learn the terms and the cut points.

        Where smoothness is chosen, rows that equal each other in X and y far more often than chance
        explains are one observation, and a warning says so. (Files are not searched for them.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,)
            The levels: an ordered categorical, whole numbers, text or other values; see `levels`.
            With X in files also the name of a column of a Parquet or CSV file, a list of .npy
            files, or None for the labels of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row, which multiplies its loss; rows of weight 0 are ignored. If C is
            None, a constant factor of all weights changes nothing.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for: the same as repeating the row.
        groups : array-like of shape (n_samples,), default=None
            Names the unit of each row, such as the customer whose months are rows. Rows of one unit
            are not independent: smoothness is chosen for units that were not seen.
        offset : array-like of shape (n_samples,), default=None
            A known part of the position of each row, which is added to f(x). The predictions of a
            model are for an offset of 0 unless they get one.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit(Given(X, y, sample_weight, counts, groups, offset), self._recipe())

    @property
    def decision_function(self) -> NoReturn:
        """There is none: scikit-learn's has a column per class. See `predict_latent`."""
        raise AttributeError(
            "AdditiveOrdinal has no decision_function, which for several classes would need a "
            "column for each; predict_latent computes the positions on the latent scale."
        )

    def predict_latent(self, X: Input, *, offset: Input = None) -> Floats:
        """Compute f(x) plus the offset: positions on the scale of the cut points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        positions : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, offset)  # raises NotFittedError if there is no model yet
        return self._loss.decision(scores)

    def predict_proba(self, X: Input, *, offset: Input = None) -> Floats:
        """Compute the probabilities of the levels, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

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
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def predict_quantile(self, X: Input, q: float = 0.5, *, offset: Input = None) -> AnyArray:
        """Compute a quantile of every row's level: the lowest level k with P(y <= k) >= q.

        The median level errs by the fewest levels in the mean, where `predict` is most often right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        q : float, default=0.5
            Between 0 and 1.
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        levels : ndarray of shape (n_samples,)
        """
        if not 0.0 < q < 1.0:
            raise ValueError(f"q must be between 0 and 1; got {q!r}.")
        above = self._scores(X, offset)[:, 0] + np.log(q / (1.0 - q))
        return np.asarray(self.classes_[np.searchsorted(self.cut_points_, above)])

    def predict_interval(self, X: Input, level: float = 0.95, *, offset: Input = None) -> Floats:
        """Compute intervals of the probabilities of the levels.

        They are computed from the posterior of all terms and cut points, in which the log-odds of
        a level are normal, to first order. The smoothness of the terms is treated as known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        level : float, default=0.95
            The probability that an interval contains the true value.
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        intervals : ndarray of shape (n_samples, n_classes, 2)
            Lower and upper ends, in the order of predict_proba.
        """
        check_is_fitted(self, "terms_")
        return level_intervals(self, X, level, offset)

    def ranked_probability_score(
        self, X: Input, y: Input = None, sample_weight: Input = None, *, offset: Input = None
    ) -> float:
        """Return the mean of sum_k (P(y <= k) - [y <= k])^2, which is lower for better models.

        It judges probabilities as the Brier score does, and a level that is far off costs more than
        a neighboring one. `score`, the accuracy, ignores both.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        y : array-like of shape (n_samples,), or None or text, as in fit
            Levels among `classes_`.
        sample_weight : array-like of shape (n_samples,), default=None
        offset : array-like of shape (n_samples,), default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        score : float
            At least 0, and at most the number of cut points.
        """
        check_is_fitted(self, "terms_")
        table, y = open_target(open_table(X, type(self).__name__), y, self.classes_)
        y = np.asarray(y)
        if unknown := set(np.unique(y).tolist()).difference(self.classes_.tolist()):
            raise ValueError(f"y holds {sorted(unknown, key=str)[0]!r}, which is not in classes_.")
        shares = np.cumsum(self.predict_proba(table, offset=offset), axis=1)[:, :-1]
        is_up_to = self._loss.numbers(y)[:, None] <= np.arange(shares.shape[1])
        return float(np.average(((shares - is_up_to) ** 2).sum(axis=1), weights=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


def _levels(given: Input) -> tuple[object, ...] | None:
    """Return the levels as Python's own values; raise if they are no list of different ones."""
    if given is None:
        return None
    levels = (
        tuple(value.item() if isinstance(value, np.generic) else value for value in np.ravel(given))
        if isinstance(given, np.ndarray)
        else tuple(given)
    )
    if isinstance(given, str) or len(levels) < 2 or len(set(levels)) < len(levels):
        raise ValueError(f"levels must be a list of at least two different levels; got {given!r}.")
    return levels
