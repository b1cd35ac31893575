"""The paper's conditions, against slow forms and on crowds that were made to meet or to miss them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rectifact import DawidSkene, InputError
from rectifact.crowd.advice import conditions
from rectifact.crowd.advice.conditions import scatter
from rectifact.datasets import make_crowd


def blocks(**options):
    return make_crowd(600, 12, 3, labels_per_task=3, assignment="blocks", missing=0.6, **options)


def value(table, name):
    return table.set_index("condition")["value"][name]


def test_missing_pairs_are_counted():
    crowd = blocks()
    table = DawidSkene().fit(crowd.answers).conditions()
    met = np.eye(12, dtype=bool)
    for _, group in crowd.answers.groupby("task"):
        met[np.ix_(group["worker"], group["worker"])] = True
    assert_allclose(value(table, "pairs of workers without a common task"), 1 - (met.sum() - 12) / 132)
    assert value(table, "pairs that stay missing after imputation") < 1 - (met.sum() - 12) / 132


@pytest.mark.parametrize("k", [2, 3, 4])
def test_scatter_is_the_reach_in_the_worst_direction(k, rng):
    """Of many unit directions in the simplex's plane, the one in which the hull of the rows reaches least."""
    Z = rng.dirichlet(np.full(k, 2.0), size=40)
    directions = rng.standard_normal((200_000, k))
    directions -= directions.mean(axis=1, keepdims=True)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = (directions @ (Z - 1 / k).T).max(axis=1).min()
    assert_allclose(scatter(Z), reach * np.sqrt(k * (k - 1)), rtol=0.03)
    assert_allclose(scatter(Z * rng.random((40, 1))), scatter(Z))  # a cone knows no lengths


def test_scatter_of_extremes(monkeypatch, rng):
    assert_allclose(scatter(np.eye(4)), 1)
    assert scatter(np.full((9, 3), 0.2)) == 0
    Z = rng.dirichlet(np.full(4, 2.0), size=40)
    exact = scatter(Z)
    monkeypatch.setattr(conditions, "MOST_CLASSES", 2)
    assert_allclose(scatter(Z), exact, rtol=0.05)  # searched, not computed


def test_specialists_cover_the_cone():
    covered = "share of the cone of Definition 1 that H covers"
    crowds = [make_crowd(2000, 9, 3, accuracy=(0.5, 0.6), n_specialists=n) for n in (0, 3)]
    few, many = (value(DawidSkene(model="full").fit(crowd.answers).conditions(), covered) for crowd in crowds)
    assert few < 0.8 < 0.95 < many


def test_diagnose_speaks_of_identification_only_where_em_did_not_help():
    crowd = make_crowd(2000, 12, 3, labels_per_task=3, assignment="blocks", missing=0.6, accuracy=(0.55, 0.6))
    alike = make_crowd(3000, 12, 3, labels_per_task=6, accuracy=(0.5, 0.55))

    def found(answers, **options):
        return set(DawidSkene(model="full", **options).fit(answers).diagnose()["finding"])

    missing, specialists = "missing co-occurrences", "no specialists for every class"
    assert missing in found(crowd.answers, identify="none-imputed", refine=None)
    assert missing not in found(alike.answers, identify="none-imputed", refine=None)
    assert specialists in found(alike.answers, identify="robust", refine=None)
    assert not found(crowd.answers, identify="none-imputed") & {missing, specialists}


def test_designated_workers_are_named():
    crowd = blocks()
    named = DawidSkene("designated", refine=None, model="full", designated=[0, 1, 2, 3])
    everybody = DawidSkene("designated", refine=None, model="full").fit(crowd.answers)
    assert np.abs(named.fit(crowd.answers).confusions_ - everybody.confusions_).max() > 1e-3
    for wrong in ([0], [0, 99]):
        with pytest.raises(InputError, match="at least two of the workers"):
            named.set_params(designated=wrong).fit(crowd.answers)
    with pytest.raises(InputError, match="identify='designated'"):
        DawidSkene(designated=[0, 1]).fit(crowd.answers)
