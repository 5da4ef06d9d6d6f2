"""Additive models at the price of linear ones.

>>> from sklearn.datasets import load_breast_cancer
>>> from splinear import AdditiveClassifier
>>> X, y = load_breast_cancer(return_X_y=True)
>>> AdditiveClassifier(random_state=0).fit(X, y).predict(X[:3])
array([0, 0, 0])
"""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from splinear import export, inspection, kernels, penalties, report, terms
from splinear.classifier import AdditiveClassifier
from splinear.files import load, save
from splinear.regressor import AdditiveRegressor
from splinear.search import PathSearchCV
from splinear.svc import AdditiveSVC
from splinear.svr import AdditiveSVR
from splinear.transformers import FourierEmbedding, HermiteEmbedding, SplineEmbedding

__version__ = version("splinear")

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "AdditiveSVC",
    "AdditiveSVR",
    "FourierEmbedding",
    "HermiteEmbedding",
    "PathSearchCV",
    "SplineEmbedding",
    "__version__",
    "export",
    "inspection",
    "kernels",
    "load",
    "penalties",
    "report",
    "save",
    "terms",
]

_ON_FIRST_USE = ("dask", "datasets", "features", "plotting")  # what not every model needs


def __getattr__(name: str) -> ModuleType:
    if name in _ON_FIRST_USE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_FIRST_USE})
