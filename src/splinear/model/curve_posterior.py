"""The posterior of one curve, in directions that diagonalize both prior and information.

With J the information on the curve and S the matrix of its penalty, there are directions a_k with
a_k'S a_k = 1, a_k'J a_k = mu_k, and a_k'S a_m = a_k'J a_m = 0 for k != m. A curve sum_k z_k a_k has
the prior z_k ~ N(0, phi) and the posterior variances phi / (1 + mu_k). These are the sum of the
variance of the estimate and of its expected squared bias under the prior,

    phi / (1 + mu_k) = phi mu_k / (1 + mu_k)^2 + phi / (1 + mu_k)^2.

The prior of first differences expects rougher curves than most are, and bands with that bias cover
too much. So the second part is multiplied by an estimated factor kappa: smoothing the fitted curve
once more shows about how large its bias is (minus what noise contributes). For a curve with few
degrees of freedom the estimate is uncertain, and kappa is shrunk toward 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from splinear._caching import cached_property
from splinear._types import Floats

__all__ = ["CurvePosterior", "tempered_kappa"]

PRIOR_FREEDOM = 3.0  # weight of kappa = 1, in degrees of freedom
MOST_KAPPA = 2.0


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The posterior of one curve.

    Attributes
    ----------
    mu : ndarray of shape (n,)
        The information on every direction, relative to that of the prior.
    z : ndarray of shape (n,)
        The coefficients of the fitted curve in these directions.
    directions : ndarray of shape (n, stride)
        The parameters of every direction.
    score : ndarray of shape (n,)
        L_0'U, where U is the negative gradient of the losses with respect to the curve at a flat
        curve, and L_0 L_0' the covariance of a fixed prior; used to test whether the curve is flat.
    score_variances : ndarray of shape (n,)
        The eigenvalues of the score's covariance over phi, if the curve is flat.
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
        """Compute the directions.

        L L' and fixed fixed' are the covariances of the prior and of the fixed prior, z is the
        whitened curve, theta its free parameters, and `pull` the negative gradient of the losses
        there.
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
        """Return the posterior of the curve minus the mean curve of all classes.

        The losses do not depend on that mean, which keeps its prior variance, 1 / n_classes.
        """
        prior = 1.0 - 1.0 / n_classes
        left = np.maximum(1.0 / (1.0 + self.mu) - 1.0 / n_classes, 1e-12)
        mu, root = np.maximum(prior / left - 1.0, 0.0), np.sqrt(prior)
        return replace(self, mu=mu, z=self.z / root, directions=root * self.directions)

    def under(self, noise: float) -> CurvePosterior:
        """Return the posterior for another variance of the noise."""
        return replace(self, noise=noise)

    @property
    def edf(self) -> float:
        """Effective degrees of freedom."""
        return float((self.mu / (1.0 + self.mu)).sum())

    @cached_property
    def kappa(self) -> float:
        """The estimated squared bias, relative to its expectation under the prior."""
        shrunk = 1.0 / (1.0 + self.mu)
        again = shrunk * (1.0 + shrunk)  # from the fitted curve to its bias, corrected once
        of_noise = self.mu * again**2 * self.mu * shrunk**2
        expected = float((self.mu * shrunk**2).sum())
        if not expected > 0.0 or not self.noise > 0.0:
            return 1.0
        found = float((self.mu * (again * self.z) ** 2 / self.noise - of_noise).sum()) / expected
        return tempered_kappa(found, self.edf)

    @property
    def variances(self) -> Floats:
        """The posterior variances of the coefficients z, (n,)."""
        return np.asarray(self.noise * (self.mu + self.kappa) / (1.0 + self.mu) ** 2)


def tempered_kappa(found: float, edf: float) -> float:
    """Return an estimate of kappa, clipped and shrunk toward 1 if `edf` is small."""
    found = float(np.clip(found, 0.0, MOST_KAPPA))
    return (PRIOR_FREEDOM + edf * found) / (PRIOR_FREEDOM + edf)
