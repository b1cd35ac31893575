"""Names of tasks, workers and classes: their texts, and finding one name among others."""

import csv
import re
import shlex
import warnings
from collections.abc import Sequence
from difflib import SequenceMatcher
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.crowd.data.marks import bare
from rectifact.io.graphs import folded

Gold = tuple[NDArray[Any], NDArray[Any]]
"""Tasks and their certain labels."""

DECIMAL = re.compile(r"[+-]?\d+\.\d*")
"""A number with a decimal point: spreadsheets write 4.0 where others write 4."""

ALIKE = 0.6
"""Similarity, from 0 to 1, above which a name may be another one misspelt."""

NAMED = 5
"""Workers or classes that a message names, before it says how many more there are."""

WHOLE_NUMBER = re.compile(r"-?\d+(\.0*)?")


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """One-dimensional array of any values; np.array would turn tuples into rows and mixed types into text."""
    return np.fromiter(values, dtype=object, count=len(values))


def plain_text(value: Any) -> str:
    """Text of a value; whole numbers, however they are written, without a fraction."""
    text = str(plain(value))
    return text.split(".")[0] if WHOLE_NUMBER.fullmatch(text) else text


def plain(value: Any) -> Any:
    """Python's own number for a numpy one, so that messages show 1 and not np.int64(1)."""
    return value.item() if isinstance(value, np.generic) else value


def fold(value: Any) -> str:
    """Text of a label without capitals, with one space where there are several, and without the zeros of 4.0.

    Examples
    --------
    >>> fold(" Not  Relevant"), fold(True), fold(4), fold("4.0"), fold("4.50")
    ('not relevant', 'true', '4', '4', '4.5')
    """
    text = folded(str(plain(value)))
    return text.rstrip("0").rstrip(".") if DECIMAL.fullmatch(text) else text


def unmarked(value: Any) -> str:
    """The same without marks around the label, such as a full stop or quotes."""
    return fold(bare(fold(value)))


