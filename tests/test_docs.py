"""The documentation runs, and what it names exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import splinear
from splinear import terms
from splinear.objective import whole_hessian
from splinear.objective.local import memory
from splinear.solvers import newton
from splinear.solvers.reml import choosing
from splinear.terms import advice
from splinear.terms.base import LEAST_BINS, Advice

ROOT = Path(__file__).parents[1]
EXECUTED = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [*EXECUTED, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING"))]
PAGES += [ROOT / "benchmarks" / "README.md", ROOT / "core" / "README.md"]
GENERATED = re.compile("written by one command|writes\\s+this page|as the command wrote it")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:\.ci|benchmarks|core|docs|src|tests)/[\w./-]*")
TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
NAME = re.compile(r"splinear(?:\.\w+)+")


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The line above every block of Python, and the block."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block[1] == "python":
            yield text.count("\n", 0, block.start(2)), block[2]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {name.replace(" ", "-") for name in kept}


def write_customers() -> None:
    """The file that the landing page reads: numbers, text and gaps."""
    rows = (
        f"{20 + i % 50},{'' if i % 9 == 0 else 30 + 7 * (i % 11)},{'abc'[i % 3]},{i % 50 > 20}"
        for i in range(300)
    )
    Path("customers.csv").write_text("\n".join(["age,charges,plan,churn", *rows]))


@pytest.fixture
def _no_windows() -> Iterator[None]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.usefixtures("_no_windows")
@pytest.mark.parametrize("page", [p for p in EXECUTED if any(python_blocks(p))], ids=relative)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_customers()
    # Whatever a page does to it is undone afterward.
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", os.environ.get("SPLINEAR_INSTRUCTIONS", ""))
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, block in python_blocks(page):
        # Empty lines in front, so that a traceback shows the line of the page.
        exec(compile("\n" * line + block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(prose(page)):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{relative(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{relative(page)} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_named_files_tests_and_objects_exist(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        if code.startswith(".") and not (ROOT / ".ci").exists():
            continue  # a source distribution has no hidden files
        if FILE.fullmatch(code):
            assert (ROOT / code).exists(), code
        elif test := TEST.fullmatch(code):
            assert f"def {test[2]}(" in (ROOT / test[1]).read_text(encoding="utf-8"), code
        elif NAME.fullmatch(code):
            assert resolves(code), code


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def calls(page: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls of public classes in a page's inline code, and those inside of them."""
    for code in CODE.findall(prose(page)):
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield code, node


@pytest.mark.parametrize("page", [p for p in PAGES if not GENERATED.search(prose(p))], ids=relative)
def test_named_parameters_exist(page: Path) -> None:
    public = {name: getattr(splinear, name) for name in splinear.__all__}
    public |= {name: getattr(terms, name) for name in terms.__all__}
    for code, call in calls(page):
        named = public.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if named is not None:
            known = inspect.signature(named).parameters
            for keyword in call.keywords:
                assert keyword.arg in known, code


def test_numbers_are_those_of_the_code() -> None:
    narrow = advice.MOST_COEFFICIENTS // advice.MANY
    growth = " and ".join(f"{choosing.GROWTH**k:.0f}" for k in range(1, choosing.MOST_TRIALS))
    said = {
        "docs/guide/terms.md": [
            f"up to {narrow} columns | {advice.MANY} |",
            f"as many as make {advice.MOST_COEFFICIENTS:,} coefficients in all, but at least "
            f"{LEAST_BINS} |",
            f"sparse tables | {advice.FEW} |",
            f"no more than {Advice(1, False).few} under a fixed `C`",
        ],
        "docs/guide/smoothness.md": [
            f"chosen on at most {choosing.MOST_ROWS:,} random rows",
            f"more than {choosing.MOST_ROWS // choosing.ROWS_PER_LEVEL:,} levels",
            f"of {choosing.WIDE} terms or more",
            f"no more than {choosing.FEW_ROWS} rows per term (if they have {choosing.LEAST_ROWS}",
            f"with all variances times {growth}, are compared",
            f"no more than {choosing.FEW_ROWS} rows per curve (a term has one per class; from "
            f"{choosing.LEAST_OF_CROWDED} rows on)",
        ],
        "docs/guide/large.md": [
            f"or {memory.NEED_SOFTMAX.each:.0f} per class if there are more than two",
        ],
        "docs/mathematics.md": [
            f"fewer than {whole_hessian.MAX_DENSE:,} coefficients",
            f"more than {2 * newton.FIRST_SAMPLE:,} rows",
            f"at first of {newton.FIRST_SAMPLE:,} rows",
            f"fewer than {choosing.WIDE} terms",
            f"({choosing.ROWS_PER_LEVEL} rows per level",
            f"no more than {choosing.FEW_ROWS} rows per term",
            f"with all variances multiplied by 1, {growth} as long as that improves the loss",
        ],
        "docs/architecture.md": [
            f"about {memory.NEED_NEWTON.each:.0f} bytes per row (scores, derivatives, steps",
            f"{memory.NEED_SOFTMAX.each:.0f} per row and class under softmax",
        ],
    }
    assert choosing.HELD_OUT == 0.25
    for page, phrases in said.items():
        text = " ".join(prose(ROOT / page).split())
        for phrase in phrases:
            assert phrase in text, page
