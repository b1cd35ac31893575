"""Documents in another language than most: they make topics of a language instead of a subject."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.findings import Finding, Severity
from rectifact.parts.stop_words import LANGUAGES, stop_words_of

MORE = 2
"""Different stop words by which a language must lead the language of most documents, and all others by one."""

LEAST_DOCUMENTS, LEAST_SHARE = 3, 0.01
"""Documents in another language from which on they are worth a word, and their share of all."""

MOSTLY = 0.5
"""Share of the documents of a topic that makes it one of a language."""


def languages_of(texts: Sequence[str]) -> NDArray[np.str_]:
    """Language of each document that is not in the one of most documents; empty for all others.

    Stop words of the whole text tell it: a document must have at least two more different ones of its language, and
    more of them in all. So a header or a footer in another language does not tell, nor do code and quotations in a long
    text. Languages of hardly any document, which a few names look like, do not count.

    Examples
    --------
    >>> texts = ["The food was cold and the room too."] * 8 + ["Das Essen war kalt und das Zimmer auch."] * 3
    >>> languages_of(texts).tolist()[-4:]
    ['', 'german', 'german', 'german']
    """
    lists = {name: stop_words_of(name) or frozenset() for name in LANGUAGES}
    words = [Counter(re.findall(r"[^\W\d_]{2,}", text.lower())) for text in texts]
    found_in = [[[own[word] for word in listed & own.keys()] for listed in lists.values()] for own in words]
    hits, times = (
        np.array([[of(known) for known in by_language] for by_language in found_in]).reshape(len(words), -1)
        for of in (len, sum)
    )
    others = np.sort(hits, axis=1)
    best, clear = hits.argmax(axis=1), others[:, -1] > others[:, -2]
    usual = int(np.bincount(best[clear], minlength=len(LANGUAGES)).argmax())  # a long text counts once
    more_of_them = times[np.arange(len(words)), best] > times[:, usual]
    foreign = clear & more_of_them & (hits.max(axis=1) >= hits[:, usual] + MORE)
    found = np.where(foreign, np.array(LANGUAGES)[best], "")
    documents = Counter(found.tolist())
    rare = [name for name, number in documents.items() if number < max(LEAST_DOCUMENTS, LEAST_SHARE * len(texts))]
    return np.where(np.isin(found, rare), "", found)


def foreign_documents(
    languages: NDArray[np.str_],
    largest: NDArray[Any],
    clear: NDArray[np.bool_],
    names: Any,
    aside: NDArray[np.bool_] | None = None,
) -> list[Finding]:
    """A finding for each further language: its documents, and the topics that are mostly theirs.

    It is a warning unless most of its documents have found their way into topics of the others.

    Parameters
    ----------
    languages : array of str of shape (n_documents,)
        What :func:`languages_of` returns.
    largest : array of int of shape (n_documents,)
        The largest topic of each document, counted from 0.
    clear : array of bool of shape (n_documents,)
        Whether the document is clearly about it.
    names : array of str of shape (n_documents,)
    aside : array of bool of shape (n_documents,), optional
        Documents that topics were not found in.

    Examples
    --------
    >>> languages, largest = np.array(["", "", "german", "german"]), np.array([0, 0, 1, 1])
    >>> print(foreign_documents(languages, largest, np.ones(4, dtype=bool), ["a", "b", "c", "d"])[0].detail)
    2 of 4 documents are in German, such as 'c'. Topic 2 is mostly about them: it is a language rather than a subject.
    """
    findings = []
    for language in sorted(set(languages.tolist()) - {""}):
        own = languages == language
        topics = [int(i) for i in np.unique(largest[own & clear]) if own[clear & (largest == i)].mean() >= MOSTLY]
        which = ", ".join(str(i + 1) for i in topics)
        told = f" Topic {which} is mostly about them: it is a language rather than a subject." if topics else ""
        if len(topics) > 1:
            told = f" Topics {which} are mostly about them: they are of a language, whatever their subjects."
        if aside is not None and aside[own].all():
            told = f" Topics and their number come from the others.{told}"
        detail = (
            f"{own.sum()} of {count(len(own), 'document')} are in {language.capitalize()}, such as "
            f"{str(names[np.flatnonzero(own)[0]])!r}.{told}"
        )
        lost = not clear[own].mean() >= MOSTLY  # no topic has them
        severity: Severity = "warning" if topics or lost else "note"
        remedy = "Fit the documents of each language by themselves, with its stop words: "
        python = f"{remedy}languages_of tells them apart, and stop_words={language!r} is for these."
        command = (
            f"{remedy}the column language of --weights tells them apart, and --stop-words {language} is for these."
        )
        findings.append(Finding(severity, "documents in another language", detail, python, command))
    return findings
