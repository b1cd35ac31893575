"""What rectifact cluster and its report say: no internal words, no contradictions, no figures about next to nothing."""

import networkx as nx
import pandas as pd
import pytest


@pytest.fixture
def karate(tmp_path):
    path = tmp_path / "karate.graphml"
    nx.write_graphml(nx.karate_club_graph(), path)
    return path


@pytest.mark.parametrize("option", ["--values", "--solver", "--metric"])
def test_a_wrong_word_is_refused_without_the_terms_of_a_library(option, karate, run):
    said = " ".join(run("cluster", "--graph", karate, option, "logg", expect=2).err.split())
    assert "Value error" not in said
    assert "'logg' is not one of" in said.replace("│ │", "").replace("  ", " ")


def test_a_broken_graph_file_has_a_remedy(run, tmp_path):
    (tmp_path / "bad.graphml").write_text("<graphml><graph")
    said = run("cluster", "--graph", tmp_path / "bad.graphml", expect=2).err
    assert said.rstrip().endswith("Export the file again, or save its edges as CSV.")


def test_known_groups_of_few_nodes_are_said_to_be_few(karate, run, tmp_path):
    pd.DataFrame({"node": [0, 1, 99], "club": ["x", "x", "y"]}).to_csv(tmp_path / "t.csv", index=False)
    given = ("cluster", "--graph", karate, "-k", 2, "--truth", f"{tmp_path / 't.csv'}:club", "-o", tmp_path / "c.csv")
    said = run(*given).err
    assert "matched by 'node': 2 of 34 nodes; 1 name of 't.csv' is not among them." in said
    assert "Only 2 of 34 nodes can be compared, which says little about the others. Clusters and the known" in said
    assert "As all nodes with a known group are in one cluster" in said


def test_the_report_begins_with_the_known_groups_and_agrees_with_the_terminal(karate, run, tmp_path):
    groups = {"node": range(34), "club": [nx.karate_club_graph().nodes[i]["club"] for i in range(34)]}
    pd.DataFrame(groups).to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "r.html"
    given = ("cluster", "--graph", karate, "--truth", f"{tmp_path / 't.csv'}:club", "-o", tmp_path / "c.csv")
    for k in (2, 3, 4):
        said = run(*given, "-k", k, "--report", page).err
        html = page.read_text()
        assert html.index("agree with an NMI of") < html.index("Modularity is")
        assert ("that clearly lie" in html) == ("Bridges" in said)
        assert "that may belong to two clusters, under Overlaps" not in html
