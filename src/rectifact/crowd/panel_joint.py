"""The joint label of all judges, checked as one judge more: its biases, its leaning, and the classes that it misses."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.people import Panel
from rectifact.crowd.panel_bias import Biases
from rectifact.crowd.panel_replacement import TOGETHER, Replacement
from rectifact.crowd.panel_shift import biases_by
from rectifact.crowd.reference import Reference


def with_joint_biases(
    test: Replacement | None,
    panel: Panel,
    references: list[Reference | None],
    names: tuple[Any, ...],
    groups: Any,
    confidence: float,
) -> Replacement | None:
    """The test with biases of the joint label by each reference that there is.

    Judges who err in the same direction do so together as well: their joint label agrees with people more often than
    each of them, and errs as they do.
    """
    if test is None or test.together is None or references[0] is None or references[0].labels is None:
        return test
    label, answers = joint_classes(test, panel), panel.answers
    task = np.flatnonzero(label >= 0)
    alone = Answers(
        task, np.zeros(len(task), np.int64), label[task], answers.tasks, np.array([TOGETHER], object), answers.classes
    )
    joint = Panel(alone, 1, panel.scale)
    found = [None if one is None else biases_by(one, joint, names, groups, confidence) for one in references]
    if panel.scale.level == "ordinal" and not names:
        found = [None if one is None else _of_means(one) for one in found]
    return replace(test, joint_biases=tuple(found))


def _of_means(found: Biases) -> Biases:
    """The biases of mean grades alone: best guesses are extreme grades too often even where no judge leans."""
    return replace(found, table=found.table.iloc[:0], changes=found.changes.iloc[:0])


def joint_classes(test: Replacement, panel: Panel) -> NDArray[np.int64]:
    """Number of the class of the joint label of each task, -1 where there is none."""
    values = np.full(len(panel.answers.tasks), np.nan) if test.together is None else test.together
    nearest = np.abs(values[:, None] - panel.scale.values).argmin(axis=1)
    return np.where(np.isnan(values), -1, nearest).astype(np.int64)


def as_joint(found: Any) -> Any:
    """The evaluation in which the biases are those of the joint label; None where these were not measured."""
    measured = found.replacement.joint_biases
    return replace(found, biases=measured[0], biases_by_people=measured[1]) if measured else None
