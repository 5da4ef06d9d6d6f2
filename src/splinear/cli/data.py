"""Opens files of rows, matches them to a model, and reads them in blocks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import narwhals as nw
import numpy as np

from splinear._lookup import closest, shown
from splinear._types import AnyArray, Input
from splinear.cli.console import OptionError
from splinear.estimators.base import AdditiveEstimator
from splinear.tables.arrow import ArrowTable, import_arrow
from splinear.tables.csv import CsvFile
from splinear.tables.files import ending
from splinear.tables.opening import FORMATS, open_files
from splinear.tables.table import Table
from splinear.tables.values import Kind

__all__ = ["Reading", "blocks", "load_model", "no_column", "open_data", "open_for", "some_rows"]

MOST_HINTS = 10  # options that a message lists
READABLE = [name for name in FORMATS if name != ".npy"]  # .npy files have no target


@dataclass(frozen=True)
class Reading:
    """How a file is read: its delimiter, and columns that are read as numbers."""

    delimiter: str | None = None
    numbers: Sequence[str] = ()
    dates: Sequence[str] = ()


def open_data(path: Path, reading: Reading) -> Table:
    """Open a file of rows or a folder of Parquet files."""
    delimiter = reading.delimiter
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise OptionError(
            f"--delimiter must be one character; got {delimiter!r}; a tab is $'\\t' in a shell"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.is_dir() and ending(path) not in READABLE:
        raise ValueError(
            f"{path} has no known format; expected a name that ends in one of "
            f"{', '.join(READABLE)}, or a folder of Parquet files"
        )
    if FORMATS.get(ending(path)) is CsvFile:
        table: Table | None = CsvFile(path, delimiter)
    elif delimiter is not None:
        raise OptionError(f"--delimiter is for CSV files, and {path} is not one")
    else:
        table = open_files(path)
    assert table is not None
    if 0 in table.shape:
        raise ValueError(f"there are no {'rows' if table.shape[0] == 0 else 'columns'} in {path}")
    return _read_as_numbers(table, reading)


def _read_as_numbers(table: Table, reading: Reading) -> Table:
    given = [*reading.numbers, *reading.dates]
    if not given:
        return table
    if not isinstance(table, ArrowTable):
        raise ValueError(f"the columns of {table} have no names: leave out --number and --dates")
    if missing := [name for name in given if name not in table.all_names]:
        raise no_column(table, missing, " to read as numbers", table.all_names)
    if both := set(reading.numbers).intersection(reading.dates):
        raise OptionError(f"--number and --dates name the same column, {min(both)!r}")
    return table.reading(reading.numbers, reading.dates)


def open_for(model: AdditiveEstimator, path: Path, reading: Reading) -> Table:
    """Open a file for a model: its features are found by name, other columns are left out.

    Categories that were text in training are read as text, even if they look like numbers, and
    numbers as numbers, even if they look like codes.
    """
    names = getattr(model, "feature_names_in_", None)
    table = open_data(path, reading)
    if names is None or not isinstance(table, ArrowTable):
        return _by_position(model, table)
    known = set(table.all_names)
    missing = [name for name in names if name not in known]
    if missing:
        raise no_column(table, missing, ", which the model needs", table.all_names)
    table = table.select_names(list(names)).expecting(model._columns.of_text)
    _refuse_unread(model, table)
    return table


def _refuse_unread(model: AdditiveEstimator, table: Table) -> None:
    """Raise if a feature that was a number in fit is text or a date, naming the options to add."""
    numbers = set(range(model.n_features_in_))
    numbers -= {*model._columns.categorical, *model._columns.dropped}
    found: dict[Kind, list[str]] = {Kind.CATEGORY: [], Kind.DATE: []}
    for j, (name, kind) in enumerate(zip(table.names or (), table.kinds, strict=True)):
        if j in numbers and kind in found:
            found[kind].append(name)
    texts, dates = found[Kind.CATEGORY], found[Kind.DATE]
    if texts or dates:
        parts = ["text in " + shown(map(repr, texts))] if texts else []
        parts += ["dates in " + shown(map(repr, dates))] if dates else []
        options = [f"--number {shlex.quote(name)}" for name in texts]
        options += [f"--dates {shlex.quote(name)}" for name in dates]
        more = " ..." if len(options) > MOST_HINTS else ""
        raise ValueError(
            f"{table} has {' and '.join(parts)}, and the model was trained on numbers there; if "
            f"fit read them so, add its options: {' '.join(options[:MOST_HINTS])}{more}"
        )


def no_column(table: Table, missing: Sequence[str], what_for: str, known: list[str]) -> ValueError:
    """Return the error that says which columns are not there, and which are."""
    text = f"{table} has no column {shown(map(repr, missing))}{what_for}; "
    text += f"it has {shown(map(repr, known))}"
    meant = closest(missing[0], known) if len(missing) == 1 else None
    if meant is not None:
        text += f"; did you mean {meant!r}?"
    elif len(known) == 1 and isinstance(table, CsvFile):
        text += " alone; if that is several columns, set --delimiter"
    return ValueError(text)


def _by_position(model: AdditiveEstimator, table: Table) -> Table:
    """Match columns by position, if the model or the file has no names."""
    if not table.is_sparse:
        raise ValueError(
            f"the model was fitted without column names, so those of {table} cannot be matched"
        )
    table = table.matched(None, model.n_features_in_, model._columns.zero_based)
    if table.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{table} has {table.shape[1]:,} columns, and the model has {model.n_features_in_:,}"
        )
    return table


def blocks(table: Table) -> Iterator[tuple[slice, Input]]:
    """Yield slices of rows and the rows for estimators, as data frames or sparse matrices."""
    if not isinstance(table, ArrowTable):
        yield from table.chunks()
        return
    arrow = import_arrow(table)
    for rows, columns in table.columns(range(table.shape[1])):
        data = [
            column.to_native() if isinstance(column, nw.Series) else column for column in columns
        ]
        yield rows, arrow.table(data, names=table.names)


def some_rows(block: Input, kept: AnyArray) -> Input:
    """Return the rows of a block that the mask `kept` selects."""
    return block[kept] if not hasattr(block, "filter") else block.filter(np.asarray(kept))


def load_model(path: Path) -> AdditiveEstimator:
    """Return a model that ``splinear fit`` or `splinear.save` has written."""
    import splinear

    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; splinear fit writes model files")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a model file was expected")
    model = splinear.load(path)
    if not isinstance(model, AdditiveEstimator):
        raise ValueError(f"{path} holds {type(model).__name__}, which cannot predict")
    return model
