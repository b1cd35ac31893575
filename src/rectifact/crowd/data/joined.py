"""Tasks that several columns name together, such as a prompt and a version; and columns that should be among them."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from rectifact.core.errors import InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.files import fields_of, read_flat
from rectifact.crowd.data.names import joined_names, plain, plain_text, split_names
from rectifact.crowd.data.tables import COLUMN_NAMES, looks_long, parts_of, usual_name

READINGS = {
    "run",
    "repeat",
    "repetition",
    "replicate",
    "trial",
    "attempt",
    "sample",
    "seed",
    "iteration",
    "round",
    "epoch",
}
"""Words in names of columns that count repeated answers to one task."""

MOST_VERSIONS = 20
"""Values of a column that tells versions of a task apart; times and counters have more."""

MOST_COMPARED = 5_000_000
"""Answers among which repeated ones are looked for: sorting more takes too long."""

REPEATED, EXPLAINED = 0.1, 0.95
"""Share of answers that repeat a task and worker, and the share of these that a column must tell apart."""

FEWEST_REPEATED = 10
"""Repeated answers below which a column may tell them apart by chance."""


class RepeatedTask(InputError):
    """A table that is read as wide has several rows for one task."""


class SeveralTasks(InputError):
    """Answers that repeat tasks where a column tells these apart."""

    def of_people(self, where: str) -> InputError:
        """The same about answers of people, whose file is not the one that options are about."""
        old = "If these are different tasks, name"
        new = "If these are different tasks, the answers of judges must have that column too: add it, and name"
        remedy, command = self.remedy.replace(old, new), (self.command or self.remedy).replace(old, new)
        what = f"{where} repeats tasks: {self.what[0].lower()}{self.what[1:]}"
        return InputError(what, remedy, command=command)


def with_joined_task(data: Any, task: Any) -> tuple[Any, Any]:
    """A table with one more column for a task that several columns name together, and its name.

    Parameters
    ----------
    data : any
        Answers, people's answers or gold labels; without all of these columns, they are returned as they are.
    task : str, sequence of str or None
        Names of columns, as a text with commas between them; a single name is returned as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> table, name = with_joined_task(pd.DataFrame({"id": [1.0, 1.0], "version": ["A", "B"]}), "id,version")
    >>> name, table[name].tolist()
    ('id,version', ['1, A', '1, B'])
    """
    if not isinstance(task, str | list | tuple):
        return data, task
    names = split_names(task) if isinstance(task, str) else list(task)
    if isinstance(task, str) and len(names) < 2:
        return data, task
    joined = task if isinstance(task, str) else names[0] if len(names) == 1 else joined_names(names)
    form, present = columns_of(data)
    if form != "records" or joined in present or not set(names) <= set(present):
        return data, joined
    frame = table_of(data).copy()
    texts = [[_text(value) for value in frame[name]] for name in names]
    frame[joined] = [None if "" in parts else ", ".join(parts) for parts in zip(*texts, strict=True)]
    return frame, joined


def task_parts(data: Any, task: Any) -> dict[str, dict[Any, Any]]:
    """The values of the columns that were joined to name the ``task``, by its name."""
    if not isinstance(data, pd.DataFrame):
        return {}
    once = data[data[task].notna() & ~data[task].duplicated()] if task in data.columns else data
    return {
        name: dict(zip(once[task].tolist(), once[name].tolist(), strict=True))
        for name in parts_of(task, list(data.columns))
    }


def table_of(data: Any) -> pd.DataFrame:
    """A table of pandas from a file, any table or a list of records."""
    if isinstance(data, str | Path):
        data = read_flat(Path(data))
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, list):
        data = pd.DataFrame(data, dtype=object)
    if isinstance(data, pd.DataFrame):
        return data.reset_index() if data.index.name is not None else data
    return nw.from_native(data, eager_only=True).to_pandas()


def columns_of(data: Any) -> tuple[str, list[Any]]:
    """The format of the data, and its columns; none for what is not a table."""
    is_table = isinstance(data, str | Path | list) or nw.dependencies.is_into_dataframe(data)
    return fields_of(data) if is_table else ("", [])


def _text(value: Any) -> str:
    """A part of the name of a task; a gap is empty."""
    return "" if pd.isna(value) else plain_text(value)


def refuse_versions(data: Any, answers: Answers) -> None:
    """Refuse answers that repeat tasks and workers where a column, such as a version, tells them apart."""
    if not {"task", "worker", "label"} <= answers.columns.keys() or len(answers) > MOST_COMPARED:
        return
    cell = answers.task.astype(np.int64) * len(answers.workers) + answers.worker
    if len(cell) - len(np.unique(cell)) < max(REPEATED * len(cell), FEWEST_REPEATED):
        return
    column = None
    with suppress(InputError):  # records with lists in them, whose fields cannot be compared
        column = _versions(table_of(data), answers.columns)
    if column is not None:
        raise several_tasks(
            f"Workers answered the same task several times, and the column {column!r} tells these answers apart.",
            answers.columns["task"],
            column,
            "if they are repeated answers to one task, leave that column out of the file",
        )


def refuse_repeated_rows(table: pd.DataFrame, task: Any) -> None:
    """Refuse a wide table with several rows for a task where a column, such as a version, tells them apart.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": [1, 1, 2, 2], "version": ["A", "B", "A", "B"], "gpt": [1, 0, 1, 1]})
    >>> refuse_repeated_rows(table, "id")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    rectifact.crowd.data.joined.RepeatedTask: A wide table has one row for each task
    """
    repeated = table[table[task].duplicated(keep=False)]
    if not len(repeated) or looks_long(list(table.columns)):
        return
    others = [name for name in table.columns if name != task]
    by_chance = len(repeated) - _n_values(repeated[task]) < FEWEST_REPEATED
    for name in others:
        if _is_reading(name) or not 2 <= _n_values(table[name]) <= MOST_VERSIONS:
            continue
        if repeated.duplicated([task, name]).any() or (by_chance and _says_what_others_say(table, name, others)):
            continue
        several = f"here {plain(repeated[task].iloc[0])!r} in the column {task!r} has several"
        what = f"A wide table has one row for each task; {several}, which the column {name!r} tells apart."
        error = several_tasks(what, str(task), name, "if not, merge the rows of each task into one")
        raise RepeatedTask(error.what, error.remedy, command=error.command)


def _says_what_others_say(table: pd.DataFrame, name: Any, others: Sequence[Any]) -> bool:
    """Whether another column has a value of this one, as that of another worker would; a single column is a worker."""
    own = set(table[name].dropna())
    return len(others) == 1 or any(table[other].isin(own).any() for other in others if other != name)


def several_tasks(what: str, task: str, column: str, otherwise: str) -> InputError:
    """An error about a task that is several, and how to make one of each."""
    names = [*(split_names(task) if "," in task else [task]), column]
    remedy = "If these are different tasks, name both columns: {}; " + otherwise + "."
    command = remedy.format(f"--task {shlex.quote(joined_names(names))}")
    return SeveralTasks(what, remedy.format(f"task={names!r}"), command=command)


def _versions(table: pd.DataFrame, columns: Mapping[str, str]) -> Any:
    """The column that tells repeated answers apart, None if there is none."""
    task, worker, label = (columns[role] for role in ("task", "worker", "label"))
    table = table[table[label].notna()]
    repeated = table.duplicated([task, worker], keep=False)
    n_repeated = int(table[repeated].duplicated([task, worker]).sum())
    for name in table.columns:
        if name in (task, worker, label) or _is_reading(name) or not 2 <= _n_values(table[name]) <= MOST_VERSIONS:
            continue
        left = int(table[repeated].duplicated([task, worker, name]).sum())
        if left <= (1 - EXPLAINED) * n_repeated:
            return name
    return None


def _is_reading(name: Any) -> bool:
    """Whether a column is called like one that counts readings of a task, or that has labels."""
    usual = usual_name(name)
    return usual in COLUMN_NAMES["label"] or bool(READINGS & {word.rstrip("s") for word in usual.split("_")})


def _n_values(column: "pd.Series[Any]") -> int:
    """Number of different values, 0 if they cannot be compared."""
    try:
        return int(column.nunique())
    except TypeError:  # lists
        return 0
