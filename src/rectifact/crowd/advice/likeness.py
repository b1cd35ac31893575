"""Workers who say nearly the same: copies that count as one, and two of a small panel who may be copies or the best."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.crowd.advice.dependence import dependent_pairs
from rectifact.crowd.copying import MOST_WORKERS, most_alike
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import NAMED, listed, sentence
from rectifact.crowd.em import CrowdModel

DECISIVE = "two workers decide the labels"
"""The finding about two workers who may be copies or the best."""


def likeness_findings(
    answers: Answers,
    model: CrowdModel,
    kin: NDArray[np.int64] | None = None,
    changes: Callable[[list[Any]], int] | None = None,
) -> list[Finding]:
    """What to say about workers who give nearly the same answers.

    Parameters
    ----------
    answers : Answers
    model : CrowdModel
        Fitted to them.
    kin : array of shape (n_workers,), default None
        The same number for workers who count as one, as :func:`rectifact.crowd.dependence.same_source` gives it.
    changes : callable, default None
        How many labels change if two workers count as one, by their names.
    """
    kin = np.arange(len(answers.workers)) if kin is None else kin
    return [*_counted_once(answers.workers, kin), *_decisive(answers, model, kin, changes)]


def _counted_once(workers: NDArray[Any], kin: NDArray[np.int64]) -> list[Finding]:
    families = [workers[kin == number] for number in np.unique(kin) if (kin == number).sum() > 1]
    if not families:
        return []
    named = "; ".join(_and(names) for names in families[:NAMED])
    more = f"; and {len(families) - NAMED} more families" if len(families) > NAMED else ""
    remedy = "Nothing has to be done; asking one of them would be enough. See the column family of {}."
    return [
        Finding(
            "note",
            "copies that count as one worker",
            f"These workers repeat each other's answers, errors included, so each group counts as one: {named}{more}.",
            remedy.format("worker_report()"),
            remedy.format("the --workers table"),
        )
    ]


def _decisive(answers: Answers, model: CrowdModel, kin: NDArray[np.int64], changes: Any) -> list[Finding]:
    """A warning where two workers agree far more often than all others, and the model takes them for the best."""
    if not 3 <= len(answers.workers) <= MOST_WORKERS:
        return []
    found = most_alike(answers.said())
    if found is None or found.others is None or not found.undecided:
        return []
    if set(found.pair) != set(_best_two(model).tolist()) or kin[found.pair[0]] == kin[found.pair[1]]:
        return []
    names = answers.workers[list(found.pair)]
    detail = (
        f"{_and(names)} give the same answer to {found.agreement:.0%} of the tasks that they share, and no other pair "
        f"to more than {found.others:.0%}. Either both are excellent, or one repeats the other: the answers alone "
        "cannot tell, and the labels follow these two."
    )
    if changes is not None:
        detail += f" If they counted as one worker, {count(changes(names.tolist()), 'label')} would change."
    remedy = (
        "If they run the same model, leave one out, or name them as a family in {}; or check them against gold labels."
    )
    given = "groups of DawidSkene.fit", "rectifact labels --groups"
    return [Finding("warning", DECISIVE, detail, *(remedy.format(where) for where in given))]


def _and(names: NDArray[Any]) -> str:
    return sentence(names.tolist())


def _best_two(model: CrowdModel) -> NDArray[np.int64]:
    accuracy = np.einsum("mkk,k->m", model.confusions, model.priors)
    return np.argsort(-accuracy, kind="stable")[:2]


def pair_findings(
    B: sp.csr_array,
    workers: NDArray[Any],
    model: CrowdModel,
    kin: NDArray[np.int64] | None = None,
    block: NDArray[np.bool_] | None = None,
) -> list[Finding]:
    """A warning where pairs of workers who do not count as one agree more often than the model allows.

    Not of pairs outside a ``block`` of workers whom the model follows and who may be copies.
    """
    pairs, scores = dependent_pairs(B, model)
    if block is not None:
        near = block[pairs].any(axis=1)
        pairs, scores = pairs[near], scores[near]
    if kin is not None:
        apart = kin[pairs[:, 0]] != kin[pairs[:, 1]]
        pairs, scores = pairs[apart], scores[apart]
    if not len(pairs):
        return []
    named = "; ".join(
        f"{listed(workers[pair])} ({score:.0f} sigma)" for pair, score in zip(pairs[:NAMED], scores, strict=False)
    )
    who = "1 pair of workers agrees" if len(pairs) == 1 else f"{len(pairs)} pairs of workers agree"
    return [
        Finding(
            "warning",
            "workers who err alike",
            f"{who} more often than chance explains, as copies or judges of one family do: {named}.",
            "Keep one of each pair, or count them as one worker.",
        )
    ]
