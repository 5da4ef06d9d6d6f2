"""
A path of support vector machines on a sparse table
===================================================

How closely should curves follow the data? ``AdditiveSVC`` has one number for it, C.
``PathSearchCV`` tries many by cross-validation, and does so along a path: each solution is the
start for the next, and the table is coded once for all folds and all values of C.

Read more: :doc:`/guide/smoothness`.
"""

# %%
# Counts
# ------
# A sparse table, as of words in texts: 1,500 rows, 200 columns, most entries zero. For some words
# it matters whether they occur at all, for others only whether they occur often.
import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)
counts = rng.poisson(rng.gamma(0.3, 1.0, 200), (1500, 200)).astype(float)
score = (np.minimum(counts[:, :40], 1) @ rng.normal(0, 1.0, 40)) + (
    np.maximum(counts[:, 40:80] - 1, 0) @ rng.normal(0, 0.6, 40)
)
y = score + rng.normal(size=1500) > np.median(score)
X = sparse.csr_array(counts)
print(f"{X.shape[0]} x {X.shape[1]}, {X.nnz / np.prod(X.shape):.0%} are not zero")

# %%
# Two paths
# ---------
# Straight lines and splines are compared at ten values of C each, by five folds: 100 fits. A grid
# search with the same estimator, for comparison, codes the table and starts anew every time.
# (Scores differ a little: knots come from all rows in the first, and from the rows of each fold
# in the second.)
from time import process_time

from sklearn.model_selection import GridSearchCV

from splinear import AdditiveSVC, PathSearchCV
from splinear.terms import Linear, Spline

Cs = np.geomspace(1e-3, 1, 10)
svm = AdditiveSVC(random_state=0)
start = process_time()
search = PathSearchCV(svm, Cs, {"curve": [Linear(), Spline()]}, cv=5).fit(X, y)
path_time = process_time() - start
start = process_time()
grid = GridSearchCV(svm, {"curve": [Linear(), Spline()], "C": Cs}, cv=5).fit(X, y)
grid_time = process_time() - start
for found in (search, grid):
    curve, C = found.best_params_["curve"], found.best_params_["C"]
    print(f"{type(found).__name__}: {curve} and C={C:.2f}, {found.best_score_:.1%} right")
print(f"CPU time: path {path_time:.1f} s, grid {grid_time:.1f} s")

# %%
# The picture
# -----------
# With too small a C all curves are flat. At every C splines are better than lines, because they
# can tell the first occurrence of a word from the fifth.
from matplotlib import pyplot as plt
from matplotlib.ticker import PercentFormatter

from splinear.plotting import DOWN, FAINT, INK, UP

results = search.cv_results_
mean = results["mean_test_score"].reshape(2, -1)
error = results["std_test_score"].reshape(2, -1) / np.sqrt(5)
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
for k, (name, color) in enumerate({"straight lines": DOWN, "splines": UP}.items()):
    ax.fill_between(Cs, mean[k] - error[k], mean[k] + error[k], color=color, alpha=0.2, lw=0)
    ax.plot(Cs, mean[k], "o-", color=color, lw=2, label=name)
best = search.best_params_["C"], search.best_score_
ax.plot(*best, "o", ms=15, mfc="none", mec=INK, mew=1.5)
ax.annotate("chosen", best, (0, 14), textcoords="offset points", ha="center", color=INK)
ax.set_xscale("log")
ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
ax.set(xlabel="C, logarithmic", ylabel="rows right, mean of five folds ± standard error")
ax.grid(color=FAINT, lw=0.5)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()
