"""What an experiment gives: tables and pictures, choices that were made, claims and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Choice", "Claim", "Column", "Measured", "Picture", "Row", "Section", "Table"]


@dataclass(frozen=True)
class Measured:
    """A number beside the paper's, each perhaps with a standard deviation.

    Attributes
    ----------
    ours : float or None
        None if it was not measured.
    paper : float or None
        None if the paper does not give it.
    spread, paper_spread : float or None
        Standard deviations.
    at_limit : bool
        Whether the training stopped at its largest number of passes.
    """

    ours: float | None
    paper: float | None = None
    spread: float | None = None
    paper_spread: float | None = None
    at_limit: bool = False

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    @property
    def factor(self) -> float | None:
        """The paper's divided by ours: for times, how many times faster."""
        return None if not self.ours or self.paper is None else self.paper / self.ours


@dataclass(frozen=True)
class Column:
    """What a column of numbers holds, and how it is written.

    Attributes
    ----------
    name : str
    unit : str
        "%" or "s".
    decimals : int
    """

    name: str
    unit: str
    decimals: int = 2


@dataclass(frozen=True)
class Row:
    """A line of a table: what it is about, and one number per column."""

    label: str
    cells: Sequence[Measured]


@dataclass(frozen=True)
class Table:
    """Rows and columns of numbers.

    Attributes
    ----------
    title : str
    label : str
        The heading of the first column.
    columns : sequence of Column
    rows : sequence of Row
    """

    title: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Row]

    @property
    def beside(self) -> list[bool]:
        """Tell for each column whether any number stands beside one of the paper."""
        n = len(self.columns)
        return [any(row.cells[k].paper is not None for row in self.rows) for k in range(n)]

    @property
    def any_at_limit(self) -> bool:
        """Whether any training stopped at its largest number of passes."""
        return any(cell.at_limit for row in self.rows for cell in row.cells)


@dataclass(frozen=True)
class Picture:
    """A figure as the bytes of a PNG file."""

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class Choice:
    """A parameter that the paper leaves open, as it was chosen on training data.

    Attributes
    ----------
    method : str
    scaling : str
        How the features are scaled.
    C : float
    accuracy : float
        Percent, on the rows that were held out for choosing.
    at_edge : bool
        Whether no larger, or no smaller, C was tried.
    tried : str
        All scalings and values of C.
    """

    method: str
    scaling: str
    C: float
    accuracy: float
    at_edge: bool
    tried: str


@dataclass(frozen=True)
class Claim:
    """A statement, what was measured, and whether the one bears out the other.

    Attributes
    ----------
    text : str
    measured : str
    holds : bool
    reason : str
        Why it does not hold; shown only then.
    """

    text: str
    measured: str
    holds: bool
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """Everything that one experiment gives.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
    notes : sequence of str
        What was done, in short paragraphs.
    tables : sequence of Table
    pictures : sequence of Picture
    choices : sequence of Choice
    orderings : sequence of Claim
        What the paper says of its own numbers.
    claims : sequence of Claim
        What a reproduction should show.
    """

    name: str
    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    choices: Sequence[Choice] = ()
    orderings: Sequence[Claim] = field(default=())
    claims: Sequence[Claim] = field(default=())
