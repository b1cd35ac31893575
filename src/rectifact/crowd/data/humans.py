"""Labels of people for some tasks: their consensus, weights where tasks were not drawn at random, groups of tasks."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, InputTypeError, count
from rectifact.crowd.data.answers import Answers, sort_classes
from rectifact.crowd.data.grade_texts import plain_grades
from rectifact.crowd.data.groups import groups_in_column, read_groups
from rectifact.crowd.data.names import Gold, listed, matched, object_array, plain, refuse_strange
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.data.spellings import gold_like
from rectifact.crowd.data.tables import read_table, usual_name
from rectifact.crowd.data.task_columns import gold_task_column
from rectifact.crowd.data.task_names import like_tasks
from rectifact.crowd.data.unmatched import left_out, no_common_task

Groups = tuple[NDArray[np.int64], NDArray[Any]]
"""Number of the group of each task, -1 for none, and the names of the groups."""

WEIGHT_NAMES = ("weight", "weights", "gold_weight", "inverse_probability")
"""Usual names of the column with the weights."""


def consensus(gold: Gold, together: Sequence[Any] = (), *, by_people: bool = True) -> Gold:
    """The most frequent label of each task; tasks on which people tie are left out, and empty labels too.

    Labels that count ``together``, such as the grades 4 and 5, are one, and so are all others: 3, 4 and 5 are two votes
    for "4 or 5". Where the labels are not those of people on a panel (``by_people``), ties are called gold labels that
    contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> tasks, labels = consensus((np.array(["a", "a", "a", "b"]), np.array(["yes", "no", "yes", "no"])))
    >>> tasks.tolist(), labels.tolist()
    (['a', 'b'], ['yes', 'no'])
    >>> consensus((np.array(["a", "a", "a"]), np.array([3, 4, 5])), together=[4, 5])[1].tolist()
    [4]
    """
    table = pd.DataFrame({"task": gold[0], "label": gold[1]}, dtype=object)
    table = table[~(table.isna().any(axis=1) | (table["label"] == ""))]
    if len(together):
        inside = matched(table["label"].to_numpy(), pd.unique(object_array(list(together)))) >= 0
        table["label"] = table["label"].groupby([table["task"], inside], sort=False).transform("first")
    votes = table.groupby(["task", "label"], sort=False).size()
    top = votes[votes == votes.groupby("task").transform("max")].reset_index("label")["label"]
    tied = top.index.duplicated(keep=False)
    n_labels = votes.groupby("task", sort=False).size()
    if tied.any():
        names = pd.unique(top.index[tied])
        were = "was" if len(names) == 1 else "were"
        what = f"{count(len(names), 'task')} on which people tie {were} left out."
        if not by_people:
            have = "has gold labels" if len(names) == 1 else "have gold labels"
            named = listed(object_array(names.tolist()))
            what = f"{count(len(names), 'task')} {have} that contradict each other, and {were} left out: {named}."
        warnings.warn(FitWarning(what), stacklevel=4)
    outvoted = n_labels.index[n_labels > 1].difference(top.index[tied], sort=False)
    if len(outvoted) and not by_people:
        have = "1 task has" if len(outvoted) == 1 else f"{len(outvoted)} tasks have"
        given = listed(object_array(table.loc[table["task"] == outvoted[0], "label"].drop_duplicates().tolist()))
        what = f"{have} several gold labels that differ, first {plain(outvoted[0])!r} with {given}"
        warnings.warn(FitWarning(f"{what}; the most frequent one counts."), stacklevel=4)
    top = top[~tied]
    return object_array(top.index.tolist()), object_array(top.tolist())


def positive_labels(
    gold: Any,
    answers: Answers,
    positive: Sequence[Any],
    classes: Sequence[Any] | None = None,
    *,
    by_people: bool = False,
) -> NDArray[np.int64]:
    """1 for a task whose label is among the ``positive`` ones, 0 for another label, -1 for none.

    Labels may be of classes that no worker has, if these are among ``classes`` or ``positive``. Labels of tasks that
    nobody answered are left out.
    """
    tasks, labels = consensus(gold_like(read_gold(gold, answers), answers.classes), positive, by_people=by_people)
    place = _answered(tasks, answers)
    found = place >= 0
    _check_positive(positive, answers.classes, labels)
    refuse_strange(labels[found], answers.classes, [*positive, *(classes or ())])
    known = np.full(len(answers.tasks), -1, dtype=np.int64)
    known[place[found]] = matched(labels[found], object_array(list(positive))) >= 0
    return known


def _answered(tasks: NDArray[Any], answers: Answers) -> NDArray[np.int64]:
    """Places of tasks with a gold label among those that were answered, -1 for others, whose number is reported."""
    place: NDArray[np.int64] = matched(tasks, answers.tasks)
    if (place < 0).all():
        what = "There are no gold labels." if not len(tasks) else "No task with a gold label was answered."
        remedy = "Give labels of some of the tasks, which are named as in the answers."
        raise no_common_task(what, remedy, tasks, answers.tasks)
    left_out(tasks, place >= 0)
    return place


def graded_labels(gold: Any, answers: Answers, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The mean of the grades that people gave to each task, NaN where there is none, and the smallest step of grades.

    ``values`` are the grades of judges, in whose range those of people are expected: others may be slips.
    """
    tasks, labels = read_gold(gold, answers)
    table = pd.DataFrame({"task": tasks, "label": labels}, dtype=object)
    table = table[~(table.isna().any(axis=1) | (table["label"] == ""))]
    table["label"] = plain_grades(table["label"].tolist())
    grades = pd.to_numeric(table["label"], errors="coerce").astype(float)
    odd = ~np.isfinite(grades.to_numpy())
    if odd.any():
        first = table[odd].iloc[0]
        raise InputError(
            f"A mean takes grades that are numbers, and task {plain(first['task'])!r} has the gold label "
            f"{plain(first['label'])!r}.",
            "Write a number there, or leave it empty.",
        )
    means = grades.groupby(table["task"], sort=False).mean()
    names = object_array(means.index.tolist())
    place = _answered(names, answers)
    outside = np.flatnonzero((grades < values.min()) | (grades > values.max()))
    if outside.size:
        first = table.iloc[outside[0]]
        have = "gold label lies" if outside.size == 1 else "gold labels lie"
        what = (
            f"{outside.size} {have} outside of the grades of judges, {values.min():g} to {values.max():g}: the first "
            f"is {plain(first['label'])!r} of task {plain(first['task'])!r}."
        )
        warnings.warn(FitWarning(what, "Correct it if it is a slip."), stacklevel=4)
    truth = np.full(len(answers.tasks), np.nan)
    truth[place[place >= 0]] = means.to_numpy()[place >= 0]
    steps = np.diff(np.unique(grades))
    steps = steps if len(steps) else np.diff(np.unique(values))
    return truth, float(steps.min()) if len(steps) else 1.0


