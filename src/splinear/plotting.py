"""Pictures of what a model has learned. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from splinear import inspection
from splinear._columns import Levels
from splinear._reading import (
    Source,
    as_frame,
    as_matrix,
    column_of,
    numbers,
)
from splinear._sparse import is_sparse
from splinear._types import Floats
from splinear.io import open_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "CurvesDisplay", "Words"]

# Okabe and Ito's blue and vermilion stay apart for every common kind of colour vision.
UP = "#0072B2"
DOWN = "#D55E00"
INK = "#22262B"
MUTED = "#7A828C"
FAINT = "#C9CED6"
# One a class, after Okabe and Ito; from the sixth on dashed as well.
LINES = (UP, DOWN, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#A89B00", "#7B4A1E", MUTED)

_STRIP = 0.13  # the share of a panel's height that the data's histogram takes
_MOST_KNOTS = 32  # more marks than this would hide the curve
_MISSING: dict[str, Any] = {"marker": "D", "ls": "", "ms": 6}
_MOST_LEVELS = 12  # of a category that a panel has room for


@dataclass(frozen=True)
class Curve:
    """One panel: the curve f_j of a feature, and what is known about the feature.

    For a categorical feature x counts its levels, in the order of their effects f.

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
        Names of the levels of a categorical feature; empty for numbers.
    n_hidden : int
        Levels that there was no room for, the rarest ones.
    f_missing : float, ndarray of shape (n_lines,) or None
        What a missing value adds, where a feature of numbers has a level for it.
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
    f_missing: Any = None


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
    """

    up: str = "raises the score"
    down: str = "lowers the score"
    lines: tuple[str, ...] = ()
    axis: str = "contribution to the score"


class CurvesDisplay:
    """The curves f_j of an additive model as small multiples on one common scale.

    Each panel shows what one feature adds to the score: above zero it speaks for the second class,
    below for the first. With more than two classes a panel has a line a class, or `target` chooses
    one. In regression a panel shows the effect on the prediction. A panel shows the range that the
    curve was learned on; a model with `extrapolation="linear"` has a dotted line from there to
    values of X that lie beyond. Dots mark knots, the strip below
    shows where the data lie, and the number in the corner is the feature's share of all
    importances (see :func:`splinear.inspection.importances`). A categorical feature has a dot a
    level, in the order of their effects; of more than 12 levels the most frequent. A diamond is
    what a missing value adds. Make one with :meth:`from_estimator`.

    Parameters
    ----------
    curves : sequence of Curve
        One a panel, in the order of drawing.
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
        estimator: Any,
        X: Any,
        *,
        features: Sequence[int | str] | None = None,
        top: int = 6,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        target: Any = None,
        target_name: str = "the target",
        n_points: int = 200,
        center: bool = True,
        axes: Any = None,
        figure: Figure | None = None,
        n_cols: int = 3,
    ) -> CurvesDisplay:
        """Compute the curves of a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted AdditiveClassifier or AdditiveRegressor
        X : array-like, sparse matrix or files, of shape (n_samples, n_features)
            The data for importances, histograms and centring.
        features : sequence of int or str, default=None
            Which features to draw, in this order; None is the `top` most important.
        top : int, default=6
            How many to draw when `features` is None.
        feature_names : sequence of str of length n_features, default=None
            Titles; by default the model's column names, or x0, x1, ...
        class_names : sequence of str of length n_classes, default=None
            For the legend; by default the model's `classes_`.
        target : class label or int, default=None
            Whose curves to draw: one of `classes_`, or the position of a label for multilabel
            models. None draws a line a class, for at most 10 of them. Two classes and regression
            do not need it.
        target_name : str, default="the target"
            Regression: what is predicted, for the axis.
        n_points : int, default=200
            Places at which each curve is evaluated, besides its knots.
        center : bool, default=True
            Whether to shift each curve to mean zero over X.
        axes, figure, n_cols
            As in :meth:`plot`.

        Returns
        -------
        display : CurvesDisplay
        """
        _require_matplotlib()
        names = _checked_names(estimator, feature_names)
        words = _words(estimator, target, class_names, target_name)
        deviations = inspection.importances(estimator, X, target=target)
        if features is None:
            chosen = [int(j) for j in np.argsort(-deviations, kind="stable")[: _at_least_one(top)]]
        else:
            chosen = [inspection.feature_index(estimator, name, names) for name in features]
        shares = deviations / max(float(deviations.sum()), np.finfo(np.float64).tiny)
        table = _in_memory(X)
        curves = [
            _make_panel(
                estimator,
                target,
                j,
                column_of(table, j),
                names[j],
                float(shares[j]),
                n_points,
                center,
            )
            for j in chosen
        ]
        return cls(curves, words).plot(axes, figure=figure, n_cols=n_cols)

    def plot(
        self, axes: Any = None, *, figure: Figure | None = None, n_cols: int = 3
    ) -> CurvesDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : Axes or array of Axes, default=None
            Panels to draw into, one a curve; further ones stay as they are.
        figure : Figure, default=None
            Without `axes`: an empty figure to lay the panels out in. None makes one with pyplot, so
            that notebooks and `plt.show()` display it.
        n_cols : int, default=3
            Panels a row, when this method lays them out.

        Returns
        -------
        self : CurvesDisplay
        """
        _require_matplotlib()
        if not self.curves:
            raise ValueError("There are no curves to draw: give at least one feature.")
        laid_out = axes is None
        panels = self._lay_out(figure, _at_least_one(n_cols)) if laid_out else self._given(axes)
        limits = _common_limits(self.curves)
        self.axes_ = np.array(panels, dtype=object)
        self.lines_ = np.empty((len(panels), *self.curves[0].f.shape[1:]), dtype=object)
        for k, (ax, curve) in enumerate(zip(panels, self.curves, strict=True)):
            self.lines_[k] = _draw(ax, curve, limits)
        self.figure_ = panels[0].figure
        if laid_out:
            self._label(n_cols)
        return self

    def _lay_out(self, figure: Figure | None, n_cols: int) -> list[Axes]:
        """Make one panel a curve, in rows of n_cols, all on one y axis."""
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

    def _given(self, axes: Any) -> list[Axes]:
        panels = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
        if len(panels) < len(self.curves):
            raise ValueError(f"{len(self.curves)} curves need as many axes; got {len(panels)}.")
        return panels[: len(self.curves)]

    def _label(self, n_cols: int) -> None:
        """Say what the axes and colours mean, once for the whole figure."""
        several = bool(self.words.lines)
        n_cols = min(n_cols, len(self.curves))
        self.figure_.legend(
            handles=self._handles(),
            # Many lines have a column of their own beside the panels.
            loc="outside right upper" if several else "outside upper right",
            ncols=1 if several else {1: 1, 2: 2}.get(n_cols, 5),
            frameon=False,
            labelcolor=INK,
            fontsize=11,
            handlelength=1.8 if several else 1.2,
            handleheight=0.9,
            columnspacing=1.8,
        )
        self.figure_.supylabel(self.words.axis, color=INK, fontsize=12)

    def _handles(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        words = self.words
        meaning: list[Any]
        if words.lines:
            meaning = [
                Line2D([], [], **_style(k), label=_shortened(name))
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
            meaning.append(Line2D([], [], **_MISSING, color=INK, label="value missing"))
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


def _in_memory(X: Any) -> Any:
    """Give a table of which columns can be taken: a data frame, an array, or a sparse matrix."""
    X, _ = open_table(X)
    X = as_matrix(X) if isinstance(X, Source) else as_frame(X)
    if is_sparse(X):
        return X.tocsc()
    return X if hasattr(X, "iloc") else np.asarray(X)


def _checked_names(estimator: Any, names: Sequence[str] | None) -> list[str]:
    known = inspection.feature_names(estimator)
    if names is None:
        return known
    if len(names) != len(known):
        raise ValueError(
            f"feature_names must have {len(known)} entries, one a feature; got {len(names)}."
        )
    return [str(name) for name in names]


def _words(
    estimator: Any, target: Any, class_names: Sequence[str] | None, target_name: str
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
    if len(estimator.coef_) == 1:
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


def _make_panel(
    estimator: Any,
    target: Any,
    j: int,
    values: Any,
    name: str,
    share: float,
    n_points: int,
    center: bool,
) -> Curve:
    """Compute what the panel of feature j shows, given its column of X."""

    def curve(x: Any) -> Floats:
        return inspection.shape_function(estimator, j, x, target=target)[1]

    kind = estimator.columns_.special.get(j)
    if isinstance(kind, Levels):
        return _make_levels(kind, curve, values, name, share, center)
    values = numbers(values, name).astype(np.float64)
    mean = curve(values).mean(axis=0) if center else 0.0
    even, _ = inspection.shape_function(estimator, j, n_points=n_points, target=target)
    places = inspection.knots(estimator, j)
    lo, hi = float(even[0]), float(even[-1])
    beside = 1e-9 * (hi - lo)
    after, before = places[:-1] + beside, places[1:] - beside
    there = values[~np.isnan(values)]
    reach = there if estimator.extrapolation == "linear" and len(there) else even
    ends = [min(lo, reach.min()), max(hi, reach.max())]
    x = np.unique(np.concatenate([even, after, before, ends]))  # both sides of a jump: upright
    f = curve(x)
    marks = places[:0]
    if estimator.embedding_.basis.degree > 0 and len(places):
        left, right = np.clip(places - beside, lo, hi), np.clip(places + beside, lo, hi)
        jump = np.abs(curve(right) - curve(left)).reshape(len(places), -1)
        marks = places[jump.max(axis=1) <= 1e-6 * np.ptp(f)]  # a jump is its own mark
    f_marks = curve(marks) if len(marks) else f[:0]
    counts, edges = np.histogram(np.clip(there, x[0], x[-1]), bins=40, range=(x[0], x[-1]))
    return Curve(
        name,
        x,
        f - mean,
        marks,
        f_marks - mean,
        edges,
        counts.astype(float),
        share,
        lo,
        hi,
        f_missing=None if kind is None else curve([np.nan])[0] - mean,
    )


def _make_levels(
    kind: Levels, curve: Callable[[Any], Floats], values: Any, name: str, share: float, center: bool
) -> Curve:
    """Compute the panel of a categorical feature: its most frequent levels, by their effects."""
    names = [*map(str, kind.levels), *(["missing"] if kind.missing else [])]
    f = curve([*kind.levels, *([None] if kind.missing else [])])
    mean = curve(values).mean(axis=0) if center else 0.0
    codes = kind.codes(values)
    counts = np.bincount(codes[codes >= 0], minlength=len(names)).astype(np.float64)
    shown = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    height = f if f.ndim == 1 else f.mean(axis=1)
    shown = shown[np.argsort(height[shown], kind="stable")]
    x = np.arange(float(len(shown)))
    return Curve(
        name,
        x,
        f[shown] - mean,
        x[:0],
        f[:0],
        np.append(x - 0.5, x[-1] + 0.5),
        counts[shown],
        share,
        levels=tuple(names[k] for k in shown),
        n_hidden=len(names) - len(shown),
    )


def _common_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Lowest and highest y that the curves need, zero among them, and a little air."""
    heights = [curve.f for curve in curves]
    heights += [np.asarray(curve.f_missing) for curve in curves if curve.f_missing is not None]
    low = min(0.0, *(float(f.min()) for f in heights))
    high = max(0.0, *(float(f.max()) for f in heights))
    air = 0.07 * ((high - low) or 1.0)
    return low - air, high + air


