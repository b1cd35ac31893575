import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifact import InputError, SymNMF, SymNMFNet
from rectifact.core.errors import FitWarning
from rectifact.core.monitor import Monitor
from rectifact.datasets import make_block_model
from rectifact.graph.knn import normalized
from rectifact.graph.similarities import Similarities
from rectifact.graph.spectral import random_start
from rectifact.metrics import cluster_accuracy, sparse_factor

torch = pytest.importorskip("torch")
net = pytest.importorskip("rectifact.graph.net")
tensors = pytest.importorskip("rectifact.graph.tensors")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([SymNMFNet(2, max_iter=20, device="cpu")])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blocks():
    graph = make_block_model(200, 4, degree=20, mixing=0.15)
    return normalized(graph.adjacency), graph.labels


def small_net(X, n_blocks, seed=0):
    """A net in double precision whose layers are off their start, so that every part of the loss has a gradient."""
    rng = np.random.default_rng(seed)
    S = tensors.to_torch(X, "cpu", torch.float64)
    made = net.start(S, torch.from_numpy(random_start(Similarities(X), 4, rng)), 2.0, n_blocks)
    made.P = made.P + 0.1 * torch.from_numpy(rng.standard_normal(made.P.shape))
    return S, made


@pytest.mark.parametrize("beta", [0.0, 0.3])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_gradients_by_hand_equal_autograd(blocks, n_blocks, beta):
    S, made = small_net(blocks[0], n_blocks)
    terms = [lambda U: 0.7 * U.sum(), lambda U: (U**3).sum()]
    squared = float((blocks[0].data ** 2).sum())
    P, lam = made.P.clone().requires_grad_(), made.lam.clone().requires_grad_()
    net.loss(S, squared, net.Net(P, lam, made.U0), beta, terms).backward()
    d_P, d_lam = net.gradients(S, made, beta, terms)
    assert_allclose(d_P, P.grad, atol=1e-12 * float(P.grad.abs().max()))
    assert_allclose(d_lam, lam.grad, rtol=1e-10)


def test_the_loss_is_the_one_of_the_paper(blocks):
    """Against dense matrices, block by block."""
    S, made = small_net(blocks[0], 2)
    X, U, expected = blocks[0].toarray(), made.U0.numpy(), 0.0
    for P in made.P.numpy():
        apart = P - (X + 2.0 * np.eye(200)) @ U
        U = np.maximum(P @ np.linalg.inv(U.T @ U + 2.0 * np.eye(4)), 0)
        expected += np.linalg.norm(X - U @ U.T) ** 2 + 0.3 * np.linalg.norm(apart) ** 2
    assert_allclose(net.loss(S, float((X**2).sum()), made, 0.3), expected)


def test_algorithm_1_is_the_classical_step(blocks):
    X = blocks[0]
    U = random_start(Similarities(X), 4, np.random.default_rng(0))
    outputs, _ = net.start(tensors.to_torch(X, "cpu", torch.float64), torch.from_numpy(U), 3.0, 2).forward()
    for output in outputs[1:]:
        U = np.maximum((X @ U + 3 * U) @ np.linalg.inv(U.T @ U + 3 * np.eye(4)), 0)
        assert_allclose(output, U, atol=1e-12)


def test_entries_come_back_to_life(blocks):
    """Where the output is zero and the gradient would raise it, only the repaired net learns."""
    S, made = small_net(blocks[0], 1)
    made.P = torch.where(made.P.median() < made.P, made.P, -1.0)
    (U,), (M,) = made.forward()[0][1:], made.forward()[1]
    slope = 4 * (U @ (U.T @ U) - S @ U)
    rising = (U == 0) & (slope < 0)
    printed, repaired = (net.gradients(S, made, keep_alive=alive)[0][0] for alive in (False, True))
    assert rising.any()
    assert_allclose(printed, torch.where(U > 0, slope, 0.0) @ M, atol=1e-12)
    assert_allclose(repaired, torch.where((U > 0) | rising, slope, 0.0) @ M, atol=1e-12)


def test_lambda_stays_above_the_bound(blocks):
    X = blocks[0]
    S, squared = tensors.to_torch(X, "cpu"), float((X.data**2).sum())
    U = torch.from_numpy(random_start(Similarities(X), 4, np.random.default_rng(0))).float()
    made = net.start(S, U, squared**0.5, 3)
    net.train(S, squared, made, net.SETTINGS["paper"], 0.5, terms=[], monitor=Monitor(5, tol=0))
    size = max(float((output.detach() ** 2).sum()) for output in made.forward()[0])
    lam = float(made.lam.detach())
    assert lam >= 0.5 * (squared**0.5 + np.linalg.norm(X.toarray() - (U @ U.T).numpy())) - 1e-4
    assert lam >= size - 1e-4


