import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifact import KOS, DawidSkene, EigenRatio, GhoshSVD, InputError, MajorityVote, MinimaxEntropy
from rectifact.bench.crowd import error_percent
from rectifact.crowd import read_answers
from rectifact.datasets import load_crowd, make_crowd

MV_EM = DawidSkene(identify="majority", model="full")
ESTIMATORS = [MajorityVote(), MV_EM, DawidSkene()]
OTHERS = [KOS(), GhoshSVD(), EigenRatio(), MinimaxEntropy()]

FRACTIONS = "a sparse matrix numbers its classes from 1, and the check fills it with fractions"
WORKERS = "the columns of a matrix are workers, not features: later data may have other workers"
NOT_APPLICABLE = {
    "check_estimator_sparse_array": FRACTIONS,
    "check_estimator_sparse_matrix": FRACTIONS,
    "check_estimator_sparse_tag": FRACTIONS,
    "check_n_features_in": WORKERS,
    "check_n_features_in_after_fitting": WORKERS,
    "check_fit2d_1feature": "the check wants a matrix of one column to be fitted, but one worker is an InputError",
}


TWO_CLASSES = "the method is for two classes, and the check fits more"
NOT_FOR_TWO_CLASSES = {
    "check_dict_unchanged": TWO_CLASSES,
    "check_dont_overwrite_parameters": TWO_CLASSES,
    "check_estimators_dtypes": TWO_CLASSES,
    "check_estimators_fit_returns_self": TWO_CLASSES,
    "check_estimators_overwrite_params": TWO_CLASSES,
    "check_f_contiguous_array_estimator": TWO_CLASSES,
    "check_fit2d_1sample": TWO_CLASSES,
    "check_fit2d_predict1d": TWO_CLASSES,
    "check_fit_check_is_fitted": TWO_CLASSES,
    "check_fit_idempotent": TWO_CLASSES,
    "check_methods_sample_order_invariance": TWO_CLASSES,
    "check_methods_subset_invariance": TWO_CLASSES,
    "check_positive_only_tag_during_fit": TWO_CLASSES,
    "check_readonly_memmap_input": TWO_CLASSES,
}


def not_applicable(estimator):
    for_two = isinstance(estimator, GhoshSVD | EigenRatio)
    return NOT_APPLICABLE | NOT_FOR_TWO_CLASSES if for_two else NOT_APPLICABLE


@parametrize_with_checks([MajorityVote(), DawidSkene(), *OTHERS], expected_failed_checks=not_applicable)
def test_scikit_learn_manners(estimator, check):
    check(estimator)


def probabilities(model):
    return pd.DataFrame(model.probas_, index=model.tasks_, columns=model.classes_)


def test_priors_of_dawid_and_skene_1979():
    model = DawidSkene("majority", model="full", smoothing=0, tol=1e-8, max_iter=1000).fit(
        load_crowd("anaesthetists").answers
    )
    assert model.priors_.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert model.converged_


@pytest.mark.parametrize(
    ("name", "options", "vote", "em"),
    [
        ("bluebird", {}, 24.08, 10.19),
        ("dog", {"workers": 52}, 17.92, 15.87),
        ("rte", {}, 10.32, 7.13),
        ("trec", {}, 34.87, 29.68),
    ],
)
def test_errors_on_the_published_crowds(name, options, vote, em, load_or_skip):
    crowd = load_or_skip(load_crowd, name, **options)
    assert error_percent(crowd, probabilities(MajorityVote().fit(crowd.answers))) <= vote
    assert error_percent(crowd, probabilities(clone(MV_EM).fit(crowd.answers))) <= em


ELEVEN = ["adult", "bluebird", "dog", "face", "fact", "polarity", "product", "rte", "trec", "weather", "zencrowd-us"]


def test_auto_is_never_embarrassed_on_the_published_crowds(load_or_skip):
    """One configuration for all, no truth used: the lowest mean error, and never far from the best method."""
    errors = {"vote": [], "em": [], "one-coin": [], "auto": []}
    for name in ELEVEN:
        crowd = load_or_skip(load_crowd, name, **({"workers": 52} if name == "dog" else {}))
        models = MajorityVote(), clone(MV_EM), DawidSkene("majority", model="one-coin"), DawidSkene()
        for key, model in zip(errors, models, strict=True):
            errors[key].append(error_percent(crowd, probabilities(model.fit(crowd.answers))))
    table = pd.DataFrame(errors, index=ELEVEN)
    assert table["auto"].mean() <= 16.2
    assert table.mean().idxmin() == "auto"
    assert (table["auto"] - table[["vote", "em"]].min(axis=1)).max() <= 2.0


