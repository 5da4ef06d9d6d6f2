"""Rows that are copies of each other: equal in X and y far more often than chance explains.

Copies are no information, so the choice of smoothness takes them for one unit. But where columns
have a handful of values, equal rows are ordinary, and independent. What tells them apart are pairs
of rows that *nearly* agree. With B some of the columns, let N be the number of pairs of rows that
agree everywhere but in B, and q the share of pairs of distinct rows that agree in B. If rows are
independent, about N q / (1 - q) pairs agree everywhere by chance. Copies agree everywhere without
nearly agreeing any more often, and in a column of continuous values q is about 0.

Columns depend on each other, so q is replaced by its square root, and the largest number over many
B counts: halves of the columns, quarters and so on, and y. A table is found to have copies if it
has several times as many equal pairs.

Rows without any value say nothing, so they are no copies. A single column has no other columns to
compare with: where its values and those of y lie on a grid, or it determines y, equal rows are
ordinary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import AnyArray
from splinear._warning import warn
from splinear.tables.chunks import as_dense
from splinear.tables.device import DeviceTable
from splinear.tables.table import Table

__all__ = ["copies_of", "warn_of_copies"]

Hashes = NDArray[np.uint64]

FIRST = 4  # columns after which rows without an equal are left out; most tables end there
TIMES = 4.0  # as many equal pairs as chance explains, from which on they are copies
LEAST_DISTINCT = 8  # rows; fewer different ones do not tell whether equal ones are ordinary
UNSEEN = 0.25  # pairs that would agree in a larger table; added to those that do
MOST_ROWS = 2**17  # rows of which pairs are counted; of more, those with some of the hashes
LEAST_SHARE = 0.01  # of all rows: fewer copies are merged without a warning
N_LEAVES = 16  # blocks of columns whose hashes are computed once
SEED = 0x5A17


def copies_of(table: Table, y: AnyArray, kept: AnyArray | None) -> NDArray[np.intp] | None:
    """Return the index of the first row equal to each row, (n,); None if there are no copies.

    `y` (n,) or (n, m) are numbers; `kept` (n,) marks the rows with a positive weight. Tables
    on disk or on a device are not searched.
    """
    if table.is_on_disk or isinstance(table, DeviceTable) or not table.shape[1]:
        return None
    rows = np.arange(len(y)) if kept is None else np.flatnonzero(kept)
    y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    of_y = _hashed(y, _factors(table.shape[1:]))
    columns, of_all = np.arange(table.shape[1]), of_y.copy()
    n_first = table.shape[1] if table.is_sparse else FIRST
    for some in (columns[:n_first], columns[n_first:]):
        if len(some):
            of_all += _of_columns(table, some)
        if not _has_equals(of_all[rows]):
            return None
    of_X = of_all - of_y
    rows = rows[of_X[rows] != _of_no_value(table)]
    if table.shape[1] == 1 and _is_grid(as_dense(table.sample(rows))):
        determines_y = _n_pairs(of_X[rows]) == _n_pairs(of_all[rows])
        if determines_y or all(_is_grid(own) for own in y[rows].T):
            return None
    return _firsts(of_all, rows) if _exceed_chance(table, of_y, of_all, rows) else None


def warn_of_copies(n_copies: int, n_rows: int) -> None:
    """Warn that copies were merged, unless there are few."""
    if n_copies < LEAST_SHARE * n_rows:
        return
    warn(
        f"{n_copies:,} of {n_rows:,} rows equal another row in X and y, far more than chance "
        "explains. Each set of equal rows counts as one observation with their total weight where "
        "smoothness is chosen and in bands. Drop the copies if they are mistakes; if they are "
        "separate observations, say so by fit(..., counts=numpy.ones(len(y))).",
        UserWarning,
    )


def _factors(of: Sequence[int] | NDArray[np.intp]) -> np.random.Generator:
    """Return a source of random factors."""
    return np.random.default_rng([SEED, *map(int, of)])


def _hashed(values: AnyArray, factors: np.random.Generator) -> Hashes:
    """Return one hash per row of values (n, m); those of several columns add up."""
    out = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        bits = np.where(np.isnan(column), np.uint64(1), bits)
        bits ^= bits >> np.uint64(31)  # low bits of small integers are all 0
        bits *= factors.integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        bits ^= bits >> np.uint64(29)
        bits *= factors.integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        out += bits
    return out


def _of_no_value(table: Table) -> np.uint64:
    """Return the sum of the hashes of a row of missing values, or of zeros if it is sparse."""
    hashes = np.zeros(1, dtype=np.uint64)
    for j in () if table.is_sparse else range(table.shape[1]):
        hashes += _hashed(np.full((1, 1), np.nan), _factors([j]))
    return np.uint64(hashes[0])


def _of_columns(table: Table, columns: NDArray[np.intp]) -> Hashes:
    """Return the sum of the hashes of some columns, for every row."""
    out = np.zeros(table.shape[0], dtype=np.uint64)
    if table.is_sparse:
        factors = _factors(table.shape[1:]).integers(2**63, size=table.shape[1], dtype=np.uint64)
    for rows, chunk in table.chunks(columns):
        if sparse.issparse(chunk):
            out[rows] = _of_nonzeros(chunk, factors[columns])
            continue
        values = np.asarray(chunk)
        for k, j in enumerate(columns):
            out[rows] += _hashed(values[:, [k]], _factors([int(j)]))
    return out


def _of_nonzeros(chunk: sparse.csr_array, factors: Hashes) -> Hashes:
    """Return one hash per row, the sum over its non-zeros."""
    values = chunk.data.astype(np.float64)
    bits = values.view(np.uint64)
    bits ^= bits >> np.uint64(31)
    bits *= factors[chunk.indices] * np.uint64(2) + np.uint64(1)
    bits ^= bits >> np.uint64(29)
    bits *= factors[chunk.indices] * np.uint64(4) + np.uint64(3)
    ends = np.append(np.uint64(0), np.cumsum(np.where(chunk.data != 0, bits, np.uint64(0))))
    return np.asarray(ends[chunk.indptr[1:]] - ends[chunk.indptr[:-1]], dtype=np.uint64)


def _has_equals(hashes: Hashes) -> bool:
    return _n_changes(np.sort(hashes)) < len(hashes) - 1  # far faster than np.unique


def _n_changes(ascending: Hashes) -> int:
    return int(np.count_nonzero(ascending[1:] != ascending[:-1]))


def _firsts(hashes: Hashes, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the index of the first row with the same hash, for every row; others are their own."""
    out = np.arange(len(hashes))
    _, first, inverse = np.unique(hashes[rows], return_index=True, return_inverse=True)
    out[rows] = rows[first[inverse]]
    return out


