"""Output tables and arrays of the commands: checks their names before the work, and writes them after it.

They are written whole or not at all, single files through ``io.files``. Input tables are read by ``io.tables``.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from rectifact.cli.terminal import STDOUT, say, writing_to_stdout
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError, count
from rectifact.core.operand import is_chunked
from rectifact.io.files import atomic_path, check_writable, real_path, text_to


def check_different_files(paths: Sequence[Path | None]) -> None:
    """Refuse one file under two names, which would be overwritten."""
    files = [real_path(path) for path in paths if path is not None and path != STDOUT]
    if len(set(files)) < len(files):
        raise InputError("One file is named twice, and would be overwritten.", "Choose another name for the output.")


TABLES = (".csv", ".tsv", ".parquet", ".jsonl")


def say_columns(columns: Mapping[str, str]) -> None:
    """Say which columns were read as task, worker and label, unless they are called so."""
    if columns and set(columns) != set(columns.values()):
        say("Columns read: " + ", ".join(f"{role} from {column!r}" for role, column in columns.items()) + ".")


def check_table_name(path: Path) -> None:
    """Refuse a name that does not show the format, and a place that cannot be written to."""
    check_writable(path)
    if path.suffix.lower() not in TABLES and path.parent != Path("/dev"):
        raise InputError(
            f"{str(path)!r} should end in .csv, .tsv, .parquet or .jsonl, so that its format is known.", "Rename it."
        )


def check_table_or_arrays_name(path: Path) -> None:
    """Refuse a name that is neither that of a table nor that of an archive of arrays."""
    check_writable(path)
    if path.suffix.lower() not in (*TABLES, ".npz") and path.parent != Path("/dev"):
        raise InputError(
            f"{str(path)!r} should end in .csv, .tsv, .parquet or .jsonl for a table, or in .npz for all arrays.",
            "Rename it.",
        )


def check_parts_name(path: Path) -> None:
    """Refuse a name that is neither that of a table nor that of a new folder."""
    if path.suffix:
        check_table_name(path)
        return
    if path.exists():
        raise InputError(f"Cannot write to {str(path)!r}: it already exists.", "Name a new folder, or a file.")
    check_writable(path)


def check_outputs(data: Path, samples: Path | None, others: Sequence[Path | None], *, in_chunks: bool) -> None:
    """Refuse outputs that could not be written, or would be read as data the next time.

    Parameters
    ----------
    data : Path
        What is read.
    samples : Path or None
        The table with one row per sample, which may be a new folder if the data is in chunks.
    others : sequence of Path or None
        Other files that are written.
    in_chunks : bool
        Whether ``data`` is a folder of files that hold rows of one matrix.
    """
    if samples is not None and samples != STDOUT:
        (check_parts_name if in_chunks else check_table_name)(samples)
    for path in (samples, *others):
        if in_chunks and path is not None and real_path(path).parent == real_path(data):
            raise InputError(
                f"{str(path)!r} would be among the data, and be read as part of it.", "Name another folder."
            )


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write an .npz archive; names are arrays of text, so that nothing is pickled."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    say(f"{', '.join(arrays)} -> {path}")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table; ``-`` is the standard output."""
    _write([frame], path)


def named_as_read(frame: Any, columns: Mapping[str, str], parts: Mapping[str, Mapping[Any, Any]] | None = None) -> Any:
    """A table in which task and label are called as in the file that was read.

    Parameters
    ----------
    frame : DataFrame
        Of pandas or Dask.
    columns : mapping
        Names of the columns by role; a name that the table has for something else is not used.
    parts : mapping, default None
        Columns that name a task together, by task, which take the place of the column of tasks.

    Examples
    --------
    >>> frame = pd.DataFrame({"task": [1], "label": ["pass"], "confidence": [0.9]})
    >>> named_as_read(frame, {"task": "item", "worker": "judge", "label": "confidence"}).columns.tolist()
    ['item', 'label', 'confidence']
    >>> frame = pd.DataFrame({"task": ["7, v1"], "label": ["pass"]})
    >>> named_as_read(frame, {}, {"id": {"7, v1": 7}, "version": {"7, v1": "v1"}}).to_dict("records")
    [{'id': 7, 'version': 'v1', 'label': 'pass'}]
    """
    if parts and not set(parts) & set(frame.columns):
        place = frame.columns.get_loc("task")
        tasks, frame = frame["task"], frame.drop(columns="task")
        for name, values in reversed(list(parts.items())):
            frame.insert(place, name, [values.get(task) for task in tasks])
    given = {role: columns[role] for role in ("task", "label") if role in columns}
    return frame.rename(columns={role: name for role, name in given.items() if name not in frame.columns})


def write_parts(frame: Any, path: Path) -> None:
    """Write a Dask dataframe: to one file, one partition after the other, or to a folder, each by its Dask worker."""
    if path != STDOUT and not path.suffix:
        _write_folder(frame, path)
    else:
        _write((partition.compute() for partition in frame.to_delayed()), path)


