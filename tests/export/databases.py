"""Queries on rows, in databases that live in memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd

KEY = "key"  # a column of row numbers, as databases keep no order


def ask(query: str, rows: pd.DataFrame, dialect: str) -> pd.DataFrame:
    """Return what a query on the table t finds, in the order of the rows."""
    keyed = rows.assign(**{KEY: np.arange(len(rows))})
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            connection.register("frame", keyed)
            connection.execute("CREATE TABLE t AS SELECT * FROM frame")
            found = connection.execute(query).df()
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            keyed.to_sql("t", connection, index=False)
            found = pd.read_sql_query(query, connection)
    return found.sort_values(KEY)
