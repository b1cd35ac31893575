"""What an evaluation says: the same in all places, nothing hidden by gold labels, and copies as one."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import InputError, evaluate, write_report
from rectifact.crowd import panel_choice, read_answers
from rectifact.crowd.advice.budget import WORTHWHILE
from rectifact.crowd.copies import Pair
from rectifact.crowd.data.humans import consensus
from rectifact.crowd.panel_accuracy import Lead, accuracy_words
from rectifact.crowd.panel_bias import biases_of
from rectifact.crowd.panel_caution import half_shown, opposed
from rectifact.crowd.panel_replacement import TOGETHER
from rectifact.crowd.panel_shift import shifts_of
from rectifact.crowd.panel_steps import tasks_to_label
from rectifact.crowd.panel_words import _likely, twin_words
from rectifact.crowd.replacement import FAILS, PASSES, RESERVED, TOO_FEW
from rectifact.report.evaluation import evaluation_reports


def graded(seed=0, n=300, n_gold=40):
    """Three judges and three people who grade from 1 to 5; the judge lax is 0.7 too high before grades are cut off."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, size=n)
    rows = []
    for name, shift, spread, share in (("a", 0, 0.6, 0.95), ("b", 0, 0.6, 0.95), ("lax", 0.7, 0.6, 0.95)):
        rows.append((name, "llm", shift, spread, share))
    rows += [(name, "human", 0, 0.4, 0.4) for name in ("ann", "bob", "cai")]
    parts = []
    for name, kind, shift, spread, share in rows:
        said = np.clip(np.round(truth + shift + spread * rng.normal(size=n)), 1, 5).astype(int)
        group = np.where(np.arange(n) % 2, "v1", "v2")
        table = pd.DataFrame({"task": np.arange(n), "worker": name, "label": said, "kind": kind, "version": group})
        parts.append(table[rng.random(n) < share])
    gold = pd.Series(truth, index=np.arange(n)).sample(n_gold, random_state=seed)
    return pd.concat(parts, ignore_index=True), gold, truth


OPTIONS = {"people": "kind", "positive": [4, 5], "by": "version", "ordinal": True}


@pytest.fixture(scope="module")
def found():
    answers, gold, _ = graded()
    with warnings.catch_warnings(action="ignore"):
        return evaluate(answers, gold=gold, **OPTIONS)


def test_gold_labels_do_not_hide_a_bias_against_people(found):
    summary = " ".join(found.words())
    assert "lax grades 0." in summary
    assert "higher than people on average" in summary
    assert found.biases_by_people.shifts.set_index(["group", "worker"]).loc[("all tasks", "lax"), "certain"]
    assert set(found.biases.table["class"]) == {"4 or 5"}  # what is asked for, not each grade by itself
    assert "when 6 are tested together" in found.biases.together()


def test_with_all_labels_known_a_shift_is_a_difference_of_means():
    answers, _, truth = graded()
    read = read_answers(answers[["task", "worker", "label"]])
    known = np.searchsorted(read.classes, truth[read.tasks.astype(int)])
    table, _ = shifts_of(read, read.shares(), known, read.classes.astype(float), against="gold labels")
    table = table.set_index("worker")
    for name, rows in answers.groupby("worker"):
        wrong = rows["label"].to_numpy() - truth[rows["task"]]
        assert_allclose(table.loc[name, "shift"], wrong.mean(), atol=1e-9)
        reach = 1.97 * wrong.std() / np.sqrt(len(wrong))
        assert_allclose(table.loc[name, "high"] - table.loc[name, "low"], 2 * reach, rtol=0.05)


@pytest.mark.parametrize("n_gold", [15, 60])
def test_shifts_cover_the_planted_ones(n_gold):
    covered = []
    for seed in range(40):
        answers, gold, truth = graded(seed, n_gold=n_gold)
        read = read_answers(answers[["task", "worker", "label"]])
        known = read.known((gold.index.to_numpy(), gold.to_numpy()))
        table, _ = shifts_of(read, read.shares(), known, read.classes.astype(float), against="gold labels")
        for row in table[table["labels"] >= 10].to_dict("records"):
            own = answers[answers["worker"] == row["worker"]]
            covered.append(row["low"] <= (own["label"].to_numpy() - truth[own["task"]]).mean() <= row["high"])
    assert np.mean(covered) > 0.92


def with_decisions(found, decisions):
    judges = found.replacement.judges.copy()
    judges["decision"] = [decisions.get(name, FAILS) for name in judges["judge"]]
    found = replace(found, replacement=replace(found.replacement, judges=judges, joint_biases=()))
    return replace(found, replacement=panel_choice.with_reservations(found))


