"""Half the Poisson deviance of a count or rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray
from splinear.losses.base import Offset
from splinear.losses.half_deviance import HalfDeviance
from splinear.losses.margin import Posed
from splinear.losses.nonnegative import NonnegativeLoss

__all__ = ["Poisson"]

LEAST_COUNT = 1e-30  # relative to the mean count; replaces counts of 0


@dataclass(frozen=True)
class Poisson(NonnegativeLoss, HalfDeviance):
    """y log(y / mu) - y + mu with mu = exp(f), for counts or rates y of 0 or more.

    It is a negative log-likelihood if the variance equals the mean. Counts often vary more; then
    the losses divided by the ratio of variance and mean, the dispersion, are a quasi-likelihood.

    The loss of a count of 0 is exp(f). The count is replaced by 1e-30 of the mean count, which
    changes the loss by less than rounding unless f is more than 60 below the logarithm of the mean.
    This also keeps the predictions finite in regions without any counts.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Poisson
    >>> Poisson().value(np.array([1.0, 2.0]), np.array([0.0, 0.0])).round(3)
    array([0.   , 0.386])
    """

    name = "poisson"
    power = 1.0
    needs = 'loss="poisson" needs targets of 0 or more'

    @property
    def least_dispersion(self) -> float:
        """That of one event."""
        return 0.0 if self.seen is None else self.seen.event

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """M = f - log y, with values multiplied by y."""
        mean = 1.0 if self.seen is None else self.seen.mean
        counts = np.maximum(y, LEAST_COUNT * mean)
        target = np.log(counts) if offset is None else np.log(counts) - offset
        return Posed(np.ones(len(y), dtype=np.int8), target, counts)
