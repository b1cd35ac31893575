"""The papers' items: each has an experiment or a reason, and what they name exists."""

from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from rectifact.bench.papers import PAPERS, Item, paper
from rectifact.bench.papers.drawing import charts
from rectifact.bench.results import save_result

pytest.importorskip("torch", reason="the experiments of SymNMF-Net and of crowd layers need torch")

NUMBERED = {
    "crowd": {"Equation": 16, "Table": 5, "Figure": 1, "Theorem": 3},
    "and": {"Definition": 4, "Figure": 2},
    "purification": {"Equation": 7},
    "nmd": {"Equation 2.": 10, "Equation 3.": 2, "Equation 4.": 14, "Equation 5.": 3}
    | {"Figure 2.": 3, "Figure 4.": 2, "Figure 5.": 3, "Table 4.": 2},
    "symnmf-net": {"Equation": 7, "Table": 4, "Figure 4.": 5},
}
"""How many items of a kind the papers number; theorems and lemmas of two of them share a sequence."""

SHARED = {
    "and": (
        "Proposition 1",
        "Theorem 1",
        "Lemma 2",
        "Lemma 3",
        "Theorem 4",
        "Theorem 5",
        "Algorithm 1",
        "Equation 5.1",
    ),
    "purification": (
        "Theorem 1",
        "Theorem 2",
        "Lemma 3",
        "Lemma 4",
        "Lemma 5",
        "Theorem 6",
        "Theorem 7",
        "Algorithm 1",
    ),
    "crowd": ("Proposition 1", "Definition 1", "Assumption 1", "Remark 1"),
    "symnmf-net": ("Theorem 1", "Proposition 1", "Definition 1", "Algorithm 1", "Figure 2.1"),
}
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


@pytest.mark.parametrize("name", PAPERS)
def test_no_number_of_the_paper_is_left_out(name: str) -> None:
    counted = {
        f"{kind}{number}" if kind.endswith(".") else f"{kind} {number}"
        for kind, last in NUMBERED[name].items()
        for number in range(1, last + 1)
    }
    listed = [item.name for item in paper(name).items]
    assert counted | set(SHARED.get(name, ())) <= set(listed)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_can_be_drawn(name: str) -> None:
    for title, experiment in paper(name).experiments.items():
        assert experiment.has_picture or not title.startswith("figure"), title


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
    experiment = paper(name).experiments[SMALLEST[name]]
    quick = experiment.measure(True)
    assert quick == [] or all(isinstance(row, dict) and row for row in quick)  # empty where the data is missing
    assert bool(charts(SMALLEST[name], quick, experiment)) == (experiment.has_picture and bool(quick))


def test_pictures_of_what_is_not_a_curve() -> None:
    nmd, net = paper("nmd").experiments, paper("symnmf-net").experiments
    shares = {f"rmse, {q} % quantile": q / 100 for q in (10, 50, 90)}
    images = charts(
        "figure 5.2", [{"data": "dots", "method": name, **shares} for name in ("NMD", "SVD")], nmd["figure 5.2"]
    )
    assert "dots, SVD 0.5" in images[0].words
    ranks = [{"zeros": zeros, "rank of X": 16.0, "rank of Theta": 8 - 10 * zeros} for zeros in (0.5, 0.8)]
    assert "rank of Theta: 3, 0" in charts("figure 2.1", ranks, nmd["figure 2.1"])[0].words
    blip = charts("figure 2.2", [{"n": 16, "rank of Theta": 3, "rank of X": 16}], nmd["figure 2.2"])
    assert [chart.words for chart in blip] == ["Rank 3.", "Rank 16."]
    factors = [{"data": "ORL", "method": method, "sparse factor": 0.2} for method in ("hals", "net")]
    assert charts("figure 4.3", factors, net["figure 4.3"])[0].words == "hals 0.2, net 0.2."
    curve = [{"data": "a", "method": "net", "iteration": i, "purity": 0.5, "nmi": 0.4} for i in range(3)]
    assert [chart.y.title for chart in charts("figure 4.4", curve, net["figure 4.4"])] == ["purity", "nmi"]


def test_pages_show_every_row_and_say_what_is_behind(tmp_path: Path) -> None:
    script = run_path(str(Path(__file__).parents[2] / "docs" / "scripts" / "papers.py"))
    rows = [{"data": f"set {i}", "method": "MV-EM", "error %": 9.0, "printed error %": 9.0} for i in range(69)]
    rows.append({"data": "set 69", "method": "KOS", "error %": 9.5, "printed error %": 9.0})
    run = {"date": "2026-01-31T12:00:00", "cpu": "Abacus", "quick": True, "seconds": 250.0}
    result = {"environment": {}, "tables": {"crowd": {"table 3": rows}}, "runs": {"crowd": {"table 3": run}}}
    folder = tmp_path / "benchmarks" / "papers"
    folder.mkdir(parents=True)
    save_result(result, folder / "crowd.json")
    page = script["page"](paper("crowd"), tmp_path)
    assert all(f'"set {i}", ' in page for i in range(70))
    assert "as good or better in 69, and behind in: set 69: KOS (error % 9.5, printed 9.0)." in page
    assert "a quick run on 2026-01-31 on an Abacus, in 4 min." in page
    assert "Only a quick run is stored of ``--table 3``." in page
    assert "No result is stored of ``--table 1``, ``--table 2``, ``--table 4``" in page
