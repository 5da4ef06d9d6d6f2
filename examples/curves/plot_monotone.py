"""
Credit scores that a customer can trust
=======================================

Someone who pays off debt, or earns more, should not get a worse score for it, whatever noise
there is in the data. ``Spline(monotone=...)`` makes that a condition of the fit. Where the
condition is true, it costs no accuracy, and it makes rejections easier to explain.

Read more: :doc:`/guide/shapes`.
"""

# %%
# Loans
# -----
# Synthetic data: 600 loans, and four facts about each. The risk of default falls with income and
# years in the job, and rises with debt and late payments.
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)


def loans(n):
    """Draw loans, and whether they are paid back."""
    X = pd.DataFrame(
        {
            "income": rng.lognormal(3.7, 0.5, n).clip(8, 200),
            "years in job": rng.gamma(1.5, 5.0, n).clip(0, 40),
            "debt ratio": rng.beta(2, 4, n),
            "late payments": rng.poisson(1.5, n),
        }
    )
    score = 1.3 * np.log(X["income"] / 40) + 0.9 * np.sqrt(X["years in job"] / 5)
    score -= 3.5 * X["debt ratio"].clip(0.3) ** 2 + 0.35 * X["late payments"].clip(upper=5)
    return X, np.where(score + rng.logistic(size=n) > -0.8, "repaid", "default")


X, y = loans(600)
X_test, y_test = loans(20_000)

# %%
# Free and monotone
# -----------------
from sklearn.metrics import roc_auc_score

from splinear import AdditiveClassifier
from splinear.terms import Spline

up, down = Spline(monotone="increasing"), Spline(monotone="decreasing")
free = AdditiveClassifier(random_state=0).fit(X, y)
monotone = AdditiveClassifier(
    terms={"income": up, "years in job": up, "debt ratio": down, "late payments": down},
    random_state=0,
).fit(X, y)
for name, model in {"free": free, "monotone": monotone}.items():
    auc = roc_auc_score(y_test == "repaid", model.predict_proba(X_test)[:, 1])
    print(f"{name}: AUC {auc:.4f}, certified to {model.dual_gap_:.0e}")

# %%
# An applicant whose income grows by a thousand must not get a worse score. How often does that
# happen?
richer = X_test.assign(income=X_test["income"] + 1)
for name, model in {"free": free, "monotone": monotone}.items():
    worse = model.decision_function(richer) < model.decision_function(X_test) - 1e-9
    print(f"{name}: {worse.mean():.1%} of the applicants lose by earning more")

# %%
# The curves
# ----------
# The free curves wiggle, and where they contradict common sense (orange), the monotone ones are
# level: each is the best monotone curve, not a free curve repaired afterward.
from matplotlib import pyplot as plt

from splinear.inspection import shape_function
from splinear.plotting import DOWN, FAINT, INK, MUTED, UP

units = {"income": "thousands a year", "years in job": "years", "debt ratio": "share of income"}
figure, panels = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained", sharey=True)
for ax, (k, feature) in zip(panels, enumerate(X), strict=True):
    grid = np.linspace(*X[feature].quantile([0, 0.995]), 400)
    f = shape_function(free, feature, grid, center=True)[1]
    g = shape_function(monotone, feature, grid, center=True)[1]
    wrong = np.gradient(f, grid) * (1 if k < 2 else -1) < 0
    ax.plot(grid, f, color=MUTED, lw=1.5, label="free")
    ax.plot(grid, np.where(wrong, f, np.nan), color=DOWN, lw=3, label="free, the wrong way")
    ax.plot(grid, g, color=UP, lw=2.5, label="monotone")
    ax.set_title(feature, color=INK, loc="left", fontweight="bold")
    ax.set_xlabel(units.get(feature, "number"))
    ax.axhline(0, color=FAINT, lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("added to the log-odds of repayment")
figure.legend(*ax.get_legend_handles_labels(), loc="outside upper right", ncols=3, frameon=False)
plt.show()
