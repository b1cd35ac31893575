"""Prices of answers by worker, and who can be asked: dicts, tables, files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError, InputTypeError
from rectifact.crowd.data.files import read_flat
from rectifact.crowd.data.names import listed, matched, matched_workers, object_array, plain
from rectifact.crowd.data.tables import find_column

COST_NAMES = ("cost", "price", "costs", "prices")
"""Usual names of the column with the price."""


def read_costs(data: Any, columns: Mapping[str, str] | None = None) -> "pd.Series[float]":
    """Price of an answer by worker: from a dict or Series, or a table or file with columns worker and cost.

    ``columns`` are those that the answers were read from: the column of the worker may have the same name.

    Examples
    --------
    >>> read_costs({"ann": 2, "judge": "0.01"}).to_dict()
    {'ann': 2.0, 'judge': 0.01}
    """
    place = ""
    if isinstance(data, str | Path):
        place = f" in {str(data)!r}"
        try:
            data = read_flat(Path(data))
        except InputError as error:
            raise InputError(f"The costs cannot be read. {error.what}", error.remedy) from error
    if isinstance(data, Mapping):
        data = pd.Series(data, dtype=object)
    if isinstance(data, pd.Series):
        names, prices = object_array(data.index.tolist()), data.to_numpy()
    elif nw.dependencies.is_into_dataframe(data):
        frame = nw.from_native(data, eager_only=True)
        own = (columns or {}).get("worker")
        name = _worker_column(frame.columns, own, place)
        price = _price_column([other for other in frame.columns if other != name], place)
        names, prices = (frame.get_column(column).to_numpy() for column in (name, price))
    else:
        raise InputTypeError(
            f"costs is a dict or Series by worker, a table, or a file; got {type(data).__name__}.", "Give one of these."
        )
    return _checked(names, pd.to_numeric(pd.Series(prices), errors="coerce").to_numpy(dtype=float))


def _worker_column(columns: list[str], own: str | None, place: str) -> str:
    """The column that is called as in the answers or by a usual name, or the one beside that of the price."""
    if own in columns:
        return str(own)
    try:
        return find_column(columns, "worker", None)
    except InputError:
        others = [name for name in columns if str(name).lower() not in COST_NAMES]
        if len(columns) == 2 and len(others) == 1:
            return others[0]
        what = f"No column for the worker among the costs{place}: {columns}."
        raise InputError(what, "Call the one with the names of the workers 'worker'.") from None


def _price_column(others: list[str], place: str = "") -> str:
    named = [name for name in others if str(name).lower() in COST_NAMES]
    if len(named) == 1 or len(others) == 1:
        return (named or others)[0]
    what = f"No column for the price of an answer among the costs{place}: {others}."
    raise InputError(what, "Call the one with the prices 'cost'.")


def _checked(names: NDArray[Any], prices: NDArray[np.float64]) -> "pd.Series[float]":
    wrong = ~(np.isfinite(prices) & (prices > 0))
    if wrong.any():
        raise InputError(
            f"The cost of {plain(names[wrong][0])!r} is not a positive number.", "Give a price per answer."
        )
    found = pd.Series(prices, index=pd.Index(names, dtype=object))
    if found.index.has_duplicates:
        twice = found.index[found.index.duplicated()][0]
        raise InputError(f"The worker {plain(twice)!r} has several costs.", "Keep one of them.")
    return found


def prices_of(costs: "pd.Series[float] | None", workers: NDArray[Any]) -> NDArray[np.float64]:
    """Price of each worker's answer: 1 without costs, and infinite for those who have none and cannot be asked."""
    if costs is None:
        return np.ones(len(workers))
    places = _places(costs.index.to_numpy(), workers, "There is a cost for")
    prices = np.full(len(workers), np.inf)
    prices[places] = costs.to_numpy()
    return prices


def can_be_asked(asked: Any, tasks: NDArray[Any], workers: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether workers can be asked, of shape (n_workers,), or about which tasks, of shape (n_tasks, n_workers).

    ``asked`` is None for all, a sequence of workers, or a table with columns task and worker.

    Examples
    --------
    >>> import numpy as np
    >>> can_be_asked(["bob"], np.arange(3), np.array(["ann", "bob"], dtype=object))
    array([False,  True])
    """
    if asked is None:
        return np.ones(len(workers), dtype=bool)
    if isinstance(asked, pd.DataFrame):
        some = np.zeros((len(tasks), len(workers)), dtype=bool)
        task, worker = (find_column(list(asked.columns), role, None) for role in ("task", "worker"))
        place, who = matched(asked[task].to_numpy(), tasks), matched_workers(asked[worker].to_numpy(), workers)
        known = (place >= 0) & (who >= 0)
        some[place[known], who[known]] = True
        return some
    if isinstance(asked, str):
        raise InputError(f"workers={asked!r} is one name.", f"Give a list of names, such as workers=[{asked!r}].")
    whom = np.zeros(len(workers), dtype=bool)
    whom[_places(object_array(list(asked)), workers, "You cannot ask")] = True
    return whom


def _places(names: NDArray[Any], workers: NDArray[Any], before: str) -> NDArray[np.int64]:
    places = matched_workers(names, workers)
    strangers = names[places < 0]
    if len(strangers):
        raise InputError(
            f"{before} {listed(strangers)}, who gave no answer, so that nothing is known about them.",
            "Check the spelling, or let them answer some tasks first.",
        )
    return places
