"""Texts that are too few for topics: one warning says so, and no remedies contradict each other."""

import json
import re

import numpy as np
import pytest

from rectifact.parts.diagnosis import asks_for_fewer, diagnose
from rectifact.parts.documents import count_words
from rectifact.parts.incoherence import incoherent_topics
from rectifact.parts.terms import TOPICS
from rectifact.parts.too_few import TOO_FEW, too_few
from rectifact.parts.unexplained import hardly_explained
from rectifact.parts.without_topic import without_topic

FIVE = (
    "the cat sat on the mat",
    "dogs and cats are animals",
    "stock prices fell today",
    "markets and stock prices rose",
    "the cat chased the dog",
)
MORE, FEWER = ("larger -k", "more topics", "so may another number"), ("ower -k",)


def survey(rng, n, n_words):
    return [" ".join(f"word{j}x" for j in rng.choice(n_words, 4, replace=False)) for _ in range(n)]


@pytest.mark.parametrize("k", ["auto", 2, 3])
def test_a_handful_of_texts_is_called_too_few(run, tmp_path, k):
    (tmp_path / "five.txt").write_text("\n".join(FIVE))
    page, model = tmp_path / "page.html", tmp_path / "m.rfx"
    said = run("parts", tmp_path / "five.txt", "--text", "-k", k, "--json", "--report", page, "--save", model)
    findings = json.loads(said.out)["findings"]
    few = next(one for one in findings if one["finding"] in TOO_FEW)
    assert few["detail"].startswith("5 documents with 3 words that count are too few for topics")
    assert few["remedy"] == "Add documents; with --min-df 1, words of a single document count, too."
    assert "Lower -k" not in said.err
    assert not any(word in said.err for word in MORE + FEWER)
    run("report", model, "-o", tmp_path / "again.html")
    for path in (page, tmp_path / "again.html"):
        text = path.read_text()
        assert few["detail"] in text
        assert few["remedy"] in re.sub("<[^>]*>", "", text)
        assert "without a subject" not in text


def test_no_output_asks_for_more_and_for_fewer_topics():
    rng = np.random.default_rng(0)
    W, H = (
        rng.random((200, 3)) * [8, 1, 1e-5],
        np.hstack([np.eye(3), np.eye(3)]),
    )  # the last one carries next to nothing
    given = {"sum_error": 1.0, "nonnegative": True, "independent": False, "terms": TOPICS}
    known = diagnose(W, H, coherence=np.array([0.08, 0.6, 0.6]), **given)
    assert asks_for_fewer(known)
    assert any(one.finding == "a topic without a subject" for one in known)
    residual = np.array([0.995, 0.9999, 0.5])
    known += hardly_explained(residual, fewer=True)
    known += without_topic(np.full(3, 5), residual, np.zeros(3, dtype=bool), fewer=True)
    said = " ".join(one.on_command_line() for one in known)
    assert "Lower -k" in said
    assert not any(word in said.lower() for word in MORE[:2])


def test_texts_that_are_enough_are_not_remarked_on():
    rng = np.random.default_rng(0)
    assert not too_few(count_words(survey(rng, 10, 10), min_df=1, max_df=1.0).X)
    assert too_few(count_words(survey(rng, 9, 10), min_df=1, max_df=1.0).X)
    assert too_few(count_words(survey(rng, 200, 9), max_df=1.0).X)
    (keywords,) = too_few(count_words(["tea", "cup", *(f"red word{i}x" for i in range(8))] * 20, max_df=0.1).X)
    assert "of 200 documents have two or more words" in keywords.detail
    assert keywords.finding == "too few words for topics"
    (words,) = too_few(count_words(survey(rng, 200, 9), max_df=1.0).X)
    assert words.finding == "too few words for topics"
    assert words.detail.startswith("200 documents have only 9 different words that count, too few for topics")
    assert words.remedy == "Give longer texts."
    (few,) = too_few(count_words(survey(rng, 9, 30), min_df=1, max_df=1.0).X)
    assert few.finding == "too few texts for topics"


def test_rarer_words_are_named_only_where_words_are_left_out():
    for options, advised in (({}, True), ({"min_df": 1}, False)):
        corpus = count_words(FIVE, **options)
        (found,) = too_few(corpus.X, corpus.vocabulary)
        assert ("--min-df 1" in found.command) is advised


def test_a_topic_of_one_word_is_not_a_rest_of_several():
    W, coherence = np.ones((20, 3)), np.array([0.9, -0.3, 0.8])
    H = np.array([[1, 1, 0.0, 0], [0, 0, 1, 0], [0, 1, 0, 1]])
    assert incoherent_topics(W, H, coherence, TOPICS) == []
    H[1] = [0, 0, 1, 0.5]
    (found,) = incoherent_topics(W, H, coherence, TOPICS)
    assert "try a larger -k" in found.command
    (found,) = incoherent_topics(W, H, coherence, TOPICS, fewer=True)
    assert "-k" not in found.command
    assert not asks_for_fewer([found])
