"""Report on an embedding: how well a few dimensions explain the data, compared with truncated SVD."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.latent import NMD
from rectifact.metrics import root_mean_squared_error
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Card, Cards, Chart, Column, Facts, Images, Report, Section, Table
from rectifact.report.charts import convergence, image_address, lines, sample_map
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.names import (
    as_floats,
    count,
    feature_names,
    isolated,
    largest_features,
    listed_features,
    sample_names,
)
from rectifact.report.projection import MOST_MAPPED, evenly, in_the_plane

MOST_ENTRIES, N_IMAGES, N_TOP, SWEEPS = 4_000_000, 10, 10, 60
MOST_CARDS, MOST_LISTED, N_NEAR, WIDEST = 60, 2000, 6, 256
"""Dimensions shown one by one, items with a list of neighbours, neighbours of each, columns of a prediction."""


def embedding_report(saved: SavedModel) -> Report:
    """Sections for NMD and LogisticPCA; quality and reconstructions if the data was saved."""
    model = saved.model
    if is_chunked(getattr(model, "embedding_", None)) or not hasattr(model, "embedding_"):
        raise InputError(
            "The model was fitted to a Dask array and has no embedding in memory, which the report would show.",
            "Fit a sample of the rows.",
        )
    quality, errors = (None, None) if saved.X is None else _quality(saved)
    sections = [_map(saved), _dimensions(saved), _neighbours(saved)]
    sections += [*([] if quality is None else [quality]), *how_many(saved.selection)]
    if curve := convergence(model):
        sections.append(Section("Convergence", "The loss is the negative objective per entry.", curve))
    n, k = model.embedding_.shape
    words = f"{count(n, 'sample')} in {count(k, 'dimension')}, found by {type(model).__name__}."
    return Report("Embedding", words, sections, *_opening(saved, errors))


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


def _quality(saved: SavedModel) -> tuple[Section, list[float]]:
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
    return Section("Quality", words, blocks), errors


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
    """Samples in the plane, by what the model predicts for them: it has zeros, which the embedding has not."""
    model, names = saved.model, sample_names(saved, len(saved.model.embedding_))
    E, kept = np.asarray(model.embedding_, dtype=float), evenly(len(names), MOST_MAPPED)
    if E.shape[1] <= 2:
        places = E[kept] if E.shape[1] == 2 else np.c_[kept + 1.0, E[kept, 0]]
        axes = ["dimension 1", "dimension 2"] if E.shape[1] == 2 else ["sample", "dimension 1"]
        how = "The two dimensions of the embedding." if E.shape[1] == 2 else "The dimension of the embedding."
    else:
        places, method = in_the_plane(_predicted(model, kept))
        axes, how = ["", ""], f"By {method}, from what the model predicts for each sample. "
        how += "Neighbours on the map are alike; distances between groups mean little."
    group, values = _group(saved)
    words = f"{len(kept):,} of {count(len(names), 'sample')}" if len(kept) < len(names) else count(len(names), "sample")
    words += "." if group is None else f", coloured by {group}."
    chosen = None if values is None else values[kept]
    chart = sample_map("Map of the samples", places, names[kept], axes, words, chosen)
    more = "" if group is not None else " With --colour-by, colours show the values of a column."
    return Section("Map", f"{how}{more}", [chart])


def _group(saved: SavedModel) -> tuple[str | None, Any]:
    """Name and values of the column that colours the map."""
    for name, values in (saved.groups or {}).items():
        if len(values) != len(saved.model.embedding_):
            what = f"The column {name!r} has {len(values)} values, but there are {len(saved.model.embedding_)} samples."
            raise InputError(what, "Give one value for each sample.")
        return name, np.asarray(values)
    return None, None


def _predicted(model: Any, rows: Any) -> Any:
    """What the model predicts for some samples, in a few columns that keep their distances."""
    width = model.components_.shape[1]
    G = None
    if width > WIDEST:
        G = np.random.default_rng(0).standard_normal((width, WIDEST)) / np.sqrt(WIDEST)
    tiles = np.array_split(rows, max(1, len(rows) * width // MOST_ENTRIES + 1))
    found = [np.asarray(to_host(model.inverse_transform(model.embedding_[tile])), dtype=float) for tile in tiles]
    return np.concatenate([tile if G is None else tile @ G for tile in found])


def _neighbours(saved: SavedModel) -> Section:
    """For each sample and each feature, those most like it, by name: a table to search."""
    model, blocks = saved.model, []
    n, n_features = len(model.embedding_), model.components_.shape[1]
    for what, axis, names in (
        ("sample", "rows", sample_names(saved, n)),
        ("feature", "columns", feature_names(saved)),
    ):
        kept = evenly(len(names), MOST_LISTED)
        if len(names) < 3:
            continue
        tiles = np.array_split(kept, max(1, len(kept) * len(names) // MOST_ENTRIES + 1))
        found = pd.concat([model.similar(tile, N_NEAR, axis=axis, **_numbered(n, n_features)) for tile in tiles])
        said = [f"{names[j]} ({value:.2f})" for j, value in zip(found["neighbour"], found["similarity"], strict=True)]
        lists = pd.Series(said).groupby(found["item"].to_numpy()).agg(", ".join)
        rows = [[str(names[i]), lists.get(i, "")] for i in kept.tolist()]
        columns = [Column(what), Column("most alike", "text", "with the cosine of the two; 1 is the same direction")]
        blocks.append(Table(f"Nearest {what}s", columns, rows, left_out=len(names) - len(kept)))
    words = "Search for an item to see which others are most like it, by the cosine of their positions."
    return Section("Nearest neighbours", words, blocks)


def _numbered(n: int, n_features: int) -> dict[str, Any]:
    """Numbers in place of names, which may repeat."""
    return {"samples": np.arange(n), "features": np.arange(n_features)}


def _dimensions(saved: SavedModel) -> Section:
    spread = np.asarray(saved.model.embedding_, dtype=float).std(axis=0).tolist()
    tops = largest_features(saved, N_TOP, signed=True)
    stability = getattr(saved.model, "stability_", None)
    cards = []
    for i, top in enumerate(tops[:MOST_CARDS]):
        caption = f"spread {spread[i]:.3g}" + ("" if stability is None else f", stability {stability[i]:.2f}")
        ordered = sorted(top, key=lambda pair: -pair[1])
        cards.append(Card(f"dimension {i + 1}", caption, ordered))
    note = "Samples high on a dimension have more of the features with blue bars, and less of those with orange bars."
    columns = [
        Column("dimension", "integer"),
        Column("features with the largest coefficients"),
        Column("spread", "number", "standard deviation over the samples"),
    ]
    texts = listed_features(saved, N_TOP, "+.3g", signed=True)
    rows = [[i + 1, text, spread[i]] for i, text in enumerate(texts)]
    words = "The most important dimension comes first. Rotated dimensions would explain the data equally well."
    table = Table("Dimensions", *with_stability(saved.model, columns, rows))
    loads: Block = Cards("What each dimension loads on", cards, note, len(tops) - len(cards))
    if saved.image_shape is not None:
        rows_of = np.asarray(saved.model.components_, dtype=float)[:MOST_CARDS]
        images = [(f"dimension {i + 1}", image_address(row, saved.image_shape)) for i, row in enumerate(rows_of)]
        loads = Images("Dimensions as images", images)
    return Section("Dimensions", words, [loads, table])


def _opening(saved: SavedModel, errors: list[float] | None) -> tuple[list[str], list[str]]:
    """The sentences that matter most, and what to do next."""
    model = saved.model
    n, k = model.embedding_.shape
    n_features = model.components_.shape[1]
    main = [f"{count(k, 'dimension')} stand for the {count(n_features, 'feature')} of {count(n, 'sample')}."]
    if errors is not None:
        less = 1 - errors[0] / max(errors[1], 1e-300)
        than = f"{less:.0%} less" if less > 0.005 else f"{-less:.0%} more" if less < -0.005 else "the same"
        main.append(f"They leave an error of {errors[0]:.3g} per entry (RMSE), {than} than truncated SVD with as many.")
    if saved.image_shape is None:
        top = largest_features(saved, 3, signed=True)[0]
        named = ", ".join(f"{isolated(name)} ({'+' if value > 0 else '−'})" for name, value in top)
        main.append(f"The first dimension loads most on {named}.")
    known = getattr(model, "stability_", None)
    if known is not None:
        main.append(f"Mean stability is {np.mean(known):.2f}; 1 if resampled data leads to the same dimensions.")
    steps = ["Look for groups on the map, and hover over points to see what they are."]
    if saved.groups is None:
        steps.append("Colour the map by a column that you know: --colour-by.")
    steps.append("Search for an item that you know under Nearest neighbours, and see if its neighbours make sense.")
    if saved.selection is None:
        steps.append("Let the data choose the number of dimensions: -k auto.")
    return main, steps[:4]
