"""Offsets as columns of files: fit, predict and report."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import splinear
from splinear import AdditiveClassifier, AdditiveRegressor


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    """Return a CSV file of counts under exposures, and its rows."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"x": random.normal(size=400), "z": random.normal(size=400)})
    rows["log_years"] = random.normal(scale=1.5, size=400)
    rows["claims"] = random.poisson(np.exp(np.sin(rows["x"]) + rows["log_years"] - 0.5))
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    rows.to_csv(path, index=False)
    return path, rows


NAMED = ("--target", "claims", "--loss", "poisson", "--offset", "log_years")


def test_fit_predict_and_report(claims, invoke, tmp_path):
    path, rows = claims
    model, X, offset = tmp_path / "m", rows[["x", "z"]], rows["log_years"]
    done = invoke("fit", path, *NAMED, "-o", model)
    assert done.exit_code == 0, done.output
    expected = AdditiveRegressor(loss="poisson", random_state=0)
    expected.fit(X, rows["claims"], offset=offset)
    found = splinear.load(model)
    assert list(found.feature_names_in_) == ["x", "z"]
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)

    for options, own in ((("--offset", "log_years"), offset), ((), None)):
        done = invoke("predict", model, path, "-o", tmp_path / "p.csv", "--force", *options)
        assert done.exit_code == 0, done.output
        predicted = pd.read_csv(tmp_path / "p.csv")["prediction"]
        np.testing.assert_allclose(predicted, found.predict(X, offset=own), rtol=1e-9)
    kept = ("--keep", "log_years", "--offset", "log_years")
    done = invoke("predict", model, path, "-o", tmp_path / "k.csv", *kept)
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(pd.read_csv(tmp_path / "k.csv")["log_years"], offset)

    shares = []
    for options in (("--offset", "log_years"), ()):
        named = ("--target", "claims", "-o", tmp_path / "r.html", "--force")
        done = invoke("report", model, path, *named, *options)
        assert done.exit_code == 0, done.output
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert ("with their offsets" in page) == bool(options)
        shares.append(float(re.search(r"D²</span> <strong>([-\d.]+)", page)[1]))
    assert shares[0] == pytest.approx(found.score(X, rows["claims"], offset=offset), abs=1e-3)
    assert shares[1] == pytest.approx(found.score(X, rows["claims"]), abs=1e-3)


def test_held_out_rows_are_measured_with_their_offset(claims, invoke, tmp_path):
    path, _ = claims
    named = (*NAMED, "--holdout", "0.25", "--report", tmp_path / "r.html")
    done = invoke("fit", path, *named, "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    share = float(re.search(r"D² +([-\d.]+)", done.stdout)[1])
    assert share > 0.6
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "with their offsets" in page
    assert float(re.search(r"D²</span> <strong>([-\d.]+)", page)[1]) == share


def test_several_classes_have_a_column_each(invoke, tmp_path):
    random = np.random.default_rng(0)
    X, o = random.normal(size=(300, 2)), random.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[(2 * o + random.gumbel(size=(300, 3))).argmax(axis=1)]
    rows = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y, "o1": o[:, 0], "o2": o[:, 1]})
    rows["o3"] = o[:, 2]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    each = ("--offset", "o1", "--offset", "o2", "--offset", "o3")
    done = invoke("fit", tmp_path / "rows.csv", "--target", "y", *each, "-o", tmp_path / "m")
    assert done.exit_code == 0, done.output
    table, offset = rows[["x", "z"]], rows[["o1", "o2", "o3"]]
    expected = AdditiveClassifier(random_state=0).fit(table, y, offset=offset)
    done = invoke("predict", tmp_path / "m", tmp_path / "rows.csv", *each, "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "p.csv")[[f"probability_{name}" for name in "abc"]]
    np.testing.assert_allclose(found, expected.predict_proba(table, offset=offset), atol=1e-9)
    one = ("--target", "y", "--offset", "o1", "-o", tmp_path / "n")
    done = invoke("fit", tmp_path / "rows.csv", *one, "--drop", "o2", "--drop", "o3")
    assert done.exit_code != 0
    said = " ".join(done.stderr.split())
    assert "--offset names 1 column, and there are 3 scores per row: name a column for each" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--offset", "nobody"), "has no column 'nobody' for --offset"),
        (("--offset", "text"), "the column 'text' of --offset must hold numbers"),
        (("--offset", "gap"), "the column 'gap' of --offset has no value in row 3"),
        (("--offset", "far"), "'far' of --offset must hold finite numbers; row 1 has inf"),
        (("--offset", "y"), "--target and --offset name the same column, 'y'"),
        (("--offset", "x", "--offset", "x"), "--offset names the column 'x' twice"),
        (
            ("--offset", "x", "--offset", "zero"),
            "--offset names 2 columns, and there is one score per row: name one",
        ),
        (("--offset", "day"), "the column 'day' of --offset holds dates, times or intervals"),
        (("--offset", "mixed"), "of --offset must hold numbers; row 5 holds 'n/k'"),
        (("--offset", "flag"), "of --offset must hold numbers; row 1 holds False"),
        (("--weight", "day"), "the column 'day' of --weight holds dates, times or intervals"),
        (("--counts", "mixed"), "of --counts must hold numbers; row 5 holds 'n/k'"),
    ],
)
def test_wrong_columns_are_named(options, message, invoke, tmp_path):
    rows = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12) % 2, "far": np.inf})
    rows["text"], rows["gap"] = list("abcabcabcabc"), [1.0, 1.0, None, *[1.0] * 9]
    rows["zero"], rows["flag"] = 0.0, np.arange(12) % 2 == 1
    rows["day"] = pd.date_range("2024-01-01", periods=12)
    rows["mixed"] = ["1", "2.5", "-3e2", "0", "n/k", *"1234567"]
    rows.to_parquet(tmp_path / "rows.parquet")
    done = invoke("fit", tmp_path / "rows.parquet", "--target", "y", "-o", tmp_path / "m", *options)
    assert done.exit_code != 0
    assert re.search(message, " ".join(done.stderr.split()))


@pytest.mark.parametrize(
    ("command", "options", "message", "code"),
    [
        ("predict", ("x", "z"), "--offset names 2 columns, and there is one score per row", 2),
        ("report", ("x", "z"), "--offset names 2 columns, and there is one score per row", 2),
        ("predict", ("z", "z"), "--offset names the column 'z' twice; leave one of them out", 2),
        ("report", ("claims",), "--target and --offset name the same column, 'claims'", 2),
        ("predict", ("nobody",), "has no column 'nobody' for --offset", 1),
        ("report", ("nobody",), "has no column 'nobody' for --offset", 1),
    ],
)
def test_wrong_offsets_of_a_model(command, options, message, code, claims, invoke, tmp_path):
    path, _ = claims
    model, out = tmp_path / "m", tmp_path / "o.html"
    assert invoke("fit", path, *NAMED, "-o", model).exit_code == 0
    named = [part for name in options for part in ("--offset", name)]
    more = ("--target", "claims", "-o", out) if command == "report" else ()
    done = invoke(command, model, path, *more, *named)
    assert done.exit_code == code
    assert message in done.stderr
    assert not out.exists()


def test_an_offset_without_a_target_to_measure_with(claims, invoke, failed, tmp_path):
    """It was left out without a word."""
    path, _ = claims
    model, out = tmp_path / "m", tmp_path / "o.html"
    assert invoke("fit", path, *NAMED, "-o", model).exit_code == 0
    done = invoke("report", model, path, "-o", out, "--offset", "log_years")
    failed(done, "--offset is for measures, which need --target", code=2)
    assert not out.exists()
