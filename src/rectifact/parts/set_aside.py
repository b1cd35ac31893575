"""Documents that topics are not found in: short ones, repetitions of a text, and a few in another language."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.parts.documents import Corpus
from rectifact.parts.foreign_rows import languages_of
from rectifact.parts.short_documents import MOST_WORDS, short_documents
from rectifact.parts.stop_words import languages_left_out
from rectifact.parts.too_few import LEAST
from rectifact.parts.topics import same_texts

LANGUAGE = "language"
"""Column of the table of documents."""

MOST_FOREIGN = 0.2
"""Share of the documents up to which those in other languages are set aside: more of them have subjects of their own,
and topics for these."""


@dataclass(frozen=True, eq=False)
class Aside:
    """Which documents are not used to find topics and their number, and why; they get topics afterwards, or none.

    Attributes
    ----------
    short : array of bool of shape (n_documents,)
        Too short, see :func:`rectifact.parts.short_documents.short_documents`.
    repeated : array of bool of shape (n_documents,)
        With the same text as an earlier one, which counts for all of them.
    foreign : array of bool of shape (n_documents,)
        In another language than most, if they are few and its stop words were not asked for.
    languages : array of str of shape (n_documents,)
        What :func:`rectifact.parts.foreign_rows.languages_of` returns.
    """

    short: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    foreign: NDArray[np.bool_]
    languages: NDArray[np.str_]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Documents that topics are found in."""
        return ~(self.short | self.repeated | self.foreign)

    @property
    def columns(self) -> dict[str, NDArray[np.str_]]:
        """The language of each document, if some are not in that of most, as a column of the table of documents."""
        return {LANGUAGE: self.languages} if self.languages.astype(bool).any() else {}


def set_aside(corpus: Corpus) -> Aside:
    """Which documents of a corpus are not used to find topics.

    Examples
    --------
    >>> from rectifact.parts.documents import count_words
    >>> texts = [f"slow red car number {'abcdefghijkl'[i]}{i}" for i in range(12)]
    >>> aside = set_aside(count_words([*texts, texts[3], "ok"], max_df=1.0, min_df=1))
    >>> np.flatnonzero(~aside.used).tolist()
    [12, 13]
    """
    stopped = None if corpus.vocabulary is None else languages_left_out(corpus.vocabulary.stop_words)
    return aside_of(corpus.X, corpus.texts, languages_of(corpus.documents), stopped)


def aside_of(X: Any, texts: Sequence[str], languages: NDArray[np.str_], stopped: str | None) -> Aside:
    """The same for documents by words, their beginnings and languages, and the languages of their stop words."""
    short, none = short_documents(X), np.zeros(len(languages), dtype=bool)
    words = np.diff(sp.csr_array(X).indptr)
    foreign = (languages != "") & ~np.isin(languages, (stopped or "").split(","))
    foreign &= foreign.mean() <= MOST_FOREIGN
    found = Aside(short, same_texts(texts, X)[1] & (words > MOST_WORDS), foreign, languages)
    return found if found.used.sum() >= LEAST else Aside(short, none, none, languages)
