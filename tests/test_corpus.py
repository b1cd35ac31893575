"""Files as people have them, each with its intended reading: read as intended, or refused with one sentence.

Every case goes through the command line up to the fit, where it is stopped; the line on stderr is part of the reading.
"""

import bz2
import gzip
import io
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from rectifact.cli import cluster, embed, parts, reading
from rectifact.io import assemble

nan = np.nan


class Stopped(Exception):
    """The data has been read."""


@dataclass(frozen=True)
class Case:
    """A file, a command line, and what should come out of it."""

    content: Any  # text, bytes, or a function that writes to a path
    command: str  # the command and its options; the file comes first
    said: str  # part of the only line on stderr
    X: Any = None  # rows of the matrix
    rows: Any = None
    columns: Any = None
    titles: tuple[str, str] | None = None  # what rows and columns are called
    texts: Any = None
    edges: Any = None  # weighted edges between names
    refused: bool = False


def refused(content: Any, command: str, said: str) -> Case:
    return Case(content, command, said, refused=True)


RATINGS = [[5, 3, 0], [0, 4, 1]]
TRIPLES = {"X": RATINGS, "rows": ["u1", "u2"], "columns": ["i1", "i2", "i3"]}
RATED = "u1,i1,5\nu1,i2,3\nu2,i2,4\nu2,i3,1\n"
NUMBERS = "1,1,5\n1,2,3\n2,2,4\n2,3,1\n3,1,2\n3,3,4\n"
NEWS = ["Rain and wind over the sea", "The farm sells hay, and corn", "A storm at sea tonight"]
POINTS = [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
SQUARE = np.array([[0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 0, 3], [0, 0, 3, 0]])
PATH = {("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "a"): 1.0, ("c", "d"): 1.0}
EDGES = "a,b\nb,c\nc,a\nc,d\n"
FROM_ZERO = "0,1\n1,2\n2,0\n2,3\n"
REST_OF_RING = {("1", "2"): 1.0, ("2", "0"): 1.0, ("2", "3"): 1.0}
RING = {("0", "1"): 1.0} | REST_OF_RING
SPEND = "height,width\n1.5,2.5\n3.5,4.5\n"
TWO = {"X": [[1.5, 2.5], [3.5, 4.5]], "columns": ["height", "width"]}


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def workbook(**sheets: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(path)

    return write


def tenx(end: str = ".gz", features: str = "features", n_genes: int = 3) -> Callable[[Path], None]:
    """A folder as Cell Ranger writes it: genes in rows."""

    def write(folder: Path) -> None:
        folder.mkdir()
        opener = gzip.open if end else open
        matrix = io.BytesIO()
        scipy.io.mmwrite(matrix, sp.coo_array(np.array([[5, 0], [3, 4], [0, 1]])))
        genes = "ENSG1\tACT\tGene Expression\nENSG2\tDUP\tGene Expression\nENSG3\tDUP\tGene Expression\n"
        kept = "".join(genes.splitlines(keepends=True)[:n_genes])
        for name, content in (("matrix.mtx", matrix.getvalue()), (f"{features}.tsv", kept.encode())):
            with opener(folder / f"{name}{end}", "wb") as file:
                file.write(content)
        with opener(folder / f"barcodes.tsv{end}", "wb") as file:
            file.write(b"AAAC-1\nAAAG-1\n")

    return write


def h5ad(path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # of anndata, about pandas
        anndata = pytest.importorskip("anndata")
        obs, var = (pd.DataFrame(index=pd.Index(names, dtype=object)) for names in (["c1", "c2"], ["g1", "g2", "g3"]))
        anndata.AnnData(sp.csr_matrix(np.array(RATINGS, dtype=np.float32)), obs, var).write_h5ad(path)


def no_real(package: str) -> Callable[[Path], None]:
    """A CSV file under the ending of another format, which a package reads."""

    def write(path: Path) -> None:
        with warnings.catch_warnings(action="ignore"):
            pytest.importorskip(package)
        path.write_text("a,b\n1,2\n")

    return write


def graph_file(kind: str, **weights: float) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        nx = pytest.importorskip("networkx")
        graph = nx.Graph()
        for i, name in enumerate("abcd"):
            graph.add_node(i, label=name)
        for ends in PATH:
            graph.add_edge(*("abcd".index(end) for end in ends), **weights)
        if kind == "graphml":
            nx.write_graphml(graph, path)
        elif kind == "gexf":
            nx.write_gexf(graph, path)
        else:
            path.write_text("\n".join(nx.generate_gml(nx.relabel_nodes(graph, dict(enumerate("abcd"))))))

    return write


def chunks(columns: dict[str, Any]) -> Callable[[Path], None]:
    """A folder of Parquet files, as programs for large data write it."""

    def write(folder: Path) -> None:
        folder.mkdir()
        for i in range(2):
            pd.DataFrame(columns).to_parquet(folder / f"part.{i}.parquet")

    return write


def folder_of_texts(folder: Path) -> None:
    folder.mkdir()
    for i, text in enumerate(NEWS):
        (folder / f"{i}.txt").write_text(text)


def npz(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)


def sparse_npz_with_names(path: Path) -> None:
    X = sp.csr_array(np.array(RATINGS))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"}
    np.savez(path, **parts, rows=np.array(["u1", "u2"]), columns=np.array(["i1", "i2", "i3"]))


def numbered_lines(text: str) -> str:
    """Lines with their numbers in front, from 0, as pandas writes an index."""
    return "".join(f"{i},{line}\n" for i, line in enumerate(text.splitlines()))


def dated(text: str, form: str) -> str:
    """Lines with a day beside each."""
    return "".join(
        form.format(i=i, day=f"2024-03-0{i}", line=line) + "\n" for i, line in enumerate(text.splitlines(), 1)
    )


CASES: dict[str, Case] = {
    # Triples
    "ratings.csv": Case(
        f"user,item,rating\n{RATED}",
        "embed",
        "Read as triples, 'user' in rows, 'item' in columns, 'rating' as value: 2 rows by 3 columns",
        **TRIPLES,
        titles=("user", "item"),
    ),
    "movielens.csv": Case(
        "userId,movieId,rating,timestamp\n007,10,5,964982703\n007,20,3,964982224\n8,20,4,964983815\n8,30,1,964982931\n",
        "embed",
        "not used: 'timestamp'",
        X=RATINGS,
        rows=["007", "8"],
        columns=["10", "20", "30"],
        titles=("userId", "movieId"),
    ),
    "other words.csv": refused(
        f"who,what,how much\n{NUMBERS}",
        "embed",
        "may hold triples of row, column and value, or a table of numbers. Use",
    ),
    "other words named.csv": Case(
        f"who,what,how much\n{RATED}", "embed --triples who,what,how\\ much", "triples, 'who' in rows", **TRIPLES
    ),
    "with zeros.csv": Case(
        f"user,item,rating\n{RATED}", "embed", "named; pairs that are not listed count as 0.", **TRIPLES
    ),
    "with gaps.csv": Case(
        f"user,item,rating\n{RATED}u1,i3,0\n",
        "embed --missing",
        "named; pairs that are not listed count as missing.",
        X=[[5, 3, 0], [nan, 4, 1]],
    ),
    "counted with gaps.csv": Case(
        "user,item,count\na,x,1\na,x,2\nb,y,4\n", "parts --missing", "count as missing.", X=[[3, nan], [nan, 4]]
    ),
    "other words, text.csv": Case(f"who,what,how much\n{RATED}u3,i1,2\n", "embed", "triples, 'who' in rows, 'what' in"),
    "u.data": refused(NUMBERS.replace(",", "\t"), "embed", "Use --triples 1,2,3 or --table."),
    "u2.data": Case(
        NUMBERS.replace(",", "\t"),
        "embed --triples 1,2,3",
        "; no header line",
        X=[[5, 3, 0], [0, 4, 1], [2, 0, 4]],
        rows=["1", "2", "3"],
        titles=("sample", "feature"),
    ),
    "counts.parquet": Case(
        lambda path: table(f"doc,word,count\n{RATED}").to_parquet(path), "parts", "'count' as value", **TRIPLES
    ),
    "log.csv": Case(
        "user,item\nu1,i1\nu1,i1\nu2,i2\n",
        "embed",
        "1 for each pair as value, added up where a pair is repeated",
        X=[[2, 0], [0, 1]],
    ),
    "rated twice.csv": refused(
        f"user,item,rating\n{RATED}u1,i1,2\n",
        "embed",
        "has 1 value for pairs of 'user' and 'item' that have one already",
    ),
    "which value.csv": refused(
        "user,item,minutes\nu1,i1,5\nu2,i2,3\n", "embed", "Say which columns to read: --triples user,item,minutes, or"
    ),
    "rated twice beside votes.csv": refused(
        "user,item,grade,helpful\nu1,i1,5,0\nu1,i1,4,1\nu1,i2,3,2\nu2,i2,1,0\nu2,i1,5,1\nu3,i3,4,0\n",
        "embed",
        "--triples user,item,grade --repeats last, or",
    ),
    "numbers rated twice.csv": refused(
        "who,what,grade\n" + "".join(f"{i % 4},{10 + i % 5},{1 + i % 5}\n" for i in range(20)) + "0,10,3\n",
        "embed",
        "Use --triples who,what,grade --repeats last or --table.",
    ),
    "with an index.csv": Case(
        ",Kunde,Artikel,Sterne\n" + numbered_lines(f"{RATED}u3,i1,2\n"),
        "embed",
        "triples, 'Kunde' in rows, 'Artikel' in columns, 'Sterne' as value: 3 rows by 3 columns",
        X=[[5, 3, 0], [0, 4, 1], [2, 0, 0]],
    ),
    "numbers with an index.csv": refused(
        ",uid,iid,r\n" + numbered_lines(NUMBERS),
        "embed",
        "may hold triples of row, column and value, or a table of num",
    ),
    "a date first.csv": Case(
        "Datum;Kunde;Artikel;Sterne\n" + dated(f"{RATED}u3,i1,2\n".replace(",", ";"), "{day};{line}"),
        "embed",
        "triples, 'Kunde' in rows, 'Artikel' in columns, 'Sterne' as value: 3 rows by 3 columns",
        X=[[5, 3, 0], [0, 4, 1], [2, 0, 0]],
    ),
    "a date last.csv": Case(
        "Kunde,Artikel,Sterne,Tag\n" + dated(f"{RATED}u3,i1,2\n", "{line},{day}"),
        "embed",
        "not used: 'Tag'",
        X=[[5, 3, 0], [0, 4, 1], [2, 0, 0]],
    ),
    "a German date.csv": Case(
        "Kunde,Artikel,Sterne,Tag\n" + dated(f"{RATED}u3,i1,2\n", "{line},0{i}.03.2024 10:15"),
        "embed",
        "not used: 'Tag'",
        X=[[5, 3, 0], [0, 4, 1], [2, 0, 0]],
    ),
    "a value first.csv": refused(
        "rating,who,what\n" + "".join(f"{line[4]},{line[:3]}\n" for line in NUMBERS.splitlines()),
        "embed",
        "Use --triples who,what,rating or --table.",
    ),
    "bought again.csv": refused(
        "Kunde;Ware;Menge;Kauf\n" + "".join(f"k{i % 6};w{i % 4};{1 + i % 3};2024-0{1 + i % 9}-01\n" for i in range(20)),
        "embed",
        "--triples Kunde,Ware,Menge, or --triples Kunde,Ware to count pairs.",
    ),
    "with kinds.csv": refused(
        "Kunde,Artikel,Gruppe,Sterne\n"
        + "".join(f"k{i},a{j},g{j % 2},{1 + (i + j) % 5}\n" for i in range(6) for j in range(5)),
        "embed",
        "Say which columns to read: --triples Kunde,Artikel,Sterne",
    ),
    "no user.csv": refused("user,item,rating\nu1,i1,5\n,i2,3\n", "embed", "has no name in the column 'user': row 2."),
    "triples to cluster.csv": refused(
        f"user,item,rating\n{RATED}", "cluster", "looks like triples of 'user', 'item', 'rat"
    ),
    # Edges
    "edges.csv": Case(
        f"source,target\n{EDGES}",
        "cluster",
        "Edges read from the columns 'source' and 'target', no weights.",
        edges=PATH,
    ),
    "gephi.csv": Case(
        "Source,Target,Type,Id,Label,Weight\na,b,Undirected,0,,2\nb,c,Undirected,1,,0.5\n",
        "cluster",
        "weights from 'Weight'; not used: 'Type', 'Id', 'Label'",
        edges={("a", "b"): 2.0, ("b", "c"): 0.5},
    ),
    "numbered edges.csv": refused(
        "a,b\n1,2\n2,3\n3,1\n3,4\n", "cluster", "may hold edges between 'a' and 'b', or points. Use"
    ),
    "numbered edges as points.csv": Case(
        "a,b\n1,2\n2,3\n3,1\n3,4\n", "cluster --table", "table of numbers", X=[[1, 2], [2, 3], [3, 1], [3, 4]]
    ),
    "weighted.csv": refused("1,2,0.5\n2,3,0.25\n3,1,1\n3,4,2\n", "cluster", "Use --graph"),
    "weighted graph.csv": Case(
        "1,2,0.5\n2,3,0.25\n3,1,1\n3,4,2\n",
        "cluster --graph",
        "columns '1' and '2', weights from '3'; no header line",
        edges={("1", "2"): 0.5, ("2", "3"): 0.25, ("3", "1"): 1.0, ("3", "4"): 2.0},
    ),
    "friends.csv": Case(
        f"person,friend\n{EDGES}", "cluster", "the columns 'person' and 'friend', no weights", edges=PATH
    ),
    "friends without header.csv": Case(EDGES, "cluster", "no weights; no header line", edges=PATH),
    "snap.txt": Case(
        "# Undirected graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n2\t0\n2\t3\n",
        "cluster",
        "columns 'FromNodeId' and 'ToNodeId'",
        edges={("0", "1"): 1.0, ("1", "2"): 1.0, ("2", "0"): 1.0, ("2", "3"): 1.0},
    ),
    "karate.edgelist": Case(
        "1 2\n1 3\n2 3\n3 4\n",
        "cluster",
        "columns '1' and '2', no weights",
        edges={("1", "2"): 1.0, ("1", "3"): 1.0, ("2", "3"): 1.0, ("3", "4"): 1.0},
    ),
    "pairs of numbers.txt": refused("1 2\n1 3\n2 3\n3 4\n", "cluster", "may hold edges between '1' and '2', or points"),
    "scenes.csv": Case(
        "Person A,Person B,scenes\nAnn,Bea,3\nBea,Cid,2\nCid,Ann,1\n",
        "cluster",
        "weights from 'scenes'",
        edges={("Ann", "Bea"): 3.0, ("Bea", "Cid"): 2.0, ("Cid", "Ann"): 1.0},
    ),
    "edges and years.csv": Case("source,target,year\na,b,1999\nb,c,2000\n", "cluster", "no weights; not used: 'year'"),
    "two weights.csv": refused(
        "source,target,km,minutes\na,b,1,2\nb,c,3,4\n", "cluster", "which are the weights: --triples source,target,km"
    ),
    "edges twice.csv": Case(
        "source,target\na,b\nb,a\na,b\nb,c\nc,c\n",
        "cluster",
        "no weights; 2 rows repeat edges and are added to them, 1 of them in the other direction; 1 edge from a "
        "node to itself.",
        edges={("a", "b"): 3.0, ("b", "c"): 1.0, ("c", "c"): 1.0},
    ),
    "events.csv": Case(
        "woman,event\nAnn,ball\nBea,ball\nBea,tea\n", "cluster --graph", "no node is in both columns: two kinds"
    ),
    "points as a graph.csv": refused(
        "x,y\n0.5,1.5\n2.5,-3.5\n",
        "cluster --graph",
        "holds numbers that cannot be names of nodes. For points",
    ),
    "networkx.edgelist": Case(
        "a b {'weight': 3}\nb c {'weight': 2.5}\n",
        "cluster",
        "a list of edges as networkx writes it: 3 nodes and 2 edges, with weights.",
        edges={("a", "b"): 3.0, ("b", "c"): 2.5},
    ),
    "networkx.csv": Case(
        "Jean Valjean,Cosette,{}\nCosette,Marius,{}\n",
        "cluster",
        "3 nodes and 2 edges, no weights.",
        edges={("Jean Valjean", "Cosette"): 1.0, ("Cosette", "Marius"): 1.0},
    ),
    "networkx, blanks.edgelist": refused(
        "Jean Valjean Cosette {}\nCosette Marius {}\n", "cluster", "does not have two nodes and attributes"
    ),
    "node links.json": Case(
        json.dumps(
            {
                "directed": False,
                "nodes": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bea"}, {"id": 3, "name": "Cid"}],
                "links": [{"source": 1, "target": 2, "value": 4}],
            }
        ),
        "cluster",
        "a graph in JSON, nodes and links: 2 nodes and 1 edge, with weights; 1 node without edges.",
        edges={("Ann", "Bea"): 4.0, ("Cid", "Cid"): 0.0},
    ),
    "from 0.csv": Case(FROM_ZERO, "cluster --graph", "'1' and '2', no weights; no header line", edges=RING),
    "from 0, bare.csv": refused(FROM_ZERO, "cluster", "may hold edges between '1' and '2', or points"),
    "from 0, named by place.csv": Case(FROM_ZERO, "cluster --triples 1,2", "no header line", edges=RING),
    "from 0, weights.csv": Case(
        "0,1,2\n1,2,1\n2,0,1.5\n2,3,1\n",
        "cluster --graph",
        "from '3'; no header",
        edges=RING | {("0", "1"): 2, ("2", "0"): 1.5},
    ),
    "from 0, header.csv": Case(FROM_ZERO, "cluster --graph --header", "columns '0' and '1'", edges=REST_OF_RING),
    "from 0, named.csv": Case(f"from,to\n{FROM_ZERO}", "cluster", "columns 'from' and 'to', no weights.", edges=RING),
    "points of pandas.csv": Case("0,1\n0.5,1.5\n2.5,3.5\n4.5,5.5\n", "cluster", "rows", X=POINTS, columns=["0", "1"]),
    "whole points of pandas.csv": Case(
        FROM_ZERO, "cluster --table", "3 rows by 2 columns", X=[[1, 2], [2, 0], [2, 3]], columns=["0", "1"]
    ),
    "karate.txt": Case(EDGES.replace(",", " "), "cluster --graph", "no header line", edges=PATH),
    "neighbours.adjlist": Case(
        "#made by hand\na b c\nb a c\nc\n",
        "cluster",
        "lists of neighbours, the first of each line joined to the others: 3 nodes and 3 edges, no weights.",
        edges={("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 1.0},
    ),
    "neighbours.txt": refused(
        "1 2 3\n2 3\n3 4 5 6\n", "cluster", "do not have the same number of fields. Write one edge"
    ),
    "edges to embed.csv": refused(
        f"source,target\n{EDGES}", "embed", "--triples source,target for the matrix of the edges"
    ),
    "weights in words.csv": refused("source,target,weight\na,b,much\n", "cluster", "'weight' of"),
    # Square matrices and graph files
    "adjacency.csv": refused(
        pd.DataFrame(SQUARE, list("abcd"), list("abcd")).to_csv(), "cluster", "holds a square matrix, which may be"
    ),
    "adjacency graph.csv": Case(
        pd.DataFrame(SQUARE, list("abcd"), list("abcd")).to_csv(),
        "cluster --graph",
        "Read as a table of numbers: 4 rows by 4 columns, rows and columns named.",
        X=SQUARE,
        rows=list("abcd"),
    ),
    "directed.csv": refused(",a,b,c\na,0,1,0\nb,0,0,1\nc,1,0,0\n", "cluster", "holds a square matrix, which may be"),
    "adjacency.npz": refused(lambda path: sp.save_npz(path, sp.csr_array(SQUARE)), "cluster", "Use --graph"),
    "adjacency.mtx": Case(
        lambda path: scipy.io.mmwrite(path, sp.coo_array(SQUARE)),
        "cluster --graph",
        "Read as a sparse matrix",
        X=SQUARE,
    ),
    "graph.gml": Case(
        graph_file("gml", value=2),
        "cluster",
        "weights from 'value', nodes called by their label",
        edges=dict.fromkeys(PATH, 2.0),
    ),
    "graph.graphml": Case(graph_file("graphml"), "cluster", "Read as a GraphML graph: 4 nodes and 4 edges", edges=PATH),
    "graph to parts.graphml": refused(graph_file("graphml"), "parts", "holds a graph. Use rectifact cluster"),
    "broken.graphml": refused("<graphml><node", "cluster", "as GraphML: "),
    "broken.gml": refused("graph [ node [", "cluster", "as GML: "),
    "pajek.net": Case(
        '*Vertices 2\n1 "Ann"\n2 "Bea"\n*Edges\n1 2 3\n',
        "cluster",
        "Read as a Pajek graph: 2 nodes and 1 edge, weights from 'weight'",
        edges={("Ann", "Bea"): 3.0},
    ),
    "gephi.gexf": Case(graph_file("gexf"), "cluster", "Read as a GEXF graph: 4 nodes and 4 edges", edges=PATH),
    "cytoscape.json": Case(
        json.dumps(
            {
                "elements": {
                    "nodes": [{"data": {"id": "1", "name": "Ann"}}, {"data": {"id": "2", "name": "Bea"}}],
                    "edges": [{"data": {"source": "1", "target": "2", "weight": 2}}],
                }
            }
        ),
        "cluster",
        "2 nodes and 1 edge, with weights.",
        edges={("Ann", "Bea"): 2.0},
    ),
    "many lines.adjlist": refused(
        "a 2\nb {'weight': 1}\nc {'weight': 2}\n", "cluster", "has attributes in braces, so it is not"
    ),
    "papers.csv": Case(
        "author1,author2,n_papers,first_year\na,b,3,1999\nb,c,2,2001\n", "cluster", "weights from 'n_papers' (without"
    ),
    # Texts
    "news.csv": Case(
        "id,text,year\n" + "".join(f'n{i},"{text}",2020\n' for i, text in enumerate(NEWS)),
        "parts",
        "Read as texts: 3 documents from 'text', named by 'id'; not used: 'year'.",
        texts=NEWS,
        rows=["n0", "n1", "n2"],
        titles=("id", "feature"),
    ),
    "news with --text.csv": Case(
        "id,text\n" + "".join(f'n{i},"{text}"\n' for i, text in enumerate(NEWS)),
        "parts --text",
        "named by 'id'",
        texts=NEWS,
    ),
    "newlines.csv": Case(
        'id,body\n1,"Rain and wind\nover the ""sea"""\n2,"The farm, the hay, the corn"\n',
        "parts",
        "2 documents from 'body'",
        texts=['Rain and wind\nover the "sea"', "The farm, the hay, the corn"],
        rows=["1", "2"],
    ),
    "title and body.csv": refused(
        f"title,body\nThe sea today,{NEWS[0]}\nOn the farm,{NEWS[2]}\n", "parts", "Say which to read with --text-column"
    ),
    "title or body.csv": Case(
        f"title,body\nThe sea today,{NEWS[0]}\nOn the farm,{NEWS[2]}\n",
        "parts --text-column title,body",
        "2 documents from 'title' and 'body'",
        texts=[f"The sea today\n{NEWS[0]}", f"On the farm\n{NEWS[2]}"],
    ),
    "sms.tsv": Case(
        f"ham\t{NEWS[0]}\nspam\t{NEWS[2]}\nham\tSee you at the farm\n",
        "parts",
        "no header line; not used: '1'",
        texts=[NEWS[0], NEWS[2], "See you at the farm"],
    ),
    "sms.txt": Case(
        f"ham\t{NEWS[0]}\nspam\t{NEWS[2]}\nham\tSee you at the farm\n", "parts", "from '2'; no header line"
    ),
    "table.txt": refused(
        "id,text\n1,Rain over the sea\n2,Hay on the farm\n",
        "parts",
        "may hold one text per line, or a table. Use --text",
    ),
    "table named.txt": Case(
        "id,text\n1,Rain over the sea\n2,Hay on the farm\n",
        "parts --text-column text",
        "2 documents from 'text', named by 'id'",
        texts=["Rain over the sea", "Hay on the farm"],
    ),
    "reviews.jsonl": Case(
        "".join(json.dumps({"id": i, "text": text, "meta": {"x": 1}}) + "\n" for i, text in enumerate(NEWS)),
        "parts",
        "3 documents from 'text', named by 'id'; not used: 'meta.x'",
        texts=NEWS,
        rows=["0", "1", "2"],
    ),
    "texts.json": Case(json.dumps(NEWS), "parts", "3 documents from 'text'", texts=NEWS),
    "lines.txt": Case("\n".join(NEWS), "parts", "3 documents, one per line", texts=NEWS, rows=["1", "2", "3"]),
    "folder": Case(
        folder_of_texts, "parts", "3 documents, one per .txt file", texts=NEWS, rows=["0.txt", "1.txt", "2.txt"]
    ),
    "windows.txt": Case("\r\n".join(NEWS).encode("utf-16"), "parts", "3 documents", texts=NEWS),
    "empty texts.csv": Case(
        f"id,text\n1,{NEWS[0]}\n2,\n3,{NEWS[2]}\n",
        "parts",
        "1 row without text left out",
        texts=[NEWS[0], NEWS[2]],
        rows=["1", "3"],
    ),
    "no texts.csv": Case(
        f"id,text\n1,{NEWS[0]}\n2,N/A\n3,{NEWS[2]}\n4, none \n5,-\n6,\n",
        "parts",
        "4 rows without text left out, 3 of them with 'N/A' or the like",
        texts=[NEWS[0], NEWS[2]],
        rows=["1", "3"],
    ),
    "texts to embed.csv": refused(
        f"id,text\n1,{NEWS[0]}\n2,{NEWS[2]}\n", "embed", "holds texts, in the column 'text'. Use"
    ),
    "orders of items with long names.csv": refused(
        "Cust. No,SKU name,Qty,Store\n"
        + "".join(f"C{i},Garden item {j:02d},{i + j},{'NS'[j % 2]}\n" for i in range(6) for j in range(5)),
        "embed",
        "has one row for each pair of 'Cust. No' and 'SKU name', both of which come again and again. "
        "Say which columns to read: --triples 'Cust. No,SKU name,Qty', or",
    ),
    "no such column.csv": refused(
        f"id,text\n1,{NEWS[0]}\n", "parts --text-column body", "has no column 'body'; it has 'id'"
    ),
    # Tables of numbers
    "plain.csv": Case(SPEND, "parts", "Read as a table of numbers: 2 rows by 2 columns, columns named.", **TWO),
    "index.csv": Case(
        pd.DataFrame(POINTS, columns=["x", "y"]).to_csv(),
        "cluster",
        "rows and columns named",
        X=POINTS,
        rows=["0", "1", "2"],
    ),
    "numbered rows.csv": refused(
        "nr.,a,b\n" + "".join(f"{i},0.5,{i}.5\n" for i in range(1, 7)),
        "parts",
        "numbers the rows. Use --id-column nr. if it",
    ),
    "wavelengths.csv": Case(
        "Wavelength (nm);S1;S2\n" + "".join(f"{400 + 5 * i};0,5;{i},25\n" for i in range(9)),
        "parts --transpose",
        "with rows named by 'Wavelength (nm)', transposed: 2 rows by 9 columns, rows and columns named; decimal commas",
        X=[[0.5] * 9, [i + 0.25 for i in range(9)]],
        rows=["S1", "S2"],
        columns=[str(400 + 5 * i) for i in range(9)],
        titles=("sample", "Wavelength (nm)"),
    ),
    "wellenzahlen.csv": Case(
        "Wellenzahl,S1,S2\n" + "".join(f"{4000 - 3.9 * i**1.1:.3f},0.5,{i}\n" for i in range(9)),
        "parts",
        "with rows named by 'Wellenzahl': 9 rows by 2 columns, rows and columns named; for samples in columns: "
        "--transpose.",
    ),
    "an axis as data.csv": Case(
        "m/z,S1\n" + "".join(f"{100 + i},{i % 3}.5\n" for i in range(9)),
        "parts --table",
        "9 rows by 2 columns",
        X=[[100 + i, i % 3 + 0.5] for i in range(9)],
    ),
    "times that do not rise.csv": Case(
        "Time,a\n" + "".join(f"{i * 7 % 9}.5,{i % 3}.5\n" for i in range(9)), "parts", "9 rows by 2 columns"
    ),
    "equal distances.csv": refused(
        "x,a,b\n" + "".join(f"{400 + 5 * i},0.5,{i % 4}.5\n" for i in range(9)),
        "parts",
        "holds numbers at equal distances, as wavelengths or times, and not measurements. Use --id-column x if",
    ),
    "patient ids.csv": Case(
        "patient_id,a,b\n007,0.5,1.5\n012,2.5,3.5\n101,4.5,5.5\n",
        "parts",
        "with rows named by 'patient_id'",
        X=POINTS,
        rows=["007", "012", "101"],
        titles=("patient_id", "feature"),
    ),
    "documents.csv": Case("doc,sea,farm\n1,2,0\n2,0,3\n3,1,1\n4,0,5\n5,4,1\n", "parts", "with rows named by 'doc'"),
    "same patient.csv": refused(
        "patient_id,a,b\n7,0.5,1.5\n7,2.5,3.5\n9,4.5,5.5\n",
        "parts",
        "Name the rows by it anyway with --id-column patient_id",
    ),
    "same patient named.csv": Case(
        "patient_id,a,b\n7,0.5,1.5\n7,2.5,3.5\n9,4.5,5.5\n",
        "parts --id-column patient_id",
        "named by",
        X=POINTS,
        rows=["7", "7", "9"],
    ),
    "days.csv": Case(
        "day,a,b\n2024-01-01,0.5,1.5\n2024-01-02,2.5,3.5\n2024-01-03,4.5,5.5\n",
        "parts",
        "named by 'day'",
        X=POINTS,
        rows=["2024-01-01", "2024-01-02", "2024-01-03"],
    ),
    "dates.csv": refused(
        "a,b,when\n0.5,1.5,2024-01-01\n", "parts", "holds dates, first '2024-01-01' in row 1, where numbers"
    ),
    "a start.csv": refused(
        "a,b,StartDate\n0.5,1.5,03/11/2024\n", "parts", "holds dates, first '03/11/2024' in row 1, where numbers"
    ),
    "dates dropped.csv": Case(
        "a,b,when\n0.5,1.5,2024-01-01\n2.5,3.5,2024-01-02\n",
        "parts --drop when",
        "numbers",
        X=POINTS[:2],
        columns=["a", "b"],
    ),
    "iris.csv": refused(
        "length,width,species\n5.1,3.5,setosa\n6.2,2.9,virginica\n",
        "cluster",
        "holds text, first 'setosa' in row 1, where",
    ),
    "species first.csv": refused(
        "species,length\nsetosa,5.1\nsetosa,4.9\nvirginica,6.3\n", "cluster", "but has the same one more than once"
    ),
    "target.csv": refused(
        "length,width,target\n5.1,3.5,0\n6.2,2.9,1\n5.0,3.4,0\n",
        "cluster",
        "seems to hold classes, not measurements. Leave",
    ),
    "kept.csv": Case(
        "a,b,target\n0.5,1.5,0\n2.5,3.5,1\n", "parts --columns a,b", "numbers", X=POINTS[:2], columns=["a", "b"]
    ),
    "percent.csv": refused(
        "a,share\n0.5,12%\n1.5,7%\n", "parts", "holds percentages, first '12%' in row 1, where numbers"
    ),
    "thousands.csv": Case(
        'a,pay\n0.5,"1,234"\n1.5,"12,000"\n',
        "parts",
        "; 1,234 in 'pay' is read as 1234",
        X=[[0.5, 1234], [1.5, 12000]],
        columns=["a", "pay"],
    ),
    "some thousands.csv": refused(
        'a,pay\n0.5,"1,234"\n1.5,"12,00"\n', "parts", "numbers with separators of thousands, first"
    ),
    "excel.csv": Case("height;width\n1,5;2,5\n3,5;4,5\n", "parts", "; decimal commas", **TWO),
    "thousands or decimals.csv": refused(
        "a;pay\n1;1,234\n2;5,678\n", "parts", "whose comma may be a decimal comma or separate"
    ),
    "decimals in quotes.csv": refused(
        'a,b\n1,"2,5"\n2,"3,75"\n', "parts", "holds decimal commas, first '2,5' in row 1"
    ),
    "gaps.csv": Case("a,b\n1.5,\nNA,4.5\n", "embed --missing", "numbers", X=[[1.5, nan], [nan, 4.5]]),
    "empty column.csv": refused("a,b,c\n1,,2\n3,,4\n", "parts", "The column 'b' of"),
    "trailing.csv": Case("height,width,\n1.5,2.5,\n3.5,4.5,\n", "parts", "2 rows by 2 columns", **TWO),
    "twice.csv": refused("a,b,a\n1,2,3\n", "parts", "has 2 columns named 'a'. Give each column a name of its own"),
    "bom.csv": Case(SPEND.encode("utf-8-sig"), "parts", "columns named", **TWO),
    "unicode.csv": Case(SPEND.encode("utf-16"), "parts", "columns named", **TWO),
    "unmarked.csv": refused(SPEND.encode("utf-16-le"), "parts", "it is not UTF-8 text. Save it as UTF-8, in Excel as"),
    "latin.csv": Case(
        "größe,b\n1.5,2.5\n3.5,4.5\n".encode("latin-1"),
        "parts",
        "is not UTF-8; read as Windows-1252 (cp1252)",
        X=TWO["X"],
        columns=["größe", "b"],
    ),
    "latin.jsonl": Case(
        "".join(f'{{"text": "{text} été"}}\n' for text in NEWS).encode("latin-1"),
        "parts",
        "is not UTF-8; read as Windows-1252 (cp1252)",
        texts=[f"{text} été" for text in NEWS],
    ),
    "zip.csv": refused(b"PK\x03\x04\xe9,b\n1,2\n", "parts", "it is not UTF-8 text. Save it as UTF-8, in Excel as"),
    "comments.csv": Case(f"# measured in May\n# by hand\n{SPEND}", "parts", "2 rows by 2 columns", **TWO),
    "comment header.tsv": Case("#height\twidth\n1.5\t2.5\n3.5\t4.5\n", "parts", "columns named", **TWO),
    "savetxt.txt": Case(
        "1.5e+00 2.5e+00\n3.5e+00  4.5e+00\n", "parts", "separated by white space; no header line", X=TWO["X"]
    ),
    "spaced.dat": Case(" height width\n 1.5   2.5\n 3.5   4.5\n", "embed", "separated by white space", **TWO),
    "numbers.txt": refused(
        "1 2 3\n4 5\n6\n", "parts", "do not have the same number of fields. Use rectifact parts --text"
    ),
    "smokers.csv": refused(
        "age,smoker\n1.5,yes\n2.5,no\n", "parts", "holds yes and no, first 'yes' in row 1, where numbers"
    ),
    "flags.csv": Case("age,smoker\n1.5,true\n2.5,false\n", "parts", "numbers", X=[[1.5, 1], [2.5, 0]]),
    "years.csv": Case(
        "country,2019,2020\nPeru,0.5,1.5\nChad,2.5,3.5\n",
        "parts",
        "named by 'country'",
        X=POINTS[:2],
        rows=["Peru", "Chad"],
        columns=["2019", "2020"],
    ),
    "only years.csv": refused(
        "2019,2020,2021\n1,7,3\n4,5,9\n", "parts", "may be names of columns or data. Use --header or"
    ),
    "only wavelengths.csv": refused(
        "400,402,404,406,408\n.1,.7,.3,.2,.1\n.4,.5,.9,.6,.2\n",
        "parts",
        "may be names of columns or data. Use --header or",
    ),
    "uneven wavelengths.csv": refused(
        "400,402,404,406,408,411,414,417,420,424\n.1,.7,.3,.2,.1,.3,.5,.4,.2,.1\n", "parts", "may be names of columns"
    ),
    "wavelengths of pandas.csv": refused(
        ",400,402,407\n0,.1,.7,.3\n1,.4,.5,.9\n", "parts", "may be names of columns or data. Use --header or"
    ),
    "numbers in order everywhere.csv": Case(
        "1,3,5,7,9\n2,4,6,8,10\n", "parts", "no header line", X=[[1, 3, 5, 7, 9], [2, 4, 6, 8, 10]]
    ),
    "only years named.csv": Case(
        "2019,2020,2021\n1,7,3\n4,5,9\n",
        "parts --header",
        "numbers",
        X=[[1, 7, 3], [4, 5, 9]],
        columns=["2019", "2020", "2021"],
    ),
    "without header.csv": Case("1.5,2.5\n3.5,4.5\n", "parts", "without names; no header line", X=TWO["X"]),
    "one column.csv": Case("a\n1.5\n2.5\n", "parts", "2 rows by 1 column", X=[[1.5], [2.5]]),
    "genes.csv": Case(
        "gene,c1,c2\nACT,5,0\nDUP,3,4\nXYZ,0,1\n",
        "embed --transpose",
        "transposed: 2 rows by 3 columns",
        X=[[5, 3, 0], [0, 4, 1]],
        rows=["c1", "c2"],
        columns=["ACT", "DUP", "XYZ"],
    ),
    "packed.csv.gz": Case(gzip.compress(SPEND.encode()), "parts", "2 rows by 2 columns", **TWO),
    "packed.csv.bz2": Case(bz2.compress(SPEND.encode()), "parts", "2 rows by 2 columns", **TWO),
    "bars.csv": Case(SPEND.replace(",", "|"), "parts", "2 rows by 2 columns", **TWO),
    "ragged.csv": refused("a,b\n1,2\n3,4,5\n", "parts", "has 3 columns, where the first line has 2"),
    "empty.csv": refused("", "parts", "is empty. Check the program that wrote it"),
    "blank.csv": refused("\n\n", "parts", "Empty CSV file"),
    "header only.csv": refused("a,b\n", "parts", "has a header line and no rows below it"),
    "records.jsonl": Case(
        '{"a": 0.5, "b": 1.5}\n{"a": 2.5, "b": 3.5}\n', "cluster", "numbers", X=POINTS[:2], columns=["a", "b"]
    ),
    "broken.jsonl": refused('{"text": "Rain"\n', "parts", "is not valid JSON in record 1"),
    # Workbooks, arrays and cells
    "book.xlsx": Case(
        workbook(Data=[["id", "height", "width"], [7, 1.5, 2.5], [9, 3.5, 4.5]]),
        "parts",
        "with rows named by 'id'",
        **TWO,
        rows=["7", "9"],
    ),
    "sheets.xlsx": refused(
        workbook(May=[["a"], [1]], June=[["a"], [2]]), "parts", "has sheets 'May', 'June'. Say which to"
    ),
    "sheet.xlsx": Case(
        workbook(May=[["a"], [1.5]], June=[["a"], [2.5]]), "parts --sheet June", "sheet 'June'", X=[[2.5]]
    ),
    "title.xlsx": refused(
        workbook(Data=[["Report 2024", None], ["a", "b"], [1, 2]]), "parts", "has no name in its first row"
    ),
    "really.xlsx": refused(no_real("openpyxl"), "parts", "as an Excel workbook: "),
    "named.npz": Case(
        npz(X=np.array(RATINGS), rows=np.array(["u1", "u2"]), columns=np.array(["i1", "i2", "i3"])),
        "embed",
        "Read as a matrix: 2 rows by 3 columns, rows and columns named.",
        **TRIPLES,
    ),
    "sparse named.npz": Case(
        sparse_npz_with_names, "embed", "a sparse matrix: 2 rows by 3 columns, rows and col", **TRIPLES
    ),
    "other names.npz": Case(
        npz(counts=np.array(RATINGS), vocabulary=np.array(["i1", "i2", "i3"])),
        "parts",
        "columns named",
        X=RATINGS,
        columns=["i1", "i2", "i3"],
    ),
    "pickled names.npz": refused(
        npz(X=np.array(RATINGS), rows=np.array(["u1", None])), "parts", "are pickled Python objects"
    ),
    "too few names.npz": refused(
        npz(X=np.array(RATINGS), rows=np.array(["u1"])), "parts", "has 1 names in 'rows', and its"
    ),
    "two matrices.npz": refused(
        npz(a=np.ones((2, 3)), b=np.ones((4, 5))), "parts", "should hold one matrix, or one named X"
    ),
    "sparse.npz": Case(
        lambda path: sp.save_npz(path, sp.csr_array(np.array(RATINGS))), "embed", "without names", X=RATINGS
    ),
    "array.npy": Case(
        lambda path: np.save(path, np.array(RATINGS)), "embed", "a matrix: 2 rows by 3 columns", X=RATINGS
    ),
    "market.mtx": Case(
        lambda path: scipy.io.mmwrite(path, sp.coo_array(np.array(RATINGS))), "embed", "sparse", X=RATINGS
    ),
    "cells": Case(
        tenx(),
        "parts",
        "Read as a 10x folder, with cells in rows: 2 rows by 3 columns",
        X=RATINGS,
        rows=["AAAC-1", "AAAG-1"],
        columns=["ACT", "DUP (ENSG2)", "DUP (ENSG3)"],
        titles=("barcode", "gene"),
    ),
    "names.txt.npy": refused(
        lambda path: np.save(path, np.ones((2, 2))), "parts --drop a", "--drop is for tables, and"
    ),
    "edges turned.csv": refused(f"source,target\n{EDGES}", "cluster --transpose", "are for matrices, and"),
    "old cells": Case(tenx("", "genes"), "embed", "10x folder", X=RATINGS),
    "other cells": refused(tenx(n_genes=2), "parts", "is 3 by 2, with 2 features and 2 barcodes. Copy all three files"),
    "cells.h5ad": Case(
        h5ad, "parts", "Read as AnnData, with cells in rows", X=RATINGS, rows=["c1", "c2"], columns=["g1", "g2", "g3"]
    ),
    "not really.h5ad": refused(no_real("anndata"), "parts", "as AnnData: it is not an HDF5 file"),
    "answers": refused(
        chunks({"user": [1, 1, 2], "item": [1, 2, 2]}), "parts", "look like lists of pairs, triples or texts"
    ),
    # Other files
    "model.pkl": refused(b"\x80\x04", "parts", "Pickles are never loaded"),
    "old.xls": refused(b"\xd0\xcf", "parts", "Save it as .xlsx, or as CSV UTF-8"),
    "paper.pdf": refused(b"%PDF-1.7", "parts", "is a formatted document, which rectifact does not read"),
    "no ending": refused("a,b\n1,2\n", "parts", "The ending of"),
}


@pytest.fixture
def read(monkeypatch, capsys, tmp_path):
    """Run a command up to its fit, and return what it read, said, and would exit with."""
    found = SimpleNamespace(input=None, X=None)
    original = reading.Reading.read

    def keep(self, path, purpose, **options):
        found.input = original(self, path, purpose, **options)
        return found.input

    def stop(model, X, *more, **options):
        found.X = X
        raise Stopped

    monkeypatch.setattr(reading.Reading, "read", keep)
    for module in (parts, embed, cluster):
        monkeypatch.setattr(module, "fit_chosen", stop)

    def run(path: Any, command: str) -> SimpleNamespace:
        from rectifact.cli.commands import run as run_command

        name, *options = command.replace("\\ ", "\0").split()
        options = [option.replace("\0", " ") for option in options]
        out = ["-o", str(tmp_path / "out.npz")] if name == "embed" else []
        place = ["--graph", str(path)] if "--graph" in options else [str(path)]
        rest = [option for option in options if option != "--graph"]
        monkeypatch.setattr(sys, "argv", ["rectifact", name, *place, *rest, "-k", "1", *out])
        try:
            run_command()
            found.code = 0
        except Stopped:
            found.code = 0
        except SystemExit as stopped:
            found.code = stopped.code
        found.err = capsys.readouterr().err
        return found

    return run


def written(path: Path, content: Any) -> Path:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def check(case: Case, found: SimpleNamespace) -> None:
    lines = [line for line in found.err.splitlines() if "--max-df" not in line]  # which words are left out
    assert len(lines) == 1, found.err
    assert case.said in found.err, found.err
    assert found.code == (2 if case.refused else 0), found.err
    if case.refused:
        assert found.err.startswith("rectifact: ")
        assert found.input is None
        return
    matrix = found.input.matrix
    if case.X is not None:
        X = found.X.toarray() if sp.issparse(found.X) else np.asarray(found.X)
        np.testing.assert_array_equal(X, np.array(case.X, dtype=float))
    if case.texts is not None:
        assert found.input.documents == case.texts
    names = found.input.names if matrix is None else matrix.rows
    if case.rows is not None:
        assert names.tolist() == case.rows
    if case.columns is not None:
        assert matrix.columns.tolist() == case.columns
    elif case.X is not None and case.said == "without names":
        assert matrix.columns is None
    if case.titles is not None:
        titles = (found.input.title, "feature") if matrix is None else (matrix.row_title, matrix.column_title)
        assert titles == case.titles
    if case.edges is not None:
        nodes = list(dict.fromkeys(end for ends in case.edges for end in ends))
        expected = np.zeros((len(nodes), len(nodes)))
        for (a, b), weight in case.edges.items():
            expected[nodes.index(a), nodes.index(b)] = expected[nodes.index(b), nodes.index(a)] = weight
        np.testing.assert_array_equal(found.X.toarray(), expected)


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_as_intended_or_refused(read, tmp_path, name):
    check(CASES[name], read(written(tmp_path / name, CASES[name].content), CASES[name].command))


def test_the_corpus_is_large_and_of_both_kinds():
    kinds = [case.refused for case in CASES.values()]
    assert len(kinds) - sum(kinds) >= 40
    assert sum(kinds) >= 20


def test_triples_of_too_many_cells_have_no_gaps(read, tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "MOST_CELLS", 5)
    found = read(written(tmp_path / "ratings.csv", f"user,item,rating\n{RATED}"), "embed --missing")
    check(refused("", "", "make 2 rows by 3 columns; --missing takes at most 5 cells. Keep fewer"), found)
