"""rectifact parts: the parts that mixtures are made of, the topics of texts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer
from rich.markup import escape
from rich.table import Table

from rectifact.cli import options, reading, word_options
from rectifact.cli.dask_options import check_matrix_source, cluster_of
from rectifact.cli.how_many import check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.outcome import Outcome, check_image_shape, fitting, how_it_ended, say_warnings
from rectifact.cli.reading import Reading
from rectifact.cli.tables import (
    check_outputs,
    check_table_name,
    retitled,
    save_arrays,
    write_samples,
    write_table,
)
from rectifact.cli.terminal import progress, say, show
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError, count
from rectifact.core.findings import findings_table
from rectifact.core.linalg import squared_norm
from rectifact.core.operand import operand
from rectifact.io.files import check_writable
from rectifact.io.matrices import numbered, read_matrix
from rectifact.io.partitions import holds_chunks
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.documents import Corpus, count_words
from rectifact.parts.samples import choose_norm
from rectifact.parts.starts import STARTS

NEGLIGIBLE = 1e-6  # of the largest value of a part: not shown
LIKELIHOODS = {"nonnegative": "non-negative least squares", "poisson": "Poisson likelihood"}
METHODS: dict[str, type[ANDNMF] | type[PurificationNMF]] = {"and": ANDNMF, "purification": PurificationNMF}


def parts(
    data: Annotated[
        Path,
        typer.Argument(
            help="Matrix with samples in rows, triples or texts: a table (.csv, .tsv, .xlsx, .jsonl, .parquet), .npz, "
            ".npy, .mtx, .h5ad, a 10x folder, a .txt file with one document per line, a folder of .txt files, or - for "
            "the standard input. Or a folder of files that hold the rows of one matrix, which Dask reads in chunks: "
            "all .npy, all .npz (scipy.sparse.save_npz) or all .parquet."
        ),
    ],
    numbers: Annotated[
        str,
        typer.Option(
            "--parts", "-k", help="Number of parts: a number, a range to choose from such as 2-30, or auto to choose."
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save parts, weights and names here, with the background, and with stability and bands if they are "
            "measured: .npz. For a matrix in chunks, use --weights for the weights.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Write the top features of each part here, one feature per row, with the stability of the part and "
            "the band of the value if they are measured."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Write one row per sample here, one column per part: .csv, .tsv, .parquet. For a matrix in "
            "chunks, a name without an extension creates a new folder of Parquet files, written in parallel."
        ),
    ] = None,
    method: Annotated[Literal["and", "purification"], typer.Option(help="Algorithm.")] = "and",
    init: Annotated[
        str,
        typer.Option(help="Where to start: auto, ica, spa, anchor, nndsvd, or a matrix file with one part per row."),
    ] = "auto",
    refine: Annotated[
        Literal["auto", "nonnegative", "poisson", "none"] | None,
        typer.Option(help="Fit non-negative parts from those of AND, by least squares or by Poisson likelihood."),
    ] = None,
    normalize: Annotated[
        Literal["auto", "l1", "l2", "none"] | None, typer.Option(help="Norm that samples are divided by in the fit.")
    ] = None,
    noise_floor: Annotated[
        float | None, typer.Option(min=0, help="Keep thresholds above this many standard deviations of the noise.")
    ] = None,
    background: Annotated[
        bool,
        typer.Option("--background", help="Estimate what every sample has, such as an offset, apart from the parts."),
    ] = False,
    decode: Annotated[
        str | None,
        typer.Option(help="How weights are found: auto, relu, nnls or poisson; with purification, shifted or linear."),
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Treat empty cells, NaN and pairs that triples do not list as missing.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Number of features shown for each part.")] = 10,
    text: Annotated[
        bool, typer.Option("--text", help="Read each line of a file as a document, whatever its name.")
    ] = False,
    text_column: reading.TextColumn = None,
    triples: reading.Triples = None,
    id_column: reading.IdColumn = None,
    rows: reading.Rows = None,
    columns: reading.Columns = None,
    drop: reading.Drop = None,
    transpose: reading.Transpose = False,
    table: reading.AsTable = False,
    header: reading.Header = None,
    sheet: reading.Sheet = None,
    weighting: word_options.Weight = "log",
    tfidf: word_options.Tfidf = False,
    stop_words: word_options.StopWords = "english",
    all_words: word_options.AllWords = False,
    ngrams: word_options.Ngrams = 1,
    min_df: word_options.MinDf = 2,
    max_df: word_options.MaxDf = 0.5,
    max_words: word_options.MaxWords = 20_000,
    stability: options.Stability = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            help="Fit this many resamples, such as 20, for bands that hold nine tenths of their parts, and measure "
            "stability.",
        ),
    ] = 0,
    seed: options.Seed = 0,
    image: options.Image = None,
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    scheduler: options.Scheduler = None,
    local_cluster: options.LocalCluster = None,
    report: options.Report = None,
    save: options.Save = None,
    as_json: options.Json = False,
) -> None:
    """Find the parts that samples are mixtures of, such as topics in texts or substances in spectra."""
    how_many, outcome = check_numbers(numbers), Outcome(report, save, as_json)
    in_chunks = not text and holds_chunks(data)
    named = triples, text_column, id_column, rows, columns, drop
    source = Reading(*named, transpose, table, header, sheet, text, missing=missing)
    _check_source(source, in_chunks, bootstrap)
    _check_files(out, features)
    check_outputs(data, weights, [out, features, save], in_chunks=in_chunks)
    outcome.check(out, [data, features, weights])
    check_matrix_source(scheduler, local_cluster, in_chunks=in_chunks, report=report)
    words: dict[str, Any] = {"min_df": min_df, "max_df": max_df, "max_words": max_words, "ngrams": ngrams}
    words |= {"stop_words": _left_out(stop_words, all_words), "weighting": "tfidf" if tfidf else weighting}
    chosen = {"refine": refine, "normalize": normalize, "noise_floor": noise_floor}
    chosen |= {"background": background or None, "missing": np.nan if missing else None}
    model = METHODS[method](first_of(how_many), random_state=seed, checkpoint=checkpoint, resume=resume)
    model.set_params(**_model_options(method, init, decode, chosen))
    if how_many == "auto" and not isinstance(model.init, str):
        how_many = model.n_components = np.shape(model.init)[0]
    with cluster_of(scheduler, local_cluster):
        matrix = _read(source, data, in_chunks, text, words)
        n_samples, n_features = matrix.X.shape
        image_shape = check_image_shape(image, n_features)
        samples, names = numbered(matrix.rows, n_samples), numbered(matrix.columns, n_features)
        with fitting("finding parts", _suited(model, matrix, refine)) as caught:
            X = _dense_chunks(matrix.X) if in_chunks else matrix.X
            found = fit_chosen(model, X, how_many, seed)
            model = found.model
            W = model.transform(X)
        found = with_trust(found, X, stability=stability, bootstrap=bootstrap, seed=seed)
        largest = _largest_features(np.asarray(model.components_), names, top, _signed(model, X), found.arrays)
        found.say_choice()
        if out is not None:
            known = {} if in_chunks else {"weights": W, "samples": samples}
            known |= {"background": model.background_} if background else {}
            save_arrays(out, {"components": model.components_, "features": names} | known | found.arrays)
        if features is not None:
            write_table(retitled(largest, matrix.row_title, matrix.column_title), features)
        if weights is not None:
            write_samples(W, samples, "part", weights, matrix.row_title)
        if not (out or features or weights or as_json):
            show(_top_table(largest, operand(W).total(_column_sums), found.stability))
        say_warnings(caught, "parts")
        findings = [] if in_chunks else model.findings(X, halves=False)
        for finding in findings:
            if finding.severity != "note":
                say(finding.on_command_line())
        explained = 1 - model.reconstruction_err_**2 / squared_norm(np.nan_to_num(X) if missing else X)
    n_parts = len(model.components_)
    say(
        f"{count(n_samples, 'sample')}, {count(n_features, 'feature')}, {count(n_parts, 'part')}: {explained:.1%} of "
        f"the squared norm explained; start {model.resolved_['init']}, {how_it_ended(model)}."
    )
    if out or features or weights or as_json:
        found.say_stability("parts")
    if model.resolved_.get("refine"):
        say(f"Refined by {LIKELIHOODS[model.resolved_['refine']]}.")
    summary: dict[str, Any] = {"findings": findings_table(findings).to_dict("records")}
    summary |= {"refine": model.resolved_.get("refine"), "init": model.resolved_["init"]}
    summary |= {"samples": n_samples, "features": n_features, "parts": n_parts, "explained": float(explained)}
    known = {"selection": found.selection} | ({} if in_chunks else _data(matrix, samples))
    outcome.write(SavedModel(model, features=names, image_shape=image_shape, **known), summary | found.summary)


def _suited(model: Any, matrix: Any, refine: str | None) -> Any:
    """The model as it suits texts: least squares gives more coherent topics than a Poisson likelihood."""
    chosen = isinstance(matrix, Corpus) and refine is None and isinstance(model, ANDNMF)
    return model.set_params(refine="nonnegative") if chosen else model


def _left_out(stop_words: str, all_words: bool) -> str | None:
    return None if all_words or stop_words == "none" else stop_words


def _data(matrix: Any, samples: Any) -> dict[str, Any]:
    """What is saved of the data, for the report."""
    texts = {"texts": np.array(matrix.texts, dtype=np.str_)} if isinstance(matrix, Corpus) else {}
    return {"X": matrix.X, "samples": samples} | texts


def _model_options(method: str, init: str, decode: str | None, chosen: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator; refuses what the method does not have."""
    if init not in ("auto", *STARTS):
        path = Path(init)
        if not path.suffix:
            raise InputError(
                f"--init {init!r} is unknown; choose one of auto, {', '.join(STARTS)}, or name a matrix file."
            )
    start = init if init in ("auto", *STARTS) else np.asarray(_dense(read_matrix(Path(init)).X), dtype=float)
    given = {name: value for name, value in chosen.items() if value is not None}
    if given and method == "purification":
        name = next(iter(given)).replace("_", "-")
        raise InputError(f"--{name} is for --method and.", "Leave it out.")
    decoders = ("auto", "relu", "nnls", "poisson") if method == "and" else ("shifted", "linear")
    if decode is not None and decode not in decoders:
        raise InputError(
            f"--decode {decode} is unknown for --method {method}.", f"Choose one of {', '.join(decoders)}."
        )
    given |= {} if decode is None else {"decode": decode}
    return {name: None if value == "none" else value for name, value in given.items()} | {"init": start}


