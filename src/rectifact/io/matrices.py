"""Matrices in files: numbers, with the names of rows and columns if the file has them."""

import tokenize
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray
from pyarrow import parquet

from rectifact.core.arrays import Array
from rectifact.core.errors import InputError, count
from rectifact.core.validation import canonical, check_not_empty
from rectifact.io.files import reading
from rectifact.io.frames import SAMPLES, read_frame
from rectifact.io.matrix_market import read_matrix_market
from rectifact.io.npz import never_unpickled, read_npz
from rectifact.io.single_cell import read_anndata
from rectifact.io.tables import check_different_names, column_numbers, is_name
from rectifact.io.text import OPENERS, read_text, text_suffix

LONGEST_NAME = 1000  # characters; all names take the space of the longest, and a longer text is a document


MOST_EMPTY = 10_000_000
"""Rows or columns of a sparse matrix that a file may declare whatever it holds."""


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix with the names of its rows and columns.

    Attributes
    ----------
    X : array or canonical csr_array of shape (n_rows, n_columns)
        float32 or float64.
    rows : array of str of shape (n_rows,), or None
    columns : array of str of shape (n_columns,), or None
    row_title, column_title : str
        What a row and a column are called in the file, as user and item; our own tables keep these names.
    triples : tuple of str
        Columns of the table of triples that it was read from; empty for other files, or without names.
    returned : csr_array of the shape of X, or None
        One where the file has a negative value, such as goods that somebody has returned.
    shift : float
        What was added to each value of the file.
    """

    X: Array
    rows: NDArray[np.str_] | None = None
    columns: NDArray[np.str_] | None = None
    row_title: str = SAMPLES
    column_title: str = "feature"
    triples: tuple[str, ...] = ()
    returned: sp.csr_array | None = None
    shift: float = 0.0


def read_matrix(path: Path) -> NamedMatrix:
    r"""Read a matrix from a file; the ending of its name shows the format.

    - ``.npz``: a sparse matrix from :func:`scipy.sparse.save_npz`, or an archive with one matrix or one named X; arrays
      of text called ``rows`` and ``columns`` beside it name them;
    - ``.npy``: an array, which stays on disk until it is used;
    - ``.mtx``: Matrix Market, sparse or dense;
    - ``.csv`` and ``.tsv``: the first line names the columns, unless it is all numbers, and shows what separates
      them: commas, semicolons or tabs; a first column of text, without a name, or called sample, names the rows;
      empty cells become NaN;
    - ``.parquet``: likewise; an index stored by pandas names the rows;
    - ``.h5ad``: AnnData, cells in rows, if anndata is installed.

    The text formats may be compressed: ``.csv.gz``, ``.tsv.gz``, ``.mtx.gz``, or ``.bz2``. float32 is kept, all
    other numbers become float64. Pickled objects are never loaded.

    Parameters
    ----------
    path : Path

    Returns
    -------
    NamedMatrix

    Raises
    ------
    InputError
        Says what is wrong with the file, and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text("fruit,red,green\napple,1,0.5\nlime,,2\n")
    ...     matrix = read_matrix(path)
    >>> matrix.X
    array([[1. , 0.5],
           [nan, 2. ]])
    >>> matrix.rows.tolist(), matrix.columns.tolist()
    (['apple', 'lime'], ['red', 'green'])
    """
    with reading(path, "a matrix"):
        if path.is_dir():
            raise IsADirectoryError
        if path.stat().st_size == 0:
            raise InputError(f"{str(path)!r} is empty.", "Check the program that wrote it.")
    expected, read = _reader(path)
    with reading_matrix(path, expected):
        matrix = read(path)
        return replace(matrix, X=as_floats(path, matrix.X))


def numbered(names: Any, n: int) -> Any:
    """``names`` as they are, or the numbers from 1 to ``n`` as text if there are none.

    Examples
    --------
    >>> numbered(None, 2).tolist()
    ['1', '2']
    """
    return np.arange(1, n + 1).astype(str) if names is None else names


def read_names(path: Path, n: int, what: str, *, turned: bool = False) -> NDArray[np.str_]:
    """Names from a text file, one in each line, as many as there are rows or columns.

    Parameters
    ----------
    path : Path
    n : int
        Their number.
    what : str
        What they name: ``"column"`` or ``"row"``.
    turned : bool, default False
        Whether rows become columns afterwards: names are those of the file as it is.
    """
    with reading(path, "a text file with one name in each line"):
        names = read_text(path).splitlines()
    if len(names) != n:
        before = " before --transpose" if turned else ""
        raise InputError(
            f"{str(path)!r} has {len(names)} lines, and the matrix has {n} {what}s{before}.",
            f"--{what}s names the {what}s of the file: give one name for each of them."
            if turned
            else f"Give one name for each {what}.",
        )
    return names_array(path, what, names)


def _reader(path: Path) -> tuple[str, Callable[[Path], NamedMatrix]]:
    text = {".mtx": ("Matrix Market", _read_mtx), ".csv": ("CSV", _read_csv), ".tsv": ("TSV", _read_csv)}
    binary = {".npz": ("NPZ", _read_npz), ".npy": ("NPY", _read_npy), ".parquet": ("Parquet", _read_parquet)}
    binary[".h5ad"] = ("AnnData", _read_h5ad)
    suffix = text_suffix(path)
    found = text.get(suffix) or (None if path.suffix in OPENERS else binary.get(suffix))
    if found is None:
        raise InputError(
            f"{str(path)!r} should end in .npz, .npy, .mtx, .csv, .tsv or .parquet, so that its format is known.",
            "Rename it.",
        )
    return found


@contextmanager
def reading_matrix(path: Path, expected: str) -> Iterator[None]:
    """As :func:`rectifact.io.files.reading`, and for the other errors that readers of matrices raise."""
    with reading(path, expected):
        try:
            yield
        except (zlib.error, tokenize.TokenError, NotImplementedError, OverflowError) as error:
            raise ValueError(error.args[0] if error.args else type(error).__name__) from error


def turned(matrix: NamedMatrix) -> NamedMatrix:
    """The matrix with rows for columns, and their names."""
    X = canonical(matrix.X.T) if sp.issparse(matrix.X) else matrix.X.T
    returned = None if matrix.returned is None else sp.csr_array(matrix.returned.T)
    row_title = SAMPLES if matrix.column_title == "feature" else matrix.column_title
    column_title = "feature" if matrix.row_title == SAMPLES else matrix.row_title
    return NamedMatrix(X, matrix.columns, matrix.rows, row_title, column_title, returned=returned)


def shape_said(matrix: NamedMatrix) -> str:
    """Rows and columns of a matrix, for a sentence, with what names them."""
    sizes = [count(size, noun) for size, noun in zip(matrix.X.shape, ("row", "column"), strict=True)]
    names = [axis for axis in ("rows", "columns") if getattr(matrix, axis) is not None]
    return f"{sizes[0]} by {sizes[1]}, {' and '.join(names) + ' named' if names else 'without names'}"


def as_floats(path: Path, X: Any) -> Array:
    """Check what was read, and make it a floating-point array or a canonical CSR array."""
    check_numbers(path, X.shape, X.dtype)
    check_not_empty(X.shape)
    if sp.issparse(X):
        _check_declared(path, X.shape, X.nnz)
    X = X.astype(np.float32 if is_single(X.dtype) else np.float64, copy=False)
    return canonical(X) if sp.issparse(X) else X


def _check_declared(path: Path, shape: tuple[int, int], n_entries: int) -> None:
    """Refuse a sparse matrix whose rows or columns are nearly all empty: its header alone would fill the memory."""
    if max(shape) > max(MOST_EMPTY, 100 * n_entries):
        raise InputError(
            f"{str(path)!r} declares {shape[0]} rows and {count(shape[1], 'column')}, but holds only "
            f"{count(n_entries, 'entry')}.",
            "Check the sizes in its header, or leave out empty rows and columns.",
        )


def is_single(dtype: np.dtype[Any]) -> bool:
    """Whether numbers are stored as float32, in any byte order."""
    return dtype.kind == "f" and dtype.itemsize == 4


def check_numbers(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a shape or a type that is not that of a matrix of real numbers."""
    if len(shape) != 2:
        raise InputError(
            f"{str(path)!r} holds an array of shape {shape}, where a matrix, two-dimensional, is expected.",
            "Reshape it and save it again: X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row.",
        )
    if dtype.kind == "c":
        raise InputError(f"{str(path)!r} holds complex numbers.", "Save the real part X.real or the modulus abs(X).")
    if dtype.kind not in "biuf":
        raise InputError(
            f"{str(path)!r} holds {dtype} where numbers are expected.", "Drop text columns, or encode them."
        )


