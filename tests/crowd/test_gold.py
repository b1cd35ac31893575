import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from rectifact import load_model, save_model
from rectifact.core.errors import FitWarning
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.gold import PSEUDO_LABELS, GoldMap, MixedMap, learn_from_gold
from rectifact.crowd.advice.held_out import judged_unseen
from rectifact.crowd.em import judged
from rectifact.datasets import make_crowd
from rectifact.metrics import calibration_error


def overconfident(n, k, rng):
    """Probabilities that are surer than they should be, and classes drawn from those that they should be."""
    honest = rng.dirichlet(np.full(k, 0.5), size=n)
    truth = np.array([rng.choice(k, p=p) for p in honest])
    sure = honest**3
    return sure / sure.sum(axis=1, keepdims=True), honest, truth


def test_too_sure_probabilities_are_lowered(rng):
    sure, _, truth = overconfident(3000, 3, rng)
    found = learn_from_gold(sure[:300], truth[:300])
    assert found.form == "confidence"
    assert found.map.maps[0].power == pytest.approx(1 / 3, rel=0.25)
    assert calibration_error(sure[300:], truth[300:]) > 0.15
    assert calibration_error(found.map(sure[300:]), truth[300:]) < 0.08
    assert found.error_low < calibration_error(found.map(sure[300:]), truth[300:]) + 0.05
    assert found.error_low <= found.error_high
    assert (found.map(sure).argmax(axis=1) == sure.argmax(axis=1)).all()


def test_a_form_that_is_not_clearly_better_changes_confidence_but_no_label(rng):
    sure, _, _ = overconfident(500, 3, rng)
    none = np.zeros((3, 3))
    maps = GoldMap(0.5, none[0], none), GoldMap(1.0, np.array([1.5, 0.0, -1.5]), none)
    mixed = MixedMap(maps, np.array([0.4, 0.6]), 0)(sure)
    mean = 0.4 * maps[0](sure) + 0.6 * maps[1](sure)
    kept = mean.argmax(axis=1) == sure.argmax(axis=1)
    assert 0.6 < kept.mean() < 0.99
    assert (mixed.argmax(axis=1) == sure.argmax(axis=1)).all()
    assert_allclose(mixed[kept], mean[kept])
    assert_allclose(mixed.sum(axis=1), 1)
    ordered = np.sort(mixed[~kept], axis=1)
    assert_allclose(ordered[:, 2], ordered[:, 1], rtol=1e-6)  # no class is clearly the likeliest
    assert (MixedMap(maps, np.array([0.4, 0.6]), 1)(sure).argmax(axis=1) == maps[1](sure).argmax(axis=1)).all()


def test_judges_who_say_another_class_are_corrected(rng):
    sure, _, truth = overconfident(3000, 3, rng)
    moved = (truth + 1) % 3  # people say 1 where the judges say 0
    found = learn_from_gold(sure[:150], moved[:150])
    assert found.form == "confusion"
    before, after = (np.mean(p.argmax(axis=1) != moved) for p in (sure, found.map(sure)))
    assert before > 0.6
    assert after < 0.35


def test_the_map_is_a_ridge_regression(rng):
    """Independent form: with no ridge to speak of, shifts and matrix are multinomial logistic regression."""
    sure, _, truth = overconfident(4000, 3, rng)
    moved = (truth + 1) % 3
    found = learn_from_gold(sure, moved)
    logs = np.log(np.maximum(sure, 1e-6))
    x = logs - logs.mean(axis=1, keepdims=True)
    peer = LogisticRegression(C=1e6, max_iter=1000).fit(x, moved)
    assert_allclose(found.map(sure), peer.predict_proba(x), atol=0.02)


def test_labels_that_are_all_right_prove_no_certainty():
    """Forty right labels out of forty bear out an error of about a hundredth, not of a millionth."""
    sure = np.tile([0.97, 0.03], (40, 1))
    confidence = learn_from_gold(sure, np.zeros(40, dtype=int)).map(sure)[0, 0]
    assert 0.97 < confidence < 1 - PSEUDO_LABELS / 2 / (40 + PSEUDO_LABELS)


