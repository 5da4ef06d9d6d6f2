"""Default numbers of bins and default knots of curves.

docs/defaults.md gives the evidence for them; benchmarks/defaults.py measures it.
"""

from __future__ import annotations

import numpy as np

from splinear.tables.table import Table
from splinear.terms.base import Advice
from splinear.terms.group import Extrapolation
from splinear.terms.knots import NARROW_OF_WIDE

__all__ = ["advise_fixed", "advise_smooth"]

MANY, FEW = 128, 10  # bins where smoothness is chosen, and in the paper's classifier
# Where smoothness is chosen from few rows, curves get as many pieces as rows tell apart, and 40 at
# most up to 2,000 rows: more make them rougher, not better (docs/small_tables.md).
ROWS_PER_BIN, LEAST_BINS, BINS_OF_FEW, MORE_ROWS_PER_BIN = 6, 8, 40, 50
# Rows from which on, and up to which, curves continue as straight lines beyond the training range.
# With fewer, the slope at an end is that between two or three rows, and leads anywhere.
LEAST_STRAIGHT, STRAIGHT = 20, 1_000
WIDE = 200  # number of columns from which on even features with few values get FEW_OF_WIDE bins
FEW_OF_WIDE = 40  # as in the paper's experiments with images
MANY_FREQUENCIES = 12  # where smoothness is chosen: enough for the hours of a day
MOST_COEFFICIENTS = 8_192  # over all curves; curves of wide tables get fewer bins


def advise_smooth(table: Table, n_units: float) -> Advice:
    """Return the defaults where smoothness is chosen from `n_units` independent rows."""
    if table.is_sparse:
        return advise_fixed(table)
    most = min(MANY, max(BINS_OF_FEW, n_units // MORE_ROWS_PER_BIN))
    n_bins = int(np.clip(n_units // ROWS_PER_BIN, LEAST_BINS, most))
    return Advice(
        n_bins,
        quantiles=True,
        few=n_bins + 1,
        without_level=True,
        most_coefficients=MOST_COEFFICIENTS,
        extrapolation=Extrapolation.LINEAR
        if LEAST_STRAIGHT <= n_units <= STRAIGHT
        else Extrapolation.CONSTANT,
        n_frequencies=MANY_FREQUENCIES,
    )


def advise_fixed(table: Table) -> Advice:
    """Return the defaults of an estimator that has one C for all terms."""
    if table.shape[1] >= WIDE and not table.is_sparse:
        return Advice(FEW_OF_WIDE, quantiles=False, few=2, narrow=NARROW_OF_WIDE)
    return Advice(FEW, quantiles=False)
