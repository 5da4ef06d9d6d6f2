"""Every public name has a page of the reference, and an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NAMES = "terms losses kernels penalties inspection plotting report export datasets features dask"
MODULES = ["splinear", *(f"splinear.{name}" for name in NAMES.split())]
# A folder of data sets is needed by all loaders but the one of points that are generated.
LOADER = re.compile(r"splinear\.datasets\.load_(?!disk)")


def public() -> dict[str, object]:
    """Functions and classes by their dotted names."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for own in module.__all__:
            value = getattr(module, own)
            if callable(value):
                found[f"{name}.{own}"] = value
    return found


PUBLIC = public()


def listed() -> set[str]:
    """The names in the tables of the reference."""
    out = set()
    for page in (DOCS / "api").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(
            r"currentmodule:: (\S+)\n\n.. autosummary::\n(?:   :.*\n)+\n((?:   \w+\n)+)", text
        ):
            out |= {f"{module}.{name}" for name in names.split()}
    return out


def test_the_reference_lists_every_public_name() -> None:
    assert listed() == set(PUBLIC)


def test_constants_are_named_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    for name in MODULES:
        module = importlib.import_module(name)
        for own in set(module.__all__) - {"__version__"}:
            value = getattr(module, own)
            if not callable(value) and not isinstance(value, ModuleType):
                assert f"`{name}.{own}`" in text


def test_modules_are_those_of_the_package() -> None:
    package = importlib.import_module("splinear")
    modules = {n for n in package.__all__ if isinstance(getattr(package, n), ModuleType)}
    assert {f"splinear.{name}" for name in modules} <= set(MODULES)


def cases() -> list[object]:
    marks = [pytest.mark.data]
    if "SPLINEAR_DATA" not in os.environ:
        marks.append(pytest.mark.skip(reason="SPLINEAR_DATA is not set"))
    return [
        pytest.param(name, marks=marks if LOADER.match(name) else (), id=name) for name in PUBLIC
    ]


@pytest.mark.parametrize("name", cases())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert "\nExamples\n--------\n" in text
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(example, out=said.append)
    pyplot.close("all")
    assert result.attempted > 1
    assert not result.failed, "".join(said)
