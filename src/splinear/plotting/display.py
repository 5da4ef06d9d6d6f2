"""Pictures of what a model has learned. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.inspection.adding import column_of
from splinear.inspection.bands import BandKind, half_widths, has_band
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import feature_index, one_output, output_of, pair_of
from splinear.inspection.ranking import importances
from splinear.inspection.resolving import FittedModel, resolve
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.plotting.drawing import (
    AS_IT_IS,
    BAND,
    DOWN,
    FAINT,
    INK,
    MISSING,
    MUTED,
    UP,
    Curve,
    Words,
    common_limits,
    draw_panel,
    shortened,
    style,
)
from splinear.plotting.heatmap import NO_DATA, common_height, draw_heat_panel
from splinear.plotting.panels import MOST_LEVELS, Evaluate, make_panel
from splinear.plotting.request import (
    at_least_one,
    checked_names,
    horizontal_of,
    require_matplotlib,
    shares_of,
    words_of,
)
from splinear.plotting.surfaces import Surface, make_surface
from splinear.training.estimator import AdditiveEstimator

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CurvesDisplay"]

LEVEL = 0.95  # of bands
_MOST_CELLS = 100  # of a heat map, along each number

Asked: TypeAlias = int | str | tuple[int | str, int | str]  # one feature, or two
# A term, its place among all, and its feature; of a surface, that along the horizontal axis.
Chosen: TypeAlias = tuple[int, int, FittedTerm | FittedPair]


class CurvesDisplay:
    """The curves f_j of an additive model as small multiples on one common scale.

    Each panel shows what one feature adds to the score: above zero it speaks for the second class,
    below for the first. With more than two classes a panel has one line per class, or `target`
    chooses one. In regression a panel shows the effect on the prediction. A panel shows the range
    that the curve was learned on; a term with `extrapolation="linear"` has a dotted line from there
    to values of X that lie beyond. The band around a curve says how well it is known (see
    :func:`splinear.inspection.band`); a very wide one is cut off. Open dots mark knots, the strip
    below shows where the data lie, and the number in the corner is the term's share of all
    importances (see :func:`splinear.inspection.importances`).

    A categorical feature has one dot per level, in the order of their effects, or in their own
    order if the category is ordered; of more than 12 levels the most frequent are shown. A diamond
    to the right of a curve is what a missing value adds, and the bar below it says how many there
    are. A feature of one value has a dot. The surface of two features is a heat map, as in
    :class:`PairDisplay`; all heat maps have one scale of colors. Make a display with
    :meth:`from_estimator`.

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
        For a surface, its QuadMesh.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier
    >>> from splinear.plotting import CurvesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> display = CurvesDisplay.from_estimator(model, X)  # doctest: +SKIP
    >>> display.figure_.savefig("curves.png")  # doctest: +SKIP
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
        axes: Axes | Sequence[Axes] | AnyArray | None = None,
        figure: Figure | None = None,
        n_cols: int = 3,
    ) -> CurvesDisplay:
        """Compute the curves of a fitted model and draw them.

        Parameters
        ----------
        estimator : a fitted estimator, or a pipeline or a search that ends in one
        X : rows for importances, histograms and the means that `center` takes off the curves
        features, top : by name or position, and pairs that have a surface as tuples; None is the
            `top` most important terms, of several outputs without `target` curves only
        feature_names, class_names, target_name : for titles, legend and axis
        target : class label or int, default=None
            Whose curves; None draws one line per class, for at most 10 of them.
        n_points : int, default=200
            Where each curve is evaluated, besides its knots; at most 100 along a surface.
        band : {"pointwise", "simultaneous"} or None, default="pointwise"
            The 95 % band that is shaded; AdditiveSVC and AdditiveSVR have none.
        axes, figure, n_cols : as in :meth:`plot`
        """
        require_matplotlib()
        estimator, X = resolve(estimator, X)
        panels = _panels(estimator, X, features, top, feature_names, target, n_points, center, band)
        words = words_of(estimator, target, class_names, target_name)
        return cls(panels, words).plot(axes, figure=figure, n_cols=n_cols)

    def plot(
        self,
        axes: Axes | Sequence[Axes] | AnyArray | None = None,
        *,
        figure: Figure | None = None,
        n_cols: int = 3,
    ) -> CurvesDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : Axes or array of Axes, default=None
            Panels to draw into, one per curve; further ones stay as they are.
        figure : Figure, default=None
            Without `axes`: an empty figure to lay the panels out in. None makes one with pyplot, so
            that notebooks and `plt.show()` display it.
        n_cols : int, default=3
            Panels per row, when this method lays them out.

        Returns
        -------
        self : CurvesDisplay
        """
        require_matplotlib()
        if not self.curves:
            raise ValueError("There are no curves to draw: name at least one feature.")
        panels = self._lay_out(figure, at_least_one(n_cols)) if axes is None else self._given(axes)
        self.axes_ = np.array(panels, dtype=object)
        self._draw(panels)
        self.figure_ = panels[0].figure
        if axes is None:
            self._label(n_cols)
        return self

    def _draw(self, panels: list[Axes]) -> None:
        curves, surfaces = self._only_curves(), self._only_surfaces()
        limits, height = common_limits(curves), common_height(surfaces)
        unit = "" if curves else self.words.axis  # else it is said beside all panels
        n_lines = curves[0].f.shape[1:] if curves else ()
        self.lines_ = np.empty((len(panels), *n_lines), dtype=object)
        for k, (ax, curve) in enumerate(zip(panels, self.curves, strict=True)):
            if isinstance(curve, Surface):
                self.lines_[k] = draw_heat_panel(ax, curve, height, unit)
            else:
                self.lines_[k] = draw_panel(ax, curve, limits)

    def _only_curves(self) -> list[Curve]:
        return [curve for curve in self.curves if isinstance(curve, Curve)]

    def _only_surfaces(self) -> list[Surface]:
        return [curve for curve in self.curves if isinstance(curve, Surface)]

    def _lay_out(self, figure: Figure | None, n_cols: int) -> list[Axes]:
        """Make one panel per term, in rows of n_cols, all curves on one y axis."""
        n_cols = min(n_cols, len(self.curves))
        n_rows = -(-len(self.curves) // n_cols)
        if figure is None:
            from matplotlib import pyplot

            beside = 2.4 if self.words.lines else 0.0  # the legend
            figure = pyplot.figure(figsize=(4.0 * n_cols + beside, 3.0 * n_rows + 1.0))
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
        panels: list[Axes] = []
        first: Axes | None = None  # of all curves
        for k, curve in enumerate(self.curves):
            if isinstance(curve, Surface):
                panels.append(figure.add_subplot(n_rows, n_cols, k + 1))
                continue
            ax = figure.add_subplot(n_rows, n_cols, k + 1, sharey=first)
            to_the_left = self.curves[k - k % n_cols : k]
            ax.tick_params(labelleft=not any(isinstance(c, Curve) for c in to_the_left))
            panels, first = [*panels, ax], first or ax
        return panels

    def _given(self, axes: Axes | Sequence[Axes] | AnyArray) -> list[Axes]:
        panels = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
        if len(panels) < len(self.curves):
            raise ValueError(f"{len(self.curves)} curves need as many axes; got {len(panels)}.")
        return panels[: len(self.curves)]

    def _label(self, n_cols: int) -> None:
        """Say what the axes and colors mean, once for the whole figure."""
        several = bool(self.words.lines)
        n_cols = min(n_cols, len(self.curves))
        handles = self._handles()
        legend = self.figure_.legend(
            handles=handles,
            # Many lines have a column of their own beside the panels.
            loc="outside right upper" if several else "outside upper right",
            ncols=1 if several else {1: 1, 2: 2}.get(n_cols, 5 if len(handles) < 6 else 3),
            frameon=False,
            labelcolor=INK,
            fontsize=11,
            handlelength=1.8 if several else 1.2,
            handleheight=0.9,
            columnspacing=1.8,
        )
        for text in legend.get_texts():
            text.set(**AS_IT_IS)
        if self._only_curves():
            self.figure_.supylabel(self.words.axis, color=INK, fontsize=12, **AS_IT_IS)

    def _handles(self) -> list[Artist]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        words = self.words
        meaning: list[Artist]
        if words.lines:
            meaning = [
                Line2D([], [], **style(k), label=shortened(name))
                for k, name in enumerate(words.lines)
            ]
        else:
            meaning = [
                Patch(facecolor=UP, alpha=0.55, label=words.up),
                Patch(facecolor=DOWN, alpha=0.55, label=words.down),
            ]
        curves = self._only_curves()
        if any(curve.x[0] < curve.lo or curve.x[-1] > curve.hi for curve in curves):
            meaning.append(Line2D([], [], color=INK, lw=2.0, ls=":", label="straight beyond"))
        if any(curve.half is not None for curve in curves):
            meaning.append(Patch(facecolor=INK, alpha=BAND["alpha"], label=f"{LEVEL:.0%} band"))
        if any(curve.f_missing is not None for curve in curves):
            meaning.append(Line2D([], [], **MISSING, color=INK, label="value missing"))
        if curves:
            meaning.append(Patch(facecolor=FAINT, label="where the data lie"))
        if self._only_surfaces():
            meaning.append(Patch(facecolor=NO_DATA, label="no rows nearby"))
        return [
            *meaning,
            Line2D([], [], marker=r"$\%$", color=MUTED, lw=0, ms=9, label="share of importance"),
        ]


def _panels(
    estimator: AdditiveEstimator,
    X: Input,
    features: Sequence[Asked] | None,
    top: int,
    feature_names: Sequence[str] | None,
    target: object,
    n_points: int,
    center: bool,
    band: BandKind | None,
) -> list[Curve | Surface]:
    """Compute what the panels show."""
    names = checked_names(estimator, feature_names)
    output = output_of(estimator, target)
    deviations = importances(estimator, X, target=target, by="term")
    if features is None:
        surfaces = isinstance(output, int)  # those of several outputs cannot share a panel
        terms = _most_important(estimator, deviations, at_least_one(top), surfaces)
    else:
        terms = _chosen(estimator, features, names)
    shares = shares_of(deviations)
    table = read_numbers(estimator, X)

    def panel(at: int, j: int, term: FittedTerm | FittedPair) -> Curve | Surface:
        share = float(shares[at])
        if isinstance(term, FittedTerm):
            column = column_of(table, j).astype(np.float64)
            half = _half_of(estimator, term, output, band)
            return make_panel(term, output, column, names[j], share, n_points, center, half)
        one = one_output(estimator, target, "if a surface is drawn")
        return make_surface(
            estimator, term, table, names, horizontal=j, output=one,
            share=share, n_points=min(n_points, _MOST_CELLS), most_levels=MOST_LEVELS,
        )  # fmt: skip

    return [panel(*each) for each in terms]


def _half_of(
    estimator: AdditiveEstimator, term: FittedTerm, output: int | slice, kind: BandKind | None
) -> Evaluate | None:
    """Return what computes half the width of a term's band; None: there is none."""
    if kind is None or not has_band(estimator, term):
        return None
    return lambda x: half_widths(estimator, term, np.asarray(x, dtype=np.float64), LEVEL, kind)[
        :, output
    ]


