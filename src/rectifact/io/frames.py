"""Tables as their files have them, before anything is known about their meaning: text, Parquet, Excel and JSON."""

import datetime
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from rectifact.core.errors import InputError, missing_extra
from rectifact.io.broken_lines import check_closed
from rectifact.io.files import reading
from rectifact.io.records import json_records
from rectifact.io.tables import check_different_names, is_name, is_number_or_gap
from rectifact.io.text import Layout, find_layout, text_suffix, utf8_source
from rectifact.io.thousands import keep_zeros, read_thousands

BLOCK = 1 << 24  # bytes of a CSV file read at once; must hold a line, and some have 100 000 columns
SAMPLES = "sample"  # a first column of this name, as in our own tables, holds names and not numbers
WITH_COMMA = r"^\s*[+-]?\d+,\d+\s*$"
BOTH = r"^\s*[+-]?\d{1,3}(,\d{3})+\.\d+\s*$"
THOUSANDS = r"^\s*[+-]?\d{1,3}(,\d{3})+\s*$"


@dataclass(frozen=True, eq=False)
class Frame:
    """A table and what its file says about it.

    Attributes
    ----------
    path : Path
    table : pyarrow.Table
        Columns of the types that their cells have; without names they are numbered from 1.
    text : callable
        The cells of a column as they are written, with 007 for 007.
    named : bool
        Whether the file names the columns.
    index : tuple of str
        Columns that the file says are the names of the rows.
    remarks : tuple of str
        What to tell the user about the way it was read.
    yes_no : dict of str to tuple of str
        Columns of 1 and 0 in which the file has words, such as yes and no, and these.
    """

    path: Path
    table: pa.Table
    text: Callable[[str], list[str]]
    named: bool = True
    index: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    yes_no: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_frame(
    path: Path,
    *,
    header: bool | None = None,
    sheet: str | None = None,
    spaced: bool = False,
    thousands: str | None = None,
    several: str = "Say which to read with --sheet.",
) -> Frame:
    """Read a table; the ending of its name shows the format.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv`` or other text, ``.parquet``, ``.xlsx``, or JSON records.
    header : bool or None, default None
        Whether the first line names the columns; None finds out.
    sheet : str or None, default None
        Which sheet of a workbook to read; None is its only one.
    spaced : bool, default False
        Whether white space separates the columns of a text file, which is found out only for numbers.
    thousands : str or None, default None
        What separates the thousands of numbers in a text file, ``"none"`` if nothing does; None finds out, or asks.
    several : str
        What to do about a workbook with several sheets where ``sheet`` is None.
    """
    suffix = text_suffix(path)
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in {".xlsx", ".xlsm"}:
        return _read_excel(path, header, sheet, several)
    if suffix in {".json", ".jsonl", ".ndjson"}:
        return _read_json(path)
    with reading(path, "TSV" if suffix == ".tsv" else "CSV"):
        layout = find_layout(path)
        if spaced or layout.separator == " ":
            return _read_spaced(path, layout, header)
        return _read_separated(path, layout, header, thousands)


def _read_separated(path: Path, layout: Layout, header: bool | None, thousands: str | None) -> Frame:
    parse = csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True)
    lines: dict[str, Any] = {"block_size": BLOCK, "skip_rows": layout.skip}
    with csv.open_csv(
        utf8_source(path), read_options=csv.ReadOptions(**lines, column_names=layout.names), parse_options=parse
    ) as head:
        names, first = head.schema.names, head.schema.types[0]
    named = header if header is not None and layout.names is None else not _are_numbers(names, layout.separator)
    if named:
        check_different_names(path, names)
    as_text = {names[0]: pa.string()} if named and (names[0] in ("", SAMPLES) or is_name(first)) else {}
    options = {"path": path, "lines": lines, "parse": parse, "names": layout.names}
    table = _convert(named=named, types=as_text, **options)  # a name in the first column must not become a date
    if header is None and named and layout.names is None and _is_data(names, table):
        named = False
        table = _convert(named=named, types={}, **options)
    decimal = _decimal(path, table, layout.separator, thousands)
    if decimal == ",":
        table = _convert(named=named, types={}, decimal=decimal, **options)
        if named and (names[0] in ("", SAMPLES) or is_name(table.schema.types[0])):
            table = _convert(named=named, types={names[0]: pa.string()}, decimal=decimal, **options)
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise UnicodeError  # pyarrow takes text that is not UTF-8 for bytes
    remarks = ["decimal commas"] if decimal == "," else []
    remarks += [] if named else ["no header line"]
    text: Callable[[str], list[str]] = partial(_text_column, named=named, **options)
    own = text if named else (lambda name: text(str(int(name[1:]) + 1)))  # columns are numbered below
    how: dict[str, Any] = {"separator": layout.separator, "decimal": decimal, "mark": thousands}
    table, read = read_thousands(path, table, own, **how)
    table, remarks = keep_zeros(table, own), [*remarks, *read]
    return _numbered(_without_trailing(Frame(path, table, text, named, (), tuple(remarks))))


