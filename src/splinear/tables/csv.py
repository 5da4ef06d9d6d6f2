"""CSV files, read by Arrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib import import_module

from splinear._types import Input
from splinear.tables.arrow import Arrow, ArrowTable, import_arrow, names_of
from splinear.tables.dialect import find_dialect
from splinear.tables.files import checked_paths

__all__ = ["CsvFile"]

LOOKED_AT = 2**16  # bytes at the beginning of a file, from which its dialect is found
MISSING = "?"  # a missing value, in addition to Arrow's own
WIDER = {"int64": "float64", "null": "float64"}  # by names of types; others become text


class CsvFile(ArrowTable):
    """The rows of a CSV file with names in its first line.

    Columns of integers, numbers or booleans are read as such, others as text. The types come from
    the first rows; if a later value has another type, the column's type is widened and the file is
    read again from its start. Empty fields, "NA", "NaN", "null", "?" and the like are missing
    values. A file whose name ends in .gz or .bz2 is decompressed while it is read.

    Parameters
    ----------
    path : path
    delimiter : str, default=None
        The character between fields; None to find it (a comma, semicolon, tab or bar) from the
        first lines.
    text : collection of str, default=()
        Columns that are read as text, whatever they hold; names that do not exist are ignored.
    """

    def __init__(
        self, path: Input, delimiter: str | None = None, text: Collection[str] = ()
    ) -> None:
        [self.path] = checked_paths(path)
        self.dialect = find_dialect(self._head(), delimiter)
        self.types: dict[str, Arrow] = {}
        if text:
            self.types = dict.fromkeys(text, import_arrow(self.path).string())
        schema, n_rows = self._settled()
        self.types = dict(zip(names_of(str(self.path), schema), schema.types, strict=True))
        super().__init__([(str(self.path), schema)], n_rows)

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
        whole = head.rpartition(b"\n")[0] if len(head) == LOOKED_AT else head
        return str((whole or head).decode("utf-8-sig", errors="replace"))

    def _settled(self) -> tuple[Arrow, int]:
        """Return the schema that fits all rows, and their number."""
        arrow = import_arrow(self.path)
        while True:
            reader = None
            try:
                reader = self._open(None)
                n_rows = sum(batch.num_rows for batch in reader)
                return reader.schema, n_rows
            except arrow.ArrowInvalid as error:
                wrong = re.search(r"In CSV column #(\d+)", str(error))
                if wrong is None or reader is None:
                    raise ValueError(f"{self.path} cannot be read as CSV: {error}") from error
                self._widen(reader.schema.field(int(wrong[1])), error)

    def _widen(self, field: Arrow, error: Exception) -> None:
        wider = WIDER.get(str(field.type), "string")
        if wider == str(field.type):
            raise ValueError(
                f"{self.path} cannot be read as CSV, column {field.name!r}: {error}"
            ) from error
        self.types[field.name] = getattr(import_arrow(self.path), wider)()

    def _open(self, columns: list[str] | None) -> Arrow:
        csv = import_module("pyarrow.csv")
        missing = [*csv.ConvertOptions().null_values, MISSING]
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(use_threads=False),
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
        for batch in self._open(columns or None):
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)
