"""Mean grades against plain formulas, on planted judges and people, and on panels of LLM judges."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student

from rectifact import InputError, evaluate, rate
from rectifact.crowd.prediction_powered import GUARD, deviations, difference, mean
from rectifact.datasets import load_judges

Z = deviations(0.95)


def graded_panel(n=600, seed=0, means=(3.0, 3.5), n_labels=100):
    """Grades from 1 to 5 of judges that are lenient or strict, on two versions; grades of people, and all true ones."""
    rng = np.random.default_rng(seed)
    version = np.arange(n) % 2
    truth = np.clip(np.round(rng.normal(np.take(means, version), 1.1)), 1, 5)
    parts = []
    for j, (shift, noise) in enumerate([(0.5, 0.6), (-0.3, 0.8), (0.0, 1.2)]):
        seen = rng.random(n) < 0.9
        given = np.clip(np.round(truth + shift + rng.normal(0, noise, n)), 1, 5).astype(int)
        columns = {"task": np.arange(n), "worker": f"judge{j}", "label": given}
        parts.append(pd.DataFrame(columns | {"version": np.where(version, "v2", "v1")})[seen])
    labels = pd.Series(truth.astype(int))
    return pd.concat(parts, ignore_index=True), labels[rng.permutation(n)[:n_labels]], labels


def test_a_mean_is_the_regression_estimate(rng):
    truth = rng.integers(1, 6, size=400).astype(float)
    predicted = 0.3 * truth + rng.normal(size=400)
    found = mean(truth[:80], predicted[:80], predicted, None, 1.0)
    slope = np.polyfit(predicted[:80], truth[:80], 1)[0]
    assert found.value == pytest.approx(truth[:80].mean() + slope * (predicted.mean() - predicted[:80].mean()))
    assert found.tuning == pytest.approx(slope)
    errors = truth[:80] - slope * predicted[:80]
    variance = errors.var(ddof=2) / 80 + slope**2 * predicted.var() / 400 + GUARD / 80**2
    low, high = found.interval(Z)
    assert (high - low) / 2 == pytest.approx(student.ppf(0.975, 79) * np.sqrt(variance), rel=0.01)


def test_a_mean_without_help_of_judges_is_that_of_the_t_interval(rng):
    truth = rng.integers(0, 101, size=40).astype(float)
    found = mean(truth, -truth, -truth, None, 1.0)  # judges that say the opposite are not used
    assert found.tuning == 0
    assert found.worth == pytest.approx(40)
    ends = student.interval(0.95, 39, truth.mean(), truth.std(ddof=1) / np.sqrt(40))
    assert_allclose(found.interval(Z), ends, rtol=1e-3)


def test_grades_that_are_all_the_same_still_have_an_interval():
    found = mean(np.full(30, 5.0), np.full(30, 5.0), np.full(200, 5.0), None, 1.0)
    low, high = found.interval(Z)
    assert high - low > 0.05


def test_differences_of_means_have_the_p_value_of_their_interval(rng):
    one, other = (mean(rng.normal(at, 1, 30), np.zeros(30), np.zeros(100), None, 0.1) for at in (0.0, 0.7))
    found = difference(one, other, Z)
    at_p = difference(one, other, deviations(1 - found.p_value))
    assert min(abs(at_p.low), abs(at_p.high)) == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("n_labels", "means"), [(12, (3.0, 3.0)), (40, (3.0, 3.5)), (150, (4.5, 4.6))])
def test_intervals_of_mean_grades_hold_the_planted_truth(n_labels, means):
    """The truth is the mean of a large population; groups and their difference as well."""
    many = [graded_panel(200_000, 99, means)[2]]
    truth = {"all tasks": many[0].mean(), "v1": many[0][::2].mean(), "v2": many[0][1::2].mean()}
    held, shorter = [], []
    for seed in range(300):
        answers, gold, _ = graded_panel(400, seed, means, n_labels)
        with warnings.catch_warnings(action="ignore"):
            found = rate(answers, gold, mean=True, by="version")
        rows, gap = found.rates.set_index("group"), found.differences.iloc[0]
        held.append([rows.loc[name, "low"] <= at <= rows.loc[name, "high"] for name, at in truth.items()])
        held[-1].append(gap["low"] <= truth["v2"] - truth["v1"] <= gap["high"])
        shorter.append((rows["high"] - rows["low"]).iloc[0] / (rows["human_high"] - rows["human_low"]).iloc[0])
    least = 0.92 if n_labels > 12 else 0.9
    assert (np.mean(held, axis=0) > least).all(), np.mean(held, axis=0)
    assert np.mean(shorter) < 0.9


@pytest.mark.parametrize("name", ["stars", "summaries"])
def test_intervals_of_mean_grades_hold_on_panels_of_judges(name, load_or_skip):
    """Tasks are drawn with replacement, as those of a sample of such tasks; people's grades count by their mean."""
    crowd = load_or_skip(load_judges, name)
    answers = crowd.answers[crowd.answers["task"].isin(crowd.truth.index)]
    wide = answers.drop_duplicates(["task", "worker"]).pivot(index="task", columns="worker", values="label")
    truth = crowd.truth.loc[wide.index].astype(float)
    held = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, len(wide), 500)
        sample = wide.iloc[drawn].reset_index(drop=True)
        labelled = rng.permutation(500)[:60]
        with warnings.catch_warnings(action="ignore"):
            gold = pd.Series(truth.to_numpy()[drawn][labelled], index=labelled)
            found = rate(sample.to_numpy(dtype=float), gold, mean=True).rates.iloc[0]
        held.append(found["low"] <= truth.mean() <= found["high"])
    assert np.mean(held) >= 0.89