def _convert(
    *,
    path: Path,
    lines: dict[str, Any],
    parse: csv.ParseOptions,
    names: Sequence[str] | None,
    named: bool,
    types: dict[str, pa.DataType],
    decimal: str = ".",
    only: list[str] | None = None,
) -> pa.Table:
    read = csv.ReadOptions(**lines, column_names=names, autogenerate_column_names=not named)
    convert = csv.ConvertOptions(column_types=types, decimal_point=decimal, include_columns=only)
    table = csv.read_csv(utf8_source(path), read_options=read, parse_options=parse, convert_options=convert)
    check_closed(path, table)
    return table


def _text_column(name: str, *, named: bool, **options: Any) -> list[str]:
    own = name if named else f"f{int(name) - 1}"
    return _convert(named=named, types={own: pa.string()}, only=[own], **options).column(own).to_pylist()


def _numbered(frame: Frame) -> Frame:
    """Columns without names numbered from 1, as options name them."""
    if frame.named:
        return frame
    names = [str(i + 1) for i in range(frame.table.num_columns)]
    return Frame(frame.path, frame.table.rename_columns(names), frame.text, False, frame.index, frame.remarks)


def _without_trailing(frame: Frame) -> Frame:
    """A table without the empty column that a separator at the end of each line makes."""
    table = frame.table
    last = table.num_columns - 1
    if last < 1 or not pa.types.is_null(table.schema.types[last]) or (frame.named and table.schema.names[last]):
        return frame
    return Frame(frame.path, table.remove_column(last), frame.text, frame.named, frame.index, frame.remarks)


def _are_numbers(names: Sequence[str], separator: str) -> bool:
    """Whether the first line of a CSV file is data: numbers and gaps, but not the numbering of unnamed columns."""
    if separator != ",":
        names = [re.sub(r"^\s*([+-]?\d+),(\d+)\s*$", r"\1.\2", name) for name in names]  # decimal commas
    numbering = [str(i) for i in range(len(names))]
    if len(names) > 1 and names in (numbering, ["", *numbering[:-1]]):
        return False  # as pandas writes a frame whose columns have no names, with or without its index
    return all(is_number_or_gap(name) for name in names)


def _is_data(names: Sequence[str], table: pa.Table) -> bool:
    """Whether the first line goes on below: a number above each column of numbers, and texts that come again.

    Half of them have to: among five columns, one may have a value that is the name of another.
    """
    texts = [column.cast(pa.string()) for column in table.columns if is_name(column.type)]
    others = [name for name, column in zip(names, table.columns, strict=True) if not is_name(column.type)]
    if not texts or not all(is_number_or_gap(name) for name in others):
        return False
    above = pa.array(
        [name for name, column in zip(names, table.columns, strict=True) if is_name(column.type) and name], pa.string()
    )
    again = {name for column in texts for name in pc.unique(column.filter(pc.is_in(column, above))).to_pylist()}
    return bool(again) and 2 * len(again) >= len(above)


def _decimal(path: Path, table: pa.Table, separator: str, thousands: str | None) -> str:
    """A comma where numbers have decimal commas; refuses commas that may separate thousands."""
    if separator == "," or thousands == ",":
        return "."
    found = False
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        commas = pc.match_substring_regex(column, WITH_COMMA)
        if pc.any(pc.match_substring_regex(column, BOTH)).as_py():
            continue  # commas separate thousands, or the column is refused later
        if pc.any(commas).as_py():
            found = True
            if thousands is None and pc.all(pc.match_substring_regex(column.filter(commas), THOUSANDS)).as_py():
                raise InputError(
                    f"The column {name!r} of {str(path)!r} has numbers such as {column.filter(commas)[0].as_py()!r}, "
                    "whose comma may be a decimal comma or separate thousands.",
                    "Use --thousands , if it separates thousands, or --thousands none for decimals.",
                )
    return "," if found else "."


