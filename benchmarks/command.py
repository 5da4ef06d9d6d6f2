"""What the command lines of the benchmarks have in common."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path


def make_parser(description: str | None, quick: str, output: str) -> argparse.ArgumentParser:
    """Take --quick and --output; `quick` and `output` say what they do."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--output", type=Path, help=output)
    return parser


def chosen(
    parser: argparse.ArgumentParser,
    asked: str | None,
    known: Iterable[str],
    default: Iterable[str],
    *,
    option: str = "--data",
    separator: str = ",",
) -> tuple[str, ...]:
    """Return the names that were asked for, all of which must be known, or the default."""
    names = tuple(asked.split(separator)) if asked else tuple(default)
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"{option}: no such one: {', '.join(unknown)}")
    return names
