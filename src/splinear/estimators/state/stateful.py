"""Base class of estimators whose pickles and skops files hold plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from splinear._compat import NamedOnce
from splinear.estimators.state.checking import Plain

__all__ = ["Codec", "Stateful"]

Self = TypeVar("Self", bound="Stateful")

PLAIN = "_learned"  # key of the fitted attributes in the state of an estimator


@dataclass(frozen=True)
class Codec:
    """Conversion of fitted attributes to plain data and back.

    Attributes
    ----------
    learned : frozenset of str
        Names of the fitted attributes.
    mark : str
        Name of a fitted attribute that every fit sets.
    plain : callable
        plain(estimator) returns the fitted attributes as plain data.
    restore : callable
        restore(estimator, data) sets the fitted attributes.
    """

    learned: frozenset[str]
    mark: str
    plain: Callable[[Any], Plain]
    restore: Callable[[Any, object], None]


class Stateful(NamedOnce):
    """Base of estimators whose state holds no objects of private classes."""

    _CODEC: Codec

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = dict(vars(self))
        if isinstance(terms := state.get("terms"), dict):  # skops does not take tuples as keys
            state["terms"] = list(terms.items())
        codec = self._CODEC
        if codec.mark not in state:
            return state
        try:
            learned = codec.plain(self)
        except TypeError:  # terms, losses or levels of the user's own classes: keep the objects
            return state
        return {name: state[name] for name in state if name not in codec.learned} | {PLAIN: learned}

    def __setstate__(self, state: dict[str, object]) -> None:
        others = dict(state)
        learned = others.pop(PLAIN, None)
        self.__dict__.update(others)
        if isinstance(terms := others.get("terms"), list):
            self.__dict__["terms"] = dict(terms)
        if learned is not None:
            self._CODEC.restore(self, learned)

    def __copy__(self: Self) -> Self:
        """Return a copy that shares all attributes, which are immutable."""
        out = type(self).__new__(type(self))
        out.__dict__.update(vars(self))
        return out
