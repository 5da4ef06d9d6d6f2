"""Conversion of plain data to the parts of a file, JSON and arrays, and back."""

from __future__ import annotations

import json
import re

import numpy as np

from splinear._types import AnyArray
from splinear.estimators.state.checking import Plain, refuse
from splinear.estimators.state.values import is_array_type

__all__ = ["STRUCTURE", "parts_of", "tree_of"]

STRUCTURE = "structure.json"
MOST_TEXT = 2**28  # bytes of JSON
MOST_VALUES = 2**23  # in the JSON; each takes up to some hundred bytes in memory
MOST_DIGITS = 1000  # of an integer
LAST_CHARACTER = 0x10FFFF

# Floats that JSON cannot express.
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}


def parts_of(tree: dict[str, Plain]) -> dict[str, bytes | memoryview]:
    """Return the parts of a file for plain data."""
    arrays: list[AnyArray] = []
    structure = _written(tree, arrays)
    types: list[Plain] = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays]
    whole = {**structure, "arrays": types} if isinstance(structure, dict) else {}
    text = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
    _check_size(text)
    parts: dict[str, bytes | memoryview] = {STRUCTURE: text}
    for k, array in enumerate(arrays):
        parts[_name(k)] = array.tobytes()
    return parts


def _name(k: int) -> str:
    return f"arrays/{k}"


def _written(data: Plain, arrays: list[AnyArray]) -> Plain:
    """Return plain data for JSON; arrays are appended to the list and replaced by indices."""
    if isinstance(data, dict):
        return {name: _written(item, arrays) for name, item in data.items()}
    if isinstance(data, list):
        return [_written(item, arrays) for item in data]
    if isinstance(data, float) and not np.isfinite(data):
        return {"$float": str(data)}
    if isinstance(data, np.ndarray):
        little = data.astype(data.dtype.newbyteorder("<"), copy=False)
        arrays.append(np.ascontiguousarray(little).reshape(data.shape))
        return {"$array": len(arrays) - 1}
    return data


def tree_of(parts: dict[str, bytearray]) -> dict[str, Plain]:
    """Return the plain data of the parts of a file."""
    if STRUCTURE not in parts:
        raise ValueError(f"it has no part {STRUCTURE!r}")
    text = parts[STRUCTURE]
    _check_size(text)
    try:
        structure = json.loads(text, parse_int=_whole, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    if not isinstance(structure, dict):
        raise refuse(STRUCTURE, "a group of fields", structure)
    types = structure.pop("arrays", None)
    if not isinstance(types, list) or len(types) != len(parts) - 1:
        raise ValueError(f"it has {len(parts) - 1} parts of arrays, and does not say what they are")
    arrays = [_array(own, k, parts.get(_name(k))) for k, own in enumerate(types)]
    found = _read(structure, arrays)
    return found if isinstance(found, dict) else {}


def _check_size(text: bytes | bytearray) -> None:
    n_values = text.count(b",") + text.count(b"[") + text.count(b"{")
    if len(text) > MOST_TEXT or n_values > MOST_VALUES:
        raise ValueError(
            f"its JSON has {len(text):,} bytes and up to {n_values:,} values; at most "
            f"{MOST_TEXT:,} and {MOST_VALUES:,} are allowed"
        )


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(digits)} digits")
    return int(digits)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _array(own: object, k: int, content: bytearray | None) -> AnyArray:
    """Return an array, given its type and shape `own` and its bytes `content`."""
    where = f"arrays[{k}]"
    if not isinstance(own, dict) or set(own) != {"dtype", "shape"} or content is None:
        raise refuse(where, f"a dtype, a shape and a part {_name(k)!r}", own)
    kind, shape = own["dtype"], own["shape"]
    if not isinstance(kind, str) or not is_array_type(kind):
        raise refuse(where, "a dtype of numbers, text or times", kind)
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise refuse(where, "a shape", shape)
    dtype, n = np.dtype(kind), 1
    for side in shape:
        n *= side
    if n * dtype.itemsize != len(content) or len(shape) > 8 or max(shape, default=0) > 2**62:
        raise ValueError(f"{where}: {len(content)} bytes are not {kind} of shape {shape}.")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    array = np.frombuffer(content, dtype).reshape(shape)
    _check_content(array, content, where)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _check_content(array: AnyArray, content: bytearray, where: str) -> None:
    """Raise if booleans or characters have invalid values."""
    kind = array.dtype.kind
    if kind == "b" and (np.frombuffer(content, np.uint8) > 1).any():
        raise ValueError(f"{where}: there is a byte that is neither true nor false.")
    if kind == "U" and (np.frombuffer(content, "<u4") > LAST_CHARACTER).any():
        raise ValueError(f"{where}: there is a number that is no character.")


def _read(data: Plain, arrays: list[AnyArray]) -> Plain:
    """Return plain data with its arrays, and with floats that JSON cannot express."""
    if isinstance(data, list):
        return [_read(item, arrays) for item in data]
    if not isinstance(data, dict):
        return data
    if not any(name.startswith("$") for name in data):
        return {name: _read(item, arrays) for name, item in data.items()}
    [(name, item), *more] = data.items()
    if name == "$array" and not more and type(item) is int and 0 <= item < len(arrays):
        return arrays[item]
    if name == "$float" and not more and isinstance(item, str) and item in SPECIAL:
        return SPECIAL[item]
    raise refuse(STRUCTURE, "the number of an array, or a float", re.sub(r"\s+", " ", str(data)))
