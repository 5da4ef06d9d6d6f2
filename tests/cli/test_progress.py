"""Bars on a terminal, plain lines in a log."""

from __future__ import annotations

import contextlib
import re
import sys

import pytest

from splinear.cli import progress
from splinear.cli.estimators import Share
from splinear.objective.watch import Progress

COMMAND = [sys.executable, "-c", "from splinear.cli import main; main()"]


def test_a_bar_with_the_time_left_on_a_terminal(model, train, tmp_path, on_a_terminal):
    arguments = map(str, ["predict", model, train, "-o", tmp_path / "p.csv"])
    written = on_a_terminal([*COMMAND, *arguments])
    assert "\x1b[" in written
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", written)
    assert re.search(r"Predicting [━╸╺ ]+ +\d+% \d:\d\d:\d\d left [-\d]", plain)
    assert re.search(r"Predicting: 600 rows, \d+\.\d s\s*$", plain)  # all that stays


def test_plain_lines_in_a_log(model, train, run, tmp_path):
    done = run("predict", model, train, "-o", tmp_path / "p.csv")
    assert re.fullmatch(r"Predicting: 600 rows, \d+\.\d s\n", done.stderr)


def test_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with progress.tracking("[b]Work[/b]", 4) as track:
        track(1, "first")
        track(2, "")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[b]Work[/b]: 25%, 0 s, first", "[b]Work[/b]: 50%, 0 s", lines[-1]]
    assert re.fullmatch(r"\[b\]Work\[/b\]: 4/4, \d+\.\d s", lines[-1])


def test_nothing_is_said_to_be_done_after_a_failure(capsys):
    with contextlib.suppress(RuntimeError), progress.tracking("Work", 4) as track:
        track(1, "")
        raise RuntimeError
    assert capsys.readouterr().err == ""


def told(gap: float, phase: str | None = None, label: object = None) -> Progress:
    return Progress(n_iter=1, gap=gap, n_active=1, n_rows=1, label=label, phase=phase)


def test_the_share_of_a_fit_grows_to_1():
    share = Share(tol=1e-3)
    gaps = [1.0, 0.1, 0.3, 0.01, 1e-3]
    before = [share.of(told(gap, "smoothness")) for gap in gaps]
    after = [share.of(told(gap)) for gap in (1e-2, 1e-3, 0.0)]
    assert before == pytest.approx([0.0, 0.3, 0.3, 0.6, 0.9])
    assert after == sorted(after)
    assert after[-1] == 1.0


def test_the_share_of_several_classes():
    share = Share(tol=1e-2, n_problems=2)
    found = [share.of(told(gap, label=c)) for c in "ab" for gap in (1.0, 0.1, 0.01)]
    assert found == pytest.approx([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])
