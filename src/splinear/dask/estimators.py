"""DaskAdditiveClassifier, DaskAdditiveOrdinal and DaskAdditiveRegressor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from distributed import Client

from splinear._types import Input, Terms
from splinear.dask.estimator import DaskEstimator
from splinear.estimators.classifier import AdditiveClassifier
from splinear.estimators.ordinal import AdditiveOrdinal
from splinear.estimators.regressor import AdditiveRegressor, Name
from splinear.losses import Loss
from splinear.objective.training_set import ClassWeight
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["DaskAdditiveClassifier", "DaskAdditiveOrdinal", "DaskAdditiveRegressor"]


class DaskAdditiveClassifier(DaskEstimator, AdditiveClassifier):
    """:class:`~splinear.AdditiveClassifier` for the rows of a cluster.

    The model is that of a local fit, within tol, whatever the number of workers and partitions;
    `dual_gap_` is proven over all rows. Knots and smoothness come from a sample of 131,072 rows (in
    a local fit, of 50,000). Pairs of features are found by what the curves leave unexplained in all
    rows.

    Parameters
    ----------
    curve, terms, interactions, C, class_weight, categorical_features, missing, tol, max_iter, \
time_limit, callback, warm_start, max_memory, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveClassifier`; max_memory must be None.
    client : distributed.Client, default=None
        None means the current client of Dask, usually the one that was created last.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use. All others are those of AdditiveClassifier.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splinear.dask import DaskAdditiveClassifier
    >>> X = da.random.default_rng(0).random((3000, 2), chunks=(1000, 2))
    >>> y = abs(X[:, 0] - 0.5) < 0.2
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DaskAdditiveClassifier(client=client).fit(X, y)
    ...     share = float((model.predict(X) == y).mean().compute())
    >>> share > 0.95
    True
    """

    _LOCAL = AdditiveClassifier

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        C: float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Input = None,
        verbose: int = 0,
        client: Client | None = None,
    ) -> None:
        super().__init__(
            curve,
            terms=terms,
            interactions=interactions,
            C=C,
            class_weight=class_weight,
            categorical_features=categorical_features,
            missing=missing,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            callback=callback,
            warm_start=warm_start,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client

    def fit(  # type: ignore[override]
        self: DaskAdditiveClassifier,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        offset: Input = None,
    ) -> DaskAdditiveClassifier:
        """Learn the terms from the rows of all workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Numbers, text, categories and missing values, in partitions of rows. It is read four
            times; X.persist() keeps it in the workers' memory, if it fits.
        y : Dask collection of shape (n_samples,), partitioned like X
            The classes.
        sample_weight : Dask collection of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss. If C is None, a constant factor
            of all weights changes nothing. (Rows on workers are not searched for copies.)
        offset : Dask collection of shape (n_samples,) or (n_samples, n_classes), default=None
            A known part of the score of each row, which is added to f(x), as in AdditiveClassifier.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, offset=offset)

    def predict(self, X: Input, *, offset: Input = None) -> Input:
        """Predict the class of every row of X.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the scores, as in fit; None means 0.

        Returns
        -------
        labels : dask.array.Array of shape (n_samples,), or an ndarray
        """
        return self._predicted("predict", X, offset)

    def predict_proba(self, X: Input, *, offset: Input = None) -> Input:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the scores, as in fit; None means 0.

        Returns
        -------
        probabilities : dask.array.Array of shape (n_samples, n_classes), or an ndarray
        """
        return self._predicted("predict_proba", X, offset)

    def decision_function(self, X: Input, *, offset: Input = None) -> Input:
        """Compute the scores: for two classes, positive for classes_[1]; else one per class.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the scores, as in fit; None means 0.

        Returns
        -------
        scores : dask.array.Array of shape (n_samples,) or (n_samples, n_classes), or an ndarray
        """
        return self._predicted("decision_function", X, offset)


class DaskAdditiveOrdinal(DaskEstimator, AdditiveOrdinal):
    """:class:`~splinear.AdditiveOrdinal` for the rows of a cluster.

    See :class:`DaskAdditiveClassifier`. The cut points are solved for over all rows, which takes
    one or two passes more for each of the others.

    Parameters
    ----------
    curve, terms, interactions, levels, C, class_weight, categorical_features, missing, tol, \
max_iter, time_limit, callback, warm_start, max_memory, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveOrdinal`; max_memory must be None.
    client : distributed.Client, default=None
        None means the current client of Dask, usually the one that was created last.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use. All others are those of AdditiveOrdinal.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splinear.dask import DaskAdditiveOrdinal
    >>> X = da.random.default_rng(0).random((3000, 2), chunks=(1000, 2))
    >>> y = (3 * X[:, 0] + X[:, 1]).astype(int)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DaskAdditiveOrdinal(client=client).fit(X, y)
    ...     share = float((model.predict(X) == y).mean().compute())
    >>> share > 0.95
    True
    """

    _LOCAL = AdditiveOrdinal

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        levels: Input = None,
        C: float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Input = None,
        verbose: int = 0,
        client: Client | None = None,
    ) -> None:
        super().__init__(
            curve,
            terms=terms,
            interactions=interactions,
            levels=levels,
            C=C,
            class_weight=class_weight,
            categorical_features=categorical_features,
            missing=missing,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            callback=callback,
            warm_start=warm_start,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client

    def fit(  # type: ignore[override]
        self: DaskAdditiveOrdinal,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        offset: Input = None,
    ) -> DaskAdditiveOrdinal:
        """Learn the terms and the cut points from the rows of all workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            As in DaskAdditiveClassifier.fit.
        y : Dask collection of shape (n_samples,), partitioned like X
            The levels. An ordered categorical type has their order if Dask knows its categories.
        sample_weight : Dask collection of shape (n_samples,), default=None
            The weight of each row, which multiplies its loss.
        offset : Dask collection of shape (n_samples,), default=None
            A known part of the position of each row, which is added to f(x).

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, offset=offset)

    def predict(self, X: Input, *, offset: Input = None) -> Input:
        """Predict the most probable level of every row of X.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        levels : dask.array.Array of shape (n_samples,), or an ndarray
        """
        return self._predicted("predict", X, offset)

    def predict_proba(self, X: Input, *, offset: Input = None) -> Input:
        """Compute the probabilities of the levels.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        probabilities : dask.array.Array of shape (n_samples, n_classes), or an ndarray
        """
        return self._predicted("predict_proba", X, offset)

    def predict_latent(self, X: Input, *, offset: Input = None) -> Input:
        """Compute the positions on the scale of the cut points.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the positions, as in fit; None means 0.

        Returns
        -------
        positions : dask.array.Array of shape (n_samples,), or an ndarray
        """
        return self._predicted("predict_latent", X, offset)


