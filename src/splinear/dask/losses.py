"""Sums of losses over the rows of all workers, with the interface of LossSum."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.dask.cluster import Cluster
from splinear.dask.expressions import (
    PART,
    Apply,
    Bends,
    Call,
    Done,
    Member,
    Node,
    Scores,
    Slopes,
    bare,
    blocks_of,
    in_all,
    row_values,
)
from splinear.dask.parts import Part
from splinear.losses.base import Loss
from splinear.losses.curvature import Curvature, Profiled, cuts_matrix, inverse_of
from splinear.model.scatter import Scatter
from splinear.objective.loss_sums import (
    FARTHEST,
    LAST_SHIFT,
    MAX_SHIFTS,
    Likened,
    Separable,
    Summed,
)
from splinear.objective.units import scatter_sums

__all__ = ["RemoteSum"]

MOST_SOLVED = 8  # scores whose shared parameters are kept
LITTLE = 1e-10  # relative to the sum: the gain of other intercepts that is neglected


@dataclass(frozen=True, eq=False)
class RemoteSum(Likened):
    """Sum number `k` over all parts; `like` is the same sum over the sample."""

    cluster: Cluster
    k: int
    _solved: dict[Hashable, Loss] = field(default_factory=dict)  # by the keys of scores

    def on_threads(self, n: int) -> RemoteSum:
        """Return the same sum, because workers have threads of their own."""
        del n
        return self

    def each(self, F: Floats) -> Floats:
        """Return the terms of the sum."""
        return row_values(self.cluster, self._called("each", F))

    def value(self, F: Floats) -> float:
        """Return the sum."""
        return float(self._at(F)["value"])

    def gradient(self, F: Floats) -> Floats:
        """Return the gradient with respect to F."""
        return row_values(self.cluster, Slopes(self.k, bare(F), self._asked(F)))

    def curvature(self, F: Floats, *, cautious: bool = False) -> Curvature:
        """Return the second derivatives at F."""
        node = Bends(self.k, bare(F), cautious, self._asked(F))
        kind = RemoteProfiled if self.loss.n_shared else RemoteCurvature
        return kind(self.cluster, node, self.n_outputs)

    def loss_at(self, F: Floats) -> Loss:
        """Return the loss with the shared parameters, if it has some, that are best at F.

        They are found by Newton's method, with one pass per step.
        """
        if not self.loss.n_shared:
            return self.loss
        node: Node = bare(F)
        if node.key not in self._solved:
            last = next(reversed(self._solved.values()), self.loss)
            self._solved[node.key] = last.solved(partial(self._shared_sums, node))
            if len(self._solved) > MOST_SOLVED:
                del self._solved[next(iter(self._solved))]
        return self._solved[node.key]

    def _shared_sums(self, F: Node, loss: Loss) -> Floats:
        own = Call(PART, "sum_of", (self.k, None))
        return self.cluster.add_up(Apply(_shared, (own, F, loss)))[0]

    def rise(self, F: Floats, D: Floats) -> Floats:
        """Return what a step D of the scores adds to every term, with parameters that stay."""
        return row_values(self.cluster, self._called("rise", F, D))

    def scatter(self, F: Floats) -> Scatter:
        """Return the sums from which the dispersion follows."""
        found, loss = self._at(F), self.loss
        return Scatter.of(
            found["scatter"],
            2.0 * float(found["value"]),
            loss.least_dispersion,
            is_likelihood=loss.likelihood,
        )

    def gap(self, F: Floats, R: Floats) -> float:
        """Return L(F) + L*(R) - sum(R * F)."""
        more = {"gap": self._called("gap", F, R)}
        if not self.loss.n_shared:
            return float(self._at(F, more=more)["gap"])
        more["flows"] = Apply(_flows, (self._sum(F), bare(R)))
        found = self._at(F, more=more)
        return float(found["gap"]) + self.loss_at(F).shared_gap(found["flows"])

    def exact(self, F: Floats, R: Floats) -> tuple[float, float]:
        """Return the sum of the losses themselves, and its gap to R."""
        if self.loss.exact is self.loss:
            return self.value(F), self.gap(F, R)
        [both] = self.cluster.add_up(Apply(np.array, (self._called("exact", F, R),)))
        return float(both[0]), float(both[1])

    def best_shift(self, F: Floats) -> Floats:
        """Return the constants (n_outputs,) that minimize the sum when added to F.

        They are found by Newton's method, with one pass per step; a constant common to all classes
        is kept at 0. A step whose gain would be negligible is not made, so that everything computed
        at its start can be reused.
        """
        if self.loss.n_shared:
            return self._shared_shift(F)
        shift = np.zeros(self.n_outputs)
        if self.loss.surrogate() is not None:  # a kink: passes would have to search for it
            return shift
        most = np.inf if self.is_quadratic else 1.0
        low, high = -np.inf, np.inf  # of a single output
        for k in range(MAX_SHIFTS):
            at = self._at(F + shift[:, None] if k else F, with_sums=k > 0)
            step = np.clip(_level_step(at["bends"], at["in_all"]), -most, most)
            if np.abs(step * at["in_all"]).sum() <= LITTLE * abs(float(at["value"])):
                break
            if self.n_outputs == 1:  # a step across a kink that is hardly smoothed goes too far
                low, high = (shift[0], high) if at["in_all"][0] < 0.0 else (low, shift[0])
                if not low < shift[0] + step[0] < high:
                    step = np.array([0.5 * (low + high) - shift[0]])
            shift = shift + step
            if np.abs(step).max() <= LAST_SHIFT or np.abs(shift).max() > FARTHEST:
                break
        return shift

    def _shared_shift(self, F: Floats) -> Floats:
        """Return the shift after which shared parameters have the mean 0; no pass."""
        loss, none = self.loss_at(F), np.zeros(0)
        known = loss.shift(none, none, none)
        assert known is not None
        assert loss.shared is not None
        there: Node = bare(F + np.array([[known]]))
        self._solved.setdefault(there.key, loss.with_shared(loss.shared, -known))
        return np.array([known])

    def _at(
        self, F: Floats, *, with_sums: bool = False, more: dict[str, Node] | None = None
    ) -> dict[str, Floats]:
        """Return the sum and the sums of derivatives at F, in one pass unless they are cached.

        If `with_sums`, the pass also computes the gradient with respect to tables and, if the
        sample is not all rows, the blocks of the Hessian, which Newton's method needs next. `more`
        holds further expressions to add up.
        """
        node: Node = bare(F)
        slopes = Slopes(self.k, node, self._asked(F))
        bends, nodes = Bends(self.k, node, loss=self._asked(F)), dict(more or {})
        total = self._sum(F)
        known = self.cluster.cached(slopes.key)
        if "value" not in known:
            nodes["value"] = Call(total, "value", (node,))
            nodes["bends"] = Call(bends, "total", ())
            nodes["scatter"] = Apply(_scattered, (total, slopes, bends))
        if "in_all" not in known:
            nodes["in_all"] = in_all(slopes)
        if with_sums and "sums" not in known and isinstance(node, Scores):
            nodes["sums"] = Call(node.rows, "raw_sums", (slopes,))
            if self.cluster.has_sample:
                H = Member(bends, "diagonal")
                nodes[blocks_of(node.rows)] = Call(node.rows, "blocks", (H,))
        if nodes:
            found = dict(zip(nodes, self.cluster.add_up(*nodes.values()), strict=True))
            known.update(found)
            blocks = {name: own for name, own in found.items() if name.endswith("blocks")}
            self.cluster.cached(Member(bends, "diagonal").key).update(blocks)
        return known

    def _sum(self, F: Floats) -> Node:
        return Call(PART, "sum_of", (self.k, self._asked(F)))

    def _asked(self, F: Floats) -> Loss | None:
        """Return a surrogate, or the loss with shared parameters; None for what parts have."""
        if self.loss.n_shared:
            return self.loss_at(F)
        return None if self.loss.exact is self.loss else self.loss

    def _called(self, name: str, *args: Floats) -> Node:
        return Call(self._sum(args[0]), name, tuple(map(bare, args)))


@dataclass(frozen=True, eq=False)
class _Product(Node):
    """The product of second derivatives and V."""

    bends: Node
    V: Node

    def of(self, part: Part, done: Done) -> object:
        """Return the product."""
        bends = cast(Curvature, self.bends.on(part, done))
        return bends.times(cast(Floats, self.V.on(part, done)))

    @property
    def key(self) -> Hashable:
        """Equal for equal factors."""
        return "product", self.bends.key, self.V.key


@dataclass(frozen=True, eq=False)
class RemoteCurvature:
    """Second derivatives of a sum over all parts."""

    cluster: Cluster
    node: Node
    n_outputs: int

    @property
    def diagonal(self) -> Floats:
        """The diagonal."""
        return row_values(self.cluster, Member(self.node, "diagonal"))

    @property
    def independent(self) -> Floats:
        """The diagonal of a curvature in which outputs are independent."""
        return row_values(self.cluster, Member(self.node, "independent"))

    def between(self, k: int, m: int) -> Floats:
        """Return the second derivatives with respect to the scores of outputs k and m."""
        return row_values(self.cluster, Call(self.node, "between", (k, m)))

    def times(self, V: Floats) -> Floats:
        """Return the product with V."""
        return row_values(self.cluster, _Product(self.node, bare(V)))

    def level(self, V: Floats) -> Floats:
        """Return the constants (n_outputs,) to add to V such that times(V) sums to 0 over rows.

        Newton's method next needs the sums of this product with respect to tables. For one output
        they follow from those of V, so the same pass computes these.
        """
        product = _Product(self.node, bare(V))
        if self.n_outputs > 1 or not isinstance(product.V, Scores):
            [slope] = self.cluster.add_up(in_all(product))
            return _level_step(self._levels, slope)
        rows = product.V.rows
        nodes: list[Node] = [in_all(product), Call(rows, "raw_sums", (product,))]
        known = self.cluster.cached(("levels", self.node.key, rows))
        if not known:  # the derivatives with respect to a constant added to all scores
            nodes.append(Call(self.node, "total", ()))
            nodes.append(Call(rows, "raw_sums", (Member(self.node, "diagonal"),)))
        slope, sums, *more = self.cluster.add_up(*nodes)
        known.update(zip(("levels", "sums"), more, strict=False))
        shift = _level_step(known["levels"], slope)
        leveled = _Product(self.node, bare(V + shift[:, None]))
        self.cluster.cached(leveled.key).update(
            sums=sums + shift * known["sums"], in_all=slope + shift * known["levels"][0]
        )
        return shift

    def total(self) -> Floats:
        """Return the second derivatives with respect to constants added to the scores."""
        return self._levels

    @cached_property
    def _levels(self) -> Floats:
        return self.cluster.add_up(Call(self.node, "total", ()))[0]

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with `extra` added to the diagonal."""
        node = Call(self.node, "raised", (bare(extra),))
        return RemoteCurvature(self.cluster, node, self.n_outputs)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the sample's rows at these indices, multiplied by weights."""
        here = cast(Curvature, self.node.on(self.cluster.sample, {}))
        return here.some(numbers, weights)


