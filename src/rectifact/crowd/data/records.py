"""Reads answers from records, numbering tasks, workers and labels on the way, so that no record is kept."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import InputError, count
from rectifact.crowd.data.answers import Answers, make_answers
from rectifact.crowd.data.formats import FORMATS, plain, recognise
from rectifact.crowd.data.formats.said import Names, Said
from rectifact.crowd.data.gaps import labelled, warn_of_empty
from rectifact.crowd.data.names import Gold, listed, matched, object_array, plain_text
from rectifact.io.records import BadRecord, json_records, parquet_records

Records = Iterable[tuple[int | None, Any]]
"""Records, each with the line where it begins, if there are lines."""

MOST_LOOKED_AT = 100
"""Records among which one must show the format, unless they are plain."""

MOST_QUESTIONS = 20
"""Questions that are remembered for a message."""


@dataclass(frozen=True)
class Codes:
    """Values as numbers, in the order of their first appearance; four bytes for each."""

    codes: "array[int]" = field(default_factory=lambda: array("i"))
    numbers: dict[Any, int] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """Number one more value; true is not 1."""
        key = (value,) if isinstance(value, bool) else None if value != value else value
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[_storable(key)] = len(self.numbers)
        self.codes.append(number)

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The numbers, and the values that they stand for; values of several types become text."""
        codes = np.frombuffer(self.codes, dtype=np.int32) if self.codes else np.empty(0, dtype=np.int32)
        values = [key[0] if isinstance(key, tuple) else key for key in self.numbers]
        kinds = {type(value) for value in values} - {type(None)}
        if len(kinds) > 1 and not kinds <= {int, float}:
            texts = [value if value is None else plain_text(value) for value in values]
            number, different = pd.factorize(object_array(texts), use_na_sentinel=False)
            return number[codes].astype(np.int32), different
        return codes, object_array(values)


