"""
Bands, and what they mean
=========================

A curve is an estimate, and a band shows how far off it may be. There are two kinds. At each value
of x, a *pointwise* 95% band contains the truth in 95 of 100 data sets. A *simultaneous* one
contains the whole curve in 95 of 100. To see this, we simulate 100 data sets.

Read more: :doc:`/guide/bands`.
"""

# %%
# One data set
# ------------
# Two features, of which we look at the first. The noise is about as large as its effect.
import numpy as np

from splinear import AdditiveRegressor
from splinear.inspection import band, shape_function
from splinear.terms import Spline


def truth(x):
    """A bump on the right; its mean over [0, 1] is subtracted."""
    grid = np.linspace(0, 1, 1001)
    return np.exp(-(((x - 0.7) / 0.2) ** 2)) - np.exp(-(((grid - 0.7) / 0.2) ** 2)).mean()


def fit(seed):
    """Draw 400 rows, and fit a model to them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (400, 2))
    y = truth(X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.normal(size=400)
    return AdditiveRegressor(Spline(30, degree=3, knots="uniform")).fit(X, y)


grid = np.linspace(0.01, 0.99, 100)
model = fit(seed=0)
curve = shape_function(model, 0, grid, center=True)[1]
bands = {kind: band(model, 0, grid, kind=kind) for kind in ("pointwise", "simultaneous")}

# %%
# A hundred data sets
# -------------------
# For each data set we record where its bands contain the truth. Bands describe centered curves,
# so we compare them with the truth minus its mean.
holds = {kind: [] for kind in bands}
curves = []
for seed in range(100):
    other = fit(seed)
    curves.append(shape_function(other, 0, grid, center=True)[1])
    for kind in bands:
        _, lower, upper = band(other, 0, grid, kind=kind)
        holds[kind].append((lower <= truth(grid)) & (truth(grid) <= upper))
at_each = np.mean(holds["pointwise"], axis=0)
whole = np.mean(np.all(holds["simultaneous"], axis=1))
print(f"pointwise: the truth is inside at {at_each.mean():.0%} of the places")
print(f"simultaneous: the whole truth is inside in {whole:.0%} of the data sets")

# %%
# Left: one data set. Middle: the curves of a hundred data sets; a band describes their spread.
# Right: how often the pointwise band contains the truth at each x. At the top of the bump, where
# the truth bends most, smooth curves tend to be a little too low, and bands contain it less often
# than elsewhere. The 95% is an average over all x.
from matplotlib import pyplot as plt

from splinear.plotting import DOWN, INK, MUTED, UP

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for kind, alpha in {"simultaneous": 0.2, "pointwise": 0.35}.items():
    left.fill_between(grid, *bands[kind][1:], color=UP, alpha=alpha, lw=0, label=kind)
left.plot(grid, curve, color=UP, lw=2, label="curve")
middle.plot(grid, np.transpose(curves), color=UP, lw=0.6, alpha=0.25)
for ax in (left, middle):
    ax.plot(grid, truth(grid), "--", color=INK, lw=1.8, label="truth")
    ax.set(xlabel="x", ylim=(-0.75, 1.1))
left.legend(frameon=False, loc="upper left")
left.set(title="One data set, both bands", ylabel="f(x)")
middle.set(title="The curves of 100 data sets")
right.plot(grid, at_each, color=DOWN, lw=2)
right.axhline(0.95, color=MUTED, lw=1, ls="--")
right.set(title="How often the truth is inside", xlabel="x", ylim=(0.5, 1.01))
right.set_yticks(
    [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1], ["50%", "60%", "70%", "80%", "90%", "95%", "100%"]
)
for ax in (left, middle, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
