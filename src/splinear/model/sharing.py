"""Cached properties that copies of an immutable object may keep."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeVar

__all__ = ["sharing"]

T = TypeVar("T")


def sharing(source: T, names: Set[str], copy: T) -> T:
    """Return the copy with those cached properties of these names that the source has computed.

    REML creates many layouts and groups that differ by variances only, on which these properties
    must not depend.
    """
    vars(copy).update({name: vars(source)[name] for name in names & vars(source).keys()})
    return copy
