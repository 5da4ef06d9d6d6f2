"""
Several classes
===============

With more than two classes each has a score of its own: one curve per feature and class, trained
together. The highest score wins, and the softmax of the scores gives the probabilities.

Read more: :doc:`/guide/classification`.
"""

# %%
# Wines from three grapes, and thirteen measurements of each.
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from splinear import AdditiveClassifier

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X = X.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
X.columns = X.columns.str.replace("_", " ")
model = AdditiveClassifier(random_state=0)
print(f"{cross_val_score(model, X, y, cv=5).mean():.1%} right, mean of five folds")
model = model.fit(X, y)

# %%
# A row has three scores, and a probability for each class.
import pandas as pd

print(pd.DataFrame(model.predict_proba(X[::60]), columns=model.classes_).round(3))

# %%
# The curves
# ----------
# One line per class; where a line is high, the value speaks for that class. Barolo has much
# proline and alcohol, Grignolino is pale, and Barbera has few flavanoids. Shaded are 95% bands.
from matplotlib import pyplot as plt

from splinear.plotting import CurvesDisplay

CurvesDisplay.from_estimator(model, X, top=4, n_cols=2)
plt.show()
