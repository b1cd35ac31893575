"""rectifact embed: few dimensions behind sparse data."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from rectifact.cli import options, reading
from rectifact.cli.dask_options import check_matrix_source, cluster_of
from rectifact.cli.embed_outputs import check_fill, dropped, filled, read_groups
from rectifact.cli.how_many import check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.outcome import Outcome, check_image_shape, fitting, how_it_ended, say_warnings
from rectifact.cli.reading import Reading
from rectifact.cli.tables import check_outputs, retitled, save_arrays, write_samples, write_table
from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.io.files import check_writable
from rectifact.io.matrices import numbered
from rectifact.io.partitions import holds_chunks
from rectifact.latent import NMD
from rectifact.models import SavedModel


def embed(
    data: Annotated[
        Path,
        typer.Argument(
            help="Non-negative matrix with samples in rows, or triples such as user,item,rating: a table (.csv, .tsv, "
            ".xlsx, .jsonl, .parquet), .npz, .npy, .mtx, .h5ad, a 10x folder, or - for the standard input. Or a folder "
            "of files that hold the rows of one matrix, which Dask reads in chunks: all .npy, all .npz "
            "(scipy.sparse.save_npz) or all .parquet."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Save the embedding and the components here, with stability if it is measured: .npz. Or only the "
            "embedding, as a table: .csv, .tsv, .parquet. For a matrix in chunks, name a table, or give a name without "
            "an extension to create a new folder of Parquet files, written in parallel; use --save to keep the "
            "components.",
        ),
    ],
    numbers: Annotated[
        str,
        typer.Option(
            "--dimensions",
            "-k",
            help="Number of dimensions: a number, a range to choose from such as 2-30, or auto to choose.",
        ),
    ] = "auto",
    link: Annotated[Literal["auto", "relu", "binary"], typer.Option(help="Kind of data; auto detects it.")] = "auto",
    objective: Annotated[Literal["likelihood", "latent"], typer.Option(help="Objective to optimise.")] = "likelihood",
    prior: Annotated[
        Literal["auto", "factors", "rows", "wide", "none"],
        typer.Option(
            help="Gaussian prior on both factors, on the rows only (learnt, or wide), or none; auto decides by a trial."
        ),
    ] = "auto",
    missing: Annotated[
        bool, typer.Option("--missing", help="Treat empty cells, NaN and pairs that triples do not list as missing.")
    ] = False,
    max_iter: Annotated[int, typer.Option(min=1, help="Maximum number of sweeps over the data.")] = 300,
    recommend: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Also write a table with this many recommendations per sample: the columns that are not positive in "
            "it and that the model predicts best. It is named after the output: embedding.npz gives "
            "embedding.recommend.csv.",
        ),
    ] = None,
    triples: reading.Triples = None,
    id_column: reading.IdColumn = None,
    rows: reading.Rows = None,
    columns: reading.Columns = None,
    drop: reading.Drop = None,
    transpose: reading.Transpose = False,
    table: reading.AsTable = False,
    header: reading.Header = None,
    sheet: reading.Sheet = None,
    colour_by: Annotated[
        str | None,
        typer.Option(
            "--colour-by",
            "--color-by",
            help="Colour the map of the report by a column of the data, by table.csv:column, whose rows are "
            "matched by the names of the samples or else by position, or by a text file with one value per row.",
        ),
    ] = None,
    fill: Annotated[
        Path | None,
        typer.Option(help="With --missing, write the data with missing cells filled in here: .csv, .tsv, .parquet."),
    ] = None,
    stability: options.Stability = False,
    image: options.Image = None,
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    scheduler: options.Scheduler = None,
    local_cluster: options.LocalCluster = None,
    report: options.Report = None,
    save: options.Save = None,
    as_json: options.Json = False,
) -> None:
    """Describe sparse non-negative or binary data with a few dimensions, far fewer than SVD needs."""
    how_many = check_numbers(numbers)
    in_chunks = holds_chunks(data)
    drop = dropped(drop, colour_by, data)
    source = Reading(triples, None, id_column, rows, columns, drop, transpose, table, header, sheet, missing=missing)
    source.check(in_chunks)
    outcome = Outcome(report, save, as_json)
    _check_out(data, out, save, in_chunks)
    suggestions = _check_recommend(out, in_chunks) if recommend else None
    check_fill(fill, missing, in_chunks)
    outcome.check(out, [data, suggestions, fill])
    check_matrix_source(scheduler, local_cluster, in_chunks=in_chunks, report=report)
    hole = np.nan if missing else None
    run: dict[str, Any] = {"max_iter": max_iter, "checkpoint": checkpoint, "resume": resume}
    model = NMD(first_of(how_many), link, objective, hole, prior=None if prior == "none" else prior, **run)
    with cluster_of(scheduler, local_cluster):
        matrix: Any = reading.read_in_chunks(data, "embed") if in_chunks else source.read(data, "embed").matrix
        n_samples, n_features = matrix.X.shape
        image_shape = check_image_shape(image, n_features)
        groups = (
            None if colour_by is None else read_groups(colour_by, data, n_samples, None if in_chunks else matrix.rows)
        )
        with fitting("embedding", model) as caught:
            chosen = fit_chosen(model, matrix.X, how_many)
        chosen = with_trust(chosen, matrix.X, stability=stability)
        chosen.say_choice()
        model = chosen.model
        samples, features = numbered(matrix.rows, n_samples), numbered(matrix.columns, n_features)
        found = model.resolved_["link"]
        if out.suffix.lower() == ".npz":
            arrays = {"embedding": model.embedding_, "components": model.components_, "scale": np.array(model.scale_)}
            save_arrays(
                out, arrays | {"samples": samples, "features": features, "link": np.array(found)} | chosen.arrays
            )
        else:
            write_samples(model.embedding_, samples, "dimension", out, matrix.row_title)
        if suggestions is not None and recommend:
            best = model.recommend(matrix.X, recommend, samples=samples, features=features)
            write_table(retitled(best, matrix.row_title, matrix.column_title), suggestions)
        if fill is not None:
            write_table(filled(matrix, model, samples, features), fill)
    say_warnings(caught, "embed")
    say(
        f"{count(n_samples, 'sample')}, {count(n_features, 'feature')}, link {found}: "
        f"{count(model.n_components, 'dimension')}, {how_it_ended(model, 'sweep')}."
    )
    chosen.say_stability("dimensions")
    if suggestions is not None:
        say(f"recommendations -> {suggestions}")
    summary = {"samples": n_samples, "features": n_features, "dimensions": model.n_components}
    summary |= {"scale": float(model.scale_)} | {key: value for key, value in model.resolved_.items() if key != "link"}
    summary |= {"link": found} | chosen.summary
    known = {"selection": chosen.selection} | ({} if in_chunks else {"X": matrix.X, "samples": samples})
    outcome.write(SavedModel(model, features=features, image_shape=image_shape, groups=groups, **known), summary)


def _check_recommend(out: Path, in_chunks: bool) -> Path:
    """The file for recommendations, next to the output."""
    if in_chunks:
        raise InputError(
            "--recommend needs a matrix in memory, and this one is in chunks.",
            "Save the model with --save, and call its recommend for some rows.",
        )
    path = out.with_name(f"{out.stem}.recommend.csv")
    check_writable(path)
    return path


def _check_out(data: Path, out: Path, save: Path | None, in_chunks: bool) -> None:
    """Refuse a place or a format that the embedding cannot be written to."""
    if out.suffix.lower() != ".npz":
        check_outputs(data, out, [save], in_chunks=in_chunks)
        return
    if in_chunks:
        raise InputError(
            f"{str(out)!r} would hold the whole embedding, which is written in partitions for data in chunks.",
            "Name a new folder, or a table that ends in .csv, .tsv or .parquet; --save keeps the components.",
        )
    check_writable(out)
