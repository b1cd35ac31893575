"""Documents of a word or two, such as "ok": they say nothing about topics, and would take some of them."""

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.findings import Finding

MOST_WORDS, LEAST_COPIES, LEAST_SHARE = 3, 5, 0.005
"""Different words of a stock phrase, such as "all good", at most; documents that have the same words, and their share
of all documents, at least."""

MOST_SHORT = 0.5
"""Share of the documents from which on they are short by nature, as keywords are, and all of them are fitted."""

MOST_QUOTED = 2
"""Short documents that a sentence quotes."""

OF_A_WORD = "documents of a word or two"
"""The finding about them."""


def short_documents(X: Any) -> NDArray[np.bool_]:
    """Which documents are too short to find topics by: one word, or a stock phrase of up to three.

    Words belong to one topic if they occur together. A document of one word does not tell which do, and is explained
    completely by a topic of its own: a few of them, such as "ok", take topics from subjects. So do the same two or
    three words in many documents, if most documents have more words. Fit the others, and give the short ones their
    topics afterwards with ``transform``.

    .. versionadded:: 0.2

    Parameters
    ----------
    X : sparse array of shape (n_documents, n_words)

    Returns
    -------
    array of bool of shape (n_documents,)
        All False where half of the documents or more would be short.

    Examples
    --------
    >>> from rectifact.parts.documents import count_words
    >>> corpus = count_words(["ok", "slow red car", "fast red car", "slow car", "ok", "fast car"], max_df=1.0)
    >>> short_documents(corpus.X)
    array([ True, False, False, False,  True, False])
    """
    rows = sp.csr_array(X)
    rows.sort_indices()
    words = np.diff(rows.indptr)
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = [rows.indices[i:j].tobytes() for i, j in ends]
    times = Counter(keys)
    copies = np.array([times[key] for key in keys])
    counted = words[words > 0]
    if not len(counted):
        return np.zeros(len(words), dtype=bool)
    few = (words > 0) & (words <= MOST_WORDS) & (words < np.median(counted))
    short = (words == 1) | (few & (copies >= max(LEAST_COPIES, LEAST_SHARE * len(words))))
    return np.asarray(short & (short.sum() < MOST_SHORT * len(counted)))


def left_out(short: NDArray[np.bool_], foreign: NDArray[np.bool_] | None = None) -> str:
    """Which documents a number of documents does not count, in brackets; empty if it counts all.

    Examples
    --------
    >>> left_out(np.array([True, False]))
    ' (without the short ones)'
    """
    which = [what for what, mask in (("short ones", short), ("those in other languages", foreign)) if np.any(mask)]
    names = " and ".join(f"the {what}" if what == "short ones" else what for what in which)
    return f" (without {names})" if which else ""


def about_short(short: NDArray[np.bool_], texts: Any) -> list[Finding]:
    """A note about documents that were not fitted: how many, and which are the most frequent.

    Examples
    --------
    >>> print(about_short(np.array([True, True, False, True]), ["ok", "ok", "slow red car", "car"])[0].detail)
    3 of 4 documents are too short to find topics by, such as 'ok' and 'car'.
    """
    number = int(short.sum())
    if not number:
        return []
    said = Counter(str(texts[i]).lower() for i in np.flatnonzero(short))
    quoted = " and ".join(repr(text) for text, _ in said.most_common(MOST_QUOTED))
    detail = (
        f"{number} of {count(len(short), 'document')} {'is' if number == 1 else 'are'} too short to find topics by, "
        f"such as {quoted}."
    )
    remedy = "Nothing to do: they do not take topics from the others."
    return [Finding("note", OF_A_WORD, detail, remedy)]
