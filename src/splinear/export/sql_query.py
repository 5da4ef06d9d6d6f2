"""The query of a model, in steps, each of which adds columns to those of the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from splinear.export.pieces import ModelPieces, OrderedLevels
from splinear.export.sql_lookup import Blobs, Lists, Lookup
from splinear.export.sql_terms import SqlTerms
from splinear.export.sql_text import Dialect, added, literal, name, number

__all__ = ["Selected", "query_of"]


@dataclass(frozen=True)
class Selected:
    """What a query returns besides scores and predictions; see `to_sql`."""

    keep: Sequence[str]
    reasons: int
    probabilities: bool


@dataclass
class _Query:
    """A query under construction."""

    pieces: ModelPieces
    wanted: Selected
    dialect: Dialect
    table: str
    steps: list[str] = field(default_factory=list)
    n_columns: int = 0

    def add(self, columns: dict[str, str], *, more: bool = True) -> None:
        """Add a step with these columns, and with those of the last step if `more`."""
        if not columns:
            return
        source = f"step_{len(self.steps) - 1}" if self.steps else f"{self.table} AS given"
        listed = [f"{expression} AS {column}" for column, expression in columns.items()]
        head = self.dialect.with_query.format(f"step_{len(self.steps)}")
        text = ",\n    ".join((["*"] if more else []) + listed)
        self.steps.append(f"{head} (\n  SELECT\n    {text}\n  FROM {source}\n)")
        self.n_columns = len(columns) + (self.n_columns if more else 0)
        if self.n_columns > self.dialect.most_columns:
            raise ValueError(
                f"The query needs {self.n_columns:,} columns in one step, and SQLite has at most "
                f"{self.dialect.most_columns:,}. Use fewer features, no reasons, or DuckDB."
            )

    @property
    def kept(self) -> dict[str, str]:
        """The columns to keep, by their names in all steps."""
        return {f"k{i}": column for i, column in enumerate(self.wanted.keep)}

    # -- scores ----------------------------------------------------------------------------------

    def add_scores(self) -> None:
        """Add the scores as columns s0, s1, ...."""
        pieces = self.pieces
        text = {j for j, feature in enumerate(pieces.features) if feature.holds_text}
        lookup = Lookup(Lists() if self.dialect.has_lists else Blobs())
        terms = SqlTerms(self.dialect, lookup, frozenset(text))
        values = [terms.values(term) for term in pieces.terms]
        given = {k: f"given.{name(column)}" for k, column in self.kept.items()}
        for j, feature in enumerate(pieces.features):
            if feature.kind != "dropped":
                cast = self.dialect.as_text if j in text else self.dialect.as_number
                given[terms.column(j)] = cast.format(f"given.{name(feature.name)}")
        self.add(given, more=False)
        for step in (*lookup.pieces, terms.places, lookup.cells):
            self.add(step)
        if self.wanted.reasons:
            parts = {f"t{i}_{k}": f for i, of in enumerate(values) for k, f in enumerate(of)}
            self.add({k: k for k in self.kept} | parts, more=False)
            values = [[f"t{i}_{k}" for k in range(len(of))] for i, of in enumerate(values)]
        sums = [[number(b)] for b in pieces.intercept]
        for of in values:
            for k, f in enumerate(of):
                sums[k].append(f)
        scores = {f"s{k}": added(own) for k, own in enumerate(sums)}
        kept = {} if self.wanted.reasons else {k: k for k in self.kept}
        self.add(kept | scores, more=bool(self.wanted.reasons))

    def add_best(self) -> None:
        """Add the highest score, and exp of the others' differences from it."""
        scores = [f"s{k}" for k in range(self.pieces.n_outputs)]
        if self.pieces.task != "multiclass":
            return
        self.add({"best": self.dialect.maximum(scores)})
        if self.has_probabilities:
            self.add({f"e{k}": f"exp({s} - best)" for k, s in enumerate(scores)})

    @property
    def has_probabilities(self) -> bool:
        """Whether probabilities exist and are wanted."""
        is_class = self.pieces.task != "regression"
        return is_class and self.pieces.link is not None and self.wanted.probabilities

    # -- reasons ---------------------------------------------------------------------------------

    def add_reasons(self) -> None:
        """Add the indices r1, r2, ... of the terms with the largest effects, and the effects."""
        n = len(self.pieces.terms)
        self.add({f"c{i}": self._effect(i) for i in range(n)})
        chosen: list[str] = []
        for r in range(1, self.wanted.reasons + 1):
            sizes = [self._size(i, chosen) for i in range(n)]
            self.add({f"m{r}": self.dialect.maximum(sizes)})
            cases = " ".join(f"WHEN {size} = m{r} THEN {i}" for i, size in enumerate(sizes))
            self.add({f"r{r}": f"CASE {cases} END"})
            chosen.append(f"r{r}")

    def _effect(self, i: int) -> str:
        """Return a term's centered contribution to the score, or to that of the best class."""
        means = self.pieces.terms[i].mean
        parts = [f"t{i}_{k} - {number(mean)}" for k, mean in enumerate(means)]
        if len(parts) == 1:
            return parts[0]
        cases = " ".join(f"WHEN s{k} = best THEN {part}" for k, part in enumerate(parts))
        return f"CASE {cases} END"

    def _size(self, i: int, chosen: list[str]) -> str:
        """Return the absolute contribution of a term; -1 if it is already chosen."""
        if not chosen:
            return f"abs(c{i})"
        taken = " OR ".join(f"{r} = {i}" for r in chosen)
        return f"CASE WHEN {taken} THEN (-1e0) ELSE abs(c{i}) END"

    def reasons(self) -> dict[str, str]:
        """Return the columns with names and effects of the chosen terms."""
        out, terms = {}, self.pieces.terms
        for r in range(1, self.wanted.reasons + 1):
            names = " ".join(f"WHEN {i} THEN {literal(t.name)}" for i, t in enumerate(terms))
            effects = " ".join(f"WHEN {i} THEN c{i}" for i in range(len(terms)))
            out[f"reason_{r}"] = f"CASE r{r} {names} END"
            out[f"effect_{r}"] = f"CASE r{r} {effects} END"
        return out

    # -- results ---------------------------------------------------------------------------------

    def returned(self) -> dict[str, str]:
        """Return the columns of scores, probabilities and predictions."""
        task, classes = self.pieces.task, self.pieces.classes
        if self.pieces.levels is not None:
            return {f"prediction_{level:g}": f"s{k}" for k, level in enumerate(self.pieces.levels)}
        if classes is None:
            return {"score": "s0", "prediction": self._mean()}
        if task == "binary":
            second, first = literal(classes[1]), literal(classes[0])
            out = {"score": "s0"}
            if self.has_probabilities:
                out["probability"] = _logistic("s0")
            case = f"CASE WHEN s0 > 0e0 THEN {second} WHEN s0 <= 0e0 THEN {first} END"
            return out | {"prediction": case}
        if self.pieces.grades is not None:
            return self._of_levels(self.pieces.grades, classes)
        out = {f"score_{label}": f"s{k}" for k, label in enumerate(classes)}
        if self.has_probabilities:
            total = added([f"e{k}" for k in range(len(classes))])
            for k, label in enumerate(classes):
                share = f"e{k} / ({total})" if task == "multiclass" else _logistic(f"s{k}")
                out[f"probability_{label}"] = share
        if task == "multilabel":
            labels = {f"prediction_{label}": f"CAST(s{k} > 0e0 AS INTEGER)"
                      for k, label in enumerate(classes)}  # fmt: skip
            return out | labels
        cases = [f"WHEN s{k} = best THEN {literal(label)}" for k, label in enumerate(classes)]
        return out | {"prediction": f"CASE {' '.join(cases)} END"}

    def _of_levels(self, levels: OrderedLevels, classes: Sequence[object]) -> dict[str, str]:
        """Return the columns of a model of ordered levels."""
        out, cuts = {"score": "s0"}, levels.cut_points
        for k, label in enumerate(classes if self.has_probabilities else ()):
            factors = []
            if k > 0:
                factors.append(_logistic(f"(s0 - {number(cuts[k - 1])})"))
            if k < len(cuts):
                factors.append(_logistic(f"({number(cuts[k])} - s0)"))
            if len(factors) == 2:
                factors.append(number(-np.expm1(cuts[k - 1] - cuts[k])))
            out[f"probability_{label}"] = " * ".join(f"({factor})" for factor in factors)
        names = [literal(classes[k]) for k in levels.modes]
        cases = [f"WHEN s0 >= {number(start)} THEN {own}"
                 for start, own in zip(levels.starts, names[1:], strict=True)]  # fmt: skip
        cases = [*cases[::-1], f"WHEN s0 IS NOT NULL THEN {names[0]}"]
        return out | {"prediction": f"CASE {' '.join(cases)} END"}

    def _mean(self) -> str:
        if self.pieces.link == "identity":
            return "s0"
        inside = "CASE WHEN s0 > 709e0 THEN 709e0 WHEN s0 < (-708e0) THEN (-708e0) ELSE s0 END"
        return f"exp({inside})"

    def text(self) -> str:
        """Return the text of the query."""
        columns = self.returned() | self.reasons()
        both = [column for column in self.wanted.keep if column in columns]
        if both or len(set(self.wanted.keep)) < len(self.wanted.keep):
            raise ValueError(
                f"keep names {', '.join(map(repr, both or self.wanted.keep))}, but the columns "
                "that are returned must differ in their names."
            )
        listed = [f"{k} AS {name(column)}" for k, column in self.kept.items()]
        listed += [f"{expression} AS {name(column)}" for column, expression in columns.items()]
        steps = ",\n".join(self.steps)
        text = ",\n  ".join(listed)
        return f"WITH {steps}\nSELECT\n  {text}\nFROM step_{len(self.steps) - 1}"


def query_of(pieces: ModelPieces, wanted: Selected, dialect: Dialect, table: str) -> str:
    """Return the whole query."""
    query = _Query(pieces, wanted, dialect, table)
    query.add_scores()
    query.add_best()
    if wanted.reasons:
        query.add_reasons()
    return query.text()


def _logistic(score: str) -> str:
    """Return an expression of 1 / (1 + exp(-score)) that cannot overflow."""
    below = f"exp({score}) / (1e0 + exp({score}))"
    return f"CASE WHEN {score} < 0e0 THEN {below} ELSE 1e0 / (1e0 + exp(-{score})) END"
