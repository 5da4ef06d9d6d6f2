"""What reaches a terminal: no control characters of the data, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs files of POSIX")
EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e\x00"[:-1]
CONTROL = set(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E]))


def assert_clean(done):
    for text in (done.stdout, done.stderr):
        assert not CONTROL & set(text), [c for c in text if c in CONTROL]
    assert "Traceback" not in done.stdout + done.stderr


@pytest.fixture
def evil(tmp_path) -> Path:
    """A file with escape sequences in its name, its columns, its levels and its classes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            f"x{EVIL}": random.normal(size=120),
            f"[red]{EVIL}": random.choice([f"a{EVIL}", "b"], 120),
            f"id{EVIL}": [f"{k}{EVIL}" for k in range(120)],
            f"same{EVIL}": f"one{EVIL}",
            f"y{EVIL}": random.choice([f"no{EVIL}", f"yes{EVIL}"], 120),
        }
    )
    path = tmp_path / "evil\x1b[31m.csv"
    frame.to_csv(path, index=False)
    return path


@posix
def test_no_command_prints_control_characters(evil, invoke, tmp_path):
    model, page = tmp_path / "m\x1b[31m.splinear", tmp_path / "p\x1b[31m.html"
    target = ("--target", f"y{EVIL}")
    for arguments in (
        ["fit", evil, *target, "-o", model, "--holdout", "0.2", "--report", page, "--C", "1"],
        ["explain", model, evil, "--row", "3"],
        ["explain", model, evil, "-o", tmp_path / "e\x1b.csv"],
        ["predict", model, evil, "-o", tmp_path / "p\x1b.csv"],
        ["report", model, evil, *target, "-o", page],
        ["convert", model, "-o", tmp_path / "m\x1b.json"],
    ):
        done = invoke(*arguments)
        assert done.exit_code == 0, done.output
        assert_clean(done)
    assert "[red]" in invoke("explain", model, evil).stdout  # no markup either


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "evil", "--target", f"no{EVIL}", "-o", "m"],
        ["fit", "evil", "--target", f"y{EVIL}", "--drop", f"no{EVIL}", "-o", "m"],
        ["fit", "evil", "--target", f"y{EVIL}", "--task", "regression", "-o", "m"],
        ["fit", "evil", "--target", f"y{EVIL}", "--loss", EVIL, "-o", "m"],
        ["fit", f"none{EVIL}.csv", "--target", "y", "-o", "m"],
        ["fit", f"--none{EVIL}"],
        ["fit", "evil", f"more{EVIL}", "-o", "m"],
        [f"none{EVIL}"],
        ["fit", "ragged", "--target", "y", "-o", "m"],
        ["fit", "lines.svm", "-o", "m"],
        ["fit", "dates", "--target", "y", "-o", "m"],
    ],
    ids=lambda given: " ".join(given[:1] + given[2:3]).encode("ascii", "ignore").decode(),
)
def test_no_error_prints_control_characters(arguments, evil, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"evil": str(evil), "ragged": f"ragged{EVIL}.csv", "dates": f"dates{EVIL}.csv"}
    Path(names["ragged"]).write_text(f"a,y\n1,2\n3,4,{EVIL}\n", encoding="utf-8")
    Path("lines.svm").write_text(f"1 1:2 {EVIL}\n", encoding="utf-8")
    Path(names["dates"]).write_text(f"d{EVIL},y\n2020-01-01,1\n2020-01-02,0\n", encoding="utf-8")
    done = invoke(*[names.get(argument, argument) for argument in arguments])
    assert done.exit_code in (1, 2), done.output
    assert done.stderr.splitlines()[-1].startswith("splinear: ")
    assert_clean(done)


@posix
@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_closed_streams(closed, train, model, tmp_path):
    """A command whose result is a file works; one whose result is printed says why it cannot."""
    command = f"'{sys.executable}' -c 'from splinear.cli import main; main()'"

    def run(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            f"{command} {text} {closed}", shell=True, cwd=tmp_path,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    done = run(f"fit {train} --target churn --drop name --drop spent --C 1 -o m")
    assert_clean(done)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m").stat().st_size > 1_000
    done = run(f"predict {model} {train}")
    assert_clean(done)
    assert done.returncode == 1
    assert done.stderr == "splinear: cannot write stdout: it is closed\n"


@posix
@pytest.mark.parametrize("text", ["--help", "explain {model} {train}"])
def test_readers_that_read_nothing(text, train, model):
    command = f"'{sys.executable}' -c 'from splinear.cli import main; main()'"
    done = subprocess.run(
        f"{command} {text.format(model=model, train=train)} | true",
        shell=True, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == ""


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ImportError"])
@pytest.mark.parametrize("module", ["numpy", "typer", "splinear.cli.fit", "pyarrow.csv"])
def test_interrupted_while_modules_are_imported(module, error, train, tmp_path):
    """Ctrl-C in an import; compiled modules may turn it into an ImportError. The last is late."""
    script = f"""
import signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise {error} from None
sys.meta_path.insert(0, Interrupt())
from splinear.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, "fit", train, "--target", "churn", "-o", tmp_path / "m"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "splinear: interrupted; nothing was written.\n"
    assert not (tmp_path / "m").exists()


def test_ctrl_c_stays_ignored_where_it_is():
    """A background job of a shell ignores it, and so do the commands that it runs."""
    script = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from splinear.cli.interrupting import listen
listen()
signal.raise_signal(signal.SIGINT)
"""
    subprocess.run([sys.executable, "-c", script], timeout=120, check=True)


def test_interrupted_after_the_model_was_written(train, invoke, tmp_path, monkeypatch):
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("splinear.cli.fit.write_page", interrupt)
    path = tmp_path / "m.splinear"
    done = invoke(
        "fit", train, "--target", "spent", "--drop", "name", "-o", path,
        "--report", tmp_path / "p.html",
    )  # fmt: skip
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == f"splinear: interrupted; {path} was written."
    assert path.exists()
