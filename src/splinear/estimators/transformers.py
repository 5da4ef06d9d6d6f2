"""The explicit embeddings as scikit-learn transformers: the paper's "batch" way.

A linear SVM on these features is the same model as AdditiveSVC; the transformers are for other
linear models, and for study.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from numbers import Integral
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._compat import Interval, StrOptions, check_feature_names_in
from splinear._types import AnyArray, Constraints, Input, KnotRules
from splinear.estimators.state.stateful import Stateful
from splinear.estimators.state.transforming import TRANSFORMING
from splinear.penalties import MAX_ORDER
from splinear.tables.checks import column_ranges, feature_label, read_numeric
from splinear.tables.table import Table
from splinear.terms.axes import Axes, standardized
from splinear.terms.basis import (
    MAX_FREQUENCIES,
    MAX_HERMITE,
    Basis,
    BSplineBasis,
    FourierBasis,
    HermiteBasis,
)
from splinear.terms.embedding import Embedding
from splinear.terms.knot_plan import MAX_BINS, RULES, KnotPlan
from splinear.terms.through_zero import axes_from_zero

__all__ = [
    "EMBEDDING_CONSTRAINTS",
    "FourierEmbedding",
    "HermiteEmbedding",
    "SplineEmbedding",
    "fit_embedding",
]

EMBEDDING_CONSTRAINTS: Constraints = {
    "degree": [Interval(Integral, 0, MAX_FREQUENCIES, closed="both")],
    "n_bins": [Interval(Integral, 1, MAX_BINS, closed="both"), "array-like"],
    "penalty_order": [Interval(Integral, 0, MAX_ORDER, closed="both")],
    "knots": [StrOptions(set(RULES)), "array-like", dict],
    "through_zero": [StrOptions({"auto"}), "boolean"],
    "scale": [StrOptions({"unit", "native", "standard"})],
}


class _EmbeddingTransformer(TransformerMixin, Stateful):
    """fit learns the ranges of the columns, transform returns phi^d of the rows."""

    _CODEC = TRANSFORMING
    _family: type[Basis]
    embedding_: Embedding

    def fit(self, X: Input, y: object = None) -> _EmbeddingTransformer:
        """Learn the range of every column.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        self._validate_params()
        work = copy(self)  # a fit that fails leaves the last one as it was
        table = read_numeric(work, X, reset=True)
        work.embedding_ = fit_embedding(work, table)
        work._n_features_out = table.shape[1] * work.embedding_.basis.size
        self.__dict__ = work.__dict__
        return self

    def transform(self, X: Input) -> AnyArray | sparse.csr_array:
        """Embed the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        phi : ndarray or CSR array of shape (n_samples, n_features * n_basis)
            float32 for float32 X, else float64. Sparse for a sparse X, and for B-splines under D_0
            unless sparse_output is False. All features have as many columns as the feature with the
            most pieces; unused columns are 0. Where curves go through zero, so are the columns of
            functions that are not zero at zero.
        """
        check_is_fitted(self)
        table = read_numeric(self, X, reset=False)
        column_ranges(self, table)
        rows, dtype = table.whole(), table.dtype
        if isinstance(rows, sparse.csr_array):
            if not self.embedding_.through_zero:
                raise ValueError(
                    "X is sparse, but fit was given dense rows, and the embedding of 0 is not 0. "
                    "Use X.toarray(), or fit with through_zero=True."
                )
            return self.embedding_.transform_nonzeros(rows, dtype)
        if self.embedding_.is_sparse and getattr(self, "sparse_output", False):
            return self.embedding_.transform_sparse(rows, dtype)
        return self.embedding_.transform(rows, dtype)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> AnyArray:
        """Name the columns of the result after the columns of X and the functions of the basis."""
        check_is_fitted(self)
        features = check_feature_names_in(self, input_features)
        return np.asarray(self.embedding_.names(features), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags


class SplineEmbedding(_EmbeddingTransformer):
    """P-spline embedding phi^d(x) = s D_d^{-T} phi(x) (paper, section 3).

    Parameters
    ----------
    degree, penalty_order, scale, through_zero
        As in :class:`splinear.terms.Spline`.
    n_bins : int or sequence of int, default=10
        The number of pieces, for all features or one number per feature.
    knots : str, sequence or dict, default="auto"
        As in Spline with a given number of pieces. A string applies to all features; a list has one
        entry per feature; a dict maps columns to entries, and all other columns get "auto".
    sparse_output : bool, default=True
        Whether to return a CSR array where the embedding is sparse, which is the case for
        penalty_order=0. Other orders always return a dense array.

    Attributes
    ----------
    embedding_ : Embedding
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import SplineEmbedding
    >>> X = np.array([[0.0], [0.25], [1.0]])
    >>> bumps = SplineEmbedding(n_bins=2, penalty_order=0, scale="native")
    >>> bumps.fit_transform(X).toarray().round(2)
    array([[0.71, 0.  , 0.  ],
           [0.35, 0.35, 0.  ],
           [0.  , 0.  , 0.71]])

    Under D_1, a linear model on the embedding is an additive model whose curves prefer to
    be flat:

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> wave = make_pipeline(SplineEmbedding(n_bins=20), Ridge(alpha=0.001)).fit(x, y)
    >>> print(f"{wave.score(x, y):.2f}")
    1.00
    """

    _family = BSplineBasis
    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **EMBEDDING_CONSTRAINTS,
        "sparse_output": ["boolean"],
    }

    def __init__(
        self,
        *,
        degree: int = 1,
        n_bins: int | Sequence[int] = 10,
        penalty_order: int = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
        sparse_output: bool = True,
    ) -> None:
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero
        self.sparse_output = sparse_output


