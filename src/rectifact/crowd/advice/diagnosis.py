"""Can these answers identify the model at all, and what is wrong with them? Findings with a remedy.

Every rule about what deserves a word is here, once, but for those on identification, which are in ``conditions``;
the command line and the report only show findings.
"""

import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import entropy

from rectifact.core.errors import count
from rectifact.core.findings import SEVERITIES, Finding
from rectifact.core.operand import operand
from rectifact.core.sparse import with_entries
from rectifact.crowd.advice.conditions import identification_findings
from rectifact.crowd.advice.likeness import likeness_findings, pair_findings
from rectifact.crowd.advice.readings import SILENT, UNSUPPORTED, undecided_block, with_two_readings
from rectifact.crowd.advice.support import not_independent, unconfirmed, unknown_workers, without_majority
from rectifact.crowd.advice.workers import information
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import NAMED, fold, joined_names, listed, plain, sentence
from rectifact.crowd.data.spellings import is_no_answer
from rectifact.crowd.em import CrowdModel

RARE = 0.02  # share of a class below which its confusions can hardly be learnt
FEW_ANSWERS = 5  # of a worker
FEW_TASKS = 5  # of a class, expected; with fewer nothing can be said about how it is confused
LEAST_CONTRAST = 0.03  # correlation of two answers to one task on any contrast of classes
LEAST_INFORMATION = 0.1  # bits in a worker's answer, or share of the doubt about a task if that is below one bit
MANY = 0.2  # share of the workers above which a finding about some of them is a warning


def diagnose(
    answers: Answers,
    model: CrowdModel,
    *,
    effect: float = 1.0,
    leaning: float = 0.0,
    told_apart: bool = True,
    trusting: bool = False,
    calibrated: bool = False,
    identified: str | None = None,
    kin: NDArray[np.int64] | None = None,
    changes: Callable[[list[Any]], int] | None = None,
    has_gold: bool = False,
) -> list[Finding]:
    """All findings, the worst first; an empty list is good news.

    Parameters
    ----------
    answers : Answers
    model : CrowdModel
        Fitted to them.
    effect : float, default 1
        Design effect of the answers; 1 if they are independent.
    leaning : float, default 0
        Weight of the vote in the labels because workers are hardly known.
    told_apart : bool, default True
        Whether there are workers enough to tell who is right where two differ.
    trusting : bool, default False
        Whether the model takes answers for independent, whatever the design effect.
    calibrated : bool, default False
        Whether its confidence was lowered afterwards.
    identified : str, default None
        The method that identified it, if EM did not refine it.
    kin : array of shape (n_workers,), default None
        The same number for workers who count as one.
    changes : callable, default None
        How many labels change if two workers count as one, by their names.
    has_gold : bool, default False
        Whether gold labels took part in the fit.
    """
    B, answered = answers.one_hot(), answers.answered()
    block = undecided_block(answers, model, kin)
    beside = unconfirmed(B, model, _few_tasks(model), least=LEAST_CONTRAST)
    findings = [
        *_graph(answered, answers.workers),
        *_amounts(answered, answers.workers),
        *_spellings(answers.classes),
        *_classes(B, answers.classes, model, beside, has_gold),
        *_conditioning(B, answers.classes, model, beside),
        *_chance(answers.given, answers.classes, model, has_gold),
        *diagnose_workers(answers.workers, model),
        *not_independent(effect, trusting, calibrated),
        *unknown_workers(leaning, told_apart),
        *without_majority(answers.shares()),
        *pair_findings(B, answers.workers, model, kin, block),
        *likeness_findings(answers, model, kin, changes),
        *identification_findings(operand(B), model.priors, model.confusions, identified),
    ]
    findings = with_two_readings(findings, answers, block)
    return sorted(findings, key=lambda found: SEVERITIES.index(found.severity))


