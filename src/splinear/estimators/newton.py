"""Training of AdditiveClassifier and AdditiveRegressor by Newton's method.

The smoothness is given by C, or chosen from the data by REML.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from splinear.estimators.levels import fit_levels, without_slopes
from splinear.estimators.trainer import Trained
from splinear.losses import Quantile
from splinear.losses.base import Loss
from splinear.model.information import Information
from splinear.model.layout import Layout
from splinear.objective.local.memory import NEED_NEWTON, NEED_SOFTMAX, BytesPerRow
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.objective import Objective
from splinear.objective.problem import Result, Start, Stopping, stack, start_at
from splinear.objective.running import one_blas_thread
from splinear.objective.training_set import Response, TrainingSet
from splinear.solvers import newton
from splinear.solvers.pairs.crossfit import CrossFit
from splinear.solvers.pairs.interactions import Interactions
from splinear.solvers.pairs.pair_check import N_TURNS, PairCheck, PairSearch, Smooth, without_flat
from splinear.solvers.proofs.certificate import fine_enough, minimize_and_certify
from splinear.solvers.reml.choosing import choose, choose_with_pairs, estimated_loss, final_edf
from splinear.solvers.reml.information import gather
from splinear.solvers.reml.smoothness import MAX_TURNS, Smoothness, first_factor
from splinear.tables.table import Table
from splinear.terms.advice import advise_fixed, advise_smooth
from splinear.terms.base import Advice

__all__ = ["NewtonTrainer"]

ENOUGH = 50_000  # largest number of rows used to find pairs
# Sample from which the information of an interrupted fit is computed, in about 0.3 s.
LEAST_IN_HASTE, MOST_IN_HASTE = 2_000, 5_000_000  # rows; values of X times outputs


@dataclass(frozen=True)
class NewtonTrainer:
    """Trains one problem after the other; softmax couples all classes in one problem.

    It minimizes sum_i c_i loss(y_i, b + f(x_i)) + 1/2 sum_k a_k' S_k a_k / t_k, with coefficients
    a_k, penalty S_k and variance t_k of term k.

    Attributes
    ----------
    C : float or None
        The weight of the losses; None to choose the variance of every term by REML.
    asked : Interactions or None
        The surfaces that are asked for; None if there are none.
    """

    C: float | None
    asked: Interactions | None = None

    @property
    def merges_copies(self) -> bool:
        """Whether smoothness is chosen, about which copies of rows say nothing."""
        return self.C is None

    def advice(self, table: Table, n_units: float) -> Advice:
        """Return the default number of bins."""
        return advise_fixed(table) if self.C is not None else advise_smooth(table, n_units)

    def need(self, loss: Loss) -> BytesPerRow:
        """Return the memory per row of one problem."""
        need = NEED_NEWTON if loss.n_scores == 1 else NEED_SOFTMAX * loss.n_scores
        return need if self.asked is None else need + self.asked.need(loss.n_outputs)

    def width(self, loss: Loss, n_threads: int) -> int:
        """Return 1, because all threads work on one problem."""
        del loss, n_threads
        return 1

    def path_unit(self, response: Response) -> float:
        """Return 1, because penalty and losses have the same unit."""
        del response
        return 1.0

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C, or choose the variances first."""
        if data.rows.is_here:  # the order takes little memory next to the solver's arrays
            data = data.with_rows(data.rows.holding_order())
        if isinstance(data.loss, Quantile) and data.loss.n_problems > 1:
            return fit_levels(self.fit, data, stopping, starts, has_pairs=self.asked is not None)
        is_level = data.loss.exact is not data.loss  # of several quantiles
        data = data.with_loss(data.loss.surrogate())
        with one_blas_thread():
            # Place: the variance of every term, and surfaces.
            if self.C is not None:
                before = self._given(data, stopping, starts, self.C)
            else:
                before = self._chosen(data, stopping, starts)

            # Solve and certify, one problem after the other.
            data, edfs, results, information = before.data, [], [], []
            for k, problem in enumerate(data.problem_by_problem()):
                own = problem.with_layout(before.layouts[k])
                onward = replace(stopping, watch=stopping.watch.after(before.n_turns[k]))
                [total] = sums = own.sums()
                proven = minimize_and_certify(
                    own.rows, total, _of_problem(own, onward), before.begins[k]
                )
                found = own.restored(proven if is_level else without_slopes(proven))
                if self.C is None:
                    edf = before.chosen[k].edf
                    if before.settled and not stopping.watch.in_haste:
                        models = own.centered(found)
                        edf = final_edf(
                            before.chosen[k], own.rows, sums, models, stopping.n_threads
                        )
                    edfs.append(edf)
                information += self._information(own, sums, found, onward)
                results += found
        data = data if is_level else data.with_loss(data.loss.exact)
        first, search = before.layouts[0], before.search
        return Trained(
            data.with_layout(first),
            first,
            results,
            [np.sum(of_group, axis=0) for of_group in zip(*edfs, strict=True)] if edfs else None,
            max(before.n_turns),
            before.settled,
            before.is_whole,
            information=information,
            layouts=before.layouts if edfs and len(edfs) > 1 else (),
            pair_search=self._report(search, first),
        )

    def _given(
        self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None, C: float
    ) -> _Before:
        """Return the variances under C, and surfaces that are looked for once curves are known."""
        layout, n_before, is_whole, search = data.rows.layout.scaled(C), 0, True, None
        data = _with_estimates(data, C, stopping)
        if self.asked is not None:
            of_curves = replace(stopping, watch=stopping.watch.during("curves"))
            [results] = self.follow(data, of_curves, [C], starts)
            starts, is_whole = [start_at(found, layout) for found in results], False
            n_before = max(found.n_iter for found in results)
        if self.asked is not None and stopping.watch.reason is None:
            begun = [start for start in _joint(data, data.centered(results)) if start is not None]
            curves = Smoothness(layout, (), begun, 0, data.rows.n_rows)
            data, _, search = self._with_pairs(data, curves, stopping, _as_begun, C)
            is_whole = search is not None or self.asked.n_more == 0
            data = _with_estimates(data, C, stopping)
            layout = data.rows.layout.scaled(C)
            starts = [start_at(found, layout) for found in results]
        begins = _joint(data, None if starts is None else data.centered(starts))
        n = len(begins)
        return _Before(data, [layout] * n, begins, [n_before] * n, is_whole, search)

    def _chosen(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> _Before:
        """Return the variances that REML chooses, and surfaces."""
        rows = data.rows.with_layout(data.rows.layout.without_forms())
        rows = fine_enough(rows, stopping.tol)
        chosen = [
            choose(rows, own.sums, _of_problem(own, stopping), own.n_units)
            for own in data.problem_by_problem()
        ]
        data = data.with_loss(chosen[0].loss)
        is_whole, search = self.asked is None or stopping.watch.reason is None, None
        if self.asked is not None and is_whole:
            data, chosen, search = self._choose_pairs(data, chosen, stopping)
            data = data.with_loss(chosen[0].loss)
            is_whole = search is not None or self.asked.n_more == 0
        layouts = [own.layout.with_forms_of(data.rows.layout) for own in chosen]
        # The last model may have had other surfaces, or none.
        if starts is not None and not data.rows.layout.pairs:
            begins = _joint(data, data.centered(starts))
        else:
            # A sum of squares of all rows is minimized by a Newton step or two from any start.
            is_near = data.loss.quadratic
            begins = [
                None if is_near and own.n_rows == data.rows.n_rows else own.starts[0]
                for own in chosen
            ]
        settled = stopping.watch.reason is None
        n_turns = [own.n_turns for own in chosen]
        return _Before(data, layouts, begins, n_turns, is_whole, search, settled, chosen)

    def _report(self, search: PairSearch | None, layout: Layout) -> dict[str, Any] | None:
        """Return what became of a search for pairs, given the layout of the model."""
        if search is None or self.asked is None:
            return None
        return search.report(layout, len(self.asked.given) + len(self.asked.varying))

    def _information(
        self,
        data: TrainingSet,
        sums: Sequence[LossSum],
        results: list[Result],
        stopping: Stopping,
    ) -> list[Information]:
        """Return the Fisher information of each problem, from which bands are computed."""
        models, rows, out = data.centered(results), fine_enough(data.rows, stopping.tol), []
        if stopping.watch.in_haste:  # the user is waiting
            rows = rows.first(_enough_in_haste(rows, len(models)))
            sums = data.sums(rows)
        for total in sums:
            of_sum, models = models[: total.n_outputs], models[total.n_outputs :]
            objective = Objective.of(rows, total, stopping.n_threads)
            if total.loss.exact is not total.loss and not stopping.watch.in_haste:
                # Of a loss with a kink it is that of its surrogate, at the optimum of this one.
                first = objective.begin(Start(*stack(of_sum)))
                at = newton.last(newton.descend(first, stopping), stopping)
            else:
                at = objective.at(np.column_stack(stack(of_sum)), free=False)
            out.append(gather(at).as_of(data.rows.n_rows).in_units(data.loss.unit))
        return out

    def _choose_pairs(
        self, data: TrainingSet, chosen: list[Smoothness], stopping: Stopping
    ) -> tuple[TrainingSet, list[Smoothness], PairSearch | None]:
        """Find pairs of features that interact, and choose the smoothness of their surfaces.

        Pairs are those of all problems together, under a smoothness that these share.
        """
        asked, plain = self.asked, data.rows.layout.without_forms()
        assert asked is not None

        def smooth(own: TrainingSet, begin: Smoothness, n_turns: int) -> Smoothness:
            return choose_with_pairs(
                own.rows.with_layout(plain.with_pairs(own.rows.layout.pairs)),
                own.sums,
                _of_problem(own, stopping),
                own.n_units,
                replace(begin, layout=begin.layout.without_forms()),
                n_turns,
            )

        guess, shared = first_factor(data.sums()), chosen[0]
        if len(chosen) > 1:
            rows = data.rows.with_layout(plain)
            rows = fine_enough(rows, stopping.tol)
            shared = choose(rows, data.sums, _of_problem(data, stopping), data.n_units)
        data, begin, search = self._with_pairs(data, shared, stopping, smooth, guess)
        if not data.rows.layout.pairs:
            return data, chosen, search
        if len(chosen) > 1:
            is_one = begin.one_for_pairs
            begins = [
                replace(own.beside(begin.layout.pairs), one_for_pairs=is_one) for own in chosen
            ]
            n_turns = MAX_TURNS
        else:
            # The surfaces of "auto" begin where those of the check ended.
            begins, n_turns = [begin], N_TURNS if asked.n_more is None else MAX_TURNS
        more = []
        for own, one, before in zip(data.problem_by_problem(), begins, chosen, strict=True):
            found = smooth(own, one, n_turns)
            more.append(replace(found, n_turns=before.n_turns + found.n_turns))
        if stopping.watch.reason is None:
            data, more = without_flat(data, more, asked)
        return data, more, search

    def _with_pairs(
        self,
        data: TrainingSet,
        curves: Smoothness,
        stopping: Stopping,
        smooth: Smooth,
        guess: float,
    ) -> tuple[TrainingSet, Smoothness, PairSearch | None]:
        """Return the set with the surfaces asked for or found, and a model to begin with.

        The first variances of surfaces are multiplied by `guess`. The last result says what became
        of a search, if there was one.
        """
        asked = self.asked
        assert asked is not None
        rows, n_threads = data.rows.with_layout(curves.layout), stopping.n_threads
        few, wanted, begin = data.with_rows(rows.first(ENOUGH)), asked.given, curves.beside
        search = None
        n_outputs = sum(total.n_outputs for total in data.sums())
        if asked.n_more != 0 and not asked.has_rows_for(n_outputs):
            search = PairSearch(0, 0, has_rows=False)
        elif asked.n_more != 0:
            sums, share, gain = data.sums(), 1.0, None
            crossed = CrossFit.train(few, curves.starts, stopping)
            if asked.n_more is None:
                check = PairCheck(asked, crossed, curves, stopping, smooth, guess)
                share, gain, begin = check.share(rows, sums), check.gain, check.begun
            if not stopping.watch.poll():
                found, n_looked_at = asked.find(crossed, rows, sums)
                search = PairSearch(n_looked_at, len(found), gain, is_clear=share > 0.0)
                wanted = asked.given | dict(list(found.items())[: ceil(share * len(found))])
        points = [
            Objective.of(few.rows, total, n_threads).begin(start)
            for total, start in zip(few.sums(), curves.starts, strict=True)
        ]
        _, weights = rows.weighted_first(data.weighted.weights, rows.n_rows)
        more = asked.add(data.rows, wanted, points, weights, n_threads)
        surfaces = [group.scaled(guess) for group in more.layout.pairs]
        return data.with_rows(more), begin(surfaces), search

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn."""
        data = data.with_loss(data.loss.surrogate())
        Cs, rows = [float(C) for C in Cs], data.rows
        begins = _joint(data, None if starts is None else data.centered(starts))
        problems = zip(data.problem_by_problem(), data.sums(), begins, strict=True)
        paths = [
            newton.follow_path(rows, total, Cs, _of_problem(own, stopping), begin)
            for own, total, begin in problems
        ]
        # Some problems may have been stopped before others.
        per_C = zip(*paths, strict=False)
        return [data.restored([found for results in of_C for found in results]) for of_C in per_C]


@dataclass(frozen=True, eq=False)
class _Before:
    """What is known of all problems before they are trained: variances, surfaces, starts."""

    data: TrainingSet
    layouts: list[Layout]
    begins: list[Start | None]  # in the units of solvers
    n_turns: list[int]
    is_whole: bool
    search: PairSearch | None
    settled: bool = True
    chosen: Sequence[Smoothness] = ()


def _of_problem(data: TrainingSet, stopping: Stopping) -> Stopping:
    """Return the stopping rule of one problem, whose label a callback is told."""
    if data.problem is None:
        return stopping
    return replace(stopping, watch=stopping.watch.of(data.loss.label(data.problem)))


def _with_estimates(data: TrainingSet, C: float, stopping: Stopping) -> TrainingSet:
    """Return the set with the parameters of the loss estimated for C, from at most ENOUGH rows."""
    if not data.loss.is_estimated:
        return data
    few = data.rows.first(ENOUGH)
    layout = few.layout.without_forms().scaled(C * data.rows.n_rows / few.n_rows)
    rows = few.with_layout(layout)
    return data.with_loss(estimated_loss(rows, data.sums(rows)[0], stopping))


def _as_begun(own: TrainingSet, begin: Smoothness, n_turns: int) -> Smoothness:
    """Return the smoothness that is given by C."""
    del own, n_turns
    return begin


def _enough_in_haste(rows: TrainingRows, n_outputs: int) -> int:
    """Return the number of rows used for the information of an interrupted fit."""
    n_rows = MOST_IN_HASTE * rows.n_rows // max(1, n_outputs * rows.n_values)
    return max(LEAST_IN_HASTE, n_rows)


def _joint(data: TrainingSet, starts: Sequence[Start | Result] | None) -> list[Start | None]:
    """Return one start per problem, for all its outputs; None without `starts`."""
    n, each = data.loss.n_problems, data.loss.n_scores
    if starts is None:
        return [None] * n
    return [Start(*stack(starts[k * each : (k + 1) * each])) for k in range(n)]
