"""Copies and a few documents in another language do not change the topics of the others, nor their number."""

import json

import numpy as np
import pytest

from parts.test_foreign_rows import GERMAN, mixed
from rectifact.parts.documents import count_words
from rectifact.parts.set_aside import set_aside

COPIES = 60


def planted(seed, n=300, k=4):
    """Texts on so many subjects."""
    rng = np.random.default_rng(seed)
    subjects = [[f"{letter}word{i}" for i in range(20)] for letter in "abcdefgh"[:k]]
    return [" ".join(rng.choice(subjects[i % k], size=10)) + f" zword{rng.integers(40)}" for i in range(n)]


def german(n):
    rng = np.random.default_rng(0)
    words = " ".join(GERMAN).split()
    return [" ".join(rng.choice(words, 10, replace=False)) for _ in range(n)]


def chosen(run, path, texts):
    path.write_text("\n".join(texts))
    summary = json.loads(run("parts", path, "-k", "auto", "--json").out)
    return summary, {one["finding"]: one for one in summary["findings"]}


def test_copies_do_not_raise_the_number_of_topics_and_are_counted(run, tmp_path):
    texts = planted(0)
    summary, found = chosen(run, tmp_path / "copies.txt", texts + [texts[0]] * COPIES + [texts[1]] * COPIES)
    assert summary["parts"] == 4
    assert f"{2 * COPIES} repetitions left out of the fit" in found["documents with the same text"]["remedy"]
    assert sum(topic["documents"] for topic in summary["topics"]) > 300  # they are counted


def test_a_few_documents_in_another_language_do_not_raise_the_number_of_topics(run, tmp_path):
    texts = [f"the {text} was of it and this" for text in planted(1)]
    summary, found = chosen(run, tmp_path / "mixed.txt", texts + german(50))
    assert summary["parts"] == 4
    detail = found["documents in another language"]["detail"]
    assert "50 of 350 documents are in German" in detail
    assert "Topics and their number come from the others." in detail
    assert "in another language than most" in found["documents without a topic"]["detail"]
    assert "-k" not in found["documents without a topic"]["remedy"]  # more topics would not be for them


@pytest.mark.parametrize(("stop_words", "number"), [("english", 50), ("english,german", 0)])
def test_languages_whose_stop_words_are_left_out_are_wanted(stop_words, number):
    aside = set_aside(count_words(mixed(50), stop_words=stop_words))
    assert (aside.languages == "german").sum() == 50
    assert aside.foreign.sum() == number


def test_many_documents_in_another_language_and_few_words_that_repeat_are_fitted():
    texts = mixed(50)
    assert not set_aside(count_words(texts[:350:7] + texts[350:])).foreign.any()
    titles = ["red car", "blue car", "red bike", "blue bike"] * 20
    assert set_aside(count_words(titles, max_df=1.0)).used.all()
    assert set_aside(count_words(["slow red car race", "fast blue bike tour"] * 20, max_df=1.0)).used.all()
