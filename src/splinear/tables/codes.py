"""Codes in CSV files: values such as 01234, which look like numbers and are text."""

from __future__ import annotations

from importlib import import_module
from io import BufferedIOBase
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from splinear.tables.arrow import Arrow

__all__ = ["has_codes", "may_have_codes"]

BLOCK = 2**18  # bytes that are searched at once
CODE = "^[ \t]*0[0-9]"  # numbers may follow blanks
ZERO, BLANK, QUOTE = b'0 "'  # tabs and line ends are lower than a blank

Bytes: TypeAlias = NDArray[np.uint8]


def may_have_codes(stream: Arrow | BufferedIOBase, delimiter: str) -> bool:
    """Return whether a field of a CSV file may begin with a zero and another digit.

    False is certain. Some text, for example times such as 08:30, is taken for a code.
    """
    held = bytearray(BLOCK + 3)  # three bytes of the block before, and a block
    text = np.frombuffer(held, dtype=np.uint8)
    while n := stream.readinto(memoryview(held)[3:]):
        if _may_begin_codes(text[: n + 3], ord(delimiter)):
            return True
        held[:3] = held[n : n + 3]
    return False


def _may_begin_codes(text: Bytes, delimiter: int) -> bool:
    """Return whether a zero and a digit in text[2:] are at, or may be at, the start of a field."""
    before, first, second = text[1:-2], text[2:-1], text[3:]
    found = first == ZERO
    found &= _may_separate(before, delimiter)
    found &= second - np.uint8(ZERO) <= 9  # bytes below b"0" wrap around
    at = np.flatnonzero(found)
    inside = (before[at] == BLANK) & ~_may_separate(text[at], delimiter)  # as in 2026-05-01 08:30
    return bool((~inside).any())


def _may_separate(text: Bytes, delimiter: int) -> NDArray[np.bool_]:
    """Return whether bytes are delimiters, or line ends, blanks or quotes."""
    found: NDArray[np.bool_] = (text <= QUOTE) | (text == delimiter)
    return found


def has_codes(column: Arrow) -> bool:
    """Return whether some text of an Arrow array begins with a zero and another digit."""
    compute = import_module("pyarrow.compute")
    return bool(compute.any(compute.match_substring_regex(column, CODE)).as_py())
