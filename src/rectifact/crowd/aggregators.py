"""The vote and the older methods as estimators, and what all aggregators have in common."""

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rectifact.core.checkpoint import open_checkpoint
from rectifact.core.monitor import Callback, monitor_of, set_fit_report
from rectifact.core.validation import RUN_CONSTRAINTS, InputError, Interval, fit_context
from rectifact.crowd.answers import Answers
from rectifact.crowd.baselines import eigen_ratio, ghosh_svd, kos, minimax_entropy
from rectifact.crowd.blocks import BlockPosteriors
from rectifact.crowd.em import expected_counts, vote_shares
from rectifact.crowd.labels import read_answers
from rectifact.crowd.lazy_answers import LazyAnswers, is_lazy_data, read_lazy

__all__ = ["KOS", "Aggregator", "EigenRatio", "GhoshSVD", "MajorityVote", "MinimaxEntropy"]


class Aggregator(BaseEstimator):
    """Answers in, posteriors and labels out."""

    tasks_: NDArray[Any]
    workers_: NDArray[Any]
    classes_: NDArray[Any]
    probas_: NDArray[np.float64]
    labels_: NDArray[Any]
    _answers: Any

    def _set_result(self, answers: Answers | LazyAnswers, posteriors: Any) -> None:
        self.tasks_, self.workers_, self.classes_ = answers.tasks, answers.workers, answers.classes
        self._answers = answers
        self._set_probas(posteriors)

    def _set_probas(self, posteriors: Any) -> None:
        if isinstance(self._answers, LazyAnswers):
            self._posteriors_in_blocks = posteriors
            self.probas_, self.labels_ = self._answers.probas(posteriors), self._answers.labels(posteriors)
            return
        self.probas_ = posteriors
        self.labels_ = self.classes_[posteriors.argmax(axis=1)]

    def _set_closed_form(self, answers: Answers | LazyAnswers) -> None:
        self.n_iter_, self.converged_, self.stop_reason_ = 0, True, "closed_form"
        self.history_: list[dict[str, float]] = []
        self.resolved_: dict[str, Any] = {"columns": answers.columns}

    def _answered(self) -> sp.csr_array:
        """Number of answers of each worker to each task."""
        ones, index = np.ones(len(self._answers)), (self._answers.task, self._answers.worker)
        return sp.csr_array((ones, index), shape=(len(self.tasks_), len(self.workers_)))

    def fit_predict(self, data: Any, y: None = None, **options: Any) -> NDArray[Any]:
        """Fit, and return the label of each task in the order of ``tasks_``."""
        return self.fit(data, y, **options).labels_

    def result(self) -> Any:
        """Table by task: label, confidence (its probability), entropy (in bits) and number of answers.

        A pandas table; after a fit to answers in parts, a dask dataframe of as many rows, in another order.
        """
        check_is_fitted(self)
        if isinstance(self._answers, LazyAnswers):
            return self._answers.result(self._posteriors_in_blocks)
        return pd.DataFrame(
            {
                "task": self.tasks_,
                "label": self.labels_,
                "confidence": self.probas_.max(axis=1),
                "entropy": entr(self.probas_).sum(axis=1) / np.log(2),
                "answers": np.bincount(self._answers.task, minlength=len(self.tasks_)),
            }
        )

    def worker_report(self) -> pd.DataFrame:
        """Table by worker: answers given, and agreement, the expected share of them that are right.

        Right is judged by ``probas_``, to which the worker's own answers contributed.
        """
        check_is_fitted(self)
        answers = self._answers
        if isinstance(answers, LazyAnswers):
            counts = expected_counts(answers.B, self._posteriors_in_blocks)
            given, agreement = answers.given.astype(int), np.einsum("mkk->m", counts)
        else:
            given = np.bincount(answers.worker, minlength=len(self.workers_))
            right = self.probas_[answers.task, answers.label]
            agreement = np.bincount(answers.worker, weights=right, minlength=len(self.workers_))
        with np.errstate(invalid="ignore"):
            return pd.DataFrame({"worker": self.workers_, "answers": given, "agreement": agreement / given})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _refuse_weights(estimator: Aggregator, answers: Answers) -> None:
    if answers.weight is not None:
        name = type(estimator).__name__
        raise InputError(f"{name} counts all answers alike. Use DawidSkene or MajorityVote for weights.")


