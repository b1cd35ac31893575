"""Parts of mixtures: the figures of Li and Liang (2017) as tables, other methods from the same start, real text."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import psi
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.measure import one_thread, timed
from rectifact.bench.parts_likelihood import run_likelihood
from rectifact.bench.parts_peers import run_mixtures
from rectifact.bench.parts_purification import run_checks, run_purification
from rectifact.bench.parts_scaling import run_scaling
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Constant, Geometric, Schedule
from rectifact.datasets import MissingDataset, Topics, load_tdt2, make_topics
from rectifact.metrics import npmi_coherence, part_errors, total_correlation_error
from rectifact.parts import ANDNMF
from rectifact.parts.and_nmf import Threshold, and_nmf
from rectifact.parts.baselines import anls, hals
from rectifact.parts.starts import Subspace, anchor_start, subspace

Parts = NDArray[np.float64]
Method = Callable[[Topics, Parts, int], Parts]
N_SETS = 3  # data sets of each kind for the recovery without a start
PUBLISHED = Threshold(Geometric(0.1, 1.1), unit="absolute")
RECOVERED = 1e-2  # a part with a smaller relative error is recovered


def tdt2_topics(n_topics: int = 100, n_words: int = 1000) -> Parts:
    """Topics (n_topics, n_words) of TDT2 news over its most common words, by anchor words as in section 7."""
    X = load_tdt2().X
    frequent = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:n_words])
    return anchor_start(sp.csr_array(X[:, frequent]), n_topics, min_samples=50)


def paper_start(components: Parts, seed: int = 0) -> Parts:
    """The paper's start ``A* (I + U)``, U uniform on [-0.05, 0.05): every part with some of all others."""
    U = np.random.default_rng(seed).uniform(-0.05, 0.05, size=(len(components),) * 2)
    return (np.eye(len(components)) + U) @ components


@one_thread()
def run(extent: Extent) -> Tables:
    """Measure everything; topics are random where TDT2 is missing.

    A quick run takes AND in its default form only, and few rows of each table.

    Returns
    -------
    dict of list of dict
        Tables ``"error against time"`` and ``"time to 1e-3"`` (Figure 1), ``"thresholds"`` (Figure 2 a, b),
        ``"noise"`` (Figure 2 c), ``"blind"`` (recovery without a start), ``"one pass"``, ``"tdt2"`` (coherence on
        real text), ``"mixtures"`` and ``"ranks"`` (the default on real mixtures, and the peers on request),
        ``"likelihood"`` (time of a Poisson fit, next to the peer), ``"purification"``, ``"purification checks"`` and
        ``"scaling"``.
    """
    topics, quick = None, extent.quick
    with suppress(MissingDataset):
        topics = tdt2_topics()
    with warnings.catch_warnings(action="ignore"):  # runs of a fixed length do not converge
        curves = _curves(topics, quick)
        tables = {
            "error against time": curves,
            "time to 1e-3": _time_to(curves, 1e-3),
            "thresholds": [] if quick else _thresholds(topics),
            "noise": _noise(topics, quick),
            "blind": _blind(topics, quick),
            "one pass": _one_pass(topics, quick),
            "tdt2": _tdt2(quick),
        }
    tables |= run_mixtures(extent) | {"likelihood": run_likelihood(extent)}
    tables |= {"purification": run_purification(quick=quick), "purification checks": run_checks()}
    return tables | {"scaling": run_scaling(extent)}


def _data(kind: Any, topics: Parts | None, **options: Any) -> Topics:
    return make_topics(kind, components=None if kind.startswith("neg") else topics, **options)


def _checked_last(n_iter: int) -> Monitor:
    return Monitor(n_iter, tol=0, check_every=n_iter)


def _and(threshold: Threshold, data: Topics, start: Parts, n_iter: int) -> Parts:
    return _and_in(subspace(data.X, len(start)), start, threshold, n_iter)


def _and_in(space: Subspace, start: Parts, threshold: Threshold, n_iter: int) -> Parts:
    """AND in the subspace of the samples."""
    monitor = _checked_last(n_iter)
    return and_nmf(space.coordinates, start @ space.basis, threshold=threshold, monitor=monitor).H @ space.Vt


def _and_published(data: Topics, start: Parts, n_iter: int) -> Parts:
    """All features, T = 50 steps per stage, absolute thresholds."""
    return and_nmf(data.X, start, threshold=PUBLISHED, monitor=_checked_last(n_iter), n_inner=50).H


