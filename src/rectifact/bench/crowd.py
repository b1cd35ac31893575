"""Label aggregation on the published crowds, next to what Ibrahim and Fu (2021) print and, on request, the peers.

Errors, log-losses and calibration errors over all crowds and panels of LLM judges are in ``crowd_field``.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from rectifact.bench import Extent, Rows, Tables
from rectifact.bench.crowd_field import error_percent, field_cases, field_errors, field_means, run_field
from rectifact.bench.crowd_peers import check_installed, crowdkit, snorkel
from rectifact.bench.crowd_scaling import run_scaling
from rectifact.bench.measure import Case, at_hand, measure, one_thread
from rectifact.bench.results import bundled
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.datasets import CrowdSet, load_crowd, make_crowd

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
    "full": lambda: DawidSkene(model="full"),
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
QUICK_SETS = ("planted", "bluebird", "dog52", "rte")


def _ours(make: Callable[[], Any], crowd: CrowdSet) -> pd.DataFrame:
    fitted = make().fit(crowd.answers)
    return pd.DataFrame(fitted.probas_, index=fitted.tasks_, columns=fitted.classes_)


def peer_cases() -> list[Case]:
    """The libraries people use today; they come with the extra ``bench``."""
    return [
        Case("crowd-kit DawidSkene", lambda crowd: crowdkit("DawidSkene", crowd.answers, n_iter=100), error_percent),
        Case("snorkel LabelModel", lambda crowd: snorkel(crowd.answers), error_percent),
    ]


@one_thread()
def run(extent: Extent) -> Tables:
    """Measure every method on the sets that are at hand; the planted crowd always is. A quick run takes few small sets.

    Returns
    -------
    dict : ``"methods"``, rows by set and method with error, the paper's figure, and the time, also as a ratio to
        MV-EM's in the same run; ``"field"``, rows by set and method with error, log-loss, calibration error and time,
        over all crowds and panels; ``"auto"``, their errors with a column for each method; ``"means"``; ``"scaling"``
    """
    if extent.peers:
        check_installed()
    ours = {name: partial(_ours, make) for name, make in METHODS.items()}
    cases = [Case(name, run, error_percent) for name, run in ours.items()] + (peer_cases() if extent.peers else [])
    methods, field = _methods(cases, extent), run_field(field_cases(ours, extent.peers), extent)
    summaries = {"auto": field_errors(field), "field": field, "means": field_means(field)}
    return {"methods": methods, **summaries, "scaling": run_scaling(extent)}


def _methods(cases: list[Case], extent: Extent) -> Rows:
    rows: Rows = []
    for name, crowd in at_hand({name: load for name, load in SETS.items() if name in QUICK_SETS or not extent.quick}):
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
