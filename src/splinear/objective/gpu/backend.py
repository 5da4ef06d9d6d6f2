"""The interface for computations where the rows are stored: by NumPy, the core or CUDA.

- `numpy_backend`: slow and plain, the specification.
- `core_backend`: the compiled core, on the CPU.
- `cuda`: CuPy with the kernels in `*.cu`, on a GPU.

Tests run on every available backend and compare it with the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.terms.basis import BSplineBasis, FourierBasis, HermiteBasis
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import Chain

__all__ = [
    "LEAST_COST",
    "Backend",
    "Cells",
    "Curves",
    "Grid",
    "Surfaces",
    "diagonals",
    "is_supported",
]

DeviceArray = Any  # an array of NumPy or CuPy
MOST_FUNCTIONS = 16  # functions per Fourier or Hermite curve
LEAST_COST = 1e-300  # smaller costs are raised to this before a division


class Cells(Protocol):
    """The rows of one group of terms, as codes or as values; B_i are the functions of row i."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def real(self) -> np.dtype[Any]:
        """The floating-point type in which passes compute."""
        ...

    def scores(self, tables: Floats, to: DeviceArray | None = None) -> DeviceArray:
        """Return sum_j f_j(x_ij) for tables (n_outputs, n_features, stride): (n_outputs, n_rows).

        The result is in double precision, on the device. If `to` is given, the scores are added to
        it in place, and it is returned.
        """
        ...

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return sum_i R_ki B_i for R (n_outputs, n_rows): (n_outputs, n_features, stride)."""
        ...

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return each feature's block of sum_i H_ki B_i B_i', as bands.

        (n_outputs, n_features, stride, support): [k, j, s, p] is that of functions s and s + p.
        """
        ...

    def expanded(self, maps: Floats) -> DeviceArray:
        """Return B_ij' M_j of all features j, (n_rows, n_features * n), in at least float32.

        `maps` (n_features, stride, n) holds M_j, from the functions of feature j to n numbers.
        """
        ...

    def first(self, n: int) -> Cells:
        """Return the first n rows."""
        ...

    def some(self, numbers: AnyArray) -> Cells:
        """Return the rows at these indices."""
        ...


class CodedCells(Cells, Protocol):
    """Rows stored as codes."""

    def fill(self, X: DeviceArray, places: DeviceArray) -> None:
        """Store row i of X, coded, at index places[i]; skip rows with a negative index."""
        ...

    def codes(self) -> AnyArray:
        """Return the codes, (n_rows, n_features), on the host."""
        ...


class Curves(Protocol):
    """The curves of one group, kept on the device for predictions."""

    def scores(self, X: DeviceArray) -> DeviceArray:
        """Return sum_j f_j(x_ij) of the rows of X (n_rows, n_columns): (n_outputs, n_rows).

        For float32 values it may be computed in single precision. The scores of rows with an
        infinite value are NaN.
        """
        ...


class Surfaces(Protocol):
    """Surfaces over pairs of features, and the rows' positions on their chains of nodes.

    See core/pairs/surfaces.hpp for the formulas.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def positions(self) -> DeviceArray:
        """The rows' positions, (n_chains, n_rows), in double precision if exact, else single."""
        ...

    def fill(self, X: DeviceArray, places: DeviceArray | None = None) -> None:
        """Store the position of row i of X at index places[i] (i if places is None).

        Rows whose index is out of range are skipped.
        """
        ...

    def scores(self, tables: DeviceArray) -> DeviceArray:
        """Return the sum of all surfaces, (n_outputs, n_rows), of tables (n_outputs, n_nodes)."""
        ...

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return sum_i R_ki B_i over the nodes of all surfaces, (n_outputs, n_nodes)."""
        ...

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return the diagonal blocks of sum_i H_ki B_i B_i' as bands, (n_outputs, n_nodes, 5)."""
        ...

    def first(self, n: int) -> Surfaces:
        """Return the first n rows."""
        ...

    def over(self, n_rows: int, *, exact: bool) -> Surfaces:
        """Return the same surfaces for n_rows other rows, whose positions are still to be set."""
        ...


