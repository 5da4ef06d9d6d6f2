"""What the estimators of additive models share: parameters, preparation, scores, how a fit ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from splinear._columns import Columns, read_table
from splinear._knots import KnotPlan
from splinear._memory import Demand, plan_fit
from splinear._scoring import scores
from splinear._sparse import is_sparse
from splinear._types import AnyArray, Floats, Table
from splinear._validation import (
    EMBEDDING_CONSTRAINTS,
    draw_seed,
    fit_embedding,
    make_basis,
    plan_knots,
    positive,
)
from splinear.basis import Basis
from splinear.embedding import Embedding
from splinear.losses import Loss, SmoothLoss, SquaredError
from splinear.solvers import dual_cd, newton, smoothness
from splinear.solvers.memory import MemoryPlan, Need, bytes_of
from splinear.solvers.path import newton_path
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable, Sum
from splinear.solvers.watch import Progress, Watch

__all__ = ["AdditiveModel"]

T = TypeVar("T")


class AdditiveModel(BaseEstimator):
    """Base of the estimators; f(x) = b + sum_j f_j(x_j) for each output."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **EMBEDDING_CONSTRAINTS,
        "basis": [StrOptions({"bspline", "fourier", "hermite"})],
        "extrapolation": [StrOptions({"constant", "linear", "error"})],
        "C": [positive()],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [positive()],
        "smoothness": [StrOptions({"C", "reml"})],
        "missing": [StrOptions({"error", "level"})],
        "categorical": ["array-like", None],
        "unseen": [StrOptions({"ignore", "error"})],
        "solver": [StrOptions({"auto", "dual_cd", "newton"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "time_limit": [positive(), None],
        "callback": [callable, None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "max_memory": [Integral, str, None],
    }

    columns_: Columns

    # -- before training -------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        bytes_of(getattr(self, "max_memory", None))  # before any work is done

    def _learn_embedding(
        self, X: Table, kept: AnyArray | None, weights: Floats | None
    ) -> Embedding:
        plan = plan_knots(self)
        return fit_embedding(
            self,
            X,
            self._make_basis(plan),
            plan=plan,
            kept=kept,
            weights=weights,
            penalty_order=self.penalty_order,
            scale=self.scale,
            through_zero=self.through_zero_,
        )

    def _make_basis(self, plan: KnotPlan) -> Basis:
        return make_basis(
            self.basis,
            self.degree,
            plan.most_bins,
            self.penalty_order,
            self.scale,
            through_zero=self.through_zero_,
        )

    def _prepare(
        self, X: Table, kept: AnyArray | None, seed: int, plan: MemoryPlan | None = None
    ) -> TrainingRows:
        if is_sparse(X) and not self.through_zero_:
            raise ValueError(
                "X is sparse, but the model was begun with dense rows, and its curves are not zero "
                "at zero. Give X.toarray(), or begin with through_zero=True."
            )
        began = time.monotonic()
        rows = TrainingRows.prepare(
            X,
            self.embedding_,
            tol=self.tol,
            seed=seed,
            kept=kept,
            n_threads=self._n_threads(),
            plan=plan,
        )
        if self.verbose and rows.plan.rows_per_block is not None:
            print(
                f"coded {rows.n_rows:,} rows in {time.monotonic() - began:.1f} s; the codes are on "
                f"disk, in blocks of {rows.plan.rows_per_block:,} rows"
            )
        return rows

    def _plan_memory(
        self, X: Table, n_outputs: int, weights: Floats | None, *, together: bool = False
    ) -> MemoryPlan:
        """Keep within max_memory, or say why it is too small.

        `together`: all outputs are one problem, for Newton's method.
        """
        solver = self._solver_for(self._make_loss())
        need = self._need(n_outputs, weighted=weights is not None)
        has_choice = self.solver == "auto" and not together and self.smoothness == "C"
        demand = Demand(n_outputs, need, solver, together=together, has_choice=has_choice)
        width = 1 if together else min(self._n_threads(), n_outputs)
        return plan_fit(self, X, demand, width)

    def _need(self, n_outputs: int, *, weighted: bool) -> Need:
        """Bytes a row, beyond what a solver needs: the order, weights, what is kept afterwards."""
        need = Need(shared=4 + 3 + (17 if weighted else 0))
        if self.warm_start:
            need += Need(shared=8 * n_outputs, each=32)
        return need

    @property
    def _strength(self) -> float:
        """The cost of a row of weight 1: C, unless the data say how smooth the curves are."""
        return float(self.C) if self.smoothness == "C" else 1.0

    @property
    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _stopping(self, rows: TrainingRows, n_threads: int | None = None) -> Stopping:
        tell = _printing(self.callback) if self.verbose else self.callback
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        return Stopping(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            seed=rows.seed,
            n_threads=self._n_threads() if n_threads is None else n_threads,
            watch=Watch(deadline=deadline, tell=tell, n_rows=rows.n_rows),
        )

    def _draw_seed(self) -> int:
        return draw_seed(self.random_state)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    # -- training --------------------------------------------------------------------------------

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Any:
        """Check y, and give it in the form that is trained on."""
        raise NotImplementedError

    def _learn(
        self,
        rows: TrainingRows,
        target: Any,
        weights: Floats | None,
        kept: AnyArray | None,
        before: list[Start] | None,
    ) -> None:
        """Train on prepared rows, and store the model."""
        raise NotImplementedError

    def _train(
        self,
        rows: TrainingRows,
        target: Any,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        factors: Sequence[float] = (1.0,),
    ) -> list[list[Result]]:
        """Train all outputs with C times each of the factors; one list of results a factor.

        `weights` (n,) may be 0 for rows that were prepared; `kept` (n,) marks the others. Fewer
        lists than factors if the watch stopped it.
        """
        raise NotImplementedError

    def _follow(
        self,
        rows: TrainingRows,
        problem: Problem,
        stopping: Stopping,
        start: Start | None,
        factors: Sequence[float],
    ) -> list[Result]:
        """Solve one problem, its costs times each of the factors in turn, by the chosen solver.

        Each solution is the start for the next. Fewer results than factors if the watch stopped it.
        """
        if self._solver_for(problem.loss) == "newton" and rows.plan.newton:
            loss = cast(SmoothLoss, problem.loss)
            path = newton_path(
                rows,
                factors,
                lambda factor: Separable(problem.scaled(factor), loss),
                stopping,
                problem.bias,
                start,
            )
            return [results[0] for results in path]
        return dual_cd.follow_path(
            rows, problem, stopping, factors, start, keep_alpha=self.warm_start
        )

    def _tune(
        self, rows: TrainingRows, totals: Sequence[Sum], stopping: Stopping
    ) -> tuple[TrainingRows, list[Start]]:
        """Choose every feature's smoothness; give the rows that know it, and where to go on."""
        noise = self.loss == "squared_error"
        found = smoothness.choose_scale(rows, totals, self._bias, stopping, noise=noise)
        self.degrees_of_freedom_ = found.freedom
        self._n_turns = found.n_turns
        self.embedding_: Embedding = replace(rows.embedding, scale=found.scale)
        return replace(rows, embedding=self.embedding_), found.starts

    def _check_smoothness(self) -> None:
        if self.smoothness == "reml" and self.loss not in ("logistic", "squared_error"):
            raise ValueError(
                "smoothness='reml' needs a loss that is a likelihood, 'logistic' or "
                f"'squared_error'; got loss={self.loss!r}."
            )

    def _check_solver(self, loss: Loss) -> None:
        if self.solver == "newton" and not hasattr(loss, "curvature"):
            raise ValueError(
                f"solver='newton' needs a smooth loss; loss={self.loss!r} is not one. "
                "Use solver='dual_cd', or 'auto'."
            )

    def _make_loss(self) -> Loss:
        raise NotImplementedError

    def _solver_for(self, loss: Loss) -> str:
        """Choose by the measurements of benchmarks/solvers.py, unless the user did."""
        self._check_solver(loss)
        if self.solver != "auto":
            return str(self.solver)
        if isinstance(loss, SquaredError) or self.smoothness == "reml":
            return "newton"
        small = newton.forms_hessian(self.embedding_)
        return "newton" if small and hasattr(loss, "curvature") else "dual_cd"

    def _finish(self, rows: TrainingRows, results: Sequence[Result], watch: Watch) -> None:
        """Store what was learned; then say how the fit ended, if not well."""
        self.coef_ = np.stack([found.coef for found in results])
        self.intercept_ = np.array([found.intercept for found in results])
        turns = self._n_turns if self.smoothness == "reml" else 0
        self.n_iter_ = max(found.n_iter for found in results) + turns
        self.dual_gap_ = max(found.gap for found in results)
        self.objective_ = self._objective_of(results)
        alphas = [rows.restore(found.alpha) for found in results if found.alpha is not None]
        if self.warm_start and alphas:
            self._alpha, self._alpha_C = np.stack(alphas), self.C
        if watch.error is not None:
            raise watch.error
        if not all(found.converged for found in results):
            warnings.warn(self._how_it_ended(watch.reason), ConvergenceWarning, stacklevel=3)

    def _last_fit(self, n_rows: int, n_outputs: int) -> list[Start] | None:
        """Where warm_start begins, one a output; None: at zero."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        size = self._make_basis(plan_knots(self)).size
        if self.coef_.shape != (n_outputs, self.columns_.n_columns, size):
            return None
        alpha = getattr(self, "_alpha", np.empty((n_outputs, 0)))
        usable = alpha.shape == (n_outputs, n_rows)
        return [
            Start(
                coef=self.coef_[k],
                intercept=float(self.intercept_[k]),
                alpha=alpha[k] * (self.C / self._alpha_C) if usable else None,
            )
            for k in range(n_outputs)
        ]

    def _objective_of(self, results: Sequence[Result]) -> float:
        return float(sum(found.primal for found in results))

    def _how_it_ended(self, reason: str | None) -> str:
        cause = {
            None: f"after max_iter={self.max_iter} passes",
            "time_limit": f"by time_limit={self.time_limit} s after {self.n_iter_} passes",
            "callback": f"by the callback after {self.n_iter_} passes",
        }[reason]
        advice = "Raise max_iter or tol, or lower C." if reason is None else "The model is usable."
        return (
            f"Stopped {cause} at a relative duality gap of {self.dual_gap_:.2g}; "
            f"tol={self.tol:g} was asked for. {advice}"
        )

    # -- afterwards ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """f(x) of every output, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        return scores(self, read_table(self, X), self._n_threads())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep NumPy's and SciPy's linear algebra to one thread.

    With more its results would depend on their number, and its matrices here are small.
    """
    limits: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limits


def feasible(start: Start, rows: TrainingRows, problem: Problem) -> Start:
    """Bring dual variables, one a row of X, into the order and the bounds of the problem."""
    if start.alpha is None:
        return start
    lowest, highest = problem.loss.range(problem.cost)
    return replace(start, alpha=np.clip(rows.place(start.alpha), lowest, highest))


def side_by_side(tasks: Sequence[Callable[[], T]], n_threads: int, watch: Watch) -> list[T]:
    """Run the tasks on threads. Ctrl-C stops all of them, and is kept in the watch."""
    if n_threads == 1 or len(tasks) == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            wait(futures)
        except BaseException as error:
            watch.fail(error)
        return [future.result() for future in futures]


def _printing(callback: Callable[[Progress], Any] | None) -> Callable[[Progress], Any]:
    """Print a line per pass, and go on to the user's own callback."""

    def tell(progress: Progress) -> Any:
        fold = "" if progress.fold is None else f"fold {progress.fold}   "
        label = "" if progress.label is None else f"class {progress.label}   "
        print(
            f"{fold}{label}pass {progress.n_iter:4d}   gap {progress.gap:9.2e}   "
            f"active {progress.n_active:,} of {progress.n_rows:,} rows"
        )
        return None if callback is None else callback(progress)

    return tell
