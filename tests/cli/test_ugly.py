"""What goes wrong: one line that says what to do, an exit code, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import splinear
from splinear import AdditiveClassifier

COMMAND = [sys.executable, "-c", "from splinear.cli import main; main()"]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["cannot be read as CSV", "Empty"]),
        ("a,y\n", ["no rows"]),
        ("a,b\n1,2\n3\n", ["cannot be read as CSV", "Expected 2 columns"]),
        ("a,a,y\n1,2,0\n3,4,1\n", ["several columns named 'a'"]),
        ("a,b\n1,0\n2,1\n", ["no column 'y' to predict; it has 'a', 'b'"]),
        ("a~b~y\n1~2~0\n3~4~1\n", ["no column 'y' to predict; it has 'a~b~y'", "--delimiter"]),
        ("a,y\n1,5\n2,5\n3,5\n", ["the target 'y' is 5 in all rows", "--target"]),
        ("a,y\n1,\n2,\n3,\n", ["the target 'y' is missing in all rows"]),
        ("a,y\n1,2020-01-01\n2,2020-01-02\n", ["the target 'y' holds dates"]),
        ("y\n0\n1\n0\n", ["is left to learn from"]),
    ],
    ids=["empty", "no rows", "ragged", "twice", "no target", "delimiter", "one value", "no value",
         "dates", "target alone"],
)  # fmt: skip
def test_files_that_make_no_sense(content, parts, invoke, failed, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(content, encoding="utf-8")
    failed(invoke("fit", path, "--target", "y", "-o", tmp_path / "m"), *parts)
    assert list(tmp_path.iterdir()) == [path]


def test_dates_are_to_be_dropped(invoke, tmp_path):
    days = pd.date_range("2020-01-01", periods=50).astype(str)
    frame = pd.DataFrame({"day": days, "x": np.arange(50), "y": np.arange(50) % 2})
    frame.to_csv(tmp_path / "x.csv", index=False)
    fit = ("fit", tmp_path / "x.csv", "--target", "y", "-o", tmp_path / "m")
    done = invoke(*fit)
    assert done.exit_code == 1
    assert "dates or times: day; leave them out by --drop" in done.stderr
    assert invoke(*fit, "--drop", "day").exit_code == 0


def test_text_that_is_not_utf_8(invoke, failed, tmp_path):
    path, fit = tmp_path / "x.csv", ("--target", "y", "-o", tmp_path / "m")
    path.write_text("city,x,y\n" + "Köln,1,0\nParis,2,1\n" * 20, encoding="latin-1")
    failed(invoke("fit", path, *fit), "bytes, not UTF-8 text: city")
    assert invoke("fit", path, *fit, "--drop", "city").exit_code == 0


def test_a_table_that_is_named_txt(invoke, failed, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a|y\n1|0\n2|1\n", encoding="utf-8")
    done = invoke("fit", path, "-o", tmp_path / "m")
    failed(done, "line 1 is not of the form 'label index:value ...'", "must end in .csv or .tsv")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            ["--target", "churn", "--drop", "nme"],
            ["no column 'nme' to drop; it has 'name'", "you mean 'name'?"],
        ),
        (["--target", "chrun"], ["no column 'chrun' to predict", "did you mean 'churn'?"]),
        ([], ["name the column to predict: --target, one of 'name', 'age'"]),
        (["--target", "churn", "--task", "regression"], ["the target 'churn' is text"]),
        (["--target", "churn", "--loss", "absolute"], ["no loss 'absolute'", "hinge"]),
        (["--target", "churn", "--loss", "gamma", "--task", "classification"], ["is for regress"]),
        (["--target", "churn", "--interactions", "many"], ["a number of pairs, or auto"]),
        (["--target", "churn", "--interactions", "2", "--loss", "hinge"], ["--interactions"]),
        (["--target", "churn", "--max-memory", "lots"], ["max_memory"]),
        (["--target", "churn", "--C", "-1"], ["--C is a number above 0; got -1"]),
        (
            ["--target", "churn", "--task", "ranking"],
            ["--task is classification, regression or ordinal; got 'ranking'"],
        ),
        (["--target", "churn", "--delimiter", ";;"], ["--delimiter"]),
    ],
    ids=lambda given: " ".join(given[2:4]) if given and given[0].startswith("--") else "",
)
def test_options_that_make_no_sense(options, parts, train, invoke, tmp_path):
    done = invoke("fit", train, *options, "-o", tmp_path / "m")
    is_of_data = {"--drop", "--max-memory", "regression", "chrun"} & {*options}
    assert done.exit_code == (1 if is_of_data else 2), done.output
    *_, line = done.stderr.splitlines()
    assert line.startswith("splinear: ")
    for part in parts:
        assert part in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "x.csv"],
        ["fit", "x.csv", "-o", "m", "--holdout", "2"],
        ["fit", "x.csv", "-o", "m", "--holdout", "some"],
        ["predict", "m"],
        ["nonsense"],
        ["fit", "--nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments, invoke, failed):
    failed(invoke(*arguments), "--help", code=2)


def test_files_that_are_not_there(train, model, invoke, failed, tmp_path):
    there = tmp_path / "m"
    failed(invoke("fit", "no.csv", "--target", "y", "-o", there), "there is no file no.csv")
    failed(invoke("fit", tmp_path / "x.xlsx", "--target", "y", "-o", there), "no file")
    failed(invoke("predict", "no.splinear", train), "no file no.splinear", "splinear fit")
    failed(invoke("predict", train, train), "train.csv is not a model")
    failed(invoke("predict", tmp_path, train), "is a folder")
    failed(invoke("predict", model, tmp_path), "no .parquet files in the folder")
    (tmp_path / "x.xlsx").write_text("PK")
    failed(invoke("predict", model, tmp_path / "x.xlsx"), "no known format", ".parquet")


def test_places_that_cannot_be_written(train, model, invoke, failed, tmp_path):
    gone = tmp_path / "missing" / "p.csv"
    failed(invoke("predict", model, train, "-o", gone), gone, "there is no folder")
    failed(invoke("predict", model, train, "-o", tmp_path), "it is a folder")
    failed(invoke("predict", model, train, "-o", tmp_path / "p.xlsx"), "must end in one of .csv")
    failed(invoke("fit", train, "--target", "churn", "-o", gone), "there is no folder")
    assert list(tmp_path.iterdir()) == []


@linux
def test_a_disk_that_is_full(model, train, run, tmp_path):
    """/dev/full takes nothing; a limit on the size of files leaves room for some of them."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "predict", str(model), str(train)],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "splinear: cannot write stdout: No space left on device" in done.stderr

    import resource

    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))

    for command in ("predict", "explain"):
        path = tmp_path / "p.csv"
        done = run(command, model, train, "-o", path, preexec_fn=no_large_files)
        assert done.returncode == 1, done.stderr
        assert f"splinear: cannot write {path}: File too large" in done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@linux
