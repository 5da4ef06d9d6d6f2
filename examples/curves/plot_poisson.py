"""
Rates of events: insurance claims per year
==========================================

Claims are counts, and contracts run for different times. ``loss="poisson"`` learns the logarithm
of the rate, so features multiply; the time for which a contract ran is its weight.

Read more: :doc:`/guide/regression`.
"""

# %%
# Contracts
# ---------
# Synthetic data: young drivers have many claims, and very old ones more than average; powerful
# cars and cities increase the rate.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 50_000
X = pd.DataFrame(
    {
        "age": rng.triangular(17, 30, 90, n).round(),
        "power": rng.gamma(9, 11, n).clip(30, 300).round(),
        "area": rng.choice(["city", "suburb", "country"], n, p=[0.4, 0.35, 0.25]),
    }
)
years = rng.uniform(0.05, 1.0, n)  # for which each was insured


def true_log_rate(age):
    """The log rate by age, without the other features."""
    return -2.6 + 1.4 * np.exp(-(age - 18) / 8) + 0.9 / (1 + np.exp(-(age - 77) / 4))


log_rate = true_log_rate(X["age"]) + 0.004 * (X["power"] - 100)
log_rate += X["area"].map({"city": 0.3, "suburb": 0.0, "country": -0.3})
claims = rng.poisson(years * np.exp(log_rate))
print(f"{claims.sum()} claims in {years.sum():.0f} years; {np.mean(claims == 0):.0%} had none")

# %%
# The model
# ---------
# y is the number of claims per year, and the weight is the number of years. That is the
# likelihood of the counts themselves.
from splinear import AdditiveRegressor
from splinear.terms import Spline

smooth = Spline(degree=3, penalty_order=2)  # cubic pieces; straight unless the data say otherwise
model = AdditiveRegressor(smooth, loss="poisson").fit(X, claims / years, sample_weight=years)
print(f"D², the share of deviance explained: {model.score(X, claims / years, years):.3f}")
ratio = model.predict(X.assign(area="city")) / model.predict(X.assign(area="country"))
print(f"A city has {ratio[0]:.2f} times the claims of the country (truth: {np.exp(0.6):.2f})")

# %%
# Claims per year, by age
# -----------------------
# Each dot is the observed rate of drivers within five years of age; larger dots stand for more
# insured years. The curve is the rate for a car of 100 hp in a suburb; ``predict_interval`` shows
# its uncertainty.
from matplotlib import pyplot as plt

from splinear.plotting import FAINT, INK, MUTED, UP

ages = np.arange(18, 91)
drivers = pd.DataFrame({"age": ages.astype(float), "power": 100.0, "area": "suburb"})
lower, upper = model.predict_interval(drivers).T
groups = pd.DataFrame({"claims": claims, "years": years, "age": X["age"]}).groupby(
    (X["age"] // 5) * 5
)
group = groups.agg({"claims": "sum", "years": "sum", "age": "mean"})

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
ax.fill_between(ages, lower, upper, color=UP, alpha=0.2, lw=0, label="95% interval of the rate")
ax.plot(ages, model.predict(drivers), color=UP, lw=2.5, label="model")
ax.plot(ages, np.exp(true_log_rate(ages)), "--", color=INK, lw=1.5, label="truth")
ax.scatter(
    group["age"], group["claims"] / group["years"], group["years"] / 12, color=MUTED, alpha=0.6,
    lw=0, label="observed, all cars and areas",
)  # fmt: skip
ax.set_yscale("log")
ax.set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
ax.minorticks_off()
ax.set(xlabel="age of the driver, years", ylabel="claims per year, logarithmic")
ax.grid(color=FAINT, lw=0.5)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
