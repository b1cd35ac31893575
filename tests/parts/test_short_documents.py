"""Answers of a word or two: they take no topic from the subjects, and get those of their words."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from parts.test_unexplained import survey
from rectifact import ANDNMF
from rectifact.parts.documents import count_words
from rectifact.parts.short_documents import about_short, short_documents
from rectifact.parts.topics import relative_residuals
from rectifact.parts.unexplained import missing_subject

STOCK = ["ok", "ok", "ok", "fine", "perfect", "all good", "good job", "good job"]


def with_stock(seed, number=60):
    """500 answers on six subjects, and further ones of a word or two."""
    return [*survey(seed), *np.random.default_rng(seed).choice(STOCK, number)]


def subjects(model, corpus):
    """First letters that lead topics, if at least six of the ten largest words begin with it."""
    leading = [Counter(corpus.columns[j][0] for j in np.argsort(-part)[:10]) for part in model.components_]
    return {letter for (letter, times), *_ in (letters.most_common(1) for letters in leading) if times >= 6}


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_answers_of_a_word_or_two_take_no_topic(seed):
    corpus = count_words(with_stock(seed), weighting="log")
    short = short_documents(corpus.X)
    assert short.sum() == 60
    model = ANDNMF(6, refine="nonnegative", random_state=0)
    assert not subjects(model.fit(corpus.X), corpus) >= set("abcdef")  # they would
    assert subjects(model.fit(corpus.X[~short]), corpus) == set("abcdef")


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_a_subject_without_a_topic_is_named_beside_answers_of_a_word(seed):
    corpus = count_words(with_stock(seed, 30), weighting="log")
    longer = corpus.X[~short_documents(corpus.X)]
    for k, named in ((5, True), (6, False), (8, False)):
        model = ANDNMF(k, refine="nonnegative", random_state=0).fit(longer)
        residual = relative_residuals(model, longer, model.transform(longer))
        subject = missing_subject(model, longer, residual, corpus.columns)
        assert (subject is not None) == named
        if subject is not None:
            assert all(word.startswith("f") for word in subject.words[:3])
            assert subject.number == 6


def test_keywords_and_long_texts_are_all_fitted():
    words = count_words(["ok", "good", "fine"] * 20, max_df=1.0)
    assert not short_documents(words.X).any()
    assert not short_documents(count_words(survey(20), weighting="log").X).any()
    different = [f"red car{i % 30}" for i in range(120)] + ["long slow red car drives home"] * 200
    assert not short_documents(count_words(different, max_df=1.0).X).any()  # four of each: fewer than five


def test_the_command_says_how_many_are_short_and_gives_them_the_topics_of_their_words(run, tmp_path):
    texts = [*with_stock(20), "aword0", "aword1", "ok"]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "survey.csv", index=False)
    weights = tmp_path / "w.csv"
    said = run("parts", tmp_path / "survey.csv", "-k", 6, "--weights", weights, "--json")
    told = "63 of 563 documents are too short to find topics by, such as 'ok' and 'good job'."
    assert told in said.err
    findings = {one["finding"]: one for one in json.loads(said.out)["findings"]}
    assert findings["documents of a word or two"]["severity"] == "note"
    assert "documents with the same text" not in findings
    table = pd.read_csv(weights)
    assert len(table) == 563
    last = table["largest_topic"].tolist()[-3:]
    assert last[0] == last[1]
    assert np.isnan(last[2])
    topic = next(one for one in json.loads(said.out)["topics"] if one["topic"] == last[0])
    assert topic["words"][0]["word"].startswith("a")


def test_the_note_has_a_singular():
    (note,) = about_short(np.array([True, False]), ["ok", "a longer text"])
    assert note.detail == "1 of 2 documents is too short to find topics by, such as 'ok'."
