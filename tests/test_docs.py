"""The documentation runs, and what it names exists."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXECUTED = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*EXECUTED, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:\.ci|core|docs|src|tests)/[\w./-]*")
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
    # Whatever a page does to it is undone afterwards.
    monkeypatch.setenv("SPLINEAR_PATH", os.environ.get("SPLINEAR_PATH", ""))
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
