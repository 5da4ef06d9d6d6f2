"""Base class of the four estimators: parameters, the steps of a fit, fitted attributes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from splinear import _core
from splinear._compat import Interval, StrOptions
from splinear._types import Constraints, Floats, Input
from splinear._warning import warn
from splinear.estimators.chunks import check_chunk
from splinear.estimators.dual import DualTrainer
from splinear.estimators.ending import how_it_ended
from splinear.estimators.gpu import device_rows, device_scores, trainer_on
from splinear.estimators.live import FitLine, Tell
from splinear.estimators.newton import NewtonTrainer
from splinear.estimators.reading import Given, TrainingTable, read_rows, read_table, term_plan
from splinear.estimators.state.fitted import FITTED
from splinear.estimators.state.stateful import Stateful
from splinear.estimators.trainer import (
    Duals,
    Fitter,
    Recipe,
    Trained,
    Trainer,
    starts_like,
    starts_of,
    with_shared,
)
from splinear.losses.base import Loss
from splinear.losses.checking import check_loss
from splinear.model.additive import Model
from splinear.model.covariance import JointPosterior, joint_posteriors
from splinear.model.fitted import FittedTerms
from splinear.model.layout import Layout, check_ranges
from splinear.model.plan import check_curve, check_terms
from splinear.objective.gpu.backend import MOST_FUNCTIONS
from splinear.objective.gpu.finding import DEVICES
from splinear.objective.local.disk import code_bytes
from splinear.objective.local.memory import (
    ENTRY_BYTES,
    BytesPerRow,
    MemoryPlan,
    bytes_of,
    least_memory,
    plan_memory,
    sample_bytes,
    say_bytes,
)
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.moments import moments
from splinear.objective.problem import Start, Stopping, stack
from splinear.objective.running import one_blas_thread, thread_count
from splinear.objective.training_set import Response, TrainingSet, WeightedRows
from splinear.objective.watch import Watch
from splinear.solvers.choosing_c import rows_for_choice
from splinear.solvers.pairs.held import HeldFeatures
from splinear.solvers.pairs.interactions import (
    asks_for_pairs,
    check_interactions,
    read_interactions,
)
from splinear.solvers.proofs.certificate import fine_enough
from splinear.solvers.reml.smoothness import in_parts
from splinear.tables.checks import check_offset, column_ranges, feature_label
from splinear.tables.columns import Columns
from splinear.tables.device import DeviceTable, on_host, to_cupy_like
from splinear.tables.table import Table
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.group import Extrapolation

__all__ = ["AdditiveEstimator", "draw_seed", "positive"]

Self = TypeVar("Self", bound="AdditiveEstimator")


def draw_seed(random_state: Input) -> int:
    """Return a seed for the core; an integer `random_state` always gives the same one."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def positive(kind: type = Real) -> Interval:
    """Return scikit-learn's constraint for a number greater than zero."""
    return Interval(kind, 0, None, closed="neither")


