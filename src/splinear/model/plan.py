"""The plan of terms: which term each feature gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from splinear._compat import InvalidParameterError
from splinear._lookup import column_position
from splinear.model.layout import Layout
from splinear.terms.base import Advice, ColumnData, Term
from splinear.terms.category import Category
from splinear.terms.fourier import Fourier
from splinear.terms.group import TermGroup
from splinear.terms.pair import Pair
from splinear.terms.spline import Spline
from splinear.terms.varying import Varying

__all__ = ["FeaturePair", "TermPlan", "check_curve", "check_terms"]

FeaturePair: TypeAlias = tuple[int, int]  # the smaller position first


@dataclass(frozen=True, eq=False)
class TermPlan:
    """The term of each feature of a table.

    Attributes
    ----------
    curve : Term
        The term of numeric features that `terms` does not name.
    given : dict of int to Term or None
        The terms of features that `terms` names; None if they are dropped.
    n_features : int
    names : list or None
        Names of the columns.
    pairs : dict of (int, int) to Pair
        Surfaces that `terms` names.
    varying : dict of (int, int) to Varying
        Varying coefficients that `terms` names, by the positions of `of` and `by`.
    """

    curve: Term
    given: dict[int, Term | None]
    n_features: int
    names: list[object] | None = None
    pairs: dict[FeaturePair, Pair] = field(default_factory=dict)
    varying: dict[tuple[int, int], Varying] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        curve: Term | None,
        terms: Mapping[str | int, object] | None,
        n_features: int,
        names: Iterable[object] | None,
    ) -> TermPlan:
        """Check the parameters `curve` and `terms` against the columns of a table."""
        checked = Spline() if curve is None else curve
        if isinstance(checked, Pair | Varying):
            raise ValueError(_for_two("curve", checked))
        if isinstance(checked, Category):
            raise ValueError(
                "curve is the term of numeric features; Category is for categories. Use "
                "terms={...} or categorical_features."
            )
        names = None if names is None else list(names)
        given: dict[int, Term | None] = {}
        of_two: dict[object, object] = {
            key: term for key, term in (terms or {}).items() if isinstance(key, tuple)
        }
        for key, term in ({} if terms is None else terms).items():
            if key in of_two:
                continue
            refusal = f"terms names feature {key!r}, which is not there"
            j = column_position(key, n_features, names, refusal)
            if j in given:
                raise ValueError(f"terms names column {j} twice, by its name and by its position.")
            dropped = isinstance(term, str) and term == "drop"
            given[j] = None if dropped else _checked(term, f"terms[{key!r}]")
        if given and len(given) == n_features and all(t is None for t in given.values()):
            raise ValueError("terms drops all features; at least one is needed.")
        return cls(checked, given, n_features, names).with_pairs(of_two)

    def with_pairs(self, terms: Mapping[object, object]) -> TermPlan:
        """Return the plan with the terms of pairs of features."""
        found: dict[FeaturePair, tuple[FeaturePair, Pair | Varying]] = {}
        for key, term in terms.items():
            where = f"terms[{key!r}]"
            of, by = self.two_positions(key, where)
            at = min(of, by), max(of, by)
            if at in found:
                raise ValueError(f"terms names the pair {at} twice.")
            found[at] = (of, by), _checked_pair(term, where)
        return replace(
            self,
            pairs={at: term for at, (_, term) in found.items() if isinstance(term, Pair)},
            varying={at: term for at, term in found.values() if isinstance(term, Varying)},
        )

    def pair_position(self, key: object, where: str) -> FeaturePair:
        """Return the ascending positions of two features given by names or positions."""
        j, k = self.two_positions(key, where)
        return min(j, k), max(j, k)

    def two_positions(self, key: object, where: str) -> tuple[int, int]:
        """Return the positions of two features given by names or positions, in their order."""
        if not isinstance(key, Sequence | np.ndarray) or isinstance(key, str) or len(key) != 2:
            raise ValueError(f"{where}: expected two features; got {key!r}.")
        refusal = f"{where} names a feature of the pair {key!r} that is not there"
        j, k = (column_position(part, self.n_features, self.names, refusal) for part in key)
        if j == k:
            raise ValueError(f"{where}: a pair is of two different features; got {key!r}.")
        if {j, k} & self.dropped:
            raise ValueError(
                f"{where}: a feature of the pair {key!r} is dropped by `terms`; a pair needs the "
                "curves of both its features."
            )
        return j, k

    @property
    def categories(self) -> set[int]:
        """Features that are categorical because `terms` says so."""
        return {j for j, term in self.given.items() if isinstance(term, Category)}

    @property
    def dropped(self) -> set[int]:
        """Features that are ignored."""
        return {j for j, term in self.given.items() if term is None}

    def term_of(self, j: int, *, is_category: bool) -> Term:
        """Return the term of a feature that is not dropped."""
        term = self.given.get(j)
        if term is None:
            return Category() if is_category else self.curve
        return term

    def strict(self, categorical: list[int]) -> frozenset[int]:
        """Return the categorical features for which an unseen level raises an error."""
        terms = {j: self.term_of(j, is_category=True) for j in categorical}
        return frozenset(
            j for j, term in terms.items() if isinstance(term, Category) and term.unseen == "error"
        )

    def periods(self, categorical: list[int]) -> dict[int, float]:
        """Return the periods of numeric features that are taken modulo a period."""
        known = {j: self.given[j] for j in self.given if j not in categorical}
        if isinstance(self.curve, Fourier) and self.curve.period is not None:
            others = set(range(self.n_features)) - set(self.given) - set(categorical)
            known |= dict.fromkeys(others, self.curve)
        return {
            j: float(term.period)
            for j, term in known.items()
            if isinstance(term, Fourier) and term.period is not None
        }

    def place(self, data: ColumnData, advice: Advice) -> Layout:
        """Return the layout of all terms, placed on the columns of a table."""
        terms: dict[int, Term] = {id(self.curve): self.curve}  # by their identity
        features: dict[int, list[int]] = {}
        default, dropped, named = Category(), self.dropped, {*self.given, *data.levels}
        for j in sorted(named - dropped):
            is_category = j in data.levels
            term = self.term_of(j, is_category=is_category)
            if is_category and j not in self.given:
                term = default
            if is_category != isinstance(term, Category):
                raise ValueError(
                    f"{data.label(j)} holds text or categories, but its term is {term!r}. Use "
                    "Category(), or convert the column to numbers."
                )
            terms[id(term)] = term
            features.setdefault(id(term), []).append(j)
        others = set(range(self.n_features)) - named
        features[id(self.curve)] = sorted(others.union(features.get(id(self.curve), ())))
        terms = {key: terms[key] for key in sorted(terms, key=lambda key: features[key][:1])}
        groups: list[TermGroup] = []
        for key, term in terms.items():
            if features[key]:
                groups.extend(term.place(np.array(features[key], dtype=np.intp), data, advice))
        return Layout(tuple(groups), self.n_features)


def check_curve(curve: object, owner: str) -> None:
    """Check the parameter `curve` of an estimator of class `owner`."""
    if curve is None:
        return
    if not isinstance(curve, Term):
        raise InvalidParameterError(
            f"The 'curve' parameter of {owner} must be a term such as Spline(), Linear() or "
            f"Fourier(), or None. Got {curve!r} instead.{_hint(curve)}"
        )
    curve.check()


def check_terms(terms: object, owner: str) -> None:
    """Check the parameter `terms` of an estimator of class `owner`, without a table."""
    if terms is None:
        return
    if not isinstance(terms, dict):
        hint = " Use curve= for one term for all features." if isinstance(terms, Term) else ""
        raise InvalidParameterError(
            f"The 'terms' parameter of {owner} must be a dict from a feature's name or position "
            "to a term or 'drop', such as {'age': Spline(), 'city': Category()}, or None. Got "
            f"{terms!r} instead.{hint}"
        )
    for key, term in terms.items():
        if isinstance(key, tuple):
            _checked_pair(term, f"terms[{key!r}]")
        elif not (isinstance(term, str) and term == "drop"):
            _checked(term, f"terms[{key!r}]")


def _checked_pair(term: object, where: str) -> Pair | Varying:
    if not isinstance(term, Pair | Varying):
        hint = _hint(term) if term is Pair or term is Varying else ""
        raise InvalidParameterError(f"{where} must be a Pair() or a Varying(); got {term!r}.{hint}")
    term.check()
    return term


def _checked(term: object, where: str) -> Term:
    if isinstance(term, Pair | Varying):
        raise ValueError(_for_two(where, term))
    if not isinstance(term, Term):
        raise InvalidParameterError(
            f"{where} must be a term such as Spline(), Linear() or Category(), or 'drop'; got "
            f"{term!r}.{_hint(term)}"
        )
    term.check()
    return term


def _for_two(where: str, term: Term) -> str:
    name = type(term).__name__
    return f"{where}: {name} is for two features. Use terms={{(a, b): {name}()}}."


def _hint(found: object) -> str:
    """Return a hint to call a term's class that was given in place of a term."""
    if isinstance(found, type) and issubclass(found, Term):
        return f" It is a class; call it: {found.__name__}()."
    return ""
