"""The fused kernels against the plain form in double precision; they need a CUDA device and Triton."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from rectifact import NMD, DawidSkene, SymNMF, SymNMFNet, kernels
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.core.rectify import relu
from rectifact.crowd import read_answers
from rectifact.crowd.device import tensor
from rectifact.crowd.em import em
from rectifact.crowd.fitting import Problem
from rectifact.crowd.pooled import pooled_em
from rectifact.datasets import make_block_model, make_crowd
from rectifact.kernels import reference
from rectifact.kernels.penalty import Penalty
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, nmd

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="no Triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def data(n, d, r, binary, missing, seed=0):
    rng = np.random.default_rng(seed)
    A, B, W = rng.standard_normal((n, r)) / 2, rng.standard_normal((r, d)) / 2, rng.standard_normal((n, r))
    X = np.maximum(A @ B + rng.standard_normal((n, d)), 0)
    X = (X > 0).astype(float) if binary else X
    X[rng.random((n, d)) < missing] = np.nan
    return X, A, B, W


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("n", "d", "r", "missing"), [(1, 1, 1, 0.0), (70, 33, 5, 0.1), (1000, 777, 24, 0.0), (300, 129, 100, 0.3)]
)
def test_products_equal_the_reference(n, d, r, missing, binary):
    X, A, B, W = data(n, d, r, binary, missing)
    Z, sums = reference.nmd_e_step(X, A @ B, 0.7, binary)
    X, A, B, W, sigma = (torch.tensor(array, dtype=torch.float32, device="cuda") for array in (X, A, B, W, 0.7))
    fused = kernels.nmd_form(operand(X), r, "likelihood")
    factors = fused.halves(A, sigma), fused.halves(B)
    rows, found = fused.nmd_row_products(X, *factors, sigma, binary, missing > 0)
    columns = fused.nmd_column_products(X, *factors, fused.halves(W), sigma, binary, missing > 0)
    stored = fused.Halves(*(torch.empty_like(X, dtype=torch.bfloat16) for _ in range(2)))
    fused.nmd_row_products(X, *factors, sigma, binary, missing > 0, stored)
    again = fused._stored_products(stored, fused.halves(W), sigma)
    by_columns = W.cpu().double().numpy().T @ Z
    for got, wanted in ((rows, Z @ B.cpu().double().numpy().T), (columns, by_columns), (again, by_columns)):
        assert np.linalg.norm(got.cpu().numpy() - wanted) <= 1e-5 * np.linalg.norm(wanted)
    assert_allclose(found.cpu().numpy(), sums, rtol=1e-4)


def test_halves_hold_sixteen_bits():
    A = torch.randn((50, 7), device="cuda") * 10.0 ** torch.arange(-20, 15, 5, device="cuda")
    high, low = kernels.nmd_form(operand(A), 7, "likelihood").halves(A)
    assert ((high.double() + low.double() - A.double()).abs() <= 2.0**-16 * A.abs()).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1000, 7), (333, 100)])
def test_thresholds_of_columns_equal_the_plain_form(shape, dtype, rng):
    Z, thresholds = rng.standard_normal(shape), rng.random(shape[1])
    Z[0, 0] = np.nan  # stays, so that a broken iteration is seen
    on = (torch.tensor(array, dtype=dtype, device="cuda") for array in (Z, thresholds))
    kept = kernels.relu_columns(*on).cpu().numpy()
    assert_allclose(kept, relu(Z, thresholds), rtol=1e-6)


def test_where_it_serves():
    X = torch.zeros((4, 4), device="cuda")

    def form(X, rank=2, objective="likelihood"):
        return kernels.nmd_form(operand(X), rank, objective).__name__.rpartition(".")[2]

    assert form(X) == form(X, 128) == "fused_nmd"
    assert {form(X, 129), form(X, 2, "latent"), form(X.double()), form(X.cpu()), form(np.zeros((4, 4)))} == {
        "tiled_nmd"
    }


@pytest.mark.parametrize("link", ["relu", "binary"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_fused_sweep_equals_one_over_tiles(link, missing):
    X, A, B, _ = data(300, 129, 24, link == "binary", missing)
    X, A, B, sigma = (torch.tensor(array, dtype=torch.float32, device="cuda") for array in (X, A, B, 0.7))
    fused = kernels.nmd_sweep(operand(X), A, B, sigma, link, "likelihood", missing > 0)
    wide = (each.double() for each in (A, B, sigma))
    tiled = kernels.nmd_sweep(operand(X.double()), *wide, link, "likelihood", missing > 0)
    for got, wanted in zip(fused, tiled, strict=True):
        assert torch.linalg.norm(got - wanted) <= 1e-3 * torch.linalg.norm(wanted)


@pytest.mark.parametrize("link", ["relu", "binary"])
def test_a_fused_sweep_with_priors_equals_one_over_tiles(link, rng):
    X, A, B, _ = data(300, 129, 24, link == "binary", 0.0)
    root = rng.standard_normal((3, 24, 30))
    P, Q, V = root @ root.transpose(0, 2, 1)
    parts = rng.standard_normal(24), P, rng.standard_normal(24), Q, V, rng.random(129)
    X, A, B, sigma = (torch.tensor(array, dtype=torch.float32, device="cuda") for array in (X, A, B, 0.7))
    single, double = (
        Penalty(*(torch.tensor(part, dtype=dtype, device="cuda") for part in parts))
        for dtype in (torch.float32, torch.float64)
    )
    fused = kernels.nmd_sweep(operand(X), A, B, sigma, link, "likelihood", False, penalty=single)
    wide = (each.double() for each in (A, B, sigma))
    tiled = kernels.nmd_sweep(operand(X.double()), *wide, link, "likelihood", False, penalty=double)
    for got, wanted in zip(fused, tiled, strict=True):
        assert torch.linalg.norm(got - wanted) <= 1e-3 * torch.linalg.norm(wanted)


@pytest.mark.parametrize("prior", [None, "factors"])
@pytest.mark.parametrize("link", ["relu", "binary"])
def test_a_fit_on_the_device_equals_the_one_on_the_host(link, prior):
    X, *_ = data(400, 90, 6, link == "binary", 0.0)
    options = {"max_iter": 60, "tol": 0, "prior": prior}
    host = NMD(6, link, **options).fit(X)
    device = NMD(6, link, **options).fit(torch.tensor(X, dtype=torch.float32, device="cuda"))
    assert device.embedding_.is_cuda
    assert_allclose(device.history_[-1]["loss"], host.history_[-1]["loss"], rtol=1e-3)


@pytest.mark.parametrize("stored", [0, 2**30])
def test_a_sweep_is_the_same_whether_z_is_stored(stored, monkeypatch):
    from rectifact.kernels import fused_nmd

    X, A, B, _ = (torch.tensor(a, dtype=torch.float32, device="cuda") for a in data(900, 300, 12, False, 0.0))
    wanted = fused_nmd.nmd_sweep(operand(X), A, B, torch.tensor(0.7, device="cuda"), "relu", "likelihood", False)
    monkeypatch.setattr(fused_nmd, "MOST_STORED", stored)
    found = fused_nmd.nmd_sweep(operand(X), A, B, torch.tensor(0.7, device="cuda"), "relu", "likelihood", False)
    for got, expected in zip(found, wanted, strict=True):
        assert_allclose(got.cpu().numpy(), expected.cpu().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("n", "rank"), [(3, 1), (500, 5), (2000, 20), (300, 40)])
def test_epochs_of_the_net_equal_those_of_torch(n, rank):
    from rectifact.graph import net, normalized, tensors

    graph = normalized(make_block_model(max(n, 30), min(rank, 5), degree=8).adjacency)
    X = tensors.to_torch(graph, "cuda")
    squared = float((graph.data**2).sum())
    U = torch.rand((graph.shape[0], rank), device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    outputs = []
    for most in (0, 64):
        kernels.MOST_NET_RANK, kept = most, kernels.MOST_NET_RANK
        made = net.start(X, U, squared**0.5, 1)
        monitor = Monitor(20, tol=0, check_every=20)
        outputs.append(net.train(X, squared, made, net.SETTINGS["repaired"], 1e-3, terms=[], monitor=monitor))
        kernels.MOST_NET_RANK = kept
    assert kernels.net_is_fused(X, rank)
    assert_allclose(outputs[1].cpu().numpy(), outputs[0].cpu().numpy(), rtol=1e-3, atol=1e-4)


def test_the_net_on_the_device_equals_newton():
    graph = make_block_model(300, 4, degree=20, mixing=0.15).adjacency
    net = SymNMFNet(4, affinity="precomputed", device="cuda").fit(graph)
    newton = SymNMF(4, affinity="precomputed", init="spectral").fit(graph)
    assert net.resolved_["device"] == "cuda"
    assert_allclose(net.relative_error_, newton.relative_error_, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_tasks", "n_workers", "n_classes"), [(1, 1, 2), (300, 7, 3), (1000, 40, 5), (400, 20, 70)])
def test_crowd_kernels_equal_the_reference(n_tasks, n_workers, n_classes, weighted):
    rng = np.random.default_rng(0)
    each = rng.integers(0, 6, n_tasks)
    indptr = np.concatenate([[0], np.cumsum(each)]).astype(np.int32)
    cells = rng.integers(0, n_workers * n_classes, indptr[-1]).astype(np.int32)
    weights = rng.random(indptr[-1]).astype(np.float32) if weighted else np.ones(indptr[-1], dtype=np.float32)
    log_priors = np.log(rng.dirichlet(np.ones(n_classes)))
    log_confusions = np.log(rng.dirichlet(np.ones(n_workers * n_classes), n_classes).T + 1e-3)
    known = np.where(rng.random(n_tasks) < 0.2, rng.integers(0, n_classes, n_tasks), -1)
    wanted, evidence = reference.crowd_posteriors(indptr, cells, weights, log_priors, log_confusions, known, 1)
    counts = reference.crowd_counts(indptr, cells, weights, wanted, n_workers * n_classes)
    on = {name: tensor(value, "cuda") for name, value in (("indptr", indptr), ("cells", cells), ("known", known))}
    given = tensor(weights, "cuda") if weighted else tensor(np.ones(1), "cuda").expand(len(weights))
    logs = tensor(log_priors, "cuda"), tensor(log_confusions, "cuda")
    found, seen = kernels.crowd_posteriors(on["indptr"], on["cells"], given, *logs, on["known"])
    assert_allclose(found.cpu().numpy(), wanted, atol=2e-6)
    assert_allclose(float(seen), evidence, rtol=1e-5)
    added = kernels.crowd_counts(on["indptr"], on["cells"], given, found, n_workers * n_classes)
    assert_allclose(added.cpu().numpy(), counts, atol=1e-4)
    swept = kernels.crowd_sweep(on["indptr"], on["cells"], given, *logs, on["known"])
    for got, expected in zip(swept, (wanted, counts, wanted.sum(axis=0), evidence), strict=True):
        assert_allclose(got.cpu().numpy(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("model", ["auto", "full", "one-coin"])
def test_a_crowd_on_the_device_equals_the_one_on_the_host(model):
    crowd = make_crowd(2000, n_workers=30, n_classes=4, labels_per_task=4)
    gold = crowd.truth.iloc[:50]
    host, device = (DawidSkene(model=model, device=name).fit(crowd.answers, gold=gold) for name in ("cpu", "cuda"))
    assert isinstance(device.probas_, np.ndarray)
    assert (host.labels_ == device.labels_).mean() > 0.999
    assert_allclose(device.confusions_, host.confusions_, atol=2e-3)
    assert_allclose(device.log_likelihood_, host.log_likelihood_, rtol=1e-5)


class Watched(Monitor):
    """Between its checks torch raises at anything that makes the host wait for the device."""

    @property
    def due(self):
        at_a_check = super().due
        torch.cuda.set_sync_debug_mode("default" if at_a_check else "error")
        return at_a_check

    def __iter__(self):
        for t in super().__iter__():
            torch.cuda.set_sync_debug_mode("error" if t > 3 else "default")  # the first ones compile and record
            yield t


@pytest.fixture
def watched():
    yield Watched(13, tol=0, check_every=12)
    torch.cuda.set_sync_debug_mode("default")


def test_the_watch_notices_a_wait(watched):
    number = torch.ones((), device="cuda")
    with pytest.raises(RuntimeError, match="synchroniz"):
        for _ in watched:
            float(number)


@pytest.mark.parametrize("model", ["full", "auto"])
def test_nothing_waits_between_checks_of_a_crowd(model, watched):
    crowd = make_crowd(500, n_workers=10, n_classes=3)
    answers = read_answers(crowd.answers)
    problem = Problem(answers.matrix(), answers.shares(), None, "cuda")
    B, votes = problem.placed[0], problem.place(problem.vote_sums)
    if model == "full":
        em(B, votes, smoothing=0.1, monitor=watched)
    else:
        pooled_em(B, votes, monitor=watched, weights=np.ones(len(votes.counts)))
    assert len(watched.history) == 2


def test_copies_and_subtypes_are_fitted_on_the_device_as_on_the_host():
    crowd = make_crowd(1500, 12, 3, labels_per_task=6, accuracy=(0.55, 0.75), random_state=5)
    first = crowd.answers.groupby("task")["label"].transform("first")
    copied = np.random.default_rng(0).random(len(first)) < 0.4
    table = crowd.answers.assign(label=first.where(copied, crowd.answers["label"]))
    table = pd.concat([table, table[table["worker"] == 2].assign(worker=99)])
    host, card = (DawidSkene(device=device).fit(table) for device in ("cpu", "cuda"))
    assert host.resolved_["subtypes"] == card.resolved_["subtypes"] == 2
    assert host.resolved_["families"] == card.resolved_["families"] != []
    assert_allclose(card.probas_, host.probas_, atol=0.01)


@pytest.mark.parametrize("link", ["relu", "binary"])
def test_nothing_waits_between_checks_of_a_climb(link, watched):
    X, A, B, _ = data(300, 60, 5, link == "binary", 0.0)
    X, A, B = (torch.tensor(array, dtype=torch.float32, device="cuda") for array in (X, A, B))
    nmd(operand(X), LatentModel(A, B, 0.0), expect=Expectation(link, missing=False), monitor=watched)
    assert len(watched.history) == 2
    assert watched.history[1]["loss"] < watched.history[0]["loss"]


def test_a_climb_on_the_device_takes_the_same_turns():
    """Rejected sweeps too: choices on the device are those that the host would make."""
    X, A, B, _ = data(200, 40, 3, False, 0.0)
    climbs = {}
    for name in ("host", "device"):
        monitor, rows = Monitor(80, tol=0), []
        monitor.callbacks = [rows.append]
        on = sp.csr_array(X) if name == "host" else torch.tensor(X, device="cuda")
        factors = (A, B) if name == "host" else (torch.tensor(A, device="cuda"), torch.tensor(B, device="cuda"))
        nmd(operand(on), LatentModel(*factors, 0.0), expect=Expectation(), monitor=monitor)
        climbs[name] = [row["loss"] for row in rows]
    assert_allclose(climbs["device"], climbs["host"], rtol=1e-9)
    assert (np.diff(climbs["host"]) == 0).any()  # one was rejected


@pytest.mark.parametrize("r", [1, 3, 40, 64, 100])
def test_the_inverse_of_a_small_gram_matrix(r):
    from rectifact.kernels.fused_inverse import gram_inverse

    A = torch.randn((200, r), device="cuda", generator=torch.Generator(device="cuda").manual_seed(0))
    G = A.T @ A
    assert_allclose(gram_inverse(G).cpu(), torch.linalg.inv(G.double()).cpu(), atol=1e-7)
    singular = torch.ones((r, r), device="cuda")
    assert torch.isfinite(gram_inverse(singular)).all()


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("extrapolated", [True, False])
def test_choices_on_the_device_are_those_of_the_reference(kept, extrapolated):
    from rectifact.kernels import fused_climb, reference_climb

    on = lambda value, dtype: torch.tensor(value, dtype=dtype, device="cuda")  # noqa: E731
    numbers = [on(-3.0 if kept else -5.0, torch.float64), on(-4.0, torch.float64), on(0.2, torch.float32)]
    state = [*numbers, on(extrapolated, torch.bool), on(2, torch.int64)]
    for most in (0.99, 0.0):
        limits = {"most": most, "largest_gap": 0.5, "rounding": 1e-7}
        fused, plain = (form.climb_choices(*state, **limits) for form in (fused_climb, reference_climb))
        for got, wanted in zip(fused, plain, strict=True):
            assert got.dtype == wanted.dtype
            assert_allclose(got.cpu(), wanted.cpu(), rtol=1e-6)
    for slope, curvature in ((3.0, -10.0), (-30.0, -10.0), (2.0, 5.0)):
        derivatives = on(slope, torch.float64), on(curvature, torch.float64)
        steps = [
            form.newton_step(on(0.1, torch.float64), *derivatives, -0.2) for form in (fused_climb, reference_climb)
        ]
        assert_allclose(steps[0].cpu(), steps[1].cpu(), rtol=1e-6)
