"""Findings about parts: each is made once by data that deserves it, and not by data that does not."""

import re

import numpy as np
import pandas as pd
import pytest

from rectifact import ANDNMF, PurificationNMF
from rectifact.core.errors import FitWarning, InputTypeError
from rectifact.datasets import make_neurons, make_signatures, make_spectra, make_topics
from rectifact.parts.conditions import (
    constant_sum_error,
    correlation_conditions,
    decay_order,
    independence_conditions,
)
from rectifact.parts.diagnosis import background_share, diagnose
from rectifact.parts.terms import TOPICS

GOOD = {"sum_error": 0.5, "nonnegative": True, "independent": False}


def weights(n=500, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n, k)) < 0.4) * rng.random((n, k))


def names(findings):
    return [found.finding for found in findings]


def test_good_data_gets_a_note():
    assert names(diagnose(weights(), np.eye(3), **GOOD)) == ["parts can be told apart"]


@pytest.mark.parametrize(
    ("W", "H", "options", "expected"),
    [
        (weights(), np.eye(3), {"sum_error": 0.01}, ("note", "weights sum to one")),
        (weights(), np.eye(3), {"sum_error": 0.01, "independent": True}, ("problem", "weights sum to one")),
        (
            weights()[:, [0, 0, 1]] + 0.001 * weights(seed=1),
            np.eye(3),
            {},
            ("warning", "parts that always occur together"),
        ),
        (
            weights()[:, [0, 0, 1]] + weights(seed=1),
            np.eye(3),
            {"independent": True},
            ("warning", "weights are not independent"),
        ),
        (weights() + np.array([0, 0, 1]), np.eye(3), {}, ("warning", "parts that are never absent")),
        (weights() * [1, 1, 1e-6], np.eye(3), {}, ("warning", "parts that carry almost nothing")),
        (weights(), np.eye(3) - 0.2, {}, ("warning", "negative parts")),
        (weights(), np.eye(3), {"noisy_samples": 0.9}, ("note", "many samples are mostly noise")),
        (
            weights(),
            np.eye(3),
            {"other_halves": (np.eye(3), np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]]))},
            ("warning", "parts that two halves do not share"),
        ),
    ],
)
def test_a_finding(W, H, options, expected):
    found = diagnose(W, H, **(GOOD | options))
    assert expected in [(one.severity, one.finding) for one in found]


def test_a_stability_that_was_measured_is_the_one_that_counts():
    other = {"other_halves": (np.eye(3), np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]]))}
    found = diagnose(weights(), np.eye(3), **GOOD, **other, stability=np.array([0.9, 0.65, 0.8]))
    assert "parts that two halves do not share" not in names(found)
    found = diagnose(weights(), np.eye(3), **GOOD, stability=np.array([0.9, 0.3, 0.8]))
    weak = next(one for one in found if one.finding == "parts that two halves do not share")
    assert "agree on 2 of 3 parts. Part 2 (0.30) has a stability below 0.6" in weak.detail
    assert "ower -k" not in weak.command


def test_a_single_part_is_not_one_too_many():
    found = diagnose(weights(k=1), np.eye(1), **GOOD, stability=np.array([0.2]))
    weak = next(one for one in found if "two halves" in one.finding)
    assert "number" not in weak.command
    assert "-k" not in weak.command


def test_a_stability_is_judged_as_it_is_shown():
    found = diagnose(weights(), np.eye(3), **GOOD, stability=np.array([0.9, 0.597, 0.9]))
    assert "two halves" not in " ".join(names(found))
    found = diagnose(weights(), np.eye(3), **GOOD, stability=np.array([0.9, 0.594, 0.9]))
    assert "Part 2 (0.59) has a stability below 0.6" in next(one for one in found if "two halves" in one.finding).detail


def two_words_each(k):
    return np.hstack([np.eye(k), np.eye(k)])


