"""Figure 3: the toy disk, and what splines, Fourier and Hermite curves make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils import Bunch

from splinear import AdditiveSVC
from splinear.datasets import load_disk
from splinear.experiments.bench import Bench
from splinear.experiments.drawing import COLORS, FAINT, MUTED, bare, png
from splinear.experiments.models import SEED, fit, liblinear, spline
from splinear.experiments.results import Claim, Picture, Section
from splinear.inspection import shape_function
from splinear.terms import Fourier, Hermite, Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TITLE", "run"]

TITLE = "The toy disk"
N_BINS = 4
GRID_SIZE = 41
C = 1.0
Curves = Sequence[tuple[str, Term]]
SPLINES: Curves = [
    (f"degree {degree}, D_{order}", spline(N_BINS, degree, order))
    for degree in (1, 2, 3)
    for order in (0, 1)
]
FOURIER: Curves = [
    (f"degree {degree}, r={order}", Fourier(degree, penalty_order=order))
    for degree in (1, 2, 4)
    for order in (1, 2)
]
HERMITE: Curves = [
    (f"degree {degree}, r={order}", Hermite(degree, penalty_order=order))
    for degree in (2, 3, 4)
    for order in (1, 2)
]


def run(bench: Bench) -> Section:
    """Draw the data and the curves along x."""
    from matplotlib.figure import Figure

    del bench
    disk = load_disk(GRID_SIZE)
    figure = Figure(figsize=(14, 4.4), layout="constrained")
    panels = figure.subplots(1, 4)
    _draw_data(panels[0], disk)
    families = {"B-splines": SPLINES, "Fourier": FOURIER, "Hermite": HERMITE}
    accuracies = [
        accuracy
        for ax, (title, curves) in zip(panels[1:], families.items(), strict=True)
        for accuracy in _draw_fits(ax, title, curves, disk)
    ]
    straight = 100 * fit(liblinear(C), disk.data, disk.target).model.score(disk.data, disk.target)
    caption = (
        f"{GRID_SIZE} x {GRID_SIZE} points, positive where x^2 + y^2 <= 1, and the curves along x "
        f"that additive models learn (C = {C:g}; splines on {N_BINS} bins), centered, with the "
        "accuracy on these points."
    )
    return Section(
        "figure3",
        TITLE,
        pictures=[Picture("figure3", caption, png(figure))],
        orderings=[
            Claim(
                "additive models learn the disk, a linear one cannot",
                f"accuracy on the points themselves: linear {straight:.1f} %, additive "
                f"{min(accuracies):.1f} to {max(accuracies):.1f} %",
                min(accuracies) > straight,
            )
        ],
    )


def _draw_data(ax: Axes, disk: Bunch) -> None:
    bare(ax, "data")
    for label, color in ((0, COLORS[1]), (1, COLORS[0])):
        x, y = disk.data[disk.target == label].T
        ax.scatter(x, y, s=4, color=color, linewidths=0)
    ax.set_aspect("equal")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    ax.set_xlabel("x", color=MUTED)
    ax.set_ylabel("y", color=MUTED, rotation=0)


def _draw_fits(ax: Axes, title: str, curves: Curves, disk: Bunch) -> list[float]:
    """Draw one family of curves, and return the models' accuracies in percent."""
    bare(ax, title)
    ax.axhline(0, color=FAINT, linewidth=0.8)
    accuracies = []
    for k, (name, curve) in enumerate(curves):
        model = AdditiveSVC(curve, C=C, random_state=SEED).fit(disk.data, disk.target)
        accuracies.append(100 * model.score(disk.data, disk.target))
        x, f = shape_function(model, 0, n_points=300, center=True)
        style = ("-", "--")[k % 2]
        label = f"{name}: {accuracies[-1]:.1f} %"
        ax.plot(x, f, style, color=COLORS[k // 2], linewidth=1.5, label=label)
    ax.set_xlabel("x", color=MUTED)
    ax.legend(fontsize=7.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return accuracies
