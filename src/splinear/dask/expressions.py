"""Values of all rows, which no machine has: what workers compute from the rows that they hold.

Newton's method treats scores and derivatives of rows as arrays. Here such an array is a recipe, a
small tree of what to do; NumPy's functions of it make larger ones. Workers follow it for their own
rows in a pass (`splinear.dask.cluster`), which returns sums over all rows.

Scores are linear in the tables of a model. So sums and multiples of scores are scores again, of
other tables, and no recipe grows with the number of steps.
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
    """One thing to do, for the rows of one part."""

    def on(self, part: Part, done: Done) -> object:
        """Return its value; what other nodes were worth is in `done`, by their identities."""
        if id(self) not in done:
            done[id(self)] = self.of(part, done)
        return done[id(self)]

    def of(self, part: Part, done: Done) -> object:
        """Compute its value."""
        raise NotImplementedError

    @property
    def key(self) -> Hashable:
        """What says that another one has the same value: by default, it is the same."""
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
    """F (n_outputs, n_rows): by `tables` (n_outputs, n_entries), and intercepts (n_outputs,).

    `rows` says of what: of the part as it is, or of its rows in full precision.
    """

    tables: Floats
    intercepts: Floats
    rows: Node = PART

    def of(self, part: Part, done: Done) -> object:
        """Score the rows, unless that was done in the last passes."""
        own = cast("Part", self.rows.on(part, done))
        return own.scores(self.tables, self.intercepts)

    @property
    def key(self) -> Hashable:
        """The same for the same scores."""
        text = self.tables.tobytes() + self.intercepts.tobytes()
        return self.rows, blake2b(text, digest_size=16).digest()

    def over(self, tables: Floats, intercepts: Floats) -> Scores:
        """Return the scores of the same rows by other tables."""
        return Scores(tables, intercepts, self.rows)


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A function of values."""

    function: Callable[..., object]
    args: tuple[object, ...]
    kwargs: dict[str, object] = field(default_factory=dict)

    def of(self, part: Part, done: Done) -> object:
        """Call it."""
        return self.function(*_values(self.args, part, done), **self.kwargs)


@dataclass(frozen=True, eq=False)
class Member(Node):
    """An attribute of a value."""

    owner: Node
    name: str

    def of(self, part: Part, done: Done) -> object:
        """Look it up."""
        return getattr(self.owner.on(part, done), self.name)

    @property
    def key(self) -> Hashable:
        """The same for the same value; that of parts may change."""
        key = self.owner.key
        return self if key is self.owner else (key, self.name)


EXACT = Member(PART, "exact")  # the same rows in full precision


def blocks_of(rows: Node) -> str:
    """Return by what name the blocks of such rows are noted."""
    return "blocks" if rows is PART else "exact blocks"


@dataclass(frozen=True, eq=False)
class Call(Node):
    """A method of a value."""

    owner: Node
    name: str
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = field(default_factory=dict)

    def of(self, part: Part, done: Done) -> object:
        """Call it."""
        method = getattr(self.owner.on(part, done), self.name)
        return method(*_values(self.args, part, done), **self.kwargs)


@dataclass(frozen=True, eq=False)
class Slopes(Node):
    """The derivatives by the scores F of sum number k."""

    k: int
    F: Node

    def of(self, part: Part, done: Done) -> object:
        """Compute them."""
        return part.sums[self.k].gradient(cast(Floats, self.F.on(part, done)))

    @property
    def key(self) -> Hashable:
        """The same for the same scores."""
        return self.k, self.F.key


@dataclass(frozen=True, eq=False)
class Bends(Node):
    """The second derivatives by the scores F of sum number k."""

    k: int
    F: Node
    cautious: bool = False

    def of(self, part: Part, done: Done) -> object:
        """Compute them."""
        F = cast(Floats, self.F.on(part, done))
        return part.sums[self.k].curvature(F, cautious=self.cautious)

    @property
    def key(self) -> Hashable:
        """The same for the same scores."""
        return "bends", self.k, self.cautious, self.F.key


def _values(args: tuple[object, ...], part: Part, done: Done) -> list[object]:
    return [_value(arg, part, done) for arg in args]


def _value(arg: object, part: Part, done: Done) -> object:
    if isinstance(arg, Node):
        return arg.on(part, done)
    if isinstance(arg, list):
        return [_value(one, part, done) for one in arg]
    return arg


class RowValues(NDArrayOperatorsMixin):
    """A number per row, or one per output and row, as an array that is computed elsewhere."""

    def __init__(self, cluster: Cluster, node: Node) -> None:
        self.cluster, self.node = cluster, node

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        kwargs.pop("out", None)  # in-place operators: a name for another array, as these are
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

    def __getitem__(self, key: object) -> RowValues:
        return RowValues(self.cluster, Apply(operator.getitem, (self.node, key)))

    def __iter__(self) -> NoReturn:
        raise TypeError("The rows are on workers: this array cannot be iterated over.")

    def sum(self, axis: int | None = None) -> RowValues | Floats:
        """Return sums over outputs (axis 0), per row, or over the rows of all parts."""
        summed = Apply(np.sum, (self.node,), {"axis": axis})
        if axis == 0:
            return RowValues(self.cluster, summed)
        return self.cluster.row_sums(self.node, summed, "in_all" if axis == 1 else f"by {axis}")

    def max(self, initial: float) -> float:
        """Return the largest number, or `initial`."""
        return self.cluster.largest(Apply(np.max, (self.node,), {"initial": initial}))


def row_values(cluster: Cluster, node: Node) -> Floats:
    """Return values of all rows as the array that the solvers take them for."""
    return cast(Floats, RowValues(cluster, node))


def in_all(node: Node) -> Node:
    """Return the sums over rows of what a node is worth, one per output."""
    return Apply(np.sum, (node,), {"axis": 1})


def bare(value: object) -> Input:
    """Return what is sent to a worker for an array, or for a list of arrays."""
    if isinstance(value, RowValues):
        return value.node
    return [bare(one) for one in value] if isinstance(value, list) else value


def _linear(ufunc: np.ufunc, args: list[object]) -> Scores | None:
    """Return scores as scores: of sums, of multiples, and with other intercepts."""
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
    """Multiply by a number, or by one per output (n_outputs, 1)."""
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
    """Return scores, or a number per output as scores of tables of 0."""
    if isinstance(value, Scores) or not isinstance(like, Scores):
        return value if isinstance(value, Scores) else None
    n = len(like.intercepts)
    if (number := _number(value)) is not None:
        return like.over(np.zeros_like(like.tables), np.full(n, number))
    if isinstance(value, np.ndarray) and value.shape == (n, 1):
        return like.over(np.zeros_like(like.tables), value[:, 0].astype(np.float64))
    return None
