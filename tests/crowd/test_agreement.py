"""Agreement against slow forms from the definitions, against other packages, and on planted panels."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from scipy.stats import t as student_t
from sklearn.metrics import cohen_kappa_score

from rectifact import InputError, agreement
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.agreement import scale_of, tally, within_figures, within_terms
from rectifact.crowd.resampling import Bootstrap, _shape, _standard_errors, _tails, estimates
from rectifact.datasets import make_crowd

LEVELS = ["nominal", "ordinal", "interval"]
WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic"}
GRADES = [1.0, 2.0, 4.0, 5.0]


def graded(rng, n=40, m=4, gaps=0.25):
    """Grades around a truth, with gaps; every grade occurs, and the last task has one answer."""
    truth = rng.integers(4, size=n)
    place = np.clip(truth[:, None] + rng.choice([-1, 0, 0, 0, 1, 2], size=(n, m)), 0, 3)
    answers = np.array(GRADES)[place]
    answers[rng.random((n, m)) < gaps] = np.nan
    answers[:4, :2] = np.array(GRADES)[:, None]
    answers[-1] = [GRADES[0], *[np.nan] * (m - 1)]
    return answers[~np.isnan(answers).all(axis=1)]


def found(answers, level, **options):
    return agreement(answers, level, missing=np.nan, n_resamples=20, **options)


def value_of(table, coefficient):
    rows = table[table["coefficient"] == coefficient]
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def weight(level, a, b):
    """How far two grades agree, from their places or values."""
    if level == "nominal":
        return float(a == b)
    if level == "interval":
        return 1 - (a - b) ** 2 / (GRADES[-1] - GRADES[0]) ** 2
    apart = abs(GRADES.index(a) - GRADES.index(b))
    return 1 - apart * (apart + 1) / (len(GRADES) * (len(GRADES) - 1))


def slow_coefficients(answers, level):
    """Loops over tasks, pairs of answers and pairs of classes."""
    tasks = [row[~np.isnan(row)] for row in answers]
    several = [row for row in tasks if len(row) > 1]
    same = np.mean([np.mean([a == b for a, b in permutations(row, 2)]) for row in several])
    alike = np.mean([np.mean([weight(level, a, b) for a, b in permutations(row, 2)]) for row in several])
    share = {k: np.mean([np.mean(row == k) for row in tasks]) for k in GRADES}
    fleiss = sum(weight(level, k, g) * share[k] * share[g] for k in GRADES for g in GRADES)
    total = sum(weight(level, k, g) for k in GRADES for g in GRADES)
    gwet = total * sum(share[k] * (1 - share[k]) for k in GRADES) / (len(GRADES) * (len(GRADES) - 1))
    return {
        "observed agreement": same,
        "Fleiss' kappa": (alike - fleiss) / (1 - fleiss),
        "Gwet's AC1" if level == "nominal" else "Gwet's AC2": (alike - gwet) / (1 - gwet),
        "Krippendorff's alpha": slow_alpha(several, level),
    }


def slow_alpha(several, level):
    values = np.concatenate(several)
    given = {k: int((values == k).sum()) for k in GRADES}

    def apart(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        return (sum(given[g] for g in GRADES if low <= g <= high) - (given[low] + given[high]) / 2) ** 2

    observed = sum(sum(apart(a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in several)
    expected = sum(apart(a, b) for a, b in permutations(values, 2)) / (len(values) - 1)
    return 1 - observed / expected


def slow_kappa(a, b, level):
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    observed = np.mean([weight(level, x, y) for x, y in zip(a, b, strict=True)])
    chance = np.mean([weight(level, x, y) for x in a for y in b])
    return (observed - chance) / (1 - chance)


@pytest.mark.parametrize("level", LEVELS)
def test_coefficients_are_those_of_the_definitions(rng, level):
    answers = graded(rng)
    result = found(answers, level)
    for name, expected in slow_coefficients(answers, level).items():
        assert_allclose(value_of(result.overall, name), expected, rtol=0, atol=1e-12, err_msg=name)
    kappas = result.pairs[result.pairs["coefficient"] == "Cohen's kappa"]
    expected = [slow_kappa(answers[:, a], answers[:, b], level) for a, b in combinations(range(4), 2)]
    assert_allclose(kappas["value"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_that_of_krippendorff(rng, level):
    krippendorff = pytest.importorskip("krippendorff")
    answers = graded(rng, n=80)
    expected = krippendorff.alpha(answers.T, level_of_measurement=level)
    assert_allclose(value_of(found(answers, level).overall, "Krippendorff's alpha"), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.filterwarnings("ignore")
def test_kappas_and_gwet_are_those_of_irrcac(rng, level):
    raw = pytest.importorskip("irrCAC.raw")
    answers = graded(rng, n=80)
    result = found(answers, level)
    options = {"weights": WEIGHTS[level], "categories": GRADES, "digits": 14}
    theirs = raw.CAC(pd.DataFrame(answers), **options)
    name = "Gwet's AC1" if level == "nominal" else "Gwet's AC2"
    for coefficient, method in {"Fleiss' kappa": theirs.fleiss, name: theirs.gwet}.items():
        expected = method()["est"]["coefficient_value"]
        assert_allclose(value_of(result.overall, coefficient), expected, rtol=0, atol=1e-10)
    kappas = result.pairs[result.pairs["coefficient"] == "Cohen's kappa"]["value"]
    for ours, (a, b) in zip(kappas, combinations(range(4), 2), strict=True):
        pair = raw.CAC(pd.DataFrame(answers[:, [a, b]]).dropna(), **options)  # with two raters Conger's is Cohen's
        assert_allclose(ours, pair.conger()["est"]["coefficient_value"], rtol=0, atol=1e-10)


def test_cohens_kappa_is_that_of_scikit_learn(rng):
    answers = graded(rng, gaps=0)[:-1]
    kappas = found(answers, "nominal").pairs.query('coefficient == "Cohen\'s kappa"')["value"]
    expected = [cohen_kappa_score(answers[:, a], answers[:, b]) for a, b in combinations(range(4), 2)]
    assert_allclose(kappas, expected, rtol=0, atol=1e-12)


def test_published_values():
    """Four judges and six targets of Shrout and Fleiss (1979), and Krippendorff's (2011) four observers."""
    judges = np.array(
        [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
    )
    overall = agreement(judges, "interval").overall
    assert [round(value_of(overall, f"ICC({k},1)"), 2) for k in (1, 2, 3)] == [0.17, 0.29, 0.71]
    gap = np.nan
    observers = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
            [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
        ]
    ).T
    alphas = [round(value_of(found(observers, level).overall, "Krippendorff's alpha"), 3) for level in LEVELS]
    assert alphas == [0.743, 0.815, 0.849]


