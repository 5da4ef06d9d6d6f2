"""Figure 2: the min kernel, the kernels that splines imply, and the differences."""

from __future__ import annotations

import numpy as np

from splinear._types import Floats
from splinear.experiments.bench import Bench
from splinear.experiments.drawing import INK, png
from splinear.experiments.results import Claim, Picture, Section
from splinear.kernels import min_kernel, spline_kernel

__all__ = ["TITLE", "run", "spline_and_difference"]

TITLE = "Spline kernels and the min kernel"
DEGREES = (1, 2, 3)
N_BINS = 10
N_POINTS = 201
ROUNDING = 1e-12


def run(bench: Bench) -> Section:
    """Draw K_min, K_r^1 and K_min - K_r^1 for degrees r = 1, 2, 3."""
    del bench
    x = np.linspace(0, 1, N_POINTS)
    kernels = {degree: spline_and_difference(x, degree) for degree in DEGREES}
    caption = (
        f"K_min and K_r^1 for B-splines of degree r on {N_BINS} bins of [0, 1], and the "
        "differences, on a scale of their own. The constant (r + 1) / (2 N) is subtracted; the "
        "paper prints it without the N."
    )
    return Section(
        "figure2",
        TITLE,
        pictures=[Picture("figure2", caption, _draw(min_kernel(x[:, None]), kernels))],
        orderings=[_claim(x, kernels)],
    )


def spline_and_difference(x: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return K_r^1 on all pairs of x without its constant, and K_min minus that."""
    K = spline_kernel(x[:, None], degree=degree, order=1, n_bins=N_BINS)
    K = K - (degree + 1) / (2 * N_BINS)
    return K, min_kernel(x[:, None]) - K


def _draw(K_min: Floats, kernels: dict[int, tuple[Floats, Floats]]) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    panels = figure.subplots(2, 1 + len(kernels), squeeze=False)
    limit = max(float(np.abs(difference).max()) for _, difference in kernels.values())
    images = {(0, 0): (r"$K_{\min}$", K_min)}
    for column, (degree, (K, difference)) in enumerate(kernels.items(), start=1):
        images[0, column] = (rf"$K_{degree}^1$", K)
        images[1, column] = (rf"$K_{{\min}} - K_{degree}^1$", difference)
    panels[1, 0].axis("off")
    shown = {}
    for (row, column), (title, image) in images.items():
        ax = panels[row, column]
        style = {"cmap": "viridis", "vmin": 0, "vmax": 1}
        if row:
            style = {"cmap": "RdBu", "vmin": -limit, "vmax": limit}
        shown[row] = ax.imshow(image, origin="lower", extent=(0, 1, 0, 1), **style)
        ax.set_title(title, fontsize=12, color=INK)
        ax.set_xticks([0, 1])
        ax.set_yticks([0, 1])
    for row, image in shown.items():
        figure.colorbar(image, ax=panels[row, :].tolist(), shrink=0.85)
    return png(figure)


def _claim(x: Floats, kernels: dict[int, tuple[Floats, Floats]]) -> Claim:
    """Check that the kernels agree for values at least r bins apart."""
    apart = np.abs(x[:, None] - x)
    # A distance of exactly r bins may come out a rounding error short.
    largest = max(
        float(np.abs(difference[apart >= degree / N_BINS + ROUNDING]).max())
        for degree, (_, difference) in kernels.items()
    )
    near = max(float(np.abs(difference).max()) for _, difference in kernels.values())
    return Claim(
        "K_r^1 equals the min kernel, up to a constant, for values at least r bins apart",
        f"largest difference there {largest:.0e}, elsewhere {near:.3f}",
        largest < ROUNDING,
    )
