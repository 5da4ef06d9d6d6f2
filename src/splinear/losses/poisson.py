"""Half the Poisson deviance of a count or rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.base import Offset
from splinear.losses.half_deviance import HalfDeviance
from splinear.losses.margin import Posed
from splinear.losses.survey import Survey

__all__ = ["Poisson"]

LEAST_COUNT = 1e-30  # relative to the mean count; replaces counts of 0
LEAST_LARGEST = 1e-30  # count; curvatures have its size, and are summed in single precision
NO_COUNTS = (
    'loss="poisson" needs a count above 0 in the rows to learn from, but all targets there are 0: '
    "the logarithm of their mean would be minus infinity."
)


@dataclass(frozen=True)
class Poisson(HalfDeviance):
    """y log(y / mu) - y + mu with mu = exp(f), for counts or rates y of 0 or more.

    It is a negative log-likelihood if the variance equals the mean. Counts often vary more; then
    the losses divided by the ratio of variance and mean, the dispersion, are a quasi-likelihood.

    The loss of a count of 0 is exp(f). The count is replaced by 1e-30 of the mean count, which
    changes the loss by less than rounding unless f is more than 60 below the logarithm of the mean.
    This also keeps the predictions finite in regions without any counts.
    """

    name = "poisson"
    power = 1.0
    needs = 'loss="poisson" needs targets of 0 or more'
    bytes_per_row = (24, 16)

    def allows(self, y: Floats) -> AnyArray:
        """Return whether each number is a count or a rate."""
        return y >= 0.0

    def fitted(self, survey: Survey) -> Poisson:
        """Return the loss that knows the mean and the largest of y; raise if all are 0."""
        if not survey.total > 0.0:
            raise ValueError(NO_COUNTS)
        if survey.most < LEAST_LARGEST:
            raise ValueError(
                f'loss="poisson" cannot be computed for targets of at most {survey.most:.2g}; '
                f"multiply y to have some above {LEAST_LARGEST:g}."
            )
        return super().fitted(survey)

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
