"""The rounding of codes: the rows of X that a certificate must read, and how to correct for it.

The certificate of dual coordinate descent is a sum over rows. A row whose dual variable is 0 adds
nothing to the model's norm, and nothing to the losses and the gap if its loss is 0. For most rows
this is known from codes: a score from codes differs from that on X by at most the change of the
curves within half a step of the codes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Result, Start
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import TermGroup

__all__ = ["error_of_codes", "rows_in_doubt", "stand_in"]

HALF_A_STEP = 0.5 * (1 + 1e-6)  # codes are computed and rounded in double precision
UNIT = 2.0**-24  # rounding unit of single precision, in which coded rows are scored
N_ROUNDINGS = 64  # upper bound of the rounding operations per curve
STEP = 2**14  # rows per batch, to save memory
MOST_READ = 0.5  # share of rows with dual variables above which all rows are read


def rows_in_doubt(
    rows: TrainingRows, problem: Problem, found: Result, n_threads: int
) -> NDArray[np.bool_] | None:
    """Return whether each row, in training order, may add to a certificate; None if all may.

    The other rows have a dual variable of 0 and a loss of 0, both on X and on its codes.
    """
    assert found.alpha is not None
    in_doubt: NDArray[np.bool_] = found.alpha != 0.0
    ends, n_read = problem.loss.at_no_cost, np.count_nonzero(in_doubt)
    if ends is None or not rows.is_coded or n_read > MOST_READ * len(in_doubt):
        return None
    error = error_of_codes(rows, found.coef)
    if error is None or not np.isfinite(error):
        return None
    scores = rows.scores(found.coef[None], n_threads)[0]
    for start in range(0, len(scores), STEP):
        some = slice(start, start + STEP)
        margin = problem.some(some).margin(scores[some] + found.intercept)
        # Negated, so that a margin of NaN is in doubt.
        in_doubt[some] |= ~((margin > ends[0] + error) & (margin < ends[1] - error))
    return in_doubt


def error_of_codes(rows: TrainingRows, coef: Floats) -> float | None:
    """Return a bound of the difference of scores from codes and from X; None if unknown."""
    if rows.pairs is not None:
        return None
    tables = rows.layout.split(rows.layout.tables(coef))
    errors = [_error(group, own) for group, own in zip(rows.layout.groups, tables, strict=True)]
    known = [error for error in errors if error is not None]
    return sum(known) if len(known) == len(errors) else None


def _error(group: TermGroup, tables: Floats) -> float | None:
    """Return this bound for one group and the tables of its curves, (n_features, stride)."""
    basis = group.embedding.basis
    if not isinstance(basis, BSplineBasis):
        return None
    if basis.degree == 0 and group.levels is None:
        return None  # a value at the edge of a bin may be rounded to either side
    curves = tables[:, : group.size]
    largest = float(np.abs(tables).max(axis=1, initial=0.0).sum())
    # The slope of a B-spline is at most the largest difference of neighboring coefficients.
    steepest = float(np.abs(np.diff(curves)).max(axis=1, initial=0.0).sum())
    step = basis.n_bins / group.grid.steps
    moved = 0.0 if basis.degree == 0 else HALF_A_STEP * step * steepest
    return moved + UNIT * (N_ROUNDINGS + group.n_features) * largest


def stand_in(
    rows: TrainingRows, problem: Problem, start: Start | None, found: Result, n_threads: int
) -> tuple[Problem, Start]:
    """Return a problem on codes that is close to that on X near a result, and its start.

    Let alpha be dual variables, and theta a model with the curves f. On codes, with

        targets    t_i + y_i (f(code_i) - f(x_i)),
        penalty    1/2 |w - w_0|^2,   w_0 = sum_i alpha_i y_i (phi(x_i) - phi(code_i)),

    margins and weights at alpha and theta equal those on X; near them, rounding affects only the
    change since. So the solution of this problem is far closer to that on X, at the cost of codes,
    and a further correction from there brings it closer still.

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
