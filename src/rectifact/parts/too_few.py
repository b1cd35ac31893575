"""Texts that are too few, or have too few words, for topics: a finding with a remedy."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.parts.vocabulary import Vocabulary

LEAST = 10
"""Documents of two words or more, and words, below which topics are chance: their largest words alone are ten."""


TOO_FEW = "too few texts for topics", "too few words for topics"
"""The findings about them."""


def too_few(X: Any, vocabulary: Vocabulary | None = None) -> list[Finding]:
    """A finding about documents by words that are too few for topics; ``vocabulary`` says if words are left out.

    Words belong to one topic if they occur together, so that only documents of at least two words count here.

    Examples
    --------
    >>> print(too_few(np.eye(4, 3) + np.eye(4, 3, 1))[0].detail)
    4 documents with 3 words that count are too few for topics: ...
    """
    rows = sp.csr_array(X)
    n_documents, n_words = rows.shape
    telling = int((np.diff(rows.indptr) > 1).sum())
    if telling >= LEAST and n_words >= LEAST:
        return []
    enough, has = n_documents >= LEAST, "has" if telling == 1 else "have"
    detail = f"{count(n_documents, 'document')} with {count(n_words, 'word')} that count are too few for topics"
    if enough and n_words < LEAST:
        detail = f"{n_documents} documents have only {count(n_words, 'different word')} that count, too few for topics"
    elif enough:
        detail = f"Only {telling} of {n_documents} documents {has} two or more words that count, too few for topics"
    detail += ": what looks like a topic may be chance, whatever its coherence and stability."
    add = "Give longer texts" if enough else "Add documents"
    remedy = command = f"{add}."
    left_out = vocabulary is not None and bool(str(vocabulary.seen))
    if left_out and (n_words < LEAST or telling < min(n_documents, LEAST)):
        remedy, command = (
            f"{add}; with {one}, words of a single document count, too." for one in ("min_df=1", "--min-df 1")
        )
    return [Finding("warning", TOO_FEW[enough], detail, remedy, command)]
