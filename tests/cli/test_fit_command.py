"""``splinear fit``: what it understands, what it prints, what it writes."""

from __future__ import annotations

import bz2
import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import splinear
from splinear import (
    AdditiveClassifier,
    AdditiveOrdinal,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
)
from splinear.losses import Quantile

CHURN = ("--target", "churn", "--drop", "name", "--drop", "spent")


def test_the_model_is_that_of_python(model, train, customers):
    """The file is read as a data frame would be: text, gaps, classes and all."""
    fitted = splinear.load(model)
    X = customers.drop(columns=["name", "spent", "churn"])
    expected = AdditiveClassifier(random_state=0).fit(X, customers["churn"])
    assert type(fitted) is AdditiveClassifier
    assert list(fitted.feature_names_in_) == list(X.columns)
    assert fitted.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-9)


def test_what_was_understood_is_printed(train, invoke, tmp_path):
    done = invoke("fit", train, "--target", "churn", "-o", tmp_path / "m", "--drop", "spent")
    assert done.exit_code == 0, done.output
    out = done.stdout
    for row in (
        r"name +category +600 levels, about one per row: --drop it\?",
        r"age +number +18 to 79",
        r"income +number +\d+\.\d% +[\d.]+ to [\d.]+",
        r"größe +number +-[\d.]+ to [\d.]+",
        r"plan +category +\d+\.\d% +2 levels: basic, pro",
        r"country +category +one value: has no effect",
        r"Target +churn: classification; (yes|no) \d+\.\d%, (yes|no) \d+\.\d%",
        r"Rows +600 to train on$",
        r"Model +\S+/m \(\d+ kB\)",
    ):
        assert re.search(row, out, re.MULTILINE), row
    assert "spent" not in out
    assert max(map(len, out.split("\nModel")[0].splitlines())) <= 80
    assert "warning: column 'name' has 600 levels in 600 rows" in done.stderr
    assert re.search(r"^Training AdditiveClassifier: \d+\.\d s$", done.stderr, re.MULTILINE)


def test_booleans_are_shown_as_such(invoke, tmp_path):
    rows = pd.DataFrame({"on": np.arange(40) % 3 == 0, "gaps": [True, False, None, True] * 10})
    rows.assign(always=True, y=np.arange(40) % 7).to_csv(tmp_path / "rows.csv", index=False)
    done = invoke(
        "fit", tmp_path / "rows.csv", "--target", "y", "-o", tmp_path / "m", "--task", "regression"
    )
    for row in (
        r"on +boolean +False or True",
        r"gaps +boolean +25\.0% +False or True",
        r"always +boolean +one value: has no effect",
    ):
        assert re.search(row, done.stdout), done.output


def test_a_column_without_values_is_shown_as_such(invoke, tmp_path):
    rows = pd.DataFrame({"x": range(40), "empty": np.nan, "y": np.arange(40) % 7})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    done = invoke(
        "fit", tmp_path / "rows.csv", "--target", "y", "-o", tmp_path / "m", "--task", "regression"
    )
    assert re.search(r"empty +\w+ +100\.0% +no values: has no effect", done.stdout), done.output


def test_measures_are_of_rows_that_were_held_out(train, customers, invoke, tmp_path):
    path = tmp_path / "m.splinear"
    done = invoke("fit", train, *CHURN, "-o", path, "--holdout", "0.25", "--seed", "3")
    assert done.exit_code == 0, done.output
    assert "450 to train on, 150 held out" in done.stdout

    from sklearn.model_selection import train_test_split

    X, y = customers.drop(columns=["name", "spent", "churn"]), customers["churn"]
    kept, held = train_test_split(np.arange(600), test_size=0.25, random_state=3, stratify=y)
    fitted = splinear.load(path)
    again = AdditiveClassifier(random_state=3).fit(X.iloc[kept], y.iloc[kept])
    P, y_held = fitted.predict_proba(X.iloc[held]), y.iloc[held]
    np.testing.assert_allclose(P, again.predict_proba(X.iloc[held]), atol=1e-2)
    expected = {
        "Accuracy": f"{accuracy_score(y_held, fitted.predict(X.iloc[held])):.1%}",
        "Area under ROC": f"{roc_auc_score(y_held == 'yes', P[:, 1]):.3f}",
        "Log-loss": f"{log_loss(y_held, P):.4f}",
    }
    for name, value in expected.items():
        assert re.search(rf"^{name} +{re.escape(value)} ", done.stdout, re.MULTILINE), name


