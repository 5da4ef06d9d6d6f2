"""Are surfaces as well known as models say, and scores with them? Simulated, the truth being known.

python benchmarks/surface_bands.py --quick               30 data sets per loss: two minutes
python benchmarks/surface_bands.py                       300 data sets per loss: some fifteen
python benchmarks/surface_bands.py --losses logistic     only these
python benchmarks/surface_bands.py --output docs         writes docs/surface_bands.md, too
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import command
import numpy as np
import numpy.typing as npt
import report
from bands import LEVELS_OF_P, LOSSES, Loss, features, honest
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from splinear import AdditiveClassifier, AdditiveRegressor
from splinear.inspection import standard_error, summary
from splinear.inspection.bands import surface_half_widths
from splinear.model.score_variance import ScoreVariances

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
N_SETS, N_QUICK = 300, 30
COVERAGE = (0.92, 0.98)

INTRODUCTION = """\
Simulated data sets as in [bands.md](bands.md), with six features each. The truth is sin(2 pi x0) +
0.25 (2 x2 - 1) + exp(-((x3 - 0.5) / 0.15)^2) and two surfaces: `product`, (2 x0 - 1)(2 x1 - 1), and
`waves`, 0.5 sin(2 pi x2) sin(2 pi x3). Models are fitted with four surfaces, two of which are null:
`null` of two features without effect, and `half null` of x0 and one of these.
`python benchmarks/surface_bands.py --output docs` writes this page.

{noises}

