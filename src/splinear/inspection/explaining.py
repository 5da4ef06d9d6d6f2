"""explain: an explanation of the scores of rows.

>>> from sklearn.datasets import load_diabetes
>>> from splinear import AdditiveRegressor
>>> from splinear.inspection import explain
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = AdditiveRegressor(random_state=0).fit(X, y)
>>> explanation = explain(model, X.head(3))
>>> explanation.contribution.shape
(3, 10)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.intervals import score_errors
from splinear.estimators.reading import read_as_given
from splinear.inspection.adding import added, added_by_pairs, column_of
from splinear.inspection.bands import curve_errors, has_band, surface_errors
from splinear.inspection.curves import base_value, read_numbers
from splinear.inspection.explanation import Explanation
from splinear.inspection.naming import (
    Output,
    feature_names,
    labels_of,
    mean_of,
    names_of_classes,
    output_of,
    score_unit,
)
from splinear.inspection.resolving import FittedModel, has_threshold, resolve
from splinear.model.covariance import is_too_large
from splinear.tables.values import Values, is_missing

__all__ = ["explain"]


def explain(
    model: FittedModel,
    X: Input,
    *,
    target: object = None,
    class_names: Sequence[str] | None = None,
    target_name: str = "the target",
) -> Explanation:
    """Split the scores of rows into what each term adds to them.

    They are the scores for an offset of 0: contributions add up to the score less the offset.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one. The features of a pipeline are the
        columns that its last step sees.
    X : array-like of shape (n_rows, n_features)
        The rows to explain. The result holds n_rows * n_terms * n_outputs numbers.
    target : class label, int or list of them, default=None
        Whose scores: one of `classes_`, or the position of a label. None means all of them; with
        two classes there is one score, that of `classes_[1]`.
    class_names, target_name
        Names for the classes, or for the target of a regression, in tables and pictures.

    Returns
    -------
    explanation : Explanation
        Contributions, base value, scores, probabilities and predictions, with standard errors where
        the model has a posterior. It prints as a table, and `plot(row)` draws a waterfall of one
        row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> explanation = explain(model, X[:1], target_name="progression")
    >>> explanation.reasons(0).terms[0].term  # what matters most for the first row
    'bmi'
    """
    given, rows = model, X
    model, X = resolve(model, X)
    called = names_of_classes(model, class_names)
    found = _explained(model, X, output_of(model, target), called, target_name)
    return replace(found, prediction=given.predict(rows)) if has_threshold(given) else found


def _explained(
    model: AdditiveEstimator,
    X: Input,
    output: Output,
    class_names: dict[object, str],
    target_name: str,
) -> Explanation:
    names = feature_names(model)
    contribution, error = _parts(model, X, output)
    curves = [j for j in range(len(names)) if j not in model._columns.dropped]
    pairs, scores = model.terms_.pairs, model._scores(X)
    targets = _targets(model, output)
    called = [class_names[target] for target in targets] or [target_name]
    base = base_value(model)
    return Explanation(
        terms=(*(names[j] for j in curves), *(pair.name for pair in pairs)),
        features=(*((j,) for j in curves), *(pair.features for pair in pairs)),
        values=_values(model, X),
        contribution=contribution,
        standard_error=error,
        base_value=base if isinstance(base, float) else base[output],
        score=scores[:, output],
        score_error=_score_errors(model, X, output),
        probability=_probability(model, scores, output),
        prediction=model._loss.predict(scores),
        targets=targets,
        class_names=class_names,
        units=tuple(score_unit(model, name) for name in called),
        mean_of=mean_of(model, target_name),
    )


def _parts(model: AdditiveEstimator, X: Input, output: Output) -> tuple[Floats, Floats | None]:
    """Return the centered contributions of all terms, and their standard errors."""
    table = read_numbers(model, X)
    places = [j for j in range(model.n_features_in_) if j not in model._columns.dropped]
    at = {j: k for k, j in enumerate(places)}
    pairs = model.terms_.pairs
    shape = (table.shape[0], len(places) + len(pairs), *model.intercept_[output].shape)
    parts, errors = np.zeros(shape, order="F"), np.full(shape, np.nan, order="F")
    for j, f, mean in added(model, table):
        parts[:, at[j]] = f[:, output] - mean[output]
        term = model.terms_.of_feature(j)
        if term is not None and has_band(model, term):
            errors[:, at[j]] = curve_errors(model, term, column_of(table, j))[:, output]
    for k, (pair, f) in enumerate(added_by_pairs(model, table)):
        parts[:, len(places) + k] = f[:, output]
        x, z = (column_of(table, j) for j in pair.features)
        errors[:, len(places) + k] = surface_errors(model, pair, x, z)[:, output]
    return parts, (errors if model._posteriors else None)


def _score_errors(model: AdditiveEstimator, X: Input, output: Output) -> Floats | None:
    """Return the standard errors of scores; None if there are none."""
    if not model._posteriors or any(map(is_too_large, model._model.layout.groups)):
        return None
    return score_errors(model, X)[1][:, output]


def _probability(model: AdditiveEstimator, scores: Floats, output: Output) -> Floats | None:
    """Return the probabilities of the classes that are explained; None if there are none."""
    if not hasattr(model, "predict_proba") or model._loss.task == "ordinal":
        return None  # levels have several probabilities per score
    found: Floats = model._loss.probabilities(scores)  # type: ignore[attr-defined]
    return found[:, 1:][:, output] if model._loss.task == "binary" else found[:, output]


def _targets(model: AdditiveEstimator, output: Output) -> tuple[object, ...]:
    """Return the classes or levels that are explained; none for a single score of all."""
    if model._loss.task == "ordinal" or not (labels := labels_of(model)):
        return ()
    first = 1 if model._loss.task == "binary" else 0
    places = first + np.atleast_1d(np.arange(len(model.intercept_))[output])
    return tuple(labels[k] for k in places)


def _values(model: AdditiveEstimator, X: Input) -> AnyArray:
    """Return the user's values of the rows, (n_rows, n_features); None if missing."""
    table = read_as_given(model, X, model._columns)
    out = np.empty(table.shape, dtype=object)
    for rows, columns in table.columns(range(table.shape[1])):
        for j, column in enumerate(columns):
            out[rows, j] = [None if is_missing(value) else value for value in _listed(column)]
    return out


def _listed(values: Values) -> list[object]:
    found: list[object] = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
    return found
