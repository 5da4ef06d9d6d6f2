import os
import re
import subprocess
import sys

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from splinear import __version__, cli, demo
from splinear.cli import app
from splinear.cli import demo as command

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(cli.make_app(), [str(argument) for argument in arguments])


def assert_one_clear_line(result, *parts):
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("splinear: ")
    for part in parts:
        assert str(part) in line


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run `splinear demo` as a user would, in an empty folder, its output not a terminal."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", "-c", "from splinear.cli import main; main()"]
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = subprocess.run(
        [*command, "demo", "--splits", "2"],
        cwd=folder,
        env=environment | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return folder, done


def test_demo_ends_well(finished):
    _, done = finished
    assert done.returncode == 0, done.stderr
    assert "21/21" in done.stderr
    assert max(len(line) for line in done.stdout.splitlines()[:-1]) <= 80


def test_demo_prints_one_row_for_each_model(finished):
    _, done = finished
    for name in demo.MODELS:
        row = rf"  {re.escape(name)} +\d+\.\d% ± \d+\.\d +\d+\.\d{{4}} +\d\.\de-\d\d *$"
        assert len(re.findall(row, done.stdout, flags=re.MULTILINE)) == 3, name
    assert "default" in demo.MODELS
    for data in demo.load_data_sets():
        assert done.stdout.count(f"{data.name}   ") == 1


def test_demo_writes_a_picture_and_says_where(finished):
    folder, done = finished
    picture = folder / "splinear_demo.png"
    assert done.stdout.splitlines()[-1].endswith(str(picture.resolve()))
    assert [path.name for path in folder.iterdir()] == ["splinear_demo.png"]
    pixels = imread(picture)
    assert pixels.shape == (700, 1200, 4)
    assert pixels[..., :3].std() > 0.05  # not a blank page


@pytest.fixture
def no_work(monkeypatch):
    """Let only the command line itself run: no model is fitted."""
    monkeypatch.setattr(command, "_run_demo", lambda splits, seed: [])


@pytest.mark.usefixtures("no_work")
def test_output_may_name_a_file_or_a_folder(tmp_path):
    assert invoke("demo", "--output", tmp_path / "my.svg").exit_code == 0
    assert invoke("demo", "-o", tmp_path).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"my.svg", "splinear_demo.png"}


def test_output_in_a_folder_that_is_not_there(tmp_path):
    path = tmp_path / "missing" / "curves.png"
    assert_one_clear_line(invoke("demo", "--output", path), path, "there is no folder")


def test_output_in_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "curves.png"
    assert_one_clear_line(invoke("demo", "--output", path), path, "there is no folder")


def test_output_in_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    path = tmp_path / "curves.png"
    assert_one_clear_line(invoke("demo", "--output", path), path, "permission denied")


def test_output_in_a_format_that_cannot_be_drawn(tmp_path):
    path = tmp_path / "curves.txt"
    assert_one_clear_line(invoke("demo", "--output", path), path, "must end in one of .png")


@pytest.mark.usefixtures("no_work")
def test_disk_that_fills_up_while_writing(tmp_path, monkeypatch):
    def fail(path, seed):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo, "save_curves", fail)
    result = invoke("demo", "--output", tmp_path)
    assert result.exit_code == 1
    path = tmp_path / "splinear_demo.png"
    assert result.stderr == f"splinear: cannot write {path}: No space left on device\n"


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = invoke("demo", "--output", tmp_path)
    assert_one_clear_line(result, "pip install 'splinear[plot]'")


def test_without_typer(monkeypatch, capsys):
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == (
        "splinear: the command line needs typer and rich: pip install 'splinear[cli]'"
    )


def test_module_imports_without_typer_and_rich():
    blocked = "import sys; sys.modules.update(typer=None, rich=None); import splinear.cli"
    subprocess.run([sys.executable, "-c", blocked], check=True, timeout=120)


def test_help_and_version():
    assert "demo" in invoke("--help").stdout
    assert "--output" in invoke("demo", "--help").stdout
    assert invoke("--version").stdout == f"splinear {__version__}\n"


@pytest.mark.parametrize("arguments", [("demo", "--splits", "0"), ("nonsense",)])
def test_wrong_usage(arguments):
    assert invoke(*arguments).exit_code == 2
