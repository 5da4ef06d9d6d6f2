"""Draw penalties.png, what D_0, D_1 and D_2 make of the same rows.

``python docs/images/make_penalties.py``
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splinear import AdditiveSVC
from splinear.terms import Spline

INK, MUTED, GRID, GAP = "#22262B", "#7A828C", "#E4E7EB", "#F3F4F6"
CLASS_COLORS = "#D55E00", "#0072B2"
STRENGTHS = {0.1: "#A9CCE3", 1.0: "#4A97C9", 10.0: "#0B3C5D"}
EMPTY = 0.52, 0.76
REMARKS = {
    0: "Small coefficients:\nback to the intercept across the hole",
    1: "Small steps:\na straight line across the hole",
    2: "Small bends:\none smooth arc across the hole",
}


def make_rows(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """One feature on [0, 1] with a hole, and labels that follow a wave."""
    random = np.random.default_rng(3)
    x = random.uniform(0, 1, n)
    x = x[(x < EMPTY[0]) | (x > EMPTY[1])]
    wave = np.sin(2.6 * np.pi * (x - 0.16)) + 0.15
    return x[:, None], (wave + 0.45 * random.normal(size=len(x)) > 0).astype(int)


def draw(ax: Axes, x: np.ndarray, y: np.ndarray, order: int) -> None:
    """One panel: the rows above and below, the curves of each C between them."""
    ax.axvspan(*EMPTY, color=GAP, lw=0)
    ax.axhline(0, color=MUTED, lw=0.8)
    for value, color in zip((0, 1), CLASS_COLORS, strict=True):
        place = 2.3 if value else -2.3
        ax.plot(
            x[y == value], np.full((y == value).sum(), place), "|", color=color, ms=9, alpha=0.5
        )
    grid = np.linspace(0, 1, 500)[:, None]
    for C, color in STRENGTHS.items():
        curve = Spline(n_bins=30, degree=3, penalty_order=order)
        model = AdditiveSVC(curve, C=C, tol=1e-4, max_iter=100_000, random_state=0)
        ax.plot(
            grid, model.fit(x, y).decision_function(grid), color=color, lw=2.2, label=f"C = {C:g}"
        )
    ax.set_title(f"$D_{order}$", loc="left", color=INK, fontsize=15, pad=40)
    ax.text(0, 1.02, REMARKS[order], transform=ax.transAxes, color=MUTED, fontsize=9.5, va="bottom")
    ax.set(xlim=(0, 1), ylim=(-2.7, 2.7), yticks=[-2, -1, 0, 1, 2])
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    ax.grid(axis="y", color=GRID, lw=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=MUTED, length=0, labelsize=9.5)
    for side in ax.spines.values():
        side.set_visible(False)


def main() -> None:
    """Draw the three panels side by side."""
    figure = Figure(figsize=(11, 4.5), dpi=110, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    x, y = make_rows()
    panels = figure.subplots(1, 3, sharey=True)
    for order, ax in enumerate(panels):
        draw(ax, x, y, order)
    panels[0].set_ylabel("score f(x)", color=INK)
    panels[1].set_xlabel("feature x   (marks: rows of either class; gray: no rows)", color=MUTED)
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=10)
    figure.savefig(Path(__file__).with_name("penalties.png"))


if __name__ == "__main__":
    main()
