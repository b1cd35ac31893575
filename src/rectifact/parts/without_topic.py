"""Documents without a topic: how many there are, and why; a finding with a remedy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.arrays import to_csr
from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.core.operand import is_chunked
from rectifact.core.validation import check_matrix
from rectifact.parts.short_documents import short_documents
from rectifact.parts.topics import NOTHING, have_no_topic, relative_residuals

WITHOUT_TOPIC = "documents without a topic"
"""The finding about them."""


def without_topic(
    words: NDArray[Any],
    residual: NDArray[Any],
    short: NDArray[np.bool_],
    *,
    foreign: NDArray[np.bool_] | None = None,
    new: bool = False,
    fewer: bool = False,
) -> list[Finding]:
    """A note with the number of all documents without a topic, and why they have none.

    Parameters
    ----------
    words : array of int of shape (n_documents,)
        Different words of each document that count.
    residual : array of shape (n_documents,)
        Relative residuals; NaN for documents without words.
    short : array of bool of shape (n_documents,)
        Documents that were too short to find topics by.
    foreign : array of bool of shape (n_documents,), optional
        Documents in another language that topics were not found in.
    new : bool, default False
        Whether topics of a saved model are used: more of them need another fit.
    fewer : bool, default False
        Whether another finding asks for fewer topics, so that more of them are not advised.

    Examples
    --------
    >>> words, residual = np.array([0, 1, 5, 6]), np.array([np.nan, 1.0, 0.9997, 0.8])
    >>> print(without_topic(words, residual, words == 1)[0].detail)
    3 of 4 documents have no topic: 1 has no word that counts, 1 is too short to find topics by, ...
    """
    none = have_no_topic(residual)
    if not none.any():
        return []
    empty, brief = none & (words == 0), none & (words > 0) & short
    other_language = none & ~empty & ~brief & (np.zeros(len(none), dtype=bool) if foreign is None else foreign)
    others = int((none & ~empty & ~brief & ~other_language).sum())
    has, whom = ("has", "it") if others == 1 else ("have", "them")
    reasons = [
        (int(empty.sum()), "has", "have", "no word that counts"),
        (int(brief.sum()), "is", "are", "too short to find topics by"),
        (int(other_language.sum()), "is", "are", "in another language than most"),
        (others, has, has, f"a residual of {NOTHING:g} or more, so that the topics explain next to nothing of {whom}"),
    ]
    told = [f"{n} {one if n == 1 else several} {what}" for n, one, several, what in reasons if n]
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])}, and {told[-1]}"
    have = "has" if none.sum() == 1 else "have"
    detail = f"{none.sum()} of {count(len(none), 'document')} {have} no topic: {listed}."
    it = "it has" if none.sum() == 1 else "they have"
    look = f"Look at {'it' if none.sum() == 1 else 'them'}: {it} no largest topic"
    python, command = f"{look}.", f"{look} in --weights."
    if others and new:
        python, command = (f"{said} A new fit to them may have topics for them." for said in (python, command))
    elif others and not fewer:
        more = f"More topics may cover {'it' if others == 1 else 'some of them'}"
        python, command = f"{python} {more} (n_components).", f"{command} {more} (-k)."
    return [Finding("note", WITHOUT_TOPIC, detail, python, command)]


def without_topic_of(model: Any, X: Any) -> list[Finding]:
    """The same for a fitted model and documents by words, unless they are in chunks."""
    if is_chunked(X):
        return []
    rows = to_csr(check_matrix(model, X, reset=False))
    residual = relative_residuals(model, rows, model.transform(X))
    return without_topic(np.diff(rows.indptr), residual, short_documents(rows))
