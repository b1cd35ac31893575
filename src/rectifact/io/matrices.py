"""Matrices in files: numbers, with the names of rows and columns where a file has them."""

import reprlib
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray
from pyarrow import csv, parquet

from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.validation import check_not_empty
from rectifact.io.delimited import find_separator, text_suffix
from rectifact.io.files import reading
from rectifact.io.matrix_market import read_matrix_market

__all__ = [
    "NamedMatrix",
    "check_numbers",
    "from_table",
    "is_number",
    "never_unpickled",
    "read_matrix",
    "reading_matrix",
    "refuse_no_archive",
    "row_names",
    "split_columns",
]

BLOCK = 1 << 24  # bytes of a CSV file read at once; a line must fit, and some have 100 000 columns
SAMPLES = "sample"  # a first column of this name, as our own tables have it, holds names and no numbers
LONGEST_NAME = 1000  # characters; all names take the space of the longest, and a longer one is a document
MISSING = frozenset(csv.ConvertOptions().null_values)  # what a CSV file may hold where a number is missing


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix with the names of its rows and columns.

    Attributes
    ----------
    X : numpy array or canonical ``csr_array`` of shape (n_rows, n_columns), float32 or float64
    rows, columns : arrays of text with one name each, or None
    """

    X: Array
    rows: NDArray[np.str_] | None = None
    columns: NDArray[np.str_] | None = None


def read_matrix(path: Path) -> NamedMatrix:
    r"""Read a matrix from a file, whose format is told by the end of its name.

    - ``.npz``: a sparse matrix of :func:`scipy.sparse.save_npz`, or an archive with one matrix or one named X;
    - ``.npy``: an array, which stays on the disk until it is used;
    - ``.mtx``: Matrix Market, sparse or dense;
    - ``.csv`` and ``.tsv``: the first line names the columns, unless it is all numbers, and shows what separates
      them, commas, semicolons or tabs; a first column of text, without a name, or called sample, names the rows;
      empty cells become NaN;
    - ``.parquet``: likewise; an index that pandas stored names the rows.

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
        One sentence that says what is wrong with the file, and what to do.

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
            raise InputError(f"{str(path)!r} is empty. Check the program that wrote it.")
    expected, read = _reader(path)
    with reading_matrix(path, expected):
        matrix = read(path)
        return NamedMatrix(_floats(path, matrix.X), matrix.rows, matrix.columns)


def _reader(path: Path) -> tuple[str, Callable[[Path], NamedMatrix]]:
    text = {".mtx": ("Matrix Market", _read_mtx), ".csv": ("CSV", _read_csv), ".tsv": ("TSV", _read_csv)}
    binary = {".npz": ("NPZ", _read_npz), ".npy": ("NPY", _read_npy), ".parquet": ("Parquet", _read_parquet)}
    packed = path.suffix in {".gz", ".bz2"}
    suffix = text_suffix(path)
    found = text.get(suffix) or (None if packed else binary.get(suffix))
    if found is None:
        raise InputError(
            f"{str(path)!r} should end in .npz, .npy, .mtx, .csv, .tsv or .parquet, so that its format is known. "
            "Rename it."
        )
    return found


@contextmanager
def reading_matrix(path: Path, expected: str) -> Iterator[None]:
    """As :func:`rectifact.io.files.reading`, also for what readers of matrices raise that is no ValueError."""
    with reading(path, expected), _sentences():
        yield


@contextmanager
def _sentences() -> Iterator[None]:
    """Let those errors of the readers that are no ValueError be one."""
    try:
        yield
    except (zlib.error, tokenize.TokenError, NotImplementedError, OverflowError, MemoryError) as error:
        raise ValueError(error.args[0] if error.args else type(error).__name__) from error


def _floats(path: Path, X: Any) -> Array:
    """Check what was read, and bring it into the form that the algorithms take."""
    check_numbers(path, X.shape, X.dtype)
    check_not_empty(X.shape)
    single = X.dtype.kind == "f" and X.dtype.itemsize == 4
    X = X.astype(np.float32 if single else np.float64, copy=False)
    if not sp.issparse(X):
        return X
    csr = sp.csr_array(X)
    csr.sum_duplicates()
    return csr


