"""Columns that are read as numbers on request: amounts such as $1,234.50, and dates as days.

Dates and times are days since 1970-01-01 (of UTC, where they have a time zone), spans are days, and
times of day are shares of a day.
"""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import Any, TypeAlias

__all__ = ["date_column", "number_column", "read_number"]

Arrow: TypeAlias = Any

DAY = 86_400_000_000  # microseconds
SIGN = "[-+\N{MINUS SIGN}]?"
MARK = r"(?:[$€£¥₹₽₩]|[A-Z]{3}|%)?"  # a currency, by its sign or code, or percent
DIGITS = r"([\d.,'\s]*\d[\d.,'\s]*(?:[eE][-+]?\d+)?)"
AMOUNT = re.compile(rf"(\(?)\s*({SIGN})\s*{MARK}\s*({SIGN})\s*{DIGITS}\s*{MARK}\s*(\)?)")
GROUPED = {
    mark: re.compile(rf"\d{{1,3}}(?:[{others}]\d{{3}})+(?=\D|$)")
    for mark, others in ((".", r",'\s"), (",", r".'\s"))
}


def read_number(text: str, decimal_point: str = ".") -> float:
    """Return the number that a text is, and NaN if it is none.

    It may have a currency or a percent sign, which do not change it (12 % is 12), thousands in
    groups of three, and parentheses as a minus.
    """
    found = AMOUNT.fullmatch(text.strip())
    if found is None or bool(found[1]) != bool(found[5]) or (found[2] and found[3]):
        return math.nan
    digits = GROUPED[decimal_point].sub(
        lambda group: re.sub(r"\D", "", group[0]), found[4].strip(), count=1
    )
    if decimal_point != "." and "." in digits:
        return math.nan
    try:
        size = float(digits.replace(decimal_point, "."))
    except ValueError:
        return math.nan
    is_negative = bool(found[1]) or (found[2] or found[3]) in ("-", "\N{MINUS SIGN}")
    return -size if is_negative else size


def number_column(column: Arrow, decimal_point: str = ".") -> Arrow:
    """Return an Arrow array as floats; text that is no number becomes a missing value."""
    arrow, types = import_module("pyarrow"), import_module("pyarrow.types")
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return column.cast(arrow.float64())
    coded = column.dictionary_encode()  # a text is read once, however often it occurs
    values = [read_number(text, decimal_point) for text in coded.dictionary.to_pylist()]
    numbers = arrow.array([None if math.isnan(x) else x for x in values], arrow.float64())
    return numbers.take(coded.indices)


def date_column(column: Arrow, where: str) -> Arrow:
    """Return an Arrow array of dates, times or spans as floats: days."""
    arrow, types = import_module("pyarrow"), import_module("pyarrow.types")
    try:
        if types.is_time(column.type):
            column = column.cast(arrow.time64("us"))
        elif types.is_duration(column.type):
            column = column.cast(arrow.duration("us"), safe=False)
        else:
            column = column.cast(arrow.timestamp("us"), safe=False)
        return import_module("pyarrow.compute").divide(
            column.cast(arrow.int64()).cast(arrow.float64()), float(DAY)
        )
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise ValueError(
            f"{where} cannot be read as dates, which are written as 2026-05-31 or 2026-05-31 "
            f"14:30:00: {error}"
        ) from error
