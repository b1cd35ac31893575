"""Opens a file of answers: as a table, or record by record where it holds JSON or lists of answers."""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from rectifact.core.errors import InputError
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.formats import FORMATS, check_format, recognise
from rectifact.crowd.data.formats.said import Names, fields, value_at
from rectifact.crowd.data.records import MOST_LOOKED_AT, file_records, from_records, read_records
from rectifact.crowd.data.tables import COLUMN_NAMES, find_column, find_columns, read_table
from rectifact.io.files import reading
from rectifact.io.records import BadRecord, is_json, json_records
from rectifact.io.text import text_suffix

ANY = dict.fromkeys(COLUMN_NAMES)
TABLE_NAMES = {"csv": "CSV", "tsv": "TSV", "parquet": "Parquet"}


def read_file(
    path: Path,
    names: dict[str, str | None],
    *,
    wide: bool = False,
    form: str | None = None,
    question: str | None = None,
    missing: Any = "auto",
    classes: Sequence[Any] | None = None,
) -> Answers | pa.Table | pd.DataFrame:
    """A table, or answers where the file holds records; parameters as in :func:`rectifact.crowd.read_answers`."""
    check_format(form)
    if path.suffix == ".eval" and path.exists():
        raise InputError(
            f"{str(path)!r} is an Inspect log in its binary format.",
            f"Convert it: inspect log dump {path.name} > {path.stem}.json.",
        )
    container = _container(path, names, form)
    if container == "table" and question is not None:
        raise InputError(
            f"{str(path)!r} is a table, which has columns and no field={question!r}.",
            "Name the column of the labels: label='...'.",
            option="field=",
            command="Name the column of the labels: --label.",
        )
    if container == "table":
        return read_table(path, None if wide else names, TABLE_NAMES.get(form or ""))
    if wide:
        return read_flat(path)
    records = file_records(path, container)
    form = form if form in FORMATS else None
    return from_records(records, path, names, form=form, question=question, missing=missing, classes=classes)


def _container(path: Path, names: Names, form: str | None) -> str:
    """What holds the answers: a table, or records in JSON or in Parquet."""
    if form in TABLE_NAMES:
        return "table"
    if text_suffix(path) == ".parquet":
        return "parquet" if form not in (None, "records") or _holds_lists(path, names) else "table"
    return "json" if form is not None or is_json(path) else "table"


def _holds_lists(path: Path, names: Names) -> bool:
    """Whether the answers of a Parquet file are in lists, rather than in columns of their own."""
    with reading(path, "Parquet"):
        schema = parquet.read_schema(path)
        nested = {name for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_nested(kind)}
        try:
            columns = set(find_columns(schema.names, dict(names)).values())
        except InputError:
            columns = nested
        if not nested & columns:
            return False
        first = next(parquet.ParquetFile(path).iter_batches(MOST_LOOKED_AT), None)
    return first is not None and any(recognise(row, names) != "records" for row in first.to_pylist())


def read_flat(path: Path) -> pa.Table | pd.DataFrame:
    """A table from any file; the records of a JSON file must hold nothing but text and numbers."""
    return flat_table(path) if is_json(path) else read_table(path)


def flat_table(path: Path) -> pd.DataFrame:
    """The records of a JSON file as rows."""
    rows = []
    for number, (line, record) in enumerate(json_records(path), start=1):
        if not isinstance(record, dict):
            raise BadRecord("is not an object with fields").located(path, number, line)
        nested = [name for name, value in record.items() if isinstance(value, dict | list)]
        if nested:
            what = f"has a list or an object as {nested[0]!r}, where text or a number is expected"
            raise BadRecord(what).located(path, number, line)
        rows.append(record)
    if not rows:
        raise InputError(
            f"There are no records in {str(path)!r}.",
            'Write one object per record into it, such as {"task": 1, "worker": "ann", "label": "yes"}.',
        )
    return pd.DataFrame(rows, dtype=object)


def fields_of(data: Any) -> tuple[str, list[Any]]:
    """The format of a file, table or list of records, "records" if it is plain, and the columns or fields there."""
    if isinstance(data, str | Path) and is_json(Path(data)):
        data = [record for _, record in islice(json_records(Path(data)), MOST_LOOKED_AT)]
    if isinstance(data, str | Path):
        data = read_flat(Path(data))
    if isinstance(data, list) and data and all(isinstance(record, dict) for record in data):
        forms = (recognise(record) for record in data[:MOST_LOOKED_AT])
        return next((form for form in forms if form != "records"), "records"), list(dict.fromkeys(chain(*data)))
    if isinstance(data, pa.Table):
        return "records", data.column_names
    return "records", list(data.columns) if nw.dependencies.is_into_dataframe(data) else []


def labels_in(path: Path) -> Any:
    """The certain labels in a file, by task: ground truths, or else labels on which all answers to a task agree.

    None for a table, and for records that have no worker.
    """
    first = next(iter(json_records(path)), (None, None))[1] if is_json(path) else None
    if not isinstance(first, dict) or recognise(first) == "records":
        return None
    _, _, found = read_records(json_records(path), path, ANY, form=None, question=None)
    if found.gold:
        return pd.Series(found.gold)
    (task, tasks), (label, labels) = found.task.arrays(), found.label.arrays()
    said = pd.Series(labels[label], index=tasks[task]).dropna()
    labels_by_task = said[~said.index.duplicated()]
    differs = said.to_numpy() != labels_by_task[said.index].to_numpy()
    if differs.any():
        raise InputError(
            f"Task {said.index[differs.argmax()]!r} has several gold labels in {str(path)!r}, and no ground truth.",
            "Keep one label per task.",
        )
    return labels_by_task


def values_beside(path: Path, column: str, role: str, named: str | None) -> Any:
    """Workers or tasks and the values of another ``column``, record by record; None if there is no such column."""
    pairs: dict[tuple[Any, Any], None] = {}
    name = None
    for _, record in json_records(path):
        if not isinstance(record, dict) or (name is None and (recognise(record) != "records" or column not in record)):
            return None
        name = name or find_column(fields(record, [named]), role, named)
        pairs[value_at(record, name), record.get(column)] = None
    return tuple(map(list, zip(*pairs, strict=True))) if pairs else None
