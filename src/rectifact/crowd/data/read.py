"""Reads answers into memory from a file, a table or a matrix, coded as ``Answers``; reads gold labels too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError, InputTypeError, count
from rectifact.crowd.data.answers import Answers, check_comparable, encode, make_answers, with_classes
from rectifact.crowd.data.failures import failures_among, without_failures
from rectifact.crowd.data.files import labels_in, read_file, read_flat
from rectifact.crowd.data.formats import check_format
from rectifact.crowd.data.gaps import labelled, warn_of_empty
from rectifact.crowd.data.joined import (
    RepeatedTask,
    refuse_repeated_rows,
    refuse_versions,
    task_parts,
    with_joined_task,
)
from rectifact.crowd.data.label_columns import label_column
from rectifact.crowd.data.matrices import from_matrix, from_sparse, is_auto, to_matrix, whole_numbers
from rectifact.crowd.data.names import Gold, matched_workers, object_array, plain
from rectifact.crowd.data.records import from_records
from rectifact.crowd.data.sources import is_source, refuse_source
from rectifact.crowd.data.tables import COLUMN_NAMES, find_columns, find_gold_column, looks_long, usual_task
from rectifact.crowd.data.task_columns import gold_task_column, gold_words
from rectifact.crowd.data.task_names import like_tasks_of, one_task_each
from rectifact.crowd.data.task_parts import with_task_parts
from rectifact.crowd.data.tidy import mention_no_answers, tidied
from rectifact.crowd.data.whole import without_points
from rectifact.crowd.data.worker_columns import not_wide, worker_columns, workers_sentence
from rectifact.crowd.data.workers import one_name_each, refuse_strangers


def read_answers(
    data: Any,
    *,
    task: str | Sequence[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
    missing: Any = "auto",
    classes: Sequence[Any] | None = None,
    n_classes: int | None = None,
    format: str | None = None,  # noqa: A002
    field: str | None = None,
) -> Answers:
    """Convert answers in any common format to :class:`Answers`.

    Parameters
    ----------
    data : table, path or matrix
        One of

        - a pandas, polars or pyarrow table with one answer per row;
        - the path of such a table as CSV, TSV or Excel (kept as text, so that ``007`` and ``NA`` survive) or Parquet;
        - the path of a JSON or JSON Lines file, which is read record by record: an export of Label Studio, Prodigy or
          Argilla, an Inspect log, rows with lists of answers (also in Parquet, as Hugging Face datasets have them), or
          records with one answer each; or a list of such records as dicts;
        - with ``wide=True``, a table or file with one row per task and one column per worker;
        - a dense matrix, tasks by workers;
        - a scipy sparse matrix, tasks by workers, whose classes are numbered from 1: 0 means no answer.
    task, worker, label : str, default None
        Names of the columns, where they are not ``task``, ``worker``, ``label`` or a name that MTurk, Label Studio,
        Argilla, Prodigy and similar tools use. Spellings of a worker's name that differ only in case or spaces are one
        worker, unless they differ in case and both answered the same task, and a warning says so. ``task`` may be
        a list of columns, such as ``["prompt", "version"]``: each combination is then a task, named ``"12, v1"``. In a
        wide table it names the column that is not a worker; without one, rows are numbered.
    wide : bool, default False
        Whether a table has one column per worker.
    missing : any, default "auto"
        What stands for no answer, besides an empty cell: a value, or a list of values, whose case and spaces do not
        count. ``"auto"`` stands for NaN and -1 in a matrix or a wide table, and raises an error if the only labels are
        -1 and 1; and for texts such as ``N/A`` and ``error`` that fewer than a tenth of the answers have, unless
        workers give them to the same tasks more often than chance explains. ``np.nan`` stands for NaN alone, so that -1
        and such texts are labels. Rows of a long table without a label are skipped, and a warning says how many.
    classes : sequence, default None
        All classes, in the desired order, including those that nobody chose. Labels that differ from one of them only
        in case or spaces count as that class; without ``classes``, labels that differ only so count as one, spelt as
        most answers have it. A warning says which.
    n_classes : int, default None
        Number of classes where nobody chose some of them, as in :class:`rectifact.DawidSkene`.
    format : str, default None
        What a file holds, where it is not recognised by its name and content: ``"csv"``, ``"tsv"``, ``"parquet"``,
        ``"label-studio"``, ``"prodigy"``, ``"argilla"``, ``"inspect"``, ``"datasets"`` (rows with lists of answers) or
        ``"records"``.

        .. versionadded:: 0.2
    field : str, default None
        Which question to read from an export that has several: a control tag of Label Studio, a question of Argilla,
        or a key of Inspect's scores.

        .. versionadded:: 0.2

    Returns
    -------
    Answers
        With ``gold``, if an export of Label Studio has ground truths.

    Examples
    --------
    >>> import numpy as np
    >>> answers = read_answers(np.array([[1, 2, -1], [2, 2, 1]]))
    >>> len(answers), answers.classes
    (5, array([1, 2]))
    """
    names = {"task": task, "worker": worker, "label": label}
    answers = coded(data, names, wide, missing, classes, format, field)
    if classes is None and not isinstance(data, Answers):
        answers, *_ = without_failures(
            [tidied(answers)], missing, used=[] if answers.gold is None else list(answers.gold[1])
        )
        mention_no_answers(answers)
    answers = with_classes(answers, n_classes)
    check_comparable(answers)
    return answers


def coded(
    data: Any,
    names: dict[str, Any],
    wide: bool,
    missing: Any,
    classes: Sequence[Any] | None,
    form: str | None = None,
    question: str | None = None,
) -> Answers:
    """Answers in any common format; one worker or one class is enough, other than for :func:`read_answers`."""
    data, task = with_joined_task(data, names["task"])
    parts = task_parts(data, task)
    if wide and parts:  # all that is left are workers
        data = data.drop(columns=list(parts))
    answers = _as_named(data, names | {"task": task}, wide, missing, classes, form, question)
    if isinstance(data, Answers):
        return answers
    refuse_versions(data, answers)
    return one_task_each(one_name_each(replace(answers, task_parts=parts)))


def _as_named(
    data: Any,
    names: dict[str, str | None],
    wide: bool,
    missing: Any,
    classes: Sequence[Any] | None,
    form: str | None,
    question: str | None,
) -> Answers:
    """The same, with each spelling of a worker's name as a worker."""
    if (
        isinstance(missing, dict)
        or np.ndim(np.asarray(missing, dtype=object)) > 1
        or (classes is not None and np.ndim(np.asarray(classes, dtype=object)) == 0)
    ):
        raise InputTypeError(
            "missing is a value or a list of them, and classes a list.",
            "Give what stands for no answer, and a list of all classes.",
        )
    if isinstance(data, Answers):
        return data if classes is None else data.recoded(object_array(classes))
    if is_source(data):
        refuse_source(data)
    if isinstance(data, str | Path):
        options: dict[str, Any] = {"form": form, "question": question, "missing": missing, "classes": classes}
        data = read_file(Path(data), names, wide=wide, **options)
        if isinstance(data, Answers):
            return data
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        if not wide:
            check_format(form, files=False)
            listed = ((None, record) for record in data)
            return from_records(listed, None, names, form=form, question=question, missing=missing, classes=classes)
        data = pd.DataFrame(data, dtype=object)
    elif isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif form is not None or question is not None:
        raise InputError("format= and field= are for files and lists of records.", "Leave them out.")
    _check_names(data, names, wide)
    if sp.issparse(data):
        return from_sparse(data, missing, classes)
    if nw.dependencies.is_into_dataframe(data) or isinstance(data, nw.DataFrame):
        frame = _open_frame(data, wide)
        if not wide:
            return _from_long(frame, names, missing, classes)
        if names["worker"] is not None or names["label"] is not None:
            raise InputError(
                "A wide table has one column per worker: only its task column can be named.",
                "Leave out worker and label.",
                command="Leave out --worker and --label.",
            )
        return _from_wide(frame, names["task"], missing, classes)
    matrix = to_matrix(data)
    return from_matrix(matrix, np.arange(matrix.shape[0]), np.arange(matrix.shape[1]), missing, classes, {})


