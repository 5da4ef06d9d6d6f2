"""No command destroys what it reads, or what it writes elsewhere, under whatever names.

Commands and the parameters that are paths are those of the app, so that new ones are tried as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from splinear.cli import make_app

typer = pytest.importorskip("typer")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs links of POSIX")

APP = make_app()
COMMANDS = typer.main.get_command(APP).commands
HINTS = {c.callback.__name__: get_type_hints(c.callback) for c in APP.registered_commands}
# The endings that outputs may have; a file that is read may have any of them as well.
ENDINGS = (".csv", ".parquet", ".html", ".png", ".json", ".splinear")
CONTENTS = {"model": "model", "data": "train"}  # of what is read; that of others does not matter
WAYS = ("equal", "dot", "detour", "link", "hard link", "link of a folder", "missing", "folder")


def label(parameter: Any) -> str:
    """Return what a message calls a parameter: --output, or DATA."""
    if parameter.param_type_name == "argument":
        return str(parameter.name.upper())
    return str(max(parameter.opts, key=len))


def is_path(hint: Any) -> bool:
    return hint is Path or any(map(is_path, get_args(hint)))


def paths_of(command: str) -> list[Any]:
    hints = HINTS[COMMANDS[command].callback.__name__]
    return [p for p in COMMANDS[command].params if is_path(hints[p.name])]


def is_read(parameter: Any) -> bool:
    return parameter.param_type_name == "argument" or parameter.name == "data_home"


PAIRS = [
    (command, one, other)
    for command in COMMANDS
    for one, other in combinations(paths_of(command), 2)
    if not (is_read(one) and is_read(other))
]


def test_the_commands_are_found():
    assert {"fit", "predict", "explain", "report", "convert", "demo", "reproduce"} <= set(COMMANDS)
    for command in COMMANDS:
        assert paths_of(command), command  # every command writes a file
    assert len(PAIRS) >= 11


def two_names(path: Path, way: str) -> tuple[str, str] | None:
    """Let what is at a path have a second name; return both, or None where that cannot be."""
    folder = path.parent
    second = folder / f"other{path.suffix}"
    if way == "dot":
        return path.name, f"./{path.name}"
    if way == "detour":
        return str(path), str(folder / ".." / folder.name / path.name)
    if way == "hard link":
        os.link(path, second)
        return str(path), str(second)
    if way == "link":
        second.symlink_to(path.name)
        return str(path), str(second)
    if way == "link of a folder":
        (folder / "aside").symlink_to(folder, target_is_directory=True)
        return str(path), str(folder / "aside" / path.name)
    if way == "missing":
        path.unlink()
        second.symlink_to(path.name)
        return str(path), str(second)
    if way == "folder":
        path.unlink()
        path.mkdir()
    return str(path), str(path)


def snapshot(folder: Path) -> dict[str, object]:
    """Return what all files are: their contents, number and, for links, where they lead."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = (path.stat().st_ino, path.read_bytes())
    return found


def command_line(command: str, given: dict[str, str]) -> Iterator[str]:
    yield command
    for parameter in COMMANDS[command].params:
        option = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
        if parameter.name in given:
            yield from (*option, given[parameter.name])
        elif parameter.required:
            yield from (*option, "1")  # a number or text
        elif parameter.name == "target":
            yield from (*option, "churn")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("command", "one", "other"),
    [pytest.param(*pair, id=f"{pair[0]}-{label(pair[1])}-{label(pair[2])}") for pair in PAIRS],
)
def test_equal_paths(command, one, other, way, request, invoke, tmp_path, monkeypatch):
    """Nothing is written, and the message names both, whichever has which name, forced or not."""
    contents = {n: request.getfixturevalue(f).read_bytes() for n, f in CONTENTS.items()}
    content = next((contents[p.name] for p in (one, other) if p.name in contents), b"")
    n_tried = 0
    for ending in ENDINGS:
        if way not in ("equal", "link") and ending not in (".csv", ".html"):
            continue  # these two names say enough
        folder = tmp_path / ending.strip(".")
        folder.mkdir()
        monkeypatch.chdir(folder)
        path = folder / f"x{ending}"
        path.write_bytes(content)
        names = two_names(path, way)
        given = {}
        for parameter in paths_of(command):
            if parameter.name in contents:
                given[parameter.name] = str(folder / f"{parameter.name}.in")
                Path(given[parameter.name]).write_bytes(contents[parameter.name])
            elif parameter.required:
                given[parameter.name] = str(folder / "needed.out")
        before = snapshot(folder)
        for first, second in (names, names[::-1]):
            given |= {one.name: first, other.name: second}
            for force in ([], ["--force"]):
                done = invoke(*command_line(command, given), *force)
                n_tried += 1
                assert done.exit_code == 2, done.output
                [line] = done.stderr.splitlines()
                assert f"{label(one)} {Path(first)}" in line
                assert f"{label(other)} {Path(second)}" in line
                assert "the same f" in line  # file or folder
                assert snapshot(folder) == before
    assert n_tried >= 8