def _alternating(method: Callable[..., Any], data: Topics, start: Parts, n_iter: int) -> Parts:
    return method(data.X, np.maximum(start, 0), monitor=_checked_last(n_iter)).H


def _sklearn_nmf(solver: str, data: Topics, start: Parts, n_iter: int) -> Parts:
    model = NMF(len(start), init="custom", solver=solver, max_iter=n_iter, tol=0)
    model.fit_transform(data.X, W=np.full((len(data.X), len(start)), 1 / len(start)), H=np.maximum(start, 1e-12))
    return model.components_


def _online_lda(data: Topics, start: Parts, n_iter: int) -> Parts:
    """Online LDA from the same start, on documents of a thousand words."""
    X = 1000 * data.X
    model = LatentDirichletAllocation(len(start), learning_method="online", total_samples=len(X))
    model.partial_fit(X[:1])
    model.components_ = 1000 * np.maximum(start, 1e-6)
    total = model.components_.sum(axis=1, keepdims=True)
    model.exp_dirichlet_component_ = np.exp(psi(model.components_) - psi(total))
    for i in range(n_iter):
        batch = slice(500 * i % len(X), 500 * i % len(X) + 500)
        model.partial_fit(X[batch])
    return model.components_


METHODS: dict[str, tuple[Method, tuple[int, ...]]] = {
    "AND, decay 1.3, compressed": (partial(_and, Threshold(Geometric(0.1, 1.3))), (1, 5, 10, 20, 30, 40, 60, 100)),
    "AND, decay 1.1, compressed": (partial(_and, PUBLISHED), (1, 10, 50, 100, 160, 200)),
    "AND, decay 1.1, T = 50, all features": (_and_published, (1, 10, 50, 100)),
    "HALS": (partial(_alternating, hals), (1, 10, 50, 100, 150)),
    "ANLS": (partial(_alternating, anls), (1, 3, 10)),
    "scikit-learn NMF, cd": (partial(_sklearn_nmf, "cd"), (1, 10, 50, 100, 150)),
    "scikit-learn NMF, mu": (partial(_sklearn_nmf, "mu"), (10, 100)),
    "scikit-learn LDA, online": (_online_lda, (2, 10)),
}
QUICK_METHOD = "AND, decay 1.3, compressed"


def _curves(topics: Parts | None, quick: bool) -> Rows:
    rows: Rows = []
    methods = {QUICK_METHOD: METHODS[QUICK_METHOD]} if quick else METHODS
    for kind in ("dir", "neg") if quick else ("dir", "ctm", "neg"):
        data = _data(kind, topics)
        start = paper_start(data.components)
        for name, (method, lengths) in methods.items():
            if kind == "neg" and not name.startswith("AND"):
                continue  # they would need non-negative data
            method(Topics(data.X[:200], data.weights[:200], data.components), start, 1)  # compiles
            for n_iter in lengths:
                found, seconds = timed(method, data, start, n_iter)
                error = total_correlation_error(found, data.components)
                rows.append({"data": kind, "method": name, "iterations": n_iter, "seconds": seconds, "error": error})
    return rows


def _time_to(curves: Rows, error: float) -> Rows:
    """Time that each method takes to an error on DIR, from its curve; the ratio is to AND in compressed form."""
    rows: Rows = []
    for name in dict.fromkeys(row["method"] for row in curves):
        own = [row for row in curves if row["data"] == "dir" and row["method"] == name]
        reached = next((i for i, row in enumerate(own) if row["error"] < error), None)
        seconds = None
        if reached is not None:
            before, after = own[max(reached - 1, 0)], own[reached]
            logs = np.log([before["error"], after["error"]])
            share = (logs[0] - np.log(error)) / (logs[0] - logs[1]) if reached else 1.0
            seconds = before["seconds"] + share * (after["seconds"] - before["seconds"])
        base = rows[0]["seconds"] if rows else seconds
        rows.append({"method": name, "seconds": seconds, "times_AND": seconds and base and seconds / base})
    return rows


