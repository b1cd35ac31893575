"""What can be checked about parts and weights: findings with a remedy.

Every rule about what deserves a word is here, once; the command line and the report only show findings.

References
----------
[1] Y. Li and Y. Liang, "Provable alternating gradient descent for non-negative matrix factorization with strong
correlations", ICML 2017.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.findings import SEVERITIES, Finding
from rectifact.parts.alike import alike_topics
from rectifact.parts.conditions import correlation_conditions, correlations, decay_order, independence_conditions
from rectifact.parts.incoherence import incoherent_topics
from rectifact.parts.matching import agreement, partners
from rectifact.parts.terms import PARTS, TOPICS, Terms

CONSTANT_SUM = 0.05  # relative spread of the sum of the weights below which it counts as constant
ROUNDING = 1e-10  # of the squared norm
NEAR_ZERO = 0.01  # of the largest weight of a part
RARELY_ABSENT = 0.05  # share of samples without a part below which thresholds have nothing to hold on to
SMALL, RARELY_SMALL = 0.1, 0.25  # of the largest weight of a part; mean share of samples with less, below which
# parts are 4 degrees or more from planted ones, and above which they are nearer
NEVER_APART = 0.95  # correlation of two weights
DEPENDENT = 0.3  # correlation of two weights that independence does not allow
NEXT_TO_NOTHING = 1e-3  # share of the weight
NEGATIVE = 0.05  # share of the absolute sum of a part
UNSTABLE = (
    0.6  # stability: a cosine of 0.7 between the parts of two halves, from which on a choice counts a part as found
)
MANY = 0.5  # share of samples that are mostly noise
LIKE_A_CONSTANT = 0.75  # share of what one more part would explain that a constant explains as well
LEAST_BACKGROUND = 0.05  # share of the data that nearly every sample has
NEARLY_DEPENDENT = 1e-4  # smallest over largest singular value of the parts
MOST_NAMED = 8  # parts in a sentence
FEWER = "Lower n_components"  # how a remedy begins that asks for fewer parts
LEAST_LAMBDA = 0.01  # smallest eigenvalue of the second moments, in the units of [1]


def background_share(block: NDArray[Any], n_components: int) -> float:
    """Share of the data that looks like a constant background next to ``n_components`` parts; 0 without a sign of one.

    There is one if a constant, added to as many directions as there are parts, explains nearly all that a further
    direction would, and if nearly every sample has that much of each feature. ``block`` are dense samples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((200, 3)) < 0.4) * rng.random((200, 3)) @ rng.random((3, 20))
    >>> background_share(X, 3), bool(background_share(X + rng.random(20), 3) > 0.2)
    (0.0, True)
    """
    if min(block.shape) <= n_components:
        return 0.0
    plain, centred = _squared_singular_values(block), _squared_singular_values(block - block.mean(axis=0))
    further = float(plain[n_components])
    constant = float(plain[n_components:].sum() - centred[n_components:].sum())
    if further <= ROUNDING * plain[0] or constant < LIKE_A_CONSTANT * further:
        return 0.0
    lowest = np.maximum(np.quantile(block, 0.05, axis=0), 0)
    share = float(lowest.sum() / max(np.abs(block).mean(axis=0).sum(), 1e-300))
    return share if share >= LEAST_BACKGROUND else 0.0


def _squared_singular_values(block: NDArray[Any]) -> NDArray[Any]:
    gram = block.T @ block if block.shape[0] >= block.shape[1] else block @ block.T
    return np.asarray(np.linalg.eigvalsh(gram)[::-1])


def diagnose(
    W: NDArray[Any],
    H: NDArray[Any],
    *,
    sum_error: float,
    nonnegative: bool,
    independent: bool,
    noisy_samples: float = 0.0,
    background: float = 0.0,
    other_halves: tuple[NDArray[Any], NDArray[Any]] | None = None,
    stability: NDArray[Any] | None = None,
    stability_range: NDArray[Any] | None = None,
    coherence: NDArray[Any] | None = None,
    short: bool = False,
    terms: Terms = PARTS,
) -> list[Finding]:
    """All findings, the worst first; a single note that the weights can be told apart is good news.

    Parameters
    ----------
    W : array of shape (n_samples, n_components)
        Weights.
    H : array of shape (n_components, n_features)
        Parts.
    sum_error : float
        See :func:`rectifact.parts.conditions.constant_sum_error`.
    nonnegative : bool
        Whether the data is non-negative, but for noise.
    independent : bool
        Whether the algorithm needs independent weights, as Purification does.
    noisy_samples : float, default 0
        Share of the samples that are mostly noise.
    background : float, default 0
        See :func:`background_share`.
    other_halves : pair of arrays of shape (n_components, n_features), optional
        Parts found from two halves of the samples.
    stability : array of shape (n_components,), optional
        Stability of each part, where it has been measured; the halves are then not looked at.
    stability_range : array of shape (n_components, 2), optional
        The lowest and the highest of the splits into halves over which it is the mean.
    coherence : array of shape (n_components,), optional
        Coherence of each topic.
    short : bool, default False
        Whether samples have few features each, as titles have few words.
    terms : Terms, optional
        What parts, samples and features are called.
    """
    sizes, conditions = _sizes(W, H, terms), _conditions(W, terms)
    rarely = (_mixed(W, terms) if sum_error >= CONSTANT_SUM and not background else []) or _absences(W, terms)
    findings = [
        *_sums(sum_error, independent, terms),
        *_background(background, independent, terms),
        *_correlations(W, independent, terms),
        *rarely,
        *sizes,
        *_negative(H, nonnegative, independent, terms),
        *_noise(noisy_samples, terms),
        *(alike_topics(H) if terms == TOPICS else []),
        *_unstable(_stability(H, other_halves) if stability is None else stability, stability_range, terms),
        *incoherent_topics(W, H, coherence, terms, short=short, fewer=asks_for_fewer([*sizes, *conditions])),
        *(found for found in conditions if not (rarely and found.severity == "note")),
        *(_assumptions(W, H, terms) if independent else []),
    ]
    return worst_first(findings)


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Problems, then warnings, then notes."""
    return sorted(findings, key=lambda found: SEVERITIES.index(found.severity))


