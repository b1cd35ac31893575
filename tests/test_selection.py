"""The number that is chosen, why, and how far what was found can be trusted."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact import ANDNMF, NMD, DawidSkene, InputError, LogisticPCA, PurificationNMF, SymNMF
from rectifact.core.errors import FitWarning
from rectifact.core.monitor import NotConverged
from rectifact.datasets import MissingDataset, load_jasper, make_block_model, make_signatures, make_spectra, make_topics
from rectifact.graph.how_many import edge_gains
from rectifact.graph.overlaps import matched_overlaps
from rectifact.graph.splits import drawn_edges, hold_out
from rectifact.latent.filling import compare_with_means
from rectifact.latent.how_many import PREDICTED, LatentTrial
from rectifact.metrics import part_errors
from rectifact.parts.directions import FOLDS, directions_above_noise, predicted_shares
from rectifact.parts.documents import count_words
from rectifact.parts.how_many import PartsTrial, _rungs
from rectifact.parts.matching import agreement, matched_cosines
from rectifact.selection import assess, select
from rectifact.selection.choice import _reason
from rectifact.selection.communities import otherwise
from rectifact.selection.search import MOST_TRIED, Curve, climb


def relu(rank: int, seed: int = 0, *, binary: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((200, rank)) @ rng.standard_normal((rank, 60)) / rank**0.5
    theta += 0.1 * rng.standard_normal(theta.shape)
    return (theta > 0) * 1.0 if binary else np.maximum(theta, 0)


def table_with_gaps(seed: int, k: int = 3, d: int = 8) -> Any:
    """Columns in different units, each with its own noise, and cells that are missing."""
    rng = np.random.default_rng(seed)
    units = np.array([90.0, 40, 2, 1.2, 4, 80, 6, 60])[:d]
    Z = rng.standard_normal((200, k)) @ rng.standard_normal((k, d)) + 0.4 * rng.standard_normal((200, d))
    X = units * (4.5 + Z)
    X[rng.random(X.shape) < 0.15] = np.nan
    return np.maximum(X, 0)


def orders(seed: int, groups: int = 4) -> Any:
    """How often customers of some groups bought what theirs or others buy."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(groups, size=(300, 1)), rng.integers(groups, size=80)
    bought = rng.random((300, 80)) < np.where(rows == columns, 0.28, 0.03)
    return bought * (rng.poisson(1.2, bought.shape) + 1.0)


def blocks(k: int = 6) -> sp.csr_array:
    return make_block_model(400, k, mixing=0.2).adjacency


PLANTED = {
    "topics": (ANDNMF(1, random_state=0), make_topics(n_samples=400, n_features=60, n_topics=6).X, 6),
    "signed": (ANDNMF(1, random_state=0), make_topics("neg-dir", n_samples=400, n_features=60, n_topics=6).X, 6),
    "counts": (ANDNMF(1, random_state=0), make_signatures(200, n_signatures=4).X, 4),
    "relu": (NMD(1, n_jobs=1, random_state=0), relu(4), 4),
    "binary": (NMD(1, n_jobs=1, random_state=0), relu(3, binary=True), 3),
    "logistic": (LogisticPCA(1, random_state=0), relu(2, binary=True), 2),
    "graph": (SymNMF(1, affinity="precomputed", random_state=0), blocks(), 6),
}


@pytest.mark.parametrize("seed", [0, 1])
def test_entries_predicted_better_are_not_called_no_structure(seed: int) -> None:
    X = table_with_gaps(seed)
    found = select(NMD(1, missing=np.nan, n_jobs=1, random_state=0), X, random_state=0)
    assert found.best > 2, found.table
    assert found.measure == PREDICTED
    scores = found.table.set_index("k")["score"]
    assert scores[1] < scores[found.best] <= 1
    compared = compare_with_means(found.estimator, X)
    assert compared is not None
    assert compared.model < 0.8 * compared.columns


