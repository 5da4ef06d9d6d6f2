"""Correction for the rounding of codes: a problem on codes that is close to that on X.

Let alpha be dual variables, and theta a model with the curves f. On codes, with

    targets    t_i + y_i (f(code_i) - f(x_i)),
    penalty    1/2 |w - w_0|^2,   w_0 = sum_i alpha_i y_i (phi(x_i) - phi(code_i)),

margins and weights at alpha and theta equal those on X; near them, rounding affects only the change
since. So the solution of this problem is far closer to that on X, at the cost of codes, and a
further correction from there brings it closer still.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from splinear._types import Floats
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Result, Start
from splinear.solvers.proofs.rounding import rows_in_doubt

__all__ = ["stand_in"]


def stand_in(
    rows: TrainingRows, problem: Problem, start: Start | None, found: Result, n_threads: int
) -> tuple[Problem, Start]:
    """Return the corrected problem on codes near a result, and its start.

    Rows whose loss is 0 both on X and on codes keep their targets (see `rows_in_doubt`).
    """
    assert found.alpha is not None
    doubt = rows_in_doubt(rows, problem, found, n_threads)
    sums = -rows.sums((problem.y * found.alpha)[None], n_threads)[0]
    targets: Floats = rows.scores(found.coef[None], n_threads)[0]
    seen = np.zeros(rows.n_rows, dtype=bool)
    for piece in rows.values(doubt):
        here = piece.places
        targets[here] -= piece.scores(found.coef[None], n_threads)[0]
        sums += piece.sums((problem.y[here] * found.alpha[here])[None], n_threads)[0]
        seen[here] = True
    targets[~seen] = 0.0
    targets *= problem.y
    if problem.targets is not None:
        targets += problem.targets
    shift, intercept = rows.layout.soften(sums), 0.0
    if start is not None and start.proximal and start.coef is not None:
        shift, intercept = shift + start.coef, float(start.intercept)
    first = Start(coef=shift, intercept=intercept, proximal=True, alpha=found.alpha)
    return replace(problem, targets=targets), first
