"""Fits in forked processes and in threads, after fits with threads: as those in a process of their own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.trial
FITS = """
import hashlib, os, sys, warnings
import numpy as np
import rectifact
from rectifact.datasets import load_crowd

warnings.simplefilter("ignore")
rng = np.random.default_rng(int(sys.argv[2]))
X = rng.random((150, 30)) * (rng.random((150, 30)) < 0.5)
S = X @ X.T


def fit(kind):
    if kind == "DawidSkene":
        return rectifact.DawidSkene(random_state=0).fit(load_crowd("anaesthetists").answers).probas_
    if kind == "SymNMF":
        return rectifact.SymNMF(3, random_state=0, max_iter=20, n_init=2).fit(X).components_
    return getattr(rectifact, kind)(2, random_state=0, max_iter=20).fit(X).components_


def close(kind, other):
    return np.allclose(fit(kind), other, rtol=1e-6, atol=1e-9)


kind, way = sys.argv[1], sys.argv[3]
first = fit(kind)
if way == "fork":
    child = os.fork()
    if child == 0:
        os._exit(0 if close(kind, first) else 3)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if way == "multiprocessing":
    from joblib import Parallel, delayed

    same = Parallel(2, backend="multiprocessing")(delayed(close)(kind, first) for _ in range(3))
else:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        same = list(pool.map(lambda _: close(kind, first), range(6)))
raise SystemExit(0 if all(same) else 3)
"""
KINDS = ("DawidSkene", "NMD", "SymNMF", "ANDNMF", "PurificationNMF")
WAYS = ("fork", "multiprocessing", "threads")


@pytest.mark.timeout(7200)
def test_forks_and_threads(trial, monkeypatch):
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    row = trial("forks and threads", 3, 60)
    for case in row:
        kind, way = KINDS[case // len(WAYS) % len(KINDS)], WAYS[case % len(WAYS)]
        words = [sys.executable, "-c", FITS, kind, str(case), way]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
            problem = "" if done.returncode == 0 else f"code {done.returncode}: {done.stderr[-900:]}"
        except subprocess.TimeoutExpired:
            problem = "it hung"
        if problem:
            row.failed(f"case {case}: {kind}, {way}: {problem}")
    row.check()
