"""Stored results of a paper, to which items that are measured later are added one by one.

Beside what every result has, ``runs`` tells for each item when and where it was measured, whether the run was a quick
one, and how many seconds it took.
"""

from pathlib import Path
from typing import Any

from rectifact.bench.papers import paper
from rectifact.bench.results import read_result


def kept(path: Path) -> dict[str, Any]:
    """The result in a JSON file, to which items are added; an empty one if there is no file, or it is markdown."""
    if path.suffix.lower() == ".json" and path.exists():
        return read_result(path)
    return {"environment": {}, "tables": {}}


def with_items(
    result: dict[str, Any], name: str, tables: dict[str, Any], runs: dict[str, Any], around: dict[str, Any]
) -> dict[str, Any]:
    """A result in which the items of ``tables`` are new, and all others stay, in the order of the paper.

    Examples
    --------
    >>> old = {"environment": {}, "tables": {"nmd": {"table 4.1": [{"sigma": 1}], "section 6": [{"rmse": 2}]}}}
    >>> new = with_items(old, "nmd", {"table 4.1": [{"sigma": 3}]}, {"table 4.1": {"quick": True}}, {"cpus": 2})
    >>> new["tables"]
    {'nmd': {'table 4.1': [{'sigma': 3}], 'section 6': [{'rmse': 2}]}}
    >>> new["runs"]
    {'nmd': {'table 4.1': {'quick': True}}}
    """
    everything = result["tables"].get(name, {}) | tables
    ordered = {title: everything[title] for title in paper(name).experiments if title in everything}
    ran = result.get("runs", {})
    return {
        "environment": around,
        "tables": result["tables"] | {name: ordered},
        "runs": ran | {name: ran.get(name, {}) | runs},
    }
