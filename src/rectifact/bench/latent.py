"""Latent dimensions: the figures of Saul (2022) as tables, and time to the same quality against other algorithms."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from time import perf_counter
from timeit import repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from rectifact.bench.latent_peers import a_nmd, e_step_expression, em_with_randomized_svd, three_block_nmd
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import MissingDataset, load_images, make_dots, make_sprites
from rectifact.kernels import nmd_e_step
from rectifact.latent import NMD, LogisticPCA
from rectifact.latent.nmd import Expectation, nmd
from rectifact.latent.starts import svd_start
from rectifact.metrics import root_mean_squared_error

Rows = list[dict[str, Any]]


def run_latent(*, large: bool = False, quick: bool = False) -> dict[str, Rows]:
    """Measure everything; MNIST only where its file is found.

    Parameters
    ----------
    large : bool, default False
        Whether to run all ranks of the paper.
    quick : bool, default False
        Whether to run one rank, and the fastest peer only.

    Returns
    -------
    dict of list of dict
        Tables ``"rmse against rank"`` (Figure 5.1), ``"logistic pca"`` (Figure 5.3), ``"time to the same quality"``,
        and ``"e-step"``, its speed against the numpy expression.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs of a fixed length do not converge
        return {
            "rmse against rank": _rmse_against_rank(large, quick),
            "logistic pca": _logistic(large, quick),
            "time to the same quality": _time_to_same(quick),
            "e-step": _e_step_speed(),
        }


def digits_2000() -> Any:
    """200 MNIST images of each digit, divided by 255, as a sparse matrix."""
    digits = load_images("mnist")
    chosen = np.concatenate([np.flatnonzero(digits.y == digit)[:200] for digit in range(10)])
    return sp.csr_array(digits.X[chosen] / 255.0)


def _rmse_against_rank(large: bool, quick: bool) -> Rows:
    sets: dict[str, tuple[Callable[[], Any], tuple[int, ...], int]] = {
        "dots": (lambda: make_dots().X, (4, 5, 8, 16) if large else (4, 5), 150),
        "sprites": (lambda: make_sprites().X.astype(np.float32), (4, 8, 16, 32, 64) if large else (16,), 300),
        "mnist": (lambda: load_images("mnist").X[::10] / 255.0, (4, 8, 16, 32, 64) if large else (16, 32, 64), 150),
    }
    if quick:
        sets = {"dots": (lambda: make_dots().X, (5,), 150)}
    rows: Rows = []
    for name, (load, ranks, sweeps) in sets.items():
        try:
            X = load()
        except MissingDataset:
            continue
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
        U, s, Vt = randomized_svd(dense, max(ranks), n_iter=10, random_state=0)
        for rank in ranks:
            svd = ((U[:, :rank] * s[:rank]) @ Vt[:rank]).clip(0, 1 if name != "mnist" else None)
            begin = perf_counter()
            model = NMD(rank, max_iter=sweeps, tol=0, n_jobs=1).fit(X)
            seconds = perf_counter() - begin
            found = np.asarray(model.inverse_transform(model.embedding_), dtype=float)
            errors = {
                "rmse_NMD": root_mean_squared_error(found, dense),
                "rmse_SVD": root_mean_squared_error(svd, dense),
            }
            rows.append({"data": name, "rank": rank, **errors, "sweeps": sweeps, "seconds": seconds})
    return rows


def _logistic(large: bool, quick: bool) -> Rows:
    """Figure 5.3: both models until the paper's stopping rule holds, 1e-5 per entry or 512 iterations."""
    rows: Rows = []
    X = make_dots(size=32, grid=32 if large else 16, radius=3.8).X
    dense = X.toarray()
    for rank in (5,) if quick else (5, 8, 16):
        for name, model in (("NMD", NMD(rank, max_iter=512, tol=1e-5, n_jobs=1)), ("LogisticPCA", LogisticPCA(rank))):
            model.fit(X)
            per_iteration = model.history_[-1]["seconds"] / model.n_iter_
            error = root_mean_squared_error(model.inverse_transform(model.embedding_), dense)
            figures = {"rmse": error, "log_likelihood": model.score(X), "n_iter": model.n_iter_}
            row = {"data": "dots 32x32", "rank": rank, "method": name}
            rows.append(row | figures | {"s_per_iteration": per_iteration})
    return rows


def _time_to_same(quick: bool, rank: int = 32) -> Rows:
    """Time of 100 iterations of each peer, and the time that NMD takes to be as good, measured right after it."""
    try:
        X = digits_2000()
    except MissingDataset:
        return []
    dense = X.toarray()
    _ours(X, rank, "likelihood", lambda *_: 1.0, 0.0)  # compiles
    rows: Rows = []
    peers: list[tuple[str, Callable[[Any, int, int], Iterator[float]], str]] = [
        ("EM, randomised SVD", em_with_randomized_svd, "likelihood"),
        ("A-NMD", a_nmd, "latent"),
        ("3B-NMD, beta 0.7", three_block_nmd, "latent"),
        ("3B-NMD, beta 0.95", partial(three_block_nmd, beta=0.95), "latent"),
    ]
    for name, peer, objective in [peers[2]] if quick else peers:
        begin = perf_counter()
        *_, reached = peer(dense, rank, 100)
        theirs = perf_counter() - begin
        quality = _likelihood if objective == "likelihood" else _minus_relative_error
        ours = _ours(X, rank, objective, quality, reached if objective == "likelihood" else -reached)
        row = {"peer": name, "goal": objective, "reached": reached}
        rows.append(row | {"peer_s": theirs, "NMD_s": ours, "ratio": theirs / ours})
    return rows


def _likelihood(X: Any, model: Any, loss: float) -> float:
    return -loss


def _minus_relative_error(X: Any, model: Any, loss: float) -> float:
    theta = model.A @ model.B
    return -float(np.linalg.norm(X.toarray() - np.maximum(theta, 0)) / sp.linalg.norm(X))


def _ours(X: Any, rank: int, objective: str, quality: Callable[..., float], goal: float) -> float:
    """Seconds until the quality reaches the goal, start included: those of the shortest fit of several that does."""
    n_iter, expect, data = 5, Expectation("relu", objective), operand(X)
    while n_iter <= 500:
        begin = perf_counter()
        monitor = Monitor(n_iter, tol=0)
        model = nmd(data, svd_start(data, rank, "relu"), expect=expect, monitor=monitor, floor=-9.0)
        seconds = perf_counter() - begin
        if quality(X, model, monitor.history[-1]["loss"]) >= goal:
            return seconds
        n_iter = int(np.ceil(1.15 * n_iter))
    return np.inf


def _e_step_speed(shape: tuple[int, int] = (1000, 800)) -> Rows:
    rows: Rows = []
    for dtype, density in product((np.float64, np.float32), (0.02, 0.2)):
        rng = np.random.default_rng(0)
        theta = rng.standard_normal(shape).astype(dtype)
        X = sp.random_array(shape, density=density, rng=rng, format="csr", dtype=dtype)
        dense, z, sigma = X.toarray(), np.empty_like(theta), dtype(0.7)
        ours = min(repeat(lambda: nmd_e_step(X, slice(0, shape[0]), theta, 0.7, False, z), number=1, repeat=16))
        plain = min(repeat(lambda: e_step_expression(dense, theta, sigma), number=1, repeat=16))  # type: ignore[arg-type]
        per_entry = 1e9 / theta.size
        figures = {"ns_per_entry": ours * per_entry, "numpy_ns_per_entry": plain * per_entry, "ratio": plain / ours}
        rows.append({"dtype": np.dtype(dtype).name, "nonzero": density, **figures})
    return rows
