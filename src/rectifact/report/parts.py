"""Report on parts: what they consist of, how much of the data they explain, and which samples they do not fit."""

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Column, Facts, Findings, Images, Report, Section, Table
from rectifact.report.charts import bars, convergence, histogram, image_address
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.names import as_floats, count, largest_features, sample_names

N_TOP, MOST_SAMPLES, MOST_IMAGES = 12, 10_000, 100
MOST_ENTRIES_FOR_HALVES = 5_000_000  # of the data: two more fits take seconds then


def parts_report(saved: SavedModel) -> Report:
    """Sections for ANDNMF and PurificationNMF; weights and residuals if the data was saved."""
    model = saved.model
    n_parts, n_features = model.components_.shape
    sections = [_parts(saved), *how_many(saved.selection)]
    if saved.X is not None:
        sections += [*_weights_and_residuals(saved), _diagnosis(saved)]
    if curve := convergence(model):
        words = (
            "The loss is the relative error within the leading subspace of the data, where the algorithm works. What "
            "lies outside it appears only in the residuals."
        )
        sections.append(Section("Convergence", words, curve))
    words = f"{count(n_parts, 'part')} with {count(n_features, 'feature')}, found by {type(model).__name__}."
    return Report("Parts", words, sections)


def _diagnosis(saved: SavedModel) -> Section:
    X = as_floats(saved.X)
    small = X.shape[0] * X.shape[1] <= MOST_ENTRIES_FOR_HALVES
    items = [tuple(row) for row in saved.model.diagnose(X, halves=small).itertuples(index=False)]
    return Section("Diagnosis", "What could be wrong with the parts, and what to do about it.", [Findings(items)])


def _parts(saved: SavedModel) -> Section:
    components = np.asarray(saved.model.components_, dtype=float)
    blocks: list[Block] = []
    if saved.image_shape is not None:
        shown = enumerate(components[:MOST_IMAGES], 1)
        stability = getattr(saved.model, "stability_", None)
        known = [""] * len(components) if stability is None else [f", stability {value:.2f}" for value in stability]
        images = [(f"part {i}{known[i - 1]}", image_address(part, saved.image_shape)) for i, part in shown]
        blocks.append(Images("Parts as images", images))
    banded = "; after it the band that holds nine tenths of the parts of resampled data"
    columns = [
        Column("part", "integer"),
        Column("largest features", help=f"with their values{banded if hasattr(saved.model, 'bands_') else ''}"),
        Column("size", "number", "sum of the absolute values"),
    ]
    sizes = np.abs(components).sum(axis=1).tolist()
    rows = list(zip(range(1, len(sizes) + 1), largest_features(saved, N_TOP, ".3g"), sizes, strict=True))
    table = Table("Largest features", *with_stability(saved.model, columns, rows))
    signed = "The parts themselves may have negative values."
    if likelihood := saved.model.resolved_.get("refine"):
        signed = f"The parts are non-negative too; they were refined by the likelihood {likelihood!r}."
    words = f"Each sample is a sum of parts with non-negative weights. {signed}"
    return Section("Parts", words, [*blocks, table])


def _weights_and_residuals(saved: SavedModel) -> list[Section]:
    model, X = saved.model, as_floats(saved.X)
    W = np.asarray(model.transform(X), dtype=float)
    H = np.asarray(model.components_, dtype=float)
    if getattr(model, "missing", None) is not None:
        X = np.where(np.isnan(X), model.inverse_transform(W), X)
    if getattr(model, "background", False):
        residual = _residuals(X, np.column_stack([W, np.ones(len(W))]), np.vstack([H, model.background_]))
    else:
        residual = _residuals(X, W, H)
    size = row_norms(X)
    share = W.sum(axis=0) / max(W.sum(), 1e-300)
    explained = 1 - (residual**2).sum() / max((size**2).sum(), 1e-300)
    facts = [
        ("samples", f"{len(W):,}", ""),
        ("explained", f"{explained:.1%}", "of the squared norm of the data"),
        ("parts per sample", f"{(W > 0).sum(axis=1).mean():.1f}", "with a positive weight, on average"),
    ]
    words = "Largest: " + ", ".join(f"part {i + 1} with {share[i]:.1%}" for i in np.argsort(-share)[:3]) + "."
    weights = bars("Share of the total weight", [str(i + 1) for i in range(len(share))], share, "share", words)
    relative = residual / np.where(size > 0, size, 1)
    spread = histogram("Relative residuals of the samples", relative, "norm of the residual / norm of the sample")
    worst = np.argsort(-relative, kind="stable")[:MOST_SAMPLES].tolist()
    names = sample_names(saved, len(W))
    rows = [[str(names[i]), float(f"{relative[i]:.4g}"), _largest_weights(W[i])] for i in worst]
    columns = [Column("sample"), Column("relative residual", "number"), Column("largest weights")]
    table = Table("Samples by residual", columns, rows, left_out=len(W) - len(worst))
    words = "What the parts leave unexplained. The samples at the top of the table fit worst."
    return [
        Section("Weights", "How much of each part the samples contain.", [Facts(facts), weights]),
        Section("Residuals", words, [spread, table]),
    ]


def _largest_weights(weights: Any) -> str:
    top = np.argsort(-weights, kind="stable")[:3]
    return ", ".join(f"part {i + 1}: {weights[i]:.3g}" for i in top if weights[i] > 0)


def _residuals(X: Any, W: Any, H: Any) -> Any:
    """Norm of each row of ``X - W H``, without making a sparse X dense."""
    cross = np.einsum("ij,ij->i", np.asarray(X @ H.T), W)
    fitted = np.einsum("ij,ij->i", W @ (H @ H.T), W)
    return np.sqrt(np.maximum(row_norms(X, squared=True) - 2 * cross + fitted, 0))