class FourierEmbedding(_EmbeddingTransformer):
    """Fourier embedding cos(n pi x) / n^d, sin(n pi x) / n^d, n = 1..degree (paper, table 1).

    Parameters
    ----------
    degree : int, default=2
        The number of frequencies, at most 250.
    penalty_order, scale
        As in :class:`splinear.terms.Fourier`.
    n_bins, knots, through_zero
        As in SplineEmbedding; where a feature has knots, the axis is warped by n_bins pieces.

    Attributes
    ----------
    embedding_ : Embedding
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import FourierEmbedding
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> embedding = FourierEmbedding(degree=1).fit(X)
    >>> print(embedding.transform(X).round(2) + 0.0)
    [[-1.  0.]
     [ 1.  0.]
     [-1.  0.]]
    """

    _family = FourierBasis
    _parameter_constraints: Constraints = EMBEDDING_CONSTRAINTS

    def __init__(
        self,
        *,
        degree: int = 2,
        n_bins: int | Sequence[int] = 10,
        penalty_order: int = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
    ) -> None:
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero


class HermiteEmbedding(_EmbeddingTransformer):
    """Hermite embedding H_n(x) with the weights of the paper's table 1, n = 1..degree.

    Parameters
    ----------
    degree, penalty_order, scale
        As in :class:`splinear.terms.Hermite`.
    n_bins, knots, through_zero
        As in SplineEmbedding; where a feature has knots, the axis is warped by n_bins pieces.

    Attributes
    ----------
    embedding_ : Embedding
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import HermiteEmbedding
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> HermiteEmbedding(degree=2).fit_transform(X).shape
    (3, 2)
    """

    _family = HermiteBasis
    _parameter_constraints: Constraints = EMBEDDING_CONSTRAINTS

    def __init__(
        self,
        *,
        degree: int = 4,
        n_bins: int | Sequence[int] = 10,
        penalty_order: int = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native", "standard"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
    ) -> None:
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero


def fit_embedding(transformer: BaseEstimator, X: Table) -> Embedding:
    """Return the embedding of X for the parameters of a transformer."""
    label = partial(feature_label, transformer)
    names = getattr(transformer, "feature_names_in_", None)
    plan = KnotPlan.read(transformer.knots, transformer.n_bins, X.shape[1], names, label)
    through_zero = _goes_through_zero(transformer.through_zero, X)
    basis = _make_basis(transformer, plan.most_bins, through_zero=through_zero)
    lo, hi, _ = column_ranges(transformer, X)
    order, native = int(transformer.penalty_order), transformer.scale == "native"
    if through_zero:
        if transformer.scale == "standard":
            raise ValueError(
                "scale='standard' moves zero, but sparse X needs curves that are zero at zero; use "
                "scale='unit' or 'native'."
            )
        axes = axes_from_zero(X, lo, hi, basis, plan, label)
        return Embedding.of(axes, basis, order, native=native, through_zero=True)
    knots = plan.place(X, lo, hi)
    axes = Axes.spanning(*plan.ranges(lo, hi), basis, knots, plan.n_bins)
    if transformer.scale == "standard":
        axes = standardized(X, np.arange(X.shape[1]), None, axes)
    return Embedding.of(axes, basis, order, native=native)


def _goes_through_zero(wanted: bool | str, X: Table) -> bool:
    """Return whether curves are zero at zero: as `wanted`, or for "auto" if X is sparse."""
    if wanted == "auto":
        return X.is_sparse
    if X.is_sparse and not wanted:
        raise ValueError(
            "through_zero=False needs a dense X, as zeros then count; got a sparse one. Use "
            "through_zero='auto' or True, or X.toarray()."
        )
    return bool(wanted)


def _make_basis(transformer: BaseEstimator, n_bins: int, *, through_zero: bool) -> Basis:
    """Return the basis that the parameters ask for; raise if they do not fit together."""
    kind, degree, order = type(transformer).__name__, transformer.degree, transformer.penalty_order
    family = transformer._family
    if transformer.scale == "standard" and family is not HermiteBasis:
        raise ValueError(
            f"scale='standard' is for HermiteEmbedding only; {kind} takes 'unit' or 'native'."
        )
    if family is BSplineBasis:
        if degree > 3:
            raise ValueError(f"degree must be 0, 1, 2 or 3 for {kind}; got {degree}.")
        bin_for_zero = through_zero and degree == 0
        return BSplineBasis(int(degree), int(n_bins) + bin_for_zero)
    if degree < 1:
        raise ValueError(f"degree must be at least 1 for {kind}; got {degree}.")
    if order not in (1, 2):
        raise ValueError(
            f"penalty_order must be 1 or 2 for {kind}; got {order}. Other orders are for "
            "SplineEmbedding."
        )
    if family is FourierBasis:
        return FourierBasis(int(degree))
    if degree > MAX_HERMITE:
        raise ValueError(f"degree must be at most {MAX_HERMITE} for {kind}; got {degree}.")
    return HermiteBasis(int(degree))
