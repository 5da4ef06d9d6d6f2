"""The content of a page: a model, the terms that are shown, and the test rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear._caching import cached_property
from splinear._types import Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.export.pieces import ModelPieces, TermPieces
from splinear.export.reading import read_model
from splinear.inspection.adding import InMemory
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import boolean_features, names_of_classes, score_unit
from splinear.inspection.ranking import curve_importances
from splinear.inspection.summary import TermSummary, summary_lines
from splinear.inspection.text import value_text
from splinear.model.fitted import Fitted, FittedPair, FittedTerm
from splinear.report.numbers import factor, signed
from splinear.report.pooling import Pool, pool_rare, pools_of

__all__ = ["Content", "Shown", "read_content"]

_FLAT = 1e-3  # of the largest term: its picture would rise by a fraction of a pixel


@dataclass(frozen=True, eq=False)
class Shown:
    """A term on the page: the fitted term, its exported pieces, and its line of the summary."""

    term: Fitted
    pieces: TermPieces
    line: TermSummary
    share: float  # of the sum of all importances
    is_flat: bool  # would be drawn as a flat line, if at all

    @property
    def height(self) -> float:
        """The range of its contributions, from lowest to highest."""
        return self.line.highest - self.line.lowest

    @property
    def is_pair(self) -> bool:
        """Whether it is a surface over two features."""
        return isinstance(self.term, FittedPair)


@dataclass(frozen=True, eq=False)
class Content:
    """Data shared by all parts of the page.

    Attributes
    ----------
    model : AdditiveEstimator
    pieces : ModelPieces
        The model for export, with rare levels pooled.
    pools : dict of int to Pool
        The pooling of each categorical column.
    shown : tuple of Shown
        The most important terms, the most important first.
    class_names : list of str
        Empty in regression.
    target_name : str
    table : ndarray, CSC array or None
        The test rows as numbers.
    booleans : frozenset of int
        Columns that hold True and False.
    """

    model: AdditiveEstimator
    pieces: ModelPieces
    pools: dict[int, Pool]
    shown: tuple[Shown, ...]
    class_names: list[str]
    target_name: str
    table: InMemory | None
    booleans: frozenset[int]

    @property
    def drawn(self) -> tuple[Shown, ...]:
        """The terms that have a picture."""
        return tuple(shown for shown in self.shown if not shown.is_flat)

    @property
    def flat(self) -> tuple[Shown, ...]:
        """The terms that add next to nothing."""
        return tuple(shown for shown in self.shown if shown.is_flat)

    @property
    def n_hidden(self) -> int:
        """Number of terms that are not shown."""
        return len(self.pieces.terms) - len(self.shown)

    @cached_property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        if not self.class_names or self.pieces.task == "ordinal":
            return [self.target_name]
        return self.class_names[1:] if self.pieces.task == "binary" else self.class_names

    def is_boolean(self, term: FittedTerm) -> bool:
        """Return whether the feature of a term holds True and False."""
        return term.features[0] in self.booleans and {term.lo, term.hi} <= {0.0, 1.0}

    def names_of(self, term: FittedTerm, x: Floats) -> list[str]:
        """Return values of a numeric feature as text."""
        is_boolean = self.is_boolean(term)
        return [value_text(bool(v) if is_boolean and v in (0.0, 1.0) else v) for v in x.tolist()]

    @property
    def units(self) -> list[str]:
        """Names of the scores' units, one per output."""
        return [score_unit(self.model, name) for name in self.outputs]

    @property
    def is_factor(self) -> bool:
        """Whether terms multiply the prediction, because scores are its logarithm."""
        return self.pieces.link == "log"

    def effect(self, value: float, places: int) -> str:
        """Return what a term adds as text, or the factor that it multiplies the prediction by."""
        return factor(value) if self.is_factor else signed(value, places)

    @property
    def unit(self) -> str:
        """A short name of the unit of what terms add, or of the factor."""
        if self.is_factor:
            return f"factor on {self.target_name}"
        if not self.class_names or self.pieces.task == "ordinal":
            return score_unit(self.model, self.target_name)
        kind = "relative log-odds" if self.pieces.link == "softmax" else "log-odds"
        return kind if self.pieces.link else "margin"


def read_content(
    model: AdditiveEstimator,
    X: Input,
    class_names: Sequence[str] | None,
    target_name: str,
    top: int,
) -> Content:
    """Return the content of the page; X are the test rows, or None."""
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}.")
    pools = pools_of(model._columns.counts)
    pieces = pool_rare(read_model(model), pools)
    terms = list(model.terms_)
    importance = _importances(model, terms)
    total = max(float(importance.sum()), np.finfo(np.float64).tiny)
    chosen = np.argsort(-importance, kind="stable")[:top].tolist()
    lines = summary_lines(model, [terms[k] for k in chosen])
    height = max((line.highest - line.lowest for line in lines), default=0.0)
    largest = float(importance.max(initial=0.0))
    shown = tuple(
        Shown(
            terms[k],
            pieces.terms[k],
            line,
            share=float(importance[k]) / total,
            # Missing values and levels count in the importance alone.
            is_flat=bool(
                line.highest - line.lowest <= _FLAT * height and importance[k] <= _FLAT * largest
            ),
        )
        for k, line in zip(chosen, lines, strict=True)
    )
    names = list(names_of_classes(model, class_names).values())
    table = None if X is None else read_numbers(model, X)
    booleans = boolean_features(model, X)
    return Content(model, pieces, pools, shown, names, target_name, table, booleans)


def _importances(model: AdditiveEstimator, terms: list[Fitted]) -> Floats:
    """Return the importance of each term on the training rows."""
    alone = curve_importances(model)
    return np.array(
        [
            term.deviation if isinstance(term, FittedPair) else alone[term.features[0]]
            for term in terms
        ]
    )
