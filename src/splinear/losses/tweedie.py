"""Half the Tweedie deviance: amounts of which many are 0, such as rainfall or claims.

With mu = exp(f), a = 2 - p and b = p - 1 for the power p between 1 and 2, the loss is

    mu^a / a + y mu^-b / b - y^a / (a b) = y^a (expm1(a m) / a + expm1(-b m) / b),  m = f - log y.

Both of its exponentials are convex in f. Nothing but the squares of small m cancels in the second
form; for y = 0 the first one is mu^a / a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.base import is_between
from splinear.losses.nonnegative import NonnegativeLoss

__all__ = ["Tweedie"]

LARGEST = 500.0  # exponents are clipped here, because exp would soon overflow; no fit ends there
NEAR = 1e-4  # |m| below which the loss is computed by its series


@dataclass(frozen=True)
class Tweedie(NonnegativeLoss):
    """Half the Tweedie deviance of y of 0 or more, whose variance grows as mean^power.

    For amounts that are sums of a random number of parts, of which there may be none: rainfall per
    day, or the claims of an insured per year. The scores are logarithms of the mean. The
    dispersion, the variance divided by mean^power, is estimated. For rates y per unit of exposure,
    `sample_weight` is the exposure.

    Parameters
    ----------
    power : float, default=1.5
        Between 1 (:class:`Poisson`, counts) and 2 (:class:`Gamma`, no zeros). It is not estimated;
        predictions hardly depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.losses import Tweedie
    >>> X = np.linspace(0.0, 1.0, 500)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> y = rng.gamma(rng.poisson(np.exp(2 * X[:, 0])) + 1e-9)
    >>> model = AdditiveRegressor(loss=Tweedie(1.6)).fit(X, y)
    >>> bool(0.7 < model.predict([[0.5]])[0] / np.e < 1.4)
    True
    """

    power: float = 1.5

    name = "tweedie"
    needs = 'loss="tweedie" needs targets of 0 or more'

    def __post_init__(self) -> None:
        if not is_between(1.0, self.power, 2.0):
            raise ValueError(
                f"Tweedie needs a power between 1 and 2; got {self.power!r}. Poisson() has power "
                "1, and Gamma() has power 2."
            )

    @property
    def typical_curvature(self) -> float:
        """That at the mean of y, mean^(2 - power)."""
        return 1.0 if self.seen is None else float(self.seen.mean ** (2.0 - self.power))

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return half the deviance."""
        a, b = 2.0 - self.power, self.power - 1.0
        some = y > 0.0
        size = np.where(some, y, 1.0)
        m = f - np.log(size)
        at, of = _clipped(a * m), _clipped(-b * m)
        near = np.abs(m) < NEAR
        series = m**2 * (0.5 + m * (a - b) / 6.0)
        value = size**a * np.where(near, series, np.expm1(at) / a + np.expm1(of) / b)
        return np.where(some, value, np.exp(at) / a)

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return mu^(2 - power) - y mu^(1 - power)."""
        grows, falls = self._parts(y, f)
        return grows - falls

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return (2 - power) mu^(2 - power) + (power - 1) y mu^(1 - power)."""
        grows, falls = self._parts(y, f)
        return (2.0 - self.power) * grows + (self.power - 1.0) * falls

    def shift(self, y: AnyArray, f: Floats, cost: Floats) -> float | None:
        """Return log(sum c y mu^(1 - power) / sum c mu^(2 - power))."""
        grows, falls = self._parts(y, f)
        return float(np.log(cost @ falls) - np.log(cost @ grows))

    def _parts(self, y: AnyArray, f: Floats) -> tuple[Floats, Floats]:
        """Return mu^(2 - power) and y mu^(1 - power)."""
        return (
            np.exp(_clipped((2.0 - self.power) * f)),
            y * np.exp(_clipped((1.0 - self.power) * f)),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the power."""
        return {"power": self.power}


def _clipped(exponent: Floats) -> Floats:
    return np.clip(exponent, -LARGEST, LARGEST)
