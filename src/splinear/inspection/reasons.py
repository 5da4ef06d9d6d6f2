"""Reasons: the largest contributions to the score of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from splinear._types import Floats
from splinear.inspection.text import aligned, fixed, places_for, printable, shortened, told_apart

__all__ = ["Reason", "Reasons", "largest"]

_LONGEST_BAR = 16  # characters
_UP, _DOWN = "#0072B2", "#D55E00"


class Reason(NamedTuple):
    """What one term adds to the score of a row.

    Attributes
    ----------
    term : str
        The name of a feature, or those of two.
    value : str
        What the row holds there.
    contribution : float
    error : float
        The standard error of the contribution; NaN where it is not known.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> reason = explain(model, X[:1]).reasons(0).terms[0]
    >>> reason.term, reason.value
    ('bmi', '0.0617')
    """

    term: str
    value: str
    contribution: float
    error: float


@dataclass(frozen=True)
class Reasons:
    """The score of one row, term by term: base + contributions + rest = score.

    Prints as text, and as HTML in notebooks.

    Attributes
    ----------
    row : int
    unit : str
        What the score is: the log-odds of a class, a margin, the target.
    terms : tuple of Reason
        The largest contributions, in descending order of their size.
    n_others : int
        How many terms are not among them.
    rest : float
        What those add together.
    base : float
        What all rows have in common.
    score, score_error : float
        `score_error` is NaN where it is not known.
    prediction : str
    probability : float
        NaN where there is none.
    probability_of : str
        The class that `probability` belongs to.
    mean_of : str
        The target, if the score is the logarithm of its mean; empty otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> reasons = explain(model, X[:1]).reasons(0, top=2)
    >>> [reason.term for reason in reasons.terms]
    ['bmi', 's5']
    >>> reasons.others
    '8 other terms'
    """

    row: int
    unit: str
    terms: tuple[Reason, ...]
    n_others: int
    rest: float
    base: float
    score: float
    score_error: float
    prediction: str
    probability: float
    probability_of: str
    mean_of: str = ""

    @property
    def headline(self) -> str:
        """The prediction, and how probable it is."""
        if np.isnan(self.probability):
            return f"Row {self.row}: {self.prediction}"
        chance = f"probability of {self.probability_of}: {_percent(self.probability)}"
        return f"Row {self.row}: {self.prediction} ({chance})"

    @property
    def others(self) -> str:
        """Name the terms that are not listed; empty if there are none."""
        if not self.n_others:
            return ""
        return "1 other term" if self.n_others == 1 else f"{self.n_others} other terms"

    @property
    def most(self) -> float:
        """The size of the largest contribution; 1 if there is none."""
        return max([abs(reason.contribution) for reason in self.terms], default=0.0) or 1.0

    @property
    def places(self) -> int:
        """Number of decimal places shown."""
        return places_for(self.most)

    def shown(self, amount: float, *, plus: bool) -> str:
        """Return a number as text."""
        return fixed(amount, self.places, plus=plus)

    def shown_error(self, error: float) -> str:
        """Return a standard error as text; empty if it is not known."""
        return "" if np.isnan(error) else f"\N{PLUS-MINUS SIGN}{fixed(error, self.places)}"

    def lines(self) -> list[tuple[str, str, float, float]]:
        """Return name, value, number and standard error of every line, the score last."""
        out = [(r.term, r.value, r.contribution, r.error) for r in self.terms]
        if self.n_others:
            out.append((self.others, "", self.rest, np.nan))
        return [
            *out,
            ("base value", "", self.base, np.nan),
            ("score", "", self.score, self.score_error),
        ]

    def _cells(self) -> list[tuple[str, str, str, str, float]]:
        """Return the texts of every line, and its bar relative to the largest; NaN for none."""
        out, lines = [], self.lines()
        for k, (name, value, amount, error) in enumerate(lines):
            is_term, adds = k < len(self.terms), k < len(lines) - 2
            numbers = self.shown(amount, plus=adds), self.shown_error(error)
            out.append((name, value, *numbers, amount / self.most if is_term else np.nan))
        return out

    def _title(self) -> str:
        article = "" if self.unit.startswith("the ") else "the "
        return f"{self.headline}. The score is {article}{self.unit}."

    def __str__(self) -> str:
        rows = [["term", "value", "contribution", "error", ""]]
        table = self._cells()
        names = told_apart([line[0] for line in table])
        for short, (_, value, *numbers, share) in zip(names, table, strict=True):
            bar = "" if np.isnan(share) else _bar(share)
            cells = [short, shortened(value, 20), *numbers, bar]
            rows.append([printable(cell) for cell in cells])
        lines = aligned(rows, [True, True, False, False, True])
        rule = "-" * max(map(len, lines))
        title = printable(self._title())
        return "\n".join([title, rule, lines[0], rule, *lines[1:]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        head = "".join(f"<th>{name}</th>" for name in ("term", "value", "contribution", "error"))
        body = "".join(_html_row(texts, share) for *texts, share in self._cells())
        caption = escape(self._title())
        return (
            f'<table><caption style="text-align:left">{caption}</caption>'
            f"<thead><tr>{head}<th></th></tr></thead><tbody>{body}</tbody></table>"
        )


def _html_row(texts: Sequence[str], share: float) -> str:
    """Return a row of an HTML table, with a bar from the middle to the left or right."""
    width = 60.0 * abs(np.nan_to_num(share))
    left, color = (60.0 - width, _DOWN) if share < 0 else (60.0, _UP)
    bar = (
        '<div style="position:relative;width:120px;height:0.8em">'
        f'<div style="position:absolute;left:{left:.1f}px;width:{width:.1f}px;height:100%;'
        f'background:{color}"></div></div>'
    )
    sides = ("left", "left", "right", "right")
    cells = "".join(
        f'<td style="text-align:{side}">{escape(text)}</td>'
        for text, side in zip(texts, sides, strict=True)
    )
    return f"<tr>{cells}<td>{bar}</td></tr>"


def largest(sizes: Floats, top: int) -> list[int]:
    """Return the indices of the `top` largest absolute values; all if only one more is left."""
    order = np.argsort(-np.abs(sizes), kind="stable")
    return [int(k) for k in (order if len(order) <= top + 1 else order[:top])]


def _bar(share: float) -> str:
    return ("+" if share >= 0 else "-") * round(_LONGEST_BAR * abs(share))


def _percent(share: float) -> str:
    """Return a probability as text, never as 0 % or 100 %."""
    if 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else ("<0.1%" if share < 0.5 else ">99.9%")
