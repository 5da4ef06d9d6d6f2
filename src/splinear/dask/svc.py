"""DaskAdditiveSVC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, cast

from distributed import Client

from splinear._types import Input, Terms
from splinear.dask.estimator import DaskEstimator
from splinear.dask.margins import ClusterTrainer
from splinear.dask.steps import Pose
from splinear.estimators.dual import DualTrainer
from splinear.estimators.svc import AdditiveSVC
from splinear.estimators.trainer import Fitter, Trainer
from splinear.objective.loss_sums import LossSum
from splinear.objective.training_set import ClassWeight, Response, TrainingSet, WeightedRows
from splinear.objective.watch import Progress
from splinear.terms.base import Term

__all__ = ["DaskAdditiveSVC"]


class DaskAdditiveSVC(DaskEstimator, AdditiveSVC):
    """:class:`~splinear.AdditiveSVC` for the rows of a cluster.

    It minimizes the same objective as AdditiveSVC, and the model is the same within tol, whatever
    the number of workers and partitions; `dual_gap_` is proven over all rows. Instead of dual
    coordinate descent it uses Newton's method on a smoothed hinge, in passes over all rows and all
    classes at once, until the duality gap of the hinge itself is small enough. Knots come from a
    sample of 131,072 rows. The method suits tables with many rows. If the sample contains all rows
    and they are few per coefficient, as for images, the problem is solved in the client, as
    AdditiveSVC does; larger tables of this kind take many passes. With C=None, the sample chooses
    C. There is no partial_fit.

    Parameters
    ----------
    curve, terms, loss, C, class_weight, fit_intercept, intercept_scaling, categorical_features, \
missing, tol, max_iter, time_limit, callback, warm_start, max_memory, n_jobs, random_state, verbose
        As in :class:`~splinear.AdditiveSVC`; max_memory must be None. max_iter counts steps, and
        warm_start starts from the last model.
    client : distributed.Client, default=None
        None means the current client of Dask, usually the one that was created last.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use. All others are those of AdditiveSVC.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splinear.dask import DaskAdditiveSVC
    >>> X = da.random.default_rng(0).random((3000, 2), chunks=(1000, 2))
    >>> y = abs(X[:, 0] - 0.5) < 0.2
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     model = DaskAdditiveSVC(client=client).fit(X, y)
    ...     share = float((model.predict(X) == y).mean().compute())
    >>> share > 0.95
    True
    """

    _LOCAL = AdditiveSVC

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: Terms | None = None,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        C: float | None = None,
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        categorical_features: Input = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-2,
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
            loss=loss,
            C=C,
            class_weight=class_weight,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
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

    @property
    def partial_fit(self) -> None:  # type: ignore[override]
        """Not available, because all rows of a cluster are fitted together."""
        raise AttributeError("DaskAdditiveSVC has no partial_fit; AdditiveSVC has.")

    def fit(  # type: ignore[override]
        self: DaskAdditiveSVC,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        offset: Input = None,
    ) -> DaskAdditiveSVC:
        """Learn the terms from the rows of all workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Numbers, text, categories and missing values, in partitions of rows. It is read four
            times; X.persist() keeps it in the workers' memory, if it fits.
        y : Dask collection of shape (n_samples,), partitioned like X
            The classes.
        sample_weight : Dask collection of shape (n_samples,), default=None
            The weight c_i of each row. A row of weight 2 counts as two rows, one of 0 as none.
        offset : Dask collection of shape (n_samples,) or (n_samples, n_classes), default=None
            A known part of the score of each row, which is added to f(x), as in AdditiveSVC.

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

    def decision_function(self, X: Input, *, offset: Input = None) -> Input:
        """Compute f(x), one number per class if there are more than two.

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

    def _settled(self, trainer: Trainer, here: Callable[[], TrainingSet]) -> Trainer:
        """Return the trainer with a C, by default the one that the sample chooses."""
        assert isinstance(trainer, DualTrainer)
        if trainer.C is None:
            sample = here()
            trainer = trainer.chosen(sample, self._stopping(sample.rows, None))
        self.C_ = trainer.C
        return trainer

    def _fitter(self, trainer: Trainer) -> Fitter:
        """Return the trainer for rows on workers."""
        assert isinstance(trainer, DualTrainer)
        return ClusterTrainer(trainer)

    def _posed_by(self, trainer: Trainer) -> Pose:
        """Return the function that makes a trainer's sums of losses from rows."""
        assert isinstance(trainer, DualTrainer)
        return partial(_margins, trainer)


def _margins(trainer: DualTrainer, response: Response, rows: WeightedRows) -> Sequence[LossSum]:
    return [cast(LossSum, trainer.margins(response, rows))]
