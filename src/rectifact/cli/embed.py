"""rectifact embed: few dimensions behind sparse data."""

import warnings
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer

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
from rectifact.cli.terminal import check_different_files, check_table_name, progress, save_arrays, say, write_table
from rectifact.core.files import check_writable
from rectifact.core.matrices import read_matrix
from rectifact.latent import NMD
from rectifact.models import SavedModel

__all__ = ["embed"]


def embed(
    data: Annotated[
        Path, typer.Argument(help="Non-negative matrix, samples in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet.")
    ],
    n_dimensions: Annotated[int, typer.Option("--dimensions", "-k", min=1, help="Number of dimensions.")],
    out: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Embedding and components: .npz. Or the embedding as a table: .csv, .tsv, .parquet."
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
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe sparse non-negative or binary data by few dimensions, far fewer than SVD needs."""
    if out.suffix.lower() == ".npz":
        check_writable(out)
    else:
        check_table_name(out)
    outcome = Outcome(report, save, as_json)
    outcome.check(out)
    check_different_files([data, out, *outcome.paths])
    matrix = read_matrix(data)
    image_shape = check_image_shape(image, matrix.X.shape[1])
    with progress("embedding", max_iter) as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hole = np.nan if missing else None
        model = NMD(n_dimensions, link, objective, hole, max_iter=max_iter, callbacks=[callback])
        model.set_params(checkpoint=checkpoint, resume=resume).fit(matrix.X)
    n_samples, n_features = matrix.X.shape
    samples = np.arange(1, n_samples + 1).astype(str) if matrix.rows is None else matrix.rows
    features = np.arange(1, n_features + 1).astype(str) if matrix.columns is None else matrix.columns
    if out.suffix.lower() == ".npz":
        arrays = {"embedding": model.embedding_, "components": model.components_, "scale": np.array(model.scale_)}
        save_arrays(out, arrays | {"samples": samples, "features": features, "link": np.array(model.resolved_["link"])})
    else:
        table = pd.DataFrame(model.embedding_, columns=[f"dimension{i + 1}" for i in range(n_dimensions)])
        table.insert(0, "sample", samples)
        write_table(table, out)
    say_warnings(caught, "embed")
    say(
        f"{n_samples} samples, {n_features} features, link {model.resolved_['link']}: {n_dimensions} dimensions, "
        f"{model.stop_reason_} after {model.n_iter_} sweeps."
    )
    summary = {"samples": n_samples, "features": n_features, "dimensions": n_dimensions, "scale": float(model.scale_)}
    saved = SavedModel(model, matrix.X, features, samples, image_shape)
    outcome.write(saved, summary | {"link": model.resolved_["link"]})
