"""Two versions compared: this one with itself, and made-up ones whose speed is known."""

import re
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import splinear

LINES = [
    "AdditiveSVC",
    "AdditiveSVC, cubic",
    "decision_function",
    "AdditiveSVC, sparse",
    "AdditiveSVC, texts of 5 classes",
    "AdditiveClassifier(C=1)",
    "softmax, 5 classes",
    "AdditiveClassifier()",
    "AdditiveRegressor()",
]

# A version whose fits take so many CPU seconds, by a clock that nothing else moves.
FAKE = """
import time

spent = 0.0
time.process_time = lambda: spent

class Estimator:
    def __init__(self, *terms, **params):
        pass

    def fit(self, X, y):
        global spent
        spent += {seconds}
        return self

    def decision_function(self, X):
        self.fit(X, None)

AdditiveSVC = AdditiveRegressor = Estimator
{more}
"""

CRASH = """
import os

class AdditiveClassifier(Estimator):
    def fit(self, X, y):
        os._exit(3)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(scope="module")
def run(run_benchmark):
    return partial(run_benchmark, "compare")


def make_site(folder, seconds, more="AdditiveClassifier = Estimator"):
    package = folder / "splinear"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE.format(seconds=seconds, more=more))
    (package / "terms.py").write_text("def Spline(*args, **params): pass")
    return str(folder)


def ratios(process):
    pattern = r"^(\S.*?) +[\d.]+ s +[\d.]+ s +ratio ([\d.]+)"
    found = re.findall(pattern, process.stdout, re.MULTILINE)
    return {name: float(ratio) for name, ratio in found}


def test_this_version_with_itself(run):
    site = str(Path(splinear.__file__).parents[1])
    process = run(site, site, "--quick", "--pairs", "1", "--limit", "1000")
    assert process.returncode == 0, process.stderr
    assert list(ratios(process)) == LINES


def test_a_slower_version_fails(run, tmp_path):
    slow = make_site(tmp_path / "slow", 6.0)
    fast = make_site(tmp_path / "fast", 2.0)
    process = run(fast, slow, "--quick", "--pairs", "2")
    assert process.returncode == 1, process.stderr
    assert process.stdout.count("slower") == len(LINES)
    assert ratios(process) == dict.fromkeys(LINES, 3.0)
    process = run(slow, fast, "--quick", "--pairs", "1")
    assert process.returncode == 0, process.stderr
    assert ratios(process) == dict.fromkeys(LINES, 0.333)


def test_a_line_that_a_version_does_not_have(run, tmp_path):
    """It is missing before, which is no fault; or it was lost, which is one."""
    whole = make_site(tmp_path / "whole", 1.0)
    less = make_site(tmp_path / "less", 1.0, more="")
    options = ("--quick", "--pairs", "1", "--limit", "5")
    process = run(less, whole, *options)
    assert process.returncode == 0, process.stderr
    missing = [line for line in process.stdout.splitlines() if "missing before: Import" in line]
    assert len(missing) == 3
    assert len(ratios(process)) == len(LINES) - 3
    process = run(whole, less, *options)
    assert process.returncode == 1
    assert process.stdout.count("missing after: ImportError") == 3


def test_a_version_that_crashes(run, tmp_path):
    """That costs the line, and no other."""
    whole = make_site(tmp_path / "whole", 1.0)
    crash = make_site(tmp_path / "crash", 1.0, more=CRASH)
    process = run(crash, whole, "--quick", "--pairs", "1", "--limit", "5")
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("missing before: the process ended with status 3") == 3
    assert len(ratios(process)) == len(LINES) - 3


def test_folders_without_a_version(run, tmp_path):
    process = run(str(tmp_path), str(tmp_path))
    assert process.returncode == 2
    assert "there is no splinear in" in process.stderr


def test_commits_are_built_once(monkeypatch, tmp_path):
    """Into a folder of that commit; a folder with a version in it is taken as it is."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    versions = import_module("versions")
    monkeypatch.setattr(versions, "_commit", {"main": "abcdef", "HEAD": "abcdef"}.__getitem__)
    built = []

    def build(commit, site):
        built.append(commit)
        make_site(site, 0.0)

    monkeypatch.setattr(versions, "_build", build)
    sites = [versions.site_of(name, tmp_path) for name in ("main", "HEAD")]
    assert sites == [tmp_path / "abcdef"] * 2
    assert built == ["abcdef"]
    assert versions.site_of(str(sites[0]), tmp_path) == sites[0].resolve()
    monkeypatch.delitem(sys.modules, "versions")
