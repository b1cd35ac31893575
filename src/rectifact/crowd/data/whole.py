"""Tasks and workers that are whole numbers, which pandas writes as 12000.0 where their column had a gap once."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.io.whole_names import LARGEST, as_names

Coded = tuple[NDArray[Any], NDArray[Any]]


def without_points(codes: NDArray[Any], values: NDArray[Any]) -> Coded:
    """Codes and values, which are whole numbers where all of them are, however they are stored or written.

    Examples
    --------
    >>> without_points(np.array([0, 1]), np.array([12000.0, 12001.0]))[1]
    array([12000, 12001])
    >>> codes, names = without_points(np.array([0, 1, 2, -1]), np.array(["7.0", "8.0", "7"], dtype=object))
    >>> codes.tolist(), names.tolist()
    ([0, 1, 0, -1], ['7', '8'])
    """
    if not len(values):
        return codes, values
    if values.dtype.kind == "f":
        whole = (values == np.round(values)).all() and np.abs(values).max() < LARGEST
        return codes, values.astype(np.int64) if whole else values
    texts = values.tolist()
    if not all(isinstance(text, str) for text in texts) or (names := as_names(texts)) == texts:
        return codes, values
    again, different = pd.factorize(np.array(names, dtype=object))
    return np.where(codes < 0, -1, again[codes]).astype(codes.dtype), different
