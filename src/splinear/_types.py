"""Names for the types of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
AnyArray: TypeAlias = NDArray[Any]
Input: TypeAlias = Any  # X as a user gives it: array-like, a data frame, sparse, or names of files
Constraints: TypeAlias = dict[str, list[object]]  # of parameters, in scikit-learn's form
Table: TypeAlias = Any  # (n, n_features): an array, a sparse matrix, or rows in files (a Source)

# How one feature's axis is divided: by a rule, or at these knots; and that of all features.
KnotRule: TypeAlias = Literal["auto", "uniform", "quantile"] | Sequence[float] | Floats
KnotRules: TypeAlias = (
    Literal["auto", "uniform", "quantile"]
    | Sequence[KnotRule]
    | Mapping[str, KnotRule]
    | Mapping[int, KnotRule]
)
