"""What to label next, and by whom."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import entr

from rectifact.crowd.advice.workers import expected_gain, information
from rectifact.crowd.em import CrowdModel, Floats

SUGGESTED = 3  # workers named for a task
TILE = 1 << 23  # numbers worked on at once
LEAST_GAIN = 0.001  # bits that an answer must promise to be worth asking for


def worth_asking(plan: pd.DataFrame) -> pd.DataFrame:
    """The rows of a plan whose answers are expected to tell enough."""
    return plan[plan["gain"] >= LEAST_GAIN].reset_index(drop=True)


def plan_labels(
    tasks: NDArray[Any], workers: NDArray[Any], answered: sp.csr_array, model: CrowdModel, n: int
) -> pd.DataFrame:
    """Tasks where one more answer tells most, and the workers who have not answered them yet to ask.

    Parameters
    ----------
    tasks, workers : array
        Their names.
    answered : sparse array of shape (n_tasks, n_workers)
        Number of answers.
    model : CrowdModel
        Fitted to them.
    n : int
        Rows wanted.

    Returns
    -------
    DataFrame
        ``task``, ``gain`` (expected bits from the best worker's answer), ``entropy`` (bits still open),
        ``workers`` (names of the best to ask, best first; empty where all have answered).
    """
    # A typical worker ranks the tasks; all workers are tried on the few that come out on top.
    given = np.asarray(answered.sum(axis=0), dtype=float).ravel()
    typical = np.einsum("m,mkc->kc", given / given.sum(), model.confusions)
    rough = expected_gain(model.posteriors, typical[None])[:, 0]
    top = np.argsort(-rough, kind="stable")[:n]
    rows = max(1, TILE // model.confusions[..., 0].size)  # of tasks by workers by classes, only so many at once
    tiles = [_best_workers(top[i : i + rows], answered, model) for i in range(0, len(top), rows)]
    order, best = (np.concatenate(parts) for parts in zip(*tiles, strict=True))
    plan = pd.DataFrame(
        {
            "task": tasks[top],
            "gain": np.where(best[:, 0] >= 0, best[:, 0], rough[top]),  # or by a new worker, of the usual kind
            "entropy": entr(model.posteriors[top]).sum(axis=1) / np.log(2),
            "workers": [
                [workers[m] for m, gain in zip(ms, gs, strict=True) if gain >= 0]
                for ms, gs in zip(order, best, strict=True)
            ],
        }
    )
    return plan.sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def _best_workers(
    tasks: NDArray[np.int64], answered: sp.csr_array, model: CrowdModel
) -> tuple[NDArray[np.int64], Floats]:
    """Workers to ask for each task, best first, and what each answer would tell; -1 for those who have answered."""
    gains = expected_gain(model.posteriors[tasks], model.confusions)
    gains[answered[tasks].toarray() > 0] = -1.0
    order = np.argsort(-gains, axis=1, kind="stable")[:, :SUGGESTED]
    return order, np.take_along_axis(gains, order, axis=1)


def plan_pairs(workers: NDArray[Any], answered: sp.csr_array, model: CrowdModel, n: int) -> pd.DataFrame:
    """Pairs of workers who should answer the same tasks, so that the co-occurrences identify the model.

    Two informative workers with many answers are *designated* (Ibrahim and Fu 2021, section 3.1): once everybody
    shares tasks with both of them, every missing co-occurrence can be computed. Workers cut off from them come
    first, then those who share least.

    Returns
    -------
    DataFrame
        ``worker``, ``with_worker`` (designated), ``shared`` (tasks both answered so far), ``connected``
        (whether any chain of shared tasks links them).
    """
    present = answered.astype(bool).astype(np.int64)
    shared = sp.csr_array(present.T @ present)
    given = np.asarray(answered.sum(axis=0), dtype=float).ravel()
    designated = np.argsort(-given * information(model.priors, model.confusions), kind="stable")[:2]
    _, component = connected_components(shared, directed=False)
    rows = [
        (workers[m], workers[d], int(shared[m, d]), bool(component[m] == component[d]))
        for d in designated
        for m in range(len(workers))
        if m != d
    ]
    plan = pd.DataFrame(rows, columns=["worker", "with_worker", "shared", "connected"])
    return plan.sort_values(["connected", "shared"], kind="stable", ignore_index=True).head(n)
