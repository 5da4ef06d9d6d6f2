"""One problem with a kink or a bound: solved on codes and on X, and certified on X itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import RowMargins
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.running import one_blas_thread
from splinear.solvers.hinge import dual_cd, smoothing
from splinear.solvers.proofs.certificate import certify_problem
from splinear.solvers.proofs.rounding import stand_in

__all__ = ["OneProblem"]

STEP = 2**14  # rows per batch when losses are summed


@dataclass(frozen=True, eq=False)
class OneProblem:
    """The steps that `solve_and_certify` asks for.

    Attributes
    ----------
    rows : TrainingRows
    problem : Problem
        For the wanted C.
    stopping : Stopping
    start : Start or None
    is_tall : bool
        Whether the first run on codes takes passes over all rows.
    """

    rows: TrainingRows
    problem: Problem
    stopping: Stopping
    start: Start | None
    is_tall: bool

    def solve(self, on: TrainingRows, when: Stopping, last: list[Result] | None) -> list[Result]:
        """Return the result on codes, or on X, starting from the last one; it includes alpha."""
        posed, first = self.problem, self.start
        if last is not None and on.is_coded:
            posed, first = stand_in(on, self.problem, self.start, last[0], when.n_threads)
        elif last is not None:
            first = replace(self.start or Start(), alpha=last[0].alpha)
        if first is not None or not self.is_tall:
            return dual_cd.follow_path(on, posed, when, [1.0], first, keep_alpha=True)[:1]
        # 200,000 x 100 (`waves` in benchmarks/sets.py): .5 s of one core, against 2.3 s.
        with one_blas_thread():
            sums = RowMargins([posed], n_threads=when.n_threads)
            [found] = smoothing.solve(on, sums, when)
        assert found.slopes is not None
        return [replace(found, alpha=-posed.y * found.slopes, slopes=None)]

    def certify(self, results: list[Result]) -> list[Result]:
        """Return the result with its objective and gap on X itself."""
        stopping = self.stopping
        return [certify_problem(self.rows, self.problem, self.start, results[0], stopping)]

    def flat(self, worse: float) -> list[Result] | None:
        """Return the result of zero curves, or of a proximal start, if its objective is below."""
        unmoved = self._unmoved()
        return None if unmoved.primal >= worse else self.certify([unmoved])

    def _unmoved(self) -> Result:
        """Return the result for dual variables of 0: zero curves, or those of a proximal start.

        For zero curves, the objective is known without reading X; for a proximal start it is 0.
        """
        rows, problem, start = self.rows, self.problem, self.start
        coef, intercept, primal = np.zeros(rows.layout.n_parameters), 0.0, 0.0
        for begin in range(0, rows.n_rows, STEP):  # in batches, to save memory
            some = problem.some(slice(begin, begin + STEP))
            m = some.margin(np.zeros(len(some.y)))
            primal += float(some.cost @ some.loss.of_margin(m))
        if start is not None and start.proximal and start.coef is not None:
            coef, intercept, primal = start.coef, float(start.intercept), 0.0
        alpha = np.zeros(rows.n_rows)
        return Result(coef, intercept, primal, 0.0, 1.0, n_iter=0, converged=False, alpha=alpha)
