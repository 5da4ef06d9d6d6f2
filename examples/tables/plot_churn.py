"""
Churn: from a raw CSV file to a report
======================================

A table as it comes from a database: numbers, text, missing values, and a meaningless key. We fit
a model to it without preparing anything, check it on customers that it has not seen, look at what
it has learned, and write a page for colleagues who do not program.

Read more: :doc:`/guide/tables` and :doc:`/guide/report`.
"""

# %%
# The file
# --------
# Customers of a phone company. What drives them away is made up here, so that we can compare it
# with what the model finds: they leave early in their contract or not at all, they leave if they
# pay much, and an unknown income says something, too.
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 6000
table = pd.DataFrame(
    {
        "customer": [f"C{i:05d}" for i in range(n)],
        "months": rng.gamma(2.0, 14.0, n).astype(int),
        "charges": rng.normal(65, 20, n).clip(15, 130).round(2),
        "income": rng.lognormal(10.3, 0.6, n).round(-2),
        "calls": rng.poisson(1.2, n),
        "contract": rng.choice(["monthly", "one year", "two years"], n, p=[0.5, 0.3, 0.2]),
        "payment": rng.choice(["card", "check", "transfer"], n),
    }
)
log_odds = 2.2 * np.exp(-table["months"] / 9) + 1.5 / (1 + np.exp(-(table["charges"] - 75) / 5))
log_odds += 0.4 * table["calls"] + table["contract"].map(
    {"monthly": 0.6, "one year": -0.4, "two years": -1.4}
)
table.loc[rng.random(n) < 0.15, "income"] = np.nan
log_odds += 0.8 * table["income"].isna()
table["churn"] = np.where(rng.logistic(size=n) < log_odds - 3, "leaves", "stays")

folder = TemporaryDirectory()
path = Path(folder.name) / "customers.csv"
table.to_csv(path, index=False)

# %%
# The model
# ---------
# Text columns become categories, missing values get an effect of their own, and the smoothness of
# each curve is chosen from the data. The key is dropped: with one level per row it carries no
# information.
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from splinear import AdditiveClassifier

data = pd.read_csv(path)
X, leaves = data.drop(columns="churn"), data["churn"] == "leaves"
X_train, X_test, y_train, y_test = train_test_split(X, leaves, random_state=0)
model = AdditiveClassifier(terms={"customer": "drop"}, random_state=0).fit(X_train, y_train)
print(
    f"AUC on {len(X_test)} new customers: "
    f"{roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]):.3f}"
)

# %%
# What the model has learned, one line per term. The payment method, which has no true effect,
# gets hardly any degrees of freedom and a large p-value.
from splinear.inspection import summary

print(summary(model))

# %%
# The report
# ----------
# One HTML file with measures, curves and a panel in which to try values. It opens offline.
from splinear import report

page = Path(folder.name) / "churn.html"
report.write(model, page, X_test, y_test, title="Who leaves?", class_names=["stays", "leaves"])
print(f"{page.name}: {page.stat().st_size / 1000:.0f} kB")
folder.cleanup()

# %%
# The curves
# ----------
# All panels have one scale, so heights can be compared. The risk is high in the first months and
# rises with charges in a step near 75; the diamond is what a missing income adds.
from matplotlib import pyplot as plt

from splinear.plotting import CurvesDisplay

CurvesDisplay.from_estimator(model, X_test, class_names=["stays", "leaves"])
plt.show()
