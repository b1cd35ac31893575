"""Report of parts: what they consist of, how much of the data they explain, and where they do not."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.models import SavedModel
from rectifact.report.blocks import Block, Column, Facts, Images, Report, Section, Table
from rectifact.report.charts import bars, convergence, histogram, png_address
from rectifact.report.names import as_floats, feature_names, grey, sample_names

__all__ = ["parts_report"]

N_TOP, MOST_SAMPLES, MOST_IMAGES = 12, 10_000, 100


def parts_report(saved: SavedModel) -> Report:
    """Sections for ANDNMF and PurificationNMF; weights and residuals where the data is at hand."""
    model = saved.model
    n_parts, n_features = model.components_.shape
    sections = [_parts(saved)]
    if saved.X is not None:
        sections += _of_data(saved)
    curve = convergence(model.history_, model.stop_reason_)
    if curve is not None:
        words = (
            "The loss is the relative error where the algorithm works, in the leading subspace of the data; what "
            "lies outside of it shows in the residuals only."
        )
        sections.append(Section("Convergence", words, [curve]))
    return Report("Parts", f"{n_parts} parts of {n_features} features, by {type(model).__name__}.", sections)


def _parts(saved: SavedModel) -> Section:
    components = np.asarray(saved.model.components_, dtype=float)
    names = feature_names(saved, components.shape[1])
    blocks: list[Block] = []
    if saved.image_shape is not None:
        items = [
            (f"part {i + 1}", png_address(grey(part.reshape(saved.image_shape))))
            for i, part in enumerate(components[:MOST_IMAGES])
        ]
        blocks.append(Images("Parts as images", items))
    order = np.argsort(-np.abs(components), axis=1, kind="stable")[:, :N_TOP]
    rows = [
        [i + 1, ", ".join(f"{names[j]} ({part[j]:.3g})" for j in top if part[j] != 0), float(np.abs(part).sum())]
        for i, (part, top) in enumerate(zip(components, order, strict=True))
    ]
    columns = [Column("part", "integer"), Column("largest features"), Column("sum of sizes", "number")]
    blocks.append(Table("Top features", columns, rows))
    return Section("Parts", "Each sample is a sum of parts with non-negative weights. Parts may be negative.", blocks)


def _of_data(saved: SavedModel) -> list[Section]:
    model, X = saved.model, as_floats(saved.X)
    W = np.asarray(model.transform(X), dtype=float)
    components = np.asarray(model.components_, dtype=float)
    residual, size = _residuals(X, W, components), np.sqrt(_row_squares(X))
    share = W.sum(axis=0) / max(W.sum(), 1e-300)
    explained = 1 - (residual**2).sum() / max((size**2).sum(), 1e-300)
    facts = Facts(
        [
            ("samples", f"{len(W):,}", ""),
            ("explained", f"{explained:.1%}", "of the squared norm of the data"),
            ("parts per sample", f"{(W > 0).sum(axis=1).mean():.1f}", "with a positive weight, on average"),
        ]
    )
    numbers = [str(i + 1) for i in range(len(share))]
    largest = np.argsort(-share)[:3]
    words = "Largest: " + ", ".join(f"part {i + 1} with {share[i]:.1%}" for i in largest) + "."
    weights = bars("Share of all weight", numbers, share, "share", words)
    relative = residual / np.where(size > 0, size, 1)
    worst = np.argsort(-relative, kind="stable")[:MOST_SAMPLES]
    names = sample_names(saved, len(W))
    rows = [[str(names[i]), float(f"{relative[i]:.4g}"), _parts_of(W[i])] for i in worst.tolist()]
    columns = [Column("sample"), Column("relative residual", "number"), Column("largest weights")]
    table = Table("Samples by residual", columns, rows, left_out=len(W) - len(worst))
    spread = histogram("Relative residuals of the samples", relative, "residual / norm of the sample")
    return [
        Section("Weights", "How much of each part is in the samples.", [facts, weights]),
        Section(
            "Residuals", "What the parts do not explain. Samples at the top are unlike the others.", [spread, table]
        ),
    ]


def _parts_of(weights: Any) -> str:
    top = np.argsort(-weights, kind="stable")[:3]
    return ", ".join(f"part {i + 1}: {weights[i]:.3g}" for i in top if weights[i] > 0)


def _row_squares(X: Any) -> Any:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else (np.asarray(X) ** 2).sum(axis=1)


def _residuals(X: Any, W: Any, H: Any) -> Any:
    """Norm of each row of ``X - W H``, without making a sparse X dense."""
    cross = np.einsum("ij,ij->i", np.asarray(X @ H.T), W)
    fitted = np.einsum("ij,ij->i", W @ (H @ H.T), W)
    return np.sqrt(np.maximum(_row_squares(X) - 2 * cross + fitted, 0))
