"""Responses of parts, whose losses know what all rows have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.dask.cluster import Cluster
from splinear.dask.holding import Holding
from splinear.dask.losses import RemoteSum
from splinear.dask.reading import Survey, distinct_classes
from splinear.estimators.trainer import Recipe
from splinear.losses.base import Loss
from splinear.losses.checking import check_loss
from splinear.losses.classes import ClassLoss
from splinear.losses.survey import Survey as SurveyOfY
from splinear.objective.loss_sums import LossSum
from splinear.objective.training_set import ClassWeight, Response, WeightedRows, class_weights

__all__ = ["RemoteResponse", "WithLoss", "common_response", "of_part"]


def common_response(recipe: Recipe, found: Survey) -> Response:
    """Return the response of all rows, without y; raise if the loss does not take some y."""
    loss = recipe.loss
    if loss.kind == "number":
        loss, y = loss.read(np.array([found.of_y.least, found.of_y.most]))
        is_in_unit = loss.link == "identity" and loss.n_offsets == 1
        loss = loss.fitted(found.of_unexplained if is_in_unit else found.of_y)
        if not loss.name:
            check_loss(loss, y)
        return _with_means(Response(loss, y[:0]), found)
    classes, _ = distinct_classes(np.concatenate(found.labels))
    of_classes, y = loss.read(np.tile(classes, 2))  # twice: single ones cause a warning
    assert isinstance(of_classes, ClassLoss)
    weights = _resolved(recipe.class_weight, of_classes.known_classes, found)
    return _with_means(Response(of_classes, y[:0], weights), found)


def of_part(common: Response, y: AnyArray, offset: Floats | None) -> Response:
    """Return the response of some rows."""
    offset = None if offset is None else offset - common.moved
    return replace(common, y=common.loss.numbers(y), offset=offset)


def _with_means(response: Response, found: Survey) -> Response:
    """Return the response of all rows with the means of their offsets."""
    if found.offsets is None or not response.takes_means:
        return response
    return replace(response, moved=found.offsets / found.weight)


def _resolved(weight: ClassWeight, classes: AnyArray, found: Survey) -> ClassWeight:
    """Return the weight of every class as a dict."""
    names = classes.tolist()
    if weight is None:
        return None
    if weight == "balanced":
        counts = np.array([found.classes[name] for name in names], dtype=np.float64)
        each: Floats = counts.sum() / (len(classes) * counts)
    else:
        each = class_weights(weight, classes, np.arange(len(classes)), None)
    return dict(zip(names, each.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class WithLoss:
    """Gives the sums of a part a loss whose parameters were estimated later."""

    loss: Loss

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the part with this loss."""
        del X, y, weights, offset
        assert part is not None
        return part.with_loss(self.loss)


@dataclass(frozen=True, eq=False)
class RemoteResponse(Response):
    """The response of the rows of all workers; y is that of the sample."""

    cluster: Cluster | None = None

    def fitted(self, survey: Callable[[AnyArray], SurveyOfY]) -> RemoteResponse:
        """Return the response itself, whose loss knows of all rows."""
        del survey
        return self

    def sums(self, rows: WeightedRows, problem: int | None = None) -> list[LossSum]:
        """Return the sums of losses over all rows, or over local rows of the sample."""
        if rows.rows.is_here or self.cluster is None:
            return super().sums(rows, problem)
        likes = self.cluster.sample.sums
        if self.loss.exact is not self.loss:
            likes = [like.by(self.loss) for like in likes]
        elif self.loss.is_estimated and self.loss != likes[0].loss:
            self.cluster.hold(WithLoss(self.loss))
            self.cluster.forget()
            self.cluster.sample = self.cluster.sample.with_loss(self.loss)
            likes = self.cluster.sample.sums
        wanted = range(len(likes)) if problem is None else [problem]
        return [RemoteSum(likes[k], self.cluster, k) for k in wanted]
