"""Why tasks of one file are not found in another, for messages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.crowd.data.names import plain, plain_text


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
