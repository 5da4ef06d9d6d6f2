"""No command destroys what it reads, what it writes elsewhere, or a file that is not its own."""

from __future__ import annotations

import os
import sys
from itertools import permutations
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest

import splinear
from splinear.cli import make_app

pytest.importorskip("jinja2")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and devices of POSIX")

FIT = ("fit", "data", "--target", "churn", "--drop", "name", "--drop", "spent")
# The parameters of each command that are files, with the ending of each; outputs begin with a dash.
# The arguments are completed by the path of each file.
COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "fit": (FIT[2:], {"data": ".csv", "--output": ".splinear", "--report": ".html"}),
    "predict": ((), {"model": ".splinear", "data": ".csv", "--output": ".csv"}),
    "explain": ((), {"model": ".splinear", "data": ".csv", "--output": ".csv"}),
    "report": ((), {"model": ".splinear", "data": ".csv", "--output": ".html"}),
    "convert": (("--to", "json"), {"model": ".splinear", "--output": ".json"}),
    "demo": (("--splits", "1"), {"--output": ".png"}),
    "reproduce": (("--quick",), {"--output": ""}),
}
EQUAL = [
    (command, *pair)
    for command, (_, files) in COMMANDS.items()
    for pair in permutations(files, 2)
    if pair[1].startswith("--")
]


def test_every_file_of_every_command_is_tried():
    """A new option that names a file is added above; files that are folders of data are not."""
    for command in make_app().registered_commands:
        hints = get_type_hints(command.callback)
        found = {name for name, hint in hints.items() if Path in (hint, *get_args(hint))}
        known = {name.strip("-") for name in COMMANDS[command.callback.__name__][1]}
        assert found - {"data_home"} == known


def arguments(command: str, paths: dict[str, Path]) -> list[object]:
    options, _ = COMMANDS[command]
    found: list[object] = [command]
    found += [path for name, path in paths.items() if not name.startswith("--")]
    for name, path in paths.items():
        found += [name, path] if name.startswith("--") else []
    return [*found, *options]


def snapshot(folder: Path) -> dict[str, object]:
    return {
        path.name: os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def files(model, train, tmp_path):
    """Return a function that makes the files of a command in a folder of the test."""

    def make(command: str) -> dict[str, Path]:
        sources = {"data": train, "model": model}
        paths = {}
        for name, ending in COMMANDS[command][1].items():
            paths[name] = tmp_path / f"{name.strip('-')}{ending}"
            if name in sources:
                paths[name].write_bytes(sources[name].read_bytes())
        return paths

    return make


def the_same(paths: dict[str, Path], one: str, other: str, way: str) -> Path:
    """Make a file have two names; return the second."""
    first, ending = paths[one], ".html" if one == "--report" else paths[other].suffix
    if way in ("link", "hard link"):
        second = first.with_name(f"other{ending}")
        if way == "hard link":
            first.touch()
            os.link(first, second)
        else:
            second.symlink_to(first.name)
        return second
    named = first.with_suffix(ending)  # an ending that the output may have
    if first.exists():
        first.rename(named)
    paths[one] = named
    if way == "link of a folder":
        folder = first.parent / "aside"
        folder.symlink_to(first.parent, target_is_directory=True)
        return folder / named.name
    return named if way == "equal" else first.parent / ".." / first.parent.name / named.name


@posix
@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize("way", ["equal", "detour", "link", "hard link", "link of a folder"])
@pytest.mark.parametrize(("command", "one", "other"), EQUAL, ids=str)
def test_equal_paths(command, one, other, way, force, files, invoke, failed, tmp_path):
    """An output that is an input, or another output, under any name: nothing is written."""
    paths = files(command)
    paths[other] = the_same(paths, one, other, way)
    before = snapshot(tmp_path)
    done = invoke(*arguments(command, paths), *["--force"] * force)
    failed(done, "same file", paths[other], paths[one], code=2)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("demo", "reproduce")])
def test_files_of_others_are_kept_unless_forced(command, files, invoke, failed, tmp_path):
    paths = files(command)
    outputs = [path for name, path in paths.items() if name.startswith("--")]
    for path in outputs:
        path.write_text("a,b\nsomething of mine\n")
        before = snapshot(tmp_path)
        failed(invoke(*arguments(command, paths)), path, "--force")
        assert snapshot(tmp_path) == before
        path.unlink()
    for path in outputs:
        path.write_text("a,b\nsomething of mine\n")
    done = invoke(*arguments(command, paths), "--force")
    assert done.exit_code == 0, done.output
    assert all(b"mine" not in path.read_bytes() for path in outputs)
    # What it has written, and what is empty, it replaces.
    assert invoke(*arguments(command, paths)).exit_code == 0
    for path in outputs:
        path.write_bytes(b"")
    assert invoke(*arguments(command, paths)).exit_code == 0
    assert all(path.stat().st_size > 0 for path in outputs)


