"""Fits on a cluster of Dask: the estimators of one machine, for rows that are on many.

Needs the extra `dask`: pip install splinear[dask].
"""

try:
    import distributed  # noqa: F401 (to say what is missing)
except ImportError as error:  # pragma: no cover (tests have it)
    raise ImportError(
        "splinear.dask needs dask and distributed: pip install splinear[dask]"
    ) from error

from splinear.dask.estimators import DaskAdditiveClassifier, DaskAdditiveRegressor
from splinear.dask.svc import DaskAdditiveSVC

__all__ = ["DaskAdditiveClassifier", "DaskAdditiveRegressor", "DaskAdditiveSVC"]