def test_mean_grades_by_version_and_in_words(tmp_path):
    answers, gold, truth = graded_panel()
    found = rate(answers, gold, mean=True, by="version", half_width=0.1)
    rows = found.rates.set_index("group")
    assert rows.loc["v1", "low"] < truth[::2].mean() < rows.loc["v1", "high"]
    assert (rows["worth"] > rows["labels"]).all()
    gap = found.differences.iloc[0]
    assert gap["low"] < truth[1::2].mean() - truth[::2].mean() < gap["high"]
    said = found.words()
    assert said[0].startswith(f"All tasks: the mean grade is {rows['rate'].iloc[0]:.2f} (95% interval ")
    assert "points" not in " ".join(said)
    assert "%" not in " ".join(said).replace("95%", "")
    assert any("an interval of 0.1 on either side" in words for words in said)
    again = rate(answers.assign(label=25.0 * (answers["label"] - 1)), 25.0 * (gold - 1), mean=True, by="version")
    assert_allclose(again.rates["rate"], 25 * (found.rates["rate"] - 1))
    assert_allclose(again.rates["low"], 25 * (found.rates["low"] - 1))
    assert_allclose(again.differences["p_value"], found.differences["p_value"], rtol=1e-6)


def test_several_grades_of_a_task_count_by_their_mean():
    answers, gold, _ = graded_panel()
    twice = pd.concat([gold - 0.5, gold + 0.5]).rename_axis("task").reset_index(name="label")
    with warnings.catch_warnings(action="ignore"):  # half grades reach beyond those of the judges
        found = rate(answers, twice, mean=True)
    assert found.rates["human_rate"].iloc[0] == pytest.approx(gold.mean())
    assert found.rates["labels"].iloc[0] == len(gold)


def test_a_mean_stays_within_the_grades():
    answers, gold, _ = graded_panel(means=(6.0, 6.0), n_labels=12)
    found = rate(answers, gold, mean=True).rates.iloc[0]
    assert found["high"] <= 5


def test_a_mean_takes_numbers():
    answers, gold, _ = graded_panel()
    with pytest.raises(InputError, match="task 7 has the gold label 'good'"):
        rate(answers, {7: "good", 8: 3}, mean=True)
    with pytest.raises(InputError, match="there are answers such as 'x'"):
        rate(answers.assign(label="x"), gold, mean=True)
    with pytest.raises(InputError, match="not said what to estimate"):
        rate(answers, gold)
    with pytest.raises(InputError, match="exclude each other"):
        rate(answers, gold, 4, mean=True)
    with pytest.warns(UserWarning, match="outside of the grades of judges, 1 to 5: the first is 55 of task"):
        rate(answers, pd.concat([gold, pd.Series({int(gold.index[0]): 55})]), mean=True)


def test_an_evaluation_of_grades_has_their_mean():
    answers, gold, truth = graded_panel(means=(2.6, 3.6))
    alone = evaluate(answers, gold=gold, by="version", ordinal=True)
    assert alone.rates is alone.grades
    assert alone.decision()[0].startswith("The mean grade is ")
    row = alone.rates.rates.iloc[0]
    assert row["low"] < truth.mean() < row["high"]
    assert alone.rates.half_width == pytest.approx(0.2)
    both = evaluate(answers, gold=gold, by="version", ordinal=True, positive=[4, 5])
    assert both.rates.positive == (4, 5)
    assert_allclose(both.grades.rates["rate"], alone.rates.rates["rate"])
    assert both.decision()[1].startswith("The mean grade is")
    assert evaluate(answers, gold=gold, positive=[4, 5]).grades is None


