"""Draw curves.png, the picture in the README: six curves of the raw Adult table.

``python docs/images/make_curves.py`` needs that table, in the folder of SPLINEAR_DATA.
"""

from pathlib import Path

from matplotlib.figure import Figure

from splinear import AdditiveClassifier
from splinear.datasets import load_adult_raw
from splinear.plotting import CurvesDisplay

SHOWN = ["age", "education-num", "hours-per-week", "marital-status", "occupation", "workclass"]

adult = load_adult_raw()
X, y = adult.data[~adult.is_test], adult.target[~adult.is_test]
model = AdditiveClassifier(random_state=0).fit(X, y)
figure = Figure(figsize=(12, 7), dpi=100)
CurvesDisplay.from_estimator(
    model, X, features=SHOWN, class_names=["at most $50,000", "more than $50,000"], figure=figure
)
figure.savefig(Path(__file__).with_name("curves.png"))
