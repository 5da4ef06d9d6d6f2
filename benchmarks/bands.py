"""Do bands cover what they should, and are p-values honest? Simulated data, the truth being known.

python benchmarks/bands.py --quick               40 data sets per loss: a minute
python benchmarks/bands.py                       500 data sets per loss: some twenty minutes
python benchmarks/bands.py --losses logistic     only these
python benchmarks/bands.py --output docs         writes docs/bands.md, too
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import command
import numpy as np
import numpy.typing as npt
import report
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import band, shape_function, summary

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
LEVELS_OF_P = (0.01, 0.05, 0.1)
N_SETS, N_QUICK = 500, 40
CORRELATION = 0.3  # of the normal numbers behind the features, which are uniform
POINTWISE, SIMULTANEOUS = (0.93, 0.97), (0.93, 0.98)

INTRODUCTION = """\
Coverage of bands and validity of p-values on simulated data sets, where the truth is known. Each
has six features, uniform on [0, 1] with correlations of {correlation}: `sine`, sin(2 pi x), and
`bump`, exp(-((x - 0.5) / 0.15)^2), are strong; `line`, 0.25 (2 x - 1), and `wave`, 0.15 cos(3 pi
x), are weak; `null 1` and `null 2` have no effect. Models are fitted with no arguments except
`random_state`. `python benchmarks/bands.py --output docs` writes this page.

{noises}

