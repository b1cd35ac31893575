"""rectifact parts: the parts that mixtures are made of, the topics of texts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer

from rectifact.cli import options, reading, word_options
from rectifact.cli import part_options as own
from rectifact.cli.dask_options import check_matrix_source, cluster_of
from rectifact.cli.embed_checks import check_gaps
from rectifact.cli.how_many import Found, check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.known_parts import USED, apply_saved
from rectifact.cli.outcome import Outcome, check_image_shape, fitting, how_it_ended
from rectifact.cli.part_choice import all_the_same, in_terms
from rectifact.cli.part_documents import copies_first, say_findings, with_languages
from rectifact.cli.part_outputs import Shown, check_kept, listed
from rectifact.cli.reading import Reading
from rectifact.cli.tables import check_outputs, check_table_name, check_table_or_arrays_name
from rectifact.cli.terminal import QUIET, STDOUT, in_options, level, progress, say, say_table, show
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.findings import Finding
from rectifact.core.linalg import squared_norm
from rectifact.core.operand import operand
from rectifact.io.matrices import numbered, read_matrix
from rectifact.io.partitions import holds_chunks
from rectifact.metrics import npmi_coherence
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.base import are_few
from rectifact.parts.corpus_findings import odd_documents
from rectifact.parts.diagnosis import worst_first
from rectifact.parts.documents import Corpus, count_words
from rectifact.parts.features import features_of_another_kind, stray_features
from rectifact.parts.incoherence import about_coherence
from rectifact.parts.samples import choose_norm
from rectifact.parts.set_aside import set_aside
from rectifact.parts.starts import STARTS
from rectifact.parts.terms import PARTS, TOPICS, Terms, check_possible
from rectifact.parts.too_few import too_few
from rectifact.parts.topics import about_documents, explained_by
from rectifact.selection.points import NOTHING
from rectifact.topics import halves_are_cheap, number_by_share, suited_to_texts

LIKELIHOODS = {"nonnegative": "non-negative least squares", "poisson": "Poisson likelihood"}
METHODS: dict[str, type[ANDNMF] | type[PurificationNMF]] = {"and": ANDNMF, "purification": PurificationNMF}


def parts(
    context: typer.Context,
    data: own.Data,
    numbers: own.Numbers = "auto",
    out: own.Out = None,
    features: own.Features = None,
    weights: own.Weights = None,
    shares: own.Shares = False,
    keep: own.Keep = None,
    known: own.Known = None,
    method: own.Method = "and",
    init: own.Init = "auto",
    refine: own.Refine = None,
    normalize: own.Normalize = None,
    noise_floor: own.NoiseFloor = None,
    background: own.Background = False,
    decode: own.Decode = None,
    missing: own.Missing = False,
    top: own.Top = 10,
    text: own.Text = False,
    text_column: reading.TextColumn = None,
    triples: reading.Triples = None,
    repeats: reading.Repeats = None,
    id_column: reading.IdColumn = None,
    rows: reading.Rows = None,
    columns: reading.Columns = None,
    drop: reading.Drop = None,
    transpose: reading.Transpose = False,
    table: reading.AsTable = False,
    header: reading.Header = None,
    sheet: reading.Sheet = None,
    thousands: reading.Thousands = None,
    weighting: word_options.Weight = "log",
    tfidf: word_options.Tfidf = False,
    stop_words: word_options.StopWords = "english",
    all_words: word_options.AllWords = False,
    ngrams: word_options.Ngrams = 1,
    min_df: word_options.MinDf = 2,
    max_df: word_options.MaxDf = 0.5,
    max_words: word_options.MaxWords = 20_000,
    keep_markup: word_options.KeepMarkup = False,
    stability: options.Stability = False,
    bootstrap: own.Bootstrap = 0,
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
    how_many, outcome = check_numbers(numbers), Outcome(report, save, as_json, data)
    in_chunks = not text and holds_chunks(data)
    named = triples, text_column, id_column, rows, columns, drop, transpose, table, header, sheet, text
    source = Reading(*named, missing=missing, repeats=repeats, thousands=thousands, keep=keep)
    _check_source(source, in_chunks, bootstrap, shares, bool(weights or known))
    _check_files(out, features, weights, as_json)
    check_outputs(data, weights, [out, features, save], in_chunks=in_chunks)
    outcome.check(out, [data, features, weights, known])
    chosen = {"refine": refine, "normalize": normalize, "noise_floor": noise_floor}
    chosen |= {"background": background or None, "missing": np.nan if missing else None}
    if known is not None:
        options.refuse_with_model(context, USED, "parts")
        apply_saved(known, source, data, (out, weights, shares), outcome)
        return
    check_matrix_source(scheduler, local_cluster, in_chunks=in_chunks, report=report)
    words: dict[str, Any] = {"min_df": min_df, "max_df": max_df, "max_words": max_words, "ngrams": ngrams}
    words |= {"stop_words": word_options.names_of(stop_words, all_words), "keep_markup": keep_markup}
    words["weighting"] = "tfidf" if tfidf else weighting
    model = METHODS[method](first_of(how_many), random_state=seed, checkpoint=checkpoint, resume=resume)
    model.set_params(**_model_options(method, init, decode, chosen))
    if how_many == "auto" and not isinstance(model.init, str):
        how_many = model.n_components = np.shape(model.init)[0]
    with cluster_of(scheduler, local_cluster):
        matrix = _read(source, data, in_chunks, text, words)
        terms = TOPICS if isinstance(matrix, Corpus) else PARTS
        check_gaps(matrix, missing or in_chunks or terms == TOPICS)
        aside = set_aside(matrix) if isinstance(matrix, Corpus) else None
        check_possible(how_many, matrix.X.shape if aside is None else (aside.used.sum(), matrix.X.shape[1]), terms)
        image_shape = check_image_shape(image, matrix.X.shape[1])
        samples, names = numbered(matrix.rows, matrix.X.shape[0]), numbered(matrix.columns, matrix.X.shape[1])
        copies = copies_first(matrix, how_many)
        with fitting(f"finding {terms.part}s", _suited(model, terms, refine)) as caught:
            X = _dense_chunks(matrix.X) if in_chunks else matrix.X
            telling = X if aside is None else X[aside.used]
            found = in_terms(fit_chosen(model, telling, how_many, seed), terms, int(telling.shape[0]))
            W = _weights(model := found.model, X, terms)
        stability = stability or (terms == TOPICS and halves_are_cheap(telling, model))
        found = with_trust(found, telling, stability=stability, bootstrap=bootstrap, seed=seed)
        shown = with_languages(_shown(found, W, X, (samples, names), terms, top), matrix, aside)
        found.say_choice()
        if out is not None:
            known_too = {} if in_chunks else shown.arrays()
            known_too |= {"background": model.background_} if background else {}
            shown.write_parts(out, matrix.column_title, known_too | found.arrays)
        if features is not None:
            shown.write_largest(features, matrix.row_title, matrix.column_title)
        if weights is not None:
            shown.write_weights(weights, matrix.row_title, shares)
        findings = _findings(found, telling, caught, matrix, in_chunks)
        given = words["stop_words"], aside, findings, copies
        findings = worst_first([*findings, *([] if in_chunks else _about_data(model, matrix, shown, source, given))])
        _show_table(shown, (out, weights, features), any((out, features, weights, report, save)), as_json)
        explained = 1 - model.reconstruction_err_**2 / squared_norm(X) if in_chunks else explained_by(model, X, W)
    said = _said(shown, found, matrix.X.shape, float(explained))
    say(f"{said} {about_coherence(matrix.X)}".rstrip() if terms == TOPICS else said)
    say_findings(findings, copies)
    summary = _summary(shown, found, matrix.X.shape, float(explained), findings)
    kept = {"selection": found.selection} | ({} if in_chunks else _data(matrix, samples))
    saved = SavedModel(model, features=names, image_shape=image_shape, **kept)
    outcome.write(saved, summary, **({} if in_chunks else {"findings": findings}))


def _suited(model: Any, terms: Terms, refine: str | None) -> Any:
    """The model as it suits texts, unless it was said how parts are refined."""
    return suited_to_texts(model) if terms == TOPICS and refine is None and isinstance(model, ANDNMF) else model


def _weights(model: Any, X: Array, terms: Terms) -> Array:
    """Weights of the parts in the samples; topics are numbered by their share."""
    W = model.transform(X)
    return number_by_share(model, W) if terms == TOPICS else W


def _show_table(shown: Shown, tables: tuple[Path | None, ...], in_files: bool, as_json: bool) -> None:
    """Print the parts; not among tables on the standard output, nor with ``-q`` where files have the results.

    With ``--json``, the summary has them.
    """
    if as_json:
        return
    aside = STDOUT in tables or (in_files and level() <= QUIET)
    (say_table if aside else show)(shown.table())


def _shown(found: Found, W: Array, X: Any, named: tuple[Any, Any], terms: Terms, top: int) -> Shown:
    components, (samples, names) = np.asarray(found.model.components_), named
    coherence = npmi_coherence(components, X) if terms == TOPICS else None
    about = about_documents(found.model, X, W) if terms == TOPICS else {}
    signed = _signed(found.model, X)
    return Shown(components, W, names, samples, terms, top, signed, found.arrays, coherence, about=about)


def _findings(found: Found, X: Any, caught: Any, matrix: Any, in_chunks: bool) -> list[Finding]:
    """What the terminal, the summary and the report warn about: warnings of the fit, and the diagnosis."""
    terms = TOPICS if isinstance(matrix, Corpus) else PARTS
    about = [f"{terms.part}s that were asked for", "the fit"]
    messages = dict.fromkeys(terms.put(in_options(warning.message, "parts")) for warning in caught)
    reason = "" if found.selection is None else found.selection.reason
    warned = [Finding("warning", about["-k" not in text], text, "") for text in messages if text not in reason]
    if found.selection is not None and reason.startswith(NOTHING):
        detail = reason[len(f"{NOTHING}: ") :]
        detail = detail[:1].upper() + detail[1:]
        warned.append(Finding("warning", NOTHING.lower(), detail, "", all_the_same(found.selection, terms)))
    if few := too_few(matrix.X, matrix.vocabulary) if isinstance(matrix, Corpus) else []:
        return few + [one for one in warned if one.finding == about[1]]  # all else is about topics
    if in_chunks:
        return warned
    nothing = any(one.finding == NOTHING.lower() for one in warned)
    with progress("diagnosing"):
        others = found.model.findings(X, halves=are_few(X), texts=terms == TOPICS)
    return warned + [one for one in others if not (nothing and "two halves" in one.finding)]  # it says the same


def _said(shown: Shown, found: Found, shape: Any, explained: float) -> str:
    """The last sentence: sizes, how well the parts fit, and how the fit ended."""
    model, sizes = found.model, shown.terms.sizes(shape, len(shown.components))
    if shown.coherence is not None:
        return (
            f"{sizes}, with a mean coherence of {shown.coherence.mean():.2f} (NPMI: 1 if the largest words of a topic "
            f"always occur together, 0 if by chance)."
        )
    kind = LIKELIHOODS.get(model.resolved_.get("refine"), "")
    ended = f"refined by {kind}" if kind else how_it_ended(model)
    return f"{sizes}: {explained:.1%} of the squared norm explained; started by {model.resolved_['init']}, {ended}."


def _summary(shown: Shown, found: Found, shape: Any, explained: float, findings: list[Finding]) -> dict[str, Any]:
    """Plain values for ``--json``."""
    model, (n_samples, n_features) = found.model, shape
    summary: dict[str, Any] = {
        "findings": listed(findings),
        "refine": model.resolved_.get("refine"),
        "init": model.resolved_["init"],
    }
    summary |= {"samples": n_samples, "features": n_features, "parts": len(shown.components), "explained": explained}
    summary |= {"without_topics": int(shown.without.sum())} if shown.terms == TOPICS else {}
    summary["topics" if shown.terms == TOPICS else "largest"] = shown.summary()
    return summary | found.summary


def _about_data(model: Any, matrix: Any, shown: Shown, source: Reading, texts: tuple[Any, ...]) -> list[Finding]:
    """What is odd about the documents, of which ``texts`` are known, or about the names of the features."""
    if isinstance(matrix, Corpus):
        stop_words, aside, known, copies = texts
        told: dict[str, Any] = {"stop_words": stop_words, "known": known, "copies": copies, "given": copies is None}
        return odd_documents(model, matrix, aside, np.asarray(shown.W), shown.samples, **told)
    if matrix.columns is None or source.transpose:
        return []
    dropped = reading.names_in(source.drop)
    return stray_features(list(shown.names), dropped) or features_of_another_kind(matrix.X, list(shown.names), dropped)


def _data(matrix: Any, samples: Any) -> dict[str, Any]:
    """What is saved of the data, for the report."""
    if not isinstance(matrix, Corpus):
        return {"X": matrix.X, "samples": samples}
    texts = np.array(matrix.texts, dtype=np.str_)
    return {"X": matrix.X, "samples": samples, "texts": texts, "vocabulary": matrix.vocabulary}


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


def _check_source(source: Reading, in_chunks: bool, bootstrap: int, shares: bool, writes_weights: bool) -> None:
    """Refuse options that do not fit the data."""
    source.check(in_chunks)
    check_kept(source.keep, writes_weights)
    if bootstrap and in_chunks:
        raise InputError("--bootstrap needs a matrix in memory, and this one is in chunks.", "Use --stability.")
    if shares and in_chunks:
        raise InputError("--shares needs a matrix in memory, and this one is in chunks.", "Leave it out.")


def _check_files(out: Path | None, features: Path | None, weights: Path | None, as_json: bool) -> None:
    """Refuse what could not be written afterwards."""
    if (out, features, weights, STDOUT if as_json else None).count(STDOUT) > 1:
        raise InputError("The standard output takes one of -o, --features, --weights and --json.", "Name files.")
    if features is not None and features != STDOUT:
        check_table_name(features)
    if out not in (None, STDOUT):
        check_table_or_arrays_name(out)


def _read(source: Reading, data: Path, in_chunks: bool, text: bool, words: dict[str, Any]) -> Any:
    """The matrix in a file or in chunks, or the counted words of texts."""
    if in_chunks:
        return reading.read_in_chunks(data, "parts")
    found = source.read(data, "parts")
    if found.documents is not None:
        with progress("counting words"):
            corpus = count_words(found.documents, **words)
        if corpus.marked:
            say(f"{word_options.markup_left_out(corpus.marked)[:-1]}; --keep-markup keeps them.")
        if corpus.common:
            say(word_options.common_left_out(corpus.common, words["max_df"]))
        if corpus.X.shape[1] >= words["max_words"]:
            say(f"Only the {words['max_words']} most frequent words count; --max-words takes more.")
        read_from = corpus.vocabulary and replace(corpus.vocabulary, text_columns=reading.names_in(source.text_column))
        return replace(corpus, rows=found.names, row_title=found.title, vocabulary=read_from, all_rows=found.rows)
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


def _signed(model: ANDNMF | PurificationNMF, X: Array) -> bool:
    """Whether the samples have both signs; AND has already found out."""
    return bool((model.resolved_.get("normalize") or choose_norm(X)) == "l2")
