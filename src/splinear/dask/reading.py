"""Reading of partitions on workers: their numbers, and a survey of ranges and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from splinear._types import AnyArray, Floats, Input
from splinear.losses.survey import Survey as SurveyOfY
from splinear.tables.checks import check_offset, check_weights
from splinear.tables.chunks import ranges
from splinear.tables.columns import Columns, NumberTable, Seen
from splinear.tables.opening import open_table
from splinear.tables.table import Table
from splinear.tables.target import check_target, target_numbers

__all__ = ["Rows", "Survey", "TableReader", "distinct_classes", "survey"]


@dataclass(frozen=True, eq=False)
class TableReader:
    """Converts partitions of X to tables of numbers; `names` are those of the columns."""

    columns: Columns
    names: list[str] | None
    is_sparse: bool = False

    def table(self, X: Input) -> Table:
        """Return a partition as a table of numbers; raise if its columns differ."""
        table = open_table(X)
        if table.is_sparse != self.is_sparse:
            what = ("a sparse matrix", "an array") if table.is_sparse else ("an array", "sparse")
            raise TypeError(
                f"A partition of X is {what[0]}, but Dask takes it for {what[1]}. Tell it what "
                "partitions are, as in X.map_blocks(..., meta=scipy.sparse.csr_array((0, 0)))."
            )
        if table.shape[1] != self.columns.n_features or (
            self.names is not None and table.names != self.names
        ):
            raise ValueError(
                f"A partition of X has {table.shape[1]} columns, {table.names}; the others have "
                f"{self.columns.n_features}, {self.names}."
            )
        table = table.blanked(self.columns.dropped)
        plain = self.columns.is_plain
        return table if plain else NumberTable(table, self.columns, partial(_label, self.names))


def _size(values: AnyArray) -> str:
    """Return the length of a one-dimensional array, or else its shape, as text."""
    return str(len(values) if values.ndim == 1 else values.shape)


def _label(names: list[str] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


@dataclass(frozen=True, eq=False)
class Rows:
    """The checked X, y, weights and offsets of a partition."""

    X: Input
    y: AnyArray
    weights: Floats | None
    kept: AnyArray | None  # whether each row has a positive weight; None if all have one
    offset: Floats | None = None

    @classmethod
    def of(cls, X: Input, y: Input, weights: Input, offset: Input, *, numeric: bool) -> Rows:
        """Check lengths, targets, weights and offsets."""
        n = X.shape[0]
        target = np.asarray(y)
        if n:
            target = np.asarray(check_target(target, numeric=numeric))
        if target.shape != (n,):
            raise ValueError(f"X has {n} rows in a partition, but y has {_size(target)} there.")
        if offset is not None:
            offset = np.asarray(offset)
            offset = check_offset(offset, n, offset.shape[1] if offset.ndim == 2 else 1)
        if weights is None:
            return cls(X, target, None, None, offset)
        own = np.asarray(weights, dtype=np.float64)
        if own.shape != (n,):
            raise ValueError(f"X has {n} rows in a partition, but {_size(own)} weights there.")
        if n and own.any():
            check_weights(own, n)
        kept = own > 0
        return cls(X, target, own, None if kept.all() else kept, offset)

    @property
    def counted(self) -> AnyArray:
        """The targets of the rows with a positive weight."""
        return self.y if self.kept is None else self.y[self.kept]


@dataclass(eq=False)
class Survey:
    """Ranges, levels and targets of some partitions; surveys are added up in order."""

    n_rows: list[int]  # rows with a positive weight, per partition
    weight: float
    lo: Floats
    hi: Floats
    has_gap: NDArray[np.bool_]
    seen: dict[int, Seen]
    labels: list[AnyArray] = field(default_factory=list)  # the classes, per partition
    classes: dict[object, int] = field(default_factory=dict)  # number of rows per class
    of_y: SurveyOfY = field(default_factory=SurveyOfY)  # of numbers
    of_unexplained: SurveyOfY = field(default_factory=SurveyOfY)  # of numbers less their offset
    offsets: Floats | None = None  # the sums of weights times offsets, (n_outputs,)

    def add(self, other: Survey) -> None:
        """Add the survey of the next partitions."""
        self.n_rows += other.n_rows
        self.weight += other.weight
        self.lo, self.hi = np.fmin(self.lo, other.lo), np.fmax(self.hi, other.hi)
        self.has_gap |= other.has_gap
        for j, own in other.seen.items():
            mine = self.seen[j]
            for level, n in own.values.items():
                mine.values[level] = mine.values.get(level, 0) + n
            mine.ordered = own.ordered if mine.ordered is None else mine.ordered
        self.labels += other.labels
        for value, n in other.classes.items():
            self.classes[value] = self.classes.get(value, 0) + n
        self.of_y += other.of_y
        self.of_unexplained += other.of_unexplained
        if other.offsets is not None:
            self.offsets = other.offsets + (0.0 if self.offsets is None else self.offsets)


def survey(
    X: Input,
    y: Input,
    weights: Input,
    offset: Input,
    reader: TableReader,
    categorical: Sequence[int],
    numeric: bool,
) -> Survey:
    """Return the survey of one partition: ranges, gaps, levels and targets."""
    rows = Rows.of(X, y, weights, offset, numeric=numeric)
    n = reader.columns.n_features
    counted = rows.counted
    w = np.ones(len(counted)) if rows.weights is None else rows.weights[rows.weights > 0]
    found = Survey(
        [len(counted)],
        float(w.sum()),
        np.full(n, np.inf),
        np.full(n, -np.inf),
        np.zeros(n, dtype=bool),
        {j: Seen(_label(reader.names, j)) for j in categorical},
    )
    if not len(counted):
        return found
    offset = rows.offset
    if offset is not None:
        offset = offset if rows.kept is None else offset[rows.kept]
        found.offsets = np.atleast_1d(w @ offset)
    if numeric:
        numbers = target_numbers(counted, None)
        found.of_y = found.of_unexplained = SurveyOfY.of(numbers, w)
        if offset is not None and offset.ndim == 1:
            found.of_unexplained = SurveyOfY.of(numbers - offset, w)
    else:
        distinct, place = distinct_classes(counted)
        found.labels = [distinct]
        found.classes = dict(zip(distinct.tolist(), np.bincount(place).tolist(), strict=True))
    _look_at_columns(found, reader.table(X), rows.kept, categorical, reader)
    return found


def distinct_classes(y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the sorted classes, and the index of each row's; raise if they cannot be sorted."""
    if y.dtype == object:
        check_classification_targets(y)
    classes, place = np.unique(y, return_inverse=True)
    return classes, place


def _look_at_columns(
    found: Survey,
    table: Table,
    kept: AnyArray | None,
    categorical: Sequence[int],
    reader: TableReader,
) -> None:
    raw = table.table if isinstance(table, NumberTable) else table
    for rows, columns in raw.columns(categorical) if categorical else ():
        here = slice(None) if kept is None else kept[rows]
        for j, values in zip(categorical, columns, strict=True):
            before = sum(found.seen[j].values.values())
            found.seen[j].add(values, here)
            n = len(values) if kept is None else int(np.count_nonzero(kept[rows]))
            found.has_gap[j] |= sum(found.seen[j].values.values()) - before < n
    others = set(categorical) | reader.columns.dropped
    numbers = np.array([j for j in range(table.shape[1]) if j not in others], dtype=np.intp)
    with np.errstate(invalid="ignore"):
        for rows, piece in table.chunks(numbers) if len(numbers) else ():
            counted = piece if kept is None else piece[kept[rows]]
            if counted.shape[0]:
                lo, hi, gap = ranges(counted)
                found.lo[numbers] = np.fmin(found.lo[numbers], lo)
                found.hi[numbers] = np.fmax(found.hi[numbers], hi)
                found.has_gap[numbers] |= gap
