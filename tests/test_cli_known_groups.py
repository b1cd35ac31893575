"""Known groups from files of their own: matched by name, or by position where there are no names."""

import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize("title", ["konto", "phone"])
def test_known_groups_of_nodes_that_are_called_by_numbers_are_matched_by_name_or_refused(tmp_path, run, title):
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(1, 25) for j in range(1, i) if (i < 13) == (j < 13)]
    edges = pd.DataFrame([(f"{i:05d}", f"{j:05d}") for i, j in [*pairs, (12, 13)]], columns=["from", "to"])
    edges.to_csv(tmp_path / "edges.csv", index=False)
    order = rng.permutation(np.arange(1, 25))
    known = pd.DataFrame({title: order, "bank": np.where(order < 13, "1", "2")})  # banks are called as nodes are
    truth = f"{tmp_path / 'known.csv'}:bank"
    command = ("cluster", "--graph", tmp_path / "edges.csv", "-k", 2, "-o", tmp_path / "g.csv", "--truth", truth)
    known.to_csv(tmp_path / "known.csv", index=False)
    said = run(*command).err
    assert (
        f"matched by '{title}', with leading zeros ignored ('{order[0]}' there, '{order[0]:05d}' here): 24 of" in said
    )
    assert "accuracy of 100%" in said
    assert set(pd.read_csv(tmp_path / "g.csv")["known_group"]) == {1, 2}
    assert run(*command[:-1], tmp_path / "known.csv").err.count("leading zeros") == 1  # the only other column
    known.assign(**{title: known[title] + 1000}).to_csv(tmp_path / "known.csv", index=False)
    assert "0 of 24 nodes are found" in run(*command, expect=2).err
    known.assign(**{title: [f"K-{i}" for i in order]}).to_csv(tmp_path / "known.csv", index=False)
    assert "0 of 24 nodes are found" in run(*command, expect=2).err
    edges.astype(int).to_csv(tmp_path / "edges.csv", index=False)
    assert "0 of 24 nodes are found" in run(*command, expect=2).err
    known.assign(**{title: order % 5}).to_csv(tmp_path / "known.csv", index=False)
    assert "matched by position" in run(*command).err


def test_a_matrix_without_names_takes_groups_by_position_also_from_a_table_with_names(tmp_path, run):
    matrix = np.kron(np.eye(2), np.ones((12, 12)))
    matrix[11, 12] = matrix[12, 11] = 1
    np.save(tmp_path / "A.npy", matrix)
    known = pd.DataFrame({"name": [f"p{i}" for i in range(24)], "side": np.repeat(["left", "right"], 12)})
    known.to_csv(tmp_path / "known.csv", index=False)
    command = ("cluster", "--graph", tmp_path / "A.npy", "-k", 2, "-o", tmp_path / "g.csv")
    said = run(*command, "--truth", f"{tmp_path / 'known.csv'}:side").err
    assert "matched by position: the rows of the data have no names" in " ".join(said.split())
    assert "accuracy of 100%" in said


@pytest.mark.parametrize("ending", ["xlsx", "jsonl", "csv.gz"])
def test_known_groups_and_colours_are_read_from_every_kind_of_table(tmp_path, run, ending):
    rng = np.random.default_rng(0)
    points = pd.DataFrame(np.vstack([rng.normal(c, 0.5, (20, 2)) for c in (3, 9)]), columns=[*"xy"]).abs()
    points.insert(0, "id", [f"c{i}" for i in range(40)])
    points.to_csv(tmp_path / "p.csv", index=False)
    sides = np.repeat(["left", "right"], 20)
    known = pd.DataFrame({"id": points["id"], "side": sides, "age": np.arange(40) % 7})

    def write(table, name):
        path = tmp_path / f"{name}.{ending}"
        if ending == "xlsx":
            pytest.importorskip("openpyxl")
            table.to_excel(path, index=False)
        elif ending == "jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            table.to_csv(path, index=False)
        return path

    path, out = write(known.sample(frac=1, random_state=0), "known"), ("-k", 2, "-o", tmp_path / "o.csv")
    said = run("cluster", tmp_path / "p.csv", "--truth", f"{path}:side", *out).err
    assert "Known groups matched by 'id': 40 of 40 points." in said
    assert "accuracy of 100%" in said
    said = run("embed", tmp_path / "p.csv", "--colour-by", f"{path}:side", *out, "--report", tmp_path / "r.html").err
    assert "Colours matched by 'id': 40 of 40 samples." in said
    own = write(points.assign(side=sides), "own")
    assert "accuracy of 100%" in run("cluster", own, "--truth", "side", *out).err


def test_known_groups_in_a_workbook_with_several_sheets_ask_for_a_file_of_their_own(tmp_path, run):
    pytest.importorskip("openpyxl")
    edges = pd.DataFrame({"from": list("aabxxy"), "to": list("bccyzz")})
    edges.to_csv(tmp_path / "e.csv", index=False)
    with pd.ExcelWriter(tmp_path / "known.xlsx") as book:
        for name in ("one", "two"):
            pd.DataFrame({"node": list("abcxyz"), "side": list("lllrrr")}).to_excel(book, sheet_name=name, index=False)
    truth = ("--truth", f"{tmp_path / 'known.xlsx'}:side", "-k", 2, "-o", tmp_path / "o.csv")
    said = run("cluster", "--graph", tmp_path / "e.csv", *truth, expect=2).err
    assert "has sheets 'one', 'two'. Save the one with the groups as a file of its own." in said
