"""rectifact cluster: communities of a graph, clusters of points."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer

from rectifact.cli import options
from rectifact.cli.how_many import Found, check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.outcome import Outcome, fitting, how_it_ended, say_warnings
from rectifact.cli.tables import check_table_name, samples_table, write_table
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import InputError, count
from rectifact.graph import SymNMF, from_edges
from rectifact.io.matrices import numbered, read_matrix
from rectifact.io.tables import read_table
from rectifact.models import SavedModel


def cluster(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Matrix with points in rows: .npz, .npy, .mtx, .csv, .tsv, .parquet. Leave it out if you use --graph."
        ),
    ] = None,
    numbers: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            help="Number of clusters or communities: a number, a range to choose from such as 2-30, or auto to choose.",
        ),
    ] = "auto",
    graph: Annotated[
        Path | None,
        typer.Option(help="Edges instead of points: a table with two columns of nodes and optionally one of weights."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Write one row per node or point here: cluster, its stability if it is measured, memberships; .csv, "
            ".tsv, .parquet, or - for standard output.",
        ),
    ] = STDOUT,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="Distance between points.")] = "euclidean",
    n_neighbors: Annotated[
        int | None, typer.Option("--neighbors", min=1, help="Number of neighbours of each point.")
    ] = None,
    l1: Annotated[
        float, typer.Option(min=0, help="Penalty on the sum of memberships; larger values give sparser memberships.")
    ] = 0.0,
    normalize: Annotated[
        bool | None,
        typer.Option(
            help="Divide the edges by the square roots of the degrees of their nodes. By default this is done unless "
            "the graph is normalised already.",
            show_default=False,
        ),
    ] = None,
    min_component: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Connected components of fewer nodes get no cluster, -1 in the table. By default 10, or half the mean "
            "cluster size if that is less.",
            show_default=False,
        ),
    ] = None,
    init: Annotated[
        Literal["auto", "spectral", "random", "pool"],
        typer.Option(help="Where the fit starts: eigenvectors, --n-init random starts, or all of them."),
    ] = "auto",
    n_init: Annotated[int, typer.Option(min=1, help="Number of random starts; the best is kept.")] = 10,
    solver: Annotated[
        Literal["auto", "newton", "hals", "anls", "admm", "pgd"], typer.Option(help="Algorithm; auto goes by the size.")
    ] = "auto",
    n_jobs: Annotated[int, typer.Option("--jobs", help="Number of starts run in parallel; -1 uses all cores.")] = 1,
    stability: options.Stability = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            help="Cluster this many graphs whose edges are drawn again, such as 20, for the share of them in which a "
            "node belongs to each cluster, and measure stability.",
        ),
    ] = 0,
    seed: options.Seed = 0,
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    report: options.Report = None,
    save: options.Save = None,
    as_json: options.Json = False,
) -> None:
    """Find communities in a graph, or clusters of points, and how strongly each node or point belongs to each."""
    how_many = check_numbers(numbers)
    if (data is None) == (graph is None):
        raise InputError("Give either a file of points, or a file of edges with --graph.")
    if graph is not None and (n_neighbors is not None or metric != "euclidean"):
        raise InputError("--neighbors and --metric are for points.", "Leave them out with --graph.")
    if n_jobs == 0:
        raise InputError("--jobs must not be 0.", "Give 1, more, or -1 for all cores.")
    if out != STDOUT:
        check_table_name(out)
    outcome = Outcome(report, save, as_json)
    outcome.check(out, [data, graph])
    X, names = _edges(graph) if graph is not None else _points(Path(str(data)))
    affinity: Literal["knn", "precomputed"] = "knn" if graph is None else "precomputed"
    model = SymNMF(first_of(how_many), affinity=affinity, n_neighbors=n_neighbors, metric=metric, l1=l1, n_jobs=n_jobs)
    model.set_params(init=init, normalize="auto" if normalize is None else normalize, min_component=min_component)
    model.set_params(random_state=seed, checkpoint=checkpoint, resume=resume, n_init=n_init, solver=solver)
    with fitting("clustering", model) as caught:
        found = fit_chosen(model, X, how_many, seed)
    found = with_trust(found, X, stability=stability, bootstrap=bootstrap, seed=seed)
    model = found.model
    found.say_choice()
    write_table(_node_table(found, names), out)
    say_warnings(caught, "cluster")
    labelled = model.labels_[model.labels_ >= 0]
    n_edges, sizes = model.affinity_matrix_.nnz // 2, np.bincount(labelled, minlength=model.n_clusters).tolist()
    say(
        f"{count(len(names), 'node')}, {count(n_edges, 'edge')}, {count(model.n_clusters, 'cluster')} of "
        f"{', '.join(map(str, sizes))}; modularity {model.modularity_:.3f}, relative error "
        f"{model.relative_error_:.4f} from start {model.resolved_['start']}, {how_it_ended(model)}."
    )
    found.say_stability("clusters")
    summary = {"nodes": len(names), "edges": n_edges, "clusters": model.n_clusters, "sizes": sizes}
    summary |= {"in_no_cluster": len(names) - len(labelled), "normalized": model.resolved_["normalize"]}
    summary |= {"modularity": model.modularity_, "relative_error": model.relative_error_}
    outcome.write(SavedModel(model, samples=np.asarray(names), selection=found.selection), summary | found.summary)


def _node_table(found: Found, names: Any) -> pd.DataFrame:
    """One row per node: its cluster, its memberships and, if they were measured, stability and shares of resamples."""
    labels = found.model.labels_
    table = samples_table(found.model.membership_, names, "membership")
    table.insert(1, "cluster", np.where(labels >= 0, labels + 1, -1))
    if found.stability is not None:
        table.insert(2, "stability", np.where(labels >= 0, found.stability[labels], np.nan))
    if found.trust is not None and found.trust.membership is not None:
        for k, share in enumerate(found.trust.membership.T, 1):
            table[f"share{k}"] = share
    return table


def _points(path: Path) -> tuple[Any, Any]:
    matrix = read_matrix(path)
    return matrix.X, numbered(matrix.rows, matrix.X.shape[0])


def _edges(path: Path) -> tuple[sp.csr_array, Any]:
    table = read_table(path).to_pandas()
    columns = _edge_columns(path, table)
    weights = None
    if len(columns) > 2:
        weights = pd.to_numeric(table[columns[2]], errors="coerce")
        if weights.isna().any():
            raise InputError(
                f"Some weights in the column {columns[2]!r} of {str(path)!r} are not numbers.",
                "Correct them, or drop the column.",
            )
    adjacency, nodes = from_edges(table[columns[0]], table[columns[1]], weights)
    used = "no weights" if weights is None else f"weights from {columns[2]!r}"
    say(f"Edges read from the columns {columns[0]!r} and {columns[1]!r}, {used}.")
    return adjacency, nodes


def _edge_columns(path: Path, table: pd.DataFrame) -> list[str]:
    """Names of two columns of nodes and, if there is one, the column of weights."""
    names = [str(name) for name in table.columns]
    if {"source", "target"} <= set(names):
        return [name for name in ("source", "target", "weight") if name in names]
    if len(names) not in (2, 3):
        raise InputError(
            f"{str(path)!r} has {count(len(names), 'column')}; edges are two columns of nodes, and may have a third of "
            "weights.",
            "Name them source, target and weight, or drop the others.",
        )
    ends = pd.concat([table.iloc[:, 0], table.iloc[:, 1]]).astype(str)
    if any(name.replace(".", "", 1).isdigit() for name in names) or ends.isin(names[:2]).any():
        raise InputError(
            f"The first row of {str(path)!r} looks like an edge, not like names of columns.",
            "Add a first row such as source,target.",
        )
    return names
