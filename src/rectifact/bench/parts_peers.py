"""The default of ANDNMF among the peers, on real and simulated mixtures.

References
----------
[1] J. M. P. Nascimento and J. M. Bioucas-Dias, "Vertex component analysis: a fast algorithm to unmix hyperspectral
data", IEEE Trans. Geosci. Remote Sens. 43(4), 2005. [2] N. Gillis and S. A. Vavasis, "Fast and robust recursive
algorithms for separable nonnegative matrix factorization", IEEE TPAMI 36(4), 2014.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.measure import timed
from rectifact.core.linalg import nnls_gram, successive_projection
from rectifact.datasets import MissingDataset, load_jasper, load_tdt2, make_neurons, make_signatures, make_spectra
from rectifact.metrics import npmi_coherence
from rectifact.parts import ANDNMF
from rectifact.parts.starts import subspace

Floats = NDArray[np.float64]
Find = Callable[[Any, int], Any]
N_STARTS = 5
N_SETS = 3
SEED = 100
"""Data sets of the table; smaller seeds were used to choose settings."""


def spa(X: Any, n_parts: int) -> Floats:
    """Successive projection [2] in the leading subspace: the samples that span the most."""
    chosen = successive_projection(subspace(X, n_parts).coordinates, n_parts)
    return _dense(X[chosen])


def vca(X: Any, n_parts: int, seed: int = 0) -> Floats:
    """Vertex component analysis [1], for a high signal to noise ratio: extreme samples along random directions.

    Samples are projected to the leading subspace and divided by their product with the mean, which puts them on a
    plane; then each vertex is the sample farthest in a random direction orthogonal to those that are known.
    """
    rng = np.random.default_rng(seed)
    Y = subspace(X, n_parts).coordinates
    scale = Y @ Y.mean(axis=0)
    Y = Y / np.where(np.abs(scale) > 1e-12 * np.abs(scale).max(), scale, np.inf)[:, None]
    vertices, chosen = np.zeros((n_parts, n_parts)), []
    vertices[-1, 0] = 1.0
    for i in range(n_parts):
        direction = rng.standard_normal(n_parts)
        direction = direction - vertices @ (np.linalg.pinv(vertices) @ direction)
        chosen.append(int(np.argmax(np.abs(Y @ (direction / np.linalg.norm(direction))))))
        vertices[:, i] = Y[chosen[-1]]
    return _dense(X[chosen])


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=float)


def _nmf(X: Any, n_parts: int, **options: Any) -> Floats:
    """scikit-learn's NMF, the best loss of five random starts."""
    X = X if sp.issparse(X) else np.maximum(X, 0)
    models = [NMF(n_parts, init="random", random_state=i, **options).fit(X) for i in range(N_STARTS)]
    return min(models, key=lambda model: model.reconstruction_err_).components_


def _default(X: Any, n_parts: int, **options: Any) -> Floats:
    return ANDNMF(n_parts, random_state=0, **options).fit(X).components_