def test_decision_and_findings_agree_about_the_joint_label(found):
    one = with_decisions(found, {TOGETHER: PASSES, "a": TOO_FEW})
    assert "the joint label of all judges may replace people" in one.decision()[-2]
    assert "for a, people answered too few tasks to say" in one.decision()[-2]
    assert "no single judge does not" not in one.decision()[-2]
    assert "no single judge passes the test" in with_decisions(found, {TOGETHER: PASSES}).decision()[-2]
    assert "people answered too few tasks" in with_decisions(found, {TOGETHER: FAILS, "a": TOO_FEW}).decision()[-2]


def test_a_judge_who_passes_with_a_bias_is_named_with_it(found):
    one = with_decisions(found, {"lax": PASSES})
    said = one.decision()[-2]
    assert "lax may replace people" not in said
    allowed = "Epsilon 0.2 allows a judge to do as well as a person on up to 20 points fewer of the tasks."
    assert "may replace people (epsilon 0.2)" in said  # what that means is among the results
    assert any(words.startswith(allowed) for words in one.words())
    assert "lax passes the test with a reservation" in said
    (reserved,) = [words for words in one.words() if "Reservations about judges that pass" in words]
    assert "lax grades 0." in reserved
    assert "higher than people on average" in reserved or "too high on average" in reserved
    workers = one.workers().set_index("worker")
    low = workers.loc[workers["kind"] == "person", "accuracy_low"].min()
    assert workers.loc["lax", "accuracy_high"] < low
    assert f"is right in {workers.loc['lax', 'accuracy']:.1%} of its answers" in reserved


def test_no_step_for_a_judge_whose_twin_is_decided(found):
    pairs = [Pair("a", "b", 0.9, True)]
    one = replace(with_decisions(found, {"a": PASSES, "b": TOO_FEW, "lax": FAILS, TOGETHER: PASSES}), pairs=pairs)
    assert not any("too few answers of people" in step.finding for step in one.next_steps())
    both = replace(with_decisions(found, {"a": TOO_FEW, "b": TOO_FEW, TOGETHER: PASSES}), pairs=pairs)
    (step,) = [step for step in both.next_steps() if "too few answers of people" in step.finding]
    assert step.finding.endswith("about a")


def test_a_decision_in_python_names_no_options_of_the_command(found):
    assert not any("--" in words for words in found.decision())


def test_a_comparison_that_is_only_clear_alone_says_so():
    leads = [Lead("mini", 0.045, 0.003, 0.087, 0.04, 100, False), Lead("qwen", 0.01, -0.02, 0.04, 0.5, 100, False)]
    said = accuracy_words("gpt", leads)
    assert "mini (+4.5 points, 95% interval +0.3 to +8.7, which is not clear after allowing for 2 comparisons)" in said
    assert "qwen (+1.0, -2.0 to +4.0)." in said


def test_the_best_come_first_and_copies_count_as_one(found, monkeypatch):
    monkeypatch.setattr(panel_choice, "flaws", lambda found, judges: {})
    pairs = [Pair("a", "b", 0.9, True), Pair("a", "lax", 0.8, True), Pair("b", "lax", 0.7, True)]
    one = replace(with_decisions(found, {"a": PASSES, "b": PASSES, "lax": PASSES}), pairs=pairs)
    best = one.replacement.judges.set_index("judge").loc[["a", "b", "lax"]].sort_values(["winning_rate", "advantage"])
    assert f"{best.index[-1]} or one of its 2 copies may replace people" in one.decision()[-2]
    assert twin_words(one) == [
        "a, b and lax are copies of each other: they share 70% to 90% of their errors, and count as one."
    ]
    assert sum("copies of each other" in step.finding for step in one.next_steps()) == 1


def test_twins_get_one_verdict(found, monkeypatch):
    twins = replace(found, pairs=[Pair("a", "lax", 0.9, True)])

    def said(decisions, flaws):
        monkeypatch.setattr(panel_choice, "flaws", lambda found, judges: flaws)
        return with_decisions(twins, decisions)

    for of_lax in (PASSES, TOO_FEW):  # which yields to what the tasks of the other were enough for
        one = said({"a": PASSES, "lax": of_lax}, {"lax": "says 5 too often"})
        assert "or its copy passes the test with a reservation" in one.decision()[-2]
        assert "no judge may replace people" in one.decision()[-2]
        assert "too few tasks to say" not in one.decision()[-2]
        assert any("a is a twin of lax, which says 5 too often" in words for words in one.words())
    one = said({"a": PASSES, "lax": FAILS, "b": PASSES}, {})
    assert re.search(r"(a|lax) or its copy does not pass the test", one.decision()[-2])
    assert one.replacement.judges.set_index("judge").loc["a", "reservation"] == (
        "is a twin of lax, which does not pass the test"
    )
    one = said({"a": FAILS, "lax": TOO_FEW, "b": PASSES}, {"lax": "says 5 too often"})
    assert re.search(r"(a|lax) or its copy does not pass the test", one.decision()[-2])
    assert "too few tasks to say" not in one.decision()[-2]


