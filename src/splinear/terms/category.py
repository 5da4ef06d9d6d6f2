"""Category: one coefficient per level."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from splinear._compat import StrOptions
from splinear._types import Constraints
from splinear.terms.axes import Axes
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.basis import BSplineBasis
from splinear.terms.embedding import Embedding
from splinear.terms.group import TermGroup, size_class, split_by

__all__ = ["Category"]


class Category(Term):
    """An effect per level of a categorical feature: a curve of degree 0 over the levels.

    The penalty is ``1/2 |coef|^2 / s^2``, a ridge; with a smoothness chosen from the data, this is
    a random effect. For ordered levels it is ``1/2 |D_1 coef|^2 / s^2``, where D_1 takes the
    differences of neighboring levels.

    Parameters
    ----------
    unseen : {"ignore", "error"}, default="ignore"
        How a level that did not occur in fit is treated in prediction. "ignore": it adds the mean
        effect over the training rows. "error": it raises an error.
    ordered : bool, default=False
        Whether neighboring levels should have similar effects. The levels of an ordered pandas or
        polars category keep its order; others are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from splinear import AdditiveRegressor
    >>> from splinear.terms import Category
    >>> X = pd.DataFrame({"size": ["small", "large", "small", "large"] * 25})
    >>> y = np.where(X["size"] == "large", 2.0, 1.0)
    >>> model = AdditiveRegressor(terms={"size": Category(unseen="error")}).fit(X, y)
    >>> model.terms_[0].levels
    ('large', 'small')
    >>> model.predict(pd.DataFrame({"size": ["small", "large"]})).round(1)
    array([1., 2.])
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "unseen": [StrOptions({"ignore", "error"})],
        "ordered": ["boolean"],
    }

    def __init__(
        self, unseen: Literal["ignore", "error"] = "ignore", ordered: bool = False
    ) -> None:
        self.unseen = unseen
        self.ordered = ordered

    def place(
        self, features: NDArray[np.intp], data: ColumnData, advice: Advice
    ) -> list[TermGroup]:
        """Return the effects of some features, as groups with similar numbers of levels."""
        n_levels = np.array([len(data.levels[int(j)]) for j in features])
        keys = np.stack([size_class(n_levels), data.has_gap[features]], axis=1)
        without_level = advice.without_level and self.ordered
        return [self._group(features[at], data, without_level) for at in split_by(keys)]

    def _group(
        self, features: NDArray[np.intp], data: ColumnData, without_level: bool
    ) -> TermGroup:
        levels = tuple(data.levels[int(j)] for j in features)
        n_levels = np.array([max(1, len(own)) for own in levels])
        basis = BSplineBasis(0, int(n_levels.max()))
        # A feature with a single level is constant.
        hi = np.where(n_levels > 1, n_levels, 0).astype(np.float64)
        axes = Axes.spanning(np.zeros(len(features)), hi, basis, n_bins=n_levels)
        embedding = Embedding.of(axes, basis, int(self.ordered), native=False)
        # Every level has variance 1, as a column of 0 and 1 would have.
        embedding = embedding.with_variance(np.where(embedding.variance > 0, 1.0, 0.0))
        if without_level:
            embedding = embedding.without_level()
        has_gap = data.has_gap[features]
        there = np.array([len(own) > 0 for own in levels])
        return TermGroup.of(
            "Category",
            features,
            embedding,
            bool(has_gap.any()),
            np.where(has_gap & there, 1.0, 0.0),
            levels=levels,
        )
