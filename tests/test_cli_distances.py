"""rectifact cluster --graph with distances, which are large where a tie is weak."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from rectifact import SymNMF
from rectifact.cli.cluster_data import read_given
from rectifact.cli.reading import Reading
from rectifact.core.errors import FitWarning
from rectifact.graph.distances import like_distances, points_of

KINDS = np.repeat([0, 1, 2], 15)


def places(seed: int = 0) -> np.ndarray:
    """Three groups of places in a plane."""
    return np.random.default_rng(seed).normal(size=(45, 2)) + np.array([[0, 0], [7, 0], [0, 7]])[KINDS]


APART = squareform(pdist(places()))
NAMES = [f"town {i}" for i in range(45)]


def listed(name: str) -> pd.DataFrame:
    """The same distances, one row for each pair."""
    i, j = np.triu_indices(45, 1)
    names = np.array(NAMES)
    return pd.DataFrame({"from": names[i], "to": names[j], name: APART[i, j].round(3)})


def found(path) -> float:
    """How well the clusters that were written match the groups."""
    table = pd.read_csv(path).set_index("node")
    return adjusted_rand_score(KINDS, table["cluster"].loc[NAMES] if "town 0" in table.index else table["cluster"])


@pytest.mark.parametrize("kind", ["named", "bare", "gaps", "Entfernung", "km"])
def test_distances_are_asked_about_and_clustered_as_points(kind, run, tmp_path):
    path, out = tmp_path / "towns.csv", tmp_path / "c.csv"
    matrix = pd.DataFrame(APART, NAMES, NAMES)
    if kind in {"named", "gaps"}:
        (matrix if kind == "named" else matrix.where(np.tril(np.ones((45, 45))) > 0)).to_csv(path)
    elif kind == "bare":
        matrix.to_csv(path, index=False, header=False)
    else:
        listed(kind).to_csv(path, index=False)
    if kind != "gaps":
        said = run("cluster", "--graph", path, "-o", out, expect=2).err
        assert "Add --values distance if large means far apart, or --values raw" in said
        assert "clusters of" in run("cluster", "--graph", path, "-k", 2, "--values", "raw", "-o", out).err
    said = run("cluster", "--graph", path, "--values", "distance", "-o", out).err
    assert "Distances of 990 pairs: 45 nodes are clustered as points so far apart." in said
    assert "3 groups of points stand apart" in said
    assert found(out) == 1


def test_roads_of_which_only_some_are_listed_are_joined_by_the_shortest_path(run, tmp_path):
    table = listed("metres")
    near = table["metres"] < 3.5
    table[near | (table.index % 40 == 0)].to_csv(tmp_path / "roads.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "roads.csv", "-k", 3, "-o", tmp_path / "c.csv")
    run(*given)  # a sparse graph is taken at its word
    assert "between others, the shortest path counts" in run(*given, "--values", "distance").err
    assert found(tmp_path / "c.csv") == 1


@pytest.mark.parametrize("ending", ["csv", "list", "gml"])
def test_what_counts_where_both_directions_differ_is_said(ending, run, tmp_path):
    """Half of the pairs are listed both ways, the way back a little longer: sums would tear their nodes apart."""
    longer = APART * np.where(np.tri(45) > 0, 1.01, 1)
    both = (np.add.outer(np.arange(45), np.arange(45)) % 2 == 0) | (np.tri(45) == 0)
    path, (i, j) = tmp_path / f"towns.{ending.replace('list', 'csv')}", np.nonzero(both & (APART > 0))
    if ending == "csv":
        pd.DataFrame(longer, NAMES, NAMES).to_csv(path)
    elif ending == "list":
        names = np.array(NAMES)
        pd.DataFrame({"from": names[i], "to": names[j], "km": longer[i, j]}).to_csv(path, index=False)
    else:
        networkx = pytest.importorskip("networkx")
        graph = networkx.DiGraph()
        graph.add_nodes_from(NAMES)
        graph.add_weighted_edges_from((NAMES[a], NAMES[b], float(longer[a, b])) for a, b in zip(i, j, strict=True))
        networkx.write_gml(graph, path)
    said = run("cluster", "--graph", path, "--values", "distance", "-k", 3, "-o", tmp_path / "c.csv").err
    mean, shortest = "where both directions differ, their mean counts", "listed more than once, the shortest counts"
    assert (mean if ending == "csv" else shortest) in said
    assert "are added" not in said
    saved = read_given(Reading(graph=True), path, "distance")
    assert abs(squareform(pdist(saved.X)) - APART).max() < 0.02 * APART.max()


def test_new_nodes_are_not_placed_among_distances(run, tmp_path):
    listed("Distanz").to_csv(tmp_path / "d.csv", index=False)
    given, model = ("cluster", "--graph", tmp_path / "d.csv"), tmp_path / "m.rfx"
    page = tmp_path / "r.html"
    run(*given, "--values", "distance", "-k", 3, "--save", model, "--report", page, "-o", tmp_path / "c.csv")
    assert page.stat().st_size
    assert "those of distances" in run(*given, "--model", model, expect=2).err


@pytest.mark.parametrize(
    ("name", "asks"), [("p_value", 1), ("Distance km", 1), ("cost", 0), ("Dauer", 0), ("mails", 0)]
)
def test_a_column_that_may_mean_the_opposite_is_asked_about_or_noted(name, asks, run, tmp_path):
    table = pd.DataFrame([(a + x, a + y, 0.5) for a in "abc" for x in "1234" for y in "1234" if x < y])
    table.columns = ["who", "whom", name]
    table.to_csv(tmp_path / "edges.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "-o", tmp_path / "c.csv", expect=2 * asks).err
    assert (f"The weights are from {name!r}, which sounds like a distance" in said) == bool(asks)
    assert (f"a large {name!r} counts as a strong tie" in said) == (name in {"cost", "Dauer"})


def test_a_matrix_in_a_file_of_distances_is_asked_about_by_the_name_of_the_file(run, tmp_path):
    np.savetxt(tmp_path / "entfernungen_2024.csv", APART > 3, delimiter=",", fmt="%d")
    said = run("cluster", "--graph", tmp_path / "entfernungen_2024.csv", "-k", 3, expect=2).err
    assert "By its name, 'entfernungen_2024.csv' holds distances" in said


@pytest.mark.parametrize("seed", range(5))
def test_similarities_of_all_pairs_do_not_look_like_distances(seed, rng):
    rng = np.random.default_rng(seed)
    groups = KINDS[:, None] == KINDS
    weights = rng.lognormal(0, 1, (45, 45)) * (1 + 3 * groups)
    sizes = rng.lognormal(0, 1, 45)
    trade = np.outer(sizes, sizes) / (0.1 + APART) ** 2
    for X in (weights + weights.T, trade, abs(np.corrcoef(places(seed) @ rng.normal(size=(2, 9)))), np.ones((45, 45))):
        assert not like_distances(X * (1 - np.eye(45)))
    for metric in ("euclidean", "cityblock", "sqeuclidean"):
        assert like_distances(squareform(pdist(places(seed), metric)))
        assert like_distances(squareform(pdist(places(seed)[np.r_[0, 0, :45]], metric)))  # two at the same place


def test_points_are_as_far_apart_as_they_should_be():
    assert np.allclose(squareform(pdist(points_of(APART))), APART)


def test_python_warns_of_distances_and_its_remedy_works():
    with pytest.warns(FitWarning, match="looks like distances"):
        SymNMF(2, affinity="precomputed").fit(APART)
    D = APART
    with warnings.catch_warnings(action="error"):
        model = SymNMF(3, affinity="precomputed").fit(np.exp(-((D / np.median(D)) ** 2)))
    assert adjusted_rand_score(KINDS, model.labels_) == 1