def test_a_topic_without_a_subject():
    W, H = weights() * [8, 1, 1], two_words_each(3)
    found = diagnose(W, H, **GOOD, coherence=np.array([0.08, 0.6, 0.6]), terms=TOPICS)
    junk = next(one for one in found if one.finding == "a topic without a subject")
    assert re.match(r"Topic 1 holds \d\d% of the corpus, and its largest words rarely occur together", junk.detail)
    for coherence in ([0.4, 0.0, 0.6], [0.5, 0.5, 0.5]):
        found = diagnose(W, H, **GOOD, coherence=np.array(coherence), terms=TOPICS)
        assert "a topic without a subject" not in names(found)


def test_a_topic_without_a_subject_next_to_others_that_have_one():
    W, H = np.repeat(np.eye(8), 20, axis=0) * ([6] + [1] * 7), two_words_each(8)
    found = diagnose(W, H, **GOOD, coherence=np.array([0.2] + [0.5] * 7), terms=TOPICS)
    junk = next(one for one in found if one.finding == "a topic without a subject")
    assert "Topic 1 holds 46% of the corpus" in junk.detail
    assert "a coherence of 0.20, where 0 is chance and the median of the other topics is 0.50" in junk.detail
    for other, lowest in ((W, 0.3), (W / [4] + [1] * 8, 0.2)):  # coherent enough; of the size of the others
        found = diagnose(other, H, **GOOD, coherence=np.array([lowest] + [0.5] * 7), terms=TOPICS)
        assert "a topic without a subject" not in names(found)


def test_in_short_texts_a_rest_is_named_only_next_to_coherent_topics():
    W, H = np.repeat(np.eye(8), 20, axis=0) * ([1.2] + [1] * 7), two_words_each(8)
    for others, named in ((0.55, True), (0.1, False), (-0.3, False)):
        coherence = np.array([-0.12 if named else -0.5] + [others] * 7)
        found = names(diagnose(W, H, **GOOD, coherence=coherence, short=True, terms=TOPICS))
        assert ("a topic without a subject" in found) is named


def test_a_topic_without_a_subject_need_not_hold_much_of_the_corpus():
    """A rest of several topics that is a little larger than the others, or topics of words that avoid each other."""
    W, H = np.repeat(np.eye(5), 20, axis=0) * [1.6, 1, 0.8, 0.8, 0.4], two_words_each(5)
    found = diagnose(W, H, **GOOD, coherence=np.array([0.08, 0.47, 0.53, 0.5, 0.49]), terms=TOPICS)
    junk = next(one for one in found if one.finding == "a topic without a subject")
    assert "Topic 1 holds 35% of the corpus" in junk.detail
    found = diagnose(W, H, **GOOD, coherence=np.array([0.1, 0.05, -0.2, -0.3, -0.4]), terms=TOPICS)
    junk = next(one for one in found if one.finding == "topics without a subject")
    assert "Topics 3 (-0.20), 4 (-0.30) hold 35% of the corpus" in junk.detail  # the fifth is tiny
    assert "the median of the other topics is 0.05" in junk.detail
    found = diagnose(W, H, **GOOD, coherence=np.array([0.2, 0.47, 0.53, 0.1, 0.0]), terms=TOPICS)  # mixed, small, tiny
    assert "without a subject" not in " ".join(names(found))


def test_a_finding_about_unstable_parts_has_the_range_of_the_splits():
    ends = np.array([[0.8, 0.9], [0.1, 0.5], [0.7, 0.9]])
    found = diagnose(weights(), np.eye(3), **GOOD, stability=np.array([0.9, 0.3, 0.8]), stability_range=ends)
    weak = next(one for one in found if one.finding == "parts that two halves do not share")
    assert "Part 2 (0.30, 0.10 to 0.50 by split) has a stability below 0.6" in weak.detail


