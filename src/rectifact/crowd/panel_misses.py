"""Which classes judges miss: the share of the tasks of a class to which a judge gives another one, beside people."""

from typing import Any

import numpy as np

from rectifact.crowd.data.names import plain, plain_text
from rectifact.crowd.panel_bias import holm
from rectifact.crowd.prediction_powered import Floats, Share, deviations, difference


def missed_classes(found: Any) -> dict[Any, str]:
    """The class that a judge misses most, by judge, where it is more often than people by more than is allowed.

    People miss some tasks of a class as well. A judge is named if it misses more of them by more than chance explains,
    all judges and classes considered, and by ``epsilon`` or more, which the test of replacement allows over all tasks.
    """
    if not found.panel.has_people or found.replacement is None or found.panel.scale.level != "nominal":
        return {}
    classes, posteriors = found.panel.answers.classes, found.unaided
    said, z = found.model._answers.said(), deviations(found.biases.confidence)
    rows = []
    for c in range(len(classes)):
        shares = [_missed(said[:, w], posteriors[:, c], c) for w in range(said.shape[1])]
        people = _pooled([one for one, is_person in zip(shares, found.panel.is_person, strict=True) if is_person])
        rows += [
            (found.panel.name(j), c, one, people, difference(people, one, z))
            for j, one in enumerate(shares[: found.panel.n_judges])
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
