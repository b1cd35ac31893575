"""Documents that topics hardly explain, and the subject that they may share: findings with a remedy."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.metrics import npmi_coherence
from rectifact.parts.base import are_few
from rectifact.parts.topics import (
    HARDLY,
    are_hardly_explained,
    clear_documents,
    cosines_between,
    document_shares,
    have_no_topic,
    relative_residuals,
)

MANY_UNEXPLAINED = 0.1
"""Share of the documents from which on those that are hardly explained deserve a warning, whatever they are about."""

LEAST_DOCUMENTS, LEAST_SHARE = 5, 0.02
"""Least number of hardly explained documents that share a subject, and their least share of all documents. About half
of the documents of a subject without a topic are hardly explained: the others have words of other subjects, too."""

RARER_ELSEWHERE, LEAST_COHERENCE, N_WORDS = 4, 0.1, 10
"""How much rarer the words of such a subject are in other documents, and how often they occur together (NPMI). Chosen
on simulated surveys: 0.13 to 0.43 where a subject has no topic, and below 0.1 where all have one. The number of words
that are looked at."""

MOST_MORE, SAME, MOST_NAMED = 4, 0.5, 3
"""How many more topics are tried, the cosine from which on one of them is the subject, and words a remedy names."""


@dataclass(frozen=True)
class Subject:
    """What hardly explained documents share.

    Attributes
    ----------
    words : tuple of str
        The most telling first.
    documents : int
        Hardly explained documents that have at least two of them.
    number : int or None
        The smallest number of topics tried of which one is about it; 0 if none is, None if none was tried.
    """

    words: tuple[str, ...]
    documents: int
    number: int | None = None


def missing_subject(model: Any, X: Any, residual: NDArray[Any], names: Any, *, new: bool = False) -> Subject | None:
    """The subject that hardly explained documents share, if there is one: words that others rarely have.

    Parameters
    ----------
    model : ANDNMF or PurificationNMF
        Fitted to the documents, or to others if they are ``new``.
    X : sparse array of shape (n_documents, n_words)
    residual : array of shape (n_documents,)
        Relative residuals.
    names : array of str of shape (n_words,)
    """
    hardly, H = are_hardly_explained(residual), np.asarray(model.components_)
    least = max(LEAST_DOCUMENTS, LEAST_SHARE * len(hardly))
    if hardly.sum() < least or hardly.all() or len(H) == 1:
        return None
    rows = sp.csr_array(X)
    part = _shared_words(rows, hardly)
    own = np.flatnonzero(part)
    sharing = hardly & (np.asarray((rows[:, own] != 0).sum(axis=1)).ravel() >= 2)
    if sharing.sum() < least or npmi_coherence(part[None], rows)[0] < LEAST_COHERENCE:
        return None
    words = tuple(str(names[j]) for j in own[np.argsort(-part[own], kind="stable")])
    tried = not new and isinstance(model.init, str) and are_few(rows)
    return Subject(words, int(sharing.sum()), _enough_topics(model, rows, part, sharing) if tried else None)


def _shared_words(X: sp.csr_array, hardly: NDArray[Any]) -> NDArray[Any]:
    """Weights of the words that lead the hardly explained documents and are rare in others; zero for all others."""
    own = X[np.flatnonzero(hardly)]
    leading = np.ones(X.shape[1])
    for _ in range(30):  # power iteration: the direction that explains most of these documents
        leading = own.T @ (own @ leading)
        leading /= np.linalg.norm(leading)
    occurs = sp.csr_array(X != 0, dtype=float)
    here, elsewhere = (occurs[np.flatnonzero(which)].mean(axis=0) for which in (hardly, ~hardly))
    leading[here < RARER_ELSEWHERE * elsewhere] = 0
    leading[np.argsort(-leading, kind="stable")[N_WORDS:]] = 0
    return np.asarray(leading)


def _enough_topics(model: Any, X: sp.csr_array, part: NDArray[Any], sharing: NDArray[Any]) -> int:
    """The smallest number of topics with one for the subject, to which most of its documents then belong; else 0."""
    k = len(model.components_)
    for number in range(k + 1, min(k + MOST_MORE, *X.shape) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more = clone(model).set_params(n_components=number, checkpoint=None, resume=False).fit(X)
        W, H = np.asarray(more.transform(X)), np.asarray(more.components_)
        likeness, shares = cosines_between(np.vstack([part, H]))[0, 1:], document_shares(W, H)
        about = clear_documents(shares, relative_residuals(more, X, W)) & (shares.argmax(axis=1) == likeness.argmax())
        if likeness.max() >= SAME and (about & sharing).sum() >= sharing.sum() / 2:
            return number
    return 0


def hardly_explained(
    residual: NDArray[Any],
    subject: Subject | None = None,
    *,
    left_out: str = "",
    new: bool = False,
    fewer: bool = False,
) -> list[Finding]:
    """A finding about documents of which topics explain hardly anything, if they are many or share a subject.

    Topics of a saved model stay as they are for ``new`` documents: more of them need another fit. ``left_out`` says
    which documents are not among these, as :func:`rectifact.parts.short_documents.left_out` does. With ``fewer``, more
    topics are not advised, as another finding asks for fewer.

    Examples
    --------
    >>> hardly_explained(np.array([0.8, 1.0, 0.995]))[0].finding
    'documents that the topics hardly explain'
    >>> parking = Subject(("parking", "car"), 2, 7)
    >>> hardly_explained(np.array([0.8, 1.0, 0.995]), parking)[0].command
    'Give -k 7, which has a topic for parking, car.'
    """
    hardly = int(are_hardly_explained(residual).sum())
    if subject is None and hardly < MANY_UNEXPLAINED * len(residual):
        return []
    whose = ("is", "its") if hardly == 1 else ("are", "their")
    none = int((have_no_topic(residual) & ~np.isnan(residual)).sum())
    says = f"{whose[1]} largest topic says little"
    if none:
        have = "has" if none == 1 else "have"
        says = f"{none} of them {have} no topic, and the largest topic of the others says little"
        says = f"{'it has' if hardly == 1 else 'they have'} no topic" if none == hardly else says
    detail = (
        f"{hardly} of {count(len(residual), 'document')}{left_out} {whose[0]} hardly explained by the topics, with a "
        f"residual of {HARDLY:g} or more: {says}."
    )
    if subject is not None:
        detail += (
            f" {subject.documents} of them share words that other documents rarely have, and look like a subject "
            f"without a topic: {', '.join(subject.words)}."
        )
        return [Finding("warning", "a subject without a topic", detail, *_more_topics(subject, new=new))]
    only = f"Use the largest topic only of documents with a residual below {HARDLY:g}"
    more = "Longer texts or more topics may help"
    longer = "Longer texts may help"
    refit = "Longer texts may help, or a new model with more topics, fitted without --model"
    return [
        Finding(
            "warning",
            "documents that the topics hardly explain",
            detail,
            f"{only}. {refit if new else longer if fewer else f'{more} (n_components)'}.",
            f"{only}, which --weights has. {refit if new else longer if fewer else f'{more} (-k)'}.",
        )
    ]


def _more_topics(subject: Subject, *, new: bool) -> tuple[str, str]:
    """What to do about a subject without a topic, in the words of Python and of the command line."""
    if new:
        remedy = "Fit a new model, without --model, to texts that have this subject."
        return remedy, remedy
    named = ", ".join(subject.words[:MOST_NAMED])  # the first screen of a report shows this alone
    if subject.number:
        enough = f"{subject.number}, which has a topic for {named}."
        return f"Give n_components={enough}", f"Give -k {enough}"
    if subject.number is None:
        return f"Give a larger n_components, for {named}.", f"Give a larger -k, for {named}."
    alone = "Fit these documents by themselves, chosen by their residual"
    few = f"{MOST_MORE} more topics still have none for it."
    return f"{few} {alone}.", f"{few} {alone} in --weights."
