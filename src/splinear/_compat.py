"""Names that scikit-learn does not promise to keep: imported here, and nowhere else."""

from functools import cache

from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _get_feature_names as get_feature_names

__all__ = [
    "Interval",
    "InvalidParameterError",
    "NamedOnce",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "get_feature_names",
    "is_pandas_na",
    "safe_indexing",
]


class NamedOnce(BaseEstimator):
    """Base of estimators whose parameters' names are looked up once per class, not at every fit."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names
