"""What is known about each worker: accuracy, bias, information, and how sure that is."""

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


def worker_table(workers: NDArray[Any], classes: NDArray[Any], given: Floats, model: CrowdModel) -> pd.DataFrame:
    """Table by worker; see :meth:`rectifact.DawidSkene.worker_report` for its columns."""
    priors, confusions = model.priors, model.confusions
    accuracy = np.einsum("mkk,k->m", confusions, priors)
    # Each column of a confusion matrix is known like a Dirichlet draw of its counts; the accuracy is their mean.
    totals = model.counts.sum(axis=1) + 1
    diagonal = np.einsum("mkk->mk", confusions)
    variance = (priors**2 * diagonal * (1 - diagonal) / totals).sum(axis=1)
    size = np.maximum(accuracy * (1 - accuracy) / np.maximum(variance, 1e-12) - 1, 1e-3)
    low, high = (beta.ppf(q, accuracy * size + 1e-9, (1 - accuracy) * size + 1e-9) for q in (0.05, 0.95))
    bias = (confusions @ priors) - priors
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
