"""Dual coordinate descent in the core: rows are coded once, the embedding computed on the fly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._reading import as_floats, float_chunks
from splinear._types import AnyArray
from splinear.embedding import Embedding
from splinear.solvers.problem import Problem, Result, Stopping

__all__ = ["CODES_SUFFICE", "encode", "solve"]

# The tolerance from which on 16-bit codes serve: their rounding moves the objective by far less.
CODES_SUFFICE = 1e-3


def _places(problem: Problem, seed: int) -> tuple[NDArray[np.int64], int]:
    """Give every row that costs something a random place, the others -1; and count the places."""
    kept = problem.cost > 0
    n_rows = int(np.count_nonzero(kept))
    places = np.full(len(kept), -1, dtype=np.int64)
    places[kept] = np.random.default_rng(seed).permutation(n_rows)
    return places, n_rows


def _placed(values: AnyArray, places: NDArray[np.int64], n_rows: int) -> AnyArray:
    out = np.empty(n_rows, dtype=values.dtype)
    out[places[places >= 0]] = values[places >= 0]
    return out


def encode(
    X: AnyArray, embedding: Embedding, places: NDArray[np.int64], n_threads: int
) -> _core.Codes:
    """Code row i of X into row places[i] of the result; a negative place leaves the row out."""
    codes = _core.Codes(int(places.max()) + 1, X.shape[1], embedding.basis.grid())
    axes = embedding.axes.core()
    for rows, piece in float_chunks(X):
        codes.fill(piece, places[rows], axes, n_threads)
    return codes


def _rows(
    X: AnyArray, embedding: Embedding, places: NDArray[np.int64], stopping: Stopping
) -> _core.Rows:
    if stopping.tol >= CODES_SUFFICE:
        codes = encode(X, embedding, places, stopping.n_threads)
        return _core.coded_rows(codes, embedding.axes.core())
    order = np.argsort(places)[len(places) - int(places.max()) - 1 :]
    return _core.value_rows(as_floats(X), embedding.axes.core(), order)


def solve(X: AnyArray, embedding: Embedding, problem: Problem, stopping: Stopping) -> Result:
    """Solve the problem on the rows X to a relative duality gap of stopping.tol.

    Every value is first rounded to one of at least 32,768 places along its axis, a code of 16
    bits: beyond X this takes 2 bytes a value and about 13 bytes a row. A tolerance below 1e-3 could
    tell the difference; then X itself is read, and there are no codes.
    """
    # Rows are shuffled once, here, so that a pass may take them nearly in order.
    places, n_rows = _places(problem, stopping.seed)
    y = _placed(problem.y, places, n_rows)
    weights = None if problem.weights is None else _placed(problem.weights, places, n_rows)
    rows = _rows(X, embedding, places, stopping)
    del places

    # Scaling all embeddings by 1 / r and the costs by r^2 leaves the model as it is, and keeps
    # squared lengths in the range of a float even where native units are as large as 1e300.
    scale, basis = embedding.scale, embedding.basis
    unit = min(max(float(scale.max(initial=0.0)), problem.bias**2), 1e280) or 1.0
    found = _core.train(
        rows,
        basis.core(),
        embedding.penalty.core(basis.support),
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
