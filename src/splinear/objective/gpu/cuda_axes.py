"""The axes of a group of terms, as arguments of the kernels in `kernels.cu`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.objective.gpu.backend import Grid
from splinear.terms.group import TermGroup

__all__ = ["CudaAxes"]


@dataclass(frozen=True, eq=False)
class CudaAxes:
    """The axes of a group, copied to the GPU on first use."""

    cupy: Any
    group: TermGroup

    def send(self) -> None:
        """Copy the axes to the GPU now."""
        _ = self.arguments

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """Columns, axes, knots, numbers of knots, widths of a code, largest number of knots."""
        group, axes, to = self.group, self.group.embedding.axes, self.cupy.asarray
        knots = np.zeros((group.n_features, 1)) if axes.knots is None else axes.knots
        n_knots = (
            np.zeros(group.n_features) if axes.knots is None else (~np.isnan(knots)).sum(axis=1)
        )
        n_knots = np.where(axes.varies, n_knots, 0).astype(np.int32)
        width = 1.0 / np.maximum(Grid.of(group).density(group), np.finfo(float).tiny)
        return (
            to(group.features.astype(np.int32)),
            to(_straight(axes.lo, axes.hi, axes.first, axes.last)),
            to(np.ascontiguousarray(knots)),
            to(n_knots),
            to(width),
            np.int32(knots.shape[1]),
        )


def _straight(lo: Floats, hi: Floats, first: Floats, last: Floats) -> Floats:
    """Return the coefficients of the core's `Axis`: prescale, lo, slope, first, last.

    The result is (n_features, 5).
    """
    varies = lo < hi
    with np.errstate(over="ignore", invalid="ignore"):
        width = np.where(varies, hi - lo, 1.0)
    exponent = np.where(np.isinf(width), 1023, np.frexp(width)[1] - 1)
    prescale = np.where(varies, np.ldexp(1.0, np.clip(-exponent, -1022, 1023)), 1.0)
    low, high = np.where(varies, lo, 0.0) * prescale, np.where(varies, hi, 1.0) * prescale
    slope = np.where(varies, (last - first) / (high - low), 0.0)
    return np.stack([prescale, low, slope, first, last], axis=1)