def _write(partitions: Iterator[pd.DataFrame] | list[pd.DataFrame], path: Path) -> None:
    """Write tables below each other, with one of them in memory at a time."""
    if path == STDOUT:
        with writing_to_stdout():
            _write_text(partitions, sys.stdout, ",")
        return
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            n_rows = _write_parquet(iter(partitions), temporary)
        else:
            with text_to(temporary) as file:
                if suffix == ".jsonl":
                    n_rows = _write_lines(partitions, file)
                else:
                    n_rows = _write_text(partitions, file, "\t" if suffix == ".tsv" else ",")
    say(f"{count(n_rows, 'row')} -> {path}")


def _write_text(partitions: Iterator[pd.DataFrame] | list[pd.DataFrame], file: Any, separator: str) -> int:
    n_rows = 0
    for i, rows in enumerate(partitions):
        rows.to_csv(file, index=False, sep=separator, header=i == 0)
        n_rows += len(rows)
    return n_rows


def _write_lines(partitions: Iterator[pd.DataFrame] | list[pd.DataFrame], file: Any) -> int:
    """Write one JSON object per row; what is missing is null."""
    n_rows = 0
    for rows in partitions:
        values = [rows[name].astype(object).where(rows[name].notna(), None).tolist() for name in rows.columns]
        for row in zip(*values, strict=True):
            file.write(as_json(dict(zip(rows.columns, row, strict=True))) + "\n")
        n_rows += len(rows)
    return n_rows


def as_json(value: Any) -> str:
    """One line of JSON; numbers of numpy are numbers, and whatever JSON does not have is text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating) else str(value)


def write_list(values: Iterator[Any], path: Path) -> None:
    """Write a JSON list of objects, one after the other."""
    with atomic_path(path) as temporary, text_to(temporary) as file:
        n_values, before = 0, "[\n"
        for value in values:
            file.write(before + as_json(value))
            n_values, before = n_values + 1, ",\n"
        file.write("\n]\n" if n_values else "[]\n")
    say(f"{count(n_values, 'task')} -> {path}")


def check_json_name(path: Path) -> None:
    """Refuse a name that does not end in .json, and a place that cannot be written to."""
    check_writable(path)
    if path.suffix.lower() != ".json":
        raise InputError(f"{str(path)!r} should end in .json.", "Rename it.")


def _write_parquet(partitions: Iterator[pd.DataFrame], path: Path) -> int:
    first = pa.Table.from_pandas(next(partitions), preserve_index=False)
    n_rows = len(first)
    with parquet.ParquetWriter(path, first.schema) as file:
        file.write_table(first)
        for rows in partitions:
            file.write_table(pa.Table.from_pandas(rows, schema=first.schema, preserve_index=False))
            n_rows += len(rows)
    return n_rows


def _write_folder(frame: Any, path: Path) -> None:
    temporary = path.absolute().with_name(f".rectifact.{os.getpid()}.{path.name}")  # Dask workers may start elsewhere
    try:
        frame.to_parquet(temporary, write_index=False)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    say(f"{count(frame.npartitions, 'file')} -> {path}")


def write_samples(A: Array, samples: Any, column: str, path: Path, title: str = "sample") -> None:
    """Write one row per sample: its name, and its row of ``A``, in columns numbered from 1; chunks one by one.

    Parameters
    ----------
    A : array or Dask array of shape (n_samples, n_columns)
    samples : array of str, or sequence of delayed arrays
        Names of the samples; for a Dask array, those of each chunk.
    column : str
        What the columns are called, before their number.
    path : Path
    title : str, default "sample"
        What the column of names is called.
    """
    if not is_chunked(A):
        write_table(samples_table(A, samples, column, title), path)
        return
    import dask.dataframe as dd
    from dask import delayed

    make = delayed(samples_table, pure=False)
    partitions = [make(rows, names, column) for rows, names in zip(A.to_delayed().ravel(), samples, strict=True)]
    meta = samples_table(np.empty((0, A.shape[1]), dtype=A.dtype), np.empty(0, dtype=np.str_), column)
    write_parts(dd.from_delayed(partitions, meta=meta, verify_meta=False), path)


def samples_table(A: Any, samples: Any, column: str, title: str = "sample") -> pd.DataFrame:
    """One row per sample, as :func:`write_samples` writes it."""
    table = pd.DataFrame(A, columns=[f"{column}{i + 1}" for i in range(A.shape[1])])
    table.insert(0, "sample" if title in table else title, samples)
    return table


def retitled(table: pd.DataFrame, row_title: str, column_title: str) -> pd.DataFrame:
    """A table of samples or features with the words of the user for them, unless it has such columns already.

    Examples
    --------
    >>> retitled(pd.DataFrame({"sample": [1], "rank": [1], "feature": [2]}), "user", "item").columns.tolist()
    ['user', 'rank', 'item']
    """
    titles = {"sample": row_title, "feature": column_title}
    return table.rename(columns={old: new for old, new in titles.items() if new not in table})
