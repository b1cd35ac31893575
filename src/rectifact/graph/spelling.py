"""Nodes whose names differ only in capitals or spaces, as one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.io.graphs import folded
from rectifact.io.spelling import first_spellings


def without_case(matrix: sp.csr_array, nodes: Any) -> tuple[sp.csr_array, NDArray[Any]]:
    """A graph whose nodes that differ only in capitals or spaces are one, called as most of its weight is.

    Examples
    --------
    >>> from rectifact.graph import from_edges
    >>> matrix, nodes = without_case(*from_edges(["Ann", "ann", "ann", "Bea"], ["Bea", "Bea", "Cid", "Cid"]))
    >>> nodes.tolist(), matrix.toarray().tolist()
    (['ann', 'Bea', 'Cid'], [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    """
    return spelt_as_known(matrix, nodes, ())


def spelt_as_known(matrix: sp.csr_array, nodes: Any, known: Any) -> tuple[sp.csr_array, NDArray[Any]]:
    """A graph whose nodes are called as ``known`` ones from which they differ only in capitals or spaces.

    A name that is known as it is stays, also where another known one differs from it only in capitals. Nodes that are
    not known are one where they differ only so, called as most of their weight is.

    Examples
    --------
    >>> from rectifact.graph import from_edges
    >>> matrix, nodes = spelt_as_known(*from_edges(["ANN", "ann ", "Dan"], ["dan", "Bea", "Bea"]), ["Ann", "Bea"])
    >>> nodes.tolist(), matrix.toarray().tolist()
    (['Ann', 'Bea', 'Dan'], [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    """
    names, exact = [str(node) for node in nodes], {str(node) for node in known}
    heaviest = np.argsort(-np.asarray(matrix.sum(axis=1)).ravel(), kind="stable")
    spelt = first_spellings([*map(str, known), *(names[i] for i in heaviest)])
    return _merged(matrix, [name if name in exact else spelt[folded(name)] for name in names])


def would_be_known(names: Sequence[Any], known: Any) -> list[tuple[str, str]]:
    """Names that are not known, with the known ones from which they differ only in capitals or spaces.

    Examples
    --------
    >>> would_be_known(["ann", "Bea", "Cid"], ["Ann", "Bea"])
    [('ann', 'Ann')]
    """
    exact = {str(node) for node in known}
    spelt = {folded(name): name for name in sorted(exact, reverse=True)}
    others = [str(name) for name in names if str(name) not in exact]
    return [(name, spelt[folded(name)]) for name in others if folded(name) in spelt]


def _merged(matrix: sp.csr_array, names: list[str]) -> tuple[sp.csr_array, NDArray[Any]]:
    """A graph whose nodes of the same name are one; edges between them are loops, which count once."""
    codes, called = pd.factorize(np.asarray(names, dtype=object))
    groups = sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=(len(codes), len(called)))
    merged = sp.csr_array(groups.T @ matrix @ groups)
    loops = (merged.diagonal() + groups.T @ matrix.diagonal()) / 2  # an edge between two that are one counts once
    return sp.csr_array(merged - sp.diags_array(merged.diagonal() - loops)), np.asarray(called)
