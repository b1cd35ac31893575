"""Hot loops. This is the only place that chooses between the plain and the compiled form.

``reference`` is the specification, in any array library; ``compiled`` has the same names and arguments in
numba for numpy arrays. It is imported at the first use, so that importing rectifact does not load numba.
"""

from rectifact.core.arrays import Array, is_host
from rectifact.kernels import reference

__all__ = ["hals_sweep"]


def hals_sweep(U: Array, G: Array, B: Array) -> Array:
    """One sweep of hierarchical alternating least squares over the columns of ``U``, in place.

    See :func:`rectifact.kernels.reference.hals_sweep`.

    Examples
    --------
    >>> import numpy as np
    >>> hals_sweep(np.zeros((1, 2)), np.eye(2), np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """
    if not is_host(U):
        return reference.hals_sweep(U, G, B)
    from rectifact.kernels import compiled

    return compiled.hals_sweep(U, G, B)
