"""Reads plain data by name; raises a ValueError that names the place of unexpected data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, Union

import numpy as np
from numpy.typing import DTypeLike

from splinear._types import AnyArray, Floats

__all__ = ["Fields", "Plain", "no_plain_form", "plain_array", "refuse"]

Plain: TypeAlias = Union[  # noqa: UP007 (before Python 3.14, | takes no names in quotes)
    bool, int, float, str, AnyArray, list["Plain"], dict[str, "Plain"], None
]

MOST = 2**62  # upper bound of integers that have no other bound


def refuse(where: str, expected: str, found: object) -> ValueError:
    """Return the error for data that is not as expected."""
    text = repr(found)
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    return ValueError(f"{where}: expected {expected}; found {shown}.")


def no_plain_form(found: object) -> TypeError:
    """Return the error for an object whose class is not part of the library."""
    return TypeError(f"{type(found).__name__} is a class of your own, and has no plain form.")


def plain_array(values: AnyArray, dtype: DTypeLike = np.float64) -> AnyArray:
    """Return a contiguous array of the data type used in files."""
    return np.ascontiguousarray(values, dtype=dtype)


class Fields:
    """The entries of a dict of plain data.

    Parameters
    ----------
    data : object
        Expected to be a dict with text as keys.
    where : str
        Its place, for messages.
    names : str
        The required keys, separated by spaces; there must be no others.
    """

    def __init__(self, data: object, where: str, names: str) -> None:
        expected = names.split()
        if not isinstance(data, dict) or set(data) != set(expected):
            found = sorted(map(str, data)) if isinstance(data, dict) else data
            raise refuse(where, f"a group of the fields {', '.join(expected)}", found)
        self.data, self.where = data, where

    def at(self, name: str) -> str:
        """Return the place of an entry for messages."""
        return f"{self.where}.{name}"

    def has(self, name: str) -> bool:
        """Return whether an entry is not None."""
        return self.data[name] is not None

    def get(self, name: str) -> object:
        """Return an entry unchecked."""
        found: object = self.data[name]
        return found

    def fields(self, name: str, names: str) -> Fields:
        """Return an entry that is a dict with the given keys."""
        return Fields(self.data[name], self.at(name), names)

    def items(self, name: str, length: int | None = None) -> list[object]:
        """Return an entry that is a list, of the given length unless that is None."""
        found = self.data[name]
        if not isinstance(found, list) or (length is not None and len(found) != length):
            expected = "a list" if length is None else f"a list of {length}"
            raise refuse(self.at(name), expected, found)
        return found

    def flag(self, name: str) -> bool:
        """Return an entry that is True or False."""
        found = self.data[name]
        if not isinstance(found, bool):
            raise refuse(self.at(name), "true or false", found)
        return found

    def integer(self, name: str, least: int = 0, most: int = MOST) -> int:
        """Return an entry that is an integer from `least` to `most`."""
        found = self.data[name]
        if type(found) is not int or not least <= found <= most:
            raise refuse(self.at(name), f"a whole number from {least} to {most}", found)
        return found

    def number(self, name: str, *, finite: bool = True) -> float:
        """Return an entry that is a float."""
        found = self.data[name]
        if not isinstance(found, float) or (finite and not np.isfinite(found)):
            raise refuse(self.at(name), "a finite number" if finite else "a number", found)
        return found

    def text(self, name: str, choices: Sequence[str] | None = None) -> str:
        """Return an entry that is text, one of `choices` unless that is None."""
        found = self.data[name]
        if not isinstance(found, str) or (choices is not None and found not in choices):
            raise refuse(
                self.at(name), "text" if choices is None else f"one of {list(choices)}", found
            )
        return found

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: DTypeLike = np.float64,
        *,
        finite: bool = True,
    ) -> AnyArray:
        """Return an entry that is an array of a type and shape; None stands for any length."""
        found = self.data[name]
        wanted = np.dtype(dtype)
        sides = ", ".join("any" if n is None else str(n) for n in shape)
        expected = f"an array of {wanted} of shape ({sides})"
        if not isinstance(found, np.ndarray):
            raise refuse(self.at(name), expected, found)
        fits = found.ndim == len(shape) and all(
            n in (None, m) for n, m in zip(shape, found.shape, strict=True)
        )
        if found.dtype != wanted or not fits:
            raise refuse(self.at(name), expected, f"{found.dtype} of shape {found.shape}")
        if finite and wanted.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{self.at(name)}: there is a number that is not finite.")
        return found

    def positive(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        """Return an entry that is an array of finite floats, none of them negative."""
        found = self.array(name, shape)
        if (found < 0).any():
            raise ValueError(f"{self.at(name)}: there is a number below 0.")
        return found

    def indices(self, name: str, shape: tuple[int | None, ...], most: int) -> AnyArray:
        """Return an entry that is an array of integers from 0 to most - 1."""
        found = self.array(name, shape, np.int64)
        if found.size and not (found.min() >= 0 and found.max() < most):
            raise ValueError(f"{self.at(name)}: there is an index outside of 0 to {most - 1}.")
        return found.astype(np.intp, copy=False)
