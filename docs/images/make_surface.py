"""Draw surface.png, what place adds to the price of a house beyond latitude and longitude alone.

``python docs/images/make_surface.py`` needs California housing, in the folder of SPLINEAR_DATA.
"""

from pathlib import Path

from matplotlib.figure import Figure

from splinear import AdditiveRegressor
from splinear.datasets import load_california_housing
from splinear.plotting import PairDisplay

housing = load_california_housing()
model = AdditiveRegressor(interactions="auto", random_state=0).fit(housing.data, housing.target)
figure = Figure(figsize=(8, 6), dpi=100)
PairDisplay.from_estimator(
    model,
    housing.data,
    ("Longitude", "Latitude"),
    feature_names=housing.feature_names,
    target_name="the price",
    figure=figure,
)
figure.savefig(Path(__file__).with_name("surface.png"))
