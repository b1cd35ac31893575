"""Can these answers identify the model at all, and what is wrong with them? Findings with a remedy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm

from rectifact.core.operand import operand
from rectifact.core.sparse import with_entries
from rectifact.crowd.advice.workers import spammer_score
from rectifact.crowd.data.names import NAMED, listed
from rectifact.crowd.em import CrowdModel, Floats
from rectifact.crowd.variational import dispersion

__all__ = ["Finding", "dependent_pairs", "diagnose"]

RARE = 0.02  # share of a class below which its confusions can hardly be learnt
FEW_ANSWERS = 5  # of a worker
FEW_TASKS = 5  # of a class, expected; with fewer nothing can be said of how it is confused
LEAST_CONTRAST = 0.03  # correlation of two answers to one task on any contrast of classes
BLIND = 0.9  # spammer score of a worker who tells nothing
DEPENDENT = 1.15  # design effect worth a word
SURE = 1e-3  # chance, over all pairs together, of calling independent workers dependent


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing: ``severity`` is "problem", "warning" or "note"."""

    severity: str
    finding: str
    detail: str
    remedy: str


def diagnose(
    B: sp.csr_array,
    answered: sp.csr_array,
    names: tuple[NDArray[Any], NDArray[Any]],
    model: CrowdModel,
    *,
    kind: str = "auto",
    calibrated: bool = False,
) -> pd.DataFrame:
    """All findings, the worst first; an empty table is good news.

    Parameters
    ----------
    B : sparse array (n_tasks, n_workers * n_classes)
    answered : sparse array (n_tasks, n_workers), number of answers
    names : workers and classes
    model : fitted to them
    kind : which model it is, "full", "one-coin" or "auto"
    calibrated : whether its confidence was lowered afterwards
    """
    workers, classes = names
    findings = [
        *_graph(answered, workers),
        *_amounts(answered, workers),
        *_spellings(classes),
        *_classes(B, classes, model),
        *_conditioning(B, classes, model),
        *_chance(answered, workers, classes, model),
        *_dependence(B, model, kind, calibrated),
        *_pairs(B, workers, model),
    ]
    table = pd.DataFrame([vars(finding) for finding in findings], columns=list(Finding.__annotations__))
    rank = table["severity"].map({"problem": 0, "warning": 1, "note": 2})
    return table.iloc[np.argsort(rank.to_numpy(), kind="stable")].reset_index(drop=True)


def _graph(answered: sp.csr_array, workers: NDArray[Any]) -> list[Finding]:
    present = answered.astype(bool).astype(np.int64)
    if not (np.diff(answered.indptr) > 1).any():
        return [
            Finding(
                "problem",
                "one answer per task",
                "No task was answered twice, so that workers cannot be compared; the labels are the answers.",
                "Let several workers answer at least a part of the tasks; next_labels(n, goal='identify') says which.",
            )
        ]
    shared = sp.csr_array(present.T @ present)
    n_groups, group = connected_components(shared, directed=False)
    if n_groups == 1:
        return []
    sizes = np.bincount(group)
    outside = workers[group != sizes.argmax()]
    return [
        Finding(
            "warning",
            "workers fall into groups",
            f"{n_groups} groups of workers share no task with each other; outside of the largest: {listed(outside)}.",
            "Let a worker of each group answer tasks of the others; next_labels(n, goal='identify') says who.",
        )
    ]


def _amounts(answered: sp.csr_array, workers: NDArray[Any]) -> list[Finding]:
    findings = []
    given = np.asarray(answered.sum(axis=0), dtype=float).ravel()
    few = workers[given < FEW_ANSWERS]
    if len(few):
        findings.append(
            Finding(
                "note" if len(few) < len(workers) / 2 else "warning",
                "workers with few answers",
                f"{len(few)} of {len(workers)} workers gave fewer than {FEW_ANSWERS} answers: {listed(few)}.",
                "Their accuracy is hardly known, see accuracy_low and accuracy_high; ask them more, or fewer people.",
            )
        )
    empty = int((np.diff(answered.indptr) == 0).sum())
    if empty:
        findings.append(
            Finding(
                "note",
                "tasks without answers",
                f"{empty} tasks have no answer; their label is the commonest class.",
                "Have them answered, or leave them out.",
            )
        )
    repeated = int(np.maximum(answered.data - 1, 0).sum())
    if repeated:
        findings.append(
            Finding(
                "note",
                "repeated answers",
                f"{repeated} answers come from workers who had answered the task before; each counts as an independent "
                "reading.",
                "Drop the duplicates, unless they are meant.",
            )
        )
    return findings


