"""Dawid-Skene with priors that the whole crowd teaches, and with subtypes inside each class: the default fit.

A worker with few answers is judged like the others, one with many by their own answers; how many it takes is learnt,
so that the same rule serves two classes and fifty, a crowd of strangers and a panel of experts. This is empirical Bayes
with maximum a posteriori estimates by EM. Subtypes let a class hold tasks that are answered differently, clear ones and
hard ones for example, as in [1]; without them, full confusion matrices turn such groups of tasks into classes.

[1] Y. Li, B. Rubinstein and T. Cohn, "Exploiting worker correlation for label aggregation in crowdsourcing", ICML 2019.
They draw subtypes at random, and use variational Bayes with fixed priors.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from rectifact.core.arrays import namespace, to_host, to_like
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.crowd.em import NOTHING, CrowdModel, Floats, Sums, by_class, coins, log_e_step, log_likelihood


@dataclass(frozen=True)
class Strength:
    """How many answers it takes to overrule what the crowd teaches about a worker.

    Attributes
    ----------
    matrix : float
        Answers to tasks of one class, before the worker's own column counts for more than their accuracy.
    accuracy : float
        Answers, before the worker's own accuracy counts for more than that of the crowd.
    """

    matrix: float
    accuracy: float


FIRST_STRENGTH = Strength(5.0, 5.0)
"""Until there are estimates of the labels to learn from."""

LEAST_MATRIX = 8.0
MOST_MATRIX = 32.0
"""For each class."""

MOST_ACCURACY = 32.0
LEARN_AFTER = 20
LEARN_EVERY = 5
"""Iterations."""

HELD = 10.0
"""Pseudo-tasks for each task that hold the shares of ordered grades near those of the answers: with errors that fall
off with distance, its neighbours could explain all answers to tasks of a middle grade, and EM would empty it."""

MOST_DECAY = 0.75
"""From one grade to the next: workers who err more would be expected to answer with the ends of the scale alone."""

MOST_WORKERS, MOST_CELLS, FEWEST = 1000, 1 << 20, 5
"""From whom the strength is learnt, and cells of the matrices, of at least so many workers; more would not change it."""


class PooledFit(NamedTuple):
    """A fitted model with all that follows from it.

    Attributes
    ----------
    model : CrowdModel
    posteriors : array of shape (n_tasks, n_states)
    confusions : array of shape (n_workers, n_classes, n_states)
        Without the prior, except for a worker who met no task in a state.
    strength : Strength
    """

    model: CrowdModel
    posteriors: Any
    confusions: Floats
    strength: Strength

    def on_host(self) -> "PooledFit":
        """The same fit in numpy arrays of double precision."""
        posteriors, confusions = (to_host(part).astype(np.float64) for part in (self.posteriors, self.confusions))
        return PooledFit(self.model.on_host(), posteriors, confusions, self.strength)


def pooled_em(
    B: Operand,
    start: Sums,
    *,
    monitor: Monitor,
    weights: Any,
    shares: Any = None,
    strength: Strength = FIRST_STRENGTH,
    learn: bool = True,
    known: Any = None,
    background: Sums = NOTHING,
    ordinal: bool = False,
) -> PooledFit:
    r"""EM for the posterior mode, with pseudo-answers that the crowd has taught.

    Worker m has the pseudo-answers :math:`\alpha\,C(p_m)` in each column, where C is the matrix of a coin that is right
    with probability

    .. math:: p_m = \frac{r_m + \beta \bar p}{n_m + \beta},

    with :math:`r_m` of :math:`n_m` answers expected to be right, and :math:`\bar p` that share in the whole crowd. The
    strengths :math:`\alpha` and :math:`\beta` maximise the evidence, see :func:`learn_strength`. Answers count for the
    weights :math:`w_m` each, as in a quasi-likelihood for overdispersed data:

    .. math:: \sum_n \log\sum_s \lambda_s \prod_{(m,k)} A_m(k, s)^{w_m}
       + \sum_{m,k,s} \alpha\,C(p_m)_{k,c(s)} \log A_m(k, s) + \sum_s \tfrac1S \log\lambda_s

    Parameters
    ----------
    B : Operand of shape (n_tasks, n_workers * n_classes)
        How often worker m answered k.
    start : Sums
        Expected answers and tasks to start from, by state.
    monitor : Monitor
        Its loss is minus the objective, which cannot rise while the prior stays as it is.
    weights : array of shape (n_workers,)
        What an answer of each worker counts.
    shares : array of shape (n_workers,), default None
        Part of a source of answers that a worker is: below 1 for workers who copy each other, who then share the
        pseudo-answers of one worker as well, so that a copy changes nothing. None if each is a source of their own.
    strength : Strength, default FIRST_STRENGTH
        To begin with.
    learn : bool, default True
        Whether to learn the strength on the way.
    known : array of shape (n_tasks,), default None
        The class of a task where it is certain, -1 elsewhere.
    background : Sums, default nothing
        Of other tasks, which stay as they are.
    ordinal : bool, default False
        Whether classes are grades in order. Wrong pseudo-answers then fall off with their distance from the true grade,
        see :func:`graded`, and pseudo-tasks hold the shares of the grades near those of the answers.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from rectifact.core.operand import operand
    >>> from rectifact.crowd.em import expected_sums
    >>> B = operand(sp.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]])))  # two workers who agree
    >>> start = B.total(expected_sums, along=(np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]),))
    >>> pooled_em(B, start, monitor=Monitor(), weights=np.ones(2)).model.posteriors.round(1)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    xp, (n_classes, n_states) = namespace(start.counts), start.counts.shape[1:]
    weights = to_like(weights, start.counts)[:, None, None]
    shares = xp.ones_like(weights) if shares is None else to_like(shares, start.counts)[:, None, None]
    prior = pooled_prior(background.counts + weights * start.counts, strength, shares, ordinal)
    first = LEARN_AFTER if strength == FIRST_STRENGTH else LEARN_EVERY
    held = _held_tasks(start, background) if ordinal else 0.0
    counts, classes, prior, strength, settled = monitor.resume((*start, prior, strength, int(not learn)))
    for t in monitor:
        weighed = background.counts + weights * counts
        if learn and t >= first and t % LEARN_EVERY == 0 and monitor.due:
            new = learn_strength(to_host(weighed), to_host(shares), ordinal)
            settled, strength = int(strength == new), new
            prior = pooled_prior(weighed, strength, shares, ordinal)
        tasks = background.classes + classes + 1 / n_states + held
        priors, total = tasks / tasks.sum(), weighed + prior
        confusions = total / xp.sum(total, axis=1, keepdims=True)
        logs = xp.log(priors), xp.log(confusions)
        posteriors, (counts, classes), evidence = log_e_step(B, logs[0], weights * logs[1], known)
        objective = evidence + (prior * logs[1]).sum() + logs[0].sum() / n_states + (held * logs[0]).sum()
        monitor.record(lambda: -objective, bool(settled), state=lambda: (counts, classes, prior, strength, settled))
    likelihood = log_likelihood(B, priors, confusions, known)
    by_classes = by_class(total, n_classes)
    model = CrowdModel(
        by_class(priors, n_classes),
        by_classes / xp.sum(by_classes, axis=1, keepdims=True),
        by_class(posteriors, n_classes),
        by_classes,
        logs[0],
        weights * logs[1],
        float(likelihood),
        float(objective),
    )
    met = xp.sum(weighed, axis=1, keepdims=True)
    bare = xp.where(met > 1e-9, weighed / xp.where(met > 1e-9, met, xp.ones_like(met)), confusions)
    return PooledFit(model, posteriors, bare, strength)


