"""What an evaluation rests on, compared with slow forms and planted truth."""

import functools
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import DawidSkene, alternative_annotator_test, evaluate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.advice.audit import audit, audit_of
from rectifact.crowd.advice.dependence import excess_agreement
from rectifact.crowd.copies import fit_without_copies, pairs_of
from rectifact.crowd.data.people import read_panel
from rectifact.crowd.panel_accuracy import leads_of, measured_accuracies
from rectifact.crowd.panel_bias import biases_of
from rectifact.crowd.panel_gap import agreement_gaps
from rectifact.datasets import make_crowd


@pytest.fixture(scope="module")
def crowd():
    return make_crowd(300, 6, 3, labels_per_task=4, accuracy=(0.6, 0.9), random_state=3)


def table_of(answers):
    return {name: rows.set_index("task")["label"] for name, rows in answers.groupby("worker")}


def test_agreement_gaps_are_means_over_pairs_of_answers(crowd):
    answers = crowd.answers
    is_judge = answers["worker"] < 3
    gaps = agreement_gaps(read_panel(answers[is_judge], answers[~is_judge])).set_index("judge")
    by_task = [(rows[rows["worker"] < 3], rows[rows["worker"] >= 3]) for _, rows in answers.groupby("task")]
    among = [np.mean([a == b for a, b in combinations(people["label"], 2)]) for _, people in by_task if len(people) > 1]
    for judge in ("all judges", 0, 1, 2):
        own = [
            (judges if judge == "all judges" else judges[judges["worker"] == judge], people)
            for judges, people in by_task
        ]
        with_people = [
            np.mean([a == b for a in judges["label"] for b in people["label"]])
            for judges, people in own
            if len(judges) and len(people)
        ]
        assert_allclose(gaps.loc[judge, "with_people"], np.mean(with_people))
        assert_allclose(gaps.loc[judge, "gap"], np.mean(with_people) - np.mean(among))
        assert gaps.loc[judge, "low"] < gaps.loc[judge, "gap"] < gaps.loc[judge, "high"]


@pytest.mark.filterwarnings("ignore:.*on which people tie")
def test_verdicts_on_judges_do_not_depend_on_the_seed(crowd):
    found = [evaluate(crowd.answers, people=[3, 4, 5], positive=1, random_state=seed) for seed in (0, 1)]
    first, second = (one.gaps for one in found)
    pd.testing.assert_frame_equal(first, second)
    assert found[0].agreement.overall["low"].tolist() != found[1].agreement.overall["low"].tolist()
    pd.testing.assert_frame_equal(*(one.replacement.judges for one in found))


def test_excess_agreement_is_observed_minus_expected(crowd):
    model = DawidSkene().fit(crowd.answers)
    fitted, said = model._model, table_of(crowd.answers)
    found = excess_agreement(model._answers.one_hot(), fitted)
    place = {task: i for i, task in enumerate(model.tasks_.tolist())}
    for a, b, excess, common in zip(found.one, found.other, found.excess, found.common, strict=True):
        one, other = (said[model.workers_[w]] for w in (a, b))
        both = one.index.intersection(other.index)
        chance = np.einsum("kc,kc->c", fitted.confusions[a], fitted.confusions[b])
        expected = sum(fitted.posteriors[place[task]] @ chance for task in both)
        assert_allclose(excess, (one[both] == other[both]).sum() - expected, atol=1e-6)
        assert_allclose(common, len(both), atol=1e-6)


def test_with_all_labels_known_a_bias_is_a_difference_of_shares(crowd):
    answers = read_answers(crowd.answers)
    known = answers.known((crowd.truth.index.to_numpy(), crowd.truth.to_numpy()))
    found = biases_of(answers, answers.shares(), known, against="gold labels").table
    for row in found.to_dict("records"):
        theirs = crowd.answers[crowd.answers["worker"] == row["worker"]]
        true = crowd.truth.loc[theirs["task"]].to_numpy()
        said = theirs["label"].to_numpy()
        expected = np.mean(said == row["class"]) - np.mean(true == row["class"])
        assert_allclose(row["bias"], expected, atol=0.02)  # predictions of all tasks take part a little
        assert row["low"] <= expected <= row["high"]
        assert row["labels"] == row["tasks"] == len(theirs)