@pytest.mark.parametrize("seed", [0, 1])
def test_whatever_the_order_of_rows_noise_is_not_fitted(seed: int) -> None:
    X = np.random.default_rng(seed).permutation(orders(3))
    found = select(NMD(1, n_jobs=1), X, purpose="prediction", random_state=0)
    assert 2 <= found.best <= 5, found.table
    compared = compare_with_means(found.estimator, X)
    assert compared is not None
    assert compared.better


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_dimensions_that_explain_noise_keep_their_prior() -> None:
    X = orders(3)
    assert NMD(24, n_jobs=1, max_iter=5).fit(X).resolved_["prior"] == "factors"
    assert NMD(4, n_jobs=1, max_iter=5).fit(relu(4)).resolved_["prior"] == "rows"


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_number_is_found(name: str) -> None:
    estimator, X, k = PLANTED[name]
    with warnings.catch_warnings(action="ignore", category=NotConverged):  # of the last fit
        found = select(estimator, X, random_state=0)
    assert found.best == k, found.table
    assert str(k) in found.reason
    assert found.estimator.get_params()[("n_clusters" if name == "graph" else "n_components")] == k
    assert found.estimator.stability_.shape == (k,)
    assert found.estimator.stability_.min() > 0.8
    assert list(found.table.columns) == ["k", "score", "standard_error", "stability", "seconds"]
    at_once = isinstance(estimator, ANDNMF)  # all numbers of parts
    assert found.table["seconds"].isna().all() if at_once else (found.table["seconds"] > 0).all()
    row = found.table.set_index("k").loc[k]
    assert row["stability"] == pytest.approx(found.estimator.stability_.mean())
    assert np.isclose(found.table["score"].max(), row["score"], atol=max(row["standard_error"], 1e-3))


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (ANDNMF(1), np.random.default_rng(0).poisson(np.outer(np.arange(1, 201) / 50, np.arange(1, 41) / 10)) * 1.0),
        (NMD(1, n_jobs=1), np.random.default_rng(0).permuted(relu(4), axis=0)),
    ],
    ids=["parts", "latent"],
)
def test_data_without_structure_is_said_to_have_none(estimator: Any, X: Any) -> None:
    with pytest.warns(FitWarning, match="No stable structure"):
        found = select(estimator, X, random_state=0)
    assert found.best == 1
    assert found.reason.startswith("No stable structure")


def test_a_graph_that_does_not_divide_is_one_community() -> None:
    one = "The graph looks like one community: no division of it predicts hidden edges better."
    with pytest.warns(FitWarning, match=one):
        found = select(SymNMF(1, affinity="precomputed"), make_block_model(400, 1).adjacency, random_state=0)
    assert (found.best, found.reason) == (1, one)
    found = select(SymNMF(1, affinity="precomputed"), np.ones((5, 5)) - np.eye(5))
    assert found.reason == "The graph is too small to divide: two communities need at least 8 nodes."


def without_communities() -> dict[str, NDArray[Any]]:
    """Small graphs that nobody would divide: all nodes alike, or one in the middle."""
    sides = np.arange(20) < 10
    cycle = np.roll(np.eye(8), 1, axis=1)
    star = np.zeros((12, 12))
    star[0, 1:] = star[1:, 0] = 1
    cliques = {f"clique of {n}": np.ones((n, n)) - np.eye(n) for n in (6, 8, 12, 30)}
    others = {"star": star, "cycle": cycle + cycle.T, "path": np.eye(5, k=1) + np.eye(5, k=-1)}
    return cliques | others | {"complete bipartite": 1.0 * (sides[:, None] != sides)}


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
@pytest.mark.parametrize("name", without_communities())
def test_a_clique_and_its_like_are_one_community(name: str) -> None:
    found = select(SymNMF(1, affinity="precomputed"), without_communities()[name])
    assert (found.best, found.sure) == (1, True)
    assert found.table["score"][0] == 0  # not 2e-17, as the table would show


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_two_cliques_that_an_edge_joins_are_two_communities() -> None:
    graph = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    graph[9, 10] = graph[10, 9] = 1
    found = select(SymNMF(1, affinity="precomputed"), graph)
    assert (found.best, found.sure) == (2, True)


def test_one_is_not_chosen_where_it_was_not_asked_for() -> None:
    X = np.random.default_rng(0).poisson(2.0, (200, 30)) * 1.0
    with pytest.warns(FitWarning, match="No stable structure.* 3 is the smallest number that was asked for"):
        found = select(ANDNMF(1), X, range(3, 9), random_state=0)
    assert found.best == 3


def test_bi_cross_validation_equals_a_regression_for_each_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((30, 12))
    found = predicted_shares(X, 5, np.random.default_rng(1))
    draws = np.random.default_rng(1)
    half, fold = draws.permutation(30) % 2, draws.permutation(12) % FOLDS
    for i in (0, 7, 29):
        V = np.linalg.svd(X[half != half[i]])[2]
        for k in range(1, 6):
            reduction = 0.0
            for group in range(FOLDS):
                seen, hidden = fold != group, fold == group
                weights = np.linalg.lstsq(V[:k, seen].T, X[i, seen], rcond=None)[0]
                reduction += np.sum(X[i, hidden] ** 2) - np.sum((X[i, hidden] - weights @ V[:k, hidden]) ** 2)
            assert found[i, k] == pytest.approx(reduction / np.mean(np.sum(X**2, axis=1)))
    assert (found[:, 0] == 0).all()


def test_a_direction_that_is_one_feature_predicts_nothing():
    rng = np.random.default_rng(0)
    X = rng.random((200, 3)) @ rng.random((3, 24)) + 0.05 * rng.standard_normal((200, 24))
    X[:, -1] = 0
    X[::20] = 0
    X[::20, -1] = 3  # as a word that is the whole answer
    X[::20, 0] = 0.01 * rng.standard_normal(10)
    scores = predicted_shares(X, 6, np.random.default_rng(0)).mean(axis=0)
    assert (np.diff(scores) > -0.01).all()
    assert scores.argmax() == 4


