"""rectifact cluster: communities of a graph, clusters of points."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer

from rectifact.cli.terminal import STDOUT, check_different_files, check_table_name, progress, say, write_table
from rectifact.core.matrices import read_matrix
from rectifact.core.validation import InputError
from rectifact.crowd.tables import read_table
from rectifact.graph import SymNMF, from_edges, normalized

__all__ = ["cluster"]


def cluster(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Points, samples in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet. Or nothing, with --graph."
        ),
    ] = None,
    n_clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, help="Number of clusters.")] = 8,
    graph: Annotated[
        Path | None,
        typer.Option(help="Edges instead: a table whose columns are two nodes and, if there, a weight. Normalised."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="One row per sample: cluster, memberships; .csv, .tsv, .parquet.")
    ] = STDOUT,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="Distance of points.")] = "euclidean",
    n_neighbors: Annotated[int | None, typer.Option("--neighbors", min=1, help="Neighbours of a point.")] = None,
    l1: Annotated[float, typer.Option(min=0, help="Weight of the sum of memberships: larger is sparser.")] = 0.0,
    n_jobs: Annotated[int, typer.Option("--jobs", help="Starts that run at a time; -1 is all cores.")] = 1,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the random numbers.")] = 0,
) -> None:
    """Find communities of a graph, or clusters of points, and how far each node belongs to each."""
    if (data is None) == (graph is None):
        raise InputError("Give either a file of points, or a file of edges with --graph.")
    if out != STDOUT:
        check_table_name(out)
    check_different_files([data, graph, out])
    X, names = _points(data) if data is not None else _edges(Path(str(graph)))
    with progress("clustering") as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        affinity: Literal["knn", "precomputed"] = "knn" if data is not None else "precomputed"
        options: dict[str, Any] = {"n_neighbors": n_neighbors, "metric": metric, "l1": l1}
        model = SymNMF(n_clusters, affinity=affinity, callbacks=[callback], n_jobs=n_jobs, random_state=seed, **options)
        model.fit(X)
    table = pd.DataFrame(model.membership_, columns=[f"membership{i + 1}" for i in range(n_clusters)])
    table.insert(0, "sample", names)
    table.insert(1, "cluster", model.labels_ + 1)
    write_table(table, out)
    for warning in caught:
        say(f"Note: {warning.message}")
    sizes = ", ".join(str(size) for size in np.bincount(model.labels_, minlength=n_clusters))
    say(
        f"{len(names)} nodes, {model.affinity_matrix_.nnz // 2} edges, {n_clusters} clusters of {sizes}; relative "
        f"error {model.relative_error_:.4f} from start {model.resolved_['start']}, {model.stop_reason_} after "
        f"{model.n_iter_} iterations."
    )


def _points(path: Path) -> tuple[Any, Any]:
    matrix = read_matrix(path)
    return matrix.X, np.arange(1, matrix.X.shape[0] + 1).astype(str) if matrix.rows is None else matrix.rows


def _edges(path: Path) -> tuple[sp.csr_array, Any]:
    table = read_table(path).to_pandas()
    if table.shape[1] < 2:
        raise InputError(f"{str(path)!r} needs two columns of nodes, and may have a third of weights. Add a column.")
    weights = None
    if table.shape[1] > 2:
        weights = pd.to_numeric(table.iloc[:, 2], errors="coerce")
        if weights.isna().any():
            raise InputError(f"Some weights in the third column of {str(path)!r} are no numbers. Mend or drop it.")
    adjacency, nodes = from_edges(table.iloc[:, 0], table.iloc[:, 1], weights)
    return normalized(adjacency), nodes  # nodes with many edges would be clusters of their own
