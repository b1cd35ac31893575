"""rectifact cluster --graph with tables of two kinds of nodes, with totals, and with other columns beside the edges."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from rectifact.io.two_modes import sum_node

KINDS = np.repeat([0, 1, 2], 5)
NAMES = [f"N{i}" for i in range(15)]


def flows(seed: int = 0, directed: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 6, (15, 15)) + 30 * (KINDS[:, None] == KINDS)
    weights = np.triu(weights, 1) + (np.tril(weights, -1) if directed else np.triu(weights, 1).T)
    return pd.DataFrame(weights, NAMES, NAMES)


def with_total(table: pd.DataFrame, rows: bool = True, columns: bool = True, name: str = "Welt") -> pd.DataFrame:
    table = table.assign(**{name: table.sum(axis=1)}) if columns else table
    return pd.concat([table, table.sum().to_frame(name).T]) if rows else table


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("own", [0, 7])
def test_totals_of_a_matrix_are_no_node(directed, rows, columns, own, run, tmp_path):
    table = flows(directed=directed) + own * np.eye(15, dtype=int)
    with_total(table, rows, columns).to_csv(tmp_path / "m.csv")
    said = run("cluster", "--graph", tmp_path / "m.csv", "-o", tmp_path / "c.csv").err
    assert ("'Welt' is left out" in said) or ("'Welt' is left out, as it is the sum of the others" in said)
    found = pd.read_csv(tmp_path / "c.csv")
    assert found["node"].tolist() == NAMES
    assert found["cluster"].nunique() == 3


@pytest.mark.parametrize("directed", [False, True])
def test_totals_of_a_list_of_edges_are_no_node(directed, run, tmp_path):
    table = flows(directed=directed)
    edges = [(a, b, table.loc[a, b]) for a in NAMES for b in NAMES if (a != b if directed else a < b)]
    edges += [(a, "Sum", table.loc[a].sum()) for a in NAMES]
    pd.DataFrame(edges, columns=["source", "target", "weight"]).to_csv(tmp_path / "e.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "e.csv", "-o", tmp_path / "c.csv").err
    assert "'Sum' is left out: its weight to each other node is the sum" in said
    assert sorted(pd.read_csv(tmp_path / "c.csv")["node"]) == sorted(NAMES)


def test_hubs_are_no_totals():
    graphs = [
        nx.star_graph(9),
        nx.wheel_graph(9),
        nx.windmill_graph(6, 3),
        nx.complete_graph(8),
        nx.karate_club_graph(),
    ]
    for graph in graphs:
        assert sum_node(nx.to_scipy_sparse_array(graph)) is None
    for seed in range(50):
        half = np.triu(np.random.default_rng(seed).integers(0, 4, (8, 8)), 1)
        assert sum_node(half + half.T) is None


@pytest.mark.parametrize("total", [False, True])
def test_a_table_of_two_kinds_of_nodes_is_a_graph(total, run, tmp_path):
    women, events, matrix = nx.davis_southern_women_graph(), [f"E{i}" for i in range(1, 15)], tmp_path / "davis.csv"
    names = [name for name in women if name not in events]
    table = nx.to_pandas_adjacency(women, dtype=int).loc[names, events]
    (with_total(table) if total else table).to_csv(matrix)
    edges = pd.DataFrame([(a, b) for a, b in women.edges()], columns=["woman", "event"])
    edges.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", matrix, "-k", 2, "-o", tmp_path / "c.csv").err
    assert "Read as a table of two kinds of nodes, 18 in rows and 14 in columns, which are clustered together" in said
    assert ("the column 'Welt' and the row 'Welt' are left out, as they are the sum of the others" in said) == total
    run("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "d.csv")
    one, other = (pd.read_csv(tmp_path / name).set_index("node")["cluster"] for name in ("c.csv", "d.csv"))
    assert one.sort_index().equals(other.sort_index())
    if not total:
        said = run("cluster", matrix, "-k", 2, "-o", tmp_path / "c.csv").err
        assert "for rows and columns as two kinds of nodes: --graph " in said
        assert "E14" not in run("cluster", "--graph", matrix, "--drop", "E14", "-k", 2).out


def test_measurements_are_no_kinds_of_nodes(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(50, 9, (20, 4)).round(2), [f"plant {i}" for i in range(20)], ["a", "b", "c", "d"])
    table.to_csv(tmp_path / "p.csv")
    assert "for points, leave out --graph" in run("cluster", "--graph", tmp_path / "p.csv", expect=2).err
    assert "two kinds" not in run("cluster", tmp_path / "p.csv", "-k", 2).err


@pytest.mark.parametrize("shared", [True, False])
def test_columns_beside_named_weights_and_two_of_text_are_not_used(shared, run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (year, a, b if shared else f"to {b}", rng.integers(1, 50))
        for year in (2015, 2016)
        for a in NAMES
        for b in NAMES
    ]
    pd.DataFrame(rows, columns=["year", "exporter", "importer", "value"]).to_csv(tmp_path / "p.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "p.csv", "--weight", "value", "-k", 2, "-o", tmp_path / "c.csv").err
    assert "Edges read from the columns 'exporter' and 'importer', weights from 'value'" in said
    assert "not used: 'year'" in said


def test_names_with_a_row_each_beside_few_others_are_no_network(run, tmp_path):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"customer": [f"C{i}" for i in range(90)], "city": np.array(["Bonn", "Köln", "Ulm"])[np.arange(90) % 3]}
    )
    table["spend"] = rng.lognormal(3, 1, 90).round(2)
    table.to_csv(tmp_path / "c.csv", index=False)
    table[["city", "customer", "spend"]].to_csv(tmp_path / "turned.csv", index=False)
    for name in ("c.csv", "turned.csv"):
        said = run("cluster", tmp_path / name, "-o", tmp_path / "o.csv", expect=2).err
        assert "each 'customer' has a row of its own, with one of 3 values of 'city'" in " ".join(said.split())
        assert "use --drop city;" in " ".join(said.split())
    assert "90 rows by 1 column" in run("cluster", tmp_path / "c.csv", "--drop", "city", "-o", tmp_path / "o.csv").err
    said = run("cluster", "--graph", tmp_path / "c.csv", "-o", tmp_path / "o.csv").err  # stars, none of them divided
    assert "3 clusters (a number chosen from the data) of 31, 31, 31;" in said
    assert "without nodes" not in said
    table["customer"] = table["customer"].str[-1:] + "x"  # they come again
    table.to_csv(tmp_path / "again.csv", index=False)
    assert "two kinds of nodes" in run("cluster", tmp_path / "again.csv", "-o", tmp_path / "o.csv").err
