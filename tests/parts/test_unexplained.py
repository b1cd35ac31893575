"""Documents that the topics hardly explain: a subject without a topic is named, and nothing is where all have one."""

import numpy as np
import pytest

from rectifact import ANDNMF
from rectifact.parts.documents import count_words
from rectifact.parts.topics import relative_residuals
from rectifact.parts.unexplained import hardly_explained, missing_subject

SIZES = [0.25, 0.2, 0.18, 0.16, 0.13, 0.08]
"""Shares of six subjects; their words begin with a to f, and words that all documents may have with z."""


def survey(seed, n=500):
    rng = np.random.default_rng(seed)
    subjects = [[f"{letter}word{i}" for i in range(30)] for letter in "abcdef"]
    general = [f"zword{i}" for i in range(150)]
    rarity = [1 / np.arange(1, m + 1) ** 0.8 for m in (30, 150)]
    texts = []
    for subject in rng.choice(6, size=n, p=SIZES):
        own = rng.choice(subjects[subject], size=rng.integers(3, 8), p=rarity[0] / rarity[0].sum())
        others = rng.choice(general, size=rng.integers(3, 10), p=rarity[1] / rarity[1].sum())
        texts.append(" ".join([*own, *others]))
    return texts


def subject_of(corpus, k):
    model = ANDNMF(k, refine="nonnegative", random_state=0).fit(corpus.X)
    residual = relative_residuals(model, corpus.X, model.transform(corpus.X))
    return residual, missing_subject(model, corpus.X, residual, corpus.columns)


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_a_subject_without_a_topic_is_named_with_a_number_that_has_one(seed):
    corpus = count_words(survey(seed), weighting="log")
    residual, subject = subject_of(corpus, 5)
    assert (residual >= 0.99).mean() < 0.1  # fewer than the warning about all such documents asks for
    assert all(word.startswith("f") for word in subject.words[:3])
    (finding,) = hardly_explained(residual, subject)
    assert f"{(residual >= 0.99).sum()} of 500 documents are hardly explained" in finding.detail
    assert finding.command == f"Give -k {subject.number}, which has a topic for {', '.join(subject.words[:3])}."
    more = ANDNMF(subject.number, refine="nonnegative", random_state=0).fit(corpus.X)
    leading = ["".join(corpus.columns[j][0] for j in np.argsort(-part)[:10]) for part in more.components_]
    assert max(letters.count("f") for letters in leading) >= 7


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_nothing_is_missing_where_every_subject_has_a_topic(seed):
    corpus = count_words(survey(seed), weighting="log")
    for k in (6, 8):
        residual, subject = subject_of(corpus, k)
        assert subject is None
        assert hardly_explained(residual, subject) == []


def test_words_without_a_subject_are_not_taken_for_one():
    """Documents of words drawn at random are hardly explained, and have nothing in common."""
    rng = np.random.default_rng(0)
    others = [f"qword{i}" for i in range(300)]
    texts = [text for text in survey(20) if "fword" not in text]
    texts += [" ".join(rng.choice(others, 8)) for _ in range(40)]
    residual, subject = subject_of(count_words(texts, weighting="log"), 5)
    assert (residual >= 0.99).sum() >= 30
    assert subject is None
