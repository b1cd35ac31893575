"""The conditions under which co-occurrences identify the model (Ibrahim and Fu 2021), measured on answers and a fit.

They speak of identification from co-occurrences alone, without EM. Theorems hold up to constants that the paper leaves
open, so that their terms can be compared between sets, or as answers come in, but say no error.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.spatial import ConvexHull, QhullError

from rectifact.core.findings import Finding
from rectifact.core.operand import Operand
from rectifact.crowd.cooccurrence import Cooccurrences, cooccurrences
from rectifact.crowd.em import Floats
from rectifact.crowd.imputation import (
    LEAST_CORRELATION,
    reached,
    smallest_correlations,
    smallest_singular_values,
)
from rectifact.crowd.rotation import factor_of

MOST_CLASSES = 6
"""Up to which the hull of the rows of H is computed; beyond, directions are searched."""

SCATTERED = 0.99
"""Share of the cone of Definition 1 from which on rows count as sufficiently scattered."""

NEGLIGIBLE = 0.02
"""Confusion probability that counts as zero."""

CONFIDENCE = 0.95
LEAST_SCATTER = 0.8
"""Share of the cone below which it is worth a word, if the model was left to co-occurrences."""

MANY = 0.2
"""Share of missing co-occurrences above which they deserve a warning."""

FROM_COOCCURRENCES = ("robust", "pair-free", "designated", "none-imputed")


@dataclass(frozen=True)
class Condition:
    """Something that the theory asks for, and what was measured.

    ``holds`` is None where the theory names no number.
    """

    condition: str
    value: float
    wanted: str
    holds: bool | None
    about: str


def conditions(B: Operand, priors: Floats, confusions: Floats) -> pd.DataFrame:
    """All conditions, in the order of the paper.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
    priors, confusions : array
        Of the fitted model.
    """
    pairs = cooccurrences(B, len(priors))
    found = [*_missing(pairs), *_accuracy(pairs, confusions), *_factor(priors, confusions)]
    return pd.DataFrame([asdict(condition) for condition in found]).astype({"holds": object})


def missing_shares(pairs: Cooccurrences) -> tuple[float, float]:
    """Share of pairs of workers without a common task, and share of pairs that equations 7 and 8 cannot impute either.

    Examples
    --------
    >>> import numpy as np
    >>> block = np.array([[[0.4, 0.1], [0.1, 0.4]]])
    >>> first, second = np.array([0, 1, 1, 2, 2, 3]), np.array([1, 0, 2, 1, 3, 2])  # a chain of four workers
    >>> np.round(missing_shares(Cooccurrences(first, second, block.repeat(6, axis=0), np.ones(6), 4)), 2)
    array([0.5 , 0.33])
    """
    n = pairs.n_workers
    n_pairs = max(n * (n - 1), 1)
    after = reached(pairs)
    np.fill_diagonal(after, val=False)
    return 1 - len(pairs.first) / n_pairs, 1 - int(after.sum()) / n_pairs


def _missing(pairs: Cooccurrences) -> list[Condition]:
    before, after = missing_shares(pairs)
    return [
        Condition(
            "pairs of workers without a common task",
            before,
            "0",
            before == 0,
            "Share of the co-occurrences in equation 6 that are missing.",
        ),
        Condition(
            "pairs that stay missing after imputation",
            after,
            "0",
            after == 0,
            "Share that no path of observed co-occurrences reaches (equations 7 and 8).",
        ),
    ]


def _accuracy(pairs: Cooccurrences, confusions: Floats) -> list[Condition]:
    """What bounds the errors of imputed co-occurrences: Theorems 1 and 2.

    Theorem 1 speaks of the worst pair. Of real crowds, that often shares one task, so the median is taken here.
    """
    if not len(pairs.first):
        return []
    m, k = pairs.n_workers, pairs.blocks.shape[1]
    smallest = smallest_singular_values(pairs.blocks)
    singular = float((smallest_correlations(pairs.blocks) <= LEAST_CORRELATION).mean())
    typical, shared = float(np.median(smallest)), float(np.median(pairs.counts))
    number = float(np.median(np.linalg.cond(confusions)))
    log = np.log(1 / (1 - CONFIDENCE))
    with np.errstate(divide="ignore"):
        needed = float(np.divide(k**2 * number**2 * log, typical**4))
        imputed = float(np.divide(k**2 * number**3 * np.sqrt(log), typical**2 * np.sqrt(shared)))
    observed, possible = len(pairs.first) / 2, m * (m - 1) / 2
    answers = (1 / observed + 1 / possible) * float(((1 + np.sqrt(m)) / np.sqrt(pairs.counts)).sum()) / 2
    missing = float(np.sqrt(m * k**2 * np.log(max(m, 2)) / observed))
    rows = [
        (
            "tasks that a pair shares, median",
            shared,
            "many",
            "From how many a co-occurrence is estimated (equation 3).",
        ),
        ("tasks that a pair should share", needed, "few", "Theorem 1's number for a median pair, up to a constant."),
        (
            "smallest singular value of a co-occurrence, median",
            typical,
            "large",
            "What equation 8 inverts (Theorem 1).",
        ),
        ("condition number of a confusion matrix, median", number, "small", "Large for workers who confuse classes."),
        ("error of designated imputation", imputed, "small", "Theorem 1's bound for a median pair, up to a constant."),
        ("error of robust imputation, missing pairs", missing, "small", "Theorem 2's first term, up to a constant."),
        ("error of robust imputation, few answers", answers, "small", "Theorem 2's second term, up to a constant."),
    ]
    about = "Share of those observed; equation 8 leaves them out."
    invertible = Condition("co-occurrences too near to singular to invert", singular, "0", singular == 0, about)
    return [invertible, *(Condition(name, value, wanted, None, why) for name, value, wanted, why in rows)]


def _factor(priors: Floats, confusions: Floats) -> list[Condition]:
    """What Proposition 1 and Theorem 3 ask of the factor ``H``."""
    k = len(priors)
    H = factor_of(priors, confusions).reshape(-1, k)
    left, singular, _ = np.linalg.svd(H, full_matrices=False)
    rank = int((singular > 1e-6 * singular[0]).sum())
    spread = float((left[:, :rank] ** 2).sum(axis=1).max())
    density = float((confusions > NEGLIGIBLE).mean())
    squared = singular**2
    gap = float(-np.diff(squared, append=0).max())
    eta = density * (1 + len(H) * spread)
    rate = k * eta * float(squared.sum()) ** 2 / gap**2 if gap > 0 else np.inf
    covered = scatter(H)
    specialists = "1 if there are specialists for every class, so that co-occurrences determine it (Proposition 1)."
    dominates = "zeta of Assumption 1 (ii): small if no single answer of a single worker dominates."
    return [
        Condition("rank of H", rank, str(k), rank == k, "Proposition 1 and Assumption 1 (i)."),
        Condition("share of the cone of Definition 1 that H covers", covered, "1", covered >= SCATTERED, specialists),
        Condition("largest share of a row in H", spread, "small", None, dominates),
        Condition("share of confusions that are not negligible", density, "small", None, "Assumption 1 (iii)."),
        Condition("smallest gap of squared singular values", gap, "above 0", gap > 0, "gamma_0 of Assumption 1 (iv)."),
        Condition("rate of the rotation", float(rate), "below 1", None, "rho of Theorem 3, up to a constant."),
    ]


def scatter(Z: Floats) -> float:
    r"""How much of the cone of Definition 1 the rows of ``Z`` cover, from 0 to 1; 1 is the condition's first part.

    The rows, scaled to sum to 1, have a convex hull in the simplex. This is the radius of the largest ball around the
    simplex's centre inside that hull, relative to the cone's, which is :math:`1 / \sqrt{K (K - 1)}`. To decide it is
    NP-hard in the number of classes: above six, the least favourable direction is searched, and may be missed.

    Parameters
    ----------
    Z : array of shape (n_rows, K), non-negative

    Examples
    --------
    >>> scatter(np.eye(3)).round(6), scatter(0.5 * np.eye(3) + 0.5 / 3).round(6)
    (np.float64(1.0), np.float64(0.5))
    """
    k = Z.shape[1]
    rows = Z[Z.sum(axis=1) > 0]
    rows = rows / rows.sum(axis=1, keepdims=True) - 1 / k
    basis = np.linalg.svd(np.ones((1, k)))[2][1:]  # of vectors that sum to 0
    points = np.unique(rows @ basis.T, axis=0)
    return np.clip(_inner_radius(points) * np.sqrt(k * (k - 1)), 0.0, 1.0)


def _inner_radius(points: Floats) -> float:
    """Radius of the largest ball around the origin in the hull of ``points``; at most 0 if the origin is outside."""
    n, d = points.shape
    if n <= d:
        return 0.0
    if d == 1:
        return float(min(points.max(), -points.min()))
    if d < MOST_CLASSES:
        try:
            return float(-ConvexHull(points).equations[:, -1].max())
        except QhullError:  # they lie in a plane
            return 0.0
    return _least_support(points)


def _least_support(points: Floats, draws: int = 500, steps: int = 50) -> float:
    """Least, over unit directions, of the farthest that ``points`` reach: from random directions, by descent."""
    rng = np.random.default_rng(0)
    directions = np.concatenate([-points[:draws], rng.standard_normal((draws, points.shape[1]))])
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    least = np.inf
    for step in range(steps):
        reach = directions @ points.T
        least = min(least, float(reach.max(axis=1).min()))
        directions = directions - points[reach.argmax(axis=1)] / (1 + step)
        directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    return least


def identification_findings(B: Operand, priors: Floats, confusions: Floats, identified: str | None) -> list[Finding]:
    """What keeps co-occurrences from identifying a model that was left to them.

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
    priors, confusions : array
        Of the model.
    identified : str or None
        The method that identified it; None if EM refined it, so that nothing here matters.
    """
    findings = []
    if identified in ("designated", "none-imputed"):
        missing = missing_shares(cooccurrences(B, len(priors)))[identified == "designated"]
        if missing > 0:
            path = ", and no path of shared tasks replaces it" if identified == "designated" else ""
            findings.append(
                Finding(
                    "warning" if missing > MANY else "note",
                    "missing co-occurrences",
                    f"{missing:.0%} of the pairs of workers share no task{path}.",
                    "Use refine='em' or identify='robust', or let two workers answer tasks of everybody; "
                    "conditions() has more.",
                )
            )
    if identified in FROM_COOCCURRENCES:
        covered = scatter(factor_of(priors, confusions).reshape(-1, len(priors)))
        if covered < LEAST_SCATTER:
            findings.append(
                Finding(
                    "warning",
                    "no specialists for every class",
                    "Co-occurrences determine the confusion matrices only if some workers hardly ever give each label "
                    f"wrongly; the workers here cover {covered:.2f} of what that takes.",
                    "Use refine='em', or add workers who are sure of single classes; conditions() has more.",
                )
            )
    return findings
