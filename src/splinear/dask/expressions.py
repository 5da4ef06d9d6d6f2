"""Lazy expressions for arrays of per-row values that are distributed over workers.

Newton's method treats the scores and derivatives of rows as arrays. Here such an array is a small
expression tree, and applying NumPy's functions to it returns larger ones. In a pass
(`splinear.dask.cluster`) workers evaluate expressions for their own rows and return sums over them.

Scores are linear in the tables of a model. So sums and multiples of scores are again scores, with
other tables, and expressions do not grow with the number of steps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from splinear._types import Floats, Input
from splinear.losses.base import Loss

if TYPE_CHECKING:
    from splinear.dask.cluster import Cluster
    from splinear.dask.parts import Part

__all__ = [
    "EXACT",
    "PART",
    "Apply",
    "Call",
    "Done",
    "Member",
    "Node",
    "RowValues",
    "Scores",
    "bare",
    "blocks_of",
    "in_all",
    "row_values",
]

Done = dict[int, object]


class Node:
    """A node of an expression, evaluated for the rows of one part."""

    def on(self, part: Part, done: Done) -> object:
        """Return its value; `done` caches the values of nodes by their identity."""
        if id(self) not in done:
            done[id(self)] = self.of(part, done)
        return done[id(self)]

    def of(self, part: Part, done: Done) -> object:
        """Compute its value."""
        raise NotImplementedError

    @property
    def key(self) -> Hashable:
        """A key that is equal for nodes of equal value; by default, the node itself."""
        return self


@dataclass(frozen=True, eq=False)
class _ThePart(Node):
    """The part itself."""

    def of(self, part: Part, done: Done) -> object:
        del done
        return part


PART = _ThePart()


@dataclass(frozen=True, eq=False)
class Scores(Node):
    """Scores F (n_outputs, n_rows) for tables (n_outputs, n_entries), intercepts (n_outputs,).

    `rows` is the part itself, or its rows in full precision.
    """

    tables: Floats
    intercepts: Floats
    rows: Node = PART

    def of(self, part: Part, done: Done) -> object:
        """Return the scores, which the part caches between passes."""
        own = cast("Part", self.rows.on(part, done))
        return own.scores(self.tables, self.intercepts)

    @property
    def key(self) -> Hashable:
        """Equal for equal scores."""
        text = self.tables.tobytes() + self.intercepts.tobytes()
        return self.rows, blake2b(text, digest_size=16).digest()

    def over(self, tables: Floats, intercepts: Floats) -> Scores:
        """Return the scores of the same rows with other tables."""
        return Scores(tables, intercepts, self.rows)


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A function applied to values."""

    function: Callable[..., object]
    args: tuple[object, ...]
    kwargs: dict[str, object] = field(default_factory=dict)

    def of(self, part: Part, done: Done) -> object:
        """Call the function."""
        return self.function(*_values(self.args, part, done), **self.kwargs)


@dataclass(frozen=True, eq=False)
class Member(Node):
    """An attribute of a value."""

    owner: Node
    name: str

    def of(self, part: Part, done: Done) -> object:
        """Return the attribute."""
        return getattr(self.owner.on(part, done), self.name)

    @property
    def key(self) -> Hashable:
        """Equal for the same attribute of equal values; attributes of parts may change."""
        key = self.owner.key
        return self if key is self.owner else (key, self.name)


EXACT = Member(PART, "exact")  # the same rows in full precision


def blocks_of(rows: Node) -> str:
    """Return the name under which Hessian blocks of these rows are cached."""
    return "blocks" if rows is PART else "exact blocks"


@dataclass(frozen=True, eq=False)
class Call(Node):
    """A method call on a value."""

    owner: Node
    name: str
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = field(default_factory=dict)

    def of(self, part: Part, done: Done) -> object:
        """Call the method."""
        method = getattr(self.owner.on(part, done), self.name)
        return method(*_values(self.args, part, done), **self.kwargs)


@dataclass(frozen=True, eq=False)
class Slopes(Node):
    """The gradient of sum number k with respect to the scores F; see `Part.sum_of`."""

    k: int
    F: Node
    loss: Loss | None = None

    def of(self, part: Part, done: Done) -> object:
        """Return the derivatives."""
        return part.sum_of(self.k, self.loss).gradient(cast(Floats, self.F.on(part, done)))

    @property
    def key(self) -> Hashable:
        """Equal for equal scores."""
        return self.k, self.F.key, self.loss


