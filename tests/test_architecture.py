"""What holds for every module of the package: small files, short functions, few untyped values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import splinear

ROOT = Path(splinear.__file__).parent
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}

MOST_LINES = 400  # of a module; examples in docstrings are not counted, here and below
MOST_LINES_OF_A_FUNCTION = 40  # docstring and signature included; constructors list parameters
MOST_ANY = 150  # in the whole package


def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of_examples(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """How many lines of a docstring are examples: they are for readers of the reference."""
    _, found, examples = (ast.get_docstring(node) or "").partition("\nExamples\n--------\n")
    return len(examples.splitlines()) + 3 if found else 0


def uses_of_any(name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree(name)))


def n_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1 - lines_of_examples(function)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_modules_are_small(name: str) -> None:
    examples = sum(
        lines_of_examples(node)
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    lines = MODULES[name].read_text(encoding="utf-8").splitlines()
    assert len(lines) - examples <= MOST_LINES


@pytest.mark.parametrize("name", sorted(MODULES))
def test_functions_are_short(name: str) -> None:
    long = {
        function.name: length
        for function in functions(name)
        if (length := n_lines(function)) > MOST_LINES_OF_A_FUNCTION and function.name != "__init__"
    }
    assert long == {}


def test_few_values_are_untyped() -> None:
    found = {name: uses_of_any(name) for name in MODULES}
    assert sum(found.values()) < MOST_ANY, {name: n for name, n in found.items() if n}
