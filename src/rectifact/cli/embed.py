"""rectifact embed: few dimensions behind sparse data."""

import warnings
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

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
from rectifact.cli.terminal import check_different_files, progress, save_arrays, say
from rectifact.core.errors import InputError
from rectifact.io.files import check_writable
from rectifact.io.matrices import read_matrix
from rectifact.io.partitions import read_chunks
from rectifact.latent import NMD
from rectifact.models import SavedModel

__all__ = ["embed"]


def embed(
    data: Annotated[
        Path,
        typer.Argument(
            help="Non-negative matrix, samples in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet. Or a matrix in chunks, "
            "which dask reads: a folder of files with rows of it, all .npy, all .npz (scipy.sparse.save_npz) or all "
            ".parquet."
        ),
    ],
    n_dimensions: Annotated[int, typer.Option("--dimensions", "-k", min=1, help="Number of dimensions.")],
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Embedding and components: .npz. Or the embedding as a table: .csv, .tsv, .parquet. Of a matrix in "
            "chunks a table, or a name without ending, a new folder to which the workers write Parquet files; --save "
            "keeps the components.",
        ),
    ],
    link: Annotated[
        Literal["auto", "relu", "binary"], typer.Option(help="Non-negative data, zeros and ones, or look.")
    ] = "auto",
    objective: Annotated[Literal["likelihood", "latent"], typer.Option(help="What is made best.")] = "likelihood",
    missing: Annotated[bool, typer.Option("--missing", help="Empty cells and NaN are missing, not a mistake.")] = False,
    max_iter: Annotated[int, typer.Option(min=1, help="Most sweeps over the data.")] = 300,
    image: ImageOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    scheduler: SchedulerOption = None,
    local_cluster: LocalClusterOption = None,
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe sparse non-negative or binary data by few dimensions, far fewer than SVD needs."""
    in_chunks = holds_chunks(data)
    outcome = Outcome(report, save, as_json)
    _check_out(data, out, save, in_chunks)
    outcome.check(out)
    check_different_files([data, out, *outcome.paths])
    check_cluster(scheduler, local_cluster, in_parts=in_chunks, parts=FOLDER)
    if in_chunks and report is not None:
        raise InputError("--report cannot be had of a matrix in chunks. Leave it out, or give one file.")
    with cluster_of(scheduler, local_cluster):
        matrix = read_chunks(data) if data.is_dir() else read_matrix(data)
        image_shape = check_image_shape(image, matrix.X.shape[1])
        with progress("embedding", max_iter) as callback, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hole = np.nan if missing else None
            model = NMD(n_dimensions, link, objective, hole, max_iter=max_iter, callbacks=[callback])
            model.set_params(checkpoint=checkpoint, resume=resume).fit(matrix.X)
        n_samples, n_features = matrix.X.shape
        samples, features = names_of(matrix)
        found = model.resolved_["link"]
        if out.suffix.lower() == ".npz":
            arrays = {"embedding": model.embedding_, "components": model.components_, "scale": np.array(model.scale_)}
            save_arrays(out, arrays | {"samples": samples, "features": features, "link": np.array(found)})
        else:
            write_samples(model.embedding_, samples, "dimension", out)
    say_warnings(caught, "embed")
    say(
        f"{n_samples} samples, {n_features} features, link {found}: {n_dimensions} dimensions, "
        f"{model.stop_reason_} after {model.n_iter_} sweeps."
    )
    summary = {"samples": n_samples, "features": n_features, "dimensions": n_dimensions, "scale": float(model.scale_)}
    known = {} if in_chunks else {"X": matrix.X, "samples": samples}
    outcome.write(SavedModel(model, features=features, image_shape=image_shape, **known), summary | {"link": found})


def _check_out(data: Path, out: Path, save: Path | None, in_chunks: bool) -> None:
    """Refuse a place or a format that the embedding cannot be written to."""
    if out.suffix.lower() != ".npz":
        check_outputs(data, out, [save], in_chunks=in_chunks)
        return
    if in_chunks:
        raise InputError(
            f"{str(out)!r} would hold the whole embedding of a matrix in chunks, which is written in parts. Name a new "
            "folder, or a table that ends in .csv, .tsv or .parquet; --save keeps the components."
        )
    check_writable(out)
