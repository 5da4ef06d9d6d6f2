"""Preparation of a training set from Dask collections, with the rows left on the workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client
from scipy import sparse
from sklearn.base import BaseEstimator

from splinear._types import AnyArray, Floats, Input
from splinear.dask.cluster import Cluster
from splinear.dask.partitions import Partitions
from splinear.dask.passes import RemoteRows
from splinear.dask.reading import Rows, Survey, TableReader, survey
from splinear.dask.responses import RemoteResponse, of_part
from splinear.dask.shelf import named
from splinear.dask.steps import Coding, Pose
from splinear.dask.waiting import Waiting, release
from splinear.estimators.reading import (
    find_categorical,
    refuse_columns,
    refuse_sparse_periods,
    term_plan,
)
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.training_set import Response, TrainingSet, WeightedRows
from splinear.solvers.reml.choosing import enough_rows
from splinear.tables.checks import check_columns, feature_label
from splinear.tables.columns import Columns
from splinear.tables.kinds import categories_in
from splinear.tables.opening import open_table
from splinear.tables.table import Table
from splinear.terms.base import ColumnData

__all__ = ["CLOSED", "Distributed"]

CLOSED = ("closing", "closed")  # status of a client

# Size of the local sample, for knots, smoothness and products with the Hessian: rows, values.
SAMPLE, SAMPLED_VALUES = 2**17, 2**26
HELD_OUT = 4 / 3  # ratio of all rows to those that choose the smoothness, if some are held out


@dataclass(eq=False)
class Distributed:
    """The steps of a fit before training.

    Parameters
    ----------
    estimator : AdditiveEstimator
        Its names of columns and conversion of columns are set.
    given : Partitions
    client : Client
    seed : int
    """

    estimator: BaseEstimator
    given: Partitions
    client: Client
    seed: int
    cluster: Cluster | None = None  # once workers have coded their rows

    def survey(self, *, numeric: bool) -> tuple[Survey, TableReader]:
        """Return ranges, gaps, levels and targets of all rows, and how columns are converted."""
        work = self.estimator
        table = check_columns(work, open_table(self.given.example), reset=True)
        n = table.shape[1]
        if not n:
            raise ValueError("Found array with 0 feature(s), while a minimum of 1 is required.")
        table, categorical = find_categorical(work, table)
        plan = term_plan(work)
        by_type = isinstance(work.categorical_features, str)
        if by_type and _is_of_objects(self.given.example):
            categorical = self._with_text(categorical, plan.dropped)
        refuse_columns(table, categorical, reset=True)
        dropped, periods = frozenset(plan.dropped), plan.periods(categorical)
        unread = Columns(n, {}, periods=periods, dropped=dropped)
        refuse_sparse_periods(work, table, unread)
        first = TableReader(unread, table.names, table.is_sparse)
        told = delayed((first, categorical, numeric), pure=False)
        found = self._asked(_surveyed, told)
        summary: Survey = found[0]
        for one in found[1:]:
            summary.add(one)
        self._check(summary)
        levels = {j: own.levels() for j, own in summary.seen.items()}
        columns = Columns(
            n,
            levels,
            plan.strict(categorical),
            periods,
            dropped,
            takes_gaps=work.missing == "level",
            n_rows=sum(summary.n_rows),
            counts={j: tuple(summary.seen[j].values[own] for own in levels[j]) for j in levels},
            booleans=table.booleans.difference(categorical),
        )
        return summary, TableReader(columns, table.names, table.is_sparse)

    def _with_text(self, categorical: list[int], dropped: Collection[int]) -> list[int]:
        """Return the categories in an array of objects: Dask does not know which columns are."""
        found = self._asked(_text_columns, delayed(None))
        return sorted({*categorical, *(j for own in found for j in own)}.difference(dropped))

    def _check(self, found: Survey) -> None:
        """Raise if there are no rows, or if a column has infinity or unwanted missing values."""
        work, n_rows = self.estimator, sum(found.n_rows)
        if not n_rows:
            raise ValueError("X has no rows, or none with a weight above 0.")
        for own in found.seen.values():
            own.warn_of_levels(n_rows)
        wrong = {"infinity": np.isposinf(found.hi) | np.isneginf(found.lo)}
        wrong["infinity"] &= found.hi >= found.lo
        wrong["NaN"] = found.has_gap & (work.missing == "error")
        for what, columns in wrong.items():
            if columns.any():
                label = feature_label(work, int(np.argmax(columns)))
                raise ValueError(f"Input X contains {what} in {label}.")

    def sample(self, found: Survey, reader: TableReader) -> _Sampled:
        """Return a random sample of rows, in order, which does not depend on the partitions."""
        n_rows, n_columns = sum(found.n_rows), max(1, reader.columns.n_features)
        levels = max((len(own) for own in reader.columns.levels.values()), default=0)
        most = max(int(HELD_OUT * enough_rows(levels)), min(SAMPLE, SAMPLED_VALUES // n_columns))
        chosen = np.arange(n_rows)
        if most < n_rows:
            drawn = np.random.default_rng(0).choice(n_rows, most, replace=False)
            chosen = np.sort(drawn)
        ends = np.cumsum(found.n_rows)
        numbers = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
        own = [part - (end - n) for part, end, n in zip(numbers, ends, found.n_rows, strict=True)]
        taken = self._asked(_taken, delayed(reader, pure=False), own)
        rows = [one for one in taken if len(one.y)]
        weights = None if rows[0].weights is None else np.concatenate([r.weights for r in rows])
        offset = None if rows[0].offset is None else np.concatenate([r.offset for r in rows])
        stack = sparse.vstack if reader.is_sparse else np.concatenate
        X = open_table(stack([one.X for one in rows]))
        return _Sampled(X, np.concatenate([one.y for one in rows]), weights, offset)

    def columns(self, found: Survey, reader: TableReader, sample: _Sampled) -> ColumnData:
        """Return the columns of the sample, with the ranges and gaps of all rows."""
        lo, hi = found.lo.copy(), found.hi.copy()
        for j, levels in reader.columns.levels.items():
            lo[j], hi[j] = 0.0, len(levels) - 1.0
        empty = lo > hi
        lo[empty] = hi[empty] = np.nan
        return ColumnData(
            table=sample.table,
            lo=lo,
            hi=hi,
            has_gap=found.has_gap,
            levels=reader.columns.levels,
            kept=None,
            weights=sample.weights,
            through_zero=sample.table.is_sparse,
            label=partial(feature_label, self.estimator),
        )

    def sample_here(self, sample: _Sampled, layout: Layout, common: Response) -> TrainingSet:
        """Return the rows of the sample as a training set of the client."""
        rows = TrainingRows.prepare(
            sample.table, layout, seed=self.seed, weights=sample.weights, n_threads=1
        )
        rows = rows.with_gap_means(rows, sample.weights, 1)
        response = of_part(common, sample.y, sample.offset)
        return TrainingSet(WeightedRows(rows, sample.weights), response)

    def training_set(
        self,
        found: Survey,
        reader: TableReader,
        sample: _Sampled,
        layout: Layout,
        common: Response,
        pose: Pose,
    ) -> TrainingSet:
        """Have workers code their rows, and return the training set."""
        coding = Coding(reader, layout, common, pose, self.seed)
        response = of_part(common, sample.y, sample.offset)
        here = coding.part(sample.table, response, sample.weights, None)
        here.read_table = sample.table.whole
        self.cluster = cluster = Cluster(self.client, here, self.given.numbered(found.n_rows))
        cluster.has_sample = here.n_rows < sum(found.n_rows)
        cluster.hold(coding, persisted=self.given.is_persisted(self.client))
        rows = RemoteRows(
            cluster, layout, sum(found.n_rows), found.weight, reader, self.seed, here.rows.is_coded
        ).with_gap_means()
        weighted = WeightedRows(rows, sample.weights)  # type: ignore[arg-type]
        remote = RemoteResponse(**vars(response), cluster=cluster)
        return TrainingSet(weighted, remote)

    @contextmanager
    def in_progress(self) -> Iterator[None]:
        """Let workers forget the rows at the end; tell if a fit failed for lack of a client."""
        try:
            yield
        except Exception as error:
            if self.client.status in CLOSED:
                raise RuntimeError(
                    "The client or its cluster was closed during the fit, so there is no model."
                ) from error
            raise
        finally:
            if self.cluster is not None:
                self.cluster.release()

    def _asked(self, task: Callable[..., object], told: Delayed, each: Input = None) -> list[Input]:
        """Return the results of a task for every partition."""
        more = [None] * len(self.given.X) if each is None else each
        make: Callable[..., Delayed] = delayed(named, pure=False)
        partitions = zip(self.given.rows(), more, strict=True)
        tasks = [make(task, k, *given, one, told) for k, (given, one) in enumerate(partitions)]
        futures = self.client.compute(tasks)
        try:
            Waiting(self.client).until_done(futures)
            found: list[Input] = self.client.gather(futures)
        finally:
            release(futures)
        return found


@dataclass(frozen=True, eq=False)
class _Sampled:
    """The rows of the sample, as numbers."""

    table: Table
    y: AnyArray
    weights: Floats | None
    offset: Floats | None


def _is_of_objects(example: Input) -> bool:
    return isinstance(example, np.ndarray) and example.dtype.kind == "O"


def _text_columns(
    X: Input, y: Input, weights: Input, offset: Input, each: None, told: None
) -> list[int]:
    del y, weights, offset, each, told
    return categories_in(open_table(X)) if X.shape[0] else []


def _surveyed(X: Input, y: Input, weights: Input, offset: Input, each: None, told: Input) -> Survey:
    del each
    reader, categorical, numeric = told
    return survey(X, y, weights, offset, reader, categorical, numeric)


def _taken(
    X: Input, y: Input, weights: Input, offset: Input, numbers: AnyArray, reader: TableReader
) -> Rows:
    """Return the rows at these indices among those with a positive weight."""
    if not len(numbers):
        return Rows(None, np.empty(0), None, None)
    rows = Rows.of(X, y, weights, offset, numeric=False)
    at = numbers if rows.kept is None else np.flatnonzero(rows.kept)[numbers]
    own = None if rows.weights is None else rows.weights[at]
    offset = None if rows.offset is None else rows.offset[at]
    return Rows(reader.table(X).sample(at).copy(), rows.y[at], own, None, offset)
