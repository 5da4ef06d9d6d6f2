"""``splinear reproduce``: the paper's experiments, and a page about them."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from splinear.cli.console import failing_well, make_console, say
from splinear.cli.output import FileKind, check_outputs, refuse_source
from splinear.cli.progress import tracking

if TYPE_CHECKING:
    import typer

__all__ = ["add_reproduce"]

OWN = FileKind(
    "a page of splinear reproduce",
    marks=(b"<title>Linearized Additive Classifiers, reproduced", b"run by `splinear reproduce"),
)


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
            bool, typer.Option("--quick", help="A quick check with few rows, runs and bins.")
        ] = False,
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Folder for the page and its pictures.")
        ] = Path(),
        data_home: Annotated[
            Path | None, typer.Option(help="Folder of the data sets; default: $SPLINEAR_DATA.")
        ] = None,
        n_jobs: Annotated[int, typer.Option(help="Fits at a time; -1 is one per core.")] = -1,
        force: Annotated[
            bool, typer.Option("--force", help="Replace existing files, whatever they are.")
        ] = False,
    ) -> None:
        """Repeat the paper's experiments, and write one page with its numbers and ours."""
        with failing_well():
            _check_page(output, data_home, force=force)
            _reproduce(names or [], quick, output, data_home, n_jobs)


def _check_page(folder: Path, data_home: Path | None, *, force: bool) -> None:
    """Raise early if the page cannot be written or its pictures drawn."""
    from splinear.experiments.page import HTML, MARKDOWN

    if data_home is not None:
        refuse_source("--data-home", data_home, {"--output": folder})
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OSError(f"cannot write into {folder}: {existing} is not a folder")
    if not os.access(existing, os.W_OK):
        raise OSError(f"cannot write into {folder}: permission denied")
    page, text = folder / HTML, folder / MARKDOWN
    if folder.is_dir():  # otherwise it will be made, and holds nothing to lose
        check_outputs({"--output": (page, OWN), "": (text, OWN)}, force=force)
    for picture in sorted(folder.glob("figure?.png")):  # which those of an earlier run are beside
        if not force and not page.exists():
            raise OSError(
                f"cannot write {picture}: it exists, without {HTML} of an earlier run; name "
                "another folder, or add --force to replace it"
            )
    for package, extra in (("jinja2", "report"), ("matplotlib", "plot")):
        if find_spec(package) is None:
            raise ImportError(f"the page needs {package}: pip install 'splinear[{extra}]'")


def _reproduce(
    names: Sequence[str], quick: bool, output: Path, data_home: Path | None, n_jobs: int
) -> None:
    """Run the experiments, with progress on stderr, and write the page at the end."""
    from splinear.experiments.bench import Bench
    from splinear.experiments.catalog import find
    from splinear.experiments.page import write
    from splinear.experiments.reproduction import reproduce

    experiments = find(names)
    finished: list[str] = []
    with tracking("Experiments", len(experiments)) as track:
        bench = Bench(
            quick=quick,
            data_home=None if data_home is None else str(data_home),
            n_jobs=n_jobs,
            report=lambda text: track(len(finished), text),
        )
        done = reproduce(experiments, bench, finished.append)
    page, *_ = write(done, output)
    console = make_console()
    if done.claims and quick:
        console.print(
            "Quick runs have too few rows to check claims; without --quick they are checked."
        )
    elif done.claims:
        held = [claim.holds for claim in done.claims]
        console.print(f"{sum(held)} of {len(held)} claims hold.")
    say(f"Page: {page.resolve()}")