def test_directions_stand_out_from_the_noise_where_theory_says_they_do() -> None:
    n, d, rng = 400, 100, np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 5)))[0] for size in (n, d))
    limit = (n * d) ** 0.25  # below it, a direction leaves no trace in the singular values of unit noise
    strengths = limit * np.array([9.0, 6.0, 3.0, 1.7, 0.5])
    X = (U * strengths) @ V.T + rng.standard_normal((n, d))
    edge = n**0.5 + d**0.5
    values = np.linalg.svd(X, compute_uv=False)
    count, weakest = directions_above_noise(X, 1, 30, rng)
    assert count == 4 == np.sum(values > edge)
    assert weakest == pytest.approx(values[3] / edge, rel=0.06)
    spread = np.where(np.arange(d) < 30, 1.5, 1.0)  # the edge of white noise would let in noise of some features
    uneven = 2 * (U * strengths) @ V.T + rng.standard_normal((n, d)) * spread / np.mean(spread**2) ** 0.5
    assert directions_above_noise(uneven, 1, 30, rng)[0] == 4 < np.sum(np.linalg.svd(uneven)[1] > edge)
    assert directions_above_noise((U * strengths) @ V.T, 5, 30, rng) == (5, np.inf)
    gradual = rng.standard_normal((n, d)) * 0.8 ** np.arange(d)  # no edge: what was there before is kept
    assert directions_above_noise(gradual, 3, 6, rng)[0] == 3


def test_agreement_lets_expect_the_error_of_parts() -> None:
    rng, truth = np.random.default_rng(0), np.random.default_rng(1).dirichlet(np.full(500, 0.1), 5)
    halves = [truth + 1e-3 * rng.standard_normal(truth.shape) for _ in range(2)]
    errors = np.linalg.norm((halves[0] + halves[1]) / 2 - truth, axis=1) / np.linalg.norm(truth, axis=1)
    np.testing.assert_allclose(1 - agreement(*halves), errors, rtol=0.15)
    alike = 1 + 0.1 * np.eye(5)  # spectra: other ones are not far, and yet they are other ones
    assert agreement(alike, np.roll(alike, 1, axis=0)).max() == 0


def test_stability_is_the_same_wherever_it_is_measured() -> None:
    X = make_topics(n_samples=120, n_features=40, n_topics=4, noise=0.05).X
    model = ANDNMF(5, random_state=0).fit(X)
    found = [assess(model, X, random_state=seed).stability for seed in (0, 1)]
    np.testing.assert_array_equal(*found)
    assert found[0].min() >= 0
    low, high = model.stability_range_.T
    assert (low <= found[0]).all()
    assert (found[0] <= high).all()
    with_figures = model.findings(X)
    vars(model).pop("stability_")
    vars(model).pop("stability_range_")
    assert [one.detail for one in model.findings(X)] == [one.detail for one in with_figures]


def test_parts_that_may_be_hidden_in_noise_make_the_number_unsure() -> None:
    sure, unsure = (make_spectra(300, 60, 4, snr=snr, random_state=1).X for snr in (40, 10))
    found = select(ANDNMF(1, random_state=0), sure, random_state=0)
    assert (found.best, found.sure) == (4, True)
    found = select(ANDNMF(1, random_state=0), unsure, random_state=0)
    assert found.best < 4
    assert not found.sure
    assert "hidden" in found.reason


def test_gains_of_edges_equal_a_loop_over_them() -> None:
    graph, labels = blocks(3), np.random.default_rng(0).integers(-1, 3, size=400)
    split = hold_out(graph, np.random.default_rng(0), 1)[0]
    rest, hidden = split.rest, split.hidden
    found = edge_gains(rest, labels, hidden)
    dense, degrees = rest.toarray(), rest.sum(axis=1)
    chance = np.outer(degrees, degrees) * (1 - np.eye(400))  # no node is joined to itself
    chance *= dense.sum() / chance.sum()
    for e in range(0, len(hidden.data), 50):
        one, other = (labels == labels[place[e]] for place in hidden.coords)
        between = dense[np.ix_(one, other)].sum() + 1
        expected = chance[np.ix_(one, other)].sum() + 1
        assert found[e] == pytest.approx(np.log(between / expected))


def test_hidden_edges_are_those_that_are_left_out() -> None:
    graph = blocks()
    split = hold_out(graph, np.random.default_rng(0), 1, share=0.2)[0]
    rest, hidden = split.rest, split.hidden
    assert (rest != rest.T).nnz == 0
    assert ((rest + hidden + hidden.T) != graph).nnz == 0
    assert len(hidden.data) == round(0.2 * graph.nnz / 2)
    drawn = drawn_edges(graph, np.random.default_rng(0))
    assert drawn.sum() == graph.sum()
    assert ((drawn > 0) > (graph > 0)).nnz == 0


