"""From a partitioned table to partitions with all answers to a task in one of them.

The table is surveyed first, for the names of workers and classes; then its rows, as numbers, move to new partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError, InputTypeError, count
from rectifact.core.operand import operand
from rectifact.crowd.data.answers import Answers, answer_matrix, encode, make_answers
from rectifact.crowd.data.gaps import labelled, warn_of_empty
from rectifact.crowd.data.names import as_spelt, object_array
from rectifact.crowd.data.sources import Source, open_source

LEAST_ANSWERS = 1 << 19
"""Answers that a partition should hold: below, Dask takes longer than the arithmetic."""

LEAST_PARTITIONS = 16
"""Partitions for many machines to share, however small they are."""


class Partition(NamedTuple):
    """All answers to some tasks.

    Attributes
    ----------
    B : sparse array of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    tasks : pandas.Index
        Names of the tasks; pandas packs texts.
    """

    B: sp.csr_array
    tasks: pd.Index


@dataclass(frozen=True)
class Survey:
    """What one partition of a table holds, or several together.

    Attributes
    ----------
    sizes : tuple of int
        Number of answers with a label, by partition.
    n_empty : int
        Answers without a label.
    lost : dict of int
        By role, the number of answers that lack it.
    values : dict of array
        The workers and the labels seen, in order of appearance.
    """

    sizes: tuple[int, ...]
    n_empty: int
    lost: dict[str, int]
    values: dict[str, NDArray[Any]]

    def __add__(self, other: "Survey") -> "Survey":
        values = {}
        for role, mine in self.values.items():
            seen = [array for array in (mine, other.values[role]) if len(array)]  # an empty one may be of any type
            values[role] = pd.unique(joined(seen)) if seen else mine
        lost = {role: number + other.lost[role] for role, number in self.lost.items()}
        return Survey(self.sizes + other.sizes, self.n_empty + other.n_empty, lost, values)


def joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; numbers and texts stay what they are, where numpy would make texts of both."""
    numbers = {array.dtype.kind in "biuf" for array in arrays}
    mixed = len({array.dtype for array in arrays}) > 1 and numbers != {True}
    return np.concatenate([array.astype(object) if mixed else array for array in arrays])


def survey(data: Any, names: dict[str, str | None], missing: Any) -> tuple[Source, Survey]:
    """Open a partitioned table and look through it once."""
    source = open_source(data, names)
    with _unfused():
        found: Survey = operand(_boxes(source.parts)).total(_survey, source.columns, missing)
    warn_of_empty(found.n_empty, stacklevel=3)
    for role, lost in found.lost.items():
        if lost:
            raise InputError(
                f"{count(lost, 'answer')} {'has' if lost == 1 else 'have'} no {role}.",
                f"Drop such rows: frame.dropna(subset=[{source.columns[role]!r}]).",
                command="Drop these rows.",
            )
    if not sum(found.sizes):
        raise InputError("There are no answers in this data.", "Check the files, or what stands for a missing answer.")
    return source, found


def ordered_classes(seen: Survey, classes: Sequence[Any] | None, columns: dict[str, str]) -> Answers:
    """One answer for each label seen, to put the classes in order as those of a table are."""
    labels = seen.values["label"]
    nobody = np.zeros(len(labels), dtype=np.int32)
    codes: dict[str, NDArray[Any]] = {"task": nobody, "worker": nobody, "label": np.arange(len(labels))}
    return make_answers(codes, seen.values | {"task": np.zeros(1)}, classes, columns)


def _survey(boxed: NDArray[Any], columns: dict[str, str], missing: Any) -> Survey:
    rows, n_empty = _answered(boxed.item(), columns, missing)
    values = {role: encode(rows[role], role)[1] for role in ("worker", "label")}
    lost = {role: int(rows[role].isna().sum()) for role in columns}
    return Survey((len(rows),), n_empty, lost, values)


def _answered(part: pd.DataFrame, columns: dict[str, str], missing: Any) -> tuple[pd.DataFrame, int]:
    """Rows with a label, their columns called by role, and the number of rows that have none."""
    kept, n_empty = labelled(part[columns["label"]].to_numpy(), missing)
    rows = pd.DataFrame({role: _plain(part[name]).reset_index(drop=True) for role, name in columns.items()})
    return rows if kept.all() else rows[kept], n_empty


