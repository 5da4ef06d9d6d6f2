"""AdditiveRegressor: least squares with curves, each as smooth as the data ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal

from splinear._compat import StrOptions
from splinear._types import Constraints, Input, Terms
from splinear.solvers.losses import SquaredError
from splinear.solvers.watch import Progress
from splinear.terms.base import Term
from splinear.training.newton import NewtonTrainer
from splinear.training.outputs.numbers import NumberReader
from splinear.training.parameters import positive
from splinear.training.regression import RegressionEstimator
from splinear.training.trainer import Recipe

__all__ = ["AdditiveRegressor"]


class AdditiveRegressor(RegressionEstimator):
    """Additive regression by least squares, every curve as smooth as the data ask for.

    Learns f(x) = b + sum_k f_k(x), each f_k the curve of a feature of numbers or the effects of a
    category's levels, by minimising

        sum_i c_i (y_i - f(x_i))^2 / 2 + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b, which is not penalised. S_k penalises rough curves (see the terms),
    and t_k, the variance of a term relative to that of the residuals, comes from the data by
    restricted maximum likelihood (REML), or is C s_k^2 for a given C.

    Parameters
    ----------
    curve, terms, interactions
        As in AdditiveClassifier.
    loss : {"squared_error"}, default="squared_error"
        The loss of the residual r: r^2 / 2. For an insensitive zone see AdditiveSVR.
    C : float or None, default=None
        None: the data choose how smooth each term is. A number weighs the losses, alike for all
        terms: larger fits closer.
    categorical_features, missing, tol, max_iter, time_limit, callback, warm_start, max_memory, \
n_jobs, random_state, verbose
        As in AdditiveClassifier.

    Attributes
    ----------
    terms_, intercept_, feature_importances_, n_iter_, dual_gap_, certified_, objective_, \
n_features_in_, feature_names_in_
        As in AdditiveClassifier.

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
        "loss": [StrOptions({"squared_error"})],
        "interactions": ["array-like", Integral, StrOptions({"auto"})],
        "C": [positive(), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        loss: Literal["squared_error"] = "squared_error",
        C: float | None = None,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self) -> Recipe:
        return Recipe(
            NumberReader(standardized=True), NewtonTrainer(SquaredError(), self.C, noise=True)
        )
