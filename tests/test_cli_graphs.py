"""rectifact cluster on graphs as people have them: which column holds the weights, and what is said."""

import json
import warnings

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact import InputError, SymNMF
from rectifact.cli.cluster_outputs import say_elsewhere
from rectifact.core.errors import FitWarning
from rectifact.graph import louvain
from rectifact.graph.bridges import edge_shares
from rectifact.graph.edges import from_edges, read_graph
from rectifact.graph.spelling import without_case
from rectifact.io.several import find_lists
from rectifact.selection import select


def edges_of_cliques(n: int = 3, size: int = 6) -> pd.DataFrame:
    """Cliques in a ring, by names with commas in them."""
    pairs = [(f"n, {c}{i}", f"n, {c}{j}") for c in range(n) for i in range(size) for j in range(i)]
    pairs += [(f"n, {c}0", f"n, {(c + 1) % n}1") for c in range(n)]
    return pd.DataFrame(pairs, columns=["who", "whom"])


RNG = np.random.default_rng(0)
NO_WEIGHTS = {
    "year": RNG.integers(2019, 2025, 48),
    "ts": RNG.integers(1_600_000_000, 1_700_000_000, 48),
    "founded": RNG.integers(1950, 2025, 48),
    "when": RNG.integers(1_600_000_000_000, 1_700_000_000_000, 48),
    "edge_id": np.arange(1, 49),
    "row": np.arange(48),
}


@pytest.mark.parametrize("name", list(NO_WEIGHTS))
def test_years_times_and_numbers_of_rows_are_no_weights(run, tmp_path, name):
    table = edges_of_cliques().assign(**{name: NO_WEIGHTS[name]})
    table.to_csv(tmp_path / "edges.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv")
    said = run(*given).err
    assert f"no weights; not used: {name!r}; as weights: --triples who,whom,{name}." in said
    assert f"weights from {name!r}" in run(*given, "--triples", f"who,whom,{name}").err
    assert SymNMF(3).fit(table).degrees_.sum() == 2 * len(table)  # the same in Python


MAIL = """From,To,mails
ann@x.org,"bea@x.org; cid@x.org",1
bea@x.org,cid@x.org,2
cid@x.org,"ann@x.org; bea@x.org; dan@y.org",1
dan@y.org,eve@y.org,1
eve@y.org,"dan@y.org; fay@y.org;",3
fay@y.org,"eve@y.org; dan@y.org",1
"""


def test_recipients_in_one_cell_are_nodes_of_their_own(run, tmp_path):
    (tmp_path / "mail.csv").write_text(MAIL)
    given = ("cluster", "--graph", tmp_path / "mail.csv", "-k", 2, "-o", tmp_path / "c.csv")
    said = run(*given).err
    assert "4 cells with several nodes split at ';', which makes 11 edges of 6 rows" in said
    nodes = pd.read_csv(tmp_path / "c.csv").set_index("node")
    assert sorted(nodes.index) == [f"{name}.org" for name in ("ann@x", "bea@x", "cid@x", "dan@y", "eve@y", "fay@y")]
    assert nodes.groupby("cluster").size().tolist() == [3, 3]
    run(*given, "--split", "none")
    assert "eve@y.org; dan@y.org" in pd.read_csv(tmp_path / "c.csv")["node"].tolist()
    with pytest.warns(FitWarning, match="4 nodes may be a list of nodes each, such as 'bea@x.org; cid@x.org'"):
        read_graph(pd.read_csv(tmp_path / "mail.csv").rename(columns={"mails": "weight"}))


@pytest.mark.parametrize("mark", [";", ",", "|"])
def test_cells_that_may_be_lists_are_asked_about(run, tmp_path, mark):
    text = MAIL.replace("@x.org", "").replace("@y.org", "").replace(";", mark)
    (tmp_path / "mail.csv").write_text(text)
    given = ("cluster", "--graph", tmp_path / "mail.csv", "-k", 2, "-o", tmp_path / "c.csv")
    said = run(*given, expect=2).err
    assert f"look like lists of nodes, such as 'bea{mark} cid'" in said
    assert f"add --split '{mark}'; to keep each as one node, --split none." in said
    assert "split at" in run(*given, "--split", mark).err
    assert sorted(pd.read_csv(tmp_path / "c.csv")["node"]) == ["ann", "bea", "cid", "dan", "eve", "fay"]
    pd.DataFrame({"x": [0.5, 1.5], "y": [2.5, 3.5]}).to_csv(tmp_path / "points.csv", index=False)
    assert "--split is for edges" in run("cluster", tmp_path / "points.csv", "--split", mark, expect=2).err


