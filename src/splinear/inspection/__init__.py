"""What a fitted model has learned, as arrays.

An additive model is f(x) = b + sum_k f_k(x), so it can be read term by term: f_k is what feature k
adds to the score of a row. In regression the score is the prediction, or its logarithm for losses
with a log link. With several classes, or several labels per row, every output has such
terms of its own; `target` chooses one. Nothing here draws anything; :mod:`splinear.plotting` does.

:func:`explain` collects everything about the scores of some rows in one object, which can draw a
picture per row. :func:`band` and :func:`standard_error` measure the uncertainty of curves and
scores, and :func:`summary` lists all terms in a table.

A term is *centered* when its mean over the training rows is subtracted. The means are added to the
base value instead, so sums do not change: `base_value(model) + contributions(model, X).sum(axis=1)`
is the score.

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from splinear import AdditiveClassifier
>>> from splinear.inspection import shape_function
>>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
>>> model = AdditiveClassifier(random_state=0).fit(X, y)
>>> x, f = shape_function(model, "worst radius", n_points=50)
>>> x.shape, f.shape
((50,), (50,))
"""

from splinear.inspection.bands import Band, SurfaceBand, band, standard_error
from splinear.inspection.curves import (
    base_value,
    contributions,
    knots,
    shape_function,
    shape_functions,
    surface,
)
from splinear.inspection.explaining import explain
from splinear.inspection.explanation import Explanation
from splinear.inspection.naming import feature_index, feature_names, term_names
from splinear.inspection.ranking import importances
from splinear.inspection.reasons import Reason, Reasons
from splinear.inspection.summary import Summary, concurvity, summary
from splinear.inspection.varying import varying_band, varying_curve

__all__ = [
    "Band",
    "Explanation",
    "Reason",
    "Reasons",
    "Summary",
    "SurfaceBand",
    "band",
    "base_value",
    "concurvity",
    "contributions",
    "explain",
    "feature_index",
    "feature_names",
    "importances",
    "knots",
    "shape_function",
    "shape_functions",
    "standard_error",
    "summary",
    "surface",
    "term_names",
    "varying_band",
    "varying_curve",
]
