"""New nodes and points in the communities of a fit."""

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.arrays import Array, device, namespace, to_host, to_like
from rectifact.core.errors import InputError
from rectifact.core.linalg import nnls_gram
from rectifact.core.operand import Operand, operand
from rectifact.core.validation import check_alike, check_matrix
from rectifact.graph.bridges import gathered
from rectifact.graph.knn import Neighbours, similarities_to
from rectifact.graph.new_nodes import NewNodes
from rectifact.graph.normalisation import inverse_roots
from rectifact.graph.placing import better_places, volumes_of
from rectifact.graph.quality import modularity_of_new
from rectifact.graph.results import GraphResults
from rectifact.graph.scaling import divided
from rectifact.graph.weights import reweighted


class GraphPrediction(GraphResults):
    """Prediction for estimators that factorise a matrix of similarities."""

    metric: Any
    components_: Any
    scales_: Any

    def predict_membership(self, X: Any) -> Array:
        """Memberships of new nodes or points in the communities, which stay as they are.

        A new row x of similarities to the nodes of the fit gets the non-negative u for which ``U u`` is closest to x.

        Parameters
        ----------
        X : array of shape (n_new, n_features), or of shape (n_new, n_samples) for a graph, or edges
            New points; or the weights of the edges between each new node and the nodes of the fit, in the order of
            ``nodes_``, or by name in a frame; or edges as :meth:`fit` takes them, whose new nodes come in the order in
            which they are named, as in ``result(X)``. Edges among new nodes are not used.

        Returns
        -------
        array of shape (n_new, n_clusters)
            Rows sum to one; zeros for new nodes without edges to a community.
        """
        return self._membership(self._rows(X))

    def _rows(self, X: Any) -> Operand:
        """Similarities of new nodes or points to those of the fit."""
        if hasattr(self, "points_"):
            return operand(similarities_to(self._known_points(), self._new_points(X)))
        return operand(reweighted(self._checked_new(X), self.values, self.resolved_.get("unit"))[0])

    def _checked_new(self, X: Any) -> Any:
        """New points, or edges of new nodes, as a matrix with the columns of the fit."""
        points, X = hasattr(self, "points_"), self._like_fit(self._new(X))
        X = check_matrix(self, X, reset=False, nonnegative=not points, sparse_chunks=True)
        check_alike(self.components_, X)
        return X

    def _new_points(self, X: Any) -> Any:
        """New points with their columns divided as those of the fit were."""
        return divided(self._checked_new(X), getattr(self, "spreads_", None))

    def _known_points(self) -> Neighbours:
        """The points of the fit."""
        return Neighbours(None, self.points_, self.scales_, self.resolved_["n_neighbors"], self.metric)

    def _like_fit(self, found: Any) -> Any:
        """New nodes or points with names of columns where the fit had them, and without where it had not."""
        names = getattr(self, "feature_names_in_", None)
        if isinstance(found, NewNodes):
            return found.rows if names is None else pd.DataFrame(found.rows.toarray(), columns=names)
        return found.to_numpy() if names is None and nw.dependencies.is_into_dataframe(found) else found

    def _membership(self, rows: Operand) -> Array:
        U = self.components_
        V = U * inverse_roots(self.degrees_)[:, None] if self.resolved_["normalize"] else U
        cross = to_host(rows.gather(rows @ namespace(V).astype(V, rows.dtype))).astype(float)
        found = nnls_gram(to_host(U.T @ U).astype(float), cross.T).T
        total = found.sum(axis=1, keepdims=True)
        return to_like(found / np.where(total > 0, total, 1), U)

    def predict(self, X: Any) -> Array:
        """Community of each new node or point: the largest of its memberships, or -1 if it belongs to none.

        New nodes of a graph are moved as those of the fit are, where ``reassign`` says so.

        Parameters
        ----------
        X : array of shape (n_new, n_features), or of shape (n_new, n_samples) for a graph
            As in :meth:`predict_membership`.

        Returns
        -------
        array of shape (n_new,)
        """
        rows = self._rows(X)
        return self._labels_of_new(rows, self._membership(rows))

    def _labels_of_new(self, rows: Operand, membership: Array) -> Array:
        """Communities of new nodes or points by their memberships, and by their edges where the fit went by them."""
        labels = largest(membership)
        if "moved" not in self.resolved_:
            return labels
        known, degrees = to_host(self.labels_), to_host(self.degrees_).astype(float)
        volumes = volumes_of(known, degrees, self.n_clusters)
        return as_labels(better_places(gathered(rows), to_host(labels), known, volumes)[0], labels)

    def score(self, X: Any, y: None = None) -> float:
        """Modularity of new nodes or points by their edges to those of the fit: 0 is chance, and higher is better.

        For the graph of the fit it is its modularity, up to nodes that ``predict`` moves. On points it favours many
        communities: to choose ``n_clusters``, :func:`rectifact.selection.select` is better.

        .. versionadded:: 0.2

        Parameters
        ----------
        X : array of shape (n_new, n_features), or of shape (n_new, n_samples) for a graph
            As in :meth:`predict_membership`.
        y : None
            Ignored.
        """
        rows, old = self._rows(X), to_host(self.labels_)
        ends = np.column_stack([old[:, None] == np.arange(self.n_clusters), np.ones(len(old))])
        weights = to_host(rows.gather(rows @ to_like(ends.astype(float), self.components_))).astype(float)
        if not weights[:, -1].sum() > 0:
            raise InputError("No new node has an edge to a node of the fit.", "Check the order of the columns of X.")
        new = to_host(self._labels_of_new(rows, self._membership(rows)))
        return modularity_of_new(weights[:, :-1], new, old, weights[:, -1], to_host(self.degrees_).astype(float))


def largest(membership: Array) -> Array:
    """Column of the largest entry of each row; -1 for rows of zeros."""
    xp = namespace(membership)
    return xp.where(xp.max(membership, axis=1) > 0, xp.argmax(membership, axis=1), -1)


def as_labels(values: NDArray[Any], like: Array) -> Array:
    """Labels from the host in the library and on the device of others."""
    return namespace(like).asarray(values, dtype=like.dtype, device=device(like))
