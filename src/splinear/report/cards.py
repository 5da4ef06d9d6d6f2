"""The cards of terms: for each a picture, its numbers as a table, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.inspection.bands import LEVEL, half_widths, has_band
from splinear.inspection.curves import sides_of
from splinear.inspection.ranking import levels_that_matter, widest_outputs
from splinear.inspection.text import places_for
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.report.classes import MANY
from splinear.report.content import Content, Shown
from splinear.report.numbers import Drawn, Numbers
from splinear.report.pictures.axes import choose_axis
from splinear.report.pictures.curves import CurvePanel, draw_curve
from splinear.report.pictures.levels import LevelPanel, draw_levels
from splinear.report.spreads import Spread, count_levels, spread_of
from splinear.report.surfaces import draw_surface
from splinear.terms.basis import BSplineBasis

__all__ = ["Card", "flat_terms", "make_cards"]

MOST_LEVELS = 14  # in a picture
_PLACES = 120  # points at which a curve is evaluated, besides its knots
_ROWS, _FEW_ROWS = 9, 5  # of the table beside a curve; fewer if it has many columns
MOST_ROWS = 60  # in a table of levels
_LEAST_SPREAD = 100  # levels of which quantiles are told: none is that of a single rare level
_AS_LEVELS = 2  # a numeric feature with this many values is drawn like a category
_FINEST = 0.25  # least length of a vertical axis, relative to that of the largest term


@dataclass(frozen=True)
class Card:
    """The card of one term.

    Attributes
    ----------
    anchor : str
        Target of links.
    title, kind : str
    share : float
        Share of the sum of all importances.
    pictures : tuple of (caption, SVG)
    numbers : Numbers
        The same as a table.
    notes : tuple of str
    """

    anchor: str
    title: str
    kind: str
    share: float
    pictures: tuple[tuple[str, str], ...]
    numbers: Numbers
    notes: tuple[str, ...]


def make_cards(content: Content) -> list[Card]:
    """Return a card for each term that is drawn."""
    least = _FINEST * max((shown.height for shown in content.drawn), default=0.0) or 1.0
    return [_card(content, shown, k, least) for k, shown in enumerate(content.drawn)]


def flat_terms(content: Content) -> list[str]:
    """Return the names of terms that are not drawn because they add nothing, and why if known."""
    out = []
    for shown in content.flat:
        term = shown.term
        why: list[str] = []
        if isinstance(term, FittedTerm) and term.levels is None:
            why = _of_one_value(content, term)
        out.append(term.name + "".join(f" ({each})" for each in why))
    return out


def _card(content: Content, shown: Shown, k: int, least: float) -> Card:
    term = shown.term
    if isinstance(term, FittedPair):
        pictures, numbers, notes = draw_surface(content, shown)
    elif term.levels is not None:
        pictures, numbers, notes = _levels(content, term, least)
    else:
        pictures, numbers, notes = _curve(content, term, least)
    return Card(
        anchor=f"term-{k + 1}",
        title=term.name,
        kind=term.kind,
        share=shown.share,
        pictures=tuple(pictures),
        numbers=numbers,
        notes=tuple(notes),
    )


def _half(content: Content, term: FittedTerm, x: Floats) -> Floats | None:
    """Return half the width of the band at x; None if there is no band or several lines."""
    if content.pieces.n_outputs > 1 or not has_band(content.model, term):
        return None
    return half_widths(content.model, term, x, LEVEL, "pointwise")[:, 0]


def _lines(content: Content, f: Floats) -> tuple[list[int], list[str], list[str]]:
    """Return which lines to draw, their names, and a note on those that are left out."""
    n = f.shape[1]
    if n <= MANY:
        return list(range(n)), list(content.outputs), []
    widest = widest_outputs([f], MANY)
    note = f"Of {n} classes, the {MANY} for which it matters most are drawn."
    return widest, [content.outputs[k] for k in widest], [note]


# -- numbers -------------------------------------------------------------------------------------


def _curve(content: Content, term: FittedTerm, least: float) -> Drawn:
    spread = spread_of(term, content.table)
    values = _drawn_as_levels(content, term, spread)
    if values is not None:
        return _few_values(content, term, spread, values, least)
    x = _grid(term, spread)
    f = term.evaluate(x) - term.mean
    drawn, names, notes = _lines(content, f)
    half = _half(content, term, x)
    gap = np.array([np.nan])
    at_missing, half_missing = None, 0.0
    if term.had_missing:
        at_missing = (term.evaluate(gap) - term.mean)[0]
        own = _half(content, term, gap)
        half_missing = 0.0 if own is None else float(own[0])
        at_missing = at_missing[drawn]
    panel = CurvePanel(
        x, f[:, drawn], half, at_missing, half_missing, spread, names, content.unit, least,
        content.is_factor,
    )  # fmt: skip
    words = _words(content, term.name, float(f.min()), float(f.max()))
    if spread.missing > 0:
        notes.append(f"Missing in {spread.missing:.1%} of the rows.")
    notes += _of_one_value(content, term)
    table = _curve_table(content, term, spread, spread.few_values)
    return [("", draw_curve(panel, words))], table, notes


def _of_one_value(content: Content, term: FittedTerm) -> list[str]:
    """Return a note on a feature without two different numbers in training."""
    if term.lo < term.hi:
        return []
    gaps = term.missing_share
    [held] = content.names_of(term, np.array([term.lo]))
    if 0.0 < gaps < 1.0:
        return [f"In training, {held} or missing."]
    return [f"always {'missing' if gaps > 0.0 else held} in training"]


def _drawn_as_levels(content: Content, term: FittedTerm, spread: Spread) -> Floats | None:
    """Return the values of a feature that has two, or is a boolean; None for others."""
    if content.is_boolean(term) and term.missing_share < 1.0:
        return np.unique([term.lo, term.hi])
    values = spread.few_values
    return values if values is not None and 1 < len(values) <= _AS_LEVELS else None


def _few_values(
    content: Content, term: FittedTerm, spread: Spread, values: Floats, least: float
) -> Drawn:
    """Draw a feature with few values like a category."""
    x = np.append(values, np.nan) if term.had_missing else values
    shares = [float(spread.weights[spread.places == v].sum()) for v in values]
    f = term.evaluate(x) - term.mean
    drawn, lines, notes = _lines(content, f)
    panel = LevelPanel(
        content.names_of(term, x),
        f[:, drawn],
        _half(content, term, x),
        np.append((1.0 - spread.missing) * np.array(shares), [spread.missing])[: len(x)],
        lines,
        content.unit,
        least,
        content.is_factor,
    )
    words = _words(content, term.name, float(f.min()), float(f.max()))
    notes += _of_one_value(content, term)
    return [("", draw_levels(panel, words))], _curve_table(content, term, spread, values), notes


def _grid(term: FittedTerm, spread: Spread) -> Floats:
    """Return the points of a curve to draw: evenly in the picture, at knots, and at jumps."""
    axis = choose_axis(term.lo, term.hi, 0.0, 1.0, spread)
    places = [axis.steps(_PLACES) if term.lo < term.hi else np.array([term.lo]), term.knots]
    basis = term.group.embedding.basis
    if isinstance(basis, BSplineBasis) and basis.degree == 0:
        places += sides_of(term.knots)
    return np.unique(np.clip(np.concatenate(places), term.lo, term.hi))


def _words(content: Content, name: str, lowest: float, highest: float) -> str:
    places = places_for(max(abs(lowest), abs(highest)))
    ends = f"{content.effect(lowest, places)} to {content.effect(highest, places)}"
    if content.is_factor:
        return f"The {content.unit} of {name}: from {ends}. The table below has numbers."
    return f"What {name} adds to the {content.unit}: from {ends}. The table below has numbers."


def _curve_table(
    content: Content, term: FittedTerm, spread: Spread, values: Floats | None
) -> Numbers:
    """Return a table of a curve at these values, or if they are None or many, at quantiles."""
    n_rows = _ROWS if content.pieces.n_outputs < 5 else _FEW_ROWS
    if values is None or len(values) > 2 * n_rows:
        shares = np.linspace(0.0, 1.0, n_rows)
        ends = [term.lo, *(spread.quantile(q, term.lo + q * (term.hi - term.lo))
                           for q in shares[1:-1]), term.hi]  # fmt: skip
        values = np.unique(ends)
    x = np.append(values, np.nan) if term.had_missing else values
    labels = content.names_of(term, x)
    return _table(content, term.name, labels, term.evaluate(x) - term.mean, _half(content, term, x))


def _table(
    content: Content, name: str, labels: Sequence[str], f: Floats, half: Floats | None
) -> Numbers:
    places = places_for(float(np.abs(f).max(initial=0.0)))
    columns = [content.unit] if f.shape[1] == 1 else list(content.outputs)
    head = (name, *columns, *([] if half is None else ["95 % band"]))
    rows = []
    for k, label in enumerate(labels):
        cells = [label, *(content.effect(v, places) for v in f[k])]
        if half is not None:
            ends = [content.effect(f[k, 0] + by * half[k], places) for by in (-1, 1)]
            cells.append("" if np.isnan(half[k]) else " to ".join(ends))
        rows.append(tuple(cells))
    return Numbers(head, tuple(rows))


# -- levels --------------------------------------------------------------------------------------


def _levels(content: Content, term: FittedTerm, least: float) -> Drawn:
    pool = content.pools[term.features[0]]
    counts = count_levels(term, pool, content.table)
    names = [str(level) for level in pool.levels(term.levels or ())]
    codes = np.arange(float(len(term.levels or ())))
    f = pool.values((term.evaluate(codes) - term.mean).T).T
    half, shares = _half(content, term, codes), counts.shares
    if half is not None:
        unknown = [np.nan] if len(pool.rare) else []
        half = np.append(half[pool.named], unknown)
    if term.had_missing:
        gap = np.array([np.nan])
        f, names = np.vstack([f, term.evaluate(gap) - term.mean]), [*names, "missing"]
        shares = np.append(shares, counts.missing)
        at_gap = _half(content, term, gap)
        half = None if half is None or at_gap is None else np.append(half, at_gap)
    shown = _shown_levels(f, shares, len(pool.named), is_ordered=not term.group.is_diagonal)
    drawn, lines, notes = _lines(content, f)
    panel = LevelPanel(
        [names[k] for k in shown], f[np.ix_(shown, drawn)], None if half is None else half[shown],
        shares[shown], lines, content.unit, least, content.is_factor,
    )  # fmt: skip
    if len(shown) < len(names):
        n_levels = len(term.levels or ())
        n_single = sum(k < len(pool.named) for k in shown)
        notes.append(f"The picture has the {n_single} of {n_levels:,} levels that matter most.")
        notes += _spread_of_levels(content, term)
    words = _words(content, term.name, float(f.min()), float(f.max()))
    table = _table(content, term.name, names, f, half)
    order = np.argsort(-shares, kind="stable")[:MOST_ROWS].tolist()
    if len(order) < len(names):
        notes.append(f"The table has the {MOST_ROWS} most frequent.")
    rows = tuple((*table.rows[k], f"{shares[k]:.1%}") for k in order)
    return [("", draw_levels(panel, words))], Numbers((*table.head, "rows"), rows), notes


def _spread_of_levels(content: Content, term: FittedTerm) -> list[str]:
    """Return a sentence on the effects of all levels, the unnamed ones included."""
    n = len(term.levels or ())
    if content.pieces.n_outputs > 1 or n < _LEAST_SPREAD:
        return []
    f = (term.evaluate(np.arange(float(n))) - term.mean)[:, 0]
    places = places_for(float(np.abs(f).max()))
    ends = [content.effect(float(x), places) for x in np.quantile(f, (0.25, 0.75, 0.05, 0.95))]
    return [
        f"Of all levels, half are between {ends[0]} and {ends[1]}, and nine in ten between "
        f"{ends[2]} and {ends[3]}."
    ]


def _shown_levels(f: Floats, shares: Floats, n_named: int, *, is_ordered: bool) -> list[int]:
    """Return the indices of the levels that matter most, in their own order or by effect.

    Rare levels and missing values, which follow the first `n_named`, stay last.
    """
    shown = np.array(levels_that_matter(f, shares, MOST_LEVELS))
    if not is_ordered:
        widest = int(np.argmax(np.ptp(f[shown], axis=0)))
        key = np.where(shown < n_named, -f[shown, widest], np.inf)
        shown = shown[np.argsort(key, kind="stable")]
    return [int(k) for k in shown]
