"""The table of labels by task."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr

from rectifact.crowd.em import Floats
from rectifact.crowd.grades import chosen, expected_grades, grade_intervals


def result_table(
    tasks: Any, classes: NDArray[Any], probas: Floats, n_answers: NDArray[np.integer[Any]], ordinal: bool = False
) -> pd.DataFrame:
    """Table by task: label, confidence (its probability), entropy (in bits) and number of answers.

    Of ordered grades also the expected one, and the ends of an interval.
    """
    codes = chosen(probas, ordinal)
    table = {
        "task": tasks,
        "label": classes[codes],
        "confidence": np.take_along_axis(probas, codes[:, None], axis=1)[:, 0],
        "entropy": entr(probas).sum(axis=1) / np.log(2),
        "answers": n_answers,
    }
    if ordinal:
        low, high = grade_intervals(probas, classes).T
        table |= {"expected": expected_grades(probas, classes), "low": low, "high": high}
    return pd.DataFrame(table)
