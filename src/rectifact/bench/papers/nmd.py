"""Experiments of Saul (2022): Figures 2.1, 2.2 and 5.1 to 5.3, the naive alternation and EM as printed.

What the paper derives for single entries is in ``nmd_entries``.
"""

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import pi
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from rectifact.bench import Rows
from rectifact.bench.latent import digits_2000
from rectifact.bench.latent_peers import relative_error
from rectifact.bench.measure import at_hand, timed
from rectifact.bench.papers import Curves, Experiment, drawing, nmd_entries
from rectifact.core.arrays import to_host
from rectifact.core.monitor import Monitor
from rectifact.core.operand import operand
from rectifact.datasets import load_images, load_stl10, make_dots, make_sprites
from rectifact.latent import NMD, LogisticPCA
from rectifact.latent.nmd import Expectation, expected, nmd
from rectifact.latent.paper import alternating_nmd, em_nmd
from rectifact.latent.starts import svd_start
from rectifact.metrics import root_mean_squared_error

Matrix = NDArray[np.float64]
BINARY = ("dots", "sprites")


def circulant(n: int, alpha: float | None = None) -> tuple[Matrix, Matrix]:
    """Theta (2.2) and X (2.3), both (n, n); without ``alpha``, that of equation 2.5."""
    alpha = 1 / (2 * np.sin(pi / n) * np.sin(2 * pi / n)) if alpha is None else alpha
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    Theta = 1 - alpha * (1 - np.cos(2 * pi * apart / n))
    return Theta, np.maximum(Theta, 0)


def clipped_svd(X: Matrix, rank: int, most: float | None) -> Matrix:
    """Reconstruction from a truncated SVD, clipped to the range of the data (5.1)."""
    U, s, Vt = randomized_svd(X, rank, n_iter=10, random_state=0)
    return ((U * s) @ Vt).clip(0, most)


def _latent_fit(X: Matrix, rank: int, sweeps: int = 2000) -> Matrix:
    """Theta of rank r whose rectified image is as near to X as our sweeps on the latent objective come."""
    data = operand(sp.csr_array(X))
    monitor = Monitor(sweeps, tol=1e-12)
    expect = Expectation("relu", "latent")
    model = nmd(data, svd_start(data, rank, "relu"), expect=expect, monitor=monitor, floor=-9.0)
    return np.asarray(model.A @ model.B)


def _error(X: Matrix, rank: int) -> float:
    """Relative error of NMD of this rank, without a prior."""
    with warnings.catch_warnings(action="ignore"):  # an exact fit never stops to improve
        model = NMD(rank, link="relu", prior=None, n_jobs=1).fit(X)
    return relative_error(X, model.embedding_ @ model.components_)


def _negative_error(X: Matrix, rank: int) -> float:
    return -_error(X, rank)


def figure_2_1(quick: bool) -> Rows:
    """The least rank of Theta whose rectified image is a random sparse matrix of full rank, to 1 %."""
    rows: Rows = []
    n, draws = 16, 1 if quick else 10
    for zeros in (0.5, 0.8) if quick else (0.5, 0.6, 0.7, 0.8, 0.9):
        ranks, least = [], []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            X = np.where(rng.random((n, n)) < zeros, 0, rng.random((n, n)))
            ranks.append(int(np.linalg.matrix_rank(X)))
            possible = range(1, ranks[-1])
            least.append(1 + bisect_left(possible, -0.01, key=partial(_negative_error, X)))
        rows.append({"zeros": zeros, "rank of X": float(np.mean(ranks)), "rank of Theta": float(np.mean(least))})
    return rows


def figure_2_2(quick: bool) -> Rows:
    """Ranks of the circulant matrices, and relative errors of rank 3 on X by four methods."""
    rows: Rows = []
    for n in (8, 16) if quick else (8, 16, 32, 64):
        Theta, X = circulant(n)
        figures: dict[str, float] = {"rank of Theta": int(np.linalg.matrix_rank(Theta))}
        figures["rank of X"] = int(np.linalg.matrix_rank(X))
        figures |= {"next to the diagonal": float(X[0, 1]), "largest theta": float(np.abs(Theta).max())}
        naive = alternating_nmd(X, 3, monitor=Monitor(512, tol=0))
        printed = em_nmd(X, 3, "relu", monitor=Monitor(512, tol=0))
        errors = {
            "rectifact": _error(X, 3),
            "EM as printed": relative_error(X, np.asarray(printed.A @ printed.B)),
            "naive alternation": relative_error(X, np.asarray(naive.A @ naive.B)),
            "SVD": relative_error(X, clipped_svd(X, 3, None)),
        }
        rows.append({"n": n, **figures, **{f"error, {name}": error for name, error in errors.items()}})
    return rows


def _blip(title: str, rows: Rows) -> list[Any]:
    """The circulant matrix of size 16 and its rectified image, as colours."""
    Theta, X = circulant(16)
    found = next((row for row in rows if row["n"] == 16), {})
    ranks = {name: found.get(f"rank of {name}") for name in ("Theta", "X")}
    return [
        drawing.matrix(f"{title}, {name}, n = 16", values, f"Rank {ranks[name]}.")
        for name, values in (("Theta", Theta), ("X", X))
    ]