def test_icc_of_unequal_numbers_of_answers(rng):
    answers = graded(rng)
    overall = found(answers, "interval").overall
    groups = [row[~np.isnan(row)] for row in answers if (~np.isnan(row)).sum() > 1]
    n, sizes = sum(map(len, groups)), np.array([len(group) for group in groups])
    center = np.concatenate(groups).mean()
    between = sum(len(group) * (group.mean() - center) ** 2 for group in groups) / (len(groups) - 1)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (n - len(groups))
    size = (n - (sizes**2).sum() / n) / (len(groups) - 1)
    assert_allclose(value_of(overall, "ICC(1,1)"), (between - within) / (between + (size - 1) * within), atol=1e-12)


def test_each_class_is_its_own_question(rng):
    answers = graded(rng)
    classes = found(answers, "nominal").classes
    for grade in GRADES:
        rows = classes[classes["class"] == grade]
        binary = np.where(np.isnan(answers), np.nan, answers == grade)
        assert_allclose(
            value_of(rows, "kappa"), value_of(found(binary, "nominal").overall, "Fleiss' kappa"), atol=1e-12
        )
        others = [
            np.mean(np.delete(row, i) == grade)
            for row in (row[~np.isnan(row)] for row in answers)
            if len(row) > 1
            for i in np.flatnonzero(row == grade)
        ]
        assert_allclose(value_of(rows, "agreement"), np.mean(others), atol=1e-12)


def test_numbers_with_many_values_are_numbers_only(rng):
    truth = rng.normal(size=(60, 1))
    values = truth + rng.normal(size=(60, 3)) / 2
    result = agreement(values, "interval", missing=np.nan, n_resamples=20)
    assert value_of(result.overall, "ICC(3,1)") == pytest.approx(0.8, abs=0.1)
    gwet = result.overall[result.overall["coefficient"] == "Gwet's AC2"].iloc[0]
    assert np.isnan(gwet["value"])
    assert "different values" in gwet["note"]
    assert result.classes.empty
    assert value_of(result.overall, "Krippendorff's alpha") == pytest.approx(
        value_of(agreement(values * 7 - 3, "interval", missing=np.nan, n_resamples=2).overall, "Krippendorff's alpha")
    )