def _open_frame(data: Any, wide: bool) -> Any:
    if wide and isinstance(data, pd.DataFrame) and data.index.name is not None:
        data = data.reset_index()  # what pivot makes: the tasks are the index
    try:
        return nw.from_native(data, eager_only=True, pass_through=False)
    except ValueError as error:
        raise InputError(f"The columns cannot be told apart: {error}.", "Give each a name of its own.") from error


def read_more(
    data: Any,
    classes: NDArray[Any],
    *,
    missing: Any = "auto",
    workers: NDArray[Any] | None = None,
    names: Mapping[str, Any] | None = None,
) -> Answers:
    """Answers that come later, of the same classes; with ``workers``, by these alone and coded like them.

    ``names`` are the options task, worker, label and wide with which the first answers were read.
    """
    given = names or {}
    columns = {role: given.get(role) for role in COLUMN_NAMES}
    answers = _of_classes(data, columns, bool(given.get("wide")), missing, classes)
    if workers is None:
        return answers
    position = matched_workers(answers.workers, workers)
    refuse_strangers(answers.workers[position < 0])
    return replace(answers, worker=position[answers.worker], workers=workers)


def _of_classes(data: Any, names: dict[str, Any], wide: bool, missing: Any, classes: NDArray[Any]) -> Answers:
    """Answers of these classes; labels that say that there is no answer are skipped if they are none of them."""
    try:
        return coded(data, names, wide, missing, classes.tolist())
    except InputError:
        seen = coded(data, names, wide, missing, None)
        failures = failures_among(seen.classes, classes) if is_auto(missing) else []
        if not failures:
            raise
        return coded(data, names, wide, [*failures, *([] if -1 in classes else [-1])], classes.tolist())


