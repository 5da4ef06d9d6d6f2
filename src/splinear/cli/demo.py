"""``splinear demo``: a comparison of several kinds of models, and a picture of curves."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from splinear.cli.console import failing_well, make_console, say
from splinear.cli.output import PICTURE, check_outputs
from splinear.cli.progress import tracking

if TYPE_CHECKING:
    import typer
    from rich.table import Table

    from splinear.demo import Measured

__all__ = ["add_demo"]

FILE = "splinear_demo.png"


def add_demo(app: "typer.Typer") -> None:
    """Add the command ``splinear demo``."""
    import typer

    @app.command()
    def demo(
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Where to write the picture of the curves.")
        ] = Path(FILE),
        splits: Annotated[
            int, typer.Option(min=1, help="Random splits into training and test rows.")
        ] = 10,
        seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the splits.")] = 0,
        force: Annotated[
            bool, typer.Option("--force", help="Replace an existing file, whatever it is.")
        ] = False,
    ) -> None:
        """Compare linear, spline, Fourier and Hermite models with the default; draw its curves."""
        with failing_well():
            picture = _picture_path(output, force=force)
            results = _run_demo(splits, seed)
            _print_results(results, splits)
            _draw_picture(picture, seed)


def _picture_path(output: Path, *, force: bool = False) -> Path:
    """Return the path of the picture; raise early if it cannot be written."""
    path = output / FILE if output.is_dir() else output
    check_outputs({"--output": (path, PICTURE)}, force=force)
    if find_spec("matplotlib") is None:
        raise ImportError("the picture needs matplotlib: pip install 'splinear[plot]'")
    return path


def _run_demo(splits: int, seed: int) -> "list[Measured]":
    """Return the results of every model on every data set, with progress on stderr."""
    from splinear.demo import evaluate, load_data_sets, make_models

    data_sets, models = load_data_sets(), make_models(seed)
    results: list[Measured] = []
    with tracking("Models", len(data_sets) * len(models)) as track:
        for data in data_sets:
            for name, model in models.items():
                track(len(results), f"{data.name}: {name}")
                results.append(evaluate(name, model, data, splits, seed))
    return results


def _print_results(results: "list[Measured]", splits: int) -> None:
    console = make_console()
    console.print()
    console.print(_table(results))
    console.print(
        f"\n[dim]Accuracy: mean ± standard deviation over {splits} random splits (3/4 to train, "
        "1/4 to test). Seconds: the median fit. Gap: the largest. Default: AdditiveClassifier(), "
        "which chooses from the data how smooth each curve is. All others: AdditiveSVC with C = 1 "
        "and the curve that is named; nothing is tuned. D_0 shrinks coefficients, D_1 the steps "
        "between neighbors. Fourier curves are periodic: they end at the height at which they "
        "begin.[/]"
    )


def _table(results: "list[Measured]") -> "Table":
    """Return a table with one row per result, and a line between data sets."""
    from rich import box
    from rich.table import Table

    from splinear.demo import best_of

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for heading in ("data set", "model"):
        table.add_column(heading, no_wrap=True)
    for heading in ("test accuracy", "fit seconds", "duality gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    best = best_of(results)
    shown = None
    for result in results:
        if shown not in (None, result.data_set):
            table.add_section()
        name = "" if shown == result.data_set else result.data_set
        shown = result.data_set
        accuracy = f"{result.accuracy:.1%} ± {100 * result.deviation:.1f}"
        table.add_row(
            f"[bold]{name}[/]" if name else "",
            result.model,
            f"[bold green]{accuracy}[/]" if best[result.data_set] is result else accuracy,
            f"{result.seconds:.4f}",
            f"{result.gap:.1e}",
        )
    return table


def _draw_picture(path: Path, seed: int) -> None:
    from splinear.demo import save_curves

    try:
        save_curves(path, seed)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None
    say(f"\nCurves learned on breast cancer: {path.resolve()}")