KL: dict[str, Any] = {"solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 200}
OURS: dict[str, Find] = {"ANDNMF": _default, "ANDNMF, refine=None": partial(_default, refine=None)}
PEERS: dict[str, Find] = {
    "NMF, cd": partial(_nmf, max_iter=200),
    "NMF, KL": partial(_nmf, **KL),
    "SPA": spa,
    "VCA": vca,
}


def run_mixtures(extent: Extent) -> Tables:
    """One row per data set and method, in a quick run too; with the peers this takes ten minutes.

    Returns
    -------
    dict of list of dict
        Table ``"mixtures"``: mean cosine and mean angle in degrees to the true parts, root mean squared error of the
        abundances, or coherence of topics (NPMI); table ``"ranks"``: mean rank of each method over the sets.
    """
    rows: Rows = []
    methods = OURS | (PEERS if extent.peers else {})
    with warnings.catch_warnings(action="ignore"):  # runs of a fixed length do not converge
        for name, sets, n_parts, background in _sets():
            for method, find in methods.items():
                ours = method in OURS
                options = {"background": True} if ours and background else {}
                wanted = n_parts if ours or not background else n_parts + 1
                runs = []
                for X, score in sets:
                    found, seconds = timed(partial(find, X, wanted, **options))
                    runs.append(score(found) | {"seconds": seconds})
                means = {column: float(np.mean([run[column] for run in runs])) for column in runs[0]}
                rows.append({"data": name, "method": method} | means)
    return {"mixtures": rows, "ranks": _ranks(rows)}


Set = tuple[Any, Callable[[Floats], dict[str, float]]]


def _sets() -> Iterator[tuple[str, list[Set], int, bool]]:
    """Name, samples with a score of parts, number of parts, and whether there is a constant background."""
    with suppress(MissingDataset):
        jasper = load_jasper()
        yield "Jasper Ridge", [(jasper.X, partial(_pixel_score, jasper))], 4, False
    for k, snr in ((4, 30), (4, 20), (5, 30), (5, 20), (6, 30), (6, 20)):
        yield f"unmixing, {k} endmembers, {snr} dB", _made(make_spectra, 1500, 100, k, snr=snr), k, False
    for n in (100, 300, 1000):
        yield f"signatures, {n} samples", _made(make_signatures, n), 8, False
    for dispersion in (0.1, 0.5):
        yield f"signatures, dispersion {dispersion}", _made(make_signatures, 300, dispersion=dispersion), 8, False
    yield "neurons, background", _made(make_neurons, 1500), 8, True
    try:
        counts = sp.csr_array(load_tdt2().X, dtype=float)
    except MissingDataset:
        return
    counts = counts[::4]  # of all documents, five starts of NMF with KL loss would take an hour
    counts = sp.csr_array(counts[:, np.flatnonzero((counts > 0).sum(axis=0) >= 5)])
    weighted = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    for name, X in (("TDT2 counts", counts), ("TDT2 tf-idf", weighted)):
        yield name, [(X, partial(_topic_score, counts))], 30, False


def _made(make: Callable[..., Any], *arguments: Any, **options: Any) -> list[Set]:
    """Sets of one kind, whose scores are averaged."""
    made = [make(*arguments, random_state=SEED + i, **options) for i in range(N_SETS)]
    return [(data.X, partial(_score, data.components)) for data in made]


def _match(found: Floats, truth: Floats) -> tuple[Floats, NDArray[Any]]:
    """Cosines of the true parts with their partners, and the numbers of these."""
    unit = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in (found, truth)]
    cosines = np.clip(unit[0] @ unit[1].T, -1, 1)
    rows, columns = linear_sum_assignment(-cosines)
    partner = rows[np.argsort(columns)]
    return cosines[partner, np.arange(len(truth))], partner


def _score(truth: Floats, found: Floats) -> dict[str, float]:
    cosines, _ = _match(found, truth)
    return {"cosine": float(cosines.mean()), "angle": float(np.degrees(np.arccos(cosines)).mean())}


def _pixel_score(data: Any, found: Floats) -> dict[str, float]:
    """Also the abundances: weights by non-negative least squares, each substance by its mean weight where it is.

    Scaled like this, the published spectra come closest to the published abundances; ``rmse_unscaled`` is without it.
    """
    _, partner = _match(found, data.components)
    H = np.maximum(found[partner], 0)
    weights = nnls_gram(H @ H.T, H @ data.X.T).T
    scaled = weights * (weights.sum(axis=0) / np.maximum((weights**2).sum(axis=0), 1e-300))
    errors = {
        "abundance_rmse": _share_error(scaled, data.weights),
        "rmse_unscaled": _share_error(weights, data.weights),
    }
    return _score(data.components, found) | errors


def _share_error(weights: Floats, truth: Floats) -> float:
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return float(np.sqrt(((shares - truth) ** 2).mean()))


def _topic_score(counts: Any, found: Floats) -> dict[str, float]:
    return {"npmi_mean": float(npmi_coherence(found, counts).mean())}


def _ranks(rows: Rows) -> Rows:
    """Mean rank of each method, 1 for the best."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    ranks = []
    for data in dict.fromkeys(row["data"] for row in rows):
        own = {row["method"]: row for row in rows if row["data"] == data}
        losses = [own[name]["angle"] if "angle" in own[name] else -own[name]["npmi_mean"] for name in methods]
        ranks.append(rankdata(np.round(losses, 3)))
    return [
        {"method": name, "mean_rank": float(mean)} for name, mean in zip(methods, np.mean(ranks, axis=0), strict=True)
    ]
