"""How smooth each curve should be, from the data themselves and without folds.

A penalised fit is a Bayesian one: exp(-1/2 coef_j' S coef_j / t_j), S = T^{-T} T^{-1}, is a prior
on the curve of feature j, and its variance t_j can be chosen to make the data most likely once the
curves are integrated out (restricted maximum likelihood, REML, as in mixed models). With V_j the
posterior covariance of coef_j and m_j its length, the maximum is where

    t_j = coef_j' S coef_j / e_j,     e_j = m_j - trace(S V_j) / t_j,

e_j being the degrees of freedom that the curve uses. Iterating this (the Fellner-Schall update; see
Wood and Fasiolo, "A generalized Fellner-Schall method for smoothing parameter optimization",
Biometrics 2017) never lets t_j become negative, and costs little when each turn takes one Newton
step. Of the Hessian only the diagonal blocks are used, one a feature: V_j is taken as if the curves
of the other features were known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.solvers import newton
from splinear.solvers.problem import Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Sum

__all__ = ["Smoothness", "choose_scale"]

MAX_TURNS = 30
SETTLED = 0.01  # change of the degrees of freedom in all
LEAST = 1e-8  # of the first guess: a curve this stiff is flat


@dataclass(frozen=True, eq=False)
class Smoothness:
    """s_j^2 and degrees of freedom e_j of every feature, and the models found on the way."""

    scale: Floats
    freedom: Floats
    starts: list[Start]
    n_turns: int


def choose_scale(
    rows: TrainingRows,
    totals: Sequence[Sum],
    bias: float,
    stopping: Stopping,
    *,
    noise: bool = False,
) -> Smoothness:
    """Choose s_j^2 of every feature, in place of rows.embedding.scale.

    `totals` are the sums of losses of all outputs, at cost 1, which share the result. They are
    log-likelihoods, up to a factor if `noise`: then the losses are r^2 / 2, and the variance of
    the residuals is estimated along. After Ctrl-C the last turn counts, and the exception is kept.
    """
    turns = _turns(rows, totals, bias, stopping, noise=noise)
    found = next(turns)
    try:
        for found in turns:  # noqa: B007 (the last one is wanted)
            pass
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
    return found


def _turns(
    rows: TrainingRows, totals: Sequence[Sum], bias: float, stopping: Stopping, *, noise: bool
) -> Iterator[Smoothness]:
    """Give what every turn has found, until little changes."""
    embedding = rows.embedding
    scale, starts = embedding.scale.copy(), [Start() for _ in totals]
    one_step = replace(stopping, max_iter=1, tol=0.0)
    before = np.inf  # degrees of freedom in all
    for n_turns in range(1, MAX_TURNS + 1):
        here = replace(rows, embedding=replace(embedding, scale=scale))
        squares, freedom = np.zeros(embedding.n_features), np.zeros(embedding.n_features)
        misfit = 0.0
        for k, total in enumerate(totals):
            found = newton.solve(here, total, one_step, bias, starts[k])
            coef = np.stack([result.coef for result in found])
            intercept = np.array([result.intercept for result in found])
            starts[k] = Start(coef=coef, intercept=intercept)
            F = here.scores(coef, stopping.n_threads) + intercept[:, None]
            misfit += total.value(F)
            for curve, h in zip(coef, total.curvature(F).diagonal, strict=True):
                more = _squares_and_freedom(here, curve, h, stopping.n_threads)
                squares, freedom = squares + more[0], freedom + more[1]
        dispersion = 2.0 * misfit / max(1.0, rows.n_rows - freedom.sum()) if noise else 1.0
        scale = _update(embedding.scale, squares / dispersion, freedom)
        yield Smoothness(scale, freedom, list(starts), n_turns)
        if abs(freedom.sum() - before) <= SETTLED * freedom.sum() or stopping.watch.poll():
            return
        before = freedom.sum()


def _update(first: Floats, squares: Floats, freedom: Floats) -> Floats:
    wanted = np.divide(squares, freedom, out=np.zeros_like(squares), where=freedom > 0)
    return np.where(first > 0, np.clip(wanted, LEAST * first, 1e8 * first), 0.0)


def _squares_and_freedom(
    rows: TrainingRows, coef: Floats, h: Floats, n_threads: int
) -> tuple[Floats, Floats]:
    """coef_j' S coef_j and e_j of every feature."""
    embedding, basis = rows.embedding, rows.embedding.basis
    blocks = _core.blocks_all(
        rows.core, basis.core(), embedding.n_features, np.ascontiguousarray(h), n_threads
    ).reshape(embedding.n_features, basis.size, basis.support)
    squares = np.zeros(embedding.n_features)
    freedom = np.zeros(embedding.n_features)
    n_used, used, stiffnesses = embedding.n_used, embedding.used, embedding.stiffnesses
    for j in np.flatnonzero(embedding.scale > 0):
        m, free = int(n_used[j]), np.flatnonzero(used[j])
        S = stiffnesses[m][np.ix_(free, free)]
        M = _from_bands(blocks[j], m)[np.ix_(free, free)] + S / embedding.scale[j]
        squares[j] = coef[j, free] @ S @ coef[j, free]
        freedom[j] = len(free) - np.trace(np.linalg.solve(M, S)) / embedding.scale[j]
    return squares, np.maximum(freedom, 0.0)


def _from_bands(bands: Floats, m: int) -> Floats:
    """Give the symmetric matrix (m, m) whose entry (k, k + p) is bands[k, p]."""
    out = np.zeros((m, m))
    for p in range(min(m, bands.shape[1])):
        at = np.arange(m - p)
        out[at, at + p] = out[at + p, at] = bands[: m - p, p]
    return out
