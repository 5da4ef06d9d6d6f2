"""Draw tails.png: the curve of a feature with a long tail, by two rules for knots.

``python docs/images/make_tails.py`` needs the raw Adult table, in the folder of SPLINEAR_DATA.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw
from splinear.inspection import knots, shape_function
from splinear.terms import Spline

INK, MUTED, CURVE = "#22262B", "#7A828C", "#0072B2"
FEATURE = "capital-gain"
TITLES = {
    "uniform": 'knots="uniform": nearly all rows in the first piece',
    "auto": 'knots="auto": knots where the values are',
}


def draw(ax: Axes, title: str, model: AdditiveClassifier, values: np.ndarray) -> None:
    """One panel: the curve, its knots, and a mark for each row that is not zero."""
    places = knots(model, FEATURE)
    grid = np.union1d(places, np.geomspace(50, places[-1], 400))
    zero = shape_function(model, FEATURE, grid=[0.0])[1]
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.plot(grid, shape_function(model, FEATURE, grid=grid)[1] - zero, color=CURVE, lw=2)
    ax.plot(places, shape_function(model, FEATURE, grid=places)[1] - zero, "o", color=CURVE)
    there = values[values > 0]
    ax.plot(there, np.full(len(there), -1.6), "|", color=INK, alpha=0.03, ms=12)
    ax.set_xscale("symlog", linthresh=1000)
    ax.set_xlim(-60, 130_000)
    ax.set_xticks([0, 1000, 10_000, 100_000], ["0", "1,000", "10,000", "100,000"])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_title(title, fontsize=11, color=INK)
    ax.set_xlabel("capital gain in dollars, logarithmic above 1,000")
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Fit both models and write the picture."""
    adult = load_adult_raw()
    X, y = adult.data[~adult.is_test], adult.target[~adult.is_test]
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for ax, (rule, title) in zip(panels, TITLES.items(), strict=True):
        model = AdditiveClassifier(Spline(n_bins=10, knots=rule), C=1.0, random_state=0)
        draw(ax, title, model.fit(X, y), X[FEATURE].to_numpy())
    panels[0].set_ylabel("added to the log-odds\nof a high income")
    figure.savefig(Path(__file__).with_name("tails.png"), dpi=110)


if __name__ == "__main__":
    main()
