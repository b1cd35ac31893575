"""Values that colour the map of a report, or compare clusters with known groups: a column of the data or of a file."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.io.frames import read_frame
from rectifact.io.graphs import folded
from rectifact.io.listed import WITH_GROUPS
from rectifact.io.matrices import read_names
from rectifact.io.spelling import spelling_of
from rectifact.io.tables import read_table
from rectifact.io.text import text_suffix
from rectifact.io.whole_names import as_names


class Groups(NamedTuple):
    """Values of the samples by the name of their column, and a sentence on how rows were matched where by position."""

    values: dict[str, Any]
    by_position: str = ""


class Samples(NamedTuple):
    """The rows of the data that values are wanted for.

    Attributes
    ----------
    data : Path
        The file that they are in.
    n : int
        Number of values that there must be where they are matched by position.
    names : array of str of shape (n,), or None
    named : bool
        Whether the names are those of the data, and not numbers of its rows.
    what : str
        What they are called in a sentence.
    sheet : str or None
        The sheet of the data that was read.
    """

    data: Path
    n: int
    names: Any = None
    named: bool = True
    what: str = "sample"
    sheet: str | None = None


def check_colours(colour_by: str | None, report: Path | None, save: Path | None) -> None:
    """Say that colours are for a report, where none is written and no model is saved for one."""
    if colour_by is not None and report is None and save is None:
        say("Note: --colour-by colours the map of the report. Add --report page.html.")


def dropped(drop: str | None, colour_by: str | None, data: Path) -> str | None:
    """Columns to leave out, with the one that colours the map if it is in the data."""
    if colour_by is None or Path(colour_by).exists() or text_suffix(data) not in WITH_GROUPS:
        return drop
    place, _, column = colour_by.rpartition(":")
    if place and not (Path(place).exists() and Path(place).samefile(data)):
        return drop
    name = f'"{column}"'
    return name if drop is None else f"{drop},{name}"


def read_groups(
    text: str, samples: Samples, option: str = "--colour-by", said: str = "Colours", ignore_case: bool = False
) -> Groups:
    """Values that colour the map, by the name of their column: from a table and column, or one value per line.

    Another table is joined by the names of the samples. It is matched by position only if it, or the data, has none.

    Parameters
    ----------
    text : str
        A column of the data, ``table.csv:column``, or the path of a table with one column or of a text file.
    samples : Samples
    option, said : str
        The option, and what the values are called in a sentence.
    ignore_case : bool
        Whether capitals and spaces do not count when names are matched.
    """
    data, n_samples, names, named, what, sheet = samples
    place, _, column = (text, "", "") if Path(text).exists() else text.rpartition(":")
    path = Path(place) if place else data
    if not place and text_suffix(data) not in WITH_GROUPS:
        raise InputError(
            f"{option} {text!r} is neither a file nor a column, as {str(data)!r} is not a table.",
            f"Name a table with that column, as in known.csv:{text}, or a text file with one value per row.",
        )
    if text_suffix(path) not in WITH_GROUPS:
        return Groups({path.stem: _numbers(read_names(path, n_samples, "row"))}, _say_by_position(said, path))
    own = data.exists() and path.exists() and path.samefile(data)
    table = _table(path, sheet if own else None)
    values = table  # as they are written, where groups are called as nodes are
    if names is not None:
        names = np.array(as_names(list(map(str, names))))
        table = table.apply(_whole).map(spelling_of(names))
    if ignore_case and names is not None:
        table = _respelt(table, names)
    table, zeros = _zeros_as_in(table, names) if names is not None and named else (table, {})
    if not column and len(table.columns) == 1:
        column = str(table.columns[0])
    if not column and len(table.columns) == 2 and names is not None and (key := _key(table, names)) is not None:
        column = next(str(name) for name in table.columns if name != key)
    if column not in table:
        known = ", ".join(map(str, table.columns[:8]))
        raise InputError(
            f"{option} {text!r} does not name a column of {str(path)!r}.",
            f"Write {path.name}:COLUMN, with one of {known}.",
        )
    joined = names is not None and not own
    key = _key(table.drop(columns=column), names) if joined else None
    if key is not None:
        found, n_found = _joined(path, table[key], values[column], names)
        by = repr(key) if key else "the column without a name"
        more = _would_match(table[key], names) - n_found
        hint = f"; {more:,} more would match if capitals and surrounding spaces were ignored" if more > 0 else ""
        hint += "; for these, add --ignore-case" if hint and what == "node" else ""
        others = len(set(table[key].dropna().astype(str)) - set(map(str, names)))
        if others and 2 * n_found < n_samples:
            verb = "is" if others == 1 else "are"
            hint += f"; {count(others, 'name')} of {path.name!r} {verb} not among them"
        without = f", with leading zeros ignored ({zeros[key]})" if key in zeros else ""
        say(f"{said} matched by {by}{without}: {n_found} of {count(n_samples, what)}{hint}.")
        return Groups({column: _numbers(found)})
    if joined and named:
        _refuse_other_names(table.drop(columns=column), names, column, path, what)
    if len(table) != n_samples:
        raise InputError(
            f"{str(path)!r} has {len(table):,} rows, but there are {n_samples:,} samples.",
            "Give one row per sample, or a column with the names of the samples.",
        )
    return Groups({column: _numbers(values[column].to_numpy())}, _say_by_position(said, path, named) if joined else "")


def _table(path: Path, sheet: str | None) -> pd.DataFrame:
    """The cells of a table as they are written, or as Parquet has them; an index stays a column: it may hold names."""
    if text_suffix(path) in {".csv", ".tsv", ".parquet"}:
        return read_table(path).to_pandas(ignore_metadata=True)
    frame = read_frame(path, sheet=sheet, several="Save the one with the groups as a file of its own.")
    written = {name: frame.text(name) for name in frame.table.column_names}
    return pd.DataFrame(written, dtype=object).replace("", None)


def _whole(column: Any) -> Any:
    """A column with its cells as names, 12000 for 12000.0, if all of them are whole numbers."""
    texts = column.astype(object).where(column.notna(), "").astype(str).tolist()
    names = as_names(texts)
    return column if names == texts else pd.Series(names, column.index, dtype=object).where(column.notna(), None)


def _respelt(table: pd.DataFrame, names: Any) -> pd.DataFrame:
    """The table with texts that are names but for capitals and spaces as these names."""
    spelt = {folded(str(name)): str(name) for name in names}

    def known(value: Any) -> Any:
        return spelt.get(folded(value), value) if isinstance(value, str) else value

    return table.map(known)


def _zeros_as_in(table: pd.DataFrame, names: Any) -> tuple[pd.DataFrame, dict[Any, str]]:
    """The table with whole numbers that are names but for leading zeros as these names, and an example by column."""
    digits = pd.Series([str(name) for name in names], dtype=object)
    digits = digits[digits.str.fullmatch(r"[0-9]+")].drop_duplicates()
    bare = digits.str.lstrip("0")
    spelt = dict(zip(bare, digits, strict=True)) if bare.is_unique else {}
    known, table, examples = set(digits), table.copy(), {}
    for key in table.columns.tolist() if spelt else []:
        texts = table[key].astype(str)
        other = texts.str.fullmatch(r"[0-9]+") & ~texts.isin(known)
        new = texts[other].str.lstrip("0").map(spelt).dropna()
        new = new[~new.isin(set(texts))]  # 7 stays where 007 is there as well
        if len(new):
            examples[key] = f"{texts[new.index[0]]!r} there, {new.iloc[0]!r} here"
            table[key] = texts.where(table[key].notna(), None).mask(texts.index.isin(new.index), new)
    return table, examples


def _say_by_position(said: str, path: Path, named: bool = True) -> str:
    """Say that rows are matched by position, and return the sentence."""
    without = f"{path.name!r} has no names" if named else "the rows of the data have no names"
    sentence = f"{said} are matched by position: {without}."
    say(f"Note: {sentence}")
    return sentence


def _refuse_other_names(others: pd.DataFrame, names: Any, column: str, path: Path, what: str) -> None:
    """Refuse a table with names of its own that are not those of the samples, which position would mix up."""
    called = list(map(str, names))
    named = [key for key in others.columns.tolist() if _are_names(str(key), others[key])]
    if not named:
        return
    best = max(named, key=lambda key: (_would_match(others[key], names), others[key].nunique()))
    n, alike = len(set(called) & set(others[best].astype(str))), _would_match(others[best], names)
    such = f"{str(others[best].iloc[0])!r} there, {called[0]!r} here"
    raise InputError(
        f"{n:,} of {count(len(called), what)} {'is' if n == 1 else 'are'} found in the column {best!r} of "
        f"{str(path)!r} ({such}), and {alike:,} would be if capitals and surrounding spaces were ignored.",
        _to_match(alike if alike > n else 0, min(len(called), len(others)), what, column),
    )


def _to_match(alike: int, most: int, what: str, column: str) -> str:
    """What to do about names that differ, of which ``alike`` differ only in capitals and spaces and ``most`` could."""
    if 2 * alike >= max(1, most):  # as many as a column of names must hold
        return "Add --ignore-case." if what == "node" else "Spell the names alike."
    return f"Spell the names alike, or keep only the column {column!r} if its rows are in the order of the {what}s."


def _are_names(title: str, values: Any) -> bool:
    """Whether a column may hold names: text, most of it different, or whole numbers that differ from row to row."""
    found = values.dropna().astype(str)
    numbers = pd.to_numeric(found, errors="coerce")
    if numbers.isna().any():
        return 2 * found.nunique() > len(values)
    in_order = np.array_equal(numbers, np.arange(len(values)) + numbers.min()) if len(found) else True
    index = in_order and (not title or title.startswith("Unnamed:"))  # numbers of rows, as pandas writes them
    return len(found) == found.nunique() > 0 and bool((numbers % 1 == 0).all()) and not index


def _would_match(values: Any, names: Any) -> int:
    """How many names are in a column if capitals and surrounding spaces are ignored."""
    there = {str(value).strip().casefold() for value in values}
    return sum(str(name).strip().casefold() in there for name in names)


def _numbers(values: Any) -> Any:
    """Values as numbers, for a scale of colours, where all that are there are numbers; else as they are."""
    found = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    there = ~pd.isna(values) & (np.asarray(values, dtype=str) != "")
    return found if there.any() and np.isfinite(found[there]).all() and len(np.unique(found[there])) > 10 else values


def _key(table: pd.DataFrame, names: Any) -> str | None:
    """The column that holds most names of samples, at least half of those that it could hold; None if there is none."""
    known = set(names)
    found = {key: len(known & set(table[key].astype(str))) for key in table.columns.tolist()}
    best = max(found, key=lambda key: found[key], default=None)
    return best if best is not None and 2 * found[best] >= max(1, min(len(known), len(table))) else None


def _joined(path: Path, called: Any, groups: Any, names: Any) -> tuple[Any, int]:
    """For each sample the value in the row with its name, or a gap; and the number of samples that have a row."""
    rows = pd.DataFrame({"name": called.astype(str), "value": groups})
    rows = rows[rows["name"].isin(names)].drop_duplicates()
    twice = rows["name"].duplicated()
    if twice.any():
        raise InputError(
            f"{rows['name'][twice].iloc[0]!r} has several rows in {str(path)!r}, with different values of "
            f"{groups.name!r}.",
            "Keep one row per sample.",
        )
    values = rows.set_index("name")["value"]
    return values.reindex(names).to_numpy(), int(pd.Index(names).isin(values.index).sum())