def test_a_reader_that_stops_reading(model, train):
    """As in `splinear predict ... | head -1`."""
    line = " ".join([f"'{sys.executable}'", "-c 'from splinear.cli import main; main()'"])
    done = subprocess.run(
        f"{line} predict {model} {train} | head -1",
        shell=True, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.startswith('"prediction"')
    assert "Traceback" not in done.stderr


@linux
def test_interrupted_in_the_middle_of_a_fit(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 20))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]).assign(
        y=random.integers(0, 2, len(X))
    )
    frame.to_parquet(tmp_path / "x.parquet")
    fit = ["fit", "x.parquet", "--target", "y", "-o", "m", "--loss", "hinge", "--C", "1e6"]
    process = subprocess.Popen(
        [*COMMAND, *fit], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if line.startswith("Rows"):
            break
    time.sleep(1.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors == "splinear: interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "x.parquet"]


def test_interrupted_in_the_middle_of_predictions(model, train, invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 500)
    seen = []

    def predict(self, X, *, offset):
        seen.append(len(X))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return np.full(len(X), "no")

    monkeypatch.setattr(AdditiveClassifier, "predict", predict)
    done = invoke("predict", model, train, "-o", tmp_path / "p.csv")
    assert done.exit_code == 130
    assert "nothing was written" in done.stderr
    assert list(tmp_path.iterdir()) == []


@linux
def test_a_million_rows_take_little_memory(run, tmp_path):
    """Of text, which takes 45 MB: the rows are read, scored and written a block at a time."""
    n = 1_000_000
    random = np.random.default_rng(0)
    few = pd.DataFrame(
        {
            "a": random.normal(size=1_000).round(4),
            "b": random.integers(0, 100, 1_000),
            "c": random.choice(["red", "green", "blue"], 1_000),
        }
    )
    fitted = AdditiveClassifier(random_state=0).fit(few, few["a"] > 0)
    splinear.save(fitted, tmp_path / "m")
    text = few.to_csv(index=False).split("\n", 1)
    with (tmp_path / "x.csv").open("w") as file:
        file.write(text[0] + ",note\n")
        block = "".join(f"{line},{'-' * 25}\n" for line in text[1].splitlines())
        for _ in range(n // 1_000):
            file.write(block)
    few.to_csv(tmp_path / "few.csv", index=False)
    used = {}
    for name in ("few", "x"):
        script = (  # not ru_maxrss: that of a new process begins with its parent's
            "import re, sys; from splinear.cli import make_app\n"
            "make_app()(sys.argv[1:], standalone_mode=False)\n"
            "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, "predict", "m", f"{name}.csv", "-o", f"{name}.parquet"],
            cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        used[name] = int(done.stdout) / 1024
    assert used["x"] - used["few"] < 200
    found = pd.read_parquet(tmp_path / "x.parquet")
    assert len(found) == n
    expected = fitted.predict_proba(few)[:, 1]
    np.testing.assert_allclose(found["probability_True"].to_numpy()[-1_000:], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "parts", "code"),
    [
        (["--holdout", "0.0001"], ["0.0001 of 600 rows is 1, fewer than the 2 classes"], 1),
        (["--interactions", "²"], ["a number of pairs, or auto; got '²'"], 2),
        (["--drop", "churn"], ["--drop and --target name the same column, 'churn'"], 2),
        (["--weight", "churn"], ["--target and --weight name the same column, 'churn'"], 2),
        (["--weight", "age", "--drop", "age"], ["--drop and --weight name the same"], 2),
        (["--weight", "age", "--counts", "age"], ["--weight and --counts name the same"], 2),
        (["--weight", "country"], ["'country' of --weight must hold numbers; row 1 holds 'NL'"], 1),
        (["--weight", "income"], ["'income' of --weight has no value in row "], 1),
        (
            ["--weight", "größe"],
            ["'größe' of --weight must hold numbers of at least 0; row 1 h"],
            1,
        ),
        (["--counts", "spent"], ["'spent' of --counts must hold whole numbers of at least 0"], 1),
        (["--counts", "zero"], ["'zero' of --counts is 0 in all rows"], 1),
        (["--weight", "zero"], ["'zero' of --weight is 0 in all rows"], 1),
    ],
)
def test_options_that_contradict_the_data(options, parts, code, customers, invoke, tmp_path):
    train = tmp_path / "train.csv"
    customers.assign(zero=0).to_csv(train, index=False)
    done = invoke("fit", train, "--target", "churn", *options, "-o", tmp_path / "m")
    assert done.exit_code == code
    for part in parts:
        assert part in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == [train]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16(encoding, invoke, failed, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,y\n1,0\n2,1\n", encoding=encoding)
    failed(invoke("fit", path, "--target", "y", "-o", tmp_path / "m"), "probably UTF-16", "UTF-8")


def test_names_that_occur_twice_are_said_with_their_places(invoke, failed, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,a,y\n1,2,3,0\n")
    failed(invoke("fit", path, "--target", "y", "-o", tmp_path / "m"), "'a' (columns 1, 3)")


def test_a_kept_column_named_as_one_of_the_predictions(customers, model, invoke, failed, tmp_path):
    """It was written over without a word."""
    path, out = tmp_path / "x.csv", tmp_path / "p.csv"
    customers.assign(prediction=0, probability_yes=1).to_csv(path, index=False)
    for name in ("prediction", "probability_yes"):
        done = invoke("predict", model, path, "--keep", name, "-o", out)
        assert done.exit_code == 2
        assert f"--keep {name}: the predictions have a column of this name" in done.stderr
        assert not out.exists()


def test_rows_held_out_with_the_only_one_of_a_class(invoke, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    done = invoke("fit", path, "--target", "y", "-o", tmp_path / "m", "--holdout", "0.5")
    assert done.exit_code == 1
    assert "--holdout 0.5 leaves rows of one class to train on, " in done.stderr


def test_no_column_is_left(invoke, failed, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x,w,y\n1,1,0\n2,1,1\n")
    fit = ("fit", path, "--target", "y", "-o", tmp_path / "m")
    for options in (("--drop", "x", "--drop", "w"), ("--drop", "x", "--weight", "w")):
        failed(invoke(*fit, *options), "no column of", "is left to learn from")


@pytest.mark.parametrize(
    ("loss", "target", "message"),
    [
        ("gamma", "n", "loss=\"gamma\" needs targets above 0, and the target 'n' is 0 in row 3"),
        ("poisson", "z", "targets of 0 or more, and the target 'z' is -1.5 in row 4"),
        ("negative_binomial", "z", "targets of 0 or more, and the target 'z' is -1.5 in row 4"),
        ("tweedie", "z", "targets of 0 or more, and the target 'z' is -1.5 in row 4"),
    ],
)
def test_targets_that_a_loss_does_not_allow(loss, target, message, invoke, failed, tmp_path):
    """Rows are numbered from 1 on, as in all messages of commands."""
    path = tmp_path / "x.csv"
    path.write_text("x,n,z\n1,1,2\n2,3,0\n3,0,1\n4,5,-1.5\n5,2,1\n")
    done = invoke("fit", path, "--target", target, "--loss", loss, "-o", tmp_path / "m")
    assert done.exit_code == 1
    assert message in done.stderr.splitlines()[-1]


def test_reports_with_a_target_of_another_kind(train, model, invoke, tmp_path):
    out, named = tmp_path / "r.html", ("--target", "plan")
    done = invoke("report", model, train, *named, "-o", out)
    assert done.exit_code == 1
    said = "the target 'plan' holds none of the model's classes, 'no', 'yes'; it holds 'basic', 'p"
    assert said in done.stderr.splitlines()[-1]
    spent, drop = tmp_path / "m", ("--drop", "name", "--drop", "churn")
    assert invoke("fit", train, "--target", "spent", *drop, "-o", spent).exit_code == 0
    done = invoke("report", spent, train, "--target", "churn", "-o", out)
    assert done.exit_code == 1
    said = "the target 'churn' is text, for example "
    assert said in done.stderr.splitlines()[-1]
    assert not out.exists()
    done = invoke("explain", spent, train, "--class", "yes")
    assert done.exit_code == 1
    assert "--class is for classes, and the model predicts numbers" in done.stderr
