"""Latent dimensions: the figures of Saul (2022) as tables, and time to the same quality against other algorithms."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from timeit import repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.latent_peers import (
    a_nmd,
    e_step_expression,
    em_with_randomized_svd,
    relative_error,
    three_block_nmd,
)
from rectifact.bench.latent_scaling import run_scaling
from rectifact.bench.latent_use import norm_ratio, run_use
from rectifact.bench.measure import at_hand, one_thread, timed
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import MissingDataset, load_images, make_dots, make_sprites
from rectifact.kernels import nmd_e_step
from rectifact.latent import NMD, LogisticPCA
from rectifact.latent.model import LatentModel
from rectifact.latent.nmd import Expectation, nmd
from rectifact.latent.starts import svd_start
from rectifact.metrics import root_mean_squared_error


@one_thread()
def run(extent: Extent) -> Tables:
    """Measure everything; MNIST only where its file is found.

    A quick run takes one rank, and the fastest peer only; a large one takes all ranks of the paper.

    Returns
    -------
    dict of list of dict
        Tables ``"rmse against rank"`` (Figure 5.1), ``"logistic pca"`` (Figure 5.3), ``"time to the same quality"``,
        ``"e-step"``, its speed against the numpy expression, ``"scaling"``, and what :mod:`rectifact.bench.latent_use`
        measures.
    """
    scaling = run_scaling(extent)
    with warnings.catch_warnings(action="ignore"):  # runs of a fixed length do not converge
        return {
            "rmse against rank": _rmse_against_rank(extent.large, extent.quick),
            "logistic pca": _logistic(extent.large, extent.quick),
            "time to the same quality": _time_to_same(extent.quick),
            "e-step": _e_step_speed(),
            "scaling": scaling,
            **run_use(extent),
        }


def digits_2000() -> Any:
    """200 MNIST images of each digit, divided by 255, as a sparse matrix."""
    digits = load_images("mnist")
    chosen = np.concatenate([np.flatnonzero(digits.y == digit)[:200] for digit in range(10)])
    return sp.csr_array(digits.X[chosen] / 255.0)


def _rmse_against_rank(large: bool, quick: bool) -> Rows:
    sets: dict[str, Callable[[], Any]] = {
        "dots": lambda: make_dots().X,
        "sprites": lambda: make_sprites().X.astype(np.float32),
        "mnist": lambda: load_images("mnist").X[::10] / 255.0,
    }
    ranks_of = {"dots": (4, 5), "sprites": (16,), "mnist": (16, 32, 64)}
    if large:
        ranks_of = {"dots": (4, 5, 8, 16), "sprites": (4, 8, 16, 32, 64), "mnist": (4, 8, 16, 32, 64)}
    if quick:
        sets, ranks_of = {"dots": sets["dots"]}, {"dots": (5,)}
    rows: Rows = []
    for name, X in at_hand(sets):
        ranks, sweeps = ranks_of[name], 300 if name == "sprites" else 150
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
        U, s, Vt = randomized_svd(dense, max(ranks), n_iter=10, random_state=0)
        for rank in ranks:
            svd = ((U[:, :rank] * s[:rank]) @ Vt[:rank]).clip(0, 1 if name != "mnist" else None)
            model, seconds = timed(NMD(rank, prior=None, max_iter=sweeps, tol=0, n_jobs=1, random_state=0).fit, X)
            default = NMD(rank, n_jobs=1, random_state=0).fit(X)
            errors = {
                "rmse_NMD": root_mean_squared_error(model.inverse_transform(model.embedding_), dense),
                "rmse_default": root_mean_squared_error(default.inverse_transform(default.embedding_), dense),
                "rmse_SVD": root_mean_squared_error(svd, dense),
            }
            chosen = {"prior": default.resolved_["prior"], "norm_ratio": norm_ratio(default.embedding_)}
            rows.append({"data": name, "rank": rank, **errors, **chosen, "sweeps": sweeps, "seconds": seconds})
    return rows


def _logistic(large: bool, quick: bool) -> Rows:
    """Figure 5.3: both models until the paper's stopping rule holds, 1e-5 per entry or 512 iterations."""
    rows: Rows = []
    X = make_dots(size=32, grid=32 if large else 16, radius=3.8).X
    dense = X.toarray()
    for rank in (5,) if quick else (5, 8, 16):
        for name, model in (
            ("NMD", NMD(rank, prior=None, max_iter=512, tol=1e-5, n_jobs=1, random_state=0)),
            ("LogisticPCA", LogisticPCA(rank, prior=None)),
        ):
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
    _ours(X, rank, "likelihood", np.inf)  # compiles
    rows: Rows = []
    peers: list[tuple[str, Callable[[Any, int, int], Iterator[float]], str]] = [
        ("EM, randomised SVD", em_with_randomized_svd, "likelihood"),
        ("A-NMD", a_nmd, "latent"),
        ("3B-NMD, beta 0.7", three_block_nmd, "latent"),
        ("3B-NMD, beta 0.95", partial(three_block_nmd, beta=0.95), "latent"),
    ]
    for name, peer, objective in [peers[2]] if quick else peers:
        (*_, reached), theirs = timed(list, peer(dense, rank, 100))
        ours = _ours(X, rank, objective, -reached if objective == "likelihood" else reached)
        row = {"peer": name, "goal": objective, "reached": reached}
        rows.append(row | {"peer_s": theirs, "NMD_s": ours, "ratio": theirs / ours})
    return rows


def _ours(X: Any, rank: int, objective: str, goal: float) -> float:
    """Seconds until the loss reaches the goal, start included: those of the shortest fit of several that does.

    The goal of the latent objective is a relative error.
    """
    n_iter, expect, data = 5, Expectation("relu", objective), operand(X)

    def fit(monitor: Monitor) -> LatentModel:
        return nmd(data, svd_start(data, rank, "relu"), expect=expect, monitor=monitor, floor=-9.0)

    while n_iter <= 500:
        monitor = Monitor(n_iter, tol=0)
        model, seconds = timed(fit, monitor)
        loss = monitor.history[-1]["loss"]
        if objective == "latent":
            loss = relative_error(X.toarray(), model.A @ model.B)
        if loss <= goal:
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
