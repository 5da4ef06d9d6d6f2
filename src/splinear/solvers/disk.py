"""Codes in a file, or the non-zeros of sparse rows: for rows that do not fit into memory.

Rows are dealt out to the blocks they belong to first, where each piece of X adds to the end of
every block; then one block after the other is put in order. A file is gone when nobody reads it any
more, however the process ends.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray
from splinear.model.additive import group_columns
from splinear.model.group import TermGroup
from splinear.tables.reading import csr_chunks, float_chunks
from splinear.tables.sparse import csr_parts

__all__ = ["code_bytes", "codes_on_disk", "entries_on_disk"]

MOST_CODES = 65_535  # of 16 bits, the gap's included

Places = NDArray[np.int64]

ENTRY = np.dtype([("feature", np.uint32), ("argument", np.float32)])
PLACE = np.dtype(np.uint32)  # in a block


def codes_on_disk(
    X: Any,
    places_of: Callable[[slice], Places],
    n_rows: int,
    groups: Sequence[TermGroup],
    rows_per_block: int,
    n_threads: int,
) -> list[_core.Codes]:
    """Code the rows of X into files without names, one per group, and map them.

    places_of(rows) gives the places of some rows of X in the files, -1 for those left out; n_rows
    have one.
    """
    with ExitStack() as files:
        order = files.enter_context(_reserved(PLACE.itemsize * n_rows))
        blocks = []
        for group in groups:
            size = code_bytes(group) * group.n_features * n_rows
            codes = files.enter_context(_reserved(size))
            blocks.append(_Blocks(codes, order, n_rows, group, rows_per_block))
        for rows, piece in float_chunks(X):
            dealt = _Dealt.of(places_of(rows), rows_per_block)
            for part in blocks:
                part.deal(piece, dealt, n_threads)
        for part in blocks:
            part.put_in_order()
        return [part.mapped() for part in blocks]


def entries_on_disk(
    X: Any,
    places_of: Callable[[slice], Places],
    n_rows: int,
    group: TermGroup,
    rows_per_block: int,
) -> _core.Rows:
    """Write the non-zeros of a sparse X in a group's columns into a file, row by row, and map it.

    The parameters are those of codes_on_disk().
    """
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    for rows, whole in csr_chunks(X):
        places, piece = places_of(rows), group_columns(whole, group)
        starts[1 + places[places >= 0]] = np.diff(piece.indptr)[places >= 0]
    np.cumsum(starts, out=starts)
    n_entries = int(starts[-1])
    if n_entries == 0:  # nothing to map
        return _core.mapped_sparse_rows(starts, np.empty(0, dtype=np.uint64), rows_per_block)
    with (
        _reserved(ENTRY.itemsize * n_entries) as entries,
        _reserved(PLACE.itemsize * n_rows) as order,
    ):
        blocks = _SparseBlocks(entries, order, starts, rows_per_block)
        for rows, whole in csr_chunks(X):
            blocks.deal(group_columns(whole, group), places_of(rows), group)
        blocks.put_in_order()
        mapped = mmap.mmap(entries.fileno(), 0, access=mmap.ACCESS_READ)
    array = np.frombuffer(mapped, dtype=np.uint64)
    return _core.mapped_sparse_rows(starts, array, rows_per_block)


def code_bytes(group: TermGroup) -> int:
    """Bytes of one code: 4 where a category has more levels than 16 bits can number."""
    return 4 if group.levels is not None and group.stride > MOST_CODES else 2


@dataclass(frozen=True, eq=False)
class _Dealt:
    """The rows of a piece of X, in the order of the blocks they belong to."""

    rank: Places  # of every row in that order; -1: it has no place
    local: AnyArray  # places in their blocks
    counts: AnyArray  # rows per block

    @classmethod
    def of(cls, places: Places, rows_per_block: int) -> _Dealt:
        kept = np.flatnonzero(places >= 0)
        block = places[kept] // rows_per_block
        by_block = kept[np.argsort(block, kind="stable")]
        rank = np.full(len(places), -1, dtype=np.int64)
        rank[by_block] = np.arange(len(by_block))
        local = (places[by_block] % rows_per_block).astype(PLACE)
        return cls(rank, local, np.bincount(block))

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Yield the blocks, each with its rows in that order."""
        ends = np.cumsum(self.counts)
        for b in map(int, np.flatnonzero(self.counts)):
            yield b, slice(int(ends[b] - self.counts[b]), int(ends[b]))


