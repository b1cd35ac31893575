"""Report of an embedding: how well few dimensions explain the data, beside truncated SVD."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from rectifact.core.errors import InputError
from rectifact.core.lazy import is_lazy
from rectifact.latent import NMD
from rectifact.metrics import root_mean_squared_error
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Chart, Column, Facts, Images, Report, Section, Table
from rectifact.report.charts import convergence, lines, png_address, scatter
from rectifact.report.names import as_floats, feature_names, grey, sample_names

__all__ = ["embedding_report"]

MOST_ENTRIES, N_IMAGES, N_TOP, SWEEPS = 4_000_000, 10, 10, 60


def embedding_report(saved: SavedModel) -> Report:
    """Sections for NMD and LogisticPCA; quality and reconstructions where the data is at hand."""
    model = saved.model
    if is_lazy(getattr(model, "embedding_", None)) or not hasattr(model, "embedding_"):
        raise InputError(
            "The embedding of data in chunks is not part of this model, and there is nothing to show without it. Fit a "
            "sample of the rows."
        )
    n, k = model.embedding_.shape
    sections = [_map(saved)]
    if saved.X is not None:
        sections.insert(0, _quality(saved))
    sections.append(_dimensions(saved))
    curve = convergence(model.history_, model.stop_reason_)
    if curve is not None:
        sections.append(Section("Convergence", "The loss is minus the objective per entry.", [curve]))
    words = f"{n} samples in {k} dimensions, by {type(model).__name__}."
    return Report("Embedding", words, sections)


def _some_rows(saved: SavedModel) -> tuple[Any, Any]:
    """Dense rows of the data, evenly chosen, few enough to compare with, and their places; NaN is missing."""
    n_samples, n_features = saved.X.shape
    if n_samples != len(saved.model.embedding_) or n_features != saved.model.components_.shape[1]:
        raise InputError(
            f"X has the shape {tuple(saved.X.shape)}, but the model was fitted on {len(saved.model.embedding_)} "
            f"samples of {saved.model.components_.shape[1]} features. Give the data that it was fitted on."
        )
    places = np.unique(np.linspace(0, n_samples - 1, max(min(n_samples, MOST_ENTRIES // n_features), 1)).astype(int))
    rows = as_floats(saved.X)[places]
    rows = rows.toarray() if sp.issparse(rows) else rows.copy()
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
    facts = Facts(
        [
            ("RMSE", f"{errors[0]:.4g}", "of what the dimensions predict for the data"),
            ("RMSE of SVD", f"{errors[1]:.4g}", f"truncated at rank {k} and clipped to the data's range"),
            ("nonzeros", f"{np.mean(X[known] != 0):.1%}", "of the entries that are there"),
        ]
    )
    blocks: list[Block] = [facts]
    if isinstance(model, NMD) and known.all():
        blocks += _rank_charts(model, X, k)
    if saved.image_shape is not None:
        blocks += _reconstructions(saved, X, found, svd, places)
    words = "Zeros count as well as other numbers: the model asks which low rank, cut off at zero, looks like the data."
    words += f" Measured on {len(X)} of {saved.X.shape[0]} samples." if len(X) < saved.X.shape[0] else ""
    return Section("Quality", words, blocks)


def _clipped_svd(X: Any, k: int) -> Any:
    U, s, Vt = randomized_svd(X, min(k, *X.shape), n_iter=7, random_state=0)
    return ((U * s) @ Vt).clip(X.min(), X.max())


def _rank_charts(model: NMD, X: Any, k: int) -> list[Chart]:
    """RMSE against rank beside SVD: short fits of smaller ranks, on at most a few hundred samples."""
    X = X[:: max(len(X) // 400, 1)]
    X = X / (X.max() or 1.0)
    wanted = {max(1, round(k * share)) for share in (0.125, 0.25, 0.5, 1.0)}
    ranks = sorted(rank for rank in wanted if rank <= min(X.shape))
    if len(ranks) < 2:
        return []
    data = sp.csr_array(X)
    short = {"max_iter": SWEEPS, "tol": 0.0, "callbacks": None, "verbose": False, "missing": None}
    fits = [clone(model).set_params(n_components=rank, **short) for rank in ranks]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short fits do not converge
        ours = [root_mean_squared_error(fit.fit(data).inverse_transform(fit.embedding_), X) for fit in fits]
    theirs = [root_mean_squared_error(_clipped_svd(X, rank), X) for rank in ranks]
    words = (
        f"At rank {ranks[-1]}: {ours[-1]:.3g} against {theirs[-1]:.3g} of SVD, from fits of {SWEEPS} iterations to "
        f"{len(X)} samples."
    )
    curves = {"NMD": (ranks, ours), "truncated SVD": (ranks, theirs)}
    return [lines("Error against rank", curves, "rank", "RMSE, data scaled to 1", words)]


def _reconstructions(saved: SavedModel, X: Any, found: Any, svd: Any, places: Any) -> list[Images]:
    """The same few samples three times: the data, the model, SVD."""
    names = sample_names(saved, saved.X.shape[0])
    chosen = np.unique(np.linspace(0, len(X) - 1, N_IMAGES).astype(int)).tolist()
    return [
        Images(
            title,
            [
                (str(names[places[i]]), png_address(grey(np.nan_to_num(rows[i]).reshape(saved.image_shape))))
                for i in chosen
            ],
        )
        for title, rows in (
            ("Data", X),
            ("Reconstructed by this model", found),
            ("Reconstructed by truncated SVD", svd),
        )
    ]


def _map(saved: SavedModel) -> Section:
    E = np.asarray(saved.model.embedding_, dtype=float)
    names = sample_names(saved, len(E))
    order = np.argsort(-E.var(axis=0), kind="stable")[:2]
    axes = [f"dimension {i + 1}" for i in order]
    points = E[:, order]
    if E.shape[1] == 1:  # by the order of the samples
        points, axes = np.c_[np.arange(1, len(E) + 1), E[:, 0]], ["sample", "dimension 1"]
    chart = scatter("The dimensions that vary most", points, names, axes, f"{axes[0]} and {axes[1]}.".capitalize())
    words = (
        "Hover to see which sample is which. Distances here say little about likeness: the model may move a sample "
        "freely as long as its zeros stay zeros."
    )
    return Section("Map", words, [chart])


def _dimensions(saved: SavedModel) -> Section:
    components = np.asarray(saved.model.components_, dtype=float)
    names = feature_names(saved, components.shape[1])
    order = np.argsort(-np.abs(components), axis=1, kind="stable")[:, :N_TOP]
    rows = [
        [
            i + 1,
            ", ".join(f"{names[j]} ({row[j]:+.3g})" for j in top),
            float(np.asarray(saved.model.embedding_)[:, i].std()),
        ]
        for i, (row, top) in enumerate(zip(components, order, strict=True))
    ]
    columns = [
        Column("dimension", "integer"),
        Column("features with the largest coefficients"),
        Column("spread", "number"),
    ]
    return Section(
        "Dimensions",
        "Dimensions have no order and may be rotated into each other.",
        [Table("Dimensions", columns, rows)],
    )
