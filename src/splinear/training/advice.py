"""The default number of pieces and knots of curves, chosen by measurements.

docs/defaults.md has the evidence, and benchmarks/defaults.py the measurements.
"""

from __future__ import annotations

from splinear.tables.table import Table
from splinear.terms.base import Advice

__all__ = ["advise_fixed", "advise_smooth"]

MANY, FEW = 128, 10  # bins of a narrow table, and of the paper's classifier
WIDE = 200  # columns, from which on features of few values have as many bins as others
MOST_COEFFICIENTS = 8_192  # of all curves; wide tables have fewer bins


def advise_smooth(table: Table, *, chosen: bool) -> Advice:
    """Advise an estimator whose smoothness is chosen from the data, or given by one C."""
    if not chosen or table.is_sparse:
        return advise_fixed(table)
    return Advice(
        MANY,
        quantiles=True,
        few=MANY + 1,
        without_level=True,
        most_coefficients=MOST_COEFFICIENTS,
    )


def advise_fixed(table: Table) -> Advice:
    """Advise an estimator with one C for all terms."""
    if table.shape[1] >= WIDE and not table.is_sparse:
        return Advice(FEW, quantiles=False, few=2)
    return Advice(FEW, quantiles=False)