class _Blocks:
    """Two files with an entry per row: its codes in one group, and its place in its block."""

    def __init__(
        self, codes: Any, order: Any, n_rows: int, group: TermGroup, rows_per_block: int
    ) -> None:
        self.codes, self.order, self.n_rows, self.group = codes, order, n_rows, group
        self.rows_per_block = rows_per_block
        self.columns, self.axes = group.features.astype(np.int64), group.embedding.axes.core()
        # The codes of a row as one item: NumPy moves these faster than rows of a table.
        self.row = np.dtype((np.void, code_bytes(group) * group.n_features))
        self.starts = np.arange(0, n_rows, rows_per_block)
        self.filled = self.starts.copy()  # where the next row of each block goes

    def deal(self, piece: AnyArray, dealt: _Dealt, n_threads: int) -> None:
        """Add the rows of a piece of X to the ends of the blocks they belong to."""
        coded = _core.Codes(len(dealt.local), self.group.n_features, self.group.grid)
        coded.fill(piece, self.columns, dealt.rank, self.axes, n_threads)
        array: AnyArray = np.asarray(coded.array)
        for b, run in dealt.runs():
            _write(self.codes, int(self.filled[b]), array[run].view(self.row))
            _write(self.order, int(self.filled[b]), dealt.local[run])
            self.filled[b] += run.stop - run.start

    def put_in_order(self) -> None:
        """Give every row its place in its block."""
        for start in map(int, self.starts):
            n = min(self.rows_per_block, self.n_rows - start)
            codes, places = (
                _read(self.codes, start, n, self.row),
                _read(self.order, start, n, PLACE),
            )
            ordered = np.empty_like(codes)
            ordered[places] = codes
            _write(self.codes, start, ordered)

    def mapped(self) -> _core.Codes:
        """Return the codes, in a read-only map of the file."""
        pages = mmap.mmap(self.codes.fileno(), 0, access=mmap.ACCESS_READ)
        dtype = np.uint32 if code_bytes(self.group) == 4 else np.uint16
        array: Any = np.frombuffer(pages, dtype=dtype)
        array = array.reshape(self.n_rows, self.group.n_features)
        return _core.Codes(array, self.group.grid, self.rows_per_block)


class _SparseBlocks:
    """Two files: the entries of the rows, and the place of every row in its block.

    `starts` (n_rows + 1,) says where a row's entries belong in the end.
    """

    def __init__(self, entries: Any, order: Any, starts: Places, rows_per_block: int) -> None:
        self.entries, self.order, self.starts = entries, order, starts
        self.rows_per_block, self.n_rows = rows_per_block, len(starts) - 1
        self.blocks = np.arange(0, self.n_rows, rows_per_block)
        self.filled = self.blocks.copy()  # where the next row of each block goes
        self.next_entry = starts[self.blocks].copy()  # and its first entry

    def deal(self, piece: Any, places: Places, group: TermGroup) -> None:
        """Add the rows of a piece of X to the ends of the blocks they belong to."""
        kept = np.flatnonzero(places >= 0)
        kept = kept[np.argsort(places[kept] // self.rows_per_block, kind="stable")]
        starts, features, values = csr_parts(piece[kept])
        entries = np.empty(len(values), dtype=ENTRY)
        entries["feature"] = features
        entries["argument"] = _core.sparse_arguments(features, values, group.embedding.axes.core())
        local = (places[kept] % self.rows_per_block).astype(PLACE)
        block = places[kept] // self.rows_per_block
        ends = np.searchsorted(block, np.arange(len(self.blocks) + 1))
        for b in map(int, np.flatnonzero(np.diff(ends))):
            rows = slice(int(ends[b]), int(ends[b + 1]))
            here = slice(int(starts[rows.start]), int(starts[rows.stop]))
            _write(self.entries, int(self.next_entry[b]), entries[here])
            _write(self.order, int(self.filled[b]), local[rows])
            self.filled[b] += rows.stop - rows.start
            self.next_entry[b] += here.stop - here.start

    def put_in_order(self) -> None:
        """Give every row its place in its block."""
        for first in map(int, self.blocks):
            last = min(first + self.rows_per_block, self.n_rows)
            begin, end = int(self.starts[first]), int(self.starts[last])
            entries = _read(self.entries, begin, end - begin, ENTRY)
            places = _read(self.order, first, last - first, PLACE)
            lengths = np.diff(self.starts[first : last + 1])[places]
            dealt = np.cumsum(lengths) - lengths  # where each row's entries are now
            shift = self.starts[first:last][places] - begin - dealt
            ordered = np.empty_like(entries)
            ordered[np.arange(end - begin) + np.repeat(shift, lengths)] = entries
            _write(self.entries, begin, ordered)


def _write(file: Any, at: int, items: AnyArray) -> None:
    """Write the items from the given one on."""
    left = memoryview(np.ascontiguousarray(items).view(np.uint8).data)
    file.seek(at * items.dtype.itemsize)
    while left:  # one call writes 2 GB at most
        left = left[file.write(left) :]


def _read(file: Any, at: int, n: int, dtype: np.dtype[Any]) -> AnyArray:
    out = np.empty(n, dtype=dtype)
    left = memoryview(out.view(np.uint8).data)
    file.seek(at * dtype.itemsize)
    while left:
        left = left[file.readinto(left) :]
    return out


def _reserved(size: int) -> Any:
    """Open a file without a name that has this much room; a full disk is found here and now.

    It is written by calls, never through a map: there a disk that is full after all would end the
    process.
    """
    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (the caller closes it)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    except OSError as error:
        file.close()
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise OSError(
            error.errno,
            f"the codes of the training rows need {size / 1e9:.2f} GB of disk, and there is no "
            f"room for them in {tempfile.gettempdir()}. Let the environment variable TMPDIR name "
            "another folder, or raise max_memory",
        ) from error
    return file
