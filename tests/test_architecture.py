"""What holds for every module of the package: few untyped values."""

from __future__ import annotations

import ast
from pathlib import Path

import splinear

ROOT = Path(splinear.__file__).parent
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}

MOST_ANY = 150  # in the whole package


def uses_of_any(name: str) -> int:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def test_few_values_are_untyped() -> None:
    found = {name: uses_of_any(name) for name in MODULES}
    assert sum(found.values()) < MOST_ANY, {name: n for name, n in found.items() if n}
