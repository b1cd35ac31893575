"""Weights of edges: as they are, their logarithms, or none; and whether a few edges hold most of the weight."""

from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, is_host
from rectifact.core.errors import InputError, count
from rectifact.core.findings import Finding
from rectifact.core.operand import is_chunked

Values = Literal["raw", "log", "binary"]
VALUES: tuple[Values, ...] = get_args(Values)

FEW = 1 / 8
"""Share of the edges that are few if they hold half of the weight. On planted graphs with lognormal, Pareto and single
huge weights, communities are lost below it, and as a rule found above; weights that are all the same have 1/2."""

DENSE, FEW_OF_ALL = 0.5, 1 / 16
"""Share of all pairs above which a graph is dense, and the share of its edges that are few there. A node of a dense
graph has many edges, so that more of the others have to be small before communities are lost; on planted dense graphs
with lognormal weights, those as they are did as well as logarithms above it, and as a rule worse below 5 %."""

ALIKE = 3.0
"""Ratio of the heaviest edge to the median of those that hold half of the weight, up to which a dense matrix holds
similarities: they have a highest value, which all near pairs come close to, and most pairs are small by nature."""

UNIT = 10
"""Percentile of the weights that is the unit of their logarithms; above it, ten times the weight adds 2.3."""

HIDDEN = "A few edges hold half of the weight, and may hide communities: compare with logarithms of the weights."


def reweighted(X: Array, values: str, unit: float | None = None) -> tuple[Array, float | None]:
    """Weights of edges as ``values`` says, and the unit of logarithms, which a tenth of the weights do not exceed.

    ``"log"`` is ``log(1 + weight / unit)``, which does not depend on whether amounts are in cents or in millions.

    Parameters
    ----------
    X : array of shape (n_rows, n_nodes)
        Weights, 0 where there is no edge; numpy or scipy.
    values : {"raw", "log", "binary"}
    unit : float or None, default None
        That of an earlier call; None takes it from X.

    Examples
    --------
    >>> X, unit = reweighted(np.array([[0.0, 5.0], [5.0, 0.0]]), "log")
    >>> X.round(2).tolist(), unit
    ([[0.0, 0.69], [0.69, 0.0]], 5.0)
    """
    if values == "raw":
        return X, None
    if is_chunked(X) or not is_host(X):
        raise InputError(
            f"values={values!r} takes graphs of numpy or scipy in memory.",
            "Transform the weights yourself, and leave out values.",
        )
    given = X.data if sp.issparse(X) else np.asarray(X)
    positive = given[given > 0]
    unit = unit if unit is not None else float(np.percentile(positive, UNIT)) if len(positive) else 1.0
    with np.errstate(over="ignore"):  # a unit may be tiny
        made = (given > 0).astype(given.dtype) if values == "binary" else np.log1p(given / unit)
    if not sp.issparse(X):
        return made, unit
    return sp.csr_array((made, X.indices, X.indptr), shape=X.shape), unit


def edges_of_half(graph: sp.csr_array) -> tuple[int, int]:
    """The fewest edges of a symmetric graph that hold half of its weight, and how many edges there are, without loops.

    Examples
    --------
    >>> edges_of_half(sp.csr_array([[0, 9, 1], [9, 0, 2], [1, 2, 0]]))
    (1, 3)
    """
    weights = np.sort(sp.coo_array(sp.triu(graph, 1)).data.astype(float))[::-1]
    weights = weights[weights > 0]
    if not len(weights):
        return 0, 0
    held = np.cumsum(weights / weights[0])
    return int(np.searchsorted(held, held[-1] / 2)) + 1, len(weights)


def few_hold_most(graph: sp.csr_array) -> bool:
    """Whether a few edges hold half of the weight of a graph, so that the others hardly count.

    Examples
    --------
    >>> amounts = np.triu(np.random.default_rng(0).lognormal(0, 2, (40, 40)), 1)
    >>> few_hold_most(sp.csr_array(amounts + amounts.T))
    True
    """
    few, m = edges_of_half(graph)
    if not _is_dense(graph, m):
        return 0 < few <= FEW * m
    return few <= FEW_OF_ALL * m and not _are_similarities(graph, few)


def _is_dense(graph: sp.csr_array, n_edges: int) -> bool:
    """Whether most nodes are joined, so that edges without weights say little."""
    return 2 * n_edges > DENSE * graph.shape[0] * (graph.shape[0] - 1)


def _are_similarities(graph: sp.csr_array, few: int) -> bool:
    """Whether the few edges of a dense graph that hold half of its weight are about as heavy, and reach most nodes."""
    weights = np.sort(sp.coo_array(sp.triu(graph, 1)).data)[::-1][:few]
    return 2 * few >= graph.shape[0] and bool(weights[0] <= ALIKE * np.median(weights))


def heavy_edges(graph: sp.csr_array, values: str) -> Finding | None:
    """The finding that a few edges hold half of the weight, and what to do; None where they do not."""
    if not few_hold_most(graph):
        return None
    few, m = edges_of_half(graph)
    share = f"{few / m:.1%}" if few / m >= 0.001 else "less than 0.1%"
    verb = "holds" if few == 1 else "hold"
    detail = f"{few} of {count(m, 'edge')} ({share}) {verb} half of the weight, so that the others hardly count."
    kinds = {"log": "logarithms of the weights", "binary": "edges without weights"}
    left_out = "log" if values == "log" else "binary" if _is_dense(graph, m) else ""
    others = {name: what for name, what in kinds.items() if name != left_out}
    in_python, on_command_line = (
        "Compare with " + ", and with ".join(f"{what}: {form.format(name)}" for name, what in others.items()) + "."
        for form in ("values={!r}", "--values {}")
    )
    return Finding("warning", "a few edges hold most of the weight", detail, in_python, on_command_line)


def check_for_points(values: str) -> None:
    """Refuse to transform weights of points, which have none of their own."""
    if values != "raw":
        raise InputError(
            f"values={values!r} is for weights of edges, and X holds points.",
            "Leave it out, or use affinity='precomputed' for a graph.",
            command="Leave out --values, or give a graph with --graph.",
            option="values",
        )
