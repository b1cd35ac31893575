"""Answers in a matrix of tasks by workers, dense or sparse."""

from collections.abc import Sequence
from typing import Any

import array_api_compat
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError, InputTypeError
from rectifact.core.validation import check_not_empty
from rectifact.crowd.data.answers import Answers, encode, make_answers
from rectifact.crowd.data.names import WHOLE_NUMBER, fold, plain, plain_text


def to_matrix(data: Any) -> NDArray[Any]:
    """Whatever is not a table as a numpy matrix, of numbers or of objects."""
    try:
        if isinstance(data, np.ma.MaskedArray):
            data = np.where(np.ma.getmaskarray(data), np.array(None), data.data)
        matrix = np.asarray(to_host(data) if array_api_compat.is_array_api_obj(data) else data)
    except (TypeError, RuntimeError) as error:
        raise InputTypeError(f"These answers cannot be read ({error}).", "Give a dense matrix or a table.") from error
    except ValueError as error:
        raise InputError("The rows of the answers differ in length.", "Make them equally long.") from error
    if matrix.dtype.kind == "c":
        raise InputError("Complex data not supported: labels are classes.", "Take the real part, or name the classes.")
    if matrix.ndim != 2:
        raise InputError(
            "Answers are a table with the columns task, worker and label, the path of one, or a matrix of tasks by "
            f"workers; got {type(data).__name__}{f' of shape {matrix.shape}' if matrix.ndim else ''}.",
            "Reshape your data, or give one of these.",
        )
    check_not_empty(matrix.shape)
    return matrix if matrix.dtype.kind in "biuf" else matrix.astype(object)


def from_matrix(
    matrix: NDArray[Any],
    tasks: NDArray[Any],
    workers: NDArray[Any],
    missing: Any,
    classes: Sequence[Any] | None,
    columns: dict[str, str],
) -> Answers:
    """Answers in a dense matrix; empty cells and what ``missing`` says are not answers."""
    absent = np.asarray(pd.isna(matrix))
    if matrix.dtype == object:
        matrix = whole_numbers(np.where(absent, np.array(None), matrix))
        absent |= stands_for(matrix, "")
    if is_auto(missing):
        minus_one = equal(matrix, -1)
        if minus_one.any() and {plain_text(value) for value in pd.unique(matrix[~absent])} == {"-1", "1"}:
            raise InputError(
                "The labels are -1 and 1, and -1 may also mean 'no answer'.",
                "Say which: missing=np.nan if -1 is a label, missing=-1 if it means no answer.",
                command="Say which: --missing nan if -1 is a label, --missing -1 if it means no answer.",
            )
        absent |= minus_one
    else:
        absent |= stands_for(matrix, missing)
    row, column = np.nonzero(~absent)
    label, seen = encode(matrix[row, column], "label")
    codes = {"task": row, "worker": column, "label": label}
    return make_answers(codes, {"task": tasks, "worker": workers, "label": seen}, classes, columns)


def is_auto(missing: Any) -> bool:
    """Whether nobody said what stands for no answer."""
    return isinstance(missing, str) and missing == "auto"


def stands_for(values: NDArray[Any], missing: Any) -> NDArray[np.bool_]:
    """Where entries are ``missing``, or one of a list; texts without regard to case and spaces.

    Examples
    --------
    >>> import numpy as np
    >>> stands_for(np.array(["pass", "N/A", "error ", 3], dtype=object), ["n/a", "Error"])
    array([False,  True,  True, False])
    """
    wanted = list(missing) if isinstance(missing, list | tuple | set | np.ndarray | pd.Series) else [missing]
    same = np.zeros(values.shape, dtype=bool)
    for value in wanted:
        same |= equal(values, value)
    texts = {fold(value) for value in wanted if isinstance(value, str)}
    if values.dtype != object or not texts:
        return same
    flat = [value if isinstance(value, str) else None for value in values.ravel()]  # a list cannot be looked up
    alike = {value: value is not None and fold(value) in texts for value in dict.fromkeys(flat)}
    return same | np.array([alike[value] for value in flat], dtype=bool).reshape(values.shape)


def equal(matrix: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    """Where the entries are ``value``; a number and its text are the same."""
    if matrix.dtype != object:
        try:
            return np.asarray(matrix == float(value), dtype=bool)
        except (TypeError, ValueError):
            return np.zeros(matrix.shape, dtype=bool)  # no number equals a text
    same = np.asarray(matrix == value, dtype=bool)
    text = plain_text(value)
    if WHOLE_NUMBER.fullmatch(text):
        same |= np.array([plain_text(entry) == text for entry in matrix.ravel()]).reshape(matrix.shape)
    return same


def from_sparse(matrix: Any, missing: Any, classes: Sequence[Any] | None) -> Answers:
    """Answers in a sparse matrix, whose classes are numbered from 1."""
    if matrix.ndim != 2:
        raise InputError(
            f"Sparse answers are a matrix of tasks by workers; got shape {matrix.shape}.", "Reshape your data."
        )
    coo = sp.coo_array(matrix)
    absent = np.isnan(coo.data) | (coo.data == 0) | stands_for(coo.data, missing)
    row, column, value = (array[~absent] for array in (coo.row, coo.col, coo.data))
    if (value < 1).any():
        raise InputError(
            "A sparse matrix of answers numbers its classes from 1, and 0 means no answer; found "
            f"{plain(value.min())}.",
            "Number the classes from 1, or say what is missing=.",
        )
    label, seen = encode(value, "label")
    codes = {"task": row.astype(np.int64), "worker": column.astype(np.int64), "label": label}
    values = {"task": np.arange(coo.shape[0]), "worker": np.arange(coo.shape[1]), "label": seen}
    return make_answers(codes, values, classes, {})


def whole_numbers(matrix: NDArray[Any]) -> NDArray[Any]:
    """Text like ``1.0``, which pandas writes for whole numbers in a column with gaps, as ``1``, if all are whole."""
    texts = [value for value in matrix.ravel() if isinstance(value, str) and value != ""]
    if not texts or not all(WHOLE_NUMBER.fullmatch(text) for text in texts):
        return matrix
    shortened = [value.split(".")[0] if isinstance(value, str) else value for value in matrix.ravel()]
    return np.array(shortened, dtype=object).reshape(matrix.shape)
