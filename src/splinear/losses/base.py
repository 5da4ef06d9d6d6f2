"""The contract of a loss: what y may be, what a wrong score costs, and what a score means.

A model is fitted by minimizing sum_i c_i value(y_i, f_i) plus penalties, with c_i the weight of row
i and f_i = f(x_i) + offset_i its score. A class with `value`, `slope` and `curvature` is a loss of
its own, which estimators take; all other members of `Loss` have defaults.

`read` turns what a user gives as y into numbers, and finds the classes. `fitted` then tells the
loss what predictions and solvers need to know of all y: for example their mean, which is subtracted
before training and added to the intercept afterwards. `coded` returns y as the solvers see it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils.validation import check_consistent_length

from splinear._types import AnyArray, Floats, Input
from splinear.losses.curvature import Curvature, Diagonal
from splinear.losses.survey import Survey
from splinear.tables.target import target_numbers

__all__ = ["SCORED", "Link", "Loss", "Offset", "Task", "power_of_two"]

Self = TypeVar("Self", bound="Loss")

Task = Literal["regression", "binary", "multiclass", "multilabel", "ordinal"]
Link = Literal["identity", "log", "logistic", "softmax", "ordinal"]
Offset: TypeAlias = "Floats | float | None"  # what is added to the scores of all rows

LARGEST = 1e37  # absolute value of a target: some predictions are in single precision
SCORED = 1e-150, 1e150  # range of predictions whose deviance can be computed
NEAR = 0.01  # relative change of a parameter that is neglected
ROUNDING = 1e-9  # relative error of predictions
RESOLVED = 1e-10  # relative to the mean loss: by how much the bound of a row's gap may exceed it
MOST_DOUBLINGS, MOST_HALVINGS = 60, 100  # of steps to the score whose slope is given


class Loss:
    """What a row costs, value(y, f), as a function of its target y and its score f.

    Subclass it, give it `value`, `slope` and `curvature`, and pass an object to
    ``AdditiveRegressor(loss=...)``. A frozen dataclass has its parameters as fields::

        @dataclass(frozen=True)
        class PseudoHuber(Loss):
            width: float = 1.0
            convex = True

            def value(self, y, f):
                return self.width * (np.hypot(self.width, f - y) - self.width)

            def slope(self, y, f):
                return self.width * (f - y) / np.hypot(self.width, f - y)

            def curvature(self, y, f):
                return self.width**3 / np.hypot(self.width, f - y) ** 3

    y and f are arrays of shape (n,), and so is what is returned.

    Attributes
    ----------
    name : str
        The name in constructors and files; empty for a user's own loss.
    kind : {"number", "class"}
        What y holds.
    task : {"regression", "binary", "multiclass", "multilabel", "ordinal"}
        The same, once y has been read.
    link : {"identity", "log", "logistic", "softmax", "ordinal"} or None
        What makes a score of a prediction; None if scores are margins.
    convex : bool
        Whether `value` is convex in f. It is a promise, on which certificates rest: without it,
        `certified_` is False.
    likelihood : bool
        Whether it is a negative log-likelihood, up to a constant, for weights of 1. Otherwise the
        losses are divided by an estimated dispersion where smoothness is chosen.
    predicts_mean : bool
        Whether predictions are means of y, with which means observed can be compared.
    quadratic : bool
        Whether it equals its second-order Taylor series.
    tied : bool
        Whether a constant added to all scores of a row changes nothing.
    power : float or None
        The power of the mean to which the variance of y is proportional, for half a Tweedie
        deviance (0: the squared error).
    is_estimated : bool
        Whether it has a parameter that `renewed` estimates while the model is fitted.
    shared : ndarray of shape (n_shared,) or None
        Parameters that all rows share, as cut points: `profiled` solves for them at all scores, so
        that the sum is a function of the scores alone. None if they are not known yet, or if there
        are none but intercepts.
    seen : Survey or None
        What is known of y; None before `fitted`.
    bytes_per_row : (int, int)
        The memory for y as read, and for the copy that solvers see.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.losses import Loss
    >>> class LogCosh(Loss):
    ...     convex = True
    ...
    ...     def value(self, y, f):
    ...         return np.logaddexp(f - y, y - f) - np.log(2.0)
    ...
    ...     def slope(self, y, f):
    ...         return np.tanh(f - y)
    ...
    ...     def curvature(self, y, f):
    ...         return np.cosh(f - y) ** -2.0
    >>> X = np.linspace(0.0, 1.0, 300)[:, None]
    >>> model = AdditiveRegressor(loss=LogCosh()).fit(X, 5.0 * X[:, 0] ** 2)
    >>> model.certified_
    True
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Literal["number", "class"]] = "number"
    link: ClassVar[Link | None] = "identity"
    convex: bool = False
    likelihood: ClassVar[bool] = False
    predicts_mean: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False
    tied: ClassVar[bool] = False
    power: float | None = None
    is_estimated: bool = False
    seen: Survey | None = None
    bytes_per_row: ClassVar[tuple[int, int]] = (16, 8)

    # -- how many scores -------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """What y holds, once it has been read."""
        return "regression"

    @property
    def n_scores(self) -> int:
        """Number of scores per row that are trained together."""
        return 1

    @property
    def n_problems(self) -> int:
        """Number of unrelated problems: labels, or classes against the rest."""
        return 1

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return self.n_problems * self.n_scores

    @property
    def n_offsets(self) -> int:
        """Number of offsets per row: one per score, unless all scores share one."""
        return self.n_outputs

    @property
    def may_extrapolate(self) -> bool:
        """Whether curves may continue as lines outside the training range unless asked to."""
        return True

    def label(self, output: int) -> object:
        """Return the class, label or level of an output; None if there is only one."""
        del output
        return None

    # -- what y may be ---------------------------------------------------------------------------

    def knowing(self, y: Input) -> Loss:
        """Return the loss with what the type of y tells, as the user passed it."""
        del y
        return self

    def allows(self, y: Floats) -> AnyArray:
        """Return whether each number may be a target."""
        return np.isfinite(y)

    needs: ClassVar[str] = "y must be finite"  # what `allows` asks for, in words

    def read(self, y: AnyArray, kept: AnyArray | None = None) -> tuple[Loss, AnyArray]:
        """Return the loss and y as numbers; raise if a row with a weight (`kept`) has a wrong one.

        Rows without weight get the largest of the others' numbers where theirs is not allowed.
        """
        values = target_numbers(y, kept)
        used = values if kept is None else values[kept]
        largest = float(np.abs(used).max())
        if largest > LARGEST:
            raise ValueError(
                f"Targets of up to {largest:.2g} are too large for single precision, in which some "
                f"predictions are computed; divide y to have at most {LARGEST:g}."
            )
        allowed = self.allows(values)
        if kept is not None and not allowed.all():
            values = np.where(kept, values, used.max())
            allowed |= ~kept
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise ValueError(f"{self.needs}; y is {values[row]:g} in row {row}.")
        return self, values

    def numbers(self, y: AnyArray) -> AnyArray:
        """Return y that has been read before, or parts of it, as numbers."""
        return np.asarray(y, dtype=np.float64)

    def fitted(self: Self, survey: Survey) -> Self:
        """Return the loss with what is known of y as numbers; raise if they cannot be learned."""
        found = copy(self)
        object.__setattr__(found, "seen", survey)  # dataclasses are frozen
        return found

    @property
    def center(self) -> float:
        """The score that solvers take for 0: the mean of y, or the logarithm of the largest y.

        Their scores are small then, and digits are not lost; under a log link, targets that are all
        equal are fitted exactly.
        """
        if self.seen is None:
            return 0.0
        if self.link == "log":
            return float(np.log(self.seen.most)) if self.seen.most > 0.0 else 0.0
        return self.seen.mean if self.link == "identity" else 0.0

    @property
    def unit(self) -> float:
        """The solvers' unit of scores: for numbers, a power of 2 above the distances to their mean.

        Multiplication by it is exact, and squares neither overflow nor underflow.
        """
        if self.seen is None or self.link != "identity" or self.seen.least == self.seen.most:
            return 1.0
        return power_of_two(np.array([self.seen.least, self.seen.most]) - self.center)

    @property
    def farthest(self) -> float:
        """The largest change of a score over which the loss is compared with a parabola."""
        return 3.0 if self.link == "log" else np.inf  # exp grows fast

    @property
    def least_dispersion(self) -> float:
        """The smallest dispersion: that of one event, for counts."""
        return 0.0

    @property
    def typical_curvature(self) -> float:
        """The curvature of a typical row: variances are first guessed in its unit."""
        return 1.0

    def coded(self, y: AnyArray, offset: Offset) -> tuple[AnyArray, Offset]:
        """Return y, and what is to be added to the solvers' scores times `unit` for its loss."""
        if not self.center:
            return y, offset
        return y, self.center if offset is None else offset + self.center

    def spread(self, y: AnyArray) -> float:
        """Return the scale of the scores, in which values of C are given on a path."""
        del y
        return 1.0

    # -- what a score costs ----------------------------------------------------------------------

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return the loss of every row, (n,)."""
        raise NotImplementedError(f"{type(self).__name__} must define value(y, f).")

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return the first derivatives with respect to f."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(y, f).")

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return the second derivatives with respect to f, at least 0."""
        raise NotImplementedError(f"{type(self).__name__} must define curvature(y, f).")

    def evaluate(self, y: AnyArray, F: Floats, cost: Floats) -> tuple[Floats, Floats, Curvature]:
        """Return values (n,), slopes and curvatures of scores F (n_scores, n), times cost (n,)."""
        f = F[0]
        slopes, bends = cost * self.slope(y, f), cost * self.curvature(y, f)
        return cost * self.value(y, f), slopes[None], Diagonal(bends[None])

    def values(self, y: AnyArray, F: Floats) -> Floats:
        """Return the values (n,) of scores F (n_scores, n)."""
        return self.value(y, F[0])

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return a larger curvature for rows whose loss is far from a parabola.

        Where a loss is nearly straight, a Newton step would be far too long.
        """
        return self.evaluate(y, F, cost)[2]

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return value(y, f) + conjugate(y, r) - r f for each row; infinite if r is no slope.

        F and R are (n_scores, n). It is at least 0, and 0 where r is the slope at f. Sums of gaps
        are proofs, so an override must not be smaller than the truth, and nothing should cancel in
        it. The default is for a convex loss of one score; it finds the score whose slope is r.
        """
        if not self.convex:
            return np.full(F.shape[1], np.inf)
        return _bounded_gap(self, y, F[0], R[0])

    def shift(self, y: AnyArray, f: Floats, cost: Floats) -> float | None:
        """Return the constant that minimizes sum c value(y, f + constant); None if no formula."""
        del y, f, cost
        return None

    # -- shared parameters -----------------------------------------------------------------------

    @property
    def n_shared(self) -> int:
        """Number of parameters that all rows share, beside intercepts."""
        return 0

    @property
    def shared(self) -> Floats | None:
        """These parameters; None if they are not known, or if there are none."""
        return None

    left: float = 0.0  # about what better shared parameters would gain

    def profiled(self: Self, y: AnyArray, F: Floats, cost: Floats) -> Self:
        """Return the loss with the shared parameters that minimize the sum at scores F.

        `value`, `slope` and the other methods are then those for these parameters, but `evaluate`
        and `cautious` return the curvature of the sum whose shared parameters follow F.
        """
        return self.solved(lambda loss: loss.shared_sums(y, F, cost))

    def shared_sums(self, y: AnyArray, F: Floats, cost: Floats) -> Floats:
        """Return what `solved` needs to know of rows with their scores: sums, which add up."""
        raise NotImplementedError

    def solved(self: Self, sums_at: Callable[[Self], Floats]) -> Self:
        """Return the loss with the best shared parameters, beginning with its own.

        sums_at(loss) returns the `shared_sums` of all rows, wherever they are.
        """
        raise NotImplementedError

    def with_shared(self: Self, shared: Floats, intercept: float = 0.0) -> Self:
        """Return the loss with shared parameters, for scores less an intercept."""
        raise NotImplementedError

    def shared_flows(self, y: AnyArray, R: Floats, cost: Floats) -> Floats:
        """Return what `shared_gap` needs to know of rows with slopes R: sums, which add up."""
        raise NotImplementedError

    def shared_gap(self, flows: Floats) -> float:
        """Return the part of the gap of all rows that `gap`, for fixed parameters, lacks."""
        raise NotImplementedError

    # -- a kink ----------------------------------------------------------------------------------

    def surrogate(self) -> Loss | None:
        """Return a smooth loss for Newton's method, for a loss with a kink; otherwise None.

        Its slopes are slopes of this loss at some score, and prove its gap. `value`, `gap` and
        `shift` are all that is asked of this loss then.
        """
        return None

    @property
    def exact(self) -> Loss:
        """The loss that is minimized: itself, or the loss with a kink if this is a surrogate."""
        return self

    @property
    def resolution(self) -> float:
        """The change of a score within which the slope of a surrogate changes completely."""
        return np.inf

    def narrowed(self, factor: float) -> Loss | None:
        """Return a surrogate whose width is about `factor` times this one's; None if none is."""
        del factor
        return None

    # -- parameters of its own -------------------------------------------------------------------

    def constant(self, y: AnyArray) -> Floats:
        """Return -log P(y) less the loss, (n,), for a loss with a parameter to estimate."""
        raise NotImplementedError

    def renewed(self: Self, y: AnyArray, F: Floats, cost: Floats, edf: float) -> Self:
        """Return the loss with the parameters that fit scores F (n_scores, n) of a model best.

        They minimize sum cost (value + constant) + edf / 2 log sum cost curvature, with cost the
        weights divided by the dispersion, and edf the degrees of freedom of the model.
        """
        raise NotImplementedError

    def is_near(self, other: Loss) -> bool:
        """Return whether the parameters of another loss of this kind are nearly the same."""
        pairs = zip(self.parameters().values(), other.parameters().values(), strict=True)
        return all(abs(a - b) <= NEAR * abs(a) for a, b in pairs)

    # -- what a score means ----------------------------------------------------------------------

    def predict(self, scores: Floats) -> AnyArray:
        """Return predictions (n_rows,) of scores (n_rows, n_outputs): scores, or exp(scores)."""
        if self.link != "log":
            return scores[:, 0]
        ends = np.finfo(np.float64)  # none is 0 or infinite
        return np.clip(np.exp(np.clip(scores[:, 0], -800.0, 709.0)), ends.tiny, ends.max)

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of the target."""
        return f"log of {target}" if self.link == "log" else target

    @property
    def title(self) -> str:
        """The name of the loss in words, with its parameters: "Negative binomial (theta 2.3)"."""
        words = (self.name or type(self).__name__).replace("_", " ")
        words = words[0].upper() + words[1:]
        known = [f"{name} {value:.3g}" for name, value in self.parameters().items() if value]
        return f"{words} ({', '.join(known)})" if known else words

    def quality(self, y: Floats, predicted: Floats, weights: Floats | None) -> float:
        """Return the share of the losses of the best constant prediction that the others save.

        It is at most 1. For a constant y it is 1 if the predictions equal it, and 0 otherwise.
        """
        if self.power == 0.0:
            return float(r2_score(y, predicted, sample_weight=weights))
        y, predicted = np.asarray(y, dtype=np.float64), np.asarray(predicted)
        check_consistent_length(y, predicted, weights)
        if self.link == "log":
            predicted = np.clip(predicted, *SCORED)
        if len(y) > 1 and np.all(y == y[0]):
            return float(np.allclose(y, predicted, rtol=ROUNDING, atol=0.0))
        if self.power is not None:
            return float(d2_tweedie_score(y, predicted, sample_weight=weights, power=self.power))
        y = self.read(y)[1]
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        best = np.full(len(y), self.constant_score(y, w))
        left, before = w @ self.value(y, self.scores_of(predicted)), w @ self.value(y, best)
        return 1.0 - float(left / before)

    def scores_of(self, predicted: Floats) -> Floats:
        """Return the scores whose predictions these are."""
        return np.log(np.clip(predicted, *SCORED)) if self.link == "log" else predicted

    def constant_score(self, y: Floats, weights: Floats) -> float:
        """Return the score, the same for all rows, that minimizes the sum of the losses."""
        mean = np.average(y, weights=weights, keepdims=True)
        start = float(self.scores_of(mean)[0])
        same = np.full(len(y), start)
        if (shift := self.shift(y, same, weights)) is not None:
            return start + shift

        def total(f: float) -> float:
            return float(weights @ self.value(y, np.full(len(y), f)))

        width = max(float(np.ptp(self.scores_of(y[weights > 0.0]))), 1e-3)
        found = minimize_scalar(total, bounds=(start - width, start + width), method="bounded")
        return start if total(start) <= found.fun else float(found.x)

    def parameters(self) -> dict[str, Any]:
        """Return what a file needs besides the name to make the loss again, as numbers."""
        return {}


def power_of_two(values: Floats) -> float:
    """Return the least power of 2 above the absolute values."""
    return float(np.exp2(np.frexp(np.abs(values).max())[1]))


def _bounded_gap(loss: Loss, y: AnyArray, f: Floats, r: Floats) -> Floats:
    """Return an upper bound of the gap of a convex loss, from its values and slopes alone.

    conjugate(y, r) = max_g r g - value(y, g) is concave in g. Between a and b with slope(a) <= r <=
    slope(b) it is at most r a - value(y, a) + (r - slope(a)) (b - a), and the same from b. Doubling
    steps from f find such bounds, and halving moves them together.
    """
    near = np.asarray(f, dtype=np.float64)
    sign = np.sign(r - loss.slope(y, near))
    searched = sign != 0.0
    far, unbounded, step = near.copy(), searched.copy(), np.ones_like(near)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(MOST_DOUBLINGS):
            if not unbounded.any():
                break
            far = np.where(unbounded, f + sign * step, far)
            unbounded &= sign * (r - loss.slope(y, far)) > 0.0
            near, step = np.where(unbounded, far, near), 2.0 * step
        value = loss.value(y, f)
        enough = RESOLVED * float(np.mean(np.abs(value)))
        for _ in range(MOST_HALVINGS):
            middle = 0.5 * (near + far)
            # What the bound exceeds the gap by is at most this, at the near end.
            left = searched & (np.abs((r - loss.slope(y, near)) * (far - near)) > enough)
            if not np.any(left & (middle != near) & (middle != far)):
                break
            short = sign * (r - loss.slope(y, middle)) > 0.0
            near, far = np.where(short, middle, near), np.where(short, far, middle)
        width, bounds = far - near, []
        for at, to in ((near, width), (far, -width)):
            bounds.append(r * at - loss.value(y, at) + (r - loss.slope(y, at)) * to)
        gap = value - r * f + np.minimum(*bounds)
    gap = np.where(searched, np.maximum(gap, 0.0), 0.0)
    return np.where((searched & unbounded) | np.isnan(gap), np.inf, gap)
