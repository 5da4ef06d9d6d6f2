"""The command ``splinear``. Needs typer and rich: ``pip install 'splinear[cli]'``.

Each command is added to the app by a function of its own, listed in `COMMANDS`. typer is imported
inside them, so that this module can be imported, and can say what is missing, without it.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from splinear.demo import Measured

__all__ = ["main", "make_app"]

PICTURE = "splinear_demo.png"
FORMATS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


def main() -> None:
    """Run the command line."""
    missing = [name for name in ("typer", "rich") if find_spec(name) is None]
    if missing:
        sys.exit(
            f"splinear: the command line needs {' and '.join(missing)}: pip install 'splinear[cli]'"
        )
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal gets ?, not a traceback
    make_app()()


def make_app() -> "typer.Typer":
    """Make the typer app with all its commands."""
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    def show_version(wanted: bool) -> None:
        if wanted:
            from splinear import __version__

            typer.echo(f"splinear {__version__}")
            raise typer.Exit

    @app.callback()
    def splinear(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
    ) -> None:
        """Additive models at the price of linear ones."""

    for add in COMMANDS:
        add(app)
    return app


def add_demo(app: "typer.Typer") -> None:
    """Add the command ``splinear demo``."""
    import typer

    @app.command()
    def demo(
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Where to write the picture of the curves.")
        ] = Path(PICTURE),
        splits: Annotated[
            int, typer.Option(min=1, help="Random splits into training and test rows.")
        ] = 10,
        seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Chooses the splits.")] = 0,
    ) -> None:
        """Compare linear, spline, Fourier and Hermite models with the default; draw its curves."""
        try:
            picture = _picture_path(output)
            results = _run_demo(splits, seed)
            _print_results(results, splits)
            _draw_picture(picture, seed)
        except (OSError, ImportError) as error:
            typer.echo(f"splinear: {error}", err=True)
            raise typer.Exit(1) from None


def add_reproduce(app: "typer.Typer") -> None:
    """Add the command ``splinear reproduce``."""
    import typer

    @app.command()
    def reproduce(
        names: Annotated[
            list[str] | None,
            typer.Argument(help="table1 to table4, figure1 to figure3; all if none is named."),
        ] = None,
        quick: Annotated[
            bool, typer.Option("--quick", help="Few rows, runs and bins: see that it works.")
        ] = False,
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Folder for the page and its pictures.")
        ] = Path(),
        data_home: Annotated[
            Path | None, typer.Option(help="Folder of the data sets; default: $SPLINEAR_DATA.")
        ] = None,
        n_jobs: Annotated[int, typer.Option(help="Fits at a time; -1 is one per core.")] = -1,
    ) -> None:
        """Repeat the paper's experiments, and write one page with its numbers and ours."""
        try:
            _check_page(output)
            _reproduce(names or [], quick, output, data_home, n_jobs)
        except (OSError, ImportError, ValueError) as error:
            typer.echo(f"splinear: {error}", err=True)
            raise typer.Exit(1) from None


COMMANDS: Sequence[Callable[["typer.Typer"], None]] = (add_demo, add_reproduce)


def _picture_path(output: Path) -> Path:
    """Find where the picture goes, and refuse early what could not be written later."""
    path = output / PICTURE if output.is_dir() else output
    folder = path.parent
    if path.suffix.lower() not in FORMATS:
        raise OSError(f"cannot write {path}: the name must end in one of {', '.join(FORMATS)}")
    if not folder.is_dir():
        raise OSError(f"cannot write {path}: {folder} is not an existing folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise OSError(f"cannot write {path}: permission denied")
    if find_spec("matplotlib") is None:
        raise ImportError("the picture needs matplotlib: pip install 'splinear[plot]'")
    return path


def _run_demo(splits: int, seed: int) -> "list[Measured]":
    """Evaluate every model on every data set, with a progress bar on stderr."""
    from splinear.demo import evaluate, load_data_sets, make_models

    data_sets, models = load_data_sets(), make_models(seed)
    results = []
    with _progress() as progress:
        task = progress.add_task("", total=len(data_sets) * len(models))
        for data in data_sets:
            for name, model in models.items():
                progress.update(task, description=f"{data.name}: {name}")
                results.append(evaluate(name, model, data, splits, seed))
                progress.advance(task)
        progress.update(task, description="all models fitted")
    return results


def _print_results(results: "list[Measured]", splits: int) -> None:
    console = _console()
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
    """Make one row per result, with a line between data sets."""
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
    _console().print(f"\nCurves learned on breast cancer: {path.resolve()}", soft_wrap=True)


def _check_page(folder: Path) -> None:
    """Refuse early what could not be written, or drawn, later."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OSError(f"cannot write into {folder}: {existing} is not a folder")
    if not os.access(existing, os.W_OK):
        raise OSError(f"cannot write into {folder}: permission denied")
    for package, extra in (("jinja2", "report"), ("matplotlib", "plot")):
        if find_spec(package) is None:
            raise ImportError(f"the page needs {package}: pip install 'splinear[{extra}]'")


def _reproduce(
    names: Sequence[str], quick: bool, output: Path, data_home: Path | None, n_jobs: int
) -> None:
    """Run the experiments, with progress on stderr, and write the page at the end."""
    from splinear.experiments.bench import Bench
    from splinear.experiments.catalogue import find
    from splinear.experiments.page import write
    from splinear.experiments.reproduction import reproduce

    experiments = find(names)
    with _progress() as progress:
        task = progress.add_task("", total=len(experiments))
        bench = Bench(
            quick=quick,
            data_home=None if data_home is None else str(data_home),
            n_jobs=n_jobs,
            report=lambda text: progress.update(task, description=text),
        )
        done = reproduce(experiments, bench, lambda name: progress.advance(task))
        progress.update(task, description="done")
    page, *_ = write(done, output)
    held = [claim.holds for claim in done.claims]
    if held:
        _console().print(f"{sum(held)} of {len(held)} claims hold.")
    _console().print(f"Page: {page.resolve()}", soft_wrap=True)


def _progress() -> "Progress":
    """Make a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", style="dim"),
        console=Console(stderr=True),
    )


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)
