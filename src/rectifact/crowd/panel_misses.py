"""Which classes judges miss: the share of the tasks of a class to which a judge gives another one, beside people."""

from typing import Any

import numpy as np

from rectifact.crowd.data.names import plain, plain_text
from rectifact.crowd.panel_bias import holm
from rectifact.crowd.panel_joint import joint_classes
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.prediction_powered import Floats, Share, deviations, difference
from rectifact.crowd.reference import GOLD


def missed_classes(found: Any) -> dict[Any, str]:
    """The class that a judge misses most, by judge, where it is more often than people by more than is allowed.

    People miss some tasks of a class as well. A judge is named if it misses more of them by more than chance explains,
    all judges and classes considered, and by ``epsilon`` or more, which the test of replacement allows over all tasks.
    """
    if not found.panel.has_people or found.replacement is None or found.panel.scale.level != "nominal":
        return {}
    said = found.model._answers.said()
    judges = {found.panel.name(j): said[:, j] for j in range(found.panel.n_judges)}
    return _missed_more(found, judges, found.unaided)


def missed_together(found: Any) -> str:
    """The class that the joint label of all judges misses most, in the same way, by gold labels; else empty.

    Without gold labels, what the answers say together is what the joint label says.
    """
    if found.reference != GOLD or found.truth is None or found.panel.scale.level != "nominal":
        return ""
    known = found.truth >= 0
    posteriors = np.where(known[:, None], np.eye(len(found.panel.answers.classes))[found.truth], 0.0)
    label = np.where(known, joint_classes(found.replacement, found.panel), -1)
    return _missed_more(found, {TOGETHER: label}, posteriors).get(TOGETHER, "")


def _missed_more(found: Any, judges: dict[Any, Any], posteriors: Floats) -> dict[Any, str]:
    """The same for the labels of some judges, by probabilities of the classes."""
    classes, z = found.panel.answers.classes, deviations(found.biases.confidence)
    theirs = found.model._answers.said()[:, found.panel.is_person]
    rows = []
    for c in range(len(classes)):
        people = _pooled([_missed(theirs[:, w], posteriors[:, c], c) for w in range(theirs.shape[1])])
        shares = {name: _missed(said, posteriors[:, c], c) for name, said in judges.items()}
        rows += [
            (name, c, one, people, difference(people, one, z))
            for name, one in shares.items()
            if min(one.worth, people.worth) > 0
        ]
    certain = holm(np.array([row[4].p_value for row in rows]), found.biases.confidence)
    more = [row[4].value > 0 and row[4].value >= found.replacement.epsilon for row in rows]
    clear = [row for row, sure, most in zip(rows, certain, more, strict=True) if sure and most]
    names = [plain_text(plain(name)) for name in classes]
    return {
        judge: f"misses {one.value:.0%} of the tasks that are {names[c]} (people {people.value:.0%})"
        for judge, c, one, people, _ in sorted(clear, key=lambda row: row[4].value)
    }


def _missed(said: Any, posterior: Floats, c: int) -> Share:
    """The share of the tasks of a class to which a worker gives another one; tasks count by their probability."""
    answered = said >= 0
    n = float(posterior[answered].sum())
    value = float(posterior[answered & (said != c)].sum()) / n if n > 0 else np.nan
    return Share(value, n, int(answered.sum()), int(answered.sum()), n, 0.0)


def _pooled(shares: list[Share]) -> Share:
    """One share of all that several workers answered."""
    some = [one for one in shares if one.worth > 0]
    n = sum(one.worth for one in some)
    value = sum(one.value * one.worth for one in some) / n if n > 0 else np.nan
    tasks = sum(one.n_tasks for one in some)
    return Share(value, n, tasks, tasks, n, 0.0)
