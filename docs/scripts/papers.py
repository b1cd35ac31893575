"""Write one page of the documentation for each paper, from its list of items and the stored result.

Run it from the root of the repository after ``rectifact bench paper NAME -o docs/benchmarks/papers/NAME.json``.
"""

from pathlib import Path

from rectifact.bench.papers import PAPERS, Item, Paper, paper
from rectifact.bench.papers.drawing import panels
from rectifact.bench.results import columns_of, read_result, short
from rectifact.report.svg import save_charts

DOCS = Path(__file__).parents[1]
SHORTEST, LONGEST = 3, 60
"""Rows of a curve that a page shows for each line, and rows of a table."""


def page(of: Paper, docs: Path = DOCS) -> str:
    """The page of one paper."""
    stored = docs / "benchmarks" / "papers" / f"{of.name}.json"
    result = read_result(stored) if stored.exists() else {"environment": {}, "tables": {of.name: {}}}
    tables = result["tables"][of.name]
    title = of.title
    lines = [
        f".. Written by docs/scripts/papers.py from benchmarks/papers/{of.name}.json; change those instead.",
        "",
        title,
        "=" * len(title),
        "",
        f"{of.reference}.",
        "",
        *_when(of, result["environment"]),
        "Item by item",
        "------------",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 14 36 26 24",
        "",
        *_row(["item", "what it says", "in the code", "measured by"]),
    ]
    for item in of.items:
        lines += _row([item.name, item.about, _code(item), _measured(of, item)])
    remarks = [item for item in of.items if item.reason]
    if remarks:
        lines += ["", "Remarks", "-------", ""]
        lines += [f"{item.name}\n   {item.reason}" for item in remarks]
    for name, rows in tables.items():
        lines += ["", *_experiment(of, name, rows, docs)]
    return "\n".join(lines).rstrip() + "\n"


def _when(of: Paper, around: dict) -> list[str]:
    command = f"``rectifact bench paper {of.name}``"
    if not around:
        return [f"{command} measures what the table names; no result is stored yet.", ""]
    date, cpu = around["date"][:10], around["cpu"]
    return [f"{command} measures what the table names. The figures below were measured on {date} on an {cpu}.", ""]


def _row(cells: list[str]) -> list[str]:
    return [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]


def _code(item: Item) -> str:
    return ", ".join(f"``{name.removeprefix('rectifact.')}``" for name in item.code) or "–"


def _measured(of: Paper, item: Item) -> str:
    return "see the remarks" if item.experiment is None else f"``{_option(item.experiment)}``"


def _option(experiment: str) -> str:
    """How the command line names an experiment."""
    kind, _, number = experiment.partition(" ")
    return f"--{kind} {number}" if kind in ("table", "figure") else f'--item "{experiment}"'


def _experiment(of: Paper, name: str, rows: list[dict], docs: Path) -> list[str]:
    title = name[0].upper() + name[1:]
    lines = [title, "-" * len(title), "", f"``rectifact bench paper {of.name} {_option(name)}``", ""]
    picture = f"images/papers/{of.name}-{name.replace(' ', '-')}.svg"
    if (docs / picture).exists():
        lines += [f".. image:: ../{picture}", f"   :alt: {title}, measured", ""]
    curves = of.experiments[name].curves
    shown = _ends(rows, curves.panel, curves.line) if curves is not None else rows
    columns = columns_of(shown)
    lines += [".. csv-table::", "   :header-rows: 1", ""]
    lines += [f"   {_csv(columns)}", *(f"   {_csv([short(row.get(c)) for c in columns])}" for row in shown[:LONGEST])]
    if curves is not None:
        lines += ["", "The beginning, the middle and the end of each curve; the stored result has all of it."]
    return lines


def _ends(rows: list[dict], *by: str) -> list[dict]:
    """The first, the middle and the last row of each curve."""
    curves: dict[tuple, list[dict]] = {}
    for row in rows:
        curves.setdefault(tuple(row.get(name) for name in by), []).append(row)
    return [
        own[place]
        for own in curves.values()
        for place in (sorted({0, len(own) // 2, len(own) - 1}) if len(own) > SHORTEST else range(len(own)))
    ]


def _csv(cells: list[str]) -> str:
    return ", ".join('"' + str(cell).replace('"', '""').replace("|", r"\|") + '"' for cell in cells)


def draw(of: Paper, docs: Path = DOCS) -> None:
    """Draw the figures of the stored result."""
    stored = docs / "benchmarks" / "papers" / f"{of.name}.json"
    for name, rows in read_result(stored)["tables"][of.name].items() if stored.exists() else ():
        curves = of.experiments[name].curves
        if curves is not None:
            path = docs / "images" / "papers" / f"{of.name}-{name.replace(' ', '-')}.svg"
            save_charts(panels(name[0].upper() + name[1:], rows, curves), path)


def main() -> None:
    """Draw all figures and write all pages."""
    for name in PAPERS:
        draw(paper(name))
        (DOCS / "papers" / f"{name}.rst").write_text(page(paper(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