def _draw(ax: Axes, curve: Curve, limits: tuple[float, float]) -> Any:
    """Draw one panel and return the line of its curve, or the lines of all classes."""
    from matplotlib.ticker import MaxNLocator

    low, high = limits
    ax.set_ylim(low - (high - low) * _STRIP / (1.0 - _STRIP), high)
    ticks = np.asarray(MaxNLocator(5).tick_values(low, high))
    ax.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
    _dress(ax, curve)
    _draw_data(ax, curve)
    ax.axhline(0, color=MUTED, lw=0.8, zorder=1.5)
    if curve.levels:
        return _draw_levels(ax, curve)
    if curve.f_missing is not None:
        _draw_missing(ax, curve)
    if curve.f.ndim == 2:
        return [_draw_line(ax, curve, f, _style(k)) for k, f in enumerate(curve.f.T)]
    for color, where in ((UP, curve.f >= 0), (DOWN, curve.f <= 0)):
        ax.fill_between(
            curve.x, 0, curve.f, where=where, interpolate=True, color=color, alpha=0.22, lw=0
        )
    line = _draw_line(ax, curve, curve.f, {"color": INK, "lw": 2.0})
    if 0 < len(curve.knots) <= _MOST_KNOTS:
        ax.plot(curve.knots, curve.f_knots, "o", ms=3.6, mfc="white", mec=INK, mew=0.9, zorder=4)
    return line