def _held_tasks(start: Sums, background: Sums) -> Any:
    """Pseudo-tasks in each state, in the shares of the grades among all answers."""
    xp, (_, n_classes, n_states) = namespace(start.counts), start.counts.shape
    given = xp.sum(background.counts + start.counts, axis=(0, 2))
    n_tasks = (background.classes + start.classes).sum()
    each = xp.ones_like(start.classes).reshape(n_classes, -1) * (n_classes / n_states)
    return HELD * n_tasks * (given[:, None] / given.sum() * each).reshape(-1)


def pooled_prior(counts: Any, strength: Strength, shares: Any = 1.0, ordinal: bool = False) -> Any:
    """Pseudo-answers of each worker: a matrix of one coin, as accurate as worker and crowd have been so far.

    Workers who are a part of one source (``shares``, of shape (n_workers, 1, 1)) have a part of its pseudo-answers.
    With ``ordinal``, errors fall off with the distance from the true class.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.zeros((2, 2, 2))
    >>> counts[0] = [[40, 10], [10, 40]]  # one worker is known to be right in four of five answers
    >>> pooled_prior(counts, Strength(10, 5))[1].round(1)  # so another is expected to be
    array([[7.9, 2.1],
           [2.1, 7.9]])
    """
    matrices = _shapes_by_state(counts / shares, _crowd_accuracy(counts), strength.accuracy, ordinal)
    return strength.matrix * shares * matrices


def graded(right: Any, n_grades: int) -> Any:
    r"""Confusion matrices of workers whose errors fall off with the distance from the true grade.

    An answer is the true grade c plus an error of d grades with a probability in proportion to :math:`\rho^{|d|}`, and
    the end of the scale where it would lie beyond. Over all grades alike such answers are right with probability p for

    .. math:: \rho = \frac{K (1 - p)}{K p + K - 2}.

    Examples
    --------
    >>> import numpy as np
    >>> graded(np.array([0.6]), 3).round(2)
    array([[[0.7 , 0.3 , 0.13],
            [0.17, 0.4 , 0.17],
            [0.13, 0.3 , 0.7 ]]])
    """
    xp, places = namespace(right), np.arange(n_grades)
    decay = xp.clip(n_grades * (1 - right) / (n_grades * right + n_grades - 2), 0.0, MOST_DECAY)[:, None, None]
    away = to_like(np.abs(np.subtract.outer(places, places)), right)
    ends = to_like((places % (n_grades - 1) == 0).astype(float), right)[:, None]
    return decay**away * (ends + (1 - ends) * (1 - decay)) / (1 + decay)


