"""Topics whose words have little to do with each other: a finding with a remedy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.findings import Finding
from rectifact.parts.samples import are_short
from rectifact.parts.terms import Terms

JUNK_SHARE, JUNK_COHERENCE = 0.4, 0.15  # of a topic that is a rest of several
LESS_COHERENT = ((2, 0.5), (1, 0.25))  # the same, next to an even share and to the median coherence of the others
LEAST_OF_ITS_SHARE = 0.5  # of an even share, from which on a coherence below chance is worth a word
OTHERS_OF_SHORT = 0.25  # median coherence of the others from which on they tell something in short texts
NEGLIGIBLE = 1e-6  # of the largest weight of a topic, below which a word is not one of it
MOST_NAMED = 8  # topics in a sentence

LITTLE_MEANT = (
    "In texts this short, even words of one subject rarely occur together, so a low or negative coherence does not "
    "by itself mean that a topic is bad: judge it by its words and stability."
)


def about_coherence(X: Any) -> str:
    """What must be said with the coherence of topics in these documents: that it means little for short ones."""
    return LITTLE_MEANT if are_short(X) else ""


def _without_subject(share: NDArray[Any], coherence: NDArray[Any], *, short: bool) -> list[int]:
    """Topics of some size whose words have little to do with each other, by themselves or next to the other topics.

    In short texts a low coherence says nothing by itself, but next to others that are coherent it does.
    """
    found = []
    for i in range(len(share)):
        others, times = float(np.median(np.delete(coherence, i))), share[i] * len(share)
        if short and others < OTHERS_OF_SHORT:
            continue
        by_itself = share[i] >= JUNK_SHARE and coherence[i] < JUNK_COHERENCE
        next_to_others = any(times >= size and coherence[i] < part * others for size, part in LESS_COHERENT)
        if by_itself or next_to_others or (times >= LEAST_OF_ITS_SHARE and coherence[i] < 0):
            found.append(i)
    return found


def incoherent_topics(
    W: NDArray[Any],
    H: NDArray[Any],
    coherence: NDArray[Any] | None,
    terms: Terms,
    *,
    short: bool = False,
    fewer: bool = False,
) -> list[Finding]:
    """Topics whose words have little to do with each other; those of a single word are not among them.

    In ``short`` texts, they are judged next to the others alone. With ``fewer``, as where others are asked to be left
    out, a larger number of topics is not advised.
    """
    if coherence is None or len(H) == 1:
        return []
    sizes = W.sum(axis=0) * np.abs(H).sum(axis=1)
    share = sizes / max(sizes.sum(), 1e-300)
    several = (NEGLIGIBLE * H.max(axis=1, keepdims=True) < H).sum(axis=1) > 1
    junk = [i for i in _without_subject(share, coherence, short=short) if several[i]]
    if not junk:
        return []
    name, holds = terms.part.capitalize(), f"{share[junk].sum():.0%} of the {terms.whole}"
    rest = np.delete(coherence, junk)
    median = f" and the median of the other {terms.part}s is {np.median(rest):.2f}" if len(rest) else ""
    if len(junk) == 1:
        detail = (
            f"{name} {junk[0] + 1} holds {holds}, and its largest {terms.feature}s rarely occur together: a coherence "
            f"of {coherence[junk[0]]:.2f}, where 0 is chance{median}."
        )
    else:
        listed = ", ".join(f"{i + 1} ({coherence[i]:.2f})" for i in junk[:MOST_NAMED])
        listed += ", ..." if len(junk) > MOST_NAMED else ""
        detail = (
            f"{name}s {listed} hold {holds}, and their largest {terms.feature}s rarely occur together: in brackets "
            f"their coherence, where 0 is chance{median}."
        )
    what, who = ("a ", "It is probably a rest") if len(junk) == 1 else ("", "They may be rests")
    number = "a larger" if len(junk) == 1 else "another"
    other = "" if fewer else f"try {number} n_components, "
    remedy = f"{who} of several {terms.part}s: {other}lower max_df, or leave more stop_words out."
    command = remedy.replace("n_components", "-k").replace("max_df", "--max-df")
    command = command.replace("leave more stop_words out", "name more --stop-words")
    return [
        Finding(
            "warning", f"{what}{terms.part}{'s' if len(junk) > 1 else ''} without a subject", detail, remedy, command
        )
    ]
