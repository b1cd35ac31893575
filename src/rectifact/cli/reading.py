"""What parts, embed and cluster are given: options that say how to read it, the standard input, one line on stderr.

``io.inputs`` looks at the data; this module translates options and says what was found.
"""

import csv
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np
import typer

from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, Message, count
from rectifact.io.columns import Options, Purpose
from rectifact.io.files import reading
from rectifact.io.inputs import TABLES, Input, Request, is_plain_text, read_input, refuse_lists
from rectifact.io.partitions import LazyMatrix, read_chunks
from rectifact.io.single_cell import holds_10x
from rectifact.io.sniff import suffix_of
from rectifact.io.stray_texts import codes_in
from rectifact.io.text import text_suffix
from rectifact.parts.documents import is_document, read_documents

STDIN = STDOUT  # both are called -

AS_THEY_ARE = ["id_column", "table", "graph", "header", "weight", "repeats", "returns", "empty", "ignore_case", "split"]
AS_THEY_ARE += ["drop_unnamed"]
"""Options that ``io.inputs`` takes under the same name."""

FILES = (
    ".csv, .tsv, .xlsx, .parquet, .jsonl, .npz, .npy, .mtx, .h5ad, a 10x folder, or - for standard input; see --table, "
    "--triples and --id-column for what is in doubt"
)

PANEL = "How the data is read"

Triples = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PANEL,
        metavar="NAMES",
        help="Read a table as triples: the columns of rows, of columns and, if there is one, of values, such as "
        "user,item,rating.",
    ),
]
Repeats = Annotated[
    Literal["last", "first", "mean", "sum"] | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="Which value counts where triples have several for a pair; sums of counts are usual. First and last go by "
        "the column that says when, if there is one, and otherwise by the order of the file.",
    ),
]
Returns = Annotated[
    Literal["net", "drop"] | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="What to do with negative values of triples, such as returned goods: subtract them from the others of the "
        "same pair, down to 0 (net), or leave these rows out (drop). In a table or matrix, drop sets them to 0.",
    ),
]
Ends = Annotated[
    str | None,
    typer.Option(
        "--triples",
        rich_help_panel=PANEL,
        metavar="NAMES",
        help="Read a table as edges: the columns of both nodes and, if there is one, of weights, such as a,b,weight.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PANEL,
        metavar="NAME",
        help="Column of a table of edges, or attribute of edges in a GraphML, GML or GEXF file that holds the weights.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PANEL,
        metavar="MARKS",
        help="Split cells of a table of edges that hold several nodes, such as recipients of e-mails, at these "
        "characters, such as ';'; each gets an edge of its own. none leaves such cells as they are.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PANEL,
        metavar="NAME",
        help="Column of a table that holds the texts; several, as in title,body, are joined.",
    ),
]
IdColumn = Annotated[
    str | None, typer.Option(rich_help_panel=PANEL, metavar="NAME", help="Column of a table that names the rows.")
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows", "--row-names", rich_help_panel=PANEL, help="Text file that names each row (before --transpose)."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        "--names",
        rich_help_panel=PANEL,
        metavar="NAMES",
        help="Columns of a table to use, such as age,height; or a text file with the names of the columns, one per "
        "line.",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(rich_help_panel=PANEL, metavar="NAMES", help="Columns of a table to leave out, such as date,class."),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", rich_help_panel=PANEL, help="Swap rows and columns: samples are in columns.")
]
AsTable = Annotated[
    bool,
    typer.Option(
        "--table",
        rich_help_panel=PANEL,
        help="Read a table as numbers, whatever it looks like: samples in rows, features in columns.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        rich_help_panel=PANEL,
        help="Whether the first line of a table has the names of the columns; detected by default.",
        show_default=False,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(rich_help_panel=PANEL, metavar="NAME", help="Sheet of an Excel workbook, if it has several."),
]

Thousands = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PANEL,
        metavar="MARK",
        help="What separates the thousands of numbers in a text file, such as . or ' or a comma; none if 1.258 is a "
        "decimal number. Detected where it is certain.",
    ),
]


def names_in(text: str | None) -> tuple[str, ...]:
    """Names of columns, separated by commas; one with a comma in it is in quotes.

    Examples
    --------
    >>> names_in('user,"last, first"')
    ('user', 'last, first')
    """
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True))) if text else ()