class Backend(Protocol):
    """A device that stores rows, and the computations on it."""

    name: str

    @property
    def place(self) -> Hashable:
        """The device that new arrays are stored on, if a backend has several."""
        ...

    def array(self, values: AnyArray) -> DeviceArray:
        """Move an array to the device."""
        ...

    def numpy(self, array: DeviceArray) -> AnyArray:
        """Move an array to the host."""
        ...

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return an array of zeros in double precision, on the device."""
        ...

    def coded(self, group: TermGroup, n_rows: int) -> CodedCells:
        """Return an array for the codes of n_rows rows, to be set by `fill`."""
        ...

    def valued(self, group: TermGroup, X: DeviceArray) -> Cells:
        """Return the rows of X (n_rows, n_columns) as values, without rounding."""
        ...

    def curves(self, group: TermGroup, tables: Floats) -> Curves:
        """Copy curves to the device, given tables (n_outputs, n_features, size or size + 1).

        With size + 1 entries, the last is that of missing values. All threads may use the result.
        """
        ...

    def surfaces(
        self, chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool = False
    ) -> Surfaces:
        """Return surfaces over pairs of chains, for n_rows rows; `fill` sets their positions.

        A row of the table (n_surfaces, 4) is the indices of two chains, then their node counts.
        """
        ...

    def pair_evidence(self, cells: DeviceArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
        """Return the evidence for interactions of pairs (n_pairs, 2), as (n_outputs, n_pairs).

        `cells` (n_features, n_rows) holds integers from 0 to 15; G and H (n_outputs, n_rows) are
        first and second derivatives. See core/pairs/evidence.hpp.
        """
        ...

    def grams(self, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
        """Return A' diag(w) A for each row w >= 0 of the weights (n, n_rows).

        The products of A and the square roots of weights may be rounded to 11 bits.
        """
        ...

    def inverse_factors(self, H: DeviceArray) -> DeviceArray:
        """Return L^{-1} of matrices H = L L', (n, m, m); not finite if a matrix has no such L.

        In the type of H or a finer one; H may be overwritten.
        """
        ...

    def twice(self, factors: DeviceArray, vectors: DeviceArray) -> DeviceArray:
        """Return M'M v for lower triangular M (n, m, m) and vectors v (n, m) of the same type."""
        ...

    def classes(
        self, F: DeviceArray, labels: DeviceArray, *, minus: bool = False
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return the softmax of F (n_outputs, n_rows), and the labels' log-probabilities (n_rows,).

        If `minus`, 1 is subtracted from the probability of each row's label.
        """
        ...

    def class_moments(self, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
        """Return sum_i c_i p_i (p_i', 1) on the host, with p_i the softmax of F_i + shift.

        F is (n_outputs, n_rows), and the result (n_outputs, n_outputs + 1).
        """
        ...

    def class_shift(self, F: DeviceArray, cost: DeviceArray, of_classes: Floats) -> Floats:
        """Return the constants (n_outputs,), of mean 0, that minimize the loss when added to F.

        The loss is sum_i c_i (log sum_k exp F_ki - F_{label_i, i}); `of_classes` (n_outputs,) holds
        the total cost of the rows of each class. The result is on the host.
        """
        ...

    def class_bends(
        self, p: DeviceArray, cost: DeviceArray, V: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return c_i p_ki (V_ki - sum_m p_mi V_mi) + e_i V_ki, in the type of V.

        The probabilities p and V are (n_outputs, n_rows), and e (`extra`) is (n_rows,).
        """
        ...

    def class_diagonals(
        self, p: DeviceArray, cost: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return c_i p_ki (1 - p_ki) + e_i, the diagonal of the map that `class_bends` applies."""
        ...

    def cautious_costs(self, p: DeviceArray, own: DeviceArray, cost: DeviceArray) -> DeviceArray:
        """Return costs (n_rows,), raised if the label's probability is below 1 / (e + 1).

        Second derivatives are then those of a parabola that touches the loss on both sides of 0.
        `own` holds the labels' log-probabilities, p (n_outputs, n_rows) all probabilities.
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
        """Return sum_i c_i KL(q_i, p_i) of q_i = indicator + R_i / c_i and the softmax p_i of F_i.

        Infinite if some q_i are not probabilities, by more than `rounding`.
        """
        ...

    def free_bytes(self) -> int | None:
        """Return the free memory in bytes; None if it is unknown, and need not be checked."""
        ...


def diagonals(H: DeviceArray) -> DeviceArray:
    """Return a view (n, m) of the diagonals of matrices (n, m, m)."""
    return H.reshape(len(H), -1)[:, :: H.shape[1] + 1]


def is_supported(group: TermGroup) -> bool:
    """Return whether kernels exist for the functions of a group."""
    basis = group.embedding.basis
    if group.embedding.through_zero:
        return False
    if isinstance(basis, FourierBasis | HermiteBasis):
        return basis.size <= MOST_FUNCTIONS
    return isinstance(basis, BSplineBasis)


@dataclass(frozen=True)
class Grid:
    """How an axis is divided into codes; the core's `CodeGrid`."""

    steps: float
    rounding: float  # added before truncation
    last: int  # largest code of a value
    bits: int  # of a code's fraction
    gap_code: int  # code of missing values; -1 if there is none
    is_wide: bool  # whether codes need 32 bits
    span: float  # length of the argument that the steps divide; 0 for each axis's own length

    @classmethod
    def of(cls, group: TermGroup) -> Grid:
        """Return the grid of a group."""
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
        """Return the number of codes per unit of each axis's argument, (n_features,)."""
        axes = group.embedding.axes
        return self.steps / (np.full(len(axes.lo), self.span) if self.span else axes.length)
