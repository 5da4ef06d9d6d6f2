"""``splinear fit``: trains a model on a file."""

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from splinear._lookup import shown
from splinear._types import AnyArray, Floats
from splinear.cli.console import OptionError, failing_well, make_console, say, say_error
from splinear.cli.data import Reading, no_column, open_data
from splinear.cli.estimators import FitOptions, Share, make_estimator, task_of
from splinear.cli.measures import find_leak, measure_rows
from splinear.cli.output import MODEL, PAGE, check_outputs
from splinear.cli.printing import (
    MOST_COLUMNS,
    columns_table,
    measures_table,
    sparse_text,
    target_text,
    terms_table,
)
from splinear.cli.profile import profile
from splinear.cli.progress import tracking
from splinear.cli.report import write_page
from splinear.cli.target import TargetColumn, read_numbers, read_offset, read_target
from splinear.estimators.base import AdditiveEstimator
from splinear.files import save
from splinear.objective.watch import Progress
from splinear.tables.arrow import ArrowTable
from splinear.tables.table import Table
from splinear.tables.values import Kind

if TYPE_CHECKING:
    import typer

__all__ = ["add_fit"]


@dataclass(frozen=True)
class Columns:
    """The columns that options name."""

    target: str | None
    drop: list[str]
    weight: str | None
    counts: str | None
    offset: list[str]


@dataclass(frozen=True, eq=False)
class Data:
    """The training data: rows, their target and their weights.

    `trained` is 1 for the rows to train on and 0 for the others; `weights`, `counts` and `offset`
    are columns of the file, or None.
    """

    table: Table
    target: TargetColumn
    task: str
    trained: Floats
    weights: Floats | None
    counts: Floats | None
    offset: Floats | None

    @property
    def held_out(self) -> AnyArray:
        """A mask of the rows to measure on."""
        mask: AnyArray = self.target.there & (self.trained == 0.0)
        return mask

    @property
    def n_held_out(self) -> int:
        """Number of rows to measure on."""
        return int(np.sum(self.held_out))


def add_fit(app: "typer.Typer") -> None:
    """Add the command ``splinear fit``."""
    from splinear.cli import options as o

    @app.command()
    def fit(
        data: o.DataFile,
        output: o.NewModel,
        target: o.Target = None,
        task: o.Task = None,
        order: o.Order = None,
        drop: o.Drop = None,
        weight: o.Weight = None,
        counts: o.Counts = None,
        offset: o.Offset = None,
        interactions: o.Interactions = "0",
        holdout: o.Holdout = 0.0,
        loss: o.Loss = None,
        level: o.Level = None,
        C: o.WeightOfLosses = None,
        report: o.Report = None,
        seed: o.Seed = 0,
        max_memory: o.MaxMemory = None,
        delimiter: o.Delimiter = None,
        number: o.Numbers = None,
        dates: o.Dates = None,
        force: o.Force = False,
    ) -> None:
        """Train a model on a file, and save it.

        Example: splinear fit train.csv --target churn -o churn.splinear --report churn.html
        """
        with failing_well() as written:
            _check_outputs(output, report, data, force=force)
            pairs = _read_interactions(interactions)
            wanted = FitOptions(loss, C, pairs, max_memory, seed, level, tuple(order or ()))
            task = task or ("ordinal" if order and loss is None else None)
            named = Columns(target, drop or [], weight, counts, offset or [])
            reading = Reading(delimiter, number or (), dates or ())
            rows = _read(data, named, reading, wanted, task, holdout)
            model = _train(rows, wanted)
            save(model, output)
            written.append(output)
            _finish(model, rows, output)
            if report is not None:
                write_page(model, report, rows.table, rows.held_out, rows.target, rows.offset)
                say(f"Report  {report}")


def _check_outputs(output: Path, report: Path | None, data: Path, *, force: bool) -> None:
    outputs = {"--output": (output, MODEL), "--report": (report, PAGE)}
    check_outputs(outputs, {"DATA": data}, force=force)


def _read_interactions(text: str) -> int | str:
    if text == "auto":
        return text
    if not re.fullmatch("[0-9]+", text):
        raise OptionError(f"--interactions is a number of pairs, or auto; got {text!r}")
    return int(text)


def _read(
    path: Path,
    named: Columns,
    reading: Reading,
    wanted: FitOptions,
    task: str | None,
    holdout: float,
) -> Data:
    """Read the data of a file, and print its columns and target."""
    _refuse_repeated(named)
    table = _without(open_data(path, reading), named.drop)
    table, weights = read_numbers(table, named.weight, "--weight")
    table, counts = read_numbers(table, named.counts, "--counts")
    table, offset = read_offset(table, named.offset)
    table, column = read_target(table, named.target)
    if table.shape[1] == 0:
        raise ValueError(f"no column of {path} is left to learn from")
    chosen = task_of(wanted.loss, task, column.task)
    column.check(chosen, wanted.order)
    _describe(table, column, chosen, is_chosen=task is None and wanted.loss is None)
    by_class = chosen != "regression"
    trained = column.weights(holdout, wanted.seed, by_class=by_class)
    data = Data(table, column, chosen, trained, weights, counts, offset)
    _say_rows(data)
    return data


