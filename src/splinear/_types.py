"""Names for the types of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
AnyArray: TypeAlias = NDArray[Any]
Input: TypeAlias = Any  # what a user gives as X, y or weights; checked where it comes in
Terms: TypeAlias = Mapping[Any, object]  # from a feature's name or position to a term or "drop"
Constraints: TypeAlias = dict[str, list[object]]  # of parameters, in scikit-learn's form

# How one feature's axis is divided: by a rule, or at these knots; and that of all features.
KnotRule: TypeAlias = Literal["auto", "uniform", "quantile"] | Sequence[float] | Floats
KnotRules: TypeAlias = (
    Literal["auto", "uniform", "quantile"]
    | Sequence[KnotRule]
    | Mapping[str, KnotRule]
    | Mapping[int, KnotRule]
)
