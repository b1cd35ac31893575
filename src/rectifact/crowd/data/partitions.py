"""Answers in parts to coded blocks: survey the parts, number workers and classes, bring each task to one block."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from rectifact.core.errors import InputError, InputTypeError
from rectifact.crowd.advice.calibration import tempered
from rectifact.crowd.blocks import Block, BlockAnswers, BlockPosteriors, add_up, compute, map_blocks, persist
from rectifact.crowd.cooccurrence import answers_per_cell
from rectifact.crowd.data.answers import Answers, check_seen, encode, make_answers, object_array, plain, with_classes
from rectifact.crowd.data.read import Gold, labelled, matched, read_more, warn_of_empty
from rectifact.crowd.data.sources import Partitions, is_source, open_source
from rectifact.crowd.data.tables import COLUMN_NAMES
from rectifact.crowd.em import Floats

__all__ = ["LazyAnswers", "is_lazy_data", "likeliest", "merge_lazy", "read_lazy", "read_more_lazy"]

LEAST_ANSWERS = 1 << 19
"""Answers that a block should hold, where parts are smaller: below, dask takes longer than the arithmetic."""

LEAST_BLOCKS = 16
"""Blocks that there should be for many machines to share, however small they are."""


@dataclass(frozen=True)
class Survey:
    """What a part, or all parts together, hold.

    Attributes
    ----------
    sizes : number of answers with a label, by part
    n_empty : answers without a label
    lost : by role, number of answers that lack it
    values : the workers and the labels seen, in order of appearance
    """

    sizes: tuple[int, ...]
    n_empty: int
    lost: dict[str, int]
    values: dict[str, NDArray[Any]]

    def __add__(self, other: "Survey") -> "Survey":
        values = {}
        for role, mine in self.values.items():
            seen = [array for array in (mine, other.values[role]) if len(array)]  # an empty one may be of any type
            values[role] = pd.unique(_joined(seen)) if seen else mine
        lost = {role: count + other.lost[role] for role, count in self.lost.items()}
        return Survey(self.sizes + other.sizes, self.n_empty + other.n_empty, lost, values)


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; numbers and texts stay what they are, where numpy would make texts of both."""
    numbers = {array.dtype.kind in "biuf" for array in arrays}
    mixed = len({array.dtype for array in arrays}) > 1 and numbers != {True}
    return np.concatenate([array.astype(object) if mixed else array for array in arrays])


