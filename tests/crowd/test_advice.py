"""What users ask beside labels: workers, plans, diagnosis, calibration, updates, gold, weights, prediction."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from rectifact import KOS, DawidSkene, InputError, MajorityVote
from rectifact.core.errors import FitWarning, count
from rectifact.crowd import read_answers
from rectifact.crowd.advice import held_out
from rectifact.crowd.advice.calibration import temperature, tempered
from rectifact.crowd.advice.held_out import FOLDS, _folds
from rectifact.crowd.advice.support import agreement
from rectifact.crowd.advice.workers import expected_gain, information, spammer_score
from rectifact.datasets import load_crowd, make_crowd
from rectifact.metrics import log_loss


@pytest.fixture(scope="module")
def crowd():
    return make_crowd(1200, 24, 3, labels_per_task=6, n_spammers=4, accuracy=(0.65, 0.95), random_state=5)


@pytest.fixture(scope="module")
def model(crowd):
    return DawidSkene().fit(crowd.answers)


def truth_of(crowd, model):
    return crowd.truth.loc[model.tasks_].to_numpy()


def test_workers_are_described_as_they_are(crowd, model):
    report = model.worker_report().set_index("worker").loc[range(24)]
    accuracy = np.einsum("mkk,k->m", crowd.confusions, crowd.prior)
    inside = (report["accuracy_low"] <= accuracy) & (accuracy <= report["accuracy_high"])
    assert inside.mean() > 0.7  # a 90 % interval that does not know of the posteriors' own doubt
    assert (report["spammer"][:4] > 0.8).all()
    assert (report["spammer"][4:] < 0.8).all()
    assert (report["information"][:4] < 0.1).all()
    assert (report["information"][4:] > 0.2).all()
    bias = crowd.confusions @ crowd.prior - crowd.prior
    assert_allclose(report[["bias_0", "bias_1", "bias_2"]], bias, atol=0.15)


def test_information_is_mutual_information(rng):
    priors, confusions = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=(2, 3)).transpose(0, 2, 1)
    for m in range(2):
        joint = confusions[m] * priors
        expected = (joint * np.log2(joint / np.outer(joint.sum(axis=1), priors))).sum()
        assert_allclose(information(priors, confusions)[m], expected)
        gain = expected_gain(priors[None], confusions)[0, m]
        assert_allclose(gain, expected)
    assert_allclose(spammer_score(np.eye(4)[None]), 0)


def test_the_next_labels_are_where_they_help(crowd, model):
    plan = model.next_labels(20)
    assert len(plan) == 20
    assert (plan["gain"].diff().dropna() <= 1e-12).all()
    entropy = model.result().set_index("task")["entropy"]
    assert plan["entropy"].min() > entropy.quantile(0.9)
    asked = crowd.answers.groupby("task")["worker"].apply(set)
    for row in plan.itertuples():
        assert row.workers
        assert not asked[row.task] & set(row.workers)
        assert not {0, 1, 2, 3} & set(row.workers)  # never a spammer


def test_a_plan_is_the_same_in_small_pieces(model, monkeypatch):
    whole = model.next_labels(50)
    monkeypatch.setattr("rectifact.crowd.advice.planning.TILE", 1)
    pd.testing.assert_frame_equal(model.next_labels(50), whole)


def test_asking_as_planned_beats_asking_at_random(crowd):
    """Forty tasks get one more answer, drawn from the planted model; planned ones tell more."""
    rng = np.random.default_rng(0)
    gains = {}
    for name in ("planned", "random"):
        model = DawidSkene().fit(crowd.answers)
        plan = model.next_labels(60)
        tasks = plan["task"] if name == "planned" else pd.Series(rng.choice(model.tasks_, 60, replace=False))
        workers = [row[0] for row in plan["workers"]]
        drawn = [rng.choice(3, p=crowd.confusions[w][:, crowd.truth[t]]) for t, w in zip(tasks, workers, strict=True)]
        before = (model.labels_ != truth_of(crowd, model)).sum()
        model.partial_fit(pd.DataFrame({"task": tasks, "worker": workers, "label": drawn}))
        gains[name] = before - (model.labels_ != truth_of(crowd, model)).sum()
    assert gains["planned"] > gains["random"]


def test_pairs_to_bring_together(crowd):
    groups = make_crowd(400, 20, 2, assignment="groups", n_groups=4).answers
    plan = DawidSkene().fit(groups).next_labels(8, goal="identify")
    assert not plan["connected"].any()
    assert (plan["shared"] == 0).all()
    assert (plan["worker"] != plan["with_worker"]).all()
    with pytest.raises(InputError, match="choose 'labels' or 'identify'"):
        DawidSkene().fit(groups).next_labels(8, goal="more")


def findings(answers, **options):
    return set(DawidSkene(**options).fit(answers).diagnose()["finding"])


def test_good_data_has_no_findings():
    assert findings(make_crowd(2000, 20, 3, random_state=3).answers) == set()


def test_two_workers_who_agree_are_no_problem_of_the_classes():
    answers = pd.DataFrame({"task": list("aabb"), "worker": list("xyxy"), "label": ["yes", "yes", "no", "no"]})
    assert findings(answers) == {"workers with few answers", "fewer than three independent workers"}


def test_each_problem_is_named():
    assert "one answer per task" in findings(make_crowd(200, 10, 3, labels_per_task=1).answers)
    assert "workers fall into groups" in findings(make_crowd(400, 20, 3, assignment="groups").answers)
    assert "rare classes" in findings(make_crowd(3000, 20, 4, prior=[0.9, 0.08, 0.01, 0.01]).answers)
    matrix = np.array([[1, 1, 3], [3, 3, 3], [1, 3, 1], [1, 1, 1]])
    assert "classes that nobody chose" in findings(matrix, n_classes=3)
    assert "workers with few answers" in findings(make_crowd(100, 200, 3, labels_per_task=3).answers)
    assert "tasks without answers" in findings(np.array([[1, 1], [2, 2], [1, 2], [-1, -1]]))
    spam = make_crowd(1000, 20, 3, n_spammers=12).answers
    silent = (
        DawidSkene().fit(spam).diagnose().set_index("finding").loc["workers whose answers carry almost no information"]
    )
    assert silent["severity"] == "warning"  # more than a fifth of the workers
    assert silent["detail"].startswith("The answers of 12 of 20 workers (")
    assert silent["detail"].endswith(") hardly depend on the class.")
    liars = DawidSkene().fit(make_crowd(2000, 20, 3, n_adversaries=3).answers).diagnose().set_index("finding")
    assert liars.loc["workers who answer against the truth", "detail"].endswith("guessing: 0, 1, 2.")
    liar = DawidSkene().fit(make_crowd(2000, 20, 3, n_adversaries=1).answers).diagnose().set_index("finding")
    assert liar.loc["workers who answer against the truth", "detail"].startswith("1 worker is right less often")
    twins = make_crowd(1500, 20, 3, random_state=4).answers
    guessed = np.random.default_rng(0).integers(2, size=len(twins))  # nobody tells 0 from 1
    table = DawidSkene().fit(twins.assign(label=np.where(twins["label"] < 2, guessed, 2))).diagnose()
    detail = table.set_index("finding").loc["classes that look alike", "detail"]
    assert detail.startswith("Workers hardly tell 0 and 1 apart")


def test_labels_spelt_in_two_ways_are_one_unless_both_are_listed():
    answers = make_crowd(1000, 12, 3, random_state=3).answers
    sloppy = np.where(answers["worker"] == 0, "Good ", "good")
    answers = answers.assign(label=np.choose(answers["label"], [sloppy, "bad", "ugly"]))
    with pytest.warns(FitWarning, match="count as one: 'Good ' as 'good'"):
        model = DawidSkene().fit(answers)
    assert model.classes_.tolist() == ["bad", "good", "ugly"]
    apart = DawidSkene().fit(read_answers(answers, classes=["Good ", "bad", "good", "ugly"]))
    row = apart.diagnose().set_index("finding").loc["labels that differ only in case or spaces"]
    assert row["severity"] == "warning"
    assert "classes: 'Good ', 'good'." in row["detail"]
    assert "Merge them" in row["remedy"]


def test_a_class_without_tasks_looks_like_no_other():
    answers = make_crowd(600, 10, 3, random_state=3).answers
    rare = answers.assign(label=answers["label"].astype(str))
    rare.loc[[5, 500], "label"] = "odd"
    model = DawidSkene().fit(rare)
    assert model.probas_[:, model.classes_ == "odd"].sum() < 5
    assert "classes that look alike" not in set(model.diagnose()["finding"])


def test_repeated_answers_are_a_note():
    answers = make_crowd(500, 10, 3, random_state=3).answers
    table = DawidSkene().fit(pd.concat([answers, answers[:7]])).diagnose()
    row = table.set_index("finding").loc["repeated answers"]
    assert row["severity"] == "note"
    assert row["detail"].startswith("7 answers come from workers who had answered the task before")
    assert "repeated answers" not in findings(answers)


def test_the_remedy_for_dependence_knows_what_was_fitted():
    table = make_crowd(1500, 20, 3, labels_per_task=6, random_state=1).answers
    answers = table.assign(
        label=table.groupby("task")["label"].transform("first").where(table.index % 2 < 1, table["label"])
    )

    def dependence(model):
        return model.diagnose().set_index("finding").loc["answers to one task are not independent"]

    auto = dependence(DawidSkene().fit(answers))
    assert auto["detail"].endswith("too high where workers share errors, too low where some tasks are hard for all.")
    assert auto["remedy"].startswith("Have some tasks checked")
    full = DawidSkene(model="full").fit(answers)
    assert dependence(full)["remedy"] == "Use model='auto', which allows for this, or calibrate()."
    full.calibrate()
    assert dependence(full)["remedy"] == "Use model='auto', which allows for this."
    assert dependence(full)["detail"].endswith("confidence was lowered for it.")


def test_copies_are_found():
    answers = make_crowd(1500, 15, 3, labels_per_task=5, accuracy=(0.6, 0.8), random_state=1).answers
    copy = answers[answers["worker"] == 3].assign(worker=99)
    table = DawidSkene(model="full").fit(pd.concat([answers, copy])).diagnose()
    row = table[table["finding"] == "workers who err alike"].iloc[0]
    assert row["detail"].startswith("1 pair of workers agrees")
    assert "3, 99" in row["detail"]
    table = DawidSkene().fit(pd.concat([answers, copy])).diagnose().set_index("finding")  # counts them once
    assert "3 and 99" in table.loc["copies that count as one worker", "detail"]
    assert "workers who err alike" not in table.index
    assert "workers who err alike" not in findings(answers)


def test_diagnosis_names_odd_workers_safely():
    answers = make_crowd(200, 10, 2, labels_per_task=1).answers
    table = DawidSkene().fit(answers.assign(worker=answers["worker"].map(lambda w: f"<b>{w}"))).diagnose()
    assert list(table.columns) == ["severity", "finding", "detail", "remedy"]
    assert table["severity"].iloc[0] == "problem"


@pytest.mark.parametrize("kind", ["auto", "full", "one-coin"])
def test_new_tasks_of_known_workers(crowd, kind):
    old, new = crowd.answers[crowd.answers["task"] < 900], crowd.answers[crowd.answers["task"] >= 900]
    model = DawidSkene(model=kind).fit(old)
    probas = model.predict_proba(new)
    assert_allclose(probas.sum(axis=1), 1)
    error = (model.predict(new) != crowd.truth.to_numpy()[900:]).mean()
    vote = (MajorityVote().fit(new).labels_ != crowd.truth.to_numpy()[900:]).mean()
    assert error < vote
    with pytest.raises(InputError, match="1 worker was not in the data of the fit: 77"):
        model.predict(new.replace({"worker": {5: 77}}))


@pytest.mark.parametrize("kind", ["auto", "full", "one-coin"])
def test_more_answers_come_close_to_a_full_fit(crowd, kind):
    order = crowd.answers.sample(frac=1, random_state=0)
    model = DawidSkene(model=kind).fit(order[:5000])
    model.partial_fit(order[5000:])
    whole = DawidSkene(model=kind).fit(crowd.answers)
    position = pd.Index(model.tasks_).get_indexer(whole.tasks_)
    assert (model.labels_[position] == whole.labels_).mean() > 0.97
    assert model.result()["answers"].sum() == len(crowd.answers)
    report = model.worker_report().set_index("worker")["accuracy"]
    assert_allclose(report.loc[whole.workers_], whole.worker_report()["accuracy"], atol=0.1)


def test_new_workers_and_tasks_come_in(model, crowd):
    fresh = DawidSkene().fit(crowd.answers)
    more = pd.DataFrame({"task": ["new", "new", 5], "worker": [7, "zoe", "zoe"], "label": [1, 1, 2]})
    fresh.partial_fit(more)
    assert fresh.tasks_[-1] == "new"
    assert fresh.labels_[-1] == 1
    assert fresh.confusions_.shape == (25, 3, 3)
    assert len(fresh.predict(more)) == 2
    first = DawidSkene().partial_fit(crowd.answers)
    assert_allclose(first.probas_, model.probas_)


def test_answers_are_coded_like_the_model():
    names = np.array(["x", "y", "z"])
    model = DawidSkene().fit(make_crowd(200, 6, 3).answers.assign(label=lambda a: names[a["label"]]))
    new = pd.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": [0, 1, 2] * 2, "label": list("yyyzzz")})
    assert model.predict(read_answers(new)).tolist() == model.predict(new).tolist() == ["y", "z"]
    more = new.assign(task=new["task"] + 1000)
    assert model.partial_fit(read_answers(more)).labels_[-2:].tolist() == ["y", "z"]
    with pytest.raises(InputError, match="'q' is not among the classes"):
        model.predict(read_answers(new.replace("y", "q")))


def test_an_answer_that_was_impossible_says_nothing():
    answers = pd.DataFrame({"task": [1, 1, 2, 2, 3, 3], "worker": ["a", "b"] * 3, "label": [0, 0, 0, 1, 0, 1]})
    model = DawidSkene("majority", model="full", smoothing=0).fit(answers)
    probas = model.predict_proba(pd.DataFrame({"task": [9], "worker": ["a"], "label": [1]}))
    assert_allclose(probas, [model.priors_])


def test_gold_of_a_task_that_comes_later():
    crowd = make_crowd(100, 8, 2)
    model = DawidSkene().fit(crowd.answers, gold={0: 1, 999: 1})
    late = pd.DataFrame({"task": [999] * 4, "worker": [1, 2, 3, 4], "label": [0] * 4})
    model.partial_fit(late)
    assert model.labels_[-1] == 1
    whole = DawidSkene().fit(pd.concat([crowd.answers, late]), gold={0: 1, 999: 1})
    assert model.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=0.02)


def test_calibration_holds_for_predictions_until_the_next_fit(crowd):
    rng = np.random.default_rng(0)
    first = crowd.answers.groupby("task")["label"].transform("first")
    copied = crowd.answers.assign(label=np.where(rng.random(len(first)) < 0.4, first, crowd.answers["label"]))
    model = DawidSkene(model="full").fit(copied).calibrate()
    assert model.temperature_ < 1
    assert DawidSkene().fit(copied).calibrate().temperature_ == 1  # the default has allowed for it
    assert_allclose(model.predict_proba(copied), model.probas_, atol=1e-3)
    assert not hasattr(model.partial_fit(copied[:5]), "temperature_")
    assert DawidSkene().fit(make_crowd(50, 5, 2, labels_per_task=1).answers).calibrate().temperature_ <= 1


def test_gold_labels_are_kept_and_help():
    crowd = make_crowd(600, 12, 2, accuracy=(0.5, 0.65), labels_per_task=4, random_state=8)
    gold = crowd.truth.iloc[:200]
    plain, helped = DawidSkene().fit(crowd.answers), DawidSkene().fit(crowd.answers, gold=gold)
    rest = crowd.truth.iloc[200:]
    position = pd.Index(helped.tasks_).get_indexer(gold.index)
    assert (helped.labels_[position] == gold.to_numpy()).all()
    errors = [(pd.Series(m.labels_, m.tasks_).loc[rest.index] != rest).mean() for m in (plain, helped)]
    assert errors[1] <= errors[0]
    for form in (gold.to_dict(), gold.reset_index()):
        assert_allclose(DawidSkene().fit(crowd.answers, gold=form).probas_, helped.probas_)


def test_gold_from_a_file_and_its_mistakes(tmp_path):
    answers, path = tmp_path / "a.csv", tmp_path / "gold.csv"
    crowd = make_crowd(50, 6, 2)
    crowd.answers.to_csv(answers, index=False)
    crowd.truth.iloc[:9].to_csv(path)
    assert DawidSkene().fit(answers, gold=path).probas_.max(axis=1)[0] == 1
    fit = DawidSkene().fit
    with pytest.raises(InputError, match="gold label 9 of task 0 is none of the classes"):
        fit(crowd.answers, gold={0: 9})
    with pytest.raises(InputError, match="name the tasks alike"):
        fit(crowd.answers, gold={"zero": 1})
    with pytest.raises(InputError, match=r"Task 3 has two gold labels, 1 and 0\. Keep one gold label per task"):
        fit(crowd.answers, gold=pd.Series([1, 0, 0], index=[3, 5, 3]))
    with pytest.raises(InputError, match="gold='truth' is not a file"):
        fit(crowd.answers, gold="truth")
    swapped = fit(crowd.answers, gold=pd.Series([1, 0], index=[7, 2]))
    assert dict(zip(swapped.tasks_, swapped.labels_, strict=True))[7] == 1
    assert dict(zip(swapped.tasks_, swapped.labels_, strict=True))[2] == 0
    with pytest.raises(InputError, match="got list"):
        fit(crowd.answers, gold=[1, 2])
    path.write_text("task,colour,size\n0,1,2\n")
    with pytest.raises(InputError, match=r"No column for the label of the gold labels among \['task', 'colour', "):
        fit(answers, gold=path)
    with pytest.raises(InputError, match=r"The gold labels cannot be read. There is no file '.*none.csv'"):
        fit(answers, gold=tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["label", "truth", "Gold", "true_label", "correct", "says"])
def test_gold_columns_may_be_called_as_in_the_answers(name):
    crowd = make_crowd(50, 6, 2)
    answers = read_answers(
        crowd.answers.set_axis(["q", "who", "says"], axis="columns"), task="q", worker="who", label="says"
    )
    gold = pd.DataFrame({"id": "x", "q": crowd.truth.index[:9], name: 1 - crowd.truth.to_numpy()[:9]})
    fitted = DawidSkene().fit(answers, gold=gold)
    assert fitted.labels_[:9].tolist() == gold[name].tolist()


def test_weights_count_answers():
    answers = make_crowd(120, 10, 3).answers
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, size=len(answers))
    kind = {"identify": "majority", "model": "full"}
    repeated = DawidSkene(**kind).fit(answers.loc[answers.index.repeat(weights)])
    weighted = DawidSkene(**kind).fit(answers, weights=weights)
    position = pd.Index(weighted.tasks_).get_indexer(repeated.tasks_)
    rows = answers[weights > 0]["task"].nunique() == answers["task"].nunique()
    tolerance = 1e-6 if rows else 0.02  # a task without weight still has a say in nothing but the prior
    assert_allclose(weighted.probas_[position], repeated.probas_, atol=tolerance)
    for wrong in (weights[:5], -weights - 1, 0 * weights, np.full(len(weights), np.nan)):
        with pytest.raises(InputError, match="one number of at least 0"):
            DawidSkene().fit(answers, weights=wrong)
    with pytest.raises(InputError, match="must be numbers"):
        DawidSkene().fit(answers, weights=["a"] * len(answers))


def test_weights_in_the_default_model():
    answers = make_crowd(300, 10, 3).answers
    plain = DawidSkene().fit(answers)
    same = DawidSkene().fit(answers, weights=np.ones(len(answers)))
    assert_allclose(same.probas_, plain.probas_)
    half = DawidSkene().fit(answers, weights=np.full(len(answers), 0.5))
    assert half.resolved_["dispersion"] == pytest.approx(plain.resolved_["dispersion"], abs=0.15)
    junk = answers.assign(label=0)
    both = pd.concat([answers, junk])
    ignored = DawidSkene().fit(both, weights=np.repeat([1, 0], len(answers)))
    assert_allclose(ignored.probas_, plain.probas_)
    with pytest.raises(InputError, match="counts all answers alike"):
        KOS().fit(read_answers(answers).weighted(np.ones(len(answers))))


def test_calibration_makes_overconfident_posteriors_honest(load_or_skip):
    losses = {}
    for name in ("rte", "polarity", "face"):
        crowd = load_or_skip(load_crowd, name)
        model = DawidSkene(model="full").fit(crowd.answers)
        known = crowd.truth.index.intersection(model.tasks_)
        rows, codes = (
            pd.Index(model.tasks_).get_indexer(known),
            pd.Index(model.classes_).get_indexer(crowd.truth[known]),
        )
        before, labels = log_loss(model.probas_[rows], codes), model.labels_.copy()
        model.calibrate()
        losses[name] = before, log_loss(model.probas_[rows], codes)
        assert (model.labels_ == labels).all()
        assert model.temperature_ <= 1
    assert all(after < before for before, after in losses.values()), losses


def test_the_temperature_undoes_evidence_counted_twice(crowd):
    model = DawidSkene("majority", model="full").fit(crowd.answers)
    honest = model._held_out()
    twice = replace(honest, posteriors=tempered(honest.posteriors, 2.0))
    assert temperature(twice) == pytest.approx(temperature(honest) / 2, rel=0.02)


def test_a_left_out_answer_is_judged_by_a_model_that_has_not_seen_it(monkeypatch):
    """Independent form: for each fold, fit a table without its rows."""
    monkeypatch.setattr(held_out, "REFIT_ITERATIONS", 1000)
    monkeypatch.setattr(held_out, "REFIT_TOL", 1e-10)
    table = make_crowd(120, 6, 3, labels_per_task=4, random_state=1).answers.sort_values("task", kind="stable")
    answers = read_answers(table)
    model = DawidSkene("majority", model="full", tol=1e-10).fit(answers)
    found = model._held_out()
    assert len(found.label) == len(table)
    rows = answers.one_hot()
    task = np.repeat(np.arange(120), np.diff(rows.indptr))
    worker, label = np.divmod(rows.indices, 3)
    fold, seen = _folds(np.diff(rows.indptr)), 0
    for number in range(FOLDS):
        out = fold == number
        kept = pd.DataFrame({"task": task[~out], "worker": worker[~out], "label": label[~out]})
        refit = DawidSkene("majority", model="full", tol=1e-10).fit(kept)
        where, who = (
            pd.Index(names).get_indexer(x[out]) for names, x in ((refit.tasks_, task), (refit.workers_, worker))
        )
        part = slice(seen, seen + out.sum())
        seen = part.stop
        np.testing.assert_array_equal(found.label[part], label[out])
        assert_allclose(found.posteriors[part], refit.probas_[where], atol=5e-3)
        assert_allclose(found.likelihoods[part], refit.confusions_[who, label[out]], atol=5e-3)
        expected = np.einsum("akc,ac->ak", refit.confusions_[who], refit.probas_[where])
        assert_allclose(found.expected[part], expected, atol=5e-3)


def test_tasks_with_one_answer_have_nothing_to_leave_out():
    model = DawidSkene().fit(make_crowd(60, 6, 2, labels_per_task=1).answers)
    assert not len(model._held_out().label)
    assert model.calibrate().temperature_ == 1


def test_calibration_leaves_honest_posteriors_alone(crowd):
    model = DawidSkene().fit(crowd.answers)
    before = log_loss(model.probas_, truth_of(crowd, model))
    model.calibrate()
    assert 0.7 < model.temperature_ <= 1
    assert log_loss(model.probas_, truth_of(crowd, model)) < before + 0.01
    assert_allclose(tempered(np.array([[0.9, 0.1]]), 1.0), [[0.9, 0.1]])


def test_nothing_before_fit(crowd):
    for call in ("next_labels", "diagnose", "calibrate", "worker_report", "result"):
        with pytest.raises(NotFittedError):
            getattr(DawidSkene(), call)()
    with pytest.raises(NotFittedError):
        DawidSkene().predict(crowd.answers)


def split_class(share, seed, n_tasks=1500, n_classes=3):
    """A crowd in which class 0 has a second name, which every worker uses at random with this probability."""
    answers = make_crowd(n_tasks, 20, n_classes, random_state=seed).answers
    renamed = (answers["label"] == 0) & (np.random.default_rng(seed).random(len(answers)) < share)
    return answers.assign(label=np.where(renamed, n_classes, answers["label"]))


@pytest.mark.parametrize("share", [0.5, 0.3, 0.1])
def test_a_class_split_at_random_is_reported(share):
    about = ("classes that look alike", "classes that the answers do not support")
    for seed in range(4):
        table = DawidSkene().fit(split_class(share, seed)).diagnose().set_index("finding")
        named = [table.loc[name, "detail"] for name in about if name in table.index]
        assert len(named) == 1, (share, seed)  # one of them, not both
        assert re.search(r"\b0 and 3 apart|: 3 \(.*beside 0\)|: 0 \(.*beside 3\)", named[0]), named
        assert "rare classes" not in table.index


def test_a_class_that_no_task_has_is_reported():
    answers = make_crowd(600, 10, 3, random_state=3).answers
    rare = answers.assign(label=answers["label"].astype(str))
    rare.loc[[5, 500], "label"] = "odd"
    row = DawidSkene().fit(rare).diagnose().set_index("finding").loc["classes that the answers do not support"]
    assert row["severity"] == "warning"
    assert re.search(r"confirm it: 'odd' \(2 answers, 0\.\d tasks expected, most often beside '\d'\)\.$", row["detail"])


def test_honest_classes_are_supported():
    """No false alarm in twenty crowds of all kinds: few and many classes, weak workers, spammers, a rare class."""
    for seed in range(20):
        n_classes = 2 + seed % 4
        sizes = np.r_[np.ones(n_classes - 1), 0.2 if seed % 3 else 1.0]
        kind = {"labels_per_task": 3 + seed % 3, "accuracy": (0.65 if n_classes < 3 else 0.45, 0.9)}
        answers = make_crowd(
            500, 20, n_classes, n_spammers=seed % 4, prior=sizes / sizes.sum(), random_state=seed, **kind
        ).answers
        assert "classes that the answers do not support" not in findings(answers), seed


def test_a_rare_class_is_not_one_without_support():
    about = {"rare classes", "classes that the answers do not support"}
    for seed in range(5):
        for kind in ({"n_tasks": 3000}, {"n_tasks": 500, "labels_per_task": 3}):  # of the latter nothing is certain
            rare = make_crowd(n_classes=4, prior=[0.87, 0.08, 0.04, 0.01], random_state=seed, **kind).answers
            assert about & findings(rare) == {"rare classes"}, seed


@pytest.mark.parametrize("name", ["anaesthetists", "bluebird", "dog", "face", "weather", "rte", "adult", "fact"])
def test_no_false_alarm_about_the_classes_of_real_crowds(load_or_skip, name):
    assert "classes that the answers do not support" not in findings(load_or_skip(load_crowd, name).answers)


def test_agreement_is_that_of_pairs_of_different_workers(rng):
    given = rng.integers(0, 3, size=(40, 6, 2)) * (rng.random((40, 6, 2)) < 0.4)
    pairs = [
        (c, d)
        for task in given
        for v, one in enumerate(task)
        for w, two in enumerate(task)
        if v != w
        for c in (0, 1)
        for d in (0, 1)
        for _ in range(one[c] * two[d])
    ]
    share = [np.mean([d == 0 for c, d in pairs if c == beside]) for beside in (0, 1)]
    found, error = agreement(*(sp.csc_array(given[:, :, c].astype(float)) for c in (0, 1)))
    assert_allclose(found, share[0] - share[1])
    drawn = [rng.integers(40, size=40) for _ in range(400)]
    again = [agreement(*(sp.csc_array(given[rows, :, c].astype(float)) for c in (0, 1)))[0] for rows in drawn]
    assert_allclose(error, np.std(again), rtol=0.2)


@pytest.mark.parametrize("copies", [True, False])
def test_two_workers_who_say_the_same_are_named_if_the_labels_follow_them(copies):
    """A model that two temperatures of one judge mislead says so; one with three independent judges does not."""
    rng = np.random.default_rng(7)
    truth = rng.random(300) < 0.65
    first, third = (np.where(rng.random(300) < right, truth, ~truth) for right in (0.8, 0.87))
    second = np.where(rng.random(300) < (0.93 if copies else 0), first, np.where(rng.random(300) < 0.8, truth, ~truth))
    panel = np.column_stack([first, second, third]).astype(int)  # too few to tell copies from the best
    model = DawidSkene().fit(panel)
    found = model.diagnose().set_index("finding")
    assert ("two workers decide the labels" in found.index) == copies
    if copies:
        detail = found.loc["two workers decide the labels", "detail"]
        assert detail.startswith("0 and 1 give the same answer to 9")
        changed = (DawidSkene().fit(panel, groups={0: 0, 1: 0}).labels_ != model.labels_).sum()
        assert detail.endswith(f"If they counted as one worker, {count(int(changed), 'label')} would change.")


def test_two_answers_that_disagree_are_pointed_out():
    crowd = make_crowd(400, 20, 2, labels_per_task=2, accuracy=(0.6, 0.9), random_state=0)
    table = DawidSkene().fit(crowd.answers).diagnose().set_index("finding")
    votes = crowd.answers.groupby("task")["label"].nunique()
    assert f"{(votes > 1).sum()} of 400 tasks" in table.loc["tasks without a majority", "detail"]
    more = make_crowd(400, 20, 2, labels_per_task=5, accuracy=(0.6, 0.9), random_state=0)
    assert "tasks without a majority" not in DawidSkene().fit(more.answers).diagnose()["finding"].tolist()


def test_grades_without_gold_labels_may_be_too_sure():
    rng = np.random.default_rng(0)
    quality = rng.normal(3, 1.1, 200)
    said = np.clip(np.round(quality[:, None] + rng.normal(0, 0.7, (200, 5))), 1, 5).astype(int)
    truth = pd.Series(np.clip(np.round(quality), 1, 5).astype(int))
    model = DawidSkene(ordinal=True).fit(said)
    assert model.result()["confidence"].mean() > (model.labels_ == truth).mean() + 0.05
    name = "confidence of grades without gold labels"
    row = model.diagnose().set_index("finding").loc[name]
    assert row["detail"].startswith(f"Labels have a confidence of {model.result()['confidence'].mean():.0%} on average")
    assert name not in model.calibrate(truth[:100]).diagnose()["finding"].tolist()
    assert name not in DawidSkene().fit(said).diagnose()["finding"].tolist()
    assert (
        name
        not in DawidSkene(ordinal=True).fit(np.repeat(truth.to_numpy()[:, None], 5, 1)).diagnose()["finding"].tolist()
    )
