"""Matrices in .npz archives, dense or sparse, with the names of rows and columns that are stored beside them."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError

ROWS = (
    *("rows", "row_names", "rownames", "samples", "obs", "obs_names", "index", "ids", "users", "documents"),
    *("barcodes", "cells"),
)
COLUMNS = (
    *("columns", "column_names", "col_names", "colnames", "features", "feature_names", "var", "var_names"),
    *("genes", "words", "terms", "vocab", "vocabulary", "items"),
)
SPARSE = {"format", "shape", "data"}

Named = tuple[Any, NDArray[np.str_] | None, NDArray[np.str_] | None]


def read_npz(path: Path) -> Named:
    """The matrix in an archive, and the names of its rows and columns where there are arrays of text that fit.

    They are called ``rows`` and ``columns``, or by one of the usual names, such as ``samples`` and ``features``; an
    array of text by another name is taken where its length fits either the rows or the columns.
    """
    refuse_no_archive(path)
    with never_unpickled(path), path.open("rb") as file:  # opened here, to be closed whatever goes wrong
        archive = np.load(file, allow_pickle=False)
        names = _texts(archive)
        if set(archive.files) >= SPARSE:
            file.seek(0)
            try:
                X = sp.load_npz(file)  # refuses objects
            except (TypeError, NotImplementedError, AttributeError) as error:
                raise ValueError(f"its parts do not make a sparse matrix ({error})") from error
            if X.format in {"csr", "csc", "bsr"}:
                X.check_format(full_check=True)  # compiled code would follow an index that points outside
        else:
            X = _only_matrix(path, archive)
    if len(X.shape) != 2:
        return X, None, None
    return X, *_fitting(path, X.shape, names)


def _texts(archive: Any) -> dict[str, Any]:
    """The arrays of names in an archive; pickled ones as None.

    An array is as large as its member: numpy would allocate whatever the header claims, and read it after.
    """
    found: dict[str, Any] = {}
    for name in archive.files:
        inside = f"{name}.npy" if f"{name}.npy" in archive.zip.namelist() else name
        with archive.zip.open(inside) as member:
            try:
                version = np.lib.format.read_magic(member)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(member)
            except ValueError:
                continue  # not an array: the matrix is found, or not, without it
            size = archive.zip.getinfo(inside).file_size - member.tell()
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize != size:
            raise ValueError(f"{name!r} holds {size} bytes, which do not make a {dtype} array of shape {shape}")
        if name in {"format", "data"}:
            continue
        if len(shape) == 1 and dtype.kind in "US":
            values = archive[name]
            found[name] = values if dtype.kind == "U" else np.char.decode(values, "utf-8")
        elif len(shape) == 1 and dtype.hasobject:
            found[name] = None
    return found


def _fitting(path: Path, shape: tuple[int, int], texts: dict[str, Any]) -> tuple[Any, Any]:
    """The names of rows and of columns."""
    by_role = [next((name for name in usual if name in texts), None) for usual in (ROWS, COLUMNS)]
    others = [name for name in texts if name not in by_role and texts[name] is not None]
    for axis, (size, other) in enumerate((shape, shape[::-1])):
        if by_role[axis] is None and size != other:
            fits = [name for name in others if len(texts[name]) == size]
            by_role[axis] = fits[0] if len(fits) == 1 else None
    for name, size, what in zip(by_role, shape, ("row", "column"), strict=True):
        if name is None:
            continue
        if texts[name] is None:
            raise InputError(
                f"The names {name!r} in {str(path)!r} are pickled Python objects, which are never loaded.",
                f"Save them as text: {name}={name}.astype(str).",
            )
        if len(texts[name]) != size:
            raise InputError(
                f"{str(path)!r} has {len(texts[name])} names in {name!r}, and its matrix has {size} {what}s.",
                "Save one name for each.",
            )
    rows, columns = (None if name is None else texts[name] for name in by_role)
    return rows, columns


def refuse_no_archive(path: Path) -> None:
    """Refuse a file that ends in .npz and is not an archive."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{str(path)!r} is not an NPZ archive, or is incomplete.", "Copy or save it again.")


@contextmanager
def never_unpickled(path: Path) -> Iterator[None]:
    """Report pickled objects, which numpy has refused, as an :class:`InputError`."""
    try:
        yield
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise InputError(
            f"{str(path)!r} holds pickled Python objects, which are never loaded, as they can run any program.",
            "Save it as numbers: X.astype(float).",
        ) from error


def _only_matrix(path: Path, archive: Any) -> NDArray[Any]:
    """The array named X, or the only matrix, or the only array, whatever its shape."""
    names = ["X"] if "X" in archive.files else archive.files
    arrays = {name: value for name in names if isinstance(value := _value(archive, name), np.ndarray)}
    matrices = [array for array in arrays.values() if array.ndim == 2]
    if len(matrices) != 1 and len(arrays) == 1:
        matrices = list(arrays.values())
    if len(matrices) != 1:
        shapes = ", ".join(f"{name!r} of shape {array.shape}" for name, array in arrays.items()) or "no array"
        raise InputError(f"{str(path)!r} should hold one matrix, or one named X; got {shapes}.", "Save it as X.")
    return matrices[0]


def _value(archive: Any, name: str) -> Any:
    """An array, or None for pickled names, which are reported where they matter."""
    try:
        return archive[name]
    except ValueError as error:
        if "allow_pickle" not in str(error) or len(archive.files) == 1:
            raise
        return None
