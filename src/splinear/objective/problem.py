"""Problems, stopping rules and starting points of solvers, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.losses.margin import MarginLoss
from splinear.model.layout import Layout
from splinear.objective.watch import Watch

__all__ = ["Problem", "Result", "Start", "Stopping", "stack", "start_at"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem min 1/2 |w|^2 + 1/2 b^2 + sum_i c_i loss(y_i (w'phi_i + B b) - t_i).

    In classification, `y` holds -1 and 1, and t_i = 0. In regression, y_i = 1 and t_i is the row's
    target. c_i is `cost_negative` or `cost_positive`, depending on the sign of y_i, times the row's
    weight. Rows of weight 0 are ignored. B is `bias`.
    """

    y: NDArray[np.int8]
    loss: MarginLoss
    cost_negative: float
    cost_positive: float
    weights: Floats | None = None
    targets: Floats | None = None
    bias: float = 1.0

    @property
    def cost(self) -> Floats:
        """The cost c_i of every row, (n_rows,)."""
        by_class = np.where(self.y > 0, self.cost_positive, self.cost_negative)
        return by_class if self.weights is None else by_class * self.weights

    def scaled(self, C: float) -> Problem:
        """Return the problem with all costs multiplied by C."""
        return replace(
            self, cost_negative=C * self.cost_negative, cost_positive=C * self.cost_positive
        )

    def some(self, rows: AnyArray | slice) -> Problem:
        """Return the problem restricted to these rows."""
        weights = None if self.weights is None else self.weights[rows]
        targets = None if self.targets is None else self.targets[rows]
        return replace(self, y=self.y[rows], weights=weights, targets=targets)

    def core(self, unit: float = 1.0, squared_norms: AnyArray | None = None) -> _core.DualProblem:
        """Return the compiled twin, with embeddings divided by the square root of `unit`.

        `squared_norms` are those of the embedded rows in that unit; None to let the core compute
        them.
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
        """Return y_i f_i - t_i, the argument of the loss."""
        signed: Floats = self.y * scores
        return signed if self.targets is None else signed - self.targets


@dataclass(frozen=True)
class Stopping:
    """The tolerance, limits, seed and threads of a solver, and the watch that may stop it."""

    tol: float = 1e-2
    max_iter: int = 1000
    seed: int = 0
    n_threads: int = 1
    watch: Watch = field(default_factory=Watch)

    def inside(self, width: int, *, fold: int) -> Stopping:
        """Return the stopping rule of one fold, with `width` folds sharing the threads."""
        watch = replace(self.watch, fold=fold)
        return replace(self, n_threads=self.n_threads // width, watch=watch)


@dataclass(frozen=True, eq=False)
class Start:
    """A starting point: an earlier model, or dual variables of an earlier fit to the same rows.

    Newton's method starts at the model, and dual coordinate descent at the dual variables. If
    `proximal`, the model changes the problem of dual coordinate descent: its penalty becomes 1/2 |w
    - w_0|^2, with w_0 the model's weights.
    """

    coef: Floats | None = None  # (n_parameters,), or (n_outputs, n_parameters)
    intercept: float | Floats = 0.0
    proximal: bool = False
    alpha: Floats | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """A model and its certificate: primal - dual <= gap * primal.

    `converged` says that the gap is within tol, `certified` that this is proven on X itself, and
    `rounded` that it holds for X rounded to codes but not for X itself. `alpha` holds the dual
    variables of dual coordinate descent, and `slopes` the derivatives of the losses with respect to
    the scores, which prove the gap of Newton's method; both are in training order. `shared` are the
    shared parameters of the loss, such as cut points.
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
    shared: Floats | None = None  # parameters of the loss that are best for these scores
    rounded: bool = False


def start_at(model: Result | Start, layout: Layout) -> Start:
    """Return a start at a model of curves; the parameters of surfaces in `layout` are 0."""
    coef = np.zeros(0) if model.coef is None else model.coef
    coef = np.pad(coef, [(0, 0)] * (coef.ndim - 1) + [(0, layout.n_parameters - coef.shape[-1])])
    return Start(coef=coef, intercept=model.intercept)


def stack(outputs: Sequence[Result | Start]) -> tuple[Floats, Floats]:
    """Return coefficients (n_outputs, n_parameters) and intercepts (n_outputs,) of several outputs.

    Starts without a model are left out.
    """
    coefs = [found.coef for found in outputs if found.coef is not None]
    intercepts = [found.intercept for found in outputs if found.coef is not None]
    whole = coefs[0].base if coefs else None
    if not isinstance(whole, np.ndarray) or not _are_rows(coefs, whole):
        whole = np.stack(coefs)
    return whole, np.array(intercepts, dtype=float)


def _are_rows(vectors: Sequence[Floats], matrix: AnyArray) -> bool:
    """Return whether vectors are the rows of a matrix, in order, so that no copy is needed."""
    if matrix.shape != (len(vectors), *vectors[0].shape) or not matrix.flags.c_contiguous:
        return False
    pairs = zip(vectors, matrix, strict=True)
    return all(own.ctypes.data == row.ctypes.data and own.base is matrix for own, row in pairs)