*Pointwise* is the share of training rows at which the 95 % band contains the true surface, after
subtracting what functions of one feature can express; the mean over data sets. *Normal theory*:
with the bias that the prior expects (kappa = 1; see
[mathematics](mathematics.md#bands-and-p-values)). *Scores*: the share of training rows whose true
score is within 1.96 standard errors of the estimate; *surfaces known* is the same if the
uncertainty of surfaces is left out."""

SURFACES: dict[str, tuple[tuple[int, int], Callable[[Floats, Floats], Floats]]] = {
    "product": ((0, 1), lambda x, z: (2 * x - 1) * (2 * z - 1)),
    "waves": ((2, 3), lambda x, z: 0.5 * np.sin(2 * np.pi * x) * np.sin(2 * np.pi * z)),
    "half null": ((0, 4), lambda x, z: 0.0 * x * z),
    "null": ((4, 5), lambda x, z: 0.0 * x * z),
}
NULL = ("half null", "null")


@dataclass(frozen=True)
class Found:
    """What one data set says of one surface."""

    pointwise: float
    expected: float  # pointwise, with the bias that the prior expects
    p: float
    edf: float


@dataclass(frozen=True)
class FoundScores:
    """What it says of scores: coverage, and that if surfaces were known."""

    covered: float
    known: float


def simulate(loss: Loss, seed: int) -> tuple[dict[str, Found], FoundScores]:
    """Draw a data set, fit a model, and look whether its errors are true."""
    random = np.random.default_rng([seed, 300])
    X = features(loss.n_rows, random)
    f = np.sin(2 * np.pi * X[:, 0]) + 0.25 * (2 * X[:, 2] - 1)
    f += np.exp(-(((X[:, 3] - 0.5) / 0.15) ** 2))
    f += np.sum([of(X[:, j], X[:, k]) for (j, k), of in SURFACES.values()], axis=0)
    f = loss.scale * (f - f.mean())
    model = loss.make().set_params(interactions=[pair for pair, _ in SURFACES.values()])
    model.fit(X, loss.draw(f, random))
    lines = {line.feature: line for line in summary(model).lines}
    found = {}
    for name, ((j, k), of) in SURFACES.items():
        line = lines[f"x{j} \N{MULTIPLICATION SIGN} x{k}"]
        covered = look(model, X, (j, k), lambda x, z, of=of: loss.scale * of(x, z))
        found[name] = Found(*covered, p=line.p_value, edf=line.edf)
    return found, look_at_scores(model, X, f)


def look(
    model: AdditiveClassifier | AdditiveRegressor,
    X: Floats,
    features: tuple[int, int],
    truth: Callable[[Floats, Floats], Floats],
) -> tuple[float, float]:
    """Return the coverage of a surface, and that with the bias that the prior expects."""
    pair = model.terms_.of_pair(*features)
    posterior = model._posteriors[0].surface(features, 0)
    assert pair is not None
    assert posterior is not None
    first, second = pair.group.chains[0]
    assert first.knots is not None
    assert second.knots is not None
    table = truth(*np.meshgrid(first.knots, second.knots, indexing="ij"))
    centered = replace(pair, table=pair.group.tables(table.reshape(1, -1)))
    at = X[:, first.feature], X[:, second.feature]
    off = np.abs(pair.evaluate(*at) - centered.evaluate(*at))[:, 0]
    half = surface_half_widths(model, pair, *at, LEVEL, "pointwise")[:, 0]
    before = replace(posterior)
    before.__dict__["kappa"] = 1.0
    ratio = before.variances(*at) / posterior.variances(*at)
    return float(np.mean(off <= half)), float(np.mean(off <= half * np.sqrt(ratio)))


def look_at_scores(
    model: AdditiveClassifier | AdditiveRegressor, X: Floats, truth: Floats
) -> FoundScores:
    """Compare the standard errors of scores with how far these are off."""
    off, z = np.abs(model._scores(X)[:, 0] - truth), norm.ppf(0.5 + LEVEL / 2)
    of = ScoreVariances(model._posteriors[0])
    of.surfaces = []
    known = np.sqrt(of.of(model._read_table(X), np.ones((len(X), 1))))
    errors = standard_error(model, X)
    return FoundScores(float(np.mean(off <= z * errors)), float(np.mean(off <= z * known)))


def lines_of(found: list[dict[str, Found]]) -> list[list[str]]:
    """Return a line per surface."""
    lines = [["surface", "pointwise", "normal theory", "edf", *(f"p <= {a}" for a in LEVELS_OF_P)]]
    for name in SURFACES:
        own = [one[name] for one in found]
        p = np.array([f.p for f in own])
        lines.append(
            [
                name,
                f"{np.mean([f.pointwise for f in own]):.3f}",
                f"{np.mean([f.expected for f in own]):.3f}",
                f"{np.mean([f.edf for f in own]):.1f}",
                *(f"{np.mean(p <= level):.3f}" for level in LEVELS_OF_P),
            ]
        )
    return lines


def bars(loss: str, found: list[dict[str, Found]], scores: list[FoundScores]) -> list[report.Bar]:
    """Say what must hold."""
    covered = float(np.mean([one.covered for one in scores]))
    out = [
        report.Bar(f"{loss}: scores", covered, least=COVERAGE[0]),
        report.Bar(f"{loss}: scores", covered, most=COVERAGE[1]),
    ]
    for name in NULL:
        out += honest(f"{loss}: {name}", [one[name].p for one in found])
    return out


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(
        __doc__, quick="30 data sets per loss", output="folder for surface_bands.md"
    )
    parser.add_argument("--losses", help="losses, by commas")
    parser.add_argument("--sets", type=int, help="data sets per loss")
    given = parser.parse_args()
    default = ("gaussian", "logistic")
    names = command.chosen(parser, given.losses, default, default, option="--losses")
    n_sets = given.sets or (N_QUICK if given.quick else N_SETS)
    noises = "\n".join(f"- {LOSSES[name].words}" for name in names)
    parts = ["# Bands of surfaces", INTRODUCTION.format(noises=noises), report.machine_block()]
    for name in names:
        with threadpool_limits(limits=1):
            both = [simulate(LOSSES[name], seed) for seed in range(n_sets)]
        found, scores = [one for one, _ in both], [one for _, one in both]
        parts += [f"## {name}: {n_sets} data sets", report.markdown(lines_of(found))]
        covered, known = (
            float(np.mean([getattr(one, what) for one in scores])) for what in ("covered", "known")
        )
        parts.append(f"Scores: {covered:.3f}; surfaces known: {known:.3f}.")
        parts.append(report.items(bars(name, found, scores)))
    report.publish(parts, given.output, "surface_bands.md")


if __name__ == "__main__":
    main()
