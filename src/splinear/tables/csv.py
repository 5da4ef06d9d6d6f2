"""CSV files, read by Arrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from copy import copy
from importlib import import_module

from splinear._types import Input
from splinear.tables.arrow import Arrow, ArrowTable, import_arrow, names_of
from splinear.tables.codes import has_codes, may_have_codes
from splinear.tables.dialect import find_dialect
from splinear.tables.files import checked_paths
from splinear.tables.lenient import number_column
from splinear.tables.table import Table

__all__ = ["CsvFile"]

LOOKED_AT = 2**16  # bytes at the beginning of a file, from which its dialect is found
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how files of it begin
BEGIN = 1000  # bytes in which UTF-16 without such a beginning has a zero
HELD = 2**24  # bytes of rows that are kept in memory, rather than read again for every pass
MISSING = "?"  # a missing value, in addition to Arrow's own
WIDER = {"int64": "float64", "null": "float64"}  # by names of types; others become text


class CsvFile(ArrowTable):
    """The rows of a CSV file with names in its first line.

    Columns of integers, numbers or booleans are read as such, others as text. The types come from
    the first rows; if a later value has another type, the column's type is widened and the file is
    read again from its start. Numbers of which one begins with a zero and another digit, such as
    01234, are codes, and read as text. Empty fields, "NA", "NaN", "null", "?" and the like are
    missing values. A file whose name ends in .gz or .bz2 is decompressed while it is read.

    Parameters
    ----------
    path : path
    delimiter : str, default=None
        The character between fields; None to find it (a comma, semicolon, tab or bar) from the
        first lines.
    numbers, dates : sequence of str, default=()
        Columns that are read as numbers: text such as $1,234.50 or 12 %, where text that is no
        number is a missing value; and dates, as days since 1970-01-01.
    """

    def __init__(
        self,
        path: Input,
        delimiter: str | None = None,
        numbers: Collection[str] = (),
        dates: Collection[str] = (),
    ) -> None:
        [self.path] = checked_paths(path)
        self.dialect = find_dialect(self._head(), delimiter)
        self.types: dict[str, Arrow] = {}
        self.held: Arrow | None = None  # all rows, if they are few
        schema, n_rows = self._settled()
        super().__init__([(str(self.path), schema)], n_rows)
        self.codes = {name: self.types[name] for name in self._codes()}  # their types as numbers
        self._set_types(dict.fromkeys(self.codes, import_arrow(self.path).string()))
        self._read_as_numbers(numbers, dates)

    def __str__(self) -> str:
        return str(self.path)

    def _head(self) -> str:
        """Return the first lines of the file, without an incomplete last one."""
        arrow = import_arrow(self.path)
        try:
            with arrow.input_stream(self.path) as stream:
                head = stream.read(LOOKED_AT)
        except OSError as error:  # for example a .gz file that is not compressed
            raise ValueError(f"{self.path} cannot be read as CSV: {error}") from error
        if head.startswith(UTF_16) or b"\0" in head[:BEGIN]:
            raise ValueError(
                f"{self.path} is not UTF-8 text, but probably UTF-16 (which Excel calls Unicode "
                "text); save it as CSV UTF-8, or convert it: iconv -f UTF-16 -t UTF-8"
            )
        whole = head.rpartition(b"\n")[0] if len(head) == LOOKED_AT else head
        return str((whole or head).decode("utf-8-sig", errors="replace"))

    def _settled(self) -> tuple[Arrow, int]:
        """Return the schema that fits all rows, and their number."""
        arrow = import_arrow(self.path)
        while True:
            reader = None
            try:
                reader = self._open(None)
                first = reader.schema  # of the first rows
                self.types = dict(zip(names_of(str(self.path), first), first.types, strict=True))
                if not self._is_small():
                    reader = self._open(None)  # fixed types are read faster
                return reader.schema, self._hold(reader)
            except arrow.ArrowInvalid as error:
                wrong = re.search(r"In CSV column #(\d+)", str(error))
                if wrong is None or reader is None:
                    raise ValueError(f"{self.path} cannot be read as CSV: {error}") from error
                self._widen(reader.schema.field(int(wrong[1])), error)

    def _hold(self, reader: Arrow) -> int:
        """Read all rows, keep them in memory if they are few, and return their number."""
        n_rows, n_bytes, batches = 0, 0, []
        for batch in reader:
            n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
            if n_bytes <= HELD:
                batches.append(batch)
            else:
                batches.clear()
        self.is_on_disk = n_bytes > HELD
        self.converts = not self.is_on_disk
        self.held = None
        if n_rows and not self.is_on_disk:
            whole = import_arrow(self.path).Table.from_batches(batches).combine_chunks()
            [self.held] = whole.to_batches()
        return n_rows

    def _widen(self, field: Arrow, error: Exception) -> None:
        wider = WIDER.get(str(field.type), "string")
        if wider == str(field.type):
            raise ValueError(
                f"{self.path} cannot be read as CSV, column {field.name!r}: {error}"
            ) from error
        self.types[field.name] = getattr(import_arrow(self.path), wider)()

    def _codes(self) -> list[str]:
        """Return the columns of numbers that hold codes."""
        arrow = import_arrow(self.path)
        kinds = {kind for kind in set(self.types.values()) if _is_number(kind)}
        numbers = [name for name in self.all_names if self.types[name] in kinds]
        with arrow.input_stream(self.path) as stream:
            if not numbers or not may_have_codes(stream, self.dialect.delimiter):
                return []
        as_text = copy(self)
        as_text.types = self.types | dict.fromkeys(numbers, arrow.string())
        found: set[str] = set()
        for batch in as_text._open(numbers):
            found.update(name for name in set(numbers) - found if has_codes(batch.column(name)))
        return sorted(found)

    def _set_types(self, types: dict[str, Arrow]) -> None:
        """Replace the types of some columns."""
        arrow, ((where, schema),) = import_arrow(self.path), self.schemas
        are_others = any(kind != self.types[name] for name, kind in types.items())
        self.types = self.types | types
        if self.held is not None and are_others:
            self._hold(self._open(None))
        fields = [arrow.field(name, self.types[name]) for name in self.all_names]
        self.schemas = [(where, arrow.schema(fields, schema.metadata))]
        self._set_as_numbers()

    def expecting(self, text: Collection[int]) -> Table:
        """Return the table with these features read as text, and codes among others as numbers."""
        names = {self.features[j] for j in text}
        types = dict.fromkeys(names, import_arrow(self.path).string())
        others = set(self.features) - names
        types |= {name: kind for name, kind in self.codes.items() if name in others}
        other = copy(self)
        other._set_types(types)
        return other

    def _number_column(self, column: Arrow) -> Arrow:
        return number_column(column, self.dialect.decimal_point)

    def _is_small(self) -> bool:
        return self.path.stat().st_size <= HELD

    def _open(self, columns: list[str] | None) -> Arrow:
        csv = import_module("pyarrow.csv")
        n_bytes = HELD if self._is_small() else None  # in a block, which takes time per column
        missing = [*csv.ConvertOptions().null_values, MISSING]
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(use_threads=False, block_size=n_bytes),
            parse_options=csv.ParseOptions(delimiter=self.dialect.delimiter),
            convert_options=csv.ConvertOptions(
                include_columns=columns or [],
                column_types=self.types,
                strings_can_be_null=True,
                null_values=missing,
                decimal_point=self.dialect.decimal_point,
            ),
        )

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Arrow]:
        """Yield record batches of these columns, of at most n_rows rows."""
        if self.held is None:
            batches = self._open(columns or None)
        else:
            batches = [self.held.select(columns) if columns else self.held]
        for batch in batches:
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


def _is_number(found: Arrow) -> bool:
    types = import_module("pyarrow.types")
    return bool(types.is_integer(found) or types.is_floating(found))