def test_a_map_without_parameters_changes_nothing(rng):
    sure, _, _ = overconfident(50, 4, rng)
    assert_allclose(GoldMap(1.0, np.zeros(4), np.zeros((4, 4)))(sure), np.maximum(sure, 1e-6), atol=1e-5)


@pytest.fixture(scope="module")
def shared_errors():
    """Answers that come from one source in half of the tasks: nobody can see that without true labels."""
    crowd = make_crowd(2000, 12, 2, labels_per_task=6, accuracy=(0.6, 0.75), random_state=5)
    first = crowd.answers.groupby("task")["label"].transform("first")
    copied = np.random.default_rng(0).random(len(first)) < 0.5
    return crowd.answers.assign(label=first.where(copied, crowd.answers["label"])), crowd.truth


def test_a_hundred_true_labels_fix_the_confidence(shared_errors, tmp_path):
    answers, truth = shared_errors
    gold = truth.sample(100, random_state=0)
    model = DawidSkene().fit(answers)
    before = pd.DataFrame(model.probas_, model.tasks_)
    model.calibrate(gold=gold)
    after = pd.DataFrame(model.probas_, model.tasks_)
    rest = truth.drop(gold.index)
    errors = [calibration_error(p.loc[rest.index].to_numpy(), rest.to_numpy()) for p in (before, after)]
    assert errors[1] < 0.07 < errors[0]
    assert (after.loc[gold.index].to_numpy()[np.arange(100), gold] == 1).all()  # the true labels themselves
    assert model.calibration_.n_gold == 100
    assert not hasattr(model, "temperature_")
    assert_allclose(
        model.predict_proba(answers[answers["task"] == rest.index[0]])[0], after.loc[rest.index[0]], atol=1e-6
    )
    save_model(model, tmp_path / "model.rfx")
    assert_allclose(load_model(tmp_path / "model.rfx").predict_proba(answers), model.predict_proba(answers))
    assert not hasattr(model.fit(answers), "calibration_")


def test_few_or_strange_gold_labels(shared_errors):
    answers, truth = shared_errors
    model = DawidSkene().fit(answers)
    with pytest.warns(FitWarning, match="3 gold labels are too few to calibrate by"):
        assert not hasattr(model.calibrate(gold=truth.iloc[:3]), "calibration_")
    with pytest.warns(FitWarning, match="20 gold labels are too few to calibrate by class"):
        assert model.calibrate(gold=truth.iloc[:20]).calibration_.form == "confidence"
    odd = truth.iloc[:100].astype(object)
    odd.iloc[:7] = "unclear"
    with pytest.warns(FitWarning, match="'unclear' of task 0 is none of the classes.*6 other tasks"):
        assert model.calibrate(gold=odd).calibration_.n_gold == 93


def test_labels_that_the_fit_knows_do_not_vouch_for_themselves():
    """Workers with a handful of answers: a fit that knows their tasks' labels looks right on these, and only there."""
    crowd = make_crowd(1000, 500, 2, labels_per_task=3, accuracy=(0.4, 0.8), random_state=0)
    gold = crowd.truth.sample(500, random_state=0)
    model = DawidSkene().fit(crowd.answers, gold=gold)
    problem = model._problem(model._answers)
    unseen = judged_unseen(problem, model._fitting, model._model)
    seen = judged(problem.B.data, None, *model._model.judging)
    truth, told = crowd.truth.loc[model.tasks_].to_numpy(), np.isin(model.tasks_, gold.index)
    naive, honest, others = (
        (probas.argmax(axis=1) != truth)[some].mean() for probas, some in ((seen, told), (unseen, told), (seen, ~told))
    )
    assert naive < others - 0.06
    assert abs(honest - others) < 0.03
    assert_allclose(unseen[~told], seen[~told])
    model.calibrate(gold)
    error = (model.labels_ != truth)[~told].mean()
    assert abs(1 - model.probas_[~told].max(axis=1).mean() - error) < 0.02