def test_names_with_commas_are_no_lists(run, tmp_path):
    assert find_lists(["Lee, Ann", "Ray, Bea", "Ann", "Paris", "Paris, Texas"]) is None
    assert find_lists(["Lee, Ann <ann@x.org>, Bea <bea@x.org>"]).marks == ""
    assert find_lists(["a@x.org", "a@x.org; b@x.org, c@x.org"]).marks == ";,"


def test_communities_are_compared_with_those_of_louvain(run, tmp_path):
    edges_of_cliques().to_csv(tmp_path / "edges.csv", index=False)
    page = tmp_path / "page.html"
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", "--json", "--report", page)
    same = run(*given, "-k", 3)
    assert "Louvain's method finds the same 3 communities (modularity 0.604)." in same.err
    assert "finds the same 3 communities" in page.read_text()
    assert json.loads(same.out)["louvain"] == {"communities": 3, "modularity": pytest.approx(0.604167), "ari": 1}
    fewer = run(*given, "-k", 2).err
    assert fewer.count("Louvain's") == 1  # the finding has it
    assert "both agree with an adjusted Rand index of 0." in fewer


@pytest.mark.parametrize("name", ["mails", "weight", "km"])
def test_other_numbers_are_weights(run, tmp_path, name):
    table = edges_of_cliques().assign(**{name: RNG.integers(1, 2030, 48)})
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv").err
    assert f"weights from {name!r}" in said


def test_a_table_of_edges_and_more_is_told_how_to_be_read(run, tmp_path):
    table = edges_of_cliques().assign(mails=RNG.integers(1, 9, 48), day="2024-01-02")
    table.insert(0, "msg_id", np.arange(9000, 9048))
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "looks like edges between 'who' and 'whom'" in said
    assert "--triples who,whom,mails" in said
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "such as --triples who,whom, or --triples who,whom,mails if 'mails' says" in said
    run("cluster", "--graph", tmp_path / "edges.csv", "--triples", "who,whom,mails", "-o", tmp_path / "c.csv", "-k", 3)


def test_what_a_message_holds_is_not_suggested_first_as_a_weight(run, tmp_path):
    table = edges_of_cliques().assign(**{"Größe (Bytes)": RNG.integers(100, 9000, 48), "day": "2024-01-02"})
    table.insert(0, "msg_id", np.arange(9000, 9048))
    table.to_csv(tmp_path / "edges.csv", index=False)
    whole = "--triples 'who,whom,Größe (Bytes)'"
    for given in ((tmp_path / "edges.csv",), ("--graph", tmp_path / "edges.csv")):
        said = run("cluster", *given, "-o", tmp_path / "c.csv", expect=2).err
        assert f"--triples who,whom, or {whole} if 'Größe (Bytes)' says how strong a tie is" in " ".join(said.split())


@pytest.mark.parametrize("shared", [True, False])
def test_a_kind_of_edge_between_its_ends_is_no_node(run, tmp_path, shared):
    table = edges_of_cliques()
    table.insert(1, "relation", "needs" if not shared else np.resize(["needs", "likes"], 48))
    table["whom"] = table["whom"] if shared else "to " + table["whom"].astype(str)
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "has 3 columns" in said
    assert "such as --triples who,whom;" in said
    if not shared:  # what the wrong two columns give is named
        said = run("cluster", "--graph", tmp_path / "edges.csv", "--drop", "whom", "-o", tmp_path / "c.csv").err
        assert "all edges have 'needs' at one end: a star" in " ".join(said.split())


