"""What is drawn in one panel, and the words around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.plotting.scales import LINEAR, Scale
from splinear.plotting.style import INK, LINES, room

__all__ = ["MISSING_AFTER", "Curve", "Words"]

MISSING_AFTER = 0.07  # the share of an axis by which missing values are to the right of others


@dataclass(frozen=True)
class Curve:
    """One panel: the curve f_j of a feature, and what is known about the feature.

    For a category, and for a number that has two values, x counts the levels, in the order in which
    they are drawn.

    Attributes
    ----------
    name : str
    x : ndarray of shape (n_points,)
    f : ndarray of shape (n_points,) or (n_points, n_lines)
        The curve, or one for each class.
    knots : ndarray of shape (n_knots,)
    f_knots : ndarray of shape (n_knots,) or (n_knots, n_lines)
        Where its pieces meet.
    edges : ndarray of shape (n_cells + 1,)
    counts : ndarray of shape (n_cells,)
        Histogram of the data.
    share : float
        The feature's part of the sum of all importances, from 0 to 1.
    lo, hi : float
        The range the curve was learned on; it is dotted beyond.
    levels : tuple of str
        Names of the levels of a categorical feature, or of the two values of a number; empty for
        other numbers.
    n_hidden : int
        Levels that there was no room for: those that matter least.
    f_missing : float, ndarray of shape (n_lines,) or None
        What a missing value adds, if a numeric feature had missing values in training.
    n_missing : int
        Rows of the data in which the feature is missing.
    half : ndarray of the shape of f, or None
        Half the width of the band around the curve; None: there is none.
    half_missing : float, ndarray of shape (n_lines,) or None
        The same of what a missing value adds.
    scale : Scale
        How values are placed along the axis.
    is_whole : bool
        Whether all values are whole numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.plotting import CurvesDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> curve = CurvesDisplay.from_estimator(model, X, features=["bmi"]).curves[0]
    >>> curve.name, curve.x.shape == curve.f.shape
    ('bmi', True)
    """

    name: str
    x: Floats
    f: Floats
    knots: Floats
    f_knots: Floats
    edges: Floats
    counts: Floats
    share: float
    lo: float = -np.inf
    hi: float = np.inf
    levels: tuple[str, ...] = ()
    n_hidden: int = 0
    f_missing: Floats | float | None = None
    n_missing: int = 0
    half: Floats | None = None
    half_missing: Floats | float | None = None
    scale: Scale = LINEAR
    is_whole: bool = False

    @property
    def lines(self) -> list[Floats]:
        """The heights of each line, one for each class."""
        return list(self.f.reshape(len(self.x), -1).T)

    @property
    def halves(self) -> list[Floats] | None:
        """Half the width of the band around each line; None: there is none."""
        return None if self.half is None else list(self.half.reshape(len(self.x), -1).T)

    @property
    def colors(self) -> list[str]:
        """The color of each line."""
        return [INK] if self.f.ndim == 1 else list(LINES[: self.f.shape[1]])

    @property
    def place_of_missing(self) -> float:
        """Where what a missing value adds is drawn."""
        lo, hi = float(self.x[0]), float(self.x[-1])
        return self.scale.beyond(lo, hi, MISSING_AFTER) if lo < hi else hi + 0.3 * room(lo)


@dataclass(frozen=True)
class Words:
    """What the legend and the axis say.

    Attributes
    ----------
    up, down : str
        What it means for a curve to lie above or below zero.
    lines : tuple of str
        Names of the lines, where a panel has several; empty otherwise.
    axis : str
        What the height of a curve is.
    is_factor : bool
        Whether heights are logarithms of factors, and marked as factors.
    n_hidden : int
        Classes that have no line, because there are too many.

    Examples
    --------
    >>> from splinear.plotting import Words
    >>> Words(up="raises the price", down="lowers the price", axis="effect on the price").up
    'raises the price'
    """

    up: str = "raises the score"
    down: str = "lowers the score"
    lines: tuple[str, ...] = ()
    axis: str = "contribution to the score"
    is_factor: bool = False
    n_hidden: int = 0

    @property
    def note(self) -> str:
        """Say that some classes are not drawn; empty if all are."""
        if not self.n_hidden:
            return ""
        n = len(self.lines)
        return f"{n} of {n + self.n_hidden} classes: those that matter most"