def read_gold(given: Any, answers: Any = None) -> Gold:
    """Certain labels as arrays of tasks and labels: from a dict or Series by task, or a table or file with both.

    Columns of gold labels may have the names of those that the ``answers`` were read from; a column for the task
    without a usual name is found by their tasks, and names of tasks are spelt as there.
    """
    return like_tasks_of(_gold_as_named(given, answers), getattr(answers, "tasks", None))


def _gold_as_named(given: Any, answers: Any) -> Gold:
    """The same with tasks as the gold labels name them."""
    data = given
    if isinstance(data, str | Path):
        if not Path(data).suffix and not Path(data).exists():  # perhaps a column
            remedy = "Name a file with columns task and label."
            raise InputError(f"gold={str(data)!r} is not a file.", remedy, option="gold=")
        try:
            found = labels_in(Path(data))
            data = read_flat(Path(data)) if found is None else found
        except InputError as error:
            raise InputError(f"The gold labels cannot be read. {error.what}", error.remedy) from error
    if isinstance(data, Mapping):
        data = pd.Series(data)
    if isinstance(data, pd.Series):
        return data.index.to_numpy(), data.to_numpy()
    if nw.dependencies.is_into_dataframe(data):
        own = {} if answers is None else answers.columns
        data = with_task_parts(data, answers, gold_words(given))
        frame = _open_frame(with_joined_task(data, own.get("task"))[0], wide=False)
        task = gold_task_column(frame.to_native(), frame.columns, answers, given)
        label = find_gold_column(frame.columns, "label", own.get("label"), task)
        return frame.get_column(task).to_numpy(), frame.get_column(label).to_numpy()
    raise InputTypeError(
        f"gold is a dict or Series of labels by task, a table, or a file; got {type(data).__name__}.",
        "Give one of these.",
    )