def listed(names: NDArray[Any]) -> str:
    r"""The first names, as Python writes them, so that control characters are harmless.

    Examples
    --------
    >>> import numpy as np
    >>> listed(np.array(["ann", "b\x1b"])), listed(np.arange(7))
    ("'ann', 'b\\x1b'", '0, 1, 2, 3, 4 and 2 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(repr(plain(name)) for name in names[:NAMED]) + more


def closest(to: NDArray[Any], names: NDArray[Any]) -> NDArray[Any]:
    """Names, those first that are spelt most like one of ``to``.

    Examples
    --------
    >>> import numpy as np
    >>> closest(np.array(["anna"]), np.array(["gpt", "claude", "Ann"])).tolist()
    ['Ann', 'claude', 'gpt']
    """
    alike = [max(_alike(name, one) for one in to[:NAMED]) for name in names]
    return names[np.argsort(-np.array(alike), kind="stable")]


def likely(name: Any, names: NDArray[Any]) -> Any:
    """The one of ``names`` that is spelt most like ``name``; None if none is spelt much like it.

    Examples
    --------
    >>> import numpy as np
    >>> likely("anna", np.array(["gpt", "Ann"])), likely("anna", np.array(["gpt"]))
    ('Ann', None)
    """
    best = closest(object_array([name]), names)[:1]
    return plain(best[0]) if len(best) and _alike(name, best[0]) > ALIKE else None


def _alike(one: Any, other: Any) -> float:
    """Similarity of two names without regard to case, 1 if they are the same."""
    return SequenceMatcher(None, plain_text(one).casefold(), plain_text(other).casefold()).ratio()


def sentence(names: Sequence[Any], most: int = 12) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> sentence(["gpt", "claude", "mini"]), sentence(["gpt"])
    ('gpt, claude and mini', 'gpt')
    """
    shown = [str(plain(name)) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def in_words(name: Any) -> str:
    """A name as it stands in a sentence: in quotes if it has a comma, which would seem to end it.

    Examples
    --------
    >>> in_words("gpt"), in_words("Qwen, 72B")
    ('gpt', "'Qwen, 72B'")
    """
    text = str(plain(name))
    return repr(text) if "," in text else text


def who_all(names: Sequence[Any]) -> str:
    """Names of workers in a sentence, with quotes around those that have a comma."""
    return sentence([in_words(name) for name in names])


def matched(values: NDArray[Any], known: Any) -> NDArray[Any]:
    """Positions of ``values`` in ``known``, -1 where there is none; a number and its text are the same."""
    position = pd.Index(known).get_indexer(pd.Index(values))
    by_text = pd.Index([plain_text(value) for value in known]).drop_duplicates()
    if (position < 0).any() and len(by_text) == len(known):
        texts = by_text.get_indexer(pd.Index([plain_text(value) for value in values]))
        position = np.where(position < 0, texts, position)
    return position


def matched_workers(names: NDArray[Any], workers: NDArray[Any]) -> NDArray[Any]:
    """Positions of names among the ``workers``, -1 where there is none; case and spaces count only between workers.

    Examples
    --------
    >>> import numpy as np
    >>> matched_workers(np.array(["GPT ", "ANN"]), np.array(["gpt", "ann", "Ann"])).tolist()
    [0, -1]
    """
    place = matched(names, workers)
    if (place >= 0).all():
        return place
    spelt: dict[str, list[int]] = {}
    for i, name in enumerate(workers.tolist()):
        spelt.setdefault(folded(str(name)), []).append(i)
    alike = [spelt.get(folded(str(name)), []) for name in names.tolist()]
    return np.array([i if i >= 0 or len(own) != 1 else own[0] for i, own in zip(place, alike, strict=True)])


def distinct(gold: Gold) -> Gold:
    """Gold labels without rows that say the same again.

    Examples
    --------
    >>> import numpy as np
    >>> distinct((np.array([1, 1, 2]), np.array(["a", "a", "b"])))[0].tolist()
    [1, 2]
    """
    texts = pd.DataFrame({i: [plain_text(value) for value in part] for i, part in enumerate(gold)})
    again = texts.duplicated().to_numpy()
    return gold if not again.any() else (gold[0][~again], gold[1][~again])


def check_gold(
    gold: Gold, codes: NDArray[Any], found: NDArray[np.bool_], repeated: bool, classes: NDArray[Any]
) -> None:
    """Refuse gold labels that cannot be used, and report those of classes that no worker has.

    Parameters
    ----------
    gold : Gold
    codes : array
        Classes of the labels, -1 for one that is not among the ``classes``.
    found : array of bool
        Which of the tasks were answered.
    repeated : bool
        Whether one of these tasks has two labels.
    classes : array
    """
    unknown = np.flatnonzero((codes < 0) & found)
    if unknown.size:
        task, label = (plain(part[unknown[0]]) for part in gold)
        what = f"The gold label {label!r} of task {task!r} is none of the classes {classes.tolist()}"
        if unknown.size == found.sum():
            raise InputError(f"{what}, and no other gold label is.", "Check that both name the classes alike.")
        more = unknown.size - 1
        others = f", and so {'is that' if more == 1 else 'are those'} of {count(more, 'other task')}" if more else ""
        remedy = "They are left out; no worker gave such an answer." if others else "It is left out."
        warnings.warn(FitWarning(f"{what}{others}.", remedy), stacklevel=5)
    if not len(gold[0]):
        raise InputError("There are no gold labels.", "Give labels of some of the tasks.")
    if repeated:
        names = pd.Series([plain_text(task) for task in gold[0]])[found]
        first = names[names.duplicated()].iloc[0]
        labels = " and ".join(repr(plain(label)) for label in gold[1][names.index[names == first]][:2])
        task = plain(gold[0][names.index[names == first][0]])
        raise InputError(f"Task {task!r} has two gold labels, {labels}.", "Keep one gold label per task.")


def split_names(text: str) -> list[str]:
    """Names with commas between them; one with a comma in it stands in quotes, as in CSV.

    Examples
    --------
    >>> split_names('gpt, "Smith, Ann",bob')
    ['gpt', 'Smith, Ann', 'bob']
    """
    try:
        fields = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # a line break, or more letters than a field may have: one name that no list of names holds
        fields = [text]
    return [name.strip() for name in fields if name.strip()]


def no_answers(text: str) -> str | list[str]:
    """What stands for no answer, from a text that may hold several with commas between them.

    Examples
    --------
    >>> no_answers("auto"), no_answers("N/A,error")
    ('auto', ['N/A', 'error', 'N/A,error'])
    """
    names = split_names(text)
    return text if len(names) < 2 and text in names else [*names, text]


def joined_names(names: Sequence[Any]) -> str:
    """Names in one text, as :func:`split_names` takes them.

    Examples
    --------
    >>> joined_names(["gpt", "Smith, Ann"])
    'gpt,"Smith, Ann"'
    """
    row = StringIO()
    csv.writer(row, lineterminator="").writerow([plain_text(name) for name in names])
    return row.getvalue()


def with_commas(names: Sequence[Any], classes: NDArray[Any]) -> list[Any]:
    """Names of classes, where one text may hold several of them with commas.

    Examples
    --------
    >>> import numpy as np
    >>> with_commas(["4,5"], np.array(["1", "4", "5"])), with_commas(["a,b"], np.array(["a,b", "c"]))
    (['4', '5'], ['a,b'])
    """
    found: list[Any] = []
    for name in names:
        parts = split_names(name) if isinstance(name, str) and "," in name else [name]
        spelt = object_array([as_spelt(part, classes) for part in parts])
        several = matched(object_array([name]), classes)[0] < 0 and (matched(spelt, classes) >= 0).all()
        found += parts if several else [name]
    return [as_spelt(name, classes) for name in found]


def as_spelt(name: Any, classes: NDArray[Any]) -> Any:
    """A name as one of the classes is spelt, if it differs from that class only in case, spaces or marks around it.

    Examples
    --------
    >>> import numpy as np
    >>> as_spelt("PASS.", np.array(["fail", "pass"])), as_spelt("4", np.array([3, 4]))
    ('pass', '4')
    """
    if matched(object_array([name]), classes)[0] >= 0:
        return name
    for form in (fold, unmarked):
        alike = [plain(known) for known in classes.tolist() if form(known) == form(name)]
        if len(alike) == 1:
            return alike[0]
    return name


def refuse_strange(labels: NDArray[Any], classes: NDArray[Any], named: Sequence[Any] = ()) -> None:
    """Refuse certain labels that are neither classes of the answers nor ``named`` as meant: they may be misspelt.

    Examples
    --------
    >>> import numpy as np
    >>> refuse_strange(np.array(["pass", "fial", "fial"]), np.array(["fail", "pass"]))
    Traceback (most recent call last):
    rectifact.core.errors.InputError: 2 gold labels are none of the classes 'fail', 'pass': 'fial'. ...
    """
    if len(classes) < 2:  # of a single class nobody knows what the others are called
        return
    known = matched(labels, classes) >= 0
    if len(named):
        known |= matched(labels, pd.unique(object_array(list(named)))) >= 0
    strange = labels[~known]
    if not len(strange):
        return
    names = pd.unique(strange)
    verb = "gold label is" if len(strange) == 1 else "gold labels are"
    if not known.any() and len(names) > 1:  # another way of saying it, such as 0 and 1 for fail and pass
        raise InputError(
            f"None of the gold labels is one of the classes {listed(classes)}; they are {listed(names)}.",
            "Write the gold labels as the answers are written.",
        )
    everything = [*classes.tolist(), *(plain(name) for name in names)]
    remedy = "Correct the spelling; if it is meant, list all classes: {}."
    raise InputError(
        f"{len(strange)} {verb} none of the classes {listed(classes)}: {listed(names)}.",
        remedy.format(f"classes={everything!r}"),
        command=remedy.format(f"--classes {shlex.quote(joined_names(everything))}"),
    )


def outside_classes(unknown: Sequence[Any], classes: Sequence[Any], of: str = "") -> InputError:
    """An error about labels that are not among the classes, and how to leave them out."""
    names = [plain(name) for name in unknown]
    also = f", nor {'is 1 other' if len(names) == 2 else f'are {len(names) - 1} others'}" if len(names) > 1 else ""
    remedy = "Add it if it is a class, or leave out what is not an answer: {}."
    return InputError(
        f"The label {names[0]!r} is not among the {of}classes {list(classes)}{also}.",
        remedy.format(f"missing={names if also else names[0]!r}"),
        command=remedy.format(f"--missing {shlex.quote(joined_names(names))}"),
    )


def of_classes(gold: Gold | None, classes: NDArray[Any]) -> Gold | None:
    """The gold labels of these classes, without those that :func:`check_gold` has reported."""
    if gold is None:
        return None
    kept = matched(gold[1], classes) >= 0
    return gold[0][kept], gold[1][kept]
