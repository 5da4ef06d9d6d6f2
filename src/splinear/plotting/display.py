"""Pictures of what a model has learned. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import AnyArray, Input
from splinear.inspection.bands import BandKind
from splinear.inspection.resolving import FittedModel, resolve
from splinear.plotting.choosing import (
    Asked,
    PanelOptions,
    choose_classes,
    choose_terms,
    make_panels,
)
from splinear.plotting.curve import Curve, Words
from splinear.plotting.drawing import common_limits, draw_panel
from splinear.plotting.fitting import fit_levels, fit_title, lay_out, look_flat, name_lines
from splinear.plotting.heatmap import draw_heat_panel
from splinear.plotting.legend import NAMED, draw_legend, width_for_legend
from splinear.plotting.request import at_least_one, checked_names, require_matplotlib, words_of
from splinear.plotting.style import AS_IT_IS, INK
from splinear.plotting.surfaces import Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase, SubplotSpec

__all__ = ["CurvesDisplay"]


class CurvesDisplay:
    """The curves f_j of an additive model as small multiples, on one scale by default.

    Each panel shows what one feature adds to the score: above zero it favors the second class,
    below zero the first. With more than two classes a panel has one line per class, named at its
    end unless all lines are flat; of more than ten classes those are drawn that matter most, unless
    `target` chooses one or some. In regression a panel shows the effect on the prediction; under a
    log link, the factor by which it multiplies the mean. The label on the left names the scale:
    log-odds, a margin, the target, a factor. A panel shows the range that the curve was learned on;
    a term with `extrapolation="linear"` continues as a dotted line to values of X beyond it. If
    most values would lie in a narrow part of the panel, its axis is logarithmic, entirely or beyond
    some value, and is labeled as such.

    Bands around up to four lines show their uncertainty (see :func:`splinear.inspection.band`).
    Very wide bands are cut off, and so are curves where a few rows have effects far from those of
    all others. AdditiveSVC and AdditiveSVR have no bands. Open dots mark knots, the strip below is
    a histogram of the data (one bar per value for whole numbers), and the number in the corner is
    the term's share of all importances (see :func:`splinear.inspection.importances`).

    A category has one bar per level, in the order of their effects, or in their own order if the
    category is ordered. Of more than 12 levels those are shown that matter most: to which the
    category owes most of its importance, by effect and number of rows. Numbers with two values, and
    booleans, have bars, too. A diamond to the right of a curve shows what a missing
    value adds, and the bar below it how many there are. A feature with a single value has a dot.
    The surface of two features is a heat map, as in :class:`PairDisplay`, one per class if there
    are several; all heat maps have one scale of colors. Make a display with :meth:`from_estimator`.

    Parameters
    ----------
    curves : sequence of Curve or Surface
        One per panel, in the order of drawing.
    words : Words
        For the legend and the axis.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of Axes, shape (n_curves,)
    lines_ : ndarray of Line2D, shape (n_curves,) or (n_curves, n_lines)
        For a feature with bars, BarContainers; for a surface, its QuadMesh.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier
    >>> from splinear.plotting import CurvesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> display = CurvesDisplay.from_estimator(model, X)
    >>> display.figure_.savefig("curves.png")
    """

    def __init__(self, curves: Sequence[Curve | Surface], words: Words | None = None) -> None:
        self.curves = list(curves)
        self.words = Words() if words is None else words

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedModel,
        X: Input,
        *,
        features: Sequence[Asked] | None = None,
        top: int = 6,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        target: object = None,
        target_name: str = "the target",
        n_points: int = 200,
        center: bool = True,
        band: BandKind | None = "pointwise",
        ax: Axes | Sequence[Axes] | AnyArray | None = None,
        figure: Figure | None = None,
        n_cols: int = 3,
        share_y: bool = True,
    ) -> CurvesDisplay:
        """Compute the curves of a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted estimator, or a pipeline or search that ends in one
        X : rows for importances, histograms, and the means that `center` subtracts
        features : names or positions, tuples of two for surfaces; None: the `top` most important
        feature_names, class_names, target_name : names for titles, legend and axis
        target : class label, int or list of them, default=None
            Whose curves. A panel has one line per class, at most 10. None means all classes, or if
            there are more, the 10 for which the terms that are drawn matter most.
        n_points : points per curve, besides its knots; at most 100 along a surface
        band : kind of 95 % band to shade, {"pointwise", "simultaneous"} or None
        ax, figure, n_cols, share_y : as in :meth:`plot`
        """
        require_matplotlib()
        estimator, X = resolve(estimator, X)
        names = checked_names(estimator, feature_names)
        chosen = choose_terms(estimator, X, features, top, names, target)
        drawn, n_hidden = choose_classes(estimator, chosen, target)
        words = words_of(estimator, drawn, class_names, target_name, n_hidden)
        wanted = PanelOptions(names, words.lines, drawn, n_points, center, band)
        panels = make_panels(estimator, X, chosen, wanted)
        return cls(panels, words).plot(ax, figure=figure, n_cols=n_cols, share_y=share_y)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | AnyArray | None = None,
        *,
        figure: Figure | None = None,
        n_cols: int = 3,
        share_y: bool = True,
    ) -> CurvesDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, default=None
            Panels to draw into, one per curve; additional ones are left unchanged. A single one for
            several curves is divided into a grid. The figure then gets no legend.
        figure : Figure, default=None
            Without `ax`: an empty figure to lay the panels out in. None makes one with pyplot, so
            that notebooks and `plt.show()` display it.
        n_cols : int, default=3
            The most panels per row, when this method lays them out; four stand two by two.
        share_y : bool, default=True
            Whether all curves have one scale, so that their heights can be compared.

        Returns
        -------
        self : CurvesDisplay
        """
        require_matplotlib()
        if not self.curves:
            raise ValueError("There are no curves to draw: name at least one feature.")
        n_cols = self._per_row(n_cols)
        if ax is None:
            panels = self._lay_out(self._new_figure(figure, n_cols), n_cols, share_y)
        else:
            panels = self._given(ax, n_cols, share_y)
        self.axes_ = np.array(panels, dtype=object)
        self._draw(panels, share_y, with_units=ax is not None)
        self.figure_ = panels[0].figure
        if ax is None:
            draw_legend(self.figure_, self.curves, self.words)
            if self._only_curves():
                self.figure_.supylabel(self.words.axis, color=INK, fontsize=12, **AS_IT_IS)
        self._fit_texts(panels, laid_out=ax is None)
        return self

    def _draw(self, panels: list[Axes], share_y: bool, *, with_units: bool) -> None:
        curves, surfaces = self._only_curves(), self._only_surfaces()
        limits = common_limits(curves)
        # Where panels are in a grid and there are curves, the unit is said beside these.
        in_grid = not with_units or len({ax.get_gridspec() for ax in panels}) == 1
        on_bars = replace(self.words, axis="") if curves and in_grid else self.words
        n_lines = curves[0].f.shape[1:] if curves else ()
        self.lines_ = np.empty((len(panels), *n_lines), dtype=object)
        for k, (ax, curve) in enumerate(zip(panels, self.curves, strict=True)):
            if isinstance(curve, Surface):
                self.lines_[k] = draw_heat_panel(ax, curve, surfaces, on_bars)
                continue
            own = limits if share_y else common_limits([curve])
            for at, drawn in enumerate(draw_panel(ax, curve, own, is_factor=self.words.is_factor)):
                self.lines_[(k, at) if n_lines else k] = drawn
            if with_units and _is_first(ax):
                ax.set_ylabel(self.words.axis, color=INK, **AS_IT_IS)

    def _fit_texts(self, panels: list[Axes], *, laid_out: bool) -> None:
        """Let names have the room that there is, once it is known where the panels are."""
        if laid_out:
            lay_out(self.figure_)
        for ax, curve in zip(panels, self.curves, strict=True):
            if isinstance(curve, Curve) and curve.levels:
                fit_levels(ax, curve.x, curve.levels)
            elif isinstance(curve, Curve) and self._has_names(ax, curve):
                name_lines(ax, float(curve.x[-1]), curve.f[-1], self.words.lines)
        if laid_out:
            lay_out(self.figure_)
        for ax, curve in zip(panels, self.curves, strict=True):
            more = f" ({self.words.note})" if self.words.note and not laid_out else ""
            fit_title(ax, curve.name + more, curve.share)

    def _has_names(self, ax: Axes, curve: Curve) -> bool:
        """Return whether lines are named at their ends: not if they look like one flat line."""
        return len(self.words.lines) >= NAMED and not look_flat(ax, curve.f)

    def _only_curves(self) -> list[Curve]:
        return [curve for curve in self.curves if isinstance(curve, Curve)]

    def _only_surfaces(self) -> list[Surface]:
        return [curve for curve in self.curves if isinstance(curve, Surface)]

    def _per_row(self, most: int) -> int:
        """Return how many panels stand in a row, so that rows are about equally long."""
        at_least_one(most)
        n_rows = -(-len(self.curves) // most)
        return -(-len(self.curves) // n_rows)

    def _new_figure(self, figure: Figure | None, n_cols: int) -> Figure:
        """Return the figure to lay panels out in, the user's or one of pyplot."""
        if figure is None:
            from matplotlib import pyplot

            wide = 4.6 if len(self.words.lines) >= NAMED else 4.0  # names at lines
            more = width_for_legend(self.curves, self.words) if n_cols == 1 else 0.0
            n_rows = -(-len(self.curves) // n_cols)
            figure = pyplot.figure(figsize=(wide * n_cols + more, 3.0 * n_rows + 1.0))
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
        return figure

    def _lay_out(
        self, figure: Figure, n_cols: int, share_y: bool, within: SubplotSpec | None = None
    ) -> list[Axes]:
        """Make one panel per term, in rows of n_cols, curves on one y axis if they share it.

        They are in a part of the figure if `within` is given.
        """
        n_rows = -(-len(self.curves) // n_cols)
        grid: GridSpecBase = (
            figure.add_gridspec(n_rows, n_cols)
            if within is None
            else within.subgridspec(n_rows, n_cols, wspace=0.4, hspace=0.5)
        )
        panels: list[Axes] = []
        first: Axes | None = None  # of all curves
        for k, curve in enumerate(self.curves):
            if isinstance(curve, Surface):
                panels.append(figure.add_subplot(grid[k]))
                continue
            ax = figure.add_subplot(grid[k], sharey=first if share_y else None)
            to_the_left = self.curves[k - k % n_cols : k]
            is_first = not any(isinstance(c, Curve) for c in to_the_left)
            ax.tick_params(labelleft=is_first or not share_y)
            panels, first = [*panels, ax], first or ax
        return panels

    def _given(
        self, axes: Axes | Sequence[Axes] | AnyArray, n_cols: int, share_y: bool
    ) -> list[Axes]:
        """Return the user's panels, or those of a grid within a single one."""
        given = np.asarray(axes, dtype=object)
        panels = list(np.atleast_1d(given).ravel())
        if given.ndim == 0 and len(self.curves) > 1:
            [bounding], spec = panels, panels[0].get_subplotspec()
            if spec is not None:  # as in scikit-learn's PartialDependenceDisplay
                bounding.set_axis_off()
                return self._lay_out(bounding.figure, n_cols, share_y, within=spec)
        if len(panels) < len(self.curves):
            raise ValueError(f"{len(self.curves)} curves need as many axes; got {len(panels)}.")
        return panels[: len(self.curves)]


def _is_first(ax: Axes) -> bool:
    """Return whether a panel is the first of its row."""
    spec = ax.get_subplotspec()
    return spec is None or spec.is_first_col()
