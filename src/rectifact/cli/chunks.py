"""A matrix in chunks on the command line: which folders hold one, and tables with a row for each of its samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rectifact.cli.tables import check_parts_name, write_parts
from rectifact.cli.terminal import STDOUT, check_table_name, write_table
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.lazy import is_lazy
from rectifact.io.matrices import NamedMatrix
from rectifact.io.partitions import CHUNKS, LazyMatrix, visible

__all__ = ["FOLDER", "check_outputs", "holds_chunks", "names_of", "write_samples"]

FOLDER = "a folder of .npy, .npz or .parquet files"
"""What data in parts is, where it is a matrix."""


def holds_chunks(folder: Path) -> bool:
    """Whether it is a folder with a file that may hold rows of a matrix."""
    return folder.is_dir() and any(path.suffix.lower() in CHUNKS for path in visible(folder))


def check_outputs(data: Path, samples: Path | None, others: Sequence[Path | None], *, in_chunks: bool) -> None:
    """Refuse what could not be written: ``samples`` gets a row for each sample; what DATA holds is read again."""
    if samples is not None:
        (check_parts_name if in_chunks and samples != STDOUT else check_table_name)(samples)
    for path in (samples, *others):
        if in_chunks and path is not None and path.resolve().parent == data.resolve():
            raise InputError(
                f"{str(path)!r} would lie among the data, and be taken for some of it. Name another folder."
            )


def names_of(matrix: NamedMatrix | LazyMatrix) -> tuple[Any, Any]:
    """Names of rows and columns, numbers from 1 where files have none; of chunks, rows as :class:`LazyMatrix` does."""
    n_rows, n_columns = matrix.X.shape
    columns = _numbers(n_columns) if matrix.columns is None else matrix.columns
    if isinstance(matrix, LazyMatrix):
        return matrix.names, columns
    return _numbers(n_rows) if matrix.rows is None else matrix.rows, columns


def _numbers(n: int) -> Any:
    return np.arange(1, n + 1).astype(str)


def write_samples(A: Array, samples: Any, column: str, path: Path) -> None:
    """Write a row for each sample, its name and what A has for it, in columns numbered from 1; part by part if lazy."""
    columns = [f"{column}{i + 1}" for i in range(A.shape[1])]
    if not is_lazy(A):
        write_table(_table(A, samples, columns), path)
        return
    import dask.dataframe as dd
    from dask import delayed

    make = delayed(_table, pure=False)
    parts = [make(rows, names, columns) for rows, names in zip(A.to_delayed().ravel(), samples, strict=True)]
    meta = _table(np.empty((0, len(columns)), dtype=A.dtype), np.empty(0, dtype=np.str_), columns)
    write_parts(dd.from_delayed(parts, meta=meta, verify_meta=False), path)


def _table(A: Any, samples: Any, columns: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(A, columns=columns)
    table.insert(0, "sample", samples)
    return table