@dataclass(frozen=True, eq=False)
class Bends(Node):
    """The second derivatives of sum number k with respect to the scores F."""

    k: int
    F: Node
    cautious: bool = False
    loss: Loss | None = None

    def of(self, part: Part, done: Done) -> object:
        """Return the derivatives."""
        F = cast(Floats, self.F.on(part, done))
        return part.sum_of(self.k, self.loss).curvature(F, cautious=self.cautious)

    @property
    def key(self) -> Hashable:
        """Equal for equal scores."""
        return "bends", self.k, self.cautious, self.F.key, self.loss


def _values(args: tuple[object, ...], part: Part, done: Done) -> list[object]:
    return [_value(arg, part, done) for arg in args]


def _value(arg: object, part: Part, done: Done) -> object:
    if isinstance(arg, Node):
        return arg.on(part, done)
    if isinstance(arg, list):
        return [_value(one, part, done) for one in arg]
    return arg


class RowValues(NDArrayOperatorsMixin):
    """An array with one column per row of X, computed by workers when it is reduced."""

    def __init__(self, cluster: Cluster, node: Node) -> None:
        self.cluster, self.node = cluster, node

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        kwargs.pop("out", None)  # in-place operators return a new array
        if method != "__call__" or kwargs:
            return NotImplemented
        args = [bare(one) for one in inputs]
        scores = _linear(ufunc, args)
        return RowValues(self.cluster, scores or Apply(ufunc, tuple(args)))

    def __array_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        del types
        return RowValues(self.cluster, Apply(func, tuple(map(bare, args)), kwargs))

    def copy(self) -> RowValues:
        """Return the array itself: expressions do not change."""
        return self

    def __getitem__(self, key: object) -> RowValues:
        return RowValues(self.cluster, Apply(operator.getitem, (self.node, key)))

    def __iter__(self) -> NoReturn:
        raise TypeError("The rows are on workers: this array cannot be iterated over.")

    def sum(self, axis: int | None = None) -> RowValues | Floats:
        """Return the lazy sums over outputs (axis 0), or the sums over the rows of all parts."""
        summed = Apply(np.sum, (self.node,), {"axis": axis})
        if axis == 0:
            return RowValues(self.cluster, summed)
        return self.cluster.row_sums(self.node, summed, "in_all" if axis == 1 else f"by {axis}")

    def max(self, initial: float) -> float:
        """Return the largest number, at least `initial`."""
        return self.cluster.largest(Apply(np.max, (self.node,), {"initial": initial}))


def row_values(cluster: Cluster, node: Node) -> Floats:
    """Return an expression as the array type that solvers expect."""
    return cast(Floats, RowValues(cluster, node))


def in_all(node: Node) -> Node:
    """Return a node for the sums of a node's value over rows, (n_outputs,)."""
    return Apply(np.sum, (node,), {"axis": 1})


def bare(value: object) -> Input:
    """Return the node of an array, or of the arrays in a list; other values unchanged."""
    if isinstance(value, RowValues):
        return value.node
    return [bare(one) for one in value] if isinstance(value, list) else value


def _linear(ufunc: np.ufunc, args: list[object]) -> Scores | None:
    """Return a sum, difference or multiple of scores as scores; None for anything else."""
    if ufunc is np.multiply:
        scores, other = args if isinstance(args[0], Scores) else args[::-1]
        factor = _factor(other, len(scores.intercepts)) if isinstance(scores, Scores) else None
        return None if factor is None else _times(cast(Scores, scores), factor)
    if ufunc not in (np.add, np.subtract):
        return None
    first, second = (_as_scores(args[0], args[1]), _as_scores(args[1], args[0]))
    if first is None or second is None or first.rows is not second.rows:
        return None
    if ufunc is np.subtract:
        second = _times(second, -1.0)
    return first.over(first.tables + second.tables, first.intercepts + second.intercepts)


def _times(scores: Scores, factor: float | Floats) -> Scores:
    """Return scores times a number, or times one per output (n_outputs, 1)."""
    intercepts = factor * scores.intercepts[:, None]
    return scores.over(factor * scores.tables, intercepts[:, 0])


def _factor(value: object, n_outputs: int) -> float | Floats | None:
    if isinstance(value, np.ndarray) and value.shape == (n_outputs, 1):
        return value
    return _number(value)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float | np.number)
    return float(cast(float, value)) if is_number else None


def _as_scores(value: object, like: object) -> Scores | None:
    """Return scores unchanged, and a number per output as scores with tables of 0."""
    if isinstance(value, Scores) or not isinstance(like, Scores):
        return value if isinstance(value, Scores) else None
    n = len(like.intercepts)
    if (number := _number(value)) is not None:
        return like.over(np.zeros_like(like.tables), np.full(n, number))
    if isinstance(value, np.ndarray) and value.shape == (n, 1):
        return like.over(np.zeros_like(like.tables), value[:, 0].astype(np.float64))
    return None
