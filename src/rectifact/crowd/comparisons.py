"""Estimators to compare DawidSkene with: majority vote, and the methods in ``baselines``."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.estimator import Iterative
from rectifact.core.monitor import monitor_of, set_fit_report
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, fit_context
from rectifact.crowd.base import Aggregator, ClosedForm, refuse_weights
from rectifact.crowd.baselines import eigen_ratio, ghosh_svd, kos, minimax_entropy
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.partitions import is_lazy_data
from rectifact.crowd.data.sources import refuse_source
from rectifact.io.checkpoint import open_checkpoint


class MajorityVote(ClosedForm):
    """The class that most workers chose.

    ``probas_`` holds the shares of the votes. In ``labels_`` a tie goes to the class that comes first in
    ``classes_``; :func:`rectifact.metrics.expected_error` counts ties by their share instead.

    Parameters
    ----------
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.

    Attributes
    ----------
    labels_ : array of shape (n_tasks,)
        In the order of ``tasks_``.
    probas_ : array of shape (n_tasks, n_classes)
        In the order of ``tasks_``, with columns in the order of ``classes_``.
    tasks_, workers_, classes_ : array
    n_iter_ : int
        0: a vote needs no iterations.
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
    resolved_ : dict
        The ``columns`` read.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"task": ["a", "a", "a", "b"], "worker": [1, 2, 3, 1], "label": list("xyxy")})
    >>> MajorityVote().fit(answers).labels_.tolist()
    ['x', 'y']
    """

    _takes_weights = True
    _takes_partitions = True

    def _posteriors(self, answers: Any) -> Any:
        return answers.shares(None)


class KOS(ClosedForm):
    """Karger, Oh and Shah's low-rank method; labels without probabilities. For comparison.

    Parameters and attributes are those of :class:`MajorityVote`; see :func:`rectifact.crowd.baselines.kos`.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> len(KOS().fit(make_crowd(100, 10, 2).answers).labels_)
    100
    """

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        return kos(answers).posteriors


class GhoshSVD(ClosedForm):
    """Ghosh, Kale and McAfee's singular vector, for two classes; labels without probabilities. For comparison.

    Parameters and attributes are those of :class:`MajorityVote`; see :func:`rectifact.crowd.baselines.ghosh_svd`.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> len(GhoshSVD().fit(make_crowd(100, 10, 2).answers).labels_)
    100
    """

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        return ghosh_svd(answers).posteriors


class EigenRatio(ClosedForm):
    """Dalvi and others' ratio of eigenvectors, for two classes; labels without probabilities. For comparison.

    Parameters and attributes are those of :class:`MajorityVote`; see :func:`rectifact.crowd.baselines.eigen_ratio`.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> len(EigenRatio().fit(make_crowd(100, 10, 2).answers).labels_)
    100
    """

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        return eigen_ratio(answers).posteriors


@dataclass(eq=False, repr=False)
class MinimaxEntropy(Aggregator, Iterative):
    """Regularised minimax conditional entropy (Zhou and others, 2014), with a matrix per worker and per task.

    Tasks have peculiarities of their own here, unlike in Dawid-Skene. It takes many answers per task to learn
    them, and much more time. The class prior is uniform, as published: use it where classes are balanced.

    Parameters
    ----------
    worker_penalty, task_penalty : float, default None
        Strength of the regularisers; None is the authors' rule.
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.
    max_iter : int, default 200
        Most iterations.
    tol : float, default 1e-5
        Stop when the objective changes by less than ``tol`` times its first value.
    random_state : int or None, default None
        Accepted by all estimators; nothing is drawn at random here.
    verbose : bool, default False
        Whether to log progress.
    callbacks : sequence of callables, default None
        Called with each row of the history; a true value stops the run.
    checkpoint : path, default None
        Folder in which ``fit`` saves its state while it runs; it is created if needed. None saves nothing.
    resume : bool, default False
        Whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins.

    Attributes
    ----------
    labels_, probas_, tasks_, workers_, classes_ : array
        As in :class:`MajorityVote`.
    confusions_ : array of shape (n_workers, n_classes observed, n_classes true)
        On a task without peculiarities.
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
    resolved_ : dict
        The ``columns`` read.

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> MinimaxEntropy().fit(make_crowd(100, 10, 2).answers).confusions_.shape
    (10, 2, 2)
    """

    worker_penalty: float | None = None
    task_penalty: float | None = None
    _: KW_ONLY
    missing: Any = "auto"
    max_iter: int = 200
    tol: float = 1e-5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "worker_penalty": [Interval(Real, 0, None, closed="neither"), None],
        "task_penalty": [Interval(Real, 0, None, closed="neither"), None],
        "missing": "no_validation",
        **RUN_CONSTRAINTS,
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        data: Any,
        y: None = None,
        *,
        task: str | Sequence[str] | None = None,
        worker: str | None = None,
        label: str | None = None,
        wide: bool = False,
        format: str | None = None,  # noqa: A002
        field: str | None = None,
    ) -> Self:
        """Fit the model; the parameters are those of :meth:`rectifact.MajorityVote.fit`."""
        if is_lazy_data(data):
            refuse_source(data)
        named = {"task": task, "worker": worker, "label": label, "wide": wide, "format": format, "field": field}
        answers = self._read_answers(data, named)
        refuse_weights(self, answers)
        monitor = monitor_of(self, monotone=True, checkpoint=open_checkpoint(self, *answers.codes))
        model = minimax_entropy(
            answers, monitor=monitor, worker_penalty=self.worker_penalty, task_penalty=self.task_penalty
        )
        self._set_result(answers, model.posteriors)
        self.confusions_ = model.confusions
        self.resolved_ = {"columns": answers.columns}
        set_fit_report(self, monitor)
        return self

    def score(self, data: Any, y: None = None) -> float:
        """Log-probability of answers that were left out, as in :meth:`rectifact.DawidSkene.score`; higher is better."""
        check_is_fitted(self)
        uniform = np.full(len(self.classes_), 1 / len(self.classes_))
        return self._answer_score(data, uniform, self.confusions_)
