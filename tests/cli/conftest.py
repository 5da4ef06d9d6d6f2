"""Commands as users run them: in this process, or in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
testing = pytest.importorskip("typer.testing")

COMMAND = [sys.executable, "-W", "error", "-c", "from splinear.cli import main; main()"]


@pytest.fixture(scope="session")
def invoke() -> Callable[..., testing.Result]:
    """Run invoke("fit", path, ...) in this process, its output not a terminal."""
    from splinear import cli

    runner = testing.CliRunner()
    return lambda *arguments: runner.invoke(cli.make_app(), [str(a) for a in arguments])


@pytest.fixture(scope="session")
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run run("fit", path, ..., cwd=...) in a process of its own."""

    def start(*arguments: object, **how: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
            encoding="utf-8",
            timeout=120,
            check=False,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
        )

    return start


@pytest.fixture(scope="session")
def customers() -> pd.DataFrame:
    """A table with numbers, text, gaps, a constant, an identifier and a target of text."""
    random = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "name": [f"customer {k}" for k in range(n)],
            "age": random.integers(18, 80, n),
            "income": np.where(random.random(n) < 0.1, np.nan, random.lognormal(3, 1, n)),
            "größe": random.normal(size=n).round(3),
            "plan": random.choice(["basic", "pro", None], n, p=[0.6, 0.3, 0.1]),
            "country": "NL",
        }
    )
    score = 0.1 * (frame["age"] - 50) + (frame["plan"] == "pro") - frame["größe"]
    frame["churn"] = np.where(score + random.logistic(size=n) > 0, "yes", "no")
    frame["spent"] = (20 + frame["age"] + random.normal(size=n)).round(2)
    return frame


@pytest.fixture(scope="session")
def train(customers: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("data") / "train.csv"
    customers.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(train: Path, invoke: Callable[..., testing.Result]) -> Path:
    """A model of churn, as `splinear fit` has written it."""
    path = train.with_name("churn.splinear")
    drop = ("--drop", "name", "--drop", "spent")
    done = invoke("fit", train, "--target", "churn", "-o", path, *drop)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture(scope="session")
def failed() -> Callable[..., None]:
    """Check failed(result, *parts): one line on stderr with these parts, exit code 1."""

    def check(result: testing.Result, *parts: object, code: int = 1) -> None:
        assert result.exit_code == code, result.output
        lines = result.stderr.splitlines()
        assert lines[-1].startswith("splinear: ")
        assert len(lines) == 1, result.stderr
        for part in parts:
            assert str(part) in lines[-1]

    return check