def _n_pairs(hashes: Hashes) -> float:
    """Return the number of pairs of rows with equal hashes."""
    ascending = np.sort(hashes)
    last = np.flatnonzero(ascending[1:] != ascending[:-1])
    counts = np.diff(last, prepend=-1, append=len(hashes) - 1)
    return float((counts * (counts - 1.0)).sum() / 2.0)


def _exceed_chance(table: Table, of_y: Hashes, of_all: Hashes, rows: NDArray[np.intp]) -> bool:
    """Return whether rows are equal more often than chance explains."""
    share = max(1, -(-len(rows) // MOST_ROWS))
    rows = rows[of_all[rows] % np.uint64(share) == 0]  # keeps equal rows together
    of_all = of_all[rows]
    n_distinct = 1 + _n_changes(np.sort(of_all))
    if n_distinct < LEAST_DISTINCT:
        return False
    equal, of_any, distinct = _n_pairs(of_all), n_distinct * (n_distinct - 1) / 2.0, None
    for block in chain([of_y[rows]], _blocks(table, rows)):
        near = share * (_n_pairs(of_all - block) - equal)  # both rows are kept less often
        if near == 0.0:  # as usual beside columns of continuous values: q does not matter
            continue
        if distinct is None:
            distinct = np.unique(of_all, return_index=True)[1]
        q = np.sqrt((_n_pairs(block[distinct]) + UNSEEN) / (of_any + UNSEEN))
        if equal * (1.0 - q) < TIMES * near * q:
            return False
    return True


def _is_grid(values: AnyArray) -> bool:
    """Return whether values are multiples of a unit, with no more places than values."""
    distinct = np.unique(values[np.isfinite(values)]).astype(np.float64)
    if len(distinct) < 2:
        return True
    distinct /= np.abs(distinct).max()  # differences do not overflow
    return bool(distinct[-1] - distinct[0] <= len(values) * np.diff(distinct).min())


def _blocks(table: Table, rows: NDArray[np.intp]) -> Iterator[Hashes]:
    """Yield the hashes of halves of the columns, quarters, eighths and sixteenths, of some rows."""
    n_columns = table.shape[1]
    ends = [k * n_columns // N_LEAVES for k in range(N_LEAVES + 1)]
    leaves = np.zeros((N_LEAVES, len(rows)), dtype=np.uint64)
    for leaf, (first, last) in zip(leaves, pairwise(ends), strict=True):
        if first < last:
            leaf[:] = _of_columns(table, np.arange(first, last))[rows]
    length, seen = N_LEAVES // 2, {(0, n_columns)}
    while length > 0:
        for k in range(0, N_LEAVES, length):
            first, last = ends[k], ends[k + length]
            if first < last and (first, last) not in seen:
                seen.add((first, last))
                yield leaves[k : k + length].sum(axis=0)
        length //= 2
