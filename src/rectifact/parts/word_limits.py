"""The fewest and the most documents that a word may occur in."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from rectifact.core.errors import InputError

USUAL_MIN_DF = 2


def limits(min_df: float, max_df: float, n: int) -> tuple[float, float]:
    """Fewest and most documents of a word, as scikit-learn takes them: whole numbers, or shares up to 1."""
    if not isinstance(min_df, Real) or not min_df > 0 or (min_df >= 1 and not _whole(min_df)):
        what = f"min_df={min_df!r} must be a number of documents, at least 1, or a share of them below 1."
        raise InputError(what, "Give a number such as 2, or a share such as 0.01.", option="min_df")
    if not isinstance(max_df, Real) or not max_df > 0 or (max_df > 1 and not _whole(max_df)):
        what = f"max_df={max_df!r} must be a share of the documents, above 0, or a number of them above 1."
        raise InputError(what, "Give a share such as 0.5, or a number such as 100.", option="max_df")
    few = min_df == USUAL_MIN_DF and n < 2 * min_df  # a handful of documents: the default would leave nothing
    fewest = float(min_df) if min_df < 1 else 1 if few else int(min_df)
    return fewest, float(max_df) if max_df <= 1 else int(max_df)


def _whole(number: Any) -> bool:
    return isinstance(number, Integral) or (np.isfinite(number) and float(number).is_integer())


def as_number(limit: float, n: int) -> float:
    """A number of documents, of ``n``, that was given as a share or as a whole number."""
    return limit * n if isinstance(limit, float) else limit
