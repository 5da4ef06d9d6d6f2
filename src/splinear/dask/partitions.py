"""The partitions of X, y and weights, as Dask's delayed objects."""

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

Y, W = "y of splinear.dask", "weights of splinear.dask"  # names of columns added to X


@dataclass(frozen=True, eq=False)
class Partitions:
    """The arguments of fit, with equal partitions.

    Attributes
    ----------
    X, y, weights : list of Delayed
        One per partition; each of the weights may be None.
    example : ndarray or DataFrame
        Some rows with the columns and types of X, and arbitrary values.
    """

    X: list[Delayed]
    y: list[Delayed]
    weights: list[Delayed | None]
    example: Input

    @classmethod
    def of(cls, X: Input, y: Input, sample_weight: Input) -> Partitions:
        """Partition y and the weights like X; raise if that is not possible."""
        if y is None:
            raise ValueError("y is None, but every row needs one.")
        y, sample_weight = _column(y, "y"), _column(sample_weight, "sample_weight")
        if is_frame(X) and _are_of_one_frame(X, y, sample_weight):
            return cls(*_joint(X, y, sample_weight), example_of(X))
        lengths, example = None, example_of(X)
        if not is_frame(X):
            if X.numblocks[1] > 1:
                X = X.rechunk({1: X.shape[1]})
            lengths = X.chunks[0]
        given = [X, _aligned(y, "y", lengths)]
        if sample_weight is not None:
            given.append(_aligned(sample_weight, "sample_weight", lengths))
        parts = _divided(given)
        for name, own in zip(("y", "sample_weight"), parts[1:], strict=False):
            if len(own) != len(parts[0]):
                raise ValueError(
                    f"X has {len(parts[0])} partitions, but {name} has {len(own)}. Make both from "
                    "one collection, or rechunk or repartition one of them."
                )
        weights: list[Delayed | None] = [None] * len(parts[0])
        return cls(parts[0], parts[1], list(parts[2]) if len(parts) > 2 else weights, example)

    def numbered(self, n_rows: list[int]) -> list[tuple[int, Delayed, Delayed, Delayed | None]]:
        """Return the index, X, y and weights of partitions with rows, given their row counts."""
        have = [k for k, n in enumerate(n_rows) if n]
        return [(k, self.X[k], self.y[k], self.weights[k]) for k in have]

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
    """Return whether y and weights are computed row by row from the same frame as X."""
    try:
        from dask.dataframe.dask_expr._expr import are_co_aligned
    except ImportError:
        return False
    given = [other for other in others if other is not None]
    if not all(_is_of_pandas(other) and hasattr(other, "expr") for other in given):
        return False
    return bool(are_co_aligned(X.expr, *(other.expr for other in given)))


def _joint(
    X: Input, y: Input, weights: Input
) -> tuple[list[Delayed], list[Delayed], list[Delayed | None]]:
    """Return equal partitions of X, y and weights, which are columns of one frame.

    Separately they might differ, because Dask may read few columns of files in fewer partitions
    than many. Columns of other frames cannot be joined to X, because that would match their
    indices.
    """
    more = {Y: y} if weights is None else {Y: y, W: weights}
    parts, pick = X.assign(**more).to_delayed(), delayed(_picked, pure=False)
    given: list[Delayed | None] = [None] * len(parts)
    if weights is not None:
        given = [pick(part, W) for part in parts]
    return [pick(part, None) for part in parts], [pick(part, Y) for part in parts], given


def _picked(part: Input, name: str | None) -> Input:
    """Return a column of a partition, or for None all columns except y and weights."""
    if name is not None:
        return part[name]
    return part.drop(columns=[own for own in (Y, W) if own in part.columns])


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
    if y.ndim != 1:
        raise ValueError(f"{name} must have one dimension; it has {y.ndim}.")
    if known and not np.isnan(y.chunks[0]).any():
        if sum(y.chunks[0]) != sum(lengths or ()):
            raise ValueError(
                f"X has {int(sum(lengths or ()))} rows, but {name} has {sum(y.chunks[0])}."
            )
        y = y.rechunk((lengths,))
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