@dataclass(frozen=True, eq=False)
class RemoteProfiled(RemoteCurvature):
    """Second derivatives of a sum over all parts whose cut points follow the scores."""

    is_raised: bool = False

    def times(self, V: Floats) -> Floats:
        """Return the product with V, whose sums per cut point take a pass."""
        [sums] = self.cluster.add_up(Call(self.node, "at_cuts", (bare(V),)))
        return row_values(
            self.cluster, Call(self.node, "less", (bare(V), inverse_of(*self._of_cuts) @ sums))
        )

    def level(self, V: Floats) -> Floats:
        """Return the constants (1,) to add to V such that times(V) sums to 0 over rows."""
        if not self.is_raised:
            return np.zeros(1)
        [sums] = self.cluster.add_up(Call(self.node, "level_sums", (bare(V),)))
        return np.array([-sums[0] / max(float(sums[1]), np.finfo(float).tiny)])

    def raised(self, extra: Floats) -> Curvature:
        """Return the curvature with `extra` added to the diagonal."""
        node = Call(self.node, "raised", (bare(extra),))
        return RemoteProfiled(self.cluster, node, self.n_outputs, is_raised=True)

    def some(self, numbers: AnyArray, weights: Floats) -> Curvature:
        """Return the curvature of the sample's rows at these indices, multiplied by weights."""
        here = cast(Profiled, super().some(numbers, weights))
        return replace(here, barrier=self._of_cuts[1])

    @cached_property
    def _of_cuts(self) -> tuple[Floats, Floats]:
        """The springs at all cut points, and the barriers between them."""
        springs, barrier = self.cluster.add_up(
            Member(self.node, "at_all_cuts"), Member(self.node, "barrier")
        )
        return springs, barrier

    @property
    def of_cuts(self) -> Floats:
        """The second derivatives with respect to the cut points."""
        return cuts_matrix(*self._of_cuts)


def _shared(total: Summed, F: Floats, loss: Loss) -> Floats:
    """Return the sums over the rows of a part from which shared parameters follow."""
    return loss.shared_sums(total.y, total._scores(F), total.cost)


def _flows(total: Summed, R: Floats) -> Floats:
    """Return the sums over the rows of a part from which their part of the gap follows."""
    unit = total.loss.unit
    return total.loss.shared_flows(total.y, unit * R / total.cost, total.cost)


def _scattered(total: Separable | Summed, slopes: Floats, bends: Curvature) -> Floats:
    """Return the sums of Scatter over the rows of a part."""
    return scatter_sums(total.units, total.cost, slopes, bends.diagonal)


def _level_step(H: Floats, slope: Floats) -> Floats:
    """Return -H^{-1} slope, of mean 0 if a constant common to all outputs has no effect."""
    if len(slope) == 1:
        return np.asarray(-slope / max(float(H[0, 0]), np.finfo(float).tiny))
    return np.asarray(-np.linalg.pinv(H, rcond=1e-12, hermitian=True) @ slope)
