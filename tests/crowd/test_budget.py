"""Plans in money: what an answer is worth, what to buy, and what that promises."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import DawidSkene, InputError
from rectifact.crowd.advice.budget import Market, buy, expected_error, look_ahead, weakened
from rectifact.crowd.advice.foresight import foresee, needed
from rectifact.crowd.data.prices import can_be_asked, read_costs
from rectifact.datasets import make_crowd


@pytest.fixture(scope="module")
def crowd():
    return make_crowd(400, 16, 3, labels_per_task=12, n_spammers=2, accuracy=(0.6, 0.9), random_state=3)


@pytest.fixture(scope="module")
def model(crowd):
    return DawidSkene().fit(first_answers(crowd, 4))


def first_answers(crowd, n):
    return crowd.answers[crowd.answers.groupby("task").cumcount() < n]


def random_market(rng, n_tasks=6, n_workers=4, k=3):
    confusions = rng.dirichlet(np.ones(k), size=(n_workers, k)).transpose(0, 2, 1)
    everybody = np.arange(n_workers)
    return Market(everybody, confusions, np.ones(n_workers), np.ones((n_tasks, n_workers), bool), everybody)


def slow_error(posterior, matrices):
    """The error to expect after one answer by each of the workers, by going through all answers they could give."""
    right = 0.0
    for answers in itertools.product(range(len(posterior)), repeat=len(matrices)):
        joint = posterior.copy()
        for matrix, answer in zip(matrices, answers, strict=True):
            joint = joint * matrix[answer]
        right += joint.max()
    return 1 - right


def test_one_step_ahead_is_what_going_through_all_answers_gives(rng):
    market, posteriors = random_market(rng), rng.dirichlet(np.ones(3), size=6)
    error, smooth = look_ahead(posteriors, market.confusions)
    for t, m in itertools.product(range(6), range(4)):
        expected = 1 - posteriors[t].max() - slow_error(posteriors[t], [market.confusions[m]])
        assert_allclose(error[t, m], expected, atol=1e-12)
    assert (smooth > 0).all()


def test_weak_answers_keep_their_frequencies(rng):
    market, priors = random_market(rng), rng.dirichlet(np.ones(3))
    weak = weakened(market.confusions, priors, np.array([0, 0.3, 0.7, 1]))
    assert_allclose(weak @ priors, market.confusions @ priors)
    assert_allclose(look_ahead(priors[None], weak)[1][0, 0], 0, atol=1e-12)
    assert_allclose(weak[3], market.confusions[3])


def test_a_plan_promises_what_going_through_all_answers_gives(rng):
    market, posteriors = random_market(rng), rng.dirichlet(np.ones(3), size=6)
    plan = buy(posteriors, market, n=24, budget=np.inf, excess=np.inf)
    assert len(set(zip(plan.tasks, plan.workers, strict=True))) == len(plan.tasks)
    for t in range(6):
        asked = [market.confusions[m] for m in plan.workers[plan.tasks == t]]
        dropped = plan.drops[plan.tasks == t].sum()
        assert_allclose(1 - posteriors[t].max() - dropped, slow_error(posteriors[t], asked), atol=0.12)  # in 32 worlds


def test_the_first_answer_is_the_best_for_the_money(rng):
    market, posteriors = random_market(rng), rng.dirichlet(np.ones(3), size=6)
    market = Market(market.workers, market.confusions, np.array([1.0, 2, 0.5, 4]), market.open, market.kin)
    error, smooth = look_ahead(posteriors, market.confusions)
    best = np.unravel_index(((error + 0.25 * smooth) / market.costs).argmax(), error.shape)
    plan = buy(posteriors, market, n=1, budget=np.inf, excess=np.inf)
    assert (plan.tasks[0], plan.workers[0]) == best


def test_plans_respect_budget_target_and_workers(crowd, model):
    prices = {worker: 1.0 + worker % 3 for worker in range(16) if worker != 7}
    plan = model.next_labels(500, costs=prices, budget=100)
    assert 95 < plan["spent"].iloc[-1] <= 100
    assert_allclose(plan["spent"], plan["cost"].cumsum())
    assert_allclose(plan["cost"], plan["worker"].map(prices))
    assert 7 not in set(plan["worker"])
    assert plan["error"].is_monotonic_decreasing
    given = set(zip(*(first_answers(crowd, 4)[name] for name in ("task", "worker")), strict=True))
    bought = list(zip(plan["task"], plan["worker"], strict=True))
    assert not given & set(bought)
    assert len(set(bought)) == len(bought)
    now = expected_error(model.probas_)
    reached = model.next_labels(5000, target_error=0.9 * now)
    assert reached["error"].iloc[-1] <= 0.9 * now < reached["error"].iloc[-2]
    assert len(model.next_labels(50, target_error=1.1 * now)) == 0
    assert set(model.next_labels(50, workers=[3, 5])["worker"]) <= {3, 5}
    pairs = pd.DataFrame({"task": [1, 2, 3], "worker": [4, 5, 6]})
    found = model.next_labels(50, workers=pairs)
    assert set(zip(found["task"], found["worker"], strict=True)) <= {(1, 4), (2, 5), (3, 6)}


def test_never_two_copies_of_a_judge():
    crowd = make_crowd(300, 8, 2, labels_per_task=8, accuracy=(0.6, 0.8), random_state=1)
    copies = [crowd.answers[crowd.answers["worker"] == 0].assign(worker=name) for name in (100, 101)]
    answers = pd.concat([crowd.answers, *copies])
    few = answers[(answers["task"] < 100) | (answers["worker"] == 1)]
    model = DawidSkene().fit(few)
    assert sorted(model.resolved_["families"][0]) == [0, 100, 101]
    plan = model.next_labels(5000, workers=[0, 100, 101, 2])
    assert plan["worker"].isin([0, 100, 101]).any()
    assert plan[plan["worker"] != 2].groupby("task").size().max() == 1
    cheap = model.next_labels(5000, costs={0: 3, 100: 1, 101: 2, 2: 1})
    assert set(cheap["worker"]) == {100, 2}  # the cheapest of them


def test_never_two_judges_who_are_nearly_the_same(rng):
    """Twins who differ in one of fifty answers: neither a plan nor the curve pays for both."""
    crowd = make_crowd(600, 6, 2, labels_per_task=6, accuracy=(0.6, 0.8), random_state=2)
    twin = crowd.answers[crowd.answers["worker"] == 0].assign(worker="twin")
    label = twin["label"].to_numpy()
    twin["label"] = np.where(rng.random(len(twin)) < 0.02, 1 - label, label)
    answers = pd.concat([crowd.answers, twin]).astype({"worker": str})
    few = answers[(answers["task"] < 300) | (answers["worker"] == "1")]
    model = DawidSkene().fit(few)
    assert model.resolved_["families"] == [["0", "twin"]]
    plan = model.next_labels(5000, costs={"0": 1.0, "twin": 1.0, "2": 2.0})
    of_twins = plan[plan["worker"] != "2"]
    assert len(of_twins) > 100
    assert of_twins.groupby("task").size().max() == 1
    both, one = (model.labels_needed(0.001, workers=who).curve for who in (["0", "twin"], ["0"]))
    assert both["answers"].iloc[-1] == one["answers"].iloc[-1]


def test_a_group_whose_members_differ_is_asked_twice():
    crowd = make_crowd(300, 8, 2, labels_per_task=8, accuracy=(0.6, 0.8), random_state=1)
    few = crowd.answers[(crowd.answers["task"] < 100) | (crowd.answers["worker"] == 1)]
    model = DawidSkene().fit(few, groups={2: "a", 3: "a"})
    plan = model.next_labels(5000, workers=[2, 3])
    assert plan.groupby("task").size().max() == 2


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (3, 1), (4, 2)])
def test_the_promised_error_is_kept_on_planted_crowds(n_classes, seed):
    crowd = make_crowd(1500, 20, n_classes, labels_per_task=12, accuracy=(0.6, 0.85), random_state=seed)
    model = DawidSkene().fit(first_answers(crowd, 3))
    rest = crowd.answers[["task", "worker"]].iloc[~crowd.answers.index.isin(first_answers(crowd, 3).index)]
    plan = model.next_labels(2000, workers=rest)
    bought = crowd.answers.merge(plan[["task", "worker"]])
    assert 1990 <= len(bought) <= 2000  # the last answers may gain too little
    again = DawidSkene().fit(pd.concat([first_answers(crowd, 3), bought]))
    error = (again.labels_ != crowd.truth.loc[again.tasks_]).mean()
    assert abs(plan["error"].iloc[-1] - error) < 0.02
    assert abs(expected_error(again.probas_) - error) < 0.02


def test_answers_needed(model):
    now = expected_error(model.probas_)
    found = model.labels_needed(now / 2)
    assert found.curve["answers"].iloc[0] == 0
    assert_allclose(found.curve["error"].iloc[0], now)
    assert found.curve["cost"].is_monotonic_increasing
    assert found.curve["answers"].iloc[-2] < found.answers <= np.ceil(found.curve["answers"].iloc[-1])
    assert "more answers are needed" in found.words()  # not money, where nobody named a price
    dear = model.labels_needed(now / 2, costs=dict.fromkeys(range(16), 10.0))
    assert_allclose(dear.cost, 10 * found.cost)
    assert f"more answers for {dear.cost:,.2f} are needed" in dear.words()
    assert model.labels_needed(2 * now).answers == 0
    never = model.labels_needed(1e-9, workers=[0])
    assert never.answers is None
    assert "cannot reach" in never.words()


def test_a_plan_names_neither_gold_tasks_nor_answers_that_prevent_nothing():
    crowd = make_crowd(300, 8, 2, labels_per_task=3, accuracy=(0.6, 0.85), random_state=4)
    gold = crowd.truth.iloc[:60].to_dict()
    for fitted in (DawidSkene().fit(crowd.answers, gold=gold), DawidSkene().fit(crowd.answers).calibrate(gold)):
        for plan in (fitted.next_labels(300), fitted.next_labels(5000, budget=4000)):
            assert 0 < len(plan) < 300 * 5
            assert not plan["task"].isin(gold).any()
        last = plan.groupby("task")["gain"].last()
        assert (last > 0).all()
        assert abs(plan["error"].iloc[-1] - fitted.labels_needed(1e-6).curve["error"].iloc[-1]) < 0.01
    both = pd.DataFrame({"task": list(gold), "worker": 0})  # unless they are asked for
    assert fitted.next_labels(50, workers=both)["task"].isin(gold).all()


def test_the_curve_is_that_of_the_binomial():
    """One, two, three answers of equal workers to tasks of which nothing is known: the error of the vote."""
    confusions = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))
    market = Market(np.arange(3), confusions, np.ones(3), np.ones((2000, 3), bool), np.arange(3))
    curve = foresee(np.full((2000, 2), 0.5), market, target=0).set_index("answers")["error"]
    assert_allclose(curve.iloc[-1], 0.2**3 + 3 * 0.2**2 * 0.8, atol=0.01)
    assert needed(curve.reset_index().assign(cost=0.0), 0.2).answers == 1


def test_costs_from_anywhere(tmp_path):
    table = pd.DataFrame({"worker": ["ann", "bob"], "cost": [2, 0.5]})
    table.to_csv(tmp_path / "costs.csv", index=False)
    for given in (table, tmp_path / "costs.csv", {"ann": 2, "bob": 0.5}):
        assert read_costs(given).to_dict() == {"ann": 2.0, "bob": 0.5}
    for wrong in ({"ann": 0}, {"ann": "much"}, {"ann": float("inf")}):
        with pytest.raises(InputError, match="'ann' is not a positive number"):
            read_costs(wrong)
    with pytest.raises(InputError, match="several costs"):
        read_costs(pd.concat([table, table]))
    with pytest.raises(TypeError, match="costs is a dict"):
        read_costs(3)
    with pytest.raises(InputError, match="one name"):
        can_be_asked("ann", np.arange(2), np.array(["ann"], dtype=object))


def test_wrong_requests(model):
    with pytest.raises(InputError, match="who gave no answer"):
        model.next_labels(5, costs={"nobody": 1})
    with pytest.raises(InputError, match="budget=-1"):
        model.next_labels(5, budget=-1)
    with pytest.raises(InputError, match="takes no costs"):
        model.next_labels(5, goal="identify", budget=3)
    with pytest.raises(InputError, match="target=0"):
        model.labels_needed(0)
