"""Numbers become text; and every number on the page is measured, or the paper's."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path

import pytest

from splinear.experiments import page
from splinear.experiments.reproduction import Reproduction
from splinear.experiments.results import Choice, Claim, Column, Measured, Row, Section, Table

ROOT = Path(str(files("splinear.experiments")))
MODULES = sorted(set(ROOT.glob("*.py")) - {ROOT / "paper.py", ROOT / "targets.py"})
RESULT = re.compile(r"\d\.\d|\d\s*%|\d\s*s\b")


def made(ours: float, holds: bool = True) -> Reproduction:
    cell = Measured(ours, 2.5, 0.125, 0.25)
    table = Table("Times", "method", [Column("time", "s")], [Row("spline", [cell])])
    claim = Claim("faster", f"{ours:.2f} s", holds, "Because.")
    result = Section(
        "table9",
        "Title",
        notes=["a < b"],
        tables=[table],
        choices=[Choice("spline", "to [0, 1]", 0.3, 87.654, True, "0.1 to 0.3")],
        orderings=[claim],
        claims=[claim],
    )
    return Reproduction([result], [ours * 60], {"processor": "x"}, False, 2)


@pytest.mark.parametrize("render", [page.html, page.markdown])
def test_numbers_come_from_the_results(render):
    text, other = render(made(0.5)), render(made(7.75))
    for part in ("0.50 (0.12)", "−2.00 (5.0×)", "87.65", "0.3*"):
        assert part in text
    for part in ("7.75 (0.12)", "+5.25 (0.3×)"):
        assert part in other
    # What differs between the two pages is all that was measured: nothing else has decimals.
    assert "0.50" not in other
    assert "2.50 (0.25)" in other


@pytest.mark.parametrize("render", [page.html, page.markdown])
def test_reasons_are_given_only_for_what_does_not_hold(render):
    assert "Because." not in render(made(1.0))
    assert render(made(1.0, holds=False)).count("Because.") == 2


def test_html_is_escaped():
    assert "a &lt; b" in page.html(made(1.0))


def test_what_is_missing_is_a_dash():
    column = Column("time", "s")
    assert page.ours(Measured(None, 3.0), column) == "–"
    assert page.printed(Measured(3.0), column) == "–"
    assert page.difference(Measured(3.0), column) == "–"


def test_limits_are_marked():
    assert page.ours(Measured(3.0, at_limit=True), Column("time", "s")) == "3.00†"


def test_write_is_all_or_nothing(tmp_path, monkeypatch):
    (tmp_path / "reproduce.md").write_text("before")

    def interrupt(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(page.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        page.write(made(1.0), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["reproduce.md"]
    assert (tmp_path / "reproduce.md").read_text() == "before"


def texts(module: Path):
    """The text of a module that may come on the page: strings that are not docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str):
            yield node.value


def test_the_scan_for_typed_numbers_sees_them(tmp_path):
    module = tmp_path / "typed.py"
    module.write_text('"""3.5 %"""\nx = 2\ntext = f"{x} and 89.5 %"\n')
    assert [text for text in texts(module) if RESULT.search(text)] == [" and 89.5 %"]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_result_is_typed_into_text(module):
    assert [text for text in texts(module) if RESULT.search(text)] == []


@pytest.mark.parametrize("template", sorted((ROOT / "templates").iterdir()), ids=lambda p: p.name)
def test_no_result_is_typed_into_a_template(template):
    markup = re.compile(r"<style>.*?</style>|{{.*?}}|{%.*?%}|<meta.*?>", re.DOTALL)
    assert not RESULT.search(markup.sub("", template.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_numbers_of_the_paper_stay_in_their_module(module):
    """No fraction in a function: what is set is a named constant at the top of its module."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    inside = [node for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for node in f.body]
    for statement in inside:
        for node in ast.walk(statement):
            # Sizes of drawings are no results.
            if module.stem.startswith(("figure", "drawing")):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                pytest.fail(f"{module.name}:{node.lineno}: {node.value}")