def test_the_repaired_net_equals_newton(blocks):
    X, labels = blocks
    model = SymNMFNet(4, affinity="precomputed", device="cpu").fit(X)
    newton = SymNMF(4, affinity="precomputed", init="spectral").fit(X)
    assert_allclose(model.relative_error_, newton.relative_error_, atol=1e-5)
    assert model.converged_
    assert cluster_accuracy(labels, model.labels_) > 0.95
    for unit in (1e-18, 1e14):  # whose squares single precision cannot hold
        scaled = SymNMFNet(4, affinity="precomputed", device="cpu", normalize=False).fit(unit * X)
        assert_allclose(scaled.relative_error_, model.relative_error_, atol=1e-5)
        assert_allclose(scaled.lambda_, unit * model.lambda_, rtol=1e-6)
        assert scaled.stationarity_ < 1e-4


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_the_papers_settings_run(blocks):
    model = SymNMFNet(4, settings="paper", affinity="precomputed", device="cpu", max_iter=50, random_state=0)
    model.fit(blocks[0])
    assert model.resolved_["n_blocks"] == 10
    assert model.resolved_["start"] == "random 1"
    assert model.eigenvalue_bound() - 1e-6 <= model.relative_error_ < 1


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_lambda_is_that_of_the_best_start(blocks):
    options = {"settings": "paper", "affinity": "precomputed", "device": "cpu", "n_blocks": 2, "max_iter": 20}
    several = SymNMFNet(4, n_init=3, random_state=2, **options).fit(blocks[0])
    assert several.resolved_["start"] != "random 3"
    alone = SymNMFNet(4, n_init=int(several.resolved_["start"].split()[1]), random_state=2, **options).fit(blocks[0])
    assert alone.lambda_ == several.lambda_


def test_wishes_of_the_user(blocks):
    X, _ = blocks
    plain = SymNMFNet(4, affinity="precomputed", device="cpu").fit(X)
    sparse = SymNMFNet(4, regularizer="l1", weight=0.05, affinity="precomputed", device="cpu").fit(X)
    own = SymNMFNet(4, regularizer=lambda U: U.sum(), weight=0.05, affinity="precomputed", device="cpu").fit(X)
    assert sparse_factor(sparse.components_) < sparse_factor(plain.components_)
    assert_allclose(own.components_, sparse.components_, atol=1e-5)
    classical = SymNMF(4, l1=0.05, affinity="precomputed", init="spectral").fit(X)
    assert_allclose(sparse.components_, classical.components_, atol=2e-3)


def test_partial_labels_lift_the_others():
    graph = make_block_model(400, 4, degree=12, mixing=0.65, random_state=1)
    gold = np.where(np.random.default_rng(0).random(400) < 0.2, graph.labels, -1)
    model = SymNMFNet(4, affinity="precomputed", device="cpu")
    alone = cluster_accuracy(graph.labels[gold < 0], model.fit(graph.adjacency).labels_[gold < 0])
    taught = model.fit(graph.adjacency, gold=gold).labels_
    assert (taught[gold < 0] == graph.labels[gold < 0]).mean() > alone + 0.02
    assert (taught[gold >= 0] == gold[gold >= 0]).mean() > 0.9
    assert_array_equal(model.fit(graph.adjacency, gold=np.full(400, -1)).labels_, model.fit(graph.adjacency).labels_)


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({}, {"gold": [0, 1]}, "gold must hold one whole number for each of the 200 samples"),
        ({}, {"gold": np.full(200, 4)}, "a class from 0 to 3, or -1"),
        ({"device": "nowhere"}, {}, "device='nowhere' cannot be used"),
        ({"regularizer": lambda U: U}, {}, "regularizer must map a tensor U to one number"),
        ({"regularizer": lambda U: 1.0}, {}, "regularizer must map a tensor U to one number"),
    ],
)
def test_mistakes_get_a_sentence(blocks, options, fit, message):
    with pytest.raises(InputError, match=message):
        SymNMFNet(4, affinity="precomputed", **options).fit(blocks[0], **fit)


def test_without_torch_the_error_names_the_extra():
    code = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'torch': raise ImportError(name)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import numpy as np; from rectifact import SymNMF, SymNMFNet\n"
        "X = np.random.default_rng(0).random((30, 2))\n"
        "print(SymNMF(2, n_init=1, random_state=0).fit(X).labels_.shape)\n"
        "try: SymNMFNet(2).fit(X)\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shape, sentence = done.stdout.splitlines()
    assert shape == "(30,)"
    install = "Install it from a clone of rectifact: pip install '.[torch]'"
    assert sentence == f"SymNMFNet needs torch. {install}; or use SymNMF."