@pytest.mark.parametrize("n_gold", [0, 100])
def test_biases_cover_the_planted_ones(n_gold):
    covered = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = rng.random(400) < 0.5
        lenient = {"a": 0.0, "b": 0.0, "c": 0.3, "d": 0.1}
        said = {name: (truth ^ (rng.random(400) > 0.9)) | (rng.random(400) < more) for name, more in lenient.items()}
        answers = read_answers(pd.DataFrame({"task": np.arange(400), **said}).astype(int), wide=True)
        model = DawidSkene().fit(answers)
        known = None if not n_gold else np.where(rng.permutation(400) < n_gold, truth, -1)
        found = biases_of(answers, model.probas_, known, against="gold labels").table.set_index("worker")
        for name, more in lenient.items():
            covered.append(found.loc[name, "low"] <= 0.5 * more <= found.loc[name, "high"])
        assert found.loc["c", "certain"]
        assert found.loc["c", "bias"] > 0
    assert np.mean(covered) > 0.85


def panel(seed, accuracies, n=400):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.55
    return {name: truth ^ (rng.random(n) > accuracy) for name, accuracy in accuracies.items()}, rng, truth


def wide(said):
    table = pd.DataFrame({"task": np.arange(len(next(iter(said.values())))), **said})
    return read_answers(table.astype(int), wide=True)


def test_copies_are_not_taken_for_the_truth():
    for seed in range(6):
        said, rng, truth = panel(seed, {"a": 0.9, "b": 0.85, "twin": 0.8, "e": 0.75})
        said["twin-2"] = said["twin"] ^ (rng.random(len(truth)) < 0.02)
        answers = wide(said)
        assert (DawidSkene().fit(answers).labels_ != truth).mean() < 0.15
        fitted = fit_without_copies(DawidSkene(), answers)
        assert [pair[:2] for pair in pairs_of(fitted, answers.given > 0) if pair.twins] == [("twin", "twin-2")]
        assert (fitted.labels_ != truth).mean() < 0.15


def test_two_excellent_judges_are_not_twins():
    for seed in range(4):
        said, _, truth = panel(seed, {"a": 0.98, "b": 0.97, "c": 0.75, "d": 0.7, "e": 0.72})
        answers = wide(said)
        fitted = fit_without_copies(DawidSkene(), answers)
        assert pairs_of(fitted, answers.given > 0) == []
        assert (fitted.labels_ == truth).mean() > 0.95


def test_an_audit_does_not_see_the_gold_labels(crowd):
    gold = crowd.truth.sample(60, random_state=0)
    wrong = gold.map(lambda label: (label + 1) % 3)  # labels that nobody would infer
    model = DawidSkene().fit(crowd.answers, gold=wrong)
    assert (
        model.labels_[np.isin(model.tasks_, wrong.index)] == wrong.loc[model.tasks_[np.isin(model.tasks_, wrong.index)]]
    ).all()
    found = audit_of(model)
    assert found.contradiction().startswith("Gold labels do not fit the answers")
    assert found.findings()[0].on_command_line().endswith("or leave --gold out.")
    blind = pd.Series(DawidSkene().fit(crowd.answers).labels_, index=DawidSkene().fit(crowd.answers).tasks_)
    assert found.n_right == (blind.loc[wrong.index] == wrong).sum()
    assert found.n_gold == 60
    assert found.low < found.accuracy < found.high
    assert audit_of(DawidSkene().fit(crowd.answers)) is None


@pytest.mark.parametrize("mistake", ["swapped", "shuffled"])
def test_gold_labels_that_do_not_fit_the_answers_open_the_decision(mistake):
    said, rng, truth = panel(3, {"a": 0.9, "b": 0.85, "c": 0.85, "d": 0.8}, n=200)
    answers = (
        pd.DataFrame({"task": np.arange(200), **said}).astype(int).melt("task", var_name="worker", value_name="label")
    )
    true = truth[:60].astype(int)
    wrong = 1 - true if mistake == "swapped" else rng.permutation(true)
    for labels, doubted in ((true, False), (wrong, True)):
        found = evaluate(answers, gold=pd.Series(labels, index=np.arange(60)), positive=1)
        assert found.audit.is_contradicted == doubted
        assert found.decision()[0].startswith("Do not rely on anything below yet.") == doubted
        assert ("gold labels that do not fit the answers" in [step.finding for step in found.next_steps()]) == doubted


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
@pytest.mark.parametrize("reference", ["gold", "people"])
def test_labels_of_one_version_alone_open_the_decision(reference):
    said, _, truth = panel(3, {"a": 0.9, "b": 0.85, "c": 0.85, "ann": 0.9}, n=200)
    table = pd.DataFrame({"task": np.arange(200), **said}).astype(int)
    versions = pd.Series(np.where(np.arange(200) % 2, "new", "old"))
    for labelled, covered in ((np.arange(0, 120, 2), True), (np.arange(120), False)):
        answers = table.melt("task", var_name="worker", value_name="label")
        answers = answers[(answers["worker"] != "ann") | (reference == "people") & answers["task"].isin(labelled)]
        measure = {"people": ["ann"]} if reference == "people" else {"gold": pd.Series(truth.astype(int))[labelled]}
        found = evaluate(answers, positive=1, by=versions, **measure)
        words = f"{'Gold labels' if reference == 'gold' else 'Labels of people'} cover old alone: "
        assert found.decision()[0].startswith(words) == covered
        steps = [step.finding for step in found.next_steps()]
        assert any(step.endswith("in new") for step in steps) == covered


