"""Groups of points that are joined where there are more of them than clusters."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from rectifact import SymNMF
from rectifact.core.errors import FitWarning
from rectifact.graph.components import Components
from rectifact.graph.joining import _links
from rectifact.graph.knn import Neighbours


def groups(seed: int, centres: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Points around each centre, of unequal numbers, in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(30, 80, size=len(centres))
    of = rng.permutation(np.repeat(np.arange(len(centres)), sizes))
    return np.asarray(centres, dtype=float)[of] + rng.normal(0, 0.7, (len(of), 2)), of


CENTRES = [[0, 0], [9, 0], [60, 0], [69, 0], [0, 60], [9, 60], [200, 200]]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_nearest_groups_are_joined_as_in_single_linkage(k):
    X, _ = groups(0, CENTRES)
    with pytest.warns(FitWarning, match=rf"in 7 groups that no neighbours join, more than the {k} cluster"):
        model = SymNMF(k).fit(X)
    truth = fcluster(linkage(X, "single"), k, "maxclust")
    assert adjusted_rand_score(truth, model.labels_) == 1


def test_as_many_clusters_as_groups_need_no_joining(recwarn):
    X, of = groups(1, CENTRES)
    model = SymNMF(7).fit(X)
    assert adjusted_rand_score(of, model.labels_) == 1
    assert not [each for each in recwarn if "groups" in str(each.message)]


def test_groups_at_the_same_place_are_joined():
    of, copies = np.repeat([0, 1], 20), np.zeros((40, 2))
    near = Neighbours(None, copies, np.ones(40), 3, "euclidean")
    links = _links(near, Components(of, np.array([20, 20]), 10.0, 2), 2, 1)
    assert of[links].tolist() == [[0, 1]]


def test_a_group_too_small_for_a_cluster_is_left_alone():
    X, _ = groups(2, CENTRES)
    X = np.concatenate([X, np.random.default_rng(0).normal(500, 0.1, (5, 2))])
    with pytest.warns(FitWarning):
        model = SymNMF(3, n_neighbors=4).fit(X)
    assert (model.labels_[-5:] == -1).all()
    truth = fcluster(linkage(X[:-5], "single"), 3, "maxclust")
    assert adjusted_rand_score(truth, model.labels_[:-5]) == 1
