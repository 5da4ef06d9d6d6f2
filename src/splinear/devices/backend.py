"""What is computed where rows are: one interface for NumPy, the core and CUDA.

- `numpy_backend`: slow and plain, the specification.
- `core_backend`: the compiled core, on the processor.
- `cuda`: CuPy, with kernels of our own (`kernels.cu`), on a GPU.

Tests run on every backend that is there, and compare it with the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.curves.basis import BSplineBasis, FourierBasis, HermiteBasis
from splinear.model.chains import Chain
from splinear.model.group import TermGroup
from splinear.solvers.hinge.box import Box

__all__ = [
    "AT_A_TIME",
    "LEAST",
    "LEAST_COST",
    "TURNS",
    "Backend",
    "Boxed",
    "Cells",
    "Curves",
    "Grid",
    "Surfaces",
    "diagonals",
    "is_supported",
]

DeviceArray = Any  # of NumPy or CuPy
MOST_FUNCTIONS = 16  # of Fourier and Hermite curves
AT_A_TIME, TURNS = 128, 2  # rows of which `descend` goes through, and how often
LEAST_COST = 1e-300  # that can be divided by
LEAST = 0.02  # of the largest violation: rows of less stay where they are in a sweep


class Cells(Protocol):
    """The rows of one group of terms: where every value stands on its axis."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def real(self) -> np.dtype[Any]:
        """The type of numbers in which passes compute."""
        ...

    def scores(self, tables: Floats, to: DeviceArray | None = None) -> DeviceArray:
        """Return sum_j f_j(x_ij) for tables (n_outputs, n_features, stride): (n_outputs, n_rows).

        An array of doubles on the device; `to`, if it is given, to which they are added.
        """
        ...

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return sum_i R_ki B_i for R (n_outputs, n_rows): (n_outputs, n_features, stride)."""
        ...

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return sum_i H_ki B_i B_i' by bands: (n_outputs, n_features, stride, support)."""
        ...

    def expanded(self, maps: Floats) -> DeviceArray:
        """Return B_i' M_j of all features j, (n_rows, n_features * n), in single precision or more.

        `maps` are (n_features, stride, n): from the functions of a feature to n numbers.
        """
        ...

    def first(self, n: int) -> Cells:
        """Return the first n rows."""
        ...

    def some(self, numbers: AnyArray) -> Cells:
        """Return the rows of these numbers."""
        ...


class CodedCells(Cells, Protocol):
    """Rows as codes."""

    def fill(self, X: DeviceArray, places: DeviceArray) -> None:
        """Code rows of X, row i as number places[i]; a negative number: not at all."""
        ...

    def codes(self) -> AnyArray:
        """Return the codes, (n_rows, n_features), on the host."""
        ...


class Curves(Protocol):
    """The curves of one group, which stay on the device while rows come and go."""

    def scores(self, X: DeviceArray) -> DeviceArray:
        """Return sum_j f_j(x_ij) of rows of X (n_rows, n_columns): (n_outputs, n_rows).

        Those of float32 values may be computed in single precision. Rows with an infinite value
        are NaN.
        """
        ...


class Surfaces(Protocol):
    """Rows as surfaces over pairs of features see them: where each stands on chains of nodes.

    What is computed from that is said in core/pairs/surfaces.hpp.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def positions(self) -> DeviceArray:
        """Where rows stand, (n_chains, n_rows), in single precision unless it is to be exact."""
        ...

    def fill(self, X: DeviceArray, places: DeviceArray | None = None) -> None:
        """Note where rows of X stand, row i as number places[i] (None: i).

        Numbers that there is no room for are left out.
        """
        ...

    def scores(self, tables: DeviceArray) -> DeviceArray:
        """Return the sum of all surfaces, (n_outputs, n_rows), of tables (n_outputs, n_nodes)."""
        ...

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return the sums of R by the nodes of all surfaces, (n_outputs, n_nodes)."""
        ...

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return the blocks of sum_i h_i B_i B_i' by bands, (n_outputs, n_nodes, 5)."""
        ...

    def first(self, n: int) -> Surfaces:
        """Return the first n rows."""
        ...

    def over(self, n_rows: int, *, exact: bool) -> Surfaces:
        """Return the same surfaces with room for other rows."""
        ...


