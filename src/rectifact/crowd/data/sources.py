"""Tells whether answers are partitioned, and opens them: Dask dataframes, and folders, patterns and lists of files."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
from pyarrow import parquet

from rectifact.core.errors import InputError, missing_extra
from rectifact.crowd.data.tables import find_columns
from rectifact.io.files import natural, reading

MOST_ROWS = 1 << 20
"""Rows of a Parquet file that are read together; a file of more is read by its row groups."""


@dataclass(frozen=True)
class Source:
    """Lazy pandas tables of answers, and which of their columns are task, worker and label."""

    parts: tuple[Any, ...]
    columns: dict[str, str]


def is_source(data: Any) -> bool:
    """Whether the answers are partitioned: a Dask dataframe, a folder, a pattern or a list of files.

    Examples
    --------
    >>> is_source(["january.parquet", "february.parquet"]), is_source("answers/*.parquet"), is_source("a.parquet")
    (True, True, False)
    """
    if isinstance(data, str | Path):
        path = Path(data)
        with suppress(OSError):  # a name that is too long; its reader says so
            return path.is_dir() or ("*" in path.name and not path.exists())
        return False
    if isinstance(data, list | tuple):
        return len(data) > 0 and all(isinstance(item, str | Path) for item in data)
    return nw.dependencies.is_dask_dataframe(data)


def refuse_source(data: Any) -> None:
    """Say who takes partitioned answers, where they cannot be taken."""
    folder = isinstance(data, str | Path) and Path(data).is_dir()
    what = f"{str(data)!r} is a folder" if folder else "These answers are partitioned"
    raise InputError(
        f"{what}, and one table is needed here.",
        "Name a file, or call compute(); DawidSkene().fit and MajorityVote().fit read folders and Dask dataframes.",
        command="Name a file.",
    )


def open_source(data: Any, names: dict[str, str | None]) -> Source:
    """Find the columns, and what to read; the answers themselves are read where they are needed."""
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise missing_extra("Reading answers in several files", "Dask", "dask")
    from dask import delayed

    if nw.dependencies.is_dask_dataframe(data):
        columns = find_columns(list(data.columns), names, wide=False)
        return Source(tuple(data[list(columns.values())].to_delayed()), columns)
    if isinstance(data, pd.DataFrame):  # in memory already, and small
        return Source((delayed(data),), find_columns(list(data.columns), names, wide=False))
    return _open_files(_files(data), names)


def _files(data: Any) -> list[Path]:
    """Parquet files in a list, a folder or a pattern; not those in folders within a folder."""
    if isinstance(data, str | Path):
        path = Path(data)
        folder, pattern = (path, "*.parquet") if path.is_dir() else (path.parent, path.name)
        files = sorted(folder.glob(pattern), key=natural)
        if not files:
            if path.is_dir():
                raise InputError(f"{str(path)!r} is a folder without .parquet files.", "Name a file or another folder.")
            raise InputError(f"There is no file {str(path)!r}.", "Check the pattern and the folder.")
    else:
        files = [Path(item) for item in data]
    for file in files:
        if file.suffix.lower() not in {".parquet", ".parq", ".pq"}:
            raise InputError(
                f"Several files of answers must be Parquet files; {str(file)!r} is not one.",
                "Convert it, or read it alone.",
            )
    return [file.absolute() for file in files]  # the working folder of a Dask worker may be another one


def _open_files(files: list[Path], names: dict[str, str | None]) -> Source:
    from dask import delayed

    read, parts = delayed(_read_groups, pure=False), []
    columns: dict[str, str] = {}
    for file in files:
        with reading(file, "Parquet"):
            found = parquet.ParquetFile(file)
        here = found.schema_arrow.names
        columns = columns or find_columns(here, names, wide=False)
        absent = [name for name in columns.values() if name not in here]
        if absent:
            raise InputError(
                f"{str(file)!r} has no column {absent[0]!r}, unlike other files.", "Leave it out, or correct it."
            )
        rows = [found.metadata.row_group(i).num_rows for i in range(found.metadata.num_row_groups)]
        parts += [read(file, groups, list(columns.values())) for groups in _groups(rows)]
    return Source(tuple(parts), columns)


def _groups(rows: Sequence[int]) -> list[list[int]]:
    """Row groups to read together: neighbours of at most ``MOST_ROWS`` rows, or one alone.

    Examples
    --------
    >>> _groups([600_000, 400_000, 3_000_000, 5])
    [[0, 1], [2], [3]]
    """
    together: list[list[int]] = []
    size = MOST_ROWS
    for i, n in enumerate(rows):
        if size + n > MOST_ROWS:
            together.append([])
            size = 0
        together[-1].append(i)
        size += n
    return together


def _read_groups(file: Path, groups: list[int], columns: list[str]) -> pd.DataFrame:
    with reading(file, "Parquet"):
        return parquet.ParquetFile(file).read_row_groups(groups, columns=columns).to_pandas(ignore_metadata=True)
