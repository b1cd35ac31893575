"""Finds the columns of task, worker and label by the names that annotation tools use; ``io.tables`` reads the file."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from rectifact.core.errors import InputError
from rectifact.crowd.data.names import joined_names, likely, object_array, split_names
from rectifact.crowd.data.workbooks import is_workbook, read_workbook
from rectifact.io import tables
from rectifact.io.text import text_suffix

# The names that annotation tools and platforms give the three columns, compared without case. The first
# that a table has is taken. MTurk's batch files call the label Answer.<field of the form>.
COLUMN_NAMES: dict[str, list[str]] = json.loads(Path(__file__).with_name("column_names.json").read_text("utf-8"))


OTHER_WORKBOOKS = {".xls", ".ods"}

JUDGED = {
    *("output", "completion", "generation", "message", "dialog", "dialogue", "chat", "thread", "trace", "query"),
    *("image", "img", "picture", "photo", "video", "clip", "audio", "recording"),
    *("text", "sentence", "utterance", "passage", "paragraph", "snippet", "segment", "article", "paper", "doc"),
    *("post", "tweet", "comment", "product", "ticket", "instance", "object", "problem", "datapoint", "document"),
    *("task", "item", "question", "example", "pair", "conversation", "prompt"),
}
"""What may be judged: a column with the number of one has the tasks, if it is the only such column."""

NUMBERS = ("_id", "_ids", "_#", "_no", "_no.", "_nr", "_number", "#")
"""How names of columns with numbers of things end."""


def read_table(path: Path, names: dict[str, str | None] | None = None, expected: str | None = None) -> pa.Table:
    """Table in a file; of a Parquet file only the columns of the roles in ``names``, if given."""
    if expected is None and path.is_file() and is_workbook(path):
        return read_workbook(path)
    if expected is None and path.is_file() and text_suffix(path) not in {".csv", ".tsv", ".parquet"}:
        raise InputError(
            f"{str(path)!r} should end in .csv, .tsv, .xlsx, .parquet, .json or .jsonl, so that its format is known.",
            "Save it as .xlsx or CSV." if text_suffix(path) in OTHER_WORKBOOKS else "Rename it, or convert it.",
        )
    choose = None
    if names is not None:
        wanted = names.items()
        choose = lambda found: [find_column(found, role, name) for role, name in wanted]  # noqa: E731
    return tables.read_table(path, choose, expected)


def find_column(columns: Sequence[str], role: str, given: str | None) -> str:
    """Name of the column that holds the ``role``: the given one, or one with a usual name.

    Examples
    --------
    >>> find_column(["HITId", "WorkerId", "Answer.sentiment"], "label", None)
    'Answer.sentiment'
    """
    if given is not None:
        if given not in columns:
            if role == "task" and isinstance(given, str) and len(split_names(given)) > 1:
                raise _no_parts(split_names(given), columns)
            meant = likely_column(columns, role, given)
            remedy = "Check the spelling." if meant is None else f"Did you mean {meant!r}?"
            raise InputError(f"There is no column {given!r} for the {role} among {in_file(columns)}.", remedy)
        return given
    found = usual_column(columns, role)
    if found is None and role == "task":
        found = usual_task(columns)
    if found is not None:
        return found
    fields = [column for column in columns if role == "label" and str(column).lower().startswith("answer.")]
    if len(fields) == 1:
        return fields[0]
    remedy = f"Name it: {role}='...'."
    if len(columns) == 1:
        remedy += " The separator may not be the one that the name of the file suggests."
    elif role in ("worker", "label"):
        remedy += " A table with one column per worker is read with wide=True."
    command = remedy.replace(f"{role}='...'", f"--{role}").replace("wide=True", "--wide")
    raise InputError(f"No column for the {role} among {in_file(columns)}.", remedy, command=command)


def _no_parts(names: Sequence[str], columns: Sequence[str]) -> InputError:
    """An error about columns that should name tasks together."""
    missing = [name for name in names if name not in columns]
    meant = [name if name in columns else likely_column(columns, "task", name) for name in names]
    what = f"There is no column {' and no column '.join(map(repr, missing))} for the task among {in_file(columns)}."
    if None in meant or len(set(meant)) < len(meant):
        return InputError(what, "Name the columns of this file that name a task together.")
    remedy = "Did you mean {}?"
    forms = remedy.format(f"task={meant!r}"), remedy.format(f"--task {shlex.quote(joined_names(meant))}")
    return InputError(what, forms[0], command=forms[1])


def usual_column(columns: Sequence[str], role: str) -> str | None:
    """The column with a usual name of the ``role``, None if there is none."""
    names = COLUMN_NAMES[role]
    if role == "label" and _first_named(columns, ("_task_hash", "_input_hash")) is not None:
        names = ["answer", *names]  # Prodigy, whose label is the question and whose answer is accept or reject
    return _first_named(columns, names)


def likely_column(columns: Sequence[str], role: str, given: str) -> str | None:
    """The column that was meant by a name that is not there: one that is spelt alike, or one with a usual name.

    Examples
    --------
    >>> likely_column(["task", "rater_x", "said"], "worker", "rater"), likely_column(["task", "judge"], "worker", "who")
    ('rater_x', 'judge')
    """
    alike: str | None = likely(given, object_array(list(columns)))
    return alike or _first_named(columns, COLUMN_NAMES[role])


def find_columns(columns: Sequence[str], names: dict[str, str | None], *, wide: bool = True) -> dict[str, str]:
    """Names of the columns that hold the roles in ``names``, each of them another one; ``wide`` tables may be read."""
    _refuse_unnamed(columns, names, wide)
    found = {role: find_column(columns, role, name) for role, name in names.items()}
    if len(set(found.values())) < len(found):
        raise InputError(f"Task, worker and label are three columns; got {found}.", "Name each of them.")
    return found


def parts_of(task: object, columns: Sequence[str]) -> list[str]:
    """The columns that were joined to name the ``task``, none if a single column names it.

    Examples
    --------
    >>> parts_of("id,version", ["id", "version", "gpt", "id,version"]), parts_of("id", ["id", "gpt"])
    (['id', 'version'], [])
    """
    if not isinstance(task, str) or task not in columns:
        return []
    names = split_names(task)
    return names if len(names) > 1 and set(names) <= set(columns) else []


def in_file(columns: Sequence[str]) -> list[str]:
    """Columns without one that was made of several others to name the tasks, for messages."""
    return [name for name in columns if not parts_of(name, columns)]


def _refuse_unnamed(columns: Sequence[str], names: dict[str, str | None], wide: bool) -> None:
    """Refuse columns of which none can be told for several roles, all of them at once."""
    missing = []
    for role, given in names.items():
        try:
            find_column(columns, role, columns[0] if given is not None and len(columns) else None)
        except InputError:
            missing.append(role)
    if len(missing) < 2 or len(columns) < 2:
        return
    what = (
        f"No columns for the {' and the '.join([', the '.join(missing[:-1]), missing[-1]])} among {in_file(columns)}."
    )
    other = " A table with one column per worker is read with {}." if wide and "worker" in missing else ""
    remedy = f"Name them: {', '.join(f'{role}={chr(39)}...{chr(39)}' for role in missing)}.{other.format('wide=True')}"
    command = f"Name them: {' '.join(f'--{role} COLUMN' for role in missing)}.{other.format('--wide')}"
    raise InputError(what, remedy, command=command)


def find_gold_column(columns: Sequence[str], role: str, own: str | None, task: str | None = None) -> str:
    """Name of the column of certain labels that holds the ``role``; in the answers it was called ``own``.

    The label may be the only column that is not the ``task``, nor one of those that name it together.

    Examples
    --------
    >>> find_gold_column(["q", "answer", "Truth"], "label", "answer")
    'Truth'
    """
    names = (str(own).lower(), *COLUMN_NAMES[role])
    if role == "label":
        names = ("truth", "gold", "true_label", *names, "correct")
    found = _first_named(columns, names)
    if found is None and role == "label" and task is not None:
        left = [column for column in columns if column not in (task, *parts_of(task, columns))]
        found = left[0] if len(left) == 1 else None
    if found is None:
        what = f"No column for the {role} of the gold labels among {in_file(columns)}."
        raise InputError(what, f"Call it {role!r}.")
    return found


def looks_long(columns: Sequence[str]) -> bool:
    """Whether columns of a table have usual names of task, worker and label."""
    others = all(_first_named(columns, COLUMN_NAMES[role]) is not None for role in ("worker", "label"))
    return others and usual_task(columns) is not None


def usual_task(columns: Sequence[str], *, certain: bool = False) -> str | None:
    """The column of the tasks: one with a usual name or, where it need not be ``certain``, numbers of what is judged.

    Of two columns with such numbers, neither is it.

    Examples
    --------
    >>> usual_task(["Output ID", "Judge Model"]), usual_task(["output_id", "ticket_id"])
    ('Output ID', None)
    """
    found = _first_named(columns, COLUMN_NAMES["task"])
    if found is not None or certain:
        return found
    numbered = [column for column in columns if _is_number_of_judged(usual_name(column))]
    return numbered[0] if len(numbered) == 1 else None


def _is_number_of_judged(name: str) -> bool:
    return any(name.endswith(end) and name.removesuffix(end) in JUDGED for end in NUMBERS)


def _first_named(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the first of ``names`` that there is, without regard to case, spaces and hyphens."""
    by_name = {usual_name(column): column for column in reversed(columns)}
    by_name |= {str(column).lower(): column for column in reversed(columns)}
    return next((by_name[name] for name in names if name in by_name), None)


def usual_name(column: object) -> str:
    """A name of a column as the usual names are written.

    Examples
    --------
    >>> usual_name("Item ID"), usual_name("Judge-Model")
    ('item_id', 'judge_model')
    """
    return "_".join(str(column).lower().replace("-", " ").split())