def test_numbers_are_a_regression(train, customers, invoke, tmp_path):
    path = tmp_path / "m.splinear"
    drop = ("--drop", "name", "--drop", "churn")
    done = invoke("fit", train, "--target", "spent", *drop, "-o", path, "--holdout", "0.2")
    assert done.exit_code == 0, done.output
    assert "regression (--task classification if it is not); numbers from" in done.stdout
    assert float(re.search(r"R² +(\d\.\d+)", done.stdout)[1]) > 0.95
    assert "Mean absolute error" in done.stdout
    assert type(splinear.load(path)) is AdditiveRegressor


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1], "classification"),
        ([1.5, 2.5], "regression"),
        (list(range(10)), "classification"),
        (list(range(11)), "regression"),
        ([0.5, 1.5, 2.5], "regression"),
        (["true", "false"], "classification"),
        ([f"class {k}" for k in range(12)], "classification"),
    ],
    ids=["0 and 1", "two halves", "ten digits", "eleven", "halves", "booleans", "text"],
)
def test_the_task_follows_from_the_target(values, task, invoke, tmp_path):
    path = tmp_path / "x.csv"
    random = np.random.default_rng(0)
    y = [values[k % len(values)] for k in range(120)]
    pd.DataFrame({"x": random.normal(size=120), "y": y}).to_csv(path, index=False)
    done = invoke("fit", path, "--target", "y", "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    assert f"y: {task}" in done.stdout


@pytest.mark.parametrize(
    ("target", "options", "kind"),
    [
        ("churn", ["--loss", "hinge"], AdditiveSVC),
        ("churn", ["--loss", "squared_hinge", "--C", "0.5"], AdditiveSVC),
        ("churn", ["--C", "2"], AdditiveClassifier),
        ("spent", ["--loss", "gamma"], AdditiveRegressor),
        ("spent", ["--loss", "epsilon_insensitive"], AdditiveSVR),
        ("age", ["--task", "classification"], AdditiveClassifier),
        ("churn", ["--interactions", "1", "--seed", "7"], AdditiveClassifier),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_options_reach_the_estimator(target, options, kind, train, invoke, tmp_path):
    done = invoke(
        "fit", train, "--target", target, "--drop", "name", *options, "-o", tmp_path / "m"
    )
    assert done.exit_code == 0, done.output
    fitted = splinear.load(tmp_path / "m")
    assert type(fitted) is kind
    asked = dict(zip(options[::2], options[1::2], strict=True))
    for name in ("loss", "C", "interactions"):
        if f"--{name}" in asked and hasattr(fitted, name):
            assert str(getattr(fitted, name)).removesuffix(".0") == asked[f"--{name}"]
    assert fitted.random_state == int(asked.get("--seed", 0))
    assert fitted.callback is None
    assert fitted.n_jobs is None


@pytest.mark.parametrize("form", ["csv.gz", "csv.bz2", "tsv", "semicolons", "parquet", "folder"])
def test_forms_of_files(form, customers, model, invoke, tmp_path):
    """The same rows, the same model, whatever the format."""
    path = tmp_path / f"train.{form}"
    text = customers.to_csv(index=False).encode()
    if form == "csv.gz":
        path.write_bytes(gzip.compress(text))
    elif form == "csv.bz2":
        path.write_bytes(bz2.compress(text))
    elif form == "tsv":
        customers.to_csv(path, index=False, sep="\t")
    elif form == "semicolons":
        path = tmp_path / "european.csv"
        customers.to_csv(path, index=False, sep=";", decimal=",")
    else:
        path.mkdir() if form == "folder" else None
        customers.to_parquet(path / "a.parquet" if form == "folder" else path)
    done = invoke("fit", path, *CHURN, "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    X = customers.drop(columns=["name", "spent", "churn"])
    found, expected = (splinear.load(p).predict_proba(X) for p in (tmp_path / "m", model))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_libsvm_files_have_their_target_in_them(invoke, failed, tmp_path):
    random = np.random.default_rng(0)
    X = random.random((300, 6)) * (random.random((300, 6)) < 0.5)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=False)
    done = invoke("fit", tmp_path / "x.svm", "-o", tmp_path / "m", "--holdout", "0.2")
    assert done.exit_code == 0, done.output
    assert "6 columns of numbers, sparse" in done.stdout
    assert "label: classification" in done.stdout
    assert re.search(r"^column [12] ", done.stdout, re.MULTILINE)  # as the file counts them
    done = invoke("fit", tmp_path / "x.svm", "--target", "y", "-o", tmp_path / "m")
    failed(done, "begins every line with the target", "leave out --target")


def test_rows_without_a_target_are_left_out(customers, invoke, tmp_path):
    frame = customers.assign(churn=customers["churn"].where(np.arange(600) >= 90))
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    frame.iloc[90:].to_csv(tmp_path / "rest.csv", index=False)
    models = []
    for name in ("gaps", "rest"):
        done = invoke("fit", tmp_path / f"{name}.csv", *CHURN, "-o", tmp_path / name)
        assert done.exit_code == 0, done.output
        models.append(splinear.load(tmp_path / name))
        assert ("90 without a target are left out" in done.stdout) == (name == "gaps")
    X = customers.drop(columns=["name", "spent", "churn"])
    first, second = (fitted.predict_proba(X) for fitted in models)
    np.testing.assert_allclose(first, second, atol=1e-2)


def test_whole_numbers_stay_whole_where_some_are_missing(invoke, tmp_path):
    y = [None if k % 7 == 0 else k % 3 for k in range(210)]
    frame = pd.DataFrame({"x": np.arange(210) % 13, "y": pd.array(y, dtype="Int64")})
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = invoke("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    assert splinear.load(tmp_path / "m").classes_.tolist() == [0, 1, 2]


def test_names_are_printed_as_they_are(invoke, tmp_path):
    """Names and levels that look like rich's markup, like a terminal's codes, or are very long."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "[bold red]x[/]": random.normal(size=99),
            "[/]": random.choice(["[link=x]a", "b]"], 99),
            "é" * 70: random.normal(size=99),
            "y": random.integers(0, 2, 99),
        }
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = invoke("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    assert "[bold red]x[/]" in done.stdout
    assert "[link=x]a" in done.stdout
    assert "é" * 25 in done.stdout


def test_many_columns_are_not_all_listed(invoke, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 100))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(100)]).assign(y=X[:, 0] > 0)
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = invoke("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m", "--C", "1")
    assert done.exit_code == 0, done.output
    assert "... and 60 more" in done.stdout
    assert done.stdout.count("\n") < 80


def test_an_existing_file_is_replaced_only_by_a_model(train, invoke, failed, tmp_path):
    path = tmp_path / "m.splinear"
    path.write_text("old")
    wrong = ("fit", train, "--target", "nothing", "-o", path, "--force")
    failed(invoke(*wrong), "no column 'nothing'")
    assert path.read_text() == "old"
    assert invoke("fit", train, *CHURN, "-o", path, "--C", "1", "--force").exit_code == 0
    assert type(splinear.load(path)) is AdditiveClassifier


def test_weights_and_counts_are_columns_of_the_file(invoke, tmp_path):
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"x": random.normal(size=200), "z": random.normal(size=200)})
    rows["y"] = rows["x"] + random.normal(size=200)
    rows["w"], rows["n"] = random.random(200), random.integers(1, 4, 200)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    named = ("--target", "y", "--weight", "w", "--counts", "n", "--task", "regression")
    done = invoke("fit", tmp_path / "rows.csv", *named, "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    found = splinear.load(tmp_path / "m")
    expected = AdditiveRegressor(random_state=0).fit(
        rows[["x", "z"]], rows["y"], rows["w"], counts=rows["n"]
    )
    assert list(found.feature_names_in_) == ["x", "z"]
    np.testing.assert_allclose(
        found.predict(rows[["x", "z"]]), expected.predict(rows[["x", "z"]]), atol=1e-9
    )
    held = invoke("fit", tmp_path / "rows.csv", *named, "-o", tmp_path / "h", "--holdout", "0.25")
    assert re.search(r"^Rows +150 to train on, 50 held out$", held.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "nobody"), "has no column 'nobody' for --weight"),
        (
            ("--counts", "half"),
            "'half' of --counts must hold whole numbers of at least 0; row 1 has 0.5",
        ),
        (("--weight", "text"), "the column 'text' of --weight must hold numbers"),
        (("--weight", "gap"), "the column 'gap' of --weight has no value in row 3"),
    ],
)
def test_wrong_columns_of_weights_are_named(options, message, invoke, tmp_path):
    rows = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12) % 2, "half": 0.5})
    rows["text"], rows["gap"] = list("abcabcabcabc"), [1.0, 1.0, None, *[1.0] * 9]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    done = invoke("fit", tmp_path / "rows.csv", "--target", "y", "-o", tmp_path / "m", *options)
    assert done.exit_code != 0
    assert re.search(message, " ".join(done.stderr.split()))


def test_ordered_levels(invoke, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.uniform(-2, 2, 500), "b": rng.uniform(-2, 2, 500)})
    latent = 2.0 * np.sin(2.0 * rows["a"]) + rng.logistic(size=500)
    names = np.array(["poor", "fair", "good"])
    rows["grade"] = names[np.digitize(latent, [-1.0, 1.0])]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given = ("fit", tmp_path / "rows.csv", "--target", "grade", "-o", tmp_path / "m.splinear")
    levels = [part for name in names for part in ("--order", name)]
    done = invoke(*given, *levels, "--holdout", "0.2", "--report", tmp_path / "m.html")
    assert done.exit_code == 0, done.output
    assert re.search(r"Target +grade: ordinal; ", done.stdout)
    assert "Ranked probability score" in done.stdout
    assert "3 ordered levels" in (tmp_path / "m.html").read_text(encoding="utf-8")
    model = splinear.load(tmp_path / "m.splinear")
    assert type(model) is AdditiveOrdinal
    assert model.classes_.tolist() == names.tolist()
    predicted = invoke("predict", tmp_path / "m.splinear", tmp_path / "rows.csv")
    found = pd.read_csv(io.StringIO(predicted.stdout))
    P = model.predict_proba(rows[["a", "b"]])
    np.testing.assert_allclose(found[[f"probability_{name}" for name in names]], P, atol=1e-6)
    reasons = invoke("explain", tmp_path / "m.splinear", tmp_path / "rows.csv", "--row", "3")
    assert reasons.exit_code == 0, reasons.output
    refused = invoke("explain", tmp_path / "m.splinear", tmp_path / "rows.csv", "--class", "fair")
    assert "leave out --class" in refused.stderr
    for options, message in (
        (("--task", "ordinal"), "name them all, the lowest first: --order fair"),
        (levels[:4], "holds 'good', which is not among the levels"),
        ((*levels, "--loss", "log"), "--order is for --task ordinal"),
    ):
        done = invoke(*given[:-1], tmp_path / "other.splinear", *options)
        assert done.exit_code != 0
        assert message in " ".join(done.stderr.split())


def test_ordered_numbers(invoke, tmp_path):
    rows = pd.DataFrame({"a": np.arange(200.0), "grade": np.arange(200) // 67 + 1})
    rows.loc[::9, "grade"] = 2
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given = ("fit", tmp_path / "rows.csv", "--target", "grade", "--task", "ordinal")
    done = invoke(*given, "-o", tmp_path / "m.splinear")
    assert done.exit_code == 0, done.output
    assert splinear.load(tmp_path / "m.splinear").classes_.tolist() == [1, 2, 3]
    done = invoke(*given, "-o", tmp_path / "n.splinear", "--order", "1")
    assert "holds numbers, which have an order" in " ".join(done.stderr.split())


def test_quantiles_have_a_level(customers, invoke, tmp_path):
    rows = customers[["age", "income", "spent"]].dropna()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given = ("fit", tmp_path / "rows.csv", "--target", "spent", "-o", tmp_path / "m")
    done = invoke(*given, "--loss", "quantile", "--level", "0.8", "--holdout", "0.2")
    assert done.exit_code == 0, done.output
    assert splinear.load(tmp_path / "m").loss == Quantile(0.8)
    assert re.search(r"^Share below +\d+", done.stdout, re.MULTILINE)
    done = invoke(*given, "--loss", "poisson", "--level", "0.8", "--force")
    assert done.exit_code != 0
    assert "--level is for --loss quantile; the loss is poisson" in done.output
    done = invoke(*given, "--loss", "quantile", "--level", "80", "--force")
    assert "--level is a number between 0 and 1; got 80" in done.output


def test_a_model_of_several_quantiles_predicts_a_column_each(customers, invoke, tmp_path):
    rows = customers[["age", "income", "spent"]].dropna()
    X, y = rows[["age", "income"]], rows["spent"]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = AdditiveRegressor(loss=Quantile([0.1, 0.9]), random_state=0).fit(X, y)
    splinear.save(model, tmp_path / "m")
    done = invoke("predict", tmp_path / "m", tmp_path / "rows.csv", "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found.columns) == ["prediction_0.1", "prediction_0.9"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9)
    told = ("explain", tmp_path / "m", tmp_path / "rows.csv", "--class", "0.9")
    done = invoke(*told, "-o", tmp_path / "e.csv")
    assert done.exit_code == 0, done.output
    score = pd.read_csv(tmp_path / "e.csv")["score"]
    np.testing.assert_allclose(score, model.predict(X)[:, 1], rtol=1e-9)
    done = invoke(*told[:-2], "-o", tmp_path / "f.csv")
    assert "name one by --class" in done.output