def _most_important(
    estimator: AdditiveEstimator, deviations: Floats, top: int, surfaces: bool
) -> list[Chosen]:
    """Return the terms of highest importance, features that were dropped left out."""
    n, pairs = estimator.n_features_in_, estimator.terms_.pairs

    def found() -> Iterator[Chosen]:
        for at in np.argsort(-deviations, kind="stable").tolist():
            if at >= n:
                if surfaces:
                    yield at, horizontal_of(pairs[at - n]), pairs[at - n]
            elif (term := estimator.terms_.of_feature(at)) is not None:
                yield at, at, term

    return list(islice(found(), top))


def _chosen(
    estimator: AdditiveEstimator,
    features: Sequence[Asked],
    names: list[str],
) -> list[Chosen]:
    """Return the terms of the features, and of the pairs of features, that the user named."""
    if isinstance(features, str):
        raise TypeError(
            f"features must be a list of names or positions; got the text {features!r}. "
            f"Write [{features!r}]."
        )
    pairs = [pair.features for pair in estimator.terms_.pairs]
    out: list[Chosen] = []
    for name in features:
        if isinstance(name, tuple | list):
            j, _, pair = pair_of(estimator, name, names)
            out.append((estimator.n_features_in_ + pairs.index(pair.features), j, pair))
            continue
        j = feature_index(estimator, name, names)
        term = estimator.terms_.of_feature(j)
        if term is None:
            raise ValueError(f"Feature {names[j]!r} was dropped by `terms`: it has no curve.")
        out.append((j, j, term))
    return out
