"""Which of several workers is most accurate: differences on the tasks that both answered, by the model's posteriors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rectifact.core.errors import count
from rectifact.crowd.data.names import plain, sentence
from rectifact.crowd.prediction_powered import Floats, deviations


class Lead(NamedTuple):
    """How much more often the best of several workers is right than another, on the tasks that both answered.

    Attributes
    ----------
    other : any
        Name of the other worker.
    value, low, high : float
        Difference between the shares of right answers, with its interval.
    p_value : float
        Of no difference.
    tasks : int
        Tasks that both answered.
    certain : bool
        Whether it is more than chance explains, all comparisons considered.
    """

    other: Any
    value: float
    low: float
    high: float
    p_value: float
    tasks: int
    certain: bool


def leads_of(
    said: NDArray[np.int64],
    posteriors: Floats,
    names: Sequence[Any],
    best: int,
    others: Sequence[int],
    confidence: float = 0.95,
) -> list[Lead]:
    """The lead of one worker over others, each on the tasks that both answered.

    Where both say the same, they are right or wrong together, so that only tasks on which they differ count. Whose
    answer is right there is known with the probabilities of the posteriors, and so is the variance.

    Parameters
    ----------
    said : array of shape (n_tasks, n_workers)
        Number of the class that each worker gave, -1 for none.
    posteriors : array of shape (n_tasks, n_classes)
    names : sequence
        Of the workers.
    best : int
        Number of the worker who is compared with the others.
    others : sequence of int
        Their numbers.
    confidence : float, default 0.95
        Probability of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> said = np.column_stack([np.zeros(100, dtype=int), np.arange(100) % 5 == 0]).astype(int)
    >>> (lead,) = leads_of(said, np.tile([0.9, 0.1], (100, 1)), ["gpt", "mini"], 0, [1])
    >>> lead.other, round(lead.value, 2), lead.certain
    ('mini', 0.16, True)
    """
    z = deviations(confidence)
    rows = []
    for other in others:
        both = np.flatnonzero((said[:, best] >= 0) & (said[:, other] >= 0))
        if not both.size:
            continue
        first, second = (posteriors[both, said[both, worker]] for worker in (best, other))
        differ = said[both, best] != said[both, other]
        value = float((first - second)[differ].sum() / len(both))
        square = float((first + second)[differ].sum() / len(both))  # one of them is right, so the square is 1
        error = float(np.sqrt(max(square - value**2, 0) / len(both) + 1 / (3 * len(both) ** 2)))
        p_value = float(2 * ndtr(-abs(value) / error))
        rows.append((plain(names[other]), value, value - z * error, value + z * error, p_value, len(both)))
    rows.sort(key=lambda row: row[4])
    found, certain = [], True
    for place, row in enumerate(rows):
        certain = certain and row[4] * (len(rows) - place) < 1 - confidence  # Holm's procedure
        found.append(Lead(*row, certain))
    return found


def accuracy_words(best: Any, leads: Sequence[Lead], confidence: float = 0.95) -> str:
    """Who is most accurate, as far as the comparisons tell.

    Examples
    --------
    >>> leads = [Lead("mini", 0.16, 0.1, 0.22, 1e-6, 100, True), Lead("qwen", 0.01, -0.02, 0.04, 0.5, 100, False)]
    >>> print(accuracy_words("gpt", leads))
    gpt has the highest accuracy. Compared on the tasks that both answered, it is right more often than mini (by 16.0
    points, 95% interval 10.0 to 22.0), but cannot be told apart from qwen (+1.0, -2.0 to +4.0). These are 2 comparisons
    made together.
    """
    if not leads:
        return ""
    sure, open_ = ([lead for lead in leads if lead.certain is kind] for kind in (True, False))
    parts, named = [], False
    for group, start in ((sure, "is right more often than"), (open_, "cannot be told apart from")):
        shown = []
        for lead in group:
            ends = f"{100 * lead.low:+.1f} to {100 * lead.high:+.1f}"
            if group is sure:
                ends = f"{100 * lead.low:.1f} to {100 * lead.high:.1f}"
                level = "" if named else f"{confidence:.0%} interval "
                shown.append(f"{lead.other} (by {100 * lead.value:.1f} points, {level}{ends})")
            else:
                level = "" if named else f" points, {confidence:.0%} interval"
                alone = len(leads) > 1 and (lead.low > 0 or lead.high < 0)
                allowed = f", which is not clear after allowing for {len(leads)} comparisons" if alone else ""
                shown.append(f"{lead.other} ({100 * lead.value:+.1f}{level or ','} {ends}{allowed})")
            named = True
        if shown:
            parts.append(f"{start} {sentence(shown)}")
    together = f" These are {count(len(leads), 'comparison')} made together." if len(leads) > 1 else ""
    return (
        f"{best} has the highest accuracy. Compared on the tasks that both answered, it {', but '.join(parts)}."
        f"{together}"
    )