*Pointwise* is the share of training rows at which the 95 % band of the centered curve contains the
true curve, centered over the same rows; the mean over data sets. *Simultaneous* is the share of
data sets in which the whole curve is inside its band. *Normal theory* is the pointwise coverage
with the unmodified variance of the posterior, that is, with the bias that the prior expects (kappa
= 1; see [mathematics](mathematics.md#bands-and-p-values)).

Means over all curves are dominated by the null curves, which are nearly always covered. `wave` is
at the limit of what these rows can show: in some data sets the chosen smoothness makes it flat,
with a narrow band, and bands do not include the uncertainty of that choice."""


@dataclass(frozen=True)
class Loss:
    """How targets are drawn around the sum of curves, and who learns from them."""

    n_rows: int
    scale: float  # of the curves
    words: str
    draw: Callable[[Floats, np.random.Generator], Floats]
    make: Callable[[], AdditiveClassifier | AdditiveRegressor]


LOSSES = {
    "gaussian": Loss(
        500,
        1.0,
        "gaussian: 500 rows, noise of standard deviation 0.5.",
        lambda f, random: f + 0.5 * random.normal(size=len(f)),
        lambda: AdditiveRegressor(random_state=0),
    ),
    "logistic": Loss(
        1500,
        2.0,
        "logistic: 1,500 rows, all curves times 2.",
        lambda f, random: (random.random(len(f)) < expit(f)).astype(float),
        lambda: AdditiveClassifier(random_state=0),
    ),
    "poisson": Loss(
        500,
        1.0,
        "poisson: 500 rows, a mean of about 2.",
        lambda f, random: random.poisson(2.0 * np.exp(f)).astype(float),
        lambda: AdditiveRegressor(loss="poisson", random_state=0),
    ),
    "gamma": Loss(
        500,
        1.0,
        "gamma: 500 rows, a standard deviation of half the mean; the dispersion is estimated.",
        lambda f, random: random.gamma(4.0, np.exp(f) / 4.0),
        lambda: AdditiveRegressor(loss="gamma", random_state=0),
    ),
}

CURVES: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "sine": ("strong", lambda x: np.sin(2 * np.pi * x)),
    "bump": ("strong", lambda x: np.exp(-(((x - 0.5) / 0.15) ** 2))),
    "line": ("weak", lambda x: 0.25 * (2 * x - 1)),
    "wave": ("weak", lambda x: 0.15 * np.cos(3 * np.pi * x)),
    "null 1": ("null", np.zeros_like),
    "null 2": ("null", np.zeros_like),
}


@dataclass(frozen=True)
class Found:
    """What one data set says of one curve."""

    pointwise: float
    expected: float  # pointwise, with the bias that the prior expects
    simultaneous: bool
    width: float
    p: float


def features(n: int, random: np.random.Generator) -> Floats:
    """Draw uniform features whose ranks are correlated."""
    common = random.normal(size=(n, 1))
    own = random.normal(size=(n, len(CURVES)))
    return np.asarray(ndtr(np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own))


def simulate(loss: Loss, seed: int) -> dict[str, Found]:
    """Draw a data set, fit a model, and look whether its bands hold the truth."""
    random = np.random.default_rng([seed, 500])
    X = features(loss.n_rows, random)
    truths = {name: loss.scale * f(X[:, j]) for j, (name, (_, f)) in enumerate(CURVES.items())}
    scores = np.sum([f - f.mean() for f in truths.values()], axis=0)
    model = loss.make().fit(X, loss.draw(scores, random))
    p_values = {line.feature: line.p_value for line in summary(model).lines}
    return {
        name: look(model, j, X[:, j], truth - truth.mean(), p_values[f"x{j}"])
        for j, (name, truth) in enumerate(truths.items())
    }


def look(
    model: AdditiveClassifier | AdditiveRegressor, j: int, x: Floats, truth: Floats, p: float
) -> Found:
    """Compare the bands of one curve with the truth."""
    _, f = shape_function(model, j, grid=x, center=True)
    _, lower, upper = band(model, j, x, level=LEVEL)
    _, all_lower, all_upper = band(model, j, x, level=LEVEL, kind="simultaneous")
    curve = model._posteriors[0].curve(j, 0)
    assert curve is not None
    term = model.terms_.of_feature(j)
    assert term is not None
    directions = term.with_parameters(curve.directions)
    squares = (directions.evaluate(x) - directions.mean) ** 2
    before = squares @ (curve.noise / (1.0 + curve.mu))
    half = 0.5 * (upper - lower) * np.sqrt(before / (squares @ curve.variances))
    return Found(
        pointwise=float(np.mean((lower <= truth) & (truth <= upper))),
        expected=float(np.mean(np.abs(f - truth) <= half)),
        simultaneous=bool(np.all((all_lower <= truth) & (truth <= all_upper))),
        width=float(np.mean(upper - lower)),
        p=p,
    )


def coverage_lines(found: list[dict[str, Found]]) -> list[list[str]]:
    """Return a line per curve."""
    lines = [["curve", "strength", "pointwise", "simultaneous", "normal theory", "mean width"]]
    for name, (strength, _) in CURVES.items():
        own = [one[name] for one in found]
        lines.append(
            [
                name,
                strength,
                f"{np.mean([f.pointwise for f in own]):.3f}",
                f"{np.mean([f.simultaneous for f in own]):.3f}",
                f"{np.mean([f.expected for f in own]):.3f}",
                f"{np.mean([f.width for f in own]):.3f}",
            ]
        )
    return lines


def p_lines(found: list[dict[str, Found]]) -> list[list[str]]:
    """Return the shares of small p-values, a line per curve."""
    lines = [["curve", *(f"p <= {level}" for level in LEVELS_OF_P)]]
    for name in CURVES:
        p = np.array([one[name].p for one in found])
        lines.append([name, *(f"{np.mean(p <= level):.3f}" for level in LEVELS_OF_P)])
    return lines


def bars(loss: str, found: list[dict[str, Found]]) -> list[report.Bar]:
    """Say what must hold."""
    every = [f for one in found for f in one.values()]
    pointwise = float(np.mean([f.pointwise for f in every]))
    simultaneous = float(np.mean([f.simultaneous for f in every]))
    out = [
        report.Bar(f"{loss}: pointwise, all curves", pointwise, least=POINTWISE[0]),
        report.Bar(f"{loss}: pointwise, all curves", pointwise, most=POINTWISE[1]),
        report.Bar(f"{loss}: simultaneous, all curves", simultaneous, least=SIMULTANEOUS[0]),
        report.Bar(f"{loss}: simultaneous, all curves", simultaneous, most=SIMULTANEOUS[1]),
    ]
    for name in ("null 1", "null 2"):
        out += honest(f"{loss}: {name}", [one[name].p for one in found])
    return out


def honest(what: str, p_values: list[float]) -> list[report.Bar]:
    """Say that p-values under the null are no smaller than chance has it, by two errors."""
    p, out = np.array(p_values), []
    for level in LEVELS_OF_P:
        most = level + 2.0 * np.sqrt(level * (1.0 - level) / len(p))
        share = float(np.mean(p <= level))
        out.append(report.Bar(f"{what}, p <= {level}", share, most=most))
    return out


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="40 data sets per loss", output="folder for bands.md"
    )
    parser.add_argument("--losses", help="losses, by commas")
    parser.add_argument("--sets", type=int, help="data sets per loss")
    given = parser.parse_args()
    names = command.chosen(parser, given.losses, LOSSES, tuple(LOSSES), option="--losses")
    n_sets = given.sets or (N_QUICK if given.quick else N_SETS)
    noises = "\n".join(f"- {LOSSES[name].words}" for name in names)
    introduction = INTRODUCTION.format(correlation=CORRELATION, noises=noises)
    parts = ["# Bands and p-values", introduction, report.machine_block()]
    for name in names:
        with threadpool_limits(limits=1):
            found = [simulate(LOSSES[name], seed) for seed in range(n_sets)]
        parts += [f"## {name}: {n_sets} data sets", report.markdown(coverage_lines(found))]
        parts += [report.markdown(p_lines(found)), report.items(bars(name, found))]
    report.publish(parts, given.output, "bands.md")


if __name__ == "__main__":
    main()