@dataclass(frozen=True, eq=False)
class LazyAnswers:
    """Answers in blocks, and the names of workers and classes, which are here.

    Attributes
    ----------
    B : the blocks
    workers, classes, columns : as in :class:`rectifact.crowd.Answers`
    n_answers : int
    no_tasks : an empty index of the type that names of tasks have
    """

    B: BlockAnswers
    workers: NDArray[Any]
    classes: NDArray[Any]
    columns: dict[str, str]
    n_answers: int
    no_tasks: Any

    def __len__(self) -> int:
        return self.n_answers

    @cached_property
    def given(self) -> Floats:
        """Number of answers of each worker."""
        return answers_per_cell(self.B).reshape(len(self.workers), -1).sum(axis=1)

    @property
    def codes(self) -> tuple[NDArray[Any], ...]:
        """What tells these answers from others, without looking at each."""
        return self.workers, self.classes, self.given, np.array(self.B.sizes)

    @property
    def tasks(self) -> Any:
        """Names of the tasks, a dask array."""
        return self._array(map_blocks(_tasks_of_block, self.B.blocks), (), self.no_tasks.to_numpy().dtype)

    def weighted(self, weight: ArrayLike) -> "LazyAnswers":
        """Refused: there is no order that weights could be in."""
        raise InputError(
            "weights are for answers in memory: those that dask reads in parts have no order. Fit a table, or leave "
            "weights out."
        )

    def with_gold(self, gold: Gold | None) -> "LazyAnswers":
        """The same answers with tasks of known class; the others' gold labels are left out."""
        if gold is None:
            return self
        tasks, labels = gold
        codes = matched(labels, self.classes)
        found, twice = self.B.total(_gold_found, tasks)
        unknown = np.flatnonzero((codes < 0) & (found > 0))
        if unknown.size:
            raise InputError(
                f"The gold label {plain(labels[unknown[0]])!r} of task {plain(tasks[unknown[0]])!r} is none of the "
                f"classes {self.classes.tolist()}. Correct it, or leave it out."
            )
        if not found.any():
            raise InputError("No task with a gold label was answered. Check that both name the tasks alike.")
        if twice:
            raise InputError("A task has two gold labels. Keep one of them.")
        blocks = persist(map_blocks(_with_gold, self.B.blocks, tasks, codes))
        return replace(self, B=replace(self.B, blocks=blocks))

    def touched(self) -> "LazyAnswers":
        """The part that concerns the tasks which got answers last."""
        blocks, sizes, _ = _settled(map_blocks(_touched_part, self.B.blocks))
        return replace(self, B=replace(self.B, blocks=blocks, sizes=sizes))

    def probas(self, posteriors: BlockPosteriors) -> Any:
        """Posteriors as a dask array (n_tasks, n_classes)."""
        n_classes = len(self.classes)
        parts = map_blocks(_probas_of_block, self.B.blocks, posteriors.rules, n_classes, None)
        return self._array(parts, (n_classes,), np.float64)

    def labels(self, posteriors: BlockPosteriors) -> Any:
        """The likeliest class of each task, a dask array."""
        parts = map_blocks(_labels_of_block, self.B.blocks, posteriors.rules, self.classes)
        return self._array(parts, (), self.classes.dtype)

    def result(self, posteriors: BlockPosteriors) -> Any:
        """Dask dataframe by task: label, confidence, entropy and number of answers."""
        return self._frame(_result_of_block, posteriors.rules, self.classes)

    def predictions(self, posteriors: BlockPosteriors, power: float | None) -> Any:
        """Dask dataframe of posteriors, one column per class, by task; raised to ``power`` if there is one."""
        return self._frame(_table_of_block, posteriors.rules, self.classes, power)

    def _array(self, parts: list[Any], rest: tuple[int, ...], dtype: Any) -> Any:
        import dask.array as da

        chunks = [
            da.from_delayed(part, (size, *rest), dtype=dtype)
            for part, size in zip(parts, self.B.sizes, strict=True)
            if size
        ]
        return da.concatenate(chunks)

    def _frame(self, function: Any, *arguments: Any) -> Any:
        import dask
        import dask.dataframe as dd

        no_answers = sp.csr_array((0, self.B.shape[1]), dtype=np.float32)
        blank = Block(no_answers, self.no_tasks, None, *_unjudged(0))
        filled = [block for block, size in zip(self.B.blocks, self.B.sizes, strict=True) if size]
        parts = map_blocks(function, filled, *arguments)
        with dask.config.set({"dataframe.convert-string": False}):  # or classes that are dates would become texts
            return dd.from_delayed(parts, meta=function(blank, *arguments), verify_meta=False)


def is_lazy_data(data: Any) -> bool:
    """Whether these answers are, or will be, in blocks."""
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
    """Bring answers in parts into blocks: all answers to a task in one of them.

    The parts are read twice: for the names of workers and classes, which are numbered here, and for the answers,
    whose numbers then go from the parts to the blocks.

    Parameters
    ----------
    data : a dask dataframe with one answer per row, a folder of Parquet files or a pattern such as
        ``"folder/*.parquet"``, or a list of such files
    task, worker, label, missing : as in :func:`rectifact.crowd.read_answers`
    n_classes : number of classes, as in :class:`rectifact.DawidSkene`
    """
    if isinstance(data, LazyAnswers):
        if n_classes not in (None, len(data.classes)):
            raise InputError(f"n_classes={n_classes}, but the answers were read with {len(data.classes)} classes.")
        return data
    source, survey = _surveyed(data, {"task": task, "worker": worker, "label": label}, missing)
    seen = with_classes(_sample(survey, None, source.columns), n_classes)
    check_seen(survey.values["worker"], seen.classes, len(survey.values["label"]), sum(survey.sizes))
    return _blocks(source, survey, missing, survey.values["worker"], seen.classes)


