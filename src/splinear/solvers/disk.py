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
from io import FileIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray, Table
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
    X: Table,
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
            # The codes of a row as one item: NumPy moves these faster than rows of a table.
            row = np.dtype((np.void, code_bytes(group) * group.n_features))
            codes = files.enter_context(_reserved(row.itemsize * n_rows))
            blocks.append(_Blocks(codes, order, row, range(n_rows + 1), rows_per_block))
        for rows, piece in float_chunks(X):
            dealt = _Dealt.of(places_of(rows), rows_per_block)
            for group, part in zip(groups, blocks, strict=True):
                part.deal(_coded(piece, group, dealt, n_threads).view(part.dtype)[:, 0], dealt)
        for part in blocks:
            part.put_in_order()
        return [_mapped(p, g) for p, g in zip(blocks, groups, strict=True)]


def entries_on_disk(
    X: Table,
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
        _reserved(ENTRY.itemsize * n_entries) as file,
        _reserved(PLACE.itemsize * n_rows) as order,
    ):
        blocks = _Blocks(file, order, ENTRY, starts, rows_per_block)
        for rows, whole in csr_chunks(X):
            dealt = _Dealt.of(places_of(rows), rows_per_block)
            entries, first = _entries(group_columns(whole, group)[dealt.rows], group)
            blocks.deal(entries, dealt, first)
        blocks.put_in_order()
        array = np.frombuffer(_map(file), dtype=np.uint64)
    return _core.mapped_sparse_rows(starts, array, rows_per_block)


def code_bytes(group: TermGroup) -> int:
    """Bytes of one code: 4 where a category has more levels than 16 bits can number."""
    return 4 if group.levels is not None and group.stride > MOST_CODES else 2


@dataclass(frozen=True, eq=False)
class _Dealt:
    """The rows of a piece of X that have a place, in the order of the blocks they belong to."""

    rows: Places  # their numbers in the piece
    rank: Places  # of every row of the piece in that order; -1: it has no place
    local: AnyArray  # places in their blocks
    counts: AnyArray  # rows per block

    @classmethod
    def of(cls, places: Places, rows_per_block: int) -> _Dealt:
        kept = np.flatnonzero(places >= 0)
        block = places[kept] // rows_per_block
        rows = kept[np.argsort(block, kind="stable")]
        rank = np.full(len(places), -1, dtype=np.int64)
        rank[rows] = np.arange(len(rows))
        local = (places[rows] % rows_per_block).astype(PLACE)
        return cls(rows, rank, local, np.bincount(block))

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Yield the blocks, each with its rows in that order."""
        ends = np.cumsum(self.counts)
        for b in map(int, np.flatnonzero(self.counts)):
            yield b, slice(int(ends[b] - self.counts[b]), int(ends[b]))


class _Blocks:
    """Two files: the items of the rows, and the place of every row in its block.

    `starts` (n_rows + 1,) says where a row's items belong in the end; a range: one per row.
    """

    def __init__(
        self,
        items: FileIO,
        order: FileIO,
        dtype: np.dtype[np.generic],
        starts: Places | range,
        rows_per_block: int,
    ) -> None:
        self.items, self.order, self.dtype, self.starts = items, order, dtype, starts
        self.rows_per_block, self.n_rows = rows_per_block, len(starts) - 1
        self.blocks = range(0, self.n_rows, rows_per_block)
        # Where the next row of each block goes, and its first item.
        self.next_row = list(self.blocks)
        self.next_item = [int(starts[first]) for first in self.blocks]

    def deal(self, items: AnyArray, dealt: _Dealt, starts: Places | None = None) -> None:
        """Add rows to the ends of the blocks they belong to.

        `starts` says where the items of each row begin; None: there is one per row.
        """
        for b, run in dealt.runs():
            here = run if starts is None else slice(int(starts[run.start]), int(starts[run.stop]))
            _write(self.items, self.next_item[b], items[here])
            _write(self.order, self.next_row[b], dealt.local[run])
            self.next_row[b] += run.stop - run.start
            self.next_item[b] += here.stop - here.start

    def put_in_order(self) -> None:
        """Give every row its place in its block."""
        for first in self.blocks:
            last = min(first + self.rows_per_block, self.n_rows)
            begin, end = int(self.starts[first]), int(self.starts[last])
            items = _read(self.items, begin, end - begin, self.dtype)
            places = _read(self.order, first, last - first, PLACE)
            ordered = np.empty_like(items)
            ordered[self._targets(places, first, last)] = items
            _write(self.items, begin, ordered)

    def _targets(self, places: AnyArray, first: int, last: int) -> AnyArray:
        """Return where each item of a block goes, counted from the start of the block."""
        if isinstance(self.starts, range):
            return places
        starts = self.starts[first : last + 1] - self.starts[first]
        lengths = np.diff(starts)[places]
        now = np.cumsum(lengths) - lengths  # where each row's items are
        return np.asarray(np.arange(starts[-1]) + np.repeat(starts[places] - now, lengths))


def _coded(piece: AnyArray, group: TermGroup, dealt: _Dealt, n_threads: int) -> AnyArray:
    """Return the codes of a piece of X in a group's columns, in the order of `dealt`."""
    codes = _core.Codes(len(dealt.local), group.n_features, group.grid)
    columns = group.features.astype(np.int64)
    codes.fill(piece, columns, dealt.rank, group.embedding.axes.core(), n_threads)
    return np.asarray(codes.array)


def _entries(piece: sparse.csr_array, group: TermGroup) -> tuple[AnyArray, Places]:
    """Return the entries of some rows, and where those of each row begin."""
    starts, features, values = csr_parts(piece)
    entries = np.empty(len(values), dtype=ENTRY)
    entries["feature"] = features
    entries["argument"] = _core.sparse_arguments(features, values, group.embedding.axes.core())
    return entries, starts


def _mapped(blocks: _Blocks, group: TermGroup) -> _core.Codes:
    """Return the codes of a group, in a read-only map of the file."""
    dtype = np.uint32 if code_bytes(group) == 4 else np.uint16
    array: AnyArray = np.frombuffer(_map(blocks.items), dtype=dtype)
    array = array.reshape(blocks.n_rows, group.n_features)
    return _core.Codes(array, group.grid, blocks.rows_per_block)


def _map(file: FileIO) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _write(file: FileIO, at: int, items: AnyArray) -> None:
    """Write the items from the given one on."""
    left = memoryview(np.ascontiguousarray(items).view(np.uint8).data)
    file.seek(at * items.dtype.itemsize)
    while left:  # one call writes 2 GB at most
        left = left[file.write(left) :]


def _read(file: FileIO, at: int, n: int, dtype: np.dtype[np.generic]) -> AnyArray:
    out = np.empty(n, dtype=dtype)
    left = memoryview(out.view(np.uint8).data)
    file.seek(at * dtype.itemsize)
    while left:
        left = left[file.readinto(left) :]
    return out


def _reserved(size: int) -> FileIO:
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