def _read_spaced(path: Path, layout: Layout, header: bool | None) -> Frame:
    def read(named: bool, **options: Any) -> pd.DataFrame:
        source = utf8_source(path)
        return pd.read_csv(source, sep=r"\s+", skiprows=layout.skip, header=0 if named else None, **options)

    names = [str(name) for name in read(True, nrows=0).columns]
    named = header if header is not None else not all(is_number_or_gap(re.sub(r"\.\d+$", "", n)) for n in names)
    table = pa.Table.from_pandas(read(named), preserve_index=False)
    if header is None and named and _is_data(names, table):
        named = False
        table = pa.Table.from_pandas(read(named), preserve_index=False)
    table = table.rename_columns([str(name) for name in table.column_names])

    def text(name: str) -> list[str]:
        frame = read(named, dtype=str, keep_default_na=False)
        return frame[name if named else int(name) - 1].tolist()

    remarks = ("separated by white space",) + (() if named else ("no header line",))
    return _numbered(Frame(path, table, text, named, (), remarks))


def _read_parquet(path: Path) -> Frame:
    with reading(path, "Parquet"), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        check_different_names(path, schema.names)
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        index = tuple(name for name in stored if isinstance(name, str) and name in schema.names)
        table = file.read()
    return Frame(path, table, lambda name: plain_texts(table.column(name).to_pylist()), True, index)


def _read_excel(path: Path, header: bool | None, sheet: str | None, several: str) -> Frame:
    if find_spec("openpyxl") is None:
        raise missing_extra("Reading an Excel workbook", "openpyxl", "excel", "or save it as CSV UTF-8")
    from openpyxl import load_workbook

    with reading(path, "an Excel workbook"):
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            sheets = {name: _cells(book[name].values) for name in book.sheetnames if hasattr(book[name], "values")}
        finally:
            book.close()
    filled = [name for name, cells in sheets.items() if cells]
    if sheet is None and len(filled) != 1:
        has = f"sheets {', '.join(map(repr, filled))}" if filled else "no sheet with data"
        raise InputError(f"{str(path)!r} has {has}.", several if filled else "Check it.")
    name = filled[0] if sheet is None else sheet
    if name not in filled:
        raise InputError(
            f"There is no sheet {name!r} with data in {str(path)!r}; it has {', '.join(map(repr, filled))}."
        )
    return _from_rows(path, sheets[name], header, (f"sheet {name!r}",) if len(sheets) > 1 else ())


def _cells(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """The rows of a sheet without those and the columns that are empty at its edges."""
    kept = [list(row) for row in rows]
    while kept and not any(cell is not None for cell in kept[-1]):
        kept.pop()
    while kept and not any(cell is not None for cell in kept[0]):
        kept.pop(0)
    width = max((i + 1 for row in kept for i, cell in enumerate(row) if cell is not None), default=0)
    return [(row + [None] * width)[:width] for row in kept]


def _from_rows(path: Path, rows: list[list[Any]], header: bool | None, remarks: tuple[str, ...]) -> Frame:
    first = plain_texts(rows[0])
    named = header if header is not None else not all(is_number_or_gap(name) for name in first)
    names = first if named else [str(i + 1) for i in range(len(first))]
    gaps = [i for i, name in enumerate(names) if not name]
    if [i for i in gaps if i > 0]:
        raise InputError(
            f"Column {gaps[-1] + 1} of {str(path)!r} has no name in its first row.",
            "Name it there, or remove what stands above the table.",
        )
    check_different_names(path, names)
    cells = dict(zip(names, zip(*rows[1 if named else 0 :], strict=True), strict=True)) or dict.fromkeys(names, ())
    table = pa.table({name: _column(values) for name, values in cells.items()})
    return Frame(path, table, lambda name: plain_texts(cells[name]), named, (), remarks)


def _read_json(path: Path) -> Frame:
    records = [record for _, record in json_records(path)]
    if records and all(isinstance(record, str) for record in records):
        records = [{"text": record} for record in records]
    if not records or not all(isinstance(record, dict) for record in records):
        raise InputError(f"{str(path)!r} does not hold records with named fields.", "Save one object per line.")
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    cells = {name: [record.get(name) for record in records] for name in names}
    table = pa.table({name: _column(values) for name, values in cells.items()})
    return Frame(path, table, lambda name: plain_texts(cells[name]))


def _column(values: Sequence[Any]) -> pa.Array:
    """A column of the type that its values share, or of text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if text == "" else text for text in plain_texts(values)], pa.string())


def plain_texts(values: Iterable[Any]) -> list[str]:
    """Values as a person would write them: whole numbers without a point, gaps as nothing.

    Examples
    --------
    >>> plain_texts([7.0, 0.5, None, "x"])
    ['7', '0.5', '', 'x']
    """

    def plain(value: Any) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        if isinstance(value, datetime.datetime) and value.time() == datetime.time():
            return str(value.date())
        return str(value)

    return [plain(value) for value in values]
