"""The target column: its values, its missing values, and the task that it suggests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from splinear._lookup import shown
from splinear._types import AnyArray, Floats, Input
from splinear.cli.console import OptionError
from splinear.cli.data import no_column
from splinear.tables.arrow import ArrowTable
from splinear.tables.libsvm import LibsvmFile
from splinear.tables.table import Table
from splinear.tables.values import Kind, is_missing

__all__ = ["FEW_CLASSES", "TargetColumn", "read_numbers", "read_offset", "read_target"]

FEW_CLASSES = 10  # distinct integers up to which they are taken for classes


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """The target column.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_rows,)
        Any valid value where the target is missing.
    there : ndarray of shape (n_rows,)
        Whether each row has a target.
    """

    name: str
    values: AnyArray
    there: NDArray[np.bool_]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers; booleans are not."""
        return self.values.dtype.kind in "fiu"

    @property
    def counts(self) -> Counter[object]:
        """Rows per value, the most frequent first."""
        return Counter(dict(Counter(self.values[self.there].tolist()).most_common()))

    @property
    def task(self) -> str:
        """The likely task: classification for text, booleans or a few integers."""
        if not self.is_numeric:
            return "classification"
        distinct = np.unique(self.values[self.there])
        is_whole = bool(np.all(distinct == np.floor(distinct)))
        return "classification" if is_whole and len(distinct) <= FEW_CLASSES else "regression"

    def check(self, task: str, levels: Sequence[str] = ()) -> None:
        """Raise if the target is constant, or does not fit the task or its levels."""
        if not self.there.any():
            raise ValueError(f"the target {self.name!r} is missing in all rows")
        first = self.values[self.there][:1].tolist()[0]
        if np.all(self.values[self.there] == first):
            raise ValueError(
                f"the target {self.name!r} is {first!r} in all rows, so there is nothing to learn; "
                "name another column by --target"
            )
        if task == "regression" and self.values.dtype.kind not in "fiub":
            raise ValueError(
                f"the target {self.name!r} is text, for example {first!r}; regression needs numbers"
            )

        if task == "ordinal":
            self._check_levels(levels)

    def _check_levels(self, levels: Sequence[str]) -> None:
        found = [str(value) for value in np.unique(self.values[self.there])]
        if self.is_numeric or self.values.dtype.kind == "b":
            if levels:
                raise OptionError(
                    f"--order is for text, and the target {self.name!r} holds numbers, which have "
                    "an order; leave it out"
                )
            return
        if not levels:
            options = " ".join(f"--order {name}" for name in found[:4])
            raise OptionError(
                f"the levels of {self.name!r} are text, which has no order; name them all, the "
                f"lowest first: {options}{' ...' if len(found) > 4 else ''}"
            )
        if unknown := [name for name in found if name not in levels]:
            raise OptionError(
                f"the target {self.name!r} holds {unknown[0]!r}, which is not among the levels of "
                f"--order: {shown(map(repr, levels))}"
            )

    def weights(self, holdout: float, seed: int, *, by_class: bool) -> Floats:
        """Return weights (n_rows,): 1 for training rows, 0 for held-out ones or without target.

        If `by_class`, equal shares of all classes are held out, provided that each has two rows.
        """
        weights = self.there.astype(np.float64)
        if holdout > 0.0:
            rows = np.flatnonzero(self.there)
            labels = self.values[rows]
            has_pairs = by_class and np.unique(labels, return_counts=True)[1].min() > 1
            n_held_out = _held_out(len(rows), holdout, len(np.unique(labels)) if has_pairs else 1)
            _, held_out = train_test_split(
                rows,
                test_size=n_held_out,
                random_state=seed,
                stratify=labels if has_pairs else None,
            )
            weights[held_out] = 0.0
            left = np.unique(self.values[weights > 0.0])
            if by_class and len(left) < 2:
                raise ValueError(
                    f"--holdout {holdout:g} leaves rows of one class to train on, "
                    f"{left.tolist()[0]!r}; choose a smaller share, or another --seed"
                )
        return weights


def _held_out(n_rows: int, share: float, n_classes: int) -> int:
    """Return how many rows to hold out; raise if these or the others are too few."""
    n = math.ceil(share * n_rows)
    if n_rows < 2 * n_classes or n_rows - n < n_classes:
        raise ValueError(
            f"--holdout {share:g} of {n_rows:,} rows leaves too few to train on; choose a smaller "
            "share"
        )
    if n < n_classes:
        least = math.ceil(1e4 * n_classes / n_rows) / 1e4
        raise ValueError(
            f"--holdout {share:g} of {n_rows:,} rows is {n:,}, fewer than the {n_classes} classes; "
            f"choose at least {least:g}"
        )
    return n


