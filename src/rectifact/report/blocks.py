"""What a report is made of, before it is a page: sections of figures, findings, tables, charts and heat maps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Block", "Chart", "Column", "Facts", "Findings", "Images", "Matrices", "Report", "Section", "Table"]


@dataclass(frozen=True)
class Facts:
    """Figures at the head of a section: name, value, and what it means."""

    items: Sequence[tuple[str, str, str]]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True)
class Findings:
    """What may be wrong, with a remedy; ``severity`` is error, warning or note."""

    items: Sequence[tuple[str, str, str, str]]
    kind: str = field(default="findings", init=False)


@dataclass(frozen=True)
class Column:
    """A column of a table; ``form`` says how its cells are shown."""

    name: str
    form: Literal["text", "integer", "number", "share"] = "text"
    help: str = ""


@dataclass(frozen=True)
class Table:
    """Rows that can be sorted, searched and paged; ``left_out`` rows of the data are not here."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    left_out: int = 0
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Chart:
    """A plotly figure as a plain dict of ``data`` and ``layout``, and what a person sees in it in words."""

    title: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    words: str
    kind: str = field(default="chart", init=False)


@dataclass(frozen=True)
class Matrices:
    """Small matrices of shares as coloured tables, each with a name and a caption.

    ``rows`` and ``columns`` name what the two sides are.
    """

    title: str
    rows: str
    columns: str
    names: Sequence[str]
    items: Sequence[tuple[str, str, Sequence[Sequence[float]]]]
    note: str = ""
    left_out: int = 0
    kind: str = field(default="matrices", init=False)


@dataclass(frozen=True)
class Images:
    """Grey images: captions, and the images themselves as data addresses."""

    title: str
    items: Sequence[tuple[str, str]]
    note: str = ""
    kind: str = field(default="images", init=False)


Block = Facts | Findings | Table | Chart | Matrices | Images


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph in plain words, and blocks."""

    title: str
    words: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """One model's report: what it is about, and its sections."""

    title: str
    words: str
    sections: Sequence[Section]
