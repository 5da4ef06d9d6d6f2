"""The families of curves: B-splines, Fourier, Hermite, and any other by its values.

A basis is a list of `size` functions B_k of one argument on [first, last]; a curve is
f(x) = sum_k a_k B_k(x). What is written here in NumPy is the specification; the core computes the
same inside its loops.

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
from functools import cached_property
from math import factorial

import numpy as np
from numpy.typing import NDArray

from splinear import _core
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

MAX_FREQUENCIES = 250  # each row adds to (2 n)^2 second derivatives of a curve
MAX_HERMITE = 150  # from 169 on, n n! is beyond the largest double


@dataclass(frozen=True)
class BSplineBasis:
    """Uniform B-splines of degree 0 to 3 on bins of width one.

    At t = bin + a there are degree + 1 of them non-zero, at the indices bin, ..., bin + degree.
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
        """How many functions are non-zero at one place."""
        return self.degree + 1

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the axis."""
        return 0.0, float(self.n_bins)

    def local(self, t: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Bins and weights at the arguments t: shapes t.shape and (*t.shape, degree + 1)."""
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
        """All functions at the arguments t, shape (*t.shape, size)."""
        return self._spread(*self.local(t))

    def derivative(self, t: Floats) -> Floats:
        """Slopes of all functions at the arguments t, shape (*t.shape, size); at a knot, after it.

        The slope of a B-spline is the difference of two neighbors of a degree less.
        """
        if self.degree == 0:
            return np.zeros((*t.shape, self.size))
        bins, lower = BSplineBasis(self.degree - 1, self.n_bins).local(t)
        none = np.zeros((*t.shape, 1))
        return self._spread(bins, -np.diff(lower, axis=-1, prepend=none, append=none))

    def _spread(self, bins: NDArray[np.intp], weights: Floats) -> Floats:
        """Put the weights of each bin's functions in their places, shape (*bins.shape, size)."""
        out = np.zeros((*bins.shape, self.size))
        index = bins[..., None] + np.arange(self.support)
        np.put_along_axis(out, index, weights, axis=-1)
        return out

    def penalty(
        self, order: int, *, through_zero: bool = False, held: int = 0
    ) -> DifferencePenalty:
        """D_d on this basis's coefficients, the first `held` of which are held at zero.

        Curves that go through zero at the start of the axis have no coefficient for the functions
        that are not zero there (of degree 0: for the first).
        """
        at_zero = max(1, self.degree) if through_zero else 0
        return DifferencePenalty(order, self.size, max(at_zero, held))

    def variance(self, length: Floats, width: Floats | float) -> Floats:
        """s^2 of features of `length` bins and the given widths: the width of a bin.

        A feature mapped to [0, 1] has width 1, and s^2 is the paper's 1 / N.
        """
        return width / length

    def names(self) -> list[str]:
        """Suffixes for the names of the embedded features."""
        return [f"bspline{k}" for k in range(self.size)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.bspline(self.degree, self.n_bins)

    def grid(self, *, gaps: bool = False) -> _core.CodeGrid:
        """How the core divides the axis into codes, one of them for missing values if `gaps`."""
        return _core.CodeGrid.bins(self.n_bins, self.degree, gaps)


class _GlobalBasis:
    """What bases share of which every function lives on all of [-1, 1]."""

    is_partition = False

    @property
    def size(self) -> int:
        """Number of functions."""
        raise NotImplementedError

    @property
    def support(self) -> int:
        """How many functions are non-zero at one place: all."""
        return self.size

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the axis."""
        return -1.0, 1.0

    def variance(self, length: Floats, width: Floats | float) -> Floats:
        """s^2 of features of the given widths, whatever part of the axis they take."""
        return np.broadcast_to(np.asarray(width, dtype=np.float64), length.shape)

    def grid(self, *, gaps: bool = False) -> _core.CodeGrid:
        """How the core divides the axis into codes, one of them for missing values if `gaps`."""
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
        """All functions at the arguments x, shape (*x.shape, size)."""
        angle = np.pi * x[..., None] * np.arange(1, self.degree + 1)
        pairs = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return pairs.reshape(*x.shape, self.size)

    def derivative(self, x: Floats) -> Floats:
        """Slopes of all functions at the arguments x, shape (*x.shape, size)."""
        frequency = np.pi * np.arange(1, self.degree + 1)
        angle = x[..., None] * frequency
        pairs = np.stack([-frequency * np.sin(angle), frequency * np.cos(angle)], axis=-1)
        return pairs.reshape(*x.shape, self.size)

    def penalty(self, order: int, *, through_zero: bool = False) -> DiagonalPenalty:
        """Weights 1 / n^d: with them the d-th derivatives are orthogonal and of equal length.

        Curves that go through zero consist of sines only.
        """
        frequencies = np.repeat(np.arange(1.0, self.degree + 1), 2)
        odd = np.arange(self.size) % 2 == 1
        return DiagonalPenalty(np.where(odd | (not through_zero), frequencies**-order, 0.0))

    def names(self) -> list[str]:
        """Suffixes for the names of the embedded features."""
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
        """All functions at the arguments x, shape (*x.shape, size)."""
        with_constant = np.polynomial.hermite_e.hermevander(x, self.degree)
        return np.asarray(with_constant[..., 1:], dtype=np.float64)

    def derivative(self, x: Floats) -> Floats:
        """Slopes of all functions at the arguments x, shape (*x.shape, size): n H_{n-1}."""
        lower = np.polynomial.hermite_e.hermevander(x, self.degree - 1)
        return np.asarray(np.arange(1, self.degree + 1) * lower, dtype=np.float64)

    def penalty(self, order: int, *, through_zero: bool = False) -> DiagonalPenalty:
        """Weights with which the d-th derivatives are orthonormal (up to one common factor).

        1 / sqrt(n n!) for d = 1. For d = 2, 1 / sqrt(n (n - 1) n!), and 1 for n = 1, whose second
        derivative vanishes (the paper keeps its first-order weight). Curves that go through zero
        consist of odd polynomials only.
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
        """Suffixes for the names of the embedded features."""
        return [f"hermite{n}" for n in range(1, self.degree + 1)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.hermite(self.degree)


class SampledBasis(_GlobalBasis):
    """Any functions on [-1, 1], known at `n_cells` + 1 equal steps and linear in between.

    The general way to a basis: a subclass has `size`, `functions` and `penalty`, and no compiled
    twin of its own. Between two steps, f is off by at most max |f''| / (2 n_cells^2).
    """

    n_cells = 4096

    def functions(self, x: Floats) -> Floats:
        """All functions at the arguments x (n,), shape (n, size)."""
        raise NotImplementedError

    def penalty(self, order: int, *, through_zero: bool = False) -> Penalty:
        """Return the penalty of this order; if `through_zero`, of curves that are 0 at x = 0."""
        raise NotImplementedError

    @cached_property
    def _values(self) -> Floats:
        values = self.functions(np.linspace(-1.0, 1.0, self.n_cells + 1))
        return np.ascontiguousarray(values, dtype=np.float64)

    def evaluate(self, x: Floats) -> Floats:
        """All functions at the arguments x, shape (*x.shape, size)."""
        cell, a = self._cells(x)
        return (1.0 - a) * self._values[cell] + a * self._values[cell + 1]

    def derivative(self, x: Floats) -> Floats:
        """Slopes of all functions at the arguments x, shape (*x.shape, size)."""
        cell, _ = self._cells(x)
        return (self._values[cell + 1] - self._values[cell]) * (0.5 * self.n_cells)

    def _cells(self, x: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the steps below x, and how far x is above them, (*x.shape, 1)."""
        t = (x + 1.0) * (0.5 * self.n_cells)
        cell = np.clip(t.astype(np.intp), 0, self.n_cells - 1)
        return cell, (t - cell)[..., None]

    def names(self) -> list[str]:
        """Suffixes for the names of the embedded features."""
        return [f"{type(self).__name__.lower()}{k}" for k in range(self.size)]

    def core(self) -> _core.Basis:
        """Return the compiled twin."""
        return _core.sampled(self._values)


Basis = BSplineBasis | FourierBasis | HermiteBasis | SampledBasis
