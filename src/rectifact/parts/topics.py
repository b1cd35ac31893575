"""Topics as a table, documents that are mostly about them, and what is odd about documents."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputTypeError, count
from rectifact.core.findings import Finding, Severity
from rectifact.core.validation import check_at_least
from rectifact.metrics import npmi_coherence
from rectifact.parts.documents import Corpus

NEGLIGIBLE = 1e-6
"""Share of the largest word of a topic below which others are none of its words."""


FEW_KNOWN, MANY_COPIES = 0.5, 0.05
"""Share of the words of a document, and of the documents, that deserve a warning."""

HARDLY, NOTHING, CLEAR_SHARE = 0.99, 0.9995, 0.4
"""Relative residuals from which on topics explain hardly anything of a document (2 % of its squares), or nothing, and
the share from which on its largest topic is clear."""


def document_shares(W: Any, H: Any) -> NDArray[Any]:
    """Share of each part in each sample, by weights W and parts H; each row sums to 1, or to 0 without any part.

    Examples
    --------
    >>> document_shares([[1, 1], [0, 0]], [[3, 0], [0, 1]])
    array([[0.75, 0.25],
           [0.  , 0.  ]])
    """
    sizes = np.asarray(W, dtype=float) * np.abs(np.asarray(H, dtype=float)).sum(axis=1)
    total = sizes.sum(axis=1, keepdims=True)
    return np.asarray(sizes / np.where(total > 0, total, 1))


def clear_documents(
    shares: NDArray[Any], residual: NDArray[Any], known: NDArray[Any] | None = None
) -> NDArray[np.bool_]:
    """Whether each document is clearly about its largest topic.

    That is so where it has a share of at least ``CLEAR_SHARE``, where the topics leave a relative residual below
    ``HARDLY``, and, for further documents, where at least the share ``FEW_KNOWN`` of its words is ``known``.

    Examples
    --------
    >>> shares, residual = np.array([[0.8, 0.2], [0.8, 0.2], [0.0, 0.0]]), np.array([0.7, 0.7, np.nan])
    >>> clear_documents(shares, residual, known=np.array([1, 0.2, 0]))
    array([ True, False, False])
    """
    clear = (shares.max(axis=1) >= CLEAR_SHARE) & ~are_hardly_explained(residual)
    return clear if known is None else clear & (known >= FEW_KNOWN)


def documents_by_topic(shares: NDArray[Any], residual: NDArray[Any]) -> NDArray[Any]:
    """Number of documents of which each topic is clearly the largest, as :func:`clear_documents` says.

    Examples
    --------
    >>> shares = np.array([[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.1, 0.9, 0.0], [0.35, 0.3, 0.35], [0.0, 0.0, 0.0]])
    >>> documents_by_topic(shares, np.array([0.7, 0.8, 0.999, 0.7, np.nan]))
    array([1, 1, 0])
    """
    clear = clear_documents(shares, residual)
    return np.bincount(shares.argmax(axis=1)[clear], minlength=shares.shape[1])


def examples(W: Any, H: Any, residual: NDArray[Any], texts: Any, part: int, n: int) -> list[int]:
    """Up to ``n`` documents of different texts that are clearly about a topic, rather not the short ones.

    Examples
    --------
    >>> texts, residual = ["red", "red", "blue", "rose", "car"], np.array([0.5, 0.5, 0.5, 0.5, 1.0])
    >>> examples(np.eye(2)[[0, 0, 1, 0, 0]], np.eye(2), residual, texts, 0, 3)
    [0, 3]
    """
    total = (np.asarray(W, dtype=float) * np.abs(np.asarray(H, dtype=float)).sum(axis=1)).sum(axis=1)
    shares = document_shares(W, H)
    clear = clear_documents(shares, residual) & (shares.argmax(axis=1) == part)
    # A short document is about one topic by chance.
    share = np.where(total < np.median(total), 0.5, 1.0) * shares[:, part]
    found: dict[str, int] = {}
    for i in np.argsort(-share, kind="stable").tolist():
        if clear[i] and len(found) < n:
            found.setdefault(str(texts[i]), i)
    return list(found.values())


def topic_table(model: Any, corpus: Corpus, *, n_words: int = 10, n_examples: int = 3) -> pd.DataFrame:
    """Topics with their largest words, share of the corpus, coherence and examples, in the order of the model.

    .. versionadded:: 0.2

    Parameters
    ----------
    model : ANDNMF or PurificationNMF
        Fitted to the words of the corpus.
    corpus : Corpus
        From :func:`rectifact.parts.documents.count_words`, or of further documents.
    n_words : int, default 10
        Most words of a topic.
    n_examples : int, default 3
        Most examples of a topic: beginnings of documents that are clearly about it.

    Returns
    -------
    DataFrame
        One row per topic: ``topic``, counted from 1; ``share`` of all that the topics explain of the corpus; the number
        of ``documents`` in which it is clearly the largest topic, with a share of at least 0.4 and a relative residual
        below 0.99; ``coherence``, see :func:`rectifact.metrics.npmi_coherence`;
        ``stability``, where it was measured; ``words`` and ``examples``, two lists of texts.

    Examples
    --------
    >>> from rectifact import ANDNMF
    >>> from rectifact.parts.documents import count_words
    >>> corpus = count_words(["red apple pie", "apple pie", "fast car", "car race fast", "fast race", "pie apple"])
    >>> model = ANDNMF(2, refine="nonnegative", random_state=0).fit(corpus.X)
    >>> sorted(sorted(words) for words in topic_table(model, corpus)["words"])
    [['apple', 'pie'], ['car', 'fast', 'race']]
    """
    if not isinstance(corpus, Corpus) or corpus.columns is None:
        kind = type(corpus).__name__
        raise InputTypeError(f"topic_table takes a Corpus; got {kind}.", "Give what count_words returned.")
    check_is_fitted(model)
    check_at_least(1, n_words=n_words, n_examples=n_examples)
    W, H = np.asarray(model.transform(corpus.X), dtype=float), np.asarray(model.components_, dtype=float)
    size = W.sum(axis=0) * np.abs(H).sum(axis=1)
    figures: dict[str, Any] = {"topic": np.arange(1, len(H) + 1), "share": size / max(size.sum(), 1e-300)}
    residual = relative_residuals(model, corpus.X, W)
    figures["documents"] = documents_by_topic(document_shares(W, H), residual)
    figures["coherence"] = npmi_coherence(H, corpus.X)
    if hasattr(model, "stability_"):
        figures["stability"] = np.asarray(model.stability_)
    table = pd.DataFrame(figures)
    table["words"] = leading_words(model, corpus.columns, n_words)
    texts = corpus.texts
    table["examples"] = [
        [texts[i] for i in examples(W, H, residual, texts, part, n_examples)] for part in range(len(H))
    ]
    return table


def leading_words(model: Any, columns: Any, n: int = 10) -> list[list[str]]:
    """The largest words of each topic, up to ``n`` of them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> leading_words(SimpleNamespace(components_=np.array([[1.0, 0.0, 3.0]])), ["apple", "car", "red"])
    [['red', 'apple']]
    """
    H = np.asarray(model.components_, dtype=float)
    order = np.argsort(-H, axis=1, kind="stable")[:, :n]
    return [
        [str(columns[j]) for j in top if part[j] > NEGLIGIBLE * part[top[0]]]
        for part, top in zip(H, order, strict=True)
    ]


def cosines_between(components: NDArray[Any]) -> NDArray[Any]:
    """Cosines of all pairs of parts.

    Examples
    --------
    >>> cosines_between(np.array([[1, 0], [0, 2], [3, 3]])).round(2).tolist()[2]
    [0.71, 0.71, 1.0]
    """
    unit = components / np.maximum(np.linalg.norm(components, axis=1, keepdims=True), 1e-300)
    return np.asarray(unit @ unit.T)


def residual_norms(model: Any, X: Any, W: Any) -> NDArray[Any]:
    """Norm of what the parts of a fitted model, with weights W, leave of each sample; a sparse X stays so.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> residual_norms(SimpleNamespace(components_=np.eye(2)), np.array([[3.0, 4.0]]), np.array([[3.0, 0.0]]))
    array([4.])
    """
    W, H = np.asarray(W, dtype=float), np.asarray(model.components_, dtype=float)
    if getattr(model, "background", False):
        W, H = np.column_stack([W, np.ones(len(W))]), np.vstack([H, model.background_])
    cross = np.einsum("ij,ij->i", np.asarray(X @ H.T), W)
    fitted = np.einsum("ij,ij->i", W @ (H @ H.T), W)
    return np.asarray(np.sqrt(np.maximum(row_norms(X, squared=True) - 2 * cross + fitted, 0)))


def explained_by(model: Any, X: Any, W: Any) -> float:
    """Share of the squared norm of the data, without gaps (NaN), that parts with weights W explain.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> explained_by(SimpleNamespace(components_=np.eye(2)), np.array([[3.0, 4.0]]), np.array([[3.0, 0.0]]))
    0.36
    """
    gaps = getattr(model, "missing", None) is not None
    filled = np.where(np.isnan(X), model.inverse_transform(W), X) if gaps else X
    squares = np.nansum((X.data if sp.issparse(X) else np.asarray(X)) ** 2)
    return float(1 - (residual_norms(model, filled, W) ** 2).sum() / max(squares, 1e-300))


def relative_residuals(model: Any, X: Any, W: Any) -> NDArray[Any]:
    """Norm of what the parts leave of each sample by the norm of the sample; NaN for an empty one."""
    size = row_norms(X)
    return np.where(size > 0, residual_norms(model, X, W) / np.where(size > 0, size, 1), np.nan)


def about_documents(model: Any, X: Any, W: Any) -> dict[str, NDArray[Any]]:
    """What else is known about each document: its different words that count, and its relative residual.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> about_documents(SimpleNamespace(components_=np.eye(2)), np.array([[3.0, 4.0]]), np.array([[3.0, 0.0]]))
    {'words': array([2]), 'residual': array([0.8])}
    """
    return {"words": np.asarray((X != 0).sum(axis=1)).ravel(), "residual": relative_residuals(model, X, W).round(4)}


def are_hardly_explained(residual: NDArray[Any]) -> NDArray[Any]:
    """Whether topics explain hardly anything, by residuals as they are shown."""
    return np.asarray(residual.round(4) >= HARDLY)


def have_no_topic(residual: NDArray[Any]) -> NDArray[np.bool_]:
    """Which documents have no topic, by residuals as they are shown.

    Those are documents without words (NaN), and those of which the topics explain next to nothing.

    Examples
    --------
    >>> have_no_topic(np.array([0.8, 0.99946, 0.9994, np.nan]))
    array([False,  True, False,  True])
    """
    return np.asarray(~(residual.round(4) < NOTHING))


def few_known(known: NDArray[Any], names: Any) -> list[Finding]:
    """A finding about further documents most of whose words a model of topics does not know; ``known`` are shares."""
    few, empty = np.flatnonzero(known < FEW_KNOWN), int(np.isnan(known).sum())
    if not len(few):
        return []
    first = repr(str(names[few[0]]))
    which = (
        f"one document of {len(known)}, {first}: its" if len(few) == 1 else f"{len(few)} of {len(known)} documents, "
    )
    which += "" if len(few) == 1 else f"such as {first}: their"
    detail = f"The model knows less than half of the words of {which} topics describe only the words that it knows."
    if empty:
        detail += (
            f" {count(empty, 'document')} with no word but those that the fit left out {_are(empty)} not among them."
        )
    remedy = "Look at them, and fit the texts again if they have a new subject."
    command = "Look at them, by known_words in --weights, and fit the texts again if they have a new subject."
    return [Finding("warning", "documents with few known words", detail, remedy, command)]


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def same_texts(texts: Sequence[str], X: Any) -> tuple[list[Any], NDArray[np.bool_]]:
    """What tells texts apart, their beginnings and words, and which documents repeat an earlier one.

    Examples
    --------
    >>> same_texts(["apple", "pear", "apple"], np.array([[1, 0], [0, 2], [1, 0]]))[1]
    array([False, False,  True])
    """
    rows = sp.csr_array(X)
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = [
        (str(text), rows.indices[i:j].tobytes(), rows.data[i:j].tobytes())
        for text, (i, j) in zip(texts, ends, strict=True)
    ]
    first: dict[Any, int] = {}
    return keys, np.array([first.setdefault(key, i) < i for i, key in enumerate(keys)], dtype=bool)


def repeated_texts(texts: Sequence[str], X: Any, names: Any, left_out: str = "", *, unused: int = 0) -> list[Finding]:
    """A finding about documents that have the same beginning and the same words as others; some may be ``left_out``.

    ``unused`` is the number of repetitions that topics were not found in.

    Examples
    --------
    >>> X = np.array([[1, 0], [0, 2], [1, 0], [1, 0]])
    >>> print(repeated_texts(["apple", "pear pear", "apple", "apple"], X, ["a", "b", "c", "d"])[0].detail)
    3 of 4 documents have the same text as another one, 3 of them that of 'a'.
    """
    keys, _ = same_texts(texts, X)
    (most, times), *_ = (found := Counter(keys)).most_common(1)
    if times == 1:
        return []
    same = sum(number for number in found.values() if number > 1)
    detail = f"{same} of {len(keys)} documents{left_out} have the same text as another one"
    detail += f", {times} of them that of {str(names[keys.index(most)])!r}."
    severity: Severity = "warning" if same >= MANY_COPIES * len(keys) else "note"
    remedy = "Keep one of each, unless copies should count: topics follow what is written most often."
    if unused:
        remedy = (
            f"Topics and their number come from one of each ({count(unused, 'repetition')} left out of the fit), but "
            "shares and numbers of documents count all: keep one of each if they should not."
        )
    return [Finding(severity, "documents with the same text", detail, remedy)]
