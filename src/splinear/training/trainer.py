"""What the two ways to train have in common: what they are asked for, and what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from splinear._types import Floats
from splinear.model.additive import Model
from splinear.model.information import Information
from splinear.model.layout import Layout
from splinear.solvers.problems.problem import Result, Start, Stopping
from splinear.solvers.rows.memory import BytesPerRow
from splinear.tables.table import Table
from splinear.terms.base import Advice
from splinear.training.outputs.base import Outputs, Reader, Target
from splinear.training.set import TrainingSet

__all__ = [
    "Duals",
    "Fitter",
    "LastFit",
    "Recipe",
    "Trained",
    "Trainer",
    "starts_like",
    "starts_of",
]


@dataclass(frozen=True, eq=False)
class Duals:
    """The dual variables of a fit, (n_outputs, n_rows) in the order of X, and its C."""

    alpha: Floats
    C: float


@dataclass(frozen=True, eq=False)
class LastFit:
    """What a fit has left for another one to start from."""

    model: Model
    duals: Duals | None


@dataclass(frozen=True, eq=False)
class Trained:
    """What a trainer has learned.

    Attributes
    ----------
    data : TrainingSet
        With surfaces, if any were found.
    layout : Layout
        With the variances that were chosen, or that C stands for.
    results : list of Result
        One per output.
    edf : sequence of ndarray or None
        Degrees of freedom of each group's terms, where smoothness was chosen.
    n_turns : int
        Turns of REML, or steps before there were surfaces.
    settled : bool
        Whether smoothness had been chosen when something stopped the fit.
    is_whole : bool
        Whether all surfaces were there that had been asked for.
    duals : Duals or None
        For the next fit to start from.
    information : list of Information
        What the rows say of each problem's outputs, where it is known.
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

    @property
    def objective(self) -> float:
        """The value of the function that was minimized, summed over problems."""
        # Outputs that are one problem have its value in common.
        return float(sum(found.primal for found in self.results[:: self.data.outputs.together]))

    @property
    def rounded(self) -> bool:
        """Whether all problems would have converged if X were the rounded X."""
        missed = [found for found in self.results if not found.converged]
        return self.settled and bool(missed) and all(found.rounded for found in missed)

    @property
    def converged(self) -> bool:
        """Whether all problems have converged."""
        return self.settled and self.is_whole and all(found.converged for found in self.results)


class Fitter(Protocol):
    """What trains on rows that have been prepared, wherever they are."""

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Return where to start after another fit, per output; None: it is no help."""
        ...

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for the C that the user gave, or choose the smoothness first."""
        ...


class Trainer(Fitter, Protocol):
    """A solver and its settings: it trains any set, whatever the outputs stand for."""

    @property
    def fits_pairs(self) -> bool:
        """Whether surfaces over pairs of features can be trained."""
        ...

    def advice(self, table: Table) -> Advice:
        """Say how fine curves should be where the user did not."""
        ...

    def need(self, outputs: Outputs) -> BytesPerRow:
        """Return the bytes per row that the solver takes."""
        ...

    def width(self, outputs: Outputs, n_threads: int) -> int:
        """Return how many problems are best solved at a time."""
        ...

    def path_unit(self, target: Target) -> float:
        """Return the unit in which a path of C is laid out."""
        ...

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn; the results of each, one per output.

        Fewer lists than Cs if the watch stopped it.
        """
        ...


@dataclass(frozen=True, eq=False)
class Recipe:
    """What an estimator's parameters ask for: how y is read, and what trains."""

    reader: Reader
    trainer: Trainer


def starts_of(model: Model, *, proximal: bool = False) -> list[Start]:
    """Return a start at a model, one per output."""
    pairs = zip(model.parameters, model.intercept, strict=True)
    return [Start(coef=theta, intercept=float(b), proximal=proximal) for theta, b in pairs]


def starts_like(model: Model, layout: Layout, n_outputs: int) -> list[Start] | None:
    """Return a start at the curves of a model, one per output; None if it has another shape."""
    if model.n_outputs != n_outputs:
        return None
    if [g.shape for g in model.layout.groups] != [g.shape for g in layout.groups]:
        return None
    curves = model.parameters[:, : layout.n_of_curves]  # the pairs may be others
    return [replace(one, coef=coef) for one, coef in zip(starts_of(model), curves, strict=True)]
