"""The posterior of one curve, in directions in which prior and data agree on what is known.

With J the information on the curve and S that of its penalty, there are directions a_k with
a_k'S a_m = 1 and a_k'J a_m = mu_k for k = m, else 0. A curve sum_k z_k a_k has the prior z_k ~
N(0, phi); data that say mu_k of it leave the variance phi / (1 + mu_k). That is the variance of the
estimate and the square of its bias as the prior expects it,

    phi / (1 + mu_k) = phi mu_k / (1 + mu_k)^2 + phi / (1 + mu_k)^2.

Penalties of first differences expect curves to be rougher than most are, and bands with that bias
cover too much. So the second part is multiplied by kappa, which is estimated: the fitted curve,
smoothed once more, says what its bias is about (what that has of noise is taken off). Where a curve
has few degrees of freedom that says little, and kappa is drawn toward 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from splinear._types import Floats

__all__ = ["CurvePosterior", "tempered_kappa"]

PRIOR_FREEDOM = 3.0  # degrees of freedom that kappa = 1 counts as
MOST_KAPPA = 2.0


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """What is known of one curve.

    Attributes
    ----------
    mu : ndarray of shape (n,)
        What the data say of every direction, in units of what the prior does.
    z : ndarray of shape (n,)
        The fitted curve by directions.
    directions : ndarray of shape (n, stride)
        Their parameters.
    score : ndarray of shape (n,)
        L_0'U, U being the derivative of the losses by the curve if that were flat; L_0 is the root
        of a prior that no data have chosen.
    score_variances : ndarray of shape (n,)
        The eigenvalues of its covariance over phi, in a flat curve.
    noise : float
        phi.
    """

    mu: Floats
    z: Floats
    directions: Floats
    score: Floats
    score_variances: Floats
    noise: float = 1.0

    @classmethod
    def of(
        cls,
        J: Floats,
        L: Floats,
        fixed: Floats,
        z: Floats,
        theta: Floats,
        pull: Floats,
        free: NDArray[np.bool_],
        n_classes: int,
    ) -> CurvePosterior:
        """Find the directions.

        L and `fixed` are roots of the prior's covariance and of a fixed one, z is the whitened
        curve and theta its free parameters, and `pull` the slope at which the losses fall there.
        """
        mu, U = eigh(L.T @ J @ L)
        mu = np.maximum(mu, 0.0)
        directions = np.zeros((len(mu), len(free)))
        directions[:, free] = (L @ U).T
        found = cls(
            mu,
            U.T @ z,
            directions,
            fixed.T @ (J @ theta + pull),
            np.maximum(np.linalg.eigvalsh(fixed.T @ J @ fixed), 0.0),
        )
        return found if n_classes == 1 else found._among(n_classes)

    def _among(self, n_classes: int) -> CurvePosterior:
        """Return that of the curve less the mean of those of all classes.

        No loss knows of that mean, which has its prior's variance, 1 / n_classes.
        """
        prior = 1.0 - 1.0 / n_classes
        left = np.maximum(1.0 / (1.0 + self.mu) - 1.0 / n_classes, 1e-12)
        mu, root = np.maximum(prior / left - 1.0, 0.0), np.sqrt(prior)
        return replace(self, mu=mu, z=self.z / root, directions=root * self.directions)

    def under(self, noise: float) -> CurvePosterior:
        """Return it for another variance of the noise."""
        return replace(self, noise=noise)

    @property
    def edf(self) -> float:
        """Effective degrees of freedom."""
        return float((self.mu / (1.0 + self.mu)).sum())

    @cached_property
    def kappa(self) -> float:
        """The square of the bias, as a multiple of what the prior expects."""
        shrunk = 1.0 / (1.0 + self.mu)
        again = shrunk * (1.0 + shrunk)  # of the fitted curve: its bias, corrected once
        of_noise = self.mu * again**2 * self.mu * shrunk**2
        expected = float((self.mu * shrunk**2).sum())
        if not expected > 0.0 or not self.noise > 0.0:
            return 1.0
        found = float((self.mu * (again * self.z) ** 2 / self.noise - of_noise).sum()) / expected
        return tempered_kappa(found, self.edf)

    @property
    def variances(self) -> Floats:
        """The variances of the directions' coefficients, (n,)."""
        return np.asarray(self.noise * (self.mu + self.kappa) / (1.0 + self.mu) ** 2)


def tempered_kappa(found: float, edf: float) -> float:
    """Return kappa as it is used: within bounds, and drawn toward 1 where little is known."""
    found = float(np.clip(found, 0.0, MOST_KAPPA))
    return (PRIOR_FREEDOM + edf * found) / (PRIOR_FREEDOM + edf)