def _check_source(source: Reading, in_chunks: bool, bootstrap: int) -> None:
    """Refuse options that do not fit the data."""
    source.check(in_chunks)
    if bootstrap and in_chunks:
        raise InputError("--bootstrap needs a matrix in memory, and this one is in chunks.", "Use --stability.")


def _check_files(out: Path | None, features: Path | None) -> None:
    """Refuse what could not be written afterwards."""
    if features is not None:
        check_table_name(features)
    if out is not None:
        check_writable(out)
        if out.suffix.lower() != ".npz":
            raise InputError(f"{str(out)!r} should end in .npz.", "Rename it; --features and --weights write tables.")


def _read(source: Reading, data: Path, in_chunks: bool, text: bool, words: dict[str, Any]) -> Any:
    """The matrix in a file or in chunks, or the counted words of texts."""
    if in_chunks:
        return reading.read_in_chunks(data, "parts")
    found = source.read(data, "parts")
    if found.documents is not None:
        with progress("counting words"):
            return replace(count_words(found.documents, **words), rows=found.names, row_title=found.title)
    if text or found.matrix is None:
        raise InputError(
            f"{str(data)!r} holds no column of texts.", "Leave --text out, or name one with --text-column."
        )
    return found.matrix


def _dense_chunks(X: Array) -> Array:
    """A Dask array kept in memory if it fits, with its sparse chunks made dense one by one."""
    return operand(X).kept().data.map_blocks(_dense, dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype))


