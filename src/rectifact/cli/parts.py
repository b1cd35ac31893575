"""rectifact parts: the parts that mixtures are made of, the topics of texts."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer
from rich.markup import escape
from rich.table import Table

from rectifact.cli.chunks import FOLDER, check_outputs, holds_chunks, names_of, write_samples
from rectifact.cli.dask_options import LocalClusterOption, SchedulerOption, check_cluster, cluster_of
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
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.lazy import evaluate, kept
from rectifact.core.linalg import squared_norm
from rectifact.io.files import check_writable
from rectifact.io.matrices import NamedMatrix, read_matrix
from rectifact.io.partitions import read_chunks
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.documents import count_words, read_documents
from rectifact.parts.samples import choose_norm

__all__ = ["parts"]

SMALL = ("components", "features")
"""What can be saved in one file, however many samples there are."""


def parts(
    data: Annotated[
        Path,
        typer.Argument(
            help="Matrix, samples in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet. Or texts: a .txt file with one "
            "document per line, or a folder of .txt files. Or a matrix in chunks, which dask reads: a folder of files "
            "with rows of it, all .npy, all .npz (scipy.sparse.save_npz) or all .parquet."
        ),
    ],
    n_parts: Annotated[int, typer.Option("--parts", "-k", min=1, help="Number of parts.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save parts, weights and names here: .npz. Weights of a matrix in chunks go to --weights only.",
        ),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Write the top features of each part here, one per row.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Write one row per sample here, one column per part: .csv, .tsv, .parquet. Of a matrix in chunks, a "
            "name without ending is a new folder, to which the workers write Parquet files."
        ),
    ] = None,
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
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the parts that samples are mixtures of: topics of texts, spectra, sources."""
    outcome = Outcome(report, save, as_json)
    in_chunks = not text and holds_chunks(data)
    _check_files(out, features)
    check_outputs(data, weights, [out, features, save], in_chunks=in_chunks)
    outcome.check(None)
    check_different_files([data, out, features, weights, *outcome.paths])
    check_cluster(scheduler, local_cluster, in_parts=in_chunks, parts=FOLDER)
    if in_chunks and report is not None:
        raise InputError("--report cannot be had of a matrix in chunks. --save the model, for rectifact report.")
    words: dict[str, Any] = {"min_documents": min_documents, "max_share": max_share, "max_words": max_words}
    words |= {"stop_words": "english" if stop_words else None, "tfidf": tfidf}
    model = (ANDNMF if method == "and" else PurificationNMF)(n_parts, random_state=seed)
    model.set_params(checkpoint=checkpoint, resume=resume)
    with cluster_of(scheduler, local_cluster):
        matrix = read_chunks(data) if in_chunks else _read(data, text, **words)
        image_shape = check_image_shape(image, matrix.X.shape[1])
        samples, names = names_of(matrix)
        with progress("finding parts", model.max_iter) as callback, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            X = _dense_chunks(kept(matrix.X)) if in_chunks else matrix.X
            model.set_params(callbacks=[callback]).fit(X)
            W = model.transform(X)
        largest = _largest_features(np.asarray(model.components_), names, top, _signed(model, X))
        if out is not None:
            arrays = {"components": model.components_, "weights": W, "features": names, "samples": samples}
            save_arrays(out, {name: arrays[name] for name in (SMALL if in_chunks else arrays)})
        if features is not None:
            write_table(largest, features)
        if weights is not None:
            write_samples(W, samples, "part", weights)
        if not (out or features or weights or as_json):
            (sums,) = evaluate(W.sum(axis=0))
            show(_top_table(largest, sums))
        say_warnings(caught, "parts")
        explained = 1 - model.reconstruction_err_**2 / squared_norm(X)
    say(
        f"{W.shape[0]} samples, {len(names)} features, {n_parts} parts: {explained:.1%} of the squared norm "
        f"explained; start {model.resolved_['init']}, {model.stop_reason_} after {model.n_iter_} iterations."
    )
    summary = {"samples": W.shape[0], "features": len(names), "parts": n_parts, "explained": float(explained)}
    known = {} if in_chunks else {"X": matrix.X, "samples": samples}
    outcome.write(SavedModel(model, features=names, image_shape=image_shape, **known), summary)


def _check_files(out: Path | None, features: Path | None) -> None:
    """Refuse what could not be written afterwards."""
    if features is not None:
        check_table_name(features)
    if out is not None:
        check_writable(out)
        if out.suffix.lower() != ".npz":
            raise InputError(f"{str(out)!r} should end in .npz. Rename it, or see --features and --weights for tables.")


def _read(data: Path, text: bool, **words: Any) -> NamedMatrix:
    """Words of texts, counted, or one file's matrix."""
    if text or data.is_dir() or data.suffix.lower() in {".txt", ".text"}:
        if not text and data.is_dir() and not any(path.suffix.lower() == ".txt" for path in data.rglob("*")):
            raise InputError(
                f"The folder {str(data)!r} holds neither texts, .txt files, nor rows of a matrix, .npy, .npz or "
                ".parquet files. Name another, or a file."
            )
        documents, names = read_documents(data)
        return replace(count_words(documents, **words), rows=names)
    return read_matrix(data)


def _dense_chunks(X: Array) -> Array:
    """A lazy matrix whose sparse chunks are made dense one by one."""
    return X.map_blocks(_dense, dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype))


def _dense(chunk: Any) -> Any:
    return chunk.toarray() if sp.issparse(chunk) else chunk


def _signed(model: ANDNMF | PurificationNMF, X: Array) -> bool:
    """Whether the samples have both signs; AND has looked already."""
    return bool((model.resolved_.get("normalize") or choose_norm(X)) == "l2")


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


def _top_table(largest: pd.DataFrame, weights: Any) -> Table:
    """Parts for people: how much of all weight each has, and its top features."""
    share = weights / max(weights.sum(), 1e-300)
    table = Table("part", "share of weight", "top features", title="Parts", title_justify="left")
    for i, weight in enumerate(share):
        words = ", ".join(largest.loc[largest["part"] == i + 1, "feature"])
        printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
        table.add_row(str(i + 1), f"{weight:.1%}", escape(printable))
    return table
