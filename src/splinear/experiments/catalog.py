"""The experiments by the names they have on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from splinear.experiments import figure1, figure2, figure3, table1, table2, table3, table4
from splinear.experiments.bench import Bench
from splinear.experiments.results import Section

__all__ = ["EXPERIMENTS", "Experiment", "find"]


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper.

    Attributes
    ----------
    title : str
    run : callable
        From a Bench to a Section.
    data : str
        The attribute of Bench with the data that it needs; empty if it needs none.
    """

    title: str
    run: Callable[[Bench], Section]
    data: str = ""


EXPERIMENTS: Mapping[str, Experiment] = {
    "figure1": Experiment(figure1.TITLE, figure1.run),
    "figure2": Experiment(figure2.TITLE, figure2.run),
    "figure3": Experiment(figure3.TITLE, figure3.run),
    "table1": Experiment(table1.TITLE, table1.run, "daimler"),
    "table2": Experiment(table2.TITLE, table2.run, "daimler"),
    "table3": Experiment(table3.TITLE, table3.run, "daimler"),
    "table4": Experiment(table4.TITLE, table4.run, "mnist"),
}


def find(names: Sequence[str]) -> dict[str, Experiment]:
    """Return the experiments of these names, in the catalog's order; of no names, all."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(
            f"there is no experiment named {unknown[0]!r}; choose from {', '.join(EXPERIMENTS)}"
        )
    return {name: found for name, found in EXPERIMENTS.items() if name in names or not names}
