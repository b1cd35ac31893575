"""Answers come in as tables, files or matrices and leave as three integer vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

import array_api_compat
import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_host
from rectifact.core.validation import InputError, InputTypeError, check_not_empty
from rectifact.crowd.tables import COLUMN_NAMES, find_column, read_table

__all__ = ["Answers", "read_answers", "with_classes"]


@dataclass(frozen=True)
class Answers:
    """Who answered what, as integer codes. A repeated (task, worker) pair is a separate reading.

    Attributes
    ----------
    task, worker, label : integer arrays of shape (n_answers,), positions in the next three
    tasks, workers, classes : arrays of the original values; tasks and workers in order of appearance,
        classes sorted (text that looks like numbers, by number)
    columns : which columns of a table were read as task, worker and label
    """

    task: NDArray[np.int64]
    worker: NDArray[np.int64]
    label: NDArray[np.int64]
    tasks: NDArray[Any]
    workers: NDArray[Any]
    classes: NDArray[Any]
    columns: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.label)

    def votes(self) -> NDArray[np.float64]:
        """Number of answers for each class, of shape (n_tasks, n_classes)."""
        shape = len(self.tasks), len(self.classes)
        cells = np.bincount(self.task * shape[1] + self.label, minlength=shape[0] * shape[1])
        return cells.reshape(shape).astype(np.float64)

    def one_hot(self) -> sp.csr_array:
        """Number of times worker m answered k, of shape (n_tasks, n_workers * n_classes): the matrix B."""
        shape = len(self.tasks), len(self.workers) * len(self.classes)
        column = self.worker * len(self.classes) + self.label
        return sp.csr_array((np.ones(len(self)), (self.task, column)), shape=shape)


def read_answers(
    data: Any,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
    missing: Any = "auto",
    classes: Sequence[Any] | None = None,
) -> Answers:
    """Bring answers of any common shape into :class:`Answers`.

    Parameters
    ----------
    data : one of

        - a pandas, polars or pyarrow table with one answer per row;
        - the path of such a table as CSV, TSV (kept as text, so that ``007`` and ``NA`` survive) or Parquet;
        - with ``wide=True``, a table or file with one row per task and one column per annotator;
        - a dense matrix, tasks by workers;
        - a scipy sparse matrix, tasks by workers, whose classes are numbered from 1: 0 is no answer.
    task, worker, label : names of the columns, where they are not ``task``, ``worker``, ``label`` or a name
        that MTurk, Label Studio, Argilla, Prodigy and their like use. In a wide table ``task`` names the
        column that is no annotator; without one, rows are numbered.
    wide : whether a table has one column per annotator
    missing : what stands for no answer in a matrix or a wide table, besides an empty cell. ``"auto"`` takes
        NaN and -1, and asks where -1 might be a label; ``np.nan`` takes NaN alone.
    classes : all classes in the order wanted, also those that nobody chose

    Examples
    --------
    >>> import numpy as np
    >>> answers = read_answers(np.array([[1, 2, -1], [2, 2, 1]]))
    >>> len(answers), answers.classes
    (5, array([1, 2]))
    """
    if isinstance(data, Answers):
        return data
    if isinstance(data, str | Path):
        data = read_table(Path(data))
    if sp.issparse(data):
        return _from_sparse(data, missing, classes)
    if nw.dependencies.is_into_dataframe(data) or isinstance(data, nw.DataFrame):
        frame = nw.from_native(data, eager_only=True, pass_through=False)
        if wide:
            return _from_wide(frame, task, missing, classes)
        return _from_long(frame, {"task": task, "worker": worker, "label": label}, classes)
    matrix = _to_matrix(data)
    return _from_matrix(matrix, np.arange(matrix.shape[0]), np.arange(matrix.shape[1]), missing, classes)


def with_classes(answers: Answers, n_classes: int | None) -> Answers:
    """Make room for classes that nobody chose, where classes are whole numbers counted from 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> with_classes(read_answers(np.array([[1, 3], [3, 3]])), 4).classes
    array([1, 2, 3, 4])
    """
    seen = answers.classes
    if n_classes is None or n_classes == len(seen):
        return answers
    if n_classes < len(seen):
        raise InputError(f"n_classes={n_classes}, but the answers hold {len(seen)}: {seen.tolist()}. Raise it.")
    every = np.arange(n_classes) + (0 if 0 in seen else 1)
    if seen.dtype.kind not in "iu" or not np.isin(seen, every).all():
        raise InputError(
            f"n_classes={n_classes} needs classes numbered from 0 or 1; found {seen.tolist()}. Name all of them "
            "instead: read_answers(data, classes=[...])."
        )
    return replace(answers, classes=every, label=np.searchsorted(every, seen)[answers.label])


def _from_long(frame: Any, given: dict[str, str | None], classes: Sequence[Any] | None) -> Answers:
    columns = {role: find_column(frame.columns, role, name) for role, name in given.items()}
    arrays = {role: frame[column].to_numpy() for role, column in columns.items()}
    codes, values = {}, {}
    for role, array in arrays.items():
        codes[role], values[role] = _encode(array, role)
        lost = np.flatnonzero(codes[role] < 0)
        if lost.size:
            place = ", ".join(f"{other}={_plain(arrays[other][lost[0]])!r}" for other in arrays if other != role)
            raise InputError(
                f"{lost.size} answers have no {role}, first {place} (row {lost[0] + 1}). Drop them: "
                f"frame.dropna(subset=[{columns[role]!r}])."
            )
    return _answers(codes, values, classes, columns)


def _from_wide(frame: Any, task: str | None, missing: Any, classes: Sequence[Any] | None) -> Answers:
    known = task is not None or any(str(name).lower() in COLUMN_NAMES["task"] for name in frame.columns)
    column = find_column(frame.columns, "task", task) if known else None
    workers = [name for name in frame.columns if name != column]
    tasks = frame[column].to_numpy() if known else np.arange(len(frame))
    codes, values = _encode(tasks, "task")
    if len(values) < len(tasks) or (codes < 0).any():
        raise InputError("A wide table has one row for each task; here a task is empty or has two rows. Merge them.")
    matrix = np.empty((len(frame), len(workers)), dtype=object)
    for j, name in enumerate(workers):
        matrix[:, j] = frame[name].to_list()
    return _from_matrix(matrix, tasks, np.array(workers, dtype=object), missing, classes)


def _to_matrix(data: Any) -> NDArray[Any]:
    try:
        matrix = np.asarray(to_host(data) if array_api_compat.is_array_api_obj(data) else data)
    except ValueError as error:
        raise InputError("The answers are no matrix: its rows differ in length. Make them equally long.") from error
    if matrix.dtype.kind == "c":
        raise InputError("Complex data not supported: labels are classes. Take the real part, or name the classes.")
    if matrix.ndim != 2:
        raise InputError(
            "Answers are a table with the columns task, worker and label, the path of one, or a matrix of tasks by "
            f"workers; got {type(data).__name__} of shape {matrix.shape}."
        )
    check_not_empty(matrix.shape)
    return matrix if matrix.dtype.kind in "biuf" else matrix.astype(object)


def _from_matrix(
    matrix: NDArray[Any], tasks: NDArray[Any], workers: NDArray[Any], missing: Any, classes: Sequence[Any] | None
) -> Answers:
    absent = np.asarray(pd.isna(matrix)) | _equal(matrix, "")
    if isinstance(missing, str) and missing == "auto":
        minus_one = _equal(matrix, -1) | _equal(matrix, "-1")
        if minus_one.any() and {*map(str, pd.unique(matrix[~absent]))} in ({"-1", "1"}, {"-1.0", "1.0"}):
            raise InputError(
                "The labels are -1 and 1, and -1 may also mean 'no answer'. Say which: missing=np.nan if -1 is a "
                "label, missing=-1 if it is no answer."
            )
        absent |= minus_one
    else:
        absent |= _equal(matrix, missing)
    row, column = np.nonzero(~absent)
    label, seen = _encode(matrix[row, column], "label")
    codes = {"task": row, "worker": column, "label": label}
    return _answers(codes, {"task": tasks, "worker": workers, "label": seen}, classes, {})


def _equal(matrix: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    if matrix.dtype != object and not isinstance(value, Real):
        return np.zeros(matrix.shape, dtype=bool)  # no number equals a text
    return np.asarray(matrix == value, dtype=bool)


def _from_sparse(matrix: Any, missing: Any, classes: Sequence[Any] | None) -> Answers:
    coo = sp.coo_array(matrix)
    absent = np.isnan(coo.data) | (coo.data == 0)
    if not isinstance(missing, str):
        absent |= coo.data == missing
    row, column, value = (array[~absent] for array in (coo.row, coo.col, coo.data))
    if (value < 1).any():
        raise InputError(
            f"A sparse matrix of answers numbers its classes from 1, and 0 is no answer; found {_plain(value.min())}. "
            "Number the classes so, or say missing=."
        )
    label, seen = _encode(value, "label")
    codes = {"task": row.astype(np.int64), "worker": column.astype(np.int64), "label": label}
    values = {"task": np.arange(coo.shape[0]), "worker": np.arange(coo.shape[1]), "label": seen}
    return _answers(codes, values, classes, {})


def _encode(values: NDArray[Any], role: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Codes in order of appearance, -1 where there is no value, and the values."""
    try:
        codes, uniques = pd.factorize(values)
    except TypeError as error:
        raise InputTypeError(f"A {role} is a list or a dict ({error}). Turn it into text first.") from error
    return codes.astype(np.int64), np.asarray(uniques)