def passed_or_failed(misses, seed=0, n=400):
    """Judges and people who answer all tasks; of the failed tasks, 30 %, they pass the share that is given."""
    rng = np.random.default_rng(seed)
    bad = np.arange(n) % 10 < 3
    parts = []
    for name, (passed, failed) in misses.items():
        said = np.where(bad, rng.random(n) < passed, rng.random(n) >= failed)
        parts.append(pd.DataFrame({"task": np.arange(n), "worker": name, "label": np.where(said, "pass", "fail")}))
    return pd.concat(parts, ignore_index=True)


def test_a_judge_that_misses_a_class_has_a_reservation():
    people = dict.fromkeys(("ann", "bob", "cai"), (0.2, 0.05))
    judges = {"gpt": (0.1, 0.1), "kind": (0.55, 0.15), "qwen": (0.2, 0.1)}
    table = passed_or_failed(judges | people)
    one = evaluate(table, people=list(people), positive="pass")
    rows = one.replacement.judges.set_index("judge")["reservation"]
    missed = re.search(r"misses (\d+)% of the tasks that are fail \(people (\d+)%\)", rows["kind"])
    assert abs(int(missed[1]) - 55) < 12
    assert abs(int(missed[2]) - 20) < 8
    assert not any("misses" in rows[name] for name in ("gpt", "qwen"))
    same = passed_or_failed(dict.fromkeys(judges, (0.2, 0.05)) | people, seed=1)
    alike = evaluate(same, people=list(people), positive="pass")
    assert not alike.replacement.judges["reservation"].str.contains("misses").any()


def test_judges_that_agree_less_with_people_have_a_reservation():
    columns = ["judge", "with_people", "among_people", "gap", "low", "high", "tasks"]
    rows = [["all judges", 0.8, 0.85, -0.05, -0.1, 0.0, 90], ["a", 0.7, 0.85, -0.15, -0.2, -0.1, 90]]
    rows += [["b", 0.82, 0.85, -0.03, -0.08, 0.02, 90], ["c", 0.95, 0.85, 0.1, 0.05, 0.15, 90]]
    found = SimpleNamespace(gaps=pd.DataFrame(rows, columns=columns), biases=SimpleNamespace(confidence=0.95))
    assert panel_choice._less_agreeing(found) == {
        "a": "agrees with people 15.0 points less often than they do with each other"
    }
    assert panel_choice._less_agreeing(SimpleNamespace(gaps=pd.DataFrame(columns=columns), biases=found.biases)) == {}


def test_the_first_chart_shows_groups_by_what_the_sentence_uses(found):
    section = evaluation_reports(found)[0].sections[0]
    names = section.blocks[0].x.names
    by_gold, by_people, mean = found.decision()[:3]
    assert by_people.startswith("As people label, ")
    assert mean.startswith("The mean grade is ")
    assert "in v2 it is" in mean
    assert re.fullmatch(r"it is .* in v1 and .* in v2", by_gold.split("; ")[1].split(". In ")[0])
    assert ". In v2 it is" in by_gold
    assert "in v2 it is" in by_people
    by_people = ["as people label", "v1, as people label", "v2, as people label"]
    assert names[:6] == ["all tasks", "v1", "v2", *by_people]


def test_the_decision_names_every_judge_where_there_are_few(found):
    judges = found.replacement.judges.iloc[[0] * 7].assign(judge=list("abcdefg"), decision=RESERVED)
    one = replace(found, pairs=[], replacement=replace(found.replacement, judges=judges))
    assert "a, b, c, d, e, f and g pass the test with reservations" in panel_choice.replacing(one)


