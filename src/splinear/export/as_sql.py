"""Models as SQL queries."""

from __future__ import annotations

from collections.abc import Sequence

from splinear.estimators.base import AdditiveEstimator
from splinear.export.pieces import ModelPieces
from splinear.export.reading import read_model
from splinear.export.sql_query import Selected, query_of
from splinear.export.sql_text import DIALECTS, name

__all__ = ["to_sql"]


def to_sql(
    model: AdditiveEstimator,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    keep: Sequence[str] = (),
    reasons: int = 0,
    probabilities: bool = True,
) -> str:
    """Write a query that scores the rows of a table.

    The query returns `score`, `probability` (of the second class) and `prediction`. With several
    classes or labels there is one column for each, named `score_` and the class; ordered levels
    have one `score`, and a `probability_` each. NULL and NaN are missing values. Rows for which the
    estimator would raise an error get NULL.

    Parameters
    ----------
    model : fitted additive estimator
    table : str or sequence of str
        The name of the table, whose columns have the names of the features; ("main", "rows") is
        the table "rows" of the schema "main".
    dialect : {"duckdb", "sqlite"}, default="duckdb"
    keep : sequence of str, default=()
        Columns to return as well, such as a key, because no database guarantees the order of rows.
    reasons : int, default=0
        The number of terms to return for each row, those with the largest centered contributions of
        either sign: their names as `reason_1`, ..., and what they add as `effect_1`, .... With
        several classes they explain the score of the predicted one.
    probabilities : bool, default=True
        Whether to return probabilities, too, for which the database needs the function exp.

    Returns
    -------
    query : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from splinear import AdditiveClassifier
    >>> from splinear.export import to_sql
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> query = to_sql(model.fit(X, y == 2), "flowers", "sqlite")
    >>> "SELECT" in query and '"flowers"' in query
    True
    """
    pieces = read_model(model)
    _check(pieces, dialect, reasons)
    parts = [table] if isinstance(table, str) else list(table)
    wanted = Selected([keep] if isinstance(keep, str) else list(keep), reasons, probabilities)
    return query_of(pieces, wanted, DIALECTS[dialect], ".".join(map(name, parts)))


def _check(pieces: ModelPieces, dialect: str, reasons: int) -> None:
    if dialect not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise ValueError(f"dialect must be one of {known}; got {dialect!r}.")
    n_terms = len(pieces.terms)
    if not 0 <= reasons <= n_terms:
        raise ValueError(
            f"reasons must be from 0 to {n_terms}, the number of terms; got {reasons}."
        )
    if reasons and (pieces.task == "multilabel" or pieces.levels is not None):
        what = "level" if pieces.levels is not None else "label"
        raise ValueError(f"reasons are those of one score, and the model has one per {what}.")
