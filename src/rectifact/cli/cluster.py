"""rectifact cluster: communities of a graph, clusters of points."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from rectifact.cli import options, reading
from rectifact.cli.cluster_data import read_given
from rectifact.cli.cluster_outputs import check_possible, compare, read_truth, say_clusters, say_comparison, summary_of
from rectifact.cli.cluster_table import node_table
from rectifact.cli.how_many import check_numbers, first_of, fit_chosen, with_trust
from rectifact.cli.known_clusters import USED, apply_saved
from rectifact.cli.known_groups import dropped
from rectifact.cli.light_rows import set_light_aside
from rectifact.cli.outcome import Outcome, fitting, say_warnings
from rectifact.cli.reading import Reading
from rectifact.cli.tables import check_table_name, write_table
from rectifact.cli.terminal import STDOUT, in_options, say
from rectifact.core.errors import InputError
from rectifact.graph import SymNMF
from rectifact.graph.scaling import scaled_note
from rectifact.graph.weights import Values, check_for_points
from rectifact.io.graphs import nearly_equal
from rectifact.models import SavedModel
from rectifact.selection.communities import names_others

FOUND = {"scale=", "min_component", "distances"}
"""Parameters of warnings that are said otherwise: nodes in no cluster are a finding, as in the report,
and distances are asked about before the fit."""


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
        Literal["raw", "log", "binary", "distance"] | None,
        typer.Option(
            help="Take the weights of edges as they are, raw, which is the default; log, log(1 + weight / unit), where "
            "the unit is the weight that a tenth of the edges do not exceed; or binary, 1 for each edge. A few large "
            "weights, such as amounts of money, would decide alone: compare log and binary. If a large number means "
            "far apart, as in a table of distances, distance: nodes are then clustered as points so far apart.",
            show_default=False,
        ),
    ] = None,
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
    _check_given(data, graph, n_jobs)
    if out != STDOUT:
        check_table_name(out)
    outcome = Outcome(report, save, as_json, graph or data)
    outcome.check(out, [data, graph, known])
    as_graph, place = graph is not None, Path(str(graph or data))
    drop = drop if as_graph or data is None else dropped(drop, truth, data)
    source = Reading(triples, None, id_column, rows, columns, drop, transpose, table, header, sheet, graph=as_graph)
    source = replace(source, weight=weight, split=split, thousands=thousands)
    source.check(in_chunks=False)
    if known is not None:
        options.check_known(context, USED, "clusters", "nodes or points")
        apply_saved(known, source, place, out, outcome, ignore_case, truth)
        return
    points = set_light_aside(read_given(source, place, values, ignore_case))
    given = points.given
    X, names, what, affinity = given.X, given.names, given.what, given.affinity
    alike = nearly_equal(sorted(map(str, names))) if what == "node" else ""
    if alike:
        say("Note: to make names that differ only in capitals or spaces one node, add --ignore-case.")
    check_possible(how_many, len(names), what)
    groups = None if truth is None else read_truth(truth, place, points.everything, ignore_case, sheet)
    if affinity == "precomputed" and (n_neighbors is not None or metric != "euclidean" or scale != "auto"):
        raise InputError("--neighbors, --metric and --scale are for points.", "Leave them out for a graph.")
    model = SymNMF(first_of(how_many), affinity=affinity, n_neighbors=n_neighbors, metric=metric, l1=l1, n_jobs=n_jobs)
    weights = _weights(values, what)
    model.set_params(scale=scale, init=init, normalize="auto" if normalize is None else normalize)
    model.set_params(values=weights, min_component=min_component, reassign=reassign)
    model.set_params(random_state=seed, checkpoint=checkpoint, resume=resume, n_init=n_init, solver=solver)
    with fitting("clustering", model) as caught:
        found = fit_chosen(model, X, how_many, seed).with_names(given.columns)
    found = with_trust(found, X, stability=stability, bootstrap=bootstrap, seed=seed)
    model = found.model
    _say_units(model, given.columns)
    found.say_choice()
    roles = model.roles().assign(node=list(names)) if what == "node" else None
    placed = points.placed(model)
    compared = None if groups is None else compare(placed[0], groups.values)
    write_table(node_table(found, placed, points, roles, compared), out)
    louvain = model.compared_with_louvain()
    advised = found.selection is not None and names_others(found.selection.reason)
    findings = model.findings(first=1, other=louvain, advised=advised)
    say_warnings([each for each in caught if not FOUND & set(getattr(each.message, "options", ()))], "cluster")
    for finding in findings:
        say(finding.on_command_line())
    if compared is not None:
        say_comparison(compared, list(map(str, points.everything.names)), what)
    say_clusters(found, len(names), what, roles, louvain)
    points.say_placed(placed[0])
    notes = {"names": f"{alike}." if alike else "", "distances": place.name if values == "distance" else ""}
    notes["groups"] = "" if groups is None else groups.by_position
    kept: dict[str, Any] = {"samples": np.asarray(names), "selection": found.selection, "notes": notes}
    outcome.write(
        SavedModel(
            model, features=given.columns, groups=None if groups is None else points.columns(groups.values), **kept
        ),
        summary_of(found, len(names), what, findings, louvain)
        | ({} if compared is None else {"truth": compared.summary(list(map(str, points.everything.names)))}),
    )


def _check_given(data: Path | None, graph: Path | None, n_jobs: int) -> None:
    """Refuse points and a graph together, none of them, and no job."""
    if (data is None) == (graph is None):
        raise InputError("Give either a file of points, or a file of edges with --graph.")
    if n_jobs == 0:
        raise InputError("--jobs must not be 0.", "Give 1, more, or -1 for all cores.")


def _weights(values: Literal["raw", "log", "binary", "distance"] | None, what: str) -> Values:
    """What the fit does with weights, which points have none of."""
    weights: Values = "raw" if values is None or values == "distance" else values
    if what == "point":
        check_for_points(weights)
    return weights


def _say_units(model: Any, features: Any) -> None:
    """Say which columns were divided, and what the unit of logarithms is."""
    if hasattr(model, "spreads_") and model.scale == "auto":
        say(in_options(scaled_note(model.spreads_, features), "cluster"))
    if model.values == "log":
        unit = f"{model.resolved_['unit']:.4g}"
        say(f"Weights count as log(1 + weight / {unit}): a tenth of the edges have a weight of at most {unit}.")
