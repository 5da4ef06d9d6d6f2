"""Checks of a user's own loss: shapes, signs, derivatives, and the promise that it is convex."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses import LOSSES
from splinear.losses.base import Loss

__all__ = ["check_loss"]

MOST_ROWS = 1_000
STEP = 1e-4  # of the spread of scores, for derivatives
CLOSE = 1e-2  # relative error of derivatives
SOME = 0.05  # share of rows that may be near a kink
AWAY = (-1.0, -0.1, 0.3, 2.0)  # scores at which the loss is looked at, in units of the spread
ROUNDING = 1e-9  # relative to the largest value: what cancels in a loss whose minimum is 0


def check_loss(loss: Loss, y: Floats) -> None:
    """Raise unless the contract holds at some rows of y; those of this package are not checked."""
    if LOSSES.get(loss.name) is type(loss):
        return
    y, name = np.asarray(y[:MOST_ROWS], dtype=np.float64), type(loss).__name__
    if loss.link not in ("identity", "log"):
        raise ValueError(
            f"{name}.link must be 'identity' or 'log' for numbers; it is {loss.link!r}."
        )
    used = loss.scores_of(y[y > 0.0] if loss.link == "log" else y)
    if not len(used):
        return
    middle, spread = float(np.mean(used)), float(np.std(used)) or 1.0
    _check_signs(loss, y, [np.full(len(y), middle + away * spread) for away in AWAY])
    for away in AWAY:
        f, d = np.full(len(y), middle + away * spread), STEP * spread
        value, slope = _read(loss, "value", y, f), _read(loss, "slope", y, f)
        above, below = loss.value(y, f + d), loss.value(y, f - d)
        rise = (above - below) / (2.0 * d)
        wrong = np.abs(rise - slope) > CLOSE * (np.abs(rise) + np.abs(slope) + spread * STEP)
        if wrong.mean() > SOME:
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{name}.slope is not the derivative of its value with respect to f: for y = "
                f"{y[row]:.3g} and f = {f[row]:.3g} it is {slope[row]:.4g}, and values rise by "
                f"{rise[row]:.4g} per unit of f."
            )
        if not loss.convex:
            continue
        for to in AWAY:
            g = np.full(len(y), middle + to * spread)
            tangent = value + slope * (g - f)
            short = tangent - loss.value(y, g) > CLOSE * (np.abs(tangent) + np.abs(value))
            if short.any():
                row = int(np.argmax(short))
                raise ValueError(
                    f"{name} says that it is convex, but for y = {y[row]:.3g} its value at f = "
                    f"{g[row]:.3g} is below its tangent at f = {f[row]:.3g}. Without convex = True "
                    "it is fitted, too, but not certified."
                )


def _check_signs(loss: Loss, y: Floats, scores: list[Floats]) -> None:
    """Raise unless values and curvatures are at least 0, and some curvatures positive.

    Gaps are relative to the sum of the values: where that may be 0 or less, they prove nothing.
    """
    name, F = type(loss).__name__, np.stack([*scores, loss.scores_of(y)])  # the last ones fit best
    values = np.stack([_read(loss, "value", y, f) for f in F])
    if np.any(values < -ROUNDING * np.abs(values).max()):
        at, row = np.unravel_index(np.argmin(values), values.shape)
        raise ValueError(
            f"{name}.value must be at least 0: it is {values[at, row]:.3g} for y = {y[row]:.3g} "
            f"and f = {F[at, row]:.3g}. From a likelihood, subtract its minimum over f."
        )
    curvatures = np.stack([_read(loss, "curvature", y, f) for f in F])
    if np.any(curvatures < 0.0):
        at, row = np.unravel_index(np.argmin(curvatures), curvatures.shape)
        raise ValueError(
            f"{name}.curvature must be at least 0: it is {curvatures[at, row]:.3g} for y = "
            f"{y[row]:.3g} and f = {F[at, row]:.3g}. Where a loss is not convex, return one "
            "that is positive all the same, such as that of a parabola above it."
        )
    if not curvatures.any():
        raise ValueError(
            f"{name}.curvature is 0 for all y and f that were tried, so that no step can be made; "
            "return the second derivative, or the curvature of a parabola above the loss."
        )


def _read(loss: Loss, what: str, y: AnyArray, f: Floats) -> Floats:
    """Return what a method returns; raise if it is not one finite number per row."""
    returned = np.asarray(getattr(loss, what)(y, f))
    if returned.shape != y.shape:
        wrong = f"one of shape {returned.shape}"
    elif returned.dtype.kind not in "biuf":
        wrong = f"{returned[:1].tolist()[0]!r} for the first row"
    elif not np.all(np.isfinite(returned)):
        wrong = "one with NaN or infinity"
    else:
        return returned
    raise ValueError(
        f"{type(loss).__name__}.{what}(y, f) must return a finite number per row, an array of "
        f"shape {y.shape}; got {wrong}."
    )