PLANTED = {
    "rare classes": {"n_tasks": 2000, "n_workers": 40, "n_classes": 4, "prior": [0.9, 0.06, 0.02, 0.02]},
    "spammers": {"n_tasks": 1000, "n_workers": 40, "n_spammers": 20},
    "adversaries": {"n_tasks": 1000, "n_workers": 40, "n_adversaries": 10},
    "both": {"n_tasks": 1000, "n_workers": 60, "n_classes": 4, "n_spammers": 15, "n_adversaries": 10},
    "groups": {"n_tasks": 1000, "n_workers": 40, "assignment": "groups", "n_groups": 4},
    "one label": {"n_tasks": 1000, "n_workers": 40, "labels_per_task": 1},
    "a class nobody chose": {"n_tasks": 500, "n_workers": 20, "n_classes": 3},
    "weak workers": {"n_tasks": 1000, "n_workers": 20, "n_classes": 3, "accuracy": (0.4, 0.6)},
    "many workers": {"n_tasks": 1000, "n_workers": 500, "labels_per_task": 5},
}


@pytest.mark.parametrize("name", PLANTED)
def test_auto_is_close_to_em_or_better_where_em_is_right(name):
    options = {"labels_per_task": 7, **PLANTED[name]}
    differences = []
    for seed in range(4):
        crowd = make_crowd(random_state=seed, **options)
        models = DawidSkene(), clone(MV_EM)
        if name == "a class nobody chose":
            models = tuple(model.set_params(n_classes=4) for model in models)
        auto, em = (error_percent(crowd, probabilities(model.fit(crowd.answers))) for model in models)
        differences.append(auto - em)
    assert np.mean(differences) <= 0.5


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({"identify": "robust", "refine": None}, (11.62, 16.62, 7.75, 29.90)),
        ({"identify": "robust"}, (10.69, 16.37, 7.63, 30.13)),
        ({"identify": "designated", "refine": None}, (12.54, 16.99, 10.01, 29.60)),
        ({"identify": "designated"}, (10.69, 16.37, 7.63, 30.13)),
        ({"identify": "cnmf", "refine": None}, (11.62, 16.50, 7.39, 30.27)),
        ({"identify": "auto"}, (10.69, 16.37, 7.63, 30.13)),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_identification_on_the_published_crowds(options, bounds, load_or_skip):
    for name, bound in zip(("bluebird", "dog", "rte", "trec"), bounds, strict=True):
        crowd = load_or_skip(load_crowd, name, **({"workers": 52} if name == "dog" else {}))
        model = DawidSkene(model="full", **options).fit(crowd.answers)
        assert error_percent(crowd, probabilities(model)) <= bound, name


def test_em_beats_the_vote_where_workers_differ():
    crowd = make_crowd(2000, 40, 3, n_spammers=15, accuracy=(0.6, 0.95))
    vote, em, auto = (error_percent(crowd, probabilities(model.fit(crowd.answers))) for model in ESTIMATORS)
    assert em < 0.7 * vote
    assert auto < 0.7 * vote


@pytest.mark.parametrize("model", ESTIMATORS)
def test_order_and_names_change_nothing_else(model, rng):
    answers = make_crowd(200, 15, 3, n_spammers=3).answers
    plain = probabilities(clone(model).fit(answers))
    shuffled = probabilities(clone(model).fit(answers.sample(frac=1, random_state=0)))
    assert_allclose(shuffled.loc[plain.index], plain, atol=1e-9)
    names = {0: "zebra", 1: "ant", 2: "mouse"}
    renamed = probabilities(clone(model).fit(answers.assign(label=answers["label"].map(names))))
    assert_allclose(renamed[[names[k] for k in plain.columns]], plain, atol=1e-9)


@pytest.mark.parametrize("model", ESTIMATORS)
def test_every_shape_of_the_data_gives_the_same(model):
    answers = make_crowd(100, 8, 2).answers
    matrix = answers.pivot(index="task", columns="worker", values="label")
    expected = clone(model).fit(answers).probas_
    assert_allclose(clone(model).fit(matrix.to_numpy()).probas_, expected, atol=1e-12)
    assert_allclose(clone(model).fit(matrix.fillna(-1).astype(int).to_numpy()).probas_, expected, atol=1e-12)
    wide = read_answers(matrix.reset_index().rename(columns=str), wide=True)
    assert_allclose(clone(model).fit(wide).probas_, expected, atol=1e-12)


@pytest.mark.parametrize("model", ESTIMATORS)
def test_a_second_fit_and_a_pickle_are_equal_and_the_data_untouched(model):
    answers = make_crowd(100, 8, 2).answers
    before = answers.copy()
    first = clone(model).fit(answers)
    again = pickle.loads(pickle.dumps(first))
    pd.testing.assert_frame_equal(answers, before)
    assert_array_equal(first.probas_, again.probas_)
    assert_array_equal(first.probas_, clone(model).fit(answers).probas_)


