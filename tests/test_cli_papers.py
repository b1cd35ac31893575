"""Tables with a row per paper and its authors in one cell, and edges without an end, on the command line."""

import numpy as np
import pandas as pd
import pytest

from rectifact.io.several import find_lists

TEAMS = (
    ["Ann Lee", "Bo Chan", "Cy Diaz", "Di Evans", "Ed Fox"],
    ["Gus Hill", "Hal Ito", "Ivy Jones", "Jo King", "Lu May"],
)


def papers(mark: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    authors = [f"{mark} ".join(rng.permutation(TEAMS[i % 2])[:3]) for i in range(30)]
    return pd.DataFrame({"title": [f"On {i}" for i in range(30)], "year": 2000 + np.arange(30) % 7, "authors": authors})


@pytest.mark.parametrize("mark", [";", ","])
def test_authors_in_one_cell_are_refused_with_what_reads_them(run, tmp_path, mark):
    papers(mark).to_csv(tmp_path / "papers.csv", index=False)
    given = ("cluster", "--graph", tmp_path / "papers.csv", "-o", tmp_path / "c.csv")
    said = run(*given, expect=2).err
    assert "The column 'authors'" in said
    assert f"add --triples title,authors --split '{mark}'" in said
    run(*given, "--triples", "title,authors", "--split", mark)
    found = pd.read_csv(tmp_path / "c.csv").set_index("node")["cluster"]
    assert [found[team].nunique() for team in TEAMS] == [1, 1]
    assert found[TEAMS[0][0]] != found[TEAMS[1][0]]


def test_lists_beside_numbers_of_papers_are_asked_about(run, tmp_path):
    papers(",")[["year", "authors"]].assign(year=range(30)).to_csv(tmp_path / "papers.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "papers.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "look like lists of nodes" in said
    assert "add --split ','" in said


def test_lists_alone_need_a_column_of_papers(run, tmp_path):
    papers(";")[["authors"]].to_csv(tmp_path / "papers.csv", index=False)
    said = run("cluster", "--graph", tmp_path / "papers.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "holds lists of nodes" in said
    assert "Add a column" in said


def test_surnames_and_places_are_no_lists():
    assert find_lists(["Lee, Ann", "Lee, Bo", "Ray, Ann", "Ray, Bo"]) is None
    assert find_lists(["Austin, Texas, USA", "Dallas, Texas, USA", "Paris, Texas, USA", "Reno, Nevada, USA"]) is None


def test_edges_without_an_end_are_counted(run, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\na,\n  ,c\n")
    said = run("cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "c.csv", expect=2).err
    assert "2 rows of" in said
    assert "have no name in the columns 'source' or 'target': rows 3, 4." in said
