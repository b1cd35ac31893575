"""Texts that repeat each other: near copies, such as filled-in templates, and phrases, such as signatures."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from rectifact.core.errors import count
from rectifact.core.findings import Finding

Words = tuple[str, ...]

MOST_TEXTS, FIRST_WORDS, FEWEST_WORDS = 2000, 500, 5
"""Texts that are compared, words looked at of each, and fewest words of a text: shorter ones are alike by chance."""

ALIKE, SAME_KIND = 0.75, 0.6
"""Share of the words, in their order, that near copies have in common, and texts that fill in the same template. Words
drawn at random from the same five reach 0.7; nearest texts on one subject seldom reach 0.5."""

NEIGHBOURS, SMALL_GROUP, MANY, NEARLY_ALL = 3, 5, 0.2, 0.8
"""Most similar texts that each is compared with, texts of the smallest group that counts as a template, the share of
near copies from which on a warning is due, and that of texts from templates from which on these may be the topics."""

PHRASE, REPEATED, FEWEST_REPEATS, LED_BY = 4, 0.03, 5, 0.6
"""Words of the shortest phrase; share and number of the texts from which on one is repeated; and the share of the
largest words of a topic that must come from such phrases."""


def copied(
    texts: Sequence[str],
    leading: Sequence[Sequence[str]],
    name: str | None = "english",
    known: list[Finding] | None = None,
) -> list[Finding]:
    """What repeats in texts, whole or in part; ``leading`` are the largest words of each topic.

    ``name`` is what is given as stop words, which a remedy adds to; ``known`` is what :func:`near_copies` found, where
    it has been asked.
    """
    whole = near_copies(texts, len(leading)) if known is None else known
    return whole if whole or len(leading) == 1 else repeated_phrases(texts, leading, name)


def near_copies(texts: Sequence[str], k: int = 0) -> list[Finding]:
    """A finding about texts that differ from another one in few words, if they are many; ``k`` topics were found.

    Examples
    --------
    >>> texts = [f"The {a} in {b} was {c} when I came" for a in "pqr" for b in "stu" for c in "vw"]
    >>> found = near_copies(texts)[0]
    >>> print(found.detail.split(":")[0])
    18 of 18 documents have nearly the same text as another one, and follow about 1 template
    """
    split = [tuple(_words(text)[:FIRST_WORDS]) for text in texts]
    different = list(dict.fromkeys(words for words in split if len(words) >= FEWEST_WORDS))
    compared = different[:: max(-(-len(different) // MOST_TEXTS), 1)]
    if len(compared) < 2:
        return []
    best, groups = _compare(compared)
    share = float((best >= ALIKE).mean()) * len(different) / len(texts)
    if share < MANY:
        return []
    number, all_of_them = round(share * len(texts)), len(compared) == len(different)
    kinds = f", and follow about {count(len(groups), 'template')}" if groups else ""
    detail = (
        f"{'' if all_of_them else 'About '}{number} of {len(texts)} documents have nearly the same text as another "
        f"one{kinds}: topics then count templates and what fills their gaps."
    )
    keep = "Keep one text of each kind, or only what was filled in"
    covered = sum(map(len, groups)) >= NEARLY_ALL * len(compared)
    remedy = command = f"{keep}."
    if covered and 1 < len(groups) < k:
        many = "as many topics as there are templates"
        remedy, command = f"{keep}; or ask for {len(groups)}, {many}.", f"{keep}; or give -k {len(groups)}, {many}."
    return [Finding("warning", "documents with nearly the same text", detail, remedy, command)]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _compare(texts: list[Words]) -> tuple[NDArray[Any], list[list[int]]]:
    """Similarity of each text to its nearest one, and groups of texts of one kind."""
    occurs = _occurrences(texts)
    lengths = np.asarray(occurs.sum(axis=1)).ravel()
    best, pairs = np.zeros(len(texts)), []
    for first in range(0, len(texts), 500):
        shared = (occurs[first : first + 500] @ occurs.T).toarray()
        shared *= 2 / (lengths[first : first + 500, None] + lengths)
        for i, row in enumerate(shared, first):
            row[i] = -1
            for j in np.argsort(-row, kind="stable")[:NEIGHBOURS].tolist():
                alike = likeness(texts[i], texts[j]) if row[j] >= SAME_KIND else 0.0
                best[i] = max(best[i], alike)
                pairs += [(i, j)] * (alike >= SAME_KIND)
    groups = _joined(range(len(texts)), pairs)
    large = [group for group in groups if len(group) >= SMALL_GROUP]
    firsts = [group[0] for group in large]  # two groups may fill in the same template with other words
    same = [
        (i, j)
        for i in range(len(firsts))
        for j in range(i)
        if likeness(texts[firsts[i]], texts[firsts[j]]) >= SAME_KIND
    ]
    return best, [[one for i in joined for one in large[i]] for joined in _joined(range(len(large)), same)]


def _occurrences(texts: list[Words]) -> sp.csr_array:
    vectorizer = CountVectorizer(analyzer=lambda words: words, binary=True, dtype=np.float64)
    return sp.csr_array(vectorizer.fit_transform(texts))


def _joined(members: range, pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Groups of members that pairs connect."""
    n = len(members)
    ends = np.array(pairs, dtype=int).reshape(-1, 2)
    links = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    number, of = connected_components(links, directed=False) if n else (0, np.empty(0, dtype=int))
    return [np.flatnonzero(of == i).tolist() for i in range(number)]


