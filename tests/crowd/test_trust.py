import numpy as np
import pytest
from numpy.testing import assert_allclose

from rectifact.core.operand import operand
from rectifact.crowd import DawidSkene, MajorityVote
from rectifact.crowd.trust import foretold
from rectifact.datasets import load_crowd, make_crowd


@pytest.mark.parametrize("name", ["bluebird", "trec"])
@pytest.mark.parametrize("per_task", [2, 3, 5])
def test_with_few_answers_the_labels_are_about_as_good_as_the_vote_and_say_that_workers_are_hardly_known(
    name, per_task, load_or_skip
):
    """EM alone puts nearly all tasks into one class, is sure of it, and up to ten more labels in a hundred are wrong."""
    crowd = load_or_skip(load_crowd, name)
    errors = []
    for seed in range(3):
        truth = crowd.truth.sample(min(len(crowd.truth), 500), random_state=seed)
        answers = crowd.answers[crowd.answers["task"].isin(truth.index)].sample(frac=1, random_state=seed)
        few = answers[answers.groupby("task").cumcount() < per_task]
        models = DawidSkene().fit(few), MajorityVote().fit(few)
        errors.append([np.mean(model.labels_ != truth.loc[model.tasks_].to_numpy()) for model in models])
        found = models[0].diagnose().set_index("finding")
        assert models[0]._fitting.leaning == 0 or "workers are hardly known" in found.index
    ours, vote = np.mean(errors, axis=0)
    assert ours < vote + (0.05 if per_task == 5 else 0.02)


def test_how_far_answers_foretell_each_other_equals_a_sum_over_single_answers():
    crowd = make_crowd(30, 5, 3, labels_per_task=3, random_state=0)
    model = DawidSkene().fit(crowd.answers)
    fitted, answers = model._model, model._answers
    known = np.where(np.arange(30) < 4, 1, -1)
    nats, given = np.zeros(5), np.zeros(5)
    rows = list(zip(*answers.codes[:3], strict=True))
    for task, worker, _ in rows:
        others = fitted.priors.copy()
        for other_task, other, said in rows:
            if other_task == task and other != worker:
                others *= fitted.confusions[other, said]
        others = np.eye(3)[known[task]] if known[task] >= 0 else others / others.sum()
        expected, usual = fitted.confusions[worker] @ others, fitted.confusions[worker] @ fitted.priors
        nats[worker] += np.sum(expected * np.log(expected / usual))
        given[worker] += 1
    slow = np.average(nats, weights=given)
    assert_allclose(foretold(operand(answers.one_hot()), fitted, np.ones(5), known), slow, rtol=1e-10)