def check_numbers(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is no matrix of real numbers, by its shape and type."""
    if len(shape) != 2:
        raise InputError(
            f"{str(path)!r} holds an array of shape {shape}, where a matrix, two-dimensional, is expected. Reshape "
            "it and save it again: X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row."
        )
    if dtype.kind == "c":
        raise InputError(f"{str(path)!r} holds complex numbers. Save the real part X.real or the modulus abs(X).")
    if dtype.kind not in "biuf":
        raise InputError(f"{str(path)!r} holds {dtype} where numbers are expected. Drop what is text, or encode it.")


def _read_mtx(path: Path) -> NamedMatrix:
    return NamedMatrix(read_matrix_market(path))


def _read_npy(path: Path) -> NamedMatrix:
    with never_unpickled(path):
        return NamedMatrix(np.lib.format.open_memmap(path, mode="r"))  # refuses objects


def _read_npz(path: Path) -> NamedMatrix:
    refuse_no_archive(path)
    with never_unpickled(path), path.open("rb") as file:  # opened here, to be closed whatever goes wrong
        archive = np.load(file, allow_pickle=False)
        if {"format", "shape", "data"} <= set(archive.files):
            file.seek(0)
            return NamedMatrix(_read_sparse(file))
        return NamedMatrix(_only_matrix(path, archive))


def refuse_no_archive(path: Path) -> None:
    """Say so where a file ends in .npz and is none."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{str(path)!r} is no NPZ archive, or one that was cut short. Copy or save it again.")


@contextmanager
def never_unpickled(path: Path) -> Iterator[None]:
    """One sentence for pickled objects, which numpy has refused."""
    try:
        yield
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise InputError(
            f"{str(path)!r} holds pickled Python objects, which are never loaded, as they can run any program. Save "
            "it as numbers: X.astype(float)."
        ) from error


def _read_sparse(file: BinaryIO) -> Any:
    X = sp.load_npz(file)  # refuses objects
    if X.format in {"csr", "csc", "bsr"}:
        X.check_format(full_check=True)  # an index that points outside would be followed by compiled code
    return X


def _only_matrix(path: Path, archive: Any) -> NDArray[Any]:
    """The array named X, or the only matrix; if there is one array of another shape, that."""
    names = ["X"] if "X" in archive.files else archive.files
    arrays = {name: value for name in names if isinstance(value := archive[name], np.ndarray)}
    matrices = [array for array in arrays.values() if array.ndim == 2]
    if len(matrices) != 1 and len(arrays) == 1:
        matrices = list(arrays.values())
    if len(matrices) != 1:
        shapes = ", ".join(f"{name!r} of shape {array.shape}" for name, array in arrays.items()) or "no array"
        raise InputError(f"{str(path)!r} should hold one matrix, or one named X; got {shapes}. Save it as X.")
    return matrices[0]


def _read_csv(path: Path) -> NamedMatrix:
    parse = csv.ParseOptions(delimiter=find_separator(path), newlines_in_values=True)
    with csv.open_csv(path, read_options=csv.ReadOptions(block_size=BLOCK), parse_options=parse) as head:
        names, first = head.schema.names, head.schema.types[0]
    unnamed = _are_numbers(names)
    if not unnamed:
        _check_different(path, names)
    index = names[:1] if names[0] in ("", SAMPLES) and not unnamed else []
    as_text = {names[0]: pa.string()} if index or not is_number(first) else {}  # no date is made of a row's name
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(block_size=BLOCK, autogenerate_column_names=unnamed),
        parse_options=parse,
        convert_options=csv.ConvertOptions(column_types=as_text),
    )
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise UnicodeError  # pyarrow takes such text for bytes
    if parse.delimiter == ";":
        _refuse_decimal_commas(path, table)
    matrix = from_table(path, table, *_split(path, table.schema, index))
    return NamedMatrix(matrix.X, matrix.rows) if unnamed else matrix


def _refuse_decimal_commas(path: Path, table: pa.Table) -> None:
    """Refuse 2,5 for two and a half, as Excel writes it where columns are separated by semicolons."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (
            pa.types.is_string(column.type)
            and pc.any(pc.match_substring_regex(column, r"^\s*[+-]?\d+,\d+\s*$")).as_py()
        ):
            raise InputError(f"The column {name!r} of {str(path)!r} has decimal commas. Save it with decimal points.")


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether the first line of a CSV file is data: numbers and gaps, and no numbering of unnamed columns."""
    numbering = [str(i) for i in range(len(names))]
    if len(names) > 1 and names in (numbering, ["", *numbering[:-1]]):
        return False  # as pandas writes a frame without names of columns, with or without its index
    return all(_is_number_or_gap(name) for name in names)


