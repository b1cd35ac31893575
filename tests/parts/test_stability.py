"""Stability of topics: the figure is about the documents, not about how halves of them were fitted."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact import ANDNMF
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.parts.documents import count_words
from rectifact.parts.matching import agreement, agreement_apart
from rectifact.parts.refinement import nonnegative_fit
from rectifact.parts.siblings import divided_again, pairs_alike
from rectifact.selection import assess


def corpus(n_topics, n_documents=500, seed=1):
    """Documents of 60 words each, about one topic or a few, weighted as the command line weights them."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(600, 0.03), size=n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1), size=n_documents)
    counts = np.stack([rng.multinomial(60, mixture / mixture.sum()) for mixture in shares @ topics])
    return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, counts.sum(axis=0) > 1]))


def fitted(X, k, seed=0):
    return ANDNMF(k, refine="nonnegative", random_state=seed).fit(X)


def stability(model, X):
    return assess(model, X).stability


def test_stability_is_the_same_for_the_same_topics_whatever_the_seed():
    X = corpus(10)
    models = [fitted(X, 8, seed) for seed in range(4)]
    same = [model for model in models if np.allclose(model.components_, models[0].components_, atol=1e-3)]
    assert len(same) > 1
    figures = [stability(model, X) for model in same]
    np.testing.assert_allclose(figures, np.broadcast_to(figures[0], np.shape(figures)), atol=0.01)


def test_topics_that_a_plain_factorization_finds_in_both_halves_are_stable():
    X = corpus(10)
    model = fitted(X, 8)
    found = np.ones(8, bool)
    for split in range(3):
        half = np.random.default_rng(split).permutation(X.shape[0]) % 2 == 0
        one, other = (_plain(X[rows], model.components_) for rows in (half, ~half))
        found &= _cosines(one, other) > 0.75
    assert found.sum() >= 3
    assert stability(model, X)[found].min() >= 0.6


def _plain(X, H):
    start = np.asarray(H)
    W = np.maximum(X @ np.linalg.pinv(start), 1e-6)
    return NMF(len(start), init="custom", max_iter=300).fit(X, W=W, H=start.copy()).components_


def _cosines(one, other):
    return (one * other).sum(axis=1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))


def test_a_topic_too_many_is_not_stable_and_the_planted_ones_are():
    X = corpus(6)
    assert stability(fitted(X, 6), X).min() > 0.8
    assert (stability(fitted(X, 7), X) < 0.6).sum() in (1, 2)  # chance divides one of them


def test_topics_of_noise_are_not_stable():
    rng = np.random.default_rng(0)
    X = sp.csr_array(TfidfTransformer().fit_transform(rng.poisson(0.1, (400, 200))))
    assert stability(fitted(X, 5), X).max() < 0.4


@pytest.mark.parametrize("k", [1, 3])
def test_agreement_apart_projects_as_the_plain_form_does(k):
    rng = np.random.default_rng(0)
    one = rng.random((k, 20))
    other = one + 0.2 * rng.random((k, 20))
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    expected = []
    for i in range(k):
        rest = np.delete((a + b) / 2, i, axis=0)
        left = [row[i] - np.linalg.pinv(rest) @ (rest @ row[i]) if k > 1 else row[i] for row in (a, b)]
        left = [row / np.linalg.norm(row) for row in left]
        expected.append(1 - np.linalg.norm(left[0] - left[1]) / 2)
    np.testing.assert_allclose(agreement_apart(one, other), np.minimum(agreement(one, other), expected))


def even_texts(seed, n_subjects=5, n_words=14, n_texts=900, length=25):
    """Texts on subjects, the first of them the largest, each with words that are drawn evenly."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n_subjects + 1) ** 0.5
    subjects = rng.choice(n_subjects, size=n_texts, p=share / share.sum())
    words = rng.integers(n_words, size=(n_texts, length))
    return [" ".join(f"word{chr(97 + i)}{chr(97 + j)}" for j in own) for i, own in zip(subjects, words, strict=True)]


def topics_by_subject(X, columns, k):
    """Stability of each topic, and whether another one has the same subject."""
    model = fitted(X, k)
    own = [columns[i][4] for i in model.components_.argmax(axis=1)]
    return stability(model, X), np.array([own.count(one) > 1 for one in own])


@pytest.mark.parametrize("seed", range(4))
def test_a_subject_that_was_divided_at_random_has_no_stable_topics_though_halves_that_start_alike_end_alike(seed):
    counted = count_words(even_texts(seed), weighting="log", max_df=1.0)
    right, _ = topics_by_subject(counted.X, counted.columns, 5)
    assert right.min() > 0.8
    for k in (7, 8):
        found, divided = topics_by_subject(counted.X, counted.columns, k)
        assert found[divided].max() < 0.7
        assert found[divided].mean() < 0.6
        assert found[~divided].min() > 0.8


def test_parts_that_are_alike_and_real_come_back_from_another_division():
    rng = np.random.default_rng(0)
    H = np.array([[3.0, 3, 3, 1, 0, 0, 0], [0, 0, 3, 3, 3, 0, 0], [0, 0, 0, 0, 0, 3, 2]])
    assert pairs_alike(H) == [(0, 1)]
    X = operand(rng.dirichlet([0.3] * 3, size=300) @ H)

    def fit(start):
        W = np.full((300, len(start)), 0.3)
        return nonnegative_fit(X, W, start, monitor=Monitor(400, tol=1e-9))

    again = divided_again(fit, fit(H), np.random.default_rng(1))
    np.testing.assert_allclose(_cosines(again.H, H), 1, atol=0.02)


def test_one_part_has_none_that_is_like_it():
    assert pairs_alike(np.ones((1, 3))) == []
