"""Graphs that would be read as points are refused, or draw a warning."""

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact import SymNMF
from rectifact.core.errors import FitWarning, InputError

KARATE = networkx.karate_club_graph()


@pytest.mark.parametrize("names", [("from", "to"), ("id1", "id2"), ("u", "v")])
def test_edges_between_numbered_nodes_are_not_points(names):
    table = pd.DataFrame(list(KARATE.edges()), columns=names)
    with pytest.raises(InputError, match=f"give source='{names[0]}', target='{names[1]}'; for points, give X"):
        SymNMF(2).fit(table)
    assert len(SymNMF(2).fit(table, source=names[0], target=names[1]).labels_) == 34  # the remedies work
    assert len(SymNMF(2).fit(table.to_numpy()).labels_) == 78


def test_the_remedy_names_the_weights():
    table = pd.DataFrame(list(KARATE.edges(data="weight")), columns=["u", "v", "weight"])
    with pytest.raises(InputError, match="source='u', target='v', weight='weight'; for points"):
        SymNMF(2).fit(table)


def test_columns_with_the_same_numbers_draw_a_warning():
    with pytest.warns(FitWarning, match="X is read as points. For edges, give source='one', target='two'; for points"):
        SymNMF(2).fit(pd.DataFrame(list(KARATE.edges()), columns=["one", "two"]))
    points = np.random.default_rng(0).integers(0, 30, (90, 2))
    SymNMF(2).fit(pd.DataFrame(points, columns=["x", "y"]))  # warnings are errors here


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame])
def test_an_adjacency_matrix_that_is_read_as_points_draws_a_warning(form):
    matrix = form(networkx.to_numpy_array(KARATE))
    with pytest.warns(FitWarning, match="square, symmetric and mostly zeros.*use affinity='precomputed'"):
        SymNMF(2).fit(matrix)


def test_other_square_matrices_draw_none(rng):
    for X in (rng.random((20, 20)), np.corrcoef(rng.random((20, 50))) ** 2):
        assert len(SymNMF(2).fit(X).labels_) == 20  # warnings are errors here
