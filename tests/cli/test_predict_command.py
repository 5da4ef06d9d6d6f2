"""``splinear predict``, ``explain`` and ``convert``: from a model to files."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

import splinear
from splinear import AdditiveRegressor, AdditiveSVC
from splinear.inspection import explain

FEATURES = ["age", "income", "größe", "plan", "country"]


@pytest.fixture
def expected(model, customers):
    return splinear.load(model).predict_proba(customers[FEATURES])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_of_a_classifier(ending, model, train, expected, invoke, tmp_path, monkeypatch):
    """In blocks of 100 rows."""
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 500)
    path = tmp_path / f"out.{ending}"
    done = invoke("predict", model, train, "-o", path)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    found = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert list(found.columns) == ["prediction", "probability_no", "probability_yes"]
    np.testing.assert_allclose(found.iloc[:, 1:], expected, rtol=1e-12)
    assert found["prediction"].tolist() == np.where(expected[:, 1] > 0.5, "yes", "no").tolist()


def test_to_stdout_with_columns_of_the_data(model, train, customers, expected, run):
    done = run("predict", model, train, "--keep", "name", "--keep", "größe")
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))
    assert list(found.columns) == [
        "name",
        "größe",
        "prediction",
        "probability_no",
        "probability_yes",
    ]
    assert found["name"].tolist() == customers["name"].tolist()
    np.testing.assert_allclose(found["probability_yes"], expected[:, 1], rtol=1e-12)


def test_columns_are_found_by_name(model, customers, expected, invoke, tmp_path):
    """In any order, with others beside them; the target need not be there."""
    other = customers[[*reversed(FEATURES), "name"]]
    other.to_csv(tmp_path / "x.csv", index=False)
    assert invoke("predict", model, tmp_path / "x.csv", "-o", tmp_path / "p.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(found["probability_yes"], expected[:, 1], rtol=1e-12)


def test_a_missing_column_is_named(model, customers, invoke, failed, tmp_path):
    customers.drop(columns=["age", "plan"]).to_csv(tmp_path / "x.csv", index=False)
    done = invoke("predict", model, tmp_path / "x.csv", "-o", tmp_path / "p.csv")
    failed(done, "no column 'age', 'plan', which the model needs; it has 'name'")
    assert not (tmp_path / "p.csv").exists()


def test_levels_that_look_like_numbers(invoke, tmp_path):
    """A category is read as text although a later file has digits alone in it."""
    codes = ["1", "2", "x"] * 40
    frame = pd.DataFrame({"code": codes, "y": [code == "2" for code in codes]})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[frame["code"] != "x"].to_csv(tmp_path / "new.csv", index=False)
    assert (
        invoke("fit", tmp_path / "train.csv", "--target", "y", "-o", tmp_path / "m").exit_code == 0
    )
    done = invoke("predict", tmp_path / "m", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    assert "warning" not in done.stderr
    found = pd.read_csv(tmp_path / "p.csv")
    assert found["prediction"].tolist() == [False, True] * 40


def test_codes_with_leading_zeros(invoke, tmp_path):
    """Codes are categories, also in a file without leading zeros, and are kept as written."""
    frame = pd.DataFrame({"zip": ["01234", "12345", "23456"] * 40, "id": "007", "n": range(120)})
    train = frame.assign(y=frame["zip"] == "12345").drop(columns="id")
    train.to_csv(tmp_path / "train.csv", index=False)
    new = frame[frame["zip"] != "01234"].assign(n=lambda rows: rows["n"].map("{:04d}".format))
    new.to_csv(tmp_path / "new.csv", index=False)
    fit = invoke("fit", tmp_path / "train.csv", "--target", "y", "-o", tmp_path / "m")
    assert fit.exit_code == 0, fit.output
    assert splinear.load(tmp_path / "m").terms_["zip"].levels == ("01234", "12345", "23456")
    done = invoke(
        "predict", tmp_path / "m", tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--keep", "id"
    )
    assert done.exit_code == 0, done.output
    assert "warning" not in done.stderr
    found = pd.read_csv(tmp_path / "p.csv", dtype={"id": str})
    assert found["prediction"].tolist() == [True, False] * 40
    assert found["id"].tolist() == ["007"] * 80


def test_text_where_numbers_were(model, customers, invoke, failed, tmp_path):
    customers.assign(age="old").to_csv(tmp_path / "x.csv", index=False)
    done = invoke("predict", model, tmp_path / "x.csv", "-o", tmp_path / "p.csv")
    failed(done, "text in 'age', and the model was trained on numbers there", "--number age")
    assert list(tmp_path.iterdir()) == [tmp_path / "x.csv"]


def test_gaps_and_unseen_levels(model, customers, invoke, tmp_path):
    strange = customers.assign(plan="gold", age=np.nan, country=None)
    strange.to_csv(tmp_path / "x.csv", index=False)
    done = invoke("predict", model, tmp_path / "x.csv", "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    fitted = splinear.load(model)
    expected = fitted.predict_proba(strange.assign(country="NL")[FEATURES])
    found = pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(found.iloc[:, 1:], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveSVC], ids=lambda kind: kind.__name__)
def test_other_models(kind, customers, train, invoke, tmp_path):
    y = customers["age"] if kind is AdditiveRegressor else customers["plan"].fillna("none")
    fitted = kind(random_state=0).fit(customers[["income", "größe"]], y)
    splinear.save(fitted, tmp_path / "m")
    assert invoke("predict", tmp_path / "m", train, "-o", tmp_path / "p.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "p.csv", keep_default_na=False)
    assert found["prediction"].tolist() == fitted.predict(customers[["income", "größe"]]).tolist()
    if kind is AdditiveSVC:
        scores = fitted.decision_function(customers[["income", "größe"]])
        assert list(found.columns[1:]) == ["score_basic", "score_none", "score_pro"]
        np.testing.assert_allclose(found.iloc[:, 1:], scores, rtol=1e-12)


# Explanations.


def test_a_row_is_explained(model, train, customers, invoke):
    done = invoke("explain", model, train, "--row", "17", "--top", "3")
    assert done.exit_code == 0, done.output
    fitted = splinear.load(model)
    assert done.stdout.startswith("Row 17: ")
    assert "2 other terms" in done.stdout
    score = fitted.decision_function(customers[FEATURES].iloc[[16]])[0]
    last = next(line for line in done.stdout.splitlines() if line.startswith("score"))
    assert float(last.split()[1]) == pytest.approx(score, abs=0.006)


def test_all_rows_are_explained_in_a_file(model, train, customers, invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 700)
    done = invoke("explain", model, train, "-o", tmp_path / "e.parquet")
    assert done.exit_code == 0, done.output
    found = pd.read_parquet(tmp_path / "e.parquet")
    parts = found.filter(regex="^contribution_")
    assert list(parts.columns) == [f"contribution_{name}" for name in FEATURES]
    expected = explain(splinear.load(model), customers[FEATURES])
    np.testing.assert_allclose(parts, expected.contribution, atol=1e-12)
    np.testing.assert_allclose(found["base_value"] + parts.sum(axis=1), found["score"], rtol=1e-9)


def test_several_classes_are_explained_by_the_one_predicted(customers, train, invoke, tmp_path):
    fitted = splinear.AdditiveClassifier(random_state=0)
    fitted.fit(customers[["income", "age"]], customers["plan"].fillna("none"))
    splinear.save(fitted, tmp_path / "m")
    assert invoke("explain", tmp_path / "m", train, "-o", tmp_path / "e.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "e.csv", keep_default_na=False)
    scores = fitted.decision_function(customers[["income", "age"]])
    assert found["class"].tolist() == fitted.classes_[scores.argmax(axis=1)].tolist()
    np.testing.assert_allclose(found["score"], scores.max(axis=1), rtol=1e-9)
    done = invoke("explain", tmp_path / "m", train, "--class", "pro", "-o", tmp_path / "e.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "e.csv", keep_default_na=False)
    np.testing.assert_allclose(found["score"], scores[:, list(fitted.classes_).index("pro")])


def test_what_cannot_be_explained(model, train, invoke, failed):
    failed(invoke("explain", model, train, "--row", "601"), "no row 601", "600")
    failed(invoke("explain", model, train, "--class", "maybe"), "its classes are no, yes")
    failed(invoke("explain", model, train, "--class", "no"), "the score is that of 'yes'")


# Other programs.


def test_convert_to_json(model, invoke, tmp_path):
    done = invoke("convert", model, "-o", tmp_path / "m.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["classes"] == ["no", "yes"]


def test_convert_to_onnx(model, customers, expected, invoke, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    done = invoke("convert", model, "--to", "onnx", "-o", tmp_path / "graph")
    assert done.exit_code == 0, done.output
    session = runtime.InferenceSession(tmp_path / "graph")
    feeds = {}
    for put in session.get_inputs():
        column = customers[put.name]
        is_text = put.type == "tensor(string)"
        values = column.fillna("").to_numpy(object) if is_text else column.to_numpy(np.float32)
        feeds[put.name] = values[:, None]
    [found] = session.run(["probabilities"], feeds)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_convert_to_sql(model, customers, expected, invoke, tmp_path):
    arguments = ("--to", "sql", "--dialect", "sqlite", "--table", "customers")
    done = invoke("convert", model, *arguments, "-o", tmp_path / "query.sql")
    assert done.exit_code == 0, done.output
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            base.execute("SELECT exp(1.0)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no functions of mathematics")
        customers.to_sql("customers", base, index=False)
        found = pd.read_sql_query((tmp_path / "query.sql").read_text(encoding="utf-8"), base)
    np.testing.assert_allclose(found["probability"], expected[:, 1], atol=1e-9)


def test_what_cannot_be_converted(model, invoke, failed, tmp_path):
    done = invoke("convert", model, "-o", tmp_path / "x.txt")
    failed(done, "Add --to, one of onnx, sql, json", code=2)
    done = invoke("convert", model, "--to", "pmml", "-o", tmp_path / "x")
    failed(done, "onnx, sql, json", "pmml", code=2)
    done = invoke("convert", model, "--to", "sql", "--dialect", "oracle", "-o", tmp_path / "x")
    failed(done, "duckdb", "oracle")
    assert list(tmp_path.iterdir()) == []