def asks_for_fewer(findings: Sequence[Finding]) -> bool:
    """Whether a remedy is to ask for fewer parts, so that no other one should ask for more."""
    return any(found.remedy.startswith(FEWER) for found in findings)


def _fewer(terms: Terms, end: str = "") -> tuple[str, str]:
    """What to do about too many parts, in Python and on the command line."""
    ask = f" to ask for fewer {terms.part}s{end}."
    return f"{FEWER}{ask}", f"Lower -k{ask}"


def _sums(error: float, independent: bool, terms: Terms) -> list[Finding]:
    if error >= CONSTANT_SUM:
        return []
    detail = f"The weights of a {terms.sample} add up to a constant within {error:.1%}, so they are not independent."
    if independent:
        remedy = f"Use ANDNMF; Purification needs independent weights, and its {terms.part}s are wrong here."
        return [Finding("problem", "weights sum to one", detail, remedy, "Use --method and.")]
    remedy = (
        f"Nothing, if you know that they are shares; a constant background cannot be told apart from the {terms.part}s."
    )
    return [Finding("note", "weights sum to one", detail, remedy)]


def _background(share: float, independent: bool, terms: Terms) -> list[Finding]:
    if not share:
        return []
    detail = (
        f"A constant explains what the {terms.part}s leave over, and nearly every {terms.sample} has about {share:.0%} "
        "of the mean."
    )
    remedy, command = (
        "Use background=True; if weights are shares that sum to one, add a part instead.",
        "Use --background",
    )
    if independent:
        remedy = "Subtract it from the samples, or use ANDNMF with background=True."
        command = "Use --method and --background"
    command += f", or ask for one {terms.part} more (-k) if weights are shares that sum to one."
    return [Finding("warning", "a constant background is likely", detail, remedy, command)]


