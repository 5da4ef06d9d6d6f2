"""Pictures of what a model has learned. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.inspection.curves import column_of, importances, read_numbers
from splinear.inspection.naming import feature_index, feature_names, output_of
from splinear.model.fitted import FittedTerm
from splinear.plotting.drawing import (
    AS_IT_IS,
    DOWN,
    FAINT,
    INK,
    LINES,
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
from splinear.plotting.panels import make_panel
from splinear.training.estimator import AdditiveEstimator

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CurvesDisplay"]


class CurvesDisplay:
    """The curves f_j of an additive model as small multiples on one common scale.

    Each panel shows what one feature adds to the score: above zero it speaks for the second class,
    below for the first. With more than two classes a panel has one line per class, or `target`
    chooses one. In regression a panel shows the effect on the prediction. A panel shows the range
    that the curve was learned on; a term with `extrapolation="linear"` has a dotted line from there
    to values of X that lie beyond. Open dots mark knots, the strip below shows where the data lie,
    and the number in the corner is the feature's share of all importances (see
    :func:`splinear.importances`).

    A categorical feature has one dot per level, in the order of their effects, or in their own
    order if the category is ordered; of more than 12 levels the most frequent are shown. A diamond
    to the right of a curve is what a missing value adds, and the bar below it says how many there
    are. A feature of one value has a dot. Make a display with :meth:`from_estimator`.

    Parameters
    ----------
    curves : sequence of Curve
        One per panel, in the order of drawing.
    words : Words
        For the legend and the axis.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of Axes, shape (n_curves,)
    lines_ : ndarray of Line2D, shape (n_curves,) or (n_curves, n_lines)

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

    def __init__(self, curves: Sequence[Curve], words: Words | None = None) -> None:
        self.curves = list(curves)
        self.words = Words() if words is None else words

    @classmethod
    def from_estimator(
        cls,
        estimator: AdditiveEstimator,
        X: Input,
        *,
        features: Sequence[int | str] | None = None,
        top: int = 6,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        target: object = None,
        target_name: str = "the target",
        n_points: int = 200,
        center: bool = True,
        axes: Axes | Sequence[Axes] | AnyArray | None = None,
        figure: Figure | None = None,
        n_cols: int = 3,
    ) -> CurvesDisplay:
        """Compute the curves of a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        X : array-like, sparse matrix or files, of shape (n_samples, n_features)
            For importances, histograms and the means that `center` takes off the curves.
        features, top
            Features by name or position, in this order; None is the `top` most important.
        feature_names, class_names, target_name
            For titles, legend and axis; by default the model's own.
        target : class label or int, default=None
            Whose curves; None draws one line per class, for at most 10 of them.
        n_points : int, default=200
            Places at which each curve is evaluated, besides its knots.
        axes, figure, n_cols
            As in :meth:`plot`.
        """
        _require_matplotlib()
        panels = _make_panels(estimator, X, features, top, feature_names, target, n_points, center)
        words = _words(estimator, target, class_names, target_name)
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
        _require_matplotlib()
        if not self.curves:
            raise ValueError("There are no curves to draw: name at least one feature.")
        panels = self._lay_out(figure, _at_least_one(n_cols)) if axes is None else self._given(axes)
        limits = common_limits(self.curves)
        self.axes_ = np.array(panels, dtype=object)
        self.lines_ = np.empty((len(panels), *self.curves[0].f.shape[1:]), dtype=object)
        for k, (ax, curve) in enumerate(zip(panels, self.curves, strict=True)):
            self.lines_[k] = draw_panel(ax, curve, limits)
        self.figure_ = panels[0].figure
        if axes is None:
            self._label(n_cols)
        return self

    def _lay_out(self, figure: Figure | None, n_cols: int) -> list[Axes]:
        """Make one panel per curve, in rows of n_cols, all on one y axis."""
        n_cols = min(n_cols, len(self.curves))
        n_rows = -(-len(self.curves) // n_cols)
        if figure is None:
            from matplotlib import pyplot

            beside = 2.4 if self.words.lines else 0.0  # the legend
            figure = pyplot.figure(figsize=(4.0 * n_cols + beside, 3.0 * n_rows + 1.0))
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
        grid = figure.subplots(n_rows, n_cols, sharey=True, squeeze=False).ravel()
        for unused in grid[len(self.curves) :]:
            unused.remove()
        return list(grid[: len(self.curves)])

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
        if any(curve.x[0] < curve.lo or curve.x[-1] > curve.hi for curve in self.curves):
            meaning.append(Line2D([], [], color=INK, lw=2.0, ls=":", label="straight beyond"))
        if any(curve.f_missing is not None for curve in self.curves):
            meaning.append(Line2D([], [], **MISSING, color=INK, label="value missing"))
        return [
            *meaning,
            Patch(facecolor=FAINT, label="where the data lie"),
            Line2D([], [], marker=r"$\%$", color=MUTED, lw=0, ms=9, label="share of importance"),
        ]


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib, which is not installed: pip install 'splinear[plot]'"
        ) from error