def _plain(column: Any) -> Any:
    """A categorical column as its values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def move(
    source: Source,
    seen: Survey,
    missing: Any,
    workers: NDArray[Any],
    classes: NDArray[Any],
    n_partitions: int | None = None,
) -> tuple[Any, Any]:
    """Partitions in which workers and classes are numbered, as :func:`settled` returns them."""
    import dask

    if n_partitions is None:
        n_partitions = min(len(seen.sizes), max(LEAST_PARTITIONS, -(-sum(seen.sizes) // LEAST_ANSWERS)))
    # The names are one node of the graph, so that they travel once.
    names = dask.delayed((source.columns, missing, workers, classes), traverse=False)
    code, make = dask.delayed(_coded_rows, pure=False), dask.delayed(_partition, pure=False)
    coded = [code(part, names) for part, size in zip(source.parts, seen.sizes, strict=True) if size]
    with _unfused():
        return settled(_boxes([make(rows, len(workers), len(classes)) for rows in _by_task(coded, n_partitions)]))


def _boxes(parts: Sequence[Any]) -> Any:
    """Lazy objects as a Dask array with one of them in each chunk."""
    import dask
    import dask.array as da

    lazy = dask.delayed(box, pure=False)
    return da.concatenate([da.from_delayed(lazy(part), (1, 1), dtype=object, meta=box(None)[:0]) for part in parts])


def _unfused() -> Any:
    """Keep Dask from fusing tasks: what comes out of a dataframe, the fusion of arrays would lose."""
    import dask

    return dask.config.set({"optimization.fuse.active": False})


def box(value: Any) -> NDArray[Any]:
    """An array that holds one object."""
    return object_array([value])[:, None]


def settled(boxes: Any) -> tuple[Any, Any]:
    """Partitions made and kept where they are, their sizes declared, and an empty index of the type of their tasks."""
    import dask.array as da

    (kept,) = operand(boxes).keep(boxes)
    facts = operand(kept).total(_facts)
    types = {none.dtype: none for size, none in facts if size}
    no_tasks = next(iter(types.values())) if len(types) == 1 else pd.Index([], dtype=object)
    sizes = tuple(size for size, _ in facts)
    return da.Array(kept.dask, kept.name, chunks=(sizes, (1,)), dtype=object, meta=box(None)[:0]), no_tasks


def _facts(boxed: NDArray[Any]) -> list[tuple[int, Any]]:
    tasks = boxed.item().tasks
    return [(len(tasks), tasks[:0])]


def _coded_rows(part: pd.DataFrame, names: tuple[Any, ...]) -> pd.DataFrame:
    """Rows as few bytes: the task as it is, one number for worker and label, and a key of the task."""
    columns, missing, workers, classes = names
    rows, _ = _answered(part, columns, missing)
    number = {}
    for role, known in (("worker", workers), ("label", classes)):
        codes, values = encode(rows[role], role)
        if role == "label" and values.dtype == object:  # the survey has said which are spelt otherwise
            values = object_array([as_spelt(value, known) for value in values.tolist()])
        number[role] = pd.Index(known).get_indexer(pd.Index(values))[codes]
    cell = number["worker"] * len(classes) + number["label"]
    cell = cell.astype(np.int32 if len(workers) * len(classes) < 2**31 else np.int64)
    key = _keys(rows["task"].to_numpy()).astype(np.uint32)
    return pd.DataFrame({"task": rows["task"].reset_index(drop=True), "cell": cell, "key": key})


def _keys(tasks: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each task, the same on every machine and for all tasks that are equal, such as 1 and 1.0."""
    if tasks.dtype.kind in "biuf":
        return pd.util.hash_array(tasks.astype(np.float64) + 0.0)
    if tasks.dtype.kind == "M":
        return pd.util.hash_array(tasks.astype("datetime64[ns]"))
    if pd.api.types.infer_dtype(tasks, skipna=False) == "string":
        return pd.util.hash_array(tasks.astype(object))
    keys = pd.util.hash_array(object_array([str(task) for task in tasks]))
    numbers = np.array([isinstance(task, int | float | np.number) for task in tasks], dtype=bool)
    keys[numbers] = pd.util.hash_array(tasks[numbers].astype(np.float64) + 0.0)
    return keys


def _by_task(coded: list[Any], n_partitions: int) -> list[Any]:
    """Rows of all partitions in ``n_partitions`` others, all rows of a task in one that depends on its key alone.

    By plain tasks of Dask, not by its shuffle service: what is lost with a machine is made again like anything else.
    """
    import dask
    import dask.dataframe as dd

    if n_partitions == 1 and len(coded) == 1:
        return coded
    columns = {"task": object, "cell": np.int64, "key": np.uint32}
    meta = pd.DataFrame({name: np.empty(0, dtype) for name, dtype in columns.items()})
    with dask.config.set({"dataframe.convert-string": False}):  # or a task that is a number would become a text
        rows = dd.from_delayed(coded, meta=meta, verify_meta=False)
        moved = rows.shuffle("key", npartitions=n_partitions, shuffle_method="tasks", ignore_index=True)
        return list(moved.to_delayed())


def _partition(rows: pd.DataFrame, n_workers: int, n_classes: int) -> Partition:
    try:
        task, tasks = pd.factorize(rows["task"].infer_objects())  # not encode, whose array would unpack texts
    except TypeError as error:
        raise InputTypeError(f"A task is a list or a dict ({error}).", "Turn it into text first.") from error
    B = answer_matrix(task, rows["cell"].to_numpy(), (len(tasks), n_workers * n_classes))
    return Partition(B, pd.Index(tasks))
