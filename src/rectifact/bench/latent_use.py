"""What embeddings are used for: hidden entries, recommendations on Last.fm, classification of TDT2 and MNIST."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.measure import timed
from rectifact.core.errors import missing_extra
from rectifact.datasets import MissingDataset, load_images, load_lastfm, load_tdt2
from rectifact.latent import NMD, LogisticPCA, hide_entries
from rectifact.metrics import root_mean_squared_error

LEAST_LISTENERS, HIDDEN, BEST = 10, 0.2, 20


def run_use(extent: Extent) -> Tables:
    """What embeddings are good for.

    Tables ``"held-out entries"`` (log-loss of planted zeros and ones), ``"recommendation"`` (recall at 20 of hidden
    plays) and ``"classification"`` (accuracy on new rows).
    """
    ranks = (8,) if extent.quick else (8, 16, 32, 64)
    tables: Tables = {"held-out entries": held_out_entries()}
    with warnings.catch_warnings(action="ignore"):
        for name, measure in (("recommendation", recommendation), ("classification", classification)):
            try:
                tables[name] = measure(ranks, extent.peers)
            except MissingDataset:
                continue
    return tables


def norm_ratio(A: Any) -> float:
    """Norm of the longest row, in units of the median."""
    norms = sp.linalg.norm(A, axis=1) if sp.issparse(A) else np.linalg.norm(A, axis=1)
    return float(norms.max() / np.median(norms))


def held_out_entries(n_sets: int = 5) -> Rows:
    """Log-loss of a tenth of planted zeros and ones of rank 5, which were hidden, at ranks up to twice that; means."""
    losses: dict[tuple[str, int], list[float]] = {}
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        theta = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 120))
        X = 1.0 * (theta + rng.standard_normal(theta.shape) > 0)
        mask = hide_entries(X, 0.1, random_state=seed)
        for rank in (2, 5, 10):
            models = {
                "NMD": NMD(rank, missing=mask, n_jobs=1, random_state=0),
                "LogisticPCA": LogisticPCA(rank, missing=mask),
            }
            for name, model in models.items():
                losses.setdefault((name, rank), []).append(-model.fit(X).score(X, held_out=mask))
    return [{"method": name, "rank": rank, "log_loss": float(np.mean(x))} for (name, rank), x in losses.items()]


def split_plays(seed: int = 0) -> tuple[Any, Any]:
    """Last.fm as zeros and ones without a fifth of its plays, and those; artists with at least ten listeners."""
    plays = load_lastfm()
    plays = plays[plays.groupby("artist")["user"].transform("size") >= LEAST_LISTENERS]
    users, artists = (plays[column].astype("category").cat.codes.to_numpy() for column in ("user", "artist"))
    shape = int(users.max()) + 1, int(artists.max()) + 1
    hidden = np.random.default_rng(seed).random(len(plays)) < HIDDEN
    seen, wanted = (
        sp.csr_array((np.ones(which.sum()), (users[which], artists[which])), shape=shape) for which in (~hidden, hidden)
    )
    return seen, wanted


def recall(scores: Any, seen: Any, wanted: Any) -> float:
    """Mean share of a user's hidden plays that are among the 20 best artists that were not seen."""
    scores, wanted = np.where(seen.toarray() > 0, -np.inf, scores), wanted.toarray()
    best = np.argpartition(-scores, BEST, axis=1)[:, :BEST]
    hits, total = np.take_along_axis(wanted, best, 1).sum(axis=1), wanted.sum(axis=1)
    return float((hits[total > 0] / total[total > 0]).mean())


def recommendation(ranks: tuple[int, ...], peers: bool) -> Rows:
    """Recall by rank. NMD's row also has the score of entries that were hidden from a fit of its own."""
    seen, wanted = split_plays()
    mask = hide_entries(seen, random_state=0)
    rows: Rows = []
    for rank in ranks:
        model, seconds = timed(NMD(rank, n_jobs=1, random_state=0).fit, seen)
        found = recall(model.embedding_ @ model.components_, seen, wanted)
        held_out = NMD(rank, missing=mask, n_jobs=1, random_state=0).fit(seen).score(seen, held_out=mask)
        row = {"method": "NMD", "rank": rank, "recall": found, "seconds": seconds, "held_out_score": held_out}
        rows.append(row | {"norm_ratio": norm_ratio(model.embedding_)})
        for name, scores in _rivals(rank, peers):
            predicted, seconds = timed(scores, seen)
            rows.append({"method": name, "rank": rank, "recall": recall(predicted, seen, wanted), "seconds": seconds})
    return rows


