"""Base class of tables that are read by Arrow in batches: columns with names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from splinear._caching import cached_property
from splinear._lookup import shown
from splinear._types import AnyArray, Input
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, float_type
from splinear.tables.lenient import date_column, number_column
from splinear.tables.table import ColumnNumbers, Table
from splinear.tables.values import Kind, Values

__all__ = ["Arrow", "ArrowTable", "import_arrow", "names_of"]

# pyarrow has no type hints, and is imported only when needed.
Arrow: TypeAlias = Any


class ArrowTable(Table):
    """Columns with names, in one or several parts.

    `schemas` holds the name of each part, for messages, and its schema. `chosen` lists the columns
    that are features, in order; None for all except the index of a data frame that was written to
    the file. Columns that are not read may hold anything.
    """

    is_on_disk = True

    def __init__(
        self, schemas: list[tuple[str, Arrow]], n_rows: int, chosen: Sequence[str] | None = None
    ) -> None:
        where, first = schemas[0]
        self.all_names = names_of(where, first)
        self._refuse_repeated(where)
        for other, schema in schemas[1:]:
            unlike = sorted(set(names_of(other, schema)) ^ set(self.all_names))
            if unlike:
                raise ValueError(
                    f"{other} and {where} do not have the same columns; these are in one of them "
                    f"only: {shown(unlike)}."
                )
        self.schemas, self.n_rows = schemas, n_rows
        index = (first.pandas_metadata or {}).get("index_columns", [])
        features = [name for name in self.all_names if name not in index]
        self.features = features if chosen is None else list(chosen)
        self.names = self.features
        self.blank: frozenset[str] = frozenset()  # features that are not read and count as 0
        self.read_as: dict[str, Callable[[Arrow], Arrow]] = {}  # columns read as numbers

    def _refuse_repeated(self, where: str) -> None:
        repeated = sorted(name for name, n in Counter(self.all_names).items() if n > 1)
        if repeated:
            which = (
                f"{name!r} (columns {', '.join(str(k + 1) for k in places)})"
                for name in repeated
                if (places := [k for k, other in enumerate(self.all_names) if other == name])
            )
            raise ValueError(
                f"{where} has several columns named {shown(which)}; columns are found by their "
                "names, which must differ: rename them in its first line, or remove the copies."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and features."""
        return self.n_rows, len(self.features)

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each feature holds; if parts differ, a kind that is not a number."""
        parts = self._types()
        kind_of = {found: _kind_of(found) for types in parts for found in set(types.values())}
        kinds = dict.fromkeys(self.features, Kind.NUMBER)
        for name in self.features:
            for types in parts:
                kind = kind_of[types[name]]
                if kind is not Kind.NUMBER and name not in self.blank:
                    kinds[name] = min({kind, kinds[name]} - {Kind.NUMBER}, key=_by_text)
        return list(kinds.values())

    def _types(self) -> list[dict[str, Arrow]]:
        """Return the types of all columns of each part, by their names."""
        return [dict(zip(schema.names, schema.types, strict=True)) for _, schema in self.schemas]

    @property
    def booleans(self) -> frozenset[int]:
        """The features that hold True and False, in all parts."""
        is_boolean, parts = import_module("pyarrow.types").is_boolean, self._types()
        booleans = {found for types in parts for found in set(types.values()) if is_boolean(found)}
        return frozenset(
            j
            for j, name in enumerate(self.features if booleans else ())
            if name not in self.blank and all(types[name] in booleans for types in parts)
        )

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        read = [name for name in self.features if name not in self.blank]
        types = {types[name] for types in self._types() for name in read}
        return float_type(*[_numpy_type(found) for found in types])

    def select_names(self, names: Sequence[str]) -> ArrowTable:
        """Return the table with these features only, in this order."""
        known = set(self.all_names)
        missing = [name for name in names if name not in known]
        if missing:
            raise ValueError(
                f"{self} has no column {shown(map(repr, missing))}; it has "
                f"{shown(map(repr, self.all_names))}."
            )
        other = copy(self)
        other.features = other.names = list(names)
        other.__dict__.pop("kinds", None)
        return other

    def matched(self, names: list[str] | None, n_columns: int, zero_based: bool | None) -> Table:
        """Return the table with the columns seen in fit, found by name."""
        del n_columns, zero_based
        return self if names is None else self.select_names(names)

    def blanked(self, columns: Collection[int]) -> Table:
        """Return the table with 0 in these features, whatever they hold."""
        other = copy(self)
        other.blank = frozenset(self.features[j] for j in columns)
        other.__dict__.pop("kinds", None)
        return other

    def without(self, name: str) -> Table:
        """Return the table without the column of the target."""
        return self.select_names([other for other in self.features if other != name])

    def reading(self, numbers: Collection[str] = (), dates: Collection[str] = ()) -> ArrowTable:
        """Return the table with these columns read as numbers; see `splinear.tables.lenient`."""
        other = copy(self)
        other._read_as_numbers(numbers, dates)
        return other

    def _read_as_numbers(self, numbers: Collection[str], dates: Collection[str]) -> None:
        self.select_names([*numbers, *dates])  # raises if one is missing
        self.read_as = dict.fromkeys(numbers, self._number_column)
        for name in dates:
            self.read_as[name] = partial(date_column, where=f"the column {name!r} of {self}")
        self._set_as_numbers()

    def _number_column(self, column: Arrow) -> Arrow:
        return number_column(column)

    def _set_as_numbers(self) -> None:
        """Let the schemas say that columns in `read_as` hold numbers."""
        double, schemas = import_module("pyarrow").float64(), []
        for where, schema in self.schemas:
            for name in self.read_as:
                at = schema.get_field_index(name)
                schema = schema.set(at, schema.field(at).with_type(double))
            schemas.append((where, schema))
        self.schemas = schemas
        self.__dict__.pop("kinds", None)

    def target_column(self, name: str, classes: Collection[object] | None) -> Table:
        """Return the table of the target alone.

        Where its type is a guess, it is that of `classes`, those seen in fit: text or numbers.
        """
        column = self.select_names([name])
        if classes is None:
            return column
        return column.expecting([0] if any(isinstance(label, str) for label in classes) else [])

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Arrow]:
        """Yield record batches of these columns, of at most n_rows rows."""
        raise NotImplementedError

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        wanted = [self.features[j] for j in columns] if columns is not None else self.features
        dtype = self.dtype
        for rows, batch in self._rows(wanted):
            out = np.zeros((rows.stop - rows.start, len(wanted)), dtype=dtype)
            for k, name in enumerate(wanted):
                if name not in self.blank:
                    out[:, k] = batch.column(name).to_numpy(zero_copy_only=False)
            del batch  # otherwise it would be kept until the next one is read
            yield rows, out

    def columns(self, wanted: ColumnNumbers) -> Iterator[tuple[slice, list[Values]]]:
        """Yield slices of rows and lists of their columns, unconverted, in order."""
        names = [self.features[j] for j in wanted]
        for rows, batch in self._rows(names):
            zeros = np.zeros(rows.stop - rows.start, dtype=np.float32)
            series = _series(batch)
            data = [zeros if name in self.blank else series[name] for name in names]
            del batch, series  # see `chunks`
            yield rows, data

    def _rows(self, names: list[str]) -> Iterator[tuple[slice, Arrow]]:
        start = 0
        read = [name for name in dict.fromkeys(names) if name not in self.blank]
        n_values = max(1, len(names))
        for batch in self._batches(read, max(1, sizes.COPIED_AT_ONCE // n_values)):
            self._check_rows(start + batch.num_rows, start + batch.num_rows <= self.n_rows)
            yield slice(start, start + batch.num_rows), self._converted(batch)
            start += batch.num_rows
        self._check_rows(start, start == self.n_rows)
        import_module("pyarrow").default_memory_pool().release_unused()

    def _converted(self, batch: Arrow) -> Arrow:
        """Return a batch with the columns in `read_as` as numbers."""
        for name in set(self.read_as).intersection(batch.schema.names):
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, name, self.read_as[name](batch.column(at)))
        return batch

    def _check_rows(self, found: int, right: bool) -> None:
        """Raise unless there are as many rows as announced, for which memory was allocated."""
        if not right:
            raise ValueError(
                f"{self} announces {self.n_rows:,} rows, and {found:,} were read; it is damaged, "
                "or has changed since it was opened."
            )

    def target(self, y: Input) -> Input:
        """Return the target: y itself, or the column that it names."""
        if not isinstance(y, str):
            return y
        self.select_names([y])  # raises if it is missing
        column = [self._converted(batch).column(y) for batch in self._batches([y], 2**20)]
        if any(part.null_count for part in column):
            raise ValueError(f"The column {y!r} of {self} has missing values; y must have none.")
        return np.concatenate([_target_values(part) for part in column])


def import_arrow(what: object, module: str = "pyarrow") -> Arrow:
    """Import pyarrow or one of its modules; raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"Reading {what} needs pyarrow: pip install pyarrow, or pip install 'splinear[data]'."
        ) from error


