"""Report on an embedding: how well a few dimensions explain the data, compared with truncated SVD."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.latent import NMD
from rectifact.metrics import root_mean_squared_error
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Chart, Column, Facts, Images, Report, Section, Table
from rectifact.report.charts import convergence, image_address, lines, scatter
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.names import as_floats, count, largest_features, sample_names

MOST_ENTRIES, N_IMAGES, N_TOP, SWEEPS = 4_000_000, 10, 10, 60


def embedding_report(saved: SavedModel) -> Report:
    """Sections for NMD and LogisticPCA; quality and reconstructions if the data was saved."""
    model = saved.model
    if is_chunked(getattr(model, "embedding_", None)) or not hasattr(model, "embedding_"):
        raise InputError(
            "The model was fitted to a Dask array and has no embedding in memory, which the report would show.",
            "Fit a sample of the rows.",
        )
    sections = [] if saved.X is None else [_quality(saved)]
    sections += [*how_many(saved.selection), _map(saved), _dimensions(saved)]
    if curve := convergence(model):
        sections.append(Section("Convergence", "The loss is the negative objective per entry.", curve))
    n, k = model.embedding_.shape
    words = f"{count(n, 'sample')} in {count(k, 'dimension')}, found by {type(model).__name__}."
    return Report("Embedding", words, sections)


def _some_rows(saved: SavedModel) -> tuple[Any, Any]:
    """Evenly chosen rows of the data, dense with NaN for missing entries, and their places."""
    n_samples, n_features = saved.X.shape
    fitted = len(saved.model.embedding_), saved.model.components_.shape[1]
    if (n_samples, n_features) != fitted:
        raise InputError(
            f"X has the shape {tuple(saved.X.shape)}, but the model was fitted to the shape {fitted}.",
            "Give the data that it was fitted to.",
        )
    places = np.unique(np.linspace(0, n_samples - 1, max(min(n_samples, MOST_ENTRIES // n_features), 1)).astype(int))
    rows = as_floats(saved.X)[places]
    rows = rows.toarray() if sp.issparse(rows) else rows
    mask: Any = getattr(saved.model, "missing", None)
    if sp.issparse(mask) or np.ndim(mask) == 2:
        hidden = sp.csr_array(mask)[places].toarray() if sp.issparse(mask) else np.asarray(mask)[places]
        rows[hidden.astype(bool)] = np.nan
    return rows, places


def _quality(saved: SavedModel) -> Section:
    model = saved.model
    X, places = _some_rows(saved)
    found = np.asarray(model.inverse_transform(model.embedding_[places]), dtype=float)
    k = model.embedding_.shape[1]
    known = ~np.isnan(X)
    svd = _clipped_svd(np.where(known, X, 0), k)
    errors = [root_mean_squared_error(guess[known], X[known]) for guess in (found, svd)]
    facts = [
        ("RMSE", f"{errors[0]:.4g}", "of the reconstruction from the embedding"),
        ("RMSE of SVD", f"{errors[1]:.4g}", f"truncated at rank {k} and clipped to the range of the data"),
        ("nonzeros", f"{np.mean(X[known] != 0):.1%}", "of the known entries"),
        ("prior", *_prior(model.resolved_)),
    ]
    blocks: list[Block] = [Facts(facts)]
    words = "The model looks for log-odds of low rank that predict the zeros and ones of the data."
    if isinstance(model, NMD):
        words = "The model looks for a matrix of low rank that matches the data once negative entries are set to zero."
        blocks += _rank_charts(model, X, k) if known.all() else []
    if saved.image_shape is not None:
        names = sample_names(saved, saved.X.shape[0])[places]
        versions = {"Data": X, "Reconstructed by this model": found, "Reconstructed by truncated SVD": svd}
        blocks += [_images(title, rows, names, saved.image_shape) for title, rows in versions.items()]
    if len(X) < saved.X.shape[0]:
        words += f" Measured on {len(X):,} of {count(saved.X.shape[0], 'sample')}."
    return Section("Quality", words, blocks)


def _prior(resolved: dict[str, Any]) -> tuple[str, str]:
    """Which prior the model has, and what it does."""
    if resolved.get("prior") is None:
        return "none", "maximum likelihood"
    what = {"factors": "on rows and columns", "rows": "on rows", "wide": "on rows, wide"}[resolved["prior"]]
    return resolved["prior"], f"Gaussian, {what}; it decides {resolved['shrinkage']:.0%} of the embedding"


def _clipped_svd(X: Any, k: int) -> Any:
    U, s, Vt = randomized_svd(X, min(k, *X.shape), n_iter=7, random_state=0)
    return ((U * s) @ Vt).clip(X.min(), X.max())


def _rank_charts(model: NMD, X: Any, k: int) -> list[Chart]:
    """RMSE against rank, next to SVD: short fits of smaller ranks to a few hundred samples at most."""
    X = X[:: max(len(X) // 400, 1)]
    X = X / (X.max() or 1.0)
    wanted = {max(1, round(k * share)) for share in (0.125, 0.25, 0.5, 1.0)}
    ranks = sorted(rank for rank in wanted if rank <= min(X.shape))
    if len(ranks) < 2:
        return []
    data = sp.csr_array(X)
    short = {"max_iter": SWEEPS, "tol": 0.0, "callbacks": None, "verbose": False, "missing": None}
    fits = [clone(model).set_params(n_components=rank, **short) for rank in ranks]
    with warnings.catch_warnings(action="ignore"):  # short fits do not converge
        ours = [root_mean_squared_error(fit.fit(data).inverse_transform(fit.embedding_), X) for fit in fits]
    theirs = [root_mean_squared_error(_clipped_svd(X, rank), X) for rank in ranks]
    words = f"At rank {ranks[-1]}: {ours[-1]:.3g} for NMD and {theirs[-1]:.3g} for SVD, "
    words += f"from fits of {SWEEPS} iterations to {count(len(X), 'sample')}."
    curves = {"NMD": (ranks, ours), "truncated SVD": (ranks, theirs)}
    return [lines("Error against rank", curves, "rank", "RMSE, data scaled to 1", words)]


def _images(title: str, rows: Any, names: Any, shape: tuple[int, int]) -> Images:
    """A few of the rows, evenly chosen."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, N_IMAGES).astype(int)).tolist()
    return Images(title, [(str(names[i]), image_address(rows[i], shape)) for i in chosen])


