"""Codes, or the non-zeros of sparse rows, in files, for rows that do not fit into memory.

In a first step, each chunk of X appends its rows to the blocks that they belong to; then the rows
of every block are put in order. The files have no names, so they vanish when they are no longer
read, however the process ends.
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
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray
from splinear.model.scoring import group_columns
from splinear.tables.chunks import as_dense, as_sparse, csr_parts
from splinear.tables.table import Table
from splinear.terms.group import TermGroup

__all__ = ["code_bytes", "codes_on_disk", "entries_on_disk"]

MOST_CODES = 65_535  # of 16 bits, including that of gaps

Places = NDArray[np.int64]

ENTRY = np.dtype([("place", np.uint32), ("argument", np.float32)])
PLACE = np.dtype(np.uint32)  # of a row within its block


def codes_on_disk(
    X: Table,
    places_of: Callable[[slice], Places],
    n_rows: int,
    groups: Sequence[TermGroup],
    rows_per_block: int,
    n_threads: int,
) -> list[_core.Codes]:
    """Write the codes of the rows of X to unnamed files, one per group, and map them.

    places_of(rows) returns the places of a slice of rows of X in the files, -1 for rows that are
    left out; n_rows rows have a place.
    """
    with ExitStack() as files:
        order = files.enter_context(_reserved(PLACE.itemsize * n_rows))
        blocks = []
        for group in groups:
            # The codes of a row are one item, which NumPy moves faster than a row of a table.
            item = np.dtype((np.void, code_bytes(group) * group.n_features))
            codes = files.enter_context(_reserved(item.itemsize * n_rows))
            blocks.append(_Blocks(codes, item, order, n_rows, rows_per_block))
        for rows, piece in X.chunks():
            dealt = _Dealt.of(places_of(rows), rows_per_block)
            for group, part in zip(groups, blocks, strict=True):
                part.deal(dealt, _coded(as_dense(piece), dealt, group, n_threads))
        for part in blocks:
            part.put_in_order()
        return [_mapped_codes(group, part) for group, part in zip(groups, blocks, strict=True)]


def _coded(piece: AnyArray, dealt: _Dealt, group: TermGroup, n_threads: int) -> AnyArray:
    """Return the codes of the rows of a chunk of X, ordered by block."""
    codes = _core.Codes(len(dealt.local), group.n_features, group.grid)
    columns = group.features.astype(np.int64)
    codes.fill(piece, columns, dealt.rank, group.embedding.axes.core(), n_threads)
    return np.asarray(codes.array)


def _mapped_codes(group: TermGroup, blocks: _Blocks) -> _core.Codes:
    array = blocks.mapped(np.uint32 if code_bytes(group) == 4 else np.uint16)
    array = array.reshape(blocks.n_rows, group.n_features)
    return _core.Codes(array, group.grid, blocks.rows_per_block)


def entries_on_disk(
    X: Table,
    places_of: Callable[[slice], Places],
    n_rows: int,
    group: TermGroup,
    rows_per_block: int,
) -> _core.Rows:
    """Write the non-zeros of a sparse X in a group's columns to a file, row by row, and map it.

    The parameters are those of `codes_on_disk`.
    """
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    for rows, whole in X.chunks():
        places, piece = places_of(rows), group_columns(as_sparse(whole), group)
        starts[1 + places[places >= 0]] = np.diff(piece.indptr)[places >= 0]
    np.cumsum(starts, out=starts)
    n_entries, tables = int(starts[-1]), group.embedding.places()
    if n_entries == 0:  # nothing to map
        return _core.mapped_sparse_rows(
            starts, np.empty(0, dtype=np.uint64), rows_per_block, tables
        )
    with (
        _reserved(ENTRY.itemsize * n_entries) as entries,
        _reserved(PLACE.itemsize * n_rows) as order,
    ):
        blocks = _Blocks(entries, ENTRY, order, n_rows, rows_per_block, starts)
        for rows, whole in X.chunks():
            dealt = _Dealt.of(places_of(rows), rows_per_block)
            piece = group_columns(as_sparse(whole), group)[dealt.by_block]
            blocks.deal(dealt, *_entries(piece, group, tables))
        blocks.put_in_order()
        return _core.mapped_sparse_rows(starts, blocks.mapped(np.uint64), rows_per_block, tables)


def _entries(
    piece: sparse.csr_array, group: TermGroup, tables: _core.TablePlaces
) -> tuple[AnyArray, Places]:
    """Return the non-zeros of some rows as file entries, and where those of each row start."""
    starts, features, values = csr_parts(piece)
    entries = np.empty(len(values), dtype=ENTRY)
    entries["place"] = tables.starts[features]
    entries["argument"] = _core.sparse_arguments(features, values, group.embedding.axes.core())
    return entries, starts


def code_bytes(group: TermGroup) -> int:
    """Return the bytes per code: 4 if a category has more levels than 16 bits allow, else 2."""
    return 4 if group.levels is not None and group.stride > MOST_CODES else 2


@dataclass(frozen=True, eq=False)
class _Dealt:
    """The rows of a chunk of X, sorted by the block they belong to."""

    by_block: Places  # indices of the rows in that order
    rank: Places  # of every row in that order; -1 for rows without a place
    local: AnyArray  # places of the rows within their blocks
    counts: AnyArray  # rows per block

    @classmethod
    def of(cls, places: Places, rows_per_block: int) -> _Dealt:
        kept = np.flatnonzero(places >= 0)
        block = places[kept] // rows_per_block
        by_block = kept[np.argsort(block, kind="stable")]
        rank = np.full(len(places), -1, dtype=np.int64)
        rank[by_block] = np.arange(len(by_block))
        local = (places[by_block] % rows_per_block).astype(PLACE)
        return cls(by_block, rank, local, np.bincount(block))

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Yield each block with the slice of its rows."""
        ends = np.cumsum(self.counts)
        for b in map(int, np.flatnonzero(self.counts)):
            yield b, slice(int(ends[b] - self.counts[b]), int(ends[b]))


