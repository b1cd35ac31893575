"""A report as one page: everything inside, nothing fetched, every text of the data escaped."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable
from rectifact.report.blocks import Report

__all__ = ["check_report_possible", "render", "write_report"]

PAGE_ROWS = 25
LONGEST_TEXT = 600
"""Letters of a text that are kept in the page."""


def write_report(reports: Report | Sequence[Report], path: str | Path, *, title: str = "rectifact report") -> None:
    """Write one or several reports as one HTML file, whole or not at all."""
    check_writable(Path(path))
    page = render([reports] if isinstance(reports, Report) else list(reports), title)
    with atomic_path(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def check_report_possible(path: Path) -> None:
    """Refuse, before any work, a report that could not be written afterwards."""
    check_writable(path)
    if path.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"{str(path)!r} should end in .html. Rename it.")
    try:
        _plotting_script()
    except ImportError as error:
        raise InputError(str(error)) from error


def render(reports: Sequence[Report], title: str) -> str:
    """The page as text."""
    script = _plotting_script()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from rectifact import __version__

    environment = Environment(
        loader=PackageLoader("rectifact.report", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"cell": _cell, "shade": _shade}
    folder = files("rectifact.report") / "page"
    return environment.get_template("report.html").render(
        title=_clean(title),
        reports=[_clean(asdict(report)) for report in reports],
        page_rows=PAGE_ROWS,
        style=(folder / "report.css").read_text(encoding="utf-8"),
        script=(folder / "report.js").read_text(encoding="utf-8"),
        plotly=script,
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
    )


def _plotting_script() -> str:
    try:
        import jinja2  # noqa: F401
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("Reports need jinja2 and plotly. Install them: pip install 'rectifact[report]'.") from error
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def _clean(value: Any) -> Any:
    """The same tree as a page can hold it.

    Long texts are cut, such that one name cannot fill the page (images stay), halves of surrogate pairs, which UTF-8
    cannot hold, are replaced, and numbers that JSON has not are None.
    """
    if isinstance(value, dict):
        return {key: _clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, str) and not value.startswith("data:image/png;base64,"):
        cut = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…"
        return cut.encode("utf-8", "replace").decode("utf-8")
    return value


def _cell(value: Any, form: str) -> str:
    """A table cell for people; the script does the same when it turns pages."""
    if value is None or value != value:
        return "–"
    if form == "share":
        return f"{100 * value:.1f} %" if not 0.9995 <= value < 1 else "> 99.9 %"
    if form == "number":
        return f"{value:.4g}"
    return str(value)


def _shade(share: float) -> str:
    """Background of a cell that holds a share: how much of the accent colour, at most what text can be read on."""
    return f"{60 * min(max(share, 0.0), 1.0):.0f}%"
