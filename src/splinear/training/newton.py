"""Training by Newton's method, with a smoothness that is given or chosen from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear.model.layout import Layout
from splinear.solvers.choosing import choose, final_edf
from splinear.solvers.loss_sums import LossSum
from splinear.solvers.losses import SmoothLoss
from splinear.solvers.memory import NEED_NEWTON, NEED_SOFTMAX, BytesPerRow
from splinear.solvers.path import newton_path
from splinear.solvers.problem import Result, Start, Stopping, stack
from splinear.solvers.smoothness import Smoothness
from splinear.tables.table import Table
from splinear.terms.base import Advice
from splinear.training.advice import advise_smooth
from splinear.training.outputs.base import Outputs, Target
from splinear.training.running import one_blas_thread
from splinear.training.set import TrainingSet
from splinear.training.trainer import LastFit, Trained, starts_of

__all__ = ["NewtonTrainer"]


@dataclass(frozen=True)
class NewtonTrainer:
    """A sum of losses per problem, one after the other.

    Attributes
    ----------
    loss : SmoothLoss
    C : float or None
        None: the data choose the variance of every term.
    noise : bool
        Whether the losses are squares of residuals, whose variance is to be estimated along;
        otherwise they are log-likelihoods.
    """

    loss: SmoothLoss
    C: float | None
    noise: bool = False

    def advice(self, table: Table) -> Advice:
        """Say how fine curves should be."""
        return advise_smooth(table, chosen=self.C is None)

    def need(self, outputs: Outputs) -> BytesPerRow:
        """Return the bytes per row of a problem."""
        return NEED_NEWTON if outputs.together == 1 else NEED_SOFTMAX * outputs.together

    def width(self, outputs: Outputs, n_threads: int) -> int:
        """Return 1: all threads work on one problem."""
        del outputs, n_threads
        return 1

    def path_unit(self, target: Target) -> float:
        """Return 1: penalty and losses are in the same unit."""
        del target
        return 1.0

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Start from the last model, if it has the same shape."""
        del n_rows
        model = last.model
        if model.n_outputs != n_outputs:
            return None
        if [g.shape for g in model.layout.groups] != [g.shape for g in layout.groups]:
            return None
        return starts_of(model)

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C, or choose the variances first."""
        with one_blas_thread():
            if self.C is None:
                return self._fit_chosen(data, stopping, starts)
            [results] = self.follow(data, stopping, [self.C], starts)
            return Trained(data.rows.layout.scaled(self.C), results)

    def _fit_chosen(
        self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None
    ) -> Trained:
        free = data.rows.with_layout(data.rows.layout.without_forms())
        chosen = choose(
            free,
            lambda rows: data.sums(self.loss, rows),
            stopping,
            lambda rows: data.weighted.over(rows).total,
            noise=self.noise,
        )
        chosen = replace(chosen, layout=chosen.layout.with_forms_of(data.rows.layout))
        data = data.with_layout(chosen.layout)
        stopping = replace(stopping, watch=stopping.watch.after(chosen.n_turns))
        settled, edf = stopping.watch.reason is None, chosen.edf
        # A sum of squares is least after a Newton step or two, from wherever it starts.
        if starts is None and not self.noise:
            starts = _starts_of(chosen)
        [results] = self.follow(data, stopping, [1.0], starts)
        if settled:
            models, sums = data.centred(results), data.sums(self.loss)
            edf = final_edf(chosen, data.rows, sums, models, stopping.n_threads)
        return Trained(chosen.layout, results, edf, chosen.n_turns, settled)

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn."""
        sums, Cs = data.sums(self.loss), [float(C) for C in Cs]
        joint = _joint(sums, None if starts is None else data.centred(starts))
        paths = []
        for k, (total, start) in enumerate(zip(sums, joint, strict=True)):
            label = data.outputs.label(k) if len(sums) > 1 else None
            own = replace(stopping, watch=stopping.watch.of(label))
            paths.append(newton_path(data.rows, total, Cs, own, start))
        # Some may have stopped before others.
        per_C = zip(*paths, strict=False)
        return [data.restored([found for results in of_C for found in results]) for of_C in per_C]


def _joint(sums: Sequence[LossSum], starts: list[Start] | None) -> list[Start | None]:
    """Return one start for all outputs of each sum."""
    if starts is None:
        return [None] * len(sums)
    joint: list[Start | None] = []
    for total in sums:
        own, starts = starts[: total.n_outputs], starts[total.n_outputs :]
        joint.append(Start(*stack(own)))
    return joint


def _starts_of(chosen: Smoothness) -> list[Start]:
    """Return the models found while smoothness was chosen, one start per output."""
    return [
        Start(coef=coef, intercept=float(b))
        for start in chosen.starts
        if start.coef is not None
        for coef, b in zip(start.coef, np.atleast_1d(start.intercept), strict=True)
    ]
