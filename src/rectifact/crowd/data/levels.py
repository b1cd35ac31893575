"""What the classes of answers mean: labels, ordered grades or numbers; and which answers cannot be read so."""

import shlex
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError
from rectifact.crowd.agreement import Level, Scale, scale_of
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.names import plain

MOST_CLASSES = {"nominal": 1000, "ordinal": 100}


def scale_for(answers: Answers, level: Level, ordered: bool, *, has_level: bool = True) -> Scale:
    """What the classes mean; ``ordered`` if the user gave their order, and with a ``level`` if they can choose one."""
    names, most = answers.classes, MOST_CLASSES.get(level)
    if most is not None and len(names) > most:
        raise _too_many(answers, "ordered grades" if level == "ordinal" else "labels", most, has_level)
    try:
        values = np.array([float(name) for name in names])
        numbers = bool(np.isfinite(values).all())
    except (TypeError, ValueError):
        numbers = False
    if level == "interval" and not numbers:
        raise InputError(
            f"level='interval' needs numbers; got labels such as {_odd(names)!r}.",
            "Use level='nominal', or level='ordinal' with classes in order.",
            option="level",
            command="Use --level nominal, or --level ordinal with --classes in order.",
        )
    if level == "ordinal" and not numbers and not ordered and is_number(names).sum() > 1:
        raise _mixed_grades(names[~is_number(names)])
    if level == "ordinal" and not numbers and not ordered:
        raise InputError(
            f"The order of labels such as {_odd(names)!r} is not known.",
            "List all classes in order: classes=['poor', 'fair', 'good'].",
            command="List all classes in order: --classes poor,fair,good.",
        )
    return scale_of(level, values if numbers else np.arange(len(names), dtype=float))


def mention_grades(answers: Answers) -> None:
    """Say how to compare labels as grades where they are three numbers or more; with two, the order is of no account.

    Numbers may be names of categories, too, so that the level is not chosen without being asked for.
    """
    names = answers.classes
    if len(names) < 3 or not is_number(names).all():
        return
    first, second, *_, last = sorted((plain(name) for name in names), key=float)
    what = f"The labels are numbers, and were compared as names: {first} differs from {second} as much as from {last}."
    remedy = "If they are grades, use {}; if not, {} leaves out this note."
    command = remedy.format("--level ordinal", "--level nominal")
    warnings.warn(FitWarning(what, remedy.format("level='ordinal'", "level='nominal'"), command=command), stacklevel=2)


def _mixed_grades(others: NDArray[Any]) -> InputError:
    """An error about grades that are numbers, but for some."""
    odd = plain(others[0])
    what = f"All labels but {odd!r} are numbers, so that it has no place in their order."
    if len(others) > 1:
        what = f"Some labels are numbers, and others such as {odd!r} are not."
    if any(letter.isdigit() for letter in str(odd)):
        remedy = "Write all grades as numbers, or list all classes in order{}."
        return InputError(what, remedy.format(""), command=remedy.format(" with --classes"))
    remedy = "If it stands for no answer, say so: {}; else list all classes in order{}."
    command = remedy.format(f"--missing {shlex.quote(str(odd))}", " with --classes")
    return InputError(what, remedy.format(f"missing={odd!r}", ""), command=command)


def is_number(names: NDArray[Any]) -> NDArray[np.bool_]:
    """Which names are finite numbers."""
    return np.isfinite(pd.to_numeric(pd.Series(names.tolist(), dtype=object), errors="coerce").to_numpy(dtype=float))


def _odd(names: NDArray[Any]) -> Any:
    """The first name that is not a finite number."""
    odd = names[~is_number(names)]
    return plain(odd[0] if len(odd) else names[0])


def _too_many(answers: Answers, what: str, most: int, has_level: bool) -> InputError:
    """An error about more classes than can be compared, which names the column that has them."""
    said = f"There are {len(answers.classes)} classes, and {what} can be at most {most}"
    if answers.source.get("format") == "wide":
        pairs = np.unique(np.stack([answers.worker, answers.label]), axis=1)
        worst = plain(answers.workers[np.bincount(pairs[0]).argmax()])
        remedy = "Leave it out if it is not a worker: {}."
        forms = f"frame.drop(columns=[{worst!r}])", f"--drop {shlex.quote(str(worst))}"
        said = f"{said}; most of them are in the column {worst!r}."
    else:
        column = answers.columns.get("label")
        remedy = "Name the column with the labels: {}."
        forms = "label='...'", "--label COLUMN"
        said = f"{said}; they come from the column {column!r}." if column else f"{said}."
    if has_level and is_number(answers.classes).all():
        remedy = f"{remedy} To compare them as numbers, use {{}}."
        return InputError(
            said, remedy.format(forms[0], "level='interval'"), command=remedy.format(forms[1], "--level interval")
        )
    return InputError(said, remedy.format(forms[0]), command=remedy.format(forms[1]))
