"""A report as one HTML page: self-contained, nothing is fetched, every text from the data is escaped."""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import UTC, datetime
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable
from rectifact.report.blocks import Report
from rectifact.report.names import count, middle_cut
from rectifact.report.scales import written
from rectifact.report.svg import NARROW, Chart, style_sheet

PAGE_ROWS = 25
LONGEST_TEXT = 600
"""Characters of a text that are kept in the page."""

OPTION = re.compile(r"(?<!\S)(-{1,2}[a-z][a-z-]*)")
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
    filters = {"cell": _cell, "count": count, "shade": _shade, "long": _long, "written": _figure, "options": _options}
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
        return {"kind": "chart", "title": _clean(value.title), "words": _clean(value.words)} | drawn
    if isinstance(value, Report):
        return {"kind": "report", "warnings": _clean(value.warnings())} | _clean(vars(value))
    if is_dataclass(value):
        return {"kind": type(value).__name__.lower()} | _clean(vars(value))
    if isinstance(value, dict):
        return {key: _clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, str) and not value.startswith("data:image/png;base64,"):
        cut = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT].rsplit(" ", 1)[0] + " …"
        return cut.encode("utf-8", "replace").decode("utf-8")
    return value


def _cell(value: Any, form: str) -> str:
    """Text of a table cell; the script does the same when a page is turned."""
    if value is None:
        return "–"
    if form == "share":
        return f"{value:.1%}" if not 0.9995 <= value < 1 else "> 99.9%"
    return f"{value:.4g}" if form == "number" else str(value)


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


def _figure(value: float, share: bool) -> str:
    if share:
        return f"{100 * value:.2g}%" if abs(value) < 0.0995 else f"{100 * value:.0f}%"
    return written(float(f"{value:.3g}"))
