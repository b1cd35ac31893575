"""Why tasks of one file are not found in another, for messages."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.crowd.data.names import Gold, matched, plain, plain_text

MANY, FEWEST = 0.1, 5
"""Share and number of tasks that the other file does not have, from which on their names may be the reason."""


def refuse_unanswered(named: NDArray[Any], found: NDArray[np.bool_], tasks: NDArray[Any] | None = None) -> None:
    """Refuse gold labels of tasks of which none was ``found`` among the ``tasks``, if these are in memory."""
    if len(named) and not found.any():
        what, remedy = "No task with a gold label was answered.", "Check that both name the tasks alike."
        raise no_common_task(what, remedy, named, np.empty(0) if tasks is None else tasks)


def no_common_task(what: str, remedy: str, named: NDArray[Any], known: NDArray[Any]) -> InputError:
    """An error about tasks that none of the others is; it says if only leading zeros are the reason.

    Examples
    --------
    >>> import numpy as np
    >>> print(no_common_task("No task was answered.", "Check them.", np.array([12]), np.array(["00012"])))
    No task was answered. Leading zeros differ: 12 is '00012' in the answers. Write them alike in both.
    """
    by_number = {text.lstrip("0"): plain(name) for name in known for text in [plain_text(name)] if text.isdecimal()}
    for name in named:
        other = by_number.get(plain_text(name).lstrip("0")) if plain_text(name).isdecimal() else None
        if other is not None:
            said = f"{what} Leading zeros differ: {plain(name)!r} is {other!r} in the answers."
            return InputError(said, "Write them alike in both.")
    return InputError(what, remedy)


def left_out(tasks: NDArray[Any], found: NDArray[np.bool_]) -> None:
    """Say how many gold labels are of tasks that nobody answered; where these are many, their names may differ."""
    n_lost = int((~found).sum())
    if not n_lost:
        return None
    were = "was" if n_lost == 1 else "were"
    what = f"{count(n_lost, 'gold label')} of tasks that nobody answered {were} left out."
    if not _are_many(n_lost, len(tasks)):
        return warnings.warn(FitWarning(what), stacklevel=4)
    what = f"{what[:-1]}, of {len(tasks)}; one is of task {plain(tasks[~found][0])!r}."
    return warnings.warn(FitWarning(what, "Check that both files name the tasks alike."), stacklevel=4)


def mention_left_out(gold: Gold | None, known: Any) -> None:
    """The same of gold labels that none of the tasks in memory has, if these are many but not all."""
    if gold is not None and isinstance(known, np.ndarray):
        found = matched(gold[0], known) >= 0
        if found.any() and _are_many(int((~found).sum()), len(found)):
            left_out(gold[0], found)


def mention_unjudged(tasks: NDArray[Any], found: NDArray[np.bool_]) -> None:
    """Say how many of the tasks that people answered no judge did, if these are many."""
    n_lost = int((~found).sum())
    if _are_many(n_lost, len(tasks)):
        first = plain(tasks[~found][0])
        what = f"No judge answered {n_lost} of the {len(tasks)} tasks that people answered; one is {first!r}."
        warnings.warn(FitWarning(what, "Check that judges and people name the tasks alike."), stacklevel=4)


def _are_many(n_lost: int, n_tasks: int) -> bool:
    return n_lost >= FEWEST and n_lost > MANY * n_tasks
