"""Explanation: the contributions of terms to the scores of rows, which it prints and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from splinear._lookup import is_whole
from splinear._types import AnyArray, Floats
from splinear.inspection.reasons import Reason, Reasons, largest
from splinear.inspection.text import data_frame, value_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from splinear.plotting import ContributionsDisplay

__all__ = ["Explanation"]

_TOP = 8  # default number of terms that are listed one by one
_MOST_ROWS = 3  # rows that are printed


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each term adds to the scores of rows; see :func:`explain`.

    `base_value + contribution.sum(axis=1)` is `score`. With several outputs, arrays have an
    additional last axis of length n_outputs, unless `target` chose one output.

    Attributes
    ----------
    terms : tuple of str of length n_terms
        Features, then pairs of features. Features that were dropped have no term.
    features : tuple of tuple of int
        The positions of the features of each term.
    values : ndarray of shape (n_rows, n_features)
        What the rows hold, as objects; None is a missing value.
    contribution : ndarray of shape (n_rows, n_terms)
        Centered: over the training rows, the mean of each column is 0.
    standard_error : ndarray of shape (n_rows, n_terms) or None
        Standard errors of the contributions. NaN for terms with more than 2,000 coefficients, for
        which they are not computed; None if the model has no posterior (AdditiveSVC and
        AdditiveSVR).
    base_value : float
    score : ndarray of shape (n_rows,)
    score_error : ndarray of shape (n_rows,) or None
        The standard errors of scores; None as above.
    probability : ndarray of shape (n_rows,) or None
        Of the class that is explained; None if the model has no probabilities.
    prediction : ndarray of shape (n_rows,)
        What `predict` returns.
    targets : tuple
        The classes that the outputs stand for; empty in regression.
    class_names : dict from classes to str
        The names of all classes in tables and pictures.
    units : tuple of str
        What each score is: the log-odds of a class, a margin, the target.
    mean_of : str
        The target, if scores are logarithms of its mean; empty otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> explanation = explain(model, X[:2])
    >>> explanation.terms[:3]
    ('age', 'sex', 'bmi')
    >>> explanation.contribution.shape
    (2, 10)
    >>> bool(abs(explanation.score - model.predict(X[:2])).max() < 1e-9)
    True
    """

    terms: tuple[str, ...]
    features: tuple[tuple[int, ...], ...]
    values: AnyArray
    contribution: Floats
    standard_error: Floats | None
    base_value: float | Floats
    score: Floats
    score_error: Floats | None
    probability: Floats | None
    prediction: AnyArray
    targets: tuple[object, ...]
    class_names: Mapping[object, str]
    units: tuple[str, ...]
    mean_of: str = ""

    def __len__(self) -> int:
        return len(self.score)

    def reasons(self, row: int = 0, *, target: object = None, top: int = _TOP) -> Reasons:
        """Return the score of one row, the terms that matter most first.

        Parameters
        ----------
        row : int, default=0
        target : class label or int, default=None
            Which of several outputs; None means the one with the highest score.
        top : int, default=8
            How many terms are listed one by one; the others are summed.

        Returns
        -------
        reasons : Reasons
        """
        row, k = self._row(row), self._output(row, target)
        parts = self._of(self.contribution, row, k)
        unknown = np.full(len(parts), np.nan)
        errors = unknown if (e := self.standard_error) is None else self._of(e, row, k)
        shown = largest(parts, top)
        listed = [
            Reason(self.terms[t], self._value(row, t), float(parts[t]), float(errors[t]))
            for t in shown
        ]
        return Reasons(
            row=row,
            unit=self.units[k],
            terms=tuple(listed),
            n_others=len(parts) - len(shown),
            rest=float(np.delete(parts, shown).sum()),
            base=float(np.atleast_1d(self.base_value)[k]),
            score=self._one(self.score, row, k),
            score_error=self._one(self.score_error, row, k),
            prediction=self._prediction(row),
            probability=self._one(self.probability, row, k),
            probability_of=self.class_names[self.targets[k]] if self.targets else "",
            mean_of=self.mean_of,
        )

    def plot(
        self,
        row: int = 0,
        *,
        target: object = None,
        top: int = _TOP,
        ax: Axes | None = None,
    ) -> ContributionsDisplay:
        """Draw the contributions of one row as a waterfall. Needs matplotlib.

        Parameters
        ----------
        row, target, top
            As in :meth:`reasons`.
        ax : Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        display : ContributionsDisplay
        """
        from splinear.plotting import ContributionsDisplay

        return ContributionsDisplay(self.reasons(row, target=target, top=top)).plot(ax)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one line for each row, term and output.

        The base value is a line as well, so that contributions of a row sum up to its score.

        Returns
        -------
        frame : DataFrame
            With the columns row, target (if there are classes), term, value, contribution and
            standard_error (if it is known).
        """
        names = [*self.terms, "base value"]
        n, m, n_outputs = len(self), len(names), len(self.units)
        values = [[*(self._raw(row, t) for t in range(m - 1)), None] for row in range(n)]
        bases = np.broadcast_to(np.atleast_1d(self.base_value), (n, 1, n_outputs))
        columns: dict[str, Sequence[object]] = {
            "row": np.repeat(np.arange(n), n_outputs * m).tolist(),
            "term": names * (n * n_outputs),
            "value": [value for row in values for _ in range(n_outputs) for value in row],
            "contribution": _long(self.contribution, bases),
        }
        if self.targets:
            columns["target"] = [target for target in self.targets for _ in range(m)] * n
        if self.standard_error is not None:
            columns["standard_error"] = _long(self.standard_error, np.full_like(bases, np.nan))
        order = ("row", "target", "term", "value", "contribution", "standard_error")
        return data_frame({name: columns[name] for name in order if name in columns})

    def __str__(self) -> str:
        shown = [str(self.reasons(row)) for row in range(min(len(self), _MOST_ROWS))]
        return "\n\n".join(shown + ([self._more] if self._more else []))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        shown = [self.reasons(row)._repr_html_() for row in range(min(len(self), _MOST_ROWS))]
        return "".join(shown + ([f"<p>{self._more}</p>"] if self._more else []))

    @property
    def _more(self) -> str:
        n = len(self) - _MOST_ROWS
        return f"... and {n:,} more row{'s' if n > 1 else ''}: reasons(row)" if n > 0 else ""

    def _row(self, row: int) -> int:
        if not is_whole(row) or not -len(self) <= row < len(self):
            raise IndexError(f"There is no row {row!r}: rows are 0 to {len(self) - 1}.")
        return int(row) % len(self)

    def _output(self, row: int, target: object) -> int:
        """Return the index of a target among those explained."""
        if target is None:
            return 0 if self.score.ndim == 1 else int(np.argmax(self.score[row]))
        if target in self.targets:
            return self.targets.index(target)
        known = ", ".join(map(repr, self.targets[:20])) or "none, as there are no classes"
        raise ValueError(f"There is no target {target!r} in this explanation: {known}.")

    def _of(self, array: Floats, row: int, output: int) -> Floats:
        """Return the entries of one row and output."""
        return np.asarray(array[row] if self.score.ndim == 1 else array[row][..., output])

    def _one(self, array: Floats | None, row: int, output: int) -> float:
        return np.nan if array is None else float(self._of(array, row, output))

    def _prediction(self, row: int) -> str:
        predicted = self.prediction[row]
        if np.ndim(predicted):
            if predicted.dtype.kind == "f":  # several quantiles
                return ", ".join(f"{value:.4g}" for value in predicted.tolist())
            return "labels " + (", ".join(map(str, np.flatnonzero(predicted))) or "none")
        return self.class_names.get(predicted, value_text(predicted))

    def _raw(self, row: int, term: int) -> object:
        found = [self.values[row, j] for j in self.features[term]]
        return found[0] if len(found) == 1 else self._value(row, term)

    def _value(self, row: int, term: int) -> str:
        return ", ".join(value_text(self.values[row, j]) for j in self.features[term])


def _long(parts: Floats, last: Floats) -> list[object]:
    """Return (n_rows, n_terms[, n_outputs]) with a last term added, row by row, as a list."""
    whole = parts[..., None] if parts.ndim == 2 else parts
    joined = np.concatenate([whole, last], axis=1)
    found: list[object] = joined.transpose(0, 2, 1).ravel().tolist()
    return found
