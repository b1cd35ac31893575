"""Every estimator on degenerate data: finite results, or an InputError; no other error and no storm of warnings."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import rectifact
from rectifact.models import ESTIMATORS
from trial.degenerate import crowd, graph, matrix
from trial.sandbox import alone, warm_up

pytestmark = pytest.mark.trial
CROWD = {"DawidSkene", "MajorityVote", "MinimaxEntropy", "KOS", "GhoshSVD", "EigenRatio"}
GRAPH = {"SymNMF", "SymNMFNet"}
OPTIONS = {
    "DawidSkene": ({}, {"model": "one-coin"}, {"identify": "robust"}, {"identify": "designated"}, {"ordinal": True}),
    "ANDNMF": ({}, {"refine": None}, {"n_components": 1}),
    "PurificationNMF": ({}, {"n_components": 1}),
    "NMD": ({}, {"link": "binary"}, {"n_components": 1}, {"objective": "latent"}, {"missing": np.nan}),
    "LogisticPCA": ({}, {"n_components": 1}),
    "SymNMF": ({}, {"n_clusters": 1}, {"n_clusters": 2, "solver": "hals"}, {"l1": 0.1}),
    "SymNMFNet": ({"max_iter": 20}, {"max_iter": 5, "n_clusters": 1}),
}


def fit(name, options, data):
    """Fit; leave with 2 for an InputError, 3 for results that are not finite, 4 for warnings of other libraries."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = getattr(rectifact, name)(**options).fit(data)
        except rectifact.InputError as error:
            leave(2, str(error)[:200])
    foreign = [warning for warning in said if not warning.category.__module__.startswith(("rectifact", "sklearn"))]
    if bad := [key for key, value in vars(model).items() if key.endswith("_") and not finite(value)]:
        leave(3, f"not finite: {bad}")
    if foreign:
        leave(4, f"{len(foreign)} warnings: {foreign[0]}")


def leave(code, why):
    sys.stdout.write(f"{why}\n")
    raise SystemExit(code)


def finite(value):
    if sp.issparse(value):
        value = value.data
    if (isinstance(value, np.ndarray) and value.dtype.kind == "f") or isinstance(value, float):
        return bool(np.isfinite(value).all())
    return True


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_degenerate_data_gives_finite_results_or_a_sentence(tmp_path, trial, kind):
    warm_up()
    name = kind.__name__
    if name == "SymNMFNet":
        pytest.importorskip("torch")
    row = trial(f"degenerate data, {name}", 8, 250)
    for case in row:
        rng = np.random.default_rng([case, list(ESTIMATORS).index(kind)])
        options = dict(OPTIONS.get(name, ({},))[rng.integers(len(OPTIONS.get(name, ({},))))])
        about, data = (
            crowd(rng) if name in CROWD else graph(rng) if name in GRAPH and rng.random() < 0.6 else matrix(rng)
        )
        if name in GRAPH and "(" in about and about.split("(")[1].split(",")[0] == about.split(", ")[1].split(")")[0]:
            options["affinity"] = "precomputed"
        outcome = alone(lambda: fit(name, options, data), tmp_path)
        if outcome.crashed:
            row.failed(
                f"case {case}: {name}({options}) on {about}: code {outcome.code}\n"
                f"{outcome.out[-300:]}{outcome.err[-900:]}"
            )
    row.check()