def by_hand(X, made, unit=1.0):
    """Theorem 1 and Proposition 1 with dense matrices; P, lambda and U0 are those of a trained net."""
    X, lam, U0 = X.toarray(), float(made.lam) * unit, made.U0.numpy() * unit**0.5
    classical, outputs, apart = [U0], [U0], []
    for P in made.P.numpy():
        start = (X + lam_start(X) * np.eye(len(X))) @ classical[-1]
        P0 = (X + lam * np.eye(len(X))) @ classical[-1]
        apart.append(np.linalg.norm(P * unit**1.5 - P0) / np.linalg.norm(P0))
        G = classical[-1].T @ classical[-1] + lam_start(X) * np.eye(4)
        classical.append(np.maximum(start @ np.linalg.inv(G), 0))
        G = outputs[-1].T @ outputs[-1] + lam * np.eye(4)
        outputs.append(np.maximum(P * unit**1.5 @ np.linalg.inv(G), 0))
    epsilon, a = max(apart), max(np.linalg.norm(U) for U in classical + outputs)
    B = np.linalg.norm(X, 2)
    C = 4 * (B + lam) * a**2 / (lam - a**2) ** 2 + (B + lam) * a / (lam - a**2)
    least = max(a**2 + 4 * a * epsilon, (np.linalg.norm(X) + np.linalg.norm(X - U0 @ U0.T)) / 2)
    return epsilon, a, B, C, least


def lam_start(X):
    return np.linalg.norm(X)


@pytest.mark.parametrize("unit", [1.0, 3.0])
def test_theorem_1_and_proposition_1(blocks, unit):
    X = blocks[0]
    squared = float((X.data**2).sum())
    S = tensors.to_torch(X, "cpu", torch.float64, unit)
    U = torch.from_numpy(random_start(Similarities(X), 4, np.random.default_rng(0))) / unit**0.5
    made = net.start(S, U, squared**0.5 / unit, 3)
    recipe = replace(net.SETTINGS["paper"], epsilon=0.2)
    common = {"terms": [], "monitor": Monitor(5, tol=0), "unit": unit}
    net.train(S, squared / unit**2, made, recipe, 0.05, **common)
    theory = net.stability(S, squared / unit**2, made, unit, float(np.linalg.norm(X.toarray(), 2)))
    made.P, made.lam = made.P.detach(), made.lam.detach()
    expected = by_hand(X, made, unit)
    found = (theory.epsilon, theory.a, theory.B, theory.C, theory.least_lambda)
    assert_allclose(found, expected, rtol=1e-8)
    assert theory.epsilon <= 0.2 * 1.1  # lambda has moved since
    assert theory.holds


@pytest.mark.filterwarnings("ignore:.*the label -1")
def test_a_lambda_that_violates_proposition_1_is_said(blocks):
    options = {"affinity": "precomputed", "device": "cpu", "n_blocks": 3, "max_iter": 20, "random_state": 0}
    with pytest.warns(FitWarning, match="Proposition 1 asks for lambda above"):
        model = SymNMFNet(4, settings="paper", **options).fit(blocks[0])
    assert not model.diagnostics_["holds"]
    assert model.lambda_ <= model.diagnostics_["least_lambda"]
    bounded = SymNMFNet(4, settings="paper", epsilon=0.1, learning_rate=0.05, **options).fit(blocks[0])
    assert bounded.diagnostics_["holds"]
    assert bounded.diagnostics_["epsilon"] <= 0.11
    assert bounded.lambda_ > bounded.diagnostics_["least_lambda"]
    with pytest.warns(FitWarning, match="and it is 1: the net may be unstable .* Raise lam."):
        assert SymNMFNet(4, lam=1.0, **options).fit(blocks[0]).lambda_ == pytest.approx(1.0)
    quiet = SymNMFNet(4, **options).fit(blocks[0])
    assert set(quiet.diagnostics_) == {"epsilon", "a", "B", "C", "least_lambda", "holds"}


def test_beta_holds_the_layers_back(blocks):
    options = {"affinity": "precomputed", "device": "cpu", "max_iter": 100}
    free, held = (SymNMFNet(4, beta=beta, **options).fit(blocks[0]) for beta in (0.0, 100.0))
    assert held.diagnostics_["epsilon"] < free.diagnostics_["epsilon"] / 2


def by_norm(U):
    """Columns in an order of their own: the estimator puts the largest community first at the end."""
    return U[:, np.argsort(np.linalg.norm(U, axis=0))]


@pytest.mark.parametrize("kind", [SymNMF, SymNMFNet])
def test_callbacks_see_the_factor(blocks, kind):
    seen = []
    options = {"device": "cpu"} if kind is SymNMFNet else {"solver": "hals", "init": "random", "n_init": 1}
    callbacks = [lambda row: seen.append((row["loss"], row.U))]
    model = kind(4, affinity="precomputed", max_iter=30, random_state=0, callbacks=callbacks, **options)
    model.fit(blocks[0])
    X = blocks[0].toarray()
    for loss, U in seen:
        assert_allclose(np.linalg.norm(X - U @ U.T) ** 2 / np.linalg.norm(X) ** 2, loss, rtol=1e-4)
    assert_allclose(by_norm(seen[-1][1]), by_norm(model.components_), atol=1e-6)
    assert len({loss for loss, _ in seen}) > 1
    assert not any(hasattr(row, "U") for row in model.history_)
