"""
Missing values are values, too
==============================

Why a value is missing often says something: a test was not done because the doctor saw no need. A
missing value gets a coefficient of its own, in the term of its feature. Nothing is imputed, and
no column is added.

Read more: :doc:`/guide/tables`.
"""

# %%
# Patients
# --------
# Synthetic data. Blood pressure is measured in most of the ill and in less than half of the
# healthy; a laboratory value is missing at random, which carries no information.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)


def patients(n):
    """Draw patients, and who of them is ill."""
    X = pd.DataFrame(
        {
            "pressure": rng.normal(130, 18, n),
            "lab value": rng.gamma(4, 2, n),
            "age": rng.uniform(20, 90, n),
        }
    )
    score = 1.2 * ((X["pressure"] - 125) / 18) ** 2 + 0.03 * (X["age"] - 60) - 2
    score += 2.5 / (1 + np.exp(6 - X["lab value"]))
    ill = score + rng.logistic(size=n) > 0
    X.loc[rng.random(n) < np.where(ill, 0.1, 0.6), "pressure"] = np.nan
    X.loc[rng.random(n) < 0.3, "lab value"] = np.nan
    return X, np.where(ill, "ill", "well")


X, y = patients(5000)
X_test, y_test = patients(10_000)
print(X.isna().mean().map("{:.0%} missing".format).to_string())

# %%
# With and without imputation
# ---------------------------
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from splinear import AdditiveClassifier

means = SimpleImputer().set_output(transform="pandas")
model = AdditiveClassifier(random_state=0)
filled = make_pipeline(means, AdditiveClassifier(random_state=0))
linear = make_pipeline(means, LogisticRegression(max_iter=1000))
models = {"gaps": model, "means, curves": filled, "means, linear": linear}
for name, one in models.items():
    p = one.fit(X, y).predict_proba(X_test)[:, 0]
    print(f"{name}: AUC {roc_auc_score(y_test == 'ill', p):.3f}")

# %%
# The picture
# -----------
# The diamond to the right of a curve is what a missing value adds. A missing pressure clearly
# favors "well"; a missing laboratory value adds nothing, as it should.
from matplotlib import pyplot as plt

from splinear.plotting import CurvesDisplay

CurvesDisplay.from_estimator(model, X_test, features=["pressure", "lab value", "age"])
plt.show()

# %%
# And with imputed means? A third of the rows now have exactly the same pressure. The curve
# follows them with a narrow spike, so that little accuracy is lost. But nobody would want to
# explain this spike to a doctor, and a linear model cannot have one.
from splinear.inspection import shape_function
from splinear.plotting import DOWN, MUTED, UP

grid = np.linspace(95, 165, 1401)
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
for name, one, color in (("means in the gaps", filled[-1], DOWN), ("gaps as they are", model, UP)):
    f = shape_function(one, "pressure", grid, center=False)[1]
    ax.plot(grid, f[0] - f, color=color, lw=2.5, label=name)
ax.plot(grid, 1.2 * (((grid - 125) / 18) ** 2 - (30 / 18) ** 2), "--", color=MUTED, label="truth")
ax.axvline(X["pressure"].mean(), color=MUTED, lw=0.8)
ax.text(X["pressure"].mean() + 0.6, 1.5, "mean of those\nmeasured", color=MUTED)
ax.set(xlabel="pressure, mmHg", ylabel="added to the log-odds of being ill,\ncompared with 95 mmHg")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
