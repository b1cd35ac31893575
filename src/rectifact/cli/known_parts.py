"""rectifact parts --model: how much of the parts or topics of a saved model is in other samples or texts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.cli.embed_outputs import listed as quoted
from rectifact.cli.outcome import Outcome
from rectifact.cli.part_outputs import Shown, listed, rows_of
from rectifact.cli.reading import READING, Reading
from rectifact.cli.tables import as_json, save_arrays
from rectifact.cli.terminal import STDOUT, say, show_plain
from rectifact.cli.word_options import markup_left_out
from rectifact.core.errors import InputError, count
from rectifact.core.findings import Finding
from rectifact.io.inputs import Input
from rectifact.io.matrices import NamedMatrix, numbered
from rectifact.io.partitions import holds_chunks
from rectifact.models import SavedModel, load_saved
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.documents import Corpus, count_known
from rectifact.parts.short_documents import left_out, short_documents
from rectifact.parts.terms import PARTS, TOPICS
from rectifact.parts.topics import CLEAR_SHARE, FEW_KNOWN, HARDLY, about_documents, few_known
from rectifact.parts.unexplained import hardly_explained, missing_subject
from rectifact.parts.without_topic import without_topic

USED = ("data", "known", "out", "weights", "shares", "report", "as_json", *READING)
"""Parameters of the command that have an effect with ``--model``."""


def apply_saved(
    path: Path, source: Reading, data: Path, files: tuple[Path | None, Path | None, bool], outcome: Outcome
) -> None:
    """Weights of the parts of a saved model in the data; they go to the standard output unless a file is named.

    ``files`` are those for arrays and for the table of weights, and whether that has shares.
    """
    if not source.text and holds_chunks(data):
        what = "--model needs a matrix in memory or texts, and this matrix is in chunks."
        raise InputError(what, "Name one file.")
    out, weights, as_shares = files
    saved = load_saved(path)
    if not isinstance(saved.model, ANDNMF | PurificationNMF):
        kind = type(saved.model).__name__
        raise InputError(f"{str(path)!r} holds {kind}, not parts or topics.", "Name a file that parts --save wrote.")
    usual = () if saved.vocabulary is None else saved.vocabulary.text_columns
    found = source.read(data, "parts", usual_texts=tuple(map(str, usual)))
    matrix = _counted(found, saved, path) if found.documents is not None else aligned(found, saved, path)
    terms = TOPICS if isinstance(matrix, Corpus) else PARTS
    model, samples = saved.model, numbered(matrix.rows, matrix.X.shape[0])
    W, components = model.transform(matrix.X), np.asarray(model.components_)
    names = numbered(saved.features, components.shape[1])
    known = matrix.known if isinstance(matrix, Corpus) else None
    about = about_documents(model, matrix.X, W) if terms == TOPICS else {}
    shown = Shown(components, np.asarray(W), names, samples, terms, 10, False, {}, None, known, about, rows_of(matrix))
    if out is not None and out.suffix.lower() == ".npz":
        save_arrays(out, shown.arrays())
    elif out is not None:
        shown.write_weights(out, matrix.row_title, as_shares)
    nowhere = out is None and outcome.report is None and not outcome.as_json
    if weights is not None or nowhere:
        shown.write_weights(weights or STDOUT, matrix.row_title, as_shares)
    empty = int(shown.without.sum())
    without = f"; {empty} of them without any" if empty else ""
    say(
        f"{count(len(components), terms.part)} of {str(path)!r} weighed in "
        f"{count(len(samples), terms.sample)}{without}."
    )
    if known is not None:
        say(_clear_said(shown))
    findings = []
    if known is not None:
        longer = ~(short := short_documents(matrix.X))
        residual = about["residual"][longer]
        subject = missing_subject(model, matrix.X[longer], residual, names, new=True)
        findings = few_known(known, samples) + hardly_explained(residual, subject, left_out=left_out(short), new=True)
        findings += without_topic(about["words"], about["residual"], short, new=True)
    for finding in findings:
        if finding.severity != "note":
            say(finding.on_command_line())
    if outcome.report is not None:
        _write_report(outcome, saved, matrix, samples, path, findings)
    if outcome.as_json:
        share = [round(float(value), 6) for value in shown.share]
        summary = {f"{terms.sample}s": len(samples), f"{terms.part}s": len(components), "shares": share}
        if known is not None:
            summary["clear_documents"] = int(shown.clear.sum())
            summary["known_words"] = [None if np.isnan(share) else round(float(share), 4) for share in known]
        show_plain(as_json(summary | {f"without_{terms.part}s": empty, "findings": listed(findings)}))


def _clear_said(shown: Shown) -> str:
    """How many new documents are clearly about a topic of the model, and how many are not."""
    clear, total = int(shown.clear.sum()), len(shown.clear)
    verb = "is" if clear == 1 else "are"
    return (
        f"{clear} of {count(total, 'document')} {verb} clearly about a topic of the model, and {total - clear} not: "
        f"clear, a column of --weights, is true for a largest share of at least {CLEAR_SHARE:g}, a residual below "
        f"{HARDLY:g} and at least {FEW_KNOWN:.0%} known words."
    )


def _write_report(
    outcome: Outcome, saved: SavedModel, matrix: Any, samples: Any, path: Path, findings: list[Finding]
) -> None:
    texts = np.array(matrix.texts, dtype=np.str_) if isinstance(matrix, Corpus) else None
    shown = replace(saved, X=matrix.X, samples=samples, texts=texts, selection=None)
    Outcome(outcome.report, None, as_json=False).write(shown, {}, findings=findings, source=path.name)


def _counted(found: Input, saved: SavedModel, path: Path) -> Corpus:
    """The words of the texts, counted as those of the model were."""
    if saved.vocabulary is None:
        raise InputError(
            f"{str(path)!r} was not fitted to texts, or was saved before vocabularies were.",
            "Give samples with its features, or fit the texts again with --save.",
        )
    corpus = count_known(found.documents or [], saved.vocabulary)
    if corpus.marked:
        say(markup_left_out(corpus.marked))
    used = int((np.diff(sp.csc_array(corpus.X).indptr) > 0).sum())
    share = 0.0 if corpus.known is None or np.isnan(corpus.known).all() else float(np.nanmean(corpus.known))
    say(
        f"The model knows {share:.0%} of the words of a text on average, not counting those that were left out; "
        f"{used} of its {len(saved.vocabulary.words)} words {'occurs' if used == 1 else 'occur'}."
    )
    return replace(corpus, rows=found.names, row_title=found.title, all_rows=found.rows)


def aligned(found: Input, saved: SavedModel, path: Path) -> NamedMatrix:
    """Samples with their features in the order of the model, by name where both have names."""
    matrix: Any = found.matrix
    if saved.vocabulary is not None:
        raise InputError(f"{str(path)!r} was fitted to texts, and the data holds none.", "Name a --text-column.")
    wanted, n_features = saved.features, saved.model.n_features_in_
    both_named = matrix.columns is not None and wanted is not None
    if both_named and set(map(str, matrix.columns)) >= set(map(str, wanted)):
        place = {str(name): j for j, name in enumerate(matrix.columns)}
        order = np.array([place[str(name)] for name in wanted])
        extra = matrix.X.shape[1] - len(wanted)
        if extra:
            say(f"{count(extra, 'column')} that the model does not have left out.")
        X = matrix.X[:, order]
        return replace(matrix, X=sp.csr_array(X) if sp.issparse(X) else X, columns=np.asarray(wanted))
    if both_named:
        _check_none_missing(list(map(str, matrix.columns)), list(map(str, wanted)))
    if matrix.X.shape[1] != n_features:
        first = f"; {str(wanted[0])!r} is missing" if both_named else ""
        raise InputError(
            f"The model has {count(n_features, 'feature')}, and the data has {matrix.X.shape[1]}{first}.",
            "Give samples with the same features.",
        )
    if both_named:
        say("The names of the columns are not those of the model; they are taken in their order.")
    return NamedMatrix(matrix.X, matrix.rows, matrix.columns, matrix.row_title, matrix.column_title)


def _check_none_missing(given: list[str], wanted: list[str]) -> None:
    """Refuse data that has some columns of the model and lacks others: taken in their order, they would be mixed up."""
    missing, unknown = ([name for name in a if name not in set(b)] for a, b in ((wanted, given), (given, wanted)))
    if not missing or len(missing) == len(wanted):
        return
    n, has = len(missing), f"; it has {quoted(unknown)} instead" if unknown else ""
    raise InputError(
        f"{count(n, 'column')} of the model {'is' if n == 1 else 'are'} not in the data: {quoted(missing)}{has}.",
        f"Add {'it' if n == 1 else 'them'}, named as in the model.",
    )