def test_parts_of_zeros_are_not_found_again() -> None:
    H = np.eye(4, 6)
    H[3] = 0
    assert matched_cosines(H, H[[2, 0, 1, 3]]).round(6).tolist() == [1, 1, 1, 0]
    assert matched_overlaps(np.array([0, 0, 1]), np.array([2, 2, 0]), 3).tolist() == [1, 1, 0]


class TwoLevels:
    """Scores of fits that end in a worse place for most numbers: only 3, 4 and 16 reach the better one."""

    parameter, what, measure, most, negligible = "k", ("one", "several"), "score", 40, 0.02
    ladder = LatentTrial.ladder

    def scores(self, k: int) -> Any:
        return np.full(50, {1: 0.0, 2: 0.4}.get(k, 1.0 if k in (3, 4, 16) else 0.7))

    def free(self) -> list[int]:
        return []


def test_fits_that_end_in_a_worse_place_do_not_hide_a_small_number() -> None:
    curve = Curve(TwoLevels(), 1, lambda row: None, None)
    assert climb(curve, 16, range(1, 41)) == 3


@pytest.mark.parametrize("good", [(5, 11, 12, 13), (3, 16), (6, 7, 12, 16), (9, 16)])
def test_numbers_between_those_that_are_always_tried_are_not_passed_over(good: tuple[int, ...]) -> None:
    class Islands(TwoLevels):
        def scores(self, k: int) -> Any:
            return np.full(50, 0.0 if k == 1 else 1.0 if k in good else 0.7)

    curve = Curve(Islands(), 1, lambda row: None, None)
    assert climb(curve, good[-1], range(1, 41)) == good[0]


class Peak:
    """Scores with a known shape, of 200 held-out samples."""

    parameter, what, measure, most, negligible = "k", ("one", "several"), "score", 200, 1e-3
    ladder = ()

    def __init__(self, best: int, *, plateau: bool = False) -> None:
        self.best, self.plateau, self.tried = best, plateau, 0
        self.noise = np.random.default_rng(0).standard_normal(200)
        self.recurrence: dict[int, Any] = {}

    def scores(self, k: int) -> Any:
        self.tried += 1
        distance = max(self.best - k, 0) if self.plateau else abs(self.best - k)
        return self.noise - distance / 10 + 1e-9 * k * self.noise

    def free(self) -> list[int]:
        return []


@pytest.mark.parametrize("plateau", [False, True])
@pytest.mark.parametrize("start", [1, 12, 40])
@pytest.mark.parametrize("best", [2, 12, 19])
def test_the_search_finds_a_peak_or_the_beginning_of_a_plateau(best: int, start: int, plateau: bool) -> None:
    trial = Peak(best, plateau=plateau)
    curve = Curve(trial, None, lambda row: None, None)  # type: ignore[arg-type]
    assert abs(climb(curve, start, range(1, 41)) - best) <= best // 10
    assert trial.tried <= MOST_TRIED


def test_a_dent_at_two_does_not_hide_what_comes_after() -> None:
    class Dent(Peak):
        def scores(self, k: int) -> Any:
            return super().scores(k) - 10 * (1 < k < 4)

    curve = Curve(Dent(12), None, lambda row: None, None)
    assert abs(climb(curve, 1, range(1, 41)) - 12) <= 1


def test_numbers_that_other_hidden_edges_lead_to_are_said() -> None:
    curve = Curve(Peak(2), None, lambda row: None, None)  # type: ignore[arg-type]
    noise = 0.01 * np.random.default_rng(0).standard_normal((20, 30))
    better = np.repeat([0.0, 1.0], 10)[:, None]  # the second round of draws finds 4 groups, the first 2
    curve.scores = {1: noise, 2: noise + 2, 4: noise[::-1] + 2 + better - 0.5}
    assert otherwise(curve, 2) == "Depending on which edges are hidden, it would be 2 to 4."
    curve.scores[4] = noise
    assert otherwise(curve, 2) == ""


def test_the_reason_names_the_rule_that_decided() -> None:
    trial: Any = TwoLevels()
    curve = Curve(trial, 1, lambda row: None, None)
    noise = 0.1 * np.random.default_rng(0).standard_normal(400)
    curve.scores = {1: np.zeros(400), 3: np.full(400, 0.985), 4: np.ones(400), 8: np.full(400, 0.999)}
    assert curve.smallest() == 3
    kept = "3 is the smallest number tried that keeps at least 98% of what the best score, that of 4, gains over one"
    assert _reason(trial, curve, 3, 3, 1) == f"{kept} one: more several gain too little to matter."
    curve.scores[3] = np.full(400, 0.998) + noise - noise.mean()
    assert "cannot be told from the best one" in _reason(trial, curve, 3, 3, 1)


