"""Lazy predictions, partition by partition."""

from __future__ import annotations

from functools import partial

import dask.array as da
import numpy as np
from dask.delayed import delayed

from splinear._types import AnyArray, Input
from splinear.dask.partitions import Partitions, example_of, is_frame
from splinear.tables.checks import check_columns
from splinear.tables.opening import open_table
from splinear.training.estimator import AdditiveEstimator

__all__ = ["lazily"]


def lazily(model: AdditiveEstimator, name: str, X: Input, offset: Input) -> da.Array:
    """Return model.name(X, offset=offset) as a lazy Dask array with the partitions of X.

    Columns that differ from those in fit raise an error at once.
    """
    check_columns(model, open_table(example_of(X)), reset=False)
    like = _example(model, name)
    predict = partial(_predicted, model, name, like)
    if offset is not None:
        parts = Partitions.of(X, None, None, offset)
        parts.check_offset(model._model.n_outputs)
        lengths = [np.nan] * len(parts.X) if is_frame(X) else X.chunks[0]
        shared = delayed(predict, pure=False)
        blocks = [
            da.from_delayed(shared(x, o), (n, *like.shape[1:]), dtype=like.dtype, meta=like)
            for x, o, n in zip(parts.X, parts.offset, lengths, strict=True)
        ]
        joined: da.Array = da.concatenate(blocks, allow_unknown_chunksizes=True)
        return joined
    if is_frame(X):
        frame: da.Array = X.map_partitions(predict, meta=like)
        return frame
    if X.numblocks[1] > 1:
        X = X.rechunk({1: X.shape[1]})
    how = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
    made: da.Array = X.map_blocks(predict, dtype=like.dtype, meta=like, **how)
    return made


def _example(model: AdditiveEstimator, name: str) -> AnyArray:
    """Return the prediction for no rows, which has the right type and shape."""
    loss, scores = model._loss, np.zeros((0, model._model.n_outputs))
    made = {"predict": "predict", "decision_function": "decision"}.get(name, "probabilities")
    return np.asarray(getattr(loss, made)(scores))


def _predicted(
    model: AdditiveEstimator, name: str, like: AnyArray, X: Input, offset: Input = None
) -> AnyArray:
    """Return the predictions of a partition."""
    return np.asarray(getattr(model, name)(X, offset=offset)) if X.shape[0] else like