def _check_positive(positive: Sequence[Any], classes: NDArray[Any], labels: NDArray[Any]) -> None:
    """Refuse classes that nobody has used, and all classes at once."""
    if not len(positive):
        raise InputError("positive names no class.", "Name the class whose share you want.", option="positive")
    for name in positive:
        if matched(object_array([name]), classes)[0] < 0 and matched(object_array([name]), pd.unique(labels))[0] < 0:
            raise InputError(
                f"positive={plain(name)!r} is not among the classes {listed(classes)}.",
                "Check the spelling.",
                option="positive",
            )
    given = object_array(list(positive))
    if (matched(classes, given) >= 0).all() and (matched(labels, given) >= 0).all():
        raise InputError("positive names all classes, whose share is 1.", "Leave some out.", option="positive")


def mention_gold(judges: Any) -> None:
    """Say of a column that is called gold or the like that it is read as a judge."""
    like = [plain(name) for name in judges if set(usual_name(name).split("_")) & {"gold", "truth", "reference"}]
    if like:
        what = f"The column {like[0]!r} is read as a judge."
        remedy = "If it has labels known to be right, name it: {}."
        forms = remedy.format(f"gold={like[0]!r}"), remedy.format(f"--gold {shlex.quote(str(like[0]))}")
        warnings.warn(FitWarning(what, forms[0], command=forms[1]), stacklevel=4)


