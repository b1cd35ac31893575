"""Fewer than three independent workers: nothing tells who is right where they differ, and the fit says so."""

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, alternative_annotator_test, evaluate

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FINDING = "fewer than three independent workers"


def panel(seed, *, copy=False, n=400):
    """A good and a lenient judge or, with ``copy``, a good one, a mediocre one and its copy; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.67

    def judge(passes, fails):
        return np.where(rng.random(n) < np.where(truth, passes, fails), truth, ~truth)

    said = {"good": judge(0.92, 0.86)}
    if copy:
        said["middling"] = judge(0.82, 0.78)
        said["copy"] = said["middling"] ^ (rng.random(n) < 0.03)
    else:
        said["lenient"] = judge(0.97, 0.45)
    rows = [(t, name, "pass" if one else "fail") for name, all_ in said.items() for t, one in enumerate(all_)]
    answers = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return (
        answers,
        pd.Series(np.where(truth, "pass", "fail")),
        {name: (all_ == truth).mean() for name, all_ in said.items()},
    )


@pytest.mark.parametrize("copy", [False, True])
def test_confidence_and_accuracies_do_not_pretend(copy):
    held = []
    for seed in range(5):
        answers, truth, accuracy = panel(seed, copy=copy)
        model = DawidSkene().fit(answers)
        assert model.probas_.max(axis=1).mean() < (model.labels_ == truth).mean() + 0.05
        report = model.worker_report().set_index("worker")
        held += [report.accuracy_low[name] <= right <= report.accuracy_high[name] for name, right in accuracy.items()]
        assert FINDING in model.diagnose()["finding"].to_list()
    assert np.mean(held) >= 0.9


def test_a_third_independent_worker_is_enough():
    answers, truth, _ = panel(0, copy=True)
    rng = np.random.default_rng(1)
    third = np.where(rng.random(len(truth)) < 0.85, truth, np.where(truth == "pass", "fail", "pass"))
    third = pd.DataFrame({"task": truth.index, "worker": "third", "label": third})
    model = DawidSkene().fit(pd.concat([answers[answers["worker"] != "copy"], third]))
    assert FINDING not in model.diagnose()["finding"].to_list()
    assert model._fitting.leaning == 0


def test_gold_labels_tell_who_is_right():
    answers, truth, _ = panel(3)
    gold = truth.sample(60, random_state=0)
    others = truth.drop(gold.index)
    blind = pd.Series(DawidSkene().fit(answers).labels_)
    found = evaluate(answers, gold=gold, positive="pass")
    labels = found.model.result().set_index("task")["label"]
    assert (labels[others.index] == others).mean() > (blind[others.index] == others).mean() + 0.05
    assert found.audit.n_right == (blind[gold.index] == gold).sum()  # the audit is of labels without gold


def test_a_judge_with_a_certain_flaw_is_ruled_out_and_no_label_asked_for():
    """A judge that mostly says pass, whom the test alone would need more tasks for."""
    rng = np.random.default_rng(3)
    n = 400
    truth = rng.random(n) < 0.67

    def right(share):
        return np.where(rng.random(n) < share, truth, ~truth)

    judges = {"one": right(0.9), "two": right(0.88), "three": right(0.85), "lazy": truth | (rng.random(n) < 0.7)}
    people = {name: right(share) for name, share in (("ann", 0.93), ("bob", 0.9), ("cy", 0.87))}
    answered = {name: rng.random(n) < 0.4 for name in people} | {name: np.ones(n, dtype=bool) for name in judges}
    tables = [
        pd.DataFrame(
            [
                (t, name, "pass" if said[t] else "fail")
                for name, said in all_.items()
                for t in np.flatnonzero(answered[name])
            ],
            columns=["task", "worker", "label"],
        )
        for all_ in (judges, people)
    ]
    test = alternative_annotator_test(*tables).judges.set_index("judge")["decision"]
    assert test["lazy"] == "too few tasks to say"
    found = evaluate(*tables, positive="pass")
    decisions = found.replacement.judges.set_index("judge")["decision"]
    assert decisions["lazy"] == "ruled out"
    assert decisions["one"] == "may replace"
    assert "lazy is ruled out" in found.decision()[-2]
    assert not any("lazy" in step.finding for step in found.next_steps() if "too few" in step.finding)
