"""Draw curves.png, the picture in the README: ``python docs/images/make_curves.py``."""

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from splinear import AdditiveClassifier
from splinear.plotting import CurvesDisplay

data = load_breast_cancer(as_frame=True)
model = AdditiveClassifier(random_state=0).fit(data.data, data.target)
figure = Figure(figsize=(12, 7), dpi=100)
CurvesDisplay.from_estimator(model, data.data, class_names=data.target_names, figure=figure)
figure.savefig(Path(__file__).with_name("curves.png"))