def test_only_the_numbers_that_were_asked_for_are_chosen() -> None:
    estimator, X, _ = PLANTED["relu"]
    with warnings.catch_warnings(action="ignore"):
        found = select(estimator, X, [2, 3, 7], random_state=0)
    assert found.best in (2, 3, 7)
    assert set(found.table["k"]) <= {1, 2, 3, 7, 16}


def test_what_is_chosen_has_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, X, _ = PLANTED["relu"]
    monkeypatch.setattr(LatentTrial, "recurring", lambda *_: 7)
    with warnings.catch_warnings(action="ignore"):
        found = select(estimator, X, random_state=0)
    assert found.best == 7
    assert 7 in set(found.table["k"])


def test_for_prediction_dimensions_need_not_recur(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, X, _ = PLANTED["relu"]
    monkeypatch.setattr(LatentTrial, "recurring", lambda *_: 1)
    monkeypatch.setattr(LatentTrial, "scores", lambda _, k: -np.abs(k - 5.0) * np.ones(9))
    monkeypatch.setattr(LatentTrial, "start", lambda *_: 5)
    with warnings.catch_warnings(action="ignore"):
        found = [select(estimator, X, random_state=0, purpose=purpose).best for purpose in ("structure", "prediction")]
    assert found == [1, 5]
    with pytest.raises(InputError, match="purpose='fun' is unknown"):
        select(estimator, X, purpose="fun")


def texts_of_families(families: int, per_family: int, seed: int = 0) -> list[str]:
    """Texts with words of their family, of one of its three sides, and of all."""
    rng = np.random.default_rng(seed)
    texts = []
    for family in "abcdefghij"[:families]:
        for i in range(per_family):
            own = rng.choice([f"{family}{j}" * 3 for j in range(25)], 14)
            side = rng.choice([f"{family}{i % 3}x{j}" for j in range(12)], 5)
            texts.append(" ".join([*own, *side, *rng.choice([f"common{j}" for j in range(40)], 6)]))
    return texts


@pytest.mark.parametrize("seed", [0, 1])
def test_clear_topics_are_counted_whatever_the_seed(seed: int) -> None:
    """From a start of its own, one half may miss a topic: seeds led to 1 or 7."""
    X = count_words(texts_of_families(7, 30)).X
    found = select(ANDNMF(1, refine="nonnegative", random_state=seed), X, random_state=seed)
    assert found.best == 7
    known = found.table.dropna(subset="stability")["k"].tolist()
    assert set(known) >= {2, 3, 4, 5, 6, 7}


def test_the_number_on_which_halves_agree_best_is_taken() -> None:
    """As on manual pages of eight families: two topics merge them at random, and more than eleven are not stable."""
    trial = PartsTrial(ANDNMF(1), np.eye(300), np.random.default_rng(0))
    means = {2: 0.16, 3: 0.82, 4: 0.82, 5: 0.64, 6: 0.70, 7: 0.75, 8: 0.68, 9: 0.59, 10: 0.64, 11: 0.68, 12: 0.58}
    measured = {k: np.full(3, means.get(k, 0.5 - k / 1000)) for k in range(2, 65)}
    for most in (64, 50, 12):
        trial.recurrence = dict(measured)
        assert trial._most_agreed(_rungs(range(2, most + 1)), range(1, most + 1)) == 7
    trial.recurrence = {k: np.full(3, 0.6) for k in range(2, 65)}
    assert trial._most_agreed(_rungs(range(2, 65)), range(1, 65)) == 1
    trial.recurrence = {k: np.full(3, 0.95 - 0.05 * abs(k - 17)) for k in range(2, 65)}  # 18 is tried first
    assert trial._most_agreed(_rungs(range(2, 31)), range(1, 31)) == 17


@pytest.mark.parametrize(
    ("shared", "gain", "measure", "expected"),
    [(1, 0.1, PREDICTED, 1), (1, 0.5, PREDICTED, 11), (1, 0.5, LatentTrial.measure, 1), (2, 0.1, PREDICTED, 11)],
)
def test_dimensions_are_kept_if_they_recur_or_predict_clearly_better(
    shared: int, gain: float, measure: str, expected: int
) -> None:
    estimator, X, _ = PLANTED["relu"]
    trial = LatentTrial(estimator, X, np.random.default_rng(0))
    one = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1], 22)))[0].T
    trial._spans[11] = [one[:11], one[11 - shared : 22 - shared]]
    trial.measure = measure
    trial._scores = {1: np.zeros(100), 11: gain + np.tile([-1.0, 1.0], 50)}  # a standard error of 0.1
    assert trial.recurring(11, range(1, 20)) == expected


