"""Round numbers along an axis, for pictures by matplotlib and those of reports."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST_LOGARITHM", "even_ticks", "factor_ticks"]

_FEWEST = 3  # round factors; between fewer, factors at even steps are marked
LARGEST_LOGARITHM = 600.0  # logarithm of a factor that is written out
_AIR = 1e-9  # share of the axis by which a tick may be outside, by rounding


def even_ticks(lo: float, hi: float, most: int) -> list[float]:
    """Return at most `most` multiples of 1, 2 or 5 times a power of ten from lo to hi."""
    if not lo < hi or not np.isfinite(hi - lo):
        return [lo]
    power = 10.0 ** np.floor(np.log10((hi - lo) / most) - 1.0)
    for step in (power * m for m in (1, 2, 5, 10, 20, 50, 100)):
        first, last = np.ceil(lo / step - _AIR), np.floor(hi / step + _AIR)
        if last - first < most:
            return [float(k * step) for k in np.arange(first, last + 1)]
    return [lo, hi]


def factor_ticks(lo: float, hi: float, most: int) -> list[float]:
    """Return the logarithms of at most `most` round factors from exp(lo) to exp(hi).

    These are 1, 2, 5, 10, ..., or powers of ten alone, or, if the axis is short, even steps.
    """
    if not lo < hi or max(abs(lo), abs(hi)) > LARGEST_LOGARITHM:
        return even_ticks(lo, hi, most)
    air = _AIR * (hi - lo)
    first, last = (int(np.floor(x / np.log(10.0))) for x in (lo, hi))
    for every in range(1, last - first + 2):
        decades = range(first - first % every, last + 2, every)
        for digits in ((1, 2, 5), (1,)) if every == 1 else ((1,),):
            found = [float(np.log(m) + k * np.log(10.0)) for k in decades for m in digits]
            found = [x for x in found if lo - air <= x <= hi + air]
            if len(found) < _FEWEST and len(digits) > 1:
                even = even_ticks(float(np.exp(lo)), float(np.exp(hi)), most)
                return [float(np.log(round(x, 12))) for x in even if round(x, 12) > 0.0]
            if len(found) <= most:
                return found
    return [0.0]