def _refuse_repeated(named: Columns) -> None:
    """Raise if two options name the same column."""
    given: list[tuple[str, str | None]] = [("--drop", name) for name in dict.fromkeys(named.drop)]
    given += [("--target", named.target), ("--weight", named.weight), ("--counts", named.counts)]
    given += [("--offset", name) for name in named.offset]
    for (one, name), (other, again) in combinations(given, 2):
        if name is not None and name == again:
            raise OptionError(
                f"{one} and {other} name the same column, {name!r}; name another one, or leave one "
                "of them out"
            )


def _without(table: Table, drop: list[str]) -> Table:
    if not drop:
        return table
    if not isinstance(table, ArrowTable):
        raise ValueError(f"the columns of {table} have no names: leave out --drop")
    known, unwanted = set(table.features), set(drop)
    unknown = [name for name in drop if name not in known]
    if unknown:
        raise no_column(table, unknown, " to drop", table.features)
    return table.select_names([name for name in table.features if name not in unwanted])


def _describe(table: Table, target: TargetColumn, task: str, *, is_chosen: bool) -> None:
    """Print the columns and the target of a file."""
    console = make_console()
    if table.names is None:
        console.print(sparse_text(table))
    else:
        columns = profile(table, MOST_COLUMNS)
        console.print(columns_table(columns, table.shape, console.width))
        dates = [column.name for column in columns if column.kind is Kind.DATE]
        if dates:
            raise ValueError(
                f"these columns hold dates or times: {shown(dates)}; leave them out by --drop, "
                "read them as days by --dates, or write the month or the hour as a number instead"
            )
    text = target_text(target, task, is_chosen=is_chosen)
    say(f"\nTarget  {text}")


def _say_rows(data: Data) -> None:
    n_missing = int(np.sum(~data.target.there))
    parts = [f"{int(data.trained.sum()):,} to train on"]
    if data.n_held_out:
        parts.append(f"{data.n_held_out:,} held out")
    if n_missing:
        parts.append(f"{n_missing:,} without a target are left out")
    say(f"Rows    {', '.join(parts)}\n")


def _train(data: Data, wanted: FitOptions) -> AdditiveEstimator:
    """Return a trained model, with progress on stderr."""
    model = make_estimator(data.task, wanted)
    weights = None if np.all(data.trained == 1.0) else data.trained
    if data.weights is not None:
        weights = data.weights if weights is None else data.weights * weights
    one_by_one = type(model).__name__ == "AdditiveSVC"
    n_classes = len(np.unique(data.target.values)) if one_by_one else 1
    share = Share(model.tol, n_classes if n_classes > 2 else 1)
    with tracking(f"Training {type(model).__name__}", 100, "%") as track:

        def tell(progress: Progress) -> None:
            phase = "" if progress.phase is None else f"{progress.phase}, "
            now = f"{phase}pass {progress.n_iter}, gap {progress.gap:.1e}"
            track(99 * share.of(progress), now)  # the certificate follows

        model.set_params(callback=tell)
        how = {"sample_weight": weights, "counts": data.counts, "offset": data.offset}
        model.fit(data.table, data.target.values, **how)
    return model.set_params(callback=None, n_jobs=None)


def _finish(model: AdditiveEstimator, data: Data, output: Path) -> None:
    """Print the measures of the model, and suggest the next command."""
    console = make_console()
    proof = "" if model.certified_ else ", more than was asked for"
    console.print(f"{model.n_iter_} passes, relative duality gap {model.dual_gap_:.1e}{proof}\n")
    if data.n_held_out:
        y, held_out = data.target.values, data.held_out
        with tracking("Measuring", data.table.shape[0], "rows") as track:
            measures = measure_rows(model, data.table, y, held_out, data.offset, track)
        console.print(measures_table(measures))
        console.print()
    console.print(terms_table(model))
    leak = find_leak(model, data.table, data.target.values, data.target.there)
    if leak is not None:
        say_error(f"warning: {leak}")
    if model.terms_.pairs:
        pairs = shown(pair.name for pair in model.terms_.pairs)
        say(f"\nPairs   {pairs}")
    size = output.stat().st_size / 1024
    say(f"\nModel   {output} ({size:,.0f} kB)")
    if not data.n_held_out:
        console.print("[dim]--holdout 0.2 would measure it on a fifth of the rows.[/]")
