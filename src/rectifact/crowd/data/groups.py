"""Groups of workers who may err alike, from a dict, a table, a file, or a column of the answers."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.crowd.data.files import read_flat, values_beside_workers
from rectifact.crowd.data.names import listed, matched, object_array, plain
from rectifact.crowd.data.tables import find_column, read_table
from rectifact.io.records import is_json

GROUP_NAMES = ("group", "family", "model", "vendor", "team")
"""Usual names of the column with the group."""


def read_groups(data: Any, columns: Mapping[str, str] | None = None) -> dict[Any, Any]:
    """Group by worker: from a dict or Series by worker, or a table or file with both.

    ``columns`` are those that the answers were read from: the column of the workers may have the same name.

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
        return _by_worker(data.index.to_numpy(), data.to_numpy())
    if nw.dependencies.is_into_dataframe(data):
        frame = nw.from_native(data, eager_only=True)
        own = (columns or {}).get("worker")
        worker = find_column(frame.columns, "worker", own if own in frame.columns else None)
        group = _group_column([name for name in frame.columns if name != worker])
        return _by_worker(*(frame.get_column(name).to_numpy() for name in (worker, group)))
    raise InputTypeError(
        f"groups is a dict or Series by worker, a table, or a file; got {type(data).__name__}.", "Give one of these."
    )


def groups_in_column(path: Path, column: str, worker: str | None) -> dict[Any, Any] | None:
    """Group by worker from a ``column`` of the answers' file itself, None if there is no such column."""
    if is_json(path):
        found = values_beside_workers(path, column, worker)
        return None if found is None else _by_worker(*map(object_array, found))
    table = read_table(path)
    if column not in table.column_names:
        return None
    workers = table.column(find_column(table.column_names, "worker", worker))
    return _by_worker(*(part.to_numpy(zero_copy_only=False) for part in (workers, table.column(column))))


def _group_column(others: list[str]) -> str:
    named = [name for name in others if str(name).lower() in GROUP_NAMES]
    if len(named) == 1 or len(others) == 1:
        return (named or others)[0]
    raise InputError(f"No column for the group of a worker among {others}.", "Call it 'group'.")


def _by_worker(workers: NDArray[Any], groups: NDArray[Any]) -> dict[Any, Any]:
    """A dict without workers who have no group; a worker is in one group only."""
    table = pd.DataFrame({"worker": workers, "group": groups}, dtype=object)
    empty = table["group"].isna() | (table["group"] == "") | table["worker"].isna()
    table = table[~empty].drop_duplicates()
    twice = table["worker"].duplicated()
    if twice.any():
        worker = table.loc[twice, "worker"].iloc[0]
        found = table.loc[table["worker"] == worker, "group"].to_numpy()
        raise InputError(f"The worker {plain(worker)!r} is in several groups, {listed(found)}.", "Keep one of them.")
    return dict(zip(table["worker"].tolist(), table["group"].tolist(), strict=True))


def group_numbers(groups: Mapping[Any, Any], workers: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the group of each worker, -1 for none; a warning names those who gave no answer."""
    names = object_array(list(groups))
    place = matched(names, workers)
    strangers = names[place < 0]
    if len(strangers):
        what = f"groups names {listed(strangers)}, who gave no answer."
        if len(strangers) == len(names):
            raise InputError(what, "Check that both name the workers alike.")
        warnings.warn(FitWarning(what, "Check the spelling if they did."), stacklevel=4)
    found = np.full(len(workers), -1, dtype=np.int64)
    found[place[place >= 0]] = pd.factorize(object_array(list(groups.values())))[0][place >= 0]
    return found
