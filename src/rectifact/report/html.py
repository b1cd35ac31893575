"""A report as one HTML page: self-contained, nothing is fetched, every text from the data is escaped."""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import UTC, datetime
from importlib.resources import files
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError, shortened
from rectifact.io.files import atomic_path, check_writable
from rectifact.report.blocks import Findings, Report, Table
from rectifact.report.names import count, isolated, middle_cut
from rectifact.report.scales import written
from rectifact.report.svg import NARROW, Chart, style_sheet

PAGE_ROWS = 25

RIGHT_TO_LEFT = re.compile(r"{0}+(?:[ _\-./'’\d]+{0}+)*".format(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"))
"""Words in Hebrew, Arabic and their kin."""

LONGEST_TEXT = 600
"""Characters of a text that are kept in the page."""

OWN_SENTENCES = ("words", "note")
"""Fields of blocks that hold our own sentences, which are not cut."""

MOST_DECIMALS, SHORT_TEXT = 3, 20
"""Decimals of a column of numbers; letters of the cells of a column that are not broken into lines."""

OPTION = re.compile(r"(?<![^\s(])(-{1,2}[a-z][a-z-]*)")
"""An option of the command line inside a sentence."""

MOST_WARNINGS = 6
"""Warnings on the first screen."""


def write_page(reports: Report | Sequence[Report], path: str | Path, *, title: str = "rectifact report") -> None:
    """Write one or several reports as one HTML file; a failed write leaves nothing behind.

    Parameters
    ----------
    reports : Report or sequence of Report
    path : str or Path
    title : str, default "rectifact report"
        Heading and title of the page.
    """
    check_writable(Path(path))
    page = render([reports] if isinstance(reports, Report) else list(reports), title)
    with atomic_path(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def check_report_possible(path: Path) -> None:
    """Refuse, before any work is done, a report that could not be written."""
    check_writable(path)
    if path.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"{str(path)!r} should end in .html.", "Rename it.")


def render(reports: Sequence[Report], title: str) -> str:
    """The page as text.

    Parameters
    ----------
    reports : sequence of Report
    title : str

    Returns
    -------
    str
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from rectifact import __version__

    environment = Environment(
        loader=PackageLoader("rectifact.report", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    filters = {"cell": _cell, "count": count, "shade": _shade, "long": _long, "figure": _figure, "options": _options}
    environment.filters |= filters | {"middle": middle_cut}
    folder = files("rectifact.report") / "page"
    return environment.get_template("report.html").render(
        title=_clean(title),
        reports=_clean(reports),
        page_rows=PAGE_ROWS,
        most_warnings=MOST_WARNINGS,
        style=style_sheet() + (folder / "report.css").read_text(encoding="utf-8"),
        script=(folder / "report.js").read_text(encoding="utf-8"),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
    )


def _clean(value: Any) -> Any:
    """Reports and blocks as dicts and lists that the template and JSON can hold.

    Long texts are cut, so that one name cannot fill the page; images are kept whole. Lone surrogates, which UTF-8
    cannot encode, are replaced, and numbers that are not finite become None.
    """
    if isinstance(value, Chart):
        from markupsafe import Markup

        drawn = {"wide": Markup(value.svg()), "narrow": Markup(value.svg(NARROW))}  # noqa: S704, svg() escapes names
        return {"kind": "chart", "title": _clean(value.title), "words": _own(value.words)} | drawn
    if isinstance(value, Report):
        main = [_own(sentence) for sentence in value.main]
        warnings = [(place, _finding(item)) for place, item in value.warnings()]
        return {"kind": "report", "warnings": warnings} | _fields(value) | {"main": main}
    if isinstance(value, Table):
        table = _fields(value)
        columns = [_column(one, [row[i] for row in table["rows"]]) for i, one in enumerate(table["columns"])]
        return {"kind": "table"} | table | {"columns": columns}
    if isinstance(value, Findings):
        return {"kind": "findings", "items": [_finding(item) for item in value.items]}
    if is_dataclass(value):
        return {"kind": type(value).__name__.lower()} | _fields(value)
    if isinstance(value, dict):
        return {key: _clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, str) and not value.startswith("data:image/png;base64,"):
        return _text(value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT].rsplit(" ", 1)[0] + " …")
    return value


def _fields(block: Any) -> dict[str, Any]:
    """The fields of a block, of which some hold our own sentences."""
    return {name: (_own if name in OWN_SENTENCES else _clean)(part) for name, part in vars(block).items()}


def _finding(item: Sequence[str]) -> list[str]:
    """The severity, the finding, its detail and its remedy."""
    return [_own(part) for part in item]


def _own(sentences: str) -> str:
    """Sentences of our own: only the names in them are cut, as nobody can do with half of a sentence."""
    return _text(shortened(sentences))


def _text(value: str) -> str:
    """A text that UTF-8 can encode, in which names that are written from right to left do not move what follows."""
    apart = RIGHT_TO_LEFT.sub(lambda found: isolated(found[0]), value)
    return apart.encode("utf-8", "replace").decode("utf-8")


def _column(column: dict[str, Any], values: Sequence[Any]) -> dict[str, Any]:
    """A column with the classes of its cells, and the decimals of its numbers."""
    short = column["form"] == "text" and all(len(str(value)) <= SHORT_TEXT for value in values)
    known = [abs(value) for value in values if value is not None] if column["form"] == "number" else []
    return column | {"look": column["form"] + " short" * short, "decimals": _decimals(known)}


def _decimals(values: Sequence[float]) -> int:
    """Decimals that show all values to four digits, as far as the largest has them, and at most three."""
    largest = max(values, default=0.0)
    most = min(max(3 - floor(log10(largest)), 0), MOST_DECIMALS) if largest else 0
    rounded = [
        float(f"{value:.4g}") for value in values if value >= 10.0 ** (1 - most)
    ]  # others have digits of their own
    return next((places for places in range(most) if all(round(one, places) == one for one in rounded)), most)


def _cell(value: Any, form: str, decimals: int = 0) -> str:
    """Text of a table cell; the script does the same when a page is turned."""
    if value is None:
        return "–"
    if form == "share":
        return _share(value)
    if form == "points":
        return f"{100 * value:+z.1f}"
    return _number(value, decimals) if form == "number" else str(value)


def _share(value: float) -> str:
    if 0.9995 <= value < 1:
        return "> 99.9%"
    return "< 0.1%" if 0 < value < 0.0005 else f"{value:.1%}"


def _number(value: float, decimals: int) -> str:
    """A number with the decimals of its column; one too small for them with two digits of its own."""
    if value == 0 or abs(value) >= 10.0 ** (1 - decimals):
        return f"{value + 0.0:.{decimals}f}"
    return f"{value:.2g}".replace("e-0", "e-")


def _shade(share: float) -> str:
    """Share of the accent colour behind a cell, low enough for its text to be readable."""
    return f"{60 * min(max(share, 0.0), 1.0):.0f}%"


def _options(text: str) -> Any:
    """Text in which options of the command line are shown as code, and never broken at their hyphens."""
    from markupsafe import Markup, escape

    parts = OPTION.split(text)
    marked = [Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)]
    return Markup("").join(marked)


def _long(value: float, bars: Sequence[tuple[str, float]]) -> str:
    """Length of a bar as a share of the longest."""
    longest = max(abs(other) for _, other in bars) or 1.0
    return f"{abs(value) / longest:.3f}"


def _figure(value: float, bars: Sequence[tuple[str, float]], share: bool) -> str:
    """The value of a bar, with as many decimals as the longest of its card needs."""
    longest = max(abs(other) for _, other in bars) * (100 if share else 1)
    if not 1e-3 <= longest < 1e7:
        return written(float(f"{value:.3g}"), "share" if share else "number", 0.001 * share)
    whole = not share and all(float(other).is_integer() for _, other in bars)
    decimals = 0 if whole else max((1 if share else 2) - floor(log10(longest)), 0)
    return f"{value * (100 if share else 1) + 0.0:,.{decimals}f}".replace("-", "−") + "%" * share