def equation_2_10(quick: bool) -> Rows:
    """The naive alternation and our sweeps on the same objective: relative error by iteration."""
    rows: Rows = []
    for name, X in at_hand({"digits, 2000": digits_2000}):
        dense = X.toarray()[:: 5 if quick else 1]
        for n_iter in (5, 20) if quick else (5, 10, 20, 50, 100, 200):
            model, seconds = timed(partial(alternating_nmd, monitor=Monitor(n_iter, tol=0)), dense, 32)
            error = relative_error(dense, np.asarray(model.A @ model.B))
            row = {"data": name, "iteration": n_iter}
            rows.append({**row, "method": "naive alternation", "relative error": error, "seconds": seconds})
            Theta, seconds = timed(_latent_fit, dense, 32, n_iter)
            error = relative_error(dense, Theta)
            rows.append({**row, "method": "rectifact, latent", "relative error": error, "seconds": seconds})
    return rows


def section_4_3(quick: bool) -> Rows:
    """EM as printed and our sweeps until EM's stopping rule holds, on digits and dots."""
    rows: Rows = []
    sets: dict[str, Callable[[], Any]] = {"dots 32x32": lambda: make_dots(size=32, grid=16).X, "digits": digits_2000}
    for (name, X), rank in zip(at_hand(sets), (5, 32), strict=False):
        X = X[:: 5 if quick else 1]
        binary = name.startswith("dots")
        with warnings.catch_warnings(action="ignore"):
            NMD(2, prior=None, max_iter=2, tol=1, n_jobs=1).fit(X[:50])  # compiles
        monitor = Monitor(60 if quick else 512, tol=0)
        model, seconds = timed(partial(em_nmd, monitor=monitor), X.toarray(), rank, _link(binary))
        losses = np.array([row["loss"] for row in monitor.history])
        about = {"data": name, "rank": rank}
        rebuilt = expected(np.asarray(model.A @ model.B), float(model.sigma), _link(binary))
        figures = {"log-likelihood": -float(losses[-1]), "rmse": root_mean_squared_error(rebuilt, X.toarray())}
        falls = {"falls": int((np.diff(losses) > 1e-12).sum())}
        rows.append({**about, "method": "EM as printed", **figures, "iterations": len(losses), "s": seconds, **falls})
        with warnings.catch_warnings(action="ignore"):  # as many sweeps as EM took
            ours, seconds = timed(NMD(rank, prior=None, max_iter=len(losses), tol=0, n_jobs=1).fit, X)
        rebuilt = ours.inverse_transform(ours.embedding_)
        figures = {"log-likelihood": ours.score(X), "rmse": root_mean_squared_error(rebuilt, X.toarray())}
        rows.append({**about, "method": "rectifact", **figures, "iterations": ours.n_iter_, "s": seconds})
    return rows


def _link(binary: bool) -> str:
    return "binary" if binary else "relu"


def _sets(quick: bool) -> Iterator[tuple[str, Any]]:
    """The five sets of section 5.1 that are at hand, images in rows."""
    if quick:
        return at_hand({"dots": lambda: make_dots(size=32, grid=16).X})
    return at_hand(
        {
            "dots": lambda: make_dots().X,
            "sprites": lambda: make_sprites(15246).X.astype(np.float32),
            "digits": lambda: sp.csr_array(load_images("mnist").X / np.float32(255)),
            "colour histograms": lambda: load_stl10("histograms").X,
            "edge maps": lambda: load_stl10("edges").X,
        }
    )


def figure_5_1(quick: bool) -> Rows:
    """RMSE of NMD without a prior (512 sweeps) and with the default one, and of SVD, against rank."""
    rows: Rows = []
    for name, X in _sets(quick):
        most = 1.0 if name in BINARY else None
        dense = np.asarray(X.toarray())
        data = X if quick else _on_device(X)
        for rank in (2, 5, 8) if quick else (1, 2, 4, 5, 8, 16, 32, 64):
            for method, prior in (("NMD", None), ("NMD, default prior", "auto")):
                rows.append({"data": name, "rank": rank, "method": method, "rmse": _rmse(data, dense, rank, prior)})
            error = root_mean_squared_error(clipped_svd(dense, rank, most), dense)
            rows.append({"data": name, "rank": rank, "method": "SVD", "rmse": error})
    return rows


def _rmse(X: Any, dense: Any, rank: int, prior: Any) -> float:
    with warnings.catch_warnings(action="ignore"):  # runs of a fixed length
        options: dict[str, Any] = {} if prior else {"max_iter": 512, "tol": 0}
        model = NMD(rank, prior=prior, n_jobs=1, **options).fit(X)
    return root_mean_squared_error(to_host(model.inverse_transform(model.embedding_)), dense)


def _on_device(X: Any) -> Any:
    """X on a GPU if there is one: sets of this size take long on one core."""
    with suppress(ImportError):
        import torch

        if torch.cuda.is_available():
            return torch.as_tensor(X.toarray(), device="cuda")
    return X