def _graph(answered: sp.csr_array, workers: NDArray[Any]) -> list[Finding]:
    present = answered.astype(bool).astype(np.int64)
    if not (np.diff(answered.indptr) > 1).any():
        remedy = "Let several workers answer at least some of the tasks; {}next_labels(n, goal='identify') says which."
        return [
            Finding(
                "problem",
                "one answer per task",
                "No task was answered twice, so workers cannot be compared; the labels are the answers.",
                remedy.format(""),
                remedy.format("in Python "),
            )
        ]
    shared = sp.csr_array(present.T @ present)
    n_groups, group = connected_components(shared, directed=False)
    if n_groups == 1:
        return []
    sizes = np.bincount(group)
    outside = workers[group != sizes.argmax()]
    remedy = "Let a worker of each group answer tasks of the others; {}next_labels(n, goal='identify') says who."
    return [
        Finding(
            "warning",
            "workers fall into groups",
            f"{n_groups} groups of workers share no task with each other; outside of the largest: {listed(outside)}.",
            remedy.format(""),
            remedy.format("in Python "),
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
                f"{count(empty, 'task')} {'has' if empty == 1 else 'have'} no answer, and the most common class as "
                "label.",
                "Have them answered, or leave them out.",
            )
        )
    repeated = int(np.maximum(answered.data - 1, 0).sum())
    if repeated:
        findings.append(
            Finding(
                "note",
                "repeated answers",
                f"{count(repeated, 'answer')} {'comes' if repeated == 1 else 'come'} from workers who had answered the "
                "task before; each counts as an independent reading.",
                "Drop the duplicates, unless they are intended.",
            )
        )
    return findings


