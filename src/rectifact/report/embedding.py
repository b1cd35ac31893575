"""Report on an embedding: a map, neighbours, and how well a few dimensions predict what was hidden."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from rectifact.core.arrays import names_of_rows
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.latent import NMD
from rectifact.latent.data import large_values, largest_column, unit_column
from rectifact.latent.filling import Comparison, Hidden, compare_with_means, hidden_trial, unit_of
from rectifact.latent.how_many import RECURS
from rectifact.latent.neighbours import directions
from rectifact.latent.scales import stray_values
from rectifact.metrics import root_mean_squared_error
from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Card, Cards, Column, Facts, Findings, Images, Report, Section, Table
from rectifact.report.charts import convergence, image_address, lines, sample_map
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.names import (
    as_floats,
    count,
    feature_names,
    isolated,
    listed_features,
    sample_names,
)
from rectifact.report.predictions import beside, error_of_columns, hidden_facts, noted
from rectifact.report.projection import MOST_MAPPED, evenly, in_the_plane

MOST_ENTRIES, N_IMAGES, N_TOP = 4_000_000, 10, 10
ROUNDS = 10
"""Rounds of short fits by SVD."""

MOST_CARDS, MOST_LISTED, N_NEAR, MOST_FEATURES, FEWEST = 60, 2000, 6, 500, 10
"""Dimensions shown one by one, items with a list of neighbours, neighbours of each, features on a map: at
most and at least."""


def embedding_report(saved: SavedModel) -> Report:
    """Sections for NMD and LogisticPCA; quality and reconstructions if the data was saved."""
    model = saved.model
    if is_chunked(getattr(model, "embedding_", None)) or not hasattr(model, "embedding_"):
        raise InputError(
            "The model was fitted to a Dask array and has no embedding in memory, which the report would show.",
            "Fit a sample of the rows.",
        )
    quality, hidden = (None, None) if saved.X is None else _quality(saved)
    sections = [_map(saved), _dimensions(saved), _neighbours(saved)]
    sections += [*([] if quality is None else [quality]), *how_many(saved.selection)]
    if curve := convergence(model):
        words = "The loss is the negative objective per entry."
        if model.resolved_.get("prior") == "factors":
            words += " It rises where the priors are learnt again, every ten sweeps, and falls in between."
        sections.append(Section("Convergence", words, curve))
    n, k = model.embedding_.shape
    words = f"{count(n, 'sample')} in {count(k, 'dimension')}, found by {type(model).__name__}."
    return Report("Embedding", words, sections, *_opening(saved, hidden))


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


def _quality(saved: SavedModel) -> tuple[Section, tuple[Comparison, float] | None]:
    """The section, and the errors of this model, of means and of truncated SVD on hidden entries, if known."""
    model = saved.model
    X, places = _some_rows(saved)
    found = np.asarray(model.inverse_transform(model.embedding_[places]), dtype=float)
    k = model.embedding_.shape[1]
    known = ~np.isnan(X)
    begun = hidden_trial(model, saved.X)
    ranks, ours, theirs = ([], [], []) if begun is None else _hidden_errors(model, *begun, k)
    hidden = (ours[-1], theirs[-1]) if ranks and ranks[-1] == k else None
    judged = compare_with_means(model, saved.X) if hidden is None else hidden[0]
    facts = hidden_facts(judged, None if hidden is None else hidden[1], k)
    facts += [
        ("known entries", f"{root_mean_squared_error(found[known], X[known]):.4g}", "RMSE of the data reproduced"),
        ("nonzeros", f"{np.mean(X[known] != 0):.1%}", "of the known entries"),
        ("prior", *_prior(model.resolved_)),
    ]
    blocks: list[Block] = [Facts(facts)]
    if model.resolved_.get("link") == "relu" and (large := _large(saved, X)):
        blocks.insert(0, Findings([large]))
    unit = unit_of(saved.notes)
    blocks += error_of_columns(judged, feature_names(saved), gaps=model.missing is not None, unit=unit)
    if judged is not None and not judged.better:
        found_out = ("warning", "no better than means", judged.no_better, "Do not take its predictions for values.")
        blocks.insert(0, Findings([found_out]))
    words = "The model looks for log-odds of low rank that predict the zeros and ones of the data."
    if isinstance(model, NMD):
        words = "The model looks for a matrix of low rank that matches the data once negative entries are set to zero."
    if len(ranks) > 1:
        caption = _how_hidden(begun)
        curves = {type(model).__name__: (ranks, [each.model for each in ours]), "truncated SVD": (ranks, theirs)}
        chart = lines("Error of hidden entries by the number of dimensions", curves, "dimensions", "RMSE", caption)
        blocks.append(chart.with_x(whole=True))
    if saved.image_shape is not None:
        names = sample_names(saved, saved.X.shape[0])[places]
        svd = _clipped_svd(np.where(known, X, 0), k)
        versions = {"Data": X, "Reconstructed by this model": found, "Reconstructed by truncated SVD": svd}
        blocks += [_images(title, rows, names, saved.image_shape) for title, rows in versions.items()]
    if len(X) < saved.X.shape[0]:
        words += f" Measured on {len(X):,} of {count(saved.X.shape[0], 'sample')}."
    words += "".join(f" {sentence}" for sentence in noted(saved))
    return Section("Quality", words, blocks), hidden


def _large(saved: SavedModel, X: Any) -> tuple[str, str, str, str] | None:
    """A finding, if a column or a few values decide the result."""
    if stray := stray_values(X):
        return "warning", "values outside the scale", stray, "Check whether they are mistakes."
    if not unit_column(X)[1] and (large := large_values(X)):
        log = (saved.notes or {}).get("values") == "log"
        first, python = ("", "X > 0") if log else ("--values log, or ", "np.log1p(X) or X > 0")
        remedy = f"Use {first}--values binary to count only what is present; in Python, {python}."
        return "warning", "a few large values", large, remedy
    column, share = largest_column(X)
    what = f"{feature_names(saved)[column]} holds {share:.0%} of the squares of the data, and decides the result."
    remedy = "Leave it out, or bring it to the scale of the others."
    return ("warning", "one large column", what, remedy) if share else None


def _prior(resolved: dict[str, Any]) -> tuple[str, str]:
    """Which prior the model has, and what it does."""
    if resolved.get("prior") is None:
        return "none", "maximum likelihood"
    what = {"factors": "on rows and columns", "rows": "on rows", "wide": "on rows, wide"}[resolved["prior"]]
    return resolved["prior"], f"Gaussian, {what}; it decides {resolved['shrinkage']:.0%} of the embedding"


def _clipped_svd(X: Any, k: int) -> Any:
    U, s, Vt = randomized_svd(X, min(k, *X.shape), n_iter=7, random_state=0)
    return ((U * s) @ Vt).clip(X.min(), X.max())


def _how_hidden(begun: tuple[Hidden, int] | None) -> str:
    """What the errors of hidden entries come from."""
    if begun is None:
        return ""
    trial, sweeps = begun
    share = trial.mask.sum() / (~np.isnan(trial.known)).sum()
    rows = count(len(trial.known), "sample")
    return f"From fits of at most {sweeps} iterations to {rows}, of whose known entries {share:.0%} were hidden."


def _hidden_errors(model: Any, trial: Hidden, sweeps: int, k: int) -> tuple[list[int], list[Comparison], list[float]]:
    """Errors of hidden entries by rank: of short fits, next to means, and of truncated SVD."""
    wanted = {max(1, round(k * share)) for share in (0.125, 0.25, 0.5, 1.0)}
    ranks = sorted(rank for rank in wanted if rank < min(trial.known.shape))
    ours = [trial.beside_means(trial.predicted(model, rank, sweeps)) for rank in ranks]
    return ranks, ours, [trial.error(_imputed(trial.seen, rank)) for rank in ranks]


def _imputed(X: Any, rank: int) -> Any:
    """Predictions of truncated SVD, in whose gaps its own predictions are put again and again, from column means."""
    gaps = np.isnan(X)
    known = (~gaps).sum(axis=0)
    filled = np.where(gaps, np.nansum(X, axis=0) / np.maximum(known, 1), X)
    for _ in range(ROUNDS):
        found = _clipped_svd(filled, rank)
        filled = np.where(gaps, found, X)
    return found


def _images(title: str, rows: Any, names: Any, shape: tuple[int, int]) -> Images:
    """A few of the rows, evenly chosen."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, N_IMAGES).astype(int)).tolist()
    return Images(title, [(str(names[i]), image_address(rows[i], shape)) for i in chosen])