def _map(saved: SavedModel) -> Section:
    E = np.asarray(saved.model.embedding_, dtype=float)
    order = np.argsort(-E.var(axis=0), kind="stable")[:2]
    points, axes = E[:, order], [f"dimension {i + 1}" for i in order]
    if E.shape[1] == 1:
        points, axes = np.c_[np.arange(1, len(E) + 1), E[:, 0]], ["sample", "dimension 1"]
    seen = f"{axes[0]} and {axes[1]}.".capitalize()
    chart = scatter("The dimensions that vary most", points, sample_names(saved, len(E)), axes, seen)
    words = (
        "Hover over a point to see which sample it is. Distances here say little about similarity: the model may move "
        "a sample freely as long as its zeros stay zeros."
    )
    return Section("Map", words, [chart])


def _dimensions(saved: SavedModel) -> Section:
    columns = [
        Column("dimension", "integer"),
        Column("features with the largest coefficients"),
        Column("spread", "number", "standard deviation over the samples"),
    ]
    spread = np.asarray(saved.model.embedding_, dtype=float).std(axis=0).tolist()
    rows = list(zip(range(1, len(spread) + 1), largest_features(saved, N_TOP, "+.3g"), spread, strict=True))
    words = "The most important dimension comes first. Rotated dimensions would explain the data equally well."
    return Section("Dimensions", words, [Table("Dimensions", *with_stability(saved.model, columns, rows))])