def test_ties_go_to_the_first_class_and_are_shared_in_the_shares():
    frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": ["y", "x", "y"]})
    model = MajorityVote().fit(frame)
    assert model.labels_.tolist() == ["x", "y"]
    assert model.probas_.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_result_and_worker_report():
    model = DawidSkene().fit(load_crowd("anaesthetists").answers)
    result = model.result()
    assert list(result.columns) == ["task", "label", "confidence", "entropy", "answers"]
    assert (result["answers"] == 7).all()
    assert_allclose(result["confidence"], model.probas_.max(axis=1))
    by_hand = -(model.probas_ * np.log2(np.maximum(model.probas_, 1e-300))).sum(axis=1)
    assert_allclose(result["entropy"], by_hand, atol=1e-9)
    report = model.worker_report()
    assert report["answers"].tolist() == [135, 45, 45, 45, 45]
    answers = load_crowd("anaesthetists").answers.query("worker == @report['worker'][1]")
    shares = pd.DataFrame(model._model.posteriors, model.tasks_, model.classes_)
    right = [shares.loc[task, label] for task, label in zip(answers["task"], answers["label"], strict=True)]
    assert np.mean(right) - 0.05 < report["accuracy"][1] < np.mean(right) + 0.05  # the prior counts a little
    for label in model.classes_:
        more = (answers["label"] == label).mean() - shares.loc[answers["task"], label].mean()
        assert_allclose(report[f"bias_{label}"][1], more)
    assert (report["accuracy_low"] < report["accuracy"]).all()
    assert (report["accuracy"] < report["accuracy_high"]).all()
    vote = MajorityVote().fit(load_crowd("anaesthetists").answers).worker_report()
    assert ((vote["agreement"] > 0.5) & (vote["agreement"] <= 1)).all()


def test_a_task_without_answers_gets_the_prior():
    matrix = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [-1, -1, -1]])
    model = clone(MV_EM).fit(matrix)
    assert_allclose(model.probas_[-1], model.priors_)
    assert model.result()["answers"].iloc[-1] == 0
    assert_allclose(MajorityVote().fit(matrix).probas_[-1], [8 / 12, 4 / 12])


def test_a_worker_without_answers_is_no_warning():
    matrix = np.array([[0, 0, -1], [1, 1, -1], [0, 1, -1]])
    report = DawidSkene().fit(matrix).worker_report()
    assert report["answers"].tolist() == [3, 3, 0]
    assert report["accuracy_low"][2] < 0.3 < 0.9 < report["accuracy_high"][2]  # the prior, and no more
    assert np.isnan(MajorityVote().fit(matrix).worker_report()["agreement"][2])


def test_a_class_nobody_chose():
    matrix = np.array([[1, 1], [3, 3], [1, 3]])
    model = DawidSkene(n_classes=3).fit(matrix)
    assert model.classes_.tolist() == [1, 2, 3]
    assert (model.labels_ != 2).all()
    assert np.isfinite(model.confusions_).all()


def test_without_refinement_the_vote_gives_the_model():
    answers = make_crowd(100, 8, 2).answers
    rough = DawidSkene("majority", refine=None).fit(answers)
    with pytest.warns(ConvergenceWarning):
        one = clone(MV_EM).set_params(max_iter=1).fit(answers)
    assert_allclose(rough.probas_, one.probas_)
    assert (rough.n_iter_, rough.stop_reason_, rough.history_) == (0, "not_refined", [])


def test_the_fit_says_how_it_went():
    answers = make_crowd(300, 20, 3).answers
    model = DawidSkene().fit(answers)
    assert model.converged_
    assert model.stop_reason_ == "converged"
    assert len(model.history_) == model.n_iter_ > 1
    assert model.resolved_["columns"] == {c: c for c in ("task", "worker", "label")}
    assert set(model.resolved_["objectives"]) == {"majority", "pair-free"}
    assert model.log_likelihood_ < 0
    full = DawidSkene(model="full").fit(answers)
    assert -full.history_[-1]["loss"] >= full.resolved_["objectives"][full.resolved_["identify"]]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert not DawidSkene(max_iter=2).fit(answers).converged_
    stopped = DawidSkene(callbacks=[lambda row: row["iter"] == 2]).fit(answers)
    assert (stopped.stop_reason_, stopped.n_iter_) == ("callback", 2)


@pytest.mark.parametrize("model", [*ESTIMATORS, *OTHERS])
def test_every_estimator_passes_missing_on(model):
    matrix = np.array([[1, 2, 0], [2, 2, 1], [1, 0, 1], [2, 2, 2]])
    assert clone(model).set_params(missing=0).fit(matrix).classes_.tolist() == [1, 2]


def test_progress_is_logged_when_asked_for(caplog):
    with caplog.at_level("INFO", logger="rectifact"):
        DawidSkene(verbose=True).fit(make_crowd(100, 8, 2).answers)
    assert caplog.records[0].message.startswith("DawidSkene: iteration 1 of at most 500")


def test_too_many_classes_for_the_memory_are_refused():
    rows = [(t, w, t % 5000) for t in range(6000) for w in (t % 600, (t + 1) % 600)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    with pytest.raises(InputError, match="Merge rare labels"):
        DawidSkene().fit(frame)
    assert len(MajorityVote().fit(frame).labels_) == 6000


@pytest.mark.parametrize("model", ESTIMATORS)
def test_nothing_before_fit(model):
    for method in ("result", "worker_report"):
        with pytest.raises(NotFittedError):
            getattr(clone(model), method)()


def test_a_device_that_is_not_there_is_said():
    with pytest.raises(InputError, match=r"device='(cuda|moon)'"):
        DawidSkene(device="moon" if has_cuda() else "cuda").fit(load_crowd("anaesthetists").answers)


def has_cuda():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()
