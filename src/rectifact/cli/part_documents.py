"""What is odd about the documents whose topics rectifact parts has found."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.cli.part_outputs import Shown, rows_of
from rectifact.cli.terminal import progress, say
from rectifact.core.findings import Finding
from rectifact.parts.diagnosis import asks_for_fewer
from rectifact.parts.documents import Corpus
from rectifact.parts.foreign_rows import foreign_documents
from rectifact.parts.how_many import MOST
from rectifact.parts.languages import other_language
from rectifact.parts.near_copies import copied, near_copies
from rectifact.parts.nearby_number import nearby_number
from rectifact.parts.set_aside import LANGUAGE, Aside
from rectifact.parts.short_documents import OF_A_WORD, about_short, left_out
from rectifact.parts.too_few import TOO_FEW
from rectifact.parts.topics import repeated_texts
from rectifact.parts.unexplained import hardly_explained, missing_subject
from rectifact.parts.without_topic import WITHOUT_TOPIC, without_topic


def copies_first(matrix: Any, how_many: int | range | str) -> list[Finding] | None:
    """Say before the search for the number of topics if texts from templates make that meaningless.

    None where nothing was looked for: the number is given, or these are not texts.
    """
    if isinstance(how_many, int) or not isinstance(matrix, Corpus):
        return None
    with progress("comparing texts"):
        found = near_copies(matrix.documents, MOST)
    for finding in found:
        say(finding.on_command_line())
    return found


def odd_documents(
    model: Any,
    corpus: Corpus,
    shown: Shown,
    stop_words: str | None,
    aside: Aside,
    known: list[Finding],
    copies: list[Finding] | None,
) -> list[Finding]:
    """Findings about a corpus besides those that are ``known``, with remedies that do not contradict theirs.

    Documents that were set ``aside`` were not fitted, and only counted; ``copies`` is what :func:`copies_first` has
    found.
    """
    few = any(found.finding in TOO_FEW for found in known)
    fewer, short = few or asks_for_fewer(known), aside.short
    longer, residual = np.flatnonzero(~short), shown.about["residual"]
    X, texts = corpus.X[longer], [corpus.texts[i] for i in longer.tolist()]
    usual = np.flatnonzero(~short & ~is_foreign(shown))  # another language is not a subject
    others = left_out(short, is_foreign(shown))
    once = [text for text, again in zip(corpus.documents, aside.repeated.tolist(), strict=True) if not again]
    fitted = usual[~aside.repeated[usual]]
    subject = None if few else missing_subject(model, corpus.X[fitted], residual[fitted], shown.names)
    repeats = copied(once, shown.leading(), stop_words, copies)
    asked = copies is None and not (fewer or subject or repeats)  # other remedies come first
    return [
        *(nearby_number(model, corpus.X[aside.used]) if asked else []),
        *([] if few else hardly_explained(residual[usual], subject, left_out=others, fewer=fewer)),
        *without_topic(shown.about["words"], residual, short, foreign=aside.foreign, fewer=fewer),
        *about_short(short, corpus.texts, residual),
        *repeated_texts(texts, X, np.asarray(shown.samples)[longer], left_out(short), unused=int(aside.repeated.sum())),
        *repeats,
        *_in_other_languages(shown, aside),
        *other_language(corpus.documents, stop_words, shown.leading()),
    ]


def with_languages(shown: Shown, matrix: Any, aside: Aside | None) -> Shown:
    """The same with the rows of the table, and the language of each document, if some are not in that of most."""
    shown = replace(shown, rows=rows_of(matrix))
    return shown if aside is None else replace(shown, about={**shown.about, **aside.columns})


def is_foreign(shown: Shown) -> NDArray[np.bool_]:
    """Which documents are in another language than most."""
    found = shown.about.get(LANGUAGE)
    return np.zeros(len(shown.samples), dtype=bool) if found is None else found.astype(bool)


def _in_other_languages(shown: Shown, aside: Aside) -> list[Finding]:
    if LANGUAGE not in shown.about:
        return []
    largest = shown.shares().argmax(axis=1)
    return foreign_documents(aside.languages, largest, shown.clear, shown.samples, aside.foreign)


def say_findings(findings: list[Finding], said: list[Finding] | None) -> None:
    """All but the notes, and those about documents that were not fitted or have no topic.

    Those that were ``said`` before are not repeated.
    """
    for finding in (one for one in findings if one not in (said or ())):
        if finding.severity != "note" or finding.finding in (WITHOUT_TOPIC, OF_A_WORD):
            say(finding.on_command_line())