def test_gold_labels_of_one_class_may_fit_by_chance():
    """Nine of ten tasks are of one class: labels that are right are hardly better than shuffled ones."""
    posteriors = np.array([[0.97, 0.03]] * 93 + [[0.03, 0.97]] * 7)
    assert not audit(posteriors, np.repeat([0, 1, 0], [88, 5, 7])).is_contradicted


@pytest.mark.filterwarnings("ignore:.*on which people tie")
def test_people_decide_where_gold_labels_are_few(crowd):
    is_judge = crowd.answers["worker"] < 3
    judges, people = crowd.answers[is_judge], crowd.answers[~is_judge]
    with pytest.warns(FitWarning, match="5 gold labels are too few to measure by, so people decide"):
        found = evaluate(judges, people, gold=crowd.truth[:5], positive=1)
    assert found.reference == "people"
    assert found.audit.n_gold == 5
    assert set(found.biases.table["worker"]) == {0, 1, 2}  # people are not compared with themselves
    assert found.decision()[0].startswith("As people label")
    many = evaluate(judges, people, gold=crowd.truth[:50], positive=1)
    assert many.reference == "gold labels"
    assert set(many.biases.table["worker"]) == set(range(6))


def test_with_all_labels_known_a_lead_is_a_difference_of_accuracies():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 500)
    said = np.column_stack([np.where(rng.random(500) < share, truth, (truth + 1) % 3) for share in (0.9, 0.8, 0.89)])
    said[rng.random(said.shape) < 0.2] = -1
    leads = {lead.other: lead for lead in leads_of(said, np.eye(3)[truth], ["a", "b", "c"], 0, [1, 2])}
    for other, name in ((1, "b"), (2, "c")):
        both = (said[:, 0] >= 0) & (said[:, other] >= 0)
        gaps = (said[both, 0] == truth[both]).astype(float) - (said[both, other] == truth[both])
        error = np.sqrt(gaps.var() / both.sum() + 1 / (3 * both.sum() ** 2))
        assert leads[name].value == pytest.approx(gaps.mean())
        assert leads[name].high - leads[name].low == pytest.approx(2 * 1.959964 * error, rel=1e-5)
        assert leads[name].tasks == both.sum()
    assert leads["b"].certain
    assert not leads["c"].certain


def test_a_judge_who_errs_alike_everywhere_favours_no_group():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 600)
    truth = rng.random(1200) < np.where(group == 0, 0.25, 0.8)
    said = {"even": truth ^ (rng.random(1200) < 0.2), "fan": truth | ((group == 1) & (rng.random(1200) < 0.5))}
    rows = pd.DataFrame(said).astype(int).rename_axis("task").reset_index().melt("task", var_name="worker")
    answers = read_answers(rows.rename(columns={"value": "label"}))
    options = {"against": "gold labels", "groups": (group[answers.tasks.astype(int)], np.array(["A", "B"]))}
    known = truth.astype(int)[answers.tasks.astype(int)]
    found = biases_of(answers, answers.shares(), known, **options)
    changes, bias = found.changes.set_index("worker"), found.table.query("worker == 'even'").set_index("group")["bias"]
    assert bias["A"] - bias["B"] > 0.15  # errors draw both rates to the middle
    assert abs(changes.loc["even", "change"]) < 0.06
    assert not changes.loc["even", "certain"]
    assert changes.loc["fan", "certain"]


def graded_panel(seed, n=250):
    """Grades of five judges who take the same tasks for better, or worse, than they are; and the true ones."""
    rng = np.random.default_rng(seed)
    quality, shared = rng.normal(size=n), rng.normal(0, 0.5, n)
    grade = functools.partial(np.digitize, bins=[-1.3, -0.5, 0.1, 0.8])
    noise = {"gpt": 0.25, "claude": 0.3, "qwen": 0.4, "llama": 0.6, "mini": 0.7}
    said = {name: grade(quality + shared + rng.normal(0, spread, n)) + 1 for name, spread in noise.items()}
    table = pd.DataFrame(said, index=[f"t{i}" for i in range(n)]).rename_axis("task").reset_index()
    answers = table.melt("task", var_name="worker", value_name="label")
    return answers, pd.Series(grade(quality) + 1, index=table["task"]), rng


