"""Pictures of what a model has learned. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from splinear import inspection
from splinear._types import Floats
from splinear.model.fitted import FittedTerm, steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "CurvesDisplay", "Words"]

# Okabe and Ito's blue and vermilion stay apart for every common kind of color vision.
UP = "#0072B2"
DOWN = "#D55E00"
INK = "#22262B"
MUTED = "#7A828C"
FAINT = "#C9CED6"
# One per class, after Okabe and Ito; from the sixth on dashed as well.
LINES = (UP, DOWN, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#A89B00", "#7B4A1E", MUTED)

_STRIP = 0.13  # the share of a panel's height that the data's histogram takes
_MOST_KNOTS = 32  # more marks than this would hide the curve
_MISSING: dict[str, Any] = {"marker": "D", "ls": "", "ms": 6}
_MOST_LEVELS = 12  # of a category that a panel has room for
_MOST_CELLS = 40  # of a histogram
_MOST_GRID_POINTS = 400  # beyond, it does not matter how many of them lie in a cell
_FEW_CELLS = 6
_WIDEST_BAR = 0.05  # the share of a panel's width
_LONGEST_LINE = 40  # letters that fit below a panel


@dataclass(frozen=True)
class Curve:
    """One panel: the curve f_j of a feature, and what is known about the feature.

    For a categorical feature x counts its levels, in the order in which they are drawn.

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
        What a missing value adds, where a feature of numbers had some in training.
    n_missing : int
        Rows of the data in which the feature is missing.
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
    n_missing: int = 0


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
    below for the first. With more than two classes a panel has one line per class, or `target`
    chooses one. In regression a panel shows the effect on the prediction. A panel shows the range
    that the curve was learned on; a term with `extrapolation="linear"` has a dotted line from there
    to values of X that lie beyond. Open dots mark knots, the strip below shows where the data lie,
    and the number in the corner is the feature's share of all importances (see
    :func:`splinear.inspection.importances`).

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
        estimator : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        X : array-like, sparse matrix or files, of shape (n_samples, n_features)
            The data for importances, histograms and centering.
        features : sequence of int or str, default=None
            Which features to draw, in this order; None is the `top` most important. One that was
            dropped has no curve.
        top : int, default=6
            How many to draw when `features` is None.
        feature_names : sequence of str of length n_features, default=None
            Titles; by default the model's column names, or x0, x1, ...
        class_names : sequence of str of length n_classes, default=None
            For the legend; by default the model's `classes_`.
        target : class label or int, default=None
            Whose curves to draw: one of `classes_`, or the position of a label for multilabel
            models. None draws one line per class, for at most 10 of them. Two classes and
            regression do not need it.
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
        output = inspection.output_of(estimator, target)
        deviations = inspection.importances(estimator, X, target=target)
        if features is None:
            terms = _most_important(estimator, deviations, _at_least_one(top))
        else:
            terms = _chosen(estimator, features, names)
        shares = deviations / max(float(deviations.sum()), np.finfo(np.float64).tiny)
        table = inspection.read_numbers(estimator, X)
        curves = [
            _make_panel(
                term,
                output,
                inspection.column_of(table, j).astype(np.float64),
                names[j],
                float(shares[j]),
                n_points,
                center,
            )
            for j, term in terms
        ]
        return cls(curves, words).plot(axes, figure=figure, n_cols=n_cols)

    def plot(
        self, axes: Any = None, *, figure: Figure | None = None, n_cols: int = 3
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

    def _given(self, axes: Any) -> list[Axes]:
        panels = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
        if len(panels) < len(self.curves):
            raise ValueError(f"{len(self.curves)} curves need as many axes; got {len(panels)}.")
        return panels[: len(self.curves)]

    def _label(self, n_cols: int) -> None:
        """Say what the axes and colors mean, once for the whole figure."""
        several = bool(self.words.lines)
        n_cols = min(n_cols, len(self.curves))
        handles = self._handles()
        self.figure_.legend(
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


def _most_important(estimator: Any, deviations: Floats, top: int) -> list[tuple[int, FittedTerm]]:
    """Return the terms of the features of highest importance, those that were dropped left out."""
    order = np.argsort(-deviations, kind="stable").tolist()
    terms = ((j, estimator.terms_.of_feature(j)) for j in order)
    return list(islice(((j, term) for j, term in terms if term is not None), top))


def _chosen(
    estimator: Any, features: Sequence[int | str], names: list[str]
) -> list[tuple[int, FittedTerm]]:
    """Return the terms of the features that the user named."""
    if isinstance(features, str):
        raise TypeError(
            f"features must be a list of names or positions; got the text {features!r}. "
            f"Write [{features!r}]."
        )
    out = []
    for name in features:
        j = inspection.feature_index(estimator, name, names)
        term = estimator.terms_.of_feature(j)
        if term is None:
            raise ValueError(f"Feature {names[j]!r} was dropped by `terms`: it has no curve.")
        out.append((j, term))
    return out


def _checked_names(estimator: Any, names: Sequence[str] | None) -> list[str]:
    known = inspection.feature_names(estimator)
    if names is None:
        return known
    if len(names) != len(known):
        raise ValueError(
            f"feature_names must have {len(known)} entries, one per feature; got {len(names)}."
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


def _make_panel(
    term: FittedTerm,
    output: int | slice,
    values: Floats,
    name: str,
    share: float,
    n_points: int,
    center: bool,
) -> Curve:
    """Compute what the panel of a term shows, given its column of X as numbers."""

    def curve(x: Any) -> Floats:
        return np.asarray(term.evaluate(np.asarray(x, dtype=np.float64))[:, output])

    mean = curve(values).mean(axis=0) if center else 0.0
    if term.levels is not None:
        return _make_levels(term, curve, values, name, share, mean)
    even, places = steps(term.lo, term.hi, inspection.check_n_points(n_points)), term.knots
    lo, hi = float(even[0]), float(even[-1])
    beside = 1e-9 * (hi - lo)
    after, before = places[:-1] + beside, places[1:] - beside
    there = values[~np.isnan(values)]
    goes_on = term.group.extrapolation == "linear" and len(there) > 0
    reach = there if goes_on else even
    ends = [min(lo, reach.min()), max(hi, reach.max())]
    x = np.unique(np.concatenate([even, after, before, ends]))  # both sides of a jump: upright
    f = curve(x)
    marks = places[:0]
    if len(places) and term.group.embedding.basis.degree > 0:
        left, right = np.clip(places - beside, lo, hi), np.clip(places + beside, lo, hi)
        jump = np.abs(curve(right) - curve(left)).reshape(len(places), -1)
        marks = places[jump.max(axis=1) <= 1e-6 * np.ptp(f)]  # a jump is its own mark
    edges = _cells(np.clip(there, x[0], x[-1]), x)
    counts, _ = np.histogram(np.clip(there, x[0], x[-1]), edges)
    return Curve(
        name,
        x,
        f - mean,
        marks,
        curve(marks) - mean,
        edges,
        counts.astype(np.float64),
        share,
        lo,
        hi,
        f_missing=curve([np.nan])[0] - mean if term.had_gaps else None,
        n_missing=len(values) - len(there),
    )


def _make_levels(
    term: FittedTerm,
    curve: Callable[[Any], Floats],
    codes: Floats,
    name: str,
    share: float,
    mean: Any,
) -> Curve:
    """Compute the panel of a categorical feature: its most frequent levels.

    They are in the order of their effects, with several lines those on the steepest one; of an
    ordered category, in its own order.
    """
    levels = term.levels or ()
    names = [*map(str, levels), *(["missing"] if term.had_gaps else [])]
    f = curve([*range(len(levels)), *([np.nan] if term.had_gaps else [])])
    at = np.where(np.isnan(codes), len(levels), codes).astype(np.intp)
    counts = np.bincount(at[at >= 0], minlength=len(names)).astype(np.float64)[: len(names)]
    shown = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    lines = f[shown].reshape(len(shown), -1)
    by_effect = lines[:, np.argmax(np.ptp(lines, axis=0))]
    is_ordered = not term.group.is_diagonal
    shown = np.sort(shown) if is_ordered else shown[np.argsort(by_effect, kind="stable")]
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


def _cells(values: Floats, x: Floats) -> Floats:
    """Return edges for a histogram of values within x: about 40 cells.

    Values on a grid, such as whole numbers, have cells of as many grid points each, so that no cell
    is high only because more of them happen to lie in it.
    """
    lo, hi = float(x[0]), float(x[-1])
    if not lo < hi:
        return np.array([lo, lo]) + _room(lo) * np.array([-0.025, 0.025])
    even = steps(lo, hi, _MOST_CELLS + 1)
    distinct = np.unique(values)
    if not 2 <= len(distinct) <= _MOST_GRID_POINTS:
        return even
    between = np.diff(distinct)
    step = float(between.min())
    n_points = round((hi - lo) / step) + 1
    on_grid = np.abs(between / step - np.round(between / step)) < 1e-6
    if n_points > _MOST_GRID_POINTS or not on_grid.all():
        return even
    per_cell = -(-n_points // _MOST_CELLS)
    first = float(distinct[0]) - step * (np.floor((distinct[0] - lo) / step + 1e-9) + 0.5)
    n_cells = int(np.ceil((hi - first) / (step * per_cell) + 1e-9))
    return np.asarray(first + step * per_cell * np.arange(n_cells + 1))


def _room(value: float) -> float:
    """Return the width of the panel of a feature that has one value."""
    return max(1.0, 0.2 * abs(value))


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
    """Draw a curve over the range it was learned on, and in dots beyond; return the former.

    Of a constant feature, the curve is a dot, if it has a value at all.
    """
    if len(curve.x) == 1:
        style = style | {"marker": "o" if curve.counts.any() else "", "ms": 5}
    inside = (curve.x >= curve.lo) & (curve.x <= curve.hi)
    for beyond in (curve.x <= curve.lo, curve.x >= curve.hi):
        if np.count_nonzero(beyond) > 1:
            ax.plot(curve.x[beyond], f[beyond], **(style | {"ls": ":"}), zorder=3)
    (line,) = ax.plot(curve.x[inside], f[inside], **style, solid_joinstyle="round", zorder=3)
    return line


def _draw_levels(ax: Axes, curve: Curve) -> Any:
    """Draw one dot per level, on a stem from zero; with several lines, dots of their colors."""
    labels = [_shortened(level, 14) for level in curve.levels]
    style: dict[str, Any] = {"fontsize": 10}
    if len(labels) * (max(map(len, labels)) + 2) > _LONGEST_LINE:
        style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor", "fontsize": 9}
    ax.set_xticks(curve.x, labels, **style)
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
    beyond = _place_of_gaps(curve)
    for k, f in enumerate(np.atleast_1d(curve.f_missing)):
        ax.plot([beyond], [f], **_MISSING, color=INK if curve.f.ndim == 1 else LINES[k], zorder=4)


def _place_of_gaps(curve: Curve) -> float:
    lo, hi = float(curve.x[0]), float(curve.x[-1])
    return hi + (0.07 * (hi - lo) if lo < hi else 0.3 * _room(lo))


def _style(k: int) -> dict[str, Any]:
    """Color and dashes of line k."""
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
    if len(curve.x) == 1 and not curve.levels:
        room, value = _room(float(curve.x[0])), float(curve.x[0])
        ax.set_xticks([value] if curve.counts.any() else [])
        ax.set_xlim(value - room / 2, value + room / 2)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.margins(x=0.02)
        if len(curve.counts) <= _FEW_CELLS and not curve.levels:  # a cell at each value
            ax.set_xticks((curve.edges[1:] + curve.edges[:-1]) / 2)


def _draw_data(ax: Axes, curve: Curve) -> None:
    """Draw the histogram as a strip at the foot of the panel, with a bar for missing values."""
    x, counts = (curve.edges[1:] + curve.edges[:-1]) / 2, curve.counts
    widths = np.diff(curve.edges)
    if curve.levels:
        widths = 0.7 * widths
    elif len(curve.x) > 1:
        widest = _WIDEST_BAR * float(np.ptp(curve.x))
        widths = np.minimum(widths, widest)
    if curve.f_missing is not None:
        x, counts = np.append(x, _place_of_gaps(curve)), np.append(counts, curve.n_missing)
        widths = np.append(widths, widths[0])
    highest = max(float(curve.counts.max()), 1.0)
    heights = _STRIP * 0.85 * np.minimum(counts / highest, 1.0)  # the bar of gaps may end there
    ax.bar(
        x,
        heights,
        width=widths,
        color=FAINT,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        zorder=1,
    )


def _shortened(name: str, most: int = 30) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
