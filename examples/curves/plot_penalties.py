"""
What smooth means: D_0, D_1 and D_2
===================================

A spline has many coefficients, one per B-spline, and a penalty that says which curves are
preferred. There are three to choose from, by ``Spline(penalty_order=...)``. This page shows which
curves each penalty expects before it has seen any data, and which curves it fits to data.

Read more: :doc:`/guide/smoothness`.
"""

# %%
# What each penalty prefers
# -------------------------
# Write the coefficients, from left to right, as a list a. The penalty is the sum of the squares
# of D times a:
#
# - D_0 leaves a as it is. The penalty prefers *small values*.
# - D_1 takes the difference of each coefficient and the one before. The penalty prefers *small
#   steps*.
# - D_2 takes the differences of these differences. The penalty prefers *small bends*.
#
# Here they are for five coefficients; the first row compares with a zero to the left of all.
import numpy as np

from splinear.penalties import difference_inverse, difference_matrix

for order in (1, 2):
    print(f"D_{order} =\n{difference_matrix(5, order).astype(int)}")

# %%
# Before the data
# ---------------
# A penalty corresponds to a prior distribution: the curves it prefers are those it considers
# likely. Random curves drawn from this prior are noise for D_0, a random walk for D_1, and a walk
# with inertia for D_2.
rng = np.random.default_rng(4)
n = 60
priors = {order: difference_inverse(n, order) @ rng.normal(size=(n, 5)) for order in (0, 1, 2)}

# %%
# After the data
# --------------
# 80 rows of a wave with noise, and a gap without rows. For each of the three, REML chooses the
# strength of the penalty from the data.
from splinear import AdditiveRegressor
from splinear.terms import Spline

x = np.concatenate([rng.uniform(0, 0.45, 45), rng.uniform(0.75, 1, 35)])


def wave(x):
    """The truth."""
    return 1.5 + np.sin(6.5 * x)


y = wave(x) + 0.3 * rng.normal(size=80)
grid = np.linspace(0, 1, 500)[:, None]
fits = {
    order: AdditiveRegressor(Spline(n_bins=40, degree=3, penalty_order=order, knots="uniform")).fit(
        x[:, None], y
    )
    for order in (0, 1, 2)
}

# %%
# In the gap there are no data, and the penalty alone decides. D_0 falls back to the average, D_1
# takes the shortest way from edge to edge, and D_2 continues in the direction it came from and
# bends gently. The bands show it: they are wide where there are no data.
from matplotlib import pyplot as plt

from splinear.plotting import FAINT, INK, MUTED, UP

prefers = {0: "small values", 1: "small steps", 2: "small bends"}
figure, panels = plt.subplots(2, 3, figsize=(12, 6.4), layout="constrained", sharex=True)
for (above, below), order in zip(panels.T, prefers, strict=True):
    above.plot(np.linspace(0, 1, n), priors[order], lw=1.5, color=UP, alpha=0.7)
    above.set_title(f"$D_{order}$: {prefers[order]}", fontsize=14, color=INK, loc="left")
    lower, upper = fits[order].predict_interval(grid).T
    below.axvspan(0.45, 0.75, color=FAINT, alpha=0.35, lw=0)
    below.fill_between(grid[:, 0], lower, upper, color=UP, alpha=0.2, lw=0, label="95% band")
    below.plot(x, y, "o", color=MUTED, ms=3.5, alpha=0.7, label="rows")
    below.plot(grid, fits[order].predict(grid), color=UP, lw=2.5, label="fit")
    below.plot(grid, wave(grid), "--", color=INK, lw=1.2, label="truth")
    below.set(ylim=(-0.6, 3.6), xlabel="x")
    above.set_yticks([])
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
panels[0, 0].set_ylabel("before the data")
panels[1, 0].set_ylabel("after the data")
below.legend(frameon=False, loc="lower left", ncols=2)
plt.show()

# %%
# Which one to choose? D_1, the default, stays flat where there is no evidence, and is fast to
# train. D_2 gives the smoothest pictures, and straight lines where D_1 is flat. D_0 is for many
# rows and sharp detail.
