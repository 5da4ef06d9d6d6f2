"""Figure 1: the basis functions phi^d for degrees 1 to 3 and d = 0 to 2."""

from __future__ import annotations

import numpy as np

from splinear.experiments.bench import Bench
from splinear.experiments.drawing import COLORS, bare, png
from splinear.experiments.results import Picture, Section
from splinear.terms.basis import BSplineBasis

__all__ = ["TITLE", "run"]

TITLE = "Basis functions"
DEGREES = {1: "linear", 2: "quadratic", 3: "cubic"}
ORDERS = (0, 1, 2)
N_BINS = 5
N_POINTS = 401


def run(bench: Bench) -> Section:
    """Draw a panel for every degree (columns) and order of the penalty (rows)."""
    from matplotlib.figure import Figure

    del bench
    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(len(ORDERS), len(DEGREES), sharex=True, squeeze=False)
    t = np.linspace(0, N_BINS, N_POINTS)
    for column, (degree, word) in enumerate(DEGREES.items()):
        basis = BSplineBasis(degree, N_BINS)
        for row, order in enumerate(ORDERS):
            functions = basis.penalty(order).embed(basis.evaluate(t))
            ax = panels[row, column]
            bare(ax, rf"{word}, $\phi^{order}$")
            for k, function in enumerate(functions.T):
                ax.plot(t / N_BINS, function, color=COLORS[k % len(COLORS)], linewidth=1.6)
    caption = (
        f"The functions phi^d = D_d'^-1 phi of B-splines on {N_BINS} bins, by degree (columns) and "
        "order d of the penalty (rows). d = 0 gives the local B-splines themselves; d = degree + 1 "
        "gives truncated powers."
    )
    return Section("figure1", TITLE, pictures=[Picture("figure1", caption, png(figure))])
