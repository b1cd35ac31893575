"""What is odd about a corpus and the topics that were found in it: findings with a remedy, in one place for all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.parts.base import are_few
from rectifact.parts.diagnosis import asks_for_fewer, worst_first
from rectifact.parts.documents import Corpus
from rectifact.parts.foreign_rows import foreign_documents
from rectifact.parts.languages import other_language
from rectifact.parts.near_copies import copied
from rectifact.parts.nearby_number import nearby_number
from rectifact.parts.set_aside import Aside
from rectifact.parts.short_documents import about_short, left_out
from rectifact.parts.too_few import TOO_FEW, too_few
from rectifact.parts.topics import (
    clear_documents,
    document_shares,
    leading_words,
    relative_residuals,
    repeated_texts,
)
from rectifact.parts.unexplained import hardly_explained, missing_subject
from rectifact.parts.without_topic import without_topic


def corpus_findings(
    model: Any, corpus: Corpus, aside: Aside, names: Any, *, stop_words: str | None, given: bool
) -> list[Finding]:
    """All that there is to say about topics and their documents, the worst first.

    Parameters
    ----------
    model : ANDNMF or PurificationNMF
        Fitted to the documents that were not set ``aside``.
    corpus : Corpus
    aside : Aside
    names : array of str of shape (n_documents,)
    stop_words : str or None
        What was left out, as it was given.
    given : bool
        Whether the number of topics was given, rather than chosen.
    """
    X = corpus.X[aside.used]
    known = too_few(corpus.X, corpus.vocabulary) or model.findings(X, halves=are_few(X), texts=True)
    W = np.asarray(model.transform(corpus.X), dtype=float)
    more = odd_documents(model, corpus, aside, W, names, stop_words=stop_words, known=known, given=given)
    return worst_first([*known, *more])


def odd_documents(
    model: Any,
    corpus: Corpus,
    aside: Aside,
    W: NDArray[Any],
    names: Any,
    *,
    stop_words: str | None,
    known: Sequence[Finding],
    copies: list[Finding] | None = None,
    given: bool = True,
) -> list[Finding]:
    """Findings about a corpus besides those that are ``known``, with remedies that do not contradict theirs.

    Documents that were set ``aside`` were not fitted, and only counted; ``copies`` are texts from templates, where they
    have been looked for.
    """
    few = any(found.finding in TOO_FEW for found in known)
    fewer, short = few or asks_for_fewer(list(known)), aside.short
    residual, shares = relative_residuals(model, corpus.X, W).round(4), document_shares(W, model.components_)
    foreign = aside.languages.astype(bool)
    longer, usual = np.flatnonzero(~short), np.flatnonzero(~short & ~foreign)  # another language is not a subject
    once = [text for text, again in zip(corpus.documents, aside.repeated.tolist(), strict=True) if not again]
    fitted, leading = usual[~aside.repeated[usual]], leading_words(model, corpus.columns)
    subject = None if few else missing_subject(model, corpus.X[fitted], residual[fitted], corpus.columns)
    repeats = copied(once, leading, stop_words, copies)
    asked = given and not (fewer or subject or repeats)  # other remedies come first
    others, texts = left_out(short, foreign), [corpus.texts[i] for i in longer.tolist()]
    words = np.asarray((corpus.X != 0).sum(axis=1)).ravel()
    clear, largest = clear_documents(shares, residual), shares.argmax(axis=1)
    return [
        *(nearby_number(model, corpus.X[aside.used]) if asked else []),
        *([] if few else hardly_explained(residual[usual], subject, left_out=others, fewer=fewer)),
        *without_topic(words, residual, short, foreign=aside.foreign, fewer=fewer),
        *about_short(short, corpus.texts),
        *repeated_texts(
            *(texts, corpus.X[longer], np.asarray(names)[longer], left_out(short)), unused=int(aside.repeated.sum())
        ),
        *repeats,
        *foreign_documents(aside.languages, largest, clear, names, aside.foreign),
        *other_language(corpus.documents, stop_words, leading),
    ]