def _draw_line(ax: Axes, curve: Curve, f: Floats, style: dict[str, Any]) -> Any:
    """Draw a curve over the range it was learned on, and in dots beyond; return the former."""
    inside = (curve.x >= curve.lo) & (curve.x <= curve.hi)
    for beyond in (curve.x <= curve.lo, curve.x >= curve.hi):
        if np.count_nonzero(beyond) > 1:
            ax.plot(curve.x[beyond], f[beyond], **(style | {"ls": ":"}), zorder=3)
    (line,) = ax.plot(curve.x[inside], f[inside], **style, solid_joinstyle="round", zorder=3)
    return line


def _draw_levels(ax: Axes, curve: Curve) -> Any:
    """Draw a dot a level, on a stem from zero; with several lines, dots of their colours."""
    labels = [_shortened(level, 14) for level in curve.levels]
    ax.set_xticks(curve.x, labels, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
    ax.set_xlim(-0.7, len(curve.x) - 0.3)
    if curve.n_hidden:
        ax.set_xlabel(f"and {curve.n_hidden} rarer ones", color=MUTED, fontsize=9, loc="right")
    if curve.f.ndim == 2:
        return [
            ax.plot(curve.x, f, "o", color=LINES[k], ms=6, mec="white", mew=0.6, zorder=3)[0]
            for k, f in enumerate(curve.f.T)
        ]
    colors = np.where(curve.f >= 0, UP, DOWN)
    ax.vlines(curve.x, 0, curve.f, colors=colors.tolist(), alpha=0.45, lw=5, zorder=2)
    (dots,) = ax.plot(curve.x, curve.f, "o", color=INK, ms=5, zorder=3)
    return dots


def _draw_missing(ax: Axes, curve: Curve) -> None:
    """Draw what a missing value adds, as diamonds to the right of the curve."""
    beyond = curve.x[-1] + 0.07 * float(np.ptp(curve.x) or 1.0)
    for k, f in enumerate(np.atleast_1d(curve.f_missing)):
        ax.plot([beyond], [f], **_MISSING, color=INK if curve.f.ndim == 1 else LINES[k], zorder=4)


def _style(k: int) -> dict[str, Any]:
    """Colour and dashes of line k."""
    return {"color": LINES[k], "lw": 2.0, "ls": "-" if k < 5 else (0, (3.5, 1.2))}


def _dress(ax: Axes, curve: Curve) -> None:
    """Title, corner and spines."""
    from matplotlib.ticker import MaxNLocator

    ax.set_title(_shortened(curve.name), loc="left", fontsize=12, fontweight="bold", color=INK)
    ax.set_title(f"{curve.share:.0%}", loc="right", fontsize=11, color=MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelsize=10, length=0)
    ax.grid(axis="y", color=FAINT, lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.margins(x=0.02)


def _draw_data(ax: Axes, curve: Curve) -> None:
    """Draw the histogram as a strip at the foot of the panel."""
    heights = _STRIP * 0.85 * curve.counts / max(float(curve.counts.max()), 1.0)
    ax.bar(
        curve.edges[:-1],
        heights,
        width=np.diff(curve.edges),
        align="edge",
        color=FAINT,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        zorder=1,
    )


def _shortened(name: str, most: int = 30) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
