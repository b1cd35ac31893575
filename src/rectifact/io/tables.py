"""Reads CSV, TSV and Parquet files as tables: finds the separator, and the columns that hold numbers."""

import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from rectifact.core.errors import InputError
from rectifact.io.broken_lines import check_closed
from rectifact.io.files import reading
from rectifact.io.text import find_layout, text_suffix, utf8_source

MISSING = frozenset(csv.ConvertOptions().null_values)  # what a CSV file may hold where a number is missing


def read_table(
    path: Path, choose: Callable[[list[str]], list[str]] | None = None, expected: str | None = None
) -> pa.Table:
    """Read a table from a CSV, TSV or Parquet file.

    The fields of text files stay text, and only empty ones are missing. Their first line shows what separates the
    columns: commas, semicolons or tabs.

    Parameters
    ----------
    path : Path
    choose : callable or None, default None
        Gets the names of the columns of a Parquet file, and returns those to read; all by default.
    expected : {"CSV", "TSV", "Parquet"} or None, default None
        The format; None goes by the ending of the name.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    InputError
        Says what is wrong with the file, and what to do.
    """
    expected = expected or {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet"}.get(text_suffix(path))
    with reading(path, expected or "a table"):
        if path.is_dir():
            raise IsADirectoryError
        path.stat()  # a file that is not there has no wrong ending
    if expected is None:
        raise InputError(
            f"{str(path)!r} should end in .csv, .tsv or .parquet, so that its format is known.", "Rename it."
        )
    with reading(path, expected):
        if expected == "Parquet":
            names = parquet.read_schema(path).names
            chosen = choose(names) if choose else None
            check_different_names(path, [name for name in names if chosen is None or name in chosen])
            return parquet.read_table(path, columns=chosen)
        if path.is_file() and not path.stat().st_size:
            raise InputError(
                f"{str(path)!r} is empty.", "Write a table into it, whose first line has the names of columns."
            )
        layout = find_layout(path)
        separator = "," if layout.separator == " " else layout.separator  # pyarrow takes one character
        parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        lines = csv.ReadOptions(skip_rows=layout.skip, column_names=layout.names)
        with csv.open_csv(utf8_source(path), read_options=lines, parse_options=parse) as head:
            text = {name: pa.string() for name in head.schema.names}
        convert = csv.ConvertOptions(column_types=text, strings_can_be_null=True, null_values=[""])
        table = csv.read_csv(utf8_source(path), read_options=lines, parse_options=parse, convert_options=convert)
        check_closed(path, table)
        return table


def check_different_names(path: Path, names: Sequence[str]) -> None:
    """Refuse a table with two columns of one name."""
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise InputError(f"{str(path)!r} has {times} columns named {name!r}.", "Give each column a name of its own.")


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_name(kind: pa.DataType) -> bool:
    """Whether a column of this type can name the rows."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_name(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_temporal))


def is_number_or_gap(text: str) -> bool:
    """Whether a field of a text file is a number, or says that one is missing."""
    try:
        float(text.strip() or "nan")
    except ValueError:
        return text.strip() in MISSING
    return True


def column_numbers(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    """The numbers of a column: float32 as they are, others as float64."""
    if not is_number(column.type):
        _refuse_column(path, name, column)
    return column.cast(pa.float32() if column.type == pa.float32() else pa.float64(), safe=False).to_numpy()


def _refuse_column(path: Path, name: str, column: pa.ChunkedArray) -> NoReturn:
    kind = "text" if is_name(column.type) and not pa.types.is_temporal(column.type) else str(column.type)
    texts = ((row, str(value)) for row, value in enumerate(column) if value.is_valid)
    row, text = next(((row, text) for row, text in texts if not is_number_or_gap(text)), (0, str(column[0])))
    raise InputError(
        f"The column {name!r} of {str(path)!r} holds {kind}, first {reprlib.repr(text)} in row {row + 1}, where "
        "numbers are expected.",
        "Drop the column, or encode it as numbers.",
    )
