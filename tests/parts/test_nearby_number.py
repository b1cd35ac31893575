"""A number of topics that is given and too small or too large is noticed, and the right one is not."""

import json

import numpy as np
import pytest

from parts.test_stability import even_texts
from rectifact.parts.alike import alike_topics
from rectifact.parts.documents import count_words
from rectifact.parts.nearby_number import better_number


def subjects(seed, n=400, k=8, words=9):
    """Short texts on so many subjects, with general words among their own."""
    rng = np.random.default_rng(seed)
    letters = "abcdefgh"[:k]
    rarity = [1 / np.arange(1, m + 1) ** 0.7 for m in (30, 200)]
    texts = []
    for i in range(n):
        own = rng.choice(30, size=words - words // 3, p=rarity[0] / rarity[0].sum())
        others = rng.choice(200, size=words // 3, p=rarity[1] / rarity[1].sum())
        texts.append(" ".join([*(f"{letters[i % k]}word{j}" for j in own), *(f"zword{j}" for j in others)]))
    return texts


@pytest.mark.parametrize("seed", range(3))
def test_too_few_topics_are_noticed_and_the_right_number_is_not(seed):
    X = count_words(subjects(seed), weighting="log").X
    assert [better_number(X, k) for k in (6, 7, 8)] == [8, 8, 0]


@pytest.mark.parametrize("seed", range(3))
def test_random_words_have_no_better_number(seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"word{j}" for j in rng.choice(300, size=12)) for _ in range(400)]
    X = count_words(texts, weighting="log").X
    assert [better_number(X, k) for k in (2, 4, 8)] == [0, 0, 0]


def test_the_command_names_the_better_number_everywhere(run, tmp_path):
    file, page = tmp_path / "answers.txt", tmp_path / "page.html"
    file.write_text("\n".join(subjects(0)))
    said = run("parts", file, "-k", 6, "--json", "--report", page)
    found = {one["finding"]: one for one in json.loads(said.out)["findings"]}["a better number of topics"]
    assert "8 topics predict held-out words clearly better than 6 do" in found["detail"]
    assert found["remedy"] == "Compare with -k 8, or let the data choose with -k auto."
    assert found["detail"] in said.err
    assert "a better number of topics" in page.read_text()


def test_a_number_that_suits_the_texts_is_left_alone(run, tmp_path):
    (tmp_path / "answers.txt").write_text("\n".join(subjects(0)))
    found = json.loads(run("parts", tmp_path / "answers.txt", "-k", 8, "--json").out)["findings"]
    assert "a better number of topics" not in {one["finding"] for one in found}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [6, 9, 15])
def test_topics_too_many_are_noticed_however_many_and_those_that_share_their_words_are_named(run, tmp_path, seed, k):
    (tmp_path / "texts.txt").write_text("\n".join(even_texts(seed)))
    found = {
        one["finding"]: one
        for one in json.loads(run("parts", tmp_path / "texts.txt", "-k", k, "--max-df", 1.0, "--json").out)["findings"]
    }
    assert found["a better number of topics"]["remedy"] == "Compare with -k 5, or let the data choose with -k auto."
    assert "of their words in common" in found["topics that are much alike"]["detail"]


@pytest.mark.parametrize("seed", range(3))
def test_the_number_that_was_planted_needs_no_word(run, tmp_path, seed):
    (tmp_path / "texts.txt").write_text("\n".join(even_texts(seed)))
    found = json.loads(run("parts", tmp_path / "texts.txt", "-k", 5, "--max-df", 1.0, "--json").out)["findings"]
    assert {one["severity"] for one in found} == {"note"}


def test_several_groups_of_topics_that_are_alike_are_all_named():
    found = alike_topics(np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 1.0]]))[0]
    assert found.detail.startswith("Topics 1 and 2; topics 3 and 4 are much alike: topics 3 and 4 have 83%")
    assert alike_topics(np.eye(3)) == []
