"""
Why this prediction?
====================

The score of a row *is* the sum of what its values add. So an explanation is not a second model,
and not an approximation: it is the arithmetic of the prediction itself.

Read more: :doc:`/guide/explain`.
"""

# %%
# Loans
# -----
# Synthetic data: who repays a loan? A table of numbers and text, with missing values.
import numpy as np
import pandas as pd

from splinear import AdditiveClassifier

rng = np.random.default_rng(2)
n = 3000
X = pd.DataFrame(
    {
        "income": rng.lognormal(3.7, 0.5, n).round(1),
        "debt ratio": rng.beta(2, 4, n).round(2),
        "late payments": rng.poisson(1.2, n),
        "years in job": rng.gamma(1.5, 5.0, n).round(),
        "home": rng.choice(["own", "rent", "family"], n, p=[0.4, 0.5, 0.1]),
        "purpose": rng.choice(["car", "house", "studies", "travel"], n),
        "age": rng.integers(20, 75, n),
    }
)
score = 1.5 * np.log(X["income"] / 40) - 4 * (X["debt ratio"] - 0.3) - 0.5 * X["late payments"]
score += 0.8 * np.sqrt(X["years in job"] / 5) + 0.7 * (X["home"] == "own")
score -= 0.8 * (X["purpose"] == "travel")
y = np.where(score + rng.logistic(size=n) > 0, "repaid", "default")
X.loc[rng.random(n) < 0.1, "years in job"] = np.nan
model = AdditiveClassifier(random_state=0).fit(X[1000:], y[1000:])
print(f"{model.score(X[:1000], y[:1000]):.1%} of 1000 new loans right")

# %%
# The reasons
# -----------
# One applicant was rejected, and asks why. Here are the reasons, the largest first, each with its
# standard error.
from splinear.inspection import explain

asks = X[:1000].query("income > 50 and `late payments` >= 3 and purpose == 'car'").head(1)
explanation = explain(model, asks)
print(explanation)

# %%
# They add up to the score, up to rounding:
total = explanation.base_value + explanation.contribution.sum(axis=1)
print(np.abs(total - model.decision_function(asks)).max())

# %%
# The waterfall
# -------------
# From top to bottom: the score of an average applicant, then what each fact adds (blue) or takes
# off (orange), with whiskers of one standard error, down to the score of this one. The axis above
# has the probabilities that belong to the scores.
from matplotlib import pyplot as plt

explanation.plot(0)
plt.show()