def reconstructions(quick: bool) -> Iterator[tuple[str, int, dict[str, Matrix]]]:
    """Name and rank of each set, and its images (2000 at most): as they are, and as NMD and SVD reconstruct them."""
    for name, X in _sets(quick):
        rank = {"dots": 5, "sprites": 16}.get(name, 32)
        X = X[:: max(1, X.shape[0] // 2000)]
        dense = np.asarray(X.toarray(), dtype=float)
        with warnings.catch_warnings(action="ignore"):
            model = NMD(rank, prior=None, max_iter=150, tol=0, n_jobs=1).fit(X)
        svd = clipped_svd(dense, rank, 1.0 if name in BINARY else None)
        yield name, rank, {"images": dense, "NMD": model.inverse_transform(model.embedding_), "SVD": svd}


def figure_5_2(quick: bool) -> Rows:
    """RMSE of single images, at the ranks of the reconstructions that can be seen in the documentation."""
    rows: Rows = []
    for name, rank, found in reconstructions(quick):
        for method in ("NMD", "SVD"):
            errors = np.sqrt(np.mean((found[method] - found["images"]) ** 2, axis=1))
            shares = {f"rmse, {q} % quantile": float(np.quantile(errors, q / 100)) for q in (10, 50, 90)}
            rows.append({"data": name, "rank": rank, "method": method, **shares})
    return rows


QUANTILES = ("rmse, 10 % quantile", "rmse, 50 % quantile", "rmse, 90 % quantile")


COMPARED = (2, 4, 5, 8, 16, 32)
"""Ranks at which NMD and logistic PCA are compared."""


def figure_5_3(quick: bool) -> Rows:
    """NMD and logistic PCA on binary images: RMSE, log-likelihood and seconds per iteration, against rank."""
    rows: Rows = []
    sets: dict[str, Callable[[], Any]] = {"dots": lambda: make_dots(size=32, grid=16 if quick else 32).X}
    if not quick:
        sets["sprites"] = lambda: make_sprites(2000, size=32).X
    for name, load in sets.items():
        X = load()
        dense = X.toarray()
        for rank in (2, 5) if quick else COMPARED:
            for method, model in (
                ("NMD", NMD(rank, prior=None, max_iter=512, n_jobs=1)),
                ("EM as printed", NMD(rank, solver="em", prior=None, max_iter=100)),
                ("logistic PCA", LogisticPCA(rank, prior=None, max_iter=512)),
            ):
                with warnings.catch_warnings(action="ignore"):
                    model.fit(X)
                error = root_mean_squared_error(model.inverse_transform(model.embedding_), dense)
                figures = {"rmse": error, "log-likelihood": model.score(X), "iterations": model.n_iter_}
                figures["s per iteration"] = model.history_[-1]["seconds"] / model.n_iter_
                rows.append({"data": name, "rank": rank, "method": method, **figures})
    return rows


def section_6(quick: bool) -> Rows:
    """Entries that were hidden: RMSE of their expected values, next to SVD with the mean filled in."""
    rows: Rows = []
    for name, X in at_hand({"digits, 2000": digits_2000}):
        dense = X.toarray()[:: 5 if quick else 1]
        for share in (0.2,) if quick else (0.1, 0.2, 0.5):
            hidden = np.random.default_rng(0).random(dense.shape) < share
            seen = np.where(hidden, np.nan, dense)
            with warnings.catch_warnings(action="ignore"):
                model = NMD(16, missing=np.nan, prior=None, max_iter=100, n_jobs=1).fit(seen)
            filled = np.where(hidden, np.nanmean(seen), dense)
            rebuilt = {"NMD": model.inverse_transform(model.embedding_), "SVD": clipped_svd(filled, 16, None)}
            for method, values in rebuilt.items():
                error = root_mean_squared_error(values[hidden], dense[hidden])
                rows.append({"data": name, "hidden": share, "method": method, "rmse of hidden entries": error})
    return rows


EXPERIMENTS = {
    "figure 2.1": Experiment(
        figure_2_1, pictures=partial(drawing.columns, x="zeros", ys=("rank of X", "rank of Theta"), y="rank")
    ),
    "figure 2.2": Experiment(figure_2_2, pictures=_blip),
    "equation 2.10": Experiment(equation_2_10, Curves("iteration", "relative error", log_x=True, log_y=True)),
    "table 4.1": Experiment(partial(nmd_entries.table, True)),
    "table 4.2": Experiment(partial(nmd_entries.table, False)),
    "figure 4.1": Experiment(nmd_entries.figure_4_1, Curves("z", "density")),
    "figure 4.2": Experiment(nmd_entries.figure_4_2, Curves("theta", "expected", line="variance")),
    "section 4.3": Experiment(section_4_3),
    "figure 5.1": Experiment(figure_5_1, Curves("rank", "rmse", log_x=True)),
    "figure 5.2": Experiment(figure_5_2, pictures=partial(drawing.spread, quantiles=QUANTILES, y="rmse of an image")),
    "figure 5.3": Experiment(figure_5_3, Curves("rank", "rmse", log_x=True, more=("s per iteration",))),
    "section 6": Experiment(section_6),
}
