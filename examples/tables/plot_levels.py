"""
Many levels, few rows: effects that are shrunk
==============================================

Of a category's hundred levels, some may have hundreds of rows and others two. The average of two
rows is mostly noise. ``Category`` treats levels as draws from one population, and shrinks the
effects of levels with few rows toward the average, by an amount that the data determine.
Statisticians call this a random effect.

Read more: :doc:`/guide/tables`.
"""

# %%
# Schools
# -------
# Synthetic data: 120 schools, some large and many small. Test results depend on the school and on
# the hours a student has slept.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
effect = pd.Series(rng.normal(0, 4, 120), [f"school {k:03d}" for k in range(120)])
size = np.geomspace(2, 300, 120).astype(int)  # from 2 to 300 students


def students(per_school):
    """Draw students, and their results."""
    X = pd.DataFrame({"school": np.repeat(effect.index, per_school)})
    X["sleep"] = rng.normal(7.5, 1.2, len(X))
    points = 60 + X["school"].map(effect) - 2 * (X["sleep"] - 8) ** 2
    return X, points + rng.normal(0, 10, len(X))


X, y = students(size)
X_test, y_test = students(50)  # as many from each school

# %%
# The model
# ---------
from splinear import AdditiveRegressor
from splinear.inspection import shape_function

model = AdditiveRegressor().fit(X, y)
school = model.terms_[0]
print(f"{len(X)} students, 120 schools, {school.edf:.0f} degrees of freedom")
levels, shrunk = shape_function(model, "school")
sleep = shape_function(model, "sleep", X["sleep"].to_numpy())[1]
rest = y - model.intercept_[0] - sleep
plain = rest.groupby(X["school"]).mean()[levels].to_numpy()
counts = X["school"].value_counts()[levels].to_numpy()
true = effect[levels].to_numpy()
for name, guess in {"averages": plain, "shrunk effects": shrunk}.items():
    off = (guess - guess.mean()) - (true - true.mean())
    print(f"{name}: {np.sqrt(np.mean(off**2)):.1f} points off")

# %%
# Shrinkage
# ---------
# Left: each line goes from the average of a school to its effect in the model. Large schools stay
# where they are, small ones move. Right: the truth. Averages of small schools are far from it, in
# both directions: the first and the last places of a list by averages would go to small schools.
from matplotlib import pyplot as plt

from splinear.plotting import DOWN, FAINT, MUTED, UP

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
left.vlines(counts, plain, shrunk, color=FAINT, lw=1)
left.plot(counts, plain, "o", color=DOWN, ms=4, alpha=0.7, label="average of the school")
left.plot(counts, shrunk, "o", color=UP, ms=4, label="effect in the model")
left.set_xscale("log")
left.set_xticks([2, 5, 10, 30, 100, 300], ["2", "5", "10", "30", "100", "300"])
left.minorticks_off()
left.set(
    xlabel="students of the school, logarithmic", ylabel="points, compared with the average school"
)
right.axline((0, 0), slope=1, color=MUTED, lw=1)
right.plot(true, plain, "o", color=DOWN, ms=4, alpha=0.7)
right.plot(true, shrunk, "o", color=UP, ms=4)
right.set(xlabel="true effect of the school, points")
for ax in (left, right):
    ax.axhline(0, color=FAINT, lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False)
plt.show()
