"""Sums of smooth losses over rows, as functions of the rows' scores: what Newton's method sees.

Scores F are (n_outputs, n_rows). One output of a binary problem or a regression is `Separable`;
`Softmax` couples the outputs of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from splinear._types import Floats
from splinear.losses import SmoothLoss
from splinear.solvers.problem import Problem

__all__ = ["Separable", "Softmax", "Sum"]


class Sum(Protocol):
    """A sum of losses of the scores F (n_outputs, n_rows)."""

    @property
    def n_outputs(self) -> int:
        """Number of scores a row."""
        ...

    def value(self, F: Floats) -> float:
        """Give the sum."""
        ...

    def gradient(self, F: Floats) -> Floats:
        """Give its derivatives by F, same shape."""
        ...

    def curvature(self, F: Floats) -> Curvature:
        """Give its second derivatives at F."""
        ...


class Curvature(Protocol):
    """Second derivatives of a sum of losses."""

    @property
    def diagonal(self) -> Floats:
        """Give the diagonal, (n_outputs, n_rows)."""
        ...

    def times(self, V: Floats) -> Floats:
        """Multiply by V (n_outputs, n_rows)."""
        ...


@dataclass(frozen=True, eq=False)
class Separable:
    """sum_i c_i loss(y_i f_i - t_i), with a single output."""

    problem: Problem
    loss: SmoothLoss
    n_outputs: int = 1

    @cached_property
    def _cost(self) -> Floats:
        return self.problem.cost

    def value(self, F: Floats) -> float:
        """Give the sum."""
        return float(self._cost @ self.loss.value(self.problem.margin(F[0])))

    def gradient(self, F: Floats) -> Floats:
        """Give its derivatives by F, same shape."""
        slope = self.loss.slope(self.problem.margin(F[0]))
        derivative: Floats = self._cost * self.problem.y * slope
        return derivative[None]

    def curvature(self, F: Floats) -> Curvature:
        """Give its second derivatives at F: a diagonal, as y_i^2 = 1."""
        return _Diagonal((self._cost * self.loss.curvature(self.problem.margin(F[0])))[None])


@dataclass(frozen=True, eq=False)
class _Diagonal:
    diagonal: Floats

    def times(self, V: Floats) -> Floats:
        return self.diagonal * V


@dataclass(frozen=True, eq=False)
class Softmax:
    """sum_i c_i (log sum_k exp F_ki - F_{label_i, i}).

    Penalised alike, all classes are needed: none stands for the rest.
    """

    labels: NDArray[np.intp]  # (n_rows,)
    cost: Floats  # (n_rows,)
    n_outputs: int

    def value(self, F: Floats) -> float:
        """Give the sum."""
        chosen = log_softmax(F, axis=0)[self.labels, np.arange(F.shape[1])]
        return -float(self.cost @ chosen)

    def gradient(self, F: Floats) -> Floats:
        """Give its derivatives by F: c_i (probability - indicator)."""
        out = np.exp(log_softmax(F, axis=0))
        out[self.labels, np.arange(F.shape[1])] -= 1.0
        out *= self.cost
        return out

    def curvature(self, F: Floats) -> Curvature:
        """Give its second derivatives at F."""
        return _SoftmaxCurvature(np.exp(log_softmax(F, axis=0)), self.cost)


@dataclass(frozen=True, eq=False)
class _SoftmaxCurvature:
    """c_i (diag(p_i) - p_i p_i')."""

    probabilities: Floats
    cost: Floats

    @cached_property
    def diagonal(self) -> Floats:
        p = self.probabilities
        return self.cost * p * (1.0 - p)

    def times(self, V: Floats) -> Floats:
        p = self.probabilities
        mean = np.einsum("ki,ki->i", p, V)
        product: Floats = self.cost * p * (V - mean)
        return product
