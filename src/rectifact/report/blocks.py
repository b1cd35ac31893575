"""What a report is made of, before it becomes a page: sections of facts, findings, tables, charts and images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rectifact.core.findings import SEVERITIES


@dataclass(frozen=True)
class Facts:
    """Key figures of a section; each item is a name, a value, and what it means."""

    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Findings:
    """What may be wrong, and what to do about it; each item is a severity, a finding, its detail and a remedy."""

    items: Sequence[tuple[str, str, str, str]]

    def __post_init__(self) -> None:
        if unknown := {severity for severity, *_ in self.items} - set(SEVERITIES):
            raise ValueError(f"Severity must be one of {SEVERITIES}; got {sorted(unknown)}.")


@dataclass(frozen=True)
class Column:
    """A column of a table; ``form`` says how its cells are shown."""

    name: str
    form: Literal["text", "integer", "number", "share"] = "text"
    help: str = ""


@dataclass(frozen=True)
class Table:
    """Rows to sort, search and page through; ``left_out`` more rows are not in the page."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Chart:
    """A plotly figure as plain ``data`` and ``layout``, and what it shows in words; ``tall`` ones get more space."""

    title: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    words: str
    tall: bool = False


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


Block = Facts | Findings | Table | Chart | Matrices | Images


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph in plain words, and blocks."""

    title: str
    words: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """The report of one model: what it is about, and its sections."""

    title: str
    words: str
    sections: Sequence[Section]
