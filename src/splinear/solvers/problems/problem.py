"""What a solver is given, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.solvers.problems.losses import ConvexLoss
from splinear.solvers.problems.watch import Watch

__all__ = ["Problem", "Result", "Start", "Stopping", "stack", "start_at"]


@dataclass(frozen=True, eq=False)
class Problem:
    """min 1/2 |w|^2 + 1/2 b^2 + sum_i c_i loss(y_i (w'phi_i + B b) - t_i).

    Classification: `y` holds -1 and 1, and t_i = 0. Regression: y_i = 1, and t_i is the row's
    target. c_i is `cost_negative` or `cost_positive`, by the sign of y_i, times the row's weight;
    a row of weight 0 is left out.
    """

    y: NDArray[np.int8]
    loss: ConvexLoss
    cost_negative: float
    cost_positive: float
    weights: Floats | None = None
    targets: Floats | None = None
    bias: float = 1.0

    @property
    def cost(self) -> Floats:
        """c_i of every row."""
        by_class = np.where(self.y > 0, self.cost_positive, self.cost_negative)
        return by_class if self.weights is None else by_class * self.weights

    def scaled(self, C: float) -> Problem:
        """Return the problem with all costs times C."""
        return replace(
            self, cost_negative=C * self.cost_negative, cost_positive=C * self.cost_positive
        )

    def some(self, rows: AnyArray | slice) -> Problem:
        """Return the problem of the rows of these numbers."""
        weights = None if self.weights is None else self.weights[rows]
        targets = None if self.targets is None else self.targets[rows]
        return replace(self, y=self.y[rows], weights=weights, targets=targets)

    def core(self, unit: float = 1.0, squared_norms: AnyArray | None = None) -> _core.DualProblem:
        """Return the compiled twin, with embeddings in a unit of which this is the square.

        `squared_norms` are those of the rows in that unit; None: the core computes them.
        """
        return _core.DualProblem(
            self.y,
            self.targets,
            self.weights,
            cost_negative=self.cost_negative * unit,
            cost_positive=self.cost_positive * unit,
            bias=self.bias / unit**0.5,
            squared_norm=squared_norms,
        )

    def margin(self, scores: Floats) -> Floats:
        """Return y_i f_i - t_i, the number that the loss is of."""
        signed: Floats = self.y * scores
        return signed if self.targets is None else signed - self.targets


@dataclass(frozen=True)
class Stopping:
    """When to stop, how to choose the order of visits, and whom to ask on the way."""

    tol: float = 1e-2
    max_iter: int = 1000
    seed: int = 0
    n_threads: int = 1
    watch: Watch = field(default_factory=Watch)

    def inside(self, width: int, *, fold: int) -> Stopping:
        """Return that of one fold, where `width` folds share the threads."""
        watch = replace(self.watch, fold=fold)
        return replace(self, n_threads=self.n_threads // width, watch=watch)


@dataclass(frozen=True, eq=False)
class Start:
    """Where to begin: an earlier model, or the dual variables of an earlier fit to the same rows.

    The model is a first guess for Newton's method; the dual variables are one for dual coordinate
    descent. If `proximal`, the model is more than that for dual coordinate descent: the penalty
    becomes 1/2 |w - w_0|^2, w_0 being its weights.
    """

    coef: Floats | None = None  # (n_parameters,), or (n_outputs, n_parameters)
    intercept: float | Floats = 0.0
    proximal: bool = False
    alpha: Floats | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """A model and its certificate: primal - dual <= gap * primal.

    `converged`: the solver ended because the gap is within tol. `certified`: that is a proof.
    `rounded`: it would have been one, if X were as it is rounded. `alpha` are the dual variables of
    dual coordinate descent, `slopes` the derivatives of the losses by scores that prove the gap of
    Newton's method; in the order of training.
    """

    coef: Floats  # (n_parameters,) of the layout
    intercept: float
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool
    certified: bool = False
    alpha: Floats | None = None
    slopes: Floats | None = None
    rounded: bool = False


def start_at(model: Result | Start, layout: Layout) -> Start:
    """Return a start at a model of curves, for a layout that may have surfaces as well: 0 there."""
    coef = np.zeros(0) if model.coef is None else model.coef
    coef = np.pad(coef, [(0, 0)] * (coef.ndim - 1) + [(0, layout.n_parameters - coef.shape[-1])])
    return Start(coef=coef, intercept=model.intercept)


def stack(outputs: Sequence[Result | Start]) -> tuple[Floats, Floats]:
    """Return the models of several outputs as one: (n_outputs, n_parameters), (n_outputs,).

    A start without a model counts as none of them.
    """
    coefs = [found.coef for found in outputs if found.coef is not None]
    intercepts = [found.intercept for found in outputs if found.coef is not None]
    whole = coefs[0].base if coefs else None
    if not isinstance(whole, np.ndarray) or not _are_rows(coefs, whole):
        whole = np.stack(coefs)
    return whole, np.array(intercepts, dtype=float)


def _are_rows(vectors: Sequence[Floats], matrix: AnyArray) -> bool:
    """Tell whether vectors are all rows of one matrix, in order: it need not be copied then."""
    if matrix.shape != (len(vectors), *vectors[0].shape) or not matrix.flags.c_contiguous:
        return False
    pairs = zip(vectors, matrix, strict=True)
    return all(own.ctypes.data == row.ctypes.data and own.base is matrix for own, row in pairs)
