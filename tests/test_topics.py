"""find_topics in Python finds what the command finds, bit for bit."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from parts.test_set_aside import german, planted
from rectifact import ANDNMF, InputError, find_topics, load_topics, save_model, write_report
from rectifact.models import load_saved
from rectifact.parts.documents import count_words
from rectifact.parts.topics import topic_table


def survey():
    """Texts on four subjects, with copies, answers of a word, and a few in another language."""
    texts = [f"the {text} was of it and this" for text in planted(0, n=240)]
    return texts + [texts[0]] * 20 + ["ok"] * 15 + german(12)


@pytest.fixture(scope="module")
def topics():
    return find_topics(survey(), 4)


@pytest.mark.parametrize("numbers", [4, "auto"])
def test_python_and_the_command_find_the_same_topics(run, tmp_path, numbers):
    file, saved, weights = tmp_path / "texts.txt", tmp_path / "m.rfx", tmp_path / "w.parquet"
    file.write_text("\n".join(survey()))
    run("parts", file, "-k", numbers, "--save", saved, "--weights", weights)
    found = find_topics(survey(), numbers)
    theirs = load_saved(saved)
    assert_array_equal(found.model.components_, theirs.model.components_)
    assert_array_equal(found.model.stability_, theirs.model.stability_)
    assert found.model.get_params() == theirs.model.get_params() | {"callbacks": None}
    pd.testing.assert_frame_equal(found.documents(), pd.read_parquet(weights), check_exact=True)
    assert found.documents()["language"].astype(bool).sum() == 12
    found.save(tmp_path / "mine.rfx")
    mine = load_saved(tmp_path / "mine.rfx")
    for name in ("features", "samples", "texts"):
        assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert_array_equal(mine.X.toarray(), theirs.X.toarray())
    assert_array_equal(mine.vocabulary.rarity, theirs.vocabulary.rarity)
    assert (mine.selection is None) == (theirs.selection is None) == (numbers == 4)
    if mine.selection is not None:
        assert (mine.selection.best, mine.selection.reason) == (theirs.selection.best, theirs.selection.reason)


def test_new_texts_have_the_topics_that_the_command_gives_them(run, topics, tmp_path):
    new = [*planted(1, n=8), "nothing known"]
    (tmp_path / "new.txt").write_text("\n".join(new))
    topics.save(tmp_path / "m.rfx")
    run("parts", tmp_path / "new.txt", "--model", tmp_path / "m.rfx", "--weights", tmp_path / "w.parquet")
    pd.testing.assert_frame_equal(topics.documents(new), pd.read_parquet(tmp_path / "w.parquet"), check_exact=True)
    assert topics.transform(new).shape == (9, 4)
    assert topics.documents(new, ids=range(10, 19))["document"].tolist() == list(range(10, 19))


def test_the_table_counts_all_documents_and_topics_come_in_the_order_of_their_shares(topics):
    table = topics.table(n_words=5)
    assert table["share"].is_monotonic_decreasing
    assert table["words"].map(len).tolist() == [5] * 4
    assert topics.documents()["clear"].sum() == table["documents"].sum()
    assert repr(topics).startswith(f"Topics(287 documents, {topics.corpus.X.shape[1]} words, 4 topics)\nwarning: ")
    whole = count_words(survey(), weighting="log")
    pd.testing.assert_frame_equal(table, topic_table(topics.model, whole, n_words=5))


def test_a_report_shows_topics_by_the_names_of_their_documents(tmp_path):
    texts = pd.Series(planted(0, n=60), index=range(100, 160))
    topics = find_topics(texts, 4, ids=texts.index)
    write_report(topics, tmp_path / "topics.html")
    page = (tmp_path / "topics.html").read_text()
    assert "4 topics in 60 documents" in page
    assert topics.documents()["document"].tolist() == texts.index.tolist()
    with pytest.raises(InputError, match="X belongs to one fitted estimator"):
        write_report(topics, tmp_path / "topics.html", X=topics.corpus.X)


@pytest.mark.parametrize("numbers", ["2-30", 0, 2.0, [], [2, 0], ["a"]])
def test_a_number_of_topics_that_cannot_be_is_refused(numbers):
    with pytest.raises(InputError, match=r"n_topics=.* is neither a number from 1 on, nor several"):
        find_topics(["red car", "red bus"], numbers)


def test_errors_say_what_to_do(topics):
    with pytest.raises(InputError, match=r"Give a number well below \d+, or 'auto' to let the data choose"):
        find_topics(planted(0, n=40), 41)
    with pytest.raises(InputError, match=r"There are 2 names in ids for 40 documents\. Give one for each document."):
        find_topics(planted(0, n=40), 4, ids=["a", "b"])
    with pytest.raises(InputError, match="Give texts, or leave it out"):
        topics.documents(ids=np.arange(287))


def test_python_says_what_the_command_says(run, tmp_path, topics):
    (tmp_path / "texts.txt").write_text("\n".join(survey()))
    theirs = json.loads(run("parts", tmp_path / "texts.txt", "-k", 4, "--json").out)["findings"]
    mine = topics.diagnose()
    for name in ("severity", "finding", "detail"):
        assert mine[name].tolist() == [one[name] for one in theirs]
    assert {"documents in another language", "documents with the same text"} <= set(mine["finding"])
    for one in mine[mine["severity"] == "warning"].itertuples():
        assert f"\nwarning: {one.finding}. {one.detail} {one.remedy}" in repr(topics)


def test_the_report_from_python_says_that_stop_words_of_another_language_are_there(tmp_path):
    found = find_topics([f"der {text} ist nicht so und das war es auch" for text in planted(0, n=120)], 4)
    assert "Give stop_words='german'" in repr(found)
    write_report(found, tmp_path / "topics.html")
    assert "stop words of another language" in (tmp_path / "topics.html").read_text()


def test_texts_that_say_nothing_are_left_out_as_the_command_leaves_them_out(run, tmp_path):
    texts = planted(0, n=120)
    texts[3], texts[7], texts[11], texts[15] = None, "", " - ", float("nan")
    found = find_topics(texts, 4, ids=[f"T{i}" for i in range(120)])
    assert found.corpus.X.shape[0] == 116
    table = pd.DataFrame({"id": [f"T{i}" for i in range(120)], "text": texts})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--text-column", "text", "--id-column", "id", "--weights", tmp_path / "w.csv"]
    run("parts", tmp_path / "t.csv", "-k", 4, *options)
    mine, theirs = found.documents(), pd.read_csv(tmp_path / "w.csv")
    assert mine["document"].tolist() == theirs["id"].tolist()
    assert mine["largest_topic"].isna().to_numpy().nonzero()[0].tolist() == [3, 7, 11, 15]
    np.testing.assert_allclose(mine["topic1"], theirs["topic1"], atol=1e-6)
    detail = found.diagnose().set_index("finding").loc["texts without words", "detail"]
    assert detail.startswith(
        "4 of 120 texts are missing, empty or say nothing but '.' or the like, such as that of 'T3'"
    )
    write_report(found, tmp_path / "topics.html")


def test_saved_topics_are_found_in_further_texts_whoever_saved_them(run, topics, tmp_path):
    new = [*planted(1, n=8), "nothing known"]
    topics.save(tmp_path / "python.rfx")
    (tmp_path / "texts.txt").write_text("\n".join(survey()))
    run("parts", tmp_path / "texts.txt", "-k", 4, "--save", tmp_path / "command.rfx")
    for name in ("python", "command"):
        loaded = load_topics(tmp_path / f"{name}.rfx")
        pd.testing.assert_frame_equal(loaded.documents(new), topics.documents(new), check_exact=True)
        assert loaded.table()["words"].tolist() == topics.table()["words"].tolist()
        assert len(loaded.diagnose()) > 0
        write_report(loaded, tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").stat().st_size > 10_000


def test_a_model_of_something_else_holds_no_topics(tmp_path):
    save_model(ANDNMF(2).fit(np.random.default_rng(0).random((20, 6))), tmp_path / "m.rfx")
    with pytest.raises(InputError, match="does not hold topics of texts"):
        load_topics(tmp_path / "m.rfx")
