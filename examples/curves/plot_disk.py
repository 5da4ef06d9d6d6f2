"""
A disk that no line can separate
================================

The toy problem of the paper: points of a square belong to one class inside a disk, and to the
other outside. The boundary x² + y² = 1 is a sum of a function of x and a function of y, so an
additive model can learn it, and a linear one cannot.
"""

# %%
# Four models, which differ in what a feature may add to the score: a straight line, a spline, a
# Fourier series, a polynomial. All are the paper's support vector machine.
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

from splinear import AdditiveSVC
from splinear.datasets import load_disk
from splinear.inspection import shape_function
from splinear.plotting import DOWN, INK, MUTED, UP
from splinear.terms import Fourier, Hermite, Linear, Spline

train, test = load_disk(random_state=0), load_disk(101)  # drawn at random; a grid
terms = {
    "straight lines": Linear(),
    "splines, 10 pieces": Spline(n_bins=10),
    "Fourier, 3 frequencies": Fourier(n_frequencies=3),
    "Hermite, degree 3": Hermite(degree=3),
}
models = {
    name: AdditiveSVC(term, C=10, random_state=0).fit(train.data, train.target)
    for name, term in terms.items()
}

# %%
# Above: the score at every point, blue inside and orange outside, with the boundary that was
# learned (black) and the true one (dashed). Below: the curve of x, as a share of its largest
# value; the truth (dashed) is an upside-down parabola.
figure, panels = plt.subplots(
    2, 4, figsize=(12, 5.2), height_ratios=[2, 1], layout="constrained", sharex=True
)
colors = LinearSegmentedColormap.from_list("disk", [DOWN, "white", UP])
axis = np.linspace(-1, 1, 101)
circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
for (above, below), (name, model) in zip(panels.T, models.items(), strict=True):
    score = model.decision_function(test.data).reshape(101, 101).T
    norm = TwoSlopeNorm(0, min(score.min(), -1), max(score.max(), 1))
    above.pcolormesh(axis, axis, score, cmap=colors, norm=norm, alpha=0.8, rasterized=True)
    if score.min() < 0:  # else there is no boundary in the square
        above.contour(axis, axis, score, [0], colors=INK, linewidths=2)
    above.plot(circle.real, circle.imag, "--", color=MUTED, lw=1.5)
    right = model.score(test.data, test.target)
    above.set_title(f"{name}: {right:.0%} right", fontsize=11, color=INK)
    above.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    x, f = shape_function(model, 0, axis, center=True)
    f = f / max(1.0, np.abs(f).max())
    below.fill_between(x, f, where=f > 0, color=UP, alpha=0.3, lw=0, interpolate=True)
    below.fill_between(x, f, where=f < 0, color=DOWN, alpha=0.3, lw=0, interpolate=True)
    below.plot(x, f, color=INK, lw=2)
    below.plot(x, (1 / 3 - x**2) * 1.5, "--", color=MUTED, lw=1.5)
    below.set(xlabel="x", ylim=(-1.1, 1.1), yticks=[-1, 0, 1])
    below.spines[["top", "right"]].set_visible(False)
panels[0, 0].set_ylabel("y")
panels[1, 0].set_ylabel("added by x")
plt.show()

# %%
# The linear model assigns every point to the larger class. The three others find the disk. They
# differ in cost on wide tables: a spline of degree 1 uses two coefficients per value, the others
# use all of theirs.
