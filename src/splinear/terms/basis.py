"""The bases of curves: B-splines, Fourier, Hermite, and any other given by sampled values.

A basis is a list of `size` functions B_k of one argument; a curve is f(x) = sum_k a_k B_k(x). This
NumPy code is the specification; the core computes the same inside its loops.

=========  ==============================  ==========  ===========================================
basis      functions                       argument    penalty on the d-th derivative
=========  ==============================  ==========  ===========================================
B-spline   degree 0-3 on equal bins        [0, n]      differences of order d (0 to 10)
Fourier    cos(n pi x), sin(n pi x)        [-1, 1]     weights 1 / n^d (d = 1, 2)
Hermite    H_n(x), n >= 1                  [-1, 1]     1 / sqrt(n n!), 1 / sqrt(n (n-1) n!)
sampled    any, linear between samples     [-1, 1]     any
=========  ==============================  ==========  ===========================================
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.penalties import DiagonalPenalty, DifferencePenalty, Penalty

__all__ = [
    "MAX_FREQUENCIES",
    "MAX_HERMITE",
    "BSplineBasis",
    "Basis",
    "FourierBasis",
    "HermiteBasis",
    "SampledBasis",
]

MAX_FREQUENCIES = 250  # the Hessian of a curve has (2 n)^2 entries, to which each row adds
MAX_HERMITE = 150  # n n! overflows a double from 169 on


@dataclass(frozen=True)
class BSplineBasis:
    """Uniform B-splines of degree 0 to 3 on bins of width one.

    At t = bin + a, degree + 1 of them are non-zero: those at the indices bin, ..., bin + degree.
    """

    degree: int
    n_bins: int
    is_partition = True  # the functions sum to one

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.n_bins + self.degree

    @property
    def support(self) -> int:
        """Number of functions that are non-zero at a point."""
        return self.degree + 1

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the axis."""
        return 0.0, float(self.n_bins)

    def local(self, t: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return bins, t.shape, and weights, (*t.shape, degree + 1), at the arguments t."""
        bins = np.minimum(t.astype(np.intp), self.n_bins - 1)
        a = t - bins
        if self.degree == 0:
            weights = [np.ones_like(a)]
        elif self.degree == 1:
            weights = [1 - a, a]
        elif self.degree == 2:
            weights = [(1 - a) ** 2 / 2, 0.5 + a - a**2, a**2 / 2]
        else:
            weights = [
                (1 - a) ** 3 / 6,
                2 / 3 - a**2 + a**3 / 2,
                (1 + 3 * a + 3 * a**2 - 3 * a**3) / 6,
                a**3 / 6,
            ]
        return bins, np.stack(weights, axis=-1)

    def evaluate(self, t: Floats) -> Floats:
        """Return all functions at the arguments t, shape (*t.shape, size)."""
        return self._spread(*self.local(t))

    def derivative(self, t: Floats) -> Floats:
        """Return the derivatives of all functions at t, (*t.shape, size); at a knot, right ones.

        The derivative of a B-spline is the difference of two neighbors of the next lower degree.
        """
        if self.degree == 0:
            return np.zeros((*t.shape, self.size))
        bins, lower = BSplineBasis(self.degree - 1, self.n_bins).local(t)
        none = np.zeros((*t.shape, 1))
        return self._spread(bins, -np.diff(lower, axis=-1, prepend=none, append=none))

    def _spread(self, bins: NDArray[np.intp], weights: Floats) -> Floats:
        """Return all functions, (*bins.shape, size), given the non-zero ones of each bin."""
        out = np.zeros((*bins.shape, self.size))
        index = bins[..., None] + np.arange(self.support)
        np.put_along_axis(out, index, weights, axis=-1)
        return out

    def penalty(
        self, order: int, *, through_zero: bool = False, held: int = 0
    ) -> DifferencePenalty:
        """Return the penalty D_d on the coefficients, the first `held` of which are fixed at 0.

        If `through_zero`, the functions that are not zero at the start of the axis (for degree 0,
        the first) have no coefficient.
        """
        at_zero = max(1, self.degree) if through_zero else 0
        return DifferencePenalty(order, self.size, max(at_zero, held))

    def variance(self, length: Floats, width: Floats | float) -> Floats:
        """Return s^2 of features with `length` bins and the given widths: the width of a bin.

        For a feature mapped to [0, 1], of width 1, s^2 is the paper's 1 / N.
        """
        return width / length

    def names(self) -> list[str]:
        """Return suffixes for the names of the embedded features."""
        return [f"bspline{k}" for k in range(self.size)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.bspline(self.degree, self.n_bins)

    def grid(self, *, gaps: bool = False) -> _core.CodeGrid:
        """Return the core's grid of codes, with one for missing values if `gaps`."""
        return _core.CodeGrid.bins(self.n_bins, self.degree, gaps)


class _GlobalBasis:
    """Base of bases whose functions are non-zero on all of [-1, 1]."""

    is_partition = False

    @property
    def size(self) -> int:
        """Number of functions."""
        raise NotImplementedError

    @property
    def support(self) -> int:
        """Number of functions that are non-zero at a point: all."""
        return self.size

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the axis."""
        return -1.0, 1.0

    def variance(self, length: Floats, width: Floats | float) -> Floats:
        """Return s^2 of features of the given widths, whatever their length."""
        return np.broadcast_to(np.asarray(width, dtype=np.float64), length.shape)

    def grid(self, *, gaps: bool = False) -> _core.CodeGrid:
        """Return the core's grid of codes, with one for missing values if `gaps`."""
        return _core.CodeGrid.whole_axis(gaps)


@dataclass(frozen=True)
class FourierBasis(_GlobalBasis):
    """cos(pi x), sin(pi x), ..., cos(degree pi x), sin(degree pi x) on [-1, 1]; no constant."""

    degree: int

    @property
    def size(self) -> int:
        """Number of functions."""
        return 2 * self.degree

    def evaluate(self, x: Floats) -> Floats:
        """Return all functions at the arguments x, shape (*x.shape, size)."""
        angle = np.pi * x[..., None] * np.arange(1, self.degree + 1)
        pairs = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return pairs.reshape(*x.shape, self.size)

    def derivative(self, x: Floats) -> Floats:
        """Return the derivatives of all functions at x, shape (*x.shape, size)."""
        frequency = np.pi * np.arange(1, self.degree + 1)
        angle = x[..., None] * frequency
        pairs = np.stack([-frequency * np.sin(angle), frequency * np.cos(angle)], axis=-1)
        return pairs.reshape(*x.shape, self.size)

    def penalty(self, order: int, *, through_zero: bool = False) -> DiagonalPenalty:
        """Return the penalty with weights 1 / n^d, which make the d-th derivatives orthonormal.

        This holds up to one common factor. If `through_zero`, curves consist of sines only.
        """
        frequencies = np.repeat(np.arange(1.0, self.degree + 1), 2)
        odd = np.arange(self.size) % 2 == 1
        return DiagonalPenalty(np.where(odd | (not through_zero), frequencies**-order, 0.0))

    def names(self) -> list[str]:
        """Return suffixes for the names of the embedded features."""
        return [f"{f}{n}" for n in range(1, self.degree + 1) for f in ("cos", "sin")]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.fourier(self.degree)


@dataclass(frozen=True)
class HermiteBasis(_GlobalBasis):
    """The probabilists' Hermite polynomials H_1, ..., H_degree; no constant.

    The axis is [-1, 1], as in the paper's experiments.
    """

    degree: int

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.degree

    def evaluate(self, x: Floats) -> Floats:
        """Return all functions at the arguments x, shape (*x.shape, size)."""
        with_constant = np.polynomial.hermite_e.hermevander(x, self.degree)
        return np.asarray(with_constant[..., 1:], dtype=np.float64)

    def derivative(self, x: Floats) -> Floats:
        """Return the derivatives n H_{n-1} of all functions at x, shape (*x.shape, size)."""
        lower = np.polynomial.hermite_e.hermevander(x, self.degree - 1)
        return np.asarray(np.arange(1, self.degree + 1) * lower, dtype=np.float64)

    def penalty(self, order: int, *, through_zero: bool = False) -> DiagonalPenalty:
        """Return the penalty whose weights make the d-th derivatives orthonormal.

        This holds up to one common factor. The weights are 1 / sqrt(n n!) for d = 1, and 1 / sqrt(n
        (n - 1) n!) for d = 2, except 1 for n = 1, whose second derivative is 0 (the paper keeps its
        first-order weight). If `through_zero`, curves consist of odd polynomials only.
        """
        n = range(1, self.degree + 1)
        if order == 1:
            squares = [k * factorial(k) for k in n]
        else:
            squares = [1 if k == 1 else k * (k - 1) * factorial(k) for k in n]
        weights = np.array([float(s) ** -0.5 for s in squares])
        odd = np.arange(1, self.degree + 1) % 2 == 1
        return DiagonalPenalty(np.where(odd | (not through_zero), weights, 0.0))

    def names(self) -> list[str]:
        """Return suffixes for the names of the embedded features."""
        return [f"hermite{n}" for n in range(1, self.degree + 1)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.hermite(self.degree)


class SampledBasis(_GlobalBasis):
    """Any functions on [-1, 1], sampled at `n_cells` + 1 equal steps and linear in between.

    This is the general way to define a basis: a subclass has `size`, `functions` and `penalty`, and
    needs no compiled twin of its own. The interpolation error is at most max |f''| / (2 n_cells^2).
    """

    n_cells = 4096

    def functions(self, x: Floats) -> Floats:
        """Return all functions at the arguments x (n,), shape (n, size)."""
        raise NotImplementedError

    def penalty(self, order: int, *, through_zero: bool = False) -> Penalty:
        """Return the penalty of this order; if `through_zero`, of curves that are 0 at x = 0."""
        raise NotImplementedError

    @cached_property
    def _values(self) -> Floats:
        values = self.functions(np.linspace(-1.0, 1.0, self.n_cells + 1))
        return np.ascontiguousarray(values, dtype=np.float64)

    def evaluate(self, x: Floats) -> Floats:
        """Return all functions at the arguments x, shape (*x.shape, size)."""
        cell, a = self._cells(x)
        return (1.0 - a) * self._values[cell] + a * self._values[cell + 1]

    def derivative(self, x: Floats) -> Floats:
        """Return the derivatives of all functions at x, shape (*x.shape, size)."""
        cell, _ = self._cells(x)
        return (self._values[cell + 1] - self._values[cell]) * (0.5 * self.n_cells)

    def _cells(self, x: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the cell of each x, x.shape, and its position in the cell, (*x.shape, 1)."""
        t = (x + 1.0) * (0.5 * self.n_cells)
        cell = np.clip(t.astype(np.intp), 0, self.n_cells - 1)
        return cell, (t - cell)[..., None]

    def names(self) -> list[str]:
        """Return suffixes for the names of the embedded features."""
        return [f"{type(self).__name__.lower()}{k}" for k in range(self.size)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.sampled(self._values)


Basis = BSplineBasis | FourierBasis | HermiteBasis | SampledBasis