def _crowd_accuracy(counts: Any) -> Any:
    right, total = _right_answers(counts)
    return (right.sum() + 1) / (total.sum() + 2)


def _shapes_by_state(counts: Any, crowd: Any, strength: float, ordinal: bool) -> Any:
    """Matrices of one coin, or of ordered grades, the same for all subtypes of a class."""
    n_classes, right = counts.shape[1], _accuracies(counts, crowd, strength)
    matrices = graded(right, n_classes) if ordinal else coins(right, n_classes)
    each = namespace(counts).ones_like(counts[0, 0]).reshape(n_classes, -1)
    return (matrices[..., None] * each).reshape(counts.shape)


def _accuracies(counts: Any, crowd: Any, strength: float) -> Any:
    right, total = _right_answers(counts)
    return namespace(counts).clip((right + strength * crowd) / (total + strength), 1e-3, 1 - 1e-3)


def _right_answers(counts: Any) -> tuple[Any, Any]:
    """Expected right answers, and all answers, of each worker."""
    xp = namespace(counts)
    return xp.linalg.trace(by_class(counts, counts.shape[1])), xp.sum(counts, axis=(1, 2))


def learn_strength(counts: Floats, shares: Any = 1.0, ordinal: bool = False) -> Strength:
    """The strength of the prior under which the expected answers are most probable, of doubling values.

    Right answers are binomial with a beta prior; the answers in a column are multinomial with a Dirichlet prior. Both
    parameters are integrated out. Workers who are a part of one source (``shares``, of shape (n_workers, 1, 1)) count
    for that part. With ``ordinal``, errors fall off with the distance from the true class.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> right = 100 * rng.beta(8, 2, size=(200, 2))  # accuracies as spread as after ten answers
    >>> counts = np.stack([right, 100 - right], axis=1)
    >>> counts[:, :, 1] = counts[:, ::-1, 0]  # the same coin for both classes
    >>> learn_strength(counts)
    Strength(matrix=64.0, accuracy=8.0)
    """
    some = slice(None, None, -(-len(counts) // MOST_WORKERS))
    counts, part = counts[some], np.broadcast_to(shares, (len(counts), 1, 1))[some]
    n_classes, crowd = counts.shape[1], _crowd_accuracy(counts)
    counts, once = counts / part, part[:, 0, 0]
    right, total = _right_answers(counts)
    wrong = np.maximum(total - right, 0)

    def of_accuracies(s: float) -> Any:
        return once @ (betaln(s * crowd + right, s * (1 - crowd) + wrong) - betaln(s * crowd, s * (1 - crowd)))

    accuracy = _best(_doubling(1.0, MOST_ACCURACY), of_accuracies)
    few = slice(None, None, max(min(-(-counts.size // MOST_CELLS), len(counts) // FEWEST), 1))
    counts, once = counts[few], once[few]
    shape, met = _shapes_by_state(counts, crowd, accuracy, ordinal), counts.sum(axis=1)

    def of_matrices(a: float) -> Any:
        columns = gammaln(a) - gammaln(a + met) + (gammaln(a * shape + counts) - gammaln(a * shape)).sum(axis=1)
        return once @ columns.sum(axis=1)

    matrix = _best(_doubling(LEAST_MATRIX, MOST_MATRIX * n_classes), of_matrices)
    return Strength(matrix, accuracy)


def _doubling(least: float, most: float) -> Floats:
    return least * 2.0 ** np.arange(np.floor(np.log2(most / least)) + 1)


def _best(values: Floats, evidence: Any) -> float:
    """The value with the highest evidence; a prior twice as strong has to be twice as probable."""
    return float(values[np.argmax([evidence(value) - np.log(value) for value in values])])


def subtypes_of(posteriors: Any, shares: Any, n_subtypes: int) -> Any:
    """States to start from: tasks whose answers are typical of the class, and the others.

    A task that is of class c with probability q, and whose answers name c with a share v, is a typical task of c with
    probability qv.

    Examples
    --------
    >>> import numpy as np
    >>> subtypes_of(np.array([[0.5, 0.5]]), np.array([[0.75, 0.25]]), 2)
    array([[0.375, 0.125, 0.125, 0.375]])
    """
    if n_subtypes == 1:
        return posteriors
    return np.stack([posteriors * shares, posteriors * (1 - shares)], axis=2).reshape(len(posteriors), -1)
