"""Half the gamma deviance of a positive number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.base import Offset
from splinear.losses.half_deviance import HalfDeviance
from splinear.losses.margin import Posed

__all__ = ["Gamma"]


@dataclass(frozen=True)
class Gamma(HalfDeviance):
    """y / mu - 1 - log(y / mu) with mu = exp(f), for y > 0 that vary in proportion to their mean.

    The dispersion is the variance of y / mu.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Gamma
    >>> Gamma().value(np.array([1.0, 2.0]), np.array([0.0, 0.0])).round(3)
    array([0.   , 0.307])
    """

    name = "gamma"
    power = 2.0
    needs = 'loss="gamma" needs targets above 0'

    def allows(self, y: Floats) -> AnyArray:
        """Return whether each number is positive."""
        return y > 0.0

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """M = log y - f."""
        logs = np.log(y)
        target = -logs if offset is None else offset - logs
        return Posed(np.full(len(y), -1, dtype=np.int8), target)
