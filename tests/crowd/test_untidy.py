"""Labels as judges write them: several spellings of a class, and strings that are not answers."""

import json
import shlex
import warnings

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, InputError, agreement, evaluate, rate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers

FAILURES = ["N/A", "ERROR", "null", "timeout"]


@pytest.fixture(scope="module")
def tidy():
    """Five judges who are right in 85 % of 200 tasks."""
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.6
    right = rng.random((200, 5)) < 0.85
    said = np.where(truth[:, None] == right, "pass", "fail")
    rows = [(f"t{i}", f"j{j}", said[i, j]) for i in range(200) for j in range(5)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), np.where(truth, "pass", "fail")


@pytest.fixture(scope="module")
def untidy(tidy):
    """The same with spellings, and four kinds of failures in place of the first answers of some judges."""
    answers = tidy[0].copy()
    answers.loc[answers["worker"] == "j1", "label"] = answers["label"].str.upper()
    answers.loc[answers["worker"] == "j2", "label"] = answers["label"].str.capitalize() + " "
    answers.loc[range(0, 80, 4), "label"] = np.resize(FAILURES, 20)
    return answers


def _kept(answers):
    return answers[~answers["label"].isin(FAILURES)]


def test_spellings_and_failures_give_what_tidy_labels_give(tidy, untidy):
    clean = tidy[0].loc[_kept(untidy).index]
    with pytest.warns(FitWarning, match=r"count as one: 'FAIL', 'Fail ' as 'fail'; 'PASS', 'Pass ' as 'pass' \(39"):
        found = DawidSkene(missing=FAILURES).fit(untidy)
    assert found.classes_.tolist() == ["fail", "pass"]
    np.testing.assert_allclose(found.probas_, DawidSkene().fit(clean).probas_)


def test_failures_are_named_with_an_option_that_drops_them(untidy):
    with pytest.warns(FitWarning) as caught:
        read_answers(untidy, missing=np.nan)
    said = next(str(w.message) for w in caught if "may not be answers" in str(w.message))
    assert all(f"{name!r} (5 answers)" in said for name in FAILURES)
    listing = json.loads(said.split("missing=")[1].rstrip(".").replace("'", '"'))
    with warnings.catch_warnings(record=True, action="always") as caught:
        assert len(read_answers(untidy, missing=listing)) == len(untidy) - 20
    assert not any("may not be answers" in str(w.message) for w in caught)


def test_failures_that_nothing_confirms_are_left_out(tidy, untidy):
    clean = tidy[0].loc[_kept(untidy).index]
    (said,) = _left_out(read_answers, untidy)
    assert said.startswith("20 answers that say there is none were left out: 'ERROR', 'N/A', 'null', 'timeout'.")
    assert said.endswith("missing=float('nan').")
    with warnings.catch_warnings(action="ignore"):
        found = DawidSkene().fit(untidy)
    np.testing.assert_allclose(found.probas_, DawidSkene().fit(clean).probas_)
    later = untidy[:60].assign(task=untidy["task"][:60] + "b")  # failures in later answers are no classes either
    with warnings.catch_warnings(action="ignore"):
        assert len(found.partial_fit(later).tasks_) == 212


@pytest.mark.parametrize("command", ["labels", "agree", "rate", "evaluate"])
def test_commands_leave_failures_out_or_keep_them_as_asked(run, tidy, untidy, tmp_path, command):
    untidy.to_csv(tmp_path / "v.csv", index=False)
    pd.DataFrame({"task": [f"t{i}" for i in range(60)], "label": tidy[1][:60]}).to_csv(tmp_path / "g.csv", index=False)
    gold = ("--gold", tmp_path / "g.csv", "--positive", "pass")
    options = {"labels": ("-o", tmp_path / "l.csv"), "agree": (), "rate": gold, "evaluate": gold}[command]
    said = " ".join(run(command, tmp_path / "v.csv", *options).err.split())
    assert said.count("20 answers that say there is none were left out") == 1
    assert "give --missing nan." in said
    kept = " ".join(run(command, tmp_path / "v.csv", *options, "--missing", "nan").err.split())
    assert "count as classes, and may not be answers" in kept


def _left_out(call, *given, **options):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(*given, **options)
    return [str(note.message) for note in caught if "there is none" in str(note.message)]