def read_more_lazy(
    data: Any, classes: NDArray[Any], *, missing: Any, workers: NDArray[Any], new: bool, n_blocks: int | None = None
) -> LazyAnswers:
    """Answers that come later, of the same classes and workers; with ``new`` workers after the old ones."""
    if isinstance(data, LazyAnswers):
        raise InputError("These answers were numbered for a fit. Give the folder or the dataframe they were read from.")
    if not is_source(data):
        data = _table(read_more(data, classes, missing=missing))
    source, survey = _surveyed(data, dict.fromkeys(COLUMN_NAMES), missing)
    _sample(survey, classes.tolist(), source.columns)
    seen = pd.Index(survey.values["worker"])
    unknown = seen.difference(pd.Index(workers), sort=False).to_numpy()
    if len(unknown) and not new:
        raise InputError(
            f"{len(unknown)} workers were not in the data of fit, first {plain(unknown[0])!r}. Leave their answers "
            "out, or take them in with partial_fit."
        )
    everybody = _joined([workers, unknown]) if len(unknown) else workers
    return _blocks(source, survey, missing, everybody, classes, n_blocks)


def merge_lazy(old: LazyAnswers, more: LazyAnswers, n_rules: int) -> LazyAnswers:
    """Both together; their blocks hold the same tasks, and those of ``more`` are touched, by rule ``n_rules``."""
    from dask import delayed

    merge = delayed(_merged, pure=False)
    lazy = [merge(a, b, n_rules) for a, b in zip(old.B.blocks, more.B.blocks, strict=True)]
    blocks, sizes, no_tasks = _settled(lazy)
    B = BlockAnswers(blocks, sizes, len(more.workers), len(old.classes))
    return LazyAnswers(B, more.workers, old.classes, old.columns, len(old) + len(more), no_tasks)


def likeliest(probas: Any, classes: NDArray[Any]) -> Any:
    """Dask series of the likeliest class by task, from a dask dataframe of probabilities."""
    meta = pd.Series(classes[:0], index=probas._meta.index, name="label")
    return probas.map_partitions(_likeliest, classes, meta=meta, enforce_metadata=False)


def _likeliest(probas: pd.DataFrame, classes: NDArray[Any]) -> pd.Series:
    return pd.Series(classes[probas.to_numpy().argmax(axis=1)], index=probas.index, name="label")


def _surveyed(data: Any, names: dict[str, str | None], missing: Any) -> tuple[Partitions, Survey]:
    from dask import delayed

    source = open_source(data, names)
    look = delayed(_survey, pure=False)
    survey: Survey = compute(add_up([look(part, source.columns, missing) for part in source.parts]))
    warn_of_empty(survey.n_empty, stacklevel=3)
    for role, count in survey.lost.items():
        if count:
            remedy = f"Drop them: frame.dropna(subset=[{source.columns[role]!r}])."
            raise InputError(f"{count} answers have no {role}. {remedy}")
    if not sum(survey.sizes):
        raise InputError("There are no answers in this data. Check the files, or what stands for a missing answer.")
    return source, survey


def _table(answers: Answers) -> pd.DataFrame:
    values = answers.tasks[answers.task], answers.workers[answers.worker], answers.classes[answers.label]
    return pd.DataFrame(dict(zip(COLUMN_NAMES, values, strict=True)))


def _sample(survey: Survey, classes: Sequence[Any] | None, columns: dict[str, str]) -> Answers:
    """One answer for each label seen, to put the classes in order as those of a table are."""
    labels = survey.values["label"]
    nobody = np.zeros(len(labels), dtype=np.int32)
    codes: dict[str, NDArray[Any]] = {"task": nobody, "worker": nobody, "label": np.arange(len(labels))}
    return make_answers(codes, survey.values | {"task": np.zeros(1)}, classes, columns)


def _survey(part: pd.DataFrame, columns: dict[str, str], missing: Any) -> Survey:
    rows, n_empty = _rows(part, columns, missing)
    values = {role: encode(rows[role], role)[1] for role in ("worker", "label")}
    lost = {role: int(rows[role].isna().sum()) for role in columns}
    return Survey((len(rows),), n_empty, lost, values)


