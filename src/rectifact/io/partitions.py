"""A matrix in a folder, with some rows in each file: headers are read at once, numbers where they are needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from rectifact.core.arrays import Array
from rectifact.core.errors import InputError, missing_extra
from rectifact.core.validation import check_not_empty
from rectifact.io.archive import array_header
from rectifact.io.files import natural, reading
from rectifact.io.matrices import (
    check_numbers,
    from_table,
    is_single,
    read_matrix,
    reading_matrix,
    row_names,
    split_columns,
)
from rectifact.io.npz import never_unpickled, refuse_no_archive
from rectifact.io.tables import is_number


@dataclass(frozen=True, eq=False)
class LazyMatrix:
    """A matrix whose rows are read when they are needed.

    Attributes
    ----------
    X : Dask array of shape (n_rows, n_columns)
        float32 or float64; its chunks hold whole rows, sparse ones if they come from .npz files.
    rows : tuple of delayed arrays of str
        For each chunk, the names of its rows, or their numbers from 1.
    columns : array of str of shape (n_columns,), or None
    row_title, column_title : str
        What a row and a column are called in our tables.
    """

    X: Array
    rows: tuple[Any, ...]
    columns: NDArray[np.str_] | None = None
    row_title: str = "sample"
    column_title: str = "feature"


class Piece(NamedTuple):
    """Rows that are read at once: their place in the file, in the form its reader takes, and their number."""

    place: Any
    n_rows: int


@dataclass(frozen=True)
class Header:
    """What is known about a file before its numbers are read.

    Attributes
    ----------
    path : Path
    shape : tuple of int
    single : bool
        Whether the numbers are float32.
    sizes : tuple of int, or None
        Numbers of rows that can only be read together; None if any rows can be read.
    columns : tuple of str, or None
    index : tuple of str
        Columns that name the rows.
    """

    path: Path
    shape: tuple[int, int]
    single: bool
    sizes: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    index: tuple[str, ...] = ()


def holds_chunks(folder: Path) -> bool:
    """Whether it is a folder with a file that may hold rows of a matrix."""
    return folder.is_dir() and any(path.suffix.lower() in FORMATS for path in _visible(folder))


def _visible(folder: Path) -> list[Path]:
    """What a folder holds, in the order of names, without hidden files and those that programs leave, as _SUCCESS."""
    with reading(folder, "a folder"):
        return sorted((path for path in folder.iterdir() if path.name[0] not in "._"), key=natural)


def read_chunks(folder: Path) -> LazyMatrix:
    """Open a folder of files that hold rows of one matrix, read in the order of their names, 2 before 10.

    All are ``.npy``, or all ``.npz`` as :func:`scipy.sparse.save_npz` writes them, or all ``.parquet``, tables of
    numbers. A ``.npy`` file is cut into chunks of the size that Dask is configured for (``array.chunk-size``), and a
    ``.parquet`` file between row groups; a ``.npz`` file is one chunk. float32 is kept if all files have it; all
    other numbers become float64.

    Parameters
    ----------
    folder : Path
        Dask workers on other machines must see it under the same name.

    Returns
    -------
    LazyMatrix

    Raises
    ------
    InputError
        Names the file that is wrong, and says what to do.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "part2.npy", [[3.0, 4.0]])
    ...     np.save(Path(folder) / "part10.npy", [[5.0, 6.0]])
    ...     matrix = read_chunks(Path(folder))
    ...     matrix.X.compute()
    array([[3., 4.],
           [5., 6.]])
    """
    files = _files(folder)
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise missing_extra("Reading a matrix in several files", "Dask", "dask")
    look, read = FORMATS[files[0].suffix.lower()]
    headers = [look(file) for file in files]
    for header in headers[1:]:
        _check_same_columns(headers[0], header)
    first = headers[0]
    check_not_empty((sum(header.shape[0] for header in headers), first.shape[1]))
    dtype = np.dtype(np.float32 if all(header.single for header in headers) else np.float64)
    columns = None if first.columns is None else np.array(first.columns, dtype=np.str_)
    X, rows = _joined(headers, read, dtype)
    return LazyMatrix(X, rows, columns)


def _files(folder: Path) -> list[Path]:
    """The files of a folder, which must all be of one format that is read in chunks."""
    found = _visible(folder)
    files = [path for path in found if path.suffix.lower() in FORMATS and path.is_file()]
    if not files:
        raise InputError(
            f"The folder {str(folder)!r} holds no matrices.",
            "Name a file, or a folder of .npy, .npz or .parquet files with rows of one matrix.",
        )
    first = files[0]
    other = [path for path in found if path.suffix.lower() != first.suffix.lower() or not path.is_file()]
    if other:
        raise InputError(
            f"The folder {str(folder)!r} holds {first.name!r} and {other[0].name!r}, but should hold files of one "
            "format only, with rows of one matrix.",
            "Move the others away.",
        )
    return [file.absolute() for file in files]  # a Dask worker may start in another folder


def _check_same_columns(first: Header, other: Header) -> None:
    a, b = first.shape[1], other.shape[1]
    if a != b:
        raise InputError(
            f"{str(other.path)!r} has {b} columns, and {first.path.name!r} has {a}.", "Leave it out, or correct it."
        )
    if first.index != other.index:
        raise InputError(
            f"{str(other.path)!r} names its rows by {_listed(other.index)}, and {first.path.name!r} by "
            f"{_listed(first.index)}.",
            "Give all files the same columns.",
        )
    for expected, found in zip(first.columns or (), other.columns or (), strict=True):
        if expected != found:
            raise InputError(
                f"{str(other.path)!r} has a column {found!r} where {first.path.name!r} has {expected!r}.",
                "Give all files the same columns in the same order.",
            )


def _listed(index: tuple[str, ...]) -> str:
    return ", ".join(map(repr, index)) or "no column"


def _joined(headers: list[Header], read: Callable[..., Any], dtype: np.dtype[Any]) -> tuple[Array, tuple[Any, ...]]:
    import dask.array as da
    from dask import config, delayed
    from dask.utils import parse_bytes

    n_columns = headers[0].shape[1]
    most = max(parse_bytes(config.get("array.chunk-size")) // (dtype.itemsize * n_columns), 1)
    read_rows, read_names = delayed(read, pure=False), delayed(_names, pure=False)
    meta = np.empty((0, 0), dtype=dtype)
    chunks, names, start = [], [], 0
    for header in headers:
        for place, n_rows in _pieces(header, most):
            chunks.append(da.from_delayed(read_rows(header, place, dtype), (n_rows, n_columns), meta=meta))
            names.append(read_names(header, place, start, n_rows))
            start += n_rows
    return da.concatenate(chunks), tuple(names)


def _pieces(header: Header, most: int) -> list[Piece]:
    """Rows to read at once, at most ``most`` if the format allows it; none for a file without rows."""
    if header.sizes is None:
        n = header.shape[0]
        starts = range(0, n, most)
        return [Piece(slice(start, min(start + most, n)), min(most, n - start)) for start in starts]
    pieces: list[Piece] = []
    for i, size in enumerate(header.sizes):
        if pieces and pieces[-1].n_rows + size <= most:
            pieces[-1] = Piece([*pieces[-1].place, i], pieces[-1].n_rows + size)
        else:
            pieces.append(Piece([i], size))
    return [piece for piece in pieces if piece.n_rows]


def _look_at_npy(path: Path) -> Header:
    X = _mapped(path)
    return Header(path, X.shape, is_single(X.dtype))


def _read_npy(header: Header, rows: slice, dtype: np.dtype[Any]) -> NDArray[Any]:
    with reading_matrix(header.path, "NPY"):
        return np.array(_mapped(header.path)[rows], dtype=dtype, order="C")


def _mapped(path: Path) -> Any:
    with reading_matrix(path, "NPY"), never_unpickled(path):
        X = np.lib.format.open_memmap(path, mode="r")
        check_numbers(path, X.shape, X.dtype)
        return X


def _look_at_npz(path: Path) -> Header:
    with reading_matrix(path, "NPZ"), never_unpickled(path):
        refuse_no_archive(path)
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not {"format", "shape", "data"} <= set(archive.files):
                raise InputError(
                    f"{str(path)!r} is not a sparse matrix from scipy.sparse.save_npz, which a folder of .npz files "
                    "should hold.",
                    "Save it with save_npz, or all files as .npy.",
                )
            shape = tuple(int(size) for size in archive["shape"])
            with archive.zip.open("data.npy") as data:
                _, dtype = array_header(data, "data.npy")
        check_numbers(path, shape, dtype)
        return Header(path, (shape[0], shape[1]), is_single(dtype), sizes=(shape[0],))


def _read_npz(header: Header, _: Any, dtype: np.dtype[Any]) -> Any:
    return read_matrix(header.path).X.astype(dtype, copy=False)


def _look_at_parquet(path: Path) -> Header:
    with reading_matrix(path, "Parquet"), parquet.ParquetFile(path) as file:
        schema, about = file.schema_arrow, file.metadata
        index, columns = split_columns(path, schema)
        for name in columns:
            kind = schema.field(name).type
            if not is_number(kind):
                raise InputError(
                    f"The column {name!r} of {str(path)!r} holds {kind}, where numbers are expected.",
                    "Drop the column, or encode it as numbers.",
                )
        single = {schema.field(name).type for name in columns} == {pa.float32()}
        sizes = tuple(about.row_group(i).num_rows for i in range(about.num_row_groups))
        return Header(path, (about.num_rows, len(columns)), single, sizes, tuple(columns), tuple(index))


def _read_parquet(header: Header, groups: list[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    table = _row_groups(header, groups, header.columns or ())
    with reading_matrix(header.path, "Parquet"):
        return from_table(header.path, table, [], table.column_names).X.astype(dtype, copy=False)


def _row_groups(header: Header, groups: list[int], columns: Sequence[str]) -> Any:
    with reading_matrix(header.path, "Parquet"), parquet.ParquetFile(header.path) as file:
        return file.read_row_groups(groups, columns=list(columns))


def _names(header: Header, groups: Any, start: int, n_rows: int) -> NDArray[Any]:
    """Names of the rows that are read at once, or their numbers in the whole matrix."""
    if not header.index:
        return np.arange(start + 1, start + n_rows + 1).astype(str)
    return row_names(header.path, _row_groups(header, groups, header.index))


FORMATS: dict[str, tuple[Callable[[Path], Header], Callable[..., Any]]] = {
    ".npy": (_look_at_npy, _read_npy),
    ".npz": (_look_at_npz, _read_npz),
    ".parquet": (_look_at_parquet, _read_parquet),
}