@pytest.mark.parametrize("positive", ["pass", "fail"])
@pytest.mark.parametrize("unsure", [False, True])
def test_a_judge_that_leans_to_the_positive_class_in_a_version_has_a_reservation(positive, unsure):
    rng = np.random.default_rng(11)
    truth, second = rng.random(500) < 0.6, np.arange(500) % 2 == 1
    said = {name: truth ^ (rng.random(500) > 0.9) for name in ("gpt", "claude", "ann", "bob", "cai")}
    fan = truth ^ (rng.random(500) > 0.95)
    fan[second & ~truth & (rng.random(500) < 0.4)] = True
    fan[~second & truth & (rng.random(500) < 0.25)] = False
    said["fan"] = fan
    rows = [
        (i, name, ["fail", "pass"][int(votes[i])], "ab"[int(second[i])])
        for name, votes in said.items()
        for i in range(500)
    ]
    table = pd.DataFrame(rows, columns=["task", "worker", "label", "version"])
    if unsure:
        table.loc[(rng.random(len(table)) < 0.04) & table["worker"].isin(["gpt", "claude", "fan"]), "label"] = "unsure"
    with warnings.catch_warnings(action="ignore"):
        one = evaluate(table, people=["ann", "bob", "cai"], positive=positive, by="version")
    judges = one.replacement.judges.set_index("judge")
    more, less = "ba" if positive == "pass" else "ab"
    leaning = f"leans to {positive} more in {more} than in {less}"
    assert judges["decision"]["fan"] == RESERVED
    assert f"{leaning} (by " in judges["reservation"]["fan"]
    assert not judges["reservation"][["gpt", "claude"]].str.contains("leans").any()
    assert one.decision()[1].endswith(f"; fan {leaning}.")
    assert f"fan {leaning}, by " in " ".join(one.words())


def test_classes_whose_share_is_asked_for_count_as_one_in_comparisons_of_groups():
    rng = np.random.default_rng(3)
    truth, second = rng.integers(0, 3, 900), np.arange(900) % 2
    generous = np.where((second == 1) & (truth == 0) & (rng.random(900) < 0.5), rng.integers(1, 3, 900), truth)
    table = pd.DataFrame({"fair": truth, "generous": generous}).rename_axis("task").reset_index()
    answers = read_answers(table.melt("task", var_name="worker", value_name="label"))
    number = answers.tasks.astype(int)
    groups = second[number], np.array(["v1", "v2"])
    found = biases_of(answers, answers.shares(), truth[number], against="gold labels", asked=(1, 2), groups=groups)
    row = found.changes.query("worker == 'generous' and asked").iloc[0]
    upgraded = ((generous > 0) & (truth == 0))[second == 1].mean()
    assert row["class"] == "1 or 2"
    assert_allclose(row["change"], upgraded, atol=0.02)
    assert row["certain"]
    assert set(found.table["class"]) == {0, 1, 2}


def test_people_may_come_as_a_table_with_names_of_its_own(found, tmp_path):
    answers, gold, _ = graded()
    is_person = answers["kind"] == "human"
    judges = answers[~is_person].rename(columns={"task": "Item", "worker": "Judge", "label": "Grade"})
    people = answers[is_person].rename(columns={"worker": "annotator"})[["task", "annotator", "label"]]
    columns = {"task": "Item", "worker": "Judge", "label": "Grade"}
    people.to_csv(tmp_path / "people.csv", index=False)
    with warnings.catch_warnings(action="ignore"):
        one, other = (
            evaluate(judges, given, gold=gold, positive=[4, 5], ordinal=True, **columns)
            for given in (people, tmp_path / "people.csv")
        )
    assert one.decision() == other.decision()


def test_an_evaluation_is_short_and_has_a_report(found, tmp_path):
    assert repr(found).startswith("Evaluation of ")
    assert len(repr(found)) < 1500
    assert found.decision()[0] in repr(found)
    assert "<li>" in found._repr_html_()
    write_report(found, tmp_path / "report.html")
    assert "Whom to trust" in (tmp_path / "report.html").read_text("utf-8")


def test_whole_grades_are_written_without_a_fraction():
    answers, gold, _ = graded()
    table = answers.pivot_table(index="task", columns="worker", values="label")
    with warnings.catch_warnings(action="ignore"):
        one = evaluate(table, wide=True, people=["ann", "bob", "cai"], gold=gold, positive=[4, 5], ordinal=True)
    assert "share of 4 or 5 is" in one.decision()[0]


def test_ties_between_labels_that_count_together_are_none():
    tasks = np.array([0, 0, 1, 1, 2, 2, 3])
    labels = np.array([4, 5, 3, 4, 1, 2, 5])
    with pytest.warns(UserWarning, match="1 task on which people tie was left out"):
        kept, agreed = consensus((tasks, labels), [4, 5])
    assert kept.tolist() == [0, 2, 3]
    assert (np.array(agreed.tolist()) >= 4).tolist() == [True, False, True]
    with pytest.warns(UserWarning, match="3 tasks on which people tie"):
        assert consensus((tasks, labels))[0].tolist() == [3]