def _rows(part: pd.DataFrame, columns: dict[str, str], missing: Any) -> tuple[pd.DataFrame, int]:
    """Rows with a label, their columns called by role, and the number of rows that have none."""
    kept, n_empty = labelled(part[columns["label"]].to_numpy(), missing)
    rows = pd.DataFrame({role: _plain(part[name]).reset_index(drop=True) for role, name in columns.items()})
    return rows if kept.all() else rows[kept], n_empty


def _plain(column: Any) -> Any:
    """A categorical column as its values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def _blocks(
    source: Partitions,
    survey: Survey,
    missing: Any,
    workers: NDArray[Any],
    classes: NDArray[Any],
    n_blocks: int | None = None,
) -> LazyAnswers:
    from dask import delayed

    if n_blocks is None:
        n_blocks = min(len(survey.sizes), max(LEAST_BLOCKS, -(-sum(survey.sizes) // LEAST_ANSWERS)))
    filled = [part for part, size in zip(source.parts, survey.sizes, strict=True) if size]
    coded = map_blocks(_coded_rows, filled, source.columns, missing, workers, classes)
    make = delayed(_block, pure=False)
    lazy = [make(rows, len(workers), len(classes)) for rows in _by_task(coded, n_blocks)]
    blocks, sizes, no_tasks = _settled(lazy)
    B = BlockAnswers(blocks, sizes, len(workers), len(classes))
    return LazyAnswers(B, workers, classes, source.columns, sum(survey.sizes), no_tasks)


def _settled(lazy: list[Any]) -> tuple[tuple[Any, ...], tuple[int, ...], Any]:
    """Blocks made and kept where they are, the sizes of all, and an empty index of the type of their tasks."""
    from dask import delayed

    blocks = persist(lazy)
    facts = compute(delayed(list)(map_blocks(_facts, blocks)))
    types = {none.dtype: none for size, none in facts if size}
    no_tasks = next(iter(types.values())) if len(types) == 1 else pd.Index([], dtype=object)
    return blocks, tuple(size for size, _ in facts), no_tasks


def _facts(block: Block) -> tuple[int, Any]:
    return len(block.tasks), block.tasks[:0]


def _coded_rows(
    part: pd.DataFrame, columns: dict[str, str], missing: Any, workers: NDArray[Any], classes: NDArray[Any]
) -> pd.DataFrame:
    """Rows as few bytes: the task as it is, one number for worker and label, and what sends the task to its block."""
    rows, _ = _rows(part, columns, missing)
    number = {}
    for role, known in (("worker", workers), ("label", classes)):
        codes, values = encode(rows[role], role)
        number[role] = pd.Index(known).get_indexer(pd.Index(values))[codes]
    cell = (number["worker"] * len(classes) + number["label"]).astype(_cell_type(len(workers), len(classes)))
    key = _keys(rows["task"].to_numpy()).astype(np.uint32)
    return pd.DataFrame({"task": rows["task"].reset_index(drop=True), "cell": cell, "key": key})


def _cell_type(n_workers: int, n_classes: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_workers * n_classes < 2**31 else np.int64


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


def _by_task(coded: list[Any], n_blocks: int) -> list[Any]:
    """Rows of all parts as ``n_blocks`` others, all of a task in one; where a task goes depends on its key alone.

    By plain tasks of dask, not by its shuffle service: what is lost with a machine is made again like anything else.
    """
    import dask
    import dask.dataframe as dd

    if n_blocks == 1 and len(coded) == 1:
        return coded
    columns = {"task": object, "cell": np.int64, "key": np.uint32}
    meta = pd.DataFrame({name: np.empty(0, dtype) for name, dtype in columns.items()})
    with dask.config.set({"dataframe.convert-string": False}):  # or a task that is a number would become a text
        rows = dd.from_delayed(coded, meta=meta, verify_meta=False)
        moved = rows.shuffle("key", npartitions=n_blocks, shuffle_method="tasks", ignore_index=True)
        return list(moved.to_delayed())


def _block(rows: pd.DataFrame, n_workers: int, n_classes: int) -> Block:
    try:
        task, tasks = pd.factorize(rows["task"].infer_objects())  # not encode, whose array would unpack texts
    except TypeError as error:
        raise InputTypeError(f"A task is a list or a dict ({error}). Turn it into text first.") from error
    cell = rows["cell"].to_numpy().astype(_cell_type(n_workers, n_classes), copy=False)
    shape = len(tasks), n_workers * n_classes
    return Block(_matrix(task, cell, shape), pd.Index(tasks), None, *_unjudged(len(tasks)))


def _matrix(task: NDArray[Any], cell: NDArray[Any], shape: tuple[int, int]) -> sp.csr_array:
    """The matrix B of answers in any order, one entry for each, as :meth:`Answers.one_hot` makes it."""
    order = np.argsort(task, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=shape[0]))]).astype(cell.dtype)
    return sp.csr_array((np.ones(len(cell), dtype=np.float32), cell[order], indptr), shape=shape)


def _unjudged(n: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return np.zeros(n, dtype=np.int32), np.arange(0)


def _merged(old: Block, more: Block, n_rules: int) -> Block:
    """Old tasks first, those of ``more`` touched; workers have only been added at the end."""
    place = old.tasks.get_indexer(more.tasks)
    fresh = np.flatnonzero(place < 0)
    place[fresh] = len(old.tasks) + np.arange(len(fresh))
    tasks = old.tasks.append(more.tasks[fresh]) if len(fresh) else old.tasks
    rows = [np.repeat(np.arange(len(block.tasks)), np.diff(block.B.indptr)) for block in (old, more)]
    task = np.concatenate([rows[0], place[rows[1]]])
    B = _matrix(task, np.concatenate([old.B.indices, more.B.indices]), (len(tasks), more.B.shape[1]))
    judged = np.concatenate([old.judged, np.zeros(len(fresh), dtype=np.int32)])
    judged[place] = n_rules
    return Block(B, tasks, None, judged, np.sort(place))


def _touched_part(block: Block) -> Block:
    return block.of_tasks(block.touched)


def _gold_found(block: Block, tasks: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Which tasks with a gold label are in the block, and how many of them have another one before."""
    place = matched(tasks, block.tasks) if len(block.tasks) else np.full(len(tasks), -1)
    here = place[place >= 0]
    return (place >= 0).astype(np.int64), len(here) - len(np.unique(here))


