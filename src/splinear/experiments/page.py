"""The page: numbers become text here, and templates become HTML and Markdown.

Needs jinja2: ``pip install 'splinear[report]'``.
"""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory

from splinear.experiments.reproduction import Reproduction
from splinear.experiments.results import Column, Measured, Picture

__all__ = ["HTML", "MARKDOWN", "html", "markdown", "write"]

HTML, MARKDOWN = "reproduce.html", "reproduce.md"
NOTHING = "–"
LIMIT_MARK = "†"


def html(reproduction: Reproduction) -> str:
    """Render the page as one HTML file, pictures inside."""
    return _render("page.html.jinja", reproduction, escape=True)


def markdown(reproduction: Reproduction) -> str:
    """Render the page as Markdown; pictures are files beside it."""
    return _render("page.md.jinja", reproduction, escape=False)


def write(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write both forms and the pictures into a folder: all of them, or none.

    Parameters
    ----------
    reproduction : Reproduction
    folder : Path
        Made if it does not exist.

    Returns
    -------
    paths : list of Path
        The files, the HTML page first.
    """
    files = {
        HTML: html(reproduction).encode(),
        MARKDOWN: markdown(reproduction).encode(),
        **{picture_name(p): p.png for result in reproduction.results for p in result.pictures},
    }
    folder.mkdir(parents=True, exist_ok=True)
    # Written aside and then moved, so that an interruption leaves no file half-written.
    with TemporaryDirectory(dir=folder, prefix=".reproduce-") as aside:
        for name, content in files.items():
            (Path(aside) / name).write_bytes(content)
        for name in files:
            os.replace(Path(aside) / name, folder / name)
    return [folder / name for name in files]


def picture_name(picture: Picture) -> str:
    """Name the file of a picture."""
    return f"{picture.name}.png"


def _render(template: str, reproduction: Reproduction, escape: bool) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("splinear.experiments", "templates"),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["embedded"] = lambda picture: b64encode(picture.png).decode()
    environment.filters["file"] = picture_name
    helpers: dict[str, object] = {
        "ours": ours,
        "paper": printed,
        "difference": difference,
        "limit_mark": LIMIT_MARK,
    }
    return environment.get_template(template).render(page=reproduction, **helpers)


def ours(cell: Measured, column: Column) -> str:
    """Write our number, with its deviation in brackets."""
    mark = LIMIT_MARK if cell.at_limit else ""
    return _number(cell.ours, cell.spread, column) + mark


def printed(cell: Measured, column: Column) -> str:
    """Write the paper's number, with its deviation in brackets."""
    return _number(cell.paper, cell.paper_spread, column)


def difference(cell: Measured, column: Column) -> str:
    """Write ours minus the paper's; for times also how many times faster we are."""
    if cell.difference is None:
        return NOTHING
    text = f"{cell.difference:+,.{column.decimals}f}".replace("-", "−")
    if column.unit == "s" and cell.factor is not None:
        text += f" ({cell.factor:,.{0 if cell.factor >= 10 else 1}f}×)"
    return text


def _number(value: float | None, spread: float | None, column: Column) -> str:
    if value is None:
        return NOTHING
    text = f"{value:,.{column.decimals}f}".replace("-", "−")
    return text if spread is None else f"{text} ({spread:.{column.decimals}f})"
