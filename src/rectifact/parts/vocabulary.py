"""The words of a corpus and their weights, to count the words of further documents in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr

WORD = r"(?u)\b\w{2,100}\b"  # anything longer is pasted data, not a word
Weighting = Literal["counts", "tfidf", "log"]


@short_repr
@dataclass(frozen=True)
class Vocabulary:
    """How the words of a corpus were counted; plain arrays, which a saved model holds.

    Attributes
    ----------
    words : array of str of shape (n_words,)
        The words that count, or runs of words, in the order of the columns.
    weighting : {"counts", "tfidf", "log"}
    rarity : array of shape (n_words,), or None
        Inverse document frequencies in the corpus; None for plain counts.
    ngrams : int
        Longest run of words that counts as one.
    stop_words : array of str
        Words that were left out before runs were formed.
    seen : str
        The other words of the corpus that do not count, one per line: too few or too many documents have them.
    text_columns : tuple of str
        Columns of a table that the texts were read from, as far as they were named.
    without_markup : bool
        Whether HTML tags, entities and web addresses were left out before words were counted.
    """

    words: NDArray[np.str_]
    weighting: Weighting
    rarity: NDArray[np.float64] | None
    ngrams: int
    stop_words: NDArray[np.str_]
    seen: str = field(default="", metadata={"since": "0.2"})
    text_columns: tuple[str, ...] = field(default=(), metadata={"since": "0.2"})
    without_markup: bool = field(default=False, metadata={"since": "0.2"})

    def count(self, documents: Sequence[str]) -> sp.csr_array:
        """Documents by words, weighted as in the corpus; words that are not known do not count."""
        words = [str(word) for word in self.words]
        if len(set(words)) < len(words) or (self.rarity is not None and len(self.rarity) != len(words)):
            raise InputError("The vocabulary of the model is damaged.", "Fit and save the model again.")
        options: dict[str, Any] = {"ngram_range": (1, int(self.ngrams)), "token_pattern": WORD, "dtype": np.float64}
        options["stop_words"] = [str(word) for word in self.stop_words] or None
        X = sp.csr_array(CountVectorizer(vocabulary=words, **options).transform(documents))
        if self.weighting == "log":
            X.data = 1 + np.log(X.data)
        if self.rarity is not None:
            X = sp.csr_array(normalize(X * np.asarray(self.rarity, dtype=float)))
        X.sort_indices()
        return X

    def known_shares(self, documents: Sequence[str]) -> NDArray[np.float64]:
        r"""Share of the words of each document that count, among these and those that the corpus did not have.

        Words that the corpus had and that were left out say nothing about that. NaN for a document without other words.

        Examples
        --------
        >>> words = Vocabulary(np.array(["apple", "red"]), "counts", None, 1, np.array(["the"]), "fruit\nsays")
        >>> words.known_shares(["the red apple says", "the red car", "the"])
        array([1. , 0.5, nan])
        """
        left_out = {str(word) for word in self.stop_words} | set(str(self.seen).split("\n"))
        split = CountVectorizer(token_pattern=WORD).build_analyzer()
        known = {str(word) for word in self.words}
        return np.array([_share([word in known for word in split(text) if word not in left_out]) for text in documents])


def _share(known: list[bool]) -> float:
    return sum(known) / len(known) if known else np.nan
