"""Hinge-like losses by working sets: very few passes over all rows, if few support the model.

A round solves for the dual variables of a working set of rows, and then scores all rows, for all
outputs in one pass. The rows of the set and their inner products are held on a device (see
:class:`Pool`). The dual variables in the set move by coordinate descent and by joint steps of those
at no bound; all others stay fixed. Each round starts from the exact gradient of the last pass, so
rounded products do not affect the final result. The next set gains the rows whose dual variables
violate optimality most.

Dual variables are feasible for any set, and the model's weights follow from them. So the primal
value over all rows minus the dual value is the duality gap of the whole problem, computed in the
same pass. The primal value is that of s times these weights, for the best of several s: if classes
are separable, a slightly larger model has far less loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.objective.margin_sums import MarginSums
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.rows import Rows
from splinear.objective.space import Space
from splinear.solvers.hinge.box import Box

__all__ = ["Pool", "Sums", "solve"]

FIRST = 4032  # rows of the first set, which are a random sample
GROWTH = 6016  # largest number of rows added per round
# Accuracy of the solution on a set, in units of the margin: a share of the largest violation of the
# rows added to it, or of tol.
SHARE, CLOSE = 0.1, 0.1
WHOLE = 64  # sizes of sets are multiples of this, if they grow by more
MOST_ROUNDS = 200
STRETCHES = 1.0 + np.array([0.0, *2.0 ** np.arange(-10, 0)])


class Sums(MarginSums, Protocol):
    """Sums of losses that can be computed for several multiples of a model at once."""

    def stretched(self, F: Floats, scales: Floats) -> Floats:
        """Return the sums of the losses at s F for each scale s, (n_scales, n_outputs)."""
        ...


class Pool(Protocol):
    """The rows of a working set, and their inner products."""

    @property
    def numbers(self) -> AnyArray:
        """Indices of the rows."""
        ...

    @property
    def most(self) -> int:
        """Largest number of rows."""
        ...

    def hold(self, numbers: AnyArray) -> None:
        """Make these rows the working set; others may stay if there is room."""
        ...

    def sums(self, b: Floats) -> Floats:
        """Return what `rows.sums(b)` does, quickly if b is 0 for most rows."""
        ...

    def descended(self, box: Box, b: Floats, gradient: Floats, close: float) -> Floats:
        """Return b of all rows after solving for that of the working set.

        No violation within the set is then much above `close`. Arrays are (n_outputs, n_rows),
        stored where the rows are.
        """
        ...


def solve(
    rows: Rows,
    total: Sums,
    problems: Sequence[Problem],
    stopping: Stopping,
    pool: Pool,
    start: Start | None = None,
) -> list[Result]:
    """Solve every problem to a relative gap of stopping.tol, and return one result per output.

    `total` holds the sums of the problems' losses over all rows. Of a start, only the dual
    variables (n_outputs, n_rows) are used. n_iter counts rounds.
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
    """Dual variables, their gradient, and the best models and proofs so far."""

    space: Space
    total: Sums
    pool: Pool
    box: Box
    signs: AnyArray  # y, (n_outputs, n_rows)
    b: Floats  # y times the dual variables
    gradient: Floats
    best: Floats  # the models theta of the lowest objective
    primal: Floats  # (n_outputs,)
    dual: Floats
    proof: Floats = field(init=False)  # b of the largest dual value

    def __post_init__(self) -> None:
        self.proof = self.b.copy()

    @classmethod
    def begin(cls, space: Space, total: Sums, problems: Sequence[Problem], pool: Pool) -> _State:
        """Return the state at zero models."""
        box, n = Box.of(problems, space.zero_scores()), space.n_rows
        primal = [float(p.cost @ p.loss.of_margin(p.margin(np.zeros(n)))) for p in problems]
        signs, dual = np.stack([p.y for p in problems]), np.zeros(len(problems))
        b, best = space.zero_scores(), space.zeros()
        return cls(space, total, pool, box, signs, b, -box.targets, best, np.array(primal), dual)

    @property
    def gaps(self) -> Floats:
        """The gaps relative to the primal values, (n_outputs,)."""
        gaps = np.maximum(self.primal - self.dual, 0.0)
        return np.asarray(gaps / np.where(self.primal == 0.0, 1.0, self.primal))

    def round(self, close: float) -> None:
        """Choose a set, solve on it to the accuracy `close` or coarser, and score all rows."""
        chosen, largest = self._chosen()
        self.pool.hold(chosen)
        close = max(SHARE * largest, close)
        self.look(self.pool.descended(self.box, self.b, self.gradient, close))

    def look(self, b: Floats) -> None:
        """Set b, score all rows, and update primal values, dual values and gradient."""
        sums = self.space.join(self.pool.sums(b), self.space.totals(b))
        theta = self.space.from_penalty_gradient(sums)
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
        """Keep the models s theta that improve on the best ones."""
        primal = STRETCHES[:, None] ** 2 * penalty + self.total.stretched(F, STRETCHES)
        which, k = primal.argmin(axis=0), np.arange(len(penalty))
        better = primal[which, k] < self.primal
        self.primal[better] = primal[which, k][better]
        self.best[better] = (STRETCHES[which][:, None] * theta)[better]

    def _chosen(self) -> tuple[AnyArray, float]:
        """Return the rows of the next set, and the largest violation of those that are new.

        The set keeps its rows and gains those with the largest violations.
        """
        held, most = self.pool.numbers, self.pool.most
        violation = np.array(self.box.violation(self.b, self.gradient).max(axis=0))
        if not len(held) and not self.best.any():  # the first set: all violations are alike
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
    """Return the indices of the `most` largest positive numbers, sorted."""
    there = np.flatnonzero(values > 0.0)
    if len(there) <= most:
        return there
    return np.sort(there[np.argpartition(-values[there], most)[:most]])
