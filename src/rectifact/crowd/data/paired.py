"""Tasks that differ only in their group, such as the answers of two versions to one prompt."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.humans import Groups


def paired_tasks(answers: Answers, groups: Groups | None) -> NDArray[np.int64] | None:
    """A number for each task that those share which differ only in their group; None if no two tasks do.

    Tasks are named by several columns, such as a prompt and a version, of which one says the group. The others, such as
    the prompt, say which tasks belong together.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from rectifact.crowd import read_answers
    >>> table = pd.DataFrame({"prompt": [7, 7, 8], "version": ["A", "B", "A"], "gpt": [1, 0, 1], "llama": [1, 1, 0]})
    >>> answers = read_answers(table, task=["prompt", "version"], wide=True)
    >>> paired_tasks(answers, (np.array([0, 1, 0]), np.array(["A", "B"])))
    array([0, 0, 1])
    """
    if groups is None or not answers.task_parts:
        return None
    names = answers.tasks.tolist()
    parts = pd.DataFrame({column: [by.get(name) for name in names] for column, by in answers.task_parts.items()})
    of_group = next((column for column in parts if _says_group(parts[column], groups[0])), None)
    if of_group is None:
        return None
    numbers = pd.MultiIndex.from_frame(parts.drop(columns=of_group)).factorize()[0].astype(np.int64)
    return numbers if len(np.unique(numbers)) < len(numbers) else None


def _says_group(column: "pd.Series[Any]", group: NDArray[np.int64]) -> bool:
    """Whether a column has one value for each group."""
    inside = group >= 0
    both = pd.DataFrame({"value": pd.factorize(column)[0][inside], "group": group[inside]}).drop_duplicates()
    return not (both["value"].duplicated().any() or both["group"].duplicated().any())
