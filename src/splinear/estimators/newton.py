"""Training of AdditiveClassifier and AdditiveRegressor by Newton's method.

The smoothness is given by C, or chosen from the data by REML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import numpy as np

from splinear.estimators.trainer import LastFit, Trained, starts_like
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
    """

    C: float | None

    fits_pairs = True

    @property
    def merges_copies(self) -> bool:
        """Whether smoothness is chosen, about which copies of rows say nothing."""
        return self.C is None

    def advice(self, table: Table, n_units: float) -> Advice:
        """Return the default number of bins."""
        return advise_fixed(table) if self.C is not None else advise_smooth(table, n_units)

    def need(self, loss: Loss) -> BytesPerRow:
        """Return the memory per row of one problem."""
        return NEED_NEWTON if loss.n_scores == 1 else NEED_SOFTMAX * loss.n_scores

    def width(self, loss: Loss, n_threads: int) -> int:
        """Return 1, because all threads work on one problem."""
        del loss, n_threads
        return 1

    def path_unit(self, response: Response) -> float:
        """Return 1, because penalty and losses have the same unit."""
        del response
        return 1.0

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Return starts at the last model; None if its shape differs."""
        del n_rows
        return starts_like(last.model, layout, n_outputs)

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C, or choose the variances first."""
        fit = partial(self._fit_given, C=self.C) if self.C is not None else self._fit_chosen
        if data.rows.is_here:  # the order takes little memory next to the solver's arrays
            data = data.with_rows(data.rows.holding_order())
        with one_blas_thread():
            return fit(data, stopping, starts)

    def _fit_given(
        self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None, C: float
    ) -> Trained:
        layout, n_before, is_whole = data.rows.layout.scaled(C), 0, True
        data = _with_estimates(data, C, stopping)
        if data.interactions is not None:
            of_curves = replace(stopping, watch=stopping.watch.during("curves"))
            [results] = self.follow(data, of_curves, [C], starts)
            starts, is_whole = [start_at(found, layout) for found in results], False
            n_before = max(found.n_iter for found in results)
        if data.interactions is not None and stopping.watch.reason is None:
            own = _per_sum(data.sums(), data.centered(results))
            curves = Smoothness(layout, (), own, 0, data.rows.n_rows)
            data, _ = self._with_pairs(data, curves, stopping, _as_begun, C)
            is_whole = data.has_searched
            data = _with_estimates(data, C, stopping)
            layout = data.rows.layout.scaled(C)
            starts = [start_at(found, layout) for found in results]
        data = data.with_layout(layout)
        onward = replace(stopping, watch=stopping.watch.after(n_before))
        sums = data.sums()
        begin = None if starts is None else data.centered(starts)
        results = self._proven(data, sums, onward, begin)
        information = self._information(data, sums, results, stopping)
        return Trained(
            data, layout, results, n_turns=n_before, is_whole=is_whole, information=information
        )

    def _fit_chosen(
        self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None
    ) -> Trained:
        rows = data.rows.with_layout(data.rows.layout.without_forms())
        rows = fine_enough(rows, stopping.tol)
        chosen = [_choose(own, rows, stopping) for own in data.problem_by_problem()]
        data = data.with_loss(chosen[0].loss)
        is_whole = data.interactions is None or stopping.watch.reason is None
        if data.interactions is not None and is_whole:
            data, chosen = self._choose_pairs(data, chosen, stopping)
            data = data.with_loss(chosen[0].loss)
            is_whole = data.has_searched
        layouts = [own.layout.with_forms_of(data.rows.layout) for own in chosen]
        settled = stopping.watch.reason is None
        # The last model may have had other surfaces, or none.
        if starts is not None:
            starts = None if data.rows.layout.pairs else data.centered(starts)
        edfs, results, information = [], [], []
        problems = zip(data.problem_by_problem(), layouts, chosen, strict=True)
        for problem, layout, smoothness in problems:
            own = problem.with_layout(layout)
            onward = replace(stopping, watch=stopping.watch.after(smoothness.n_turns))
            sums, begin = own.sums(), None
            if starts is not None:
                begin, starts = starts[: own.loss.n_scores], starts[own.loss.n_scores :]
            # A sum of squares of all rows is minimized by a Newton step or two from any start.
            elif not own.loss.quadratic or smoothness.n_rows < own.rows.n_rows:
                begin = _starts_of(smoothness)
            found, edf = self._proven(own, sums, onward, begin), smoothness.edf
            if settled and not stopping.watch.in_haste:
                models = own.centered(found)
                edf = final_edf(smoothness, own.rows, sums, models, stopping.n_threads)
            results += found
            edfs.append(edf)
            information += self._information(own, sums, found, onward)
        return Trained(
            data.with_layout(layouts[0]),
            layouts[0],
            results,
            [np.sum(of_group, axis=0) for of_group in zip(*edfs, strict=True)],
            max(own.n_turns for own in chosen),
            settled,
            is_whole,
            information=information,
            layouts=layouts if len(layouts) > 1 else (),
        )

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
            at = objective.at(np.column_stack(stack(of_sum)), free=False)
            out.append(gather(at).as_of(data.rows.n_rows).in_units(data.loss.unit))
        return out

    def _choose_pairs(
        self, data: TrainingSet, chosen: list[Smoothness], stopping: Stopping
    ) -> tuple[TrainingSet, list[Smoothness]]:
        """Find pairs of features that interact, and choose the smoothness of their surfaces.

        Pairs are those of all problems together, under a smoothness that these share.
        """
        plain = data.rows.layout.without_forms()

        def smooth(own: TrainingSet, begin: Smoothness, n_turns: int) -> Smoothness:
            return choose_with_pairs(
                own.rows.with_layout(plain.with_pairs(own.rows.layout.pairs)),
                own.sums,
                _of_problem(own, stopping),
                lambda rows: own.weighted.over(rows).n_units,
                replace(begin, layout=begin.layout.without_forms()),
                n_turns,
            )

        guess, shared = first_factor(data.sums()), chosen[0]
        if len(chosen) > 1:
            rows = data.rows.with_layout(plain)
            shared = _choose(data, fine_enough(rows, stopping.tol), stopping)
        data, begin = self._with_pairs(data, shared, stopping, smooth, guess)
        if not data.rows.layout.pairs:
            return data, chosen
        if len(chosen) > 1:
            is_one = begin.one_for_pairs
            begins = [
                replace(own.beside(begin.layout.pairs), one_for_pairs=is_one) for own in chosen
            ]
            n_turns = MAX_TURNS
        else:
            # The surfaces of "auto" begin where those of the check ended.
            is_auto = data.interactions is not None and data.interactions.n_more is None
            begins, n_turns = [begin], N_TURNS if is_auto else MAX_TURNS
        more = []
        for own, one, before in zip(data.problem_by_problem(), begins, chosen, strict=True):
            found = smooth(own, one, n_turns)
            more.append(replace(found, n_turns=before.n_turns + found.n_turns))
        return (data, more) if stopping.watch.reason is not None else without_flat(data, more)

    def _with_pairs(
        self,
        data: TrainingSet,
        curves: Smoothness,
        stopping: Stopping,
        smooth: Smooth,
        guess: float,
    ) -> tuple[TrainingSet, Smoothness]:
        """Return the set with the surfaces asked for or found, and a model to begin with.

        The first variances of surfaces are multiplied by `guess`.
        """
        asked = data.interactions
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
        return replace(data.with_rows(more), search=search), begin(surfaces)

    def _proven(
        self,
        data: TrainingSet,
        sums: Sequence[LossSum],
        stopping: Stopping,
        starts: list[Start] | None,
    ) -> list[Result]:
        """Train all outputs with the variances of the layout, and certify the results on X itself.

        `starts` are for the centered target.
        """
        found = []
        for total, own, start in _posed(data, sums, stopping, starts):
            proven = minimize_and_certify(data.rows, total, own, start)
            found += [replace(one, slopes=None) for one in proven]
        return data.restored(found)

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn."""
        Cs, begin = [float(C) for C in Cs], None if starts is None else data.centered(starts)
        paths = [
            newton.follow_path(data.rows, total, Cs, own, start)
            for total, own, start in _posed(data, data.sums(), stopping, begin)
        ]
        # Some problems may have been stopped before others.
        per_C = zip(*paths, strict=False)
        return [data.restored([found for results in of_C for found in results]) for of_C in per_C]


def _choose(data: TrainingSet, rows: TrainingRows, stopping: Stopping) -> Smoothness:
    """Choose the smoothness of all terms from `rows`, for the problems of the set together."""
    return choose(
        rows,
        data.sums,
        _of_problem(data, stopping),
        lambda some: data.weighted.over(some).n_units,
    )


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


def _posed(
    data: TrainingSet, sums: Sequence[LossSum], stopping: Stopping, starts: list[Start] | None
) -> Iterator[tuple[LossSum, Stopping, Start | None]]:
    """Yield each sum of losses, with its stopping rule and its start."""
    problems = data.problem_by_problem() if data.problem is None else [data]
    for own, total, start in zip(problems, sums, _joint(sums, starts), strict=True):
        yield total, _of_problem(own, stopping), start


def _per_sum(sums: Sequence[LossSum], own: Sequence[Result]) -> list[Start]:
    """Return one start per sum of losses, at the models of all its outputs."""
    return [start for start in _joint(sums, list(own)) if start is not None]


def _joint(sums: Sequence[LossSum], starts: Sequence[Start | Result] | None) -> list[Start | None]:
    """Return one start per sum of losses, for all its outputs; None without `starts`."""
    if starts is None:
        return [None] * len(sums)
    joint: list[Start | None] = []
    for total in sums:
        own, starts = starts[: total.n_outputs], starts[total.n_outputs :]
        joint.append(Start(*stack(own)))
    return joint


def _starts_of(chosen: Smoothness) -> list[Start]:
    """Return one start per output, at the models found while smoothness was chosen."""
    return [
        Start(coef=coef, intercept=float(b))
        for start in chosen.starts
        if start.coef is not None
        for coef, b in zip(start.coef, np.atleast_1d(start.intercept), strict=True)
    ]
