"""Draw explanation.png: why one row of the raw Adult table has its score.

``python docs/images/make_explanation.py`` needs that table, in the folder of SPLINEAR_DATA.
"""

from pathlib import Path

from matplotlib.figure import Figure

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw
from splinear.plotting import ContributionsDisplay

adult = load_adult_raw()
X, y = adult.data[~adult.is_test], adult.target[~adult.is_test]
model = AdditiveClassifier(random_state=0).fit(X, y)
figure = Figure(figsize=(9, 7), dpi=100)
ContributionsDisplay.from_estimator(
    model, adult.data[adult.is_test].head(20), row=7, class_names=["<=50K", ">50K"], figure=figure
)
figure.savefig(Path(__file__).with_name("explanation.png"))
