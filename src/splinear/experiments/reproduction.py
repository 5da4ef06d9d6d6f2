"""Run experiments one after the other, and collect what goes on the page."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from sklearn.exceptions import ConvergenceWarning

from splinear import _core
from splinear.experiments import targets
from splinear.experiments.bench import Bench
from splinear.experiments.catalog import EXPERIMENTS, Experiment
from splinear.experiments.results import Choice, Claim, Section

__all__ = ["Reproduction", "describe", "reproduce"]

PACKAGES = ("splinear", "numpy", "scipy", "scikit-learn")
CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Reproduction:
    """Everything that the page shows.

    Attributes
    ----------
    results : sequence of Section
    seconds : sequence of float
        How long each took, data and all.
    machine : mapping of str to str
    quick : bool
    n_jobs : int
        How many fits ran at once.
    """

    results: Sequence[Section]
    seconds: Sequence[float]
    machine: Mapping[str, str]
    quick: bool
    n_jobs: int

    @property
    def claims(self) -> list[Claim]:
        """What a reproduction should show; and how long it took, if nothing was left out."""
        claims = [claim for result in self.results for claim in result.claims]
        return [*claims, self._duration()] if len(self.results) == len(EXPERIMENTS) else claims

    @property
    def orderings(self) -> list[tuple[str, Claim]]:
        """The orderings of the paper, each with the name of its experiment."""
        return [(result.name, claim) for result in self.results for claim in result.orderings]

    @property
    def choices(self) -> list[tuple[str, Choice]]:
        """The parameters that were chosen, each with the name of its experiment."""
        return [(result.name, choice) for result in self.results for choice in result.choices]

    def _duration(self) -> Claim:
        minutes = sum(self.seconds) / 60
        limit = targets.QUICK_MINUTES if self.quick else targets.FULL_MINUTES
        return Claim(
            f"everything ends within {limit} minutes on two cores",
            f"{minutes:.1f} minutes with {self.n_jobs} fits at a time",
            minutes <= limit,
        )


def reproduce(
    experiments: Mapping[str, Experiment],
    bench: Bench,
    finished: Callable[[str], None] = lambda name: None,
) -> Reproduction:
    """Read the data that the experiments need, which fails early, then run them in turn.

    Parameters
    ----------
    experiments : mapping of str to Experiment
    bench : Bench
    finished : callable
        Told the name of each experiment that ended.

    Returns
    -------
    reproduction : Reproduction
    """
    start = perf_counter()
    for data in dict.fromkeys(experiment.data for experiment in experiments.values()):
        if data:
            getattr(bench, data)
    results, seconds = [], []
    for name, experiment in experiments.items():
        bench.report(experiment.title)
        with warnings.catch_warnings():
            # Tables mark what stopped at its limit of passes; a warning a fit would say it again.
            warnings.simplefilter("ignore", ConvergenceWarning)
            results.append(experiment.run(bench))
        seconds.append(perf_counter() - start)
        start = perf_counter()
        finished(name)
    return Reproduction(results, seconds, describe(), bench.quick, bench.n_workers)


def describe() -> dict[str, str]:
    """Name the processor, its cores, the kernels in use, and versions."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "kernels": _core.instruction_sets()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    if CPU_INFO.is_file():
        for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
