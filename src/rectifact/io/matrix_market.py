"""Matrix Market files, read by numpy: the compiled reader of scipy overwrites memory if a file is malformed."""

import reprlib
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.core.validation import check_not_empty
from rectifact.io.text import OPENERS

SIZES = {"coordinate": 3, "array": 2}  # how many sizes a file of each layout gives
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern", "complex")
SIGNS = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}  # of the mirrored half


def read_matrix_market(path: Path) -> Any:
    """The matrix in a Matrix Market file, sparse (coo_array) or dense as the file is, compressed or not."""
    opener = OPENERS.get(path.suffix, open)
    with opener(path, "rt", encoding="latin-1") as file:  # reads numbers in any encoding, and skips the comments
        layout, field, symmetry = _banner(file.readline())
        if field == "complex":
            raise InputError(
                f"{str(path)!r} holds complex numbers.", "Save the real part X.real or the modulus abs(X)."
            )
        line = next((line for line in file if line.strip() and not line.startswith("%")), "")
        sizes = [int(word) for word in line.split()]
        if len(sizes) != SIZES[layout] or min(sizes) < 0:
            raise ValueError(
                f"the comments are followed by {reprlib.repr(line.strip())}, not by the sizes of the matrix"
            )
        check_not_empty(tuple(sizes[:2]))
        if symmetry != "general" and sizes[0] != sizes[1]:
            raise ValueError(f"a {symmetry} matrix must be square, not {sizes[0]} by {sizes[1]}")
        if layout == "array":
            return _dense(file, sizes[0], sizes[1], symmetry)
        return _sparse(file, sizes, field, symmetry)


def _banner(line: str) -> list[str]:
    """Layout, field and symmetry, from the first line of the file."""
    first, *words = line.lower().split() or [""]
    good = len(words) == 4 and words[0] == "matrix" and words[1] in SIZES and words[2] in FIELDS
    if first != "%%matrixmarket" or not good or words[3] not in SIGNS or words[1:3] == ["array", "pattern"]:
        example = "%%MatrixMarket matrix coordinate real general"
        raise ValueError(f"its first line is {reprlib.repr(line.strip())}, where one like {example!r} is expected")
    return words[1:]


def _values(file: TextIO, dtype: Any, count: int) -> NDArray[Any]:
    first = next((line for line in file if line.strip()), None)
    values = np.empty(0, dtype)
    if first is not None:  # without a line, numpy warns
        values = np.loadtxt(chain([first], file), dtype, comments=None, ndmin=1).ravel()
    if len(values) != count:
        raise ValueError(f"it should have {count} entries, but has {len(values)}")
    return values


def _sparse(file: TextIO, sizes: list[int], field: str, symmetry: str) -> sp.coo_array:
    """A matrix from lines of row, column and value; for a symmetric matrix they give one half."""
    places = [("row", np.int64), ("column", np.int64)]
    entries = _values(file, places if field == "pattern" else [*places, ("value", np.float64)], sizes[2])
    row, column = entries["row"] - 1, entries["column"] - 1
    value = np.ones(len(entries)) if field == "pattern" else entries["value"]
    if symmetry != "general":
        off = row != column
        value = np.concatenate([value, SIGNS[symmetry] * value[off]])
        row, column = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
    return sp.coo_array((value, (row, column)), shape=tuple(sizes[:2]))


def _dense(file: TextIO, n_rows: int, n_columns: int, symmetry: str) -> NDArray[np.float64]:
    """A matrix from its values, column by column; for a symmetric matrix only the lower triangle is given."""
    if symmetry == "general":
        return _values(file, np.float64, n_rows * n_columns).reshape(n_columns, n_rows).T
    X = np.zeros((n_rows, n_rows))
    column, row = np.triu_indices(n_rows, 1 if symmetry == "skew-symmetric" else 0)
    X[row, column] = _values(file, np.float64, len(row))
    X[column, row] = SIGNS[symmetry] * X[row, column]
    return X
