"""rectifact cluster --model: new nodes and new points in the clusters of a saved model."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import load_model
from rectifact.core.errors import FitWarning
from rectifact.graph.edges import from_edges
from rectifact.graph.far import outside_range
from rectifact.graph.spelling import spelt_as_known


@pytest.fixture
def saved(tmp_path, run):
    """Clusters of two cliques that share an edge, saved."""
    names = [f"p{i:02d}" for i in range(24)]
    pairs = [(i, j) for i in range(24) for j in range(i) if (i < 12) == (j < 12)]
    edges = pd.DataFrame([(names[i], names[j], 1 + (i + j) % 3) for i, j in [*pairs, (11, 12)]], columns=[*"abw"])
    edges.sample(frac=1, random_state=0).to_csv(tmp_path / "edges.csv", index=False)
    run("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "f.csv", "--save", tmp_path / "f.rfx")
    return tmp_path / "f.rfx"


@pytest.mark.parametrize("apart", [False, True])
def test_a_model_whose_number_was_chosen_can_be_used(run, tmp_path, apart):
    """Of a graph in one piece, and of one in two."""
    pairs = [(i, j) for i in range(24) for j in range(i) if (i < 12) == (j < 12)]
    edges = pd.DataFrame([*pairs, *([] if apart else [(11, 12)])], columns=["source", "target"])
    edges.to_csv(tmp_path / "e.csv", index=False)
    run("cluster", "--graph", tmp_path / "e.csv", "-o", tmp_path / "f.csv", "--save", tmp_path / "f.rfx")
    pd.DataFrame({"source": ["new", "new"], "target": [0, 1]}).to_csv(tmp_path / "n.csv", index=False)
    run("cluster", "--graph", tmp_path / "n.csv", "--model", tmp_path / "f.rfx", "-o", tmp_path / "g.csv")
    known = pd.read_csv(tmp_path / "f.csv").set_index("node")["cluster"]
    assert pd.read_csv(tmp_path / "g.csv")["cluster"].tolist() == [known[0]]


def test_names_of_nodes_are_kept(saved):
    table = pd.read_csv(saved.with_suffix(".csv"))
    assert load_model(saved).result()["node"].tolist() == table["node"].tolist()


def test_new_nodes(saved, tmp_path, run):
    new = pd.DataFrame([("n1", "p01", 2), ("n1", "p02", 1), ("p20", "n2", 1), ("n3", "p02x", 1)], columns=[*"abw"])
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "new.csv", "--model", saved, "-o", tmp_path / "out.csv", "--json")
    assert "two kinds of nodes" not in said.err
    assert "2 of 4 new nodes placed in the 2 clusters" in said.err
    assert "1 edge joins two nodes that the fit does not know, 'n3' and 'p02x'" in said.err
    assert "2 new nodes in no cluster (-1), without edges to a node in a cluster: n3, p02x." in said.err
    assert json.loads(said.out)["unused_edges"] == 1
    old = pd.read_csv(saved.with_suffix(".csv")).set_index("node")["cluster"]
    found = pd.read_csv(tmp_path / "out.csv").set_index("node")
    assert found.loc["n1", "cluster"] == old["p01"]
    assert found.loc["n2", "cluster"] == old["p20"]
    assert found.loc["n1", "neighbours"] == 2
    assert found.loc["n3", "cluster"] == -1
    assert {"membership", "next_cluster", "membership1", "membership2"} <= set(found.columns)


def test_new_nodes_against_most_of_their_weight_are_named(tmp_path, run):
    """Memberships lean towards small clusters, so that a new node may be placed against most of its weight."""
    drawn = np.random.default_rng(0).random((40, 40)) < 0.4
    pairs = [(i, j) for i in range(40) for j in range(i) if (i >= 30 and j >= 30) or (i < 30 and drawn[i, j])]
    edges = pd.DataFrame([(f"p{i:02d}", f"p{j:02d}") for i, j in [*pairs, (39, 0)]], columns=["from", "to"])
    edges.to_csv(tmp_path / "edges.csv", index=False)
    run("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "f.csv", "--save", tmp_path / "f.rfx")
    ends = ["p01", "p02", "p03", "p04", "p33", "p34", "p35"]
    new = pd.DataFrame([("x", end) for end in ends] + [("y", "p01"), ("y", "x")], columns=["from", "to"])
    new.to_csv(tmp_path / "new.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "new.csv", "--model", tmp_path / "f.rfx", "-o", tmp_path / "out.csv")
    said = run(*given).err
    found = pd.read_csv(tmp_path / "out.csv").set_index("node")
    assert found.loc["x", "cluster"] == 2
    assert found["share_inside"].tolist() == pytest.approx([3 / 7, 1])  # x and y are new, and their edge is not used
    assert "Note: 1 new node has more weight to another cluster than to its own: x (2, more to 1)." in said
    with pytest.warns(FitWarning, match="Edges among new nodes are not used"):
        table = load_model(tmp_path / "f.rfx").result(new).set_index("node")
    assert table["share_inside"].to_dict() == found["share_inside"].to_dict()


def test_known_nodes_are_met_without_capitals_and_spaces(saved, tmp_path, run):
    edges = [("N1", "P01"), ("n1", " p02"), ("n2", "p20"), ("n2", "P 1")]
    pd.DataFrame(edges, columns=[*"ab"]).to_csv(tmp_path / "new.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "new.csv", "--model", saved, "-o", tmp_path / "out.csv")
    assert (
        "1 new node differs from a node of the model only in capitals or spaces ('P01' is 'p01' there)"
        in run(*given).err
    )
    assert pd.read_csv(tmp_path / "out.csv")["node"].tolist() == ["N1", "P01", "n1", "n2", "P 1"]
    said = run(*given, "--ignore-case").err
    assert "Capitals and spaces ignored: 1 node taken for known ones ('P01' is 'p01' there)." in said
    assert "add --ignore-case" not in said
    old = pd.read_csv(saved.with_suffix(".csv")).set_index("node")["cluster"]
    found = pd.read_csv(tmp_path / "out.csv").set_index("node")
    assert found.index.tolist() == ["N1", "n2", "P 1"]
    assert found.loc["N1", ["cluster", "neighbours"]].tolist() == [old["p01"], 2]


def test_no_known_node_but_for_capitals(saved, tmp_path, run):
    pd.DataFrame([("n1", "P01")], columns=[*"ab"]).to_csv(tmp_path / "new.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "new.csv", "--model", saved, "-o", tmp_path / "out.csv")
    assert "add --ignore-case" in run(*given, expect=2).err
    assert "1 of 1 new node placed" in run(*given, "--ignore-case").err


def test_known_names_that_differ_only_in_capitals_stay_two():
    matrix, nodes = from_edges(["x", "x", "x"], ["Ann", "ann", "ANN"])
    merged, names = spelt_as_known(matrix, nodes, ["ann", "Ann"])
    assert dict(zip(names, merged.toarray()[names.tolist().index("x")], strict=True)) == {"ann": 2, "Ann": 1, "x": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "3"], "-k is for finding clusters, and --model has them"),
        (["--stability"], "--stability is for finding clusters"),
        (["--solver", "auto"], "--solver is for finding clusters"),
        (["--seed", "1"], "--seed is for finding clusters"),
        (["--no-normalize"], "--normalize is for finding clusters"),
        (["--report", "r.html"], "--report and --save are for clusters that were found"),
    ],
)
def test_options_of_a_fit_are_refused(saved, run, options, message):
    edges = saved.with_name("edges.csv")
    assert message in run("cluster", "--graph", edges, "--model", saved, "-o", "x.csv", *options, expect=2).err


def test_points_in_any_order_of_columns(tmp_path, run):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(c, 0.5, (40, 2)) for c in ([0, 0], [9, 9])])
    table = pd.DataFrame(points, columns=["x", "y"]).assign(id=[f"c{i}" for i in range(80)])[["id", "x", "y"]]
    table.to_csv(tmp_path / "p.csv", index=False)
    run("cluster", tmp_path / "p.csv", "-k", 2, "-o", tmp_path / "p_out.csv", "--save", tmp_path / "p.rfx")
    table.iloc[[1, 50]][["id", "y", "x"]].to_csv(tmp_path / "new.csv", index=False)
    run("cluster", tmp_path / "new.csv", "--model", tmp_path / "p.rfx", "-o", tmp_path / "out.csv")
    old, found = (pd.read_csv(tmp_path / name).set_index("id")["cluster"] for name in ("p_out.csv", "out.csv"))
    assert found.to_dict() == old[["c1", "c50"]].to_dict()
    said = run("cluster", "--graph", tmp_path / "new.csv", "--model", tmp_path / "p.rfx", expect=2)
    assert "are those of points" in said.err


def test_new_nodes_next_to_known_groups(saved, tmp_path, run):
    """The groups of the new nodes alone count, whatever else the file of groups has."""
    new = pd.DataFrame([(f"n{i}", f"p{i + 10 * (i > 3):02d}") for i in range(8)], columns=["a", "b"])
    new.to_csv(tmp_path / "new.csv", index=False)
    sides = [*["left"] * 3, *["right"] * 5]
    groups = pd.DataFrame({"who": [*new["a"], "p01", "p20"], "side": [*sides, "left", "right"]})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "new.csv", "--model", saved, "-o", tmp_path / "out.csv", "--json")
    said = run(*given, "--truth", f"{tmp_path / 'groups.csv'}:side")
    assert "accuracy of 88% if each cluster stands for one group (8 new nodes)." in said.err
    assert "1 of 8 new nodes disagrees with its known group: n3 ('right' among 'left')." in said.err
    assert json.loads(said.out)["truth"]["disagree"] == ["n3"]
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["known_group"].tolist() == sides
    assert table["agrees"].tolist() == [i != 3 for i in range(8)]
    assert "does not name a column of" in run(*given, "--truth", f"{tmp_path / 'groups.csv'}:team", expect=2).err


def test_new_points_next_to_a_column_of_their_own(tmp_path, run):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(c, 0.5, (40, 2)) for c in ([0, 0], [9, 9])])
    table = pd.DataFrame(points, columns=["x", "y"]).assign(id=[f"c{i}" for i in range(80)])
    table.to_csv(tmp_path / "p.csv", index=False)
    run("cluster", tmp_path / "p.csv", "-k", 2, "-o", tmp_path / "c.csv", "--save", tmp_path / "p.rfx")
    table.iloc[30:50].assign(size=[1] * 10 + [2] * 10).to_csv(tmp_path / "new.csv", index=False)
    given = ("cluster", tmp_path / "new.csv", "--model", tmp_path / "p.rfx", "-o", tmp_path / "out.csv")
    assert "no new point disagrees with its known group" in run(*given, "--truth", "size").err
    assert pd.read_csv(tmp_path / "out.csv")["known_group"].tolist() == [1] * 10 + [2] * 10


def test_known_groups_are_matched_by_name(saved, tmp_path, run):
    groups = pd.DataFrame({"who": [f"p{i:02d}" for i in range(23, -1, -1)]})
    groups["side"] = ["right" if int(name[1:]) >= 12 else "left" for name in groups["who"]]
    groups.to_csv(tmp_path / "groups.csv", index=False)
    command = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "g.csv", "--json")
    for name in ("groups.csv:side", "groups.csv"):  # of two columns, the one that does not hold the names
        said = run(*command, "--truth", tmp_path / name)
        assert "accuracy of 100%" in said.err
        found = json.loads(said.out)["truth"]
        assert (found["nmi"], found["column"]) == (1.0, "side")
        assert sorted(sum(row.values()) for row in found["table"].values()) == [12, 12]
    assert "--truth" in run(*command, "--truth", f"{tmp_path / 'groups.csv'}:none", expect=2).err


def test_nodes_that_disagree_with_their_known_group_are_named(saved, tmp_path, run):
    groups = pd.DataFrame({"who": [f"p{i:02d}" for i in range(24)], "side": np.repeat(["left", "right"], 12)})
    groups.loc[3, "side"], groups.loc[5, "side"], groups.loc[20, "side"] = "right", None, "centre"
    groups.to_csv(tmp_path / "groups.csv", index=False)
    page, out = tmp_path / "page.html", tmp_path / "g.csv"
    command = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", out, "--json", "--report", page)
    said = run(*command, "--truth", f"{tmp_path / 'groups.csv'}:side")
    for shown in (" ".join(said.err.split()), page.read_text()):
        assert "2 of 23 nodes disagree with their known group" in shown
        assert "No cluster stands for" in shown
    assert "p03 ('right' among 'left')" in " ".join(said.err.split())
    assert "p20 ('centre' among 'right')" in " ".join(said.err.split())
    assert sorted(json.loads(said.out)["truth"]["disagree"]) == ["p03", "p20"]
    table = pd.read_csv(out).set_index("node")
    assert sorted(table.index[table["agrees"].eq(False)]) == ["p03", "p20"]
    assert table.loc["p05", ["known_group", "agrees"]].isna().all()
    assert table.loc["p20", ["known_group", "cluster_group"]].tolist() == ["centre", "right"]
    assert "nodes that disagree with their known group" in page.read_text().lower()
    assert "Look at the 2 nodes that disagree with their known group" in page.read_text()


def test_known_groups_whose_names_are_spelt_differently_are_refused(saved, tmp_path, run):
    names = [f"p{i:02d}" for i in range(24)]
    groups = pd.DataFrame({"who": names, "side": np.repeat(["left", "right"], 12)}).sample(frac=1, random_state=0)
    command = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "g.csv")
    truth = ("--truth", f"{tmp_path / 'groups.csv'}:side")
    for spelt, alike in ((groups["who"].str.upper() + " ", 24), ("staff/" + groups["who"], 0)):
        groups.assign(who=spelt).to_csv(tmp_path / "groups.csv", index=False)
        said = run(*command, *truth, expect=2).err
        assert "0 of 24 nodes are found in the column 'who'" in said
        assert f"{alike} would be if capitals and surrounding spaces were ignored" in said
        assert ("Add --ignore-case." in said) == (alike > 0)
        assert ("Spell the names alike, or keep only the column 'side'" in said) == (alike == 0)
        assert not (tmp_path / "g.csv").exists()
        if alike:
            assert "accuracy of 100%" in run(*command, *truth, "--ignore-case").err
            (tmp_path / "g.csv").unlink()
    half = groups["who"].where(np.arange(24) < 16, groups["who"].str.upper())
    groups.assign(who=half).to_csv(tmp_path / "groups.csv", index=False)
    said = run(*command, *truth).err
    assert "16 of 24 nodes; 8 more would match" in said
    assert "for these, add --ignore-case." in said


def test_names_of_points_are_not_told_an_option_for_nodes(tmp_path, run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.vstack([rng.normal(c, 0.5, (20, 2)) for c in (0, 9)]), columns=[*"xy"])
    table.insert(0, "id", [f"c{i}" for i in range(40)])
    table.to_csv(tmp_path / "p.csv", index=False)
    known = pd.DataFrame({"who": table["id"].str.upper(), "side": np.repeat(["left", "right"], 20)})
    known.to_csv(tmp_path / "known.csv", index=False)
    given = ("cluster", tmp_path / "p.csv", "-k", 2, "-o", tmp_path / "o.csv")
    said = run(*given, "--truth", f"{tmp_path / 'known.csv'}:side", expect=2).err
    assert "Spell the names alike." in said
    assert "keep only" not in said
    assert "--ignore-case" not in said


def test_known_groups_without_names_are_matched_by_position_and_the_report_says_so(saved, tmp_path, run):
    order = pd.read_csv(tmp_path / "edges.csv").to_numpy()[:, :2].ravel()
    nodes = pd.unique(pd.Series(order)).tolist()
    sides = pd.DataFrame({"side": ["right" if int(name[1:]) >= 12 else "left" for name in nodes], "age": 3.5})
    sides.to_csv(tmp_path / "sides.csv", index=False)
    page = tmp_path / "page.html"
    command = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "g.csv", "--report", page)
    said = run(*command, "--truth", f"{tmp_path / 'sides.csv'}:side").err
    assert "accuracy of 100%" in said
    assert "matched by position" in said
    assert "matched by position" in page.read_text()
    sides[1:].to_csv(tmp_path / "sides.csv", index=False)
    assert "23 rows" in run(*command, "--truth", f"{tmp_path / 'sides.csv'}:side", expect=2).err


def test_columns_keep_the_names_of_the_rows(tmp_path, run):
    rng = np.random.default_rng(1)
    points = np.vstack([rng.normal(c, 0.5, (30, 3)) for c in (0, 9)])
    table = pd.DataFrame(points, columns=[*"xyz"])
    table.insert(0, "Cust-No", [f"C{i:03d}" for i in range(60)])
    table.to_csv(tmp_path / "p.csv", index=False)
    run("cluster", tmp_path / "p.csv", "--columns", "x,y", "-k", 2, "-o", tmp_path / "o.csv")
    assert pd.read_csv(tmp_path / "o.csv")["Cust-No"].tolist() == table["Cust-No"].tolist()


def test_messages_about_graphs(tmp_path, run):
    names = [*"abcd"]
    weights = np.array([[0, 1, -2, 0], [1, 0, 1, 0], [-2, 1, 0, 1], [0, 0, 1, 0]])
    pd.DataFrame(weights, index=names, columns=names).to_csv(tmp_path / "w.csv")
    said = run("cluster", "--graph", tmp_path / "w.csv", "-k", 2, expect=2).err
    assert "2 weights of the matrix are negative, the first -2 between 'a' and 'c'" in said
    (tmp_path / "e.csv").write_text("a,b,w\nx,y,1\ny,z,\nz,x,\n")
    assert "2 rows of" in (said := run("cluster", "--graph", tmp_path / "e.csv", "-k", 2, expect=2).err)
    assert "rows 2, 3" in said
    (tmp_path / "e.csv").write_text("a,b\nx,y\ny,z\nz,x\n")
    assert (
        "There are 3 nodes, too few for 5 clusters"
        in run("cluster", "--graph", tmp_path / "e.csv", "-k", 5, expect=2).err
    )


def test_new_points_need_only_the_columns_that_the_model_knows(run, tmp_path):
    rng = np.random.default_rng(0)
    points = pd.DataFrame({"orders/yr": np.repeat([5.0, 50.0], 40), "age": 40.0}) + rng.standard_normal((80, 2))
    points.insert(0, "no", [f"C{i}" for i in range(80)])
    points.to_csv(tmp_path / "known.csv", index=False)
    run("cluster", tmp_path / "known.csv", "-k", 2, "-o", tmp_path / "c.csv", "--save", tmp_path / "m.rfx")
    points.assign(city="Gent", signup="2024-01-02").to_csv(tmp_path / "new.csv", index=False)
    run("cluster", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv")
    found, known = pd.read_csv(tmp_path / "n.csv"), pd.read_csv(tmp_path / "c.csv")
    assert found["cluster"].tolist() == known["cluster"].tolist()
    assert found.columns[0] == "no"
    points[["no", "age"]].assign(city="Gent").to_csv(tmp_path / "less.csv", index=False)
    run("cluster", tmp_path / "less.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv", expect=2)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_columns_of_new_points_are_never_mixed_up(run, tmp_path, k):
    rng = np.random.default_rng(0)
    points = pd.DataFrame(rng.normal(10 * (np.arange(120)[:, None] // 30), 1, (120, 3)), columns=["age", "income", "k"])
    points.insert(0, "no", [f"C{i}" for i in range(120)])
    points.to_csv(tmp_path / "old.csv", index=False)
    run("cluster", tmp_path / "old.csv", "-k", k, "-o", tmp_path / "c.csv", "--save", tmp_path / "m.rfx")

    def placed(table, expect=0):
        table.to_csv(tmp_path / "new.csv", index=False)
        said = run(
            "cluster", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv", expect=expect
        )
        return " ".join(said.err.split())

    other_order = points[["no", "k", "income", "age"]]
    missing = "1 column of the model is not in the data: 'age'"
    assert f"{missing}; it has 'Age' instead. Add it, named" in placed(other_order.rename(columns={"age": "Age"}), 2)
    assert f"{missing}. Add it, named as in the model." in placed(points[["no", "income", "k"]], 2)
    assert f"{missing}; it has 'a', 'b' instead." in placed(points.drop(columns="age").assign(a=1.0, b=2.0), 2)
    placed(other_order)
    found, known = pd.read_csv(tmp_path / "n.csv"), pd.read_csv(tmp_path / "c.csv")
    assert found["cluster"].tolist() == known["cluster"].tolist()
    by_place = placed(points.set_axis(["no", *"abc"], axis=1))
    assert "The names of the columns are not those of the model; they are taken in their order." in by_place
    few = placed(points.set_axis(["no", *"abc"], axis=1).drop(columns="c"), 2)
    assert "The model has 3 features, and the data has 2; 'age' is missing." in few


def test_new_points_far_from_all_others_and_in_other_units_are_named(run, tmp_path):
    rng = np.random.default_rng(0)
    points = pd.DataFrame({"height": np.repeat([1.2, 1.8], 60), "age": np.repeat([20.0, 50.0], 60)})
    points += rng.standard_normal((120, 2)) * [0.05, 2]
    points.insert(0, "no", [f"C{i}" for i in range(120)])
    old, new = points[::2], points[1::2]
    old.to_csv(tmp_path / "old.csv", index=False)
    run("cluster", tmp_path / "old.csv", "-k", 2, "-o", tmp_path / "c.csv", "--save", tmp_path / "m.rfx")
    place = ("cluster", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", "-o", tmp_path / "n.csv")
    new.to_csv(tmp_path / "new.csv", index=False)
    assert "Note" not in run(*place).err
    assert pd.read_csv(tmp_path / "n.csv")["distance"].between(0, 2).all()
    far = pd.DataFrame({"no": ["far"], "height": [1.5], "age": [35.0]})  # in the gap, so in the range of each column
    pd.concat([new, far]).to_csv(tmp_path / "new.csv", index=False)
    said = run(*place, "--json")
    assert "1 point lies far from all clusters: far;" in said.err
    assert "range of the fit" not in said.err
    assert json.loads(said.out)["far"] == 1
    found = pd.read_csv(tmp_path / "n.csv").set_index("no")["distance"]
    assert found.idxmax() == "far"
    new.assign(height=100 * new["height"]).to_csv(tmp_path / "new.csv", index=False)
    said = run(*place).err
    assert "60 points lie far from all clusters: C1, C3, C5, C7, C9, ...;" in said
    assert "'height' lies outside the range of the fit" in said
    assert "in 60 of 60 new points. Check the unit of the column." in said


def test_values_too_small_for_the_range_of_the_fit_are_named():
    income = np.linspace(2_000, 160_000, 50)[:, None]
    assert outside_range(income, income, ["income"]) == ""
    fit = "'income' lies outside the range of the fit, 2,000 to 160,000, in"
    assert outside_range(income, income / 1000, ["income"]) == f"{fit} 50 of 50 new points."
    assert outside_range(income, income[:1] / 1000, ["income"]) == f"{fit} 1 of 1 new point."
    assert (
        outside_range(income, np.array([[1_500.0], [1_000], [1_900], [9_000]]), ["income"])
        == f"{fit} 3 of 4 new points."
    )
    assert outside_range(income, np.array([[1_500.0], [1_000], [3_000], [9_000]]), ["income"]) == ""  # a few, and close
    assert outside_range(income - 9e4, np.array([[5.0]]), ["change"]) == ""  # small, between negative and positive
    assert outside_range(np.full((9, 1), 0.3), np.full((9, 1), 0.1 * 3), ["same"]) == ""
