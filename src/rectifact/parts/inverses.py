"""Left inverses that decode samples: the pseudo-inverse, and the one that lets the least noise through.

References
----------
[1] Y. Li, Y. Liang and A. Risteski, "Recovery guarantee of non-negative matrix factorization via alternating
updates", NIPS 2016, Algorithm 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.utils.parallel import Parallel, delayed

from rectifact.core.arrays import Array, to_host, to_like


def least_infinity_inverse(H: Array, *, n_jobs: int | None = None) -> Array:
    r"""Inverse ``P`` with ``H @ P = I`` whose columns have the least l1 norm [1].

    Noise of at most :math:`\epsilon` in every entry of a sample moves weight i by at most :math:`\epsilon` times the l1
    norm of column i. It takes one linear program per part, solved by HiGHS, and hundreds of times as long as the
    pseudo-inverse.

    Parameters
    ----------
    H : array of shape (n_components, n_features)
        Rows must be independent.
    n_jobs : int, optional
        Linear programs solved in parallel, as in joblib.

    Examples
    --------
    >>> import numpy as np
    >>> from rectifact.core.linalg import pseudo_inverse
    >>> H = np.array([[1.0, 1.0, 2.0]])
    >>> least_infinity_inverse(H).ravel(), pseudo_inverse(H).ravel().round(3)
    (array([0. , 0. , 0.5]), array([0.167, 0.167, 0.333]))
    """
    rows = to_host(H)
    columns = Parallel(n_jobs=n_jobs)(delayed(_least_l1)(rows, i) for i in range(len(rows)))
    return to_like(np.stack(columns, axis=1), H)


def _least_l1(rows: NDArray[Any], i: int) -> NDArray[np.float64]:
    """Shortest p in the l1 norm with ``rows @ p`` the unit vector i; p is a difference of two positive vectors."""
    n_features = rows.shape[1]
    found = linprog(np.ones(2 * n_features), A_eq=np.hstack([rows, -rows]), b_eq=np.eye(len(rows))[i], method="highs")
    if not found.success:  # rows depend on each other: there is no inverse to improve upon
        return np.asarray(np.linalg.pinv(rows)[:, i], dtype=float)
    return np.asarray(found.x[:n_features] - found.x[n_features:], dtype=float)