def _map(saved: SavedModel) -> Section:
    """Samples and features in the plane, near those that they are like."""
    model, names = saved.model, sample_names(saved, len(saved.model.embedding_))
    kept = evenly(len(names), MOST_MAPPED)
    places, method = in_the_plane(directions(model._positions_of_fit(_data(saved))[kept]))
    how = f"By {method}: neighbours on the map are alike, as in the tables below; distances between groups mean little."
    group, values = _group(saved)
    words = f"{len(kept):,} of {count(len(names), 'sample')}" if len(kept) < len(names) else count(len(names), "sample")
    words += "." if group is None else f", coloured by {group}."
    chosen = None if values is None else values[kept]
    charts = [sample_map("Map of the samples", places, names[kept], ["", ""], words, chosen)]
    features = feature_names(saved)
    if saved.image_shape is None and len(features) >= FEWEST:
        vectors = model._feature_vectors()
        kept = np.sort(np.argsort(-np.linalg.norm(vectors, axis=1), kind="stable")[:MOST_FEATURES])
        places, _ = in_the_plane(vectors[kept])
        of = "" if len(kept) == len(features) else f", those that the model explains best of {len(features):,}"
        words = (
            f"{count(len(kept), 'feature')}{of}. Those that are hardly explained lie together: they are like no other."
        )
        charts.append(sample_map("Map of the features", places, features[kept], ["", ""], words))
    more = "" if group is not None else " With --colour-by, colours show the values of a column."
    return Section("Map", f"{how}{more}", charts)


