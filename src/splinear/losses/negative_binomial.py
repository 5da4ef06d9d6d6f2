"""Half the negative binomial deviance: counts that vary more than Poisson counts.

A count with mean mu and variance mu + mu^2 / theta has the probability

    P(y) = Gamma(y + theta) / (Gamma(theta) y!) p^y (1 - p)^theta,     p = mu / (mu + theta),

and with q = y / (y + theta) and f = log mu, half its deviance is

    (y + theta) (q log(q / p) + (1 - q) log((1 - q) / (1 - p))),       p = expit(f - log theta):

the logistic loss of y + theta trials, which is convex in f. Its slope is (y + theta) (p - q), so
the slope r is that at the probability q + r / (y + theta), and the gap is a relative entropy.

theta is an additional parameter. While the other ones are learned it is fixed; where it is not
given, it is renewed between their steps by minimizing

    sum_i c_i -log P(y_i) / phi + 1/2 edf log sum_i c_i h_i

with h_i the curvatures and edf the degrees of freedom of the model. The second term takes account
of these: without it theta would be too large, because a model is closer to y than the truth is.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln, xlogy

from splinear._types import AnyArray, Floats
from splinear.losses.base import is_between
from splinear.losses.curvature import Curvature, Diagonal
from splinear.losses.logistic import divergence
from splinear.losses.margin import NEARLY_STRAIGHT
from splinear.losses.nonnegative import NonnegativeLoss
from splinear.losses.survey import Survey

__all__ = ["NegativeBinomial"]

FIRST = 1.0  # theta to begin with
LEAST, MOST = 1e-3, 1e4  # theta; the upper bound is relative to 1 + mean, and nearly Poisson's
CLOSE = 1e-6  # tolerance of log theta
ROUNDING = 1e-12  # tolerance of probabilities


@dataclass(frozen=True)
class NegativeBinomial(NonnegativeLoss):
    """Half the negative binomial deviance of counts, whose variance is mean + mean^2 / theta.

    For counts of 0 or more that vary more than their mean tells: visits, accidents, animals. The
    scores are logarithms of the mean.

    Parameters
    ----------
    theta : float or None, default=None
        A small theta is much additional variance; for a large one the loss is that of
        :class:`Poisson`. None: it is estimated, as are the smoothness and the curves;
        ``model.loss_.theta`` is the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.losses import NegativeBinomial
    >>> X = np.linspace(0.0, 1.0, 2000)[:, None]
    >>> y = np.random.default_rng(0).negative_binomial(2.0, 2.0 / (2.0 + np.exp(3 * X[:, 0])))
    >>> model = AdditiveRegressor(loss=NegativeBinomial()).fit(X, y)
    >>> bool(1.7 < model.loss_.theta < 2.3)
    True
    """

    theta: float | None = None

    name = "negative_binomial"
    likelihood = True
    needs = 'loss="negative_binomial" needs targets of 0 or more'
    is_estimated = False

    def __post_init__(self) -> None:
        if self.theta is not None and not is_between(0.0, self.theta, np.inf):
            raise ValueError(
                f"NegativeBinomial needs a theta above 0, or None to estimate it; got "
                f"{self.theta!r}."
            )

    def fitted(self, survey: Survey) -> NegativeBinomial:
        """Return the loss that knows the mean of y, with a theta to begin with."""
        fitted = super().fitted(survey)
        return fitted if self.theta is not None else fitted._with_theta(FIRST)

    def _with_theta(self, theta: float) -> NegativeBinomial:
        other = copy(self)
        object.__setattr__(other, "theta", theta)  # dataclasses are frozen
        object.__setattr__(other, "is_estimated", True)
        return other

    @property
    def _theta(self) -> float:
        """Theta; 1 before it has been estimated."""
        return FIRST if self.theta is None else self.theta

    def _trials(self, y: AnyArray, f: Floats) -> tuple[Floats, Floats]:
        """Return y + theta, and the logit of p."""
        return y + self._theta, f - np.log(self._theta)

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return half the deviance."""
        return self.gap(y, f[None], np.zeros((1, len(f))))

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return (y + theta) p - y, near y as (1 - p) (mu - y): then nothing cancels."""
        trials, logit = self._trials(y, f)
        m = f - np.log(np.where(y > 0.0, y, 1.0))
        near = (y > 0.0) & (np.abs(m) < 1.0)
        close = expit(-logit) * y * np.expm1(np.where(near, m, 0.0))
        return np.where(near, close, trials * expit(logit) - y)

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return (y + theta) p (1 - p)."""
        trials, logit = self._trials(y, f)
        return trials * expit(logit) * expit(-logit)

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return a larger curvature where the loss is nearly straight, far from log y.

        It is that of a parabola with its minimum there; for y = 0, at log theta.
        """
        f, some = F[0], y > 0.0
        away = f - np.log(np.where(some, y, self._theta))
        second = self.curvature(y, f)
        far = np.flatnonzero(np.where(some, np.abs(away), away) > NEARLY_STRAIGHT)
        parabola = self.slope(y[far], f[far]) / away[far]
        second[far] = np.maximum(second[far], parabola)
        return Diagonal((cost * second)[None])

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return the relative entropy of the probability whose slope is R to that at F."""
        trials, logit = self._trials(y, F[0])
        share = (y + R[0]) / trials
        feasible = np.clip(share, 0.0, 1.0)
        off = (R[0] - self.slope(y, F[0])) / trials  # share - p
        each = divergence(feasible, off, -logit) + divergence(1.0 - feasible, -off, logit)
        return np.where(np.abs(share - feasible) <= ROUNDING, trials * each, np.inf)

    def constant(self, y: AnyArray) -> Floats:
        """Return -log P(y) less the loss."""
        theta = self._theta
        binomial = gammaln(theta) + gammaln(y + 1.0) - gammaln(y + theta)
        entropy = (y + theta) * np.log(y + theta) - xlogy(y, y) - theta * np.log(theta)
        return np.asarray(binomial + entropy)

    def renewed(self, y: AnyArray, F: Floats, cost: Floats, edf: float) -> NegativeBinomial:
        """Return the loss with the theta that fits scores F best; cost is c / phi."""
        values, index = np.unique(y, return_inverse=True)
        per_value = np.bincount(index, cost, len(values))
        mu = np.exp(np.clip(F[0], -500.0, 500.0))
        of_means = float(cost @ xlogy(y, mu))

        def criterion(log_theta: float) -> float:
            theta = float(np.exp(log_theta))
            ratio = gammaln(theta) + gammaln(values + 1.0) - gammaln(values + theta)
            total = mu + theta
            fit = float(per_value @ (ratio - theta * log_theta)) - of_means
            fit += float(cost @ ((y + theta) * np.log(total)))
            h = (y + theta) * (mu / total) * (theta / total)
            return fit + 0.5 * edf * float(np.log(cost @ h))

        mean = 0.0 if self.seen is None else self.seen.mean
        ends = np.log(LEAST), np.log(MOST * (1.0 + mean))
        best = minimize_scalar(criterion, bounds=ends, method="bounded", options={"xatol": CLOSE})
        return self._with_theta(float(np.exp(best.x)))

    def parameters(self) -> dict[str, Any]:
        """Return theta."""
        return {"theta": self.theta}
