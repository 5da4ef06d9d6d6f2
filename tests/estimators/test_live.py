"""What `verbose` shows: on a terminal, in a notebook, in a pipe."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import types
from collections.abc import Callable

import numpy as np
import pytest

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, PathSearchCV
from splinear.estimators import live

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
Y = RANDOM.integers(0, 3, 300)

FIT = """
import numpy as np
from splinear import AdditiveClassifier
X = np.random.default_rng(0).normal(size=(20000, 10))
AdditiveClassifier(verbose=1, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1] > 1)
"""
SEARCH = """
import numpy as np
from splinear import AdditiveSVC, PathSearchCV
X = np.random.default_rng(0).normal(size=(4000, 8))
search = PathSearchCV(AdditiveSVC(random_state=0), Cs=[0.01, 0.1, 1.0], cv=3, verbose=1)
search.fit(X, np.digitize(X[:, 0] ** 2 + X[:, 1], [0, 1]))
"""


@pytest.fixture
def written_by(on_a_terminal):
    """Run a script on a terminal; return all that was written, in lines as programs write them."""
    return lambda script, **how: on_a_terminal([sys.executable, "-c", script], **how).replace(
        "\r\n", "\n"
    )


def states(written: str) -> list[str]:
    """All that the line has shown, one after the other."""
    return [state.strip() for state in re.split(r"[\r\n]", written) if state.strip()]


def test_a_fit_is_one_line_on_a_terminal(written_by):
    written = written_by(FIT)
    assert written.count("\n") == 1
    *shown, last = states(written)
    assert re.fullmatch(r"AdditiveClassifier: \d+ passes, gap \d\.\de-\d\d, \d+\.\d s", last)
    assert shown
    for state in shown:
        assert re.match(r"AdditiveClassifier: .*pass \d+, gap \d\.\de[-+]\d\d, \d+\.\d s$", state)


def test_a_search_is_one_line_that_names_fold_class_and_c(written_by):
    written = written_by(SEARCH)
    assert written.count("\n") == 1
    *shown, last = states(written)
    assert re.match(r"PathSearchCV: best C = [\d.]+, mean score 0\.\d{4}, \d+\.\d s$", last)
    place = r"fold [123] of 3, class [012], C = (0\.01 \(1|0\.1 \(2|1 \(3) of 3\), \d+\.\d s$"
    assert shown
    assert all(re.search(place, state) or "all rows" in state for state in shown)
    assert "all rows" in shown[-1]


def test_a_line_stays_one_line_on_a_narrow_terminal(written_by):
    written = written_by(FIT.replace("20000", "4000"))
    assert max(map(len, re.split(r"[\r\n]", written))) < 80  # a terminal without a size


@pytest.mark.parametrize(("script", "title"), [(FIT, "AdditiveClassifier"), (SEARCH, "PathSe")])
def test_a_pipe_gets_the_last_line_alone(script: str, title: str):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == ""
    assert done.stderr.startswith(title)
    assert done.stderr.count("\n") == 1
    assert "\r" not in done.stderr


def test_a_dumb_terminal_is_no_place_for_a_live_line(written_by):
    assert "\r" not in written_by(FIT.replace("20000", "4000"), term="dumb")


class Cell(io.StringIO):
    """A stream as ipykernel makes it."""


Cell.__module__ = "ipykernel.iostream"


def test_a_notebook_is_written_to_its_cell(monkeypatch: pytest.MonkeyPatch):
    cell, errors = Cell(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", cell)
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(live, "EVERY", 0.0)
    model = AdditiveSVC(verbose=1, random_state=0, C=1.0).fit(X, Y > 0)
    written = cell.getvalue()
    assert errors.getvalue() == ""
    assert written.count("\n") == 1
    assert len(states(written)) == model.n_iter_ + 1
    assert written.splitlines()[-1].split("\r")[-1].startswith("AdditiveSVC: ")


def test_zero_is_silent(capfd: pytest.CaptureFixture[str]):
    PathSearchCV(AdditiveSVC(random_state=0, C=1.0), Cs=3).fit(X, Y)
    AdditiveRegressor(random_state=0).fit(X, X[:, 0])
    assert capfd.readouterr() == ("", "")


def test_passes_of_a_search_name_fold_and_c(capsys: pytest.CaptureFixture[str]):
    search = PathSearchCV(AdditiveSVC(verbose=2, random_state=0, C=1.0), Cs=[0.01, 1.0], cv=2).fit(
        X, Y
    )
    lines = capsys.readouterr().err.splitlines()
    found = {re.match(r"fold (\d)   C ([\d.]+)   class (\d)   pass", line) for line in lines}
    named = {match.groups() for match in found if match}
    assert named == {(f, C, c) for f in "01" for C in ("0.01", "1") for c in "012"}
    assert lines[-1].startswith(f"PathSearchCV: best C = {search.best_params_['C']:.3g}")


@pytest.mark.parametrize("make", [AdditiveSVC, AdditiveClassifier], ids=lambda made: made.__name__)
def test_the_callback_hears_of_c(make: Callable[..., AdditiveSVC]):
    """By either solver, every C once per fold, in increasing order."""
    seen = []
    Cs = [0.01, 0.1, 1.0]
    search = PathSearchCV(make(random_state=0, callback=seen.append), Cs=Cs, cv=2, refit=False)
    search.fit(X, X[:, 0] ** 2 > 1)
    for fold in range(2):
        in_order = [progress.C for progress in seen if progress.fold == fold]
        assert in_order == sorted(in_order)
        assert set(in_order) == set(Cs)


def test_a_fit_that_fails_leaves_no_half_line(monkeypatch: pytest.MonkeyPatch):
    cell = Cell()
    monkeypatch.setattr(sys, "stdout", cell)
    monkeypatch.setattr(live, "EVERY", 0.0)

    def fail(progress: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        AdditiveSVC(verbose=1, callback=fail, random_state=0, C=1.0).fit(X, Y > 0)
    assert cell.getvalue().endswith("s\n")
    assert "AdditiveSVC: stopped after 1 passes" in cell.getvalue()


@pytest.mark.parametrize("broken", [None, types.SimpleNamespace()], ids=["none", "no methods"])
def test_where_nothing_can_be_written(broken: object, monkeypatch: pytest.MonkeyPatch):
    """pythonw has no streams at all."""
    monkeypatch.setattr(sys, "stdout", broken)
    monkeypatch.setattr(sys, "stderr", broken)
    assert AdditiveSVC(verbose=1, random_state=0, C=1.0).fit(X, Y > 0).n_iter_ > 0