def _check_names(data: Any, names: dict[str, str | None], wide: bool) -> None:
    """Refuse names of columns for a matrix, which has none."""
    if nw.dependencies.is_into_dataframe(data) or isinstance(data, nw.DataFrame):
        return
    given = [name for name, value in (names | {"wide": wide or None}).items() if value is not None]
    if given:
        what = f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} for tables; got {type(data).__name__}."
        raise InputError(what, "Leave out what is for tables, or give a table, such as a pandas DataFrame.")


def _from_long(frame: Any, given: dict[str, str | None], missing: Any, classes: Sequence[Any] | None) -> Answers:
    columns = find_columns(frame.columns, given)
    if given.get("label") is None:
        columns["label"] = label_column(frame, columns)
    kept, n_empty = labelled(frame.get_column(columns["label"]).to_numpy(), missing)
    warn_of_empty(n_empty, stacklevel=5)
    if not kept.all():
        frame = frame.filter(kept.tolist())
    codes, values = {}, {}
    for role, column in columns.items():  # one after the other, so that big tables are not held three times
        coded = encode(frame.get_column(column).to_numpy(), role)
        codes[role], values[role] = coded if role == "label" else without_points(*coded)
        lost = np.flatnonzero(codes[role] < 0)
        if lost.size:
            row = {
                other: plain(frame.get_column(name)[int(lost[0])]) for other, name in columns.items() if other != role
            }
            place = ", ".join(f"{other}={value!r}" for other, value in row.items())
            have, first = ("has", ":") if lost.size == 1 else ("have", ", the first")
            number = np.flatnonzero(kept)[lost[0]] + 1
            raise InputError(
                f"{count(lost.size, 'answer')} {have} no {role}{first} {place} (row {number}).",
                f"Drop such rows: frame.dropna(subset=[{columns[role]!r}]).",
                command="Drop these rows.",
            )
    return make_answers(codes, values, classes, columns)


def _from_wide(frame: Any, task: str | None, missing: Any, classes: Sequence[Any] | None) -> Answers:
    known = task is not None or usual_task(frame.columns) is not None
    column = find_columns(frame.columns, {"task": task})["task"] if known else None
    workers = [name for name in frame.columns if not known or name != column]
    tasks = frame.get_column(column).to_numpy() if known else np.arange(len(frame))
    codes, values = without_points(*encode(tasks, "task"))
    if len(values) < len(tasks) or (codes < 0).any():
        twice = values[np.bincount(codes[codes >= 0], minlength=len(values)) > 1]
        odd = f"{plain(twice[0])!r} in the column {str(column)!r} has several" if len(twice) else "a row has no task"
        what = f"A wide table has one row for each task; here {odd}."
        if looks_long(frame.columns):
            raise not_wide(what)
        if len(twice):
            refuse_repeated_rows(frame.to_pandas(), column)
            raise RepeatedTask(what, "Merge the rows of each task into one.")
        raise InputError(what, "Name the task, or drop the row.")
    if not workers:
        raise InputError(
            "A wide table has one column per worker; there is none besides the task.", "Check the separator."
        )
    matrix = np.empty((len(frame), len(workers)), dtype=object)
    for j, name in enumerate(workers):
        matrix[:, j] = frame.get_column(name).to_list()
    matrix[pd.isna(matrix)] = None  # one kind of gap, that can be compared
    kept = worker_columns(whole_numbers(matrix), workers, looks_long(frame.columns), has_tasks=known)
    columns, names = {} if column is None else {"task": column}, np.array(workers, dtype=object)[kept]
    answers = from_matrix(matrix[:, kept], tasks, names, missing, classes, columns)
    return replace(answers, source={"format": "wide", "sentence": workers_sentence(names.tolist())})