def test_grades_that_count_together_have_one_majority():
    tasks, labels = np.repeat([0, 1], 3), np.array([3, 4, 5, 5, 1, 2])
    kept, agreed = consensus((tasks, labels), [4, 5])
    assert kept.tolist() == [0, 1]
    assert [label in (4, 5) for label in agreed.tolist()] == [True, False]  # two of three, and one of three


def test_ties_are_said_beside_gold(found):
    share, mean = [words for words in found.words() if "tasks that people labelled" in words]
    assert "on which they tie" in share
    assert "the mean grade is" in mean


def test_some_lost_answers_do_not_make_a_person():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    rows = []
    for name, share in (("x", 0.94), ("y", 1.0), ("z", 0.99)):
        said = np.where(rng.random(200) < 0.85, truth, 1 - truth)
        rows.append(pd.DataFrame({"task": range(200), "worker": name, "label": said})[rng.random(200) < share])
    found = evaluate(pd.concat(rows), positive=1)
    assert found.next_steps()[0].finding == "nobody knows how far the judges are right"
    assert not any("people may be among" in step.finding for step in found.next_steps())
    with pytest.raises(InputError, match="positive='pass' is not among the classes"):
        evaluate(pd.concat(rows), positive="pass")


def test_a_plan_ends_where_answers_gain_nothing(found):
    plan = found.model.next_labels(1000, workers=found.people)
    gains = plan.groupby("task")["gain"].agg(["mean", "last"])
    assert len(plan) > 10
    assert gains["mean"].min() > WORTHWHILE
    assert gains["last"].min() > WORTHWHILE


def test_tasks_to_label_are_those_without_a_label(found):
    table = tasks_to_label(found, 1000)
    _, gold, truth = graded()
    assert set(table["task"]) == set(range(len(truth))) - set(gold.index)
    assert table["task"].tolist() != sorted(table["task"])
    assert len(tasks_to_label(found, 7)) == 7


def test_columns_with_spaces_are_recognised_and_gold_is_mentioned():
    answers, _, _ = graded()
    named = answers.rename(columns={"task": "Item ID", "worker": "Judge Model", "label": "Verdict"})
    assert read_answers(named).columns == {"task": "Item ID", "worker": "Judge Model", "label": "Verdict"}
    wide = answers.pivot_table(index="task", columns="worker", values="label").rename(columns={"b": "gold_score"})
    with warnings.catch_warnings(record=True, action="always") as caught:
        evaluate(wide, wide=True, people=["ann", "bob"], positive=[4, 5], ordinal=True)
    assert any("The column 'gold_score' is read as a judge" in str(one.message) for one in caught)


def test_a_difference_that_only_gold_labels_or_people_show_is_likely():
    def rates(difference, p_value):
        row = {"first": "A", "second": "B", "difference": difference, "p_value": p_value}
        return SimpleNamespace(differences=pd.DataFrame([row]), confidence=0.95)

    def seen(*pair):
        return SimpleNamespace(rates=pair[0], by_people=pair[1])

    shown = half_shown(seen(rates(0.1, 0.2), rates(0.12, 0.01)))
    assert shown == {("A", "B"): (0.1, 0.12, "people")}
    assert half_shown(seen(rates(0.1, 0.01), rates(0.12, 0.01))) == {}
    assert half_shown(seen(rates(-0.1, 0.2), rates(0.12, 0.01))) == {}
    assert list(opposed(seen(rates(-0.1, 0.2), rates(0.12, 0.01)))) == [("A", "B")]
    assert "only by people is it more than chance explains" in _likely(seen(rates(0.1, 0.2), rates(0.12, 0.01)))
    assert _likely(seen(rates(0.1, 0.2), rates(0.12, 0.3))) == ""


def test_a_twin_that_few_tasks_tell_about_has_the_verdict_of_the_other():
    judges = pd.DataFrame({"judge": ["a", "b", "c"], "decision": [TOO_FEW, FAILS, TOO_FEW], "reservation": ""})
    found = panel_choice._with_twins(judges, [Pair("a", "b", 0.9, True)]).set_index("judge")
    assert found["decision"].tolist() == [FAILS, FAILS, TOO_FEW]
    assert found.loc["a", "reservation"] == "is a twin of b"
