"""pandas values that may be levels of categories: timestamps, timedeltas, intervals, periods."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from splinear._types import Input
from splinear.training.state.checking import Plain

__all__ = ["PANDAS", "pandas_plain"]


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
