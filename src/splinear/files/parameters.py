"""The parameters of estimators and terms as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from splinear import terms
from splinear._types import Input
from splinear._warning import warn
from splinear.estimators.state.checking import Plain, refuse
from splinear.estimators.state.values import value_from, value_plain
from splinear.losses import LOSSES, Loss
from splinear.terms.base import Term

__all__ = ["parameters_from", "parameters_plain"]

TERMS: dict[str, type[Term]] = {
    name: getattr(terms, name) for name in terms.__all__ if name != "Term"
}


def parameters_plain(estimator: BaseEstimator) -> dict[str, Plain]:
    """Return the parameters of an estimator or a term as plain data.

    A callback, and a random_state that is not a number, are stored as None.
    """
    given = estimator.get_params(deep=False)
    left_out = [name for name in given if _is_left_out(name, given[name])]
    if left_out:
        warn(
            f"{' and '.join(left_out)} of {type(estimator).__name__} cannot be saved and "
            "will be None after load. Set it again before you fit the loaded model again.",
            UserWarning,
        )
    return {
        name: None if name in left_out else _plain(value, name) for name, value in given.items()
    }


def _is_left_out(name: str, value: object) -> bool:
    state = np.random.RandomState | np.random.Generator
    return (name == "callback" and value is not None) or (
        name == "random_state" and isinstance(value, state)
    )


def _plain(value: Input, where: str) -> Plain:
    if isinstance(value, Loss):
        if LOSSES.get(value.name) is not type(value):
            raise TypeError(
                f"{where} is a loss of your own, {type(value).__name__}, and files hold those of "
                "splinear.losses only. Pickle keeps the model, where the class can be imported."
            )
        return {"loss": value.name, "parameters": _numbers_of(value)}
    if isinstance(value, Term):
        if TERMS.get(type(value).__name__) is not type(value):
            raise TypeError(
                f"{where} is a term of your own, {type(value).__name__}, and files hold those of "
                "splinear.terms only."
            )
        return {"term": type(value).__name__, "parameters": parameters_plain(value)}
    if isinstance(value, Mapping) and any(isinstance(item, Term) for item in value.values()):
        return {
            "terms": [
                [value_plain(key, f"a key of {where}"), _plain(item, f"{where}[{key!r}]")]
                for key, item in value.items()
            ]
        }
    return value_plain(value, where)


def parameters_from(data: object, where: str) -> dict[str, Input]:
    """Return parameters from plain data."""
    if not isinstance(data, dict):
        raise refuse(where, "a group of parameters", data)
    return {name: _value(item, f"{where}.{name}") for name, item in data.items()}


def _value(data: object, where: str) -> Input:
    if not isinstance(data, dict):
        return value_from(data, where)
    if set(data) == {"terms"} and isinstance(data["terms"], list):
        found = data["terms"]
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
            raise refuse(where, "a list of features and terms", found)
        return {value_from(key, where): _value(item, where) for key, item in found}
    if set(data) == {"loss", "parameters"}:
        return _loss(data["loss"], data["parameters"], where)
    if set(data) != {"term", "parameters"} or data["term"] not in TERMS:
        raise refuse(where, f"one of the terms {', '.join(TERMS)}", data)
    return made(TERMS[data["term"]], data["parameters"], where)


def _numbers_of(loss: Loss) -> dict[str, Plain]:
    return {name: _number(value) for name, value in loss.parameters().items()}


def _number(value: Any) -> Plain:
    """Return a number or None, or a list of numbers."""
    if isinstance(value, tuple):
        return [float(one) for one in value]
    return None if value is None else float(value)


def _loss(name: object, parameters: object, where: str) -> Loss:
    """Return a loss with parameters from plain data."""
    if not isinstance(name, str) or name not in LOSSES:
        raise refuse(where, f"one of the losses {', '.join(LOSSES)}", name)
    known = LOSSES[name]().parameters()
    if not isinstance(parameters, dict) or set(parameters) != set(known):
        raise refuse(where, f"the parameters {', '.join(known)}", parameters)
    wrong = [own for own in parameters.values() if own is not None and not _are_numbers(own)]
    if wrong:
        raise refuse(where, "a number, a list of numbers, or None", wrong[0])
    try:
        return LOSSES[name](**parameters)
    except (ValueError, TypeError):
        raise refuse(where, f"parameters of the loss {name}", parameters) from None


def _are_numbers(value: object) -> bool:
    return all(type(one) is float for one in (value if isinstance(value, list) else [value]))


def made(kind: type[BaseEstimator], data: object, where: str) -> Input:
    """Return an estimator or a term with parameters from plain data.

    Parameters that an older file does not contain have their defaults.
    """
    given = parameters_from(data, where)
    known = kind._get_param_names()
    if not set(given) <= set(known):
        raise refuse(where, f"the parameters {', '.join(known)}", sorted(given))
    return kind(**given)
