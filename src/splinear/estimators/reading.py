"""Reads and checks the user's table for training or prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_X_y

from splinear._lookup import shown
from splinear._types import AnyArray, Floats, Input
from splinear.losses.survey import Survey
from splinear.model.plan import TermPlan
from splinear.objective.units import EVERY_ROW, Units
from splinear.tables.checks import (
    check_columns,
    check_counts,
    check_groups,
    check_size,
    check_weights,
    feature_label,
)
from splinear.tables.chunks import as_dense
from splinear.tables.columns import Columns, NumberTable, Seen
from splinear.tables.copies import copies_of, warn_of_copies
from splinear.tables.dense import ArrayTable
from splinear.tables.device import on_host
from splinear.tables.few import open_few
from splinear.tables.kinds import categories_in, refuse_others, refuse_text
from splinear.tables.opening import open_table, open_target
from splinear.tables.table import Table, WithZeros
from splinear.tables.target import check_target

__all__ = [
    "Given",
    "TrainingTable",
    "find_categorical",
    "read_as_given",
    "read_rows",
    "read_table",
    "refuse_columns",
    "refuse_sparse_periods",
    "term_plan",
]

MOST_AT_ONCE = 2**24  # values up to which a table is converted once, not at every read


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments of fit, as the user passed them."""

    X: Input
    y: Input
    sample_weight: Input = None
    counts: Input = None
    groups: Input = None
    offset: Input = None


@dataclass(frozen=True, eq=False)
class Weighing:
    """The weights of rows and their units; see TrainingTable."""

    weights: Floats | None
    kept: AnyArray | None
    units: Units
    knot_weights: Floats | None

    @classmethod
    def read(cls, given: Given, n_rows: int) -> Weighing:
        """Check weights, counts and groups."""
        weights = check_weights(on_host(given.sample_weight), n_rows)
        knot_weights = None if weights is None or np.all(weights == weights[0]) else weights
        counts, groups = on_host(given.counts), on_host(given.groups)
        units = Units(check_counts(counts, n_rows), check_groups(groups, n_rows))
        if units.counts is not None:
            weights = units.counts if weights is None else weights * units.counts
            knot_weights = units.counts if knot_weights is None else weights
            if not np.any(weights > 0):
                raise ValueError("All rows with a count above 0 have weight 0 in sample_weight.")
            units = replace(units, counts=np.where(weights > 0, units.counts, 0.0))
        kept = None if weights is None or np.all(weights > 0) else weights > 0
        return cls(weights, kept, units, knot_weights)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The checked arguments of fit.

    Attributes
    ----------
    table : Table
        X, converted to numbers.
    y : ndarray
    weights : ndarray of shape (n_rows,) or None
        The weight of each row, `sample_weight` times `counts`.
    kept : ndarray of shape (n_rows,) or None
        Whether each row has a positive weight; None if all have one.
    columns : Columns
    units : Units
        The counts of rows, 0 for those without weight, and the groups of rows.
    knot_weights : ndarray of shape (n_rows,) or None
        `weights` without a common factor.
    """

    table: Table
    y: AnyArray
    weights: Floats | None
    kept: AnyArray | None
    columns: Columns
    units: Units = EVERY_ROW
    knot_weights: Floats | None = None

    @property
    def n_units(self) -> float:
        """The number of independent units with a positive weight."""
        kept, groups = self.kept, self.units.groups
        if groups is not None:
            return float(len(np.unique(groups if kept is None else groups[kept])))
        n_kept = self.table.shape[0] if kept is None else int(np.count_nonzero(kept))
        return self.units.n_rows(n_kept)

    def survey(self, y: AnyArray) -> Survey:
        """Return the survey of y as numbers."""
        return Survey.of(y, self.weights, self.kept, self.units.counts)

    def without_copies(self, y: AnyArray, offset: Floats | None) -> TrainingTable:
        """Return the rows with copies merged into the first of them, if there are any.

        Copies are equal in X, y and the offset. Rows are taken as they are if the user says which
        are independent.
        """
        if self.units.counts is not None or self.units.groups is not None:
            return self
        if offset is not None:
            y = np.column_stack([y, offset])
        first = copies_of(self.table, y, self.kept)
        if first is None:
            return self
        n = len(first)
        weights = np.bincount(first, self.weights, minlength=n).astype(np.float64)
        kept = weights > 0.0
        n_rows = n if self.kept is None else int(np.count_nonzero(self.kept))
        warn_of_copies(n_rows - int(np.count_nonzero(kept)), n_rows)
        return replace(
            self, weights=weights, kept=None if kept.all() else kept, knot_weights=weights
        )


def read_rows(
    estimator: BaseEstimator,
    given: Given,
    *,
    columns: Columns | None = None,
    numeric: bool = False,
) -> TrainingTable:
    """Check the arguments of fit, and find how columns are converted unless `columns` is given.

    `numeric` says whether y holds one number per row, and not classes or labels.
    """
    classes = None if columns is None else getattr(estimator, "classes_", ())
    table, y = open_target(open_table(given.X, type(estimator).__name__), on_host(given.y), classes)
    y = check_target(y, numeric=numeric)  # its errors name the row
    table = _matched(estimator, table, columns)
    check_size(estimator, table)
    if columns is None:
        table, categorical = find_categorical(estimator, table)
    else:
        table, categorical = table.blanked(columns.dropped), columns.categorical
    y = _checked_target(estimator, y, table.shape[0], numeric=numeric)
    refuse_columns(table, categorical, reset=columns is None)
    rows = Weighing.read(given, table.shape[0])
    if table.is_sparse and table.is_on_disk and _zeros_count(estimator):
        table = WithZeros(table)
    if columns is None:
        columns = _learn(estimator, table, categorical, rows)
        refuse_sparse_periods(estimator, table, columns)
    else:
        columns = columns.after(_n_counted(table, rows))
    numbers = in_columns(estimator, table, columns)
    return TrainingTable(
        numbers, y, rows.weights, rows.kept, columns, rows.units, rows.knot_weights
    )


def _checked_target(estimator: BaseEstimator, y: Input, n_rows: int, *, numeric: bool) -> AnyArray:
    """Check the shape, length and type of y as scikit-learn does."""
    _, checked = check_X_y(
        np.empty((n_rows, 0)),
        y,
        estimator=estimator,
        ensure_min_features=0,
        y_numeric=numeric,
        multi_output=not numeric,
    )
    found: AnyArray = checked
    return found


def _matched(estimator: BaseEstimator, table: Table, columns: Columns | None) -> Table:
    """Match the table's columns with those seen in fit; `columns` is None during fit."""
    if columns is not None:
        names = getattr(estimator, "feature_names_in_", None)
        listed = None if names is None else names.tolist()
        table = table.matched(listed, columns.n_features, columns.zero_based)
    table = check_columns(estimator, table, reset=columns is None)
    return table if columns is None else table.expecting(columns.of_text)