def names_of(where: str, schema: Arrow) -> list[str]:
    """Return the names of columns; raise if they are not UTF-8, naming the file `where`."""
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} has a column whose name is not UTF-8: {error}") from error


def _by_text(kind: Kind) -> str:
    return kind.value


def _kind_of(found: Arrow) -> Kind:
    types = import_module("pyarrow.types")
    if types.is_boolean(found) or types.is_integer(found) or types.is_floating(found):
        return Kind.NUMBER
    if types.is_null(found):  # nothing but missing values
        return Kind.NUMBER
    if types.is_string(found) or types.is_large_string(found) or types.is_dictionary(found):
        return Kind.CATEGORY
    if types.is_binary(found) or types.is_large_binary(found):
        return Kind.BYTES
    return Kind.DATE if types.is_temporal(found) else Kind.OTHER


def _numpy_type(found: Arrow) -> np.dtype[np.generic]:
    single = import_module("pyarrow.types").is_float32(found)
    return np.dtype(np.float32 if single else np.float64)


def _series(batch: Arrow) -> dict[str, Values]:
    """Return the columns of a batch as narwhals series, by their names."""
    table = import_module("pyarrow").Table.from_batches([batch])
    return {one.name: one for one in nw.from_native(table, eager_only=True).iter_columns()}


def _target_values(part: Arrow) -> AnyArray:
    """Return a part of the target as an array; integers and text stay as they are."""
    types = import_module("pyarrow.types")
    if types.is_dictionary(part.type):
        part = part.dictionary_decode()
    values: AnyArray = part.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values
