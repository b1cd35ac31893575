"""What is known about each worker: accuracy, bias, information, and how sure that is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr
from scipy.stats import beta

from rectifact.crowd.em import CrowdModel, Floats


def information(priors: Floats, confusions: Floats) -> Floats:
    """Bits that one answer by each worker carries about the class of a new task: their mutual information.

    Examples
    --------
    >>> import numpy as np
    >>> information(np.array([0.5, 0.5]), np.stack([np.eye(2), np.full((2, 2), 0.5)]))
    array([1., 0.])
    """
    answers = confusions @ priors
    noise = (entr(confusions).sum(axis=1) * priors).sum(axis=1)
    return np.maximum(entr(answers).sum(axis=1) - noise, 0) / np.log(2)


def spammer_score(confusions: Floats) -> Floats:
    """1 for a worker whose answers do not depend on the class, 0 for one who is always right.

    One minus the mean squared distance between columns of the confusion matrix, scaled (Raykar and Yu, JMLR
    13, 2012, equation 9).

    Examples
    --------
    >>> import numpy as np
    >>> spammer_score(np.stack([np.eye(3), np.full((3, 3), 1 / 3)]))
    array([0., 1.])
    """
    k = confusions.shape[2]
    spread = (confusions - confusions.mean(axis=2, keepdims=True)) ** 2
    return 1 - spread.sum(axis=(1, 2)) / (k - 1)


def doubts(rows: Any, posteriors: Floats) -> Floats:
    """By worker, the variance of the number of right answers: each is right with some probability q, so q(1 - q)."""
    return _by_worker(rows, posteriors, lambda right: right * (1 - right))


def swings(rows: Any, posteriors: Floats) -> Floats:
    """By worker, how many answers are right or wrong by a toss: one that is as likely right as wrong counts as one."""
    return _by_worker(rows, posteriors, lambda right: 2 * np.minimum(right, 1 - right))


def _by_worker(rows: Any, posteriors: Floats, of: Callable[[Floats], Floats]) -> Floats:
    """Sums over the answers of each worker, of a function of the probability that the answer is right."""
    n_classes = posteriors.shape[1]
    task = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    worker, label = np.divmod(rows.indices, n_classes)
    values = np.asarray(rows.data * of(posteriors[task, label]), dtype=np.float64)
    return np.bincount(worker, values, minlength=rows.shape[1] // n_classes).astype(np.float64)


def worker_table(
    workers: NDArray[Any],
    classes: NDArray[Any],
    given: Floats,
    counts: Floats,
    doubt: Floats,
    prior: float,
    model: CrowdModel,
    swing: Floats | None = None,
) -> pd.DataFrame:
    """Table by worker; see :meth:`rectifact.DawidSkene.worker_report` for its columns.

    Accuracy and biases come from ``counts``, the answers weighed by the posteriors, not from the confusion matrices,
    which what the whole crowd does smooths. The accuracy is known like that of a coin after as many throws as there are
    answers, less the information that is missing because the labels are in doubt (Louis 1982: ``doubt`` over the
    variance of one throw), plus ``prior``. Half of the prior, as accurate as the crowd, also counts in the accuracy:
    all of it draws the best and the worst too near to the others.

    Where the answers do not tell who is right, one worker may be right on all tasks in doubt, and wrong on all of them:
    ``swing`` counts these.
    """
    priors, confusions = model.priors, model.confusions
    accuracy = expected_accuracy(counts, prior / 2)
    spread = np.maximum(accuracy * (1 - accuracy), 1e-6)
    size = np.maximum(given - doubt / spread, 0.1 * given) + max(prior, 0.5)
    toss = 0.0 if swing is None else swing / np.maximum(2 * given, 1e-9)
    ends = (0.05, np.maximum(accuracy - toss, 0)), (0.95, np.minimum(accuracy + toss, 1))
    low, high = (beta.ppf(q, end * size + 1e-9, (1 - end) * size + 1e-9) for q, end in ends)
    bias = expected_bias(counts)
    table = {
        "worker": workers,
        "answers": given.astype(int) if np.all(given == given.astype(int)) else given,
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "information": information(priors, confusions),
        "spammer": spammer_score(confusions),
    }
    return pd.DataFrame(table | {f"bias_{name}": bias[:, k] for k, name in enumerate(classes)})


def expected_accuracy(counts: Floats, prior: float) -> Floats:
    """The share of each worker's answers that are expected to be right, with ``prior`` answers as good as the crowd's.

    Examples
    --------
    >>> import numpy as np
    >>> expected_accuracy(np.array([[[40.0, 10], [10, 40]], [[0, 0], [0, 0]]]), 5).round(2)  # the second gave no answer
    array([0.8 , 0.79])
    """
    right, total = np.einsum("mkk->m", counts), counts.sum(axis=(1, 2))
    crowd, prior = (right.sum() + 1) / (total.sum() + 2), max(prior, 1e-9)
    return np.clip((right + prior * crowd) / (total + prior), 0, 1)


def expected_bias(counts: Floats) -> Floats:
    """How much more often each worker gives a class than it occurs among the tasks they answered.

    Examples
    --------
    >>> import numpy as np
    >>> expected_bias(np.array([[[50.0, 30], [0, 20]]]))  # says the first class four times in five
    array([[ 0.3, -0.3]])
    """
    total = counts.sum(axis=(1, 2))[:, None]
    return (counts.sum(axis=2) - counts.sum(axis=1)) / np.where(total > 0, total, 1)


def expected_matrices(counts: Floats, confusions: Floats) -> Floats:
    """Confusion matrices as the answers show them; those of the model count for one answer to each true class.

    Examples
    --------
    >>> import numpy as np
    >>> counts, model = np.array([[[9.0, 0], [0, 0]]]), np.full((1, 2, 2), 0.5)
    >>> expected_matrices(counts, model)  # never met the second class
    array([[[0.95, 0.5 ],
            [0.05, 0.5 ]]])
    """
    return (counts + confusions) / (counts.sum(axis=1, keepdims=True) + 1)


def expected_gain(posteriors: Floats, confusions: Floats) -> Floats:
    """Bits that an answer by each worker is expected to tell about each task, of shape (n_tasks, n_workers).

    Mutual information between the class, whose probabilities are the posteriors, and the answer.

    Examples
    --------
    >>> import numpy as np
    >>> expected_gain(np.array([[0.5, 0.5], [1.0, 0.0]]), np.eye(2)[None])
    array([[1.],
           [0.]])
    """
    answers = np.einsum("mkc,nc->nmk", confusions, posteriors)
    noise = posteriors @ entr(confusions).sum(axis=1).T
    return np.maximum(entr(answers).sum(axis=2) - noise, 0) / np.log(2)
