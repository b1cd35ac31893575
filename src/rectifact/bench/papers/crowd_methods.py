"""The methods that Ibrahim and Fu (2021) compare, and the crowds of their Tables 4 and 5."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench.crowd_field import error_percent
from rectifact.bench.crowd_peers import written_here
from rectifact.bench.crowd_tensors import tensor_admm
from rectifact.bench.measure import timed
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy, read_answers
from rectifact.crowd.em import confusions_of, e_step, expected_sums
from rectifact.crowd.starts import identify
from rectifact.datasets import CrowdSet, load_crowd, make_crowd

Method = Callable[[CrowdSet, Any], pd.DataFrame]
BINARY = ("GhoshSVD", "EigenRatio")
SLOW = ("MinimaxEntropy", "Spectral-D&S", "TensorADMM")
SETS: dict[str, Callable[[], CrowdSet]] = {
    "bluebird": partial(load_crowd, "bluebird"),
    "dog52": partial(load_crowd, "dog", workers=52),
    "rte": partial(load_crowd, "rte"),
    "trec": partial(load_crowd, "trec"),
}
LEAST_SHARED = {"dog52": 6, "trec": 2}
"""Tasks that a pair shares before it counts as observed: what the printed shares of missing co-occurrences imply."""


def probas_of(fitted: Any) -> pd.DataFrame:
    """Class probabilities of a fitted aggregator, with tasks in rows."""
    return pd.DataFrame(fitted.probas_, index=fitted.tasks_, columns=fitted.classes_)


def _fit(make: Callable[[], Any], crowd: CrowdSet, designated: Any) -> pd.DataFrame:
    model = make()
    if designated is not None and getattr(model, "identify", None) == "designated":
        model.set_params(designated=list(designated))
    return probas_of(model.fit(crowd.answers))


def _model(identify: str, refine: Any = None, **options: Any) -> Method:
    return partial(_fit, partial(DawidSkene, identify, refine, "full", **options))


def identified(crowd: CrowdSet, method: str = "robust", **options: Any) -> tuple[Any, Any]:
    """Answers, and the model that co-occurrences alone give, with options that the estimator does not have."""
    answers = read_answers(crowd.answers)
    B = answers.matrix()
    votes = B.total(expected_sums, along=(answers.shares(None),))
    return answers, identify(method, B, votes, rng=np.random.default_rng(0), **options)


def labels_identified(crowd: CrowdSet, designated: Any = None, *, floor: float = 0.0, **options: Any) -> pd.DataFrame:
    """Labels from co-occurrences alone, under the options of ``identify``, with confusions of at least ``floor``."""
    answers, start = identified(crowd, **options)
    confusions = np.maximum(start.confusions, floor)
    posteriors, _, _ = e_step(answers.matrix(), start.priors, confusions / confusions.sum(axis=1, keepdims=True))
    return pd.DataFrame(posteriors, index=answers.tasks, columns=answers.classes)


def _true_confusions(crowd: CrowdSet, designated: Any = None) -> pd.DataFrame:
    """Labels under confusions counted by the truth: as far as any estimate of this model can be expected to come."""
    answers = read_answers(crowd.answers)
    B, truth = answers.matrix(), crowd.truth.reindex(answers.tasks)
    known = pd.Index(answers.classes).get_indexer(pd.Index(truth))
    shares = np.where((known >= 0)[:, None], np.eye(len(answers.classes))[known], 0)
    sums = B.total(expected_sums, along=(shares,))
    posteriors, _, _ = e_step(B, sums.classes / sums.classes.sum(), confusions_of(sums.counts, 0.1))
    return pd.DataFrame(posteriors, index=answers.tasks, columns=answers.classes)


METHODS: dict[str, Method] = {
    "RobSymNMF": _model("robust", pair_weights="equal"),
    "RobSymNMF-EM": _model("robust", "em", pair_weights="equal"),
    "RobSymNMF, w = 1": partial(labels_identified, weigh_by_count=False, reweigh=False),
    "RobSymNMF, by counts": _model("robust"),
    "DesSymNMF": _model("designated"),
    "DesSymNMF-EM": _model("designated", "em"),
    "SymNMF, not imputed": _model("none-imputed"),
    "MultiSPA": _model("multispa"),
    "CNMF": _model("cnmf"),
    "TensorADMM": lambda crowd, _: written_here(tensor_admm, crowd.answers),
    "Spectral-D&S": _model("spectral", "em", random_state=0),
    "MV-EM": _model("majority", "em"),
    "MinimaxEntropy": partial(_fit, MinimaxEntropy),
    "KOS": partial(_fit, KOS),
    "GhoshSVD": partial(_fit, GhoshSVD),
    "EigenRatio": partial(_fit, EigenRatio),
    "majority vote": partial(_fit, MajorityVote),
    "our default": partial(_fit, DawidSkene),
    "true confusions": _true_confusions,
}


def chosen(quick: bool, n_classes: int, without: tuple[str, ...] = ()) -> dict[str, Method]:
    """Methods that can be measured: few if quick, and those for two classes only with two."""
    leave = (*without, *(BINARY if n_classes > 2 else ()), *(SLOW if quick else ()))
    return {name: run for name, run in METHODS.items() if name not in leave}


def warmed_up(methods: dict[str, Method], n_classes: int) -> dict[str, Method]:
    """The same methods, each after one run on a small planted crowd: what is compiled once does not count."""
    crowd = make_crowd(100, 8, n_classes, random_state=0)
    for run in methods.values():
        measured(run, crowd)
    return methods


def measured(run: Method, crowd: CrowdSet, designated: Any = None) -> tuple[float, float]:
    """Error in percent, and seconds."""
    with warnings.catch_warnings(action="ignore"):  # a method that does not converge shows in its error
        probas, seconds = timed(run, crowd, designated)
    return error_percent(crowd, probas), seconds