def refuse_columns(table: Table, categorical: list[int], *, reset: bool) -> None:
    """Raise if a column holds neither numbers nor categories, or categories in a sparse X."""
    refuse_others(table)
    refuse_text(table, categorical, reset=reset)
    if reset and categorical and table.is_sparse:
        raise ValueError(
            "Categories are for dense tables, and X is sparse. Use a column of 0 and 1 for every "
            "level, or X.toarray()."
        )


def refuse_sparse_periods(estimator: BaseEstimator, table: Table, columns: Columns) -> None:
    """Raise if a feature of a sparse table has a period."""
    if table.is_sparse and columns.periods:
        raise ValueError(
            "Fourier(period=...) is for dense tables: its curves are not zero at zero, and X is "
            f"sparse. Drop {feature_label(estimator, min(columns.periods))}, or use X.toarray()."
        )


def _zeros_count(estimator: BaseEstimator) -> bool:
    """Return whether the user asks for a curve that is not zero at zero, even if X is sparse."""
    plan = term_plan(estimator)
    terms = (plan.curve, *plan.given.values())
    return any(getattr(term, "through_zero", None) is False for term in terms)


def read_table(estimator: BaseEstimator, X: Input, columns: Columns) -> Table:
    """Check X at prediction time, and return it as a table of numbers."""
    table = open_few(X, columns.levels)
    if table is None:
        return in_columns(estimator, read_as_given(estimator, X, columns), columns)
    return in_columns(estimator, _checked(estimator, table, columns), columns)


def read_as_given(estimator: BaseEstimator, X: Input, columns: Columns) -> Table:
    """Check X at prediction time, and return it unconverted; dropped columns are blank."""
    table, _ = open_target(open_table(X, type(estimator).__name__), None)
    return _checked(estimator, table, columns)