def _with_gold(block: Block, tasks: NDArray[Any], codes: NDArray[np.int64]) -> Block:
    place = matched(tasks, block.tasks) if len(block.tasks) else np.full(len(tasks), -1)
    here = np.flatnonzero(place >= 0)
    return replace(block, gold=(place[here].astype(np.int64), codes[here].astype(np.int64)))


def _tasks_of_block(block: Block) -> NDArray[Any]:
    return block.tasks.to_numpy()


def _probas_of_block(block: Block, rules: Any, n_classes: int, power: float | None) -> Floats:
    probas, _ = block.posteriors(rules, n_classes)
    return probas if power is None else tempered(probas, power)


def _labels_of_block(block: Block, rules: Any, classes: NDArray[Any]) -> NDArray[Any]:
    return classes[_probas_of_block(block, rules, len(classes), None).argmax(axis=1)]


def _result_of_block(block: Block, rules: Any, classes: NDArray[Any]) -> pd.DataFrame:
    probas = _probas_of_block(block, rules, len(classes), None)
    table = {
        "task": block.tasks,
        "label": classes[probas.argmax(axis=1)],
        "confidence": probas.max(axis=1),
        "entropy": entr(probas).sum(axis=1) / np.log(2),
        "answers": np.diff(block.B.indptr).astype(np.int64),
    }
    return pd.DataFrame(table)


def _table_of_block(block: Block, rules: Any, classes: NDArray[Any], power: float | None) -> pd.DataFrame:
    probas = _probas_of_block(block, rules, len(classes), power)
    return pd.DataFrame(probas, index=block.tasks.rename("task"), columns=pd.Index(classes))
