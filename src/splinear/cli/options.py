"""Arguments and options of the commands, with their help. Imported only if typer is installed."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ModelFile: TypeAlias = Annotated[Path, typer.Argument(help="The model file.")]
DataFile: TypeAlias = Annotated[Path, typer.Argument(help="CSV, Parquet or LIBSVM file.")]
Delimiter: TypeAlias = Annotated[
    str | None, typer.Option(help="Delimiter of a CSV file; detected by default.")
]
Numbers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--number",
        help="A column to read as numbers, such as $1,234.50 or 12 %; other text in it is missing. "
        "May be repeated.",
    ),
]
Dates: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A column of dates to read as days since 1970-01-01; may be repeated."),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace existing files, whatever they are.")
]

# fit
NewModel: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="The model file.")]
Target: TypeAlias = Annotated[
    str | None, typer.Option(help="The column to predict; not for LIBSVM files.")
]
Task: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="classification, regression or ordinal (levels in their order); by default one of the "
        "first two, inferred from the target."
    ),
]
Order: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="A level of an ordered target, the lowest first; repeated for all of them. Numbers "
        "need none."
    ),
]
Drop: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; may be repeated.")
]
Weight: TypeAlias = Annotated[
    str | None, typer.Option(help="The column of the rows' weights, which multiply their losses.")
]
Counts: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The column that says how many identical observations a row stands for."),
]
Offset: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The column of a known part of the score, such as the logarithm of an exposure; for "
        "several classes, repeated for each of them in their order."
    ),
]
Interactions: TypeAlias = Annotated[
    str, typer.Option(help="How many pairs of features get surfaces: a number, or auto.")
]
Holdout: TypeAlias = Annotated[
    float, typer.Option(min=0.0, max=0.9, help="Share of rows held out to measure the model on.")
]
Loss: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="log, hinge or squared_hinge for classes; squared_error, poisson, gamma, tweedie, "
        "negative_binomial, quantile or epsilon_insensitive for numbers; ordinal for levels."
    ),
]
Level: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="The level of --loss quantile, between 0 and 1; 0.5, the median, by default."
    ),
]
WeightOfLosses: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--C",
        help="Weight of the losses; by default chosen from the data.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Random seed for the held-out rows.")
]
MaxMemory: TypeAlias = Annotated[
    str | None, typer.Option(help="Memory limit of training, such as 500MB or 2GiB.")
]

Report: TypeAlias = Annotated[
    Path | None, typer.Option(help="Also write an HTML report, measured on the held-out rows.")
]

# predict
Predictions: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="CSV or Parquet file; by default CSV to stdout."),
]
Keep: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A column of the data to write as well; may be repeated.")
]

# explain
Row: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(min=1, help="A row to explain, from 1 on; may be repeated. Default: 1."),
]
Contributions: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="CSV or Parquet file for all rows of the data."),
]
Class: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--class",
        help="The class whose score to explain (or the level); by default the predicted one.",
    ),
]
Top: TypeAlias = Annotated[int, typer.Option(min=1, help="How many terms to list for a row.")]

# convert
Converted: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
To: TypeAlias = Annotated[
    str | None, typer.Option(help="onnx, sql or json; by default from the ending of the file name.")
]
SqlTable: TypeAlias = Annotated[
    str, typer.Option("--table", help="The table that an SQL query reads.")
]
Dialect: TypeAlias = Annotated[str, typer.Option(help="SQL dialect: duckdb or sqlite.")]

# report
Page: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")]
KnownTarget: TypeAlias = Annotated[
    str | None, typer.Option("--target", help="The column that the model predicts, to measure it.")
]
Title: TypeAlias = Annotated[str | None, typer.Option(help="Title of the page.")]
