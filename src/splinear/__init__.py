"""Additive models at the price of linear ones.

>>> from sklearn.datasets import load_breast_cancer
>>> from splinear import AdditiveClassifier
>>> X, y = load_breast_cancer(return_X_y=True)
>>> AdditiveClassifier(random_state=0).fit(X, y).predict(X[:3])
array([0, 0, 0])
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splinear import export, inspection, kernels, losses, penalties, report, terms
    from splinear.estimators.classifier import AdditiveClassifier
    from splinear.estimators.ordinal import AdditiveOrdinal
    from splinear.estimators.regressor import AdditiveRegressor
    from splinear.estimators.search import PathSearchCV
    from splinear.estimators.svc import AdditiveSVC
    from splinear.estimators.svr import AdditiveSVR
    from splinear.estimators.transformers import FourierEmbedding, HermiteEmbedding, SplineEmbedding
    from splinear.files import load, save

    __version__: str

__all__ = [
    "AdditiveClassifier",
    "AdditiveOrdinal",
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
    "losses",
    "penalties",
    "report",
    "save",
    "terms",
]

# Everything is imported when it is first used, so that the command line is there to answer Ctrl-C
# before NumPy and scikit-learn are imported, which takes a second.
_MODULES = (
    "dask", "datasets", "export", "features", "inspection", "kernels", "losses", "penalties",
    "plotting", "report", "terms",
)  # fmt: skip
_MODULE_OF = {
    "AdditiveClassifier": "estimators.classifier",
    "AdditiveOrdinal": "estimators.ordinal",
    "AdditiveRegressor": "estimators.regressor",
    "AdditiveSVC": "estimators.svc",
    "AdditiveSVR": "estimators.svr",
    "FourierEmbedding": "estimators.transformers",
    "HermiteEmbedding": "estimators.transformers",
    "PathSearchCV": "estimators.search",
    "SplineEmbedding": "estimators.transformers",
    "load": "files",
    "save": "files",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _MODULE_OF:
        found: object = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found
    if name == "__version__":
        return import_module("importlib.metadata").version("splinear")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_MODULE_OF, "__version__"})