def test_conditions_against_their_definition():
    W = weights()
    x = W / W.max(axis=0)
    moments = np.einsum("ni,nj->ij", x, x) / len(x)
    found = correlation_conditions(W)
    D, k = 3, found["k"]
    assert np.diag(moments).max() == pytest.approx(2 * k / D)
    assert moments[~np.eye(D, dtype=bool)].max() == pytest.approx(found["m"] / D**2)
    assert np.linalg.eigvalsh(moments - k / D * found["lambda"] * np.eye(D))[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("order", [1.0, 3.0, np.inf])
def test_the_order_of_decay_is_found(order):
    W = make_topics("independent", n_samples=50_000, n_features=5, n_topics=4, sparsity=2, order=order).weights
    assert decay_order(W) == pytest.approx(order, rel=0.15)
    assert decay_order(np.maximum(W, 1e-3)) < 0.2  # small weights everywhere


def test_assumptions_of_purification_against_their_definition():
    rng = np.random.default_rng(0)
    W = (rng.random((30_000, 4)) < [0.1, 0.2, 0.2, 0.4]) * rng.random((30_000, 4))
    H = np.kron(np.eye(4), [3.0, 1.0])
    found = independence_conditions(W * [1, 2, 3, 4], H)
    assert [found["C1"], found["c2"], found["C2"]] == pytest.approx([4 * 0.4 / 2, 4 * 0.1 / 3, 4 * 0.4 / 3], rel=0.1)
    assert found["balance"] == pytest.approx(found["C2"] / found["c2"])
    assert found["crowding"] == pytest.approx(found["C1"] ** 3 / found["c2"] ** 2 / 4)
    assert found["correlation"] < 0.03
    assert found["constant sum"] > 0.2
    assert found["independence of parts"] == pytest.approx(1)
    assert found["inverse"] == pytest.approx((3 + 1) * (3 + 1) / (3**2 + 1))
    assert independence_conditions(W, H[[0, 1, 2, 2]])["independence of parts"] < 1e-8


def test_purification_says_whether_its_assumptions_hold():
    purification = GOOD | {"independent": True}
    assert "assumptions of Purification" in names(diagnose(weights(), np.eye(3), **purification))
    almost = np.eye(3)[[0, 1, 0]] + 1e-6 * np.eye(3)
    assert "parts are nearly dependent" in names(diagnose(weights(), almost, **purification))
    assert "assumptions of Purification" not in names(diagnose(weights(), np.eye(3), **GOOD))


def test_purification_says_that_weights_sum_to_one():
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), 2000) @ rng.random((4, 30))
    with pytest.warns(FitWarning, match="add up to a constant"):
        model = PurificationNMF(4, random_state=0).fit(X)
    table = model.diagnose(X)
    assert table["severity"][0] == "problem"
    assert table["finding"][0] == "weights sum to one"
    assert list(table.columns) == ["severity", "finding", "detail", "remedy"]


def test_too_many_parts_are_not_shared_by_halves():
    data = make_topics("ctm", n_samples=600, n_features=50, n_topics=4)
    assert "parts that two halves do not share" not in set(
        ANDNMF(4, random_state=0).fit(data.X).diagnose(data.X)["finding"]
    )
    noisy = make_spectra(600, 50, 4, snr=20)
    assert "parts that two halves do not share" in set(
        ANDNMF(8, random_state=0).fit(noisy.X).diagnose(noisy.X)["finding"]
    )


def test_constant_sums_survive_scales_and_noise():
    data = make_spectra(500, 60, 4, snr=30)
    U, s, _ = np.linalg.svd(data.X, full_matrices=False)
    assert constant_sum_error((U * s)[:, :4]) < 0.05
    assert constant_sum_error((U * s)[:, :4] * np.random.default_rng(0).random((500, 1))) > 0.2


