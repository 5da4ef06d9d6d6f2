"""
Pairs of features: a map of prices
==================================

The price of a house does not depend on how far east it lies plus how far north, but on the place.
``interactions="auto"`` finds pairs of features that predict more together than apart, and adds a
surface for each of them.

Read more: :doc:`/guide/interactions`.
"""

# %%
# A town
# ------
# Synthetic data: two centers where houses are expensive, a river with expensive banks, and houses
# of different age and size.
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(0)
n = 8000
houses = pd.DataFrame(
    {
        "east": rng.uniform(0, 20, n),
        "north": rng.uniform(0, 15, n),
        "area": rng.gamma(6, 20, n).clip(30, 400),
        "built": rng.integers(1900, 2024, n),
        "floors": rng.integers(1, 4, n),
    }
)
east, north = houses["east"], houses["north"]
place = 180 * np.exp(-((east - 6) ** 2 + (north - 10) ** 2) / 8)
place += 120 * np.exp(-((east - 15) ** 2 + (north - 4) ** 2) / 5)
place += 50 * np.exp(-((north - 0.5 * east) ** 2))
price = 100 + place + 1.6 * houses["area"] - 0.4 * (2024 - houses["built"])
price += rng.normal(0, 30, n)  # in thousands

# %%
# With and without pairs
# ----------------------
from splinear import AdditiveRegressor
from splinear.inspection import summary

X, X_test, y, y_test = train_test_split(houses, price, random_state=0)
curves = AdditiveRegressor().fit(X, y)
model = AdditiveRegressor(interactions="auto", random_state=0).fit(X, y)
print(f"R² of curves alone: {curves.score(X_test, y_test):.3f}")
print(f"R² with pairs:      {model.score(X_test, y_test):.3f}")
print(summary(model))

# %%
# Of the ten possible pairs, the model found that of east and north. (If it also adds another pair
# by chance, its importance is close to zero and its p-value is large.) A surface is what two
# features add beyond their curves, so for a map of the town we add the curves to it.
from matplotlib import pyplot as plt

from splinear.inspection import shape_function, surface
from splinear.plotting import INK

x, z = np.linspace(0.2, 19.8, 120), np.linspace(0.2, 14.8, 90)
_, _, pair = surface(model, ("east", "north"), (x, z))
effect = pair + shape_function(model, "east", x, center=True)[1][:, None]
effect += shape_function(model, "north", z, center=True)[1]
true = 180 * np.exp(-((x[:, None] - 6) ** 2 + (z - 10) ** 2) / 8)
true += 120 * np.exp(-((x[:, None] - 15) ** 2 + (z - 4) ** 2) / 5)
true += 50 * np.exp(-((z - 0.5 * x[:, None]) ** 2))

figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
maps = {
    "curves alone": shape_function(curves, "east", x, center=True)[1][:, None]
    + shape_function(curves, "north", z, center=True)[1],
    "curves and a surface": effect,
    "the truth": true - place.mean(),
}
for ax, (title, heights) in zip(panels, maps.items(), strict=True):
    image = ax.contourf(x, z, heights.T, np.arange(-60, 181, 20), cmap="viridis", extend="both")
    ax.set_title(title, color=INK, fontweight="bold", loc="left")
    ax.set(xlabel="km east", aspect="equal")
panels[0].set_ylabel("km north")
figure.colorbar(image, ax=panels, label="added to the price, thousands", pad=0.02)
plt.show()
