"""Groups of workers who may err alike, or of tasks to compare: a dict, a table, a file, or a column of the answers."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.crowd.data.files import read_flat, values_beside
from rectifact.crowd.data.joined import several_tasks
from rectifact.crowd.data.names import listed, matched_workers, object_array, plain
from rectifact.crowd.data.tables import find_column, read_table
from rectifact.io.records import is_json

GROUP_NAMES = ("group", "family", "model", "vendor", "team")
"""Usual names of the column with the group."""

SEVERAL = "is in several groups"


def read_groups(data: Any, columns: Mapping[str, str] | None = None, role: str = "worker") -> dict[Any, Any]:
    """Group by worker, or by task: from a dict or Series, or a table or file with both.

    ``columns`` are those that the answers were read from: the column of the ``role`` may have the same name.

    Examples
    --------
    >>> import pandas as pd
    >>> read_groups(pd.DataFrame({"worker": ["ann", "bob"], "group": ["a", None]}))
    {'ann': 'a'}
    """
    if isinstance(data, str | Path):
        try:
            data = read_flat(Path(data))
        except InputError as error:
            raise InputError(f"The groups cannot be read. {error.what}", error.remedy) from error
    if isinstance(data, Mapping):
        data = pd.Series(data, dtype=object)
    if isinstance(data, pd.Series):
        return _by_name(data.index.to_numpy(), data.to_numpy(), role)
    if nw.dependencies.is_into_dataframe(data):
        frame = nw.from_native(data, eager_only=True)
        own = (columns or {}).get(role)
        name = find_column(frame.columns, role, own if own in frame.columns else None)
        group = _group_column([other for other in frame.columns if other != name], role)
        names, groups = (frame.get_column(column).to_numpy() for column in (name, group))
        return _by_name(names, groups, role)
    raise InputTypeError(
        f"groups is a dict or Series by {role}, a table, or a file; got {type(data).__name__}.", "Give one of these."
    )


def groups_in_column(
    data: Any, column: str, name: str | None, role: str = "worker", has: str = SEVERAL
) -> dict[Any, Any] | None:
    """Group by worker, or by task, from a ``column`` of the answers themselves, None if there is no such column.

    Parameters
    ----------
    data : path or table
    column : str
    name : str or None
        The column of the workers or tasks; None to find it.
    role : {"worker", "task"}
    has : str
        What is wrong with one that has several, in words.
    """
    if isinstance(data, Path) and is_json(data):
        found = values_beside(data, column, role, name)
        pair = None if name is None else (name, column)
        return None if found is None else _by_name(object_array(found[0]), object_array(found[1]), role, has, pair)
    frame = nw.from_native(read_table(data) if isinstance(data, Path) else data, eager_only=True)
    if column not in frame.columns:
        return None
    name = find_column(frame.columns, role, name)
    names, groups = (frame.get_column(one).to_numpy() for one in (name, column))
    return _by_name(names, groups, role, has, (name, column))


def _group_column(others: list[str], role: str) -> str:
    named = [name for name in others if str(name).lower() in GROUP_NAMES]
    if len(named) == 1 or len(others) == 1:
        return (named or others)[0]
    raise InputError(f"No column for the group of a {role} among {others}.", "Call it 'group'.")


def _by_name(
    names: NDArray[Any], groups: NDArray[Any], role: str, has: str = SEVERAL, pair: tuple[str, str] | None = None
) -> dict[Any, Any]:
    """A dict without workers or tasks that have no group; each is in one group only.

    ``pair`` are the columns of both, where these stand beside the answers.
    """
    table = pd.DataFrame({"name": names, "group": groups}, dtype=object)
    empty = table["group"].isna() | (table["group"] == "") | table["name"].isna()
    table = table[~empty].drop_duplicates()
    twice = table["name"].duplicated()
    if twice.any():
        name = table.loc[twice, "name"].iloc[0]
        found = table.loc[table["name"] == name, "group"].to_numpy()
        remedy = "Keep one of them."
        if role == "task" and has == SEVERAL and pair is not None:
            what = f"The task {plain(name)!r} {has}, {listed(found)}."
            raise several_tasks(what, *pair, "else keep one group for each task")
        if role == "task" and has == SEVERAL:
            apart = " and ".join(repr(f"{plain(name)}-{plain(group)}") for group in found[:2])
            remedy = f"If these are different tasks, make their names differ, as in {apart}; else keep one group."
        raise InputError(f"The {role} {plain(name)!r} {has}, {listed(found)}.", remedy)
    return dict(zip(table["name"].tolist(), table["group"].tolist(), strict=True))


def group_numbers(groups: Mapping[Any, Any], workers: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the group of each worker, -1 for none; a warning names those who gave no answer."""
    names = object_array(list(groups))
    place = matched_workers(names, workers)
    strangers = names[place < 0]
    if len(strangers):
        what = f"The groups contain {listed(strangers)}, who gave no answer."
        if len(strangers) == len(names):
            raise InputError(what, "Check that both name the workers alike.")
        warnings.warn(FitWarning(what, "Check the spelling if they did."), stacklevel=4)
    found = np.full(len(workers), -1, dtype=np.int64)
    found[place[place >= 0]] = pd.factorize(object_array(list(groups.values())))[0][place >= 0]
    return found