def test_linear_decoding_reconstructs_and_constant_steps_take_given_constants():
    rng = np.random.default_rng(0)
    H = rng.random((3, 20))
    X = (rng.random((5000, 3)) < 0.3) * rng.random((5000, 3)) @ H
    model = PurificationNMF(3, decode="linear", random_state=0).fit(X)
    assert np.linalg.norm(model.inverse_transform(model.transform(X)) - X) < 0.01 * np.linalg.norm(X)
    stream = PurificationNMF(3, init=H, step=0.1, step_decay=False, gain=2.0, threshold=0.01, unit="absolute")
    stream.partial_fit(X[:2500])
    W = np.maximum(X[:2500] @ np.linalg.pinv(H) - 0.01, 0)
    covariance = (W - W.mean(axis=0)).T @ X[:2500] / 2500
    np.testing.assert_allclose(stream.components_, 0.9 * H + 0.1 * 2.0 * 2 * covariance, rtol=1e-8)
    again = stream.components_
    stream.partial_fit(X[2500:])
    W = np.maximum(X[2500:] @ np.linalg.pinv(again) - 0.01, 0)
    covariance = (W - W.mean(axis=0)).T @ X[2500:] / 2500
    np.testing.assert_allclose(stream.components_, 0.9 * again + 0.1 * 2.0 * 2 * covariance, rtol=1e-8)


def test_a_constant_threshold_settles():
    rng = np.random.default_rng(0)
    X = (rng.random((800, 4)) < 0.3) @ rng.random((4, 30))
    model = ANDNMF(4, threshold=0.3, threshold_decay=1, normalize=None, refine=None, random_state=0).fit(X)
    assert model.converged_
    assert model.reconstruction_err_ < 1e-6 * np.linalg.norm(X)


def planted(seed):
    """Samples whose parts are often absent, of many kinds, and their number of parts."""
    rng = np.random.default_rng(seed)
    made = (
        lambda: make_signatures(200, random_state=seed),
        lambda: make_spectra(300, 40, 4, random_state=seed),
        lambda: make_neurons(300, 5, side=10, background=0, random_state=seed),
        lambda: make_topics("ctm", n_samples=300, n_features=40, n_topics=5, random_state=seed),
        lambda: make_topics("dir", n_samples=300, n_features=40, n_topics=5, random_state=seed),
    )[seed % 5]()
    sizes = 1.0 if seed % 5 == 0 else rng.gamma(4, 0.25, (len(made.X), 1))
    return made.X * sizes, len(made.components)


@pytest.mark.parametrize("seed", range(20))
def test_a_background_is_seen_where_there_is_one(seed):
    X, k = planted(seed)
    assert background_share(X, k) == 0
    offset = X.mean() * 2 * np.random.default_rng(seed).random(X.shape[1])
    assert background_share(X + offset, k) > 0.1


def test_a_table_with_names_is_diagnosed_without_a_warning(recwarn):
    X = pd.DataFrame(make_spectra(100, 12, 3).X).rename(columns="band{}".format)
    ANDNMF(3, random_state=0).fit(X).diagnose(X)
    assert not [str(warning.message) for warning in recwarn if "feature names" in str(warning.message)]


def test_the_finding_names_the_parameter():
    frames = make_neurons(300, 4, side=10)
    finding = "a constant background is likely"
    table = ANDNMF(4, random_state=0).fit(frames.X).diagnose(frames.X, halves=False).set_index("finding")
    assert "background=True" in table.loc[finding, "remedy"]
    apart = ANDNMF(4, background=True, random_state=0).fit(frames.X)
    assert finding not in set(apart.diagnose(frames.X, halves=False)["finding"])


def test_findings_on_texts_speak_of_topics_and_options():
    W = weights() + np.array([0, 0, 1])
    W[0] = 0
    halves = np.eye(3), np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]])
    told = diagnose(W, np.eye(3) - 0.2, **GOOD | {"noisy_samples": 0.9}, other_halves=halves, terms=TOPICS)
    assert "many documents are mostly noise" not in names(told)
    for found in told:
        sentence = " ".join([found.finding, found.detail, found.command or found.remedy])
        assert not re.search(r"\b(parts?|samples?|features?|n_components|lambda)\b|=True", sentence), sentence


def test_a_diagnosis_asks_for_the_samples():
    model = ANDNMF(2, random_state=0).fit(np.random.default_rng(0).random((20, 5)))
    with pytest.raises(InputTypeError, match=r"does not keep its samples. Give them: model.diagnose\(X\)"):
        model.diagnose()
