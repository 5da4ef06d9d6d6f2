"""A picture of one surface. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from splinear._types import Input
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.bands import LEVEL, surface_half_widths
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import boolean_features, one_output, pair_of
from splinear.inspection.ranking import importances
from splinear.inspection.resolving import FittedModel, resolve
from splinear.model.fitted import FittedPair
from splinear.plotting.curve import Words
from splinear.plotting.fitting import fit_title, lay_out
from splinear.plotting.heatmap import (
    common_height,
    divide,
    draw_color_bar,
    draw_contours,
    draw_legend,
    draw_margins,
    draw_surface,
    draw_unclear,
    draw_values,
)
from splinear.plotting.request import (
    checked_names,
    horizontal_of,
    require_matplotlib,
    shares_of,
    words_of,
)
from splinear.plotting.surfaces import Surface, make_surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PairDisplay"]

_MOST_LEVELS = 20  # of a category that there is room for


class PairDisplay:
    """The surface of two features: what they add together beyond what each adds alone.

    Colors show what a pair of values adds to the score of a row, blue above zero and orange below,
    white at zero; lines are contours. It is gray where no rows of X are near: there the surface is
    determined by the penalty alone. It is hatched where the 95 % band of the surface contains zero,
    if both features are numbers. The bars above and to the right are histograms of the two
    features, and the number in the corner is the surface's share of all importances, those of
    curves included.

    The levels of a category are rows or columns, in the order of their own effects, or in their own
    order if the category is ordered; of more than 20 the most frequent are shown. The same holds
    for the values of a number with few distinct values, at most six, or twelve that are not
    consecutive; up to 100 whole numbers have one cell each. White lines part the cells of discrete
    features.
    Missing values are set apart, if there were any in training. A long tail with 0.5 % of the rows
    is cut off, and the axis is labeled accordingly. Make a display with :meth:`from_estimator`.

    Parameters
    ----------
    surface : Surface
    words : Words
        For the scale of colors.

    Attributes
    ----------
    figure_ : matplotlib Figure
    bounding_ax_ : Axes
        The axes that contain everything.
    ax_ : Axes
        Of the heat map.
    mesh_ : QuadMesh
        The heat map. Between values and missing values it has a cell that is masked.
    contours_ : QuadContourSet or None
        None where a feature has levels, or few whole numbers.
    margins_ : tuple of two Axes
        The histograms, above and to the right.
    color_bar_ : Colorbar
    limit_ : float
        What the deepest color stands for.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.plotting import PairDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    >>> model = AdditiveRegressor(interactions="auto").fit(X, X[:, 0] * X[:, 1])
    >>> display = PairDisplay.from_estimator(model, X, (0, 1))
    >>> display.figure_.savefig("surface.png")
    """

    def __init__(self, surface: Surface, words: Words | None = None) -> None:
        self.surface = surface
        self.words = Words() if words is None else words

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedModel,
        X: Input,
        features: tuple[int | str, int | str] | None = None,
        *,
        target: object = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        target_name: str = "the target",
        n_points: int = 100,
        ax: Axes | None = None,
        figure: Figure | None = None,
        limit: float | None = None,
    ) -> PairDisplay:
        """Compute the surface of two features and draw it.

        Parameters
        ----------
        estimator : fitted AdditiveClassifier or AdditiveRegressor, a pipeline or a search
        X : array-like of shape (n_samples, n_features)
            For importances, histograms, and to know where rows lie.
        features : tuple of two int or str, default=None
            Names or positions, of the horizontal and of the vertical axis; None is the pair that
            matters most.
        target : class label or int, default=None
            Whose surface; needed if there are several outputs.
        feature_names, class_names, target_name
            For axes and colors; by default the model's own.
        n_points : int, default=100
            The number of cells along each numeric feature.
        ax, figure, limit
            As in :meth:`plot`.
        """
        require_matplotlib()
        estimator, X = resolve(estimator, X)
        surface = _make_surface(
            estimator, X, features, target, checked_names(estimator, feature_names), n_points
        )
        words = words_of(estimator, target, class_names, target_name)
        return cls(surface, words).plot(ax, figure=figure, limit=limit)

    def plot(
        self, ax: Axes | None = None, *, figure: Figure | None = None, limit: float | None = None
    ) -> PairDisplay:
        """Draw the surface.

        Parameters
        ----------
        ax : Axes, default=None
            To draw into: heat map, histograms and colors divide its room.
        figure : Figure, default=None
            Without `ax`: an empty figure to draw into. None makes one with pyplot, so that
            notebooks and `plt.show()` display it.
        limit : float, default=None
            The deepest colors are those of effects of -limit and limit, of the logarithm where
            effects are factors. None suits this surface alone; displays that are to be compared
            share a scale if each is given the same, for example the largest of their `limit_`.

        Returns
        -------
        self : PairDisplay
        """
        require_matplotlib()
        laid_out = ax is None
        if ax is None:
            if figure is None:
                from matplotlib import pyplot

                figure = pyplot.figure(figsize=(7.5, 5.6))
            figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
            ax = figure.subplots()
        if limit is None:
            limit = common_height([self.surface])
        elif not 0.0 < limit < np.inf:
            raise ValueError(f"limit must be a finite number above 0; got {limit!r}.")
        self.limit_ = limit
        self.ax_, above, beside, bar = divide(ax)
        self.figure_, self.bounding_ax_, self.margins_ = ax.figure, ax, (above, beside)
        self.mesh_ = draw_surface(self.ax_, self.surface, limit)
        self.contours_ = draw_contours(
            self.ax_, self.surface, limit, labels=True, is_factor=self.words.is_factor
        )
        draw_unclear(self.ax_, self.surface)
        draw_values(self.ax_, self.surface, limit, is_factor=self.words.is_factor)
        draw_margins(self.ax_, above, beside, self.surface)
        fit_title(above, self.surface.name, self.surface.share)
        self.color_bar_ = draw_color_bar(bar, self.mesh_, [self.surface], self.words)
        draw_legend(self.ax_, bar, self.surface, self.words)
        if laid_out:  # now it is known how wide the heat map is
            lay_out(self.figure_)
            fit_title(above, self.surface.name, self.surface.share)
        return self


def _make_surface(
    estimator: AdditiveEstimator,
    X: Input,
    features: tuple[int | str, int | str] | None,
    target: object,
    names: list[str],
    n_points: int,
) -> Surface:
    """Compute the surface of two features, or of the two that matter most."""
    output = one_output(estimator, target, "if a surface is drawn")
    shares = shares_of(importances(estimator, X, target=target, by="term"))
    known = estimator.terms_.pairs
    if features is not None:
        horizontal, _, pair = pair_of(estimator, features, names)
    elif known:
        pair = known[int(np.argmax(shares[-len(known) :]))]
        horizontal = horizontal_of(pair)
    else:
        raise ValueError("There is no surface to draw: the model has none; see `interactions`.")
    at = [each.features for each in known].index(pair.features) - len(known)
    found = make_surface(
        estimator,
        pair,
        read_numbers(estimator, X),
        names,
        horizontal=horizontal,
        output=output,
        share=float(shares[at]),
        n_points=n_points,
        most_levels=_MOST_LEVELS,
        booleans=boolean_features(estimator, X),
    )
    return replace(found, unclear=_unclear(estimator, pair, found, horizontal, output))


def _unclear(
    estimator: AdditiveEstimator, pair: FittedPair, found: Surface, horizontal: int, output: int
) -> NDArray[np.bool_]:
    """Tell where the pointwise band of a surface contains 0."""
    x, z = np.meshgrid(found.x.values, found.z.values, indexing="ij")
    at = (x, z) if horizontal == pair.features[0] else (z, x)
    half = surface_half_widths(estimator, pair, at[0].ravel(), at[1].ravel(), LEVEL, "pointwise")
    return np.abs(found.f) <= half[:, output].reshape(found.f.shape)
