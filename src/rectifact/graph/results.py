"""What a fitted estimator says about its communities, as tables and sets."""

import warnings
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.arrays import is_host, to_host
from rectifact.core.errors import FitWarning, InputError
from rectifact.core.estimator import are_names
from rectifact.core.findings import Finding, findings_table
from rectifact.graph.bridges import MAY, clear_bridges, hub_ranks, memberships_there, shares_of, shares_of_new
from rectifact.graph.components import Components, least_nodes
from rectifact.graph.diagnosis import diagnose
from rectifact.graph.far import relative_distances
from rectifact.graph.gaps import groups_apart
from rectifact.graph.knn import nearest
from rectifact.graph.louvain import Division, compare_with_louvain
from rectifact.graph.new_nodes import NewNodes, in_order, read_new_nodes
from rectifact.graph.outside import outside
from rectifact.graph.peaks import density_neighbours
from rectifact.graph.permuted import shows_communities
from rectifact.graph.plots import GraphPlots
from rectifact.graph.quality import quality
from rectifact.graph.similarities import Similarities
from rectifact.graph.weights import heavy_edges

MOST_POINTS = 20_000
"""Points whose groups are counted for a finding."""


class GraphResults(GraphPlots):
    """Tables and sets of communities, for estimators."""

    n_clusters: int
    min_component: int | None
    values: str
    nodes_: Any
    labels_: Any
    membership_: Any
    degrees_: Any
    component_labels_: Any
    affinity_matrix_: Any
    points_: Any
    spreads_: Any
    modularity_: float
    resolved_: dict[str, Any]
    predict: Any
    predict_membership: Any
    _known_points: Any
    _new_points: Any

    def communities(self, threshold: float = 0.25) -> list[list[Any]]:
        """Communities as overlapping sets of nodes, by name.

        Parameters
        ----------
        threshold : float, default 0.25
            A node belongs to the community of its label, and to all others in which its membership is at least this.
            Above 0.5, a node belongs to one community only, or to two if its label is not its largest membership.

        Returns
        -------
        list of list
            Nodes of each community, as in ``nodes_``, those of largest membership first.

        Examples
        --------
        >>> import networkx
        >>> from rectifact import SymNMF
        >>> graph = networkx.Graph(["ab", "ac", "bc", "cd", "ce", "de"])  # two triangles that share a node
        >>> sorted(map(sorted, SymNMF(2).fit(graph).communities()))
        [['a', 'b', 'c'], ['c', 'd', 'e']]
        """
        check_is_fitted(self)
        if not 0 < threshold <= 1:
            raise InputError(f"threshold={threshold} must be above 0 and at most 1.", option="threshold")
        membership, labels = to_host(self.membership_), to_host(self.labels_)
        inside = (membership >= threshold) | (labels[:, None] == np.arange(self.n_clusters))
        orders = [np.argsort(-membership[:, k], kind="stable") for k in range(self.n_clusters)]
        names = [getattr(node, "item", lambda node=node: node)() for node in self.nodes_]
        return [[names[i] for i in order if inside[i, k]] for k, order in enumerate(orders)]

    def cluster_report(self) -> pd.DataFrame:
        """One row per community: its size and how well it is separated, by the weights of the edges.

        Returns
        -------
        DataFrame
            ``cluster``; ``size``; ``coverage``, the share of all weight that is inside the community; ``conductance``,
            the weight that leaves it relative to its total degree, or that of the rest if that is less; and
            ``modularity``, its part of the modularity among the nodes in a community.
        """
        check_is_fitted(self)
        S = Similarities(self.affinity_matrix_)
        found = quality(S, self.labels_, self.n_clusters, self.degrees_, self.resolved_["normalize"])
        columns = {"cluster": np.arange(self.n_clusters), "size": found.sizes, "coverage": found.coverage}
        return pd.DataFrame(columns | {"conductance": found.conductance, "modularity": found.modularity})

    def result(self, X: Any = None) -> pd.DataFrame:
        """One row per node or point: its community, the next one, and its membership in both.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : edges, points or array, default None
            New nodes or points, as :meth:`predict_membership` takes them; None is for those of the fit.

        Returns
        -------
        DataFrame
            ``node``, as in ``nodes_`` or in X; ``cluster``, as in ``labels_``; ``membership`` in it; ``next_cluster``,
            where the membership is the largest of the others, -1 if there is none; and ``next_membership``. For new
            nodes also ``share_inside``, the share of the weight of their edges to the nodes of the fit that goes into
            their community, and from edges ``neighbours``, how many these nodes are, and ``unknown``, how many other
            new nodes, whose edges are not used. For new points also ``distance`` to their seventh nearest point
            of the fit, relative to the 95 % quantile of that in their community: above 2, a point is far from all.

        Examples
        --------
        >>> import networkx
        >>> from rectifact import SymNMF
        >>> graph = networkx.Graph(["ab", "ac", "bc", "cd", "ce", "de"])  # two triangles that share a node
        >>> model = SymNMF(2).fit(graph)
        >>> model.result().round(2).query("node == 'c'")[["node", "membership", "next_membership"]]
          node  membership  next_membership
        2    c         0.5              0.5
        >>> new = pd.DataFrame({"source": ["x", "x"], "target": ["a", "b"]})
        >>> bool(model.result(new)["cluster"][0] == model.result()["cluster"][0])
        True
        """
        if X is not None:
            return self._new_result(X)
        check_is_fitted(self)
        labels, membership = to_host(self.labels_), np.asarray(to_host(self.membership_)).astype(float)
        columns = {"node": list(self.nodes_), "cluster": labels, **leading_memberships(labels, membership)}
        return pd.DataFrame(columns)

    def _new_result(self, X: Any) -> pd.DataFrame:
        found = self._new(X)
        membership = np.asarray(to_host(self.predict_membership(X)), dtype=float)
        labels = np.asarray(to_host(self.predict(X)))
        index = getattr(X, "index", None)
        names: Any = list(index) if isinstance(index, pd.Index) else np.arange(len(labels))
        if hasattr(self, "points_"):
            more = {"distance": self._distances(X, labels)}
        else:
            more = {"share_inside": shares_of_new(self, X, labels).own}
        if isinstance(found, NewNodes):
            names, more = found.names, {"neighbours": found.neighbours, "unknown": found.unknown, **more}
            if found.unused():
                warnings.warn(FitWarning(found.unused(), "Edges among new nodes are not used."), stacklevel=3)
        return pd.DataFrame({"node": names, "cluster": labels, **leading_memberships(labels, membership), **more})

    def _distances(self, X: Any, new: NDArray[Any]) -> NDArray[Any]:
        """How far new points in the communities ``new`` are from those of the fit; 1 is far for a point of the fit."""
        return relative_distances(self._known_points(), self._new_points(X), np.asarray(to_host(self.labels_)), new)

    def _new(self, X: Any) -> Any:
        """New nodes from edges, or a matrix of new nodes or points; a frame with its columns as in the fit."""
        check_is_fitted(self)
        features = getattr(self, "feature_names_in_", getattr(self, "_features", None))
        if not hasattr(self, "points_"):
            return read_new_nodes(X, self.nodes_ if features is None else features)
        if features is None or not nw.dependencies.is_into_dataframe(X):
            return X
        found = in_order(X, features)
        return X if found is None else found[0]

    def _named_as_saved(self, samples: Any, features: Any) -> None:
        """Take the names that a file has for nodes, and for columns of points, where the model has none of its own."""
        n, nodes = len(self.labels_), np.asarray(self.nodes_)
        counted = nodes.dtype.kind in "iu" and np.array_equal(nodes, np.arange(n))
        if counted and are_names(samples, n):
            self.nodes_ = np.asarray(samples)
        if hasattr(self, "points_") and are_names(features, self.points_.shape[1]):
            self._features = np.asarray(features)

    def bridges(self) -> pd.DataFrame:
        """Nodes that may belong to two communities, those that most clearly do first.

        A node is listed if its membership in the other community that most of its weight goes to is at least 0.25, or
        if its edges show clearly that it lies between both; :meth:`communities` goes by memberships alone. Membership
        leans towards small communities, and a node of few edges is easily listed: see ``clear``.

        .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            ``node`` and ``cluster``; ``share``, that of the weight of its edges that goes into its community;
            ``next_cluster``, the other one that most weight goes to; ``next_share`` and ``next_membership`` there;
            ``neighbours``, and ``next_neighbours`` of them there; ``p_value``, the probability of so many edges to both
            if those of the node went where those of only one of the two go, adjusted over all nodes for the false
            discovery rate; and ``clear``, whether that is below 0.1, with at least 3 edges to, and a fifth of the
            weight in, each of both.

        Examples
        --------
        >>> import networkx
        >>> from rectifact import SymNMF
        >>> graph = networkx.Graph(["ab", "ac", "bc", "cd", "ce", "de"])  # two triangles that share a node
        >>> SymNMF(2).fit(graph).bridges()[["node", "share", "next_share", "clear"]]
          node  share  next_share  clear
        0    c    0.5         0.5  False
        """
        check_is_fitted(self)
        labels, shares = np.asarray(to_host(self.labels_)), shares_of(self)
        there = memberships_there(self, shares)
        clear = clear_bridges(shares)
        columns = {"node": list(self.nodes_), "cluster": labels, "share": shares.own, "next_cluster": shares.other}
        columns |= {"next_share": shares.other_share, "next_membership": there, "neighbours": shares.neighbours}
        columns |= {"next_neighbours": shares.other_neighbours, "p_value": shares.p_value, "clear": clear}
        table = pd.DataFrame(columns)[(labels >= 0) & ((there >= MAY) | clear)]
        by = {"clear": False, "p_value": True}
        return table.sort_values(list(by), ascending=list(by.values()), kind="stable").reset_index(drop=True)

    def roles(self) -> pd.DataFrame:
        """One row per node: how central it is in its community, and whether it ties that to another one.

        .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            ``node`` and ``cluster``; ``neighbours``, how many; ``share_inside``, the share of the weight of its edges
            that stays in its community; ``hub_rank``, its place there by that weight, of the nodes that keep more
            than half of theirs there, and the first of all if it has less in any other: 1 for the hub, 0 for others;
            and ``bridge_to``, the other community that it clearly ties its own to, -1 for none, as :meth:`bridges` has.

        Examples
        --------
        >>> import networkx
        >>> from rectifact import SymNMF
        >>> model = SymNMF(2).fit(networkx.Graph(["ab", "ac", "ad", "de", "df", "dg", "bc", "ef"]))
        >>> model.roles().query("hub_rank == 1")["node"].tolist()
        ['a', 'd']
        """
        check_is_fitted(self)
        labels, shares = np.asarray(to_host(self.labels_)), shares_of(self)
        clear = clear_bridges(shares)
        columns = {"node": list(self.nodes_), "cluster": labels, "neighbours": shares.neighbours}
        columns |= {"share_inside": shares.own, "hub_rank": hub_ranks(shares, labels)}
        return pd.DataFrame(columns | {"bridge_to": np.where(clear, shares.other, -1)})

    def diagnose(self) -> pd.DataFrame:
        """What could be wrong with the communities, and what to do about it, the worst first.

        With networkx installed, graphs of up to 50,000 edges are compared with Louvain's communities.

        .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            Columns severity (problem, warning or note), finding, detail and remedy.
        """
        return findings_table(self.findings())

    def compared_with_louvain(self) -> Division | None:
        """Number, modularity and agreement of Louvain's communities of the nodes that are in a community.

        None for points, without networkx, and for graphs of more than 50,000 edges or not on the host.

        .. versionadded:: 0.2

        Examples
        --------
        >>> import networkx
        >>> from rectifact import SymNMF
        >>> SymNMF(3, random_state=0).fit(networkx.ring_of_cliques(3, 6)).compared_with_louvain().sentence()
        "Louvain's method finds the same 3 communities (modularity 0.604)."
        """
        check_is_fitted(self)
        S, labels = self._clustered()
        if S is None:
            return None
        among = None if len(labels) == len(self.labels_) else len(labels)
        return compare_with_louvain(S, labels, self.n_clusters, among)

    def _clustered(self) -> tuple[sp.csr_array | None, NDArray[Any]]:
        """Weights of the edges between nodes in a community, None for points, and their communities."""
        labels = np.asarray(to_host(self.labels_))
        inside = labels >= 0
        if hasattr(self, "points_") or not is_host(self.affinity_matrix_) or not inside.any():
            return None, labels
        degrees = np.asarray(to_host(self.degrees_)).astype(float)
        roots = np.sqrt(degrees) if self.resolved_["normalize"] else np.ones(len(degrees))
        S = sp.csr_array(self.affinity_matrix_).astype(float)
        return sp.csr_array(sp.csr_array(S * roots[:, None] * roots)[inside][:, inside]), labels[inside]

    def findings(self, first: int = 0, other: Division | None = None, *, advised: bool = False) -> list[Finding]:
        """The rows of :meth:`diagnose` as objects; ``first`` is the first number, ``advised`` leaves out others."""
        check_is_fitted(self)
        labels, of_node = to_host(self.labels_), to_host(self.component_labels_)
        what, sizes = "point" if (points := hasattr(self, "points_")) else "node", np.bincount(of_node)
        least = least_nodes(sizes, self.n_clusters, self.min_component)
        parts = Components(of_node, sizes, least, self.resolved_["n_components"])
        groups, heavy = self._groups_apart() if points else None, None
        S, _ = self._clustered()
        if S is not None:
            other = other or self.compared_with_louvain()
            heavy = heavy_edges(S, self.values)
        return diagnose(
            np.bincount(labels[labels >= 0], minlength=self.n_clusters),
            outside(labels, parts, self.n_clusters, getattr(self, "l1", 0.0), what),
            getattr(self, "stability_", None),
            self.modularity_,
            other,
            first,
            what,
            groups,
            heavy,
            parts.least_for(other.n) if other is not None else None,
            True if S is None or self.n_clusters == 1 else shows_communities(S),
            advised,
        )

    def _groups_apart(self) -> int | None:
        """How many groups of points stand apart; None where that takes long, or compact groups leave it open."""
        n = len(self.labels_)
        if n > MOST_POINTS or self.n_clusters == 1 or not is_host(self.affinity_matrix_) or not is_host(self.points_):
            return None
        squared = nearest(self.points_, density_neighbours(n), None, None)
        apart = groups_apart(np.sqrt(squared.data.reshape(n, -1)), sp.csr_array(self.affinity_matrix_), self.points_)
        return None if apart.groups == 1 and apart.compact is not None else apart.groups


def leading_memberships(labels: NDArray[Any], membership: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Membership of each node in its community, the other one where it is largest, and how large it is there.

    Examples
    --------
    >>> found = leading_memberships(np.array([1, 0]), np.array([[0.3, 0.7], [1.0, 0.0]]))
    >>> {name: values.tolist() for name, values in found.items()}
    {'membership': [0.7, 1.0], 'next_cluster': [0, -1], 'next_membership': [0.3, 0.0]}
    """
    rows, inside = np.arange(len(labels)), labels >= 0
    own = np.where(inside, membership[rows, labels], 0.0)
    others = membership.copy()
    others[rows[inside], labels[inside]] = 0
    second = others.argmax(axis=1)
    share = np.where(inside, others[rows, second], 0.0)
    return {"membership": own, "next_cluster": np.where(share > 0, second, -1), "next_membership": share}