@pytest.mark.parametrize("form", ["onnx", "sql", "json"])
def test_conversions_replace_conversions(form, model, invoke, failed, tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / f"model.{form}"
    for _ in range(2):
        done = invoke("convert", model, "-o", path)
        assert done.exit_code == 0, done.output
    other = tmp_path / "model.splinear"
    other.write_bytes(model.read_bytes())
    failed(invoke("convert", model, "--to", form, "-o", other), other, "--force")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_only_predictions_are_replaced(ending, model, train, invoke, failed, tmp_path):
    path = tmp_path / f"p.{ending}"
    for command in ("predict", "predict", "explain", "predict"):
        done = invoke(command, model, train, "-o", path)
        assert done.exit_code == 0, done.output
    rows = pd.DataFrame({"age": [1, 2]})
    rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)
    before = path.read_bytes()
    for command in ("predict", "explain"):
        failed(invoke(command, model, train, "-o", path), path, "--force")
    assert path.read_bytes() == before


def test_the_picture_of_the_demo(invoke, failed, tmp_path, monkeypatch):
    from splinear import demo
    from splinear.cli import demo as command

    monkeypatch.setattr(command, "_run_demo", lambda splits, seed: [])
    monkeypatch.setattr(command, "_print_results", lambda results, splits: None)
    monkeypatch.setattr(demo, "PICTURED", "linear")
    for ending in ("png", "svg", "pdf"):
        path = tmp_path / f"curves.{ending}"
        path.write_bytes(b"\x89PNG a holiday")
        failed(invoke("demo", "-o", path), path, "--force")
        path.unlink()
        for _ in range(2):
            done = invoke("demo", "-o", path)
            assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", ["reproduce.html", "reproduce.md", "figure1.png"])
def test_the_page_of_the_experiments(name, invoke, failed, tmp_path):
    (tmp_path / name).write_bytes(b"something of mine")
    failed(invoke("reproduce", "figure1", "--quick", "-o", tmp_path), tmp_path / name, "--force")
    assert (tmp_path / name).read_bytes() == b"something of mine"
    more = ("reproduce", "figure1", "--quick", "-o", tmp_path)
    for options in (["--force"], []):
        done = invoke(*more, *options)
        assert done.exit_code == 0, done.output
    assert (tmp_path / name).stat().st_size > 1_000


def test_folders_of_parquet_files(model, customers, invoke, failed, tmp_path):
    """A file of the folder, and a new one that would be read as data the next time."""
    folder = tmp_path / "parts"
    folder.mkdir()
    customers.to_parquet(folder / "1.parquet")
    before = snapshot(folder)
    for name in ("1.parquet", "2.parquet"):
        path = folder / name
        failed(invoke("predict", model, folder, "-o", path, "--force"), path, folder, code=2)
    assert snapshot(folder) == before
    assert invoke("predict", model, folder, "-o", folder / "p.csv").exit_code == 0


@posix
def test_stdout_is_not_appended_to_what_is_read(model, train, run, tmp_path):
    data = tmp_path / "data.csv"
    data.write_bytes(train.read_bytes())
    for wanted in (("predict", model, data), ("explain", model, data), (*FIT[:1], data, *FIT[2:])):
        more = ("-o", tmp_path / "m") if wanted[0] == "fit" else ()
        with data.open("ab") as file:
            done = run(*wanted, *more, stdout=file)
        assert done.returncode == 2
        assert done.stderr == (
            f"splinear: standard output and {data}, which is read, are the same file; write to "
            "another one\n"
        )
        assert data.read_bytes() == train.read_bytes()


@posix
def test_a_link_stays_a_link(model, train, invoke, tmp_path):
    """What it points to is written, existing or not; the link is as it was."""
    (tmp_path / "folder").mkdir()
    link, target = tmp_path / "latest.csv", tmp_path / "folder" / "p.csv"
    link.symlink_to("folder/p.csv")
    for _ in range(2):
        done = invoke("predict", model, train, "-o", link)
        assert done.exit_code == 0, done.output
        assert link.is_symlink()
        assert not target.is_symlink()
        assert len(pd.read_csv(target)) == 600
    assert os.listdir(target.parent) == ["p.csv"]


@posix
def test_a_link_to_itself(model, train, invoke, failed, tmp_path):
    link = tmp_path / "p.csv"
    link.symlink_to("p.csv")
    failed(invoke("predict", model, train, "-o", link), link, "link")
    assert link.is_symlink()


def test_two_outputs_that_differ_are_written(train, invoke, tmp_path):
    path, page = tmp_path / "m.html.splinear", tmp_path / "m.html"
    done = invoke(FIT[0], train, *FIT[2:], "-o", path, "--report", page)
    assert done.exit_code == 0, done.output
    assert splinear.load(path).n_features_in_ == 5
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