def _answers(
    codes: dict[str, NDArray[np.int64]],
    values: dict[str, NDArray[Any]],
    classes: Sequence[Any] | None,
    columns: dict[str, str],
) -> Answers:
    if not len(codes["label"]):
        raise InputError("There are no answers in this data. Check the file, or what stands for a missing answer.")
    seen = values["label"].tolist()
    ordered = _sort_classes(seen) if classes is None else list(classes)
    position = {value: i for i, value in enumerate(ordered)}
    unknown = [value for value in seen if value not in position]
    if unknown:
        raise InputError(f"The label {unknown[0]!r} is not among the given classes {ordered}. Add it, or drop it.")
    if values["label"].dtype == object:  # np.array would turn tuples into rows and mixed types into text
        kept = np.empty(len(ordered), dtype=object)
        kept[:] = ordered
    else:
        kept = np.array(ordered)
    label = np.array([position[value] for value in seen])[codes["label"]]
    answers = Answers(codes["task"], codes["worker"], label, values["task"], values["worker"], kept, columns)
    _check_comparable(answers)
    return answers


def _sort_classes(seen: list[Any]) -> list[Any]:
    """Numbers, and text that reads as numbers, by value; what has no order of its own by type and text."""
    try:
        if np.isfinite([float(value) for value in seen]).all():
            return sorted(seen, key=lambda value: (float(value), str(value)))
    except (TypeError, ValueError):
        pass
    try:
        return sorted(seen)
    except TypeError:
        return sorted(seen, key=lambda value: (type(value).__name__, repr(value)))


def _check_comparable(answers: Answers) -> None:
    """Refuse data from which nothing can be learnt: one worker, one class, as many classes as answers."""
    if (answers.worker == answers.worker[0]).all():
        raise InputError(
            f"All answers come from one worker, {_plain(answers.workers[answers.worker[0]])!r}, so that there is "
            "nothing to compare. Add the answers of others, or name the column that tells workers apart."
        )
    if len(answers.classes) < 2:
        raise InputError(
            f"Every answer is {_plain(answers.classes[0])!r}: with one class there is nothing to decide. Name the "
            "column with the labels, or list all classes."
        )
    if len(answers.classes) >= max(len(answers), 3):
        raise InputError(
            f"There are {len(answers.classes)} classes for {len(answers)} answers, so that no two answers agree. "
            "Name the column with the labels; free text or measurements must be grouped into classes first."
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
