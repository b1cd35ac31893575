r"""Intraclass correlations of numbers, as functions of sums over tasks.

After P. E. Shrout and J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability", Psychological
Bulletin 86, 1979. All are for the answer of one worker, not for the mean of several.
"""

import numpy as np
from numpy.typing import NDArray

from rectifact.crowd.agreement import TINY, ratio
from rectifact.crowd.resampling import Floats, Terms

ONE_WAY = ["ICC(1,1)"]
TWO_WAY = ["ICC(2,1)", "ICC(3,1)"]


def one_way_terms(task: NDArray[np.int64], value: Floats, n_tasks: int) -> Terms:
    """Terms of ICC(1,1), for tasks with two answers or more."""
    n = np.bincount(task, minlength=n_tasks).astype(float)
    total, squares = np.bincount(task, value, n_tasks), np.bincount(task, value**2, n_tasks)
    kept = n > 1
    n, total = n[kept], total[kept]
    between = total**2 / n
    return {
        "tasks": np.ones(len(n)),
        "answers": n,
        "squared_size": n**2,
        "total": total,
        "between": between,
        "within": squares[kept] - between,
    }


def one_way_figures(sums: dict[str, Floats]) -> Floats:
    """ICC(1,1): share of the variance that is between tasks, whoever answers; also for unequal numbers of answers."""
    tasks, n, sizes, total, between, within = (part[:, 0] for part in sums.values())
    typical = ratio(n - ratio(sizes, n), tasks - 1)
    mean_between, mean_within = ratio(between - ratio(total**2, n), tasks - 1), ratio(within, n - tasks)
    return _share(mean_between - mean_within, mean_between + (typical - 1) * mean_within)[:, None]


def two_way_terms(values: Floats) -> Terms:
    """Terms of ICC(2,1) and ICC(3,1), for tasks by workers, all of whom answered."""
    return {
        "tasks": np.ones(len(values)),
        "columns": values,
        "between": values.sum(axis=1) ** 2 / max(values.shape[1], 1),
        "squares": (values**2).sum(axis=1),
    }


def two_way_figures(sums: dict[str, Floats]) -> Floats:
    """ICC(2,1), absolute agreement of workers drawn at random, and ICC(3,1), consistency of these workers."""
    n, columns = sums["tasks"][:, 0], sums["columns"]
    m = columns.shape[1]
    common = ratio(columns.sum(axis=1) ** 2, n * m)
    rows, workers = sums["between"][:, 0] - common, ratio((columns**2).sum(axis=1), n) - common
    rest = sums["squares"][:, 0] - common - rows - workers
    free = (n - 1) * (m - 1)
    rows, workers, rest = ratio(rows, n - 1), workers / max(m - 1, 1), ratio(rest, free)
    absolute = _share(rows - rest, rows + (m - 1) * rest + m * ratio(workers - rest, n))
    return np.column_stack([absolute, _share(rows - rest, rows + (m - 1) * rest)])


def _share(part: Floats, whole: Floats) -> Floats:
    return ratio(part, np.where(whole > TINY, whole, 0.0))