class _Blocks:
    """Two files: the items of the rows, and the place of every row within its block.

    Without `starts`, row i has one item, finally at index i; with it, the items from starts[i] to
    starts[i + 1].
    """

    def __init__(
        self,
        items: FileIO,
        item: np.dtype[np.void],
        order: FileIO,
        n_rows: int,
        rows_per_block: int,
        starts: Places | None = None,
    ) -> None:
        self.items, self.item, self.order, self.n_rows = items, item, order, n_rows
        self.rows_per_block, self.starts = rows_per_block, starts
        self.firsts = np.arange(0, n_rows, rows_per_block)
        self.next_row = self.firsts.copy()  # where the next row of each block is written,
        self.next_item = np.array([self._start(int(k)) for k in self.firsts])  # and its first item

    def _start(self, row: int) -> int:
        return row if self.starts is None else int(self.starts[row])

    def deal(self, dealt: _Dealt, items: AnyArray, starts: Places | None = None) -> None:
        """Append rows to the blocks they belong to; `starts` are those of their items."""
        for b, rows in dealt.runs():
            here = rows if starts is None else slice(starts[rows.start], starts[rows.stop])
            _write(self.items, int(self.next_item[b]), items[here].view(self.item))
            _write(self.order, int(self.next_row[b]), dealt.local[rows])
            self.next_row[b] += rows.stop - rows.start
            self.next_item[b] += here.stop - here.start

    def put_in_order(self) -> None:
        """Move every row to its place within its block."""
        for first in map(int, self.firsts):
            last = min(first + self.rows_per_block, self.n_rows)
            begin, end = self._start(first), self._start(last)
            items = _read(self.items, begin, end - begin, self.item)
            places = _read(self.order, first, last - first, PLACE)
            ordered = np.empty_like(items)
            ordered[self._targets(first, last, places)] = items
            _write(self.items, begin, ordered)

    def _targets(self, first: int, last: int, places: AnyArray) -> AnyArray:
        """Return the target index of each item of a block, given the places of its rows."""
        if self.starts is None:
            return places
        lengths = np.diff(self.starts[first : last + 1])[places]
        dealt = np.cumsum(lengths) - lengths  # where each row's items are now
        shift = self.starts[first:last][places] - self.starts[first] - dealt
        return np.asarray(np.arange(lengths.sum()) + np.repeat(shift, lengths))

    def mapped(self, dtype: DTypeLike) -> AnyArray:
        """Return the items as a read-only memory map of the file."""
        pages = mmap.mmap(self.items.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(pages, dtype=dtype)


def _write(file: FileIO, at: int, items: AnyArray) -> None:
    """Write items, the first of them at index `at`."""
    left = memoryview(np.ascontiguousarray(items).view(np.uint8).data)
    file.seek(at * items.dtype.itemsize)
    while left:  # a call writes at most 2 GB
        left = left[file.write(left) :]


def _read(file: FileIO, at: int, n: int, dtype: np.dtype[np.generic]) -> AnyArray:
    out = np.empty(n, dtype=dtype)
    left = memoryview(out.view(np.uint8).data)
    file.seek(at * dtype.itemsize)
    while left:
        left = left[file.readinto(left) :]
    return out


def _reserved(size: int) -> FileIO:
    """Return an unnamed file with `size` bytes reserved, so that a full disk is noticed now.

    It is never written through a memory map, where a full disk would kill the process.
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
