"""Additive classifiers at the price of linear ones.

>>> from sklearn.datasets import load_breast_cancer
>>> from splinear import AdditiveClassifier
>>> X, y = load_breast_cancer(return_X_y=True)
>>> AdditiveClassifier(random_state=0).fit(X, y).predict(X[:3])
array([0, 0, 0])
"""

from importlib.metadata import version

from splinear import inspection, kernels, penalties
from splinear.classifier import AdditiveClassifier
from splinear.regressor import AdditiveRegressor
from splinear.search import AdditiveClassifierCV, AdditiveRegressorCV
from splinear.transformers import FourierEmbedding, HermiteEmbedding, SplineEmbedding

__version__ = version("splinear")

__all__ = [
    "AdditiveClassifier",
    "AdditiveClassifierCV",
    "AdditiveRegressor",
    "AdditiveRegressorCV",
    "FourierEmbedding",
    "HermiteEmbedding",
    "SplineEmbedding",
    "__version__",
    "inspection",
    "kernels",
    "penalties",
]
