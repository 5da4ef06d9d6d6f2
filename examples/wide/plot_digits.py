"""
Digits, by histograms of gradients
==================================

Images are wide tables: hundreds of features, each a count of edges of one direction in one place.
Such histograms are what the paper's classifier was made for. It costs about as much as a linear
one, and is more accurate.

Read more: :doc:`/guide/sparse`.
"""

# %%
# From images to features
# -----------------------
# ``GradientPyramid`` divides an image into cells and sums the gradients of their pixels, by
# direction. The 1,797 digits that come with scikit-learn have 8 x 8 pixels.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from splinear import AdditiveSVC
from splinear.features import GradientPyramid

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.images, digits.target, test_size=0.5, random_state=0
)
pyramid = GradientPyramid(n_orientations=8, cells=[(2, 2), (4, 2)], smoothing=0)
models = {
    "linear": make_pipeline(pyramid, LinearSVC(random_state=0)),
    "additive": make_pipeline(pyramid, AdditiveSVC(random_state=0)),
}
for name, model in models.items():
    wrong = (model.fit(X_train, y_train).predict(X_test) != y_test).sum()
    print(f"{name}: {wrong} of {len(y_test)} digits wrong")

# %%
# Why is this a 3, and not an 8?
# ------------------------------
# A score is a sum over features, so the difference of two classes' scores is one, too. Each part
# of it belongs to a cell: we spread it over the pixels of that cell.
import numpy as np

from splinear.inspection import contributions

model = models["additive"]


def differences(images, digit, other):
    """What each pixel's surroundings say for a digit and against another one."""
    parts = contributions(model[-1], model[0].transform(images))  # (rows, features, classes)
    cells = np.split(parts[:, :, digit] - parts[:, :, other], [4 * 4 * 8], axis=1)
    picture = np.zeros((len(images), 8, 8))
    for part, size, n in zip(cells, (2, 4), (4, 3), strict=True):
        for row, column in np.ndindex(n, n):
            adds = part.reshape(-1, n, n, 8)[:, row, column].sum(axis=1) / size**2
            rows, columns = slice(2 * row, 2 * row + size), slice(2 * column, 2 * column + size)
            picture[:, rows, columns] += adds[:, None, None]
    return picture


# %%
# Blue places speak for the digit that it is, orange ones for the other. A 3 is open on the left
# where an 8 is closed; a 0 is closed on the upper right where a 6 is open. What is *not* there
# counts, too: on the left of the 3 there is nothing but paper.
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

from splinear.plotting import DOWN, INK, UP

colors = LinearSegmentedColormap.from_list("says", [DOWN, "white", UP])
questions = [(3, 8), (9, 4), (7, 1), (5, 6), (0, 6)]
figure, panels = plt.subplots(2, 5, figsize=(11, 4.8), layout="constrained")
for (above, below), (digit, other) in zip(panels.T, questions, strict=True):
    image = X_test[y_test == digit][:1]
    says = differences(image, digit, other)[0]
    limit = np.abs(says).max()
    above.imshow(image[0], cmap="Greys")
    below.imshow(says, cmap=colors, vmin=-limit, vmax=limit, interpolation="bicubic")
    below.contour(image[0], [8], colors=INK, linewidths=2)
    above.set_title(f"why {digit}, and not {other}?", fontsize=12)
    above.set_axis_off()
    below.set_axis_off()
plt.show()
