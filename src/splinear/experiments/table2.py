"""Table 2: Fourier and Hermite embeddings on the first Daimler run."""

from __future__ import annotations

from splinear.experiments import paper
from splinear.experiments.bench import Bench
from splinear.experiments.choosing import choose, chosen, curves_grid, unit_only
from splinear.experiments.models import additive, batch, fit
from splinear.experiments.results import Choice, Claim, Column, Measured, Row, Section, Table
from splinear.terms import Fourier, Hermite

__all__ = ["TITLE", "run"]

TITLE = "Fourier and Hermite embeddings on the first Daimler run"
COLUMNS = (
    Column("accuracy, batch", "%"),
    Column("time, batch", "s"),
    Column("accuracy, online", "%"),
    Column("time, online", "s"),
)
QUICK_DEGREES = (1, 4)
TOP_DEGREE = 4


def run(bench: Bench) -> Section:
    """Choose C for each model, then train it both ways, one at a time, each on one thread."""
    keys = [key for key in paper.TABLE2 if not bench.quick or key[2] in QUICK_DEGREES]
    done = {key: _row(bench, *key) for key in keys}
    rows = [row for row, _ in done.values()]
    return Section(
        name="table2",
        title=TITLE,
        notes=[
            "Batch: the embedding is stored and LIBLINEAR trains on it, time of both together. "
            "Online: `AdditiveSVC`, the same model, the embedding computed on the fly. "
            "Features are mapped to [-1, 1] as in the paper; C is chosen per model."
        ],
        tables=[Table("Accuracy and training time", "model", COLUMNS, rows)],
        choices=[choice for _, choice in done.values()],
        orderings=_orderings({key: row for key, (row, _) in done.items()}),
    )


def _row(bench: Bench, basis: str, order: int, degree: int) -> tuple[Row, Choice]:
    name = f"{basis.capitalize()} r={order}, degree {degree}"
    bench.report(name)
    data = bench.daimler
    curve = {"fourier": Fourier, "hermite": Hermite}[basis](degree, penalty_order=order)
    online, stored = additive(name, curve), batch(name, curve)
    grid = unit_only(curves_grid(bench.quick))
    choice = choose(online, data.X, data.y, data.folds, grid, bench.n_workers)
    train, test = data.first_run
    printed = paper.TABLE2[basis, order, degree]
    cells = []
    for recipe, score in ((stored, printed), (online, None)):
        done = fit(chosen(recipe, choice), data.X[train], data.y[train])
        accuracy = 100 * done.model.score(data.X[test], data.y[test])
        cells += [
            Measured(accuracy, score and score.rate),
            Measured(done.seconds, score and score.seconds, at_limit=done.at_limit),
        ]
    return Row(name, cells), choice


def _orderings(rows: dict[tuple[str, int, int], Row]) -> list[Claim]:
    def accuracy(basis: str, degree: int) -> float:
        return max(rows[basis, order, degree].cells[0].ours or 0 for order in (1, 2))

    low, high = (accuracy("hermite", degree) for degree in (1, TOP_DEGREE))
    fourier = accuracy("fourier", TOP_DEGREE)
    return [
        Claim(
            f"Hermite of degree {TOP_DEGREE} is more accurate than of degree 1",
            f"degree 1 {low:.2f} %, degree {TOP_DEGREE} {high:.2f} % (the better r)",
            high > low,
        ),
        Claim(
            f"of degree {TOP_DEGREE}, Fourier is more accurate than Hermite",
            f"Fourier {fourier:.2f} %, Hermite {high:.2f} % (the better r)",
            fourier > high,
        ),
    ]
