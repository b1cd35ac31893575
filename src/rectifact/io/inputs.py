"""Whatever a command was given: a matrix, triples, edges, a graph or texts, and one sentence about it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import parquet

from rectifact.core.errors import InputError
from rectifact.io.all_rows import AllRows
from rectifact.io.assemble import from_edges, from_numbers, from_texts, from_triples, is_adjacency, pairs, sentence
from rectifact.io.columns import Options, Plan, Purpose, View, is_axis_name, quoted, unlisted
from rectifact.io.files import reading
from rectifact.io.first_line import may_begin_with_edge
from rectifact.io.frames import SAMPLES, Frame, read_frame
from rectifact.io.graphs import (
    GRAPHS,
    Edges,
    has_attributes,
    holds_node_links,
    read_edge_lines,
    read_graph_file,
    read_neighbour_lines,
    read_node_links,
)
from rectifact.io.kinds import find_kind, find_list
from rectifact.io.matrices import NamedMatrix, as_floats, read_matrix, read_names, shape_said, turned
from rectifact.io.nested import PREPARED
from rectifact.io.single_cell import has_barcodes, holds_10x, read_10x
from rectifact.io.spelling import composed, spelt_alike
from rectifact.io.stray_texts import refuse_stray_texts, without_texts
from rectifact.io.text import are_numbers, are_records, text_head, text_suffix
from rectifact.io.triples import negatives_set_to_0, refuse_options_of_triples, settled
from rectifact.io.two_modes import how_as_graph, two_modes, without_sums

FEW_UNNAMED = 0.05
"""Share of the rows of triples without an identifier that may be left out unasked: more may mean something else, such
as cells that stand for the one above."""

TABLES = {".csv", ".tsv", ".tab", ".parquet", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson"}
MATRICES = {".npz", ".npy", ".mtx", ".h5ad"}
PLAIN = {".txt", ".text", ".dat", ".data", ".edges", ".edgelist", ".asc", ".out"}
EDGES = {".edges", ".edgelist"}
OTHERS = {
    **dict.fromkeys((".dot", ".gv"), ("a drawing of a graph", "Convert it to GraphML, GML or a CSV file of edges.")),
    **dict.fromkeys((".xls", ".ods"), ("an old or open workbook", "Save it as .xlsx, or as CSV UTF-8.")),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), ("pickled", "Pickles are never loaded: save it as .npz or .csv.")),
    **dict.fromkeys((".rds", ".rda", ".rdata"), ("an R object", "Save it with write.csv, or writeMM for a matrix.")),
    ".mat": ("a MATLAB file", "Save it as .npz, .mtx or .csv."),
    **dict.fromkeys((".h5", ".hdf5", ".loom"), ("HDF5", "Save it as .h5ad, or give the folder with matrix.mtx.")),
    **dict.fromkeys((".feather", ".arrow"), ("an Arrow file", "Save it as .parquet.")),
    **dict.fromkeys(
        (".pdf", ".doc", ".docx", ".html", ".htm"), ("a formatted document", "Save it as plain text, .txt.")
    ),
    **dict.fromkeys((".zip", ".tar", ".tgz"), ("an archive", "Unpack it first.")),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"), ("a picture", "Name the data behind it.")),
    ".rfx": (
        "a saved model, not data",
        "For new data, name that and add --model; rectifact report shows what the model has found.",
    ),
}
"""What other endings stand for, and what to do."""


@dataclass(frozen=True)
class Request:
    """What the user says about the data, besides its place.

    Attributes
    ----------
    options : Options
        What tables are.
    rows, columns : Path or None
        Files with the names of rows and columns.
    transpose : bool
        Whether samples are in columns.
    sheet, thousands : str or None
    missing : bool
        Whether cells without a value, such as pairs that triples do not list, are missing.
    """

    options: Options
    rows: Path | None = None
    columns: Path | None = None
    transpose: bool = False
    sheet: str | None = None
    missing: bool = False
    thousands: str | None = None


@dataclass(frozen=True, eq=False)
class Input:
    """What was read, in one of four forms, and how.

    Attributes
    ----------
    said : str
        One sentence for the user.
    matrix : NamedMatrix or None
    documents : list of str, or None
        With their names in ``names``, and what those are called in ``title``; ``rows`` are those of their table.
    edges : tuple of arrays, or None
        Both ends and, if there are any, weights, from the column ``weight``.
    graph : networkx.Graph or None
    """

    said: str
    matrix: NamedMatrix | None = None
    documents: list[str] | None = None
    names: Any = None
    title: str = SAMPLES
    rows: AllRows | None = None
    edges: tuple[Any, ...] | None = None
    weight: str = ""
    graph: Any = None


def read_input(path: Path, purpose: Purpose, request: Request) -> Input:
    """Look at a file or folder, and read it for a command; folders of chunks and plain texts are read elsewhere.

    Parameters
    ----------
    path : Path
    purpose : {"parts", "embed", "cluster"}
    request : Request

    Returns
    -------
    Input

    Raises
    ------
    InputError
        Where it cannot be read, or two readings are likely; it says what to do.
    """
    if not path.is_dir():
        with reading(path, "data"):
            if path.stat().st_size == 0:
                raise InputError(f"{str(path)!r} is empty.", "Check the program that wrote it.")
    suffix = text_suffix(path)
    if suffix in OTHERS:
        what, remedy = OTHERS[suffix]
        unread = "" if what.endswith("not data") else ", which rectifact does not read"
        raise InputError(f"{str(path)!r} is {what}{unread}.", remedy)
    if suffix in GRAPHS:
        if purpose != "cluster":
            raise InputError(f"{str(path)!r} holds a graph.", "Use rectifact cluster for its communities.")
        _refuse_table_options(path, request, "a graph")
        graph, said = read_graph_file(path, request.options.weight)
        return Input(said, graph=graph, title="node")
    listed = None if path.is_dir() else _reader_of_edges(path, suffix, request)
    if listed is not None:
        if purpose != "cluster":
            raise InputError(f"{str(path)!r} holds a graph.", "Use rectifact cluster for its communities.")
        _refuse_table_options(path, request, "a list of edges")
        edges, said = listed(path)
        return Input(said, edges=edges, title="node")
    if path.is_dir() or suffix in MATRICES:
        _refuse_table_options(path, request, "a matrix")
        return _checked(path, purpose, request, negatives_set_to_0(path, request.options.returns, _stored(path)))
    if suffix in EDGES and purpose == "cluster" and not request.options.table:
        request = replace(request, options=replace(request.options, graph=True))
    if suffix in TABLES or suffix in PLAIN:
        spaced = suffix in PLAIN and _is_spaced(path, purpose)
        read = partial(read_frame, path, sheet=request.sheet, spaced=spaced, thousands=request.thousands)
        frame = read(header=request.options.header)
        if purpose == "cluster" and may_begin_with_edge(frame, request.options):
            bare = read(header=False)
            frame = bare if find_kind(bare, purpose, request.options).kind == "edges" else frame
        return _from_frame(PREPARED[purpose](without_texts(frame, request.options.missing_texts)), purpose, request)
    raise InputError(
        f"The ending of {str(path)!r} does not show its format.",
        "Rename it to .csv, .tsv, .txt, .xlsx, .json, .jsonl, .parquet, .npz, .npy, .mtx, .h5ad, .gml, .graphml or "
        ".gexf.",
    )


def _reader_of_edges(path: Path, suffix: str, request: Request) -> Callable[[Path], tuple[Edges, str]] | None:
    """What reads a graph that networkx or a web page has written as text; None for other files."""
    if suffix == ".adjlist":
        return read_neighbour_lines
    if suffix == ".json" and not request.options.triples and holds_node_links(path):
        return read_node_links
    return read_edge_lines if suffix in {*PLAIN, ".csv", ".tsv"} and has_attributes(path) else None


def refuse_lists(folder: Path, purpose: Purpose) -> None:
    """Refuse a folder of Parquet files that hold triples, edges or texts, by the first rows of the first file."""
    first = next((path for path in sorted(folder.glob("*.parquet")) if path.is_file()), None)
    if first is None:
        return
    with reading(first, "Parquet"), parquet.ParquetFile(first) as file:
        head = pa.Table.from_batches(list(islice(file.iter_batches(1000), 1)), file.schema_arrow)
    try:
        found = find_list(Frame(first, head, lambda name: []), purpose)
    except InputError:  # it would ask
        found = True
    if found:
        raise InputError(
            f"The files in {str(folder)!r} look like lists of pairs, triples or texts, not like rows of a matrix.",
            "Join them in one table, and name that file.",
        )


def is_plain_text(path: Path) -> bool:
    """Whether a text file holds documents, one per line, rather than a table."""
    if text_suffix(path) not in PLAIN:
        return False
    with reading(path, "text"):
        lines = text_head(path)
    separator = are_records(lines)
    if separator in {",", ";", "|"} and len(lines) > 2 and not are_numbers(lines):
        raise InputError(
            f"{str(path)!r} may hold one text per line, or a table.", "Use --text for texts, or rename it to .csv."
        )
    return not are_numbers(lines) and separator != "\t"


def _is_spaced(path: Path, purpose: Purpose) -> bool:
    """Whether white space separates the words of each line, as many as in the others; refuses lines that differ."""
    with reading(path, "text"):
        lines = [line for line in text_head(path) if line.strip() and not line.startswith(("#", "%"))]
    if any(mark in line for line in lines[:1] for mark in ",;\t|") and are_records(lines):
        return False
    sizes = {len(line.split()) for line in lines}
    if len(sizes) == 1 and (purpose == "cluster" or are_numbers(lines)):
        return True
    remedy = "Write one edge per line; if each line has a node and its neighbours, rename it to .adjlist."
    remedy = remedy if purpose == "cluster" else "Use rectifact parts --text for texts."
    raise InputError(f"The lines of {str(path)!r} do not have the same number of fields.", remedy)


def _refuse_table_options(path: Path, request: Request, what: str) -> None:
    options = request.options
    given: dict[str, Any] = {"--ignore-case": options.ignore_case, "--drop-unnamed": options.drop_unnamed}
    given |= {"--triples": options.triples, "--text-column": options.text_columns, "--id-column": options.id_column}
    given |= {"--weight": options.weight if what != "a graph" else None, "--split": options.split}
    given |= {"--repeats": options.repeats, "--drop": options.drop, "A text in --missing-values": options.missing_texts}
    given |= {"--columns with a list": options.keep, "--sheet": request.sheet}
    for name, value in given.items():
        if value:
            raise InputError(f"{name} is for tables, and {str(path)!r} is {what}.", "Leave it out.")


def _stored(path: Path) -> tuple[NamedMatrix, str]:
    """A matrix from a file or a folder, and what it is."""
    if path.is_dir():
        if not holds_10x(path):
            raise InputError(
                f"The folder {str(path)!r} holds no matrices.",
                "Name a file, or a folder with matrix.mtx, barcodes.tsv and features.tsv.",
            )
        X, cells, genes = read_10x(path)
        matrix = NamedMatrix(as_floats(path, X), cells, genes, "barcode", "gene")
        return matrix, "a 10x folder, with cells in rows"
    matrix = read_matrix(path)
    if text_suffix(path) == ".h5ad":
        return replace(matrix, row_title="cell", column_title="gene"), "AnnData, with cells in rows"
    return matrix, "a sparse matrix" if sp.issparse(matrix.X) else "a matrix"


def _checked(path: Path, purpose: Purpose, request: Request, stored: tuple[NamedMatrix, str]) -> Input:
    """A matrix with the names that the user gives, turned if they ask for it, and a sentence."""
    matrix, what = stored
    if request.rows is not None:
        matrix = replace(matrix, rows=read_names(request.rows, matrix.X.shape[0], "row", turned=request.transpose))
    if request.columns is not None:
        matrix = replace(
            matrix, columns=read_names(request.columns, matrix.X.shape[1], "column", turned=request.transpose)
        )
    if request.transpose:
        matrix = turned(matrix)
        what += ", transposed"
    sure = request.options.table or request.options.keep or request.options.graph
    if purpose == "cluster" and not sure and _may_be_graph(matrix):
        raise InputError(
            f"{str(path)!r} holds a square matrix, which may be that of a graph, or points.",
            f"Use --graph {quoted(str(path))} for a graph, or --table for points.",
        )
    said = f"Read as {what}: {shape_said(matrix)}"
    if text_suffix(path) == ".mtx" and matrix.rows is None and has_barcodes(path.parent) and not request.transpose:
        said += f"; for cells in rows, with their names, give the folder {str(path.parent)!r}"
    return Input(f"{said}.", matrix)


def _may_be_graph(matrix: NamedMatrix) -> bool:
    """Whether rows and columns have the same names, or a matrix without two sets of names is symmetric."""
    X = matrix.X
    if X.shape[0] != X.shape[1] or X.shape[0] < 3:
        return False
    if matrix.rows is not None and matrix.columns is not None:
        return bool(np.array_equal(np.sort(matrix.rows), np.sort(matrix.columns)))
    return abs(X - X.T).nnz == 0 if sp.issparse(X) else bool(np.allclose(X, X.T, rtol=1e-9, equal_nan=True))


def _from_frame(frame: Frame, purpose: Purpose, request: Request) -> Input:
    if len(frame.table) == 0:
        what = "has a header line and no rows below it" if frame.named else "has no rows"
        raise InputError(f"{str(frame.path)!r} {what}.", "Check the program that wrote it, or the filter.")
    request = replace(request, options=request.options.for_table(frame.table.column_names))
    as_graph = request.options.graph and not request.options.triples
    frame = without_sums(frame, request.options.drop) if as_graph else frame
    square = request.options.graph and is_adjacency(frame)
    if as_graph and not square and (modes := two_modes(frame)) is not None:
        return Input(f"{'; '.join([f'Read as {modes[1]}', *frame.remarks])}.", modes[0])
    plan = Plan("numbers", ()) if square else find_kind(frame, purpose, request.options)
    for option in ("weight", "split"):
        if getattr(request.options, option) and plan.kind != "edges":
            raise InputError(f"--{option} is for edges, and {str(frame.path)!r} holds {plan.kind}.", "Leave it out.")
    if plan.kind in {"texts", "edges"} and (request.rows or request.columns or request.transpose):
        what = f"--transpose and files of names are for matrices, and {str(frame.path)!r} holds {plan.kind}."
        raise InputError(what, "Leave them out.")
    if plan.kind == "texts":
        return Input(**from_texts(frame, plan, request.options.beside))
    if plan.kind in {"triples", "edges"}:
        refuse_stray_texts(frame, plan.columns[2:], purpose)
        listed = plan.kind == "triples"
        unnamed = (1.0 if request.options.drop_unnamed else FEW_UNNAMED) if listed and purpose == "embed" else 0.0
        table, remarks = pairs(frame, plan, bool(request.missing and listed), request.options.split, unnamed)
        table, alike = composed(table, "name" if listed else "node")
        frame = replace(frame, remarks=(*remarks, *alike, *frame.remarks))
        if plan.kind == "edges":
            edges, said = from_edges(frame, plan, table)
            return Input(said, edges=edges, weight="".join(plan.columns[2:]))
        as_one = request.options.ignore_case
        table, alike = spelt_alike(table, plan.columns, as_one) if purpose == "embed" else (table, [])
        remark = unlisted(table, plan.columns, purpose, missing=bool(request.missing))
        frame = replace(frame, remarks=(remark, *alike, *frame.remarks))
        done = settled(View(frame, purpose, request.options), plan, table, bool(request.missing))
        return _finished(frame, done.plan, request, purpose, from_triples(frame, done, request.missing))
    refuse_options_of_triples(frame.path, request.options, "a table of numbers")
    if not request.transpose and any(map(is_axis_name, plan.index[:1])):
        frame = replace(frame, remarks=(*frame.remarks, "for samples in columns: --transpose"))
    if purpose == "cluster" and not request.options.table:
        frame = replace(frame, remarks=(*frame.remarks, *how_as_graph(frame)))
    stored = negatives_set_to_0(frame.path, request.options.returns, from_numbers(frame, plan))
    return _finished(frame, plan, request, purpose, stored)


def _finished(frame: Frame, plan: Plan, request: Request, purpose: Purpose, stored: tuple[NamedMatrix, str]) -> Input:
    done = _checked(frame.path, purpose, request, stored)
    return replace(done, said=sentence(frame, plan, done.said.removesuffix(".")))
