"""Reads CSV, TSV and Parquet files as tables: finds the separator, and the columns that hold numbers."""

import bz2
import gzip
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet

from rectifact.core.errors import InputError
from rectifact.io.files import reading

LONGEST_HEADER = 1 << 24  # bytes
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
QUOTED = re.compile(rb'"[^"]*("|$)')
MISSING = frozenset(csv.ConvertOptions().null_values)  # what a CSV file may hold where a number is missing


def text_suffix(path: Path) -> str:
    """The ending that shows the format, whether the file is compressed or not.

    Examples
    --------
    >>> text_suffix(Path("answers.CSV.gz"))
    '.csv'
    """
    return (Path(path.stem) if path.suffix in OPENERS else path).suffix.lower()


def find_separator(path: Path) -> str:
    r"""Whichever of comma, semicolon and tab is most frequent in the first line; the ending of the name breaks ties.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "excel.csv"
    ...     _ = path.write_text('task;worker;"yes, no, maybe"\n')
    ...     find_separator(path)
    ';'
    """
    with OPENERS.get(path.suffix, open)(path, "rb") as file:
        header = QUOTED.sub(b"", file.readline(LONGEST_HEADER))
    counts = {separator: header.count(separator.encode()) for separator in ",;\t"}
    commonest = [separator for separator, count in counts.items() if count == max(counts.values())]
    if len(commonest) == 1:
        return commonest[0]
    return "\t" if text_suffix(path) == ".tsv" else ","


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
    if expected is None:
        raise InputError(
            f"{str(path)!r} should end in .csv, .tsv or .parquet, so that its format is known.", "Rename it."
        )
    with reading(path, expected):
        if expected == "Parquet":
            return parquet.read_table(path, columns=choose and choose(parquet.read_schema(path).names))
        parse = csv.ParseOptions(delimiter=find_separator(path), newlines_in_values=True)
        with csv.open_csv(path, parse_options=parse) as head:
            text = {name: pa.string() for name in head.schema.names}
        convert = csv.ConvertOptions(column_types=text, strings_can_be_null=True, null_values=[""])
        return csv.read_csv(path, parse_options=parse, convert_options=convert)


def check_different_names(path: Path, names: Sequence[str]) -> None:
    """Refuse a table with two columns of one name."""
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise InputError(f"{str(path)!r} has {times} columns named {name!r}.", "Give each column a name of its own.")


def refuse_decimal_commas(path: Path, table: pa.Table) -> None:
    """Refuse 2,5 for two and a half, as Excel writes it in some countries."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (
            pa.types.is_string(column.type)
            and pc.any(pc.match_substring_regex(column, r"^\s*[+-]?\d+,\d+\s*$")).as_py()
        ):
            raise InputError(
                f"The column {name!r} of {str(path)!r} has decimal commas.", "Save it with decimal points."
            )


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