def _is_number_or_gap(text: str) -> bool:
    try:
        float(text.strip() or "nan")
    except ValueError:
        return text.strip() in MISSING
    return True


def _read_parquet(path: Path) -> NamedMatrix:
    with parquet.ParquetFile(path) as file:
        index, columns = split_columns(path, file.schema_arrow)
        table = file.read()
    return from_table(path, table, index, columns)


def split_columns(path: Path, schema: pa.Schema) -> tuple[list[str], list[str]]:
    """Names of the columns of a Parquet file that name its rows, and of the others, which should hold numbers."""
    _check_different(path, schema.names)
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str) and name in schema.names]
    return _split(path, schema, index)


def _check_different(path: Path, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise InputError(f"{str(path)!r} has {count} columns named {name!r}. Give each column a name of its own.")


def _split(path: Path, schema: pa.Schema, index: list[str]) -> tuple[list[str], list[str]]:
    """The columns in ``index``, or a first one of text or dates, and the others."""
    if not index and schema.names and (_is_name(schema.types[0]) or schema.names[0] == SAMPLES):
        index = schema.names[:1]
    columns = [name for name in schema.names if name not in index]
    if index and not columns:
        raise InputError(
            f"{str(path)!r} has no column of numbers beside {index[0]!r}. It may be separated by something else than "
            "its name says."
        )
    return index, columns


def from_table(path: Path, table: pa.Table, index: list[str], columns: list[str]) -> NamedMatrix:
    """Matrix of the ``columns`` of a table; those in ``index`` name the rows."""
    check_not_empty((table.num_rows, len(columns)))
    types = {table.schema.field(name).type for name in columns}
    X = np.empty((len(table), len(columns)), dtype=np.float32 if types == {pa.float32()} else np.float64)
    for j, name in enumerate(columns):
        X[:, j] = _numbers(path, name, table.column(name))
    rows = row_names(path, table.select(index)) if index else None
    return NamedMatrix(X, rows, _names(path, "column", columns))


def row_names(path: Path, table: pa.Table) -> NDArray[np.str_]:
    """Names of rows, of the columns that hold them."""
    return _names(path, "row", _joined(table.columns))


def _joined(columns: list[pa.ChunkedArray]) -> list[str]:
    """One text per row; the levels of an index are set off by slashes."""
    texts = [pc.fill_null(column.cast(pa.large_string()), "") for column in columns]
    return pc.binary_join_element_wise(*texts, pa.scalar(" / ", pa.large_string())).to_pylist()


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _is_name(kind: pa.DataType) -> bool:
    """Whether a column of this type can name the rows."""
    types = pa.types
    if types.is_dictionary(kind):
        return _is_name(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_temporal))


def _numbers(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    if not is_number(column.type):
        _refuse_column(path, name, column)
    return column.cast(pa.float32() if column.type == pa.float32() else pa.float64(), safe=False).to_numpy()


def _refuse_column(path: Path, name: str, column: pa.ChunkedArray) -> NoReturn:
    kind = "text" if _is_name(column.type) and not pa.types.is_temporal(column.type) else str(column.type)
    texts = ((row, str(value)) for row, value in enumerate(column) if value.is_valid)
    row, text = next(((row, text) for row, text in texts if not _is_number_or_gap(text)), (0, str(column[0])))
    raise InputError(
        f"The column {name!r} of {str(path)!r} holds {kind}, first {reprlib.repr(text)} in row {row + 1}, where "
        "numbers are expected. Drop the column, or encode it as numbers."
    )


def _names(path: Path, what: str, texts: Sequence[str]) -> NDArray[np.str_]:
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_NAME:
        raise InputError(
            f"A {what} of {str(path)!r} has a name of {longest} characters, which seems to be a document. Drop it, or "
            f"cut it to {LONGEST_NAME}."
        )
    return np.array(texts, dtype=np.str_)
