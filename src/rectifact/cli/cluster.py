"""rectifact cluster: communities of a graph, clusters of points."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
import typer

from rectifact.cli import options, reading
from rectifact.cli.cluster_outputs import check_possible, compare, read_truth, say_clusters, say_comparison, summary_of
from rectifact.cli.cluster_table import node_table
from rectifact.cli.how_many import check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.known_clusters import ONLY_NODES, USED, apply_saved
from rectifact.cli.known_groups import dropped
from rectifact.cli.outcome import Outcome, fitting, say_warnings
from rectifact.cli.reading import Reading
from rectifact.cli.tables import check_table_name, write_table
from rectifact.cli.terminal import STDOUT, in_options, say
from rectifact.core.errors import InputError, count
from rectifact.graph import SymNMF, from_edges, from_networkx
from rectifact.graph.scaling import scaled_note
from rectifact.graph.spelling import without_case
from rectifact.graph.weights import check_for_points
from rectifact.io.graphs import nearly_equal
from rectifact.io.matrices import numbered
from rectifact.models import SavedModel

FOUND = {"scale=", "min_component"}
"""Parameters of warnings that are said otherwise: nodes in no cluster are a finding, as in the report."""

Affinity = Literal["knn", "precomputed"]


def cluster(
    context: typer.Context,
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Points in rows, or a graph: a table (.csv, .tsv, .xlsx, .jsonl, .parquet), .npz, .npy, .mtx, .h5ad, "
            "a 10x folder, .gml, .graphml, .gexf, .json, or - for the standard input. Leave it out if you use --graph."
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
        typer.Option(
            help="A graph: a table with two columns of nodes and optionally one of weights, a symmetric matrix of "
            "weights, .gml, .graphml, .gexf, Pajek's .net, .json, or a list that networkx has written."
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="Do not look for new clusters: place new points, or new nodes by their edges to known ones, in those "
            "of a model that --save wrote.",
        ),
    ] = None,
    ignore_case: Annotated[
        bool,
        typer.Option(
            "--ignore-case",
            help="Treat nodes whose names differ only in capitals or spaces as one; with --model, as the known one.",
        ),
    ] = False,
    triples: reading.Ends = None,
    weight: reading.Weight = None,
    split: reading.Split = None,
    id_column: reading.IdColumn = None,
    rows: reading.Rows = None,
    columns: reading.Columns = None,
    drop: reading.Drop = None,
    transpose: reading.Transpose = False,
    table: reading.AsTable = False,
    header: reading.Header = None,
    sheet: reading.Sheet = None,
    thousands: reading.Thousands = None,
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Write one row per node or point here: cluster, its stability if it is measured, the membership in "
            "it, the next cluster and the membership there; for nodes, what makes hubs and bridges between clusters; "
            "with --truth, the known group, that of the cluster, and whether they agree; then all memberships; "
            ".csv, .tsv, .parquet, or - for standard output.",
        ),
    ] = STDOUT,
    metric: Annotated[Literal["euclidean", "cosine"], typer.Option(help="Distance between points.")] = "euclidean",
    scale: Annotated[
        Literal["auto", "standard", "none"],
        typer.Option(
            help="Divide the columns of points by their standard deviations: auto does so in tables of at most 50 "
            "columns that differ by more than a factor of 10."
        ),
    ] = "auto",
    values: Annotated[
        Literal["raw", "log", "binary"],
        typer.Option(
            help="Take the weights of edges as they are; log, log(1 + weight / unit), where the unit is the weight "
            "that a tenth of the edges do not exceed; or binary, 1 for each edge. A few large weights, such as amounts "
            "of money, would decide alone: compare log and binary."
        ),
    ] = "raw",
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
    reassign: Annotated[
        bool,
        typer.Option(
            help="Move a node of a graph out of the cluster of its largest membership where another cluster has more "
            "of its edge weight, also relative to the total weight of that cluster, and no fewer of its edges."
        ),
    ] = True,
    init: Annotated[
        Literal["auto", "spectral", "random", "pool"],
        typer.Option(help="Where the fit starts: eigenvectors, --n-init random starts, or all of them."),
    ] = "auto",
    n_init: Annotated[int, typer.Option(min=1, help="Number of random starts; the best is kept.")] = 10,
    solver: Annotated[
        Literal["auto", "newton", "hals", "anls", "admm", "pgd"], typer.Option(help="Algorithm; auto goes by the size.")
    ] = "auto",
    n_jobs: Annotated[int, typer.Option("--jobs", help="Number of starts run in parallel; -1 uses all cores.")] = 1,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="Compare the clusters with known groups: table.csv:column, whose rows are matched by the names of the "
            "nodes or points, or by position if it has no names; a column of the points themselves; or an attribute of "
            "the nodes of a .gml, .graphml, .gexf or .json file.",
        ),
    ] = None,
    stability: options.Stability = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            help="Cluster this many graphs whose edges are drawn again, such as 20, for the share of them in which a "
            "node belongs to each cluster, among those in which it is in any, and measure stability.",
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
    if n_jobs == 0:
        raise InputError("--jobs must not be 0.", "Give 1, more, or -1 for all cores.")
    if out != STDOUT:
        check_table_name(out)
    outcome = Outcome(report, save, as_json, graph or data)
    outcome.check(out, [data, graph, known])
    as_graph, path = graph is not None, Path(str(graph or data))
    drop = drop if as_graph or data is None else dropped(drop, truth, data)
    source = Reading(triples, None, id_column, rows, columns, drop, transpose, table, header, sheet, graph=as_graph)
    source = replace(source, weight=weight, split=split, thousands=thousands)
    source.check(in_chunks=False)
    if known is not None:
        options.check_known(context, USED, "clusters", "nodes or points")
        apply_saved(known, source, path, out, outcome, ignore_case)
        return
    X, names, title, affinity, features, named = _read(source, path)
    what = "node" if affinity == "precomputed" else "point"
    if ignore_case:
        X, names = _as_one(X, names, what)
    alike = nearly_equal(sorted(map(str, names))) if what == "node" else ""
    if alike:
        say("Note: to make names that differ only in capitals or spaces one node, add --ignore-case.")
    check_possible(how_many, len(names), what)
    groups = None if truth is None else read_truth(truth, path, names, what, ignore_case, named, sheet)
    if affinity == "precomputed" and (n_neighbors is not None or metric != "euclidean" or scale != "auto"):
        raise InputError("--neighbors, --metric and --scale are for points.", "Leave them out for a graph.")
    model = SymNMF(first_of(how_many), affinity=affinity, n_neighbors=n_neighbors, metric=metric, l1=l1, n_jobs=n_jobs)
    if what == "point":
        check_for_points(values)
    model.set_params(scale=scale, init=init, normalize="auto" if normalize is None else normalize)
    model.set_params(values=values, min_component=min_component, reassign=reassign)
    model.set_params(random_state=seed, checkpoint=checkpoint, resume=resume, n_init=n_init, solver=solver)
    with fitting("clustering", model) as caught:
        found = fit_chosen(model, X, how_many, seed)
    found = with_trust(found, X, stability=stability, bootstrap=bootstrap, seed=seed)
    model = found.model
    _say_units(model, features)
    found.say_choice()
    roles = model.roles().assign(node=list(names)) if what == "node" else None
    compared = None if groups is None else compare(model.labels_, groups.values)
    write_table(node_table(found, names, title, roles, compared), out)
    louvain = model.compared_with_louvain()
    findings = model.findings(first=1, other=louvain)
    say_warnings([each for each in caught if not FOUND & set(getattr(each.message, "options", ()))], "cluster")
    for finding in findings:
        say(finding.on_command_line())
    if compared is not None:
        say_comparison(compared, list(map(str, names)), what)
    say_clusters(found, len(names), what, roles, louvain)
    notes = {"names": f"{alike}." if alike else "", "groups": "" if groups is None else groups.by_position}
    kept: dict[str, Any] = {"samples": np.asarray(names), "selection": found.selection, "notes": notes}
    outcome.write(
        SavedModel(model, features=features, groups=None if groups is None else groups.values, **kept),
        summary_of(found, len(names), what, findings, louvain)
        | ({} if compared is None else {"truth": compared.summary(list(map(str, names)))}),
    )


def _read(source: Reading, path: Path) -> tuple[Any, Any, str, Affinity, Any, bool]:
    """Points or an adjacency matrix, names of rows, what they are called, which it is, columns, and if rows have names.

    Rows without names are numbered.
    """
    found = source.read(path, "cluster")
    if found.graph is not None:
        return *from_networkx(found.graph), "node", "precomputed", None, True
    if found.edges is not None:
        return *from_edges(*found.edges, sort=False), "node", "precomputed", None, True
    matrix: Any = found.matrix
    names = numbered(matrix.rows, matrix.X.shape[0])
    if source.graph:
        X = _without_gaps(matrix.X)
        _check_weights(X, names)
        return _without_directions(X), names, "node", "precomputed", None, matrix.rows is not None
    _check_cells(matrix.X, names, matrix.columns)
    return matrix.X, names, matrix.row_title, "knn", matrix.columns, matrix.rows is not None


def _say_units(model: Any, features: Any) -> None:
    """Say which columns were divided, and what the unit of logarithms is."""
    if hasattr(model, "spreads_") and model.scale == "auto":
        say(in_options(scaled_note(model.spreads_, features), "cluster"))
    if model.values == "log":
        unit = f"{model.resolved_['unit']:.4g}"
        say(f"Weights count as log(1 + weight / {unit}): a tenth of the edges have a weight of at most {unit}.")


def _as_one(X: Any, names: Any, what: str) -> tuple[Any, Any]:
    """The graph with nodes that differ only in capitals or spaces as one."""
    if what == "point":
        raise InputError(ONLY_NODES, "Leave it out for points.")
    n, (X, names) = len(names), without_case(sp.csr_array(X), names)
    say(f"Capitals and spaces ignored: {count(n, 'node')} before, {count(len(names), 'node')} after.")
    return X, names


def _check_cells(X: Any, names: Any, columns: Any) -> None:
    """Refuse empty cells, by the names of their columns."""
    if sp.issparse(X) or columns is None:
        return  # the fit refuses them by number
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    n, (row, column) = int(bad.sum()), np.argwhere(bad)[0]
    told = ", ".join(repr(str(columns[j])) for j in np.flatnonzero(bad.any(axis=0))[:5])
    where = f"{'column' if bad.any(axis=0).sum() == 1 else 'columns'} {told}"
    what = f"{count(n, 'cell')} of the {where} {'has' if n == 1 else 'have'} no number, the first in the row of "
    drop = f"drop the {'row' if n == 1 else 'rows'}, or leave out the column with --drop {str(columns[column])!r}."
    raise InputError(f"{what}{str(names[row])!r}.", f"Fill {'it' if n == 1 else 'them'} in, {drop}")


def _without_gaps(X: Any) -> Any:
    """A matrix of weights with its empty cells set to 0, which means that there is no edge."""
    gaps = None if sp.issparse(X) else np.isnan(X)
    if gaps is None or not gaps.any() or gaps.all():
        return X
    n = int(gaps.sum())
    verbs = ("is", "counts") if n == 1 else ("are", "count")
    say(f"{count(n, 'cell')} of the matrix {verbs[0]} empty and {verbs[1]} as 0, no edge.")
    return np.where(gaps, 0.0, X)


def _check_weights(X: Any, names: Any) -> None:
    """Refuse negative weights of a matrix, by the names of the nodes."""
    found = sp.coo_array(X)
    bad = np.flatnonzero(found.data < 0)
    if not len(bad) or X.shape[0] != X.shape[1]:
        return
    i, j = (int(axis[bad[0]]) for axis in found.coords)
    n, ends = len(bad), f"{str(names[i])!r} and {str(names[j])!r}"
    raise InputError(
        f"{count(n, 'weight')} of the matrix {'is' if n == 1 else 'are'} negative, the first {found.data[bad[0]]:g} "
        f"between {ends}; weights say how strong an edge is.",
        "Set negative ones to 0, for no edge.",
    )


def _without_directions(X: Any) -> Any:
    """The weights of edges both ways added up, as those of lists of edges are, where a matrix is not symmetric."""
    if X.shape[0] != X.shape[1]:
        n, m = X.shape
        raise InputError(
            f"A matrix of {n} rows and {count(m, 'column')} is not that of a graph, which has a column for each row.",
            "Leave out --graph for points; or give a list of edges.",
        )
    if not abs(X - X.T).max() > 1e-6 * abs(X).max():  # rounding is left to the fit
        return X
    say("The matrix is not symmetric: directions are ignored, and weights of both directions are added up.")
    loops = sp.diags_array(X.diagonal())
    return X + X.T - (loops if sp.issparse(X) else loops.toarray())
