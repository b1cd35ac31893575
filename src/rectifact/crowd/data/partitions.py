"""Partitioned answers, with the same methods as answers in memory.

What has one row per task stays with Dask: the matrix of the answers, known classes, posteriors and tables of results,
all in the same partitions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import InputError
from rectifact.core.operand import Operand, operand
from rectifact.core.reprs import short_repr
from rectifact.crowd.cooccurrence import answers_per_cell
from rectifact.crowd.data.answers import Answers, answer_matrix, check_seen, with_classes
from rectifact.crowd.data.names import Gold, check_gold, distinct, matched
from rectifact.crowd.data.read import read_more
from rectifact.crowd.data.repartition import Partition, box, joined, move, ordered_classes, settled, survey
from rectifact.crowd.data.results import result_table
from rectifact.crowd.data.sources import is_source
from rectifact.crowd.data.spellings import gold_like
from rectifact.crowd.data.tables import COLUMN_NAMES
from rectifact.crowd.data.unmatched import refuse_unanswered
from rectifact.crowd.data.workers import refuse_strangers
from rectifact.crowd.em import Floats, vote_shares
from rectifact.crowd.grades import chosen, expected_grades, grade_intervals


@short_repr
@dataclass(frozen=True, eq=False)
class LazyAnswers:
    """Partitioned answers, and the names of workers and classes, which are in memory.

    Attributes
    ----------
    partitions : dask array of shape (n_tasks, 1)
        A chunk holds one :class:`Partition`, and is declared as long as that has tasks.
    workers, classes : array
        Names, in the order of their numbers.
    columns : dict of str
        Which columns were read as task, worker and label.
    n_answers : int
    no_tasks : pandas.Index
        Empty, of the type that names of tasks have.
    """

    partitions: Any
    workers: NDArray[Any]
    classes: NDArray[Any]
    columns: dict[str, str]
    n_answers: int
    no_tasks: Any
    gold: ClassVar[None] = None
    source: ClassVar[dict[str, str]] = {}

    def __len__(self) -> int:
        return self.n_answers

    def matrix(self) -> Operand:
        """The matrix B of shape (n_tasks, n_workers * n_classes): how often worker m answered k."""
        n_cells = len(self.workers) * len(self.classes)
        return operand(self._rows(_matrix_of, columns=n_cells, dtype=np.float32))

    @cached_property
    def given(self) -> NDArray[np.int64]:
        """Number of answers by each worker."""
        return self.matrix().total(answers_per_cell).reshape(len(self.workers), -1).sum(axis=1).astype(int)

    @property
    def codes(self) -> tuple[NDArray[Any], ...]:
        """What tells these answers from others, without looking at each."""
        return self.workers, self.classes, self.given, np.array(self.partitions.chunks[0])

    @property
    def tasks(self) -> Any:
        """Names of the tasks, a Dask array."""
        return self._rows(_tasks_of, dtype=self.no_tasks.to_numpy().dtype)

    def weighted(self, weight: ArrayLike) -> "LazyAnswers":
        """Refused: there is no order that weights could be in."""
        raise InputError(
            "weights are for answers in memory: the rows of a partitioned table have no order.",
            "Fit a table in memory, or leave weights out.",
        )

    def known(self, gold: Gold | None) -> Any:
        """The class of each task where a gold label says it, -1 elsewhere, as a Dask array; None without labels."""
        if gold is None:
            return None
        gold = distinct(gold_like(gold, self.classes))
        codes = matched(gold[1], self.classes)
        found, twice = operand(self.partitions).total(_gold_found, gold[0])
        refuse_unanswered(gold[0], found > 0)
        check_gold(gold, codes, found > 0, twice > 0, self.classes)
        return self.matrix().keep(self._rows(_known_of, gold[0], codes, dtype=np.int64))[0]

    def shares(self, known: Any) -> Any:
        """Shares of the votes of each task, a Dask array; every task has an answer."""
        n_classes = len(self.classes)
        return self.matrix().map_rows(_shares, n_classes, along=(known,), columns=n_classes, dtype=np.float64)

    def labels(self, probas: Any, ordinal: bool = False) -> Any:
        """The likeliest class of each task, or the median of ordered grades, a Dask array."""
        return self.matrix().map_rows(_label_of, self.classes, ordinal, along=(probas,), dtype=self.classes.dtype)

    def grades(self, probas: Any) -> tuple[Any, Any]:
        """Expected grade of each task, and the interval, as Dask arrays."""
        expected = self.matrix().map_rows(_expected_of, self.classes, along=(probas,), dtype=np.float64)
        kept: dict[str, Any] = {"columns": 2, "dtype": self.classes.dtype}
        return expected, self.matrix().map_rows(_interval_of, self.classes, along=(probas,), **kept)

    def result(self, probas: Any, ordinal: bool = False) -> Any:
        """Dask dataframe by task: label, confidence, entropy and number of answers; of ordered grades, more."""
        return self._frame(partial(_result_of, ordinal=ordinal), probas)

    def by_task(self, values: Any) -> Any:
        """Dask dataframe with a column for each class, or series of labels, with the tasks as its index."""
        return self._frame(_table_of, values)

    def _rows(self, function: Callable[..., Any], *small: Any, **form: Any) -> Any:
        return operand(self.partitions).map_rows(function, *small, **form)

    def _frame(self, function: Callable[..., Any], values: Any) -> Any:
        import dask
        import dask.dataframe as dd

        make, classes = dask.delayed(function, pure=False), dask.delayed(self.classes)
        chunks = (array.to_delayed().ravel() for array in (self.partitions, values))
        parts = [
            make(partition, rows, classes)
            for partition, rows, size in zip(*chunks, self.partitions.chunks[0], strict=True)
            if size
        ]
        blank = box(Partition(sp.csr_array((0, self.matrix().shape[1])), self.no_tasks))
        nothing = np.empty((0, *values.shape[1:]), dtype=values.dtype)
        with dask.config.set({"dataframe.convert-string": False}):  # or classes that are dates would become texts
            return dd.from_delayed(parts, meta=function(blank, nothing, self.classes), verify_meta=False)


def is_lazy_data(data: Any) -> bool:
    """Whether these answers are, or will be, partitioned."""
    return isinstance(data, LazyAnswers) or is_source(data)


def read_lazy(
    data: Any,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    missing: Any = "auto",
    n_classes: int | None = None,
) -> LazyAnswers:
    """Repartition answers so that all answers to a task are in one partition.

    The table is read twice: for the names of workers and classes, which are numbered here, and for the answers,
    whose numbers then go to the new partitions.

    Parameters
    ----------
    data : dask.dataframe.DataFrame, path or list of paths
        A Dask dataframe with one answer per row, a folder of Parquet files or a pattern such as
        ``"folder/*.parquet"``, or a list of such files.
    task, worker, label : str, default None
        Names of the columns, as in :func:`rectifact.crowd.read_answers`.
    missing : any, default "auto"
        As in :func:`rectifact.crowd.read_answers`.
    n_classes : int, default None
        Number of classes, as in :class:`rectifact.DawidSkene`.

    Returns
    -------
    LazyAnswers
    """
    if isinstance(data, LazyAnswers):
        if n_classes not in (None, len(data.classes)):
            raise InputError(
                f"n_classes={n_classes}, but the answers were read with {len(data.classes)} classes.",
                "Read them with read_lazy(data, n_classes=...).",
                option="n_classes",
            )
        return data
    source, seen = survey(data, {"task": task, "worker": worker, "label": label}, missing)
    workers = seen.values["worker"]
    classes = with_classes(ordered_classes(seen, None, source.columns), n_classes).classes
    check_seen(workers, classes, len(seen.values["label"]), sum(seen.sizes))
    partitions, no_tasks = move(source, seen, missing, workers, classes)
    return LazyAnswers(partitions, workers, classes, source.columns, sum(seen.sizes), no_tasks)


def read_more_lazy(data: Any, fitted: Any, *, new: bool, n_partitions: int | None = None) -> LazyAnswers:
    """Answers that come later, by the workers and of the classes of a ``fitted`` estimator, or also by ``new`` ones."""
    if isinstance(data, LazyAnswers):
        raise InputError(
            "These answers were numbered for a fit.", "Give the folder or the dataframe from which they were read."
        )
    if not is_source(data):
        data = _table(read_more(data, fitted.classes_, missing=fitted.missing, names=fitted._named))
        columns: dict[str, str | None] = dict.fromkeys(COLUMN_NAMES)
    else:
        columns = {role: fitted._named.get(role) for role in COLUMN_NAMES}
    source, seen = survey(data, columns, fitted.missing)
    ordered_classes(seen, fitted.classes_.tolist(), source.columns)
    unknown = pd.Index(seen.values["worker"]).difference(pd.Index(fitted.workers_), sort=False).to_numpy()
    if not new:
        refuse_strangers(unknown)
    workers = joined([fitted.workers_, unknown]) if len(unknown) else fitted.workers_
    partitions, no_tasks = move(source, seen, fitted.missing, workers, fitted.classes_, n_partitions)
    return LazyAnswers(partitions, workers, fitted.classes_, source.columns, sum(seen.sizes), no_tasks)


def merge_lazy(old: LazyAnswers, more: LazyAnswers) -> tuple[LazyAnswers, Any]:
    """Both together, old tasks first in each partition, and which tasks got more answers, as a Dask array.

    They have the same partitions: where a task goes depends on its name alone.
    """
    import dask.array as da

    unsettled = da.map_blocks(_merged, old.partitions, more.partitions, dtype=object, meta=box(None)[:0])
    partitions, no_tasks = settled(unsettled)
    answers = LazyAnswers(partitions, more.workers, old.classes, old.columns, len(old) + len(more), no_tasks)
    touched = operand(partitions).map_rows(_touched, along=(more.partitions,), dtype=bool)
    return answers, answers.matrix().keep(touched)[0]


def _table(answers: Answers) -> pd.DataFrame:
    values = answers.tasks[answers.task], answers.workers[answers.worker], answers.classes[answers.label]
    return pd.DataFrame(dict(zip(COLUMN_NAMES, values, strict=True)))


def _merged(old_box: NDArray[Any], more_box: NDArray[Any]) -> NDArray[Any]:
    """Old tasks first; workers have only been added at the end."""
    old, more = old_box.item(), more_box.item()
    place = old.tasks.get_indexer(more.tasks)
    fresh = np.flatnonzero(place < 0)
    place[fresh] = len(old.tasks) + np.arange(len(fresh))
    tasks = old.tasks.append(more.tasks[fresh]) if len(fresh) else old.tasks
    rows = [np.repeat(np.arange(len(part.tasks)), np.diff(part.B.indptr)) for part in (old, more)]
    task, cell = np.concatenate([rows[0], place[rows[1]]]), np.concatenate([old.B.indices, more.B.indices])
    return box(Partition(answer_matrix(task, cell, (len(tasks), more.B.shape[1])), tasks))


def _touched(boxed: NDArray[Any], more_box: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(more_box.item().tasks.get_indexer(boxed.item().tasks) >= 0)


def _matrix_of(boxed: NDArray[Any]) -> sp.csr_array:
    return boxed.item().B


def _tasks_of(boxed: NDArray[Any]) -> NDArray[Any]:
    return boxed.item().tasks.to_numpy()


def _gold_found(boxed: NDArray[Any], tasks: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Which tasks with a gold label are in the partition, and how many of them are repetitions."""
    place = matched(tasks, boxed.item().tasks)
    here = place[place >= 0]
    return (place >= 0).astype(np.int64), len(here) - len(np.unique(here))


