"""rectifact parts on a table of texts: rows without text keep their place, and columns of the table are kept."""

import json

import numpy as np
import pandas as pd
import pytest

THEMES = ["bank money loan credit rate", "ball goal team match coach", "star planet orbit moon comet"]
ODD = {3: "12345 678", 10: "😀 👍", 20: "!!! ???", 30: "", 31: "   ", 32: "N/A", 40: "the and of"}


@pytest.fixture
def tickets(tmp_path):
    rng = np.random.default_rng(0)
    texts = [ODD.get(i, " ".join(rng.choice(THEMES[i % 3].split(), size=10))) for i in range(60)]
    table = pd.DataFrame({"ticket": [f"t{i:03d}" for i in range(60)], "message": texts})
    table["created"], table["code"], table["stars"] = [f"2026-01-{i % 28 + 1:02d}" for i in range(60)], "007", range(60)
    table.to_csv(tmp_path / "tickets.csv", index=False)
    return tmp_path / "tickets.csv"


def test_rows_without_text_keep_their_place(run, tickets, tmp_path):
    weights, arrays, model = tmp_path / "w.csv", tmp_path / "a.npz", tmp_path / "m.rfx"
    said = run("parts", tickets, "-k", 3, "--weights", weights, "-o", arrays, "--save", model).err
    assert "3 rows without text left out, 1 of them with 'N/A' or the like; in --weights, they have no topic" in said
    assert "4 of 57 documents have no topic: 4 have no word that counts. Look at them" in said
    assert said.count("no word that counts") == 1
    table = pd.read_csv(weights)
    assert table["ticket"].tolist() == pd.read_csv(tickets)["ticket"].tolist()
    empty = table.loc[list(ODD)]
    assert empty["largest_topic"].isna().all()
    assert empty["residual"].isna().all()
    assert (empty.filter(regex="^topic") == 0).all(axis=None)
    assert not empty["clear"].any()
    assert (empty["words"] == 0).all()
    assert table.drop(list(ODD))["clear"].all()
    with np.load(arrays) as file:
        assert file["samples"].tolist() == table["ticket"].tolist()
        assert (file["weights"].sum(axis=1) > 0).tolist() == table["largest_topic"].notna().tolist()
    run("parts", tickets, "--model", model, "--weights", tmp_path / "again.csv")
    again = pd.read_csv(tmp_path / "again.csv")
    assert again["largest_topic"].equals(table["largest_topic"])


def test_texts_of_which_topics_explain_nothing_have_no_topic(run, tickets, tmp_path):
    """Their weights are next to nothing, but not zero; as shares, they would be large ones."""
    table = pd.read_csv(tickets, dtype=str).drop(list(ODD)).reset_index(drop=True)
    table.loc[[4, 9, 14], "message"] = " ".join(f"animal{chr(97 + i % 20)}" for i in range(400)) + " bank"
    table.to_csv(tmp_path / "more.csv", index=False)
    run("parts", tmp_path / "more.csv", "-k", 3, "--text-column", "message", "--weights", tmp_path / "w.csv")
    found = pd.read_csv(tmp_path / "w.csv")
    nothing = found["residual"].round(3) >= 1
    assert nothing.any()
    assert (found["largest_topic"].isna() == nothing).all()
    assert (found.loc[nothing, "largest_share"] == 0).all()


def test_texts_that_all_have_words_are_not_remarked_on(run, tickets, tmp_path):
    table = pd.read_csv(tickets, dtype=str).drop(list(ODD))
    table.to_csv(tmp_path / "full.csv", index=False)
    said = run("parts", tmp_path / "full.csv", "-k", 3, "--text-column", "message").err
    assert "no topic" not in said


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_columns_of_the_table_are_kept_as_they_are(run, tickets, tmp_path, ending):
    path = tmp_path / f"w.{ending}"
    said = run("parts", tickets, "-k", 3, "--weights", path, "--keep", "created,code,stars,message").err
    assert "not used" not in said
    if ending == "jsonl":
        table = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    elif ending == "parquet":
        table = pd.read_parquet(path)
    else:
        table = pd.read_csv(path, sep="\t" if ending == "tsv" else ",", dtype={"code": str})
    assert table.columns[:6].tolist() == ["ticket", "created", "code", "stars", "message", "largest_topic"]
    assert table["created"].tolist() == pd.read_csv(tickets)["created"].tolist()
    assert (table["code"] == "007").all()
    assert table["stars"].tolist() == list(range(60))


def test_columns_are_kept_beside_topics_of_a_model(run, tickets, tmp_path):
    run("parts", tickets, "-k", 3, "--save", tmp_path / "m.rfx")
    lines = run("parts", tickets, "--model", tmp_path / "m.rfx", "--keep", "created").out.splitlines()
    assert lines[0].startswith("ticket,created,largest_topic,largest_share,known_words,topic1")
    assert lines[31].startswith("t030,2026-01-03,,0.0,,0.0")


def test_columns_that_cannot_be_kept_are_refused(run, tickets, tmp_path):
    def refused(path, *options):
        return run("parts", path, "-k", 3, *options, expect=2).err

    to_file = "--weights", tmp_path / "w.csv"
    assert "has no column 'creatd'; it has" in refused(tickets, *to_file, "--keep", "creatd")
    assert "Give --weights FILE as well." in refused(tickets, "--keep", "created")
    table = pd.read_csv(tickets).rename(columns={"code": "words"})
    table.to_csv(tmp_path / "named.csv", index=False)
    assert "'words' is the name of a column that --weights has" in refused(
        tmp_path / "named.csv", *to_file, "--keep", "words"
    )
    (tmp_path / "lines.txt").write_text("\n".join(THEMES))
    assert "--keep takes columns of a table of texts" in refused(tmp_path / "lines.txt", *to_file, "--keep", "created")


def test_fields_of_fields_are_columns(run, tickets, tmp_path):
    """Records in records ended in a traceback."""
    table = pd.read_csv(tickets, keep_default_na=False)
    rows = [
        {"id": row.ticket, "meta": {"day": row.created, "tags": ["a", "b"]}, "content": {"body": row.message}}
        for row in table.itertuples()
    ]
    (tmp_path / "nested.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pd.DataFrame(rows).to_parquet(tmp_path / "nested.parquet")
    for name in ("nested.jsonl", "nested.parquet"):
        said = run("parts", tmp_path / name, "-k", 3, "--keep", "meta.day", "--weights", tmp_path / "w.csv").err
        assert "57 documents from 'content.body', named by 'id'" in said
        assert pd.read_csv(tmp_path / "w.csv")["meta.day"].tolist() == table["created"].tolist()