def test_hubs_of_clusters_that_are_not_found_again_are_not_told(run, tmp_path):
    graph = networkx.gnm_random_graph(120, 500, seed=3)
    pd.DataFrame(graph.edges, columns=["a", "b"]).to_csv(tmp_path / "edges.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 5, "-o", tmp_path / "c.csv")
    bare, judged = run(*given).err, run(*given, "--stability").err
    assert "Hubs, which" in bare
    assert "5 clusters that are not found again" in judged
    assert "Hubs, which" not in judged
    assert "more weight to another cluster" not in judged


def test_a_matrix_of_weights_that_is_not_square_is_called_so(run, tmp_path):
    table = pd.DataFrame(RNG.random((5, 4)).round(2))
    table.to_csv(tmp_path / "bare.csv", index=False, header=False)
    table.set_axis(list("abcde")).set_axis(list("abcd"), axis=1).to_csv(tmp_path / "named.csv")
    for name in ("bare.csv", "named.csv"):
        said = run("cluster", "--graph", tmp_path / name, "-o", tmp_path / "c.csv", expect=2).err
        assert "which has a column for each row, its 5 rows and 4 columns of numbers do not fit" in " ".join(
            said.split()
        )


def adjacency() -> pd.DataFrame:
    edges = edges_of_cliques()
    table = pd.crosstab(edges["who"], edges["whom"])
    names = sorted({*edges["who"], *edges["whom"]})
    table = table.reindex(index=names, columns=names, fill_value=0)
    return (table + table.T).rename_axis(index=None, columns=None)


def test_a_matrix_with_columns_in_another_order_is_aligned_by_name(run, tmp_path):
    table = adjacency()
    table.to_csv(tmp_path / "a.csv")
    table[RNG.permutation(table.columns)].to_csv(tmp_path / "b.csv")
    for name in "ab":
        run("cluster", "--graph", tmp_path / f"{name}.csv", "-k", 3, "-o", tmp_path / f"c{name}.csv")
    assert (tmp_path / "ca.csv").read_text() == (tmp_path / "cb.csv").read_text()
    assert "may be that of a graph" in run("cluster", tmp_path / "b.csv", "-o", tmp_path / "c.csv", expect=2).err


def test_empty_cells_of_a_matrix_are_no_edges(run, tmp_path):
    table = adjacency()
    table.to_csv(tmp_path / "a.csv")
    table.where(table > 0).to_csv(tmp_path / "b.csv")
    run("cluster", "--graph", tmp_path / "a.csv", "-k", 3, "-o", tmp_path / "ca.csv")
    said = run("cluster", "--graph", tmp_path / "b.csv", "-k", 3, "-o", tmp_path / "cb.csv").err
    assert f"{int((table == 0).sum().sum())} cells of the matrix are empty and count as 0, no edge." in said
    assert (tmp_path / "ca.csv").read_text() == (tmp_path / "cb.csv").read_text()


def mails():
    """A networkx graph whose weights are called otherwise, and the same with the usual name."""
    networkx = pytest.importorskip("networkx")
    edges = edges_of_cliques().assign(mails=np.arange(48) % 7 + 1)
    own, usual = (networkx.from_pandas_edgelist(edges, "who", "whom", "mails") for _ in range(2))
    for *_, data in usual.edges(data=True):
        data["weight"] = data.pop("mails")
    return own, usual


def test_an_attribute_of_another_name_holds_the_weights_if_you_say_so(run, tmp_path):
    networkx = pytest.importorskip("networkx")
    own, usual = mails()
    networkx.write_graphml(own, tmp_path / "own.graphml")
    networkx.write_graphml(usual, tmp_path / "usual.graphml")
    given = ("cluster", "-k", 3, "-o", tmp_path / "c.csv", "--graph")
    said = run(*given, tmp_path / "own.graphml").err
    assert "no weights ('mails' is not used; as weights: --weight mails)" in said
    assert "weights from 'mails'" in run(*given, tmp_path / "own.graphml", "--weight", "mails").err
    found = (tmp_path / "c.csv").read_text()
    run(*given, tmp_path / "usual.graphml")
    assert (tmp_path / "c.csv").read_text() == found
    said = run(*given, tmp_path / "own.graphml", "--weight", "nails", expect=2).err
    assert "Not all edges of" in said
    assert "they have 'mails'" in said
    edges_of_cliques().assign(year=2020, mails=3).to_csv(tmp_path / "e.csv", index=False)
    assert "weights from 'mails'" in run(*given, tmp_path / "e.csv", "--triples", "who,whom", "--weight", "mails").err


def test_networkx_with_weights_of_another_name():
    own, usual = mails()
    expected = SymNMF(3).fit(usual)
    assert SymNMF(3).fit(own, weight="mails").modularity_ == pytest.approx(expected.modularity_)
    assert "weight" not in next(iter(own.edges(data=True)))[2]  # the caller's graph is as it was
    with pytest.warns(UserWarning, match="Edges have the attribute 'mails', which is not used"):
        assert SymNMF(3).fit(own).degrees_.sum() == 2 * 48
    with pytest.raises(InputError, match="Not all edges of the graph have the attribute 'nails'; they have 'mails'"):
        SymNMF(3).fit(own, weight="nails")
    assert select(SymNMF(1), own, [3], random_state=0, weight="mails").estimator.modularity_ == pytest.approx(
        expected.modularity_
    )


def test_a_symmetric_frame_with_equal_names_is_questioned():
    table = adjacency()
    with pytest.warns(UserWarning, match="read as points. For the weights of a graph, use affinity='precomputed'"):
        SymNMF(3).fit(table)
    SymNMF(3, affinity="precomputed").fit(table)  # a warning would be an error


def test_spaces_around_names_are_removed_and_names_that_are_nearly_equal_are_pointed_out(run, tmp_path):
    edges = edges_of_cliques()
    edges["who"] = [f" {name}\u00a0" if i % 3 == 0 else name for i, name in enumerate(edges["who"])]
    edges.to_csv(tmp_path / "spaced.csv", index=False)
    given = ("cluster", "-k", 3, "-o", tmp_path / "c.csv", "--graph")
    said = run(*given, tmp_path / "spaced.csv").err
    assert "spaces around names removed in 16 cells" in said
    assert "differ only" not in said
    assert sorted(pd.read_csv(tmp_path / "c.csv")["node"]) == sorted({*edges_of_cliques().to_numpy().ravel()})
    edges.loc[0, "whom"] = edges.loc[0, "whom"].upper()
    edges.to_csv(tmp_path / "capitals.csv", index=False)
    said = run(*given, tmp_path / "capitals.csv").err
    assert "'N, 00' and 'n, 00' differ only in capitals or spaces" in said
    assert len(pd.read_csv(tmp_path / "c.csv")) == 19  # not merged
    with pytest.warns(FitWarning, match="differ only in capitals or spaces"):
        read_graph(edges)


@pytest.mark.parametrize("kind", ["gml", "graphml", "gexf", "json"])
def test_an_attribute_of_the_nodes_is_compared_with_the_clusters(run, tmp_path, kind):
    networkx = pytest.importorskip("networkx")
    graph = networkx.from_pandas_edgelist(edges_of_cliques(), "who", "whom")
    for node in graph:
        graph.nodes[node]["team"] = f"team {node[3]}"
    path = tmp_path / f"teams.{kind}"
    if kind == "json":
        path.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))
    else:
        getattr(networkx, f"write_{kind}")(graph, path)
    given = ("cluster", "--graph", path, "-k", 3, "-o", tmp_path / "c.csv", "--truth")
    said = run(*given, "team").err
    assert "Known groups from the attribute 'team': 18 of 18 nodes." in said
    assert "accuracy of 100%" in said
    assert "accuracy of 100%" in run(*given, f"{path}:team").err
    said = run(*given, "tema", expect=2).err
    assert "--truth 'tema' does not name an attribute of the nodes of" in said
    assert said.rstrip().endswith("Give one of team.")


