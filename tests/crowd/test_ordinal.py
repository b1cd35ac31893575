import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rectifact import DawidSkene, load_model, save_model
from rectifact.core.errors import InputError
from rectifact.crowd import read_answers
from rectifact.crowd.advice.gold import learn_grades, tilted
from rectifact.crowd.grades import expected_grades, grade_intervals, grade_values, quantile_grades
from rectifact.crowd.pooled import Strength, graded, pooled_prior
from rectifact.datasets import load_judges


def panel_of(seed, n_tasks=200, n_workers=6, n_grades=5, per_task=6):
    """Grades of workers who are strict or lenient and more or less careful, and the true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_grades, size=n_tasks)
    spread, bias = rng.uniform(0.4, 1.6, n_workers), rng.normal(0, 0.5, n_workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.choice(n_workers, per_task, replace=False) for _ in range(n_tasks)])
    grade = np.rint(truth[task] + bias[worker] + spread[worker] * rng.normal(size=len(task)))
    label = np.clip(grade, 0, n_grades - 1).astype(int)
    return pd.DataFrame({"task": task, "worker": worker, "label": label}), truth


def distance(found, truth):
    return np.abs(np.asarray(found, dtype=float) - truth).mean()


@pytest.mark.parametrize("size", [{}, {"n_tasks": 100, "n_workers": 20, "per_task": 3}])
def test_planted_grades_are_nearer_than_without_their_order(size):
    nominal, ordinal, middle = [], [], []
    for seed in range(5):
        answers, truth = panel_of(seed, **size)
        plain, model = DawidSkene().fit(answers), DawidSkene(ordinal=True).fit(answers)
        nominal.append([distance(plain.labels_, truth), distance(expected_grades(plain.probas_, np.arange(5)), truth)])
        ordinal.append([distance(model.labels_, truth), distance(model.expected_grades_, truth)])
        middle.append(model.priors_[1:4].min())
    assert (np.mean(ordinal, axis=0) < np.mean(nominal, axis=0)).all()
    assert min(middle) > 0.1  # no grade is emptied by its neighbours


@pytest.mark.parametrize(("right", "n_grades"), [(0.5, 3), (0.8, 5), (0.4, 4)])
def test_errors_fall_off_with_distance_and_stop_at_the_ends(right, n_grades):
    found = graded(np.array([right]), n_grades)[0]
    assert_allclose(found.sum(axis=0), 1)
    assert np.trace(found) / n_grades == pytest.approx(right)
    far, decay = 400, found[0, 1] / found[0, 0]
    errors = decay ** np.abs(np.arange(-far, far + 1.0))
    for c in range(n_grades):
        answers = np.clip(c + np.arange(-far, far + 1), 0, n_grades - 1)
        assert_allclose(found[:, c], np.bincount(answers, errors / errors.sum()), rtol=1e-8)


def test_pseudo_answers_are_as_right_as_those_of_a_coin(rng):
    counts = rng.gamma(1, size=(7, 4, 8)) + 5 * np.eye(4).repeat(2, axis=1)
    plain, prior = (pooled_prior(counts, Strength(10.0, 5.0), ordinal=order) for order in (False, True))
    assert_allclose(prior.sum(axis=1), 10)
    assert_allclose(np.trace(prior[:, :, ::2].T), np.trace(plain[:, :, ::2].T), rtol=1e-2)
    assert (prior[:, 1, 0] > prior[:, 3, 0]).all()


def test_two_grades_have_no_distances(rng):
    counts = rng.gamma(1, size=(5, 2, 2)) + 5 * np.eye(2)
    assert_allclose(pooled_prior(counts, Strength(8, 8), ordinal=True), pooled_prior(counts, Strength(8, 8)))


def test_the_median_has_the_least_expected_distance(rng):
    P, places = rng.dirichlet(np.ones(5), size=50), np.arange(5)
    risks = np.array([[p @ np.abs(places - k) for k in places] for p in P])
    assert_array_equal(quantile_grades(P, 0.5), risks.argmin(axis=1))
    ends = grade_intervals(P, places)
    for p, (low, high) in zip(P, ends, strict=True):
        assert p[:low].sum() <= 0.05
        assert p[high + 1 :].sum() <= 0.05 + 1e-9
        assert p[low : high + 1].sum() >= 0.9 - 1e-9


def test_values_of_grades():
    assert grade_values(np.array([3, 2, 1])).tolist() == [3, 2, 1]
    assert grade_values(np.array([2, 1, 3])).tolist() == [1, 2, 3]  # listed in an order of their own
    assert grade_values(np.array(["1", "10"])).tolist() == [1, 10]
    assert grade_values(np.array(["low", "nan"], dtype=object)).tolist() == [1, 2]


def test_results_of_ordered_grades(tmp_path):
    answers, _ = panel_of(1, n_tasks=80)
    names = np.array(["awful", "poor", "fair", "good", "best"])
    named = read_answers(answers.assign(label=names[answers["label"]]), classes=list(names))
    model = DawidSkene(ordinal=True).fit(named)
    table = model.result()
    assert list(table)[-3:] == ["expected", "low", "high"]
    places = model.probas_ @ np.arange(1, 6)
    assert_allclose(table["expected"], places)
    assert_array_equal(table["label"], names[quantile_grades(model.probas_, 0.5)])
    assert_allclose(table["confidence"], model.probas_[np.arange(80), quantile_grades(model.probas_, 0.5)])
    assert_array_equal(table[["low", "high"]], model.grade_intervals_)
    numbers = DawidSkene(ordinal=True).fit(answers)
    assert_allclose(numbers.expected_grades_ + 1, places)
    model.calibrate(dict(zip(model.tasks_[:40], model.labels_[:40], strict=True)))
    save_model(model, tmp_path / "model.rfx")
    again = load_model(tmp_path / "model.rfx")
    assert_array_equal(again.grade_intervals_, model.grade_intervals_)
    assert_array_equal(again.predict(named)[40:], model.labels_[40:])
    assert not hasattr(DawidSkene().fit(answers), "expected_grades_")
    assert not hasattr(numbers.set_params(ordinal=False).fit(answers), "expected_grades_")


def test_a_file_of_an_older_version_has_no_order(tmp_path, monkeypatch):
    model = DawidSkene().fit(panel_of(1, n_tasks=30)[0])
    monkeypatch.setattr(DawidSkene, "ordinal", False, raising=False)
    model.__dict__.pop("ordinal")
    save_model(model, tmp_path / "model.rfx")
    assert load_model(tmp_path / "model.rfx").ordinal is False


def test_partitioned_grades():
    dd = pytest.importorskip("dask.dataframe")
    answers, _ = panel_of(2, n_tasks=60)
    model = DawidSkene(ordinal=True).fit(answers)
    lazy = DawidSkene(ordinal=True).fit(dd.from_pandas(answers, npartitions=3))
    table = lazy.result().compute().sort_values("task", ignore_index=True)
    pd.testing.assert_frame_equal(table, model.result(), check_dtype=False, rtol=1e-4)
    order = np.argsort(lazy.tasks_.compute())
    assert_allclose(lazy.expected_grades_.compute()[order], model.expected_grades_, rtol=1e-4)
    assert_array_equal(lazy.grade_intervals_.compute()[order], model.grade_intervals_)


def test_the_accuracy_of_lenient_judges_lies_within_its_interval():
    held = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = rng.choice(5, 320, p=[0.1, 0.15, 0.25, 0.3, 0.2])
        lean, spread = np.array([0.1, 0, 0.2, 0.9, 0.9, 0, -0.1]), np.array([0.5, 0.6, 0.7, 0.7, 0.6, 0.5, 0.5])
        said = np.clip(np.rint(truth[:, None] + lean + spread * rng.normal(size=(320, 7))), 0, 4).astype(int)
        report = DawidSkene(ordinal=True).fit(said).worker_report()
        share = (said == truth[:, None]).mean(axis=0)
        held.append(((report["accuracy_low"] <= share) & (share <= report["accuracy_high"]))[3:5])
    assert np.mean(held) >= 0.8


@pytest.mark.parametrize("options", [{"model": "full"}, {"refine": None}])
def test_order_needs_the_default_model(options):
    with pytest.raises(InputError, match="ordinal=True is for model='auto'"):
        DawidSkene(ordinal=True, **options).fit(panel_of(0, n_tasks=10)[0])


def test_tilted_probabilities_have_the_expected_grade(rng):
    P, wanted = rng.dirichlet(np.ones(4), size=20), rng.uniform(-1.4, 1.4, 20)
    found = tilted(P, wanted)
    places = np.arange(4) - 1.5
    assert_allclose(found @ places, wanted, atol=1e-6)
    slopes = np.diff(np.log(found / P), axis=1)
    assert_allclose(slopes, slopes[:, :1] * np.ones(3), rtol=1e-6)


def test_gold_labels_put_strict_judges_right():
    answers, truth = panel_of(3, n_tasks=400)
    lower = answers.assign(label=np.maximum(answers["label"] - 1, 0))
    model = DawidSkene(ordinal=True).fit(lower)
    before = distance(model.expected_grades_[100:], truth[100:])
    seen = {task: grade for task, grade in enumerate(truth[:100]) if grade < 4}  # nobody answers 4
    model.calibrate(seen)
    assert model.calibration_.form == "grades"
    assert distance(model.expected_grades_[100:], truth[100:]) < 0.8 * before
    assert learn_grades(model.probas_[:20], truth[:20].clip(max=3)).form != "grades"  # too few labels


def test_published_grades(load_or_skip):
    relevance = load_or_skip(load_judges, "relevance33")
    model = DawidSkene(ordinal=True).fit(relevance.answers)
    median = relevance.answers.groupby("task")["label"].median()
    truth = relevance.truth.loc[model.tasks_].to_numpy()
    assert distance(model.labels_, truth) <= distance(median.loc[model.tasks_], truth)
    stars, people = load_judges("stars"), load_or_skip(load_judges, "stars", truth="mean").truth
    model, plain = DawidSkene(ordinal=True).fit(stars.answers), stars.answers.groupby("task")["label"].mean()
    truth = people.loc[model.tasks_].to_numpy()
    assert distance(model.expected_grades_, truth) < distance(plain.loc[model.tasks_], truth) + 0.02
