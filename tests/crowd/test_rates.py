"""Rates against plain formulas, on planted judges and people, with odd inputs, and on panels of LLM judges."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import binomtest

from rectifact import DawidSkene, InputError, evaluate, rate
from rectifact.crowd.advice.gold import cross_fitted
from rectifact.crowd.data.humans import consensus
from rectifact.crowd.data.read import read_answers
from rectifact.crowd.events import Judged
from rectifact.crowd.labels_for import labels_for, labels_for_difference
from rectifact.crowd.panel_rates import rates_of
from rectifact.crowd.prediction_powered import GUARD, Share, deviations, difference, share, wilson
from rectifact.crowd.quantity import Quantity
from rectifact.crowd.rate_words import difference_words
from rectifact.datasets import data_folders, load_judges

Z = deviations(0.95)


def population(rng, n=2000, share=0.3, quality=2.0):
    """Truth, and overconfident probabilities by judges of some quality."""
    truth = (rng.random(n) < share).astype(float)
    evidence = quality * (rng.normal(size=n) + quality * truth) - quality**2 / 2
    return truth, expit(2 * (evidence + np.log(share / (1 - share))))


def panel(n=600, seed=0, shares=(0.6, 0.6), judges=((0.9, 0.4), (0.85, 0.3), (0.8, 0.35)), n_labels=150):
    """Answers of lenient judges on two versions, labels of people for random tasks, and the truth."""
    rng = np.random.default_rng(seed)
    version = np.arange(n) % 2
    truth = rng.random(n) < np.take(shares, version)
    parts = []
    for j, (right, wrong) in enumerate(judges):
        passed = rng.random(n) < np.where(truth, right, wrong)
        columns = {"task": np.arange(n), "worker": f"judge{j}", "label": np.where(passed, "pass", "fail")}
        parts.append(pd.DataFrame(columns | {"version": np.where(version, "v2", "v1")}))
    labels = pd.Series(np.where(truth, "pass", "fail"))
    gold = labels[rng.permutation(n)[:n_labels]]
    return pd.concat(parts, ignore_index=True), gold, labels


@pytest.mark.parametrize(("n", "quality"), [(60, 1.0), (300, 2.0), (1000, 4.0)])
def test_the_estimate_is_that_of_the_plain_formulas(rng, n, quality):
    truth, f = population(rng, quality=quality)
    y, labelled, others = truth[:n], f[:n], f[n:]
    many = len(others)
    tuning = np.cov(y, labelled)[0, 1] / ((1 + n / many) * labelled.var(ddof=1))
    found = share(y, labelled, f)
    assert found.value == pytest.approx(y.mean() + tuning * (others.mean() - labelled.mean()), abs=1e-12)
    assert found.tuning == pytest.approx(tuning * (1 + n / many), abs=1e-12)
    errors = y - tuning * labelled
    variance = errors.var(ddof=1) / n + tuning**2 * others.var(ddof=1) / many
    mine = y.var() / n * found.alone / found.worth
    assert mine == pytest.approx(variance + GUARD / n**2, rel=0.05)
    assert found.alone == pytest.approx(n)
    assert found.worth > n


def test_weights_count_a_label_several_times(rng):
    truth, f = population(rng)
    weights = rng.integers(1, 4, size=100)
    found = share(truth[:100], f[:100], f, weights.astype(float))
    again = np.repeat(np.arange(100), weights)
    w = weights / weights.sum()
    y, p = truth[:100] - w @ truth[:100], f[:100] - w @ f[:100]
    tuning = np.clip((w**2 * y * p).sum() / (w**2 * p**2).sum(), 0, 1)
    assert found.value == pytest.approx(truth[again].mean() + tuning * (f.mean() - f[again].mean()))
    assert found.alone < 100
    same = share(truth[:100], f[:100], f, np.full(100, 7.0))
    plain = share(truth[:100], f[:100], f)
    assert (same.value, same.worth) == pytest.approx((plain.value, plain.worth))


def test_wilson_is_that_of_scipy():
    for k, n in ((0, 20), (3, 50), (50, 50)):
        found = binomtest(k, n).proportion_ci(method="wilson")
        assert_allclose(wilson(k / n, n, Z), found, atol=1e-12)
    assert wilson(0.5, 0, Z) == (0, 1)


def test_the_interval_stays_within_0_and_1(rng):
    for truth in (np.zeros(50), np.ones(50)):
        found = share(truth, rng.random(50), rng.random(500))
        assert found.interval(Z) == pytest.approx(wilson(truth[0], 50, Z))
    for seed in range(200):
        truth, f = population(np.random.default_rng(seed), share=0.02, quality=4.0)
        found = share(truth[:60], f[:60], f)
        low, high = found.interval(Z)
        assert 0 <= low <= found.value <= high <= 1
        assert high > 0.001


def test_useless_and_perfect_predictions(rng):
    truth, _ = population(rng)
    useless = share(truth[:100], rng.random(100), rng.random(2000))
    assert useless.worth == pytest.approx(100, rel=0.1)
    assert useless.worth >= useless.alone
    perfect = share(truth[:100], truth[:100], truth)
    assert perfect.value == pytest.approx(truth.mean())
    assert 500 < perfect.worth < 2000
    against = share(truth[:100], 1 - truth[:100], 1 - truth)
    assert against.tuning == 0
    assert against.value == truth[:100].mean()


def test_all_labels_are_all_there_is(rng):
    truth, f = population(rng, n=300)
    found = share(truth, f, f)
    assert found.value == pytest.approx(truth.mean())
    assert found.worth == pytest.approx(300, rel=0.01)


@pytest.mark.parametrize(("p", "quality", "n"), [(0.3, 2.0, 100), (0.05, 2.0, 200), (0.5, 4.0, 50)])
def test_intervals_cover_the_planted_share(p, quality, n):
    covered, widths = [], []
    for seed in range(40):
        truth, f = population(np.random.default_rng(seed), n=1000, share=p, quality=quality)
        known = np.r_[truth[:n].astype(int), np.full(1000 - n, -1)]
        f = cross_fitted(np.column_stack([1 - f, f]), known)[:, 1]
        low, high = share(truth[:n], f[:n], f).interval(Z)
        covered.append(low <= p <= high)
        widths.append((high - low) / np.diff(wilson(truth[:n].mean(), n, Z))[0])
    assert np.mean(covered) > 0.85
    assert np.mean(widths) < 1


def test_labels_are_predicted_without_themselves(rng):
    truth, f = population(rng, n=400)
    known = np.r_[truth[:100].astype(int), np.full(300, -1)]
    two = np.column_stack([1 - f, f])
    found = cross_fitted(two, known)
    changed = known.copy()
    changed[7] = 1 - changed[7]
    again = cross_fitted(two, changed)
    assert_allclose(found[7], again[7], atol=1e-12)
    assert np.abs(found[100:] - again[100:]).max() > 1e-6
    assert_allclose(found.sum(axis=1), 1)
    assert (np.diff(found[100:][np.argsort(f[100:]), 1]) >= -1e-12).all()
    assert cross_fitted(two, np.where(known >= 0, 0, -1)) is two


def test_differences_are_newcombes():
    one, other = Share(0.8, 70, 70, 70, 70, 0), Share(0.6, 80, 80, 80, 80, 0)
    found = difference(other, one, Z)  # 56 of 70 and 48 of 80, an example of Newcombe (1998)
    assert_allclose([found.value, found.low, found.high], [0.2, 0.0524, 0.3339], atol=5e-5)
    turned = difference(one, other, Z)
    assert (turned.low, turned.high, turned.p_value) == pytest.approx((-found.high, -found.low, found.p_value))
    at = difference(other, one, deviations(1 - found.p_value))
    assert at.low == pytest.approx(0, abs=1e-9)
    assert difference(one, one, Z).p_value == 1
    assert difference(Share(0, 1e6, 1, 1, 1, 0), Share(1, 1e6, 1, 1, 1, 0), Z).p_value < 1e-80


def test_labels_needed_reach_the_half_width(rng):
    truth, f = population(rng)
    found = share(truth[:100], f[:100], f)
    assert found.with_labels(100).worth == pytest.approx(found.worth)
    assert found.with_labels(2000).worth == pytest.approx(2000)
    needed = labels_for(found, 0.03, Z)
    assert found.with_labels(int(needed)).half_width(Z) <= 0.03 < found.with_labels(int(needed) - 1).half_width(Z)
    alone = share(truth[:100], 0 * f[:100], 0 * f)
    assert 100 < needed < labels_for(alone, 0.03, Z)
    then = share(truth[: int(needed)], f[: int(needed)], f)
    assert then.half_width(Z) == pytest.approx(0.03, rel=0.1)
    assert labels_for(found, 0.01, Z) == np.inf
    both = labels_for_difference(found, found, 0.05, Z)
    again = difference(*[found.with_labels(int(both / 2))] * 2, Z)
    assert (again.high - again.low) / 2 == pytest.approx(0.05, rel=0.01)


def test_lenient_judges_are_corrected():
    answers, gold, truth = panel()
    found = rate(answers, gold, positive="pass")
    row = found.rates.iloc[0]
    share_ = (truth == "pass").mean()
    assert row["judge_rate"] > share_ + 0.04
    assert abs(row["rate"] - share_) < 0.05
    assert row["low"] < share_ < row["high"]
    assert row["high"] - row["low"] < 0.9 * (row["human_high"] - row["human_low"])
    assert row["worth"] > 1.2 * row["labels"] == 180
    turned = rate(answers, gold, positive=["fail"]).rates.iloc[0]
    assert turned["rate"] == pytest.approx(1 - row["rate"], abs=1e-6)
    assert (turned["low"], turned["high"]) == pytest.approx((1 - row["high"], 1 - row["low"]), abs=1e-6)


def test_power_is_above_that_of_people_alone():
    mine, people = [], []
    for seed in range(25):
        answers, gold, _ = panel(1200, seed, shares=(0.5, 0.6), judges=((0.95, 0.1), (0.9, 0.15)), n_labels=300)
        votes = (answers["label"] == "pass").groupby(answers["task"]).mean().to_numpy()
        judged = Judged(read_answers(answers), np.column_stack([1 - votes, votes]))
        groups = np.arange(1200) % 2, np.array(["v1", "v2"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = rates_of(judged, gold, "pass", groups=groups).differences.iloc[0]
        mine.append(row["p_value"] < 0.05)
        people.append(row["human_p_value"] < 0.05)
    assert np.mean(mine) > np.mean(people) + 0.15


def test_groups_from_a_column_a_table_and_a_dict(tmp_path):
    answers, gold, _ = panel(shares=(0.5, 0.75))
    found = rate(answers, gold, "pass", by="version", half_width=0.05)
    assert found.rates["group"].tolist() == ["all tasks", "v1", "v2"]
    row = found.differences.iloc[0]
    assert (row["first"], row["second"]) == ("v1", "v2")
    rates = found.rates.set_index("group")["rate"]
    assert row["difference"] == pytest.approx(rates["v2"] - rates["v1"])
    assert row["p_value"] < 0.05
    assert row["low"] > 0
    table = answers[["task", "version"]].drop_duplicates()
    path = tmp_path / "groups.csv"
    table.to_csv(path, index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    bare = answers.drop(columns="version")
    for by in (dict(table.to_numpy()), table.set_index("task")["version"], table, path, str(path)):
        pd.testing.assert_frame_equal(rate(bare, gold, "pass", by=by, half_width=0.05).rates, found.rates)
    again = rate(str(tmp_path / "answers.csv"), gold, "pass", by="version", half_width=0.05)
    pd.testing.assert_frame_equal(again.rates, found.rates)
    said = "\n".join(found.words())
    assert "v2 minus v1 is +" in said
    assert ": more than chance explains." in said
    assert "more labels" in said
    table = found.table()
    assert table["kind"].tolist() == ["rate", "rate", "rate", "difference"]
    assert table["value"].iloc[3] == row["difference"]


def test_groups_that_were_labelled_unequally_are_reported():
    answers, _, truth = panel(2000, shares=(0.3, 0.8))
    gold = pd.concat([truth[:300:2], truth[1::2]])
    match = "People labelled 100% of the tasks in 'v2' and 15% of those in 'v1', so that the row for all tasks leans"
    with pytest.warns(UserWarning, match=match):
        found = rate(answers, gold, "pass", by="version").rates
    right = rate(answers, gold, "pass", gold_weights=pd.Series(np.where(np.arange(2000) % 2, 1.0, 1 / 0.15))).rates
    assert abs(right["rate"].iloc[0] - (truth == "pass").mean()) < 0.06 < found["human_rate"].iloc[0] - 0.55
    assert_allclose(found["rate"].iloc[1:], [0.3, 0.8], atol=0.06)


def test_groups_with_few_labels_or_none():
    answers, gold, _ = panel()
    gold = gold[(gold.index % 2 == 0) | (gold.index < 10)]
    unequal, few = "People labelled 26% .* and 0% of", "Fewer than 10 gold labels in 'v2', so they alone decide there"
    with pytest.warns(UserWarning, match=unequal), pytest.warns(UserWarning, match=few):
        found = rate(answers, gold, "pass", by="version")
    last = found.rates.iloc[2]
    assert (last["rate"], last["low"], last["tuning"]) == (last["human_rate"], last["human_low"], 0)
    none = gold[gold.index % 2 == 0]
    nothing = "There are no gold labels in 'v2', so nothing is measured there"
    unequal = r"and 0% of .* leans to the former\. Groups and differences are not affected\.$"  # no weight corrects it
    with pytest.warns(UserWarning, match=unequal), pytest.warns(UserWarning, match=nothing):
        found = rate(answers, none, "pass", by="version", half_width=0.02)
    assert np.isnan(found.rates["rate"].iloc[2])
    assert found.rates["labels"].tolist() == [len(none), len(none), 0]
    assert found.differences[["difference", "p_value", "labels_needed"]].isna().all(axis=None)
    assert "nobody has labelled any of these tasks" in found.words()[2]
    assert not any("does not lie between" in words for words in found.words())
    groups = dict.fromkeys(range(200), "a") | dict.fromkeys(range(200, 400), "b")
    with pytest.warns(UserWarning, match="200 tasks without a group are in none of the groups"):
        assert rate(answers, gold, "pass", by=groups).rates["tasks"].tolist() == [600, 200, 200]


def test_many_groups_are_compared_with_the_first():
    answers, gold, _ = panel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rate(answers, gold, "pass", by={task: task % 12 for task in range(600)})
    assert found.differences["first"].tolist() == [0] * 11
    assert found.differences["second"].tolist() == list(range(1, 12))


def test_several_people_give_their_consensus():
    answers, gold, _ = panel()
    other = gold.replace({"pass": "fail", "fail": "pass"})
    people = pd.concat([gold, gold, other]).rename_axis("task").rename("label").reset_index()
    differ = f"150 tasks have several gold labels that differ, first {gold.index[0]} with "
    with pytest.warns(UserWarning, match=differ):
        found = rate(answers, people, "pass").rates
    pd.testing.assert_frame_equal(found, rate(answers, gold, "pass").rates)
    tie = pd.concat([gold, other[:1]]).rename_axis("task").rename("label").reset_index()
    with pytest.warns(UserWarning, match="1 task has gold labels that contradict each other, and was left out: "):
        assert rate(answers, tie, "pass").rates["labels"].tolist() == [149]
    gaps = consensus((np.array([1, 1, 2, 3]), np.array(["a", None, "", "b"], dtype=object)))
    assert [part.tolist() for part in gaps] == [[1, 3], ["a", "b"]]


def test_labels_of_a_class_that_no_judge_uses_count():
    answers, gold, _ = panel()
    gold = gold.copy()
    gold.iloc[:30] = "unclear"
    row = rate(answers, gold, "pass", classes=["fail", "pass", "unclear"]).rates.iloc[0]
    assert row["labels"] == 150
    assert row["human_rate"] == pytest.approx((gold == "pass").mean())
    rare = rate(answers, gold, "unclear").rates.iloc[0]
    assert (rare["rate"], rare["judge_rate"], rare["tuning"]) == (0.2, 0, 0)
    both = rate(answers, gold, ["pass", "unclear"]).rates.iloc[0]
    assert both["human_rate"] == pytest.approx((gold != "fail").mean())


def test_one_judge_one_class_and_all_labels():
    answers, gold, truth = panel()
    one = rate(answers[answers["worker"] == "judge1"], gold, "pass").rates.iloc[0]
    assert one["worth"] > 1.1 * 150
    same = rate(answers.assign(label="pass"), gold, "pass").rates.iloc[0]
    assert (same["rate"], same["worth"], same["judge_rate"]) == (same["human_rate"], pytest.approx(150), 1)
    whole = rate(answers, truth, "pass").rates.iloc[0]
    assert whole["rate"] == pytest.approx((truth == "pass").mean())
    assert whole["worth"] == pytest.approx(600, rel=0.01)
    agreed = gold[gold == "fail"]
    with pytest.warns(UserWarning, match="do not look like a random sample"):
        none = rate(answers, agreed, "pass").rates.iloc[0]
    assert (none["rate"], none["low"]) == (0, 0)
    assert none["high"] == pytest.approx(wilson(0, len(agreed), Z)[1])


def test_few_labels_and_labels_of_other_tasks():
    answers, gold, _ = panel()
    with pytest.warns(UserWarning, match="5 gold labels are too few to use the judges, so gold labels alone decide"):
        row = rate(answers, gold[:5], "pass").rates.iloc[0]
    assert row["worth"] == pytest.approx(5)
    more = pd.concat([gold, pd.Series(["pass", "fail"], index=[5000, 5001])])
    with pytest.warns(UserWarning, match="2 gold labels of tasks that nobody answered were left out"):
        assert rate(answers, more, "pass").rates["labels"].tolist() == [150]


def test_selected_labels_are_reported_and_weights_correct_them():
    answers, _, truth = panel(2000, seed=3)
    rng = np.random.default_rng(0)
    votes = (answers["label"] == "pass").groupby(answers["task"]).mean()
    chance = np.where(votes > 0.5, 0.05, 0.3)
    gold = truth[rng.random(2000) < chance]
    weights = pd.Series(1 / chance)
    with pytest.warns(UserWarning, match="do not look like a random sample.*0.35 on average over these"):
        wrong = rate(answers, gold, "pass").rates.iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rate(answers, gold, "pass", gold_weights=weights).rates.iloc[0]
    true = (truth == "pass").mean()
    assert wrong["human_high"] < true < found["human_high"]
    assert found["low"] < true < found["high"]
    assert found["worth"] > 0
    table = gold.rename_axis("task").rename("label").reset_index().assign(chosen=weights[gold.index].to_numpy())
    assert rate(answers, table, "pass", gold_weights="chosen").rates.iloc[0]["rate"] == found["rate"]
    assert rate(answers, gold, "pass", gold_weights=weights.to_dict()).rates.iloc[0]["rate"] == found["rate"]
    as_table = weights.rename_axis("task").rename("weight").reset_index()
    assert rate(answers, gold, "pass", gold_weights=as_table).rates.iloc[0]["rate"] == found["rate"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "pas"}, "positive='pas' is not among the classes 'fail', 'pass'"),
        ({"positive": []}, "positive names no class"),
        ({"positive": ["pass", "fail"]}, "positive names all classes, whose share is 1"),
        ({"gold": {}}, "There are no gold labels"),
        ({"gold": {"x": "pass"}}, "No task with a gold label was answered"),
        ({"gold": 3}, "gold is a dict or Series"),
        ({"confidence": 95}, "confidence=95 must lie between 0 and 1"),
        ({"half_width": 0}, "half_width=0 must lie between 0 and 1"),
        ({"by": "nothing"}, "by='nothing' is neither a column of the answers nor a file"),
        ({"by": {"x": 1}}, "No task that was answered has a group"),
        ({"by": "worker"}, "The task 0 is in several groups"),
        ({"by": 3}, "groups is a dict or Series by task"),
        ({"gold_weights": "nothing"}, "gold_weights='nothing' is neither a column of the gold labels nor a file"),
        ({"gold_weights": {0: 1.0}}, "with a gold label have no positive weight"),
        ({"gold_weights": {0: "x"}}, "Weights must be numbers"),
        ({"gold_weights": 3}, "gold_weights is a dict or Series"),
        ({"gold_weights": pd.DataFrame({"task": [1], "a": [1], "b": [2]})}, "No column for the weight of a task"),
    ],
)
def test_mistakes_are_explained(options, message):
    answers, gold, _ = panel(100, n_labels=40)
    with pytest.raises(InputError) as raised:
        rate(answers, **{"gold": gold, "positive": "pass"} | options)
    assert message in str(raised.value)


@pytest.mark.skipif(not any((f / "judges").exists() for f in data_folders()), reason="needs the panels of LLM judges")
@pytest.mark.parametrize(
    ("name", "positive", "n", "gain"), [("framing", ["yes"], 100, 0.12), ("stars", [4, 5], 60, 0.3)]
)
def test_intervals_on_real_panels(name, positive, n, gain):
    real = load_judges(name)
    truth = real.truth.isin(positive)
    model = DawidSkene().fit(real.answers)
    judged = Judged(model._answers, model.probas_)
    covered, widths = [], []
    for seed in range(60):
        gold = real.truth.sample(n, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = rates_of(judged, gold, positive).rates.iloc[0]
        covered.append(row["low"] <= truth.mean() <= row["high"])
        widths.append([row["high"] - row["low"], row["human_high"] - row["human_low"]])
    mine, people = np.mean(widths, axis=0)
    assert np.mean(covered) > 0.87
    assert mine < (1 - gain) * people


@pytest.mark.parametrize("command", [rate, evaluate])
def test_gold_labels_that_may_be_misspelt_are_refused_alike(command):
    answers = pd.DataFrame({"task": np.repeat(range(40), 2), "worker": ["a", "b"] * 40, "label": ["pass", "fail"] * 40})
    gold = {task: "pass" if task % 3 else "fail" for task in range(30)} | {0: "pas", 1: "pss"}
    with pytest.raises(InputError, match=r"2 gold labels are none of the classes 'fail', 'pass': 'pas', 'pss'\."):
        command(answers, gold=gold, positive="pass")
    with warnings.catch_warnings(action="ignore"):
        found = command(answers, gold=gold, positive="pass", classes=["fail", "pass", "pas", "pss"])
    rates = found if command is rate else found.rates
    assert rates.rates["labels"].iloc[0] == 30


def test_repeated_answers_count_once_in_rates_too():
    answers = pd.DataFrame({"task": np.repeat(range(40), 2), "worker": ["a", "b"] * 40, "label": ["pass", "fail"] * 40})
    again = answers.iloc[[0, 2, 4]].assign(label=["pass", "fail", "fail"])
    gold = {task: "pass" if task % 3 else "fail" for task in range(30)}
    with pytest.warns(UserWarning, match="3 repeated answers .* left out; 2 of them contradict the first answer"):
        found = rate(pd.concat([answers, again]), gold, positive="pass")
    pd.testing.assert_frame_equal(found.rates, rate(answers, gold, positive="pass").rates)


@pytest.mark.parametrize("said", [1.0, 0.0])
@pytest.mark.parametrize("n", range(5, 41))
def test_labels_that_all_say_the_same_have_the_interval_of_wilson(n, said):
    rng = np.random.default_rng(n)
    predicted = rng.random(300)
    for weights in (None, np.full(n, 3.7), rng.uniform(0.5, 2, n)):
        found = share(np.full(n, said), predicted[:n], predicted, weights)
        size = n if weights is None else weights.sum() ** 2 / (weights @ weights)
        assert found.worth == pytest.approx(size)
        assert found.value == said
        assert found.interval(Z) == pytest.approx(wilson(said, size, Z))
    other = share((np.arange(30) % 2).astype(float), predicted[:30], predicted)
    gap = difference(other, found, Z)
    assert gap.low < gap.value < gap.high
    assert 0 < gap.p_value < 0.05
    opposite = difference(share(np.full(n, 1 - said), predicted[:n], predicted), found, Z)
    assert 0 < opposite.p_value < 0.05


@pytest.mark.parametrize("n", [10, 11, 13, 15, 20, 22, 25, 40])
@pytest.mark.parametrize("side", ["pass", "fail"])
@pytest.mark.filterwarnings("ignore")
def test_a_group_whose_gold_labels_are_all_the_same(n, side):
    answers, _, labels = panel(shares=(0.6, 0.6))
    groups = np.arange(len(labels)) % 2
    one, other = labels[(labels == side) & (groups == 0)][:n], labels[groups == 1][:40]
    found = rate(answers, pd.concat([one, other]), "pass", by="version")
    row = found.rates.set_index("group").loc["v1"]
    value = float(side == "pass")
    assert (row["low"], row["high"]) == pytest.approx(wilson(value, n, Z))
    assert row["worth"] == pytest.approx(n)
    gap = found.differences.iloc[0]
    assert gap["low"] < gap["difference"] < gap["high"]
    assert gap["p_value"] > 0
    whole = rate(answers, one, "pass").rates.iloc[0]
    assert (whole["low"], whole["high"]) == pytest.approx(wilson(value, n, Z))
    if n > 10:
        by_evaluate = evaluate(answers, gold=one, positive="pass").rates.rates.iloc[0]
        assert (by_evaluate["low"], by_evaluate["high"]) == pytest.approx(wilson(value, n, Z))


@pytest.mark.parametrize("shares", [(0.92, 0.96), (0.08, 0.04)])
def test_intervals_cover_planted_shares_close_to_the_end(shares):
    """With 20 labels, about a third of the draws has labels that all say the same."""
    covered, n = [], 20
    for seed in range(150):
        rng = np.random.default_rng(seed)
        found = []
        for p in shares:
            truth, f = population(rng, n=500, share=p)
            known = np.r_[truth[:n].astype(int), np.full(500 - n, -1)]
            f = cross_fitted(np.column_stack([1 - f, f]), known)[:, 1]
            found.append(share(truth[:n], f[:n], f))
        gap = difference(*found, Z)
        ends = [*(one.interval(Z) for one in found), (gap.low, gap.high)]
        wanted = (*shares, shares[1] - shares[0])
        covered.append([low <= value <= high for (low, high), value in zip(ends, wanted, strict=True)])
        assert gap.p_value > 0
    assert (np.mean(covered, axis=0) > 0.9).all()


def test_no_p_value_is_zero():
    none, all_ = (Share(value, 1e6, 10**6, 10**6, 1e6, 0) for value in (0.0, 1.0))
    assert 0 < difference(none, all_, Z).p_value < 1e-50


def test_an_interval_of_one_of_several_comparisons_is_said_to_be_of_it_alone():
    table = {"first": ["a", "a", "b"], "second": ["b", "c", "c"], "difference": [0.1, 0.3, 0.01]}
    table |= {"low": [0.01, 0.2, -0.1], "high": [0.19, 0.4, 0.12], "p_value": [0.03, 1e-6, 0.8], "pairs": [0, 0, 0]}
    found = SimpleNamespace(differences=pd.DataFrame(table), quantity=Quantity.share(["pass"]), confidence=0.95)
    one, sure, none = difference_words(found)
    assert "is for this comparison alone" in one
    assert ": not more than chance explains" in one
    assert ": more than chance explains" in sure
    assert "alone" not in sure + none
    found.differences = found.differences.head(1)
    assert "alone" not in difference_words(found)[0]
