"""What the experiments of Ibrahim and Fu (2021) are made of: TensorADMM, machine annotators, crowd layers, theorems."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rectifact.bench import crowd_machines, crowd_tensors
from rectifact.bench.papers import crowd_methods, paper
from rectifact.core.monitor import Monitor
from rectifact.crowd import imputation, read_answers
from rectifact.crowd.cooccurrence import cooccurrences
from rectifact.datasets import make_crowd
from rectifact.metrics import confusion_mse


@pytest.fixture
def few():
    return read_answers(make_crowd(60, 5, 3, labels_per_task=3).answers)


def test_third_moments_are_frequencies(few):
    moments = crowd_tensors.moments_of(few)
    given = {(i, m): c for i, m, c in zip(few.task, few.worker, few.label, strict=True)}
    for m, j, l in permutations(range(5), 3):  # noqa: E741
        T = np.zeros((3, 3, 3))
        for i in range(60):
            if {(i, m), (i, j), (i, l)} <= given.keys():
                T[given[i, m], given[i, j], given[i, l]] += 1
        assert moments.triples[m, j, l] == (T.sum() > 0)
        assert_allclose(moments.three[m, j, l], T / max(T.sum(), 1))
    assert not moments.three[0, 0].any()


def squares(moments, A, d):
    """The sum of squares that TensorADMM minimises, term by term."""
    total = 0.0
    for m in range(len(A)):
        total += ((moments.one[m] - A[m] @ d) ** 2).sum() / 2
    for m, j in combinations(range(len(A)), 2):
        if moments.pairs[m, j]:
            total += ((moments.two[m, j] - A[m] @ np.diag(d) @ A[j].T) ** 2).sum() / 2
    for m, j, l in combinations(range(len(A)), 3):  # noqa: E741
        if moments.triples[m, j, l]:
            model = np.einsum("ac,bc,ec,c->abe", A[m], A[j], A[l], d)
            total += ((moments.three[m, j, l] - model) ** 2).sum() / 2
    return total


def test_the_terms_of_a_worker_and_of_the_prior_give_the_gradient(few, rng):
    moments = crowd_tensors.moments_of(few)
    A, d = rng.dirichlet(np.ones(3), size=(5, 3)).swapaxes(1, 2), np.array([0.5, 0.3, 0.2])
    cross, gram = crowd_tensors._worker_terms(moments, A, d, 2)
    target, square = crowd_tensors._prior_terms(moments, A)
    step = 1e-6
    for a, c in [(0, 0), (1, 2), (2, 1)]:
        moved = A.copy()
        moved[2, a, c] += step
        slope = (squares(moments, moved, d) - squares(moments, A, d)) / step
        assert_allclose((A[2] @ gram - cross)[a, c], slope, rtol=1e-3, atol=1e-5)
    for c in range(3):
        slope = (squares(moments, A, d + step * np.eye(3)[c]) - squares(moments, A, d)) / step
        assert_allclose((square @ d - target)[c], slope, rtol=1e-3, atol=1e-5)


def test_projection_on_the_simplex(rng):
    V = rng.standard_normal((4, 5))
    for column, found in zip(V.T, crowd_tensors.simplex(V).T, strict=True):
        slow = minimize(
            lambda x, v=column: ((x - v) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, None)] * 4,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        )
        assert_allclose(found, slow.x, atol=1e-4)


def test_tensor_admm_finds_the_planted_model():
    crowd = make_crowd(3000, 8, 3)
    answers = read_answers(crowd.answers)
    monitor = Monitor(max_iter=100, tol=1e-6)
    _, confusions = crowd_tensors.fit_moments(answers, crowd_tensors.moments_of(answers), monitor)
    assert confusion_mse(confusions, crowd.confusions[answers.workers.astype(int)]) < 1e-3
    labels = answers.classes[crowd_tensors.tensor_admm(answers).argmax(axis=1)]
    assert (labels != crowd.truth.loc[answers.tasks]).mean() < 0.1


def test_weights_of_one_are_plain_least_squares(rng):
    answers = read_answers(make_crowd(80, 6, 3, labels_per_task=4).answers)
    pairs, start = cooccurrences(answers.matrix(), 3), rng.random((6, 3, 3)) / 3
    options = {"weigh_by_count": False, "reweigh": False}
    U = imputation.robust(pairs, start, monitor=Monitor(max_iter=1, tol=0), **options)
    for m in range(6):
        mine = pairs.first == m
        tall = start[pairs.second[mine]].reshape(-1, 3)
        wide = pairs.blocks[mine].transpose(1, 0, 2).reshape(3, -1)
        target = np.linalg.lstsq(tall, wide.T)[0].T
        assert_allclose(U[m], (start[m] + target / max(np.linalg.norm(target), 1)) / 2, atol=1e-6)


def test_designs_of_missing_answers(rng):
    answered, chosen = crowd_machines.independent(0.3, 0.5, 0.8)(20_000, 10, rng)
    shares = answered.mean(axis=0)
    assert len(chosen) == 2
    assert_allclose(shares[list(chosen)], 0.8, atol=0.02)
    others = np.delete(shares, chosen)
    assert (others > 0.28).all()
    assert (others < 0.52).all()
    answered, chosen = crowd_machines.blocks(0.5)(1000, 10, rng)
    assert chosen is None
    assert (answered.sum(axis=1) == 3).all()
    met = answered.T.astype(int) @ answered > 0
    assert 0.4 < 1 - (met.sum() - 10) / 90 <= 0.5


def test_machines_are_asked(rng):
    trial = crowd_machines.Machines(rng.random((50, 2)), rng.integers(0, 2, (50, 4)), rng.integers(0, 2, 50))
    crowd, _ = crowd_machines.ask(trial, crowd_machines.independent(0.2, 0.2), 0)
    for row in crowd.answers.itertuples():
        assert trial.labels[row.task, row.worker] == row.label
    assert set(crowd.truth.index) == set(crowd.answers["task"])  # nobody is judged by what nobody answered


def test_labels_under_the_true_confusions_are_hard_to_beat():
    crowd = make_crowd(2000, 10, 3, accuracy=(0.4, 0.6))
    errors = {
        name: crowd_methods.measured(crowd_methods.METHODS[name], crowd)[0]
        for name in ("true confusions", "RobSymNMF", "majority vote")
    }
    assert errors["true confusions"] <= min(errors.values())


def test_a_crowd_layer_learns_whom_to_believe(rng):
    pytest.importorskip("torch")
    from rectifact.bench.crowd_layer import crowd_layer

    X = rng.standard_normal((300, 2))
    truth = (X[:, 0] > 0).astype(int)
    wrong = rng.random((300, 3)) < [0.1, 0.1, 0.9]  # the third worker says the opposite
    task, worker = (index.ravel() for index in np.indices((300, 3)))
    table = pd.DataFrame(
        {"task": task, "worker": worker, "label": np.where(wrong, 1 - truth[:, None], truth[:, None]).ravel()}
    )
    for kind in ("MW", "VW-B"):
        probas = crowd_layer(X, table, kind=kind, epochs=100)
        labels = probas.columns.to_numpy()[probas.to_numpy().argmax(axis=1)]
        assert (labels != truth[probas.index]).mean() < 0.1


def test_specialists_make_the_factorisation_unique():
    rows = {row["data"]: row for row in paper("crowd").experiments["proposition 1"].measure(True)}
    assert rows["0 specialists"]["loss"] < 1e-10  # a perfect fit, and yet another model
    assert rows["0 specialists"]["1000 MSE"] > 100 * rows["3 specialists"]["worst 1000 MSE"]


def test_imputed_blocks_get_better_with_the_root_of_shared_tasks():
    rows = pd.DataFrame(paper("crowd").experiments["theorem 1"].measure(True))
    for _, group in rows.groupby("data"):
        slope = np.polyfit(np.log(group["tasks shared"]), np.log(group["error"]), 1)[0]
        assert -0.65 < slope < -0.35
