"""CSV files, read by Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from splinear._types import Input
from splinear.tables.arrow import Arrow, ArrowTable, import_arrow, names_of
from splinear.tables.files import checked_paths

__all__ = ["CsvFile"]

OTHER_DELIMITERS = ";\t|"
LONGEST_LINE = 2**20  # bytes of the first lines that are looked at
WIDER = {"int64": "float64", "null": "float64"}  # types by their names; of others, text


class CsvFile(ArrowTable):
    """The rows of a CSV file with names in its first line.

    Columns whose values all are whole numbers, numbers, or true and false are read as such, others
    as text. The types come from the first rows; where a later value is of another type, the
    column's type is widened and the file is read again from its start.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: Input) -> None:
        [self.path] = checked_paths(path)
        _refuse_other_delimiters(self.path)
        self.types: dict[str, Arrow] = {}
        schema, n_rows = self._settled()
        self.types = dict(zip(names_of(str(self.path), schema), schema.types, strict=True))
        super().__init__([(str(self.path), schema)], n_rows)

    def __str__(self) -> str:
        return str(self.path)

    def _settled(self) -> tuple[Arrow, int]:
        """Return the schema that all rows are of, and their number."""
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
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=csv.ConvertOptions(
                include_columns=columns or [], column_types=self.types, strings_can_be_null=True
            ),
        )

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Arrow]:
        """Yield record batches of these columns, of at most n_rows rows."""
        for batch in self._open(columns or None):
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


def _refuse_other_delimiters(path: Path) -> None:
    """Refuse a file whose first two lines have as many fields, delimited by no comma."""
    with path.open("rb") as file:
        first, second = (file.readline(LONGEST_LINE).decode(errors="replace") for _ in range(2))
    for delimiter in OTHER_DELIMITERS:
        if "," not in first and 0 < first.count(delimiter) == second.count(delimiter):
            raise ValueError(
                f"{path} seems to be delimited by {delimiter!r}; commas are expected. Its first "
                f"line is {first.strip()[:80]!r}."
            )
