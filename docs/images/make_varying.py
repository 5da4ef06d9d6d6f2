"""Draw varying.png: a slope that varies with age, and a curve of age for each of three sites."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from splinear import AdditiveRegressor
from splinear.plotting import VaryingDisplay
from splinear.terms import Linear, Varying

rng = np.random.default_rng(0)
n = 1500
trial = pd.DataFrame(
    {
        "age": rng.uniform(20, 80, n),
        "dose": rng.uniform(0, 10, n),
        "site": rng.choice(["Bonn", "Lyon", "Oslo"], n),
    }
)
slope = 0.4 + 0.3 * np.tanh((trial["age"] - 50) / 10)
by_site = np.where(trial["site"] == "Lyon", np.sin(trial["age"] / 8), 0.0)
response = slope * trial["dose"] + by_site + rng.normal(0, 0.5, n)

terms = {"dose": Linear(), ("age", "dose"): Varying(), ("age", "site"): Varying()}
model = AdditiveRegressor(terms=terms, random_state=0).fit(trial, response)
figure = Figure(figsize=(10, 3.6), dpi=100, layout="constrained")
for ax, features in zip(figure.subplots(1, 2), [("age", "dose"), ("age", "site")], strict=True):
    VaryingDisplay.of_term(model, trial, features, target_name="response", ax=ax)
figure.savefig(Path(__file__).with_name("varying.png"))
