"""Base class of the Dask estimators: the client, the fit, and lazy predictions."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

import dask.array as da
import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import delayed
from distributed import Client, default_client
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from splinear._types import AnyArray, Input
from splinear.dask.fitting import CLOSED, Distributed
from splinear.dask.partitions import Partitions, example_of, is_frame
from splinear.dask.passes import RemoteRows
from splinear.dask.responses import common_response
from splinear.dask.scoring import measured, score_of
from splinear.dask.steps import Pose
from splinear.estimators.base import AdditiveEstimator, draw_seed
from splinear.estimators.live import FitLine
from splinear.estimators.newton import NewtonTrainer
from splinear.estimators.reading import Given, term_plan
from splinear.estimators.trainer import Fitter, Recipe, Trained, Trainer
from splinear.objective.loss_sums import LossSum
from splinear.objective.running import one_blas_thread
from splinear.objective.training_set import Response, TrainingSet, WeightedRows
from splinear.objective.watch import Watch
from splinear.tables.checks import check_columns
from splinear.tables.opening import open_table

__all__ = ["DaskEstimator", "lazily"]

Self = TypeVar("Self", bound="DaskEstimator")


class DaskEstimator(AdditiveEstimator):
    """Base of the Dask estimators, whose rows are on the workers of a client."""

    client: Client | None
    _LOCAL: type[AdditiveEstimator]

    @property
    def client_(self) -> Client:
        """The client whose workers are used: `client`, or Dask's current one."""
        if self.client is not None:
            return self.client
        try:
            found: Client = default_client()
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__} needs a client of Dask, and there is none. Create one "
                "first, for example client = distributed.Client(), or pass client=..."
            ) from error
        return found

    def to_local(self) -> AdditiveEstimator:
        """Return the fitted estimator without Dask.

        Returns
        -------
        estimator : AdditiveClassifier, AdditiveOrdinal, AdditiveRegressor or AdditiveSVC
        """
        params = self.get_params(deep=False)
        params.pop("client")
        local = self._LOCAL(**params)
        local._adopt(self)
        local.__dict__.pop("client", None)
        return local

    def __sklearn_clone__(self: Self) -> Self:
        """Return a clone with the same client."""
        params = self.get_params(deep=False)
        client = params.pop("client")
        own = {name: clone(value, safe=False) for name, value in params.items()}
        return type(self)(**own, client=client)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the client, which belongs to its process."""
        bare = copy(self)
        bare.client = None
        return super(DaskEstimator, bare).__getstate__()

    def _check_params(self) -> None:
        super()._check_params()
        if self.client is not None and not isinstance(self.client, Client):
            raise TypeError(
                "client must be a distributed.Client, as Client(cluster) or Client(address) makes "
                f"one; got a {type(self.client).__name__}."
            )
        if self.client is not None and self.client.status in CLOSED:
            raise ValueError("client is closed. Make another one, as in Client(cluster).")
        if self.max_memory is not None:
            raise ValueError(
                f"{type(self).__name__} has no max_memory: Dask's workers have limits of their own."
            )

    def _fit(self: Self, given: Given, recipe: Recipe, *, more: bool = False) -> Self:
        """Fit a copy, and take over its fitted attributes."""
        del more
        with one_blas_thread(), FitLine(type(self).__name__, self.verbose) as line:
            work, client = self._fresh(), self.client_
            parts = _partitions(given.X, given.y, given.sample_weight, given.offset)
            if getattr(getattr(given.y, "cat", None), "known", True):  # Dask may not know them
                recipe = replace(recipe, loss=recipe.loss.knowing(given.y))
            steps = Distributed(work, parts, client, draw_seed(self.random_state))
            with steps.in_progress():
                trained, watch = self._learn_in(steps, work, recipe, line)
            self._adopt(work)
            line.ended = self._sum_up(watch)
        self._end(trained, watch)
        return self

    def _learn_in(
        self: Self, steps: Distributed, work: Self, recipe: Recipe, line: FitLine
    ) -> tuple[Trained, Watch]:
        """Fit `work`: read, place, code, solve and certify, store, as AdditiveEstimator._fit."""
        given, trainer = steps.given, recipe.trainer
        found, reader = steps.survey(numeric=recipe.loss.kind == "number")
        work._columns, n_rows = reader.columns, sum(found.n_rows)
        line.say(f"looked at {n_rows:,} rows in {len(given.X):,} partitions, {line.seconds:.1f} s")
        common = common_response(recipe, found)
        given.check_offset(common.loss.n_offsets)
        sample = steps.sample(found, reader)
        line.say(f"drew a sample of {len(sample.y):,} rows, {line.seconds:.1f} s")
        columns = steps.columns(found, reader, sample)
        advice = trainer.advice(sample.table, float(n_rows))
        layout = term_plan(work).place(columns, advice)
        trainer = work._with_pairs(trainer, columns, layout, advice, float(n_rows))
        trainer = work._settled(trainer, partial(steps.sample_here, sample, layout, common))
        data = steps.training_set(found, reader, sample, layout, common, self._posed_by(trainer))
        line.say(f"coded {n_rows:,} rows, {line.seconds:.1f} s")
        fitter = self._fitter(trainer)
        starts = self._warm_starts(fitter, data, data.rows.n_rows)
        stopping = work._stopping(data.rows, line.telling(self.callback))
        stopping.watch.hurries = True
        cast(RemoteRows, data.rows).cluster.tell = line.on_round
        trained = fitter.fit(data, stopping, starts)
        work._store(trained, in_haste=stopping.watch.in_haste)
        return trained, stopping.watch

    def _settled(self, trainer: Trainer, here: Callable[[], TrainingSet]) -> Trainer:
        """Return the trainer with what it chooses from the sample before rows are coded."""
        del here
        return trainer

    def _fitter(self, trainer: Trainer) -> Fitter:
        """Return the trainer for rows on workers."""
        return trainer

    def _posed_by(self, trainer: Trainer) -> Pose:
        """Return the function that makes a trainer's sums of losses from rows."""
        assert isinstance(trainer, NewtonTrainer)
        return _smooth_sums

    def score(
        self, X: Input, y: Input = None, sample_weight: Input = None, *, offset: Input = None
    ) -> float:
        """Return the score of the local estimator: accuracy, R^2 or D^2.

        Partitions are scored where they are, and a few numbers of each are sent to the client.

        Parameters
        ----------
        X : Dask collection, or any X that the local estimator accepts
        y : Dask collection of shape (n_samples,), partitioned like X
        sample_weight : Dask collection of shape (n_samples,), default=None
        offset : Dask collection, or array, default=None
            A known part of the scores, as in fit; None means 0.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "terms_")
        local = self.to_local()
        if not is_dask_collection(X):
            return float(local.score(X, y, sample_weight, offset=offset))
        check_columns(local, open_table(example_of(X)), reset=False)
        given = _partitions(X, y, sample_weight, offset)
        given.check_offset(self._model.n_outputs)
        parts = measured(local, given)
        how = {} if self.client is None else {"scheduler": self.client}
        return score_of(local, list(compute(*parts, **how)))

    def _predicted(self, name: str, X: Input, offset: Input) -> Input:
        """Return the predictions of a method, lazily for a Dask collection."""
        check_is_fitted(self, "terms_")
        local = self.to_local()
        if is_dask_collection(X):
            return lazily(local, name, X, offset)
        return getattr(local, name)(X, offset=offset)


def _partitions(X: Input, y: Input, sample_weight: Input, offset: Input) -> Partitions:
    if y is None:
        raise ValueError("y is None, but every row needs one.")
    return Partitions.of(X, y, sample_weight, offset)


def _smooth_sums(response: Response, rows: WeightedRows) -> list[LossSum]:
    return response.sums(rows)


def lazily(model: AdditiveEstimator, name: str, X: Input, offset: Input) -> da.Array:
    """Return model.name(X, offset=offset) as a lazy Dask array with the partitions of X.

    Columns that differ from those in fit raise an error at once.
    """
    check_columns(model, open_table(example_of(X)), reset=False)
    like = _example(model, name)
    predict = partial(_predicted, model, name, like)
    if offset is not None:
        parts = Partitions.of(X, None, None, offset)
        parts.check_offset(model._model.n_outputs)
        lengths = [np.nan] * len(parts.X) if is_frame(X) else X.chunks[0]
        shared = delayed(predict, pure=False)
        blocks = [
            da.from_delayed(shared(x, o), (n, *like.shape[1:]), dtype=like.dtype, meta=like)
            for x, o, n in zip(parts.X, parts.offset, lengths, strict=True)
        ]
        joined: da.Array = da.concatenate(blocks, allow_unknown_chunksizes=True)
        return joined
    if is_frame(X):
        frame: da.Array = X.map_partitions(predict, meta=like)
        return frame
    if X.numblocks[1] > 1:
        X = X.rechunk({1: X.shape[1]})
    how = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
    made: da.Array = X.map_blocks(predict, dtype=like.dtype, meta=like, **how)
    return made


def _example(model: AdditiveEstimator, name: str) -> AnyArray:
    """Return the prediction for no rows, which has the right type and shape."""
    loss, scores = model._loss, np.zeros((0, model._model.n_outputs))
    made = {
        "predict": "predict", "decision_function": "decision", "predict_latent": "decision"
    }.get(name, "probabilities")  # fmt: skip
    return np.asarray(getattr(loss, made)(scores))


def _predicted(
    model: AdditiveEstimator, name: str, like: AnyArray, X: Input, offset: Input = None
) -> AnyArray:
    """Return the predictions of a partition."""
    return np.asarray(getattr(model, name)(X, offset=offset)) if X.shape[0] else like
