"""Co-occurrences, imputation, rotation and the other moment methods, on exact and on drawn moments."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import Geometric
from rectifact.core.sparse import with_entries
from rectifact.crowd import DawidSkene, imputation, read_answers, starts
from rectifact.crowd.cooccurrence import Cooccurrences, cooccurrences, n_paired_answers, n_tasks_shared
from rectifact.crowd.em import confusions_of, e_step, expected_sums, vote_shares
from rectifact.crowd.moments import cnmf, multispa
from rectifact.crowd.rotation import Rotation, factor_of, match_classes, model_of, rotate
from rectifact.crowd.starts import METHODS, identify
from rectifact.datasets import make_crowd
from rectifact.metrics import confusion_mse


@pytest.fixture
def planted(rng):
    """A model with class specialists, and its exact co-occurrences on a part of the pairs."""
    n, k = 12, 3
    confusions = rng.dirichlet(np.ones(k), size=(n, k)).transpose(0, 2, 1) * 0.4 + 0.6 * np.eye(k)
    for m in range(6):  # workers who never take other classes for one of them
        confusions[m, m % k] = np.eye(k)[m % k]
        confusions[m] /= confusions[m].sum(axis=0)
    priors = np.array([0.5, 0.3, 0.2])
    H = factor_of(priors, confusions)
    observed = [(m, j) for m in range(n) for j in range(n) if m != j and (m + j) % 3]
    first, second = np.array(observed).T
    blocks = H[first] @ H[second].swapaxes(1, 2)
    return priors, confusions, Cooccurrences(first, second, blocks, np.full(len(first), 100.0), n)


def rough(priors, confusions, rng):
    k = len(priors)
    return factor_of(np.full(k, 1 / k), confusions_of(0.7 * confusions + 0.3 * rng.random(confusions.shape), 0.0))


def started(method, B, votes, **options):
    """The start of this name, from shares of the votes."""
    B = operand(B)
    return identify(method, B, B.total(expected_sums, along=(votes,)), rng=np.random.default_rng(0), **options)


def test_cooccurrences_count_pairs():
    answers = read_answers(make_crowd(60, 7, 3, labels_per_task=4).answers)
    pairs = cooccurrences(operand(answers.one_hot()), 3)
    found = {(m, j): (n, R) for m, j, n, R in zip(pairs.first, pairs.second, pairs.counts, pairs.blocks, strict=True)}
    for m in range(7):
        for j in range(7):
            counts = np.zeros((3, 3))
            for i in range(60):
                for a in np.flatnonzero((answers.task == i) & (answers.worker == m)):
                    for b in np.flatnonzero((answers.task == i) & (answers.worker == j)):
                        counts[answers.label[a], answers.label[b]] += 1
            if m == j or not counts.sum():
                assert (m, j) not in found
            else:
                assert found[m, j][0] == counts.sum()
                assert_allclose(found[m, j][1], counts / counts.sum())
    assert n_paired_answers(answers.one_hot()) == pairs.counts.sum()


def test_repeated_readings_stay_apart():
    table = make_crowd(40, 6, 3, labels_per_task=3).answers
    B = read_answers(table.loc[table.index.repeat(2)]).one_hot()
    for method in METHODS:
        started(method, B, np.full((40, 3), 1 / 3))
        assert B.nnz == 240  # scipy merges entries in place now and then


def test_designated_imputation_is_exact_without_noise(planted):
    priors, confusions, pairs = planted
    U = imputation.designated(pairs).reshape(-1, 3)
    H = factor_of(priors, confusions).reshape(-1, 3)
    assert_allclose(U @ U.T, H @ H.T, atol=1e-8)


def test_robust_imputation_completes_what_is_missing(planted, rng):
    priors, confusions, pairs = planted
    monitor = Monitor(max_iter=3000, tol=0)
    U = imputation.robust(pairs, rough(priors, confusions, rng), monitor=monitor).reshape(-1, 3)
    H = factor_of(priors, confusions).reshape(-1, 3)
    assert_allclose(U @ U.T, H @ H.T, atol=1e-3)
    losses = [row["loss"] for row in monitor.history]
    assert losses[-1] < 1e-2 * losses[0]


def test_robust_imputation_withstands_a_wrong_block(planted, rng):
    priors, confusions, pairs = planted
    blocks = pairs.blocks.copy()
    wrong = (pairs.first == 0) & (pairs.second == 1) | (pairs.first == 1) & (pairs.second == 0)
    blocks[wrong] = 1 / 9
    spoiled = Cooccurrences(pairs.first, pairs.second, blocks, pairs.counts, pairs.n_workers)
    start = rough(priors, confusions, rng)
    U = imputation.robust(spoiled, start, monitor=Monitor(max_iter=1000, tol=0)).reshape(-1, 3)
    H = factor_of(priors, confusions).reshape(-1, 3)
    assert np.abs(U @ U.T - H @ H.T).max() < 0.25 * np.abs(blocks - pairs.blocks).max()


def test_going_without_pairs_is_count_weighted_least_squares(rng):
    answers = read_answers(make_crowd(80, 6, 3, labels_per_task=4).answers)
    B = answers.one_hot()
    start = rng.random((6, 3, 3)) / 3
    U = imputation.pair_free(operand(B), start, monitor=Monitor(max_iter=1, tol=0))
    pairs = cooccurrences(operand(B), 3)
    for m in range(6):
        mine = pairs.first == m
        weights, R, right = pairs.counts[mine], pairs.blocks[mine], start[pairs.second[mine]]
        cross = np.einsum("p,pkl,plc->kc", weights, R, right)
        gram = np.einsum("p,plc,pld->cd", weights, right, right)
        target = cross @ np.linalg.inv(gram)
        target /= max(np.linalg.norm(target), 1)
        assert_allclose(U[m], (start[m] + target) / 2, atol=1e-6)


def test_rotation_finds_the_factor(planted, rng):
    priors, confusions, _ = planted
    H = factor_of(priors, confusions).reshape(-1, 3)
    turn, _ = np.linalg.qr(np.eye(3) + 0.25 * rng.standard_normal((3, 3)))
    U = H @ turn.T
    scale = np.sqrt((U**2).sum(axis=1).mean())
    schedule = Geometric(0.5 * scale, 1 / 0.9)
    found = rotate(U, np.eye(3), np.ones(len(U)), schedule=schedule, monitor=Monitor(max_iter=400, tol=0))
    p, A = match_classes(*model_of(found.reshape(-1, 3, 3), np.ones(12)), np.ones(12))
    assert_allclose(p, priors, atol=0.03)
    assert confusion_mse(A, confusions) < 2e-3


def test_classes_are_named_by_what_workers_mostly_say(planted):
    priors, confusions, _ = planted
    order = [2, 0, 1]
    p, A = match_classes(priors[order], confusions[:, :, order], np.ones(12))
    assert_allclose(p, priors)
    assert_allclose(A, confusions)


def test_coupled_nmf_fits_better_and_better(planted):
    priors, confusions, pairs = planted
    monitor = Monitor(max_iter=300, tol=0, monotone=True)
    p, A = cnmf(pairs, *multispa(pairs, np.ones(12)), monitor=monitor)
    losses = np.array([row["loss"] for row in monitor.history])
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()
    assert confusion_mse(A, confusions) < 3e-3
    assert_allclose(p, priors, atol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_beats_guessing_on_a_drawn_crowd(method):
    crowd = make_crowd(3000, 20, 3, labels_per_task=8, accuracy=(0.6, 0.95), random_state=2)
    answers = read_answers(crowd.answers)
    start = started(method, answers.one_hot(), vote_shares(answers.votes()))
    order = np.argsort(answers.workers)
    assert start.method == method
    assert np.mean((start.confusions[order] - crowd.confusions) ** 2) < 0.02
    posteriors, sums, _ = e_step(operand(answers.one_hot()), start.priors, start.confusions)
    if method != "majority":  # which starts from the votes
        assert_allclose(start.sums.classes, sums.classes)
        assert_allclose(start.sums.counts, sums.counts)
    error = (posteriors.argmax(axis=1) != crowd.truth.to_numpy()[answers.tasks]).mean()
    assert error < 0.08


def test_without_common_tasks_the_vote_is_all_there_is():
    answers = read_answers(make_crowd(100, 10, 2, labels_per_task=1).answers)
    votes = vote_shares(answers.votes())
    for method in METHODS:
        start = started(method, answers.one_hot(), votes)
        assert start.method == "majority"
        assert_allclose(start.sums.counts, expected_sums(answers.one_hot(), votes).counts)


def test_pair_free_needs_no_pairs_and_comes_close_to_robust(monkeypatch):
    answers = read_answers(make_crowd(500, 20, 3).answers)
    B, votes = answers.one_hot(), vote_shares(answers.votes())
    robust = started("robust", B, votes)
    monkeypatch.setattr(starts, "MOST_PAIRS", 0)
    monkeypatch.setattr(starts, "cooccurrences", None)  # must not be called
    pair_free = started("pair-free", B, votes)
    assert pair_free.method == "pair-free"
    assert_allclose(pair_free.confusions, robust.confusions, atol=0.15)
    for method in set(METHODS) - {"majority", "pair-free", "spectral"}:
        with pytest.raises(InputError, match=f"identify='{method}' needs a table of the 10,000 pairs"):
            started(method, B, votes)


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_who_repeats_an_answer_does_not_co_occur_with_anybody(method):
    task, rng = np.repeat(np.arange(30), 2), np.random.default_rng(0)
    answers = read_answers(pd.DataFrame({"task": task, "worker": task % 3, "label": rng.integers(2, size=60)}))
    B = answers.one_hot()
    assert n_tasks_shared(B, 2) == 0
    assert started(method, B, vote_shares(answers.votes())).method == "majority"
    one_shared = with_entries(B, B.data.copy())
    one_shared.indices[0] = (one_shared.indices[0] + 2) % 6  # task 0 now has answers from two workers
    assert n_tasks_shared(one_shared, 2) == 1
    one_shared.data[0] = 0  # an answer that does not count
    assert n_tasks_shared(one_shared, 2) == 0


def test_spectral_says_that_it_fell_back_to_the_vote():
    answers = read_answers(pd.DataFrame({"task": [0, 0, 1, 1], "worker": list("abab"), "label": [0, 0, 1, 0]}))
    assert started("spectral", answers.one_hot(), vote_shares(answers.votes())).method == "majority"


def test_a_matrix_that_does_not_fit_is_refused(monkeypatch, planted):
    monkeypatch.setattr(imputation, "MOST_ROWS", 10)
    with pytest.raises(InputError, match="identify='robust'"):
        imputation.designated(planted[2])


def test_the_start_of_the_vote_is_its_model():
    answers = read_answers(make_crowd(50, 5, 2).answers)
    B, votes = answers.one_hot(), vote_shares(answers.votes())
    start = started("majority", B, votes)
    assert_allclose(start.confusions, confusions_of(expected_sums(B, votes).counts, 0.1))
    assert sp.issparse(B)


def test_designated_workers_impute_alone(planted):
    """With l = 0 and r = 1, a missing block is R_mr R_lr^-1 R_ln, by one explicit product."""
    _, _, pairs = planted
    block = {(m, j): R for m, j, R in zip(pairs.first, pairs.second, pairs.blocks, strict=True)}
    chosen = np.array([0, 1])
    got = imputation.reached(pairs, chosen)
    for m in range(12):
        for n in range(12):
            paths = [(left, r) for left, r in ((0, 1), (1, 0)) if {(m, r), (left, r), (left, n)} <= block.keys()]
            assert got[m, n] == bool(paths or (m, n) in block)
            for left, r in paths:
                product = block[m, r] @ np.linalg.inv(block[left, r]) @ block[left, n]
                H = factor_of(*planted[:2])
                assert_allclose(product, H[m] @ H[n].T, atol=1e-9)
    assert imputation.reached(pairs).all()
    assert not got.all()


def test_the_rotation_starts_where_it_is_told(planted, monkeypatch):
    seen = []
    monkeypatch.setattr(starts, "rotate", lambda U, Q, *args, schedule, **more: (seen.append((Q, schedule(0))), U)[1])
    answers = read_answers(make_crowd(200, 8, 3).answers)
    B = answers.one_hot()
    for rotation in (Rotation(), Rotation("identity", 0.2), Rotation("identity", 0.0)):
        started("robust", B, answers.shares(None), rotation=rotation)
    assert not np.allclose(seen[0][0], np.eye(3))
    assert_allclose([Q for Q, _ in seen[1:]], [np.eye(3)] * 2)
    assert_allclose([threshold / seen[0][1] for _, threshold in seen], [1, 0.4, 0])


def test_designated_imputation_takes_rare_classes(planted):
    """Their blocks are near to singular for every pair, and yet they can be inverted."""
    _, confusions, pairs = planted
    priors = np.array([0.94, 0.04, 0.02])
    H = factor_of(priors, confusions)
    blocks = H[pairs.first] @ H[pairs.second].swapaxes(1, 2)
    rare = Cooccurrences(pairs.first, pairs.second, blocks, pairs.counts, pairs.n_workers)
    assert imputation.smallest_singular_values(blocks).max() < 0.02
    assert_allclose(imputation.completed(rare), H.reshape(-1, 3) @ H.reshape(-1, 3).T, atol=1e-6)


def test_many_classes_start_from_the_vote():
    """Cells of pairs of classes for each task would need gigabytes; the vote alone starts, and the result says so."""
    rng = np.random.default_rng(0)
    truth = rng.integers(100, size=300)
    answers = pd.DataFrame({"task": np.arange(300).repeat(3), "worker": np.tile(range(3), 300)})
    right = rng.random(900) < 0.8
    answers["label"] = np.where(right, truth.repeat(3), rng.integers(100, size=900))
    model = DawidSkene().fit(answers)
    assert model.resolved_["identify"] == "majority"
    assert "objectives" not in model.resolved_
    with pytest.raises(InputError, match=r"too many\. Use identify='auto'"):
        starts._check_products(5000, 1000)
