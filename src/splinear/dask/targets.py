"""Targets of parts, which share classes, center and unit with all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.dask.cluster import Cluster
from splinear.dask.losses import RemoteSum
from splinear.dask.reading import Survey, distinct_classes
from splinear.solvers.problems.loss_sums import LossSum
from splinear.solvers.problems.losses import ConvexLoss, SmoothLoss
from splinear.solvers.rows.memory import BytesPerRow
from splinear.training.outputs.base import Outputs, Problems, Reader, Target
from splinear.training.outputs.class_reader import ClassReader, numbered
from splinear.training.outputs.class_weights import ClassWeight, class_weights
from splinear.training.outputs.classes import BinaryTarget, OneVsRestTarget
from splinear.training.outputs.numbers import RegressionTarget, power_of_two
from splinear.training.outputs.positive import CountTarget, OfAll, PositiveTarget
from splinear.training.weighted import WeightedRows

__all__ = ["PartTarget", "RemoteTarget", "common_target"]


@dataclass(frozen=True, eq=False)
class PartTarget:
    """Makes the targets of parts, with the classes, center and unit of all rows.

    Attributes
    ----------
    like : Target
        A target of a few rows, with the properties that all rows share.
    center, unit : float
        The number subtracted from targets, and the one by which they are then divided.
    """

    like: Target
    center: float = 0.0
    unit: float = 1.0

    def read(self, y: AnyArray) -> Target:
        """Return the target of some rows."""
        like = self.like
        if isinstance(like, BinaryTarget | OneVsRestTarget):
            return replace(like, index=numbered(y, like.outputs.classes))
        values = np.asarray(y, dtype=np.float64)
        if isinstance(like, RegressionTarget):
            return replace(like, values=(values - self.center) / self.unit)
        assert isinstance(like, PositiveTarget | CountTarget)
        return replace(like, values=values)


def common_target(reader: Reader, found: Survey) -> PartTarget:
    """Return what the targets of all rows share; raise if the reader does not accept y."""
    if isinstance(reader, ClassReader):
        return _of_classes(reader, found)
    ends = np.array([found.least, found.most])
    like, mean = reader.read(ends, None), found.total / found.weight
    if isinstance(like, RegressionTarget):
        unit = power_of_two(ends - mean) if like.standardized else 1.0
        centered = replace(like, fixed_center=0.0, standardized=False)
        return PartTarget(centered, mean, unit)
    assert isinstance(like, PositiveTarget | CountTarget)
    return PartTarget(
        replace(like, of_all=OfAll(found.most, mean, found.event)), float(np.log(found.most))
    )


def _of_classes(reader: ClassReader, found: Survey) -> PartTarget:
    classes, _ = distinct_classes(np.concatenate(found.labels))
    like = reader.read(np.tile(classes, 2), None)  # twice, because single ones cause a warning
    assert isinstance(like, BinaryTarget | OneVsRestTarget)
    weights = _resolved(reader, like.outputs.classes, found)
    return PartTarget(replace(like, class_weight=weights))


def _resolved(reader: ClassReader, classes: AnyArray, found: Survey) -> ClassWeight:
    """Return the weight of every class as a dict."""
    weight, names = reader.class_weight, classes.tolist()
    if weight is None:
        return None
    if weight == "balanced":
        counts = np.array([found.classes[name] for name in names], dtype=np.float64)
        each: Floats = counts.sum() / (len(classes) * counts)
    else:
        each = class_weights(weight, classes, np.arange(len(classes)), None)
    return dict(zip(names, each.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class RemoteTarget:
    """The target of the rows of all workers.

    Attributes
    ----------
    common : PartTarget
    sample : Target
        The target of the sample.
    cluster : Cluster
    """

    common: PartTarget
    sample: Target
    cluster: Cluster

    @property
    def outputs(self) -> Outputs:
        """How the model's scores become predictions."""
        return self.sample.outputs

    @property
    def numbers(self) -> AnyArray:
        """The numbers of the sample."""
        return self.sample.numbers

    @property
    def need(self) -> BytesPerRow:
        """Memory per row."""
        return self.sample.need

    @property
    def spread(self) -> float:
        """The scale of the scores."""
        return self.sample.spread

    def center(self, rows: WeightedRows) -> float:
        """Return the number subtracted from y before training."""
        del rows
        return self.common.center

    def unit(self, rows: WeightedRows) -> float:
        """Return the number that the centered y is divided by."""
        del rows
        return self.common.unit

    def among(self, rows: WeightedRows) -> RemoteTarget:
        """Return the target itself, which has the statistics of all rows."""
        del rows
        return self

    def problems(self, rows: WeightedRows, loss: ConvexLoss, bias: float) -> Problems:
        """Return the problems of rows of the sample."""
        return self.sample.problems(rows, loss, bias)

    def sums(self, rows: WeightedRows, loss: SmoothLoss) -> list[LossSum]:
        """Return the sums of losses over all rows, or over local rows of the sample."""
        if rows.rows.is_here:
            return self.sample.sums(rows, loss)
        likes = self.cluster.sample.sums
        return [RemoteSum(like, self.cluster, k) for k, like in enumerate(likes)]