def judges_and_people():
    crowd = make_crowd(300, 6, 3, labels_per_task=5, accuracy=(0.6, 0.9)).answers
    person = crowd["worker"] >= 3
    return crowd[~person], crowd[person & (crowd["task"] < 200)]


def test_people_beside_judges():
    judges, people = judges_and_people()
    result = agreement(judges, humans=people, n_resamples=50)
    assert result.overall["among"].unique().tolist() == ["people", "judges", "judges with people"]
    for group, alone in (("people", people), ("judges", judges)):
        own = agreement(alone, n_resamples=2).overall["value"]
        assert_allclose(result.overall[result.overall["among"] == group]["value"], own, atol=1e-12)
    both = judges.merge(people, on="task", suffixes=("", "_person"))
    same = (both["label"] == both["label_person"]).groupby(both["task"]).mean().mean()
    assert_allclose(
        value_of(result.overall[result.overall["among"] == "judges with people"], "observed agreement"), same
    )
    assert result.pairs["kind"].value_counts().to_dict() == {"judge and person": 18, "two judges": 6, "two people": 6}
    assert set(result.workers["with"]) == {"people", "other people"}
    judge = result.workers[(result.workers["worker"] == 0) & (result.workers["coefficient"] == "observed agreement")]
    first = both[both["worker"] == 0]
    assert_allclose(judge["value"], (first["label"] == first["label_person"]).groupby(first["task"]).mean().mean())
    person = result.workers[(result.workers["worker"] == 5) & (result.workers["coefficient"] == "observed agreement")]
    others = people[people["worker"] == 5].merge(people[people["worker"] != 5], on="task")
    assert_allclose(person["value"], (others["label_x"] == others["label_y"]).groupby(others["task"]).mean().mean())


def test_people_may_have_tasks_classes_and_names_of_their_own():
    judges = pd.DataFrame({"task": [1, 1, 2, 2], "worker": ["a", "b"] * 2, "label": ["x", "x", "y", "x"]})
    people = pd.DataFrame({"task": ["1", "2", "9"], "worker": "a", "label": ["x", "z", "z"]})
    result = agreement(judges, humans=people, n_resamples=10)
    assert value_of(result.overall[result.overall["among"] == "judges with people"], "observed agreement") == 0.5
    assert set(result.classes["class"]) == {"x", "y", "z"}
    assert set(result.workers["worker"]) == {"a", "b", "a (person)"}
    people_alone = result.overall[result.overall["among"] == "people"]
    assert people_alone["value"].isna().all()
    assert set(people_alone["note"]) == {"no task has two answers"}


def test_tables_are_one_table_and_a_matrix(rng):
    result = found(graded(rng), "nominal")
    table = result.table()
    assert len(table) == sum(map(len, (result.overall, result.classes, result.workers, result.pairs)))
    assert table["table"].unique().tolist() == ["overall", "class", "worker", "pair"]
    matrix = result.matrix()
    assert_allclose(matrix, matrix.T)
    assert np.isnan(np.diag(matrix)).all()