def _read_mtx(path: Path) -> NamedMatrix:
    return NamedMatrix(read_matrix_market(path))


def _read_npy(path: Path) -> NamedMatrix:
    with never_unpickled(path):
        return NamedMatrix(np.lib.format.open_memmap(path, mode="r"))  # refuses objects


def _read_npz(path: Path) -> NamedMatrix:
    return NamedMatrix(*read_npz(path))


def _read_h5ad(path: Path) -> NamedMatrix:
    return NamedMatrix(*read_anndata(path))


def _read_csv(path: Path) -> NamedMatrix:
    frame = read_frame(path)
    names = frame.table.schema.names
    index = names[:1] if frame.named and names[0] in ("", SAMPLES) else []
    matrix = from_table(path, frame.table, *_split(path, frame.table.schema, index))
    return matrix if frame.named else NamedMatrix(matrix.X, matrix.rows)


def _read_parquet(path: Path) -> NamedMatrix:
    with parquet.ParquetFile(path) as file:
        index, columns = split_columns(path, file.schema_arrow)
        table = file.read()
    return from_table(path, table, index, columns)


def split_columns(path: Path, schema: pa.Schema) -> tuple[list[str], list[str]]:
    """The columns of a Parquet file that name its rows, and the others, which should hold numbers."""
    check_different_names(path, schema.names)
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str) and name in schema.names]
    return _split(path, schema, index)


