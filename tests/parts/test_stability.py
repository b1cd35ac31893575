"""Stability of topics: the figure is about the documents, not about how halves of them were fitted."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact import ANDNMF
from rectifact.parts.matching import agreement, agreement_apart
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
