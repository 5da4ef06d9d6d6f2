"""Estimators that pickle and travel through skops as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from splinear._compat import NamedOnce
from splinear.training.state.checking import Plain

__all__ = ["Codec", "Stateful"]

Self = TypeVar("Self", bound="Stateful")

PLAIN = "_learned"  # where the state of a fitted estimator has what fit has left


@dataclass(frozen=True)
class Codec:
    """How what a fit leaves becomes plain data, and comes back.

    Attributes
    ----------
    learned : frozenset of str
        The attributes that a fit sets.
    mark : str
        One that every fit sets.
    plain : callable
        plain(estimator) returns plain data.
    restore : callable
        restore(estimator, data) sets the attributes.
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
        if isinstance(terms := state.get("terms"), dict):  # skops has no place for pairs as keys
            state["terms"] = list(terms.items())
        codec = self._CODEC
        if codec.mark not in state:
            return state
        try:
            learned = codec.plain(self)
        except TypeError:  # terms, losses or levels of classes of one's own: the objects themselves
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
        """Return another estimator with the same objects: they do not change."""
        out = type(self).__new__(type(self))
        out.__dict__.update(vars(self))
        return out
