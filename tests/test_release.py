"""What a release says of itself is said once, or the same everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import files, metadata, version
from pathlib import Path

import pytest

import splinear

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

# A source distribution holds what builds and tests the package, not what checks the repository.
in_repository = pytest.mark.skipif(not WORKFLOWS, reason="this is not the repository")


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def extra(name: str) -> list[str]:
    (line,) = re.findall(rf"^{name} = \[(.*)\]$", PROJECT, re.MULTILINE)
    return re.findall(r'"([^"]+)"', line)


def test_the_version_is_said_in_one_place_and_repeated_truly() -> None:
    (declared,) = re.findall(r'^version = "(.+)"$', PROJECT, re.MULTILINE)
    assert version("splinear") == splinear.__version__ == declared
    assert re.findall(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE) == [declared]
    assert re.findall(r"^## \[(.+)\]", text("CHANGELOG.md"), re.MULTILINE)[0] == declared


def test_the_changelog_names_everything_public() -> None:
    named = set(re.findall(r"\w+", text("CHANGELOG.md")))
    assert set(splinear.__all__) - {"__version__"} <= named


def test_what_is_installed_is_the_package_alone() -> None:
    installed = files("splinear")
    assert installed is not None
    strange = [
        str(path)
        for path in installed
        if path.parts[0] != "splinear"
        and not path.parts[0].endswith(".dist-info")
        and path.name not in ("splinear", "splinear.exe")
    ]
    assert strange == []
    endings = {path.suffix for path in installed if path.parts[0] == "splinear"}
    code = {".py", ".pyi", ".pyc", ".so", ".pyd", ".typed", ".cu"}  # CuPy compiles the last one
    assert endings <= code | {".jinja", ".css", ".js"}


def test_classifiers_name_the_pythons_that_wheels_are_for() -> None:
    classifiers = metadata("splinear").get_all("Classifier") or []
    pythons = [c.rpartition(" ")[2] for c in classifiers if re.search(r"Python :: 3\.\d", c)]
    wheels = re.findall(r'"cp3(\d+)-\*"', PROJECT)
    assert set(pythons) <= {f"3.{minor}" for minor in wheels}  # those that the tests have passed on
    assert metadata("splinear")["Requires-Python"] == f">=3.{wheels[0]}"
    assert not any("OS Independent" in c for c in classifiers)


@in_repository
def test_the_pythons_of_wheels_are_tested() -> None:
    (line,) = re.findall(r"python: \[(.+)\]", text(".github/workflows/tests.yml"))
    assert re.findall(r'"3\.(\d+)"', line) == re.findall(r'"cp3(\d+)-\*"', PROJECT)


@in_repository
def test_hooks_have_the_tools_of_ci() -> None:
    hooks = text(".pre-commit-config.yaml")
    required = re.findall(r"additional_dependencies: \[(.+)\]", hooks)
    assert {name.strip('"') for name in required} <= set(extra("lint"))
    commands = [entry.split()[0] for entry in re.findall(r"entry: (.+)", hooks)]
    in_ci = text(".ci/run").partition('step "Linters"')[2].partition("step ")[0]
    tools = re.findall(r"^(?:git ls-files.*\| xargs )?([a-z-]+) ?.*$", in_ci, re.MULTILINE)
    needs_the_package, installs = "lint-imports", "tools"
    assert set(commands) == set(tools) - {needs_the_package, installs}


@in_repository
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_only_and_use_major_versions(path: Path) -> None:
    workflow = path.read_text(encoding="utf-8")
    assert "\npermissions:\n  contents: read\n" in workflow
    uses = re.findall(r"uses: (\S+)", workflow)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", used) for used in uses)
    scripts = re.findall(r"run: (\.ci/\w+)", workflow)
    assert all((ROOT / script).stat().st_mode & 0o100 for script in scripts)


@in_repository
def test_the_oldest_versions_are_those_that_the_package_asks_for() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "oldest")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    asked = "\n".join(metadata("splinear").get_all("Requires-Dist") or [])
    lower = re.findall(r"^([\w-]+)(?:\[.*?\])?>=([\d.]+)", asked, re.MULTILINE)
    assert {"numpy", "scipy", "scikit-learn", "narwhals", "pandas"} <= dict(lower).keys()
    assert set(printed) >= {f"{name}=={least}.*" for name, least in lower}


@in_repository
def test_what_the_review_of_the_repository_may_miss_is_explained() -> None:
    (ignored,) = re.findall(r"\[tool\.repo-review\].*?ignore = \[(.*?)\]", PROJECT, re.DOTALL)
    names = re.findall(r'"(\w+)"', ignored)
    reasons = text("CONTRIBUTING.md").partition("## Releasing")[2]
    assert names
    assert [name for name in names if name not in reasons] == []
