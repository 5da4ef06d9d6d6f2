"""What a newcomer finds from the landing page, and what measured pages say of themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+\.md)[^)]*\)|^:link: (\S+)$", re.MULTILINE)

# A newcomer's questions, and what the page that answers them must say.
QUESTIONS = {
    "install": "pip install '.[all]' && splinear demo",
    "first fit": "model = AdditiveClassifier().fit(X_train, y_train)",
    "my data has text and gaps": "## Missing values",
    "why this prediction": "from splinear.inspection import explain",
    "save and deploy": "splinear.save(model,",
    "how sure is this curve": "from splinear.inspection import band",
    "how fast is it": "LinearSVC, linear model",
}


def linked(page: Path) -> set[Path]:
    """The pages that a page links to, by links and by cards; not by menus."""
    out = set()
    for link, card in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / (link or f"{card}.md")).resolve()
        if target.is_relative_to(DOCS) and target.exists():
            out.add(target)
    return out


def within_clicks(n_clicks: int) -> set[Path]:
    found = {DOCS / "index.md"}
    for _ in range(n_clicks):
        found |= {target for page in found for target in linked(page)}
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_within_two_clicks(question: str) -> None:
    pages = within_clicks(2) - {DOCS / "index.md"}
    assert any(QUESTIONS[question] in page.read_text(encoding="utf-8") for page in pages)


def test_cards_of_the_landing_page_lead_somewhere() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    cards = re.findall(r"^:link: (\S+)$", text, re.MULTILINE)
    assert len(cards) > 6
    for card in cards:  # the gallery is made when the site is built
        assert (DOCS / f"{card}.md").exists() or card == "auto_examples/index"


def measured() -> list[Path]:
    """The pages of the section on benchmarks."""
    text = (DOCS / "measured.md").read_text(encoding="utf-8")
    names = [
        name
        for tree in re.findall(r"```{toctree}\n(.*?)```", text, re.DOTALL)
        for name in re.findall(r"^[a-z_]+$", tree, re.MULTILINE)
    ]
    return [DOCS / f"{name}.md" for name in names if name != "running_benchmarks"]


@pytest.mark.parametrize("page", measured(), ids=lambda page: page.stem)
def test_measured_pages_name_a_command_that_is_tested(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:python )?benchmarks/(\w+)\.py", text)
    if page.stem == "reproduce":
        assert "splinear reproduce" in text
        return
    assert commands, "which command writes this page?"
    tests = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "benchmarks").glob("*.py")
    )
    for name in commands:
        assert (ROOT / "benchmarks" / f"{name}.py").exists()
        assert re.search(rf'"{name}"|\b{name}\.py', tests), f"no test runs benchmarks/{name}.py"


def test_every_written_page_is_among_the_benchmarks() -> None:
    """Pages that benchmarks write are reached from one place."""
    written = {
        match
        for script in (ROOT / "benchmarks").glob("*.py")
        for match in re.findall(r'"(\w+)\.md"', script.read_text(encoding="utf-8"))
    }
    there = {name for name in written if (DOCS / f"{name}.md").exists()}
    assert there <= {page.stem for page in measured()}
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in there if f"../docs/{name}.md" not in listed] == []


def introduction(script: Path) -> str | None:
    """The words of INTRODUCTION in a benchmark, as a pattern: anything where a number goes."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INTRODUCTION":
            pieces = getattr(node.value, "values", [node.value])
            text = "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in pieces)
            parts = re.split(r"{[^}]*}", " ".join(text.split()))
            return ".*?".join(map(re.escape, parts))
    return None


SCRIPTS = {
    DOCS / f"{name}.md": script
    for script in sorted((ROOT / "benchmarks").glob("*.py"))
    for name in re.findall(r'"(\w+)\.md"', script.read_text(encoding="utf-8"))
    if introduction(script) is not None
}


@pytest.mark.parametrize("page", SCRIPTS, ids=lambda page: page.stem)
def test_pages_are_introduced_as_their_commands_would(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    if "Older than the current version" not in text:
        assert re.search(introduction(SCRIPTS[page]), text)
