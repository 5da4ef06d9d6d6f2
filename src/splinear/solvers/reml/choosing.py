"""Which rows choose the smoothness, and which of two choices is better on held-out rows.

- Narrow tables: REML, one variance per term (`solvers.reml.smoothness`). Variances do not depend
  on the number of rows, so if there are many rows a sample decides.
- Wide tables: here REML treats each term as if the others were known, counts degrees of freedom
  twice if terms are related, and its variances are too small. So a sample of the rows is split: on
  one part REML finds one variance per term, and one factor for all terms; on the other part the
  models of both, with all variances times 1, 8, 64, ..., are compared, and the best is used.
- Crowded tables, which are narrow but have few rows for the curves of all their classes: the same
  may happen there if the classes hardly overlap. So they are split, too, and the variances of REML
  are replaced only if others are clearly better, by more than the random error of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import Floats
from splinear.losses.base import Loss
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum, constant_of, exact_value, renewed
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Result, Start, Stopping, stack
from splinear.solvers import newton
from splinear.solvers.reml.smoothness import (
    MAX_TURNS,
    SETTLED,
    Smoothness,
    choose_smoothness,
    degrees_of_freedom,
)

__all__ = [
    "WIDE", "choose", "choose_with_pairs", "enough_rows", "estimated_loss", "final_edf",
]  # fmt: skip

WIDE, FEW_ROWS = 200, 20  # a wide table has at least so many terms, or at most so few rows per term
LEAST_ROWS = 200  # smallest number of rows that is split
LEAST_OF_CROWDED = 400  # the same for crowded tables: a hundred rows are held out to check REML
MOST_ROWS = 50_000  # largest number of rows for REML...
ROWS_PER_LEVEL = 5  # ...unless a category needs more, because its variance is that of single levels
MOST_VALUES = 10**8  # of a wide table read per pass over its sample, times the number of outputs
# Log evidence per independent unit that new variances must gain for another turn. On ten tables of
# 3,450 to 50,000 rows, later turns (as many again) changed test losses by less than .0002.
LEAST_GAIN = 2e-6
# Diagonal blocks overestimate degrees of freedom more and more, so it is better to stop early.
SETTLED_WIDE, MAX_TURNS_WIDE = 0.1, 8
# Each turn takes a step of all surfaces. Their variances need not be as settled as those of curves:
# 8 turns gave the losses of 40.
SETTLED_PAIRS = 0.01
HELD_OUT = 0.25  # share of the rows of a wide table
# Larger variances are tried as long as they are better. Fewer are tried if there are many more rows
# than in the sample, because these outweigh the prior.
GROWTH, MOST_TRIALS, MOST_TRIALS_OF_MANY = 8.0, 3, 2
MANY = 4  # times as many rows as in the sample
BETTER = 0.98  # relative to the best loss: what a larger variance must reach
TRIAL_TOL = 1e-2  # tolerance of the models that are compared

TotalsOf = Callable[..., Sequence[LossSum]]
UnitsOf = Callable[[TrainingRows], float]


def choose(
    rows: TrainingRows,
    totals_of: TotalsOf,
    stopping: Stopping,
    units_of: UnitsOf,
) -> Smoothness:
    """Choose the variances of all terms, in place of those of rows.layout.

    totals_of(rows) returns the sums of losses over some rows, totals_of(rows, loss) those of a loss
    whose parameters were estimated, and units_of(rows) the number of their independent units.
    """
    if rows.n_rows >= LEAST_ROWS:
        if not _is_narrow(rows, units_of):
            return _of_wide(_Trials.divide(rows, totals_of, stopping))
        if _is_crowded(rows, totals_of, units_of):
            return _of_crowded(rows, _Trials.divide(rows, totals_of, stopping))
    few = rows.first(_enough(rows.layout))
    return choose_smoothness(
        few,
        totals_of(few),
        stopping,
        settled=SETTLED,
        least_gain=LEAST_GAIN,
        max_turns=MAX_TURNS,
    )


def _of_wide(trials: _Trials) -> Smoothness:
    """Compare one factor for all terms with one variance per term."""
    for pooled in (True, False):
        trials.compare(trials.in_all(pooled=pooled))
        if trials.is_stopped:
            break
    return trials.best


def _of_crowded(rows: TrainingRows, trials: _Trials) -> Smoothness:
    """Choose by REML, unless other variances are clearly better on held-out rows."""
    trials.better = 1.0 - 1.0 / np.sqrt(trials.n_held_out)
    trials.compare(trials.by_reml(trials.fit))
    if not trials.is_stopped:
        trials.compare(trials.in_all(pooled=True))
    if trials.has_other or trials.is_stopped:
        return trials.best
    found = trials.by_reml(rows.first(_enough(rows.layout)))
    return replace(found, n_turns=trials.n_turns + found.n_turns)


def choose_with_pairs(
    rows: TrainingRows,
    totals_of: TotalsOf,
    stopping: Stopping,
    units_of: UnitsOf,
    begin: Smoothness,
    max_turns: int,
) -> Smoothness:
    """Choose the variances of the surfaces of rows.layout, beginning with those of `begin`.

    The variances of curves are chosen again, unless they were chosen on held-out rows.
    """
    few = rows.first(_enough(rows.layout))
    return choose_smoothness(
        few,
        _sums(totals_of, few, begin.loss),
        replace(stopping, watch=stopping.watch.after(begin.n_turns)),
        begin=begin,
        settled=SETTLED_PAIRS,
        in_all=True,
        max_turns=max_turns,
        only_pairs=not _is_narrow(rows, units_of) or begin.n_rows < few.n_rows,
    )


def _sums(totals_of: TotalsOf, rows: TrainingRows, loss: Loss | None) -> Sequence[LossSum]:
    """Return the sums over rows, of a loss whose parameters were estimated unless it is None."""
    return totals_of(rows) if loss is None else totals_of(rows, loss)


def estimated_loss(rows: TrainingRows, total: LossSum, stopping: Stopping) -> Loss:
    """Return the loss with parameters that fit the model for the variances of rows.layout best.

    The model is fitted and the parameters are renewed in turns, until they change little.
    """
    stopping = replace(stopping, watch=stopping.watch.during("loss"), tol=TRIAL_TOL)
    start: Start | None = None
    for _ in range(MAX_TURNS):
        point = Objective.of(rows, total, stopping.n_threads).begin(start)
        for point in newton.descend(point, stopping):  # noqa: B007, B020 (the last is wanted)
            pass
        start = Start(coef=point.parameters, intercept=point.theta[:, -1])
        freedom = 1.0 + sum(float(e.sum()) for e in degrees_of_freedom([point], rows.layout))
        dispersion = point.scatter.dispersion(freedom)
        before, total = total.loss, renewed(total, point.F, dispersion, freedom)
        if total.loss.is_near(before) or stopping.watch.poll():
            break
    return total.loss


def _n_curves(layout: Layout) -> int:
    return sum(group.n_features for group in layout.groups)


def _is_narrow(rows: TrainingRows, units_of: UnitsOf) -> bool:
    n_terms = _n_curves(rows.layout)
    return n_terms < WIDE and FEW_ROWS * n_terms < units_of(rows)


def _is_crowded(rows: TrainingRows, totals_of: TotalsOf, units_of: UnitsOf) -> bool:
    """Return whether there are few rows for the curves of all classes, but enough to split."""
    if rows.n_rows < LEAST_OF_CROWDED:
        return False
    n_classes = max(total.n_outputs for total in totals_of(rows.first(LEAST_ROWS)))
    return n_classes > 1 and FEW_ROWS * n_classes * _n_curves(rows.layout) >= units_of(rows)


def final_edf(
    chosen: Smoothness,
    rows: TrainingRows,
    totals: Sequence[LossSum],
    results: Sequence[Result],
    n_threads: int,
) -> tuple[Floats, ...]:
    """Return the degrees of freedom of the final models; compute them if a sample was used.

    `results` has one model per output of all totals.
    """
    if chosen.n_rows == rows.n_rows:
        return chosen.edf
    points, left = [], list(results)
    for total in totals:
        own, left = left[: total.n_outputs], left[total.n_outputs :]
        points.append(Objective.of(rows, total, n_threads).begin(Start(*stack(own))))
    return degrees_of_freedom(points, rows.layout)


def _enough(layout: Layout) -> int:
    """Return the number of rows that suffices for REML."""
    most_levels = max((g.size for g in layout.groups if g.levels is not None), default=0)
    return enough_rows(most_levels)


def enough_rows(most_levels: int) -> int:
    """Return the number of rows that suffices for REML, given the most levels of a category."""
    return max(MOST_ROWS, ROWS_PER_LEVEL * most_levels)


@dataclass
class _Trials:
    """Models trained on the rows `fit`, and compared on the other rows of `all`."""

    fit: TrainingRows
    all: TrainingRows
    totals_of: TotalsOf
    stopping: Stopping
    most: int = MOST_TRIALS
    better: float = BETTER
    best_loss: float = np.inf
    _best: Smoothness | None = None
    has_other: bool = False  # whether the best is not the first one tried
    n_turns: int = 0
    n_trials: int = 0

    @classmethod
    def divide(cls, rows: TrainingRows, totals_of: TotalsOf, stopping: Stopping) -> _Trials:
        """Split a sample of the rows."""
        n_outputs = sum(total.n_outputs for total in totals_of(rows.first(LEAST_ROWS)))
        most = int(np.clip(MOST_VALUES // (_n_curves(rows.layout) * n_outputs), 4_000, MOST_ROWS))
        n_fit = min(most, int((1.0 - HELD_OUT) * rows.n_rows))
        here = rows.first(rows.n_rows)
        n_fit = min(here.n_whole(n_fit), rows.n_rows - 1)
        n_held_out = min(rows.n_rows - n_fit, max(4_000, n_fit // 3))
        made = cls(rows.first(n_fit), rows.first(n_fit + n_held_out), totals_of, stopping)
        if rows.n_rows > MANY * n_fit:
            made.most = MOST_TRIALS_OF_MANY
        return made

    @property
    def n_held_out(self) -> int:
        """The number of rows on which models are compared."""
        return self.all.n_rows - self.fit.n_rows

    @property
    def is_stopped(self) -> bool:
        """Whether a limit has been reached, or the user wants to stop."""
        return bool(self.stopping.watch.poll())

    @property
    def onward(self) -> Stopping:
        """The stopping rule of the next choice, which counts turns from the previous ones on."""
        return replace(self.stopping, watch=self.stopping.watch.after(self.n_turns))

    def by_reml(self, rows: TrainingRows) -> Smoothness:
        """Return the variances that REML chooses on these rows, as it does on narrow tables."""
        return choose_smoothness(
            rows,
            self.totals_of(rows),
            self.onward,
            settled=SETTLED,
            least_gain=LEAST_GAIN,
            max_turns=MAX_TURNS,
        )

    def in_all(self, *, pooled: bool) -> Smoothness:
        """Return the variances that REML chooses on the training part, where it is soon settled."""
        return choose_smoothness(
            self.fit,
            self.totals_of(self.fit),
            self.onward,
            pooled=pooled,
            settled=SETTLED_WIDE,
            in_all=True,
            max_turns=MAX_TURNS_WIDE,
        )

    @property
    def best(self) -> Smoothness:
        """The best choice so far."""
        assert self._best is not None
        return replace(self._best, n_turns=self.n_turns)

    def compare(self, found: Smoothness) -> None:
        """Try the variances found, and larger ones as long as they are better."""
        self.n_turns += found.n_turns
        layout, starts, last = found.layout, found.starts, np.inf
        for _ in range(self.most):
            points = self._trained(layout, starts, found.loss)
            starts = [Start(coef=p.parameters, intercept=p.theta[:, -1]) for p in points]
            loss = self._loss(points, found.loss)
            if self._best is None or loss < self.better * self.best_loss:
                self.has_other = self._best is not None
                edf = degrees_of_freedom(points, layout)
                self.best_loss = loss
                self._best = replace(found, layout=layout, edf=edf, starts=starts)
            if not loss < self.better * last or self.is_stopped:
                return
            layout, last = layout.scaled(GROWTH), loss

    def _trained(
        self, layout: Layout, starts: Sequence[Start], own_loss: Loss | None
    ) -> list[Point]:
        self.n_trials += 1
        watch = self.stopping.watch.during(f"trial {self.n_trials}")
        rows, points = self.fit.with_layout(layout), []
        totals = _sums(self.totals_of, self.fit, own_loss)
        for k, (total, start) in enumerate(zip(totals, starts, strict=True)):
            own = watch.of(k) if len(totals) > 1 else watch
            stopping = replace(self.stopping, watch=own, tol=TRIAL_TOL)
            point = Objective.of(rows, total, stopping.n_threads).begin(start)
            for point in newton.descend(point, stopping):  # noqa: B007, B020 (the last is wanted)
                pass
            points.append(point)
        return points

    def _loss(self, points: Sequence[Point], own_loss: Loss | None) -> float:
        """Return the sum of the losses of the held-out rows.

        Where losses have estimated parameters, which differ, it is minus the log-likelihood.
        """
        n_fit, loss = self.fit.n_rows, 0.0
        of_fit, of_all = (_sums(self.totals_of, rows, own_loss) for rows in (self.fit, self.all))
        pairs = zip(of_fit, of_all, strict=True)
        for point, (fitted, both) in zip(points, pairs, strict=True):
            rows = self.all.with_layout(point.layout)
            F: Floats = rows.scores(point.parameters, self.stopping.n_threads)
            F += point.theta[:, -1:]
            loss += exact_value(both, F)
            loss -= exact_value(fitted, np.ascontiguousarray(F[:, :n_fit]))
            loss += constant_of(both) - constant_of(fitted)
        return loss