def _split(path: Path, schema: pa.Schema, index: list[str]) -> tuple[list[str], list[str]]:
    """The columns in ``index``, or a first one of text or dates, and the others."""
    if not index and schema.names and (is_name(schema.types[0]) or schema.names[0] == SAMPLES):
        index = schema.names[:1]
    columns = [name for name in schema.names if name not in index]
    if index and not columns:
        raise InputError(
            f"{str(path)!r} has no column of numbers besides {index[0]!r}.",
            "Check what separates its columns: commas, semicolons or tabs.",
        )
    return index, columns


def from_table(path: Path, table: pa.Table, index: list[str], columns: list[str]) -> NamedMatrix:
    """A matrix from the ``columns`` of a table; those in ``index`` name the rows."""
    check_not_empty((table.num_rows, len(columns)))
    types = {table.schema.field(name).type for name in columns}
    X = np.empty((len(table), len(columns)), dtype=np.float32 if types == {pa.float32()} else np.float64)
    for j, name in enumerate(columns):
        X[:, j] = column_numbers(path, name, table.column(name))
    rows = row_names(path, table.select(index)) if index else None
    return NamedMatrix(X, rows, names_array(path, "column", columns))


def row_names(path: Path, table: pa.Table) -> NDArray[np.str_]:
    """Names of rows, from the columns that hold them; slashes separate the levels of an index."""
    texts = [pc.fill_null(column.cast(pa.large_string()), "") for column in table.columns]
    joined = pc.binary_join_element_wise(*texts, pa.scalar(" / ", pa.large_string()))
    return names_array(path, "row", joined.to_pylist())


def names_array(path: Path, what: str, texts: Sequence[str]) -> NDArray[np.str_]:
    """Names of rows or columns as an array; refuses documents."""
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_NAME:
        raise InputError(
            f"A {what} of {str(path)!r} has a name of {longest} characters, which seems to be a document.",
            f"Drop it, or cut it to {LONGEST_NAME}.",
        )
    return np.array(texts, dtype=np.str_)