def _correlations(W: NDArray[Any], independent: bool, terms: Terms) -> list[Finding]:
    between = correlations(W)
    i, j = np.unravel_index(np.abs(between).argmax(), between.shape)
    value = float(between[i, j])
    pair = f"The weights of {terms.part}s {i + 1} and {j + 1} have a correlation of {value:.2f}."
    if independent and abs(value) > max(DEPENDENT, 5 / len(W) ** 0.5):
        remedy = "Use ANDNMF, which allows correlated weights."
        return [Finding("warning", "weights are not independent", pair, remedy, "Use --method and.")]
    if value > NEVER_APART:
        fewer = _fewer(terms, f", or add {terms.sample}s in which only one of them occurs")
        return [Finding("warning", f"{terms.part}s that always occur together", pair, *fewer)]
    return []


def _absences(W: NDArray[Any], terms: Terms) -> list[Finding]:
    absent = (NEAR_ZERO * W.max(axis=0) >= W).mean(axis=0)
    always = np.flatnonzero((absent < RARELY_ABSENT) & (W.max(axis=0) > 0))
    if not len(always) or W.shape[1] == 1:
        return []
    near_zero = f"at most {absent[always].max():.1%} have a weight near zero."
    detail = f"{_numbered(always, terms)} present in nearly all {terms.sample}s: {near_zero}"
    remedy, command = (
        "Check them, or try background=True if one is a constant offset.",
        "Check them, or try --background if one is a constant offset.",
    )
    if terms == TOPICS:
        remedy = "If they consist of words that every document has, lower max_df, or leave more stop_words out."
        command = remedy.replace("max_df", "--max-df").replace("leave more stop_words out", "name more --stop-words")
    return [Finding("warning", f"{terms.part}s that are never absent", detail, remedy, command)]


def _mixed(W: NDArray[Any], terms: Terms) -> list[Finding]:
    """A warning where all weights are rarely near zero, so that other parts explain the data as well."""
    largest = W.max(axis=0)
    absent, small = ((share * largest >= W).mean(axis=0) for share in (NEAR_ZERO, SMALL))
    if W.shape[1] == 1 or terms == TOPICS or absent.mean() >= RARELY_ABSENT or small.mean() >= RARELY_SMALL:
        return []
    detail = (
        f"All {terms.part}s are in nearly all {terms.sample}s: at most {absent.max():.1%} have a weight near zero, so "
        f"the data hardly determine the {terms.part}s, which may be mixed with each other."
    )
    remedy = f"Add {terms.sample}s that lack some of the {terms.part}s, and do not rely on small entries"
    instead = "if one of them is a constant offset, try {}."
    return [
        Finding(
            "warning",
            f"{terms.part}s that may be mixed",
            detail,
            f"{remedy}; {instead.format('background=True')}",
            f"{remedy}; {instead.format('--background')}",
        )
    ]


def _sizes(W: NDArray[Any], H: NDArray[Any], terms: Terms) -> list[Finding]:
    sizes = W.sum(axis=0) * np.abs(H).sum(axis=1)
    tiny = np.flatnonzero(sizes < NEXT_TO_NOTHING * max(sizes.sum(), 1e-300))
    if not len(tiny):
        return []
    detail = f"{_numbered(tiny, terms)} less than {NEXT_TO_NOTHING:.1%} of the {terms.whole}."
    return [Finding("warning", f"{terms.part}s that carry almost nothing", detail, *_fewer(terms))]


def _negative(H: NDArray[Any], nonnegative: bool, independent: bool, terms: Terms) -> list[Finding]:
    size = np.abs(H).sum()
    share = float(np.maximum(-H, 0).sum() / size) if size > 0 else 0.0
    if not nonnegative or share < NEGATIVE:
        return []
    detail = f"{share:.0%} of the mass of the {terms.part}s is negative, though the data is not."
    python, command = ("ANDNMF", "--method and") if independent else ("refine='auto'", "--refine auto")
    remedy = f"Use {python}, or another number of {terms.part}s."
    command = f"Use {command}, or another number of {terms.part}s (-k)."
    return [Finding("warning", f"negative {terms.part}s", detail, remedy, command)]


def _noise(noisy: float, terms: Terms) -> list[Finding]:
    if noisy < MANY or terms == TOPICS:  # a document repeats few words: most of it never fits
        return []
    detail = f"In {noisy:.0%} of the {terms.sample}s, the {terms.part}s explain less than half of the squared norm."
    remedy = (
        f"Expect little from the weights of single {terms.sample}s; leave out {terms.sample}s that are nearly empty."
    )
    return [Finding("note", f"many {terms.sample}s are mostly noise", detail, remedy)]


