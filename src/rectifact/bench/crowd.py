"""Label aggregation on the published crowds, next to what Ibrahim and Fu (2021) print and, on request, the peers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench.measure import Case, measure
from rectifact.core.validation import InputError
from rectifact.crowd import DawidSkene, MajorityVote
from rectifact.datasets import CrowdSet, MissingDataset, load_crowd, make_crowd
from rectifact.metrics import expected_error

__all__ = ["run_crowd"]

# Error in percent, tables 4 and 5 of S. Ibrahim and X. Fu, "Crowdsourcing via annotator co-occurrence
# imputation and provable symmetric nonnegative matrix factorization", ICML 2021.
PAPER = {
    "majority vote": {"bluebird": 21.29, "dog52": 17.91, "rte": 10.31, "trec": 34.85},
    "MV-EM": {"bluebird": 12.03, "dog52": 15.86, "rte": 7.25, "trec": 30.02},
}
SETS: dict[str, Callable[[], CrowdSet]] = {
    "planted": lambda: make_crowd(5000, 50, 4, n_spammers=10),
    "bluebird": lambda: load_crowd("bluebird"),
    "dog52": lambda: load_crowd("dog", workers=52),
    "dog": lambda: load_crowd("dog"),
    "rte": lambda: load_crowd("rte"),
    "trec": lambda: load_crowd("trec"),
}


def error_percent(crowd: CrowdSet, probas: pd.DataFrame) -> float:
    """Error over the tasks whose truth is known, ties shared; ``probas`` has tasks in rows, classes in columns."""
    known = crowd.truth.index.intersection(probas.index)
    codes = probas.columns.get_indexer(pd.Index(crowd.truth.loc[known]))
    return 100 * expected_error(probas.loc[known].to_numpy(), codes)


def _ours(model: MajorityVote | DawidSkene) -> Callable[[CrowdSet], pd.DataFrame]:
    def run(crowd: CrowdSet) -> pd.DataFrame:
        fitted = model.fit(crowd.answers)
        return pd.DataFrame(fitted.probas_, index=fitted.tasks_, columns=fitted.classes_)

    return run


def _crowdkit_dawid_skene(crowd: CrowdSet) -> pd.DataFrame:
    from crowdkit.aggregation import DawidSkene as Peer

    return Peer(n_iter=100).fit_predict_proba(crowd.answers)


def run_crowd(*, peers: bool = False, repeats: int = 3) -> list[dict[str, Any]]:
    """Measure every method on every set that is at hand; the planted crowd always is.

    Returns
    -------
    list of dict : one row per set and method, with ``error_%``, the paper's figure and the time, also as a
        ratio to MV-EM's in the same run
    """
    cases = [
        Case("majority vote", _ours(MajorityVote()), error_percent),
        Case("MV-EM", _ours(DawidSkene()), error_percent),
    ]
    if peers:
        try:
            import crowdkit  # noqa: F401
        except ImportError as error:
            raise InputError("The peers are not installed. Install them: pip install 'rectifact[bench]'.") from error
        cases.append(Case("crowd-kit DawidSkene", _crowdkit_dawid_skene, error_percent))
    rows: list[dict[str, Any]] = []
    for name, load in SETS.items():
        try:
            crowd = load()
        except MissingDataset:
            continue
        measured = [measure(case, crowd, repeats=repeats) for case in cases]
        base = measured[1]["min_s"]
        for row in measured:
            paper = PAPER.get(row["case"], {}).get(name, np.nan)
            percent = round(row.pop("score"), 2)
            rows.append({"set": name, **row, "error_%": percent, "paper_%": paper, "time_ratio": row["min_s"] / base})
    return rows
