"""Peaks of parts along an axis, such as wavelengths, on which the largest features of a part lie side by side."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

PROMINENT = 0.1
"""Share of the range of a part by which a peak rises above the valley between it and a higher one."""

SMOOTH = 0.8
"""Mean correlation of neighbours from which parts are curves: numbers of items, in order, are not an axis."""


def are_curves(parts: NDArray[np.float64]) -> bool:
    """Whether parts change little from each feature to the next, as spectra do.

    Parameters
    ----------
    parts : array of shape (n_parts, n_features), the features in order

    Examples
    --------
    >>> axis = np.linspace(0, 3, 50)
    >>> are_curves(np.stack([np.sin(axis), np.cos(axis)])), are_curves(np.random.default_rng(0).random((2, 50)))
    (True, False)
    """
    centred = parts - parts.mean(axis=1, keepdims=True)
    squares = (centred**2).sum(axis=1)
    known = squares > 0
    if not known.any():
        return False
    products = (centred[:, 1:] * centred[:, :-1]).sum(axis=1)
    return bool((products[known] / squares[known]).mean() > SMOOTH)


def peaks(part: NDArray[np.float64]) -> list[int]:
    """Numbers of the features at which a part peaks, the highest first; a part that only rises peaks at its end.

    Parameters
    ----------
    part : array of shape (n_features,)

    Returns
    -------
    list of int, at least one

    Examples
    --------
    >>> peaks(np.array([0, 1, 5, 1, 0, 2.0, 2.1, 0]))
    [2, 6]
    >>> peaks(np.array([1.0, 2, 3])), peaks(np.ones(3))
    ([2], [0])
    """
    low, high = float(part.min()), float(part.max())
    if not high > low:
        return [0]
    walled = np.concatenate([[low], part, [low]])  # so that the ends can be peaks
    places = find_peaks(walled, prominence=PROMINENT * (high - low))[0] - 1
    return [int(j) for j in places[np.argsort(-part[places], kind="stable")]]