def twins_among(t, rng, *, copied):
    """Verdicts of five graders on tasks with true grades ``t``; the second repeats the first, or both are excellent."""

    def grader(bias, spread, scale=1.0):
        return np.clip(np.round(3 + scale * (t - 3) + bias + rng.normal(0, spread, len(t))), 1, 5)

    first = grader(0, 0.6 if copied else 0.25)
    changed = np.clip(first + rng.choice([-1, 1], len(t)), 1, 5)
    second = np.where(rng.random(len(t)) < 0.06, changed, first) if copied else grader(0, 0.25)
    said = {"one": first, "two": second, "high": grader(0.9, 0.7), "tame": grader(0, 0.5, 0.4), "wild": grader(0, 1.6)}
    wide = pd.DataFrame(said).astype(int).assign(task=np.arange(len(t)))
    return wide.melt(id_vars="task", var_name="worker", value_name="label")


@pytest.mark.parametrize("copied", [True, False])
def test_gold_labels_tell_graded_copies_from_two_excellent_judges(copied):
    """Without people, the answers alone cannot: both pairs agree on nine tasks in ten, and the others do not."""
    rng = np.random.default_rng(3)
    t = np.clip(np.round(rng.normal(3.2, 1, 500)), 1, 5)
    answers = twins_among(t, rng, copied=copied)
    known = rng.choice(500, 80, replace=False)
    found = evaluate(answers, gold=pd.DataFrame({"task": known, "label": t[known].astype(int)}), ordinal=True)
    assert [{pair.one, pair.other} for pair in found.pairs if pair.twins] == ([{"one", "two"}] if copied else [])
    assert not any("decide the labels" in finding.finding for finding in found.findings)
    labels = found.model.result().set_index("task")["label"].reindex(range(500)).to_numpy(float)
    vote = answers.pivot(index="task", columns="worker", values="label").median(axis=1).to_numpy()
    assert (labels == t).mean() > (vote == t).mean() + 0.02


def test_gold_labels_that_cannot_tell_copies_are_not_asked_for_again():
    rng = np.random.default_rng(4)
    t = np.clip(np.round(rng.normal(3.2, 1, 500)), 1, 5)
    answers = twins_among(t, rng, copied=False)
    said = answers.pivot(index="task", columns="worker", values="label")
    easy = np.flatnonzero((said["one"] == t) & (said["two"] == t))[:40]  # nobody of the two is wrong here
    found = evaluate(answers, gold=pd.DataFrame({"task": easy, "label": t[easy].astype(int)}), ordinal=True)
    (warning,) = [finding for finding in found.findings if "decide the labels" in finding.finding]
    assert "The gold labels cannot tell either" in warning.detail
    assert "check them against more gold labels" in warning.remedy


def test_agreement_on_grades_counts_near_misses_beside_it():
    answers, gold, _ = graded_panel()
    words = " ".join(evaluate(answers, gold=gold, ordinal=True).words())
    assert "if near misses count in part)" in words
    assert "near misses" not in " ".join(evaluate(answers, gold=gold).words())


@pytest.mark.parametrize(("gold", "is_called_out"), [("true", False), ("reversed", True), ("shuffled", True)])
def test_lenient_judges_do_not_contradict_gold_grades_but_swapped_grades_do(gold, is_called_out):
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 250)
    lenient = {f"j{j}": np.clip(np.round(truth + 1.2 + 0.6 * rng.normal(size=250)), 1, 5) for j in range(4)}
    table = pd.DataFrame({"task": np.arange(250)} | {name: said.astype(int) for name, said in lenient.items()})
    known = {"true": truth, "reversed": 6 - truth, "shuffled": rng.permutation(truth)}[gold]
    found = evaluate(table, gold=dict(enumerate(known[:60])), ordinal=True, wide=True)
    assert found.audit.accuracy < 0.5
    assert ("do not fit the answers" in found.decision()[0]) == is_called_out
    assert not is_called_out or "Check whether the scale is turned round" in found.decision()[0]


def test_grades_off_the_scale_are_among_the_next_steps():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 300)
    rows = [
        (task, f"w{worker}", int(np.clip(grade + rng.choice([-1, 0, 0, 0, 1]), 1, 5)))
        for task, grade in enumerate(truth)
        for worker in range(5)
    ]
    table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    typos = table.assign(label=table["label"].where(~table.index.isin([3, 700, 1200]), 55))
    with warnings.catch_warnings(action="ignore"):
        steps = {step.finding: step for step in evaluate(typos, ordinal=True).next_steps()}
        clean = {step.finding for step in evaluate(table, ordinal=True).next_steps()}
    assert "leave it out (missing=55)" in steps["grades that may be slips"].remedy
    assert "leave it out (--missing 55)" in steps["grades that may be slips"].command
    assert "grades that may be slips" not in clean