class DaskAdditiveRegressor(DaskEstimator, AdditiveRegressor):
    """:class:`~splinear.AdditiveRegressor` for the rows of a cluster.

    See :class:`DaskAdditiveClassifier`.

    Parameters
    ----------
    curve, terms, interactions, loss, C, categorical_features, missing, tol, max_iter, \
time_limit, callback, warm_start, max_memory, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveRegressor`; max_memory must be None.
    client : distributed.Client, default=None
        None means the current client of Dask, usually the one that was created last.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use. All others are those of AdditiveRegressor.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from splinear.dask import DaskAdditiveRegressor
    >>> rng = da.random.default_rng(0)
    >>> X = rng.random((3000, 2), chunks=(1000, 2))
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=3000, chunks=1000)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DaskAdditiveRegressor(client=client).fit(X, y)
    ...     local = model.to_local()
    >>> bool(abs(local.predict([[0.25, 0.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _LOCAL = AdditiveRegressor

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        interactions: int | str | Sequence[Sequence[str | int]] = 0,
        loss: Name | Loss = "squared_error",
        C: float | None = None,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Input = None,
        verbose: int = 0,
        client: Client | None = None,
    ) -> None:
        super().__init__(
            curve,
            terms=terms,
            interactions=interactions,
            loss=loss,
            C=C,
            categorical_features=categorical_features,
            missing=missing,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            callback=callback,
            warm_start=warm_start,
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client

    def fit(  # type: ignore[override]
        self: DaskAdditiveRegressor,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        offset: Input = None,
    ) -> DaskAdditiveRegressor:
        """Learn the terms from the rows of all workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Numbers, text, categories and missing values, in partitions of rows. It is read four
            times; X.persist() keeps it in the workers' memory, if it fits.
        y : Dask collection of shape (n_samples,), partitioned like X
            The targets.
        sample_weight : Dask collection of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss. If C is None, a constant factor
            of all weights changes nothing. (Rows on workers are not searched for copies.)
        offset : Dask collection of shape (n_samples,), default=None
            A known part of the score of each row, which is added to f(x), as in AdditiveRegressor.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, offset=offset)

    def predict(self, X: Input, *, offset: Input = None) -> Input:
        """Compute f(x), or exp(f(x)) where f is the logarithm of the mean.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        offset : Dask collection, or array, default=None
            A known part of the scores, as in fit; None means 0.

        Returns
        -------
        values : dask.array.Array of shape (n_samples,), or an ndarray
        """
        return self._predicted("predict", X, offset)
