"""Dual coordinate descent in the core: the rows are coded once, the embedding computed on the fly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray
from splinear.embedding import Embedding
from splinear.solvers.problem import Problem, Result, Stopping

__all__ = ["encode", "float_chunks", "solve"]

# Values per piece of X that is read at a time: a few megabytes, so that Ctrl-C is heard and the
# conversion of whole numbers to floats needs no second copy of X.
_CHUNK = 2**20


def float_chunks(X: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Give X in pieces of rows, float32 and float64 as they are, other types as float64."""
    rows = max(1, _CHUNK // max(1, X.shape[1]))
    for start in range(0, len(X), rows):
        piece = X[start : start + rows]
        if piece.dtype not in (np.float32, np.float64):
            piece = piece.astype(np.float64)
        if not piece.dtype.isnative or not piece.flags.aligned:
            piece = piece.astype(piece.dtype.newbyteorder("="), copy=True)
        yield slice(start, start + len(piece)), piece


def encode(
    X: AnyArray, embedding: Embedding, places: NDArray[np.int64], n_threads: int
) -> _core.Codes:
    """Code row i of X into row places[i] of the result; a negative place leaves the row out."""
    n_rows = int(np.count_nonzero(places >= 0))
    codes = _core.Codes(n_rows, X.shape[1], embedding.basis.grid())
    axes = embedding.axes.core()
    for rows, piece in float_chunks(X):
        codes.fill(piece, places[rows], axes, n_threads)
    return codes


def solve(X: AnyArray, embedding: Embedding, problem: Problem, stopping: Stopping) -> Result:
    """Solve the problem on the rows X to a relative duality gap of stopping.tol.

    The gap is that of the coded rows: every value rounded to one of 65,536 (at least 32,768)
    positions along its axis. Beyond X this takes 2 bytes a value and about 13 bytes a row.
    """
    # Rows are shuffled while they are coded, so that a pass may read them nearly in order.
    order = np.random.default_rng(stopping.seed).permutation(len(X))
    used = problem.cost[order] > 0
    order = order[used]
    places = np.full(len(X), -1, dtype=np.int64)
    places[order] = np.arange(len(order))
    y = problem.y[order]
    weights = None if problem.weights is None else problem.weights[order]
    del order, used
    codes = encode(X, embedding, places, stopping.n_threads)
    del places

    # Scaling all embeddings by 1 / r and the costs by r^2 leaves the model as it is, and keeps
    # squared lengths in the range of a float even where native units are as large as 1e300.
    scale, axes, basis = embedding.scale, embedding.axes, embedding.basis
    unit = max(float(scale.max(initial=0.0)), problem.bias**2) or 1.0
    found = _core.train(
        codes,
        basis.core(),
        embedding.penalty.core(basis.support),
        axes.first,
        axes.last,
        scale / unit,
        problem.loss.core(),
        y,
        weights,
        cost_negative=problem.cost_negative * unit,
        cost_positive=problem.cost_positive * unit,
        bias=problem.bias / unit**0.5,
        tol=stopping.tol,
        max_iter=stopping.max_iter,
        seed=stopping.seed,
        n_threads=stopping.n_threads,
        on_pass=stopping.on_pass,
    )
    return Result(
        coef=found.coef.reshape(embedding.n_features, basis.size),
        intercept=found.intercept,
        primal=found.primal / unit,
        dual=found.dual / unit,
        gap=found.gap,
        n_iter=found.n_iter,
        converged=found.converged,
    )