def test_intervals_are_seedable(rng):
    answers = graded(rng)
    first, again, other = (found(answers, "nominal", random_state=seed).overall for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert (first["low"] != other["low"]).any()
    wide, narrow = (agreement(answers, confidence=level, missing=np.nan).overall for level in (0.99, 0.5))
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()


@pytest.mark.parametrize("n_rows", [3, 100])
def test_resamples_are_sums_over_drawn_tasks(rng, n_rows):
    """Whether rows repeat or not, the mean and variance of a resampled mean are those of theory."""
    values = np.resize(rng.normal(size=n_rows), 100)
    drawn = []

    def mean(sums):
        drawn.append(sums["value"] / sums["one"])
        return drawn[-1]

    result = estimates({"one": np.ones(100), "value": values}, mean, Bootstrap(20_000, 0.95, rng))
    resampled = max(drawn, key=len)
    assert resampled.mean() == pytest.approx(values.mean(), abs=0.005)
    assert resampled.std() == pytest.approx(values.std() / 10, rel=0.03)
    assert result.low[0] < values.mean() < result.high[0]


def test_degrees_of_freedom_follow_from_what_tasks_contribute(rng):
    """A share needs the normal distribution, normal values n - 1 degrees of freedom, long tails fewer."""

    def deviations(values):
        skewness, kurtosis = _shape((values.sum() - values) / (len(values) - 1), np.ones(len(values), dtype=int))
        return _tails(len(values), skewness, kurtosis, 0.95)[1] * np.sqrt(1 - 1 / len(values))

    assert deviations(np.repeat([1.0, 0.0], [5, 45])) == pytest.approx(norm.ppf(0.975), rel=1e-6)
    normal = np.mean([deviations(rng.normal(size=50)) for _ in range(300)])
    assert normal == pytest.approx(student_t.ppf(0.975, 49), rel=0.005)
    assert np.mean([deviations(rng.standard_t(4, size=50)) for _ in range(300)]) > 1.02 * normal


def _correlation(sums):
    n, x, y, xx, yy, xy = sums.T
    return ((xy - x * y / n) / np.sqrt((xx - x**2 / n) * (yy - y**2 / n)))[:, None]


def _products(rng, n):
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return np.column_stack([np.ones(n), x, y, x**2, y**2, x * y])


def test_standard_errors_of_resamples_are_those_of_the_jackknife(rng):
    """Of each resample by itself: leaving out one drawn task after the other, in a loop."""
    rows, n = _products(rng, 200), 200
    weights = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), size=3)])
    errors = _standard_errors(rows, weights, _correlation(weights @ rows), _correlation)[:, 0]
    for drawn, error in zip(weights.astype(int), errors, strict=True):
        table = np.repeat(rows, drawn, axis=0)
        left_out = _correlation(np.array([np.delete(table, i, axis=0).sum(axis=0) for i in range(n)]))
        assert error == pytest.approx(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()), rel=0.03)


def test_studentized_intervals_are_wider_where_tails_are_long(rng):
    """The mean of a skewed sample: the long end is on the side of the tail, and equal rows may be counted."""
    values = rng.exponential(size=30)
    terms = {"one": np.ones(30), "value": values}

    def mean(sums):
        return sums["value"] / sums["one"]

    plain, student = (estimates(terms, mean, Bootstrap(4000, 0.95, rng, how)) for how in (False, True))
    assert student.high[0] - values.mean() > 1.2 * (values.mean() - student.low[0])
    assert student.high[0] > plain.high[0]
    again = estimates({k: np.tile(v, 3) for k, v in terms.items()}, mean, Bootstrap(4000, 0.95, rng, studentized=True))
    assert again.high[0] - again.low[0] == pytest.approx((student.high[0] - student.low[0]) / np.sqrt(3), rel=0.25)


def test_numbers_without_any_difference_in_most_resamples_still_have_an_interval():
    """One disagreement in thirty tasks: a third of the resamples lack it, and have no standard error."""
    answers = np.repeat(np.arange(30.0)[:, None] % 5, 3, axis=1)
    answers[0, 0] = 4
    table = agreement(answers, "interval", missing=np.nan).overall.set_index("coefficient")
    assert table.loc["Krippendorff's alpha", "low"] < table.loc["Krippendorff's alpha", "value"] < 1
    assert (table["high"] <= 1).all()


def test_intervals_of_planted_panels_cover_the_truth():
    """A quick look at what the guide reports: 95 % intervals for four workers and 80 tasks."""

    scale = scale_of("nominal", np.arange(3.0))

    def coefficients(n, seed, n_resamples):
        draw = np.random.default_rng(seed)
        truth, right = draw.choice(3, size=(n, 1), p=[0.6, 0.3, 0.1]), np.linspace(0.6, 0.9, 4)
        answers = np.where(draw.random((n, 4)) < right, truth, draw.integers(3, size=(n, 4)))
        task, worker = np.nonzero(draw.random((n, 4)) < 0.8)
        group = tally(task, answers[task, worker], n, scale)
        return estimates(within_terms(group, scale), within_figures(scale), Bootstrap(n_resamples, 0.95, draw))

    truth = coefficients(200_000, 0, 1).value
    panels = [coefficients(80, seed, 400) for seed in range(1, 401)]
    covered = np.mean([(panel.low <= truth) & (truth <= panel.high) for panel in panels], axis=0)
    assert covered.min() > 0.917  # 95 % less three standard errors
    assert covered.max() < 0.983


