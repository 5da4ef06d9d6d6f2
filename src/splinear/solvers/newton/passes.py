"""What Newton's method needs of the rows: a few passes over all of them, and a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from splinear._types import Floats
from splinear.model.information import Thinned
from splinear.model.layout import Layout
from splinear.solvers.newton.steps import Aim, Step
from splinear.solvers.problems.loss_sums import Curvature
from splinear.solvers.problems.watch import Watch
from splinear.solvers.rows.pair_rows import PairRows

if TYPE_CHECKING:
    from splinear.solvers.newton.iterate import Space
    from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["Inverse", "Inverting", "RowPasses", "Stepping", "Thinning"]


class Inverse(Protocol):
    """Matrices, one per output."""

    def times(self, theta: Floats) -> Floats:
        """Multiply theta (n_outputs, n_parameters + 1) by them."""
        ...


@runtime_checkable
class Stepping(Inverse, Protocol):
    """An inverse that steps are made with where it is: vectors do not come and go."""

    def step(
        self,
        space: Space,
        curvature: Curvature,
        gradient: Floats,
        radius: float,
        watch: Watch,
        aim: Aim,
    ) -> Step:
        """Minimize gradient's + 1/2 s'H s over steps s no longer than the radius.

        H is the Hessian of all rows of the space. Free intercepts are at their best in the end.
        """
        ...


class RowPasses(Protocol):
    """Rows, wherever they are.

    `solvers.rows.training_rows.TrainingRows` has them here; `splinear.dask.passes.RemoteRows`
    has workers that hold them. An array of one number per row, (n_outputs, n_rows), is what the
    rows make of it: Newton's method applies NumPy's functions to it, and hands it back.
    """

    @property
    def layout(self) -> Layout:
        """The terms."""
        ...

    @property
    def n_rows(self) -> int:
        """Rows that count."""
        ...

    @property
    def n_values(self) -> int:
        """Values that a pass reads."""
        ...

    @property
    def is_coded(self) -> bool:
        """Whether values are rounded to codes."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether the rows themselves are available, and not only passes over them."""
        ...

    @property
    def n_sampled(self) -> int:
        """Rows that a sample of them may have at most; 0: passes go through all."""
        ...

    @property
    def value_price(self) -> float:
        """What a value costs in a pass over the rows: numbers that are multiplied and added."""
        ...

    @property
    def pairs(self) -> PairRows | None:
        """The rows as surfaces see them; None: there are none."""
        ...

    def with_layout(self, layout: Layout) -> RowPasses:
        """Return the same rows for a layout of the same groups."""
        ...

    def first(self, n: int) -> TrainingRows:
        """Return some n rows, drawn at random, that are here."""
        ...

    def sampled(
        self, curvature: Curvature, n: int, n_threads: int = 1
    ) -> tuple[TrainingRows, Curvature]:
        """Return about n rows and their second derivatives, which stand for all."""
        ...

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return the scores of all rows."""
        ...

    def zero_scores(self, n_outputs: int) -> Floats:
        """Return the scores of parameters that are 0."""
        ...

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the derivative of sum(R * scores(parameters)) by parameters."""
        ...

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the same derivative by the entries of tables."""
        ...

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i', per row h of H and group."""
        ...

    def on_values(self, parameters: Floats, R: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return what `scores` and `sums` would be if X were not rounded, in one reading of it."""
        ...


@runtime_checkable
class Inverting(Protocol):
    """Rows that can tell the inverse of the Hessian, which others leave to who has them here."""

    def inverse(
        self, space: Space, curvature: Curvature, blocks: list[list[Floats]]
    ) -> Inverse | None:
        """Return about the inverse of each output's Hessian; None: there is none.

        Of curves that are not many; `blocks` are those of all rows.
        """
        ...


@runtime_checkable
class Thinning(Protocol):
    """Rows that can tell how thinned terms hang together, which others leave to the core."""

    def thinned(self, how: Thinned, n: int) -> Callable[[Iterable[Floats]], Floats]:
        """Return what makes matrices sum_i h_i t_i t_i' of several h (n,), over the first n rows.

        t_i are the thinned functions of row i that rows can reach, and a one.
        """
        ...