def _known_of(boxed: NDArray[Any], tasks: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.int64]:
    here = boxed.item().tasks
    place = matched(tasks, here)
    known = np.full(len(here), -1, dtype=np.int64)
    known[place[place >= 0]] = codes[place >= 0]
    return known


def _shares(rows: sp.csr_array, known: Any, n_classes: int) -> Floats:
    task = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    votes = np.bincount(task * n_classes + rows.indices % n_classes, minlength=rows.shape[0] * n_classes)
    return vote_shares(votes.reshape(-1, n_classes).astype(np.float64), known)


def _label_of(rows: Any, probas: Floats, classes: NDArray[Any], ordinal: bool) -> NDArray[Any]:
    return classes[chosen(probas, ordinal)]


def _expected_of(rows: Any, probas: Floats, classes: NDArray[Any]) -> Floats:
    return expected_grades(probas, classes)


def _interval_of(rows: Any, probas: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    return grade_intervals(probas, classes)


def _result_of(boxed: NDArray[Any], probas: Floats, classes: NDArray[Any], ordinal: bool) -> pd.DataFrame:
    B, tasks = boxed.item()
    return result_table(tasks, classes, probas, np.diff(B.indptr).astype(np.int64), ordinal)


def _table_of(boxed: NDArray[Any], values: NDArray[Any], classes: NDArray[Any]) -> pd.DataFrame | pd.Series:
    tasks = boxed.item().tasks.rename("task")
    if values.ndim == 1:
        return pd.Series(values, index=tasks, name="label")
    return pd.DataFrame(values, index=tasks, columns=pd.Index(classes))
