"""Load model files in which something was changed, from one seed to another: see test_loading.py.

Prints what went wrong, a line each: an error of another kind than users should see, one that does
not name the file, or a file that takes too long. Bytes of the archive are changed, and, with
checksums that are right again, the text and the structure of its JSON, and the numbers of arrays.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from read_mutated import mutated
from seeds import not_too_long, try_seeds

import splinear
from splinear import inspection

sys.path.insert(0, str(Path(__file__).parents[1] / "files"))
from golden import FOLDER, KINDS, rows_of

Random = np.random.Generator
Parts = dict[str, bytes]

INTEGERS = [-1, 0, 1, 2, 3, 7, 64, 66, 255, 65536, 2**31, 2**40, 2**62, 2**63, 10**30]
FLOATS = [0.0, -0.0, -1.0, 0.5, 1e308, -1e308, 5e-324, 1e-300, 3.0, 1e18]
OTHERS: list[Any] = [None, True, False, "", "x", "drop", "bspline", "linear", [], {}, [[]]]
OTHERS += [{"$float": "nan"}, {"$float": "inf"}, {"$array": 0}, {"$array": 3}, ["list", []]]
OTHERS += [["tuple", [1]], ["dict", []], ["scalar", 1], ["bytes", "zz"], ["interval", [1, 2, "x"]]]
OTHERS += [["timestamp", [1, "ns", None]], ["period", [1, "M"]], ["objects", [[2], [1]]]]
# How clear messages of rows and parameters begin.
ROWS = ("Input X", "X has", "X must", "X is", "The feature names", "n_jobs == 0")
TYPES = ["<f8", "<f4", "<f2", "<i8", "<i4", "<u8", "|b1", "<U1", "|S8", "<M8[ns]", "<m8[D]", "|O"]


def parts_of(path: Path) -> Parts:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def archive(parts: Parts) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in parts.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Return every place of a tree: a dict or list, and a key or number in it."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    out = []
    for key, item in items:
        out.append((tree, key))
        if isinstance(item, dict | list):
            out.extend(nodes(item))
    return out


def another(random: Random, old: Any, tree: Any) -> Any:
    """Return something else: like the old, or quite different, or from another place."""
    kind = random.integers(5)
    if kind == 0 and isinstance(old, int):
        return int(old) + int(random.choice([-1, 1, 2, 100]))
    if kind <= 1:
        return INTEGERS[random.integers(len(INTEGERS))]
    if kind == 2:
        return FLOATS[random.integers(len(FLOATS))]
    if kind == 3:
        return deepcopy(OTHERS[random.integers(len(OTHERS))])
    places = nodes(tree)
    where, key = places[random.integers(len(places))]
    return json.loads(json.dumps(where[key]))


def restructured(random: Random, text: bytes) -> bytes:
    """Change JSON as a tree: replace, take out, or double some of it."""
    tree = json.loads(text)
    for _ in range(int(random.integers(1, 4))):
        places = nodes(tree)
        where, key = places[random.integers(len(places))]
        kind = random.random()
        if kind < 0.75:
            where[key] = another(random, where[key], tree)
        elif kind < 0.9:
            del where[key]
        elif isinstance(where, list):
            where.insert(int(key), json.loads(json.dumps(where[key])))
    return json.dumps(tree).encode()


def with_other_numbers(random: Random, parts: Parts) -> None:
    """Change the numbers of an array, or say that it is of another type or shape."""
    tree = json.loads(parts["structure.json"])
    k = int(random.integers(len(tree["arrays"])))
    name, own = f"arrays/{k}", tree["arrays"][k]
    content = bytearray(parts[name])
    if random.random() < 0.3:
        own["dtype"] = TYPES[random.integers(len(TYPES))]
        own["shape"] = [len(content) // max(1, np.dtype(own["dtype"]).itemsize)]
    elif random.random() < 0.2:
        own["shape"] = [int(n) for n in random.permutation(own["shape"])]
    for _ in range(int(random.integers(0, 4)) if len(content) >= 8 else 0):
        at = 8 * int(random.integers(len(content) // 8))
        if own["dtype"] == "<i8":
            wrong = np.int64(np.clip(INTEGERS[random.integers(len(INTEGERS))], -1, 2**62))
        else:
            wrong = np.float64(random.choice([*FLOATS, np.nan, np.inf, -np.inf]))
        content[at : at + 8] = wrong.tobytes()
    parts[name] = bytes(content)
    parts["structure.json"] = json.dumps(tree).encode()


def changed(random: Random, path: Path) -> bytes:
    """Return the bytes of a file of which something was changed."""
    way, parts = random.random(), parts_of(path)
    if way < 0.1:
        return mutated(random, path.read_bytes())
    if way < 0.25:
        parts["structure.json"] = mutated(random, parts["structure.json"])
    elif way < 0.6:
        parts["structure.json"] = restructured(random, parts["structure.json"])
    else:
        with_other_numbers(random, parts)
        if random.random() < 0.2:
            parts["structure.json"] = restructured(random, parts["structure.json"])
    return archive(parts)


def use(model: Any, X: Any, thoroughly: bool) -> None:
    """Predict, and look at the terms."""
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, name):
            getattr(model, name)(X)
    if hasattr(model, "terms_"):
        repr(list(model.terms_))
        inspection.contributions(model, X)
        if thoroughly and model._posteriors:
            # Matrices that are none, of numbers that are none; with NumPy 1.24 no ValueError.
            with suppress(ValueError, np.linalg.LinAlgError):
                inspection.standard_error(model, X)
                str(inspection.summary(model))


def attempt(seed: int, folder: Path, rows: dict[str, Any]) -> str | None:
    """Load the file of a seed; return what was wrong with that."""
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    path = folder / "mutated.splinear"
    path.write_bytes(changed(random, FOLDER / f"{kind}_v1.splinear"))
    try:
        with not_too_long():
            model = splinear.load(path)
    except ValueError as error:
        return None if path.name in str(error) else f"{kind}: does not name the file: {error}"
    except Exception as error:
        return f"{kind}: {type(error).__name__}: {error}"
    try:
        with not_too_long():
            use(model, rows[kind], seed % 4 == 0)
    except ValueError as error:  # rows that do not fit the model
        return None if str(error).startswith(ROWS) else f"{kind}: in use, ValueError: {error}"
    except Exception as error:
        return f"{kind}: in use, {type(error).__name__}: {error}"
    return None


def rows_of_all() -> dict[str, Any]:
    """Return rows for each kind of model."""
    columns = json.loads((FOLDER / "expected_v1.json").read_text(encoding="utf-8"))["rows"]
    rows = {kind: rows_of(kind, columns) for kind in KINDS}
    rows["embedding"] = np.nan_to_num(rows["embedding"])
    return rows


if __name__ == "__main__":
    try_seeds(partial(attempt, rows=rows_of_all()), sys.argv[1:])