class Boxed(Protocol):
    """Box-constrained problems on the way to their solutions, all outputs at once.

    They may be solved in single precision.
    """

    @property
    def b(self) -> DeviceArray:
        """The variables, within their bounds, (n_outputs, n_rows), in double precision."""
        ...

    def descend(self, n_sweeps: int) -> None:
        """Make sweeps of coordinate descent.

        A sweep is over the rows that violate optimality in any output, some at a time: it goes
        through these twice before the gradient of all others follows.
        """
        ...

    def step_free(self) -> None:
        """Make a Newton step of the variables that are at no bound; see `subspace`."""
        ...

    def violation(self) -> float:
        """Return the largest violation of optimality, of all rows and outputs."""
        ...


class Backend(Protocol):
    """Where rows are, and how passes over them are made."""

    name: str

    @property
    def place(self) -> Hashable:
        """Which of the devices that a backend knows takes arrays now."""
        ...

    def array(self, values: AnyArray) -> DeviceArray:
        """Move an array to the device."""
        ...

    def numpy(self, array: DeviceArray) -> AnyArray:
        """Move an array to the host."""
        ...

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return doubles that are 0, on the device."""
        ...

    def coded(self, group: TermGroup, n_rows: int) -> CodedCells:
        """Return room for the codes of rows."""
        ...

    def valued(self, group: TermGroup, X: DeviceArray) -> Cells:
        """Return rows of X (n_rows, n_columns) as they are."""
        ...

    def curves(self, group: TermGroup, tables: Floats) -> Curves:
        """Send curves (n_outputs, n_features, size), or size + 1: the last is for missing values.

        What comes back serves every thread.
        """
        ...

    def surfaces(
        self, chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool = False
    ) -> Surfaces:
        """Return room for the positions of rows on chains, for surfaces over two of them each.

        The table (n_surfaces, 4) has the numbers of both chains, and how many nodes they have.
        """
        ...

    def pair_evidence(self, cells: DeviceArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
        """Return how much pairs (n_pairs, 2) of features say together, (n_outputs, n_pairs).

        `cells` (n_features, n_rows) are numbers from 0 to 15; G and H (n_outputs, n_rows) are first
        and second derivatives. See core/pairs/evidence.hpp.
        """
        ...

    def grams(self, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
        """Return A' diag(w) A, a matrix for each row w >= 0 of the weights (n, n_rows).

        Of A, and of the roots of weights as shares of the largest, 11 bits may count.
        """
        ...

    def inverse_factors(self, H: DeviceArray, sizes: DeviceArray | None = None) -> DeviceArray:
        """Return L^{-1} of matrices H = L L', (n, m, m); not finite where one has no such L.

        In the type of H, or a finer one; H may be overwritten. Rows from sizes (n,) on may be taken
        for those of the unit matrix, if they are given: of such a row only the diagonal may be
        another.
        """
        ...

    def twice(self, factors: DeviceArray, vectors: DeviceArray) -> DeviceArray:
        """Return M'M v of such factors M (n, m, m) and vectors v (n, m), of the same type."""
        ...

    def rounded(self, A: DeviceArray) -> DeviceArray:
        """Return a matrix of numbers of about 1 as `inner` takes it: 11 bits of each may count.

        Columns of zeros may be added to it.
        """
        ...

    def inner(self, A: DeviceArray, B: DeviceArray) -> DeviceArray:
        """Return A B' of two such matrices, in single precision or more."""
        ...

    def boxed(self, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray) -> Boxed:
        """Return the problems of a box over rows with products K (n_rows, n_rows).

        They are to be solved from b on, where the gradient is this; (n_outputs, n_rows) each.
        """
        ...

    def classes(
        self, F: DeviceArray, labels: DeviceArray, *, minus: bool = False
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return the softmax of F (n_outputs, n_rows), and the logarithms of the labels' own.

        If `minus`, with 1 taken off where a label is.
        """
        ...

    def class_moments(self, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
        """Return sum_i c_i p_i (p_i', 1), p_i being the softmax of F_i + shift, on the host.

        F is (n_outputs, n_rows), the result (n_outputs, n_outputs + 1).
        """
        ...

    def class_shift(self, F: DeviceArray, cost: DeviceArray, of_classes: Floats) -> Floats:
        """Return the numbers (n_outputs,), of mean 0, whose addition to F makes losses least.

        The losses are sum_i c_i (log sum_k exp F_ki - F_{label_i, i}); `of_classes` (n_outputs,)
        are the sums of costs over the rows of each class. The result is on the host.
        """
        ...

    def class_bends(
        self, p: DeviceArray, cost: DeviceArray, V: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return c_i p_ki (V_ki - sum_m p_mi V_mi) + e_i V_ki for probabilities p.

        p and V are (n_outputs, n_rows), and what is extra (n_rows,). In the type of V.
        """
        ...

    def class_diagonals(
        self, p: DeviceArray, cost: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return the diagonal of that by V, c_i p_ki (1 - p_ki) + e_i."""
        ...

    def cautious_costs(self, p: DeviceArray, own: DeviceArray, cost: DeviceArray) -> DeviceArray:
        """Return costs (n_rows,), raised where labels are less likely than 1 in e + 1.

        So that second derivatives are those of a parabola that touches the loss on both sides of 0.
        `own` are the logarithms of the labels' own probabilities, p (n_outputs, n_rows) all.
        """
        ...

    def class_divergence(
        self,
        F: DeviceArray,
        R: DeviceArray,
        labels: DeviceArray,
        cost: DeviceArray,
        rounding: float,
    ) -> float:
        """Return sum_i c_i KL(q_i, p_i), p_i being the softmax of F_i, q_i = indicator + R_i / c_i.

        Infinite where some q_i are no probabilities, by more than `rounding`.
        """
        ...

    def free_bytes(self) -> int | None:
        """Return how much memory is free; None: not known, and not a matter."""
        ...


def diagonals(H: DeviceArray) -> DeviceArray:
    """Return the diagonals of matrices (n, m, m), row by row, to be read and written."""
    return H.reshape(len(H), -1)[:, :: H.shape[1] + 1]


def is_supported(group: TermGroup) -> bool:
    """Tell whether kernels know the functions of a group."""
    basis = group.embedding.basis
    if group.embedding.through_zero:
        return False
    if isinstance(basis, FourierBasis | HermiteBasis):
        return basis.size <= MOST_FUNCTIONS
    return isinstance(basis, BSplineBasis)


@dataclass(frozen=True)
class Grid:
    """How an axis is divided into codes: what `CodeGrid` is in the core."""

    steps: float
    rounding: float
    last: int
    bits: int
    gap_code: int  # -1: there is none
    is_wide: bool
    span: float  # of the argument that the steps divide; 0: each axis's own

    @classmethod
    def of(cls, group: TermGroup) -> Grid:
        """Return that of a group."""
        basis, gaps = group.embedding.basis, group.has_gaps
        if not isinstance(basis, BSplineBasis):
            most = 65534 if gaps else 65535
            return cls(float(most), 0.5, most, 0, 65535 if gaps else -1, False, 0.0)
        top = basis.size + 1 if gaps else basis.n_bins
        bits = 0
        while basis.degree > 0 and (top << (bits + 1)) <= 65535:
            bits += 1
        end, is_whole = basis.n_bins << bits, basis.degree == 0
        return cls(
            float(end),
            0.0 if is_whole else 0.5,
            end - 1 if is_whole else end,
            bits,
            basis.size << bits if gaps else -1,
            is_whole and top > 65535,
            float(basis.n_bins),
        )

    def density(self, group: TermGroup) -> Floats:
        """Return the codes per unit of each axis's argument."""
        axes = group.embedding.axes
        return self.steps / (np.full(len(axes.lo), self.span) if self.span else axes.length)