def test_a_label_that_workers_people_gold_or_users_confirm_is_a_class(tidy):
    answers, truth = tidy[0].copy(), tidy[1].copy()
    alone = answers.copy()
    alone.loc[range(0, 200, 8), "label"] = "N/A"
    gold = dict(zip([f"t{i}" for i in range(60)], truth[:60], strict=True))
    assert len(_left_out(evaluate, alone, gold=gold, positive="pass")) == 1
    assert len(_left_out(rate, alone, gold, positive="pass")) == 1
    assert not _left_out(evaluate, alone, gold=gold | {"t1": "N/A"}, positive="pass")
    assert not _left_out(rate, alone, gold | {"t1": "N/A"}, positive="pass")
    assert not _left_out(evaluate, alone, gold=gold, positive=["pass", "n/a"])
    ann = pd.DataFrame({"task": [f"t{i}" for i in range(40)], "worker": "ann", "label": ["N/A", *truth[1:40]]})
    assert not _left_out(evaluate, alone, humans=ann, positive="pass")
    answers.loc[range(40), "label"] = np.resize(["N/A", "N/A", "N/A", "fail", "N/A"], 40)  # of eight tasks
    assert not _left_out(read_answers, answers)
    assert not _left_out(read_answers, alone.replace("fail", "pass"))  # a single class would be left


def test_numbers_with_and_without_a_final_zero_are_one_class():
    rows = [(t, w, label) for t in range(6) for w, label in (("a", "4.0"), ("b", "4"), ("c", "5"), ("d", "n/a"))]
    answers = pd.DataFrame(rows, columns=["task", "worker", "label"])
    with pytest.warns(FitWarning, match=r"a final .0 count as one: '4.0' as '4' \(6 answers\)"):
        model = DawidSkene(missing="n/a").fit(answers)
    assert model.classes_.tolist() == ["4", "5"]


