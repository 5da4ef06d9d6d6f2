"""Whether the surfaces that "auto" found predict rows that did not find them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from splinear.solvers.problems.problem import Start, Stopping
from splinear.solvers.reml.smoothness import Smoothness
from splinear.terms.pair import Pair
from splinear.terms.plan import FeaturePair
from splinear.training.crossfit import CrossFit
from splinear.training.interactions import Interactions
from splinear.training.set import TrainingSet

__all__ = ["Smooth", "checked"]

# From a set with new surfaces, and its curves, to the smoothness of both.
Smooth = Callable[[TrainingSet, Smoothness], Smoothness]


def checked(
    found: dict[FeaturePair, Pair],
    asked: Interactions,
    crossed: CrossFit,
    curves: Smoothness,
    stopping: Stopping,
    smooth: Smooth,
) -> dict[FeaturePair, Pair]:
    """Return the pairs if, on the rows of the first fold, they beat the model without them."""
    if not found:
        return found
    part, points = crossed.parts[0], crossed.points[0]
    starts = [Start(coef=p.parameters, intercept=p.theta[:, -1]) for p in points]
    of_part = replace(curves, starts=starts)

    def losses(pairs):
        n = part.rows.n_rows
        _, weights = part.rows.weighted_first(part.weighted.weights, n)
        rows = asked.add(part.rows, pairs, points, weights, stopping.n_threads)
        chosen = smooth(part.with_rows(rows), of_part)
        own = crossed.trained(rows.with_layout(chosen.layout), 0, chosen.starts, stopping)
        return crossed.losses(0, own)

    before = losses(asked.given) if asked.given else crossed.losses(0, points)
    gain = before - losses(asked.given | found)
    import os
    if os.environ.get("PAIRS_DEBUG"):
        print("   check", len(found), "gain/row %.5f se %.5f" % (gain.mean(), gain.std() / len(gain) ** 0.5))
    return found if gain.sum() > 0.0 else {}
