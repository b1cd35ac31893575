"""How many: what ``rectifact.selection`` chooses on planted, structureless and real data, its cost, and its trust.

References
----------
[1] D. Kotliar et al., "Identifying gene expression programs of cell-type identity and cellular activity with
single-cell RNA-Seq", eLife 8, 2019: consensus NMF. What is measured here as its procedure was written from this
description, with NMF of scikit-learn.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.metrics import silhouette_score

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.graph_peers import lfr
from rectifact.bench.measure import one_thread
from rectifact.datasets import (
    MissingDataset,
    load_email,
    load_tdt2,
    make_block_model,
    make_signatures,
    make_spectra,
    make_topics,
)
from rectifact.graph import SymNMF
from rectifact.latent import NMD
from rectifact.metrics import nmi, part_errors
from rectifact.parts import ANDNMF
from rectifact.selection import assess, select

N_DRAWS = 10
NUMBERS = {"parts": (3, 5, 8, 12, 20), "latent": (3, 6, 10, 15), "graph": (4, 10, 20, 40)}
MIXING = (0.1, 0.2, 0.3, 0.4)
CONSENSUS_RUNS, CONSENSUS_NUMBERS, CONSENSUS_DRAWS = 10, range(2, 11), 3


@dataclass(frozen=True)
class Planted:
    """Data, the right number, and the true parts or labels where there are some."""

    X: Any
    k: int
    parts: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None


def _topics(kind: Any) -> Callable[[int, int], Planted]:
    def draw(k: int, seed: int) -> Planted:
        data = make_topics(kind, n_samples=1000, n_features=200, n_topics=k, random_state=seed)
        return Planted(data.X, k, data.components)

    return draw


def _signatures(k: int, seed: int) -> Planted:
    data = make_signatures(300 if k < 10 else 1000, n_signatures=k, random_state=seed)
    return Planted(data.X, k, data.components)


def _spectra(k: int, seed: int) -> Planted:
    data = make_spectra(n_endmembers=k, snr=30, random_state=seed)
    return Planted(data.X, k, data.components)


def _latent(binary: bool) -> Callable[[int, int], Planted]:
    def draw(k: int, seed: int) -> Planted:
        rng = np.random.default_rng((k, seed))
        theta = rng.standard_normal((300, k)) @ rng.standard_normal((k, 100)) / k**0.5
        theta += 0.1 * rng.standard_normal(theta.shape)
        return Planted((theta > 0) * 1.0 if binary else np.maximum(theta, 0), k)

    return draw


def _blocks(mixing: float) -> Callable[[int, int], Planted]:
    def draw(k: int, seed: int) -> Planted:
        graph = make_block_model(1000 if k <= 10 else 2000, k, mixing=mixing, random_state=seed)
        return Planted(graph.adjacency, k, labels=graph.labels)

    return draw


def _lfr(mixing: float) -> Callable[[int, int], Planted]:
    def draw(k: int, seed: int) -> Planted:
        graph = lfr(mixing, seed)
        return Planted(graph.adjacency, len(np.unique(graph.labels)), labels=graph.labels)

    return draw


ESTIMATORS: dict[str, Callable[[int], Any]] = {
    "parts": lambda k: ANDNMF(k, random_state=0),
    "latent": lambda k: NMD(k, n_jobs=1, random_state=0),
    "graph": lambda k: SymNMF(k, affinity="precomputed", random_state=0),
}
PLANTED: dict[str, dict[str, Callable[[int, int], Planted]]] = {
    "parts": {
        "topics, dir": _topics("dir"),
        "topics, neg-dir": _topics("neg-dir"),
        "Poisson signatures": _signatures,
        "unmixing, 30 dB": _spectra,
    },
    "latent": {"ReLU, low rank": _latent(False), "binary, low rank": _latent(True)},
    "graph": {f"blocks, mixing {mixing}": _blocks(mixing) for mixing in MIXING},
}


def run(extent: Extent) -> Tables:
    """All tables; a quick run takes one draw of each kind of data."""
    with one_thread(), warnings.catch_warnings(action="ignore"):
        tables = {"planted": planted(extent), "without structure": structureless(extent)}
        tables |= {"real": real(extent), "cost": cost(extent), "stability and error": trust(extent)}
        if extent.peers:
            tables["consensus NMF"] = consensus(extent)
    return tables


def planted(extent: Extent) -> Rows:
    """How often the right number is chosen, and how often one that is close: off by one, or by 10 % for graphs."""
    rows = []
    for family, kinds in PLANTED.items():
        for name, draw in kinds.items():
            for k in NUMBERS[family][1:2] if extent.quick else NUMBERS[family]:
                rows.append(_chosen(family, name, [draw(k, seed) for seed in _seeds(extent)]))
    for mixing in MIXING[:1] if extent.quick else MIXING:
        rows.append(_chosen("graph", f"LFR, mixing {mixing}", [_lfr(mixing)(0, seed) for seed in _seeds(extent)]))
    return rows


def _seeds(extent: Extent) -> range:
    return range(1 if extent.quick else N_DRAWS)


def _chosen(family: str, name: str, draws: list[Planted]) -> dict[str, Any]:
    begin, found, sure, lost = perf_counter(), [], 0, []
    for i, data in enumerate(draws):
        choice = select(ESTIMATORS[family](1), data.X, random_state=i)
        found.append(choice.best)
        sure += choice.sure
        if data.labels is not None:
            right = ESTIMATORS[family](data.k).fit(data.X)
            lost.append(nmi(data.labels, right.labels_) - nmi(data.labels, choice.estimator.labels_))
    truth, chosen = np.array([data.k for data in draws]), np.array(found)
    near = np.abs(chosen - truth) <= (np.maximum(1, 0.1 * truth) if family == "graph" else 1)
    row = {
        "family": family,
        "data": name,
        "k": _span(truth),
        "draws": len(draws),
        "right": int((chosen == truth).sum()),
    }
    row |= {
        "close": int(near.sum()),
        "chosen": _span(chosen),
        "sure": sure,
        "seconds": (perf_counter() - begin) / len(draws),
    }
    return row | ({"most_nmi_lost": float(max(lost))} if lost else {})


def _span(numbers: NDArray[Any]) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def structureless(extent: Extent) -> Rows:
    """How often one part, dimension or community is the answer where there is nothing else to find."""
    rows = []
    for name, (family, draw) in STRUCTURELESS.items():
        found = np.array([select(ESTIMATORS[family](1), draw(seed), random_state=seed).best for seed in _seeds(extent)])
        said = int((found == 1).sum())
        rows.append({"family": family, "data": name, "draws": len(found), "none": said, "chosen": _span(found)})
    return rows


def _independent(seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    return rng.poisson(np.outer(rng.gamma(2, 2, 300), rng.gamma(1, 1, 60))).astype(float)


def _uniform(seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).poisson(1.0, (300, 100)).astype(float)


def _permuted(X: NDArray[Any], seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).permuted(X, axis=0)


def _random_graph(seed: int) -> sp.csr_array:
    return make_block_model(1000, 1, mixing=0.0, random_state=seed).adjacency


STRUCTURELESS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "independent Poisson, means by row and column": ("parts", _independent),
    "signatures, columns permuted": ("parts", lambda seed: _permuted(_signatures(5, seed).X, seed)),
    "independent Poisson, one mean": ("latent", _uniform),
    "ReLU rank 6, columns permuted": ("latent", lambda seed: _permuted(_latent(False)(6, seed).X, seed)),
    "binary rank 6, columns permuted": ("latent", lambda seed: _permuted(_latent(True)(6, seed).X, seed)),
    "Erdos-Renyi": ("graph", _random_graph),
}


def real(extent: Extent) -> Rows:
    """What is chosen on real data, whose right number nobody knows."""
    rows = []
    for name, family, X, wanted in _real_sets():
        begin = perf_counter()
        found = select(ESTIMATORS[family](1), X, random_state=0)
        row = {"family": family, "data": name, "chosen": found.best, "expected": wanted, "reason": found.reason}
        rows.append(
            row | {"mean_stability": float(np.mean(found.estimator.stability_)), "seconds": perf_counter() - begin}
        )
    return rows


def _real_sets() -> Iterator[tuple[str, str, Any, str]]:
    with suppress(MissingDataset):
        data = load_tdt2()
        sizes = np.bincount(data.y)
        chosen = sp.csr_array(data.X)[np.isin(data.y, np.argsort(-sizes)[:10])]
        yield "TDT2, 10 largest topics, counts", "parts", sp.csr_array(chosen[:, chosen.sum(axis=0) > 0]), "8 to 14"
    yield "digits", "latent", load_digits().data, "8 to 40"
    with suppress(MissingDataset):
        yield "e-mail, 42 departments", "graph", load_email().adjacency, "25 to 60"


def cost(extent: Extent) -> Rows:
    """CPU seconds to choose from 20 numbers, next to those of a fit with each of them."""
    rows = []
    for family, name, k in (("parts", "unmixing, 30 dB", 8), ("latent", "ReLU, low rank", 10)):
        rows.append(_cost(family, name, PLANTED[family][name](k, 0).X))
    rows.append(_cost("graph", "blocks, mixing 0.3", PLANTED["graph"]["blocks, mixing 0.3"](10, 0).X))
    for name, family, X, _ in () if extent.quick else _real_sets():
        rows.append(_cost(family, name, X))
    return rows


def _cost(family: str, name: str, X: Any) -> dict[str, Any]:
    numbers = range(2, 22)
    begin = process_time()
    found = select(ESTIMATORS[family](1), X, numbers, random_state=0)
    chosen = process_time()
    for k in numbers:
        ESTIMATORS[family](k).fit(X)
    seconds, each = chosen - begin, process_time() - chosen
    row = {"family": family, "data": name, "chosen": found.best, "seconds": seconds, "seconds_20_fits": each}
    return row | {"fits": len(numbers) * seconds / each}


def trust(extent: Extent) -> Rows:
    """Rank correlation between the stability of parts and their closeness to the truth, right and wrong ones mixed.

    Wrong ones come from asking for two parts too few, and two too many.
    """
    rows = []
    for name, draw in {**PLANTED["parts"], "topics, dir, with noise": _noisy_topics}.items():
        if name in ("topics, dir", "topics, neg-dir"):
            continue  # exact data has exact parts, and nothing else
        found: list[tuple[float, float, bool]] = []
        for seed in _seeds(extent):
            data = draw(8, seed)
            truth: Any = data.parts
            for k in (data.k - 2, data.k, data.k + 2):
                model = ANDNMF(k, random_state=0).fit(data.X)
                stability = assess(model, data.X, random_state=seed).stability
                errors = part_errors(truth, np.asarray(model.components_))
                found += [(a, b, k < data.k) for a, b in zip(stability.tolist(), errors.tolist(), strict=True)]
        stable, wrong, few = np.array(found).T
        row = {"data": name, "parts": len(found), "rank_correlation": -spearmanr(stable, wrong)[0]}
        rows.append(row | {"without_too_few": -spearmanr(stable[few == 0], wrong[few == 0])[0]})
    return rows


def _noisy_topics(k: int, seed: int) -> Planted:
    data = make_topics(n_samples=1000, n_features=200, n_topics=k, random_state=seed)
    noise = 0.1 * data.X.std() * np.random.default_rng(seed).standard_normal(data.X.shape)
    return Planted(data.X + noise, k, data.components)


def consensus(extent: Extent) -> Rows:
    """What consensus NMF [1] chooses, from few numbers and draws: it fits each number many times."""
    rows = []
    for name in ("Poisson signatures", "topics, dir", "unmixing, 30 dB"):
        draws = [PLANTED["parts"][name](5, seed) for seed in range(1 if extent.quick else CONSENSUS_DRAWS)]
        for method, choose in (("consensus NMF, written from its description", _consensus), ("select", _ours)):
            begin = perf_counter()
            found = np.array([choose(data.X) for data in draws])
            row = {"data": name, "k": 5, "method": method, "draws": len(draws), "right": int((found == 5).sum())}
            rows.append(row | {"chosen": _span(found), "seconds": (perf_counter() - begin) / len(draws)})
    return rows


def _ours(X: NDArray[Any]) -> int:
    return select(ESTIMATORS["parts"](1), X, CONSENSUS_NUMBERS, random_state=0).best


def _consensus(X: NDArray[Any]) -> int:
    """The number whose parts, from many starts, form the clearest clusters: highest mean silhouette."""
    X, scores = np.maximum(X, 0), {}
    for k in CONSENSUS_NUMBERS:
        runs = [NMF(k, init="random", random_state=seed, max_iter=300).fit(X) for seed in range(CONSENSUS_RUNS)]
        parts = np.concatenate([run.components_ for run in runs])
        parts /= np.maximum(np.linalg.norm(parts, axis=1, keepdims=True), 1e-300)
        scores[k] = silhouette_score(parts, KMeans(k, n_init=10, random_state=0).fit_predict(parts))
    return max(scores, key=lambda k: scores[k])
