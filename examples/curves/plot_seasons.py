"""
Hours and seasons, by Fourier terms
===================================

Midnight follows 11 pm, and January follows December. A ``Fourier`` term knows it: its curve ends
where it begins. Here is a shop that rents bikes, over two years, and what the hour of the day and
the day of the year add to its business.

Read more: :doc:`/guide/terms`.
"""

# %%
# Synthetic data: people ride to work and back, on warm days, and more of them in the second year.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
time = pd.Series(pd.date_range("2023-01-01", "2024-12-31 23:00", freq="h"))
hour, day = time.dt.hour, time.dt.day_of_year
rides = 60 + 35 * np.exp(-((hour - 8) ** 2) / 3) + 45 * np.exp(-((hour - 17.5) ** 2) / 6)
rides -= 30 * ((hour < 6) | (hour > 22))
season = -30 * np.cos(2 * np.pi * (day - 20) / 365.25)
X = pd.DataFrame({"hour": hour, "day": day, "weeks": np.arange(len(time)) / 168})
X["weekday"] = time.dt.day_name()
rides += season + 0.15 * X["weeks"] - 15 * (time.dt.day_of_week > 4) + rng.normal(0, 20, len(time))

# %%
# The model
# ---------
# Each term describes the nature of its column. The last quarter is held out. As it lies in the
# future, the trend is a line, which continues beyond the training range.
from splinear import AdditiveRegressor
from splinear.terms import Fourier, Linear

terms = {
    "hour": Fourier(n_frequencies=8, period=24),
    "day": Fourier(n_frequencies=4, period=365.25),
    "weeks": Linear(),
}
past = time < "2024-10-01"
model = AdditiveRegressor(terms=terms).fit(X[past], rides[past])
print(f"R² in the last quarter: {model.score(X[~past], rides[~past]):.3f}")
print(
    f"Trend: {model.terms_[2].evaluate(np.array([0.0, 52.18])).ravel() @ [-1, 1]:.1f} rides a year"
)

# %%
# On a clock
# ----------
# A periodic curve is best drawn on a circle. The dashed ring is the average; outside of it the
# hour, or the day, brings more riders, inside of it fewer. There is no seam at midnight, and none
# at New Year. The shaded 95% bands are hardly wider than the lines: there are 15,000 hours of
# data.
from matplotlib import pyplot as plt

from splinear.inspection import band, shape_function
from splinear.plotting import INK, MUTED, UP

months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
starts = pd.date_range("2023-01-01", periods=12, freq="MS").day_of_year
clocks = {
    "hour": ("the hour of the day", 24, np.arange(0, 24, 2), [f"{h}:00" for h in range(0, 24, 2)]),
    "day": ("the day of the year", 365.25, starts, months),
}
figure, panels = plt.subplots(
    1, 2, figsize=(11, 5.4), layout="constrained", subplot_kw={"projection": "polar"}
)
for ax, (feature, (name, period, at, labels)) in zip(panels, clocks.items(), strict=True):
    grid = np.linspace(0, period, 400)
    turn = 2 * np.pi * grid / period
    f = shape_function(model, feature, grid, center=True)[1]
    _, lower, upper = band(model, feature, grid, kind="simultaneous")
    ax.plot(turn, 0 * turn, "--", color=MUTED, lw=1)
    ax.fill_between(turn, lower, upper, color=UP, alpha=0.25, lw=0)
    ax.plot(turn, f, color=UP, lw=2.5)
    ax.set(theta_zero_location="N", theta_direction=-1, ylim=(-80, 60))
    ax.set_xticks(2 * np.pi * np.asarray(at) / period, labels)
    ax.set_yticks([-40, 0, 40], ["−40", "0", "+40"], color=MUTED)
    ax.set_rlabel_position(140)
    ax.tick_params(axis="x", pad=9)
    ax.grid(color=MUTED, alpha=0.25)
    ax.set_title(f"Rides per hour that {name} adds", color=INK, pad=16)
plt.show()
