"""The paper's numbers: S. Maji, Linearized Additive Classifiers, section Experiments.

The only module with numbers that were not measured by the experiments themselves. Times are seconds
on the author's machine, accuracies and errors percent.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TABLE1", "TABLE1_LINEAR", "TABLE2", "TABLE3", "TABLE4", "Score", "SixRuns"]


class Score(NamedTuple):
    """Accuracy (table 4: error) and training time."""

    rate: float
    seconds: float


class SixRuns(NamedTuple):
    """Mean and standard deviation over six runs; times of training on the fly and in a batch."""

    rate: float
    deviation: float
    online: float | None
    batch: float | None


# (number of bins, degree, order of the penalty)
TABLE1: dict[tuple[int, int, int], Score] = {
    (5, 1, 0): Score(89.55, 6.60),
    (5, 1, 1): Score(89.68, 20.27),
    (5, 1, 2): Score(89.93, 41.60),
    (5, 2, 0): Score(90.45, 8.74),
    (5, 2, 1): Score(90.20, 30.47),
    (5, 2, 2): Score(89.94, 80.25),
    (5, 3, 0): Score(90.03, 11.68),
    (5, 3, 1): Score(89.93, 49.85),
    (5, 3, 2): Score(88.57, 143.50),
    (10, 1, 0): Score(90.42, 5.61),
    (10, 1, 1): Score(90.86, 23.06),
    (10, 1, 2): Score(89.43, 77.99),
    (10, 2, 0): Score(90.69, 8.10),
    (10, 2, 1): Score(90.73, 29.97),
    (10, 2, 2): Score(89.23, 126.03),
    (10, 3, 0): Score(90.48, 11.59),
    (10, 3, 1): Score(90.67, 42.26),
    (10, 3, 2): Score(89.14, 193.47),
    (20, 1, 0): Score(90.23, 5.96),
    (20, 1, 1): Score(91.20, 32.43),
    (20, 1, 2): Score(89.06, 246.87),
    (20, 2, 0): Score(90.34, 7.26),
    (20, 2, 1): Score(91.10, 34.99),
    (20, 2, 2): Score(88.89, 328.32),
    (20, 3, 0): Score(90.39, 10.08),
    (20, 3, 1): Score(91.00, 42.88),
    (20, 3, 2): Score(88.92, 429.57),
}
TABLE1_LINEAR = Score(81.5, 3.8)

# (basis, order of the penalty, degree)
TABLE2: dict[tuple[str, int, int], Score] = {
    ("fourier", 1, 1): Score(88.94, 7.0),
    ("fourier", 1, 2): Score(89.59, 10.2),
    ("fourier", 1, 3): Score(88.99, 12.7),
    ("fourier", 1, 4): Score(89.77, 16.0),
    ("fourier", 2, 1): Score(88.94, 7.0),
    ("fourier", 2, 2): Score(89.64, 10.2),
    ("fourier", 2, 3): Score(89.77, 12.8),
    ("fourier", 2, 4): Score(89.84, 15.9),
    ("hermite", 1, 1): Score(84.17, 2.8),
    ("hermite", 1, 2): Score(88.01, 4.6),
    ("hermite", 1, 3): Score(88.22, 7.7),
    ("hermite", 1, 4): Score(89.00, 12.6),
    ("hermite", 2, 1): Score(84.17, 2.8),
    ("hermite", 2, 2): Score(88.01, 4.6),
    ("hermite", 2, 3): Score(88.70, 9.9),
    ("hermite", 2, 4): Score(89.05, 11.9),
}

TABLE3: dict[str, SixRuns] = {
    "linear": SixRuns(81.49, 1.29, None, 3.8),
    "min kernel": SixRuns(89.05, 1.42, None, 363.1),
    "B-spline D_0, degree 1, 5 bins": SixRuns(88.51, 1.35, 5.9, None),
    "B-spline D_0, degree 3, 5 bins": SixRuns(89.00, 1.44, 10.8, None),
    "B-spline D_1, degree 1, 10 bins": SixRuns(89.56, 1.35, 17.2, None),
    "B-spline D_1, degree 3, 10 bins": SixRuns(89.25, 1.39, 19.2, None),
    "Fourier r=1, degree 2": SixRuns(88.44, 1.43, 159.9, 12.7),
    "Hermite r=1, degree 4": SixRuns(87.67, 1.26, 35.5, 12.6),
}

TABLE4: dict[str, Score] = {
    "linear": Score(1.44, 6.2),
    "min kernel": Score(0.79, 2.5 * 3600),
    "B-spline D_0, degree 1, 20 bins": Score(0.88, 31.6),
    "B-spline D_0, degree 3, 20 bins": Score(0.86, 51.6),
    "B-spline D_1, degree 1, 40 bins": Score(0.81, 157.7),
    "B-spline D_1, degree 3, 40 bins": Score(0.82, 244.9),
    "Hermite r=1, degree 4": Score(1.06, 358.6),
}
