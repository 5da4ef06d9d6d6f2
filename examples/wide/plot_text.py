"""
Text: which words give an author away?
======================================

Word counts are sparse: a text contains few of many thousand words. ``AdditiveSVC`` reads the
non-zeros alone, and learns one curve per word, through zero. So it can learn what a linear model
cannot: that the second occurrence of a word tells more than the twentieth.

Read more: :doc:`/guide/sparse`.
"""

# %%
# Four authors
# ------------
# Every computer that runs this example has some text: the docstrings of the functions of NumPy,
# SciPy, scikit-learn and matplotlib. Can a model tell from the words of one docstring which
# library it belongs to? Code examples are left out, and so are the names of the libraries
# themselves.
import inspect
import re

import matplotlib.axes
import matplotlib.figure
import matplotlib.pyplot
import numpy as np
import scipy.linalg
import scipy.signal
import scipy.stats
import sklearn.metrics
import sklearn.preprocessing
import sklearn.utils

SOURCES = {
    "NumPy": [np, np.linalg, np.ma, np.fft],
    "SciPy": [scipy.stats, scipy.signal, scipy.linalg],
    "scikit-learn": [sklearn.metrics, sklearn.preprocessing, sklearn.utils],
    "matplotlib": [matplotlib.axes.Axes, matplotlib.figure.Figure, matplotlib.pyplot],
}
LEFT_OUT = re.compile(
    r"^ *(>>>|\.\.\.).*$|\b(numpy|np|scipy|sklearn|scikit|learn|matplotlib|plt|mpl)\b|\d|_",
    re.IGNORECASE | re.MULTILINE,
)
texts, authors = [], []
for author, places in SOURCES.items():
    found = {inspect.getdoc(getattr(p, name)) for p in places for name in dir(p) if name[0] != "_"}
    long = sorted(text for text in found if text and len(text) > 400)
    texts += [LEFT_OUT.sub(" ", text) for text in long]
    authors += [author] * len(long)

# %%
# The model
# ---------
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from splinear import AdditiveSVC

words = CountVectorizer(min_df=5, stop_words="english", token_pattern=r"[a-z]{3,}")
table = words.fit_transform(texts)
print(f"{table.shape[0]} texts, {table.shape[1]} words, {table.nnz / table.shape[0]:.0f} per text")
for svm in (LinearSVC(max_iter=20_000, random_state=0), AdditiveSVC(random_state=0)):
    right = cross_val_score(svm, table, authors, cv=3)
    print(f"{type(svm).__name__}: {right.mean():.1%} right")

# %%
# Words, and how often
# --------------------
# Above: the words that say most for each author, by the mean of what they add over the author's
# texts. Below: the curve of the one of them that is used most often in a single text. It rises
# with the first occurrences, and then levels off.
from matplotlib import pyplot as plt

from splinear.inspection import contributions, shape_function
from splinear.plotting import FAINT, UP

model = AdditiveSVC(random_state=0).fit(table, authors)
names, most = words.get_feature_names_out(), table.max(axis=0).toarray().ravel()
figure, panels = plt.subplots(2, 4, figsize=(12, 5.6), height_ratios=[2, 1], layout="constrained")
for (above, below), author in zip(panels.T, model.classes_, strict=True):
    own = contributions(model, table[np.array(authors) == author], target=author, center=False)
    adds = np.asarray(own.mean(axis=0)).ravel()
    top = np.argsort(adds)[-9:]
    above.barh(names[top], adds[top], color=UP)
    above.set(title=author, xlabel="added to the margin, mean")
    often = max(top, key=lambda j: most[j])
    counts, f = shape_function(model, often, np.arange(most[often] + 1), target=author)
    below.plot(counts, f, "o-", color=UP, ms=4)
    below.set(xlabel=f"times that “{names[often]}” occurs", ylim=(min(0.0, f.min() * 1.1), None))
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
    above.grid(axis="x", color=FAINT, lw=0.5)
panels[1, 0].set_ylabel("added to the margin")
plt.show()
