"""Interfaces of trainers, which connect training sets to solvers, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from splinear._types import Floats
from splinear.losses.base import Loss
from splinear.model.additive import Model
from splinear.model.information import Information
from splinear.model.layout import Layout
from splinear.objective.local.memory import BytesPerRow
from splinear.objective.problem import Result, Start, Stopping
from splinear.objective.training_set import ClassWeight, Response, TrainingSet
from splinear.tables.table import Table
from splinear.terms.base import Advice

__all__ = [
    "Duals",
    "Fitter",
    "Recipe",
    "Trained",
    "Trainer",
    "starts_like",
    "starts_of",
    "with_shared",
]


@dataclass(frozen=True, eq=False)
class Duals:
    """The dual variables of a fit, (n_outputs, n_rows) in the order of X, and their C."""

    alpha: Floats
    C: float


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of a trainer.

    Attributes
    ----------
    data : TrainingSet
        The training set, with surfaces if any were found.
    layout : Layout
        The terms with their variances, chosen or given by C: those of the first problem if
        `layouts` has one for each.
    results : list of Result
        One per output.
    edf : sequence of ndarray or None
        Effective degrees of freedom of each group's terms, where smoothness was chosen.
    n_turns : int
        Number of turns of REML, or of passes before surfaces were added.
    settled : bool
        Whether the choice of smoothness, or of C, had finished before the fit was stopped.
    is_whole : bool
        Whether surfaces, if asked for, were added before the fit was stopped.
    duals : Duals or None
        Dual variables for a warm start.
    information : list of Information
        The Fisher information of each problem; empty if there is no likelihood.
    pair_search : dict or None
        What became of a search for pairs, as `PairSearch.report` tells it.
    layouts : sequence of Layout
        One per problem if there are several and smoothness was chosen for each; otherwise empty.
    """

    data: TrainingSet
    layout: Layout
    results: list[Result]
    edf: Sequence[Floats] | None = None
    n_turns: int = 0
    settled: bool = True
    is_whole: bool = True
    duals: Duals | None = None
    information: Sequence[Information] = ()
    layouts: Sequence[Layout] = ()
    pair_search: dict[str, Any] | None = None

    @property
    def objective(self) -> float:
        """The value of the function that was minimized, summed over problems."""
        # Outputs trained as one problem all hold its value.
        return float(sum(found.primal for found in self.results[:: self.data.loss.n_scores]))

    @property
    def rounded(self) -> bool:
        """Whether all problems would have converged if X equaled its rounded codes."""
        missed = [found for found in self.results if not found.converged]
        return self.settled and bool(missed) and all(found.rounded for found in missed)

    @property
    def converged(self) -> bool:
        """Whether all problems have converged."""
        return self.settled and self.is_whole and all(found.converged for found in self.results)


class Fitter(Protocol):
    """Trains on prepared rows, wherever they are stored."""

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for the given C, or choose the smoothness first."""
        ...


class Trainer(Fitter, Protocol):
    """A solver and its settings, which trains any kind of outputs."""

    @property
    def merges_copies(self) -> bool:
        """Whether rows that are copies of each other are taken for one observation."""
        ...

    def advice(self, table: Table, n_units: float) -> Advice:
        """Return the default numbers of bins and knots."""
        ...

    def need(self, loss: Loss) -> BytesPerRow:
        """Return the solver's memory per row."""
        ...

    def width(self, loss: Loss, n_threads: int) -> int:
        """Return how many problems to solve in parallel."""
        ...

    def path_unit(self, response: Response) -> float:
        """Return the unit of the values of C on a path."""
        ...

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train for each C in turn, and return a list per C of the results of all outputs.

        There are fewer lists than Cs if the watch stopped it.
        """
        ...


@dataclass(frozen=True, eq=False)
class Recipe:
    """The loss, not yet fitted to y, and the trainer that an estimator's parameters ask for."""

    loss: Loss
    trainer: Trainer
    class_weight: ClassWeight = None


def with_shared(loss: Loss, results: Sequence[Result]) -> tuple[Loss, list[Result]]:
    """Return the loss with the shared parameters of a fit, and results without intercept.

    The intercept becomes a part of these parameters.
    """
    if not results or (shared := results[0].shared) is None:
        return loss, list(results)
    known = loss.with_shared(shared, results[0].intercept)
    return known, [replace(found, intercept=0.0) for found in results]


def starts_of(model: Model, *, proximal: bool = False) -> list[Start]:
    """Return one start per output, at a model."""
    pairs = zip(model.parameters, model.intercept, strict=True)
    return [Start(coef=theta, intercept=float(b), proximal=proximal) for theta, b in pairs]


def starts_like(model: Model, layout: Layout, n_outputs: int) -> list[Start] | None:
    """Return one start per output, at a model's curves; None if its shape differs."""
    if model.n_outputs != n_outputs:
        return None
    if [g.shape for g in model.layout.groups] != [g.shape for g in layout.groups]:
        return None
    curves = model.parameters[:, : layout.n_of_curves]  # surfaces may differ
    return [replace(one, coef=coef) for one, coef in zip(starts_of(model), curves, strict=True)]
