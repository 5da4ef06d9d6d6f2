"""Which rows of X have to be read for the objective and the gap of a model on X.

The certificate of dual coordinate descent is a sum over rows. A row whose dual variable is 0 adds
nothing to the model's norm; and nothing to the losses and the gap either, if its margin is where
the loss is 0. Codes tell that of most rows without X: a score by codes is about that by X, and no
farther from it than the curves' slopes allow within half a step of the codes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.curves.basis import BSplineBasis
from splinear.model.group import TermGroup
from splinear.solvers.problems.problem import Problem, Result
from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["error_of_codes", "rows_in_doubt"]

HALF_A_STEP = 0.5 * (1 + 1e-6)  # codes are rounded in double precision
UNIT = 2.0**-24  # rounding of single precision, in which codes are scored
N_ROUNDINGS = 64  # of one curve's value, at most
STEP = 2**14  # rows at a time: what is computed of all of them takes memory
MOST_READ = 0.5  # share of the rows; where more have dual variables, all may as well be read


def rows_in_doubt(
    rows: TrainingRows, problem: Problem, found: Result, n_threads: int
) -> NDArray[np.bool_] | None:
    """Return which rows, in the order of training, may count in a certificate; None: all.

    The others' dual variables are 0, and so is their loss, on X as on its codes.
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
        # Not the other way around: a margin that is no number is in doubt.
        in_doubt[some] |= ~((margin > ends[0] + error) & (margin < ends[1] - error))
    return in_doubt


def error_of_codes(rows: TrainingRows, coef: Floats) -> float | None:
    """Return how far a row's score by codes can be from that by X, at most; None: unknown."""
    if rows.pairs is not None:
        return None
    tables = rows.layout.split(rows.layout.tables(coef))
    errors = [_error(group, own) for group, own in zip(rows.layout.groups, tables, strict=True)]
    known = [error for error in errors if error is not None]
    return sum(known) if len(known) == len(errors) else None


def _error(group: TermGroup, tables: Floats) -> float | None:
    """Return the same for one group and the tables of its curves, (n_features, stride)."""
    basis = group.embedding.basis
    if not isinstance(basis, BSplineBasis):
        return None
    if basis.degree == 0 and group.levels is None:
        return None  # a value at the edge of a bin may fall on either side
    curves = tables[:, : group.size]
    largest = float(np.abs(tables).max(axis=1, initial=0.0).sum())
    # A B-spline is nowhere steeper than the steepest difference of neighboring coefficients.
    steepest = float(np.abs(np.diff(curves)).max(axis=1, initial=0.0).sum())
    step = basis.n_bins / group.grid.steps
    moved = 0.0 if basis.degree == 0 else HALF_A_STEP * step * steepest
    return moved + UNIT * (N_ROUNDINGS + group.n_features) * largest
