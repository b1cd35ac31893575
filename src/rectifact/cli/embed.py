"""rectifact embed: few dimensions behind sparse data."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from rectifact.cli import options, reading
from rectifact.cli.dask_options import check_matrix_source, cluster_of
from rectifact.cli.embed_checks import check_codes, check_entries, check_for_chunks
from rectifact.cli.embed_fill import Filling, check_fill, write_filled
from rectifact.cli.embed_groups import groups_by, write_coordinates
from rectifact.cli.embed_outputs import (
    Judgement,
    compared_with_means,
    joined_verdict,
    judge,
    neighbours,
    suggested,
)
from rectifact.cli.embed_values import as_values, scaled
from rectifact.cli.how_many import check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.known_embedding import USED, Places, apply_saved
from rectifact.cli.known_groups import Samples, check_colours, dropped, read_groups
from rectifact.cli.outcome import Outcome, check_image_shape, fitting, how_it_ended, say_warnings
from rectifact.cli.reading import Reading
from rectifact.cli.tables import (
    check_outputs,
    check_table_or_arrays_name,
    write_table,
)
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, count
from rectifact.io.files import check_writable
from rectifact.io.matrices import numbered
from rectifact.io.other_columns import about_other_columns
from rectifact.io.partitions import holds_chunks
from rectifact.latent import NMD
from rectifact.latent.scales import with_scales_of
from rectifact.models import SavedModel


def embed(
    context: typer.Context,
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
            help="Save a table with the coordinates of each sample here: .csv, .tsv, .parquet, .jsonl, or - for the "
            "standard output. Or positions, embedding and components, with stability if it is measured: .npz. For a "
            "matrix in chunks, name a table, or give a name without an extension to create a new folder of Parquet "
            "files, written in parallel; use --save to keep the components.",
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
    values: Annotated[
        Literal["raw", "log", "binary"],
        typer.Option(
            help="Take the values as they are, the logarithm of 1 plus each, or only which are positive. A few large "
            "values would decide what is found in plays, sales or counts of genes: use log or binary."
        ),
    ] = "raw",
    scale: Annotated[
        Literal["standard", "none"],
        typer.Option(
            help="Divide each column of a table by its standard deviation, or take columns as they are. Columns in "
            "different units need standard; what --fill writes is in the units of the file."
        ),
    ] = "none",
    missing: Annotated[
        bool,
        typer.Option(
            "--missing",
            help="Treat empty cells, NaN and pairs that triples do not list as missing; negative values are then "
            "ratings on a scale such as -2 to 2.",
        ),
    ] = False,
    missing_values: Annotated[
        str | None,
        typer.Option(
            "--missing-values",
            metavar="A,B",
            help="Numbers or texts that mean a missing value, such as 99 or 98,99,unknown, besides empty cells; "
            "implies --missing. Write --missing-values=-1 for a negative one. none: such numbers are values.",
        ),
    ] = None,
    max_iter: Annotated[int, typer.Option(min=1, help="Maximum number of sweeps over the data.")] = 1000,
    coordinates: Annotated[
        Literal["positions", "embedding"] | None,
        typer.Option(
            help="What a table holds: positions, whose distances say what is alike, or the embedding, from which the "
            "model reproduces the data. Positions by default, and the embedding for a matrix in chunks.",
            show_default=False,
        ),
    ] = None,
    recommend: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Also write a table with this many recommendations per sample: the columns that are not positive in "
            "it, that it has not returned (see --returns), and that the model predicts best. It is named after the "
            "output: embedding.npz gives embedding.recommend.csv.",
        ),
    ] = None,
    similar: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Also write two tables with this many neighbours of each sample and of each feature, those most like "
            "it: embedding.npz gives embedding.similar-rows.csv and embedding.similar-columns.csv.",
        ),
    ] = None,
    triples: reading.Triples = None,
    repeats: reading.Repeats = None,
    returns: reading.Returns = None,
    ignore_case: Annotated[
        bool,
        typer.Option(
            "--ignore-case",
            rich_help_panel=reading.PANEL,
            help="Treat names in triples that differ only in capitals or spaces as one; with --model, as the known "
            "one.",
        ),
    ] = False,
    drop_unnamed: Annotated[
        bool,
        typer.Option(
            "--drop-unnamed",
            rich_help_panel=reading.PANEL,
            help="Leave out rows of triples without an identifier, such as purchases without a customer, however many "
            "they are; up to 1 in 20 are left out with a note anyway.",
        ),
    ] = False,
    id_column: reading.IdColumn = None,
    rows: reading.Rows = None,
    columns: reading.Columns = None,
    drop: reading.Drop = None,
    transpose: reading.Transpose = False,
    table: reading.AsTable = False,
    header: reading.Header = None,
    sheet: reading.Sheet = None,
    thousands: reading.Thousands = None,
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
        typer.Option(
            help="With --missing, write the data with missing cells filled in here: .csv, .tsv, .parquet. filled.csv "
            "comes with filled.intervals.csv, which says how sure each filled cell is."
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="Do not look for new dimensions: place these samples in those of a model that --save wrote. Columns "
            "are matched by name. --recommend, --fill and --similar, which then finds samples of the model, work for "
            "them.",
        ),
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
    """Describe sparse non-negative or binary data with a few dimensions: a map, neighbours, recommendations."""
    how_many, in_chunks = check_numbers(numbers), holds_chunks(data)
    codes, missing = check_codes(missing_values), missing or missing_values not in (None, "none")
    named = triples, None, id_column, rows, columns, dropped(drop, colour_by, data), transpose, table
    how: dict[str, Any] = {"missing": missing, "repeats": repeats, "returns": returns, "thousands": thousands}
    how |= {"ignore_case": ignore_case, "drop_unnamed": drop_unnamed}
    source = Reading(*named, header, sheet, missing_values=missing_values, **how)
    source.check(in_chunks)
    check_colours(colour_by, report, save)
    outcome = Outcome(report, save, as_json, data)
    _check_out(data, out, save, in_chunks)
    if in_chunks:
        check_for_chunks(coordinates, values, scale)
    suggestions = _beside(out, "recommend", in_chunks) if recommend else None
    alike = {axis: _beside(out, f"similar-{axis}", in_chunks) for axis in _axes(known)} if similar else {}
    intervals = check_fill(fill, missing or known is not None, in_chunks)
    outcome.check(out, [data, suggestions, *alike.values(), fill, intervals, known])
    check_matrix_source(scheduler, local_cluster, in_chunks=in_chunks, report=report)
    places = Places(out, coordinates, recommend, similar, suggestions, alike, fill)
    if known is not None:
        options.check_known(context, USED, "dimensions", "samples")
        apply_saved(known, source, data, places, outcome)
        return
    run: dict[str, Any] = {"max_iter": max_iter, "checkpoint": checkpoint, "resume": resume}
    run |= {"prior": None if prior == "none" else prior, "missing": np.nan if missing else None}
    model = NMD(first_of(how_many), link, objective, **run)
    with cluster_of(scheduler, local_cluster):
        matrix: Any = reading.read_in_chunks(data, "embed") if in_chunks else source.read(data, "embed").matrix
        entries = check_entries(matrix, codes, values, gaps=missing, in_chunks=in_chunks)
        matrix, spreads = scaled(whole := as_values(entries, values), scale)
        n_samples, n_features = matrix.X.shape
        image_shape = check_image_shape(image, n_features)
        samples = Samples(data, n_samples, None if in_chunks else matrix.rows, sheet=sheet)
        groups = None if colour_by is None else read_groups(colour_by, samples).values
        with fitting("embedding", model) as caught:
            found = fit_chosen(model, matrix.X, how_many)
        chosen = with_trust(found, matrix.X, stability=stability)
        chosen = chosen if in_chunks else joined_verdict(chosen, matrix, values, structure=_maps(places, report))
        chosen.say_choice()
        model = with_scales_of(chosen.model, whole.X, spreads, getattr(whole, "shift", 0.0))
        samples, features = numbered(matrix.rows, n_samples), numbered(matrix.columns, n_features)
        n_values = write_coordinates(chosen, matrix, out, (samples, features), own=places.own or in_chunks)
        _write_tables(model, matrix, places, (samples, features))
        compared = None if in_chunks else compared_with_means(model, matrix)
        filling = Filling(matrix, (samples, features), values, spreads)
        sure = {} if fill is None else write_filled(filling, model, compared, fill)
    say_warnings(caught, "embed")
    about = (model, matrix, values, recommend, compared, spreads)
    judged = Judgement([], {}, {}) if in_chunks else judge(*about, _others(entries, drop, scale), fill=fill is not None)
    say(
        f"{count(n_samples, 'sample')}, {count(n_features, 'feature')}, link {model.resolved_['link']}: "
        f"{count(model.n_components, 'dimension')}, {how_it_ended(model, 'sweep')}."
    )
    chosen.say_stability("dimensions", "1 if halves of the samples lead to the same", mean=True)
    if model.n_components > 1 and not (places.own or in_chunks) and out.suffix:
        say(judged.notes.setdefault("groups", groups_by(out, matrix.row_title, n_values)))
    summary = _summary(model, (n_samples, n_features)) | {"values": values, "scaling": scale}
    summary |= {"warnings": judged.warnings} | chosen.summary | judged.summary | sure
    kept: dict[str, Any] = {"selection": chosen.selection, "notes": judged.notes, "spreads": spreads}
    kept |= {} if in_chunks else {"X": matrix.X, "samples": samples}
    outcome.write(SavedModel(model, features=features, image_shape=image_shape, groups=groups, **kept), summary)


def _summary(model: Any, shape: tuple[int, int]) -> dict[str, Any]:
    """Sizes, and what the fit has resolved."""
    sizes = dict(zip(("samples", "features"), shape, strict=True)) | {"dimensions": model.n_components}
    own = {key: value for key, value in model.resolved_.items() if key != "link"}
    return sizes | {"scale": float(model.scale_)} | own | {"link": model.resolved_["link"]}


def _write_tables(model: Any, matrix: Any, places: Places, names: tuple[Any, Any]) -> None:
    """Recommendations and neighbours, as far as they are asked for."""
    samples, features = names
    if places.suggestions is not None and places.recommend:
        write_table(suggested(model, matrix, places.recommend, samples, features), places.suggestions)
    for axis, path in places.alike.items():
        write_table(neighbours(model, matrix, axis, places.similar, samples, features), path)


def _others(entries: Any, drop: str | None, scale: str) -> tuple[list[int], str, str]:
    """Columns of another kind than the counts of most; divided by their spreads, they may be of any."""
    if scale != "none":
        return [], "", ""
    X = np.round(entries.X - entries.shift, 10) if entries.shift else entries.X
    return about_other_columns(X, numbered(entries.columns, entries.X.shape[1]), reading.names_in(drop))


def _maps(places: Places, report: Path | None) -> bool:
    """Whether somebody will look at which samples are alike, and not at predictions only."""
    return bool(places.similar or report or not (places.recommend or places.fill))


def _axes(known: Path | None) -> tuple[str, ...]:
    """What has neighbours; columns are those of the model if there is one."""
    return ("rows", "columns") if known is None else ("rows",)


def _beside(out: Path, what: str, in_chunks: bool) -> Path:
    """A file next to the output, for recommendations or neighbours."""
    option = what.partition("-")[0]
    if in_chunks:
        raise InputError(
            f"--{option} needs a matrix in memory, and this one is in chunks.",
            f"Save the model with --save, and call its {option} for some rows."
            if option == "recommend"
            else "Take a sample of its rows.",
        )
    if out == STDOUT:
        raise InputError(f"--{option} writes a file next to the output.", "Name a file with -o.")
    path = out.with_name(f"{out.stem}.{what}.csv")
    check_writable(path)
    return path


def _check_out(data: Path, out: Path, save: Path | None, in_chunks: bool) -> None:
    """Refuse a place or a format that the embedding cannot be written to."""
    if out == STDOUT:
        return
    if out.suffix.lower() != ".npz":
        if not in_chunks:
            check_table_or_arrays_name(out)
        check_outputs(data, out, [save], in_chunks=in_chunks)
        return
    if in_chunks:
        raise InputError(
            f"{str(out)!r} would hold the whole embedding, which is written in partitions for data in chunks.",
            "Name a new folder, or a table that ends in .csv, .tsv or .parquet; --save keeps the components.",
        )
    check_writable(out)