def _thresholds(topics: Parts | None) -> Rows:
    schedules: dict[str, Schedule] = {
        f"decay {decay}": Geometric(0.1, decay) for decay in (1.05, 1.1, 1.3, 1.5, 2.0, 10.0)
    }
    schedules |= {f"constant {value}": Constant(value) for value in (0.1, 0.01)}
    rows: Rows = []
    for kind in ("dir", "ctm"):
        data = _data(kind, topics)
        start, space = paper_start(data.components), subspace(data.X, len(data.components))
        for name, schedule in schedules.items():
            row: dict[str, Any] = {"data": kind, "threshold": name}
            for stages in (20, 100, 200):
                found = _and_in(space, start, Threshold(schedule, "absolute"), stages)
                row[f"error after {stages}"] = total_correlation_error(found, data.components)
            rows.append(row)
    return rows


def _noise(topics: Parts | None, quick: bool) -> Rows:
    rows: Rows = []
    for gamma in (0.01,) if quick else (0.0, 0.001, 0.01, 0.05, 0.1):
        data = _data("ctm", topics, noise=gamma)
        row: dict[str, Any] = {"gamma": gamma}
        runs: list[tuple[str, Any, Any]] = [
            ("paper's start, floor", paper_start(data.components), "auto"),
            ("paper's start, no floor", paper_start(data.components), 0),
            ("blind, floor", "auto", "auto"),
        ]
        for name, init, floor in runs:
            options = {"init": init, "noise_floor": floor, "refine": None, "random_state": 0}
            model = ANDNMF(len(data.components), **options).fit(data.X)
            row[name] = total_correlation_error(model.components_, data.components)
        rows.append(row)
    return rows


def _blind(topics: Parts | None, quick: bool) -> Rows:
    rows: Rows = []
    for kind in ("dir", "neg-dir") if quick else ("dir", "ctm", "neg", "neg-dir", "groups"):
        inits = ("ica", "spa", *(() if kind.startswith("neg") else ("anchor", "nndsvd")))
        for init in inits[:1] if quick else inits:
            recovered, errors, seconds = [], [], []
            for seed in range(N_SETS):
                data = _data(kind, topics, random_state=seed)
                k = len(data.components)
                model, time = timed(ANDNMF(k, init=init, refine=None, random_state=seed).fit, data.X)
                seconds.append(time)
                recovered.append(int((part_errors(model.components_, data.components) < RECOVERED).sum()))
                errors.append(total_correlation_error(model.components_, data.components))
            counts = " ".join(map(str, recovered))
            rows.append(
                {"data": kind, "init": init, "recovered": counts, "error": max(errors), "seconds": min(seconds)}
            )
    return rows


def _one_pass(topics: Parts | None, quick: bool, n_samples: int = 40_000) -> Rows:
    rows: Rows = []
    for batch in (2000,) if quick else (500, 2000):
        for name in ("paper's start", "blind"):
            data = _data("dir", topics, n_samples=n_samples)
            init = paper_start(data.components) if name == "paper's start" else "auto"
            model = ANDNMF(len(data.components), init=init, random_state=0)
            for i in range(0, n_samples, batch):
                model.partial_fit(data.X[i : i + batch])
            error = total_correlation_error(model.components_, data.components)
            rows.append({"batch": batch, "start": name, "samples": n_samples, "error": error})
    return rows


def _tdt2(quick: bool, n_parts: int = 30) -> Rows:
    """Coherence of the ten top words of each topic, and the time, on counts and on tf-idf."""
    try:
        counts = sp.csr_array(load_tdt2().X, dtype=float)
    except MissingDataset:
        return []
    rows: Rows = []
    weighted = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    for form, X in (("counts", counts), ("tf-idf", weighted)):
        models = {
            "ANDNMF": ANDNMF(n_parts, random_state=0),
            "ANDNMF, refine=None": ANDNMF(n_parts, refine=None, random_state=0),
            "ANDNMF, refine=None, noise_floor=3": ANDNMF(n_parts, refine=None, noise_floor=3, random_state=0),
            "scikit-learn NMF": NMF(n_parts, init="nndsvd", max_iter=400, random_state=0),
        }
        for name, model in list(models.items())[: 1 if quick else None]:
            _, seconds = timed(model.fit, X)
            coherence = npmi_coherence(model.components_, counts)
            error = model.reconstruction_err_ / sp.linalg.norm(X)
            figures = {"npmi_mean": coherence.mean(), "npmi_least": coherence.min(), "relative_error": error}
            rows.append({"data": form, "method": name, **figures, "seconds": seconds})
    return rows