def _spellings(classes: NDArray[Any]) -> list[Finding]:
    """Labels that are one but for capitals, or spaces around them."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(classes.tolist()):
        if isinstance(name, str):
            groups.setdefault(name.strip().casefold(), []).append(i)
    alike = [classes[group] for group in groups.values() if len(group) > 1]
    if not alike:
        return []
    more = f"; and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return [
        Finding(
            "warning",
            "labels that differ only in case or spaces",
            f"They count as different classes: {'; '.join(map(listed, alike[:NAMED]))}{more}.",
            "Merge them in the data, if they mean the same.",
        )
    ]


def _classes(B: sp.csr_array, classes: NDArray[Any], model: CrowdModel) -> list[Finding]:
    chosen = np.asarray(B.sum(axis=0), dtype=float).reshape(-1, len(classes)).sum(axis=0)
    findings = []
    absent, rare = chosen == 0, (chosen > 0) & (model.posteriors.mean(axis=0) < RARE)
    if absent.any():
        findings.append(
            Finding(
                "warning",
                "classes that nobody chose",
                f"No answer names {listed(classes[absent])}.",
                "Nothing can be said of them; check the instructions, or drop them.",
            )
        )
    if rare.any():
        findings.append(
            Finding(
                "warning",
                "rare classes",
                f"Fewer than {RARE:.0%} of the tasks are {listed(classes[rare])}.",
                "Add tasks that are likely of these classes, or labels that are certain, with fit(..., gold=...).",
            )
        )
    return findings


def _conditioning(B: sp.csr_array, classes: NDArray[Any], model: CrowdModel) -> list[Finding]:
    """How well two answers to one task agree on each contrast of classes: the spectrum of all co-occurrences."""
    ones = with_entries(B, np.ones(B.nnz))
    known = model.posteriors.sum(axis=0) >= FEW_TASKS
    classes = classes[known]
    votes = ones @ np.tile(np.eye(len(known))[:, known], (B.shape[1] // len(known), 1))
    together = votes.T @ votes - np.diag(votes.sum(axis=0))  # pairs of different answers
    share = together.sum(axis=1)
    chosen = np.flatnonzero(share > 0)
    if len(chosen) < 2:
        return []
    root = np.sqrt(share[chosen])
    values, vectors = np.linalg.eigh(together[np.ix_(chosen, chosen)] / np.outer(root, root))
    noise = 2 / np.sqrt(share.sum())
    if values[0] > max(LEAST_CONTRAST, min(noise, 10 * LEAST_CONTRAST)):
        return []
    alike = classes[chosen[np.sort(np.argsort(-np.abs(vectors[:, 0]))[:2])]]
    return [
        Finding(
            "warning",
            "classes that look alike",
            f"Workers hardly tell {listed(alike)} apart: their answers agree on it with correlation {values[0]:.2f}.",
            "Merge these classes, or sharpen the instructions.",
        )
    ]


def _chance(answered: sp.csr_array, workers: NDArray[Any], classes: NDArray[Any], model: CrowdModel) -> list[Finding]:
    given = np.asarray(answered.sum(axis=0), dtype=float).ravel()
    mean = np.einsum("m,mkc->kc", given / given.sum(), model.confusions)
    wrong = mean.argmax(axis=0) != np.arange(len(classes))
    blind = spammer_score(model.confusions) > BLIND
    findings = []
    if wrong.any():
        findings.append(
            Finding(
                "problem",
                "the crowd is not better than chance",
                f"Where the class is {listed(classes[wrong])}, another answer is commoner than the right one.",
                "The names of the classes may be swapped; give some certain labels with fit(..., gold=...).",
            )
        )
    against = _misleading(model)
    if against.any():
        findings.append(
            Finding(
                "warning",
                "workers who answer against the truth",
                f"{int(against.sum())} workers are right less often than by guessing: {listed(workers[against])}.",
                "The labels use this; check whether they swapped classes or act in bad faith.",
            )
        )
    if blind.mean() > 0.2:
        findings.append(
            Finding(
                "warning",
                "many workers are no better than chance",
                f"The answers of {int(blind.sum())} of {len(blind)} workers hardly depend on the class.",
                "Look at worker_report(): leave out those with a spammer score near 1, and check the instructions.",
            )
        )
    return findings


def _misleading(model: CrowdModel) -> NDArray[np.bool_]:
    """Workers whose accuracy is below that of guessing by more than three standard errors."""
    accuracy = np.einsum("mkk,k->m", model.confusions, model.priors)
    guessing = (model.confusions @ model.priors) @ model.priors
    error = np.sqrt(accuracy * (1 - accuracy) / model.counts.sum(axis=(1, 2)))
    return accuracy < guessing - 3 * error


def dependent_pairs(B: sp.csr_array, model: CrowdModel) -> tuple[NDArray[np.int64], Floats]:
    """Pairs of workers who agree more often than the model allows, and by how many standard errors.

    Given the class, independent workers m and j give the same answer with probability
    ``sum_k A_m(k, c) A_j(k, c)``. Summed over their common tasks and the posterior, that is the agreement to
    expect; pairs beyond what chance would give in any of all pairs are returned, the most striking first.

    Returns
    -------
    pairs : array (n, 2) of workers
    scores : array (n,)
    """
    k, n_workers = len(model.priors), len(model.confusions)
    W = sp.csr_array((np.ones(len(B.data)), B.indices // k, B.indptr), shape=(B.shape[0], n_workers))
    ones = with_entries(B, np.ones(B.nnz))
    agreed = sp.csr_array((n_workers, n_workers))
    expected, variance = sp.csr_array((n_workers, n_workers)), sp.csr_array((n_workers, n_workers))
    for c in range(k):
        agreed = agreed + _between(ones[:, c::k])
        common = _between(W, model.posteriors[:, c])
        rows = np.repeat(np.arange(n_workers), np.diff(common.indptr))
        chance = np.einsum("pk,pk->p", model.confusions[rows, :, c], model.confusions[common.indices, :, c])
        expected = expected + _filled(common, common.data * chance)
        variance = variance + _filled(common, common.data * chance * (1 - chance))
    excess = sp.coo_array(sp.triu(agreed - expected, k=1))
    spread = sp.csr_array(variance)[excess.row, excess.col]
    spread = spread.toarray().ravel() if sp.issparse(spread) else np.asarray(spread).ravel()
    scores = excess.data / np.sqrt(np.maximum(spread, 1e-12))
    limit = norm.isf(SURE / max(len(scores), 1))
    striking = np.flatnonzero((scores > limit) & (spread > 1))
    order = striking[np.argsort(-scores[striking], kind="stable")]
    return np.stack([excess.row[order], excess.col[order]], axis=1).astype(np.int64), scores[order]


def _between(X: sp.csr_array, weights: Floats | None = None) -> sp.csr_array:
    weighted = X if weights is None else sp.csr_array(X.multiply(weights[:, None]))
    return sp.csr_array(X.T @ weighted)


def _filled(pattern: sp.csr_array, data: Floats) -> sp.csr_array:
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _dependence(B: sp.csr_array, model: CrowdModel, kind: str, calibrated: bool) -> list[Finding]:
    effect = dispersion(operand(B), model)
    if effect <= DEPENDENT:
        return []
    confidence = "was lowered for it" if calibrated else "is too high"
    labels = "The labels allow for this." if kind == "auto" else "Use model='auto', whose labels allow for this."
    honest = "" if calibrated else " For honest probabilities use calibrate() (--calibrate)."
    return [
        Finding(
            "warning",
            "answers to one task are not independent",
            f"They stray together {effect:.2f} times as much as independent answers would; confidence {confidence}.",
            labels + honest,
        )
    ]


def _pairs(B: sp.csr_array, workers: NDArray[Any], model: CrowdModel) -> list[Finding]:
    pairs, scores = dependent_pairs(B, model)
    if not len(pairs):
        return []
    named = "; ".join(
        f"{listed(workers[pair])} ({score:.0f} sigma)" for pair, score in zip(pairs[:NAMED], scores, strict=False)
    )
    return [
        Finding(
            "warning",
            "workers who err alike",
            f"{len(pairs)} pairs agree more than the model allows, as copies or judges of one family do: {named}.",
            "Keep one of each pair, or count them as one worker.",
        )
    ]
