"""The user's values as plain data: levels of categories, classes, and parameters.

None, bool, int, float and str stand for themselves. Everything else is a list [kind, content].
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta

import numpy as np

from splinear._types import AnyArray, Input
from splinear.estimators.state.checking import Plain, refuse

__all__ = ["is_array_type", "levels_from", "pandas_plain", "value_from", "value_plain"]

ITSELF = (type(None), bool, int, float, str)
ARRAY_TYPE = re.compile(r"[<|](?:b1|[iu][1248]|f[248]|[US]\d{1,6}|[mM]8(?:\[\d*[a-zA-Z]+\])?)")


def is_array_type(text: str) -> bool:
    """Return whether `text` is NumPy's name of a data type that arrays in files may have."""
    return ARRAY_TYPE.fullmatch(text) is not None


def value_plain(value: Input, where: str) -> Plain:
    """Return a value as plain data; raise a TypeError that names its place if impossible."""
    if type(value) in ITSELF:
        plain: Plain = value
        return plain
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, [value_plain(item, f"{where}[{k}]") for k, item in enumerate(value)]]
    if isinstance(value, dict):
        return ["dict", [_pair_plain(key, item, where) for key, item in value.items()]]
    if isinstance(value, np.ndarray):
        return _array_plain(value, where)
    if isinstance(value, np.generic):
        return ["scalar", _array_plain(np.asarray(value), where)]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if type(value) in (date, time, datetime) and getattr(value, "tzinfo", None) is None:
        return [type(value).__name__, value.isoformat()]
    if type(value) is timedelta:
        return ["timedelta", [value.days, value.seconds, value.microseconds]]
    found = pandas_plain(value, lambda part: value_plain(part, where))
    if found is None:
        raise TypeError(f"{where} is of the type {type(value).__name__}, which files cannot hold.")
    return found


def _pair_plain(key: Input, item: Input, where: str) -> Plain:
    return [value_plain(key, f"a key of {where}"), value_plain(item, f"{where}[{key!r}]")]


def _array_plain(array: AnyArray, where: str) -> Plain:
    if array.dtype == object:
        flat = [value_plain(item, f"{where}[{k}]") for k, item in enumerate(array.ravel().tolist())]
        return ["objects", [list(array.shape), flat]]
    little = array.astype(array.dtype.newbyteorder("<"))
    if not is_array_type(little.dtype.str):
        raise TypeError(f"{where} is an array of {array.dtype}, which files cannot hold.")
    return ["array", np.ascontiguousarray(little).reshape(array.shape)]


def value_from(data: object, where: str) -> Input:
    """Return a value from plain data."""
    if type(data) in ITSELF:
        return data
    if not isinstance(data, list) or len(data) != 2 or not isinstance(data[0], str):
        raise refuse(where, "a value", data)
    kind, content = data
    if kind not in READERS:
        raise refuse(where, f"a value of one of the kinds {', '.join(READERS)}", kind)
    try:
        return READERS[kind](content, where)
    except (TypeError, OverflowError, LookupError, AttributeError) as error:
        raise ValueError(f"{where}: not a value of the kind {kind} ({error}).") from error


def _items(content: object, where: str) -> list[Input]:
    if not isinstance(content, list):
        raise refuse(where, "a list", content)
    return [value_from(item, f"{where}[{k}]") for k, item in enumerate(content)]


def _dict(content: object, where: str) -> dict[Input, Input]:
    found: list[Input] = content if isinstance(content, list) else [content]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise refuse(where, "a list of keys and values", content)
    return {value_from(key, where): value_from(item, where) for key, item in found}


def _array(content: object, where: str) -> AnyArray:
    if not isinstance(content, np.ndarray):
        raise refuse(where, "an array", content)
    return content


def _objects(content: object, where: str) -> AnyArray:
    if not isinstance(content, list) or len(content) != 2 or not isinstance(content[0], list):
        raise refuse(where, "the shape and the entries of an array", content)
    shape, flat = content[0], _items(content[1], where)
    if not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 8:
        raise refuse(where, "a shape", shape)
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)


def _scalar(content: object, where: str) -> Input:
    array = value_from(content, where)
    if not isinstance(array, np.ndarray) or array.shape != ():
        raise refuse(where, "an array of one number", array)
    return array[()]


def _iso(kind: type[date] | type[time]) -> Callable[[Input, str], object]:
    return lambda content, _: kind.fromisoformat(content)


def levels_from(data: Sequence[object], where: str) -> tuple[object, ...]:
    """Return the levels of a category from plain data; raise if two are equal."""
    levels = tuple(value_from(level, f"{where}[{k}]") for k, level in enumerate(data))
    try:
        n_different = len(set(levels))
    except TypeError as error:
        raise ValueError(f"{where}: {error}.") from error
    if n_different < len(levels):
        raise ValueError(f"{where}: there is a level that comes twice.")
    return levels


def pandas_plain(value: Input, plain: Callable[[Input], Plain]) -> Plain:
    """Return a pandas value as plain data; None for a value of any other kind."""
    if type(value).__module__.split(".")[0] != "pandas":
        return None
    if hasattr(value, "to_numpy") and hasattr(value, "__len__"):  # an index or a series
        return plain(value.to_numpy())
    kind = type(value).__name__.lower()
    if kind == "timestamp":
        zone = None if value.tz is None else str(value.tz)
        bare = value.tz_convert(None) if zone else value
        return [kind, [_ticks(bare), bare.unit, zone]]
    if kind == "timedelta":
        return ["pandas_timedelta", [_ticks(value), value.unit]]
    if kind == "interval":
        return [kind, [plain(value.left), plain(value.right), value.closed]]
    if kind == "period":
        return [kind, [int(value.ordinal), value.freqstr]]
    return None


def _ticks(value: Input) -> int:
    return int(value.asm8.view(np.int64))


def _pandas() -> Input:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ValueError("there are values of pandas, which is not installed.") from error


def _timestamp(parts: list[Input]) -> Input:
    ticks, unit, zone = parts
    bare = _pandas().Timestamp(np.datetime64(ticks, unit)).as_unit(unit)
    return bare if zone is None else bare.tz_localize("UTC").tz_convert(zone)


def _timedelta(parts: list[Input]) -> Input:
    ticks, unit = parts
    return _pandas().Timedelta(np.timedelta64(ticks, unit)).as_unit(unit)


def _interval(parts: list[Input]) -> Input:
    left, right, closed = parts
    return _pandas().Interval(left, right, closed)


def _period(parts: list[Input]) -> Input:
    ordinal, freq = parts
    return _pandas().Period(ordinal=ordinal, freq=freq)


PANDAS: dict[str, Callable[[list[Input]], Input]] = {
    "timestamp": _timestamp,
    "pandas_timedelta": _timedelta,
    "interval": _interval,
    "period": _period,
}
READERS: dict[str, Callable[[Input, str], Input]] = {
    "list": _items,
    "tuple": lambda content, where: tuple(_items(content, where)),
    "dict": _dict,
    "array": _array,
    "objects": _objects,
    "scalar": _scalar,
    "bytes": lambda content, _: bytes.fromhex(content),
    "date": _iso(date),
    "time": _iso(time),
    "datetime": _iso(datetime),
    "timedelta": lambda content, _: timedelta(*content),
} | {
    kind: lambda content, where, read=read: read(_items(content, where))
    for kind, read in PANDAS.items()
}
