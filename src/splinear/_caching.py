"""Properties that an object computes once, and that its copies may keep."""

from __future__ import annotations

import sys
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Generic, TypeVar

__all__ = ["cached_property", "sharing"]

T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(Generic[T]):  # noqa: N801
        """A property computed once per object, as `functools.cached_property` of Python 3.12.

        That of older versions holds a lock, one for all objects of a class, while it computes:
        threads wait for each other, and a process forked meanwhile waits for good.
        """

        def __init__(self, function: Callable[..., T]) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: object, owner: type | None = None) -> T | cached_property[T]:
            if instance is None:
                return self
            value = self.function(instance)
            vars(instance)[self.name] = value  # where Python looks before it calls this again
            return value


def sharing(source: T, names: Set[str], copy: T) -> T:
    """Return the copy with those cached properties of these names that the source has computed.

    REML creates many layouts and groups that differ by variances only, on which these properties
    must not depend.
    """
    vars(copy).update({name: vars(source)[name] for name in names & vars(source).keys()})
    return copy