def _dense(chunk: Any) -> Any:
    return chunk.toarray() if sp.issparse(chunk) else chunk


def _column_sums(rows: Array) -> Array:
    return rows.sum(axis=0)


def _signed(model: ANDNMF | PurificationNMF, X: Array) -> bool:
    """Whether the samples have both signs; AND has already found out."""
    return bool((model.resolved_.get("normalize") or choose_norm(X)) == "l2")


def _largest_features(components: Any, names: Any, top: int, signed: bool, measured: dict[str, Any]) -> pd.DataFrame:
    """A table of part, rank, feature and value, with at most ``top`` rows per part; by size if parts are signed.

    If they were measured, the band of the value and the stability of the part as well.
    """
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
    for name in ("lower", "upper"):
        if name in measured:
            table[name] = np.take_along_axis(measured[name], order, axis=1).ravel()
    if "stability" in measured:
        table["stability"] = measured["stability"][part.ravel()]
    shown = np.take_along_axis(size, order, axis=1)
    return table[(shown > NEGLIGIBLE * shown[:, :1]).ravel()]


def _top_table(largest: pd.DataFrame, weights: Any, stability: Any) -> Table:
    """A table of the parts for people: their shares of the total weight, stability if known, and top features."""
    share = weights / max(weights.sum(), 1e-300)
    measured = [] if stability is None else ["stability"]
    table = Table("part", "share of weight", *measured, "top features (weights)", title="Parts", title_justify="left")
    for i, weight in enumerate(share):
        own = largest[largest["part"] == i + 1]
        words = ", ".join(f"{name} ({value:.2g})" for name, value in zip(own["feature"], own["value"], strict=True))
        printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
        figures = [f"{stability[i]:.2f}"] if measured else []
        table.add_row(str(i + 1), f"{weight:.1%}", *figures, escape(printable))
    return table