def test_a_list_of_edges_has_no_groups_of_nodes(run, tmp_path):
    edges_of_cliques().to_csv(tmp_path / "edges.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv", "--truth", "who")
    assert "has edges, not groups of nodes. Give a table with one row per node" in run(*given, expect=2).err


def test_hubs_and_bridges_are_columns_and_a_line(run, tmp_path):
    edges = edges_of_cliques(2, 8)
    more = [("n, 00", f"n, 1{i}") for i in range(2, 6)] + [("n, 07", f"n, 0{i}") for i in (1, 2, 3, 4, 5, 6)]
    pd.concat([edges, pd.DataFrame(more, columns=edges.columns)]).to_csv(tmp_path / "e.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "e.csv", "-k", 2, "-o", tmp_path / "c.csv").err
    table = pd.read_csv(tmp_path / "c.csv", index_col="node")
    first = int(table["cluster"]["n, 07"])
    assert f"n, 07 (cluster {first})" in said
    assert f"Bridges, which clearly tie two clusters together: n, 00 ({first} and {3 - first})." in said
    assert table["hub_rank"]["n, 07"] == 1
    assert table["bridge_to"].dropna().to_dict() == {"n, 00": 3 - first}
    assert table["share_inside"]["n, 02"] == 1


def test_clusters_that_overlap_are_said_to(run, tmp_path):
    rng = np.random.default_rng(0)
    member = np.zeros((120, 3))
    member[np.arange(120), np.arange(120) % 3] = 1
    member[:36, :] = np.roll(member[:36], 1, axis=1) + member[:36]  # 36 of 120 nodes belong to two groups
    A = np.triu(rng.random((120, 120)) < np.where(member @ member.T > 0, 0.4, 0.01), 1)
    pd.DataFrame(np.argwhere(A), columns=["source", "target"]).to_csv(tmp_path / "e.csv", index=False)
    page = tmp_path / "page.html"
    said = run("cluster", "--graph", tmp_path / "e.csv", "-k", 3, "-o", tmp_path / "c.csv", "--report", page).err
    n = int(pd.read_csv(tmp_path / "c.csv")["bridge_to"].notna().sum())
    assert n >= 30
    assert f"{n} of 120 nodes are split between two clusters, so the clusters overlap" in said
    assert f"{n} nodes of 120 clearly lie between two clusters, so the clusters overlap." in page.read_text()


def test_the_node_of_most_weight_is_the_hub_where_it_has_less_in_any_other_cluster(run, tmp_path):
    """Valjean has the most weight in his cluster, 48.7 % of his own, and less in any other."""
    networkx = pytest.importorskip("networkx")
    networkx.write_gml(networkx.les_miserables_graph(), tmp_path / "g.gml")
    page = tmp_path / "page.html"
    given = ("cluster", "--graph", tmp_path / "g.gml", "-k", 6, "-o", tmp_path / "o.csv", "--report", page)
    said = run(*given, "--no-reassign").err
    valjean = pd.read_csv(tmp_path / "o.csv").set_index("node").loc["Valjean"]
    assert valjean["hub_rank"] == 1
    assert valjean["share_inside"] < 0.5
    assert "of the nodes that keep more of their weight there than in any other: Valjean (cluster 1)" in said
    text = page.read_text()
    assert "among the nodes that keep more of their weight there than in any other cluster" in text
    assert "<title>rectifact: clusters of g.gml</title>" in text
    assert "The hub of each cluster has a larger dot." in text
    assert "\u2068cluster 6\u2069</text>" in text  # the legend of the drawing
    assert ".0</" not in text.split("Hubs and members")[1].split("Members come")[0]  # whole weights


def test_columns_are_named_only_where_they_hold_something(run, tmp_path):
    edges_of_cliques().to_csv(tmp_path / "edges.csv", index=False)
    page = tmp_path / "page.html"
    given = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv", "--report", page)
    said = run(*given).err
    assert (
        "No node clearly ties two clusters together; next_membership says which may belong to two. The column" in said
    )
    assert "bridge_to" not in said
    assert "All clusters are equally well separated (conductance 0.06)" in page.read_text()


def test_nodes_with_more_weight_to_another_cluster_are_named_and_are_no_hubs(capsys):
    roles = pd.DataFrame({"node": [*"abcdef"], "cluster": [0, 0, 0, 1, 1, 1], "bridge_to": -1})
    A = np.zeros((6, 6))
    for i, j in ((0, 1), (3, 4), (3, 5), (4, 5), (2, 3), (2, 4), (2, 5), (0, 2)):
        A[i, j] = A[j, i] = 1
    say_elsewhere(roles, edge_shares(sp.csr_array(A), roles["cluster"].to_numpy(), 2))
    said = " ".join(capsys.readouterr().err.split())
    assert "Note: 1 node has more weight to another cluster than to its own: c (1, more to 2)." in said
    assert "It stays there, as clusters with much weight in all get more from every node" in said


def test_a_weight_that_is_not_a_number_is_refused_by_its_row(run, tmp_path):
    (tmp_path / "e.csv").write_text("author_1,author_2,papers\na,b,2\nb,c,two\nc,a,3\n")
    said = run("cluster", "--graph", tmp_path / "e.csv", "-k", 1, "-o", tmp_path / "o.csv", expect=2).err
    assert "The column 'papers' of" in said
    assert "'two' in row 2" in said


@pytest.mark.parametrize("number", ["auto", "1"])
def test_a_graph_of_loops_is_refused_in_one_sentence(run, tmp_path, number):
    (tmp_path / "e.csv").write_text("a,b\nx,x\ny,y\n")
    said = run("cluster", "--graph", tmp_path / "e.csv", "-k", number, "-o", tmp_path / "o.csv", expect=2).err
    assert "All edges lead from a node to itself: there is nothing to cluster." in said


def test_names_that_differ_only_in_capitals_can_be_merged(run, tmp_path):
    (tmp_path / "e.csv").write_text("from,to\nAnn,Bea\nann,Cid\nBEA,Cid\nann,Ann\n")
    command = ("cluster", "--graph", tmp_path / "e.csv", "-k", 1, "-o", tmp_path / "o.csv")
    page = tmp_path / "page.html"
    assert "one node, add --ignore-case." in run(*command, "--report", page).err
    assert "differ only in capitals or spaces" in page.read_text()
    assert "5 nodes before, 3 nodes after" in run(*command, "--ignore-case").err
    found = pd.read_csv(tmp_path / "o.csv")
    assert found["node"].tolist() == ["Ann", "Bea", "Cid"]
    assert found["neighbours"].tolist() == [2, 2, 2]


def test_an_edge_between_two_names_of_one_node_is_a_loop_of_its_weight():
    matrix, nodes = without_case(*from_edges(["a", "A", "b"], ["A", "b", "b"], [3.0, 2.0, 5.0], sort=False))
    same, _ = from_edges(["a", "a", "b"], ["a", "b", "b"], [3.0, 2.0, 5.0], sort=False)
    assert nodes.tolist() == ["A", "b"]  # the spelling with the larger weight
    assert matrix.toarray().tolist() == same.toarray().tolist()


def test_capitals_do_not_count_in_known_groups_either(run, tmp_path):
    rows = [(f"{side}{i}", f"{side}{j}") for side in "ab" for i in range(6) for j in range(i)]
    rows += [("A0", "a1"), ("b0", "B1")]  # a spelling of their own, once each
    (tmp_path / "edges.csv").write_text("\n".join(["x,y", *(f"{one},{other}" for one, other in rows)]))
    names = [f"{side.upper()}{i}" for side in "ab" for i in range(6)]
    (tmp_path / "teams.csv").write_text("\n".join(["who,team", *(f"{name},{name[0]}" for name in names)]))
    out = tmp_path / "o.csv"
    options = ["--graph", tmp_path / "edges.csv", "-k", "2", "-o", out, "--truth", f"{tmp_path / 'teams.csv'}:team"]
    assert "12 of 12 nodes" in run("cluster", *options, "--ignore-case").err
    assert sorted(pd.read_csv(out).iloc[:, 0]) == sorted(name.lower() for name in names)  # as they are spelt most often


def test_the_index_of_pandas_is_not_a_weight(run, tmp_path):
    edges_of_cliques().to_csv(tmp_path / "edges.csv")
    run_on = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv")
    said = run(*run_on).err
    assert "'who' and 'whom', no weights; not used: the column without a name (row numbers)." in said
    edges_of_cliques().assign(mails=2).rename(columns={"who": "from", "whom": "to"}).to_csv(tmp_path / "edges.csv")
    assert "'from' and 'to', weights from 'mails'" in run(*run_on).err


def test_rows_in_the_other_direction_are_counted_as_rows(run, tmp_path):
    table = edges_of_cliques()
    back = table.rename(columns={"who": "whom", "whom": "who"})
    pd.concat([table, back, back]).to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv").err
    assert "96 rows repeat edges and are added to them, in the other direction" in said


def test_equal_numbers_are_one_node(run, tmp_path):
    codes = {name: i for i, name in enumerate(np.unique(edges_of_cliques()))}
    table = edges_of_cliques().replace(codes).astype({"who": int, "whom": float})
    table.to_csv(tmp_path / "edges.csv", index=False)
    run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv")
    assert sorted(pd.read_csv(tmp_path / "c.csv")["node"]) == list(range(18))


def test_weights_of_zero_are_said(run, tmp_path):
    table, path = edges_of_cliques(), tmp_path / "edges.csv"
    table.assign(weight=np.r_[0, 0, np.ones(46)]).to_csv(path, index=False)
    given = ("cluster", "--graph", path, "-k", 3, "-o", tmp_path / "c.csv")
    assert "2 rows have weight 0, no edge" in run(*given).err
    table.assign(weight=0).to_csv(path, index=False)
    said = run(*given, expect=2).err
    assert "All weights in the column 'weight' are 0: there are no edges." in said
    assert "48 edges" in run(*given, "--drop", "weight").err  # the remedy works
    with pytest.raises(InputError, match="All weights of edges are 0"):
        SymNMF(3).fit(table.assign(weight=0), source="who", target="whom", weight="weight")


@pytest.mark.parametrize("name", ["size", "Size (bytes)", "size_kb"])
def test_sizes_of_messages_are_no_weights_but_those_of_pairs_are(run, tmp_path, name):
    table, path = edges_of_cliques().rename(columns={"who": "from", "whom": "to"}), tmp_path / "edges.csv"
    table.assign(**{name: np.arange(48) + 900}).to_csv(path, index=False)
    given = ("cluster", "--graph", path, "-k", 3, "-o", tmp_path / "c.csv")
    assert name not in ("size", "length") or "weights from 'size'" in run(*given).err
    pd.concat([table, table]).assign(**{name: np.arange(96) + 900}).to_csv(path, index=False)
    assert f"not used: {name!r}; as weights: --triples" in run(*given).err


def test_numbers_of_different_things_that_are_taken_for_one_node_are_named(tmp_path, run):
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 30, (200, 2))

    def said(*names, table=numbers):
        edges = pd.DataFrame(table, columns=list(names))
        edges.to_csv(tmp_path / "e.csv", index=False)
        first = run("cluster", "--graph", tmp_path / "e.csv", "-k", 2, "-o", tmp_path / "o.csv").err
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read_graph(edges)
        told = "are taken for one node" in " ".join(first.split())
        assert told == any("are taken for one node" in str(each.message) for each in caught)
        return told

    assert said("customer_id", "product_id")
    assert said("Group ID", "user")
    assert not any(said(*ends) for ends in [("source", "target"), ("user1", "user2"), ("user_id", "friend_id")])
    assert not said("customer_id", "product_id", table=np.add(numbers, [0, 100]))
    table = pd.DataFrame(numbers, columns=["customer_id", "product_id"])
    table["customer_id"] = "customer_id " + table["customer_id"].astype(str)
    table["product_id"] = "product_id " + table["product_id"].astype(str)
    assert not said("customer_id", "product_id", table=table.to_numpy())


