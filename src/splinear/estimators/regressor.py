"""AdditiveRegressor: numbers or counts from curves whose smoothness is chosen from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._compat import StrOptions
from splinear._types import Constraints, Floats, Input, Terms
from splinear.estimators.base import positive
from splinear.estimators.intervals import score_intervals
from splinear.estimators.newton import NewtonTrainer
from splinear.estimators.reading import Given
from splinear.estimators.regression import RegressionEstimator
from splinear.estimators.trainer import Recipe
from splinear.losses import (
    EpsilonInsensitive,
    Gamma,
    Loss,
    NegativeBinomial,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["AdditiveRegressor"]

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (SquaredError, Poisson, Gamma, Tweedie, NegativeBinomial, Quantile)
}
Name: TypeAlias = Literal[
    "squared_error", "poisson", "gamma", "tweedie", "negative_binomial", "quantile"
]


class AdditiveRegressor(RegressionEstimator):
    """Additive regression of numbers or counts; the smoothness of each term comes from the data.

    Learns f(x) = b + sum_k f_k(x), where each f_k is the curve of a numeric feature, the effects of
    the levels of a category, or a surface over two features, by minimizing::

        sum_i c_i loss(y_i, f(x_i) + o_i) + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b, which is not penalized; c_i is the weight of row i and o_i its
    offset (0 by default). S_k penalizes rough curves (see the terms), and t_k, the variance of a
    term relative to the dispersion, is chosen from the data by restricted maximum likelihood
    (REML), or is C s_k^2 for a given C, with s_k the scale of the term.

    Parameters
    ----------
    curve, terms, interactions
        As in :class:`~splinear.AdditiveClassifier`.
    loss : {"squared_error", "poisson", "gamma", "tweedie", "negative_binomial", "quantile"} \
or Loss, default="squared_error"
        An object of :mod:`splinear.losses`, or one's own; or the name of one with its default
        parameters. It is half the deviance of a row, in terms of the predicted mean mu:

        - "squared_error": (y - mu)^2 / 2, mu = f(x). The dispersion is the variance of the
          residuals. For a loss that ignores small residuals, see AdditiveSVR.
        - "poisson": y log(y / mu) - y + mu, mu = exp(f(x)), for counts y >= 0, not all 0. The
          dispersion is the ratio of variance and mean, at least that of one event. For counts
          under different exposures (time, area, persons), let `offset` be the logarithm of the
          exposure; or let y be count / exposure and `sample_weight` the exposure, as in
          PoissonRegressor of scikit-learn: the likelihood is that of the counts.
        - "gamma": y / mu - 1 - log(y / mu), mu = exp(f(x)), for y > 0 whose standard deviation
          grows with the mean: durations, amounts of money. The dispersion is the variance of
          y / mu.
        - "tweedie": :class:`~splinear.losses.Tweedie`, mu = exp(f(x)), for amounts y >= 0 of which
          many are 0, and whose variance is proportional to mu^power (1.5 unless given).
        - "negative_binomial": :class:`~splinear.losses.NegativeBinomial`, mu = exp(f(x)), for
          counts whose variance is mu + mu^2 / theta; theta is estimated unless given.
        - "quantile": :class:`~splinear.losses.Quantile`, the pinball loss, with f(x) the median of
          y, or the quantile of another level, or quantiles of several levels, which never cross.

        With all but the first and the last, terms and `splinear.inspection` are in units of log mu,
        `predict` returns mu, and `score` is D^2, the share of the deviance that is explained. The
        chosen smoothness depends neither on the unit of y in "gamma" and "tweedie" nor on the unit
        of the exposure in "poisson".
    C : float or None, default=None
        None: the smoothness of each term is chosen from the data. A number weighs the losses
        against the penalties of all terms: a larger C fits the data more closely.
    categorical_features, missing, tol, max_iter, time_limit, callback, warm_start, max_memory, \
device, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveClassifier`.

    Attributes
    ----------
    terms_, intercept_, feature_importances_, n_iter_, dual_gap_, certified_, objective_, \
pair_search_, n_features_in_, feature_names_in_
        As in :class:`~splinear.AdditiveClassifier`.
    loss_ : Loss
        The fitted loss, with the parameters that were estimated, such as ``loss_.theta``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdditiveRegressor(random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **RegressionEstimator._parameter_constraints,
        "loss": [StrOptions(set(LOSSES)), Loss],
        "interactions": ["array-like", Integral, StrOptions({"auto"})],
        "C": [positive(), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        loss: Name | Loss = "squared_error",
        C: float | None = None,
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
        self.loss = loss
        self.C = C
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

    @property
    def _given_loss(self) -> Loss:
        """The loss as asked for; raise if it is not one for numbers with a curvature."""
        if isinstance(self.loss, str):
            return LOSSES[self.loss]()
        loss = self.loss
        if loss.kind != "number" or isinstance(loss, EpsilonInsensitive):
            better = "AdditiveSVR" if loss.kind == "number" else "a classifier"
            raise ValueError(
                "loss must be a loss of numbers that has a curvature; "
                f"{type(loss).__name__} is one for {better}."
            )
        return loss

    def _recipe(self) -> Recipe:
        return Recipe(self._given_loss, NewtonTrainer(self.C))

    @property
    def loss_(self) -> Loss:
        """The loss of the fitted model, with the parameters that were estimated."""
        return self._loss

    def fit(
        self,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        groups: Input = None,
        offset: Input = None,
    ) -> AdditiveRegressor:
        """Learn the terms.

        Where smoothness is chosen, rows that equal each other in X and y far more often than chance
        explains are one observation, and a warning says so. (Files are not searched for them.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,)
            The targets. With X in files also the name of a column of a Parquet or CSV file, a list
            of .npy files, or None for those of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss; rows of weight 0 are ignored. If
            C is None, a constant factor of all weights changes nothing.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for: the same as repeating the row.
        groups : array-like of shape (n_samples,), default=None
            Names the unit of each row, such as the customer whose months are rows. Rows of one unit
            are not independent: smoothness is chosen for units that were not seen.
        offset : array-like of shape (n_samples,), default=None
            A known part of the score of each row, which is added to f(x): with a logarithmic link
            the logarithm of an exposure, for counts y. The predictions of a model are for an offset
            of 0, an exposure of 1, unless they get one.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit(Given(X, y, sample_weight, counts, groups, offset), self._recipe())

    def predict_interval(
        self,
        X: Input,
        level: float = 0.95,
        kind: Literal["mean", "observation"] = "mean",
        *,
        offset: Input = None,
    ) -> Floats:
        """Compute intervals of the predictions.

        They are computed from the posterior of all terms and the intercept, with the estimated
        variance of the residuals (Student's t). The smoothness of the terms is treated as known.
        Under a log link they are intervals of the mean, computed from those of its logarithm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        level : float, default=0.95
            The probability that an interval contains the true value.
        kind : {"mean", "observation"}, default="mean"
            "mean": an interval for the mean of the targets at x. "observation": an interval for a
            new target, whose residual is normal with the variance of those in fit; for
            loss="squared_error" only.
        offset : array-like of shape (n_samples,), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        if kind not in ("mean", "observation"):
            raise ValueError(f'kind must be "mean" or "observation"; got {kind!r}.')
        check_is_fitted(self, "terms_")
        if kind == "observation" and not isinstance(self._loss, SquaredError):
            raise ValueError(
                f'kind="observation" is for loss="squared_error"; the model has {self.loss!r}.'
            )
        if self._loss.n_outputs > 1:
            raise ValueError(
                "predict_interval is for one quantile; the model has those of the levels "
                f"{self._loss.parameters()['level']}. Intervals between quantiles are columns of "
                "predict."
            )
        ends = score_intervals(self, X, level, offset, observations=kind == "observation")
        return np.column_stack([self._loss.predict(scores) for scores in ends])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        name = self.loss if isinstance(self.loss, str) else ""
        link = LOSSES[name].link if name in LOSSES else getattr(self.loss, "link", "identity")
        tags.target_tags.positive_only = link == "log"
        return tags
