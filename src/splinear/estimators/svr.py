"""AdditiveSVR: regression with the epsilon-insensitive loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Literal

from splinear._compat import Interval
from splinear._types import Constraints, Input, Terms
from splinear.estimators.dual import DUAL_PARAMETERS, DualTrainer
from splinear.estimators.reading import Given
from splinear.estimators.regression import RegressionEstimator
from splinear.estimators.trainer import Recipe
from splinear.losses import EpsilonInsensitive
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["AdditiveSVR"]


class AdditiveSVR(RegressionEstimator):
    """Additive support vector regression.

    Learns f(x) = m + b + sum_k f_k(x), where m is the mean of y_i - o_i, by minimizing::

        1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, |w'phi(x_i) + B b + m + o_i - y_i| - epsilon),

    with c_i the weight of row i, o_i its offset (0 by default), phi the embedding of the paper and
    the solvers as in AdditiveSVC.

    Parameters
    ----------
    curve, terms
        As in :class:`~splinear.AdditiveSVC`.
    epsilon : float, default=0.1
        Residuals up to this size cost nothing; in units of y.
    C : float or None, default=None
        The weight of the losses: a larger C fits the data more closely. None means to choose it on
        held-out rows first, as in :class:`~splinear.AdditiveSVC`.
    fit_intercept : bool, default=True
        Whether to learn the intercept m + b; if not, it is 0.
    intercept_scaling : float, default=1.0
        B: b is B times a penalized weight, so a larger B penalizes it less. At most 1e8.
    categorical_features, missing, tol, max_iter, time_limit, callback, warm_start, max_memory, \
device, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveSVC`.

    Attributes
    ----------
    terms_, intercept_, feature_importances_, C_, n_iter_, dual_gap_, certified_, objective_, \
n_features_in_, feature_names_in_
        As in :class:`~splinear.AdditiveSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdditiveSVR(epsilon=10.0, C=10.0, random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **RegressionEstimator._parameter_constraints,
        **DUAL_PARAMETERS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        epsilon: float = 0.1,
        C: float | None = None,
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
        self.epsilon = epsilon
        self.C = C
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
        return Recipe(self._asked(None if self.fit_intercept else 0.0), self._trainer(self.C))

    def _asked(self, center: float | None) -> EpsilonInsensitive:
        return EpsilonInsensitive(float(self.epsilon), center)

    def _trainer(self, C: float | None) -> DualTrainer:
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return DualTrainer(C, bias, keep_duals=self.warm_start)

    def partial_fit(
        self,
        X: Input,
        y: Input,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        offset: Input = None,
    ) -> AdditiveSVR:
        """Learn from a chunk of rows, starting from the model of the chunks before.

        The first chunk fixes ranges, knots, levels and the mean m. Every chunk minimizes::

            1/2 |w - w_before|^2 + C sum_{i in chunk} c_i loss(f(x_i) + o_i - y_i),

        where w are the weights of the embedding and o_i is the offset of a row: the new model stays
        close to the last one. With C=None, the first chunk chooses it, for the others as well.
        `dual_gap_` is relative to this objective plus ``|w_before|^2 / 2``, because the objective
        may be 0 at the optimum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight, counts : array-like of shape (n_samples,), default=None
        offset : array-like of shape (n_samples,), default=None
            As in fit.

        Returns
        -------
        self
        """
        self._check_params()
        more = hasattr(self, "terms_")
        recipe = self._recipe()
        if more and self.C is None:
            recipe = replace(recipe, trainer=self._trainer(self.C_))
        if more:  # the last intercept is where the new one, which is penalized, stays close to
            recipe = replace(recipe, loss=self._asked(float(self.intercept_[0])))
        return self._fit(Given(X, y, sample_weight, counts, offset=offset), recipe, more=more)
