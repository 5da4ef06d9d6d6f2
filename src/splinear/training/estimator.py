"""What the four estimators share: parameters, the way from a table to rows, what a fit leaves."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._compat import Interval, StrOptions
from splinear._types import AnyArray, Floats
from splinear.model.additive import Model
from splinear.model.fitted import FittedTerms
from splinear.model.layout import Layout
from splinear.solvers.memory import MemoryPlan, Need, bytes_of, sample_bytes
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.watch import Progress, Watch
from splinear.tables.checks import check_in_range, column_ranges, feature_label
from splinear.tables.chunks import dense_columns
from splinear.tables.table import Table
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.plan import check_terms
from splinear.training.columns import Columns
from splinear.training.memory import Demand, plan_fit
from splinear.training.moments import moments
from splinear.training.parameters import draw_seed, positive
from splinear.training.table import TrainingTable, read_table, term_plan

__all__ = ["AdditiveEstimator"]

Self = TypeVar("Self", bound="AdditiveEstimator")

PRIVATE = frozenset({"_model", "_columns", "_multilabel", "_alpha", "_alpha_C"})  # of a fit


class AdditiveEstimator(BaseEstimator):
    """Base of the estimators: f(x) = b + sum_k f_k(x) for each output."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "curve": [Term, None],
        "terms": [dict, None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "missing": [StrOptions({"level", "error"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "time_limit": [positive(), None],
        "callback": [callable, None],
        "warm_start": ["boolean"],
        "max_memory": [Integral, str, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _model: Model
    _columns: Columns

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters; those of `curve` as curve__n_bins and so on, once it is a term.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        inner = next((name for name in params if name.startswith("curve__")), None)
        if inner is not None and params.get("curve", self.curve) is None:
            raise ValueError(
                f"{inner} is a parameter of curve, and curve is None: the estimator's own choice. "
                "Give curve a term first, for example curve=Spline()."
            )
        return super().set_params(**params)  # type: ignore[no-any-return]

    # -- before training -------------------------------------------------------------------------

    def _check_params(self) -> None:
        """Check all parameters before any work is done."""
        self._validate_params()
        check_terms(self.terms)
        if self.curve is not None:
            self.curve.check()
        bytes_of(self.max_memory)

    def _fresh(self: Self) -> Self:
        """Return an estimator of the same parameters to work on: a failed fit costs nothing."""
        work = copy(self)
        for name in [name for name in vars(work) if _is_learned(name)]:
            delattr(work, name)
        return work

    def _adopt(self, work: AdditiveEstimator) -> None:
        """Take over what a fit has learned, all at once."""
        given = self.get_params(deep=False)
        learned = {name: value for name, value in vars(work).items() if name not in given}
        kept = {name: value for name, value in vars(self).items() if not _is_learned(name)}
        self.__dict__ = kept | learned

    def _again(self: Self) -> Self:
        """Return a copy that has all that was learned, to go on with."""
        return copy(self)

    def _check_finite(self, data: TrainingTable) -> None:
        """Refuse infinity in a later chunk of rows, and gaps and levels that were not there."""
        gaps = self.missing == "level"
        lo, _, has_gap = column_ranges(self, data.table, data.kept, gaps=gaps)
        for group in self._model.layout.groups:
            if group.levels is not None and (lo[group.features] < 0).any():
                raise ValueError(
                    f"Input X contains a level in {feature_label(self, int(group.features[0]))} "
                    "that was not there in the first call of partial_fit. Give it a first chunk "
                    "that has all levels."
                )
            new = group.features[has_gap[group.features]]
            if len(new) and not group.has_gaps:
                raise ValueError(
                    f"Input X contains NaN in {feature_label(self, int(new[0]))}, which had no "
                    "missing values in the first call of partial_fit. Give it a first chunk that "
                    "has some."
                )

    def _advice(self, table: Table) -> Advice:
        """Say how fine curves should be where the user did not."""
        raise NotImplementedError

    def _lay_out(self, data: TrainingTable) -> Layout:
        """Let every term meet its columns."""
        self._columns = data.columns
        gaps = self.missing == "level"
        lo, hi, has_gap = column_ranges(self, data.table, data.kept, gaps=gaps)
        columns = ColumnData(
            table=data.table,
            lo=lo,
            hi=hi,
            has_gap=has_gap,
            levels=data.columns.levels,
            kept=data.kept,
            weights=data.weights,
            through_zero=data.table.is_sparse,
            most_bytes=sample_bytes(bytes_of(self.max_memory)),
            label=partial(feature_label, self),
        )
        return term_plan(self).place(columns, self._advice(data.table))

    def _prepare(
        self, data: TrainingTable, layout: Layout, plan: MemoryPlan | None = None
    ) -> TrainingRows:
        """Bring the rows into the form that the core reads."""
        if data.table.is_sparse:
            for group in layout.groups:
                if not group.embedding.through_zero:
                    raise ValueError(
                        "X is sparse, but the model was begun with dense rows, and its curves are "
                        "not zero at zero. Give X.toarray(), or begin with sparse rows."
                    )
        began = time.monotonic()
        rows = TrainingRows.prepare(
            data.table,
            layout,
            tol=self.tol,
            seed=draw_seed(self.random_state),
            kept=data.kept,
            weights=data.weights,
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
        self, data: TrainingTable, layout: Layout, demand: Demand, width: int
    ) -> MemoryPlan:
        """Keep within max_memory, or say why it is too small."""
        return plan_fit(self, data.table, layout, demand, width)

    def _need(self, n_outputs: int, *, weighted: bool) -> Need:
        """Return the bytes per row beyond what a solver needs: order, weights, what is kept."""
        need = Need(shared=4 + 3 + (17 if weighted else 0))
        if self.warm_start:
            need += Need(shared=8 * n_outputs, each=32)
        return need

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

    def _unit_of_cost(self, y: AnyArray) -> float:
        """Return the unit in which a path of C is laid out."""
        del y
        return 1.0

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    # -- training --------------------------------------------------------------------------------

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Any:
        """Check y, and return it in the form that is trained on."""
        raise NotImplementedError

    def _train(
        self,
        rows: TrainingRows,
        target: Any,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        Cs: Sequence[float] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn, None: that of the estimator; results per C.

        `weights` (n,) may be 0 for rows that were prepared; `kept` (n,) marks the others. Fewer
        lists than Cs if the watch stopped it.
        """
        raise NotImplementedError

    def _last_fit(self, layout: Layout, n_outputs: int, n_rows: int) -> list[Start] | None:
        """Return where warm_start begins, one start per output; None: at zero."""
        del n_rows
        before = getattr(self, "_model", None)
        if not self.warm_start or before is None or before.n_outputs != n_outputs:
            return None
        if [g.shape for g in before.layout.groups] != [g.shape for g in layout.groups]:
            return None
        return [
            Start(coef=theta, intercept=float(b))
            for theta, b in zip(before.parameters, before.intercept, strict=True)
        ]

    def _finish(
        self,
        rows: TrainingRows,
        results: Sequence[Result],
        weights: Floats | None,
        *,
        edf: Sequence[Floats] | None = None,
        n_turns: int = 0,
    ) -> None:
        """Store what was learned."""
        parameters = np.stack([found.coef for found in results])
        intercept = np.array([found.intercept for found in results])
        layout, deviations = moments(rows, parameters, weights, self._n_threads())
        self._model = Model(layout, parameters, intercept)
        self.intercept_ = intercept
        self.terms_ = FittedTerms(self._model, getattr(self, "feature_names_in_", None), edf)
        self.feature_importances_ = deviations
        self.n_iter_ = max(found.n_iter for found in results) + n_turns
        self.dual_gap_ = float(max(found.gap for found in results))
        self.certified_ = all(found.certified for found in results)
        self.objective_ = self._objective_of(results)

    def _objective_of(self, results: Sequence[Result]) -> float:
        return float(sum(found.primal for found in results))

    def _end(self, results: Sequence[Result], watch: Watch, *, settled: bool = True) -> None:
        """Say how a fit ended, if not well; the model has been stored.

        Not `settled`: it was stopped while smoothness was being chosen.
        """
        if watch.error is not None:
            raise watch.error
        if not settled or not all(found.converged for found in results):
            message = self._how_it_ended(watch.reason, settled)
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def _how_it_ended(self, reason: str | None, settled: bool) -> str:
        cause = {
            None: f"after {self.n_iter_} passes (max_iter={self.max_iter})",
            "time_limit": f"by time_limit={self.time_limit} s after {self.n_iter_} passes",
            "callback": f"by the callback after {self.n_iter_} passes",
        }[reason]
        advice = "Raise max_iter or tol, or lower C." if reason is None else "The model is usable."
        early = "" if settled else " before the smoothness of its terms was settled,"
        return (
            f"Stopped {cause}{early} at a relative duality gap of {self.dual_gap_:.2g}; "
            f"tol={self.tol:g} was asked for. {advice}"
        )

    # -- afterwards ------------------------------------------------------------------------------

    def _read_table(self, X: Any) -> Table:
        """Check rows to predict, and return them as numbers."""
        check_is_fitted(self, "terms_")
        return read_table(self, X, self._columns)

    def _scores(self, X: Any) -> Floats:
        """f(x) of every output, shape (n_samples, n_outputs)."""
        table = self._read_table(X)
        self._check_ranges(table)
        out = self._model.scores(table, self._n_threads())
        if self.missing == "error" or not np.isfinite(out).all():
            column_ranges(self, table, gaps=self.missing == "level")  # names what is not finite
        return out

    def _check_ranges(self, table: Table) -> None:
        """Refuse values outside the ranges of terms with extrapolation="error"."""
        for group in self._model.layout.groups:
            if group.extrapolation != "error":
                continue
            axes = group.embedding.axes
            for rows, piece in table.chunks(group.features):
                for k, values in enumerate(dense_columns(piece)):
                    lo, hi, j = float(axes.lo[k]), float(axes.hi[k]), int(group.features[k])
                    check_in_range(self, values, j, lo, hi, rows.start)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags


def _is_learned(name: str) -> bool:
    """Tell whether a fit sets this attribute; others are parameters, or scikit-learn's own."""
    return name.endswith("_") or name in PRIVATE


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