def test_names_that_are_the_same_text_in_composed_letters_are_one_node(tmp_path, run):
    edges = edges_of_cliques().apply(lambda names: names.str.replace("n, ", "M\u00fcller "))
    edges["who"] = edges["who"].str.replace("\u00fc", "u\u0308")
    edges.to_csv(tmp_path / "e.csv", index=False)
    said = " ".join(run("cluster", "--graph", tmp_path / "e.csv", "-k", 3, "-o", tmp_path / "o.csv").err.split())
    assert "15 names, such as 'M\u00fcller 00', have two Unicode spellings and are each taken for one node" in said
    assert "differ only in" not in said
    nodes = pd.read_csv(tmp_path / "o.csv")["node"]
    assert len(nodes) == 18
    assert nodes.str.contains("\u00fc").sum() == 15  # three have one spelling, which they keep


def decomposed(names: pd.Series) -> pd.Series:
    return names.str.replace("\u00fc", "u\u0308")


@pytest.fixture
def composed_edges() -> pd.DataFrame:
    return edges_of_cliques().apply(lambda names: names.str.replace("n, ", "M\u00fcller "))


def test_python_takes_the_same_text_in_composed_letters_for_one_node(composed_edges):
    edges = composed_edges.assign(who=decomposed(composed_edges["who"]))
    with pytest.warns(FitWarning, match="15 names, such as 'M\u00fcller 00', have two Unicode spellings"):
        assert len(SymNMF(3).fit(edges).nodes_) == 18


