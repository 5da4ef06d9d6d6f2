"""Measures how far a reader of the code has to walk: frames below three public calls, and sizes.

The walks are those of docs/architecture.md: the fit of a frame with text, `predict_proba`, and the
paper's SVC. A walk is the deepest stack of frames of the package's files below the call; frames
that Python 3.12 no longer has (comprehensions, `_caching`) are left out. Run it by
`python benchmarks/walks.py`; `--deep 17` prints all stacks with so many frames, and how often
they occur.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import splinear
from splinear import AdditiveClassifier, AdditiveSVC
from splinear.terms import Spline

ROOT = Path(splinear.__file__).parent
ENGINE = ("estimators", "solvers", "objective", "losses", "model", "terms")
NOT_COUNTED = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}
Stack = tuple[tuple[str, str], ...]


def stacks_below(call: Callable[[], object]) -> Counter[Stack]:
    """Return the stacks of the package's frames at every call, outermost first."""
    found: Counter[Stack] = Counter()
    here = sys._getframe()
    known: dict[FrameType, Stack] = {here: ()}

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            name, path = frame.f_code.co_name, frame.f_code.co_filename
            last, above = frame.f_back, ()
            while last is not None:
                if last in known:
                    above = known[last]
                    break
                last = last.f_back
            if path.startswith(str(ROOT)) and name not in NOT_COUNTED and "_caching" not in path:
                above = (*above, (path[len(str(ROOT)) + 1 :], name))
                found[above] += 1
            known[frame] = above
        elif event == "return":
            known.pop(frame, None)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def files_twice(stack: Stack) -> list[str]:
    """Return the files to which a stack comes back after it has left them."""
    visits = [file for k, (file, _) in enumerate(stack) if k == 0 or stack[k - 1][0] != file]
    return sorted(file for file, n in Counter(visits).items() if n > 1)


def tell(title: str, found: Counter[Stack], deep: int | None) -> None:
    """Print the deepest stack below a call."""
    deepest = max(found, key=len)
    print(f"\n{title}: {len(deepest) - 1} frames below; visited twice: {files_twice(deepest)}")
    for file, name in deepest:
        print(f"    {file:40} {name}")
    if deep is not None:
        for stack, n in sorted(found.items(), key=lambda item: -len(item[0])):
            if len(stack) > deep:
                print(len(stack) - 1, n, " > ".join(f"{f[:-3]}:{name}" for f, name in stack[-8:]))


def tell_sizes() -> None:
    """Print the sizes of the package and its engine."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    bodies = [_code_of(function) for function in functions]
    classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
    bases = [ast.unparse(base) for one in classes for base in one.bases]
    names = [ast.unparse(n.func) for n in nodes if isinstance(n, ast.Call)]
    lines = {
        room: sum(
            bool(line.strip())
            for path in (ROOT / room).rglob("*.py")
            for line in path.read_text(encoding="utf-8").splitlines()
        )
        for room in ENGINE
    }
    print(f"\nfiles {len(trees)}, classes {len(classes)}, functions {len(functions)},")
    print(f"of at most 3 lines {sum(n <= 3 for n in bodies)}, protocols {bases.count('Protocol')},")
    print(f"runtime protocols {sum('runtime_checkable' in _decorators(c) for c in classes)},")
    print(f"casts {names.count('cast')}, engine lines that are not blank {sum(lines.values())}:")
    print(", ".join(f"{room} {n}" for room, n in lines.items()))


def _decorators(node: ast.ClassDef) -> str:
    return " ".join(ast.unparse(one) for one in node.decorator_list)


def _code_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def walks() -> dict[str, Callable[[], object]]:
    """Return the calls whose walks are measured."""
    rng, n = np.random.default_rng(0), 3000
    frame = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.uniform(size=n), "c": rng.choice(list("xyz"), n)}
    )
    y = np.sin(3 * frame.a) + frame.b + (frame.c == "x") + rng.normal(size=n) > 0.8
    model, X = AdditiveClassifier(random_state=0), frame[["a", "b"]].to_numpy()
    svc = AdditiveSVC(Spline(20), C=1, random_state=0)
    return {
        "AdditiveClassifier().fit(frame, y)": lambda: model.fit(frame, y),
        "predict_proba(frame)": lambda: model.predict_proba(frame),
        "AdditiveSVC(Spline(20), C=1).fit(X, y)": lambda: svc.fit(X, y),
    }


def main() -> None:
    """Measure the walks and the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deep", type=int, default=None)
    deep = parser.parse_args().deep
    for title, call in walks().items():
        tell(title, stacks_below(call), deep)
    tell_sizes()


if __name__ == "__main__":
    main()
