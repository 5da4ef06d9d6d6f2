"""The dialect of a CSV file: its delimiter and decimal point, found from its first lines."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

__all__ = ["Dialect", "find_dialect"]

DELIMITERS = ",;\t|"  # ties go to the first
ALIKE = 0.9  # share of lines that must have as many fields as the first
WITH_COMMA, WITH_POINT = re.compile(r"[-+]?\d+,\d+"), re.compile(r"[-+]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """The delimiter and decimal point of a file."""

    delimiter: str = ","
    decimal_point: str = "."


def find_dialect(head: str, delimiter: str | None = None) -> Dialect:
    """Return the dialect of a file, given its first lines and maybe its delimiter.

    The delimiter is the one that splits the first line, and most others, into the largest number of
    fields, at least two; otherwise it is a comma. The decimal point is a comma if some numbers have
    one, none has a point, and the delimiter is not a comma.
    """
    if delimiter is None:
        found = {mark: _n_fields(head, mark) for mark in DELIMITERS}
        best = max(found, key=lambda mark: found[mark])
        delimiter = best if found[best] > 1 else ","
    fields = [] if delimiter == "," else [f for row in _rows(head, delimiter)[1:] for f in row]
    has_commas = any(WITH_COMMA.fullmatch(field.strip()) for field in fields)
    has_points = any(WITH_POINT.fullmatch(field.strip()) for field in fields)
    return Dialect(delimiter, "," if has_commas and not has_points else ".")


def _n_fields(head: str, delimiter: str) -> int:
    """Return the number of fields per line; 1 if it differs from line to line."""
    counts = [len(row) for row in _rows(head, delimiter)]
    if not counts or sum(count == counts[0] for count in counts) < ALIKE * len(counts):
        return 1
    return counts[0]


def _rows(head: str, delimiter: str) -> list[list[str]]:
    """Return the fields of all lines that are not empty."""
    reader = csv.reader(head.splitlines(keepends=True), delimiter=delimiter)
    try:
        return [row for row in reader if row]
    except csv.Error:  # a field of more than 100 kB
        return []