def likeness(one: Words, other: Words) -> float:
    """Share of the words of two texts that both have in the same order: their longest common subsequence.

    It is found bit by bit, as in H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.

    Examples
    --------
    >>> likeness(("a", "red", "car", "here"), ("a", "blue", "car", "here"))
    0.75
    """
    places: dict[str, int] = {}
    for i, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << i
    left = every = (1 << len(other)) - 1
    for word in one:
        met = left & places.get(word, 0)
        left = ((left + met) | (left - met)) & every
    return 2 * (len(other) - left.bit_count()) / max(len(one) + len(other), 1)


def repeated_phrases(
    texts: Sequence[str], leading: Sequence[Sequence[str]], name: str | None = "english"
) -> list[Finding]:
    """A finding about topics that consist of phrases which many texts repeat, such as signatures of e-mails.

    ``leading`` are the largest words of each topic, and ``name`` is what is given as stop words.

    Examples
    --------
    >>> texts = [f"tea{i} cup{i}" + " Sent from my best phone" * (i < 9) for i in range(20)]
    >>> found = repeated_phrases(texts, [["tea1", "cup1"], ["phone", "sent", "best"]])[0]
    >>> print(found.detail.split(", such as ")[1])
    a signature: 'sent from my best phone' (9 documents).
    """
    compared = texts[:: max(-(-len(texts) // MOST_TEXTS), 1)]
    phrases = _phrases([_words(text) for text in compared])
    words = {word for phrase in phrases for word in phrase}
    topics = [i for i, top in enumerate(leading, 1) if top and sum(word in words for word in top) >= LED_BY * len(top)]
    told = {word for i in topics for word in leading[i - 1]}
    named = [phrase for phrase in phrases if len(told.intersection(phrase)) >= 2]
    if not topics or not named:
        return []
    shown = "; ".join(
        f"{' '.join(phrase[:12])!r} ({count(phrases[phrase] * len(texts) // len(compared), 'document')})"
        for phrase in named[:3]
    )
    which = f"Topic {topics[0]} consists" if len(topics) == 1 else f"Topics {', '.join(map(str, topics))} consist"
    a_phrase = "a phrase" if len(named) == 1 else "phrases"
    such = "a signature" if len(named) == 1 else "signatures"
    detail = f"{which} of {a_phrase} that many documents repeat, such as {such}: {shown}."
    several, file = f"{name},FILE" if name else "FILE", "write the words into a text file, one per line, and give"
    return [
        Finding(
            "warning",
            "phrases that many documents repeat",
            detail,
            f"Delete them from the texts, or {file} stop_words={several!r}.",
            f"Delete them from the texts, or {file} --stop-words {several}.",
        )
    ]


def _phrases(texts: list[list[str]]) -> dict[Words, int]:
    """Longest phrases that many texts repeat word by word, the most frequent first, with their numbers of texts."""
    found = Counter(gram for words in texts for gram in set(_grams(words)))
    least = max(FEWEST_REPEATS, REPEATED * len(texts))
    often = {gram: times for gram, times in found.items() if times >= least}
    whole = Counter(phrase for words in texts for phrase in set(_runs(words, often)))
    return {phrase: times for phrase, times in whole.most_common() if times >= least}


def _grams(words: list[str]) -> list[Words]:
    return list(zip(*(words[i:] for i in range(PHRASE)), strict=False))


def _runs(words: list[str], often: dict[Words, int]) -> list[Words]:
    """Runs of a text that consist of phrases, without words around them that only some of the texts have there."""
    runs: list[Words] = []
    grams = _grams(words)
    times = [often.get(gram, 0) for gram in grams]
    for repeated, places in groupby(range(len(grams)), lambda i: times[i] > 0):
        run = list(places)
        most = max(times[i] for i in run)
        core = [i for i in run if repeated and times[i] >= most / 2]
        runs += [tuple(words[core[0] : core[-1] + PHRASE])] if core else []
    return runs
