"""What holds for every module of the package: few untyped values; and the page that maps them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

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


PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
CALL = re.compile(r"^\*\*.*?`(.+?)`.*?```\n(.*?)```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^( *)(\w[\w/]+\.py) +(\w+)")


def walks_told() -> dict[str, list[tuple[tuple[str, str], ...]]]:
    """The walks of the page by call: every line as the functions above it, and its own."""
    text = PAGE.read_text(encoding="utf-8").split("## Three walks")[1].split("\n## ")[0]
    told: dict[str, list[tuple[tuple[str, str], ...]]] = {}
    for call, block in CALL.findall(text):
        above: list[tuple[int, tuple[str, str]]] = []
        for line in block.splitlines():
            match = LINE.match(line)
            assert match is not None, line
            above = [one for one in above if one[0] < len(match[1])]
            above.append((len(match[1]), (match[2], match[3])))
            told.setdefault(call, []).append(tuple(hop for _, hop in above))
    return told


def is_within(hops: tuple[tuple[str, str], ...], stack: tuple[tuple[str, str], ...]) -> bool:
    """Whether a stack ends with the last of these functions, and has the others in this order."""
    left = iter(stack)
    return stack[-1] == hops[-1] and all(hop in left for hop in hops)


def test_the_walks_are_those_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that docs/architecture.md names is called below the ones it is said to be."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    walks, told = import_module("walks"), walks_told()
    calls = walks.walks()
    assert list(told) == list(calls)
    for name, call in calls.items():
        stacks = walks.stacks_below(call)
        missing = [hops for hops in told[name] if not any(is_within(hops, one) for one in stacks)]
        assert not missing, (name, missing)