def _at_least_one(n: int) -> int:
    if n < 1:
        raise ValueError(f"top and n_cols must be at least 1; got {n}.")
    return n


def _make_panels(
    estimator: AdditiveEstimator,
    X: Input,
    features: Sequence[int | str] | None,
    top: int,
    feature_names: Sequence[str] | None,
    target: object,
    n_points: int,
    center: bool,
) -> list[Curve]:
    """Compute what the panels show."""
    names = _checked_names(estimator, feature_names)
    output = output_of(estimator, target)
    deviations = importances(estimator, X, target=target)
    if features is None:
        terms = _most_important(estimator, deviations, _at_least_one(top))
    else:
        terms = _chosen(estimator, features, names)
    shares = deviations / max(float(deviations.sum()), np.finfo(np.float64).tiny)
    table = read_numbers(estimator, X)
    columns = ((j, term, column_of(table, j).astype(np.float64)) for j, term in terms)
    return [
        make_panel(term, output, column, names[j], float(shares[j]), n_points, center)
        for j, term, column in columns
    ]


def _most_important(
    estimator: AdditiveEstimator, deviations: Floats, top: int
) -> list[tuple[int, FittedTerm]]:
    """Return the terms of the features of highest importance, those that were dropped left out."""
    order = np.argsort(-deviations, kind="stable").tolist()
    terms = ((j, estimator.terms_.of_feature(j)) for j in order)
    return list(islice(((j, term) for j, term in terms if term is not None), top))


def _chosen(
    estimator: AdditiveEstimator, features: Sequence[int | str], names: list[str]
) -> list[tuple[int, FittedTerm]]:
    """Return the terms of the features that the user named."""
    if isinstance(features, str):
        raise TypeError(
            f"features must be a list of names or positions; got the text {features!r}. "
            f"Write [{features!r}]."
        )
    out = []
    for name in features:
        j = feature_index(estimator, name, names)
        term = estimator.terms_.of_feature(j)
        if term is None:
            raise ValueError(f"Feature {names[j]!r} was dropped by `terms`: it has no curve.")
        out.append((j, term))
    return out


def _checked_names(estimator: AdditiveEstimator, names: Sequence[str] | None) -> list[str]:
    known = feature_names(estimator)
    if names is None:
        return known
    if len(names) != len(known):
        raise ValueError(
            f"feature_names must have {len(known)} entries, one per feature; got {len(names)}."
        )
    return [str(name) for name in names]


def _words(
    estimator: AdditiveEstimator,
    target: object,
    class_names: Sequence[str] | None,
    target_name: str,
) -> Words:
    """Say what the curves of a model mean."""
    if not hasattr(estimator, "classes_"):
        return Words(
            f"raises {target_name}", f"lowers {target_name}", axis=f"effect on {target_name}"
        )
    labels = estimator.classes_.tolist()
    names = [str(name) for name in (labels if class_names is None else class_names)]
    if len(names) != len(labels):
        raise ValueError(f"class_names must have {len(labels)} entries; got {len(names)}.")
    if len(estimator.intercept_) == 1:
        return Words(f"speaks for {names[1]}", f"speaks for {names[0]}")
    if target in labels:
        name = names[labels.index(target)]
        return Words(f"speaks for {name}", f"speaks against {name}")
    if target is None and len(labels) > len(LINES):
        raise ValueError(
            f"{len(labels)} classes are too many for one panel, which has at most {len(LINES)} "
            f"lines; choose one by target, for example target={labels[0]!r}."
        )
    return Words(lines=tuple(names))
