"""How a surface is drawn: a heat map with contour lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import Floats
from splinear.inspection.text import fixed, shortened, told_apart
from splinear.plotting.curve import Words
from splinear.plotting.fitting import fit_title
from splinear.plotting.scales import compact, height_marks, mark_numbers, texts_of
from splinear.plotting.style import AS_IT_IS, DOWN, FAINT, INK, MUTED, UP, Style
from splinear.plotting.surfaces import Side, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.contour import QuadContourSet

__all__ = [
    "NO_DATA",
    "common_height",
    "divide",
    "draw_color_bar",
    "draw_contours",
    "draw_heat_panel",
    "draw_legend",
    "draw_margins",
    "draw_surface",
    "draw_unclear",
    "draw_values",
]

NO_DATA = "#DCE0E5"  # where no rows lie near; white is an effect of 0
_LEAST_ALPHA = 0.03  # of the color of what has no support
_GAP = 0.04  # the share of an axis that parts missing values from others
_MISSING_WIDTH = 0.05  # of an axis of numbers
# A picture of one surface, as shares of the axes that hold all of it: left, low, width, height.
_HEAT, _ABOVE = (0.0, 0.0, 0.79, 0.84), (0.0, 0.855, 0.79, 0.145)
_BESIDE, _BAR = (0.805, 0.0, 0.105, 0.84), (0.95, 0.0, 0.03, 0.84)
_BAR_OF_PANEL = (1.02, 0.0, 0.04, 1.0)
_NICE = (1, 2, 5, 10)  # steps between ticks
_MOST_NUMBERS, _MOST_NUMBERS_OF_PANEL = 150, 25  # written into cells
_DIGITS_OF_FACTORS = 3
_HATCH = "////"
_SHORT, _CLOSE = 0.15, 0.12  # of lines and labels, as shares of an axis


def common_height(surfaces: Sequence[Surface]) -> float:
    """Return what the deepest color stands for, on all heat maps of a figure."""
    return max((surface.height for surface in surfaces), default=0.0) or 1.0


def draw_surface(ax: Axes, surface: Surface, limit: float) -> QuadMesh:
    """Draw a heat map, whose colors end at -limit and limit, and return it."""
    f, alpha = surface.f, _LEAST_ALPHA + (1.0 - _LEAST_ALPHA) * surface.support
    for axis, side in enumerate((surface.x, surface.z)):
        if side.has_missing:  # a cell without a color parts it from the others
            f, alpha = (np.insert(a, -1, np.nan, axis=axis) for a in (f, alpha))
    mesh = ax.pcolormesh(
        _all_edges(surface.x),
        _all_edges(surface.z),
        np.ma.masked_invalid(f).T,
        cmap=_colors(),
        vmin=-limit,
        vmax=limit,
        rasterized=True,
    )
    mesh.set(alpha=np.nan_to_num(alpha).T)
    _shade(ax, surface)
    _part_cells(ax, surface)
    _name_axis(ax.xaxis, surface.x, turned=True)
    _name_axis(ax.yaxis, surface.z, turned=False)
    ax.set_xlim(*_all_edges(surface.x)[[0, -1]])
    ax.set_ylim(*_all_edges(surface.z)[[0, -1]])
    ax.spines[:].set(color=FAINT, linewidth=0.6)  # a surface near 0 is white on white
    ax.tick_params(colors=MUTED, length=0)
    return mesh


def draw_heat_panel(
    ax: Axes, surface: Surface, all_of_them: Sequence[Surface], words: Words
) -> QuadMesh:
    """Draw a surface as one panel of several, and return the heat map.

    Its scale of colors is that of all surfaces of the figure, and drawn in the same way.
    """
    limit = common_height(all_of_them)
    mesh = draw_surface(ax, surface, limit)
    draw_contours(ax, surface, limit, labels=False, is_factor=words.is_factor)
    if surface.f.size <= _MOST_NUMBERS_OF_PANEL:
        draw_values(ax, surface, limit, is_factor=words.is_factor)
    ax.tick_params(labelsize=9)
    fit_title(ax, surface.name, surface.share)
    draw_color_bar(ax.inset_axes(_BAR_OF_PANEL), mesh, all_of_them, words)
    return mesh


def _colors() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("splinear", [DOWN, "white", UP])


def _all_edges(side: Side) -> Floats:
    """Return the edges of all cells, that of missing values and the gap before it included."""
    if not side.has_missing:
        return side.edges
    length = side.edges[-1] - side.edges[0]
    width = 1.0 if side.levels else _MISSING_WIDTH * length
    beyond = side.edges[-1] + (_GAP * length if not side.levels else 0.3) + np.array([0.0, width])
    return np.append(side.edges, beyond)


def _blocks(side: Side) -> list[tuple[float, float]]:
    """Return both ends of the values, and those of the cell of missing ones."""
    edges = _all_edges(side)
    values = (float(side.edges[0]), float(side.edges[-1]))
    return [values, (float(edges[-2]), float(edges[-1]))] if side.has_missing else [values]


def _shade(ax: Axes, surface: Surface) -> None:
    """Put what stands for no data below every block of cells."""
    from matplotlib.patches import Rectangle

    for left, right in _blocks(surface.x):
        for low, high in _blocks(surface.z):
            ground = Rectangle((left, low), right - left, high - low, fc=NO_DATA, lw=0, zorder=0)
            ax.add_patch(ground)


def _part_cells(ax: Axes, surface: Surface) -> None:
    """Draw lines between the cells of levels, so that equal ones are not taken for one."""
    style: Style = {"colors": "white", "lw": 1.0, "zorder": 1.4}
    across, up = (_all_edges(side)[[0, -1]] for side in (surface.x, surface.z))
    if surface.x.is_discrete:
        ax.vlines(surface.x.edges[1:-1], *up, **style)
    if surface.z.is_discrete:
        ax.hlines(surface.z.edges[1:-1], *across, **style)


def _name_axis(axis: Axis, side: Side, *, turned: bool) -> None:
    """Write the names of levels, or numbers, and that of missing values."""
    from matplotlib.ticker import MaxNLocator

    name = shortened(side.name)
    if side.n_hidden:
        name += f" ({len(side.levels)} of {len(side.levels) + side.n_hidden})"
    if side.beyond:
        name += f" ({side.beyond:.1%} of rows beyond)"
    if not side.scale.is_linear:
        name += f" ({side.scale.note(side.ends[0])})"
    axis.set_label_text(name, color=INK, **AS_IT_IS)
    has_long_numbers = turned and np.abs(side.edges).max() >= 1e4
    is_whole = bool((np.diff(side.edges) == 1.0).all())
    n_marks = 3 if has_long_numbers else 6
    if side.levels:
        ticks, labels = side.middles, told_apart(side.levels, 26)
    elif not side.scale.is_linear:
        marks = side.scale.ticks(*side.ends)
        ticks, labels = side.scale.forward(np.array(marks)), [compact(x) for x in marks]
    elif side.has_missing:
        lo, hi = side.edges[[0, -1]]
        locator = MaxNLocator(n_marks, steps=_NICE, integer=is_whole)
        ticks = np.asarray(locator.tick_values(lo, hi))
        ticks = ticks[(ticks >= lo) & (ticks <= hi)]
        labels = texts_of(ticks)
    else:
        mark_numbers(axis, n_marks, whole=is_whole)
        return
    if side.has_missing:
        ticks = np.append(ticks, _all_edges(side)[-2:].mean())
        labels = [*labels, "missing"]
    style: Style = {}
    if turned and sum(map(len, labels)) + 2 * len(labels) > 40:
        style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axis.set_ticks(ticks, labels=labels, **style, **AS_IT_IS)


def draw_contours(
    ax: Axes, surface: Surface, limit: float, *, labels: bool, is_factor: bool = False
) -> QuadContourSet | None:
    """Draw lines of equal height where rows lie near; there are none between discrete values.

    `labels`: the longest line of every height tells it.
    """
    if surface.x.is_discrete or surface.z.is_discrete:
        return None
    x, z = surface.x.middles, surface.z.middles
    f = np.ma.masked_where(~surface.supported, surface.f)[: len(x), : len(z)]
    heights, texts = height_marks(-limit, limit, is_factor=is_factor)
    names = dict(zip(heights.tolist(), texts, strict=True))
    heights = heights[(heights > f.min()) & (heights < f.max())] if f.count() else heights[:0]
    if min(f.shape) < 2 or not heights.size:
        return None
    lines = ax.contour(x, z, f.T, heights, colors=INK, linewidths=0.6, linestyles="-", alpha=0.6)
    if labels:
        places = _label_places(lines, np.array([x[-1] - x[0], z[-1] - z[0]]))
        if places:
            ax.clabel(lines, manual=places, fontsize=8, colors=INK, fmt=names)
    return lines


def draw_unclear(ax: Axes, surface: Surface) -> None:
    """Hatch the cells where the surface may be 0."""
    where = surface.hatched[: len(surface.x.middles), : len(surface.z.middles)]
    if not where.any():
        return
    x, z = (np.repeat(side.edges, 2)[1:-1] for side in (surface.x, surface.z))
    cells = np.repeat(np.repeat(where, 2, axis=0), 2, axis=1).T.astype(float)
    inside = ax.contourf(x, z, cells, [0.5, 1.5], colors="none", hatches=[_HATCH])
    inside.set(edgecolor=FAINT, linewidth=0.0)


def _label_places(lines: QuadContourSet, lengths: Floats) -> list[tuple[float, float]]:
    """Return the middle of the longest line of each height, unless it is short or near another."""
    out: list[tuple[float, float]] = []
    for parts in lines.allsegs:
        ways = [np.hypot(*(np.diff(part, axis=0) / lengths).T).cumsum() for part in parts]
        sizes = [way[-1] if len(way) else 0.0 for way in ways]
        if not sizes or max(sizes) < _SHORT:
            continue
        k = int(np.argmax(sizes))
        x, z = map(float, parts[k][np.searchsorted(ways[k], 0.5 * sizes[k])])
        if all(np.hypot(*((x - a, z - b) / lengths)) > _CLOSE for a, b in out):
            out.append((x, z))
    return out


def draw_values(ax: Axes, surface: Surface, limit: float, *, is_factor: bool = False) -> None:
    """Write the heights into the cells of two categories, where rows lie near."""
    if not (surface.x.levels and surface.z.levels) or surface.f.size > _MOST_NUMBERS:
        return
    x, z = (_all_edges(side) for side in (surface.x, surface.z))
    x, z = ((e[1:] + e[:-1]) / 2 for e in (x, z))
    if surface.x.has_missing:
        x = np.delete(x, -2)
    if surface.z.has_missing:
        z = np.delete(z, -2)
    n_digits = int(np.clip(1 - np.floor(np.log10(limit)), 0, 3))
    for j, k in zip(*np.nonzero(surface.supported), strict=True):
        f = round(float(surface.f[j, k]), n_digits) + 0.0  # no negative zero
        color = "white" if abs(f) > 0.7 * limit else INK
        style: Style = {"ha": "center", "va": "center", "fontsize": 8, "color": color}
        text = fixed(f, n_digits, plus=True).replace("-", "\N{MINUS SIGN}")
        if is_factor:
            text = f"\N{MULTIPLICATION SIGN}{np.exp(surface.f[j, k]):.{_DIGITS_OF_FACTORS}g}"
        ax.text(x[j], z[k], text, **style)


def divide(ax: Axes) -> tuple[Axes, Axes, Axes, Axes]:
    """Make axes within others for a heat map, histograms above and to the right, and colors."""
    ax.set_axis_off()
    heat, above, beside, bar = map(ax.inset_axes, (_HEAT, _ABOVE, _BESIDE, _BAR))
    return heat, above, beside, bar


def draw_margins(heat: Axes, above: Axes, beside: Axes, surface: Surface) -> None:
    """Draw the histograms of both features, above the heat map and to its right."""
    style: Style = {"color": FAINT, "linewidth": 0}
    middles, counts, widths = _bars(surface.x)
    above.bar(middles, counts, widths, **style)
    above.set(xlim=heat.get_xlim(), ylim=(0, None))
    middles, counts, widths = _bars(surface.z)
    beside.barh(middles, counts, widths, **style)
    beside.set(ylim=heat.get_ylim(), xlim=(0, None))
    for margin in (above, beside):
        margin.set_axis_off()


def _bars(side: Side) -> tuple[Floats, Floats, Floats]:
    """Return middles, heights and widths of the bars of a histogram."""
    middles, widths = (side.bins[1:] + side.bins[:-1]) / 2, np.diff(side.bins)
    counts = side.counts
    if side.levels:
        widths = 0.8 * widths
    if side.has_missing:
        ends = _all_edges(side)[-2:]
        middles, counts = np.append(middles, ends.mean()), np.append(counts, side.n_missing)
        widths = np.append(widths, (0.8 if side.levels else 1.0) * np.diff(ends))
    return middles, counts, widths


def draw_color_bar(ax: Axes, mesh: QuadMesh, surfaces: Sequence[Surface], words: Words) -> Colorbar:
    """Draw the scale of colors of these surfaces into axes, and say its unit."""
    extend = {(True, True): "both", (True, False): "max", (False, True): "min"}
    limit = float(mesh.get_clim()[1])
    beyond = any(s.f.max() > limit for s in surfaces), any(s.f.min() < -limit for s in surfaces)
    bar = ax.figure.colorbar(
        mesh,
        cax=ax,
        extend=extend.get(beyond, "neither"),
        extendfrac=0.03,
    )
    places, texts = height_marks(-limit, limit, is_factor=words.is_factor)
    bar.set_ticks(places.tolist(), labels=texts)
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label(words.axis, color=INK, **AS_IT_IS)
    ax.tick_params(colors=MUTED, length=0, labelsize=9)
    return bar


def draw_legend(heat: Axes, bar: Axes, surface: Surface, words: Words) -> None:
    """Say what both ends of the colors mean, and what gray means."""
    style: Style = {"fontsize": 9, "ha": "right", "textcoords": "offset points", **AS_IT_IS}
    for y, word, color in ((1.0, words.up, UP), (0.0, words.down, DOWN)):
        up = 1 if y else -1
        bar.annotate(
            shortened(word), (1.0, y), (36, up * 14), xycoords="axes fraction", color=color,
            va="bottom" if y else "top", **style,
        )  # fmt: skip
    notes = []
    if surface.hatched.any():
        notes.append("hatched: may be zero")
    if not (surface.x.levels or surface.supported.all()):
        notes.append("gray: no rows nearby")
    if notes:
        note = "\n".join(notes)
        heat.annotate(
            note, (1.0, 0.0), (0, -22), xycoords="axes fraction", color=MUTED, va="top", **style
        )
