"""What an objective asks of rows, wherever they are: a few passes over all of them, and samples.

`local.training_rows.TrainingRows` has the rows in this process, `devices.rows.DeviceRows` on a GPU,
and for `dask.passes.RemoteRows` workers hold them. Arrays with one number per row, `RowValues`, are
of a type that the rows choose. Only the modules of this room compute with them; solvers see vectors
of the length of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.model.information import Thinned
from splinear.model.layout import Layout
from splinear.objective.local.pair_rows import PairRows
from splinear.objective.step import Aim, Step
from splinear.objective.watch import Watch

if TYPE_CHECKING:
    from splinear.objective.local.training_rows import TrainingRows
    from splinear.objective.space import Space

__all__ = ["Inverse", "RowValues", "Rows", "ThinnedProducts"]

RowValues: TypeAlias = Floats  # (n_outputs, n_rows)
ThinnedProducts: TypeAlias = "Callable[[Iterable[Floats]], Sequence[Floats]]"


class Inverse(Protocol):
    """Approximate inverses of the Hessian, one per output, where the rows are."""

    def times(self, theta: Floats) -> Floats:
        """Return the matrices times theta (n_outputs, n_parameters + 1)."""
        ...

    def step(
        self,
        space: Space,
        curvature: Curvature,
        gradient: Floats,
        radius: float,
        watch: Watch,
        aim: Aim,
    ) -> Step | None:
        """Minimize gradient's + 1/2 s'H s over steps s no longer than the radius.

        H is the Hessian of all rows of the space. Free intercepts are optimal at the end. Return
        None if steps take products by the caller.
        """
        ...


class Inverter(Protocol):
    """Returns approximate inverses of each output's Hessian."""

    def __call__(
        self, space: Space, curvature: Curvature, blocks: list[list[Floats]]
    ) -> Inverse | None:
        """Return them, or None for too many curves; `blocks` are those of all rows."""
        ...


class Rows(Protocol):
    """Rows, wherever they are."""

    @property
    def layout(self) -> Layout:
        """The terms of the model."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows with a positive weight."""
        ...

    @property
    def n_values(self) -> int:
        """Number of values that a pass reads."""
        ...

    @property
    def is_coded(self) -> bool:
        """Whether values are rounded to codes."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether the rows themselves are accessible, and not only passes over them."""
        ...

    @property
    def n_sampled(self) -> int:
        """Largest number of rows in a sample; 0 if passes always use all rows."""
        ...

    @property
    def value_price(self) -> float:
        """Cost of a value in a pass over the rows: numbers that are multiplied and added."""
        ...

    @property
    def pairs(self) -> PairRows | None:
        """The rows as coded for surfaces; None if there are none."""
        ...

    def with_layout(self, layout: Layout) -> Rows:
        """Return the same rows for a layout of the same groups."""
        ...

    def first(self, n: int) -> TrainingRows:
        """Return n random rows, in this process."""
        ...

    def sampled(
        self, curvature: Curvature, n: int, n_threads: int = 1
    ) -> tuple[TrainingRows, Curvature]:
        """Return about n rows, in this process, and second derivatives that represent all rows."""
        ...

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return the scores of all rows, (n_outputs, n_rows)."""
        ...

    def zero_scores(self, n_outputs: int) -> Floats:
        """Return the scores of zero parameters, (n_outputs, n_rows)."""
        ...

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the derivative of sum(R * scores(parameters)) with respect to parameters."""
        ...

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the same derivative with respect to the entries of tables."""
        ...

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i', for each row h of H and each group."""
        ...

    def on_values(self, parameters: Floats, R: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return `scores` and `sums` for X without rounding, in one pass over it."""
        ...

    @property
    def inverse(self) -> Inverter | None:
        """What computes approximate inverses of Hessians; None if solvers precondition the rows."""
        ...

    def thinned(self, how: Thinned, n: int, n_threads: int) -> ThinnedProducts:
        """Return a function that computes matrices sum_i h_i t_i t_i' of several h (n,).

        The sum is over the first n rows. t_i are the values of the thinned functions in row i,
        without those that no row reaches, and a one.
        """
        ...
