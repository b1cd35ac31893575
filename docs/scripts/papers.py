"""Write one page of the documentation for each paper, from its list of items and the stored result.

Run it from the root of the repository after ``rectifact bench paper NAME -o docs/benchmarks/papers/NAME.json``, which
replaces the items that it measures and keeps all others.
"""

from pathlib import Path

from rectifact.bench.papers import PAPERS, Item, Paper, paper
from rectifact.bench.papers.drawing import charts
from rectifact.bench.results import columns_of, read_result, short
from rectifact.report.svg import save_charts

DOCS = Path(__file__).parents[1]
SHORTEST, LONGEST = 3, 24
"""Rows of a curve that a page shows for each line, and rows of a table that is not folded."""


def page(of: Paper, docs: Path = DOCS) -> str:
    """The page of one paper."""
    result = _stored(of, docs)
    tables, runs = result["tables"].get(of.name, {}), result.get("runs", {}).get(of.name, {})
    lines = [
        f".. Written by docs/scripts/papers.py from benchmarks/papers/{of.name}.json; change those instead.",
        "",
        of.title,
        "=" * len(of.title),
        "",
        f"{of.reference}.",
        "",
        f"``rectifact bench paper {of.name}`` measures what the table names; ``--quick`` takes a minute or two.",
        "",
        *_missing(of, tables, runs),
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
        lines += _row([item.name, item.about, _code(item), _measured(item)])
    remarks = [item for item in of.items if item.reason and item.name.lower() not in tables]
    if remarks:
        lines += ["", "Remarks", "-------", ""]
        lines += [f"{item.name}\n   {item.reason}" for item in remarks]
    for name, rows in tables.items():
        lines += ["", *_experiment(of, name, rows, runs.get(name, result["environment"]), docs)]
    return "\n".join(lines).rstrip() + "\n"


def _stored(of: Paper, docs: Path) -> dict:
    path = docs / "benchmarks" / "papers" / f"{of.name}.json"
    return read_result(path) if path.exists() else {"environment": {}, "tables": {}}


def _missing(of: Paper, tables: dict, runs: dict) -> list[str]:
    """Which experiments have no stored result, or that of a quick run."""
    names = {
        "No result is stored of": [name for name in of.experiments if name not in tables],
        "Only a quick run is stored of": [name for name in tables if runs.get(name, {}).get("quick")],
    }
    found = [
        f"{words} {', '.join(f'``{_option(name)}``' for name in missing)}."
        for words, missing in names.items()
        if missing
    ]
    return [" ".join(found), ""] if found else []


def _row(cells: list[str]) -> list[str]:
    return [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]


def _code(item: Item) -> str:
    return ", ".join(f"``{name.removeprefix('rectifact.')}``" for name in item.code) or "–"


def _measured(item: Item) -> str:
    return "see the remarks" if item.experiment is None else f"``{_option(item.experiment)}``"


def _option(experiment: str) -> str:
    """How the command line names an experiment."""
    kind, _, number = experiment.partition(" ")
    return f"--{kind} {number}" if kind in ("table", "figure") else f'--item "{experiment}"'


def _experiment(of: Paper, name: str, rows: list[dict], run: dict, docs: Path) -> list[str]:
    title = name[0].upper() + name[1:]
    lines = [title, "-" * len(title), "", f"``rectifact bench paper {of.name} {_option(name)}``{_when(run)}", ""]
    lines += [text for item in of.items if item.reason and item.name.lower() == name for text in (item.reason, "")]
    for picture in (f"images/papers/{of.name}-{name.replace(' ', '-')}{end}" for end in (".svg", ".png")):
        if (docs / picture).exists():
            own = ["   :class: dark-light"] if picture.endswith(".svg") else []  # it has dark colours of its own
            lines += [f".. image:: ../{picture}", f"   :alt: {title}, measured", *own, ""]
    lines += _against(rows)
    curves = of.experiments[name].curves
    if curves is None:
        return lines + _folded(_table(rows), f"All {len(rows)} rows", len(rows) > LONGEST)
    shown = _ends(rows, curves.panel, curves.line)
    words = "The beginning, the middle and the end of each curve; the stored result has all of it."
    return lines + _folded(_table(shown), f"Figures: {words[0].lower()}{words[1:-1]}", True)


LOWER = {"error %": 0.01, "relative error": 0.0001}
HIGHER = {"accuracy": 0.0001, "nmi": 0.001, "purity": 0.001}
"""Scores that papers print, with their last digit, which they cut off: the lower, or the higher, the better."""


def _against(rows: list[dict]) -> list[str]:
    """How many scores are at least as good as those that are printed, and which are not."""
    count, behind = 0, []
    for row in rows:
        for score, digit in (LOWER | HIGHER).items():
            ours, printed = row.get(score), row.get(f"printed {score}")
            if ours is None or not isinstance(printed, float | int):
                continue
            count += 1
            worse = (ours - printed) * (1 if score in LOWER else -1)
            if worse > digit:
                behind.append(f"{row['data']}: {row['method']} ({score} {short(ours)}, printed {printed})")
    if not count:
        return []
    words = f"Of {count} printed scores, ours are as good or better in {count - len(behind)}"
    return [f"{words}, and behind in: {'; '.join(behind)}." if behind else f"{words}.", ""]


def _when(run: dict) -> str:
    """When and where an item was measured."""
    if not run:
        return ""
    took = f", in {_duration(run['seconds'])}" if "seconds" in run else ""
    beside = f" ({run['beside']})" if run.get("beside") else ""
    return (
        f", {'a quick run' if run.get('quick') else 'measured'} on {run['date'][:10]} on an {run['cpu']}{took}{beside}."
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _table(rows: list[dict]) -> list[str]:
    columns = columns_of(rows)
    body = (f"   {_csv([short(row.get(c)) for c in columns])}" for row in rows)
    return [".. csv-table::", "   :header-rows: 1", "", f"   {_csv(columns)}", *body]


def _folded(table: list[str], summary: str, fold: bool) -> list[str]:
    """A table, behind a line that opens it if it is long."""
    if not fold:
        return table
    opening, closing = (
        f".. raw:: html\n\n   {html}\n" for html in (f"<details><summary>{summary}</summary>", "</details>")
    )
    return [opening, *table, "", closing]


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
    for name, rows in _stored(of, docs)["tables"].get(of.name, {}).items():
        if of.experiments[name].has_picture:
            path = docs / "images" / "papers" / f"{of.name}-{name.replace(' ', '-')}.svg"
            save_charts(charts(name, rows, of.experiments[name]), path)


def main() -> None:
    """Draw all figures and write all pages."""
    for name in PAPERS:
        draw(paper(name))
        (DOCS / "papers" / f"{name}.rst").write_text(page(paper(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
