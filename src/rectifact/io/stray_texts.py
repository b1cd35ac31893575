"""Texts in a column of numbers, such as "not known": a few, or one again and again, with the option that reads them."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from rectifact.core.errors import InputError, count
from rectifact.io.columns import Purpose, are_dates, listing, plain
from rectifact.io.frames import Frame
from rectifact.io.tables import is_name, is_number_or_gap
from rectifact.io.yes_no import VALUES

FEW, LEAST, MOST_NAMED = 0.05, 10, 5
"""Share of the cells of a column that may be texts by mistake, how many it must have, and texts that a remedy names."""

MOST_CODES, MOST_CODED = 3, 0.8
"""Different texts that may stand for a missing answer again and again, and the share of the cells that they may be."""

OTHER_NUMBERS = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*%?")
"""Numbers with a decimal comma, a separator of thousands or a percent sign, which are not missing."""


def codes_in(names: Sequence[str]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """What means a missing value, as numbers and texts; nothing for ``none``, and for what is always missing, as NA.

    Examples
    --------
    >>> codes_in(["98", "99", "not known", "NA"]), codes_in(["none"])
    (((98.0, 99.0), ('not known',)), ((), ()))
    """
    names = [] if list(names) == ["none"] else names
    numbers = tuple(number for name in names if (number := _number(name)) is not None)
    return numbers, tuple(name for name in names if not is_number_or_gap(name))


def without_texts(frame: Frame, texts: Sequence[str]) -> Frame:
    """The table with nothing in place of these texts, in any case, and with how many cells had each of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> frame = Frame(Path("t.csv"), pa.table({"stars": ["5", "n. k.", "3"]}), lambda name: [])
    >>> frame = without_texts(frame, ["n. k."])
    >>> frame.table.column("stars").to_pylist(), frame.remarks
    ([5.0, None, 3.0], ("1 cell with 'n. k.' read as missing",))
    """
    table, found = frame.table, dict.fromkeys((text.strip().casefold() for text in texts), 0)
    for name in table.column_names if found else ():
        if not is_name(table.column(name).type) or pa.types.is_temporal(table.column(name).type):
            continue
        cells = plain(table.column(name)).to_pylist()
        hits = [cell is not None and cell.strip().casefold() in found for cell in cells]
        if not any(hits):
            continue
        for cell, hit in zip(cells, hits, strict=True):
            if hit:
                found[cell.strip().casefold()] += 1
        kept = [None if hit else cell for cell, hit in zip(cells, hits, strict=True)]
        column = pa.array(kept, pa.string())
        if all(cell is None or is_number_or_gap(cell) for cell in kept):
            column = pa.array([_number(cell) for cell in kept], pa.float64())
        table = table.set_column(table.column_names.index(name), name, column)
    said = [f"{count(found[text.strip().casefold()], 'cell')} with {text.strip()!r} read as missing" for text in texts]
    return replace(frame, table=table, remarks=(*said, *frame.remarks))


def refuse_stray_texts(frame: Frame, columns: Sequence[str], purpose: Purpose) -> None:
    """Refuse columns of numbers but for a few texts, or the same ones, with the option that reads them as missing."""
    found = {name: _stray(frame.table.column(name)) for name in columns} if purpose == "embed" else {}
    found = {name: cells for name, cells in found.items() if cells}
    texts = list({text.casefold(): text for cells in found.values() for _, text in cells}.values())
    if not found or len(texts) > MOST_NAMED or texts == ["none"]:  # --missing-values=none has another meaning
        return
    name, cells = next(iter(found.items()))
    (row, text), n = cells[0], len(cells)
    again = sum(cell.casefold() == text.casefold() for _, cell in cells)
    more = f", and {count(n - 1, 'other text')}" if n > 1 else ""
    more = f" and {count(n - 1, 'other row')}" if again == n > 1 else more
    others = f", as do {len(found) - 1} other columns" if len(found) > 2 else ", as does another column"
    raise InputError(
        f"The column {name!r} of {str(frame.path)!r} holds {text!r} in row {row}{more}, where its other values "
        f"are numbers, or yes and no{others if len(found) > 1 else ''}.",
        f"Add --missing-values={listing(texts)} to read {'it' if len(texts) == 1 else 'them'} as missing, or "
        "correct the file.",
    )


def _number(text: str | None) -> float | None:
    """The number that a cell holds, if it does."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _stray(column: pa.ChunkedArray) -> list[tuple[int, str]]:
    """Rows, from 1, and texts of cells that are not as the others, if they are few or alike: numbers, or yes and no."""
    if not is_name(column.type) or pa.types.is_temporal(column.type):
        return []
    written = ((row, (text or "").strip()) for row, text in enumerate(plain(column).to_pylist(), 1))
    cells = [(row, text) for row, text in written if text and not (is_number_or_gap(text) and _number(text) is None)]
    not_numbers = [cell for cell in cells if not is_number_or_gap(cell[1])]
    not_answers = [cell for cell in cells if cell[1].casefold() not in VALUES]
    stray = min(not_numbers, not_answers, key=len)
    few = len(stray) <= max(1, FEW * len(cells))
    codes = len({text.casefold() for _, text in stray}) <= MOST_CODES and len(stray) <= MOST_CODED * len(cells)
    codes = codes and len(cells) - len(stray) >= LEAST
    meant = len(cells) >= LEAST and (few or codes)
    return stray if meant and not any(OTHER_NUMBERS.fullmatch(text) for _, text in stray) else []


def why_not(column: pa.ChunkedArray) -> tuple[str, str]:
    """What the first cell that is not a number holds, and what to do besides leaving the column out."""
    texts = ((row, str(value)) for row, value in enumerate(plain(column).to_pylist()) if value is not None)
    row, text = next(((row, text) for row, text in texts if not is_number_or_gap(text)), (0, ""))
    shown = text if len(text) <= 30 else f"{text[:30]}..."
    first = f"first {shown!r} in row {row + 1}"
    if pa.types.is_temporal(column.type) or are_dates(column):
        return f"holds dates, {first}", ", or name the rows by it with --id-column"
    if re.fullmatch(r"[+-]?[\d.,]+\s*%", text):
        return f"holds percentages, {first}", ", or write them as plain numbers"
    if re.fullmatch(r"[+-]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?", text):
        return f"holds numbers with separators of thousands, {first}", ", or write them without separators"
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"holds decimal commas, {first}", ", or write decimal points"
    if {str(cell).lower() for cell in plain(column).unique().drop_null().to_pylist()} <= {"yes", "no", "y", "n"}:
        return f"holds yes and no, {first}", ", or write 1 and 0"
    return f"holds text, {first}", ", or encode it as numbers"
