"""Dual coordinate descent in plain NumPy on the explicit embedding: slow, short, and the yardstick.

One row at a time, no shrinking, no blocks: Algorithm 1 of Hsieh et al. (ICML 2008).
"""

from __future__ import annotations

import numpy as np
from written_out import explicit, parameters_of

from splinear._types import AnyArray, Floats
from splinear.losses.margin import MarginLoss
from splinear.model.layout import Layout
from splinear.objective.problem import Problem, Result, Stopping


def solve(X: AnyArray, layout: Layout, problem: Problem, stopping: Stopping) -> Result:
    """Solve the problem on the rows X to a relative duality gap of stopping.tol."""
    phi = np.column_stack([explicit(layout, X), np.full(len(X), problem.bias)])
    y, cost, loss = problem.y.astype(np.float64), problem.cost, problem.loss
    assert isinstance(loss, MarginLoss)
    t = np.zeros(len(X)) if problem.targets is None else problem.targets
    curvature = np.einsum("ij,ij->i", phi, phi)
    alpha, w = np.zeros(len(X)), np.zeros(phi.shape[1])
    random = np.random.default_rng(stopping.seed)
    n_iter, gap, primal, dual = 0, np.inf, np.inf, 0.0
    while n_iter < stopping.max_iter and gap > stopping.tol:
        n_iter += 1
        for i in random.permutation(len(X)):
            after = loss.step(alpha[i], y[i] * (w @ phi[i]) - t[i], curvature[i], cost[i])
            w += (after - alpha[i]) * y[i] * phi[i]
            alpha[i] = after
        primal, dual = _objectives(phi, w, alpha, problem)
        gap = (primal - dual) / primal
    converged = gap <= stopping.tol
    coef = parameters_of(layout, w[:-1])
    intercept = problem.bias * w[-1]
    return Result(coef, intercept, primal, dual, gap, n_iter, converged, converged)


def _objectives(phi: Floats, w: Floats, alpha: Floats, problem: Problem) -> tuple[float, float]:
    penalty, cost = 0.5 * float(w @ w), problem.cost
    primal = penalty + float(np.sum(cost * problem.loss.of_margin(problem.margin(phi @ w))))
    dual = float(np.sum(problem.loss.dual(alpha, cost))) - penalty
    dual += 0.0 if problem.targets is None else float(alpha @ problem.targets)
    return primal, dual
