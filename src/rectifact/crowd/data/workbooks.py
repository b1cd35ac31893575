"""Answers in Excel workbooks: a sheet as a table of texts, as in a CSV file."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from rectifact.core.errors import InputError
from rectifact.io.frames import read_frame
from rectifact.io.text import text_suffix

WORKBOOKS = {".xlsx", ".xlsm"}


def is_workbook(path: Path) -> bool:
    """Whether the name is that of a workbook that can be read."""
    return text_suffix(path) in WORKBOOKS


def read_workbook(path: Path, sheet: str | None = None) -> pa.Table:
    """A sheet of a workbook, by default the only one with data; its cells are text, and empty ones are missing."""
    try:
        frame = read_frame(path, header=True, sheet=sheet)
    except InputError as error:
        if "--sheet" not in error.remedy:
            raise
        remedy = "Read one of them with pandas.read_excel, and give that table."
        command = "Say which has the answers with --sheet; other sheets must be files of their own, such as CSV."
        raise InputError(error.what, remedy, command=command) from error
    names = frame.table.column_names
    return pa.table({name: pa.array([text or None for text in frame.text(name)], pa.string()) for name in names})


def chosen_sheet(path: Path, sheet: str | None) -> Any:
    """The ``sheet`` of a workbook as a table; the path, if none is named."""
    if sheet is None:
        return path
    if not is_workbook(path):
        raise InputError(f"--sheet is for workbooks, and {str(path)!r} is not an .xlsx file.", "Leave it out.")
    return read_workbook(path, sheet).to_pandas()
