"""Label aggregation on the published crowds, next to what Ibrahim and Fu (2021) print and, on request, the peers."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.crowd_scaling import run_scaling
from rectifact.bench.measure import Case, at_hand, measure, one_thread
from rectifact.bench.results import bundled
from rectifact.core.errors import InputError
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy, read_answers
from rectifact.datasets import CrowdSet, load_crowd, make_crowd
from rectifact.metrics import expected_error

PRINTED = bundled("printed", "crowd")
"""Error in percent, from tables 4 and 5 of S. Ibrahim and X. Fu, "Crowdsourcing via annotator co-occurrence imputation
and provable symmetric nonnegative matrix factorization", ICML 2021."""

METHODS: dict[str, Callable[[], Any]] = {
    "majority vote": MajorityVote,
    "MV-EM": lambda: DawidSkene("majority", model="full"),
    "RobSymNMF": lambda: DawidSkene("robust", refine=None, model="full"),
    "RobSymNMF, equal weights": lambda: DawidSkene("robust", refine=None, model="full", pair_weights="equal"),
    "RobSymNMF-EM": lambda: DawidSkene("robust", model="full"),
    "DesSymNMF": lambda: DawidSkene("designated", refine=None, model="full"),
    "DesSymNMF-EM": lambda: DawidSkene("designated", model="full"),
    "SymNMF, not imputed": lambda: DawidSkene("none-imputed", refine=None, model="full"),
    "MultiSPA": lambda: DawidSkene("multispa", refine=None, model="full"),
    "CNMF": lambda: DawidSkene("cnmf", refine=None, model="full"),
    "Spectral-D&S": lambda: DawidSkene("spectral", model="full", random_state=0),
    "one-coin EM": lambda: DawidSkene("majority", model="one-coin"),
    "KOS": KOS,
    "GhoshSVD": GhoshSVD,
    "EigenRatio": EigenRatio,
    "MinimaxEntropy": MinimaxEntropy,
    "auto": DawidSkene,
}
SETS: dict[str, Callable[[], CrowdSet]] = {
    "planted": lambda: make_crowd(2000, 50, 2, n_spammers=10),
    "bluebird": lambda: load_crowd("bluebird"),
    "dog52": lambda: load_crowd("dog", workers=52),
    "rte": lambda: load_crowd("rte"),
    "trec": lambda: load_crowd("trec"),
    "dog": lambda: load_crowd("dog"),
}
MORE_SETS = ("product", "face", "adult", "weather", "polarity", "zencrowd-us", "fact")
QUICK_SETS = ("planted", "bluebird", "dog52", "rte", "adult", "weather")


def error_percent(crowd: CrowdSet, probas: pd.DataFrame) -> float:
    """Error over the tasks whose truth is known, ties shared; ``probas`` has tasks in rows, classes in columns."""
    known = crowd.truth.index.intersection(probas.index)
    codes = probas.columns.get_indexer(pd.Index(crowd.truth.loc[known]))
    return 100 * expected_error(probas.loc[known].to_numpy(), codes)


def _ours(make: Callable[[], Any], crowd: CrowdSet) -> pd.DataFrame:
    fitted = make().fit(crowd.answers)
    return pd.DataFrame(fitted.probas_, index=fitted.tasks_, columns=fitted.classes_)


def _crowdkit(crowd: CrowdSet) -> pd.DataFrame:
    from crowdkit.aggregation import DawidSkene as Peer

    return Peer(n_iter=100).fit_predict_proba(crowd.answers)


def _snorkel(crowd: CrowdSet) -> pd.DataFrame:
    from snorkel.labeling.model import LabelModel

    answers = read_answers(crowd.answers)
    L = np.full((len(answers.tasks), len(answers.workers)), -1)
    L[answers.task, answers.worker] = answers.label
    model = LabelModel(cardinality=len(answers.classes), verbose=False)
    model.fit(L, n_epochs=100, seed=0, progress_bar=False)
    return pd.DataFrame(model.predict_proba(L), index=answers.tasks, columns=answers.classes)


def peer_cases() -> list[Case]:
    """The libraries people use today; they come with the extra ``bench``."""
    if find_spec("crowdkit") is None or find_spec("snorkel") is None:
        raise InputError("The peers are not installed. Install them: pip install 'rectifact[bench]'.")
    return [
        Case("crowd-kit DawidSkene", _crowdkit, error_percent),
        Case("snorkel LabelModel", _snorkel, error_percent),
    ]


@one_thread()
def run(extent: Extent) -> Tables:
    """Measure every method on the sets that are at hand; the planted crowd always is. A quick run takes few small sets.

    Returns
    -------
    dict : ``"methods"``, rows by set and method with error, the paper's figure, and the time, also as a ratio to
        MV-EM's in the same run; ``"auto"``, rows by set with the errors of the methods that ``auto`` must not be
        embarrassed by, a row of means, and how far each is from the best on its worst set; ``"scaling"``
    """
    cases = [Case(name, partial(_ours, make), error_percent) for name, make in METHODS.items()]
    cases += peer_cases() if extent.peers else []
    return {"methods": _methods(cases, extent), "auto": _auto(cases, extent), "scaling": run_scaling(extent)}


def _chosen(sets: dict[str, Callable[[], CrowdSet]], quick: bool) -> dict[str, Callable[[], CrowdSet]]:
    return {name: load for name, load in sets.items() if name in QUICK_SETS or not quick}


def _methods(cases: list[Case], extent: Extent) -> Rows:
    rows: Rows = []
    for name, crowd in at_hand(_chosen(SETS, extent.quick)):
        binary = crowd.answers["label"].nunique() == 2
        measured = {}
        for case in cases:
            if case.name in ("GhoshSVD", "EigenRatio") and not binary:
                continue
            slow = case.name in ("MinimaxEntropy", "snorkel LabelModel")
            with warnings.catch_warnings(action="ignore"):  # a method that does not converge shows in its error
                measured[case.name] = measure(case, crowd, warmup=0 if slow else 1, repeats=1 if slow else 3)
        base = measured["MV-EM"]["min_s"]
        for method, row in measured.items():
            paper = PRINTED.get(name, {}).get(method)
            figures = {"error_%": round(row["score"], 2), "paper_%": paper, "seconds": row["min_s"]}
            rows.append({"set": name, "method": method, **figures, "times_MV-EM": row["min_s"] / base})
    return rows


def _auto(cases: list[Case], extent: Extent) -> Rows:
    """Errors of ``auto`` beside the methods it must not lose to, over all published sets (dog as dog52)."""
    names = ("majority vote", "MV-EM", "one-coin EM", "auto", "crowd-kit DawidSkene")
    chosen = [case for case in cases if case.name in names]
    sets = {name: load for name, load in SETS.items() if name not in ("planted", "dog")}
    sets |= {name: partial(load_crowd, name) for name in MORE_SETS}
    rows: Rows = []
    for name, crowd in at_hand(_chosen(sets, extent.quick)):
        rows.append({"set": name} | {case.name: round(case.score(crowd, case.run(crowd)), 2) for case in chosen})
    if extent.quick or not rows:  # the summary is over all sets
        return rows
    table = pd.DataFrame(rows).set_index("set")
    best = table.drop(columns=["auto", "one-coin EM"]).min(axis=1)
    summary = {"mean": table.mean().round(2), "worst loss to the best": table.sub(best, axis=0).max().round(2)}
    return rows + [{"set": name} | dict(zip(table.columns, figures, strict=True)) for name, figures in summary.items()]
