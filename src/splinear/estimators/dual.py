"""Training of AdditiveSVC and AdditiveSVR by dual coordinate descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TypeVar, cast

import numpy as np

from splinear._compat import Interval
from splinear._types import Constraints, Floats
from splinear.estimators.trainer import Duals, LastFit, Trained, starts_like
from splinear.losses.base import Loss
from splinear.model.layout import Layout
from splinear.objective.local.memory import NEED_DUAL, BytesPerRow
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import MarginSums, RowMargins
from splinear.objective.problem import Problem, Result, Start, Stopping, stack
from splinear.objective.running import one_blas_thread, side_by_side
from splinear.objective.training_set import Problems, Response, TrainingSet, WeightedRows
from splinear.solvers.choosing_c import choose_cost
from splinear.solvers.hinge import dual_cd, primal
from splinear.solvers.hinge.margin_proof import ExactPasses, solve_margins
from splinear.solvers.hinge.primal import check_forms, follow_primal, proven_primal
from splinear.solvers.proofs.certificate import certify_problem, solve_and_certify
from splinear.solvers.proofs.rounding import stand_in
from splinear.tables.table import Table
from splinear.terms.advice import advise_fixed
from splinear.terms.base import Advice

__all__ = ["DUAL_PARAMETERS", "DualTrainer", "PassTrainer"]

MAX_BIAS = 1e8  # squared norms are added to its square: beyond 1e16 they would lose all digits

DUAL_PARAMETERS: Constraints = {
    "C": [Interval(Real, 0, 1e200, closed="right"), None],  # squares of more overflow
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, MAX_BIAS, closed="right")],
}

Found = TypeVar("Found")

WARM_GAP = 0.2  # relative gap up to which dual variables are worth starting from
SHARES = (*np.geomspace(1.0, 1e-6, 25), 0.0)  # factors tried for dual variables of a warm start
STEP = 2**14  # rows per batch when losses are summed


@dataclass(frozen=True)
class DualTrainer:
    """Trains one problem per output, several of them in parallel.

    For each output it minimizes 1/2 |w|^2 + 1/2 b^2 + C sum_i c_i loss(y_i, w'phi(x_i) + B b).

    Attributes
    ----------
    C : float or None
        None to choose it on rows held out: see `chosen`, which must be called before all else.
    bias : float
        B; 0 for a model without intercept.
    keep_duals : bool
        Whether dual variables are kept for a warm start.
    """

    C: float | None
    bias: float
    keep_duals: bool = False

    fits_pairs = False
    merges_copies = False  # C is given, so a weight of 2 is two rows

    @property
    def _given(self) -> float:
        if self.C is None:
            raise ValueError("C must be chosen first.")
        return self.C

    def advice(self, table: Table, n_units: float) -> Advice:
        """Return the default number of bins under one C for all terms."""
        del n_units
        return advise_fixed(table)

    def need(self, loss: Loss) -> BytesPerRow:
        """Return the memory per row of one problem."""
        del loss
        return NEED_DUAL

    def width(self, loss: Loss, n_threads: int) -> int:
        """Return how many outputs are trained in parallel."""
        return min(n_threads, loss.n_outputs)

    def path_unit(self, response: Response) -> float:
        """Return the unit of the scores: |w|^2 grows with its square, the losses linearly."""
        return response.loss.spread(response.unexplained)

    def margins(self, response: Response, rows: WeightedRows) -> RowMargins:
        """Return the sums of losses of all outputs, for C, over rows in this process."""
        problem_of, C = response.problems(rows, self.bias), self._given
        return RowMargins([problem_of(k).scaled(C) for k in range(response.loss.n_outputs)])

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Return starts from the last fit's dual variables and model; None if n_rows differs."""
        duals = last.duals
        if duals is None or duals.alpha.shape != (n_outputs, n_rows):
            return None
        models = starts_like(last.model, layout, n_outputs) or [Start()] * n_outputs
        pairs = zip(models, duals.alpha * (self._given / duals.C), strict=True)
        return [replace(model, alpha=alpha) for model, alpha in pairs]

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        rows, C = data.rows, self._given
        keeps = self.keep_duals and rows.layout.cone is None  # no help to shape-constrained curves

        # One array for all outputs, so that the coefficients of many classes are not stored twice.
        parameters = np.empty((data.loss.n_outputs, rows.layout.n_parameters))

        def train(k: int, problem: Problem, own: Stopping, start: Start | None) -> Result:
            prove = proven_primal if _is_primal(rows, problem, start) else _proven
            found = prove(rows, problem.scaled(C), own, start)
            parameters[k] = found.coef
            # A view of alpha would keep the core's whole result alive, including the coefficients.
            alpha = found.alpha.copy() if keeps and found.alpha is not None else None
            return replace(found, coef=parameters[k], alpha=alpha)

        starts = _placed(data, starts)
        results, alphas = self._each(data, stopping, C, starts, train), []
        if keeps:
            alphas = [rows.restore(found.alpha) for found in results if found.alpha is not None]
        duals = Duals(np.stack(alphas), C) if alphas else None
        results = data.restored([replace(found, alpha=None) for found in results])
        return Trained(data, rows.layout, results, duals=duals)

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn."""
        rows = data.rows

        def train(_: int, problem: Problem, own: Stopping, start: Start | None) -> list[Result]:
            if _is_primal(rows, problem, start):
                return follow_primal(rows, problem, own, Cs, start)
            return dual_cd.follow_path(rows, problem, own, Cs, start)

        paths = self._each(data, stopping, Cs[0], _placed(data, starts), train)
        # Some outputs may have been stopped before others.
        return [data.restored(of_C) for of_C in zip(*paths, strict=False)]

    def chosen(self, data: TrainingSet, stopping: Stopping) -> DualTrainer:
        """Return the trainer with a C chosen on rows held out, if there is none."""
        if self.C is not None:
            return self
        unit = self.path_unit(data.response) / data.weighted.mean_weight
        return replace(self, C=choose_cost(self, data, stopping, unit))

    def problems(self, data: TrainingSet) -> Problems:
        """Return the problems of all outputs for C = 1."""
        return data.problems(self.bias)

    def step(
        self,
        data: TrainingSet,
        stopping: Stopping,
        outputs: Sequence[int],
        C: float,
        last: tuple[float, list[Result]] | None,
    ) -> list[Result]:
        """Train some outputs for C, starting from another C and its results on the same rows."""
        rows, starts = data.rows, None
        if last is not None:
            starts = [
                Start(
                    coef=found.coef,
                    intercept=found.intercept,
                    alpha=None if found.alpha is None else C / last[0] * found.alpha,
                )
                for found in last[1]
            ]

        def train(_: int, problem: Problem, own: Stopping, start: Start | None) -> Result:
            if _is_primal(rows, problem, start):
                return follow_primal(rows, problem, own, [C], start)[0]
            return dual_cd.solve(rows, problem.scaled(C), own, start, keep_alpha=True)

        return self._each(data, stopping, C, starts, train, outputs)

    def _each(
        self,
        data: TrainingSet,
        stopping: Stopping,
        C: float,
        starts: list[Start] | None,
        train: Callable[[int, Problem, Stopping, Start | None], Found],
        some: Sequence[int] | None = None,
    ) -> list[Found]:
        """Train every output, or only `some`; several in parallel.

        Starts, in training order, are made feasible.
        """
        rows, loss = data.rows, data.loss
        numbers = range(loss.n_outputs) if some is None else some
        width = min(stopping.n_threads, len(numbers), rows.plan.width)
        problem_of = data.problems(self.bias)
        if rows.layout.cone is not None:
            check_forms(loss, starts)
            starts = None

        def one(at: int) -> Found:
            k = numbers[at]
            problem = problem_of(k)
            watch = stopping.watch.of(loss.label(k))
            own = replace(stopping, n_threads=stopping.n_threads // width, watch=watch)
            start = None
            if starts is not None:
                start = _feasible(starts[at], rows, problem.scaled(C), own.n_threads)
            return train(k, problem, own, start)

        tasks = [partial(one, at) for at in range(len(numbers))]
        return side_by_side(tasks, width, stopping.watch)


def _is_primal(rows: TrainingRows, problem: Problem, start: Start | None) -> bool:
    """Return whether a problem is solved by Newton's method.

    It must be under shape constraints, and is where that is faster.
    """
    if rows.layout.cone is not None:
        return True
    is_proximal = start is not None and start.proximal  # only the dual solver has this penalty
    return not is_proximal and primal.suits_newton(rows, problem)


def _proven(
    rows: TrainingRows, problem: Problem, stopping: Stopping, start: Start | None
) -> Result:
    """Solve one problem, and certify the solution on X before any rounding to codes."""

    def solve(on: TrainingRows, when: Stopping, last: list[Result] | None) -> list[Result]:
        posed, first = problem, start
        if last is not None and on.is_coded:
            posed, first = stand_in(on, problem, start, last[0], when.n_threads)
        elif last is not None:
            first = replace(start or Start(), alpha=last[0].alpha)
        return [primal.solve(on, posed, when, first)]

    def certify(results: list[Result]) -> list[Result]:
        return [certify_problem(rows, problem, start, results[0], stopping)]

    def flat(worse: float) -> list[Result] | None:
        unmoved = _unmoved(rows, problem, start)
        return None if unmoved.primal >= worse else certify([unmoved])

    return solve_and_certify(rows, stopping, solve, certify, flat, refines=True)[0]


def _unmoved(rows: TrainingRows, problem: Problem, start: Start | None) -> Result:
    """Return the result for dual variables of 0: zero curves, or those of a proximal start.

    For zero curves, the objective is known without reading X; for a proximal start it is set to 0.
    """
    coef, intercept, primal = np.zeros(rows.layout.n_parameters), 0.0, 0.0
    for begin in range(0, rows.n_rows, STEP):  # in batches, to save memory
        some = problem.some(slice(begin, begin + STEP))
        m = some.margin(np.zeros(len(some.y)))
        primal += float(some.cost @ some.loss.of_margin(m))
    if start is not None and start.proximal and start.coef is not None:
        coef, intercept, primal = start.coef, float(start.intercept), 0.0
    alpha = np.zeros(rows.n_rows)
    return Result(coef, intercept, primal, 0.0, 1.0, n_iter=0, converged=False, alpha=alpha)


def _placed(data: TrainingSet, starts: list[Start] | None) -> list[Start] | None:
    """Return starts in the units of solvers, with their dual variables in training order."""
    if starts is None:
        return None
    place = data.rows.place
    return [
        one if one.alpha is None else replace(one, alpha=place(one.alpha))
        for one in data.centered(starts)
    ]


def _feasible(start: Start, rows: TrainingRows, problem: Problem, n_threads: int) -> Start:
    """Return a start with its dual variables, in training order, within their bounds.

    They are multiplied by the factor in [0, 1] that maximizes the dual objective. If the relative
    gap remains above WARM_GAP, they are dropped: a start far from the solution takes longer than a
    start at zero, whose relative gap is 1.
    """
    if start.alpha is None:
        return start
    lowest, highest = problem.loss.range(problem.cost)
    alpha: Floats = np.clip(start.alpha, lowest, highest)
    slopes = (alpha * problem.y)[None]
    sums = rows.sums(slopes, n_threads)
    parameters, b = rows.layout.soften(sums), problem.bias * float(slopes.sum())
    square = float(np.vdot(sums, parameters)) + b**2
    gain = 0.0 if problem.targets is None else float(alpha @ problem.targets)
    counts = np.flatnonzero(problem.cost)
    some, cost = alpha[counts], problem.cost[counts]

    def dual(share: float) -> float:
        own = float(problem.loss.dual(share * some, cost).sum())
        return own + share * gain - 0.5 * share**2 * square

    share = max(SHARES, key=dual)
    scores = share * (rows.scores(parameters, n_threads)[0] + problem.bias * b)
    losses = problem.loss.of_margin(problem.margin(scores)[counts])
    primal = 0.5 * share**2 * square + float(cost @ losses)
    helps = primal - dual(share) <= WARM_GAP * primal
    return replace(start, alpha=share * alpha if helps else None)


@dataclass(frozen=True)
class PassTrainer:
    """Trains the problems of DualTrainer on rows held by a GPU or by Dask workers.

    Attributes
    ----------
    margins : callable
        margins(data) returns the sums of losses over all rows of a training set.
    """

    margins: Callable[[TrainingSet], MarginSums]

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Return starts at the last model; None if its shape differs."""
        del n_rows
        return starts_like(last.model, layout, n_outputs)

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        if data.rows.layout.cone is not None:
            raise ValueError(
                "Spline(monotone=..., curvature=...) takes AdditiveSVC(loss='squared_hinge'), "
                "AdditiveClassifier or AdditiveRegressor; AdditiveClassifier on a cluster."
            )
        start = None if starts is None else Start(*stack(data.centered(starts)))
        rows = cast(ExactPasses, data.rows)
        with one_blas_thread():
            results = solve_margins(rows, self.margins(data), stopping, start)
        results = data.restored([replace(found, alpha=None, slopes=None) for found in results])
        return Trained(data, data.rows.layout, results)
