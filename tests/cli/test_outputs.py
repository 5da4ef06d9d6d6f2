"""No command replaces a file that is not its own; for equal paths see test_equal_paths.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd
import pytest

import splinear

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
            f"splinear: standard output and DATA {data}, which is read, are the same file; write "
            "to another one\n"
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
