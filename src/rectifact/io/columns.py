"""The columns of a table, looked at for one command, and how it is to be read."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rectifact.core.errors import InputError
from rectifact.io.frames import Frame
from rectifact.io.tables import is_name, is_number

Kind = Literal["numbers", "triples", "edges", "texts"]
Purpose = Literal["parts", "embed", "cluster"]
WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("column_words.json").read_text("utf-8"))
"""Usual names of columns by what they hold, as :func:`word` writes them."""

ID = re.compile(
    r"(?i:(id|uuid|guid|index|key|nr|no|number|name|barcode|account|unnamed: ?\d+|row_?names?))"
    r"|.*([_ .-]id|Id|ID|#|[a-z](Nr|No)\.?)|(?i:.*[_ .-](nr|no|number)\.?)"
)
AXIS = re.compile(
    r"""(?ix) (wave[ _-]?(length|number)s?|wellenl(ä|ae)ngen?|wellenzahl(en)?|longueurs?[ _]d.onde
    |longitud[ _]de[ _]onda|lunghezza[ _]d.onda|(raman|chemical|chemische)[ _-]?(shift|verschiebung)|m/?z
    |2[ _-]?(theta|θ)|lambda|λ|frequency|frequenz|energy|energie|(retention[ _-]?)?time|rt|zeit|retentionszeit)
    \s* ([(\[/,_].*|\ in\ .*)? | nm|µm|um|cm[ ^]*[-⁻]?[1¹]|1/cm|k?ev|[mgt]?hz|ppm|min"""
)
"""Names of columns that hold places on an axis, with or without a unit."""
UNNAMED = re.compile(r"(?i)|index|unnamed: ?\d+")
"""Names of a first column that has the numbers of the rows, as pandas writes them."""
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ].*)?")
"""Dates as text, with or without a time of the day."""
LEAST_PLACES = 8  # rows; in fewer, evenly spaced numbers may be a coincidence
YEARS = (1800, 2100)  # whole numbers in a column that are years, not weights
MOST_MEASURES = 200  # columns; in a wider table, which may count words, a name says nothing


@dataclass(frozen=True)
class Options:
    """What the user says about a table; None and nothing leave it to :func:`find_kind`."""

    triples: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    id_column: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    table: bool = False
    graph: bool = False
    header: bool | None = None
    weight: str | None = None
    repeats: str | None = None
    returns: str | None = None  # what is done with negative values: net or drop
    empty: bool = False  # whether columns may be empty: what they hold is missing
    missing_texts: tuple[str, ...] = ()  # texts that mean a missing value
    ignore_case: bool = False  # whether names in triples that differ only in capitals or spaces are one
    drop_unnamed: bool = False  # whether rows of triples without an identifier are left out, however many they are
    split: str | None = None  # what separates nodes in a cell of edges
    usual_texts: tuple[str, ...] = ()  # columns of texts, where the table has them
    usual_triples: tuple[str, ...] = ()  # columns of triples, where the table has them
    beside: tuple[str, ...] = ()  # columns that outputs have beside the names of texts

    def for_table(self, names: Sequence[str]) -> "Options":
        """The same for a table with these columns: the usual triples, if it has them and nothing else is said."""
        said = self.triples or self.text_columns or self.id_column or self.keep or self.table
        usual = self.usual_triples and set(self.usual_triples) <= set(names) - set(self.drop)
        return replace(self, triples=self.usual_triples) if usual and not said else self


@dataclass(frozen=True)
class Plan:
    """How to read a table.

    Attributes
    ----------
    kind : {"numbers", "triples", "edges", "texts"}
    columns : tuple of str
        The columns of numbers, or of texts; or row, column and, if there is one, value; or both ends and weight.
    index : tuple of str
        Columns that name the rows.
    unused : tuple of str
    """

    kind: Kind
    columns: tuple[str, ...]
    index: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def word(name: str) -> str:
    """The name of a column without case, blanks and signs.

    Examples
    --------
    >>> word("User ID"), word("movie_id")
    ('userid', 'movieid')
    """
    return re.sub(r"[\W_]+", "", name.lower())


def is_time_name(name: str) -> bool:
    """Whether a column is called as times are.

    Examples
    --------
    >>> is_time_name("order date"), is_time_name("item")
    (True, False)
    """
    return word(name) in WORDS["time"] or word(name).endswith(("date", "time", "timestamp"))


def is_no_weight(name: str, values: NDArray[Any]) -> bool:
    """Whether a column beside two of nodes holds years, times or numbers of the rows, by its name or its values.

    Examples
    --------
    >>> is_no_weight("founded", np.array([1950, 2024, 1988])), is_no_weight("mails", np.array([3, 1, 4]))
    (True, False)
    """
    if word(name) in {*WORDS["value"], *WORDS["count"], *WORDS["weight"]}:
        return False
    if is_time_name(name) or word(name).endswith("year"):
        return True
    if len(values) < 3 or values.dtype.kind not in "iuf" or not (values == np.round(values)).all():
        return False
    low, high = float(values.min()), float(values.max())
    years = YEARS[0] <= low < high <= YEARS[1]
    seconds = any(6e8 * unit <= low < high <= 4.1e9 * unit for unit in (1, 1000))
    counted = len(values) > 4 and low in (0, 1) and np.array_equal(values, low + np.arange(len(values)))
    return bool(years or seconds or counted or (ID.fullmatch(name) and len(np.unique(values)) == len(values)))


def is_rating(values: Any) -> bool:
    """Whether numbers look like ratings: 3 to 10 different ones from 0.5 to 10, the lowest not the commonest.

    Examples
    --------
    >>> is_rating([1, 3, 4, 4, 5]), is_rating([1, 1, 1, 2, 3]), is_rating([0, 1, 2])
    (True, False, False)
    """
    try:
        found, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    except (TypeError, ValueError):
        return False
    counts, found = counts[~np.isnan(found)], found[~np.isnan(found)]
    return bool(3 <= len(found) <= 10 and found[0] >= 0.5 and found[-1] <= 10 and counts.argmax() > 0)


def unlisted(table: Any, columns: Sequence[str], purpose: Purpose, *, missing: bool) -> str:
    """What pairs that triples do not list count as, and what to do where the values look like ratings."""
    said = f"pairs that are not listed count as {'missing' if missing else '0'}"
    if missing or purpose != "embed" or len(columns) < 3 or word(columns[2]) in WORDS["count"]:
        return said
    rated = is_rating(table[columns[2]].to_numpy() if columns[2] in table else table.iloc[:, -1].to_numpy())
    return f"{said}, but {columns[2]!r} looks like ratings: with --missing, they count as unknown" if rated else said


def _numbers_where_empty(table: pa.Table) -> pa.Table:
    """The table with its empty columns as numbers that are missing."""
    types = [pa.float64() if pa.types.is_null(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.column_names, types, strict=True)))


class View:
    """A table without the columns that are left out, for one command."""

    def __init__(self, frame: Frame, purpose: Purpose, options: Options) -> None:
        self.frame, self.purpose, self.options = frame, purpose, options
        self.where = repr(str(frame.path))
        given = [*options.triples, *options.text_columns, *options.drop, *options.keep, *options.beside]
        self._check_known([*given, *filter(None, (options.id_column, options.weight))])
        kept = [name for name in frame.table.column_names if name not in options.drop]
        if options.keep:
            own = {*options.keep, *frame.index, options.id_column}
            kept = [name for name in kept if name in own]
        self.table = _numbers_where_empty(frame.table.select(kept)) if options.empty else frame.table.select(kept)
        self.names = kept
        self.first = frame.table.column_names[0] if frame.table.num_columns else ""

    def _check_known(self, names: Sequence[str]) -> None:
        known = self.frame.table.column_names
        for name in names:
            if name not in known:
                has = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
                raise InputError(f"{self.where} has no column {name!r}; it has {has}.", "Check the spelling.")

    def plan(self, kind: Kind, columns: Sequence[str], index: Sequence[str] = ()) -> Plan:
        """A plan that uses these columns, and no others."""
        used = {*columns, *index}
        unused = [name for name in self.names if name not in used and name not in self.frame.index]
        return Plan(kind, tuple(columns), tuple(index), tuple(unused))

    def type(self, name: str) -> Any:
        """The type of a column."""
        return self.table.schema.field(name).type

    def distinct(self, name: str) -> int:
        """How many different values a column has."""
        return int(pc.count_distinct(plain(self.table.column(name))).as_py())

    def is_id(self, name: str) -> bool:
        """Whether a column may hold identifiers: text, or whole numbers that are not negative."""
        kind = self.type(name)
        if pa.types.is_integer(kind) and len(self.table):
            return (pc.min(self.table.column(name)).as_py() or 0) >= 0
        return is_name(kind)

    def is_id_name(self, name: str) -> bool:
        """Whether a column is called as identifiers are, or the first as what has them."""
        first = name == self.first
        usual = ID.fullmatch(name) or (first and word(name) in WORDS["row"])
        return bool(self.frame.named and usual) and (first or len(self.names) <= MOST_MEASURES)

    def is_measure(self, name: str) -> bool:
        """Whether a column holds numbers that are neither identifiers nor times, by its name."""
        return is_number(self.type(name)) and not self.is_id_name(name) and not self.is_time(name)

    def may_be_weight(self, name: str) -> bool:
        """Whether a column of numbers beside two of nodes may hold weights: not years, times or numbers of the rows."""
        if not is_number(self.type(name)):
            return not is_time_name(name)  # text is refused later, by its row
        return not is_no_weight(name, self.table.column(name).to_numpy())

    def is_time(self, name: str) -> bool:
        """Whether a column is called as times are, or holds seconds or milliseconds since 1970, from 1990 to 2100."""
        if word(name) in WORDS["time"]:
            return True
        if not pa.types.is_integer(self.type(name)) or not len(self.table):
            return False
        ends = pc.min_max(self.table.column(name)).as_py()
        spread = 2 * pc.count_distinct(self.table.column(name)).as_py() > len(self.table)
        return spread and any(6e8 * unit <= ends["min"] <= ends["max"] <= 4.1e9 * unit for unit in (1, 1000))

    def is_when(self, name: str) -> bool:
        """Whether a column says when something happened: by its type, its name or what it holds."""
        kind = self.type(name)
        if pa.types.is_temporal(kind) or self.is_time(name):
            return True
        return is_name(kind) and (is_time_name(name) or are_dates(self.table.column(name)))

    def is_beside_pairs(self, name: str) -> bool:
        """Whether a column of a list of pairs names neither of the two: when they met, or the number of the row."""
        if name not in (self.first, *self.frame.index):
            return self.is_when(name)
        texts = [other for other in self.names if other != name and is_name(self.type(other))]
        bare = name in self.frame.index or UNNAMED.fullmatch(name) or (ID.fullmatch(name) and len(texts) > 1)
        cells = plain(self.table.column(name)).cast(pa.string())
        return self.is_when(name) or bool(
            bare and self.differ(name) and pc.all(pc.match_substring_regex(cells, r"^\d+$")).as_py()
        )

    def differ(self, name: str) -> bool:
        """Whether no two cells of a column are the same."""
        column = plain(self.table.column(name))
        return column.null_count <= 1 and len(column.unique()) == len(column)

    def mostly_differ(self, name: str) -> bool:
        """Whether the cells of a column are as different as identifiers with a few duplicates.

        Half of them are enough under a name such as id; else it may hold classes, and nine in ten must differ.
        """
        column = plain(self.table.column(name))
        share = 0.5 if self.is_id_name(name) else 0.9
        return column.null_count <= 1 and len(column.unique()) > share * len(column)

    def is_axis(self, name: str) -> bool:
        """Whether a column is called as an axis, such as the wavelength, and rises or falls from row to row."""
        return bool(self.frame.named) and is_axis_name(name) and len(steps := self._steps(name)) > 2 and _one_way(steps)

    def is_ruled(self, name: str) -> bool:
        """Whether a column holds numbers at equal distances, as no measurements are."""
        steps = self._steps(name)
        if len(steps) + 1 < LEAST_PLACES or not _one_way(steps):
            return False
        return bool(np.allclose(steps, steps.mean(), rtol=1e-3, atol=0))

    def _steps(self, name: str) -> NDArray[Any]:
        """Differences from row to row of a column of numbers; none for others."""
        if not is_number(self.type(name)) or pa.types.is_boolean(self.type(name)) or len(self.names) < 2:
            return np.zeros(0)
        return np.diff(np.asarray(self.table.column(name).to_numpy(), dtype=float))

    def counts_rows(self, name: str) -> bool:
        """Whether a column holds the numbers of the rows, from 0 or 1."""
        n = len(self.table)
        if n < 5 or len(self.names) < 2 or not pa.types.is_integer(self.type(name)):
            return False
        values = self.table.column(name).to_numpy()
        return bool(values[0] in (0, 1) and np.array_equal(values, np.arange(values[0], values[0] + n)))


def is_axis_name(name: str) -> bool:
    """Whether a column is called as places on an axis are.

    Examples
    --------
    >>> [is_axis_name(name) for name in ("Wavelength (nm)", "Wellenlänge", "m/z", "cm-1", "RT [min]", "energetic")]
    [True, True, True, True, True, False]
    """
    return AXIS.fullmatch(name.strip()) is not None


def are_dates(column: pa.ChunkedArray) -> bool:
    """Whether the first cells that are not empty are dates."""
    cells = [text.strip() for text in plain(column).slice(0, 100).to_pylist() if text]
    return bool(cells) and all(DATE.fullmatch(text) for text in cells)


def _one_way(steps: NDArray[Any]) -> bool:
    return bool((steps > 0).all() or (steps < 0).all())


def quoted(name: str) -> str:
    """A name as a shell takes it, for a message that shows an option.

    Examples
    --------
    >>> quoted("how much"), quoted("age")
    ("'how much'", 'age')
    """
    return shlex.quote(name)


def listing(names: Sequence[str]) -> str:
    """Names of columns as an option takes them."""
    return quoted(",".join('"' + name.replace('"', '""') + '"' if set(',"') & set(name) else name for name in names))


class Undecided(InputError):
    """Two readings of a table are likely; ``triples`` has the columns that one of them takes as triples, if it does."""

    triples: tuple[str, ...] = ()


def ask(what: str, remedy: str, triples: Sequence[str] = ()) -> NoReturn:
    """Stop where two readings are likely; ``remedy`` names the option for each."""
    error = Undecided(what, remedy)
    error.triples = tuple(triples)
    raise error


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as it is, or decoded."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
