"""The examples of the gallery: all can be read, some are run here, all are run by .ci/long."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*/plot_*.py"))
QUICK = ["curves/plot_disk.py", "curves/plot_seasons.py", "use/plot_waterfall.py"]
PUBLIC = {
    *("splinear", "splinear.datasets", "splinear.export", "splinear.features"),
    *("splinear.inspection", "splinear.penalties", "splinear.plotting", "splinear.terms"),
}
FEWEST, MOST_LINES = 14, 110
NEEDS = {"curves/plot_disk.py": ["matplotlib"]}  # the others that are run need pandas, too


def tree(example: Path) -> ast.Module:
    return ast.parse(example.read_text(encoding="utf-8"))


def imported(example: Path) -> Iterator[tuple[str, str]]:
    """The modules of splinear and the names that are taken from them."""
    for node in ast.walk(tree(example)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "splinear":
            for alias in node.names:
                yield node.module or "", alias.name
        elif isinstance(node, ast.Import):
            assert not [alias for alias in node.names if alias.name.startswith("splinear.")]


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= FEWEST
    assert all((example.parent / "README.rst").exists() for example in EXAMPLES)
    assert {FOLDER / name for name in QUICK} <= set(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_has_a_title_a_story_and_a_picture(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    story = ast.get_docstring(tree(example))
    assert story
    title, line, blank, words = story.split("\n", 3)
    assert not blank
    assert line == "=" * len(title)
    assert len(words) > 100
    cells = re.findall(r"^# %%\n(.*)", text, re.MULTILINE)
    assert len(cells) >= 2
    assert all(cell.startswith("# ") for cell in cells)  # every cell begins with words
    assert "plt.show()" in text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_uses_public_names_only(example: Path) -> None:
    for module, name in imported(example):
        assert module in PUBLIC
        assert name in importlib.import_module(module).__all__, f"{module}.{name}"
    names = {node.attr for node in ast.walk(tree(example)) if isinstance(node, ast.Attribute)}
    assert not [name for name in names if re.match(r"_[^_]", name)]
    assert "SPLINEAR_DATA" not in example.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", QUICK)
def test_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS.get(name, ["matplotlib", "pandas"]):
        pytest.importorskip(module)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / name))
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        pyplot.figure(number).canvas.draw()  # warnings, as of fonts and layouts, are errors
    pyplot.close("all")
    assert not list(tmp_path.iterdir())