def _data(saved: SavedModel) -> Any:
    """The data of the fit, with NaN for what a mask hid from it; None if it was not saved."""
    mask: Any = getattr(saved.model, "missing", None)
    if saved.X is None or not (sp.issparse(mask) or np.ndim(mask) == 2):
        return saved.X
    X = as_floats(saved.X)
    X = X.toarray() if sp.issparse(X) else np.array(X)
    X[(mask.toarray() if sp.issparse(mask) else np.asarray(mask)).astype(bool)] = np.nan
    return X


def _group(saved: SavedModel) -> tuple[str | None, Any]:
    """Name and values of the column that colours the map."""
    groups: Any = {} if saved.groups is None else saved.groups
    if not isinstance(groups, Mapping):
        groups = {str(getattr(groups, "name", None) or "group"): groups}
    for name, values in groups.items():
        if np.ndim(values) != 1:
            raise InputError(f"groups[{name!r}] is not a column of values.", 'Give groups={"name": values}.')
        own, names = names_of_rows(values), sample_names(saved, len(saved.model.embedding_))
        if own is not None and len(set(own)) == len(own) and {str(one) for one in own} >= set(names):
            return name, values.set_axis([str(one) for one in own]).reindex(names).to_numpy()
        if len(values) != len(saved.model.embedding_):
            what = f"The column {name!r} has {len(values)} values, but there are {len(saved.model.embedding_)} samples."
            raise InputError(what, "Give one value for each sample.")
        return name, np.asarray(values)
    return None, None


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
        found = model.similar(kept, N_NEAR, axis=axis, X=_data(saved), **_numbered(n, n_features))
        said = [f"{names[j]} ({value:.2f})" for j, value in zip(found["neighbour"], found["similarity"], strict=True)]
        lists = pd.Series(said).groupby(found["item"].to_numpy()).agg(", ".join)
        rows = [[str(names[i]), lists.get(i, "")] for i in kept.tolist()]
        columns = [Column(what), Column("most alike", "text", "with the similarity of the two, at most 1")]
        blocks.append(Table(f"Nearest {what}s", columns, rows, left_out=len(names) - len(kept)))
    words = (
        "Search for a name to see what is most like it. Samples are compared by the data and what the model predicts "
    )
    words += "for them, features by the correlation of what it predicts, drawn towards 0 for those that it hardly "
    words += "explains; the figure is 1 for the same profile."
    return Section("Nearest neighbours", words, blocks)


def _numbered(n: int, n_features: int) -> dict[str, Any]:
    """Numbers in place of names, which may repeat."""
    return {"samples": np.arange(n), "features": np.arange(n_features)}


