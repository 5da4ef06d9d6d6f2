"""The partitions of X, y, weights and offsets, as Dask's delayed objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import dask.array as da
import numpy as np
from dask.base import is_dask_collection, optimize
from dask.delayed import Delayed, delayed
from distributed import Client
from scipy import sparse

from splinear._types import Input

__all__ = ["Partitions", "example_of", "is_frame"]

# Names of columns added to X.
Y, W, OFFSET = "y of splinear.dask", "weights of splinear.dask", "offset of splinear.dask"

# X, y, weights, offset
Partition = tuple[Delayed, Delayed | None, Delayed | None, Delayed | None]


@dataclass(frozen=True, eq=False)
class Partitions:
    """The arguments of fit, with equal partitions.

    Attributes
    ----------
    X, y, weights, offset : list of Delayed
        One per partition; all but X may hold None.
    example : ndarray or DataFrame
        Some rows with the columns and types of X, and arbitrary values.
    n_offsets : int
        The number of offsets per row.
    """

    X: list[Delayed]
    y: list[Delayed | None]
    weights: list[Delayed | None]
    offset: list[Delayed | None]
    example: Input
    n_offsets: int = 0

    @classmethod
    def of(cls, X: Input, y: Input, sample_weight: Input, offset: Input = None) -> Partitions:
        """Partition y, the weights and the offset like X; raise if that is not possible."""
        y, sample_weight = _column(y, "y"), _column(sample_weight, "sample_weight")
        if offset is not None and not is_dask_collection(offset):
            offset = np.asarray(offset)
        n_offsets = 0
        if offset is not None:
            n_offsets = 1 if offset.ndim < 2 else offset.shape[1]
            offset = _column(offset, "offset") if n_offsets == 1 else offset
        if is_frame(X) and _are_of_one_frame(X, y, sample_weight, offset):
            return cls(*_joint(X, y, sample_weight, offset), example_of(X), n_offsets)
        lengths, example = None, example_of(X)
        if not is_frame(X):
            if X.numblocks[1] > 1:
                X = X.rechunk({1: X.shape[1]})
            lengths = X.chunks[0]
        more = {"y": y, "sample_weight": sample_weight, "offset": offset}
        columns = {k: _aligned(v, k, lengths) for k, v in more.items() if v is not None}
        parts = _divided([X, *columns.values()])
        for name, own in zip(columns, parts[1:], strict=True):
            if len(own) != len(parts[0]):
                raise ValueError(
                    f"X has {len(parts[0])} partitions, but {name} has {len(own)}. Make both from "
                    "one collection, or rechunk or repartition one of them."
                )
        known: dict[str, list[Delayed | None]] = {name: [None] * len(parts[0]) for name in more}
        known |= {name: [*own] for name, own in zip(columns, parts[1:], strict=True)}
        y, weights, offset = known["y"], known["sample_weight"], known["offset"]
        return cls(parts[0], y, weights, offset, example, n_offsets)

    def check_offset(self, n_outputs: int) -> None:
        """Raise if there is another number of offsets per row than scores."""
        if self.n_offsets not in (0, n_outputs):
            what = f"one column for each of the {n_outputs} scores of a row"
            raise ValueError(
                f"offset must have {'one number per row' if n_outputs == 1 else what}; it has "
                f"{self.n_offsets} per row."
            )

    def rows(self) -> list[Partition]:
        """Return X, y, weights and offset of every partition."""
        return list(zip(self.X, self.y, self.weights, self.offset, strict=True))

    def numbered(self, n_rows: list[int]) -> list[tuple[int, Partition]]:
        """Return the index and the rows of partitions with rows, given their row counts."""
        return [(k, rows) for k, (rows, n) in enumerate(zip(self.rows(), n_rows, strict=True)) if n]

    def is_persisted(self, client: Client) -> bool:
        """Return whether workers already hold X, as after `X.persist()`."""
        known = list(client.futures)  # a copy, because other threads add to it
        return any(key in self.X[0].dask for key in known)


def is_frame(X: Input) -> bool:
    """Return whether X is a Dask data frame."""
    return _is_of_pandas(X) and hasattr(X, "columns")


def _is_of_pandas(y: Input) -> bool:
    """Return whether y is a Dask data frame or series; a Delayed object has every attribute."""
    return is_dask_collection(y) and hasattr(type(y), "divisions")


def _column(y: Input, name: str) -> Input:
    """Return the column of a frame that has only one, and anything else as it is."""
    if not is_frame(y) or y.ndim == 1:
        return y
    if len(y.columns) != 1:
        raise ValueError(f"{name} must have one column; it has {len(y.columns)}.")
    return y[y.columns[0]]


def example_of(X: Input) -> Input:
    """Return some rows with the columns and types of X; raise if X is not a Dask table."""
    if is_frame(X):
        return X._meta_nonempty
    if not isinstance(X, da.Array) or X.ndim != 2:
        what = f"one of shape {X.shape}" if isinstance(X, da.Array) else f"a {type(X).__name__}"
        raise TypeError(
            f"X must be a dask.array of two dimensions or a dask.dataframe; got {what}. For data "
            "in memory use the estimator without Dask."
        )
    if sparse.issparse(X._meta):
        return sparse.csr_array((1, X.shape[1]), dtype=X.dtype)
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _are_of_one_frame(X: Input, *others: Input) -> bool:
    """Return whether columns are computed row by row from the same frame as X."""
    try:
        from dask.dataframe.dask_expr._expr import are_co_aligned
    except ImportError:
        return False
    given = [other for other in others if other is not None]
    if not all(_is_of_pandas(other) and hasattr(other, "expr") for other in given):
        return False
    return bool(are_co_aligned(X.expr, *(other.expr for other in given)))


def _joint(
    X: Input, y: Input, weights: Input, offset: Input
) -> tuple[list[Delayed], list[Delayed | None], list[Delayed | None], list[Delayed | None]]:
    """Return equal partitions of X, y, weights and offset, which are columns of one frame.

    Separately they might differ, because Dask may read few columns of files in fewer partitions
    than many. Columns of other frames cannot be joined to X, because that would match their
    indices.
    """
    more = {name: own for name, own in ((Y, y), (W, weights)) if own is not None}
    if offset is not None and offset.ndim == 2:
        more |= {f"{OFFSET} {k}": offset[name] for k, name in enumerate(offset.columns)}
    elif offset is not None:
        more[OFFSET] = offset
    parts, pick = X.assign(**more).to_delayed(), delayed(_picked, pure=False)

    def picked(given: Input, columns: str | list[str]) -> list[Delayed | None]:
        return [None if given is None else pick(part, columns) for part in parts]

    rest = delayed(_without, pure=False)
    return (
        [rest(part, list(more)) for part in parts],
        picked(y, Y),
        picked(weights, W),
        picked(offset, [name for name in more if name.startswith(OFFSET)]),
    )


def _picked(part: Input, columns: str | list[str]) -> Input:
    """Return columns of a partition."""
    return part[columns]


def _without(part: Input, columns: list[str]) -> Input:
    """Return a partition without some columns."""
    return part.drop(columns=columns)


def _aligned(y: Input, name: str, lengths: tuple[float, ...] | None) -> Input:
    """Return y as a collection that is partitioned like X, as far as lengths are known."""
    known = lengths is not None and not np.isnan(lengths).any()
    if not is_dask_collection(y) and known:
        y = da.from_array(np.asarray(y), chunks=-1)
    if not _is_array(y):
        if _is_of_pandas(y):
            return y
        raise TypeError(
            f"{name} must be a collection of Dask, divided as X is; got a {type(y).__name__}."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 and (name != "offset" or y.ndim != 2):
        most = "one or two dimensions" if name == "offset" else "one dimension"
        raise ValueError(f"{name} must have {most}; it has {y.ndim}.")
    if known and not np.isnan(y.chunks[0]).any():
        if sum(y.chunks[0]) != sum(lengths or ()):
            raise ValueError(
                f"X has {int(sum(lengths or ()))} rows, but {name} has {sum(y.chunks[0])}."
            )
        y = y.rechunk((lengths, *((own,) for own in y.shape[1:])))
    return y


def _divided(given: list[Input]) -> list[list[Delayed]]:
    """Return the partitions of collections.

    Arrays are optimized together. Separately, Dask may create two tasks with the same name for what
    they share.
    """
    arrays = iter(optimize(*(own for own in given if _is_array(own))))
    return [
        next(arrays).to_delayed(optimize_graph=False).ravel().tolist()
        if _is_array(own)
        else list(own.to_delayed())
        for own in given
    ]


def _is_array(y: Input) -> TypeGuard[da.Array]:
    return isinstance(y, da.Array)
