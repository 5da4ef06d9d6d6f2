"""The explicit embeddings as scikit-learn transformers: the paper's "batch" way.

A linear SVM on these features is the same model as AdditiveSVC; the transformers are for other
linear models, and for study.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._compat import check_feature_names_in
from splinear._types import AnyArray, Constraints, Input, KnotRules
from splinear.curves.basis import Basis, BSplineBasis, FourierBasis, HermiteBasis
from splinear.curves.embedding import Embedding
from splinear.curves.fitting import EMBEDDING_CONSTRAINTS, fit_embedding
from splinear.tables.checks import column_ranges, read_numeric
from splinear.training.state.stateful import Stateful
from splinear.training.state.transforming import TRANSFORMING

__all__ = ["FourierEmbedding", "HermiteEmbedding", "SplineEmbedding"]


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