def _checked(estimator: BaseEstimator, table: Table, columns: Columns) -> Table:
    table = _matched(estimator, table, columns).blanked(columns.dropped)
    check_size(estimator, table)
    refuse_columns(table, columns.categorical, reset=False)
    return table


def in_columns(estimator: BaseEstimator, table: Table, columns: Columns) -> Table:
    """Return a table as numbers, converted at once if it is small, and otherwise when read."""
    if not columns.is_plain and table.is_sparse:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with categories or periods, and X is sparse; "
            "use a dense table."
        )
    label = partial(feature_label, estimator)
    numbers = table if columns.is_plain else NumberTable(table, columns, label)
    is_large = table.is_on_disk or table.shape[0] * columns.n_features > MOST_AT_ONCE
    return ArrayTable(as_dense(numbers.whole())) if numbers.converts and not is_large else numbers


def find_categorical(estimator: BaseEstimator, table: Table) -> tuple[Table, list[int]]:
    """Return the table with dropped features blanked, and the categorical features.

    These follow from the columns' types or the user's list, and from the user's terms.
    """
    names, n_features = table.names, table.shape[1]
    given = estimator.categorical_features
    plan = TermPlan.read(estimator.curve, estimator.terms, n_features, names)
    table = table.blanked(plan.dropped)
    if isinstance(given, str):
        found = set(categories_in(table))
    else:
        found = set() if given is None else set(_positions(given, n_features, names))
    return table, sorted((found | plan.categories) - plan.dropped)


def _positions(categorical: Input, n_features: int, names: list[str] | None) -> list[int]:
    """Return the positions that `categorical_features` lists by position, name or mask."""
    listed = np.asarray(categorical)
    wrong = (
        "categorical_features must be 'from_dtype', None, or list features by position or name, or "
        f"be a mask; got {categorical!r}"
    )
    if listed.ndim != 1:
        raise ValueError(f"{wrong}.")
    if listed.dtype == bool:
        if len(listed) != n_features:
            raise ValueError(f"{wrong}, of length {len(listed)} for {n_features} features.")
        return [int(j) for j in np.flatnonzero(listed)]
    out = []
    for entry in listed.tolist():
        if names is not None and entry in names:
            out.append(names.index(entry))
        elif isinstance(entry, int) and 0 <= entry < n_features:
            out.append(entry)
        else:
            known = "" if names is None else f", with the names {shown(names)}"
            raise ValueError(f"{wrong}: there is no {entry!r} among {n_features} features{known}.")
    return out


def _learn(
    estimator: BaseEstimator, table: Table, categorical: list[int], weighing: Weighing
) -> Columns:
    """Return how columns are converted; levels are those of rows with a positive weight."""
    seen = {j: Seen(feature_label(estimator, j)) for j in categorical}
    for rows, data in table.columns(categorical) if categorical else ():
        kept = slice(None) if weighing.kept is None else weighing.kept[rows]
        counts = weighing.units.counts
        for levels, values in zip(seen.values(), data, strict=True):
            levels.add(values, kept, None if counts is None else counts[rows])
    n_rows = _n_counted(table, weighing)
    for own in seen.values():
        own.warn_of_levels(n_rows)
    plan = term_plan(estimator)
    found = {j: own.levels() for j, own in seen.items()}
    return Columns(
        table.shape[1],
        found,
        plan.strict(categorical),
        plan.periods(categorical),
        frozenset(plan.dropped),
        table.zero_based,
        takes_gaps=estimator.missing == "level",
        n_rows=n_rows,
        counts={j: tuple(seen[j].values[level] for level in found[j]) for j in found},
        booleans=table.booleans.difference(categorical),
    )


def _n_counted(table: Table, rows: Weighing) -> int:
    """Return the number of rows with a positive weight, each as often as it counts."""
    n = table.shape[0] if rows.kept is None else int(np.count_nonzero(rows.kept))
    return int(rows.units.n_rows(n))


def term_plan(estimator: BaseEstimator) -> TermPlan:
    """Return the plan of terms of an estimator whose n_features_in_ is set."""
    names = getattr(estimator, "feature_names_in_", None)
    listed = None if names is None else names.tolist()
    return TermPlan.read(estimator.curve, estimator.terms, estimator.n_features_in_, listed)
