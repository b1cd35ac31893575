"""The kernels in plain array code: the specification that the compiled forms are tested against."""

from rectifact.core.arrays import Array
from rectifact.core.rectify import relu

__all__ = ["hals_sweep"]


def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """One sweep of hierarchical alternating least squares over the columns of ``U``, in place.

    Minimises ``1/2 ||X - U V'||^2`` over one column of ``U >= 0`` after another, given ``G = V'V`` and
    ``B = X V``: ``U[:, k] <- relu(U[:, k] + (B[:, k] - U G[:, k]) / G[k, k])``. A column whose
    ``G[k, k]`` is 0 has no influence and is left as it is.

    Parameters
    ----------
    U : array of shape (n, r), overwritten
    G : array of shape (r, r)
    B : array of shape (n, r)
    """
    for k in range(U.shape[1]):
        if G[k, k] > 0:
            U[:, k] = relu(U[:, k] + (B[:, k] - U @ G[:, k]) / G[k, k])
    return U
