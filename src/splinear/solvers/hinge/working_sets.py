"""Hinge losses by very few passes over all rows, where few of them support the model.

A round goes through a working set of rows, and scores all rows, of all outputs in one pass. The
rows of the set and their products are elsewhere (see :class:`Pool`). Coordinate descent moves their
dual variables, and steps of all that is at no bound do; those of all other rows stay as they are.
What they start from is the gradient that the pass has told, so products that are rounded cost
nothing in the end. The next set has the rows more whose dual variables the pass says will move.

Dual variables are feasible whatever the set is, and their weights those of the model; so what is
between the primal value of all rows and the dual value is the duality gap of the whole problem, and
the same pass tells it. The primal value is that of s times these weights for the best of some s:
where all rows can be on the right side of the margin, a model that is a little larger has far less
loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers.hinge.box import Box
from splinear.solvers.newton.iterate import Space
from splinear.solvers.newton.passes import RowPasses
from splinear.solvers.problems.margin_sums import MarginSums
from splinear.solvers.problems.problem import Problem, Result, Start, Stopping

__all__ = ["Pool", "Sums", "solve"]

FIRST = 4032  # rows of the first set: they are in random order
GROWTH = 6016  # rows that may join it after a round
# How closely a set is solved for: a share of the largest violation of the rows that have joined it,
# or of tol, in units of the margin.
SHARE, CLOSE = 0.1, 0.1
WHOLE = 64  # rows: sets are multiples of that, if they grow by more
MOST_ROUNDS = 200
STRETCHES = 1.0 + np.array([0.0, *2.0 ** np.arange(-10, 0)])


class Sums(MarginSums, Protocol):
    """Sums of losses, of all multiples of a model at once."""

    def stretched(self, F: Floats, scales: Floats) -> Floats:
        """Return the sums of the losses at s F, (n_scales, n_outputs) for n_scales numbers s."""
        ...


class Pool(Protocol):
    """Rows of a working set, and their products."""

    @property
    def numbers(self) -> AnyArray:
        """Which rows these are."""
        ...

    @property
    def most(self) -> int:
        """Rows that there is room for."""
        ...

    def hold(self, numbers: AnyArray) -> None:
        """Make rows of the pool of these; others may stay, if there is room."""
        ...

    def descended(self, box: Box, b: Floats, gradient: Floats, close: float) -> Floats:
        """Return b of all rows where that of the pool's has been solved for.

        About as closely as no violation is more than `close`. Arrays are what the rows make of
        (n_outputs, n_rows).
        """
        ...


def solve(
    rows: RowPasses,
    total: Sums,
    problems: Sequence[Problem],
    stopping: Stopping,
    pool: Pool,
    start: Start | None = None,
) -> list[Result]:
    """Minimize every problem to a relative gap of stopping.tol; one result per output.

    `total` are the sums of the problems' losses over all rows. Of a start, the dual variables
    (n_outputs, n_rows) are taken. n_iter counts rounds.
    """
    space = Space(rows, len(problems), stopping.n_threads, total.kind.bias)
    state, n_rounds = _State.begin(space, total, problems, pool), 0
    if start is not None and start.alpha is not None and start.alpha.any():
        state.look(space.zero_scores() + state.signs * start.alpha)
    while True:
        try:
            state.round(CLOSE * stopping.tol)
        except KeyboardInterrupt as error:
            stopping.watch.fail(error)
        n_rounds += 1
        gap = float(state.gaps.max())
        stop = stopping.watch.on_pass(n_rounds, gap, len(pool.numbers))
        if stop or n_rounds >= min(stopping.max_iter, MOST_ROUNDS) or gap <= stopping.tol:
            return state.results(n_rounds, stopping.tol)


@dataclass(eq=False)
class _State:
    """Dual variables, what the last pass has said of them, and the best that was met."""

    space: Space
    total: Sums
    pool: Pool
    box: Box
    signs: AnyArray  # y, (n_outputs, n_rows)
    b: Floats  # y times the dual variables
    gradient: Floats
    best: Floats  # the models theta of the least objective
    primal: Floats  # (n_outputs,)
    dual: Floats
    proof: Floats = field(init=False)  # b of the largest dual value

    def __post_init__(self) -> None:
        self.proof = self.b.copy()

    @classmethod
    def begin(cls, space: Space, total: Sums, problems: Sequence[Problem], pool: Pool) -> _State:
        """Begin at the models without curves."""
        box, n = Box.of(problems).over(space.zero_scores()), space.n_rows
        primal = [float(p.cost @ p.loss.value(p.margin(np.zeros(n)))) for p in problems]
        signs, dual = np.stack([p.y for p in problems]), np.zeros(len(problems))
        b, best = space.zero_scores(), space.zeros()
        return cls(space, total, pool, box, signs, b, -box.targets, best, np.array(primal), dual)

    @property
    def gaps(self) -> Floats:
        """The gaps as shares of the primal values."""
        gaps = np.maximum(self.primal - self.dual, 0.0)
        return np.asarray(gaps / np.where(self.primal == 0.0, 1.0, self.primal))

    def round(self, close: float) -> None:
        """Choose a set, go through it, about as closely as this at least, and look at all rows."""
        chosen, largest = self._chosen()
        self.pool.hold(chosen)
        close = max(SHARE * largest, close)
        self.look(self.pool.descended(self.box, self.b, self.gradient, close))

    def look(self, b: Floats) -> None:
        """Take dual variables, score all rows, and note what they say."""
        sums = self.space.sums(b)
        theta = self.space.soften(sums)
        F = self.space.scores(theta)
        penalty = 0.5 * np.einsum("kp,kp->k", theta, sums)
        losses, parts = self.total.gaps(F, -b)
        self._note_primal(theta, F, penalty)
        dual = penalty + losses - parts
        better = np.flatnonzero(dual > self.dual)
        if len(better):
            self.dual[better], self.proof[better] = dual[better], b[better]
        self.b, self.gradient = b, F - self.box.targets + self.box.ridge * b

    def _note_primal(self, theta: Floats, F: Floats, penalty: Floats) -> None:
        """Keep the models s theta that are better than any before."""
        primal = STRETCHES[:, None] ** 2 * penalty + self.total.stretched(F, STRETCHES)
        which, k = primal.argmin(axis=0), np.arange(len(penalty))
        better = primal[which, k] < self.primal
        self.primal[better] = primal[which, k][better]
        self.best[better] = (STRETCHES[which][:, None] * theta)[better]

    def _chosen(self) -> tuple[AnyArray, float]:
        """Return the rows of the next set: those before, and some that will move.

        And how much these would gain by that, at most.
        """
        held, most = self.pool.numbers, self.pool.most
        violation = np.array(self.box.violation(self.b, self.gradient).max(axis=0))
        if not len(held) and not self.best.any():  # all alike
            return np.flatnonzero(violation > 0.0)[: min(FIRST, most)], float(violation.max())
        outside = violation.copy()
        outside[held] = 0.0
        more = _largest(outside, GROWTH)
        if len(more) > WHOLE:  # products of aligned matrices are far faster
            more = more[: (len(held) + len(more)) // WHOLE * WHOLE - len(held)]
        chosen, largest = np.concatenate([held, more]), float(outside.max())
        return (chosen if len(chosen) <= most else _largest(violation, most)), largest

    def results(self, n_rounds: int, tol: float) -> list[Result]:
        """Return the best models, with their proofs."""
        proof, done = np.array(self.proof), self.gaps <= tol
        return [
            Result(
                coef=self.best[k, :-1],
                intercept=float(self.best[k, -1]),
                primal=float(self.primal[k]),
                dual=float(self.dual[k]),
                gap=float(self.gaps[k]),
                n_iter=n_rounds,
                converged=bool(done[k]),
                certified=bool(done[k]),
                alpha=self.signs[k] * proof[k],
                slopes=-proof[k],
            )
            for k in range(len(proof))
        ]


def _largest(values: Floats, most: int) -> AnyArray:
    """Return where numbers are the largest, and not 0."""
    there = np.flatnonzero(values > 0.0)
    if len(there) <= most:
        return there
    return np.sort(there[np.argpartition(-values[there], most)[:most]])
