"""One piece of advice about the number of communities, in the right direction, and none where nothing is open."""

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest

from rectifact import SymNMF
from rectifact.graph.diagnosis import AS_ADVISED, diagnose
from rectifact.graph.louvain import Division
from rectifact.selection import select
from rectifact.selection.communities import names_others


def chosen(graph: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return select(SymNMF(random_state=0), graph, random_state=0)


def planted(sizes: list[int], seed: int) -> Any:
    shares = np.full((len(sizes), len(sizes)), 0.02) + np.diag([0.25] * (len(sizes) - 1) + [0.6])
    return nx.stochastic_block_model(sizes, shares.tolist(), seed=seed)


def test_the_number_whose_communities_are_all_found_again_is_taken() -> None:
    found = chosen(nx.ring_of_cliques(24, 5))
    assert (found.best, found.sure) == (24, True)
    assert (found.estimator.stability_ == 1).all()
    assert found.reason.startswith("24 communities predict hidden edges best, and all of them are found again")
    assert not names_others(found.reason)


@pytest.mark.parametrize("seed", [1, 4])
def test_a_larger_number_whose_communities_are_not_found_again_is_not_mentioned(seed: int) -> None:
    found = chosen(planted([40, 40, 40, 8], seed))
    assert (found.best, found.sure) == (4, True)
    assert not names_others(found.reason)


def test_a_small_community_that_may_have_been_missed_is_mentioned() -> None:
    found = chosen(planted([40, 40, 40, 8], 0))
    assert (found.best, found.sure) == (3, False)
    assert "Compare the division with -k 4" in found.reason


def test_the_next_number_is_compared_first() -> None:
    found = chosen(nx.davis_southern_women_graph())
    assert "Compare the division with -k 3 (" in found.reason
    assert 3 in found.table["k"].tolist()


def test_findings_name_no_other_number_where_the_choice_does() -> None:
    stability, better = np.array([0.9, 0.9, 0.3]), Division(5, 0.5, 3, 0.4, 0.7)
    given = (np.array([9, 8, 7]), None, stability, 0.4, better, 1, "node")
    before, after = (diagnose(*given, advised=advised) for advised in (False, True))
    assert "compare with 5 clusters and with fewer" in before[0].remedy
    assert "-k 5" in str(before[1].command)
    assert [each.remedy for each in after] == ["Do not rely on it.", AS_ADVISED]
    assert not any("-k" in each.on_command_line() for each in after)
