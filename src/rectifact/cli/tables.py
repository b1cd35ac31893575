"""Tables that dask holds in parts, written part by part: as one file, or as a folder."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from rectifact.cli.terminal import STDOUT, check_table_name, say, writing_to_stdout
from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable

__all__ = ["check_parts_name", "write_parts"]


def check_parts_name(path: Path) -> None:
    """Refuse a name that is neither that of a table nor that of a new folder."""
    if path.suffix:
        check_table_name(path)
        return
    if path.exists():
        raise InputError(f"Cannot write to {str(path)!r}: it is there already. Name a new folder, or a file.")
    check_writable(path)


def write_parts(frame: Any, path: Path) -> None:
    """Write a dask dataframe whole or not at all: to one file part by part, or to a folder, each part by its worker."""
    if path == STDOUT:
        with writing_to_stdout():
            for i, part in enumerate(_parts(frame)):
                part.to_csv(sys.stdout, index=False, header=i == 0)
            sys.stdout.flush()
        return
    if not path.suffix:
        _write_folder(frame, path)
        return
    with atomic_path(path) as temporary:
        write = _write_parquet if path.suffix.lower() == ".parquet" else _write_text
        n_rows = write(frame, temporary, "\t" if path.suffix.lower() == ".tsv" else ",")
    say(f"{n_rows} rows -> {path}")


def _parts(frame: Any) -> Iterator[pd.DataFrame]:
    """One part in memory at a time."""
    for part in frame.to_delayed():
        yield part.compute()


def _write_text(frame: Any, path: Path, separator: str) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for part in _parts(frame):
            part.to_csv(file, index=False, sep=separator, header=n_rows == 0)
            n_rows += len(part)
    return n_rows


def _write_parquet(frame: Any, path: Path, _: str) -> int:
    parts, n_rows = _parts(frame), 0
    first = pa.Table.from_pandas(next(parts), preserve_index=False)
    with parquet.ParquetWriter(path, first.schema) as file:
        file.write_table(first)
        n_rows += len(first)
        for part in parts:
            file.write_table(pa.Table.from_pandas(part, schema=first.schema, preserve_index=False))
            n_rows += len(part)
    return n_rows


def _write_folder(frame: Any, path: Path) -> None:
    temporary = path.absolute().with_name(f".rectifact.{os.getpid()}.{path.name}")  # workers may start elsewhere
    try:
        frame.to_parquet(temporary, write_index=False)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    say(f"{frame.npartitions} files -> {path}")