def _stability(H: NDArray[Any], halves: tuple[NDArray[Any], NDArray[Any]] | None) -> NDArray[Any] | None:
    """How far the parts of two halves that belong to each of the parts H are the same."""
    if halves is None:
        return None
    one, other = halves
    return agreement(one[partners(H, one)], other[partners(H, other)])


def _unstable(stability: NDArray[Any] | None, ends: NDArray[Any] | None, terms: Terms) -> list[Finding]:
    if stability is None or (stability := np.round(stability, 2)).min() >= UNSTABLE:  # as it is shown
        return []
    weak, k, name = np.flatnonzero(stability < UNSTABLE), len(stability), terms.part
    spans = [""] * k if ends is None else [f", {low:.2f} to {high:.2f} by split" for low, high in ends]
    listed = ", ".join(f"{i + 1} ({max(stability[i], 0):.2f}{spans[i]})" for i in weak[:MOST_NAMED])
    listed += ", ..." if len(weak) > MOST_NAMED else ""
    who = f"{name.capitalize()} {listed} has" if len(weak) == 1 else f"{name.capitalize()}s {listed} have"
    detail = (
        f"Fitted apart, two halves of the {terms.sample}s agree on {k - len(weak)} of {count(k, name)}. {who} a "
        f"stability below {UNSTABLE:g}, where 1 is the same."
    )
    them = "it" if len(weak) == 1 else "them"
    remedy = f"Check {them} before you rely on {them}; more {terms.sample}s help"
    more, command = (f", and so may another number of {name}s ({n})" if k > 1 else "" for n in ("n_components", "-k"))
    return [
        Finding("warning", f"{name}s that two halves do not share", detail, f"{remedy}{more}.", f"{remedy}{command}.")
    ]


def _conditions(W: NDArray[Any], terms: Terms) -> list[Finding]:
    if terms == TOPICS and W.shape[1] == 1:
        return []
    found = correlation_conditions(W)
    values = ", ".join(f"{name} = {value:.2g}" for name, value in (found | {"q": decay_order(W)}).items())
    figures = "" if terms == TOPICS else f" The figures of its theory, for weights of at most one: {values}."
    if found["lambda"] < LEAST_LAMBDA:
        detail = f"The weights of some {terms.part}s are almost a combination of those of others.{figures}"
        return [Finding("warning", "weights are nearly dependent", detail, *_fewer(terms))]
    detail = f"No {terms.part} occurs only in fixed proportion to others, which is what the method needs.{figures}"
    small = "" if terms == TOPICS else "; small r, k, m and large lambda and q are good"
    return [Finding("note", f"{terms.part}s can be told apart", detail, f"Nothing to do{small}.")]


def _assumptions(W: NDArray[Any], H: NDArray[Any], terms: Terms) -> list[Finding]:
    found = independence_conditions(W, H)
    values = ", ".join(f"{name} = {found[name]:.2g}" for name in ("C1", "c2", "C2"))
    detail = (
        f"For weights scaled to a maximum of one, the moments in the theorems of Purification are {values}; noise in "
        f"the entries of a {terms.sample} is multiplied by at most {found['inverse']:.2g} in its weights."
    )
    if found["independence of parts"] < NEARLY_DEPENDENT:
        why = f": one {terms.part} is almost a combination of others, so its weights are mostly noise."
        remedy, command = (part + why for part in ("Lower n_components", "Lower -k"))
        return [Finding("warning", f"{terms.part}s are nearly dependent", detail, remedy, command)]
    remedy = (
        f"Nothing; the theorems ask for a C2 of at most twice c2, and for a C1 that is small next to the {terms.part}s."
    )
    return [Finding("note", "assumptions of Purification", detail, remedy)]


def _numbered(numbers: NDArray[Any], terms: Terms) -> str:
    """Numbers of parts as the subject of a sentence, with its verb."""
    listed, name = ", ".join(str(i + 1) for i in numbers[:5]) + (", ..." if len(numbers) > 5 else ""), terms.part
    return f"{name.capitalize()} {listed} is" if len(numbers) == 1 else f"{name.capitalize()}s {listed} are"
