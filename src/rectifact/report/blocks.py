"""What a report is made of, before it becomes a page: sections of facts, findings, tables, charts and images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rectifact.core.findings import SEVERITIES
from rectifact.report.svg import Chart as Chart


@dataclass(frozen=True)
class Facts:
    """Key figures of a section; each item is a name, a value, and what it means."""

    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Findings:
    """What may be wrong, and what to do about it; each item is a severity, a finding, its detail and a remedy.

    The most severe come first.
    """

    items: Sequence[tuple[str, str, str, str]]

    def __post_init__(self) -> None:
        if unknown := {severity for severity, *_ in self.items} - set(SEVERITIES):
            raise ValueError(f"Severity must be one of {SEVERITIES}; got {sorted(unknown)}.")
        object.__setattr__(self, "items", sorted(self.items, key=lambda item: SEVERITIES.index(item[0])))


@dataclass(frozen=True)
class Column:
    """A column of a table; ``form`` says how its cells are shown: ``points`` are differences of shares, times 100."""

    name: str
    form: Literal["text", "integer", "number", "share", "points"] = "text"
    help: str = ""


@dataclass(frozen=True)
class Table:
    """Rows to sort, search and page through; ``left_out`` more rows are not in the page.

    A table that is ``folded`` shows its rows when its title is clicked.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    left_out: int = 0
    folded: bool = False


@dataclass(frozen=True)
class Matrices:
    """Small matrices of shares as coloured tables; each item is a name, a caption and the shares.

    ``rows`` and ``columns`` say what the two sides are, and ``names`` are the classes on both.
    """

    title: str
    rows: str
    columns: str
    names: Sequence[str]
    items: Sequence[tuple[str, str, Sequence[Sequence[float]]]]
    note: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Images:
    """Grey images; each item is a caption and the image itself as a data address."""

    title: str
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Card:
    """One topic, community or dimension: figures in a line, names with bars as long as their values, and texts.

    ``texts`` are pairs of a name and a text; ``colour`` is its number on a chart, if it has one there. Values are
    percentages if they are ``shares``.
    """

    title: str
    caption: str
    bars: Sequence[tuple[str, float]]
    texts: Sequence[tuple[str, str]] = ()
    colour: int | None = None
    shares: bool = False


@dataclass(frozen=True)
class Cards:
    """Cards next to each other; ``left_out`` more are not in the page."""

    title: str
    items: Sequence[Card]
    note: str = ""
    left_out: int = 0


Block = Facts | Findings | Table | Chart | Matrices | Images | Cards


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph in plain words, and blocks."""

    title: str
    words: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """The report of one model.

    Parameters
    ----------
    title : str
    words : str
        What it is about.
    sections : sequence of Section
    main : sequence of str
        The sentences that matter most, for the first screen.
    steps : sequence of str
        What to do next.
    folded : bool, default False
        Whether it shows its title only, until that is clicked.
    """

    title: str
    words: str
    sections: Sequence[Section]
    main: Sequence[str] = ()
    steps: Sequence[str] = ()
    folded: bool = False

    def warnings(self) -> list[tuple[int, tuple[str, str, str, str]]]:
        """Problems and warnings of all sections, each with the number of its section, problems first."""
        found = [
            (number, item)
            for number, section in enumerate(self.sections, 1)
            for block in section.blocks
            if isinstance(block, Findings)
            for item in block.items
            if item[0] != "note"
        ]
        return sorted(found, key=lambda one: SEVERITIES.index(one[1][0]))