@dataclass(frozen=True)
class Reading:
    """The options of a command that say how to read its data."""

    triples: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    rows: Path | None = None
    columns: str | None = None
    drop: str | None = None
    transpose: bool = False
    table: bool = False
    header: bool | None = None
    sheet: str | None = None
    text: bool = False
    graph: bool = False
    missing: bool = False
    weight: str | None = None
    repeats: str | None = None
    returns: str | None = None
    empty: bool = False
    split: str | None = None
    thousands: str | None = None
    ignore_case: bool = False
    drop_unnamed: bool = False
    keep: str | None = None
    missing_values: str | None = None

    def request(self) -> Request:
        """The same for ``io.inputs``."""
        file = Path(self.columns) if self.columns else None
        listed = file is not None and not file.is_file()
        if listed and file is not None and _is_missing_file(str(self.columns)):
            raise InputError(f"There is no file {str(file)!r}.", "Check the name and the folder.")
        lists = {"triples": self.triples, "text_columns": self.text_column, "drop": self.drop, "beside": self.keep}
        said: dict[str, Any] = {name: names_in(value) for name, value in lists.items()}
        said["missing_texts"] = codes_in(names_in(self.missing_values))[1]
        said |= {name: getattr(self, name) for name in AS_THEY_ARE}
        options = Options(**said, keep=names_in(self.columns) if listed else ())
        names: dict[str, Any] = {"rows": self.rows, "columns": None if listed else file}
        how: dict[str, Any] = {"sheet": self.sheet, "missing": self.missing, "thousands": self.thousands}
        return Request(options, transpose=self.transpose, **how, **names)

    def read(
        self,
        path: Path,
        purpose: Purpose,
        *,
        unsaid: tuple[str, ...] = (),
        usual_texts: tuple[str, ...] = (),
        usual_triples: tuple[str, ...] = (),
    ) -> Input:
        """What the file or folder holds; one line on stderr says how it was read, without words left ``unsaid``.

        ``usual_texts`` are columns that hold the texts, and ``usual_triples`` those of triples, where a table has them
        and no option says otherwise.
        """
        with given(path) as file:
            with warnings.catch_warnings(record=True, action="always") as caught:
                if purpose == "parts" and self._holds_texts(file):
                    documents, names = read_documents(file)
                    each = f"one per {_endings(names)} file" if file.is_dir() else "one per line"
                    said = f"Read as texts: {count(len(names), 'document')}, {each}."
                    found = Input(said, documents=documents, names=names)
                else:
                    request = self.request()
                    options = replace(request.options, usual_texts=usual_texts, usual_triples=usual_triples)
                    found = read_input(file, purpose, replace(request, options=options))
            notes = dict.fromkeys(str(_about_stdin(w.message, file) if path == STDIN else w.message) for w in caught)
            found = replace(found, said=" ".join([found.said, *notes]))
            if path == STDIN and found.matrix is not None:
                found = replace(found, matrix=replace(found.matrix, X=in_memory(found.matrix.X)))
        if self.keep and found.rows is None:
            what = f"--keep takes columns of a table of texts, and {str(path)!r} is not one."
            raise InputError(what, "Leave it out, or name the column of texts with --text-column.")
        say(reduce(lambda said, words: said.replace(words, ""), unsaid, found.said))
        return found

    def _holds_texts(self, path: Path) -> bool:
        """Whether it is a folder or a file of running text."""
        if path.is_dir() and holds_10x(path):
            return False
        if path.is_dir():
            if not self.text and not any(map(is_document, path.rglob("*"))):
                raise InputError(
                    f"The folder {str(path)!r} holds neither texts (.txt, .md or .rst files) nor rows of a "
                    "matrix (.npy, .npz or .parquet files).",
                    "Name another folder, or a file.",
                )
            return True
        if self.text:
            return text_suffix(path) not in TABLES
        of_tables = (self.text_column, self.triples, self.id_column, self.columns, self.drop, self.table)
        return not any(of_tables) and is_plain_text(path)

    def check(self, in_chunks: bool) -> None:
        """Refuse options that a folder of chunks does not take, and options that contradict each other."""
        fitting = {"graph", "missing"}  # they are not about tables alone
        given = [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value and name not in fitting]
        if in_chunks and given:
            raise InputError(f"{given[0]} is not available for a matrix in chunks.", "Leave it out.")
        exclusive = [name for name in given if name in ("--triples", "--text-column", "--table")]
        if len(exclusive) > 1:
            raise InputError(f"{' and '.join(exclusive)} are mutually exclusive.", "Choose one.")


READING = tuple(option.name for option in fields(Reading) if option.name not in {"missing", "empty"})
"""Parameters of commands that say how data is read, and not what is made of it."""


def _is_missing_file(text: str) -> bool:
    """Whether a text names a file that is not there, and not columns, whose names may have a slash: ``km/h,age``.

    Examples
    --------
    >>> _is_missing_file("orders/yr,Age"), _is_missing_file("km/h"), _is_missing_file("lists/names.txt")
    (False, False, True)
    """
    return "," not in text and Path(text).suffix.lower() in {".txt", ".tsv", ".csv"}


def _endings(names: Any) -> str:
    """The endings of files, for a sentence: those that are read show which are not."""
    return " or ".join(sorted({Path(str(name)).suffix.lower() for name in names}))


def read_in_chunks(folder: Path, purpose: Purpose) -> LazyMatrix:
    """The matrix in a folder of chunks; one line on stderr says how it was read."""
    refuse_lists(folder, purpose)
    matrix = read_chunks(folder)
    n_rows, n_columns = matrix.X.shape
    say(f"Read as a matrix in {count(len(matrix.rows), 'chunk')}: {n_rows} rows by {count(n_columns, 'column')}.")
    return matrix


def in_memory(X: Any) -> Any:
    """A matrix that does not need its file any more."""
    return np.array(X) if isinstance(X, np.memmap) else X


@contextmanager
def given(path: Path) -> Iterator[Path]:
    """The file itself, or the standard input as a file; errors about it name the standard input."""
    if path != STDIN:
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- stands for the standard input, and nothing was piped into it.", "Name a file.")
    with TemporaryDirectory(prefix="rectifact.") as folder:
        plain = Path(folder) / "input"
        with plain.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        if plain.stat().st_size == 0:
            raise InputError("The standard input is empty.", "Check the command before the pipe.")
        named = plain
        try:
            with reading(plain, "a table, a matrix or text"):
                named = plain.rename(plain.with_name(f"input{suffix_of(plain)}"))
            yield named
        except InputError as error:
            raise _about_stdin(error, named) from error


def _about_stdin(error: Any, path: Path) -> Message:
    """The same error or warning with the standard input in place of the file that stands for it."""
    if not isinstance(error, Message):
        return error

    def put(text: Any) -> Any:
        return text if text is None else text.replace(repr(str(path)), "the standard input").replace(str(path), "-")

    what = put(error.what)
    what = what[:1].upper() + what[1:] if what.startswith("the standard") else what
    return type(error)(what, put(error.remedy), option=error.options, command=put(error.command))
