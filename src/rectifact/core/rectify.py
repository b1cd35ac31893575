"""The one idea all families share: decode linearly, then rectify.

The literature uses one name for two operators. Here :func:`relu` *keeps* what reaches the threshold, as in Li and
Liang (ICML 2017) and, under the name of shifted ReLU, in Ibrahim and Fu (ICML 2021); :func:`shifted_relu` also
*subtracts* it, as in Li, Liang and Risteski (NIPS 2016). At threshold 0 they agree.
"""

from dataclasses import dataclass
from typing import Protocol

from rectifact.core.arrays import Array, namespace


def relu(Z: Array, threshold: float | Array = 0.0) -> Array:
    """Keep the entries of ``Z`` that reach ``threshold`` and set the others to 0.

    NaN stays NaN, so that a broken iteration is seen and not hidden.

    Parameters
    ----------
    Z : array
    threshold : float or array, default 0
        An array broadcasts against ``Z``, for example one value per column.

    Returns
    -------
    array of the shape of ``Z``

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.array([-1.0, 0.4, 0.5, 2.0]), 0.5)
    array([0. , 0. , 0.5, 2. ])
    """
    return namespace(Z).where(threshold > Z, 0.0, Z)


def shifted_relu(Z: Array, threshold: float | Array = 0.0) -> Array:
    """Subtract ``threshold`` from ``Z`` and set negative values to 0: ``max(Z - threshold, 0)``.

    Parameters
    ----------
    Z : array
    threshold : float or array, default 0
        As for :func:`relu`.

    Returns
    -------
    array of the shape of ``Z``

    Examples
    --------
    >>> import numpy as np
    >>> shifted_relu(np.array([-1.0, 0.5, 2.0]), 0.5)
    array([0. , 0. , 1.5])
    """
    return relu(Z - threshold)


class Schedule(Protocol):
    """A threshold for every iteration, and whether it has stopped changing."""

    def __call__(self, t: int) -> float:
        """Threshold at iteration ``t``, counted from 0."""

    def settled(self, t: int) -> bool:
        """Whether the threshold no longer changes, so that losses can be compared."""


@dataclass(frozen=True)
class Constant:
    """The same threshold at every iteration.

    Parameters
    ----------
    value : float, default 0

    Examples
    --------
    >>> schedule = Constant(0.1)
    >>> schedule(7), schedule.settled(0)
    (0.1, True)
    """

    value: float = 0.0

    def __call__(self, t: int) -> float:
        return self.value

    def settled(self, t: int) -> bool:
        return True


@dataclass(frozen=True)
class Geometric:
    """A threshold that is divided by ``decay`` at every iteration until it reaches ``floor``.

    It has settled at the floor or, without one, once it is below 1e-16 of its start.

    Parameters
    ----------
    start : float
    decay : float
    floor : float, default 0

    Examples
    --------
    >>> schedule = Geometric(start=0.8, decay=2.0, floor=0.1)
    >>> [schedule(t) for t in range(5)]
    [0.8, 0.4, 0.2, 0.1, 0.1]
    >>> schedule.settled(2), schedule.settled(3)
    (False, True)
    """

    start: float
    decay: float
    floor: float = 0.0

    def __call__(self, t: int) -> float:
        return max(self.start * self.decay**-t, self.floor)  # a negative power underflows, a positive one raises

    def settled(self, t: int) -> bool:
        return self.start * self.decay**-t <= max(self.floor, 1e-16 * self.start)