SAME = "all answers are the same, so that chance alone gives full agreement"


def test_one_class_has_no_kappa():
    overall = agreement(np.ones((10, 3)), classes=[1.0, 2.0]).overall.set_index("coefficient")
    assert overall.loc["observed agreement", "value"] == 1
    assert np.isnan(overall.loc["observed agreement", "low"])
    assert "no disagreement was seen" in overall.loc["observed agreement", "note"]
    assert overall.loc[["Krippendorff's alpha", "Fleiss' kappa"], "note"].tolist() == [SAME, SAME]
    assert overall.loc["Gwet's AC1", "value"] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", LEVELS)
def test_two_answers_and_one_class_are_survived(level):
    for answers in (np.array([[1.0, 1.0]]), np.array([[1.0, 2.0]]), np.ones((3, 2))):
        assert agreement(answers, level, n_resamples=10).overall["value"].le(1).any()


def test_workers_without_a_common_task():
    answers = pd.DataFrame({"task": [1, 1, 2, 2], "worker": list("abcd"), "label": list("xyxx")})
    pairs = (
        agreement(answers, n_resamples=10).pairs.query('coefficient == "Cohen\'s kappa"').set_index(["first", "second"])
    )
    assert pairs.loc[("a", "c"), "note"] == "no task in common"
    assert np.isnan(pairs.loc[("a", "c"), "value"])


def test_repeated_answers_are_left_out():
    answers = pd.DataFrame({"task": [1, 1, 1, 2, 2], "worker": list("aabab"), "label": list("xyxyx")})
    with pytest.warns(FitWarning, match="1 repeated answer of a worker to the same task was left out"):
        result = agreement(answers, n_resamples=10)
    assert value_of(result.overall, "observed agreement") == 0.5


def test_grades_in_words_need_an_order():
    answers = pd.DataFrame(
        {"task": [1, 1, 2, 2, 3, 3], "worker": ["a", "b"] * 3, "label": ["bad", "good", "fair", "fair", "good", "good"]}
    )
    with pytest.raises(InputError, match="order of labels such as 'bad' is not known"):
        agreement(answers, "ordinal")
    order = ["bad", "fair", "good"]
    result = agreement(answers, "ordinal", classes=order, n_resamples=10)
    numbers = answers.assign(label=answers["label"].map(order.index))
    assert_allclose(result.overall["value"], agreement(numbers, "ordinal", n_resamples=10).overall["value"])
    read = agreement(read_answers(answers, classes=order), "ordinal", n_resamples=10)
    pd.testing.assert_frame_equal(read.overall, result.overall)


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), {}, "No task was answered by two workers"),
        (np.ones((3, 2)), {"level": "nomial"}, "level='nomial' is not known"),
        (np.ones((3, 2)), {"confidence": 95}, "confidence=95 must lie between 0 and 1"),
        (np.ones((3, 2)), {"n_resamples": 0}, "n_resamples=0 must be a whole number"),
        (np.array([["a", "b"], ["a", "a"]]), {"level": "interval"}, "needs numbers; got labels such as 'a'"),
        (np.arange(400.0).reshape(200, 2), {"level": "ordinal"}, "400 classes"),
        (pd.DataFrame({"task": [], "worker": [], "label": []}), {}, "no answers"),
    ],
)
def test_mistakes_are_explained_in_a_sentence(answers, options, message):
    with pytest.raises(InputError, match=message):
        agreement(answers, **options)


def test_people_without_a_common_task_are_refused():
    judges, people = judges_and_people()
    with pytest.raises(InputError, match="No task was answered by a judge and by a person"):
        agreement(judges, humans=people.assign(task=people["task"] + 1000))


def test_weights_are_refused(rng):
    answers = read_answers(graded(rng), missing=np.nan)
    with pytest.raises(InputError, match="counts all answers alike"):
        agreement(answers.weighted(np.ones(len(answers))))


@pytest.mark.parametrize("of", [lambda answers: answers, lambda answers: answers.to_numpy(), lambda answers: [answers]])
def test_answers_of_people_in_the_place_of_the_level_are_named(of):
    answers = make_crowd(20, 5, 2, random_state=0).answers
    with pytest.raises(InputError, match=r"level is one of nominal, ordinal, interval, .* as humans="):
        agreement(answers, of(answers), task=["task"])