def _rivals(rank: int, peers: bool) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Truncated SVD, and on request ALS and LMF of implicit: functions from data to scores."""

    def svd(X: Any) -> Any:
        model = TruncatedSVD(rank, random_state=0)
        return model.inverse_transform(model.fit_transform(X))

    yield "truncated SVD", svd
    if not peers:
        return
    if find_spec("implicit") is None:
        raise missing_extra("Comparing with the peers", "implicit", "bench", "or leave out --peers")
    from implicit.als import AlternatingLeastSquares
    from implicit.lmf import LogisticMatrixFactorization

    def scores(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def fitted(X: Any) -> Any:
            model = make()
            model.fit(sp.csr_matrix(X), show_progress=False)
            return model.user_factors @ model.item_factors.T

        return fitted

    common = {"factors": rank, "random_state": 0, "num_threads": 1}
    for regularization in (0.1, 10.0):
        name = f"implicit ALS, alpha 10, regularization {regularization:g}"
        options = {"alpha": 10.0, "regularization": regularization, **common}
        yield name, scores(partial(AlternatingLeastSquares, **options))
    yield "implicit LMF", scores(partial(LogisticMatrixFactorization, **common))


def classification(ranks: tuple[int, ...], peers: bool) -> Rows:
    """Accuracy on new rows of logistic regression and of five nearest neighbours, on NMD and on truncated SVD (LSA).

    Images, for which NMD does not choose it by itself, are also embedded with ``prior="factors"``.
    """
    rows: Rows = []
    for name, some, (X, y, new, truth) in _labelled(ranks):
        for rank in some:
            models = {"NMD": NMD(rank, n_jobs=1, random_state=0), "truncated SVD": TruncatedSVD(rank, random_state=0)}
            if name == "MNIST":
                models["NMD, prior='factors'"] = NMD(rank, prior="factors", n_jobs=1, random_state=0)
            for method, model in models.items():
                model, seconds = timed(model.fit, X)
                sets = model.transform(X), y, model.transform(new), truth
                row = {"data": name, "rank": rank, "method": method, **_accuracies(*sets), "seconds": seconds}
                if isinstance(model, NMD):
                    dense = X.toarray() if sp.issparse(X) else X
                    error = root_mean_squared_error(model.inverse_transform(sets[0]), dense)
                    ratios = {"norm_ratio": norm_ratio(sets[0]), "norm_ratio_of_X": norm_ratio(X)}
                    row |= {"rmse": error, "prior": model.resolved_["prior"], **ratios}
                rows.append(row)
    return rows


def _accuracies(A: Any, y: Any, new: Any, truth: Any) -> dict[str, float]:
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(A, y)
    return {
        "regression": regression.score(new, truth),
        "neighbours": KNeighborsClassifier().fit(A, y).score(new, truth),
    }


def _labelled(ranks: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...], tuple[Any, ...]]]:
    """TDT2 as counts, tf-idf and zeros and ones: 3000 and 1000 documents, 4000 terms; MNIST: 5000 and 2000 images."""
    rng = np.random.default_rng(0)
    news = load_tdt2()
    chosen = rng.permutation(len(news.y))[:4000]
    X, y = sp.csr_array(news.X[chosen]).astype(float), news.y[chosen].ravel()
    frequency = np.asarray((X[:3000] > 0).sum(axis=0)).ravel()
    X = sp.csr_array(X[:, np.sort(np.argsort(-frequency, kind="stable")[:4000])])
    forms = {
        "TDT2 counts": X,
        "TDT2 tf-idf": TfidfTransformer().fit(X[:3000]).transform(X),
        "TDT2 binary": 1.0 * (X > 0),
    }
    for name, form in forms.items():
        data = sp.csr_array(form)
        yield name, (32,), (data[:3000], y[:3000], data[3000:], y[3000:])
    digits = load_images("mnist")
    chosen = rng.permutation(len(digits.y))[:7000]
    images, labels = digits.X[chosen] / 255.0, digits.y[chosen]
    yield "MNIST", ranks, (images[:5000], labels[:5000], images[5000:], labels[5000:])