def _storable(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise BadRecord(f"has the text {value!r}, which is not valid Unicode") from error
    return value


@dataclass
class Reading:
    """What has been read so far."""

    task: Codes = field(default_factory=Codes)
    worker: Codes = field(default_factory=Codes)
    label: Codes = field(default_factory=Codes)
    gold: dict[Any, Any] = field(default_factory=dict)
    questions: dict[str, None] = field(default_factory=dict)
    skipped: int = 0

    def take(self, said: Said, question: str | None) -> None:
        """Take in one answer, or gold label, to the ``question``; any, if it is None, but only to one."""
        if said.question and (said.question == question or len(self.questions) < MOST_QUESTIONS):
            self.questions[said.question] = None
        if said.question and question is None and len(self.questions) > 1:
            raise several_questions(self.questions)
        if question is not None and said.question not in ("", question):
            return
        if said.skipped:
            self.skipped += 1
        elif said.gold:
            self._take_gold(said)
        else:
            self.task.add(said.task)
            self.worker.add(said.worker)
            self.label.add(said.label)

    def _take_gold(self, said: Said) -> None:
        if said.label is not None and self.gold.setdefault(said.task, said.label) != said.label:
            raise BadRecord(
                f"has two gold labels, {self.gold[said.task]!r} and {said.label!r}", "Keep one ground truth per task."
            )


def several_questions(questions: Iterable[str]) -> BadRecord:
    """Ask which of several questions is meant: their answers cannot be mixed."""
    names = listed(object_array(list(questions)))
    return BadRecord(
        f"shows that the file answers several questions, {names}",
        "Name it: field='...'.",
        "Name it: --field.",
    )


def file_records(path: Path, container: str) -> Records:
    """The records of a JSON or Parquet file."""
    return parquet_records(path) if container == "parquet" else json_records(path)


def from_records(
    records: Records,
    path: Path | None,
    names: Names,
    *,
    form: str | None,
    question: str | None,
    missing: Any,
    classes: Sequence[Any] | None,
) -> Answers:
    """Answers from the records of a file, or of a list if ``path`` is None.

    Parameters
    ----------
    records : iterable of (line, record)
    path : Path or None
        For messages.
    names : mapping of str to str or None
        Fields for task, worker and label.
    form : str or None
        A name in ``FORMATS``; None recognises it by the first record.
    question : str or None
        Which question is read, where records answer several.
    missing, classes
        As in :func:`rectifact.crowd.read_answers`.
    """
    name, columns, found = read_records(records, path, names, form=form, question=question)
    return _answers(found, name, path, columns, missing, classes)


def read_records(
    records: Records, path: Path | None, names: Names, *, form: str | None, question: str | None
) -> tuple[str, dict[str, str], Reading]:
    """The format of the records, the fields of plain ones, and what they say."""
    numbered = enumerate(records, start=1)
    head = _until_recognised(numbered, names, form)
    if not head:
        raise InputError(
            f"There are no records in {_file(path)}.",
            'Write one object per record into it, such as {"task": 1, "worker": "ann", "label": "yes"}.',
        )
    name, columns, read = _reader(head, path, names, form)
    found = Reading()
    for number, (line, record) in chain(head, numbered):
        try:
            for said in read(_object(record)):
                found.take(said, question)
        except BadRecord as error:
            raise error.located(path, number, line) from error
    if question is not None and question not in found.questions:
        others = f"; it has {listed(object_array(list(found.questions)))}" if found.questions else ""
        raise InputError(
            f"{_file(path)} has no answers to field={question!r}{others}.", "Check the spelling.", option="field="
        )
    return name, columns, found


def _until_recognised(numbered: Iterator[Any], names: Names, form: str | None) -> list[Any]:
    """The first records, up to one that shows what they are, because lists may be empty in others."""
    head = []
    for item in islice(numbered, MOST_LOOKED_AT):
        head.append(item)
        if _shows(item, names, form):
            break
    return head


def _shows(item: Any, names: Names, form: str | None) -> bool:
    record = item[1][1]
    if not isinstance(record, dict):
        return False
    return recognise(record, names) != "records" if form is None else FORMATS[form].recognise(record, names)


def _reader(head: list[Any], path: Path | None, names: Names, form: str | None) -> tuple[str, dict[str, str], Any]:
    """The format, the fields of plain records, and the function from a record to its answers."""
    number, (line, record) = head[-1] if _shows(head[-1], names, form) else head[0]
    try:
        record = _object(record)
        name = recognise(record, names) if form is None else form
        refused = [role for role, given in names.items() if given is not None and role not in FORMATS[name].takes]
        if refused:
            what = f"{FORMATS[name].title[:1].upper()}{FORMATS[name].title[1:]} says by itself what is the {refused[0]}"
            raise InputError(f"{what}.", f"Leave out {refused[0]}=.", command=f"Leave out --{refused[0]}.")
        columns = plain.columns(record, names) if name == "records" else {}
        return name, columns, FORMATS[name].reader(record, names)
    except BadRecord as error:
        raise error.located(path, number, line) from error


def _object(record: Any) -> Mapping[str, Any]:
    if not isinstance(record, dict):
        raise BadRecord(f"is a {type(record).__name__}, where an object with fields is expected")
    return record


def _file(path: Path | None) -> str:
    return "the list" if path is None else repr(str(path))


def _answers(
    found: Reading,
    name: str,
    path: Path | None,
    columns: dict[str, str],
    missing: Any,
    classes: Sequence[Any] | None,
) -> Answers:
    codes, values = {}, {}
    for role in ("task", "worker", "label"):
        codes[role], values[role] = getattr(found, role).arrays()
    with_label, _ = labelled(values["label"], missing)
    without = [i for i in np.flatnonzero(~with_label) if labelled(values["label"][i : i + 1], missing)[1]]
    warn_of_empty(int(np.isin(codes["label"], without).sum()), stacklevel=6)
    kept = with_label[codes["label"]]
    if not kept.any():
        raise InputError(
            f"There are no answers in {_file(path)}, read as {FORMATS[name].title}.",
            f"Its {FORMATS[name].holds} are what can be read.",
        )
    for role in codes:
        codes[role], used = pd.factorize(codes[role][kept])
        codes[role], values[role] = codes[role].astype(np.int32), _native(values[role][used])
    answers = make_answers(codes, values, classes, columns)
    return replace(
        answers, gold=_gold(found.gold, answers.tasks), source={"format": name, "sentence": _sentence(name, found)}
    )


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as an array of numbers, and anything else as it is."""
    kinds = {type(value) for value in values}
    return pd.Series(values.tolist()).to_numpy() if kinds <= {int, float} or kinds == {bool} else values


def _gold(gold: dict[Any, Any], tasks: NDArray[Any]) -> Gold | None:
    """The gold labels of tasks that were answered, None if there is none."""
    known = object_array(list(gold))
    answered = matched(known, tasks) >= 0 if len(known) else np.zeros(0, dtype=bool)
    return (known[answered], object_array(list(gold.values()))[answered]) if answered.any() else None


def _sentence(name: str, found: Reading) -> str:
    """How the file was read, in one sentence."""
    asked = f", question {next(iter(found.questions))!r}" if len(found.questions) == 1 and name != "inspect" else ""
    left = f", without {count(found.skipped, 'answer')} that workers skipped" if found.skipped else ""
    return f"Read as {FORMATS[name].title}{asked}{left}."
