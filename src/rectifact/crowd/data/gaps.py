"""Answers without a label: which they are, and a warning that says how many were left out."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.matrices import is_auto, stands_for


def labelled(labels: NDArray[Any], missing: Any) -> tuple[NDArray[np.bool_], int]:
    """Which answers have a label, and how many are empty, without those that ``missing`` takes out."""
    empty, absent = np.asarray(pd.isna(labels)), np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O" and empty.any():
        labels = labels.copy()
        labels[empty] = [np.nan if gap is pd.NA else gap for gap in labels[empty]]  # pd.NA cannot be compared
    if not is_auto(missing):
        absent = stands_for(labels.astype(object), missing)
    if labels.dtype.kind not in "biufmM":
        empty |= stands_for(labels.astype(object), "")
    empty &= ~absent
    return ~(absent | empty), int(empty.sum())


def warn_of_empty(n_empty: int, *, stacklevel: int) -> None:
    """Say how many answers without a label were left out; ``stacklevel`` counts from the caller."""
    if n_empty:
        were = "was" if n_empty == 1 else "were"
        what = f"{count(n_empty, 'answer')} without a label {were} skipped."
        warnings.warn(FitWarning(what), stacklevel=stacklevel + 1)