def test_a_class_that_many_answers_have_is_one():
    rows = [(t, w, "none" if t % 2 else "mild") for t in range(20) for w in range(3)]
    with warnings.catch_warnings(action="error"):
        found = read_answers(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    assert found.classes.tolist() == ["mild", "none"]


@pytest.fixture(scope="module")
def often_missing(tidy):
    """The tidy answers, two of seven of which are replaced by a word that may say that there is none."""

    def made(word):
        answers = tidy[0].copy()
        answers.loc[answers.index % 7 < 2, "label"] = word
        return answers

    return made


def _notes(call, *given, **options):
    """Notes about labels that may not be answers."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(*given, **options)
    return [str(note.message) for note in caught if "may not be answers" in str(note.message)]


@pytest.mark.parametrize("word", ["NA", "none", "-", "n/a", "null"])
def test_frequent_words_for_no_answer_are_not_kept_in_silence(tidy, often_missing, word):
    answers, gold = often_missing(word), {f"t{i}": tidy[1][i] for i in range(60)}
    calls = [(read_answers, {}), (agreement, {"n_resamples": 10}), (rate, {"gold": gold, "positive": "pass"})]
    for call, options in [*calls, (evaluate, {"gold": gold, "positive": "pass"})]:
        (said,) = _notes(call, answers, **options)
        assert f"{word!r} ({(answers['label'] == word).sum()} answers) counts as a class" in said
        assert not _notes(call, answers, missing=word, **options)


def test_a_word_that_users_or_people_name_as_a_class_is_one(tidy, often_missing):
    answers, truth = often_missing("none"), tidy[1].copy()
    named = ["fail", "none", "pass"]
    truth[:20] = "none"
    gold = {f"t{i}": truth[i] for i in range(60)}
    assert not _notes(agreement, answers, classes=named, n_resamples=10)
    assert not _notes(rate, answers, gold, positive="pass", classes=named)
    assert not _notes(rate, answers, gold, positive="None")
    assert not _notes(evaluate, answers, gold=gold, positive="pass")
    assert len(_notes(evaluate, answers, gold={f"t{i}": tidy[1][i] for i in range(60)}, positive="pass")) == 1


def test_a_certain_word_beside_a_single_class_is_mentioned(tidy):
    answers = tidy[0].replace("fail", "N/A")
    assert len(_notes(read_answers, answers)) == 1
    assert not _notes(read_answers, answers.replace("N/A", "none"))


@pytest.mark.parametrize("command", ["labels", "agree", "rate", "evaluate"])
def test_frequent_words_for_no_answer_are_in_all_that_commands_write(
    run, tidy, often_missing, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    often_missing("NA").to_csv("answers.csv", index=False)
    pd.DataFrame({"task": [f"t{i}" for i in range(60)], "label": tidy[1][:60]}).to_csv("gold.csv", index=False)
    gold = ("--gold", "gold.csv", "--positive", "pass")
    options = {"labels": ("-o", "labels.csv"), "agree": (), "rate": gold, "evaluate": gold}[command]
    said = run(command, "answers.csv", *options, "--json", "--report", "page.html")
    note = "'NA' (286 answers) counts as a class, and may not be answers. If so, leave them out: --missing NA."
    assert " ".join(said.err.split()).count(note) == 1
    assert sum(note in warning for warning in json.loads(said.out)["warnings"]) == 1
    assert "may not be answers" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_gold_people_and_positive_may_be_spelt_otherwise(tidy, untidy):
    answers, truth = tidy
    gold = {f"t{i}": truth[i].upper() for i in range(60)} | {"t61": "n/a"}
    with pytest.warns(FitWarning) as caught:
        found = rate(answers, gold, positive="Pass")
    said = " ".join(str(w.message) for w in caught)
    assert "are read as" in said
    assert "1 gold label was left out" in said
    expected = rate(answers, dict(zip(gold, truth[:60], strict=False)), positive="pass")
    pd.testing.assert_frame_equal(found.rates, expected.rates)
    people = answers[answers["worker"].isin(["j3", "j4"])]
    judges = answers[answers["worker"].isin(["j0", "j1", "j2"])]
    with pytest.warns(FitWarning, match="count as one"):
        found = agreement(judges, humans=people.assign(label=people["label"].str.title()))
    pd.testing.assert_frame_equal(found.overall, agreement(judges, humans=people).overall)


def test_stray_answers_are_named_if_people_and_gold_have_none_of_them(tidy):
    answers, truth = tidy
    answers = answers.copy()
    answers.loc[3, "label"] = "It passes, I think"
    with pytest.warns(FitWarning, match=r"'It passes, I think' \(1 answer\) counts as a class"):
        evaluate(answers, gold={f"t{i}": truth[i] for i in range(60)}, positive="pass")


def test_classes_decide_how_labels_are_spelt_and_which_stay_apart(untidy):
    with pytest.warns(FitWarning, match="'pass' as 'PASS'"):
        assert read_answers(_kept(untidy), classes=["PASS", "FAIL"]).classes.tolist() == ["PASS", "FAIL"]
    with pytest.raises(InputError, match=r"nor are 3 others. .* missing=\['N/A'"):
        read_answers(untidy, classes=["pass", "fail"])
    letters = pd.DataFrame(
        [(t, w, "aA"[t % 2]) for t in range(9) for w in range(3)], columns=["task", "worker", "label"]
    )
    assert read_answers(letters, classes=["a", "A"]).classes.tolist() == ["a", "A"]


def test_a_column_in_other_capitals_is_a_worker(tidy):
    wide = tidy[0].pivot(index="task", columns="worker", values="label").reset_index()
    wide["j1"] = wide["j1"].str.upper()
    with pytest.warns(FitWarning, match="count as one"):
        assert len(read_answers(wide, wide=True).workers) == 5


def test_the_option_that_commands_advise_works(run, untidy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    untidy.to_csv("answers.csv", index=False)
    said = run("labels", "answers.csv", "-o", "labels.csv", "--missing", "nan", "--report", "page.html").err
    assert "count as one" in (tmp_path / "page.html").read_text(encoding="utf-8")
    advice = shlex.split(next(line for line in said.splitlines() if "leave them out: " in line).split("out: ")[1][:-1])
    assert advice[0] == "--missing"
    facts = json.loads(run("labels", "answers.csv", "-o", "labels.csv", "--json", *advice).out)
    assert facts["classes"] == ["fail", "pass"]
    assert facts["answers"] == len(untidy) - 20
    own = ("--classes", "pass,fail", "--missing", "nan")
    refused = run("labels", "answers.csv", "-o", "labels.csv", *own, expect=2).err
    assert f"--missing {','.join(sorted(FAILURES))}." in refused


def test_gold_labels_in_other_words_are_not_taken_for_more_classes(tidy):
    answers, _ = tidy
    gold = {f"t{task}": task % 2 for task in range(20)}
    with pytest.raises(InputError, match="None of the gold labels is one of the classes") as caught:
        evaluate(answers, gold=gold)
    assert caught.value.remedy == "Write the gold labels as the answers are written."


def test_grades_with_a_unit_are_not_called_missing():
    table = pd.DataFrame({"task": [0, 0, 1, 1], "worker": ["a", "b"] * 2, "label": ["1", "2", "2 stars", "1"]})
    with pytest.raises(InputError, match="'2 stars'") as caught:
        evaluate(table, ordinal=True)
    assert "Write all grades as numbers" in caught.value.remedy
    other = table.replace("2 stars", "skip")
    with pytest.raises(InputError, match="missing='skip'"):
        evaluate(other, ordinal=True)


def test_a_refusal_to_judge_is_named_wherever_answers_are_read(tidy, tmp_path, run):
    table, truth = tidy[0].copy(), tidy[1]
    table.loc[range(0, 8, 2), "label"] = "I cannot judge this response."
    table.to_csv(tmp_path / "v.csv", index=False)
    pd.DataFrame({"task": [f"t{i}" for i in range(60)], "label": truth[:60]}).to_csv(tmp_path / "g.csv", index=False)
    given = {"labels": ["-o", tmp_path / "l.csv"], "rate": ["--positive", "pass"], "evaluate": ["--positive", "pass"]}
    for command, more in given.items():
        said = run(command, tmp_path / "v.csv", "--gold", tmp_path / "g.csv", *more)
        assert "--missing 'I cannot judge this response.'" in " ".join(said.err.split()), command


@pytest.mark.parametrize("name", ["Sorry, I can't answer that.", "unable to assess", "As an AI, I cannot say"])
def test_refusals_are_no_answers(name):
    from rectifact.crowd.data.spellings import fold, is_no_answer

    assert is_no_answer(fold(name), 0.2)


@pytest.mark.parametrize("name", ["cannot", "incorrect", "say no", "I agree", "unsafe", "can"])
def test_names_of_classes_are_answers(name):
    from rectifact.crowd.data.spellings import fold, is_no_answer

    assert not is_no_answer(fold(name), 0.2)


def test_gold_labels_that_say_the_same_twice_are_one(tidy, tmp_path, run):
    tidy[0].to_csv(tmp_path / "v.csv", index=False)
    gold = pd.DataFrame({"task": [f"t{i}" for i in range(30)], "label": tidy[1][:30]})
    pd.concat([gold, gold[:5]]).to_csv(tmp_path / "g.csv", index=False)
    for command, more in {"labels": ["-o", tmp_path / "l.csv"], "evaluate": []}.items():
        run(command, tmp_path / "v.csv", "--gold", tmp_path / "g.csv", *more)
    wrong = gold[:1].assign(label="pass" if gold["label"][0] == "fail" else "fail")
    pd.concat([gold, gold[1:5], wrong]).to_csv(tmp_path / "g.csv", index=False)
    said = run("labels", tmp_path / "v.csv", "--gold", tmp_path / "g.csv", "-o", tmp_path / "l.csv", expect=2)
    assert "Task 't0' has two gold labels, 'fail' and 'pass'" in said.err.replace(
        "'pass' and 'fail'", "'fail' and 'pass'"
    )


def test_leading_zeros_are_named_as_the_cause(tidy, tmp_path, run):
    padded = tidy[0].assign(task=tidy[0]["task"].str[1:].str.zfill(5))
    padded.to_csv(tmp_path / "v.csv", index=False)
    gold = pd.DataFrame({"task": range(60), "label": tidy[1][:60]})
    gold.to_csv(tmp_path / "g.csv", index=False)
    gold.assign(worker="ann").to_csv(tmp_path / "p.csv", index=False)
    g, asked = ["--gold", tmp_path / "g.csv"], ["--positive", "pass"]
    given = {"labels": [*g, "-o", tmp_path / "l.csv"], "rate": [*g, *asked], "evaluate": [*g, *asked]}
    for command, more in [*given.items(), ("evaluate", ["--humans", tmp_path / "p.csv"])]:
        said = run(command, tmp_path / "v.csv", *more, expect=2)
        assert "Leading zeros differ: '0' is '00000' in the answers." in said.err, command


def test_an_empty_file_says_what_to_write(tmp_path, run):
    for name in ("e.csv", "e.jsonl"):
        (tmp_path / name).write_text("")
        assert "Write " in run("labels", tmp_path / name, expect=2).err


def test_names_with_commas_stand_in_quotes(tidy):
    names = {"j0": "Qwen, 72B", "j1": "Qwen, 72B (azure)"}
    table = tidy[0][tidy[0]["worker"] != "j1"]
    table = pd.concat([table, table[table["worker"] == "j0"].assign(worker="j1")]).replace({"worker": names})
    with warnings.catch_warnings(action="ignore"):
        found = evaluate(table, people=["j3", "j4"], positive="pass")
    said = " ".join([*found.decision(), *found.words(), *map(str, found.next_steps())])
    assert "'Qwen, 72B' and 'Qwen, 72B (azure)' are twins" in said