@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_grades_that_gold_labels_calibrate_are_not_called_too_sure():
    rng = np.random.default_rng(0)
    quality = rng.normal(3, 1.1, 200)
    said = np.clip(np.round(quality[:, None] + rng.normal(0, 0.7, (200, 5))), 1, 5).astype(int)
    truth = pd.Series(np.clip(np.round(quality), 1, 5).astype(int))
    for gold, warned in ((None, True), (truth[:5], True), (truth[:60], False)):
        found = evaluate(said, gold=gold, ordinal=True).findings
        assert ("confidence of grades without gold labels" in [finding.finding for finding in found]) == warned


def test_accuracies_of_judges_who_share_errors_are_measured_by_gold_labels():
    held = {"gold labels": [], "all answers": []}
    for seed in range(6):
        answers, truth, rng = graded_panel(seed)
        true = (answers["label"] == answers["task"].map(truth)).groupby(answers["worker"]).mean()
        found = evaluate(answers, gold=truth.sample(60, random_state=rng), ordinal=True)
        for table in (found.workers(), found.model.worker_report().assign(accuracy_by="all answers")):
            assert table["accuracy_by"].nunique() == 1
            inside = (table["accuracy_low"] <= true[table["worker"]].to_numpy()) & (
                true[table["worker"]].to_numpy() <= table["accuracy_high"]
            )
            held[table["accuracy_by"].iloc[0]] += inside.tolist()
    assert np.mean(held["gold labels"]) > 0.8
    assert np.mean(held["all answers"]) < 0.4


def test_without_help_of_posteriors_a_measured_accuracy_is_that_on_the_labels():
    rng = np.random.default_rng(0)
    said, truth = rng.integers(-1, 3, (200, 4)), np.where(np.arange(200) < 60, rng.integers(0, 3, 200), -1)
    said[15:60, 3] = -1
    said[:7, 3] = 0
    said[7:15, 3] = -1  # seven labels are too few
    found = measured_accuracies(said, np.full((200, 3), 1 / 3), truth)
    assert sorted(found) == [0, 1, 2]
    for worker, one in found.items():
        labelled = (said[:, worker] >= 0) & (truth >= 0)
        assert one.value == pytest.approx((said[labelled, worker] == truth[labelled]).mean())
        assert one.n_labels == labelled.sum()


def test_leads_are_measured_by_labels_where_posteriors_are_wrong():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 600)
    said = np.column_stack([truth ^ (rng.random(600) < share) for share in (0.1, 0.25)])
    wrong = np.eye(2)[said[:, 1]] * 0.98 + 0.01  # posteriors that follow the worse of the two
    known = np.where(np.arange(600) < 200, truth, -1)
    by_model, by_gold = (leads_of(said, wrong, ["a", "b"], 0, [1], 0.95, labels)[0] for labels in (None, known))
    assert by_model.value < -0.2
    assert by_gold.low < (said[:, 0] == truth).mean() - (said[:, 1] == truth).mean() < by_gold.high
    assert by_gold.certain
    assert leads_of(said, wrong, ["a", "b"], 0, [1], 0.95, np.where(np.arange(600) < 9, truth, -1)) == []


def test_leads_are_by_people_where_there_are_no_gold_labels(crowd):
    answers = crowd.answers
    with pytest.warns(FitWarning, match="people tie"):
        found = evaluate(answers[answers["worker"] < 3], answers[answers["worker"] >= 3], positive=1)
    assert "has the highest accuracy, as people label. Compared on" in " ".join(found.words())
    alone = evaluate(answers[answers["worker"] < 3], positive=1)
    assert "has the highest accuracy, if the model is right. Compared on" in " ".join(alone.words())


def test_the_joint_label_of_a_panel_is_compared_with_each_judge(crowd):
    answers = crowd.answers
    judges, people = (answers[answers["worker"] < 2], answers[answers["worker"] >= 2])
    test = alternative_annotator_test(judges, people)
    name, same, n = test.follows
    assert name in (0, 1)
    assert 0 < same <= n
    copied = pd.concat([judges[judges["worker"] == 0], judges[judges["worker"] == 0].assign(worker=1)])
    copied = alternative_annotator_test(copied, people)
    assert copied.follows[1] == copied.follows[2]
    assert copied.words()[-1] == f"panel (all judges) is the answer of 0 on all {copied.follows[2]} tasks."
