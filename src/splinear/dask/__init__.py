"""Estimators for rows that are distributed over a Dask cluster.

They need the extra `dask`: pip install splinear[dask].
"""

try:
    import distributed  # noqa: F401 (checks that it is installed)
except ImportError as error:  # pragma: no cover (tests have it)
    raise ImportError(
        "splinear.dask needs dask and distributed: pip install splinear[dask]"
    ) from error

from splinear.dask.estimators import (
    DaskAdditiveClassifier,
    DaskAdditiveOrdinal,
    DaskAdditiveRegressor,
)
from splinear.dask.svc import DaskAdditiveSVC

__all__ = [
    "DaskAdditiveClassifier",
    "DaskAdditiveOrdinal",
    "DaskAdditiveRegressor",
    "DaskAdditiveSVC",
]