def _spellings(classes: NDArray[Any]) -> list[Finding]:
    """Labels that differ only in capitals or spaces, of answers that are partitioned or whose classes were listed."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(classes.tolist()):
        if isinstance(name, str):
            groups.setdefault(fold(name), []).append(i)
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


def _classes(
    B: sp.csr_array, classes: NDArray[Any], model: CrowdModel, beside: dict[int, int], has_gold: bool
) -> list[Finding]:
    """Classes without answers, without support or with few tasks; ``beside`` is what :func:`unconfirmed` found."""
    chosen = np.asarray(B.sum(axis=0), dtype=float).reshape(-1, len(classes)).sum(axis=0)
    findings = []
    expected = model.posteriors.sum(axis=0)
    absent, rare = chosen == 0, (chosen > 0) & (expected < RARE * len(model.posteriors))
    rare[list(beside)] = False
    if absent.any():
        findings.append(
            Finding(
                "warning",
                "classes that nobody chose",
                f"No answer names {listed(classes[absent])}.",
                "Nothing can be said about them; check the instructions, or drop them.",
            )
        )
    if beside:
        named = "; ".join(
            f"{listed(classes[[c]])} ({count(round(chosen[c]), 'answer')}, {expected[c]:.1f} tasks expected, "
            f"most often beside {listed(classes[[other]])})"
            for c, other in list(beside.items())[:NAMED]
        )
        more = f"; and {len(beside) - NAMED} more" if len(beside) > NAMED else ""
        remedy = "Merge each with the class beside it, leave it out ({}), or sharpen the instructions."
        share = chosen / chosen.sum()
        blanks = [plain(classes[c]) for c in beside if is_no_answer(fold(classes[c]), share[c])]
        if blanks:
            stand = "stands" if len(blanks) == 1 else "stand"
            remedy = f"If {sentence([repr(name) for name in blanks])} {stand} for no answer, say so: {{}}."
            if len(beside) > len(blanks):
                remedy += " Merge others with the class beside them, or sharpen the instructions."
        out = blanks or [plain(classes[c]) for c in beside]
        findings.append(
            Finding(
                "warning",
                UNSUPPORTED,
                f"Where one worker chooses such a class, others do not confirm it: {named}{more}.",
                remedy.format(f"missing={out if len(out) > 1 else out[0]!r}"),
                remedy.format(f"--missing {shlex.quote(joined_names(out))}"),
            )
        )
    if rare.any():
        more = "more labels" if has_gold else "labels"
        remedy = f"Add tasks that are likely of these classes, or {more} known to be right, with {{}}."
        findings.append(
            Finding(
                "warning",
                "rare classes",
                f"Fewer than {RARE:.0%} of the tasks are {listed(classes[rare])}.",
                remedy.format("fit(..., gold=...)"),
                remedy.format("--gold"),
            )
        )
    return findings


def _few_tasks(model: CrowdModel) -> NDArray[np.bool_]:
    """Classes of which too few tasks are expected for a look at how they are confused."""
    return np.asarray(model.posteriors.sum(axis=0) < max(FEW_TASKS, RARE * len(model.posteriors)))


def _conditioning(B: sp.csr_array, classes: NDArray[Any], model: CrowdModel, beside: dict[int, int]) -> list[Finding]:
    """How well two answers to one task agree on each contrast of classes: the spectrum of all co-occurrences.

    Classes that are reported as unsupported are left out.
    """
    ones = with_entries(B, np.ones(B.nnz))
    known = model.posteriors.sum(axis=0) >= FEW_TASKS
    known[list(beside)] = False
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
    one, other = (repr(plain(name)) for name in classes[chosen[np.sort(np.argsort(-np.abs(vectors[:, 0]))[:2])]])
    return [
        Finding(
            "warning",
            "classes that look alike",
            f"Workers hardly tell {one} and {other} apart: two answers to a task correlate by {values[0]:z.2f} on it.",
            "Merge these classes, or sharpen the instructions.",
        )
    ]


def _chance(given: NDArray[Any], classes: NDArray[Any], model: CrowdModel, has_gold: bool) -> list[Finding]:
    mean = np.einsum("m,mkc->kc", given / given.sum(), model.confusions)
    said = mean.argmax(axis=0)
    wrong = said != np.arange(len(classes))
    if not wrong.any():
        return []
    remedy = "The names of the classes may be swapped; give some certain labels with {}."
    if has_gold:
        remedy = "The names of the classes may be swapped, in the answers or among the gold labels: check both."
    if set(said[wrong].tolist()) != set(np.flatnonzero(wrong).tolist()):  # names that are swapped stand for each other
        other = "check the gold labels" if has_gold else "give some certain labels with {}"
        same = f"If they mean the same as {listed(classes[np.unique(said[wrong])])}"
        remedy = f"{same.replace('{', '{{').replace('}', '}}')}, write the labels alike; else {other}."
    return [
        Finding(
            "problem",
            "the crowd is not better than chance",
            f"Where the class is {listed(classes[wrong])}, another answer is commoner than the right one.",
            remedy.format("fit(..., gold=...)"),
            remedy.format("--gold"),
        )
    ]


def diagnose_workers(workers: NDArray[Any], model: CrowdModel) -> list[Finding]:
    """What the confusion matrices alone say about the workers."""
    findings = []
    against = _misleading(model)
    if against.any():
        findings.append(
            Finding(
                "warning",
                "workers who answer against the truth",
                f"{count(int(against.sum()), 'worker')} {'is' if against.sum() == 1 else 'are'} right less often "
                f"than by guessing: {listed(workers[against])}.",
                "The labels use this; check whether they swapped classes or act in bad faith.",
            )
        )
    silent = uninformative(workers, model)
    if len(silent):
        named = listed(silent)
        remedy = "Leave them out or ask them less often, and check the instructions; see {}."
        findings.append(
            Finding(
                "warning" if len(silent) > MANY * len(workers) else "note",
                SILENT,
                f"The answers of {len(silent)} of {len(workers)} workers ({named}) hardly depend on the class.",
                remedy.format("worker_report()"),
                remedy.format("the --workers table"),
            )
        )
    return findings


def uninformative(workers: NDArray[Any], model: CrowdModel) -> NDArray[Any]:
    """Names of the workers whose answers carry almost no information, the least informative first."""
    told = information(model.priors, model.confusions)
    silent = told < LEAST_INFORMATION * min(1.0, float(entropy(model.priors, base=2)))
    return workers[np.argsort(told, kind="stable")][: silent.sum()]


def _misleading(model: CrowdModel) -> NDArray[np.bool_]:
    """Workers whose accuracy is below that of guessing by more than three standard errors."""
    accuracy = np.einsum("mkk,k->m", model.confusions, model.priors)
    guessing = (model.confusions @ model.priors) @ model.priors
    error = np.sqrt(accuracy * (1 - accuracy) / model.counts.sum(axis=(1, 2)))
    return accuracy < guessing - 3 * error
