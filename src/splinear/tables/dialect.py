"""How a CSV file is written: what delimits its fields, and the decimal point."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

__all__ = ["Dialect", "find_dialect"]

DELIMITERS = ",;\t|"  # the first of several that would do is taken
ALIKE = 0.9  # the share of lines that must have as many fields as the first
WITH_COMMA, WITH_POINT = re.compile(r"[-+]?\d+,\d+"), re.compile(r"[-+]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """What delimits the fields of a file, and the decimal point of its numbers."""

    delimiter: str = ","
    decimal_point: str = "."


def find_dialect(head: str, delimiter: str | None = None) -> Dialect:
    """Find the dialect from a file's first lines; the delimiter may be known.

    Fields are delimited by what divides the first line, and most others, into the largest number
    of fields, at least two; else by commas. Numbers have decimal commas if some do, and none has a
    point; not where commas delimit.
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
    """Return into how many fields lines are divided; 1 if that differs from line to line."""
    counts = [len(row) for row in _rows(head, delimiter)]
    if not counts or sum(count == counts[0] for count in counts) < ALIKE * len(counts):
        return 1
    return counts[0]


def _rows(head: str, delimiter: str) -> list[list[str]]:
    """Divide lines into fields; empty lines are left out."""
    reader = csv.reader(head.splitlines(keepends=True), delimiter=delimiter)
    try:
        return [row for row in reader if row]
    except csv.Error:  # a field of more than 100 kB
        return []