class _ClosedForm(Aggregator):
    """An aggregator without iterations: answers to posteriors in one function."""

    _parameter_constraints: dict[str, Any] = {"missing": "no_validation"}
    _takes_weights = False
    _takes_blocks = False

    def __init__(self, *, missing: Any = "auto") -> None:
        self.missing = missing

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} is no aggregator by itself.")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None) -> Self:
        """Aggregate; ``data`` is whatever :func:`rectifact.crowd.read_answers` takes."""
        if self._takes_blocks and is_lazy_data(data):
            lazy = read_lazy(data, missing=self.missing)
            self._set_result(lazy, BlockPosteriors(lazy.B))
            self._set_closed_form(lazy)
            return self
        answers = read_answers(data, missing=self.missing)
        if not self._takes_weights:
            _refuse_weights(self, answers)
        self._set_result(answers, self._posteriors(answers))
        self._set_closed_form(answers)
        return self


class MajorityVote(_ClosedForm):
    """The class that most annotators chose.

    ``probas_`` holds the shares of the votes. In ``labels_`` a tie goes to the class that comes first in
    ``classes_``; :func:`rectifact.metrics.expected_error` counts ties by their share instead.

    Parameters
    ----------
    missing : what stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`

    Attributes
    ----------
    labels_, probas_ : arrays in the order of ``tasks_``; columns of ``probas_`` in the order of ``classes_``
    tasks_, workers_, classes_ : arrays
    n_iter_, converged_, stop_reason_, history_, resolved_ : how the fit went; a vote needs no iterations

    Examples
    --------
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"task": ["a", "a", "a", "b"], "worker": [1, 2, 3, 1], "label": list("xyxy")})
    >>> MajorityVote().fit(answers).labels_.tolist()
    ['x', 'y']
    """

    _takes_weights = True
    _takes_blocks = True

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        return vote_shares(answers.votes())


class KOS(_ClosedForm):
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


class GhoshSVD(_ClosedForm):
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


class EigenRatio(_ClosedForm):
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


class MinimaxEntropy(Aggregator):
    """Regularised minimax conditional entropy of Zhou and others (2014), with a matrix per worker and per task.

    Tasks have peculiarities of their own here, unlike in Dawid-Skene. It takes many answers per task to learn
    them, and much more time. The class prior is uniform, as published: use it where classes are balanced.

    Parameters
    ----------
    worker_penalty, task_penalty : strength of the regularisers; None is the authors' rule
    missing : what stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`
    max_iter, tol : stop when the objective changes by less than ``tol`` times its first value
    random_state : accepted by all estimators; nothing is drawn at random here
    verbose : whether to log progress
    callbacks : called with each row of the history; a true value stops the run
    checkpoint : folder in which ``fit`` saves its state while it runs, made where it is missing; None saves nothing
    resume : whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins

    Attributes
    ----------
    labels_, probas_, tasks_, workers_, classes_ : as in :class:`MajorityVote`
    confusions_ : array (n_workers, n_classes observed, n_classes true), on a task without peculiarities
    n_iter_, converged_, stop_reason_, history_, resolved_ : how the fit went

    Examples
    --------
    >>> from rectifact.datasets import make_crowd
    >>> MinimaxEntropy().fit(make_crowd(100, 10, 2).answers).confusions_.shape
    (10, 2, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        "worker_penalty": [Interval(Real, 0, None, closed="neither"), None],
        "task_penalty": [Interval(Real, 0, None, closed="neither"), None],
        "missing": "no_validation",
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        worker_penalty: float | None = None,
        task_penalty: float | None = None,
        *,
        missing: Any = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.worker_penalty = worker_penalty
        self.task_penalty = task_penalty
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.resume = resume

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None) -> Self:
        """Fit the model; ``data`` is whatever :func:`rectifact.crowd.read_answers` takes."""
        answers = read_answers(data, missing=self.missing)
        _refuse_weights(self, answers)
        monitor = monitor_of(self, monotone=True, checkpoint=open_checkpoint(self, *answers.codes))
        model = minimax_entropy(
            answers, monitor=monitor, worker_penalty=self.worker_penalty, task_penalty=self.task_penalty
        )
        self._set_result(answers, model.posteriors)
        self.confusions_ = model.confusions
        self.resolved_ = {"columns": answers.columns}
        set_fit_report(self, monitor)
        return self
