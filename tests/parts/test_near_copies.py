"""Texts that repeat each other: templates with slots, signatures, and what is neither."""

import numpy as np
import pytest

from rectifact.parts.near_copies import copied, likeness, near_copies, repeated_phrases

THINGS = ["elevator", "parking", "canteen", "library", "printer", "heating", "garden"]
TOWNS = ["Berlin", "Hamburg", "Munich", "Cologne", "Dresden", "Leipzig"]
STATES = ["broken", "clean", "noisy", "crowded", "friendly", "slow", "closed"]
TEMPLATES = [
    "The {} in {} was {} when I visited it last week",
    "Please fix the {} near the station of {} because it is {}",
    "Staff at the desk told me that the {} of {} would be {} soon",
]
SIGNATURE = "Anna Schmidt, Head of Customer Care, Harbour Street"


def filled(seed, n=200):
    rng = np.random.default_rng(seed)
    return [
        TEMPLATES[i % 3].format(rng.choice(THINGS), rng.choice(TOWNS), rng.choice(STATES))
        for i in rng.integers(3, size=n)
    ]


def chance(seed, n=200, words=300, length=12):
    rng = np.random.default_rng(seed)
    return [" ".join(f"word{i}" for i in rng.integers(words, size=length)) for _ in range(n)]


def test_templates_are_recognised_and_counted():
    texts = filled(0)
    (found,) = near_copies(texts, 9)
    assert f"{len(set(texts))} of 200 documents have nearly the same text" in found.detail
    assert "about 3 templates" in found.detail
    assert "-k 3" in found.command
    (found,) = near_copies(texts, 3)
    assert "-k" not in found.command  # it is what was done


@pytest.mark.parametrize("words", [15, 300])
def test_texts_with_the_same_words_in_another_order_are_no_copies(words):
    assert near_copies(chance(0, words=words)) == []


def test_exact_copies_and_short_answers_are_not_near_copies():
    assert near_copies(chance(0, 20) * 10) == []
    assert near_copies(["very good", "very bad", "not good", "good", "bad"] * 20) == []
    assert near_copies([]) == []


def test_likeness_is_the_longest_common_subsequence():
    def by_table(one, other):
        table = np.zeros((len(one) + 1, len(other) + 1))
        for i, a in enumerate(one):
            for j, b in enumerate(other):
                table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
        return 2 * table[-1, -1] / (len(one) + len(other))

    rng = np.random.default_rng(0)
    for _ in range(50):
        one, other = (tuple(rng.choice(list("abcde"), size=rng.integers(1, 90))) for _ in range(2))
        assert likeness(one, other) == pytest.approx(by_table(one, other))


def test_signatures_are_named_where_they_make_a_topic():
    texts = [f"{text}\n--\n{SIGNATURE}" if i % 5 == 0 else text for i, text in enumerate(chance(0))]
    signature = ["anna", "schmidt", "head", "customer", "care", "harbour", "street"]
    (found,) = copied(texts, [["word1", "word2", "word3"], signature])
    assert found.finding == "phrases that many documents repeat"
    assert "Topic 2 consists of a phrase" in found.detail
    assert "'anna schmidt head of customer care harbour street' (40 documents)" in found.detail
    assert copied(texts, [["word1", "word2", "word3"], ["word4", "care", "word5"]]) == []
    assert repeated_phrases(chance(0), [["word1", "word2"]]) == []
