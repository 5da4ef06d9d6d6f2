"""
Deployment: ONNX and SQL
========================

A model is a sum of curves and of effects of levels, so other programs can compute it: a server
without Python, by ONNX, or the database that holds the rows, by SQL. Neither is an approximation.

Read more: :doc:`/guide/export`.
"""

# %%
# A model with everything in it
# -----------------------------
# Numbers, text, gaps, and a surface over two features.
import numpy as np
import pandas as pd

from splinear import AdditiveClassifier

rng = np.random.default_rng(0)
n = 4000
X = pd.DataFrame(
    {
        "age": rng.uniform(18, 80, n).round(),
        "income": rng.lognormal(10, 0.5, n).round(),
        "home": rng.choice(["own", "rent", "other"], n, p=[0.4, 0.5, 0.1]),
    }
)
score = np.sin(X["age"] / 9) * X["income"] / 20_000 + (X["home"] == "own")
y = np.where(score + rng.logistic(size=n) > 0, "yes", "no")
X.loc[rng.random(n) < 0.1, "income"] = np.nan
model = AdditiveClassifier(interactions=1, random_state=0).fit(X, y)
here = model.predict_proba(X)[:, 1]

# %%
# In an ONNX runtime
# ------------------
# The graph consists of standard operators. Each feature is an input with its own name.
import onnxruntime

from splinear.export import to_onnx

graph = to_onnx(model, dtype="float64")
session = onnxruntime.InferenceSession(graph.SerializeToString())
inputs = {"age": X[["age"]].to_numpy(), "income": X[["income"]].to_numpy()}
inputs["home"] = X[["home"]].to_numpy(dtype=object)
by_onnx = session.run(["probabilities"], inputs)[0][:, 1]

# %%
# In a database
# -------------
# One SELECT returns probabilities and the two most important reasons for each row.
import sqlite3

from splinear.export import to_sql

connection = sqlite3.connect(":memory:")
X.assign(id=range(n)).to_sql("customers", connection, index=False)
query = to_sql(model, "customers", "sqlite", keep=["id"], reasons=2)
found = pd.read_sql(query, connection).sort_values("id")
connection.close()
by_sql = found["probability"].to_numpy()
print(f"{len(query) / 1000:.0f} kB of SQL")
print(found[["id", "probability", "reason_1", "effect_1", "reason_2", "effect_2"]].head(4))

# %%
# The same numbers
# ----------------
# How far apart are the probabilities? Where they are not equal to the last bit, the difference is
# rounding: sums are taken in another order.
ways = {"SQL": by_sql, "ONNX": by_onnx}
for name, other in ways.items():
    apart = np.abs(other - here)
    print(
        f"{name}: at most {apart.max():.0e} apart, equal in {np.mean(apart == 0):.0%} of the rows"
    )

# %%
# Left: the probabilities of tenants of unknown income. The line is computed by splinear; the
# markers are rows as computed by SQLite and by the ONNX runtime. Right: the differences of all
# rows, on a logarithmic axis, far below the accuracy that is promised.
from matplotlib import pyplot as plt

from splinear.plotting import DOWN, INK, MUTED, UP

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
some = np.flatnonzero((X["home"] == "rent") & X["income"].isna())
line = pd.DataFrame({"age": np.arange(18.0, 81.0), "income": np.nan, "home": "rent"})
left.plot(line["age"], model.predict_proba(line)[:, 1], color=MUTED, lw=1.5, label="splinear")
left.plot(X["age"][some], by_sql[some], "o", ms=9, mfc="none", mec=DOWN, label="SQLite")
left.plot(X["age"][some], by_onnx[some], "+", ms=7, color=UP, label="ONNX runtime")
left.set(xlabel="age, years", ylabel="probability of yes", title="Tenants of unknown income")
left.legend(frameon=False)
bins = np.geomspace(1e-18, 1e-6, 40)
heights = [np.maximum(np.abs(other - here), 1.5e-18) for other in ways.values()]
right.hist(heights, bins, color=[DOWN, UP], label=["SQLite", "ONNX runtime"])
right.axvline(1e-9, color=INK, ls="--", lw=1)
right.text(2e-9, 0.95, "what is promised", transform=right.get_xaxis_transform(), color=INK)
right.set_xscale("log")
right.set_xticks([1.5e-18, 1e-15, 1e-12, 1e-9], ["equal", "1e-15", "1e-12", "1e-9"])
right.set(xlabel="difference of probabilities", ylabel="rows", title="All rows")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