def read_target(
    table: Table, name: str | None, classes: Collection[object] | None = None
) -> tuple[Table, TargetColumn]:
    """Return the table without the target, and the target; `classes` are those seen in fit."""
    if isinstance(table, LibsvmFile):
        if name is not None:
            raise ValueError(f"{table} begins every line with the target: leave out --target")
        labels = table.labels
        values = labels.astype(np.int64) if np.all(labels == np.floor(labels)) else labels
        return table, TargetColumn("label", values, np.ones(len(labels), dtype=bool))
    assert isinstance(table, ArrowTable)
    if name is None:
        raise OptionError(f"name the column to predict: --target, one of {_names(table)}")
    if name not in table.all_names:
        raise no_column(table, [name], " to predict", table.all_names)
    return table.without(name), _column(table.target_column(name, classes), name)


def read_numbers(table: Table, name: str | None, option: str) -> tuple[Table, Floats | None]:
    """Return the table without the column that an option names, and its numbers; None if none."""
    if name is None:
        return table, None
    if not isinstance(table, ArrowTable):
        raise ValueError(f"the columns of {table} have no names: leave out {option}")
    if name not in table.features:
        raise no_column(table, [name], f" for {option}", table.features)
    found = _column(table.target_column(name, None), name)
    if found.there.any() and not found.is_numeric:
        first = found.values[found.there][:1].tolist()[0]
        raise ValueError(f"the column {name!r} of {option} must hold numbers; it holds {first!r}")
    if not found.there.all():
        row = int(np.argmin(found.there)) + 1
        raise ValueError(f"the column {name!r} of {option} has no value in row {row:,}")
    values = found.values.astype(np.float64)
    wrong, least = ~((values >= 0) & (values < np.inf)), "numbers of at least 0"
    if option == "--offset":
        wrong, least = ~np.isfinite(values), "finite numbers"
    elif option == "--counts":
        wrong, least = wrong | (values != np.floor(values)), "whole numbers of at least 0"
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"the column {name!r} of {option} must hold {least}; row {row + 1:,} has "
            f"{values[row]:g}"
        )
    if not values.any() and option != "--offset":
        raise ValueError(f"the column {name!r} of {option} is 0 in all rows")
    return table.without(name), values


def read_offset(table: Table, names: Sequence[str]) -> tuple[Table, Floats | None]:
    """Return the table without the columns of --offset, and their numbers, (n,) or (n, n_names)."""
    columns = []
    for name in names:
        table, column = read_numbers(table, name, "--offset")
        columns.append(column)
    if len(columns) > 1:
        return table, np.column_stack(columns)  # type: ignore[arg-type]
    return table, columns[0] if columns else None


def _names(table: ArrowTable) -> str:
    return shown(map(repr, table.all_names))


def _column(table: Table, name: str) -> TargetColumn:
    """Return a column of classes or numbers."""
    [kind] = table.kinds
    if kind not in (Kind.NUMBER, Kind.CATEGORY):
        raise ValueError(f"the target {name!r} holds {kind.value}; it must be text or numbers")
    parts, masks = [], []
    for _, [values] in table.columns([0]):
        part, mask = _filled(values)  # type: ignore[arg-type]
        parts.append(part)
        masks.append(mask)
    there = np.concatenate(masks)
    values = np.concatenate(parts)
    if values.dtype.kind == "f" and any(part.dtype.kind in "iu" for part in parts):
        values = np.where(there, values, 0.0).astype(np.int64)  # a chunk with missing values only
    if there.any():
        values[~there] = values[there][0]
    return TargetColumn(name, values.astype(str) if values.dtype == object else values, there)


def _filled(values: nw.Series[Input]) -> tuple[AnyArray, NDArray[np.bool_]]:
    """Return values in the type of the column, and whether each is not missing."""
    gaps = values.is_null().to_numpy().astype(bool)
    known = values.drop_nulls()
    if gaps.any() and len(known):
        values = values.fill_null(known[0])
    if values.dtype in (nw.Categorical, nw.Enum):
        values = values.cast(nw.String)
    found = np.array(values.to_numpy())
    if found.dtype.kind == "f":
        gaps |= np.isnan(found)
    elif found.dtype == object:
        gaps |= np.array([is_missing(value) for value in found.tolist()], dtype=bool)
    return found, ~gaps
