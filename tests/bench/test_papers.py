"""The papers' items: each has an experiment or a reason, and what they name exists."""

from importlib import import_module
from typing import Any

import pytest

from rectifact.bench.papers import PAPERS, Item, paper

ITEMS = [(name, item) for name in PAPERS for item in paper(name).items]
SMALLEST = {
    "crowd": "figure 1",
    "and": "lemma 3",
    "purification": "lemmas",
    "nmd": "table 4.2",
    "symnmf-net": "proposition 1",
}


@pytest.mark.parametrize(("name", "item"), ITEMS, ids=[f"{name}, {item.name}" for name, item in ITEMS])
def test_every_item_has_an_experiment_or_a_reason(name: str, item: Item) -> None:
    assert item.experiment is not None or item.reason
    assert item.experiment is None or item.experiment in paper(name).experiments
    for code in item.code:
        assert resolved(code) is not None
    assert item.code or item.reason


def resolved(dotted: str) -> Any:
    """What a dotted name stands for."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            found = getattr(found, part)
        return found
    raise AssertionError(dotted)


@pytest.mark.parametrize("name", PAPERS)
def test_tables_and_figures_are_items(name: str) -> None:
    """Every experiment belongs to an item, and every table and figure that is measured is named as in the paper."""
    of = paper(name)
    used = {item.experiment for item in of.items}
    assert used - {None} == set(of.experiments)
    named = {item.name.lower() for item in of.items}
    for experiment in of.experiments:
        assert experiment in named or not experiment.startswith(("table", "figure"))
    assert set(of.printed) <= set(of.experiments)


@pytest.mark.parametrize("name", PAPERS)
def test_the_smallest_experiment_runs(name: str) -> None:
    quick = paper(name).experiments[SMALLEST[name]].measure(True)
    assert quick == [] or all(isinstance(row, dict) and row for row in quick)  # empty where the data is missing