class AdditiveEstimator(Stateful):
    """Base class of the estimators: f(x) = b + sum_k f_k(x) for each output.

    A subclass defines `_recipe`, which says how y is read and which trainer is used; `_fit` is the
    same for all.
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
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
        "device": [StrOptions(set(DEVICES))],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _CODEC = FITTED
    _model: Model
    _columns: Columns
    _loss: Loss
    _duals: Duals | None
    C_: float | None
    _posteriors: list[JointPosterior]
    pair_search_: dict[str, Any] | None

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
                "Set curve to a term first, for example curve=Spline()."
            )
        return super().set_params(**params)  # type: ignore[no-any-return]

    def _recipe(self) -> Recipe:
        """Return the loss and the trainer that the parameters ask for."""
        raise NotImplementedError

    # -- fit -------------------------------------------------------------------------------------

    def _fit(self: Self, given: Given, recipe: Recipe, *, more: bool = False) -> Self:
        """Fit; if `more`, continue from the last model, with its knots and levels.

        A copy is fitted, and its fitted attributes are taken over at the end, so that a fit that
        fails changes nothing.
        """
        work, trainer = copy(self) if more else self._fresh(), recipe.trainer
        with one_blas_thread(), FitLine(type(self).__name__, self.verbose) as line:
            # Read: the table as numbers, and y as a loss understands it.
            columns = self._columns if more else None
            merges = trainer.merges_copies
            data, response = work._read(given, recipe, columns=columns, merges_copies=merges)

            # Place: a term for every feature, with its knots and levels.
            if more:
                check_chunk(work, data, response.loss)
                layout = work._model.layout
            else:
                seen = work._column_data(data)
                advice = work._advice(trainer, data, response.loss)
                layout = term_plan(work).place(seen, advice)
                trainer = work._with_pairs(trainer, seen, layout, advice, data.n_units)

            # Code: the rows as the core reads them, within max_memory.
            plan = work._plan_memory(data, layout, response, trainer)
            training_set = work._training_set(data, response, layout, plan)
            if training_set.rows.plan.rows_per_block is not None:
                line.say(_of_coding(training_set.rows))

            # Solve, and certify on X itself.
            stopping = work._stopping(training_set.rows, line.telling(self.callback))
            is_chosen = True
            if isinstance(trainer, DualTrainer):
                if trainer.C is None:
                    sample = work._sample_here(data, training_set)
                    trainer = trainer.chosen(sample, stopping)
                    is_chosen = stopping.watch.reason is None
                work.C_ = trainer.C
            fitter = trainer_on(training_set.rows, trainer)
            starts = self._warm_starts(fitter, training_set, data.table.shape[0])
            if more:
                starts = starts_of(self._model, proximal=True)
            trained = fitter.fit(training_set, stopping, starts)

            # Store: all fitted attributes, at once.
            trained = replace(trained, settled=trained.settled and is_chosen)
            work._store(trained, in_haste=stopping.watch.in_haste)
            self._adopt(work)
            line.ended = self._sum_up(stopping.watch)
        self._end(trained, stopping.watch)
        return self

    def _read(
        self,
        given: Given,
        recipe: Recipe,
        *,
        columns: Columns | None = None,
        merges_copies: bool = False,
    ) -> tuple[TrainingTable, Response]:
        """Return the checked rows as numbers, and their response."""
        data = read_rows(self, given, columns=columns, numeric=recipe.loss.kind == "number")
        loss, y = recipe.loss.knowing(given.y).read(data.y, data.kept)
        offset = check_offset(on_host(given.offset), len(y), loss.n_offsets)
        if merges_copies:
            data = data.without_copies(y, offset)
        response = Response(loss, y, recipe.class_weight, offset).fitted(data.survey)
        if not loss.name:
            check_loss(response.loss, y if data.kept is None else y[data.kept])
        return data, response

    def _sample_here(self, data: TrainingTable, training_set: TrainingSet) -> TrainingSet:
        """Return the training set, or a sample of it in this process if its rows are on a GPU."""
        rows = training_set.rows
        if rows.is_here:
            return training_set
        counts = np.arange(data.table.shape[0]) if data.kept is None else np.flatnonzero(data.kept)
        n = rows_for_choice(len(counts))
        kept = np.zeros(data.table.shape[0], dtype=bool)
        kept[np.random.default_rng(rows.seed).choice(counts, n, replace=False)] = True
        here = TrainingRows.prepare(
            data.table, rows.layout, seed=rows.seed, kept=kept, weights=data.weights
        )
        here = here.with_gap_means(here, data.weights, self._n_threads())
        return TrainingSet(WeightedRows(here, data.weights, kept), training_set.response)

    def _training_set(
        self,
        data: TrainingTable,
        response: Response,
        layout: Layout,
        plan: MemoryPlan | None = None,
    ) -> TrainingSet:
        """Return the prepared rows, their weights and their response."""
        rows = self._prepare(data, layout, plan)
        return TrainingSet(WeightedRows(rows, data.weights, data.kept, data.units), response)

    def _warm_starts(self, fitter: Fitter, data: TrainingSet, n_rows: int) -> list[Start] | None:
        """Return one start per output if warm_start is set and can help; otherwise None."""
        if not self.warm_start or not hasattr(self, "_model"):
            return None
        n_outputs = data.loss.n_outputs
        starts = starts_like(self._model, data.rows.layout, n_outputs)
        if isinstance(fitter, DualTrainer):
            return fitter.with_duals(starts, self._duals, (n_outputs, n_rows))
        return starts

    # -- before training -------------------------------------------------------------------------

    def _check_params(self) -> None:
        """Check all parameters before any work is done."""
        owner = type(self).__name__
        check_curve(self.curve, owner)
        check_terms(self.terms, owner)
        self._validate_params()
        check_interactions(getattr(self, "interactions", 0))
        bytes_of(self.max_memory)

    def _fresh(self: Self) -> Self:
        """Return an unfitted copy to train, so that a failed fit leaves `self` unchanged."""
        work = copy(self)
        for name in [name for name in vars(work) if _is_learned(name)]:
            delattr(work, name)
        return work

    def _adopt(self, work: AdditiveEstimator) -> None:
        """Replace all fitted attributes by those of `work`."""
        given = self.get_params(deep=False)
        learned = {name: value for name, value in vars(work).items() if name not in given}
        kept = {name: value for name, value in vars(self).items() if not _is_learned(name)}
        self.__dict__ = kept | learned

    def _advice(self, trainer: Trainer, data: TrainingTable, loss: Loss) -> Advice:
        """Return the default numbers of pieces and of frequencies."""
        advice = trainer.advice(data.table, data.n_units)
        if not loss.may_extrapolate:
            advice = replace(advice, extrapolation=Extrapolation.CONSTANT)
        if getattr(self, "device", "cpu") == "cpu":
            return advice
        return replace(advice, n_frequencies=min(advice.n_frequencies, MOST_FUNCTIONS // 2))

    def _with_pairs(
        self,
        trainer: Trainer,
        data: ColumnData,
        layout: Layout,
        advice: Advice,
        n_units: float,
    ) -> Trainer:
        """Return the trainer of the surfaces that are asked for in addition to curves, if any."""
        request = getattr(self, "interactions", 0)
        asked = read_interactions(request, term_plan(self), data, HeldFeatures.of(layout), advice)
        if asked is None:
            return trainer
        if not isinstance(trainer, NewtonTrainer):
            raise ValueError(
                f"{type(self).__name__} has no surfaces over pairs of features; AdditiveClassifier "
                "and AdditiveRegressor have."
            )
        varying = asked.varying
        if trainer.merges_copies:  # smoothness is chosen
            varying = tuple(map(in_parts, varying))
        return replace(trainer, asked=replace(asked, n_units=n_units, varying=varying))

    def _column_data(self, data: TrainingTable) -> ColumnData:
        """Return the ranges, levels and weights of all columns, from which terms are placed."""
        self._columns = data.columns
        gaps = self.missing == "level"
        n_threads = thread_count(self.n_jobs, data.table.shape[0])
        lo, hi, has_gap = column_ranges(self, data.table, data.kept, gaps=gaps, n_threads=n_threads)
        return ColumnData(
            table=data.table,
            lo=lo,
            hi=hi,
            has_gap=has_gap,
            levels=data.columns.levels,
            kept=data.kept,
            weights=data.knot_weights,
            through_zero=data.table.is_sparse,
            most_bytes=sample_bytes(bytes_of(self.max_memory)),
            n_threads=n_threads,
            label=partial(feature_label, self),
        )

    def _prepare(
        self, data: TrainingTable, layout: Layout, plan: MemoryPlan | None = None
    ) -> TrainingRows:
        """Return the rows in the form that the core trains on: codes, non-zeros or values."""
        if data.table.is_sparse:
            for group in layout.groups:
                if not group.embedding.through_zero:
                    raise ValueError(
                        "X is sparse, but the model was begun with dense rows, and its curves are "
                        "not zero at zero. Use X.toarray(), or begin with sparse rows."
                    )
        seed = draw_seed(self.random_state)
        trainer = self._recipe().trainer
        on_device = device_rows(self, trainer, data, layout, seed)
        if on_device is not None:
            return on_device
        rows = TrainingRows.prepare(
            data.table,
            layout,
            seed=seed,
            kept=data.kept,
            weights=data.weights,
            n_threads=self._n_threads(),
            plan=plan,
            row_groups=data.units.groups,
            by_content=trainer.merges_copies,
        )
        return rows.with_gap_means(fine_enough(rows, self.tol), data.weights, self._n_threads())

    def _plan_memory(
        self, data: TrainingTable, layout: Layout, response: Response, trainer: Trainer
    ) -> MemoryPlan:
        """Return a plan that keeps within max_memory; raise if that is too small."""
        bound = bytes_of(self.max_memory)
        if bound is None:
            return MemoryPlan()
        X, loss = data.table, response.loss
        # Per row: order, mask, weights, target, and the solver's own.
        is_weighted = data.weights is not None
        need = BytesPerRow(shared=4 + 3 + (17 if is_weighted else 0)) + response.need
        need += trainer.need(loss)
        if self.warm_start:
            need += BytesPerRow(shared=8 * loss.n_outputs, each=32)
        row_bytes = float(sum(code_bytes(group) * group.n_features for group in layout.groups))
        if X.is_sparse:
            row_bytes = ENTRY_BYTES * X.values_per_row
            need += BytesPerRow(shared=8)  # starts of rows
        width = trainer.width(loss, self._n_threads())
        plan = plan_memory(bound, X.shape[0], row_bytes, need, width)
        if plan is None:
            least = least_memory(X.shape[0], row_bytes, need)
            raise ValueError(
                f"max_memory={self.max_memory!r} is too small: {X.shape[0]:,} rows and "
                f"{loss.n_outputs} output{'s' if loss.n_outputs > 1 else ''} need at least "
                f"{say_bytes(least)}."
            )
        return replace(plan, holds_values=plan.holds_values and not (X.is_on_disk or X.converts))

    def _stopping(self, rows: TrainingRows, tell: Tell | None) -> Stopping:
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        return Stopping(
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            seed=rows.seed,
            n_threads=self._n_threads(),
            watch=Watch(deadline=deadline, tell=tell, n_rows=rows.n_rows),
        )

    def _n_threads(self) -> int:
        return thread_count(self.n_jobs)

    # -- fitted attributes -----------------------------------------------------------------------

    def _store(self, trained: Trained, *, in_haste: bool = False) -> None:
        """Set the fitted attributes."""
        data = trained.data
        loss, results = with_shared(data.loss, trained.results)
        rows = fine_enough(data.rows, self.tol).with_layout(trained.layout)
        parameters, intercept = stack(results)
        weights = data.weighted.weights
        layout, deviations = moments(
            rows, parameters, weights, self._n_threads(), in_haste=in_haste
        )
        layouts = tuple(own.with_moments_of(layout) for own in trained.layouts)
        self._show(Model(layout, parameters, intercept, layouts), loss, trained.edf)
        self._duals = trained.duals
        self._posteriors = joint_posteriors(self._model, trained.information)
        self.feature_importances_ = deviations
        self.n_iter_ = max(found.n_iter for found in results) + trained.n_turns
        self.dual_gap_ = float(max(found.gap for found in results))
        self.certified_ = all(found.certified for found in results)
        self.objective_ = trained.objective
        if hasattr(self, "interactions"):
            self.pair_search_ = trained.pair_search

    def _show(self, model: Model, loss: Loss, edf: Sequence[Floats] | None = None) -> None:
        """Store a model, and the loss that turns its scores into predictions."""
        self._model, self._loss, self.intercept_ = model, loss, model.intercept
        self.terms_ = FittedTerms(model, getattr(self, "feature_names_in_", None), edf)

    def _sum_up(self, watch: Watch) -> str:
        """Return the last words of a fit under `verbose`."""
        stopped = "" if watch.reason is None else "stopped after "
        out = f"{stopped}{self.n_iter_} passes, gap {self.dual_gap_:.1e}"
        if (search := getattr(self, "pair_search_", None)) is not None:
            out += ", {kept:,} of {looked_at:,} pairs".format(**search)
            out += f" ({search['why_none']})" if search["why_none"] else ""
        return out

    def _end(self, trained: Trained, watch: Watch) -> None:
        """Raise the error of a callback, or warn that the fit did not converge."""
        if watch.error is not None:
            raise watch.error
        if not trained.converged:
            message = how_it_ended(self, trained, watch.reason)
            warn(message, ConvergenceWarning)
        elif not self._loss.convex:
            warn(
                f"certified_ is False: {type(self._loss).__name__} does not say that it is convex, "
                "so there may be a better model than this one. Where it is convex, give the class "
                "convex = True."
            )

    # -- prediction ------------------------------------------------------------------------------

    def _read_table(self, X: Input) -> Table:
        """Check X at prediction time, and return it as a table of numbers."""
        if "terms_" not in vars(self):
            check_is_fitted(self, "terms_")
        return read_table(self, X, self._columns)

    def _scores(self, X: Input, offset: Input = None) -> Floats:
        """Return f(x) plus the offset for every output, (n_samples, n_outputs)."""
        table = self._read_table(X)
        if isinstance(table, DeviceTable):
            out = device_scores(self, self._model, table)
        else:
            check_ranges(self, self._model.layout, table)
            n_threads = thread_count(self.n_jobs, table.shape[0])
            out, gaps = self._model.scores(table, n_threads), self._columns.takes_gaps
            if not gaps or not _core.are_finite(out, n_threads):
                column_ranges(self, table, gaps=gaps, n_threads=n_threads)  # names the value
            out = to_cupy_like(out, X)
        if offset is None:
            return out
        known = check_offset(on_host(offset), len(out), self._loss.n_offsets)
        assert known is not None
        return out + np.asarray(known.reshape(len(out), -1), like=out)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = not asks_for_pairs(getattr(self, "interactions", 0), self.terms)
        return tags


def _is_learned(name: str) -> bool:
    """Return whether fit sets this attribute; the others are parameters or scikit-learn's own."""
    return name.endswith("_") or name in FITTED.learned


def _of_coding(rows: TrainingRows) -> str:
    """Return a message that says where the codes of the rows are stored."""
    n = rows.plan.rows_per_block
    return f"coded {rows.n_rows:,} rows; the codes are on disk, in blocks of {n:,} rows"
