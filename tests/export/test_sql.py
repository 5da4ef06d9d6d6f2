"""Queries say what the estimators say, row by row, in DuckDB and SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("duckdb")

import duckdb
import pandas as pd
from exported_models import CASES, clear_levels, fitted, rows
from real_tables import NAMES, needs_data, real

from splinear import AdditiveClassifier, AdditiveSVC, inspection
from splinear.export import to_sql
from splinear.terms import Linear

TABLE = 'ro"ws; --'
KEY = 'k"ey'


def asked(dialect: str, X: pd.DataFrame, query: str) -> pd.DataFrame:
    """Put rows into a table, ask, and return the answers in their order."""
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            connection.register("frame", X)
            quoted = TABLE.replace('"', '""')
            connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM frame')
            found = connection.execute(query).df()
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            text = X.astype(dict.fromkeys(X.select_dtypes("category"), object))
            text.to_sql(TABLE, connection, index=False)
            found = pd.read_sql_query(query, connection)
    return found.set_index(KEY).loc[X[KEY]].reset_index() if KEY in found else found


def keyed(X: pd.DataFrame) -> pd.DataFrame:
    return X.assign(**{KEY: np.random.default_rng(0).permutation(len(X))})


def check(model: Any, X: pd.DataFrame, found: pd.DataFrame, tol: float) -> None:
    """Compare all columns with what the estimator says of the same rows."""
    near = {"rtol": tol, "atol": tol}
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(found["prediction"], model.predict(X), **near)
        return
    if hasattr(model, "predict_latent"):
        np.testing.assert_allclose(found["score"], model.predict_latent(X), **near)
        own = found[[f"probability_{label}" for label in model.classes_]]
        np.testing.assert_allclose(own, model.predict_proba(X), **near)
        clear = clear_levels(model, X)
        np.testing.assert_array_equal(found["prediction"][clear], model.predict(X)[clear])
        return
    scores, labels = model.decision_function(X), model.predict(X)
    if scores.ndim == 1:
        np.testing.assert_allclose(found["score"], scores, **near)
        clear = np.abs(scores) > tol
        np.testing.assert_array_equal(found["prediction"][clear], labels[clear])
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found["probability"], model.predict_proba(X)[:, 1], **near)
        return
    names = [str(label) for label in model.classes_]
    np.testing.assert_allclose(found[[f"score_{label}" for label in names]], scores, **near)
    if hasattr(model, "predict_proba"):
        own = found[[f"probability_{label}" for label in names]]
        np.testing.assert_allclose(own, model.predict_proba(X), **near)
    if labels.ndim == 2:
        predicted = found[[f"prediction_{label}" for label in names]].to_numpy()
        clear = np.abs(scores) > tol
    else:
        predicted, top = found["prediction"].to_numpy(), np.sort(scores, axis=1)
        clear = top[:, -1] - top[:, -2] > tol
    np.testing.assert_array_equal(predicted[clear], labels[clear])


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("name", CASES)
def test_every_model(name: str, dialect: str) -> None:
    model, X = fitted(name), rows(name)
    query = to_sql(model, TABLE, dialect, keep=[KEY])
    check(model, X, asked(dialect, keyed(X), query), 1e-11)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "name", ["pairs", "three classes", "poisson", "svc of three", "ordered levels"]
)
def test_reasons(name: str, dialect: str) -> None:
    model, X = fitted(name), rows(name)
    found = asked(dialect, keyed(X), to_sql(model, TABLE, dialect, keep=[KEY], reasons=3))
    check(model, X, found, 1e-11)
    parts, names = inspection.contributions(model, X), np.array(inspection.term_names(model))
    if parts.ndim == 3:
        best = model.decision_function(X).argmax(axis=1)
        parts = parts[np.arange(len(X)), :, best]
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")
    for r in range(3):
        own = parts[np.arange(len(X)), order[:, r]]
        np.testing.assert_allclose(np.abs(found[f"effect_{r + 1}"]), np.abs(own), atol=1e-11)
        sizes = np.sort(np.abs(parts), axis=1)[:, ::-1]
        alone = np.ones(len(X), dtype=bool)
        for other in {max(r - 1, 0), r, r + 1} - {r}:
            alone &= np.abs(sizes[:, r] - sizes[:, other]) > 1e-9
        assert alone.mean() > 0.5
        expected = names[order[:, r]]
        np.testing.assert_array_equal(found[f"reason_{r + 1}"][alone], expected[alone])
        np.testing.assert_allclose(found[f"effect_{r + 1}"][alone], own[alone], atol=1e-11)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("name", NAMES)
def test_real_tables(name: str, dialect: str) -> None:
    model, X = real(name)
    X = X.astype(dict.fromkeys(X.select_dtypes("category"), object))
    found = asked(dialect, keyed(X), to_sql(model, TABLE, dialect, keep=[KEY]))
    assert len(found) == 10_000
    check(model, X, found, 1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_rows_that_are_refused_have_no_score(dialect: str) -> None:
    model, X = fitted("refusing"), keyed(rows("refusing")[:6])
    X["code"] = X["code"].astype(float)
    X.loc[1, "few"] = np.nan
    X.loc[2, "a"] = 1e6
    X.loc[3, "a"] = -1e6
    X.loc[4, "code"] = 77
    found = asked(dialect, X, to_sql(model, TABLE, dialect, keep=[KEY]))
    for column in ("score", "probability", "prediction"):
        np.testing.assert_array_equal(found[column].isna(), [False, True, True, True, True, False])


def test_null_and_nan_are_missing_in_duckdb() -> None:
    model = fitted("two classes")
    X = rows("two classes")[:1]
    with duckdb.connect() as connection:
        connection.register("frame", X)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
        connection.execute("UPDATE t SET b = NULL")
        query = to_sql(model, "t")
        null = connection.execute(query).fetchone()
        connection.execute("UPDATE t SET b = CAST('NaN' AS DOUBLE)")
        nan = connection.execute(query).fetchone()
    assert null == nan
    own = model.decision_function(X.assign(b=np.nan))[0]
    np.testing.assert_allclose(null[0], own, rtol=1e-12)


def test_far_scores_do_not_overflow() -> None:
    X = pd.DataFrame({"a": np.linspace(0, 1, 50)})
    model = AdditiveClassifier(Linear(), random_state=0).fit(X, np.arange(50) >= 25)
    far = pd.DataFrame({"a": [-1e6, 1e6], KEY: [0, 1]})
    for dialect in ("duckdb", "sqlite"):
        found = asked(dialect, far, to_sql(model, TABLE, dialect, keep=[KEY]))
        np.testing.assert_allclose(found["probability"], [0.0, 1.0], atol=1e-300)
        assert found["prediction"].astype(bool).tolist() == [False, True]


def test_without_exp() -> None:
    """SQLite may have been built without mathematical functions."""
    query = to_sql(fitted("pairs"), "rows", "sqlite", probabilities=False, reasons=2)
    assert "exp(" not in query
    assert "probability" not in query
    assert "exp(" in to_sql(fitted("pairs"), "rows", "sqlite")


def test_tables_of_a_schema() -> None:
    query = to_sql(fitted("two classes"), ('ma"in', "rows"), keep="id")
    assert 'FROM "ma""in"."rows" AS given' in query
    assert 'given."id"' in query


def test_missing_columns_are_errors() -> None:
    """SQLite would take a name in quotes for text where there is no such column."""
    X = keyed(rows("two classes")).drop(columns="few")
    with pytest.raises(pd.errors.DatabaseError, match="no such column"):
        asked("sqlite", X, to_sql(fitted("two classes"), TABLE, "sqlite", keep=[KEY]))


def test_what_cannot_be_exported() -> None:
    model = fitted("two classes")
    with pytest.raises(ValueError, match="dialect must be one of 'duckdb', 'sqlite'; got 'oracle'"):
        to_sql(model, "rows", "oracle")
    with pytest.raises(ValueError, match="reasons must be from 0 to 7"):
        to_sql(model, "rows", reasons=8)
    with pytest.raises(ValueError, match="one per label"):
        to_sql(fitted("labels"), "rows", reasons=1)
    with pytest.raises(ValueError, match="keep names 'score'"):
        to_sql(model, "rows", keep=["id", "score"])
    X = np.random.default_rng(0).normal(size=(100, 1100))
    wide = AdditiveSVC(random_state=0, C=1.0).fit(X, X[:, 0] > 0)
    assert to_sql(wide, "rows", "duckdb")
    with pytest.raises(ValueError, match="2,200 columns in one step, and SQLite has at most 2,000"):
        to_sql(wide, "rows", "sqlite")
