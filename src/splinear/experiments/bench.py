"""What experiments share while they run: how much to do, the data, and a place to report to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from joblib import effective_n_jobs

from splinear._caching import cached_property
from splinear.experiments.daimler import Daimler, load
from splinear.experiments.mnist import Digits
from splinear.experiments.mnist import load as load_digits

__all__ = ["Bench"]


@dataclass
class Bench:
    """Settings of a run, and its data, read when first asked for.

    Attributes
    ----------
    quick : bool
        Whether to use few rows, runs and bins.
    data_home : str or None
        The data folder; None for the one that ``SPLINEAR_DATA`` names.
    n_jobs : int
        How many fits may run at once. Each uses one thread.
    report : callable
        Told in a few words what is being done.
    """

    quick: bool = False
    data_home: str | None = None
    n_jobs: int = -1
    report: Callable[[str], None] = lambda text: None

    @property
    def n_workers(self) -> int:
        """`n_jobs` as a positive number."""
        return int(effective_n_jobs(self.n_jobs))

    @cached_property
    def daimler(self) -> Daimler:
        """The pedestrians, as features."""
        self.report("Daimler: features")
        return load(self.data_home, self.quick)

    @cached_property
    def mnist(self) -> Digits:
        """The digits, as features."""
        self.report("MNIST: features")
        return load_digits(self.data_home, self.quick)