def _dimensions(saved: SavedModel) -> Section:
    """What tells samples apart, by name, and the dimensions of the model."""
    model = saved.model
    k = model.components_.shape[0]
    axes, spreads, _ = model._axes(k)
    cards = []
    for i, (axis, spread) in enumerate(zip(axes[:MOST_CARDS], spreads, strict=False)):
        cards.append(Card(f"position {i + 1}", f"spread {spread:.3g}", _loads(saved, axis, N_TOP)))
    note = "Samples high on a position have more of the features with blue bars, and less of those with orange bars."
    if saved.image_shape is None:
        loads: Block = Cards("What each position loads on", cards, note, len(axes) - len(cards))
    else:
        images = [
            (f"position {i + 1}", image_address(row, saved.image_shape)) for i, row in enumerate(axes[:MOST_CARDS])
        ]
        loads = Images("Positions as images", images)
    columns = [
        Column("dimension", "integer"),
        Column("features with the largest coefficients"),
        Column("size", "number", "root mean square over the samples"),
    ]
    sizes = np.sqrt((np.asarray(model.embedding_, dtype=float) ** 2).mean(axis=0)).tolist()
    rows = [[i + 1, text, sizes[i]] for i, text in enumerate(listed_features(saved, N_TOP, "+.3g", signed=True))]
    words = (
        "Positions tell which samples are alike: they are the columns of the table that embed writes, in the order of "
        "their spread. Dimensions, in the order of their size, are what the model is made of, before negative values "
        "are set to zero: features that are nearly always zero may have large coefficients there."
    )
    table = Table("Dimensions of the model", *with_stability(model, columns, rows))
    return Section("Dimensions", words, [loads, table])


def _loads(saved: SavedModel, axis: Any, most: int) -> list[tuple[str, float]]:
    """The features that count most on an axis, and how much, from the highest to the lowest."""
    names, top = feature_names(saved), np.argsort(-np.abs(axis), kind="stable")[:most]
    return sorted(((str(names[j]), float(axis[j])) for j in top), key=lambda pair: -pair[1])


def _opening(saved: SavedModel, hidden: tuple[Comparison, float] | None) -> tuple[list[str], list[str]]:
    """The sentences that matter most, and what to do next."""
    model = saved.model
    n, k = model.embedding_.shape
    n_features = model.components_.shape[1]
    stand = "stands" if k == 1 else "stand"
    main = [f"{count(k, 'dimension')} {stand} for the {count(n_features, 'feature')} of {count(n, 'sample')}."]
    if hidden is not None:
        (ours, svd), (by, plain) = hidden, hidden[0].plain
        of = unit_of(saved.notes)
        main.append(
            f"Entries that were hidden from a fit are predicted with an error of {ours.model:.3g} (RMSE{of}), "
            f"{beside(ours.model, svd)} truncated SVD with as many dimensions, and {beside(ours.model, plain)} {by}."
        )
    if saved.image_shape is None:
        top = sorted(_loads(saved, model._axes(k)[0][0], 3), key=lambda pair: -abs(pair[1]))
        high, low = (", ".join(isolated(name) for name, value in top if sign * value > 0) for sign in (1, -1))
        between = "; the other way, " if high and low else ""
        main.append(f"The features that tell samples apart most: {high}{between}{low}.")
    known = getattr(model, "stability_", None)
    if known is not None and k > 1:
        lost = [str(i + 1) for i in np.flatnonzero(np.asarray(known) < RECURS)]
        which = f" Not found again: dimension{'s' * (len(lost) > 1)} {', '.join(lost)}." if lost else ""
        main.append(f"Mean stability is {np.mean(known):.2f}; 1 if resampled data leads to the same dimensions.{which}")
    groups = "For groups as a column: rectifact cluster, on the positions that embed writes."
    groups = (saved.notes or {}).get("groups", groups)
    steps = [f"Look for groups on the map, and hover over points to see what they are. {groups}"]
    if hidden is not None and not hidden[0].better:
        steps.insert(0, f"Do not use its predictions: {hidden[0].simplest} would do as well or better.")
    if saved.groups is None:
        steps.append("Colour the map by a column that you know: --colour-by.")
    steps.append("Search for an item that you know under Nearest neighbours, and see if its neighbours make sense.")
    if saved.selection is None:
        steps.append("Let the data choose the number of dimensions: -k auto.")
    return main, steps[:4]