def test_known_groups_and_new_nodes_are_matched_however_letters_are_composed(composed_edges, tmp_path, run):
    composed_edges.to_csv(tmp_path / "e.csv", index=False)
    nodes = pd.unique(composed_edges.to_numpy().ravel())
    known = pd.DataFrame({"name": nodes, "team": [name[7] for name in nodes]})
    known.assign(name=decomposed(known["name"])).to_csv(tmp_path / "teams.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "e.csv", "-k", 3, "-o", tmp_path / "o.csv", "--save", tmp_path / "m.rfx")
    said = run(*given, "--truth", f"{tmp_path / 'teams.csv'}:team").err
    assert "Known groups matched by 'name': 18 of 18 nodes." in said
    new = pd.DataFrame({"who": ["Zed", "Zed"], "whom": ["Mu\u0308ller 00", "Mu\u0308ller 01"]})
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv").err
    assert "1 of 1 new node placed" in said


def test_users_of_triples_are_one_however_letters_are_composed(tmp_path, run):
    users = pd.Series([f"M\u00fcller {i % 10}" for i in range(60)])
    users[30:] = decomposed(users[30:])
    table = pd.DataFrame({"user": users, "item": [f"i{i * 7 % 12}" for i in range(60)], "plays": 1})
    table.to_csv(tmp_path / "t.csv", index=False)
    said = run("embed", tmp_path / "t.csv", "-k", 2, "--repeats", "sum", "-o", tmp_path / "o.csv").err
    assert "10 names, such as 'M\u00fcller 0', have two Unicode spellings and are each taken for one name" in said
    assert len(pd.read_csv(tmp_path / "o.csv")) == 10


def test_python_names_the_column_of_weights_and_the_version_without_it_first():
    weights = RNG.integers(1, 2030, 48)
    table = edges_of_cliques()
    with pytest.warns(
        FitWarning, match="'bytes' is taken for the weights.*give source='who', target='whom', and weight"
    ):
        taken = SymNMF(3).fit(table.assign(bytes=weights))
    assert taken.degrees_.sum() == 2 * weights.sum()
    named = {"source": "who", "target": "whom"}  # the remedies work, without a warning
    assert SymNMF(3).fit(table.assign(bytes=weights), **named).degrees_.sum() == 96
    assert SymNMF(3).fit(table.assign(bytes=weights), **named, weight="bytes").degrees_.sum() == 2 * weights.sum()
    SymNMF(3).fit(table.assign(weight=weights))
    with pytest.warns(FitWarning, match="A large 'Entfernung' counts as a strong tie"):
        SymNMF(3).fit(table.assign(Entfernung=weights))


@pytest.mark.parametrize("names", [["who", "whom"], ["source", "target"]])
def test_percentages_are_weights(names, run, tmp_path):
    table = edges_of_cliques().set_axis(names, axis=1).assign(Anteil=["12 %", "1.5%", "3,5 %"] * 16)
    table.to_csv(tmp_path / "e.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "e.csv", "-k", 3, "-o", tmp_path / "c.csv").err
    assert "weights from 'Anteil'" in said
    assert "12 % in 'Anteil' is read as 12" in said


@pytest.mark.parametrize("kind", ["bare.csv", "named.csv", "bare.npy"])
def test_a_matrix_of_correlations_is_called_so(kind, run, tmp_path):
    X = np.corrcoef(np.random.default_rng(0).normal(size=(6, 50)))
    path = tmp_path / kind
    if kind == "bare.npy":
        np.save(path, X)
    else:
        named = {"index": True, "header": True} if kind == "named.csv" else {"index": False, "header": False}
        pd.DataFrame(X.round(4), list("abcdef"), list("abcdef")).to_csv(path, **named)
    assert "may be that of a graph" in run("cluster", path, expect=2).err
    said = run("cluster", "--graph", path, expect=2).err
    assert "The matrix looks like correlations" in said
    strong = abs(X)  # the remedy works
    np.fill_diagonal(strong, 0)
    np.save(tmp_path / "s.npy", strong)
    run("cluster", "--graph", tmp_path / "s.npy", "-k", 2, "--values", "raw", "-o", tmp_path / "c.csv")
    assert "write 1 - X instead, and add --values distance" in " ".join(said.split())
    np.save(tmp_path / "d.npy", 1 - X)
    run("cluster", "--graph", tmp_path / "d.npy", "-k", 2, "--values", "distance", "-o", tmp_path / "c.csv")


def test_without_networkx_it_is_said_once_that_louvain_was_not_compared(run, tmp_path, monkeypatch):
    pairs = [(f"n{i}", f"n{j}") for i in range(12) for j in range(i) if i // 6 == j // 6 or (i, j) == (6, 5)]
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv(tmp_path / "e.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "e.csv", "-k", 2, "-o", tmp_path / "c.csv")
    assert "not compared" not in run(*given).err
    monkeypatch.setattr(louvain, "find_spec", lambda name: None)
    said = run(*given).err
    needs = "Note: the division was not compared with Louvain's, which needs networkx: pip install '.[graphs]'."
    assert said.count(needs) == 1
    points = np.random.default_rng(0).random((40, 2))
    np.save(tmp_path / "p.npy", points)
    assert "Louvain" not in run("cluster", tmp_path / "p.npy", "-k", 2, "-o", tmp_path / "c.csv").err
