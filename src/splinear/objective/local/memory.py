"""The plan that keeps a fit within `max_memory`: where codes go, and how much runs at once."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from splinear._lookup import is_whole

__all__ = [
    "CODE_BYTES",
    "ENTRY_BYTES",
    "NEED_DUAL",
    "NEED_NEWTON",
    "NEED_SOFTMAX",
    "NEED_VALUES",
    "BytesPerRow",
    "MemoryPlan",
    "bytes_of",
    "least_memory",
    "plan_memory",
    "sample_bytes",
    "say_bytes",
]

UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

CODE_BYTES = 2
ENTRY_BYTES = 8  # per non-zero of sparse rows
SMALLEST_BLOCK = 4096  # rows
# Share of the bound reserved for chunks of X that are being coded, tables and the allocator.
SPARE = 1 / 8
SAMPLE = 2**26  # bytes, without a bound


@dataclass(frozen=True)
class BytesPerRow:
    """Memory per row beyond X, y and the codes: once, and for each problem being solved."""

    shared: float = 0.0
    each: float = 0.0

    def __add__(self, other: BytesPerRow) -> BytesPerRow:
        return BytesPerRow(self.shared + other.shared, self.each + other.each)

    def __mul__(self, n: int) -> BytesPerRow:
        return BytesPerRow(n * self.shared, n * self.each)


# Dual variable, squared norm, label; a bit or two for the active set.
NEED_DUAL = BytesPerRow(each=8 + 4 + 1 + 0.25)
# Order, dual variables and their start, while training continues on X itself.
NEED_VALUES = BytesPerRow(shared=8, each=16)
# Scores, derivatives and steps, as measured and tested in tests/estimators/test_large.py.
NEED_NEWTON = BytesPerRow(each=92)
NEED_SOFTMAX = BytesPerRow(each=120)  # per output


@dataclass(frozen=True)
class MemoryPlan:
    """The limits that keep a fit within its bound."""

    width: int = sys.maxsize  # largest number of problems solved in parallel
    rows_per_block: int | None = None  # of codes on disk; None if they are in memory
    holds_values: bool = True  # whether all of X may be in memory

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound."""
        return self.width < sys.maxsize


def bytes_of(max_memory: object) -> int | None:
    """Return the bytes of `max_memory`: a number, a text such as "500MB" or "2GiB", or None."""
    if max_memory is None:
        return None
    if is_whole(max_memory):
        if int(max_memory) > 0:
            return int(max_memory)
    elif isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", max_memory, re.IGNORECASE)
        if match and float(match[1]) > 0 and (match[2] or not match[3]):
            base = 1024 if match[3] else 1000
            return max(1, int(float(match[1]) * base ** UNITS[match[2].upper()]))
    raise ValueError(
        "max_memory must be None, a number of bytes above 0, or a text such as '500MB', '2GB' or "
        f"'1.5GiB'; got {max_memory!r}."
    )


def sample_bytes(bound: int | None) -> int:
    """Return how many bytes of an X in files may be read at once, to place knots."""
    return SAMPLE if bound is None else max(1, min(SAMPLE, int(SPARE * bound)))


def say_bytes(n: float) -> str:
    """Return a number of bytes as text."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= unit:
            return f"{n / unit:.3g} {name}"
    return f"{n:.0f} bytes"


def plan_memory(
    bound: int, n_rows: int, row_bytes: float, need: BytesPerRow, width: int
) -> MemoryPlan | None:
    """Return a plan for `width` problems in parallel, or as many as fit; None if none does.

    `row_bytes` is the size of the codes of a row, or of its non-zeros if rows are sparse. Codes
    stay in memory if they fit beside what every row needs. If not, they go to disk in blocks of an
    eighth of the remaining memory. Neither depends on the width, because the model depends on the
    blocks. The width is then the number of problems that fit with a block each; putting a block in
    order takes the memory of two.
    """
    usable = (1 - SPARE) * bound
    left = usable - n_rows * (need.shared + need.each)
    if left < min(n_rows, 2 * SMALLEST_BLOCK) * row_bytes:
        return None
    beyond = n_rows * (NEED_VALUES.shared + NEED_VALUES.each)
    holds_values = n_rows * row_bytes + beyond <= left
    if n_rows * row_bytes <= left:
        block, held = None, n_rows * row_bytes
    else:
        block = max(SMALLEST_BLOCK, int(left / (8 * row_bytes)))
        held = 0
    for wide in range(width, 1, -1):
        blocks = 0 if block is None else max(2, wide) * block * row_bytes
        if n_rows * (need.shared + wide * need.each) + held + blocks <= usable:
            return MemoryPlan(wide, block, holds_values)
    return MemoryPlan(1, block, holds_values)


def least_memory(n_rows: int, row_bytes: float, need: BytesPerRow) -> float:
    """Return the smallest bound that `plan_memory` accepts."""
    rows = n_rows * (need.shared + need.each)
    codes = min(n_rows, 2 * SMALLEST_BLOCK) * row_bytes
    return (rows + codes) / (1 - SPARE)