def gold_weights(weights: Any, gold: Any, answers: Answers, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weight of each task with a known label, 0 for others: from a dict, table or file, or a column of the labels."""
    pairs = _weights_by_task(weights, gold, answers)
    place = matched(object_array(list(pairs)), answers.tasks)
    found = np.zeros(len(answers.tasks))
    try:
        values = np.array([float(value) for value in pairs.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"Weights must be numbers: {error}.", "Give one number for each task.") from error
    found[place[place >= 0]] = values[place >= 0]
    bad = np.flatnonzero(known & ~((found > 0) & np.isfinite(found)))
    if bad.size:
        raise InputError(
            f"{count(bad.size, 'task')} with a gold label {'has' if bad.size == 1 else 'have'} no positive weight, "
            f"first {plain(answers.tasks[bad[0]])!r}.",
            "Give 1 divided by the probability with which the task was chosen.",
        )
    return np.where(known, found, 0.0)


def _weights_by_task(weights: Any, gold: Any, answers: Answers) -> dict[Any, Any]:
    if isinstance(weights, str):
        table = _frame(gold)
        if table is not None and weights in table.columns:
            return _by_task(table, weights, answers, gold)
        if not Path(weights).is_file():
            what = f"gold_weights={weights!r} is neither a column of the gold labels nor a file."
            raise InputError(what, "Check the spelling.", option="gold_weights")
    if isinstance(weights, Mapping):
        return dict(weights)
    if isinstance(weights, pd.Series):
        return dict(zip(weights.index.tolist(), weights.tolist(), strict=True))
    table = _frame(weights)
    if table is None:
        what = f"gold_weights is a dict or Series by task, a table, or a file; got {type(weights).__name__}."
        raise InputTypeError(what, "Give one of these.", option="gold_weights")
    task = gold_task_column(table.to_native(), table.columns, answers, weights)
    others = [name for name in table.columns if name != task]
    named = [name for name in others if str(name).lower() in WEIGHT_NAMES]
    if len(named) != 1 and len(others) != 1:
        raise InputError(f"No column for the weight of a task among {others}.", "Call it 'weight'.")
    return _by_task(table, (named or others)[0], answers, weights)


def _frame(data: Any) -> Any:
    """A table, or the one in a file; None for anything else."""
    if isinstance(data, str | Path):
        data = read_table(Path(data))
    is_table = nw.dependencies.is_into_dataframe(data) or isinstance(data, nw.DataFrame)
    return nw.from_native(data, eager_only=True, pass_through=True) if is_table else None


def _by_task(table: Any, column: str, answers: Answers, given: Any) -> dict[Any, Any]:
    task = gold_task_column(table.to_native(), table.columns, answers, given)
    return dict(zip(*(table.get_column(name).to_list() for name in (task, column)), strict=True))


def task_groups(by: Any, data: Any, answers: Answers) -> Groups:
    """Number of the group of each task, -1 for none, and the names of the groups, sorted.

    Parameters
    ----------
    by : str, dict, Series, table or path
        A column of the answers' table or file; or group by task.
    data : any
        The answers as they were given.
    answers : Answers
        The same as they were read.
    """
    groups = None
    if isinstance(by, str):
        source = Path(data) if isinstance(data, str | Path) else data
        if isinstance(source, Path) or nw.dependencies.is_into_dataframe(source):
            groups = groups_in_column(source, by, answers.columns.get("task"), "task")
        if groups is None and not Path(by).is_file():
            what = f"by={by!r} is neither a column of the answers nor a file."
            raise InputError(what, "Check the spelling.", option="by=")
    if groups is None:
        groups = read_groups(by, answers.columns, "task")
    place = matched(like_tasks(object_array(list(groups)), answers.tasks), answers.tasks)
    if not (place >= 0).any():
        raise InputError("No task that was answered has a group.", "Check that both name the tasks alike.")
    named = np.full(len(answers.tasks), None, dtype=object)
    named[place[place >= 0]] = object_array(list(groups.values()))[place >= 0]
    names = object_array(sort_classes(list(dict.fromkeys(groups.values()))))
    numbers = pd.Index(names).get_indexer(pd.Index(named))
    numbers, names = _present(numbers.astype(np.int64), names)
    if (numbers < 0).any():
        n_lost = int((numbers < 0).sum())
        what = f"{count(n_lost, 'task')} without a group {'is' if n_lost == 1 else 'are'} in none of the groups."
        warnings.warn(FitWarning(what), stacklevel=4)
    return numbers, names


def _present(numbers: NDArray[np.int64], names: NDArray[Any]) -> Groups:
    """The groups that have a task, numbered again."""
    used, again = np.unique(numbers, return_inverse=True)
    start = int((used < 0).sum())
    return again - start, names[used[start:]]
