"""rectifact cluster: communities of a graph, clusters of points."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer

from rectifact.cli.outcome import (
    CheckpointOption,
    JsonOption,
    Outcome,
    ReportOption,
    ResumeOption,
    SaveOption,
    say_warnings,
)
from rectifact.cli.terminal import STDOUT, check_different_files, check_table_name, progress, say, write_table
from rectifact.core.errors import InputError
from rectifact.crowd.data.tables import read_table
from rectifact.graph import SymNMF, from_edges, normalized
from rectifact.io.matrices import read_matrix
from rectifact.models import SavedModel

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
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    report: ReportOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find communities of a graph, or clusters of points, and how far each node belongs to each."""
    if (data is None) == (graph is None):
        raise InputError("Give either a file of points, or a file of edges with --graph.")
    if graph is not None and (n_neighbors is not None or metric != "euclidean"):
        raise InputError("--neighbors and --metric are for points. Leave them out with --graph.")
    if n_jobs == 0:
        raise InputError("--jobs 0 runs nothing. Give 1, more, or -1 for all cores.")
    if out != STDOUT:
        check_table_name(out)
    outcome = Outcome(report, save, as_json)
    outcome.check(out)
    check_different_files([data, graph, out, *outcome.paths])
    X, names = _points(data) if data is not None else _edges(Path(str(graph)))
    affinity: Literal["knn", "precomputed"] = "knn" if data is not None else "precomputed"
    model = SymNMF(n_clusters, affinity=affinity, n_neighbors=n_neighbors, metric=metric, l1=l1, n_jobs=n_jobs)
    with progress("clustering", model.max_iter) as callback, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(callbacks=[callback], random_state=seed, checkpoint=checkpoint, resume=resume).fit(X)
    table = pd.DataFrame(model.membership_, columns=[f"membership{i + 1}" for i in range(n_clusters)])
    table.insert(0, "sample", names)
    table.insert(1, "cluster", model.labels_ + 1)
    write_table(table, out)
    say_warnings(caught, "cluster")
    sizes = np.bincount(model.labels_, minlength=n_clusters).tolist()
    say(
        f"{len(names)} nodes, {model.affinity_matrix_.nnz // 2} edges, {n_clusters} clusters of "
        f"{', '.join(map(str, sizes))}; relative error {model.relative_error_:.4f} from start "
        f"{model.resolved_['start']}, {model.stop_reason_} after {model.n_iter_} iterations."
    )
    summary = {"nodes": len(names), "edges": model.affinity_matrix_.nnz // 2, "clusters": n_clusters, "sizes": sizes}
    outcome.write(SavedModel(model, samples=np.asarray(names)), summary | {"relative_error": model.relative_error_})


def _points(path: Path) -> tuple[Any, Any]:
    matrix = read_matrix(path)
    return matrix.X, np.arange(1, matrix.X.shape[0] + 1).astype(str) if matrix.rows is None else matrix.rows


def _edges(path: Path) -> tuple[sp.csr_array, Any]:
    table = read_table(path).to_pandas()
    columns = _edge_columns(path, table)
    weights = None
    if len(columns) > 2:
        weights = pd.to_numeric(table[columns[2]], errors="coerce")
        if weights.isna().any():
            raise InputError(
                f"Some weights in the column {columns[2]!r} of {str(path)!r} are no numbers. Mend or drop it."
            )
    adjacency, nodes = from_edges(table[columns[0]], table[columns[1]], weights)
    used = f"the columns {columns[0]!r} and {columns[1]!r}, " + (
        f"weights from {columns[2]!r}" if weights is not None else "no weights"
    )
    say(f"Edges read from {used}.")
    return normalized(adjacency), nodes  # nodes with many edges would be clusters of their own


def _edge_columns(path: Path, table: pd.DataFrame) -> list[str]:
    """Names of two columns of nodes and, if there, one of weights."""
    names = [str(name) for name in table.columns]
    if {"source", "target"} <= set(names):
        return [name for name in ("source", "target", "weight") if name in names]
    if len(names) not in (2, 3):
        raise InputError(
            f"{str(path)!r} has {len(names)} columns; edges are two columns of nodes, and may have a third of weights. "
            "Name them source, target and weight, or drop the others."
        )
    ends = pd.concat([table.iloc[:, 0], table.iloc[:, 1]]).astype(str)
    if any(name.replace(".", "", 1).isdigit() for name in names) or ends.isin(names[:2]).any():
        raise InputError(
            f"The first row of {str(path)!r} looks like an edge, not like names of columns. Add a first row such as "
            "source,target."
        )
    return names
