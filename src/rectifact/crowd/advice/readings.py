"""Workers who nearly all say the same beside others: copies of each other, or right where the others err alike."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rectifact.core.findings import Finding
from rectifact.crowd.advice.dependence import dependent_pairs
from rectifact.crowd.copying import AHEAD, COMMON, MOST_WORKERS, UNDECIDED, pair_agreements
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import who_all
from rectifact.crowd.em import CrowdModel

SILENT = "workers whose answers carry almost no information"
UNSUPPORTED = "classes that the answers do not support"
TWO_READINGS = "two readings fit the answers"

FEWEST = 3
"""Workers of a block; two of them are another finding."""


def block_of(answers: Answers, kin: NDArray[np.int64] | None = None) -> NDArray[np.bool_] | None:
    """Which workers of a small panel all say nearly the same, and the same as any other far less often; None if none.

    Workers who count as one already, by ``kin``, are not looked at.
    """
    n_workers = len(answers.workers)
    if not FEWEST < n_workers <= MOST_WORKERS:
        return None
    alike = np.full((n_workers, n_workers), np.nan)
    for (a, b), share in pair_agreements(answers.said(), COMMON):
        alike[a, b] = alike[b, a] = share
    if np.isnan(alike[~np.eye(n_workers, dtype=bool)]).any():
        return None
    group = connected_components(np.nan_to_num(alike) >= UNDECIDED, directed=False)[1]
    inside = group == np.bincount(group).argmax()
    n_inside = int(inside.sum())
    if not FEWEST <= n_inside < n_workers or (kin is not None and len(np.unique(kin[inside])) == 1):
        return None
    least, most = np.nanmin(alike[np.ix_(inside, inside)]), np.nanmax(alike[np.ix_(inside, ~inside)])
    return inside if least - most >= AHEAD else None


def undecided_block(
    answers: Answers, model: CrowdModel, kin: NDArray[np.int64] | None = None
) -> NDArray[np.bool_] | None:
    """The block, where the others may be right: they err alike by the model, which follows the block, or one is alone.

    Others who do not agree with each other either cannot be right, so that nothing is undecided.
    """
    inside = block_of(answers, kin)
    if inside is None or (~inside).sum() == 1:
        return inside
    pairs = dependent_pairs(answers.one_hot(), model)[0]
    return inside if (~inside[pairs]).all(axis=1).any() else None


def with_two_readings(findings: list[Finding], answers: Answers, block: NDArray[np.bool_] | None) -> list[Finding]:
    """The findings where a block is undecided: nobody outside is accused by a model that follows the block."""
    if block is None:
        return findings
    block_names, others = (who_all(answers.workers[some].tolist()) for some in (block, ~block))
    alone = (~block).sum() == 1
    hedge = "This holds only if the workers who nearly all say the same are right; see the finding {!r}."
    softened = [
        replace(
            finding,
            severity="note",
            detail=f"{finding.detail} {hedge.format(TWO_READINGS)}",
            remedy="Do not leave them out before gold labels have decided.",
            command="Do not leave them out before labels with --gold have decided.",
        )
        if finding.finding == SILENT
        else finding
        for finding in findings
    ]
    err = f"{others} errs" if alone else f"{others} err alike"
    detail = (
        f"{block_names} give nearly the same answers, and the others agree with them far less often. Either they are "
        f"right and {err}, as the labels assume, or they repeat each other's errors: the answers alone cannot tell."
    )
    remedy = "Gold labels of some tasks tell which: {} measures the accuracy of each worker by them."
    python, command = remedy.format("rectifact.evaluate with gold"), remedy.format("rectifact evaluate with --gold")
    return [*softened, Finding("warning", TWO_READINGS, detail, python, command)]
