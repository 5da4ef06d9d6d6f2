"""Tables as people have them: amounts, dates, odd cells, names in several spellings, leaks."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import splinear
from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.tables.csv import CsvFile
from splinear.tables.lenient import read_number

nan = np.nan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1.0), (" -2.5 ", -2.5), ("+3", 3.0), ("1e5", 1e5), (".5", 0.5),
        ("1234567", 1234567.0),
        ("$1,234.50", 1234.5), ("-$5", -5.0), ("$-5", -5.0), ("(1,234)", -1234.0),
        ("EUR 3.5", 3.5), ("3.5 EUR", 3.5), ("€1'000", 1000.0), ("1 234 567", 1234567.0),
        ("12.5 %", 12.5), ("12%", 12.0), ("\N{MINUS SIGN}4", -4.0),
        ("", nan), (" ", nan), ("n/a", nan), ("1,2", nan), ("1,23,4", nan), ("-", nan), ("(5", nan),
        ("1.2.3", nan), ("12:30", nan), ("1-2", nan), ("nan", nan), ("inf", nan), ("--5", nan),
        ("abc 5", nan), ("5 abc", nan), ("1_000", nan), ("$", nan),
    ],
)  # fmt: skip
def test_amounts(text, expected):
    np.testing.assert_equal(read_number(text), expected)


def test_amounts_with_decimal_commas():
    found = [read_number(text, ",") for text in ("1.234,5", "12,5 %", "1 000", "1.5", "1,234.5")]
    np.testing.assert_equal(found, [1234.5, 12.5, 1000.0, nan, nan])


@pytest.fixture
def messy(tmp_path):
    """Amounts, percents, dates and numbers with odd cells; and the same table as numbers."""
    random = np.random.default_rng(0)
    n = 200
    clean = pd.DataFrame(
        {
            "price": random.integers(-3_000, 90_000, n) / 10,
            "rate": random.integers(0, 1_000, n) / 10,
            "total": random.integers(0, 5_000, n) / 100,
            "day": random.integers(18_000, 19_000, n).astype(float),
        }
    )
    clean["y"] = (clean["price"] / 3_000 + random.normal(size=n) > 1).astype(int)
    days = pd.to_datetime(clean["day"], unit="D")
    clean.loc[:4, "total"] = np.nan
    text = pd.DataFrame(
        {
            "price": [f"${x:,.2f}" if x >= 0 else f"(${-x:,.2f})" for x in clean["price"]],
            "rate": [f"{x} %" for x in clean["rate"]],
            "total": [" " if np.isnan(x) else str(x) for x in clean["total"]],
            "day": days.dt.strftime("%Y-%m-%d"),
            "y": clean["y"],
        }
    )
    text.to_csv(tmp_path / "messy.csv", index=False)
    text.assign(day=days).to_parquet(tmp_path / "messy.parquet")
    return tmp_path, clean


READ = ("--number", "price", "--number", "rate", "--number", "total", "--dates", "day")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_model_is_that_of_the_numbers(ending, messy, invoke):
    folder, clean = messy
    path, model = folder / f"messy.{ending}", folder / "m"
    done = invoke("fit", path, "--target", "y", "-o", model, *READ)
    assert done.exit_code == 0, done.output
    assert re.search(r"total +number +2\.5%", done.stdout)
    assert "warning" not in done.stderr
    X, y = clean.drop(columns="y"), clean["y"]
    expected = AdditiveClassifier(random_state=0).fit(X, y)
    fitted = splinear.load(model)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    for command in ("predict", "explain"):
        done = invoke(command, model, path, "-o", folder / f"{command}.csv", *READ)
        assert done.exit_code == 0, done.output
    found = pd.read_csv(folder / "predict.csv")["probability_1"]
    np.testing.assert_allclose(found, expected.predict_proba(X)[:, 1], atol=1e-9)
    assert invoke("explain", model, path, "--row", "3", *READ).exit_code == 0
    page = folder / "p.html"
    assert invoke("report", model, path, "--target", "y", "-o", page, *READ).exit_code == 0


def test_options_of_fit_are_asked_for_again(messy, invoke):
    """The model was trained on numbers; what they were read from is not in it."""
    folder, _ = messy
    path, model = folder / "messy.csv", folder / "m"
    assert invoke("fit", path, "--target", "y", "-o", model, *READ).exit_code == 0
    asked = [("predict",), ("explain",), ("report", "-o", folder / "p.html")]
    for command, *more in asked:
        done = invoke(command, model, path, *more)
        assert done.exit_code == 1
        assert "text in 'price', 'rate', 'total' and dates in 'day', and the mod" in done.stderr
        assert f"add its options: {' '.join(READ)}" in done.stderr
        done = invoke(command, model, path, *more, *READ[2:])
        assert "text in 'price', and" in done.stderr
    rows = pd.read_csv(path).drop(columns="y")
    days = pd.to_datetime(rows["day"])
    for unread in (rows, rows.assign(day=days)):  # in Python
        with pytest.raises(ValueError, match=r"days since 1970-01-01"):
            splinear.load(model).predict(unread)


def test_from_python(messy):
    folder, clean = messy
    table = CsvFile(folder / "messy.csv", numbers=["price", "rate", "total"], dates=["day"])
    X = clean.drop(columns="y")
    model = AdditiveClassifier(C=1.0, random_state=0).fit(table, "y")
    expected = AdditiveClassifier(C=1.0, random_state=0).fit(X, clean["y"])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-9)
    priced = AdditiveRegressor(C=1.0).fit(table, "price")
    assert priced.predict(table.without("price")).std() > 0


def test_a_number_with_odd_cells_says_which(messy, invoke):
    folder, _ = messy
    done = invoke(
        "fit", folder / "messy.csv", "--target", "y", "-o", folder / "m", *READ[:4], *READ[6:]
    )
    assert done.exit_code == 0, done.output
    hint = "column 'total' is read as categories, but 195 of 200 values are numbers; the others are"
    assert f"{hint} ' '. Read it as numbers" in done.stderr
    assert "--number" in done.stderr
    assert "identifier" not in done.stderr


def test_codes_and_short_categories_are_no_numbers():
    n = 100
    frame = pd.DataFrame(
        {"code": [f"{k:03}" for k in range(n)], "kids": ["0", "1", "2", "3+"] * 25}
    )
    with pytest.warns(UserWarning, match="identifier") as found:
        AdditiveClassifier(C=1.0).fit(frame, np.arange(n) % 2)
    assert len(found) == 1


@pytest.mark.parametrize(
    "levels",
    [[" Paris", "paris", "Paris", "Ghent"], [1, "1", 2, "x"], ["New  York", "New York", "a", "b"]],
)
def test_levels_that_are_nearly_equal(levels):
    frame = pd.DataFrame({"town": np.array(levels * 10, dtype=object)})
    with pytest.warns(UserWarning, match="column 'town' has levels that differ by case") as found:
        AdditiveClassifier(C=1.0).fit(frame, np.arange(40) % 2)
    text = str(found[0].message)
    assert repr(levels[0]) in text
    assert repr(levels[1]) in text
    assert repr(levels[3]) not in text


@pytest.mark.parametrize("first", [0, 1, 1000])
def test_a_row_number_is_an_identifier(first, invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 60)  # in several pieces
    rows = pd.DataFrame({"row": np.arange(first, first + 100), "x": np.arange(100) % 7})
    rows["almost"] = [*range(99), 5]
    rows.assign(y=np.random.default_rng(0).integers(0, 2, 100)).to_csv(
        tmp_path / "x.csv", index=False
    )
    done = invoke("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m")
    assert re.search(
        r"row +number +[\d,]+ to [\d,]+, the number of the row: --drop it\?", done.stdout
    )
    assert done.stdout.count("--drop it?") == 1


@pytest.mark.parametrize("task", ["two classes", "three classes", "numbers"])
def test_a_column_that_gives_the_target_away(task, invoke, tmp_path):
    random = np.random.default_rng(0)
    x, noise = random.normal(size=(2, 150))
    y = {"two classes": (x > 0).astype(int), "three classes": np.digitize(x, [-1, 1]), "numbers": x}
    frame = pd.DataFrame({"noise": noise, "leak": y[task] * 3.0 + 1, "y": y[task]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    fit = ("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m")
    done = invoke(*fit)
    assert "warning: column 'leak' alone gives the target away" in done.stderr, done.output
    frame["leak"] += random.normal(size=150)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert "gives the target away" not in invoke(*fit).stderr


@pytest.mark.parametrize(
    ("options", "parts", "code"),
    [
        (["--number", "prise"], ["no column 'prise' to read as numbers", "mean 'price'"], 1),
        (["--number", "day", "--dates", "day"], ["name the same column, 'day'"], 2),
        (["--dates", "price"], ["the column 'price'", "cannot be read as dates", "2026-05-31"], 1),
    ],
)
def test_columns_that_cannot_be_read_so(options, parts, code, messy, invoke):
    folder, _ = messy
    done = invoke("fit", folder / "messy.csv", "--target", "y", "-o", folder / "m", *options)
    assert done.exit_code == code, done.output
    for part in parts:
        assert part in done.stderr.splitlines()[-1]
