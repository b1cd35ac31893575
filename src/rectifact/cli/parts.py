"""rectifact parts: the parts that mixtures are made of, the topics of texts."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
from rich.markup import escape
from rich.table import Table

from rectifact.cli.images import ImageOption, check_image_shape
from rectifact.cli.outcome import (
    CheckpointOption,
    JsonOption,
    Outcome,
    ReportOption,
    ResumeOption,
    SaveOption,
    say_warnings,
)
from rectifact.cli.terminal import (
    check_different_files,
    check_table_name,
    progress,
    save_arrays,
    say,
    show,
    write_table,
)
from rectifact.core.files import check_writable
from rectifact.core.matrices import NamedMatrix, read_matrix
from rectifact.core.validation import InputError
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.documents import count_words, read_documents
from rectifact.parts.samples import choose_norm, squared_norm

__all__ = ["parts"]


def parts(
    data: Annotated[
        Path,
        typer.Argument(
            help="Matrix, samples in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet. Or texts: a .txt file with one "
            "document per line, or a folder of .txt files."
        ),
    ],
    n_parts: Annotated[int, typer.Option("--parts", "-k", min=1, help="Number of parts.")],
    out: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save parts, weights and names here: .npz.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Write the top features of each part here, one per row.")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Write one row per sample here, one column per part.")] = None,
    method: Annotated[Literal["and", "purification"], typer.Option(help="Algorithm.")] = "and",
    top: Annotated[int, typer.Option(min=1, help="Features shown for each part.")] = 10,
    text: Annotated[bool, typer.Option("--text", help="Read DATA as text, whatever its name.")] = False,
    tfidf: Annotated[bool, typer.Option("--tfidf", help="Weight rare words higher.")] = False,
    stop_words: Annotated[
        bool, typer.Option("--stop-words/--all-words", help="Drop English words such as 'the', or not.")
    ] = True,
    min_documents: Annotated[int, typer.Option(min=1, help="Drop words of fewer documents.")] = 2,
    max_share: Annotated[float, typer.Option(help="Drop words of a larger share of the documents.")] = 0.5,
    max_words: Annotated[int, typer.Option(min=1, help="Keep this many words, the commonest.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the random numbers.")] = 0,
    image: ImageOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the parts that samples are mixtures of: topics of texts, spectra, sources."""
    outcome = Outcome(report, save, as_json)
    _check_files(out, features, weights)
    outcome.check(None)
    check_different_files([data, out, features, weights, *outcome.paths])
    if text or data.is_dir() or data.suffix.lower() in {".txt", ".text"}:
        words: dict[str, Any] = {"min_documents": min_documents, "max_share": max_share, "max_words": max_words}
        matrix = _texts(data, **words, stop_words="english" if stop_words else None, tfidf=tfidf)
    else:
        matrix = read_matrix(data)
    image_shape = check_image_shape(image, matrix.X.shape[1])
    model = (ANDNMF if method == "and" else PurificationNMF)(n_parts, random_state=seed)
    model.set_params(checkpoint=checkpoint, resume=resume)
    with progress("finding parts", model.max_iter) as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(callbacks=[callback]).fit(matrix.X)
        W = np.asarray(model.transform(matrix.X))
    named = _named(matrix)
    signed = choose_norm(matrix.X) == "l2"
    largest = _largest_features(np.asarray(model.components_), named.columns, top, signed)
    if out is not None:
        save_arrays(
            out, {"components": model.components_, "weights": W, "features": named.columns, "samples": named.rows}
        )
    if features is not None:
        write_table(largest, features)
    if weights is not None:
        write_table(_weights_table(W, named.rows), weights)
    if not (out or features or weights or as_json):
        show(_top_table(largest, W))
    say_warnings(caught, "parts")
    explained = 1 - model.reconstruction_err_**2 / float(squared_norm(matrix.X))
    say(
        f"{W.shape[0]} samples, {len(named.columns)} features, {n_parts} parts: {explained:.1%} of the squared norm "
        f"explained; start {model.resolved_['init']}, {model.stop_reason_} after {model.n_iter_} iterations."
    )
    summary = {"samples": W.shape[0], "features": len(named.columns), "parts": n_parts, "explained": float(explained)}
    outcome.write(SavedModel(model, matrix.X, named.columns, named.rows, image_shape), summary)


def _check_files(out: Path | None, features: Path | None, weights: Path | None) -> None:
    """Refuse what could not be written afterwards."""
    for path in (features, weights):
        if path is not None:
            check_table_name(path)
    if out is not None:
        check_writable(out)
        if out.suffix.lower() != ".npz":
            raise InputError(f"{str(out)!r} should end in .npz. Rename it, or see --features and --weights for tables.")


def _texts(path: Path, **options: Any) -> NamedMatrix:
    """Words of texts, counted."""
    documents, names = read_documents(path)
    return replace(count_words(documents, **options), rows=names)


def _named(matrix: NamedMatrix) -> Any:
    """Names of rows and columns, numbers from 1 where the file has none."""
    names = [
        np.arange(1, size + 1).astype(str) if given is None else given
        for given, size in zip((matrix.rows, matrix.columns), matrix.X.shape, strict=True)
    ]
    return NamedMatrix(matrix.X, *names)


def _largest_features(components: Any, names: Any, top: int, signed: bool) -> pd.DataFrame:
    """Table of part, rank, feature and value, at most ``top`` rows per part; by size where parts are signed."""
    size = np.abs(components) if signed else components
    order = np.argsort(-size, axis=1, kind="stable")[:, :top]
    part, rank = np.indices(order.shape)
    table = pd.DataFrame(
        {
            "part": part.ravel() + 1,
            "rank": rank.ravel() + 1,
            "feature": names[order.ravel()],
            "value": np.take_along_axis(components, order, axis=1).ravel(),
        }
    )
    return table[np.take_along_axis(size, order, axis=1).ravel() > 0]


def _weights_table(W: Any, samples: Any) -> pd.DataFrame:
    table = pd.DataFrame(W, columns=[f"part{i + 1}" for i in range(W.shape[1])])
    table.insert(0, "sample", samples)
    return table


def _top_table(largest: pd.DataFrame, W: Any) -> Table:
    """Parts for people: how much of all weight each has, and its top features."""
    share = W.sum(axis=0) / max(W.sum(), 1e-300)
    table = Table("part", "share of weight", "top features", title="Parts", title_justify="left")
    for i, weight in enumerate(share):
        words = ", ".join(largest.loc[largest["part"] == i + 1, "feature"])
        printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
        table.add_row(str(i + 1), f"{weight:.1%}", escape(printable))
    return table