@pytest.mark.parametrize(
    ("estimator", "X", "ks", "message"),
    [
        (ANDNMF(1), np.ones((20, 5)), [30], "too small for 30 parts"),
        (ANDNMF(1), np.ones((20, 5)), [], "numbers from 1 on"),
        (ANDNMF(1), np.ones((20, 5)), [0, 2], "numbers from 1 on"),
        (ANDNMF(1), np.ones((20, 5)), "many", "neither 'auto' nor"),
        (ANDNMF(2, init=np.ones((2, 5))), np.ones((20, 5)), "auto", "init gives parts"),
        (DawidSkene(), np.ones((20, 5)), "auto", "DawidSkene has no number to choose"),
    ],
)
def test_what_cannot_be_chosen_is_refused(estimator: Any, X: Any, ks: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(estimator, X, ks)


@pytest.mark.parametrize("stop", ["callback", "Ctrl-C"])
def test_a_search_that_is_ended_goes_on_with_the_best_so_far(stop: str) -> None:
    rows: list[dict[str, float]] = []

    def callback(row: dict[str, float]) -> bool:
        rows.append(row)
        if len(rows) == 3 and stop == "Ctrl-C":
            raise KeyboardInterrupt
        return len(rows) == 3

    estimator, X, _ = PLANTED["relu"]
    with pytest.warns(FitWarning, match="ended early"):
        found = select(estimator, X, random_state=0, callbacks=[callback])
    assert len(rows) == 3
    assert found.best in found.table["k"].to_numpy()
    assert found.reason.startswith("The search was ended early.")
    assert found.estimator.embedding_.shape == (200, found.best)


def test_a_search_is_resumed_where_it_was_killed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(Exception):
        pass

    tried: list[float] = []

    def callback(row: dict[str, float]) -> None:
        tried.append(row["k"])
        if len(tried) == 3:
            raise Killed

    estimator, X, k = PLANTED["relu"]
    estimator = NMD(1, n_jobs=1, random_state=0, checkpoint=tmp_path / "state")
    with pytest.raises(Killed):
        select(estimator, X, random_state=0, callbacks=[callback])
    first, again = set(tried), []
    resumed = estimator.set_params(resume=True)
    found = select(resumed, X, random_state=0, callbacks=[lambda row: again.append(row["k"])])
    assert found.best == k
    assert first.isdisjoint(again)
    with pytest.raises(InputError, match="other data"):
        select(resumed, X[:100], random_state=0)


def test_two_jobs_choose_as_one_does() -> None:
    estimator, X, _ = PLANTED["graph"]
    one, two = (select(estimator, X, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.best == two.best
    np.testing.assert_allclose(one.table["score"], two.table["score"])


def test_sparse_samples_choose_as_dense_ones_do() -> None:
    estimator, X, k = PLANTED["counts"]
    assert select(estimator, sp.csr_array(X), random_state=0).best == k


def test_chunks_choose_as_one_array_does() -> None:
    da = pytest.importorskip("dask.array")
    for name in ("topics", "relu"):
        estimator, X, k = PLANTED[name]
        found = select(estimator, da.from_array(X, chunks=(100, X.shape[1])), random_state=0)
        assert found.best == k


@pytest.mark.parametrize("name", ["topics", "relu", "graph"])
def test_tensors_choose_as_arrays_do(name: str) -> None:
    torch = pytest.importorskip("torch")
    estimator, X, k = PLANTED[name]
    tensor = torch.from_numpy(np.asarray(X.toarray() if sp.issparse(X) else X))
    assert select(estimator, tensor, random_state=0).best == k


def test_sparse_tensors_choose_too() -> None:
    torch = pytest.importorskip("torch")
    estimator, X, k = PLANTED["counts"]
    with warnings.catch_warnings(action="ignore"):  # that sparse tensors are in beta
        tensor = torch.from_numpy(np.asarray(X)).to_sparse_csr()
    assert select(estimator, tensor, range(2, k + 3), random_state=0).best == k


def test_wide_sparse_samples_are_judged_by_their_largest_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectifact.parts.how_many.MOST_COLUMNS", 60)
    monkeypatch.setattr("rectifact.parts.stability.MOST_COLUMNS", 60)
    estimator, X, k = PLANTED["counts"]
    found = select(estimator, sp.csr_array(X), random_state=0)
    assert found.best == k
    assert found.estimator.components_.shape == (k, X.shape[1])
    trial = PartsTrial(estimator, sp.csr_array(X), np.random.default_rng(0))
    assert sorted(trial._halves._columns) == sorted(np.argsort(-X.sum(axis=0), kind="stable")[:60])
    assert trial._halves.parts(k, 0)[0].shape == (k, 60)
    assert assess(found.estimator, sp.csr_array(X), bootstrap=2, random_state=0).lower.shape == (k, X.shape[1])


def test_gaps_do_not_prevent_a_choice() -> None:
    _, X, k = PLANTED["topics"]
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    assert abs(select(ANDNMF(1, missing=np.nan, random_state=0), X, range(2, 12), random_state=0).best - k) <= 1
    _, X, k = PLANTED["relu"]
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    for missing, data in ((np.nan, np.where(hidden, np.nan, X)), (hidden, X)):
        assert select(NMD(1, n_jobs=1, missing=missing, random_state=0), data, random_state=0).best == k


def test_points_and_streams_are_taken_too() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.standard_normal((60, 2)) + 8 * centre for centre in np.eye(3, 2) * [[1], [1], [1]]])
    assert 2 <= select(SymNMF(1, random_state=0), points, range(2, 9), random_state=0).best <= 8
    weights = rng.random((400, 3)) * (rng.random((400, 3)) < 0.4)
    X = weights @ rng.random((3, 30)) + 0.001 * rng.random((400, 30))
    with warnings.catch_warnings(action="ignore"):  # that 400 samples are few for Purification
        assert select(PurificationNMF(1, random_state=0), X, random_state=0).best == 3


def test_stability_tells_the_parts_that_chance_has_made() -> None:
    data = make_spectra(400, 60, 4, random_state=1)
    model = ANDNMF(6, random_state=0).fit(data.X)  # two too many
    found = assess(model, data.X, random_state=0)
    assert (found.stability == model.stability_).all()
    right = part_errors(data.components, model.components_) < 0.1
    assert right.sum() == 4
    assert found.stability[right].min() > 0.9
    assert found.stability[~right].max() < 0.5


def test_bands_hold_most_of_the_true_parts() -> None:
    data = make_signatures(300, n_signatures=3)
    model = ANDNMF(3, random_state=0).fit(data.X)
    found = assess(model, data.X, bootstrap=20, random_state=0)
    assert found.lower is not None
    assert found.upper is not None
    np.testing.assert_array_equal(model.bands_, [found.lower, found.upper])
    truth = data.components / data.components.sum(axis=1, keepdims=True)
    order = (model.components_ @ truth.T).argmax(axis=1)
    inside = (found.lower - 1e-4 <= truth[order]) & (truth[order] <= found.upper + 1e-4)
    assert sorted(order) == [0, 1, 2]
    assert 0.7 < inside.mean() < 1
    assert (found.upper - found.lower).mean() < 0.01


def test_bands_hold_nine_tenths_of_further_resamples() -> None:
    data = make_spectra(150, 40, 3, snr=20)
    model = ANDNMF(3, random_state=0).fit(data.X)
    found = assess(model, data.X, bootstrap=20, random_state=0)
    trial, rng = PartsTrial(model, data.X, np.random.default_rng(1)), np.random.default_rng(2)
    further = np.array([trial.resampled(model, rng) for _ in range(40)])
    inside = (found.lower <= further) & (further <= found.upper)
    assert 0.88 < inside.mean() < 0.96


def test_graphs_without_the_edges_of_a_node_do_not_count_for_it() -> None:
    """A node of one edge loses it in a third of the resamples, and has the community of its neighbour in the others."""
    networkx = pytest.importorskip("networkx")
    ring = networkx.ring_of_cliques(3, 8)
    ring.add_edges_from([(1, "a"), (9, "b"), (17, "c")])
    model = SymNMF(3, random_state=0).fit(ring)
    found = assess(model, ring, bootstrap=10, random_state=0)
    assert found.membership is not None
    np.testing.assert_allclose(found.membership.sum(axis=1), 1)
    last = found.membership[-3:]
    np.testing.assert_allclose(last[np.arange(3), model.labels_[-3:]], 1)


def test_memberships_from_edges_drawn_again_know_the_nodes_between_communities() -> None:
    graph = make_block_model(300, 3, mixing=0.5)
    model = SymNMF(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    found = assess(model, graph.adjacency, bootstrap=10, random_state=0)
    assert found.membership is not None
    assert found.membership.shape == (300, 3)
    np.testing.assert_allclose(found.membership.sum(axis=1), 1)
    sure = found.membership.max(axis=1) > 0.9
    right = np.array([np.bincount(graph.labels[model.labels_ == k]).argmax() for k in range(3)])[model.labels_]
    wrong = right != graph.labels
    assert wrong[sure].mean() < wrong[~sure].mean()


def test_dimensions_have_no_bands() -> None:
    _, X, k = PLANTED["relu"]
    model = NMD(k, n_jobs=1, random_state=0).fit(X)
    assert assess(model, X, random_state=0).stability.shape == (k,)
    with pytest.raises(InputError, match="bootstrap is for parts"):
        assess(model, X, bootstrap=5)


def test_bands_lie_around_the_parts_of_real_spectra():
    """Resamples are fitted as the parts were: from parts that are given, the fit ended elsewhere."""
    try:
        X = load_jasper().X[::40]
    except MissingDataset:
        pytest.skip("needs the Jasper Ridge image")
    model = ANDNMF(4, random_state=0).fit(X)
    found = assess(model, X, bootstrap=20, random_state=0)  # the bands of five vary by a third from seed to seed
    inside = (model.components_ >= 0.9 * found.lower) & (model.components_ <= 1.1 * found.upper)
    assert inside.mean() > 0.7


def test_a_small_network_gives_the_same_number_whatever_is_hidden() -> None:
    graph = make_block_model(60, 3, degree=8, mixing=0.2, random_state=2).adjacency  # one split gave 1, 2 and 3
    found = [select(SymNMF(1, affinity="precomputed"), graph, random_state=seed) for seed in range(3)]
    assert [each.best for each in found] == [3, 3, 3]
    random = nx_random_graph(30, 70)
    with pytest.warns(FitWarning, match="looks like one community"):
        found = [select(SymNMF(1, affinity="precomputed"), random, random_state=seed) for seed in range(2)]
    assert [(each.best, each.sure) for each in found] == [(1, True), (1, True)]


def nx_random_graph(n: int, m: int) -> sp.csr_array:
    """A graph whose edges are drawn at random."""
    rng = np.random.default_rng(3)
    i, j = np.triu_indices(n, 1)
    places = rng.choice(len(i), m, replace=False)
    upper = sp.csr_array((np.ones(m), (i[places], j[places])), shape=(n, n))
    return sp.csr_array(upper + upper.T)


def test_numbers_whose_scores_are_within_their_error_are_named() -> None:
    networkx = pytest.importorskip("networkx")
    found = select(SymNMF(1), networkx.karate_club_graph(), random_state=3)
    assert found.best in (2, 3)
    assert not found.sure
    assert "Within the error, " in found.reason
    assert re.search(r"Compare the division with -k \d.* \(n_clusters in Python\), and keep", found.reason)
    close = found.table.query("score + standard_error >= score.max() and score > 0 and k != @found.best")["k"]
    assert len(close)
    assert all(f" {k}" in found.reason for k in close)


@pytest.mark.parametrize(("size", "words"), [(1e252, "Divide X by it first"), (0.0, "All entries of X are zero")])
def test_data_without_a_scale_is_refused_as_by_a_fit(size, words):
    with pytest.raises(InputError, match=words):
        select(ANDNMF(1), size * np.ones((12, 8)))


def titles(n: int, *, n_subjects: int = 0) -> list[str]:
    """One-line texts: half of their words are those of a subject; without subjects, all are drawn alike."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        subject = f"s{i % n_subjects}w" if n_subjects else "other"
        own = [f"{subject}{j}" for j in rng.choice(25, 4, p=np.arange(25, 0, -1) / 325)]
        found.append(" ".join([*own, *(f"common{j}" for j in rng.choice(150, 4))]))
    return found


def test_the_number_of_topics_of_titles_does_not_depend_on_the_seed() -> None:
    """Draws decided on one-line texts: what they cannot agree on is said not to be determined."""
    X = count_words(titles(400, n_subjects=6)).X
    trials = [PartsTrial(ANDNMF(1, random_state=seed), X, np.random.default_rng(seed)) for seed in (1, 2)]
    assert np.array_equal(*(trial._gains for trial in trials))
    assert [trial._estimator.random_state for trial in trials] == [0, 0]
    assert all(trial.short and trial._draws_agree and trial.start(1) == 6 for trial in trials)


def test_where_draws_disagree_the_middle_of_the_numbers_that_recur_is_taken() -> None:
    trial = PartsTrial(ANDNMF(1), count_words(titles(200)).X, np.random.default_rng(0))
    trial.recurrence = {k: np.full(3, 0.7 if k in (4, 5, 6, 8, 15) else 0.5) for k in range(1, 65)}
    trial.__dict__["_draws_agree"] = False
    assert trial.recurring(2, range(1, trial.most + 1)) == 6
    assert "5 of those that were tried, from 4 to 15, have parts that recur, and 6 is the middle" in trial.doubt()
    trial.recurrence = {k: np.full(3, 0.5) for k in range(1, 65)}
    assert trial.recurring(2, range(1, trial.most + 1)) == 1
    trial.__dict__["_draws_agree"] = True
    assert trial.recurring(1, range(1, trial.most + 1)) == 1
    assert trial.doubt() == ""


def answers_in_a_few_words(n: int, n_topics: int) -> list[str]:
    """Three words each on average, a third of them not of the topic: too few to predict one from the others."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        own = (f"t{i % n_topics}w{j}" for j in rng.choice(12, 4, p=np.arange(12, 0, -1) / 78))
        words = [word if rng.random() < 0.67 else f"common{rng.integers(40)}" for word in own]
        found.append(" ".join(words[: 1 + min(rng.poisson(2), 3)]))
    return found


@pytest.mark.parametrize("n_topics", [3, 5])
def test_topics_of_a_few_words_are_counted_though_they_predict_nothing(n_topics: int) -> None:
    """Before, that was said to be one topic, and to be sure."""
    found = select(ANDNMF(1), count_words(answers_in_a_few_words(1500, n_topics)).X, random_state=0)
    assert found.best == n_topics
    assert not found.sure
    assert f"{n_topics} directions stand out from the noise" in found.reason


def test_longer_texts_are_not_short() -> None:
    assert not PartsTrial(ANDNMF(1), count_words(texts_of_families(3, 20)).X, np.random.default_rng(0)).short
